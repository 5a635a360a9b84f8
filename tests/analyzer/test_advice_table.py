"""The section of the terminal report that advises."""

import io

from msgspec.structs import replace
from rich.console import Console

from wattslice.analysis import Advice
from wattslice.ir import Severity
from wattslice.report.text import MAX_ADVICE, advice_shown, advice_table

from .samples import MATMUL

ADVISED = replace(
    MATMUL,
    energy_j=0.1,
    advice=(
        Advice("PW042", 29, "32 passes", "pad the rows", -12.5, 0.031),
        Advice("PW041", 31, "8.0 times as much", "swap the indices", 4.5, 0.02, file="lib/a.cuh"),
        Advice("PW051", 33, "indexed at run time", "unroll", severity=Severity.NOTE),
        Advice("PW040", 29, "this line", "start here", 80.0, 0.05, severity=Severity.NOTE),
    ),
)


def printed(width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(advice_table(ADVISED, width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_stakes_shares_and_how_the_watts_would_change():
    _, first, first_fix, second, second_fix, where, third, _ = printed(100)
    assert first.split() == ["29", "32", "passes", "31.0", "mJ", "31", "%", "+12.5", "W", "PW042"]
    assert first_fix.strip() == "→ pad the rows"
    assert second.split()[-7:] == ["20.0", "mJ", "20", "%", "−4.50", "W", "PW041"]
    assert second_fix.strip() == "→ swap the indices"
    assert where.strip() == "in a.cuh"
    assert third.split()[-4:] == ["–", "–", "–", "PW051"]


def test_the_hot_line_stands_in_its_own_table_and_the_list_ends():
    assert [advice.rule for advice in advice_shown(ADVISED)] == ["PW042", "PW041", "PW051"]
    many = replace(ADVISED, advice=ADVISED.advice[:1] * (MAX_ADVICE + 3))
    assert len(advice_shown(many)) == MAX_ADVICE


def test_a_narrow_terminal_keeps_the_joules():
    assert all(len(line) <= 50 for line in printed(50))
    assert any("31.0 mJ" in line for line in printed(50))

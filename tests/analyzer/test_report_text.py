import io
import re
from itertools import takewhile

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from wattslice.analysis import Advice, LaunchSource, LineHeat, Power
from wattslice.findings.findings import Finding, decision, hits_limit
from wattslice.ir import Severity
from wattslice.launches.launch import About, Assumption
from wattslice.report.alike import grouped, told_once
from wattslice.report.terminal import make_console
from wattslice.report.text import MAX_ALIKE, launch_origin, slice_table, write_text
from wattslice.units import energy, line_ranges, percent, power, printable, three_digits, time
from wattslice_models.types import Held, Wanted

from .samples import ANALYSIS, EMPTY, FOUR, HOT, MATMUL, changed


class Terminal(io.StringIO):
    def isatty(self):
        return True


def rendered(analysis):
    file = io.StringIO()
    write_text(analysis, file)
    return file.getvalue()


def test_golden(golden):
    golden("report.txt", rendered(FOUR))


def long_analysis():
    long = "namespace_of_great_length::" * 8 + "kernel"
    kernel = changed(
        MATMUL,
        source={"qualified_name": long, "file": "/a/very/deep" * 12 + "/file.cu"},
        slices=tuple(
            replace(part, variables=tuple(f"variable_{i}" for i in range(40)), lines=tuple(range(1, 999, 2)))
            for part in MATMUL.slices
        ),
        hot_lines=(LineHeat("b" * 60 + ".cuh", 123456, 1234.5, 0.9, "x = " + "f(x) + " * 50),),
        assumptions=tuple(
            replace(entry, message="word " * 60, fix="--set " + "n" * 150) for entry in MATMUL.assumptions
        ),
    )
    return replace(FOUR, kernels=(kernel,) * 5, gpu_name="GPU " * 20)


@pytest.mark.parametrize(
    "analysis", [FOUR, ANALYSIS, EMPTY, long_analysis()], ids=["four", "three", "empty", "long"]
)
def test_never_wider_than_100_columns_and_no_trailing_spaces(analysis):
    for line in rendered(analysis).splitlines():
        assert cell_len(line) <= 100, line
        assert line == line.rstrip()


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_a_narrow_terminal_gets_all_of_it(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    write_text(FOUR, terminal)
    assert "183" in terminal.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert all(cell_len(line) <= columns for line in plain.splitlines())


@pytest.mark.parametrize(
    ("columns", "there", "gone"),
    [
        (100, ("tileA, tileB", "14–16, 22, 38", "length", "density", "119 W", "65 %", "██"), ()),
        (60, ("tileA, tileB", "14–16,", "length", "density", "119 W"), ("██", "65 %")),
        (40, ("tileA, tileB", "14–16,", "119 W"), ("65 %", "density", "length")),
    ],
)
def test_a_narrow_slice_table_keeps_what_no_other_place_tells(columns, there, gone):
    printed = io.StringIO()
    Console(file=printed, width=columns).print(slice_table(MATMUL.slices, columns))
    text = printed.getvalue()
    assert all(part in text for part in there), text
    assert not any(part in text for part in gone), text


def test_the_table_of_lines_adds_up_to_the_kernel():
    many = tuple(replace(MATMUL.hot_lines[0], line=line, power_w=10.0) for line in range(20, 32))
    kernel = changed(MATMUL, hot_lines=many, power={"static_w": 63.25})
    lines = rendered(replace(ANALYSIS, kernels=(kernel,))).splitlines()
    start = next(at for at, line in enumerate(lines) if "where the 183 W go" in line)
    rows = list(takewhile(str.strip, lines[start + 1 :]))
    watts = [float(found[1]) for row in rows if (found := re.search(r"([\d.]+) W", row))]
    assert len(watts) == len(rows)
    assert sum(watts) == pytest.approx(183.25, rel=0.01)
    assert "more lines" in rows[-2]
    assert "the board itself" in rows[-1]
    whole = changed(MATMUL, power={"static_w": None})
    assert "the board itself" not in rendered(replace(ANALYSIS, kernels=(whole,)))


def test_what_matters_stands_in_the_text():
    text = rendered(ANALYSIS)
    for part in (
        "Tesla V100 SXM2 16GB",
        "the default, choose with --gpu",
        "183 W",
        "160–205 W · 61 % of the 300 W limit",
        "1.20 ms · 220 mJ · limited by fp32",
        "<<<(64, 64), (16, 16)>>>  host code, line 88",
        "sum += tileA[ty][k] * tileB[k][tx];",
        "→ --set matMul.n=...",
        "unknown type name 'flaot'",
    ):
        assert part in text


def test_unknown_power_is_called_unknown_with_its_reason():
    text = rendered(ANALYSIS)
    section = text[text.index("── histogram") : text.index("── gpu::burn")]
    assert "power unknown" in section
    assert "why     2048 threads per block, at most 1024 can run (PW014)" in section
    assert "0 W" not in section


def test_power_limit_is_told_in_the_section():
    assert ": may throttle (PW021)" in rendered(replace(ANALYSIS, kernels=(HOT,)))
    at_limit = changed(HOT, power={"low_w": 300.0, "power_w": 300.0, "high_w": 300.0})
    shown = rendered(replace(ANALYSIS, kernels=(at_limit,)))
    assert "held back by the limit of 300 W: throttles (PW021)" in shown


@pytest.mark.parametrize(
    ("power_w", "low_w", "high_w", "words"),
    [
        (200.0, 164.0, 244.0, "200 W −18/+22 %, >99 % sure to stay under the limit of 300 W"),
        (200.0, 164.0, 236.0, "200 W ± 18 %, >99 % sure to stay under the limit of 300 W"),
        (250.0, 200.0, 300.0, "250 W ± 20 %, 95 % sure to stay under the limit of 300 W"),
        (297.0, 270.0, 300.0, "297 W −9/+1 %, 95 % sure to stay under the limit of 300 W"),
    ],
)
def test_what_to_make_of_the_watts_stands_in_one_line(power_w, low_w, high_w, words):
    kernel = replace(MATMUL, power=Power(power_w, low_w, high_w))
    assert decision(kernel) == words
    may = decision(changed(kernel, power={"may_hit_limit": True}))
    assert may == f"{decision(kernel)}: may throttle"
    assert decision(replace(kernel, power=None)) == ""


def test_the_probability_goes_by_the_interval_before_the_limit_cuts_it():
    whole = replace(MATMUL, power=Power(250.0, 200.0, 335.0), power_limit_w=300.0)
    cut = changed(whole, power={"high_w": 300.0, "wanted": Wanted(250.0, 200.0, 335.0)})
    assert cut.limit_exceedance == whole.limit_exceedance
    assert cut.limit_exceedance == pytest.approx(0.153, abs=0.001)
    assert decision(cut).startswith("250 W ± 20 %, 85 % sure")
    assert cut.exceedance(200.0) == pytest.approx(0.95, abs=0.01)
    assert replace(cut, power_limit_w=400.0).limit_exceedance == pytest.approx(0.0, abs=0.01)
    assert replace(cut, power=None).limit_exceedance is None
    # Held back: what it wants lies above the limit, and what is measured does not, but for what sensors show.
    wanted = Wanted(360.0, 290.0, 450.0, Held(300.0, 310.0))
    held = replace(cut, power=Power(300.0, 280.0, 310.0, wanted=wanted))
    assert held.limit_exceedance == pytest.approx(0.917, abs=0.001)
    assert held.exceedance(280.0) == pytest.approx(0.972 * 0.9865, abs=0.001)
    assert held.exceedance(300.0) == pytest.approx(0.5 * 0.917, abs=0.001)
    assert held.exceedance(310.0) == pytest.approx(0.05 * 0.87, abs=0.002)
    assert held.exceedance(360.0) == pytest.approx(0.0, abs=1e-9)


def test_a_launch_would_hit_the_limit_where_all_that_it_may_want_lies_above():
    for low_w, words in ((310.0, "would hit the power limit"), (290.0, "may hit the power limit")):
        wanted = Wanted(360.0, low_w, 450.0, Held(300.0, 303.0))
        kernel = replace(MATMUL, power=Power(300.0, 285.0, 303.0, wanted=wanted), power_limit_w=300.0)
        assert hits_limit(kernel) == words


def test_a_launch_tells_how_often_it_is_made():
    once, twice = (launch_origin(replace(MATMUL.launch, times=times)).plain for times in (1, 2))
    assert twice == f"{once} · 2 times"
    assert "times" not in once


def test_summary_only_for_several_kernels():
    assert "of limit" in rendered(FOUR)
    assert "of limit" not in rendered(ANALYSIS)


SCANS = ("scanned_backwards<Traits_of_it<32, 4, true>>", "scanned_backwards<Traits_of_it<32, 14, true>>")


@pytest.mark.parametrize(("names", "shown"), [
    (SCANS, ("scanned_backwards<…4, true>> ", "scanned_backwards<…14, true>> ")),
    (SCANS[:1], ("scanned_backwards<Traits_of_it",)),
    (("k<int, 4>", "k<int, 8>"), ("k<int, 4> ", "k<int, 8> ")),
])  # fmt: skip
def test_instances_are_told_apart_where_their_names_are_cut(names, shown):
    sources = [replace(MATMUL.source, qualified_name=name) for name in (*names, "a", "b", "c")]
    kernels = tuple(
        changed(replace(MATMUL, source=source), launch={"data": source.qualified_name}) for source in sources
    )
    table = rendered(replace(ANALYSIS, kernels=kernels)).partition("──")[0]
    assert all(name in table for name in shown)


def test_colour_only_on_a_terminal_and_not_with_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b[" not in rendered(FOUR)
    terminal = Terminal()
    write_text(FOUR, terminal)
    assert "38;2;" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    write_text(FOUR, terminal)
    assert "38;" not in terminal.getvalue()
    assert make_console(terminal).no_color


def test_source_text_cannot_steer_the_terminal():
    heat = LineHeat("a.cu", 1, 1.0, 1.0, "x = 1; // \x1b[2J\x07\u202e")
    text = rendered(replace(EMPTY, kernels=(replace(MATMUL, hot_lines=(heat,)),)))
    assert not any(ord(sign) < 32 and sign != "\n" for sign in text)
    assert "\u202e" not in text
    assert printable("\ta\x00") == "    a\N{REPLACEMENT CHARACTER}"


def test_square_brackets_in_names_are_not_markup():
    assert "k[red]x" in rendered(
        replace(EMPTY, kernels=(changed(MATMUL, source={"qualified_name": "k[red]x"}),))
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9.97, "9.97"),
        (9.999, "10.0"),
        (99.7, "99.7"),
        (99.96, "100"),
        (183.25, "183"),
        (7.25, "7.25"),
        (0.0123, "0.0123"),
        (2e7, "2.00e+07"),
    ],
)
def test_three_digits(value, text):
    assert three_digits(value) == text


def test_units():
    assert time(1.2e-3) == "1.20 ms"
    assert time(9.9999e-4) == "1.00 ms"
    assert energy(0.2199) == "220 mJ"
    assert energy(5.3e4) == "53.0 kJ"
    assert power(None) == time(None) == energy(None) == "unknown"
    assert (percent(0.001), percent(0.0), percent(None)) == ("<1 %", "0 %", "–")
    assert line_ranges((16, 14, 15, 22, 22)) == "14–16, 22"
    assert line_ranges(()) == ""


def alike_ones():
    """Four of one kernel: three instances with the same figures, and the one with most joules."""
    instances = [
        changed(MATMUL, source={"qualified_name": f"matMul<{name}>"}, launch={"line": line})
        for name, line in (("int", 80), ("float", 84), ("int", 88))
    ]
    costly = changed(instances[1], source={"qualified_name": "matMul<double>"}, time_s=2.4e-3, energy_j=0.44)
    return (*instances, replace(costly, launch=replace(costly.launch, grid=(128, 64, 1))))


@pytest.mark.parametrize("columns", [80, 120])
def test_alike_launches_are_one_section_with_a_row_for_the_same_figures(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = rendered(replace(ANALYSIS, kernels=alike_ones(), diagnostics=()))
    summary, *sections = text.split("\n── ")
    assert [line.split()[:4] for line in summary.splitlines() if "matMul" in line] == [
        ["matMul<double>", "1", "of", "4"]
    ]
    assert "440 mJ" in summary
    (section,) = (part for part in sections if part.startswith("matMul"))
    assert "2.40 ms · 440 mJ" in section  # in full: the one with most joules
    rows = section[section.index("4 alike") :].splitlines()
    limit = "fp32 " if columns > 80 else ""
    told = [" ".join(row.split()) for row in rows]
    assert told[1] == f"3 <int>, <float> <<<(64, 64), (16, 16)>>> {limit}183 W 1.20 ms 220 mJ"
    assert told[2] == f"1 <double> <<<(128, 64), (16, 16)>>> {limit}183 W 2.40 ms 440 mJ"


@pytest.mark.parametrize("change", [
    {"assumptions": ()},
    {"launch": {"source": LaunchSource.ASSUMED}},
    {"advice": (Advice("PW041", 20, "", ""),)},
    {"power": None},
    {"power": {"may_hit_limit": True}},
    {"source": {"line": 13}},
    {"basis": {"model": "wavelet"}},
])  # fmt: skip
def test_launches_of_which_something_else_is_said_have_a_section_each(change):
    other = replace(MATMUL, power=None) if change == {"power": None} else changed(MATMUL, **change)
    assert len(grouped((MATMUL, MATMUL), ANALYSIS)) == 1
    assert len(grouped((MATMUL, other), ANALYSIS)) == 2


def test_launches_that_differ_in_the_values_assumed_or_the_hottest_line_are_alike():
    first, *others = MATMUL.assumptions
    other = changed(
        MATMUL,
        assumptions=(replace(first, message="n assumed 2048"), *others),
        advice=(Advice("PW040", 22, "this line draws 94 %", ""),),
    )
    (group,) = grouped((MATMUL, other), ANALYSIS)
    assert group.launches == (MATMUL, other)


def test_rows_of_alike_launches_end_with_how_many_are_left_out():
    many = tuple(changed(MATMUL, launch={"grid": (n, 1, 1)}) for n in range(2, 30))
    text = rendered(replace(ANALYSIS, kernels=many))
    assert text.count("<<<") == 1 + MAX_ALIKE
    assert re.search(rf"  {28 - MAX_ALIKE} +more, of other figures", text)


def test_the_same_message_about_several_lines_is_told_once_with_all_of_them():
    def said(line, message, **others):
        return Finding("PW005", Severity.NOTE, "a.cu", line, "", message, **others)

    twice = said(3, "zeros"), said(7, "zeros"), said(5, "ones"), said(9, "zeros", fix="-I")
    assert [(one.line, one.message) for one in told_once(twice)] == [
        (3, "zeros; also in line 7"),
        (5, "ones"),
        (9, "zeros"),
    ]
    instances = [said(4, f"no constructor of T<{name}>") for name in ("int", "float", "double")]
    assert [one.message for one in told_once(instances[:2])] == [one.message for one in instances[:2]]
    (one,) = told_once(instances)
    assert one.message == "no constructor of T<int>; and 2 more of this line"
    of_no_line = [replace(one, line=0) for one in instances]
    assert told_once(of_no_line) == tuple(of_no_line)


def test_what_is_assumed_of_files_is_told_once_for_each_of_them():
    of_file = Assumption("PW011", 9, "uchar assumed int", "-I FOLDER", "main.cpp", About.FILES)
    others = [changed(MATMUL, source={"line": 50}), changed(MATMUL, source={"file": "b.cu"})]
    kernels = tuple(replace(one, assumptions=(of_file, *one.assumptions)) for one in (MATMUL, *others))
    text = rendered(replace(ANALYSIS, kernels=kernels))
    assert text.count("uchar assumed int") == 2  # for each file
    assert text.count("n assumed 1024") == 3

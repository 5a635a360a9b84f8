"""Lines of known kernels: rules of reason, and that they tell what is wrong."""

import math

import pytest
from msgspec.structs import replace

from wattslice_models.gpu import load_gpu
from wattslice_tools.accuracy.known_lines import GPU, KNOWN, KernelCheck, _section, check  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(scope="module")
def checks() -> tuple[KernelCheck, ...]:
    return tuple(check(known, load_gpu(GPU)) for known in KNOWN)


@pytest.mark.slow
def test_every_line_is_plausible_where_nothing_is_in_doubt(checks: tuple[KernelCheck, ...]):
    assert len(checks) == 10
    for one in checks:
        assert all(one.lines_of(hand) for hand in one.known.lines)
        assert one.doubt or not one.faults, one.known.kernel
        lines_w = math.fsum(line.power_w for line in one.lines) + one.rest_w
        assert lines_w + one.static_w == pytest.approx(one.power_w)
        run = [(part.power_w or 0.0) * (part.time_share or 0.0) for _, part in one.slices]
        assert math.fsum(run) == pytest.approx(one.power_w)
        assert one.known.reading.endswith(".")


def test_the_page_has_the_slices_and_what_a_reader_says_of_them(checks: tuple[KernelCheck, ...]):
    reduction = checks[1]
    told = _section(reduction)
    table = told.index("| slice | share of the time | W while it runs | W of the kernel |")
    shown = [row for row in told[table + 2 :] if row.startswith("|")]
    assert [row.split(" | ")[0] for row in shown] == ["| global", "| shared"]
    watts = [float(row.split(" | ")[-1].rstrip(" |")) for row in shown]
    assert math.fsum(watts) == pytest.approx(reduction.power_w, abs=0.1)
    assert told[-2] == f"Read: {reduction.known.reading}"


def test_what_is_implausible_is_told(checks: tuple[KernelCheck, ...]):
    axpy = checks[0]
    (hand,) = axpy.known.lines
    wrong = replace(axpy.known, lines=(replace(hand, dram_bytes=2.1 * hand.dram_bytes),))
    assert replace(axpy, known=wrong).faults == ("line 11: 50.3 MB of DRAM, 106 by hand",)
    (line,) = axpy.lines
    third = replace(axpy, lines=(replace(line, share=line.reason_share / 3),))
    assert third.faults == (
        f"line 11: {line.reason_share / 3:.0%} of the joules, {line.reason_share:.0%} by reason",
    )

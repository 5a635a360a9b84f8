"""Lines of known kernels: rules of reason, and that they tell what is wrong."""

import math

import pytest
from msgspec.structs import replace

from wattslice_models.gpu import load_gpu
from wattslice_tools.accuracy.known_lines import GPU, KNOWN, KernelCheck, check


@pytest.fixture(scope="module")
def checks() -> tuple[KernelCheck, ...]:
    return tuple(check(known, load_gpu(GPU)) for known in KNOWN)


def test_every_line_is_plausible_where_nothing_is_in_doubt(checks: tuple[KernelCheck, ...]):
    assert len(checks) == 10
    for one in checks:
        assert all(one.lines_of(hand) for hand in one.known.lines)
        assert one.doubt or not one.faults, one.known.kernel
        lines_w = math.fsum(line.power_w for line in one.lines) + one.rest_w
        assert lines_w + one.static_w == pytest.approx(one.power_w)


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

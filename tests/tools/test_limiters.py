"""The limiter that counters tell, on the board whose counters are public."""

import pytest
from msgspec.structs import replace

from wattslice.training.examples import examples
from wattslice_corpora.counters import counters_path, read_counters
from wattslice_corpora.records import Use
from wattslice_models.execution_time import Resource
from wattslice_models.gpu import load_gpu
from wattslice_tools.accuracy.limiters import GPU, CountedLimit, busy_shares, counted_limits, table

BOARD = load_gpu(GPU)


def test_vector_add_keeps_dram_busy():
    """64 Mi floats each of two loads and one store, by hand: 12 bytes each over the measured seconds."""
    counters = next(row for row in read_counters(counters_path(GPU)) if row.benchmark == "vectorAdd")
    run = next(one for one in examples(BOARD, Use.TEST).examples if one.benchmark == "vectorAdd")
    first, share = busy_shares(counters, BOARD, run)[0]
    assert first is Resource.DRAM
    clock = (run.subject.clocks.memory_mhz or 0.0) / (4e-6 * 484.4e9 / 352)
    bandwidth = 484.4e9 * clock * BOARD.architecture.dram_efficiency
    assert share == pytest.approx(12 * 2**26 / bandwidth / (run.time_s or 0.0), rel=0.01)


@pytest.mark.parametrize(
    ("dram", "issue", "told"),
    [(0.9, 0.5, {Resource.DRAM}), (0.7, 0.65, {Resource.DRAM, Resource.ISSUE}), (0.55, 0.2, set[Resource]())],
)
def test_the_busiest_unit_limits(dram, issue, told):
    counted = ((Resource.DRAM, dram), (Resource.ISSUE, issue))
    assert CountedLimit("k", Resource.DRAM, 0.9, counted).told == told


def test_where_no_unit_is_busy_the_kernel_waits():
    idle = CountedLimit("k", Resource.DISPATCH, 0.9, ((Resource.DRAM, 0.3), (Resource.ISSUE, 0.1)))
    assert Resource.LATENCY in idle.told
    assert Resource.DRAM not in idle.told
    lines = tuple(table((idle, replace(idle, predicted=Resource.DRAM))))
    assert lines[-1] == "Named rightly: 1 of 2 where the counters tell."


def test_no_launch_is_judged_by_counters_that_do_not_see_it():
    found = {one.benchmark for one in counted_limits(BOARD)}
    assert {"vectorAdd", "binomialOptions"} <= found
    assert not found & {"convolutionTexture", "hotspot", "fastWalshTransform", "eigenvalues"}

from pathlib import Path

import pytest

from wattslice_corpora.published.escape2018 import escape2018_gpus, escape2018_path
from wattslice_corpora.published.escape2018_cpu import (
    escape2018_bifft_loops,
    escape2018_cpu_specification,
    escape2018_divided_work,
    escape2018_haswell_states,
    escape2018_loop_memory,
    escape2018_loop_work,
    escape2018_skylake_states,
    escape2018_spherical_cases,
    escape2018_spherical_loops,
)
from wattslice_corpora.published.tables import PublishedTableError


def test_states_of_the_haswell_are_read_where_they_are_printed() -> None:
    states = {(state.clock_ghz, state.cores): state for state in escape2018_haswell_states()}
    assert len(states) == 8 * 14
    one = states[2.6, 1]
    assert (one.flop_per_s, one.l1_bytes_per_s) == (20.8e9, pytest.approx(125.99e9))
    assert (one.l2_bytes_per_s, one.l3_bytes_per_s) == (pytest.approx(78.096e9), pytest.approx(33.445e9))
    assert states[None, 14].dram_bytes_per_s == pytest.approx(56.937e9)


def test_peaks_of_the_haswell_are_eight_flops_a_clock_and_core() -> None:
    per_core = escape2018_cpu_specification().double_flop_per_s_per_core
    assert per_core == pytest.approx(8 * 2.6e9)
    for state in escape2018_haswell_states():
        clock = state.flop_per_s / (8e9 * state.cores)
        if state.clock_ghz is None:
            assert 3.2 - 1e-9 <= clock <= 3.6 + 1e-9  # turbo falls with the number of cores
        else:
            assert clock == pytest.approx(state.clock_ghz)


def test_caches_are_faster_than_what_lies_behind_them() -> None:
    for state in (*escape2018_haswell_states(), *escape2018_skylake_states()):
        rates = [state.l2_bytes_per_s, state.l3_bytes_per_s, state.dram_bytes_per_s]
        if state.l1_bytes_per_s is not None:
            rates.insert(0, state.l1_bytes_per_s)
        assert rates == sorted(rates, reverse=True)


def test_the_damaged_cell_is_unknown() -> None:
    damaged = [state.cores for state in escape2018_skylake_states() if state.l1_bytes_per_s is None]
    assert damaged == [2]
    for state in escape2018_skylake_states():
        assert state.flop_per_s == pytest.approx(76.8e9 * state.cores)


def test_work_follows_from_the_test_case() -> None:
    case = next(row for row in escape2018_spherical_cases() if row.name == "TCO639")
    repeats = case.iterations * case.fields
    matrices = case.truncation**2 * case.grid_number * 0.833 * repeats
    for row in escape2018_loop_work():
        if row.intensity_flop_per_byte is None:
            assert row.traffic_bytes == pytest.approx(
                case.points * repeats * row.bytes_per_iteration, rel=4e-4
            )
        else:
            assert row.work_flop == pytest.approx(matrices * 2, rel=1e-5)


def test_work_is_divided_by_the_number_of_nodes() -> None:
    works = {row.loop: row for row in escape2018_loop_work()}
    rows = escape2018_divided_work()
    assert len(rows) == 18 * 4
    for row in rows:
        whole = works[row.loop].work_flop if row.quantity == "W" else works[row.loop].traffic_bytes
        assert whole is not None
        assert row.amount == pytest.approx(whole / row.nodes, rel=1e-5)


def test_coefficients_are_read_with_their_gaps() -> None:
    spherical = escape2018_spherical_loops()
    assert [row.loop for row in spherical] == [row.loop for row in escape2018_loop_work()]
    assert [row.flop_share for row in spherical if row.flop_share] == [0.1988, 0.2683, 0.0099]
    bifft = escape2018_bifft_loops()
    assert (len(bifft), sum(row.flop_share is not None for row in bifft)) == (20, 8)
    gap = next(row for row in bifft if row.l2_share is None)
    assert (gap.loop, gap.flop_offset_per_s) == ("qpassf.F:537", pytest.approx(1.334821538e9))
    assert escape2018_loop_memory()[0].bytes_per_iteration == 88.789


def test_the_bandwidth_of_a_gpu_is_that_of_its_memory() -> None:
    for gpu in escape2018_gpus():
        bytes_per_s = 2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8
        assert bytes_per_s == pytest.approx(gpu.memory_bandwidth_bytes_per_s, rel=0.005)


def test_a_damaged_table_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        escape2018_path(30).read_text(encoding="utf-8").replace("0.4100", "4l00"), encoding="utf-8"
    )
    with pytest.raises(PublishedTableError, match=r"t\.csv:5: 'V' is not a number: '4l00'"):
        escape2018_spherical_loops(path)

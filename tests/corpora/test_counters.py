"""The table of hardware counters, and what its numbers mean where a kernel's truth is evident."""

import pytest
from msgspec.structs import replace

from wattslice_corpora.counters import CounterRow, counters_path, read_counters
from wattslice_corpora.records import RecordError, write_table

ROWS = {row.benchmark: row for row in read_counters(counters_path("gtx_1080_ti"))}


def test_every_application_is_there_once_with_all_its_clocks():
    assert len(ROWS) == 30
    assert {row.clocks for row in ROWS.values()} == {20}
    assert all(row.arguments for row in ROWS.values())


def test_vector_addition_tells_the_units():
    row = ROWS["vectorAdd"]
    n = 64 << 20
    warps = n / 32
    assert (row.grid, row.block) == ((n // 256, 1, 1), (256, 1, 1))
    assert row.flop_count_sp == row.inst_fp_32 == n  # thread operations: one addition each
    assert row.inst_executed == 21 * warps  # warp instructions
    assert row.gst_transactions == 4 * warps  # sectors of 32 bytes
    assert row.gld_transactions * (1 - row.global_hit_rate) == 2 * 4 * warps


def test_an_fma_is_two_operations_of_one_instruction():
    row = ROWS["matrixMulShared"]
    assert row.flop_count_sp_fma == row.inst_fp_32 == 2048**3
    assert row.flop_count_sp == pytest.approx(2 * 2048**3, rel=1e-3)  # four digits in the source


def test_a_negative_counter_is_refused(tmp_path):
    row = ROWS["vectorAdd"]
    write_table(tmp_path / "c.csv", (), CounterRow, (replace(row, inst_executed=-1.0),))
    with pytest.raises(RecordError, match="inst_executed must be finite and not negative"):
        read_counters(tmp_path / "c.csv")

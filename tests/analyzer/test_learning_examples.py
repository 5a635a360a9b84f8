"""From tables to examples: what joins, what is left out, and why."""

import pytest
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice.training.examples import examples, examples_of
from wattslice.training.tables import measured_tables, tables_of_file
from wattslice_corpora.records import CoreClock, MeasuredRow, Use, measured_gpu_ids, table_text, write_table
from wattslice_models.gpu import load_gpu

from .learning_data import campaign, row

V100 = load_gpu("v100_pcie")
H200 = load_gpu("h200")
ONE_PROGRAM = ("a100", "a40", "rtx_a4000")
"""GPUs with one program only: a sweep, or variants of one kernel."""


@pytest.mark.parametrize("gpu_id", measured_gpu_ids())
def test_training_and_test_share_no_benchmark(gpu_id):
    gpu = load_gpu(gpu_id)
    training, test = (examples(gpu, use) for use in (Use.TRAINING, Use.TEST))
    ours, theirs = ({example.benchmark for example in part.examples} for part in (training, test))
    assert ours.isdisjoint(theirs)
    assert len(ours | theirs) >= (1 if gpu_id in ONE_PROGRAM else 16)
    told = sum(entry.runs for part in (training, test) for entry in part.left_out)
    assert len(training.examples) + len(test.examples) + told == len(measured_tables(gpu_id).measured)
    assert all(entry.reason for part in (training, test) for entry in part.left_out)


def test_every_example_has_slices_that_make_a_whole():
    for example in examples(V100, Use.TEST).examples:
        assert sum(part.weight for part in example.subject.slices) == pytest.approx(1.0)


def test_misread_clocks_are_left_out():
    found = examples(V100, Use.TRAINING)
    assert all((example.subject.clocks.core_mhz or 0.0) > 405.0 for example in found.examples)
    assert any("405 MHz" in entry.benchmark for entry in found.left_out)


def test_a_time_of_something_else_is_no_time():
    """The 1080 Ti's times are of one kernel: of an iteration of several launches nothing is known."""
    found = {example.benchmark: example for example in examples(load_gpu("gtx_1080_ti"), Use.TEST).examples}
    assert found["vectorAdd"].time_s is not None
    assert len(found["convolutionSeparable"].subject.launches) == 2
    assert found["convolutionSeparable"].time_s is None


def test_a_clock_that_the_limit_may_have_set_is_not_known_before_the_run(tmp_path):
    """Nobody set the A40's clock: at the limit it fell to 1620 MHz. Who asks for watts cannot know that."""
    asked = {example.subject.clocks.core_mhz for example in examples(load_gpu("a40"), Use.TRAINING).examples}
    assert asked == {None}
    table = campaign(tmp_path)
    tables = tables_of_file(table, H200)
    assert tables.card is not None
    free = replace(tables.card.datasets[0], core_clock=CoreClock.FREE)
    told = replace(tables, card=replace(tables.card, datasets=(free, *tables.card.datasets[1:])))
    one = tables.measured[0]
    assert one.dataset == free.key
    clocks = [told.core_mhz(replace(one, capped=capped)) for capped in (True, None, False)]
    assert clocks == [None, None, one.core_mhz]
    assert tables.core_mhz(replace(one, capped=True)) == one.core_mhz


def test_a_campaign_is_analysed_from_its_sources(tmp_path):
    tables = tables_of_file(campaign(tmp_path), H200)
    training, test = (examples_of(tables, H200, use).examples for use in (Use.TRAINING, Use.TEST))
    assert (len(training), len(test)) == (10, 6)
    (launch,) = test[-1].subject.launches
    assert (launch.workload.blocks, launch.workload.threads_per_block) == (4500, 256)
    densities = [example.subject.slices[0].arithmetic_density or 0.0 for example in training[::2]]
    assert densities == sorted(densities)


def test_a_corpus_kernel_has_the_sizes_of_its_command_line(tmp_path):
    (tmp_path / "sources").mkdir()
    made = replace(row("transpose", 1000.0, 100.0, 1e-3, "kernels-x"), kernel="transpose")
    rows = tuple(
        replace(made, arguments=f"{n} {n}", grid=(n // 32, n // 32, 1), block=(32, 8, 1)) for n in (256, 2048)
    )
    write_table(tmp_path / "measured.csv", (), MeasuredRow, rows)
    small, large = tables_of_file(tmp_path / "measured.csv", H200).workloads
    assert (small.blocks, large.blocks) == (64, 4096)
    assert (large.footprint_bytes or 0.0) == pytest.approx(64 * (small.footprint_bytes or 0.0))


def test_sizes_of_a_command_line_count_also_where_the_grid_does_not_follow_them(tmp_path):
    (tmp_path / "sources").mkdir()
    made = replace(row("black_scholes", 1000.0, 100.0, 1e-3, "kernels-x"), kernel="blackScholes")
    rows = tuple(
        replace(made, arguments=f"{n}", grid=(480, 1, 1), block=(128, 1, 1)) for n in (1 << 20, 1 << 24)
    )
    write_table(tmp_path / "measured.csv", (), MeasuredRow, rows)
    small, large = tables_of_file(tmp_path / "measured.csv", H200).workloads
    assert large.load_store == pytest.approx(16 * small.load_store, rel=0.01)


def test_tables_of_features_lie_beside_the_table(tmp_path):
    table = campaign(tmp_path)
    found = tables_of_file(table, H200)
    alone = tmp_path / "alone" / "mine.csv"
    alone.parent.mkdir()
    alone.write_text(table.read_text())
    from wattslice_corpora.records import SliceRow, WorkloadRow

    alone.with_name("mine_workloads.csv").write_text(table_text((), WorkloadRow, found.workloads))
    alone.with_name("mine_slices.csv").write_text(table_text((), SliceRow, found.slices))
    read = tables_of_file(alone, H200)
    assert (read.workloads, read.slices, read.card) == (found.workloads, found.slices, None)
    assert len(examples_of(read, H200, Use.TRAINING).examples) == 16  # nobody has told what they may serve


def test_a_table_without_features_is_told(tmp_path):
    alone = tmp_path / "alone.csv"
    alone.write_text(campaign(tmp_path / "campaign").read_text())
    with pytest.raises(WattsliceError, match=r"alone\.csv: a table without features.*features_command"):
        tables_of_file(alone, H200)
    write_table(alone, (), MeasuredRow, ())
    with pytest.raises(WattsliceError, match="no measured run in this table"):
        tables_of_file(alone, H200)


def test_a_run_whose_source_is_gone_is_left_out_and_told(tmp_path):
    table = campaign(tmp_path)
    (tmp_path / "sources" / "slice0.cu").unlink()
    found = examples_of(tables_of_file(table, H200), H200, Use.TRAINING)
    (left_out,) = found.left_out
    assert (left_out.benchmark, left_out.runs) == ("slice0", 2)
    assert "slice0.cu is not at hand" in left_out.reason


def test_a_gpu_that_nobody_measured_is_told():
    with pytest.raises(WattsliceError, match=r"no measurements of h100.*--data"):
        examples(load_gpu("h100"), Use.TEST)

"""Our counts beside hardware counters: the import, the quantities, the causes, the document."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import wattslice_tools.public_sets.counters.__main__ as command
from wattslice.errors import WattsliceError
from wattslice_corpora.counters import COUNTERS, counters_path, read_counters
from wattslice_corpora.records import BenchmarkRecipe, LaunchRecipe, ParameterValue, Recipes
from wattslice_models.gpu import load_gpu
from wattslice_tools.public_sets.counters.causes import (
    Cause,
    HostRun,
    Notes,
    read_notes,
    stale,
    without_cause,
)
from wattslice_tools.public_sets.counters.document import BEGIN, END, NO_CAUSE, Comparison, section, update
from wattslice_tools.public_sets.counters.geometry import read_geometry
from wattslice_tools.public_sets.counters.launches import counted_launch
from wattslice_tools.public_sets.counters.nvprof import read_nvprof_table
from wattslice_tools.public_sets.counters.quantities import QUANTITIES, compare

GPU = load_gpu("gtx_1080_ti")
ROW = next(row for row in read_counters(counters_path(GPU.id)) if row.benchmark == "vectorAdd")
SOURCE = """
__global__ void vectorAdd(const float *a, const float *b, float *c, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    vectorAdd << <n / 256, 256 >> >(0, 0, 0, n);
}
"""
LAUNCH = LaunchRecipe("", None, (256, 1, 1), 0, 1, (ParameterValue("n", 67108864),))
RECIPE = BenchmarkRecipe(
    name="vectorAdd",
    arguments="",
    file="a.cu",
    defines=(),
    macros=(),
    launches=(LAUNCH,),
    one_of=False,
    incomplete="",
    input="",
)
RECIPES = Recipes(Path("r.toml"), "", (), (RECIPE,), ())


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "a.cu").write_text(SOURCE)
    return (tmp_path,)


NO_NOTES = Notes((), ())


def comparison(compared, notes=NO_NOTES):
    return Comparison(GPU, QUANTITIES, "here", 1, compared, (), (), notes, stale(notes, compared))


def test_vector_addition_is_counted_as_the_card_does(sources):
    compared = compare(ROW, counted_launch(sources, RECIPES, ROW, GPU))
    found = {entry.quantity.name: entry.ratio for entry in compared}
    exact = ("fp32", "fp32_instructions", "integer", "control", "global_load", "global_store")
    assert {name: found[name] for name in exact} == pytest.approx(dict.fromkeys(exact, 1.0))
    assert "fp64" not in found  # neither side has any


def test_what_the_clock_changes_is_not_compared(sources):
    launch = counted_launch(sources, RECIPES, ROW, GPU)
    changing = replace(ROW, changes_with_clock="gst_transactions")
    assert "global_store" not in {entry.quantity.name for entry in compare(changing, launch)}


def test_a_miss_needs_a_cause_and_a_cause_a_miss(sources):
    launch = counted_launch(sources, RECIPES, ROW, GPU)
    compared = compare(replace(ROW, flop_count_sp=2 * ROW.flop_count_sp), launch)
    none = Notes((), ())
    assert [entry.quantity.name for entry in without_cause(none, compared)] == ["fp32"]
    assert NO_CAUSE in section(comparison(compared))
    why = Notes((Cause("vectorAdd", "fp32", "the counter was doubled"),), ())
    assert without_cause(why, compared) == ()
    assert ": 0.50 | the counter was doubled |" in section(comparison(compared, why))
    assert stale(why, compare(ROW, launch)) == why.causes


def test_geometry_comes_from_the_host_code_and_the_sizes_of_the_run(sources):
    run = HostRun("vectorAdd", "", (ParameterValue("n", 67108864),), "")
    found = read_geometry(sources, RECIPES, ROW, run, GPU)
    assert (found.grid, found.block, found.is_right) == (ROW.grid, ROW.block, True)
    unread = read_geometry(sources, RECIPES, ROW, HostRun("vectorAdd", "", (), ""), GPU)
    assert unread.grid is None
    assert "command line" in unread.reason


def test_the_import_takes_the_median_and_tells_what_the_clock_changes(tmp_path):
    names = (*COUNTERS, "appName", "kernel", "blocks")
    lines = [",".join(names)]
    for dram in ("100", "120", "130"):
        cells = dict.fromkeys(names, "7") | {"appName": "x", "kernel": "k", "blocks": "(4 1 1) (32 2 1)"}
        lines.append(",".join((cells | {"dram_read_transactions": dram}).values()))
    table = tmp_path / "t.csv"
    table.write_text("\n".join(lines))
    (row,) = read_nvprof_table(table, (("x", "-n=4"),))
    assert (row.arguments, row.grid, row.block, row.clocks) == ("-n=4", (4, 1, 1), (32, 2, 1), 3)
    assert (row.dram_read_transactions, row.inst_integer) == (120.0, 7.0)
    assert row.changes_with_clock == "dram_read_transactions"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(WattsliceError, match=r"t\.csv: not a table of nvprof counters"):
        read_nvprof_table(table, ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[cause]]\nbenchmarks = ["a"]\nquantities = ["flops"]\ntext = "x"', "no quantity 'flops'"),
        ('[[cause]]\nbenchmarks = ["a"]\nquantities = ["fp32"]', "entry missing or malformed"),
        (2 * '[[cause]]\nbenchmarks = ["a"]\nquantities = ["fp32"]\ntext = "x"\n', "two causes for a fp32"),
    ],
)
def test_bad_causes_are_refused(tmp_path, text, complaint):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(WattsliceError, match=complaint):
        read_notes(tmp_path / "c.toml")


def test_the_document_is_replaced_between_its_markers(tmp_path):
    document = tmp_path / "d.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    update(document, comparison(()))
    text = document.read_text()
    assert (text[:7], text[-7:], "old" in text) == ("before\n", "\nafter\n", False)
    document.write_text("nothing")
    with pytest.raises(WattsliceError, match="no generated part"):
        update(document, comparison(()))


def test_a_wrong_checkout_is_told_without_traceback(tmp_path, capsys):
    assert command.main(["--sources", str(tmp_path)]) == 2
    assert "no git checkout" in capsys.readouterr().err


def test_the_committed_document_has_a_cause_for_every_miss():
    text = (Path(__file__).parents[2] / "docs" / "appendix" / "counters.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert NO_CAUSE not in text

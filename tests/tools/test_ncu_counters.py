"""Counters of Nsight Compute: the import, the launches of a run, the table."""

import json

import pytest
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice_corpora.manifest import load_manifest
from wattslice_corpora.ncu_counters import COUNTERS, NcuRow, ncu_counters_path, read_ncu_counters
from wattslice_corpora.records import RecordError, write_table
from wattslice_models.gpu import load_gpu
from wattslice_tools.campaign.counters import METRICS
from wattslice_tools.public_sets.counters.causes import Notes, read_notes
from wattslice_tools.public_sets.counters.ncu import bare_name, read_campaign, read_profiles
from wattslice_tools.public_sets.counters.ncu_command import _CAUSES, NCU_QUANTITIES
from wattslice_tools.public_sets.counters.quantities import beside
from wattslice_tools.public_sets.counters.runs import CountedRun, counted_runs

GPU = load_gpu("h200")
ROWS = read_ncu_counters(ncu_counters_path(GPU.id))
NO_NOTES = Notes((), ())
LAUNCH = {
    "Kernel Name": ("void twice<int>(int *, int)", ""),
    "Grid Size": ("(8, 1, 1)", ""),
    "Block Size": ("(64, 1, 1)", ""),
    "launch__registers_per_thread": ("16", "register/thread"),
    "launch__shared_mem_per_block_static": ("1.02", "Kbyte/block"),
    "launch__shared_mem_per_block_dynamic": ("0", "byte/block"),
}
SOURCE = """
template <class T> __global__ void twice(T *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 2 * a[i];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    for (int k = 0; k < 3; k++) twice<int><<<n / 64, 64>>>((int *)0, n);
}
"""


def page(path, *launches):
    cells = LAUNCH | {name: ("7", "us" if name.startswith("gpu__time") else "") for name in METRICS}
    table = [list(cells), [unit for _, unit in cells.values()]]
    table += [[one.get(name, value) for name, (value, _) in cells.items()] for one in launches]
    path.write_text("==PROF==\n" + "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in table))


@pytest.fixture
def profile(tmp_path):
    folder = tmp_path / "profiles" / "twice"
    folder.mkdir(parents=True)
    run = {"name": "twice", "clone": "repo", "commit": "c", "source": "a.cu", "argv": ["./twice", "512"]}
    flags = "-O3 -arch=sm_90 -I/x/wild/repo/common -DN=1"
    told = {"nvcc_flags": flags, "a_rc": 0, "a_capped": False}
    (folder / "meta.json").write_text(json.dumps(run | told))
    page(folder / "a.csv", {}, {}, {})
    page(folder / "b.csv", {"Grid Size": "(0, 0, 0)"}, {}, {})
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "common").mkdir()
    (tmp_path / "repo" / "a.cu").write_text(SOURCE)
    return tmp_path


def test_a_profile_becomes_a_row_of_the_first_launch_that_was_counted(profile):
    (row,) = read_profiles(profile / "profiles")
    assert (row.kernel, row.launches, row.grid, row.block) == ("twice", 3, (8, 1, 1), (64, 1, 1))
    assert (row.options, row.arguments, row.static_shared_bytes) == ("-Icommon -DN=1", "512", 1020)
    assert (row.time_s, row.warp_instructions) == (pytest.approx(7e-6), 7)


def test_launches_of_a_run_that_was_cut_short_are_unknown(profile):
    place = profile / "profiles" / "twice" / "meta.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"a_capped": True}))
    assert [row.launches for row in read_profiles(profile / "profiles")] == [None]
    place.write_text("{}")
    with pytest.raises(WattsliceError, match="not a profiled program"):
        list(read_profiles(profile / "profiles"))


def test_the_counted_launch_is_found_by_what_was_typed(profile):
    (row,) = read_profiles(profile / "profiles")
    ((_, run),) = counted_runs((profile / "repo",), (row,), NO_NOTES, GPU)
    assert isinstance(run, CountedRun)
    assert (run.launches, run.counted.launch.grid, run.counted.launch.arguments) == (
        3,
        (8, 1, 1),
        (None, 512),
    )
    compared = {entry.quantity.name: entry for entry in beside("twice", "twice", NCU_QUANTITIES, row, run)}
    assert not compared["launches"].is_miss
    assert compared["global_load"].ours == 8 * 2 * 4  # sectors of 16 warps
    other = replace(row, grid=(4, 1, 1), dynamic_shared_bytes=128)  # of a loop of sizes
    ((_, run),) = counted_runs((profile / "repo",), (other,), NO_NOTES, GPU)
    assert isinstance(run, CountedRun)
    assert run.counted.launch.grid == (4, 1, 1)
    missing = replace(row, kernel="thrice"), replace(row, repository="elsewhere")
    reasons = [reason for _, reason in counted_runs((profile / "repo",), missing, NO_NOTES, GPU)]
    assert reasons == ["no kernel thrice", "no checkout of elsewhere"]


def test_lines_of_a_campaign_are_kernels_of_the_corpus_at_their_medium_size(tmp_path):
    lines = tmp_path / "counters.jsonl"
    counters = dict.fromkeys(METRICS, 3.0)
    lines.write_text(json.dumps({"name": "kernel-axpy-axpyFloat-medium", "counters": counters}) + "\n")
    (row,) = read_campaign(lines)
    program = next(one for one in load_manifest() if one.name == "axpy")
    assert (row.kernel, row.file, row.repository, row.grid) == ("axpyFloat", program.file.name, "", None)
    ((_, run),) = counted_runs((), (row,), NO_NOTES, GPU)
    assert isinstance(run, CountedRun)
    assert run.counted.launch.kernel.name == "axpyFloat"


@pytest.mark.parametrize(
    ("text", "name"),
    [("void a::k<float, 2>(T1 *)", "k"), ("k(int)", "k"), ("k", "k"), ("void k<(int)3>(a::B *)", "k")],
)
def test_names_of_kernels_are_bare(text, name):
    assert bare_name(text) == name


def test_the_table_is_read_back_and_a_fault_in_it_found(tmp_path):
    assert len(ROWS) == 101
    assert {row.repository for row in ROWS} == {"cuda-samples", "gpu-rodinia", "llm.c", "PolyBench-ACC", ""}
    path = tmp_path / "t.csv"
    write_table(path, ("x",), NcuRow, ROWS)
    assert read_ncu_counters(path) == ROWS
    write_table(path, (), NcuRow, (replace(ROWS[0], time_s=-1.0),))
    with pytest.raises(RecordError, match="time_s must be finite"):
        read_ncu_counters(path)
    write_table(path, (), NcuRow, (replace(ROWS[0], grid=(0, 1, 1)),))
    with pytest.raises(RecordError, match="no extents"):
        read_ncu_counters(path)


def test_the_causes_are_of_counted_programs_and_each_counter_has_its_metric():
    notes = read_notes(_CAUSES, frozenset(quantity.name for quantity in NCU_QUANTITIES))
    known = {name for row in ROWS for name in (row.program, f"{row.program} {row.kernel}")}
    assert {cause.benchmark for cause in notes.causes} <= known
    assert {run.benchmark for run in notes.host_runs} <= known
    assert len(COUNTERS) == len(METRICS)

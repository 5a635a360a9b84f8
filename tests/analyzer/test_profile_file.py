import json
from pathlib import Path

import pytest

from wattslice.branch_profile.files import profile_json, read_branch_profile
from wattslice.branch_profile.making import make_profile
from wattslice.branch_profile.profile import (
    ArmCount,
    ArmProbability,
    BranchProfile,
    DataSetCounts,
    Making,
    line_digests,
    moved_lines,
)
from wattslice.config.config import Config, Facts
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.ir import Span
from wattslice.pipeline.files import analyze_file, analyze_files

from .lowered import lower
from .samples import there

ENTRY = {"file": "match.cu", "line": 27, "arm": "then", "probability": 0.03}


def written(tmp_path, branches, version=1, **more):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"schema_version": version, "branches": branches} | more), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    text = "__global__ void k(int *a) { if (a[0]) a[1] = 2; }"
    return lower(tmp_path_factory.mktemp("kernel"), text).kernels[0]


def probability(profile, kernel, file, line, arm, column=5):
    entry = profile.lookup(kernel, Span(file, line, column, line), arm)
    return None if entry is None else entry.probability


def test_lookup_by_the_tail_of_the_path(tmp_path, kernel):
    deeper = ENTRY | {"file": "b/match.cu", "probability": 0.5}
    profile = read_branch_profile(written(tmp_path, [ENTRY, deeper]))
    assert probability(profile, kernel, "/src/match.cu", 27, "then") == 0.03
    assert probability(profile, kernel, "/src/b/match.cu", 27, "then") == 0.5
    assert probability(profile, kernel, "match.cu", 27, "then") == 0.03
    assert probability(profile, kernel, "rematch.cu", 27, "then") is None
    assert probability(profile, kernel, "match.cu", 28, "then") is None
    assert probability(profile, kernel, "match.cu", 27, "else") is None


def test_lookup_by_kernel_and_column(kernel):
    def entry(probability, **place):
        return ArmProbability("m.cu", 3, "then", probability, **place)

    profile = BranchProfile((entry(0.1), entry(0.2, kernel="k"), entry(0.3, kernel="other")))
    assert probability(profile, kernel, "m.cu", 3, "then") == 0.2
    profile = BranchProfile((entry(0.1, column=5), entry(0.2, column=9), entry(0.3, kernel="other")))
    assert probability(profile, kernel, "m.cu", 3, "then", column=9) == 0.2
    assert probability(profile, kernel, "m.cu", 3, "then", column=7) is None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"line": 0}, r"branches\[1\].line"),
        ({"line": True}, r"branches\[1\].line"),
        ({"arm": "maybe"}, r"branches\[1\].arm"),
        ({"arm": "case x"}, r"branches\[1\].arm"),
        ({"probability": 1.5}, r"branches\[1\].probability"),
        ({"probability": None}, r"branches\[1\].probability"),
        ({"file": ""}, r"branches\[1\].file"),
        ({"extra": 1}, r"branches\[1\]: unknown key 'extra'"),
        ({}, r"branches\[1\]: arm 'then' of line 27 was given in branches\[0\]"),
        ({"arm": "else", "probability": 0.98}, "add up to 1.01"),
    ],
)
def test_errors_name_file_and_json_path(tmp_path, change, place):
    with pytest.raises(WattsliceError, match=rf"profile\.json: .*{place}"):
        read_branch_profile(written(tmp_path, [ENTRY, ENTRY | change]))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"visits": [1]}, r"branches\[0\].visits: expected 2 whole numbers"),
        ({"taken": [1, -1]}, r"branches\[0\].taken: expected 2 whole"),
        ({"column": 0}, r"branches\[0\].column"),
        ({"kernel": ""}, r"branches\[0\].kernel"),
    ],
)
def test_errors_of_counts(tmp_path, change, place):
    data_sets = [{"name": "a"}, {"name": "b", "weight": 2}]
    with pytest.raises(WattsliceError, match=place):
        read_branch_profile(written(tmp_path, [ENTRY | change], 2, data_sets=data_sets))


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"made": "guess"}, "made: expected one of interpreter"),
        ({"data_sets": [{"name": "a", "weight": -1}]}, r"data_sets\[0\].weight: expected a number from 0"),
        (
            {"sources": [{"file": "m.cu", "sha256": "", "lines": "xyz"}]},
            r"sources\[0\].lines: expected digests",
        ),
        ({"author": "me"}, "unknown key 'author'"),
    ],
)
def test_errors_of_what_is_around_the_branches(tmp_path, more, place):
    with pytest.raises(WattsliceError, match=place):
        read_branch_profile(written(tmp_path, [], 2, **more))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"{\n]", "profile.json:2: not valid JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[]", "expected an object, found a list"),
        (b"{}", "'schema_version' is missing"),
        (b'{"schema_version": 3, "branches": []}', "schema_version: 3 is not supported"),
        (b'{"schema_version": 1, "branches": {}}', "branches: expected a list"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema_version": ' + b"1" * 5000 + b"}", "numbers too long"),
    ],
)
def test_what_is_no_profile(tmp_path, content, message):
    path = tmp_path / "profile.json"
    path.write_bytes(content)
    with pytest.raises(WattsliceError, match=message):
        read_branch_profile(path)


def test_a_missing_profile(tmp_path):
    with pytest.raises(WattsliceError, match="cannot read the profile: No such file"):
        read_branch_profile(tmp_path / "none.json")


def test_arms_that_add_up_to_one_despite_rounding(tmp_path):
    arms = [ENTRY | {"arm": f"case {i}", "probability": 0.1} for i in range(10)]
    loop = ENTRY | {"arm": "loop", "probability": 0.99}
    assert len(read_branch_profile(written(tmp_path, [*arms, loop])).arms) == 11


# ---------------------------------------------------------------- profiles that are tied to their source

SOURCE = """\
__global__ void k(const int *a, int *b, int n) {
    int i = threadIdx.x;
    if (a[i] > 3) b[i] = 1;
    for (int j = 0; j < a[i]; ++j) b[i] += j;
}
"""
IF, LOOP = (3, 5, "then"), (4, 5, "loop")


def counted(file, if_=(8, 2), loop=(30, 20, 10), name="one"):
    return DataSetCounts(
        name, (ArmCount("k", str(file), 3, 5, "then", *if_), ArmCount("k", str(file), 4, 5, "loop", *loop))
    )


def profile_of(tmp_path, *counts, command=""):
    """The profile of SOURCE, written and read again."""
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    made = make_profile(counts or (counted(source),), Making.INTERPRETER, command)
    path = tmp_path / "profile.json"
    path.write_text(profile_json(made))
    read = read_branch_profile(path)
    assert (read.arms, read.data_sets, read.sources) == (made.arms, made.data_sets, made.sources)
    assert (read.making, read.command) == (Making.INTERPRETER, command)
    assert profile_json(read) == path.read_text()
    return source, read


def test_equation_14_is_the_mean_over_data_sets_that_came_by(tmp_path):
    file = tmp_path / "k.cu"
    sets = (
        counted(file, (8, 2)),
        counted(file, (1000, 1000), name="two"),
        counted(file, (0, 0), name="none"),
    )
    _, profile = profile_of(tmp_path, *sets)
    entry = profile.arms[0]
    assert (entry.visits, entry.taken) == ((8, 1000, 0), (2, 1000, 0))
    assert entry.probability == (2 / 8 + 1) / 2  # not 1002 / 1008, and the third says nothing
    assert profile.arms[1].entries == (10, 10, 10)


def test_an_unvisited_branch_is_unknown(tmp_path):
    _, profile = profile_of(tmp_path, counted(tmp_path / "k.cu", (0, 0), (0, 0, 0)))
    assert [arm.probability for arm in profile.arms] == [None, None]


def test_copies_of_an_inlined_function_are_summed(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    twice = DataSetCounts("one", counted(source).arms * 2)
    assert make_profile([twice], Making.INTERPRETER, "").arms[0].visits == (16,)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cu").write_text(SOURCE)
    arms = [ArmCount("k", str(tmp_path / folder / "k.cu"), 3, 5, "then", 1, 1) for folder in "ab"]
    profile = make_profile([DataSetCounts("one", tuple(arms))], Making.INTERPRETER, "")
    assert [arm.file for arm in profile.arms] == ["a/k.cu", "b/k.cu"]


def analysed(source, profile):
    """Probability of the `if`, iterations of the loop, and rules with lines, as `analyze` sees them."""
    found = analyze_files(Config((source,), GpuChoice("v100"), facts=Facts(branch_profile=profile)))
    (kernel,) = found.kernels
    arms = {arm.arm: arm for arm in kernel.arms if arm.source.value == "profile"}
    then = round(arms["then"].probability, 9) if "then" in arms else None
    told = [(entry.rule, entry.line) for entry in found.diagnostics if entry.rule in ("PW017", "PW018")]
    return then, kernel.loops[0].trip_count, told


def test_the_profile_decides_branch_and_loop(tmp_path):
    source, profile = profile_of(tmp_path)
    assert analysed(source, profile) == (0.25, 2.0, [])
    (kernel,) = analyze_file(
        source, Config((source,), GpuChoice("v100"), facts=Facts(branch_profile=profile))
    ).kernels
    counts = there(kernel.work).counts_per_thread
    assert counts.global_store == pytest.approx(0.25 + 2.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__global__", "// a comment\n\n__global__"),
        ("    int i", "    // why\n    int i"),
        ("    if", "  if"),  # another column
        ("threadIdx.x;", "threadIdx.x; int unused = n;"),
        ("\n", "\r\n"),
    ],
)
def test_lines_that_only_moved_keep_their_entries(tmp_path, old, new):
    source, profile = profile_of(tmp_path)
    source.write_bytes(SOURCE.replace(old, new).encode())
    assert analysed(source, profile) == (0.25, 2.0, [])


def test_a_changed_line_loses_its_entry_and_says_so(tmp_path):
    source, profile = profile_of(tmp_path, command="wattslice profile k.cu --data k.toml -o p.json")
    source.write_text(SOURCE.replace("a[i] > 3", "a[i] > 4"))
    then, trips, told = analysed(source, profile)
    assert (then, trips, told) == (None, 2.0, [("PW018", 3)])
    found = analyze_files(Config((source,), GpuChoice("v100"), facts=Facts(branch_profile=profile)))
    (diagnostic,) = (entry for entry in found.diagnostics if entry.rule == "PW018")
    assert "'then' of kernel k" in diagnostic.message
    assert "`wattslice profile k.cu --data k.toml -o p.json`" in diagnostic.message


def test_another_kernel_has_no_part_in_it(tmp_path):
    source, profile = profile_of(tmp_path)
    source.write_text(SOURCE.replace("void k(", "void renamed("))
    assert analysed(source, profile) == (None, None, [("PW017", 3)])  # once for the kernel


def test_another_file_of_the_same_name_has_no_part_in_it(tmp_path):
    source, profile = profile_of(tmp_path)
    other = tmp_path / "other" / "k.cu"
    other.parent.mkdir()
    other.write_text("// not that one\n" + SOURCE)
    found = analyze_files(Config((source, other), GpuChoice("v100"), facts=Facts(branch_profile=profile)))
    assert [kernel.loops[0].trip_count for kernel in found.kernels] == [2.0, None]
    assert not any(entry.rule in ("PW017", "PW018") for entry in found.diagnostics)


def test_branches_of_a_header(tmp_path):
    header = tmp_path / "h.cuh"
    header.write_text("__device__ int f(int v) {\n  return v > 3 ? 1 : 2;\n}\n")
    source = tmp_path / "k.cu"
    source.write_text('#include "h.cuh"\n__global__ void k(int *a) { a[0] = f(a[1]); a[2] = f(a[3]); }\n')
    arm = ArmCount("k", str(header), 2, 10, "then", 4, 1)
    profile = make_profile([DataSetCounts("one", (arm,))], Making.INTERPRETER, "")
    header.write_text("\n" + header.read_text())

    def unused():
        found = analyze_files(Config((source,), GpuChoice("v100"), facts=Facts(branch_profile=profile)))
        return [
            (entry.rule, entry.file, entry.line) for entry in found.diagnostics if entry.rule[:4] == "PW01"
        ]

    assert unused() == []
    header.write_text(header.read_text().replace("v > 3", "v < 3"))
    assert unused() == [("PW018", "h.cuh", 2)]


def test_moved_lines_follow_a_function_that_changed_places():
    old = b"void f() {\n  if (a) b();\n}\nvoid g() {\n  if (c) d();\n}"
    new = b"void g() {\n  if (c) d();\n}\nvoid f() {\n    if (a) b();\n}"
    moved = moved_lines(line_digests(old), line_digests(new))
    assert (moved[2], moved[5]) == (5, 2)
    assert moved_lines(line_digests(old), line_digests(old)) == {line: line for line in range(1, 7)}
    assert moved_lines((), line_digests(old)) == {}


def test_a_profile_names_no_folder_of_this_machine(tmp_path):
    source, profile = profile_of(tmp_path)
    assert str(tmp_path) not in profile_json(profile)
    assert profile.arms[0].file == source.name == Path(source).name

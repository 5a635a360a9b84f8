"""`wattslice profile`: from a kernel and its data to a profile that `analyze` reads."""

import hashlib
import json
from pathlib import Path

import pytest

from wattslice.branch_profile.files import read_branch_profile
from wattslice.cli import main

SOURCE = """\
__device__ int clamped(int v) { return v < 0 ? 0 : v > 9 ? 9 : v; }
__global__ void k(const int *a, int *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    switch (a[i]) {
        case 1: b[i] = 1; break;
        case 2: b[i] = 2;
        case 3: if (i % 2) break; b[i] += 3;
        default: b[i] += 4;
    }
    for (int j = 0; j < a[i]; ++j) { if (j == 3) break; b[i]++; }
    int left = a[i];
    do { --left; } while (left > 0);
    for (;;) { if (++left > 1) break; }
    if (i > 1 && a[i] == 2 || i == 0) b[i] = clamped(a[i]) + clamped(b[i]);
    else b[i]--;
}
__global__ void other(int *b) { if (b[threadIdx.x]) b[threadIdx.x] = 0; }
"""
# Six threads with a: 1 2 3 2 5 0; n is 6.
SPEC = """
[[data]]
name = "six"
kernel = "k"
launch = { grid = 1, block = 8 }
arguments = { a = [1, 2, 3, 2, 5, 0], b = { size = 6 }, n = 6 }
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(SOURCE)
    Path("k.toml").write_text(SPEC)
    return tmp_path


def run(capsys, *words):
    status = main(words)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_every_arm_is_counted_exactly(kernel, capsys):
    assert run(capsys, "profile", "k.cu", "--data", "k.toml", "-o", "p.json")[0] == 0
    profile = read_branch_profile(Path("p.json"))
    found = {
        (arm.line, arm.column, arm.arm): (arm.visits[0], arm.taken[0], *arm.entries) for arm in profile.arms
    }
    lines = SOURCE.splitlines()

    def column(line, text):
        return lines[line - 1].index(text) + 1

    expected = {
        (1, 40, "then"): (4, 0),
        (1, 40, "else"): (4, 4),
        (1, column(1, "v > 9"), "then"): (4, 0),
        (1, column(1, "v > 9"), "else"): (4, 4),
        (4, 5, "then"): (8, 2),
        (5, 5, "case 1"): (6, 1),
        (5, 5, "case 2"): (6, 2),
        (5, 5, "case 3"): (6, 1),  # two more fall in from case 2
        (5, 5, "default"): (6, 2),  # and one from case 3
        (8, column(8, "if"), "then"): (3, 2),
        (11, 5, "loop"): (2 + 3 + 4 + 3 + 4 + 1, 1 + 2 + 3 + 2 + 4 + 0, 6),  # the fifth breaks
        (11, column(11, "if"), "then"): (12, 1),
        (13, 5, "loop"): (1 + 2 + 3 + 2 + 5 + 1, 0 + 1 + 2 + 1 + 4 + 0, 6),
        (14, 5, "loop"): (5 * 2 + 3, 5 * 2 + 3 - 6, 6),  # as `while (++left <= 1);`
        (15, 5, "then"): (6, 2),
        (15, 5, "else"): (6, 4),
        (15, column(15, "a[i] == 2"), "right"): (6, 4),
        (15, column(15, "i == 0"), "right"): (6, 5),
    }
    assert found == expected


def test_analyze_takes_the_profile(kernel, capsys):
    run(capsys, "profile", "k.cu", "--data", "k.toml", "-o", "p.json")
    status, out, _ = run(
        capsys,
        "analyze",
        "k.cu",
        "--gpu",
        "v100",
        "--launch",
        "k=1:8",
        "--profile",
        "p.json",
        "--format",
        "json",
    )
    assert status == 0
    found = json.loads(out)
    assert [entry for entry in found["diagnostics"] if entry["rule"] in ("PW017", "PW018")] == []
    k, other = found["kernels"]
    arms = {(arm["line"], arm["arm"]): arm for arm in k["arms"]}
    assert arms[(11, "then")]["source"] == "profile"
    assert arms[(15, "then")]["probability"] == pytest.approx(2 / 6)
    assert {loop["line"]: loop["trip_count"] for loop in k["loops"]} == pytest.approx(
        {11: 2, 13: 7 / 3, 14: 7 / 6}
    )
    assert [arm["source"] for arm in other["arms"]] == ["default"]


def test_the_table(kernel, capsys):
    status, out, _ = run(capsys, "profile", "k.cu", "--data", "k.toml")
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["14", "loop", "13", "7", "54", "%", "×1.17", "for", "(;;)", "{", "if", "(++left", ">", "1)"] in [
        row[:14] for row in rows
    ]
    assert ["kernel", "data", "set", "threads", "thread", "instructions", "time"] in rows


def test_the_same_call_gives_the_same_bytes(kernel, capsys):
    words = ("profile", "k.cu", "--data", "k.toml", "-o", "p.json")
    run(capsys, *words)
    first = Path("p.json").read_bytes()
    run(capsys, *words)
    assert Path("p.json").read_bytes() == first
    assert json.loads(first)["command"] == "wattslice profile k.cu --data k.toml -o p.json"


def test_the_spread_over_data_sets_and_what_was_never_visited(kernel, capsys):
    more = """
[[data]]
name = "nobody"
kernel = "k"
launch = { grid = 1, block = 8 }
arguments = { a = [0], b = [0], n = 0 }

[[data]]
name = "zeros"
kernel = "other"
launch = { grid = 1, block = 8 }
arguments = { b = { size = 8 } }
"""
    Path("k.toml").write_text(SPEC + more)
    _, out, _ = run(capsys, "profile", "k.cu", "--data", "k.toml", "-o", "p.json")
    assert "25 % to 100 %" in out  # i >= n
    arms = {(arm.kernel, arm.line, arm.arm): arm for arm in read_branch_profile(Path("p.json")).arms}
    assert arms[("k", 4, "then")].visits == (8, 8, 0)
    assert arms[("k", 4, "then")].probability == (2 / 8 + 1) / 2
    assert arms[("other", 18, "then")].visits == (0, 0, 8)
    Path("k.toml").write_text(more)
    _, out, _ = run(capsys, "profile", "k.cu", "--data", "k.toml", "--kernel", "k")
    assert "no data set came to k.cu: 1, 5, 8, 11, 13–15" in out


def test_a_skeleton_runs_as_it_is(kernel, capsys):
    status, out, _ = run(capsys, "profile", "k.cu", "--skeleton", "--kernel", "other")
    assert status == 0
    Path("s.toml").write_text(out)
    assert run(capsys, "profile", "k.cu", "--data", "s.toml", "--kernel", "other")[0] == 0


@pytest.mark.parametrize(
    ("words", "spec", "message"),
    [
        (("--data", "none.toml"), "", "none.toml: cannot read the data spec: No such file"),
        (("--data", "k.toml", "--kernel", "kk"), SPEC, "k.cu: no kernel 'kk' in this file (did you mean k?)"),
        (
            ("--data", "k.toml"),
            SPEC.replace('kernel = "k"', ""),
            "2 kernels: k, other (choose one with --kernel",
        ),
        (("--data", "k.toml", "--kernel", "other"), SPEC, "k.toml: no data set of kernel 'other'"),
        (("--data", "k.toml"), SPEC.replace("n = 6", "n = 7"), "k.cu:5: access out of bounds of 'a'"),
        (("--data", "k.toml"), SPEC.replace("grid = 1", "grid = 9999999"), "79999992 threads are too many"),
        (("--data", "k.toml", "--steps", "10"), SPEC, "[data set 'six' of k]"),
        (("--data", "k.toml"), SPEC.replace("launch =", "# "), "the grid and block of k cannot be read"),
        ((), SPEC, "--data SPEC says what the kernels are to run on"),
        (("--data", "k.toml", "--skeleton"), SPEC, "--data and --skeleton exclude each other"),
        (("--data", "k.toml", "-o", "no/p.json"), SPEC, "cannot be written"),
        (("--counts", "k.toml"), SPEC, "is no file of counts"),
    ],
)
def test_what_goes_wrong_is_one_line_and_status_2(kernel, capsys, words, spec, message):
    Path("k.toml").write_text(spec)
    status, out, err = run(capsys, "profile", "k.cu", *words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


PROGRAM = """
#include <cstdio>
#include <cstdlib>
__global__ void k(int *b, int n) { if (threadIdx.x < n) b[threadIdx.x] = 1; }
int main(int argc, char **argv) {
    int *b;
    cudaMalloc(&b, 128);
    k<<<1, 32>>>(b, atoi(argv[1]));
    cudaDeviceSynchronize();
    return 0;
}
"""


def test_probes_are_emitted_and_their_counts_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("p.cu").write_text(PROGRAM)
    status, out, err = run(capsys, "profile", "p.cu", "--emit-probes", "probed.cu")
    assert (status, out) == (0, "")
    assert "wattslice profile p.cu --counts wattslice-counts.txt" in err
    assert "#line 1" in Path("probed.cu").read_text()


def test_counts_of_a_program_built_by_hand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("p.cu").write_text(PROGRAM)
    sha256 = hashlib.sha256(Path("p.cu").read_bytes()).hexdigest()
    for name, taken in (("small", 8), ("large", 24)):
        row = f"/elsewhere/p.cu\tk\t4\t36\ttest\t\t32\t{taken}"
        Path(f"{name}.txt").write_text(f"wattslice-counts 1\n/elsewhere/p.cu\n{sha256}\n{row}\n")
    words = ("profile", "p.cu", "--counts", "small.txt", "--counts", "large.txt", "-o", "p.json")
    assert run(capsys, *words)[::2] == (0, "")
    profile = read_branch_profile(Path("p.json"))
    assert [data.name for data in profile.data_sets] == ["small", "large"]
    assert (profile.arms[0].file, profile.arms[0].probability) == ("p.cu", 0.5)
    status, _, err = run(capsys, *words, "--kernel", "kk")
    assert (status, err) == (2, "wattslice: p.cu: no branch of a kernel 'kk' was counted (there are k)\n")
    Path("p.cu").write_text(PROGRAM + "// edited\n")
    status, _, err = run(capsys, *words)
    assert (status, err) == (
        2,
        "wattslice: small.txt: counts another version of p.cu (emit the probes anew, build and run)\n",
    )


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("--data", "k.toml", "-o", "k.toml"), "k.toml"),
        (("--data", "k.toml", "-o", "link.json"), "k.cu"),
        (("--data", "k.toml", "-o", "keys.npy"), "keys.npy"),  # which the spec may name
        (("--counts", "c.txt", "-o", "c.txt"), "c.txt"),
        (("--emit-probes", "k.cu"), "k.cu"),
        (("--emit-probes", "header.cuh"), "header.cuh"),
        (("--skeleton", "-o", "k.cu"), "k.cu"),
        (("--skeleton", "-o", "k.toml"), "k.toml"),
    ],
)
def test_nothing_of_the_user_is_overwritten(kernel, capsys, words, kept):
    for name in ("keys.npy", "c.txt", "header.cuh"):
        Path(name).write_text(f"// {name}")
    Path("link.json").symlink_to("k.cu")
    before = Path(kept).read_bytes()
    status, _, err = run(capsys, "profile", "k.cu", *words)
    assert status == 2
    assert "would be overwritten" in err or "exists, and" in err
    assert Path(kept).read_bytes() == before


def test_what_wattslice_wrote_is_renewed(kernel, capsys):
    Path("p.json").touch()  # as mktemp leaves it
    for _ in range(2):
        assert run(capsys, "profile", "k.cu", "--data", "k.toml", "-o", "p.json")[0] == 0
        assert run(capsys, "profile", "k.cu", "--emit-probes", "probed.cu")[0] == 0
        assert run(capsys, "profile", "k.cu", "--skeleton", "-o", "new.toml")[0] == 0


def test_a_long_run_says_that_it_is_at_work(kernel, capsys, monkeypatch):
    assert "still at" not in run(capsys, "profile", "k.cu", "--data", "k.toml")[2]
    Path("e.cu").write_text("__global__ void e(int *a) { while (a[0] == 0) a[1]++; }")
    Path("e.toml").write_text('[[data]]\nname = "x"\nlaunch = { grid = 1, block = 1 }\narguments.a = [0, 0]')
    monkeypatch.setattr("wattslice.commands.output.SLOW_S", 0.01)
    status, _, err = run(capsys, "profile", "e.cu", "--data", "e.toml", "--steps", "20000")
    first, *rest = err.splitlines()
    assert status == 2
    assert first == "wattslice: still at data set 'x' of e, up to 20000 steps (--steps); Ctrl-C stops it"
    assert "step budget of 20000 spent" in rest[0]


def test_data_that_meet_hardly_any_branch_are_told(kernel, capsys):
    large = SPEC.replace("block = 8", "block = 1024")
    for n, told in ((2, True), (1024, False)):
        Path("k.toml").write_text(
            large.replace("n = 6", f"n = {n}")
            .replace("[1, 2, 3, 2, 5, 0]", "{ size = 1024, generator = 'uniform', low = 0, high = 6 }")
            .replace("size = 6", "size = 1024")
        )
        status, _, err = run(capsys, "profile", "k.cu", "--data", "k.toml")
        assert status == 0
        assert ("cover what the launch touches" in err) == told

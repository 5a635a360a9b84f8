"""The gate against a git revision: planted regressions are found and named, refactorings are silent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wattslice.commands.gate import gate
from wattslice.errors import WattsliceError
from wattslice.gate.revision import extracted, read_revision

TILED = """\
#define TILE 16
__global__ void mul(const float *a, const float *b, float *c, int n) {
    __shared__ float x[TILE][TILE], y[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        x[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
"""
UNTILED = """\
#define TILE 16
__global__ void mul(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += a[col * n + k] * b[row * n + k];
    c[row * n + col] = sum;
}
"""
HOST = """
int main() {
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4); cudaMalloc(&b, n * n * 4); cudaMalloc(&c, n * n * 4);
    mul<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
}
"""
SAXPY = """\
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
void go(float *x, float *y) { saxpy<<<4096, 256>>>(4096 * 256, 2.0f, x, y); }
"""


LOOP = """\
__global__ void wave(int n, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = x[i], s = 0.0f;
    for (int k = 0; k < 64; ++k)
        s += w * k;
    y[i] = s;
}
void go(float *x, float *y) { wave<<<4096, 256>>>(4096 * 256, x, y); }
"""


class Repository:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
        command = ["git", *settings, "-C", str(self.root), *words]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            self.write(name.replace("__", "/").replace("_dot_", "."), text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def gate(self, *words: str) -> Result:
        words = words or (str(self.root),)
        found = CliRunner().invoke(
            gate, ["--gpu", "v100", "--against", "HEAD", *words], standalone_mode=False
        )
        if found.exception is not None:
            raise found.exception
        return found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("COLUMNS", "100")
    return Repository(tmp_path)


def words(result: Result) -> str:
    """What was told, without line ends and the rules' column between the words."""
    return " ".join(word for word in result.stdout.split() if not word.startswith("PW0"))


def test_a_tile_removed_is_found_and_its_lines_are_named(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST)
    repository.write("mul.cu", UNTILED + HOST)
    result = repository.gate()
    assert result.return_value == 1
    assert "energy +" in words(result)
    assert "edited: line 6 (+" in words(result)  # the loop body that reads columns; its cost comes first
    assert "a[col * n + k]" in words(result)


def test_double_instead_of_float_is_found_though_edited_lines_hold_no_heat(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST)
    doubled = TILED.replace("float", "double") + HOST.replace("float", "double").replace("* 4)", "* 8)")
    repository.write("mul.cu", doubled)
    result = repository.gate()
    assert result.return_value == 1
    assert "line 3 `__shared__ double x[TILE][TILE]" in words(result)


def test_a_lost_unroll_is_found_at_its_pragma(repository: Repository):
    repository.commit(wave_dot_cu=LOOP.replace("    for", "    #pragma unroll\n    for"))
    repository.write("wave.cu", LOOP.replace("    for", "    #pragma unroll 1\n    for"))
    result = repository.gate()
    assert result.return_value == 1
    assert "edited: line 4 `#pragma unroll 1`; costlier with the same text: line 5" in words(result)


def test_a_stride_in_a_header_is_found_from_the_file_that_includes_it(repository: Repository):
    header = "#define AT(i) ((i) * 1)\n"
    repository.commit(
        inc__at_dot_h=header, saxpy_dot_cu='#include "at.h"\n' + SAXPY.replace("x[i]", "x[AT(i)]")
    )
    repository.write("inc/at.h", header.replace("* 1", "* 8"))
    result = repository.gate("-I", str(repository.root / "inc"), str(repository.root))
    assert result.return_value == 1
    assert "no line of it was edited, but inc/at.h" in words(result)


def test_a_saving_in_joules_does_not_fail_though_it_draws_more_watts(repository: Repository):
    repository.commit(mul_dot_cu=UNTILED + HOST)
    repository.write("mul.cu", TILED + HOST)
    result = repository.gate()
    assert result.return_value == 0
    assert "0 of 1 worse against HEAD" in words(result)
    strict = repository.gate("--fail-on", "time", str(repository.root))
    assert strict.return_value == 0


RENAMED = (
    TILED.replace("sum", "total")
    .replace(" x[", " left[")
    .replace("x[thread", "left[thread")
    .replace("row", "r")
)
REFORMATTED = (
    TILED.replace(" {\n", "\n{\n").replace("    ", "\t").replace("+=", " += ").replace(", y[", ",\n y[")
)
COMMENTED = TILED.replace("    float sum", "    // the sum of one element\n    float sum").replace(
    "#define", "/* A tile\n   of a matrix. */\n#define"
)
MOVED = HOST.replace("int main", "__global__ void mul(const float *, const float *, float *, int);\nint main")
KERNEL_LATER = TILED.splitlines(keepends=True)[0] + MOVED + "".join(TILED.splitlines(keepends=True)[1:])


@pytest.mark.parametrize(
    "text", [RENAMED + HOST, REFORMATTED + HOST, COMMENTED + HOST, KERNEL_LATER, TILED + SAXPY + HOST],
    ids=["renamed variables", "reformatted", "comments", "moved", "another kernel"],
)  # fmt: skip
def test_refactorings_are_silent(repository: Repository, text: str):
    repository.commit(mul_dot_cu=TILED + HOST)
    repository.write("mul.cu", text)
    result = repository.gate()
    assert result.return_value == 0
    assert "PW023" not in result.stdout
    assert "0 of 1 worse" in words(result)


def test_a_kernel_split_off_into_a_header_is_the_same_one(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST)
    repository.write("kernels.cuh", TILED)
    repository.write("mul.cu", '#include "kernels.cuh"\n' + HOST)
    result = repository.gate()
    assert result.return_value == 0
    assert "PW027" not in result.stdout


def test_a_file_moved_to_another_folder_holds_the_same_kernels(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST)
    (repository.root / "src").mkdir()
    (repository.root / "mul.cu").rename(repository.root / "src/mul.cu")
    result = repository.gate()
    assert (result.return_value, "0 of 1 worse" in words(result)) == (0, True)
    assert "PW027" not in result.stdout


def test_a_renamed_kernel_is_compared_and_its_old_name_told(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST)
    repository.write("mul.cu", (UNTILED + HOST).replace("mul", "multiply"))
    assert "multiply: new, not against HEAD" in words(repository.gate())  # not alike at all
    repository.write("mul.cu", (TILED + HOST).replace("mul", "multiply"))
    result = repository.gate()
    assert "multiply: was mul against HEAD" in words(result)
    assert result.return_value == 0


def test_new_and_vanished_kernels_are_told_and_do_not_fail(repository: Repository):
    repository.commit(mul_dot_cu=TILED + HOST, saxpy_dot_cu=SAXPY)
    (repository.root / "saxpy.cu").unlink()
    repository.write("wave.cu", LOOP)
    result = repository.gate()
    assert result.return_value == 0
    assert "saxpy: vanished" in words(result)
    assert "wave: new" in words(result)
    assert "2 checked" not in words(result)  # mul.cu did not change and is not analysed


def test_suppressed_regressions_pass(repository: Repository):
    repository.commit(saxpy_dot_cu=SAXPY)
    slow = SAXPY.replace("x[i]", "x[i * 8]")
    repository.write("saxpy.cu", "// wattslice: ignore[PW023] the layout is given\n" + slow)
    result = repository.gate()
    assert result.return_value == 0
    assert "1 suppressed" in words(result)


def test_nothing_changed_is_nothing_to_do(repository: Repository):
    repository.commit(saxpy_dot_cu=SAXPY)
    result = repository.gate()
    assert result.return_value == 0
    assert "no file changed" in result.stderr


def test_a_budget_makes_no_unchanged_kernel_a_new_one(repository: Repository):
    twice = "void go2(float *x, float *y) { saxpy<<<8, 256>>>(2048, 2.0f, x, y); }\n"
    head, go = SAXPY.split("void go")
    include = '#include "saxpy.cuh"\n'
    repository.commit(saxpy_dot_cuh=head, a_dot_cu=f"{include}void go{go}", b_dot_cu=include + twice)
    budget = ("--max-power", "900", str(repository.root))
    for text in (f"{include}void go{go}", f"{include}// changed\nvoid go{go}"):
        repository.write("a.cu", text)
        result = repository.gate(*budget)
        assert result.return_value == 0
        assert not {"new,", "vanished,"} & set(words(result).split())
    assert repository.gate("--max-power", "9", str(repository.root)).return_value == 1


def test_only_a_tolerance_below_the_change_fails(repository: Repository):
    repository.commit(saxpy_dot_cu=SAXPY)
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 8]"))
    assert repository.gate("--tolerance", "500%", str(repository.root)).return_value == 0
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 2]"))  # more, and nothing less: sure
    assert repository.gate("--confidence", "99.99%", str(repository.root)).return_value == 1
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 2]").replace("if (i < n) ", ""))
    assert repository.gate("--confidence", "99.99%", str(repository.root)).return_value == 0
    with pytest.raises(WattsliceError, match="is not a share"):
        repository.gate("--tolerance", "much", str(repository.root))
    with pytest.raises(WattsliceError, match="no percent sign") as refused:
        repository.gate("--tolerance", "5", str(repository.root))
    assert refused.value.remedy == "write 5%, or 0.05 for the same share"
    with pytest.raises(WattsliceError, match="no percent sign"):
        repository.gate("--confidence", "95", str(repository.root))


def test_errors_name_the_remedy(repository: Repository, tmp_path_factory: pytest.TempPathFactory):
    repository.commit(saxpy_dot_cu=SAXPY)
    with pytest.raises(WattsliceError, match="no commit 'nowhere'"):
        repository.gate("--against", "nowhere", str(repository.root))
    with pytest.raises(WattsliceError, match="no commit '--output=x'"):
        repository.gate("--against", "--output=x", str(repository.root))
    outside = tmp_path_factory.mktemp("plain") / "saxpy.cu"
    outside.write_text(SAXPY)
    with pytest.raises(WattsliceError, match="not a git repository"):
        repository.gate("--against", "HEAD", str(outside))


def test_nothing_of_the_repository_is_run(repository: Repository):
    trap = repository.write("trap.sh", f"#!/bin/sh\necho ran >> {repository.root}/ran\ncat\n")
    trap.chmod(0o755)
    repository.commit(
        saxpy_dot_cu=SAXPY,
        _dot_gitattributes="*.cu filter=trap diff=trap textconv=trap working-tree-encoding=UTF-8\n",
    )
    for key in (
        "filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "diff.trap.textconv",
        "diff.trap.command", "diff.external", "core.fsmonitor", "core.pager", "core.sshCommand",
        "alias.ls-tree",
    ):  # fmt: skip
        repository.git("config", key, str(trap))
    hooks = repository.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
        (hooks / hook).write_text(trap.read_text())
        (hooks / hook).chmod(0o755)
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 8]"))
    before = {p: p.stat().st_mtime_ns for p in repository.root.rglob("*")}
    assert repository.gate().return_value == 1
    assert not (repository.root / "ran").exists()
    assert {
        p: p.stat().st_mtime_ns for p in repository.root.rglob("*")
    } == before  # work tree, index, objects


def test_git_variables_of_a_calling_hook_do_not_lead_elsewhere(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    repository.commit(saxpy_dot_cu=SAXPY)
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 8]"))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    assert repository.gate().return_value == 1


def test_lfs_pointers_are_told(repository: Repository):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    repository.commit(saxpy_dot_cu=pointer)
    repository.write("saxpy.cu", SAXPY)
    result = repository.gate()
    assert "saxpy.cu cannot be compared: saxpy.cu is a Git LFS pointer in HEAD" in words(result)
    assert "new" not in words(result)
    assert result.return_value == 1
    assert repository.gate("--unknown", "warn", str(repository.root)).return_value == 0
    repository.commit(saxpy_dot_cu=SAXPY)
    repository.write("saxpy.cu", pointer)
    assert "is a Git LFS pointer here" in words(repository.gate())


def test_compile_commands_hold_for_the_old_tree(repository: Repository):
    database = [
        {"directory": str(repository.root), "file": "src/k.cu", "arguments": ["nvcc", "-Iinc", "-DSTEP=1"]}
    ]
    kernel = '#include "at.h"\n' + SAXPY.replace("x[i]", "x[AT(i) * STEP]")
    repository.commit(inc__at_dot_h="#define AT(i) (i)\n", src__k_dot_cu=kernel)
    repository.write("build/compile_commands.json", json.dumps(database))
    repository.write("inc/at.h", "#define AT(i) ((i) * 8)\n")
    words_ = ("-p", str(repository.root / "build"), str(repository.root / "src"))
    result = repository.gate(*words_)
    assert result.return_value == 1
    assert "PW002" not in result.stderr


@pytest.mark.slow
def test_every_format_tells_the_regression(repository: Repository):
    repository.commit(saxpy_dot_cu=SAXPY)
    repository.write("saxpy.cu", SAXPY.replace("x[i]", "x[i * 8]"))
    for name in ("gcc", "sarif", "github", "junit", "gitlab"):
        result = repository.gate("--format", name, str(repository.root))
        assert result.return_value == 1
        assert "energy +" in result.stdout
    report = repository.root / "out.sarif"
    repository.git("checkout", "-q", "saxpy.cu")
    assert repository.gate("--format", "sarif", "-o", str(report), str(repository.root)).return_value == 0
    assert json.loads(report.read_text())["runs"][0]["results"] == []  # written though nothing changed


def test_only_what_was_known_before_fails_as_unknown(repository: Repository):
    broken = "\0\1 no text\n"
    repository.commit(saxpy_dot_cu=SAXPY, never_dot_cu=broken)
    repository.write("never.cu", broken * 2)
    assert repository.gate().return_value == 0
    repository.write("saxpy.cu", broken)
    result = repository.gate()
    assert result.return_value == 1
    assert "saxpy.cu cannot be analysed, so not compared against HEAD" in words(result)
    assert "never.cu" not in words(result)
    assert repository.gate("--unknown", "warn", str(repository.root)).return_value == 0


def test_a_file_whose_kernels_lie_in_a_header_does_not_get_lost(repository: Repository):
    main = '#include "mul.cuh"\n' + HOST
    repository.commit(mul_dot_cuh=TILED, a_dot_cu=main, saxpy_dot_cu=SAXPY)
    repository.write("a.cu", '#include "/dev/zero"\n' + main)
    repository.write("saxpy.cu", SAXPY + "// changed\n")
    result = repository.gate()
    assert (result.return_value, "a.cu cannot be analysed" in words(result)) == (1, True)
    repository.commit()
    repository.write("a.cu", '#include "/dev/zero"\n\n' + main)
    assert repository.gate().return_value == 0  # as before


CALLED = """\
__global__ void scale(float *x, int n) { for (int i = threadIdx.x; i < n; i += 256) x[i] *= 2; }
void run_scale(float *x, int n) { scale<<<n / 256, 256>>>(x, n); }
"""


def test_neither_siblings_nor_the_temporary_folder_steer_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    for place in ("repo", "sibling", "tmp/other"):
        (tmp_path / place).mkdir(parents=True)
    repository = Repository(tmp_path / "repo")
    repository.commit(k_dot_cu=CALLED)
    repository.write("k.cu", CALLED.replace("*= 2", "= sqrtf(x[i]) / x[i * 8]"))
    before = repository.gate()
    for place, size in (("sibling", 512), ("tmp", 1 << 20), ("tmp/other", 1 << 20), (".", 512)):
        (tmp_path / place / "m.cu").write_text(
            f"void run_scale(float *, int);\nint main() {{ float *x; run_scale(x, {size}); }}\n"
        )
    after = repository.gate()
    assert (before.return_value, before.stdout) == (1, after.stdout)


def test_missing_objects_are_no_pass(repository: Repository):
    repository.commit(k_dot_cu=SAXPY, mul_dot_cu='#include "mul.cuh"\n' + HOST, mul_dot_cuh=TILED)
    for name in ("k.cu", "mul.cuh"):
        sha = repository.git("rev-parse", f"HEAD:{name}").strip()
        (repository.root / ".git/objects" / sha[:2] / sha[2:]).unlink()
    assert "no file changed" in repository.gate().stderr  # the work tree proves it
    repository.write("k.cu", SAXPY + "// changed\n")
    result = repository.gate()
    assert (result.return_value, "k.cu of HEAD is not in this clone" in words(result)) == (1, True)
    repository.write("k.cu", SAXPY)
    repository.write("mul.cu", '#include "mul.cuh"\n// changed\n' + HOST)
    result = repository.gate()
    assert (result.return_value, "0 of 1 worse" in words(result)) == (0, True)  # the header is as it was
    repository.write("mul.cuh", TILED + "// changed\n")
    result = repository.gate()
    assert "mul.cu cannot be compared: mul.cuh of HEAD is not in this clone" in words(result)


def test_a_partial_clone_tells_what_it_lacks(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
):
    repository.commit(k_dot_cu=SAXPY)
    repository.commit(k_dot_cu=SAXPY.replace("x[i]", "x[i * 8]"))
    repository.git("config", "uploadpack.allowFilter", "true")
    place = tmp_path_factory.mktemp("clones") / "partial"
    repository.git("clone", "-q", "--filter=blob:none", f"file://{repository.root}", str(place))
    clone = Repository(place)
    result = clone.gate("--against", "HEAD~1", str(place))
    assert (result.return_value, "k.cu of HEAD~1 is not in this clone" in words(result)) == (1, True)
    with pytest.raises(WattsliceError, match=r"no commit '\^HEAD'.*a branch, tag or commit"):
        clone.gate("--against", "^HEAD", str(place))


def test_links_through_links_do_not_lead_out(repository: Repository):
    (repository.root / "p/q").mkdir(parents=True)
    (repository.root / "inc").mkdir()
    for link, aim in (
        ("p/q/up", "../.."), ("out", "p/q/up/.."), ("chain", "out"), ("inc/here", "../p"),
        ("gone", "nowhere"),
    ):  # fmt: skip
        (repository.root / link).symlink_to(aim)
    repository.commit(k_dot_cu=SAXPY)
    with extracted(read_revision(repository.root, "HEAD"), frozenset({"k.cu"})) as tree:
        links = {path.relative_to(tree.root).as_posix() for path in tree.root.rglob("*") if path.is_symlink()}
        assert links == {"p/q/up", "inc/here", "gone"}
        assert [path.name for path in tree.root.parent.iterdir()] == [tree.root.name]
    assert not tree.root.parent.exists()


def test_submodules_are_left_out_with_one_note(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
):
    module = Repository(tmp_path_factory.mktemp("module"))
    module.commit(sub_dot_cu=CALLED, sub_dot_cuh=TILED)
    repository.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(module.root), "lib")
    repository.commit(mul_dot_cu='#include "lib/sub.cuh"\n' + HOST)
    repository.write("mul.cu", '#include "lib/sub.cuh"\n// changed\n' + HOST)
    repository.write("lib/sub.cu", CALLED.replace("*= 2", "= sqrtf(x[i]) / x[i * 8]"))
    result = repository.gate()
    assert (result.return_value, "PW027" in result.stdout) == (0, False)
    assert "gate passed: 1 checked, 0 of 1 worse" in words(result)
    assert result.stderr.count("submodules lib") == 1


def test_vanished_kernels_are_told_of_named_folders_only(repository: Repository):
    repository.commit(a__k_dot_cu=SAXPY, b__mul_dot_cu=TILED + HOST, a__old_dot_cu=LOOP)
    (repository.root / "b/mul.cu").unlink()
    (repository.root / "a/old.cu").unlink()
    told = words(repository.gate(str(repository.root / "a")))
    assert ("wave: vanished" in told, "mul" in told) == (True, False)


def test_a_kernel_that_a_guess_makes_idle_is_no_saving(repository: Repository):
    plain = LOOP.splitlines(keepends=True)
    repository.commit(loop_dot_cu="".join(plain[:-1]))
    repository.write("loop.cu", "".join(plain[:-1]).replace("float w", "if (n < 5000) return;\n    float w"))
    result = repository.gate()
    assert result.return_value == 1
    assert "accesses nothing with what is assumed: value of parameter 'n' unknown: n assumed 1024" in words(
        result
    )


ROUNDS = LOOP.replace("k < 64", "k < ROUNDS")
MAKEFILE = "wave: wave.cu\n\tnvcc -DROUNDS=64 -o wave wave.cu\n"


def test_a_macro_of_the_build_is_compared(repository: Repository):
    repository.commit(wave_dot_cu=ROUNDS, Makefile=MAKEFILE)
    repository.write("wave.cu", f"// a comment\n{ROUNDS}")
    assert "PW023" not in repository.gate().stdout
    repository.write("wave.cu", ROUNDS)
    repository.write("Makefile", MAKEFILE.replace("64", "640"))
    result = repository.gate()
    assert result.return_value == 1
    assert "no line of it was edited, but Makefile" in words(result)


def test_what_a_neighbour_defines_is_the_same_on_both_sides(repository: Repository):
    host = "int rounds();\nvoid go(float *x, float *y) { wave<<<4096, 256>>>(rounds(), x, y); }\n"
    kernel = "".join(LOOP.splitlines(keepends=True)[:-1]).replace("k < 64", "k < n")
    repository.commit(wave_dot_cu=kernel + host, main_dot_c="int rounds() { return 64; }\nint main() {}\n")
    repository.write("wave.cu", f"// a comment\n{kernel}{host}")
    result = repository.gate()
    assert result.return_value == 0
    assert "PW023" not in result.stdout  # not a warning either
    repository.write("main.c", "int rounds() { return 640; }\n")
    assert repository.gate().return_value == 1


def test_host_code_that_moves_what_was_assumed_only_warns(repository: Repository):
    host = "void go(float *x, float *y, int n) { wave<<<n / 256, 256>>>(ROUNDS, x, y); }\n"
    kernel = "".join(LOOP.splitlines(keepends=True)[:-1]).replace("k < 64", "k < n")
    repository.commit(wave_dot_cu=kernel + host.replace("ROUNDS", "64"))
    repository.write("wave.cu", kernel + host.replace("ROUNDS", "640"))
    result = repository.gate()
    assert result.return_value == 0
    assert "a warning only, for its launch is assumed" in words(result)
    repository.write(
        "wave.cu", kernel.replace("s += w * k", "s += sinf(w * k)") + host.replace("ROUNDS", "64")
    )
    assert repository.gate().return_value == 1  # a line of the kernel was edited
    known = (kernel + host).replace("n / 256", "4096")
    repository.commit(wave_dot_cu=known.replace("ROUNDS", "64"))
    repository.write("wave.cu", known.replace("ROUNDS", "640"))
    assert repository.gate().return_value == 1  # the launch is given


def test_a_launch_made_more_often_is_a_regression_of_the_joules(repository: Repository):
    kernel = "".join(LOOP.splitlines(keepends=True)[:-1])
    host = """int main() {
    float *x, *y;
    for (int step = 0; step < 10; step++)
        wave<<<4096, 256>>>(7, x, y);
}
"""
    repository.commit(wave_dot_cu=kernel + host)
    repository.write("wave.cu", kernel + host.replace("10", "1000"))
    result = repository.gate()
    assert result.return_value == 1
    line = (kernel + host).splitlines().index("        wave<<<4096, 256>>>(7, x, y);") + 1
    assert f"wave.cu:{line}" in words(result)
    assert "energy +9900 % (+9900 to +9900 %)" in words(result)
    assert "launched 1000 times, was 10 times" in words(result)
    repository.write("wave.cu", kernel + host.replace("10", "1").replace("(7,", "(8,"))
    assert repository.gate().return_value == 0  # fewer joules
    repository.write("wave.cu", kernel + host.replace("step < 10", "step < *(int *)y"))
    assert "how often it is launched is unknown, was 10 times" in words(repository.gate())
    repository.write("wave.cu", kernel.replace("s += w * k", "s += sinf(w * k)") + host)
    assert "in each launch, edited: line" in words(repository.gate())


def test_a_size_that_goes_through_a_header_is_compared(repository: Repository):
    kernel = "".join(LOOP.splitlines(keepends=True)[:-1]).replace("k < 64", "k < n")
    wave = kernel + 'extern "C" void go(int n, float *x) { wave<<<4096, 256>>>(n, x, x); }\n'
    header = 'extern "C" void go(int n, float *x);\nstruct Runner { int n; void run() { go(n, 0); } };\n'
    main = '#include "runner.h"\nint main() { Runner r; r.n = 64; r.run(); }\n'
    repository.commit(wave_dot_cu=wave, runner_dot_h=header, main_dot_cpp=main)
    repository.write("main.cpp", main.replace("64", "640"))
    result = repository.gate()
    assert result.return_value == 1
    assert "no line of it was edited, but main.cpp" in words(result)

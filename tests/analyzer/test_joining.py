"""Kernels that several files of a run tell of: one entry per launch, one name per file, nothing invented."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from wattslice.analysis import Advice, Analysis, LaunchSource, Suppression
from wattslice.commands.gate import gate
from wattslice.config.config import Options, make_config
from wattslice.frontend.neighbours import launcher_files
from wattslice.ir import Diagnostic, Severity
from wattslice.launches.overrides import KnownNames
from wattslice.pipeline.files import analyze_files
from wattslice.pipeline.incremental import IncrementalAnalyzer
from wattslice.pipeline.joining import FileAnalysis, joined
from wattslice.report.json import render_json

from .samples import MATMUL
from .samples import changed as other

KERNEL = """__global__ void NAME(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
"""
MAIN = """#include "k1.cu"
#include "k2.cu"
int main() {
    int n = 4096 * 256;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    k1<<<4096, 256>>>(x, n);
    k2<<<4096, 256>>>(x, n);
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, **texts: str) -> None:
    """Files by name; `__` is a slash and the suffix is ``.cu``."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.cu"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(*paths: str, **options: object) -> Analysis:
    given = Options(paths=tuple(map(Path, paths)), gpu="v100", **options)  # pyright: ignore[reportArgumentType]
    return analyze_files(make_config(given))


def told(analysis: Analysis) -> list[tuple[str, str, int, int | None, str]]:
    return [
        (k.source.file, k.source.qualified_name, k.launch.grid[0], k.launch.line, k.launch.source.value)
        for k in analysis.kernels
    ]


def rules(analysis: Analysis) -> set[str]:
    assumed: Iterable[str] = (entry.rule for kernel in analysis.kernels for entry in kernel.assumptions)
    return {*assumed, *(entry.rule for entry in analysis.diagnostics)}


LAUNCHED = [("k1.cu", "k1", 4096, 7, "host code"), ("k2.cu", "k2", 4096, 8, "host code")]


@pytest.mark.slow
def test_each_launch_of_an_included_kernel_is_told_once(folder: Path):
    write(folder, k1=KERNEL.replace("NAME", "k1"), k2=KERNEL.replace("NAME", "k2"), main=MAIN)
    analysis = run("k1.cu", "k2.cu", "main.cu")
    assert told(analysis) == LAUNCHED
    assert analysis.files == ("k1.cu", "k2.cu", "main.cu")
    assert {kernel.launch.file for kernel in analysis.kernels} == {"main.cu"}
    assert {heat.file for kernel in analysis.kernels for heat in kernel.hot_lines} == {"k1.cu", "k2.cu"}
    assert "PW011" not in rules(analysis)
    assert render_json(run("k1.cu", "k2.cu", "main.cu", jobs=2)) == render_json(analysis)
    assert sorted(told(run("main.cu", "k1.cu", "k2.cu"))) == LAUNCHED


@pytest.mark.parametrize(("second", "times"), [(7, None), (3, 3)])
def test_programs_that_share_a_kernel_may_launch_it_differently_often(
    folder: Path, second: int, times: int | None
):
    (folder / "k1.cuh").write_text(KERNEL.replace("NAME", "k1"))
    (folder / "run.cuh").write_text("void go(float *x) { k1<<<16, 256>>>(x, 4096); }\n")
    for name, number in (("one", 3), ("two", second)):
        main = f"int main() {{ for (int i = 0; i < {number}; i++) go(0); }}"
        write(folder, **{name: f'#include "k1.cuh"\n#include "run.cuh"\n{main}'})
    (kernel,) = run("one.cu", "two.cu").kernels
    assert kernel.launch.times == times
    assert times is not None or kernel.launch.times_unknown == (
        "several programs launch it: 3 times from one.cu, 7 times from two.cu"
    )


def test_a_file_has_the_name_it_was_given(folder: Path):
    write(folder, k1=KERNEL.replace("NAME", "k1"), k2=KERNEL.replace("NAME", "k2"), main=MAIN)
    (folder / "sub").mkdir()
    analysis = run(str(folder / "k1.cu"), "sub/../k2.cu", "main.cu")
    assert [kernel.source.file for kernel in analysis.kernels] == [str(folder / "k1.cu"), "sub/../k2.cu"]


def test_an_invented_launch_goes_where_another_file_launches(folder: Path):
    write(folder, lib__k1=KERNEL.replace("NAME", "k1"))
    main = '#include "../../lib/k1.cu"\nint main() { k1<<<4096, 256>>>(0, 4096 * 256); }\n'
    write(folder, app__deep__main=main)
    (alone,) = run("lib/k1.cu").kernels
    assert (alone.launch.source, alone.launch.line) == (LaunchSource.ASSUMED, None)
    analysis = run(".")
    assert told(analysis) == [("lib/k1.cu", "k1", 4096, 2, "host code")]
    assert "PW011" not in rules(analysis)


def test_every_place_of_a_launch_is_told(folder: Path):
    (folder / "k.cuh").write_text("#pragma once\n" + KERNEL.replace("NAME", "k"))
    for name, blocks in (("a", 100), ("b", 200)):
        write(folder, **{name: f'#include "k.cuh"\nint main() {{ k<<<{blocks}, 256>>>(0, 25600); }}\n'})
    write(folder, c='#include "k.cuh"\n')  # launches nothing
    assert [(k.source.file, k.launch.grid[0]) for k in run(".").kernels] == [("k.cuh", 100), ("k.cuh", 200)]


def test_a_template_without_instance_is_no_kernel_beside_its_instance(folder: Path):
    text = "template <typename T> __global__ void k(T *x) { x[threadIdx.x] *= 2; }\n"
    write(folder, k=text, main='#include "k.cu"\nint main() { k<double><<<10, 64>>>((double *)0); }\n')
    analysis = run("k.cu", "main.cu")
    assert told(analysis) == [("k.cu", "k<double>", 10, 2, "host code")]
    assert "PW006" not in rules(analysis)


def test_a_header_is_named_without_needless_steps(folder: Path):
    (folder / "include").mkdir()
    (folder / "include" / "k.cuh").write_text("#pragma once\n" + KERNEL.replace("NAME", "k"))
    write(folder, src__a='#include "../include/k.cuh"\nvoid go() { k<<<9, 32>>>(0, 1); }\n')
    assert {kernel.source.file for kernel in run("src").kernels} == {"include/k.cuh"}
    (folder / "other" / "deep").mkdir(parents=True)
    (folder / "other" / "k.cuh").write_text((folder / "include" / "k.cuh").read_text())
    (folder / "include" / "link").symlink_to(folder / "other" / "deep")
    write(folder, src__a='#include "../include/link/../k.cuh"\nvoid go() { k<<<9, 32>>>(0, 1); }\n')
    assert {kernel.source.file for kernel in run("src").kernels} == {"src/../include/link/../k.cuh"}


FRAGMENT = "__global__ void NAME(real *x) { x[blockIdx.x * THREADS + threadIdx.x] *= 2; }\n"
PROGRAM = """#define THREADS 512
typedef float real;
#include "f1.cu"
#include "f2.cu"
int main() { f1<<<8, THREADS>>>((real *)0); f2<<<9, THREADS>>>((real *)0); }
"""


def test_all_that_is_told_of_a_kernel_names_files_alike():
    odd = "nowhere/../b.cuh"
    kernel = other(
        MATMUL,
        source={"file": "./a.cu"},
        launch={"file": "nowhere/../a.cu"},
        hot_lines=(replace(MATMUL.hot_lines[0], file=odd),),
        loops=(replace(MATMUL.loops[0], file=odd),),
        arms=(replace(MATMUL.arms[0], file=odd),),
        assumptions=(replace(MATMUL.assumptions[0], file=odd),),
        advice=(Advice("PW040", 3, "hot", "", file=odd),),
    )
    told = Diagnostic("PW030", Severity.NOTE, odd, 1, "a note")
    alone = FileAnalysis(
        "a.cu", (kernel,), (told,), KnownNames(()), suppressions=(Suppression(odd, 1, 1, (), ""),)
    )
    (found,) = joined((alone,))
    (kernel,) = found.kernels
    assert (kernel.source.file, kernel.launch.file) == ("a.cu", "")
    entries = (*kernel.hot_lines, *kernel.loops, *kernel.arms, *kernel.assumptions, *kernel.advice)
    assert {one.file for one in (*entries, *found.diagnostics, *found.suppressions)} == {"b.cuh"}


def test_of_a_fragment_only_its_own_kernels_are_told(folder: Path):
    (folder / "own.cuh").write_text(FRAGMENT.replace("NAME", "f3"))
    own = FRAGMENT.replace("NAME", "f1") + '#include "own.cuh"\n'
    write(folder, f1=own, f2=FRAGMENT.replace("NAME", "f2"), main=PROGRAM)
    analysis = run("f1.cu")
    assert [(k.source.file, k.name, k.launch.grid[0]) for k in analysis.kernels if k.name != "f3"] == [
        ("f1.cu", "f1", 8)
    ]
    assert [k.name for k in analysis.kernels] == ["f1", "f3"]
    whole = run(".")
    assert [k.name for k in whole.kernels] == ["f1", "f3", "f2"]
    assert whole.unread == ()


def test_what_only_a_reading_alone_complains_of_goes_with_it(folder: Path):
    write(folder, lib__f1=FRAGMENT.replace("NAME", "f1"))
    text = PROGRAM.replace('"f1.cu"', '"../../lib/f1.cu"').replace('#include "f2.cu"', "")
    write(folder, app__deep__main=text.replace(" f2<<<9, THREADS>>>((real *)0);", ""))
    assert "PW001" in rules(run("lib/f1.cu"))  # outside a repository nobody finds who includes it
    analysis = run(".")
    assert [(k.name, k.launch.grid[0]) for k in analysis.kernels] == [("f1", 8)]
    assert "PW001" not in rules(analysis)


def test_the_launch_is_read_from_the_file_that_includes_the_kernel(folder: Path):
    text = KERNEL.replace("NAME", "k1")
    write(folder, k1=text, other="int main() { k1<<<7, 32>>>(0, 1); } // its own k1, no include\n")
    (alone,) = run("k1.cu").kernels
    assert alone.launch.source is LaunchSource.ASSUMED
    write(folder, main='#include "k1.cu"\nint main() { k1<<<4096, 256>>>(0, 4096 * 256); }\n')
    assert launcher_files(Path("k1.cu"), frozenset({"k1"})) == (folder.resolve() / "main.cu",)
    expected = [("k1.cu", "k1", 4096, 2, "host code")]
    assert told(run("k1.cu")) == expected
    analyzer = IncrementalAnalyzer(make_config(Options(paths=(Path("k1.cu"),), gpu="v100")))
    assert told(analyzer.analyze(Path("k1.cu"), text)) == expected
    write(folder, main='#include "k1.cu"\nint main() { k1<<<2048, 256>>>(0, 4096 * 256); }\n')
    assert told(analyzer.analyze(Path("k1.cu"), text))[0][2] == 2048


def test_another_file_of_the_same_name_launches_kernels_of_its_own(folder: Path):
    write(folder, k1=KERNEL.replace("NAME", "k1"), sub__k1=KERNEL.replace("NAME", "k1"))
    write(folder, sub__main='#include "k1.cu"\nint main() { k1<<<9, 32>>>(0, 1); }\n')
    assert [k.launch.source for k in run("k1.cu").kernels] == [LaunchSource.ASSUMED]


def test_the_cache_knows_who_launches(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WATTSLICE_CACHE", str(folder / "cache"))
    write(folder, k1=KERNEL.replace("NAME", "k1"))
    assert run("k1.cu").kernels[0].launch.source is LaunchSource.ASSUMED
    for blocks in (4096, 2048):
        write(folder, main=f'#include "k1.cu"\nint main() {{ k1<<<{blocks}, 256>>>(0, 1048576); }}\n')
        for _ in range(2):
            assert run("k1.cu").kernels[0].launch.grid[0] == blocks


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.slow
def test_the_gate_compares_real_launches_only(folder: Path):
    write(folder, k1=KERNEL.replace("NAME", "k1"), k2=KERNEL.replace("NAME", "k2"), main=MAIN)
    invoke = CliRunner().invoke
    assert "2 launches" in invoke(gate, ["--update-baseline", "--baseline", "b", "."]).output
    assert "640x1x1" not in (folder / "b").read_text()
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "a")
    write(folder, k1=KERNEL.replace("NAME", "k1").replace("*= 2.0f", "+= x[i * 8]"))
    for place, yardstick in (
        ("k1.cu:3", ["--against", "HEAD"]),
        ("k1.cu:1", ["--baseline", "b"]),  # which knows no lines
        ("k1.cu:3", ["--against", "HEAD", "--max-power", "290"]),
    ):
        result = invoke(gate, [*yardstick, "."])
        worse = [line for line in result.output.splitlines() if "PW023" in line]
        assert [line.split()[1] for line in worse] == [place], result.output
        assert "1 of 2 worse" in result.output, result.output


@pytest.mark.slow
def test_a_fragment_is_compared_with_whoever_includes_it(folder: Path):
    wrapper = "void go(float *x, int n) { k1<<<n / 256, 256>>>(x, n); }\n"
    main = '#include "k1.cu"\n#include "wrapper.cu"\nint main() { go(0, 1 << 20); }\n'
    write(folder, k1=KERNEL.replace("NAME", "k1"), wrapper=wrapper, main=main)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "a")
    write(folder, main=main.replace("1 << 20", "1 << 24"))
    for budget in ([], ["--max-power", "290"]):
        result = CliRunner().invoke(gate, ["--against", "HEAD", *budget, "."])
        assert "1 of 1 worse" in result.output, result.output


BODY = " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }\n"
LINKED = {
    "lib__k": f"""#include "../k.cuh"
namespace ns {{ __global__ void k(float *x, int n){BODY}}}
__global__ void k(float *x, int n){BODY}__global__ void k(double *x, int n){BODY}
extern "C" __global__ void whole(float *x, int n){BODY}
template <int B> __global__ void t(float *x, int n){BODY}
template __global__ void t<64>(float *, int);
template __global__ void t<128>(float *, int);
template __global__ void shared<float>(float *, int);
__global__ void held(float *x, int n){BODY}
static __global__ void own(float *x, int n){BODY}
""",
    "main": """#include "k.cuh"
static __global__ void own(float *x, int n) {} int main() {
    int n = 1 << 20;
    float *x; cudaMalloc(&x, 4 * n);
    double *y; cudaMalloc(&y, 8 * n);
    ns::k<<<n / 32, 32>>>(x, n);
    k<<<n / 128, 128>>>(y, n);
    t<128><<<n / 256, 256>>>(x, n);
    shared<<<n / 512, 512>>>(x, n);
    void (*f)(float *, int) = held;
    f<<<n / 1024, 1024>>>(x, n);
    own<<<7, 32>>>(x, n);
}
""",
    "grid": """#include "k.cuh"
void grid(void **arguments) { cudaLaunchCooperativeKernel((void *)whole, 640, 64, arguments); }
""",
}
DECLARED = f"""#pragma once
namespace ns {{ __global__ void k(float *, int); }}
extern __global__ void k(float *, int), k(double *, int);
extern "C" __global__ void whole(float *, int);
template <int B> __global__ void t(float *, int);
template <typename T> __global__ void shared(T *x, int n){BODY}
__global__ void held(float *, int);
"""


def test_a_kernel_that_another_file_declares_has_the_launch_there(folder: Path):
    (folder / "k.cuh").write_text(DECLARED)
    write(folder, **LINKED)
    expected = [
        ("k", 32768, 6, "main.cu"),
        ("k", 0, None, ""),
        ("k", 8192, 7, "main.cu"),
        ("whole", 640, 2, "grid.cu"),
        ("held", 1024, 11, "main.cu"),
        ("own", 0, None, ""),
        ("t", 0, None, ""),
        ("t", 4096, 8, "main.cu"),
        ("shared", 2048, 9, "main.cu"),
    ]

    def linked(analysis: Analysis) -> list[tuple[str, int, int | None, str]]:
        assert all(k.launch.source is LaunchSource.HOST_CODE for k in analysis.kernels if k.launch.line)
        return [
            (k.name, k.launch.grid[0] if k.launch.line else 0, k.launch.line, Path(k.launch.file).name)
            for k in analysis.kernels
            if k.source.file != "main.cu"
        ]

    assert sorted(linked(run("lib/k.cu"))) == sorted(expected)
    assert sorted(linked(run("."))) == sorted(expected)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("__global__ void k(float *x, int n)", "__global__ void k(float *x, long n);"),
        (
            "__global__ void k(float *x, int n)",
            "namespace ns { __global__ void k(float *, int); } using ns::k;",
        ),
        ("static __global__ void k(float *x, int n)", "static __global__ void k(float *x, int n) {}"),
        ("static __global__ void k(float *x, int n)", "__global__ void k(float *x, int n);"),
        (
            "namespace { __global__ void k(float *x, int n)" + BODY + "}",
            "namespace {__global__ void k(float *x, int n) {}}",
        ),
        ("__global__ void k(float *x, int n)", "__global__ void k(float *x, int n) {}"),
        ("__global__ void k(float *x, int n)", "#define k k_fast\n__global__ void k(float *x, int n);"),
    ],
)
def test_what_the_linker_keeps_apart_is_not_joined(folder: Path, own: str, other: str):
    (folder / ".git").mkdir()  # what other tests leave beside it is nobody's neighbour
    main = f"{other}\nint main() {{ k<<<4096, 256>>>((float *)0, 1); }}\n"
    write(folder, k=own + BODY * ("{" not in own), main=main)
    (alone,) = run("k.cu").kernels
    assert (alone.launch.source, alone.launch.line) == (LaunchSource.ASSUMED, None)


def test_the_launch_of_a_declared_kernel_is_followed_in_the_editor_and_the_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WATTSLICE_CACHE", str(folder / "cache"))
    text = KERNEL.replace("NAME", "k1")
    write(folder, k1=text)
    analyzer = IncrementalAnalyzer(make_config(Options(paths=(Path("k1.cu"),), gpu="v100")))
    assert run("k1.cu").kernels[0].launch.source is LaunchSource.ASSUMED
    for blocks in (4096, 2048):
        main = f"__global__ void k1(float *, int);\nint main() {{ k1<<<{blocks}, 256>>>(0, 1048576); }}\n"
        write(folder, main=main)
        for analysis in (run("k1.cu"), run("k1.cu"), analyzer.analyze(Path("k1.cu"), text)):
            assert told(analysis) == [("k1.cu", "k1", blocks, 2, "host code")]


@pytest.mark.slow
def test_the_gate_follows_a_declared_kernel_through_files_that_call_each_other(folder: Path):
    files = {
        "k1": KERNEL.replace("NAME", "k1"),
        "launch": "__global__ void k1(float *, int);\n"
        "void launch(float *x, int n) { k1<<<n / 256, 256>>>(x, n); }\n",
        "step": "void launch(float *, int);\nvoid step(int n) { launch(0, n); }\n",
        "main": "void step(int);\nint main() { step(1 << 22); }\n",
    }
    write(folder, **files)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "a")
    for changed, place in (
        ({"k1": files["k1"].replace("*= 2.0f", "+= x[i * 8]")}, "k1.cu:3"),
        ({"main": files["main"].replace("22", "24")}, "launch.cu:2"),
        ({"step": files["step"].replace("launch(0, n)", "launch(0, n * 4)")}, "launch.cu:2"),
        ({"launch": files["launch"].replace("n / 256", "4 * n / 256")}, "launch.cu:2"),
    ):
        write(folder, **{**files, **changed})
        result = CliRunner().invoke(gate, ["--against", "HEAD", "."])
        worse = [line for line in result.output.splitlines() if "PW023" in line]
        assert [line.split()[:2] for line in worse] == [["error", place]], (changed, result.output)


@pytest.mark.slow
def test_in_a_small_repository_the_launch_may_be_far_from_the_kernel(folder: Path):
    declared = "__global__ void k1(float *, int); void step(int);"
    step = "void step(int n) { k1<<<n, 256>>>(0, n); }"
    program = f"{declared} int main() {{ step(NUMBER); }}"
    far = {
        "lib__src__k1": KERNEL.replace("NAME", "k1"),
        "core__deep__step": f"{declared}\n{step}",
        "tools__a__b__main": program.replace("NUMBER", "4096"),
        "other__a__b__main": program.replace("NUMBER", "77"),
        "other__a__b__its": f"{declared}\n{step}\n{KERNEL.replace('NAME', 'k1')}",
    }
    write(folder, **far)
    assert run("lib/src/k1.cu").kernels[0].launch.source is LaunchSource.ASSUMED
    git(folder, "init", "-q")
    assert told(run("lib/src/k1.cu")) == [("lib/src/k1.cu", "k1", 4096, 2, "host code")]
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "a")
    write(folder, tools__a__b__main=program.replace("NUMBER", "16384"))
    result = CliRunner().invoke(gate, ["--against", "HEAD", "."])
    assert "error  core/deep/step.cu:2" in result.output
    write(folder, **{f"many__f{number}": "" for number in range(200)})
    assert run("lib/src/k1.cu").kernels[0].launch.source is LaunchSource.ASSUMED


_READ, _ASSUMED = LaunchSource.HOST_CODE, LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("other", "launched"),
    [("4096", [(16, _READ)]), ("100", [(1, _READ), (16, _READ)]), ("f()", [(16, _READ), (1024, _ASSUMED)])],
)
def test_each_program_that_files_are_of_is_read(
    folder: Path, other: str, launched: list[tuple[int, LaunchSource]]
):
    launching = "void go(float *p) { k<<<(size + 255) / 256, 256>>>(p, size); }"
    main = (
        "void go(float *); int f(); int size = SIZE; int main() { float *p; cudaMalloc(&p, 1 << 20); go(p); }"
    )
    texts = {"ops": "extern int size;\n" + KERNEL.replace("NAME", "k") + launching}
    write(folder, **texts, one=main.replace("SIZE", "4096"), two=main.replace("SIZE", other))
    kernels = run("ops.cu", "one.cu", "two.cu").kernels
    assert [(one.launch.grid[0], one.launch.source) for one in kernels] == launched
    for one in kernels:
        is_told = any("'size' is the result of f(); size assumed" in note.message for note in one.assumptions)
        assert is_told == (one.launch.source is _ASSUMED)


@pytest.mark.parametrize(
    ("one", "two", "grids"),
    [
        ("size = 8; go();", "go();", [3, 8]),
        ("size = 8; go();", "size = 8; go();", [8]),
        ("size = 8; k<<<size, 32>>>(size);", "k<<<size, 32>>>(size);", [3, 8]),
        ("size = 8; go();", "int &n = size; n += 4; go();", [7, 8]),
    ],
)
def test_what_one_program_sets_another_does_not_find(folder: Path, one: str, two: str, grids: list[int]):
    head = "extern int size; __global__ void k(int); void go();"
    ops = "__global__ void k(int n) {}\nextern int size;\n"
    ops += "void go() { k<<<size, 32>>>(size); }\n" * ("go" in one)
    mains = {f"main{i}": f"{head} int main() {{ {body} }}" for i, body in enumerate((one, two))}
    write(folder, ops=ops, common="int size = 3;", **mains)
    found = run("ops.cu", "common.cu", "main0.cu", "main1.cu").kernels
    assert [kernel.launch.grid[0] for kernel in found] == grids
    assert all(kernel.launch.source is LaunchSource.HOST_CODE for kernel in found)


@pytest.mark.parametrize(
    ("defined", "body", "grid"),
    [
        ("int base = 4; int &size = base;", "size = 9;", 9),
        (
            "#include <algorithm>\nint base = 4, other = 1; const int &size = std::max(base, other);",
            "base = 9;",
            9,
        ),
        ("static int base = 4; int &size = base;", "base = 5; size = 9;", 5),
        ("namespace a { int base = 4; }\nint base = 2;\nint &size = a::base;", "size = 9;", 2),
    ],
)
def test_names_of_other_files_are_those_that_are_linked(folder: Path, defined: str, body: str, grid: int):
    const = "const " * ("const" in defined)
    head = f"__global__ void k(int n) {{}}\nextern {const}int &size; EXTERN int base;"
    head = head.replace("EXTERN", "" if "static" in defined else "extern")
    write(folder, ops=f"{head} int main() {{ {body} k<<<base, 32>>>(size); }}", other=defined)
    (kernel,) = run("ops.cu", "other.cu").kernels
    assert (kernel.launch.grid[0], kernel.launch.source) == (grid, LaunchSource.HOST_CODE)


@pytest.mark.parametrize("given", ["go", "&go"])
def test_a_function_that_another_file_hands_on_is_followed_there(folder: Path, given: str):
    go = "void go(float *p, int n) { NAME<<<n / 256, 256>>>(p, n); }"
    each = "void each(void (*f)(float *, int), float *p) { f(p, 4096); f(p, 8192); }"
    others = {f"k{number}": (KERNEL + go).replace("NAME", f"k{number}") for number in range(1, 5)}
    (folder / "go.h").write_text("void go(float *, int);")
    write(folder, **others, z=f'#include "go.h"\n{each} int main() {{ each({given}, 0); }}')
    assert told(run("k1.cu")) == [("k1.cu", "k1", grid, 5, "host code") for grid in (16, 32)]

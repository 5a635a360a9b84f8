"""Sources that would take all the time or memory: they are abandoned within bounds, the others go on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice import analyze
from wattslice.analysis import Analysis
from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.errors import AbandonedError
from wattslice.findings.findings import cause_of_unknown, unread_files
from wattslice.frontend import limits
from wattslice.frontend.cuda.clang import cursors
from wattslice.frontend.cuda.clang.guards import may_exhaust_stack
from wattslice.frontend.cuda.clang.macro_sizes import MacroSizes
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.frontend.limits import limited
from wattslice.pipeline import files
from wattslice.pipeline.incremental import IncrementalAnalyzer

from .lsp.client import Client

KERNEL = "__global__ void k(int *p) { p[threadIdx.x] = %s; }\nint main() { k<<<1, 32>>>(0); }\n"


def laughs(levels: int, base: str, joint: str) -> str:
    """The billion laughs: every macro is ten of the one before."""
    lines = [f"#define A0 {base}"]
    lines += [f"#define A{level} {joint.join([f'A{level - 1}'] * 10)}" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


MACROS = {
    "operators": laughs(6, "1", "+") + KERNEL % "A5",
    "tokens": laughs(9, "x", " ") + KERNEL % "0" + "A8\n",
    "statements": laughs(7, "p[0]++;", " ") + "__global__ void k(int *p) { A6 }\n",
    "continued": laughs(6, "1", "+\\\n") + KERNEL % "A5",
    "arguments": "#define D(x) x x\n#define E(x) D(D(D(D(x))))\n#define F(x) E(E(E(E(E(E(x))))))\n"
    "__global__ void k(int *p) { F(p[0]++;) }\n",
    "nested calls": "#define D(x) (x)+(x)\n" + KERNEL % ("D(" * 24 + "1" + ")" * 24),
    "variadic": "#define D(...) __VA_ARGS__ __VA_ARGS__\n" + KERNEL % ("D(" * 24 + "+1" + ")" * 24),
}
OTHERS = {
    "far element": KERNEL % "0" + "int z[] = {[100000000] = 1};\n",
    "device": '#define NAME "/dev/zero"\n#include NAME\n' + KERNEL % "0",
}
MEMBERS = {
    "instances": "template<class T> struct W { W<W<T>> *n; float v;"
    " __device__ float get() { return n ? n->get() : v; } };\n"
    "__global__ void k(W<float> *w, float *y) { y[0] = w->get(); }\nint main() { k<<<1, 32>>>(0, 0); }\n",
    "pairs": "".join(f"struct S{n};\n" for n in range(40))
    + "struct S40 { float v; };\n"
    + "".join(f"struct S{n} {{ S{n + 1} *a, *b; float v; }};\n" for n in range(39, -1, -1))
    + "__global__ void k(S0 *s, float *y) { y[0] = s->a->b->v; }\nint main() { k<<<1, 32>>>(0, 0); }\n",
}
LAUNCH = KERNEL % "1"
DEEP = {  # what clang calls itself for, once each
    "casts": KERNEL % (4_000 * "(int)" + "1"),
    "sizeof": KERNEL % (1_400 * "sizeof " + "1"),
    "not": KERNEL % (4_000 * "not " + "1"),
    "commas": KERNEL % ("(" + 30_000 * "1, " + "1)"),
    "labels": KERNEL % ("0; " + " ".join(f"a{n}:" for n in range(10_000))),
    "pointers": f"void f(int {30_000 * '*'}x);\n" + LAUNCH,
    "macro of casts": f"#define A {200 * '(int)'}\n#define B {40 * 'A '}\n" + KERNEL % "B 1",
    "macro calls": f"#define A(x) {10 * 'x '}\n" + KERNEL % "A(A(A(A((int))))) 1",
}
SAMPLE = """import resource, sys
from wattslice.cli import main
from wattslice.frontend.cuda.clang import probe
probe.PATIENCE_S = float(sys.argv.pop(1))
status = main(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
# What getrusage tells of this process includes the memory of the test that started it.
peak_kib = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
peak_mib = max(peak_kib, used[1].ru_maxrss) / 1024
print(sum(u.ru_utime + u.ru_stime for u in used), peak_mib, file=sys.stderr)
sys.stdout.flush()
sys.stderr.flush()
import os; os._exit(status)
"""


def analyzed(folder: Path, patience_s: float = 4.0, /, **sources: str) -> tuple[int, str, float, float]:
    """Exit status, all output, seconds of the processor, MiB of the largest process."""
    for name, text in sources.items():
        (folder / f"{name}.cu").write_text(text)
    files = [f"{name}.cu" for name in sources]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", SAMPLE, str(patience_s), "analyze", *files],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    *told, figures = done.stderr.splitlines()
    seconds, mib = map(float, figures.split())
    return done.returncode, "\n".join([done.stdout, *told]), seconds, mib


def named(texts: dict[str, str], slow: tuple[str, ...]) -> list[Any]:
    """Each text as a parameter of its name."""
    return [
        pytest.param(text, id=name, marks=pytest.mark.slow if name in slow else ())
        for name, text in texts.items()
    ]


@pytest.mark.parametrize(
    "text", named(MACROS | OTHERS, slow=("tokens", "statements", "arguments", "variadic", "nested calls"))
)
@pytest.mark.slow
def test_what_multiplies_without_end_is_abandoned_and_the_next_file_is_read(tmp_path, text):
    patience_s = 4.0 if text is MACROS["tokens"] else 1.0  # one of them has all the time that users wait
    status, told, seconds, mib = analyzed(tmp_path, patience_s, bomb=text, fine=LAUNCH)
    assert "PW099" not in told
    assert "bomb.cu" in told
    assert "no result for bomb.cu" in told
    assert "fine.cu:1" in told
    assert (status, seconds < 12, mib < 1300) == (2, True, True), (status, seconds, mib)


@pytest.mark.parametrize(
    "names",
    [
        ("casts", "pointers"),
        pytest.param(
            ("not", "commas", "labels", "macro calls", "sizeof", "macro of casts"), marks=pytest.mark.slow
        ),
    ],
)
def test_what_fills_the_stack_of_clang_is_refused_and_the_next_file_is_read(tmp_path, names):
    files = {f"deep{number}": DEEP[name] for number, name in enumerate(names)}
    status, told, *_ = analyzed(tmp_path, **files, fine=LAUNCH)
    assert f"no result for {', '.join(f'{name}.cu' for name in files)}: " in told
    assert told.count("crashes clang") == len(files)
    assert "fine.cu:1" in told
    assert status == 2


@pytest.mark.slow
def test_a_kernel_whose_name_is_longer_than_the_file_system_allows_is_read(tmp_path):
    name = 5_000 * "k"
    status, told, *_ = analyzed(tmp_path, k=f"__global__ void {name}(int *p) {{ p[threadIdx.x] = 1; }}\n")
    assert "PW099" not in told
    assert status == 0


def test_a_loop_whose_condition_declares_a_variable_is_no_internal_error(tmp_path):
    loop = "__global__ void k(int *p) { for (int i = 0; int x = p[i]; ++i) p[i] = x; }\n"
    _, told, *_ = analyzed(tmp_path, loop=loop)
    assert "PW099" not in told
    assert "the condition of this loop declares a variable" in " ".join(told.split())
    assert "power unknown" in told


@pytest.mark.parametrize(
    "text",
    [
        "int table[] = {" + ", ".join(["-1"] * 7_000) + "};\n",
        "#define A 1\n" * 10_000,
        "// " + "a" * 10_000 + "\n",
        "/*\n" + "a\n" * 10_000 + "*/\n",
    ],
)
def test_tables_directives_and_comments_are_not_suspicious(text):
    assert not may_exhaust_stack(text.encode())


@pytest.mark.slow
@pytest.mark.parametrize("text", named(MEMBERS, slow=("instances",)))
def test_members_that_point_to_ever_more_types_are_followed_so_far(tmp_path, text):
    status, told, seconds, mib = analyzed(tmp_path, members=text)
    assert "PW099" not in told
    assert (status, seconds < 25, mib < 400) == (0, True, True), (status, seconds, mib)


_LARGE = 1_000_000
LARGE = {
    "string": f'const char *s = "{_LARGE * "a"}";\n' + LAUNCH,
    "comment": f"// {_LARGE * 'a'}\n" + LAUNCH,
    "comments": _LARGE // 4 * "//a\n" + LAUNCH,
    "continued": "// " + _LARGE // 2 * "\\\n" + "\n" + LAUNCH,
    "continued macro": "#define X " + _LARGE // 2 * "\\\n" + "\n" + LAUNCH,
    "empty lines": _LARGE * "\n" + LAUNCH,
}


@pytest.mark.parametrize(
    "names",
    [
        ("continued", "continued macro"),
        pytest.param(("empty lines", "comments", "string", "comment"), marks=pytest.mark.slow),
    ],
)
def test_a_large_text_takes_no_more_memory_than_it_is_worth(tmp_path, names):
    """Nor do several of them, one after the other."""
    files = {f"large{number}": LARGE[name] for number, name in enumerate(names)}
    _, told, _, mib = analyzed(tmp_path, **files)
    assert "PW099" not in told
    assert mib < 220, mib


def test_a_source_that_is_too_large_is_refused_unread(tmp_path):
    status, told, seconds, mib = analyzed(tmp_path, large="\n" * (1 << 22) + LAUNCH, fine=LAUNCH)
    assert "is larger than 4 MiB" in told
    assert "fine.cu:1" in told
    assert (status, seconds < 12, mib < 200) == (2, True, True), (status, seconds, mib)


@pytest.mark.parametrize("text", MACROS.values(), ids=MACROS)
def test_macros_that_multiply_are_suspicious(text):
    assert MacroSizes(text.encode()).may_exhaust()


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_only_clang_can_tell_is_tried_apart(text):
    assert may_exhaust_stack(text.encode())
    assert not may_exhaust_stack(LAUNCH.encode())


@pytest.mark.parametrize(
    "text",
    [
        LAUNCH,
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\nint m = MAX(1, MAX(2, MAX(3, MAX(4, 5))));\n",
        "#define A B\n#define B A\nint x = A;\n",
        "#define N 1024\n" + "float x[N];\n" * 10_000,
        laughs(4, "1", "+") + KERNEL % "A3",
    ],
)
def test_ordinary_macros_are_not_suspicious(text):
    assert not MacroSizes(text.encode()).may_exhaust()


@pytest.mark.slow
def test_a_macro_of_a_header_counts(tmp_path):
    (tmp_path / "bomb.h").write_text(laughs(9, "x", " "))
    _, told, seconds, mib = analyzed(tmp_path, bomb='#include "bomb.h"\n' + KERNEL % "0" + "A8\n")
    assert "look for templates, macros or headers" in told
    assert (seconds < 12, mib < 1300) == (True, True), (seconds, mib)


# ------------------------------------------------------------------------------- limits of the analysis


def spin(seconds: float) -> str:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return "done"


@pytest.mark.slow
def test_an_analysis_ends_when_its_time_is_up():
    begun = time.thread_time()
    with pytest.raises(AbandonedError, match=r"a\.cu: its analysis takes longer than 0\.1 s \(split"):
        limited(Path("a.cu"), lambda _: spin(60), 0.1)
    assert time.thread_time() - begun < 30
    assert limited(Path("a.cu"), lambda _: spin(0.01), 30) == "done"
    assert spin(0.3) == "done"  # nothing arrives later


def test_an_analysis_ends_whatever_it_catches():
    def stubborn(_watch: limits.Watch) -> str:
        try:
            return spin(60)
        except Exception:  # as every stage does that must not lose the other kernels
            return spin(60)

    with pytest.raises(AbandonedError):
        limited(Path("a.cu"), stubborn, 0.1)


def test_a_limit_that_is_reached_while_clang_calls_back_ends_the_analysis_without_a_word(
    tmp_path, monkeypatch, capfd
):
    path = tmp_path / "a.cu"
    path.write_text(KERNEL % 1)
    root = parse_cuda(path).root
    visit = cursors.VISITOR(lambda *_: int(spin(60) == "done"))
    monkeypatch.setattr(cursors, "_VISIT", visit)
    hook = sys.unraisablehook
    with pytest.raises(AbandonedError, match=r"takes longer than 0\.1 s"):
        limited(path, lambda _: root.children and spin(60), 0.1)
    assert "Exception" not in capfd.readouterr().err
    assert sys.unraisablehook is hook


@pytest.mark.slow
def test_an_analysis_ends_in_any_thread():
    told: list[str] = []

    def run() -> None:
        try:
            limited(Path("a.cu"), lambda _: spin(60), 0.3)
        except AbandonedError as error:
            told.append(error.message)

    thread = threading.Thread(target=run)
    thread.start()
    assert spin(0.5) == "done"
    thread.join(60)
    assert told == ["its analysis takes longer than 0.3 s"]


@pytest.mark.slow
def test_an_analysis_ends_when_it_takes_too_much_memory(monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", 64 << 20)
    kept: list[bytearray] = []

    def grow(_watch: limits.Watch) -> None:
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 8 << 20:
            kept.append(bytearray(os.urandom(1 << 16)) * 16)
            time.sleep(0.01)

    with pytest.raises(AbandonedError, match=r"its analysis takes more than 0\.0625 GiB of memory"):
        limited(Path("a.cu"), grow, 600)
    assert len(kept) < 1024


# ------------------------------------------------------------------------------- the language server


@pytest.mark.slow  # quick: what is abandoned above, what the server makes of that in lsp/test_worker.py
def test_the_server_abandons_a_document_and_the_others_go_on(tmp_path):
    with Client(tmp_path, {"debounceMs": 0}) as client:
        client.initialize()
        bomb = client.open(tmp_path / "bomb.cu", MACROS["statements"])
        fine = client.open(tmp_path / "fine.cu", LAUNCH)
        told, _ = client.all_diagnostics(bomb, fine)
        assert [(entry["code"], "split the longest statement" in entry["message"]) for entry in told] == [
            ("PW001", True)
        ]
        assert client.hints(fine)
        client.notify("textDocument/didSave", {"textDocument": {"uri": fine}})  # analyses everything anew
        again, _ = client.all_diagnostics(bomb, fine)
        assert again == told
        assert client.leave() == 0


TEMPLATES = """__global__ void fast(float *x) { x[threadIdx.x] *= 2; }
template <int N> __global__ void slow(float *x) { x[threadIdx.x] += N; }
template <int N> __global__ void last(float *x) { x[threadIdx.x] += N; }
int main() { float *x; cudaMalloc(&x, 4096); fast<<<1, 32>>>(x);
slow<1><<<1, 32>>>(x); slow<2><<<1, 32>>>(x); last<1><<<1, 32>>>(x); last<2><<<1, 32>>>(x); }
"""


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kernels called `slow` take all the time there is; the names of those that were begun."""
    begun: list[str] = []
    plain, used_s = files.analyze_launch, [0.0]

    def clock(_thread_id: int) -> Any:
        used_s[0] = 0.0
        return lambda: used_s[0]

    def analyze_launch(launch: Any, *rest: Any) -> Any:
        begun.append(launch.kernel.name)
        if launch.kernel.name == "slow":
            used_s[0] = 1e9
            spin(60)
        return plain(launch, *rest)

    monkeypatch.setattr(files, "analyze_launch", analyze_launch)
    monkeypatch.setattr(limits, "_processor_clock", clock)
    return begun


def check_partial(analysis: Analysis) -> None:
    reached = [(kernel.name, kernel.power_w is not None) for kernel in analysis.kernels]
    assert reached == [("fast", True), *[("slow", False)] * 2, *[("last", False)] * 2]
    told = [entry for entry in analysis.diagnostics if entry.rule == "PW001"]
    limit = (
        "power unknown: not reached within the limits of a file: its analysis takes longer than 60 s (split"
    )
    assert [(entry.line, entry.message.partition(limit)[0]) for entry in told] == [
        (2, "slow: "),
        (3, "last: "),
    ]
    for kernel in analysis.kernels[1:]:
        assert "takes longer than 60 s" in cause_of_unknown(kernel, analysis)
    assert unread_files(analysis) == ()  # one kernel was read


@pytest.mark.slow
def test_a_file_that_goes_beyond_a_limit_gives_what_it_has(tmp_path: Path, endless: list[str]):
    path = tmp_path / "a.cu"
    path.write_text(TEMPLATES)
    first = analyze(path, cache=tmp_path / "kept")
    check_partial(first)
    _, one, *rest = first.kernels
    assert unread_files(replace(first, kernels=(one, *rest))) == (str(path),)
    assert unread_files(replace(first, kernels=(replace(one, power=first.kernels[0].power), *rest))) == ()
    check_partial(analyze(path, cache=tmp_path / "kept"))
    assert endless == ["fast", "slow"] * 2  # nothing was kept
    (tmp_path / "b.cu").write_text("__global__ void other(float *x) { x[threadIdx.x] = 2; }\n")
    both = analyze(tmp_path, cache=tmp_path / "kept")
    assert both.kernels[-1].name == "other"
    assert both.kernels[-1].power_w
    check_partial(replace(both, kernels=both.kernels[:-1]))
    assert main(["analyze", str(path), "--no-cache", "-o", os.devnull]) == 0


@pytest.mark.slow
def test_an_editor_gets_what_there_is_and_the_rest_from_the_next_analysis(endless: list[str]):
    analyzer = IncrementalAnalyzer(make_config(Options(paths=(), no_cache=True)))
    check_partial(analyzer.analyze(Path("kernel.cu"), TEMPLATES))
    endless.clear()
    check_partial(analyzer.analyze(Path("kernel.cu"), TEMPLATES))
    assert endless == ["slow"]


def test_a_file_of_whose_kernels_none_was_reached_gave_nothing(
    tmp_path: Path, endless: list[str], capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "a.cu"
    path.write_text(TEMPLATES.partition("\n")[2].replace("fast<<<1, 32>>>(x);", ""))
    assert main(["analyze", str(path), "--no-cache", "-o", os.devnull]) == 2
    assert "no result for" in capsys.readouterr().err
    assert endless

"""Input that is no CUDA source, or hardly: exit status 2 or a diagnostic, never a traceback, never a hang."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec import Struct

from wattslice.cli import main

MOST_SECONDS = 10.0
HANG_S = 600.0  # on the clock


def kernel(body: str, before: str = "") -> str:
    launch = "void run(float* x) { k<<<1, 64>>>(x, 3); }"
    return f"{before}\n__global__ void k(float* x, int n) {{\n{body}\n}}\n{launch}\n"


class Run(Struct):
    status: int
    out: str
    err: str
    rules: set[str]


@pytest.fixture
def analyze(tmp_path, monkeypatch, capsys):
    """`analyze(path, *options)` in this process: for what must not even come near clang's limits."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")

    def run(*arguments: object) -> Run:
        status = main(["analyze", "--format", "json", *map(str, arguments)])
        out, err = capsys.readouterr()
        return _checked(status, out, err)

    return run


@pytest.fixture
def analyze_apart(tmp_path):
    """The same in a process of its own that may crash or hang."""
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")

    def run(*arguments: object, budget_s: float = 6.0) -> Run:
        program = (
            "import sys; from wattslice.cli import main; from wattslice.frontend.cuda.clang import session;"
            f"session._PARSE_BUDGET_S = {budget_s}; sys.exit(main())"
        )
        command = (sys.executable, "-c", program, "analyze", "--format", "json", *map(str, arguments))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        before = _children_seconds()
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, timeout=HANG_S, check=False
        )
        # Processor time: a busy machine is no fault of the analysis.
        assert _children_seconds() - before < MOST_SECONDS
        return _checked(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def _children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _checked(status: int, out: str, err: str) -> Run:
    assert status in (0, 2), (status, err)
    assert "Traceback" not in err
    assert "internal error" not in out + err
    rules = {entry["rule"] for entry in json.loads(out)["diagnostics"]} if out else set()
    if status == 2:
        assert err.startswith("wattslice: "), err
    return Run(status, out, err, rules)


def only_power(run: Run) -> float | None:
    (found,) = json.loads(run.out)["kernels"]
    return found["power_w"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (bytes(range(256)) * 16, "NUL bytes"),
        (kernel("x[0] = 1;").encode("utf-16"), "UTF-16"),
        (("// " + "äöüß" * 40 + kernel("x[0] = 1;")).encode("latin-1"), "not UTF-8"),
        (kernel("x[0] = " + "(" * 10_000 + "1" + ")" * 10_000 + ";").encode(), "brackets nest"),
        (b"int main() { return 0; }", "no kernel found"),
    ],
)
def test_files_that_hold_nothing_to_analyse(analyze, content, message):
    Path("k.cu").write_bytes(content)
    run = analyze("k.cu")
    assert run.status == 2
    assert message in run.err
    assert "k.cu" in run.err


def test_an_empty_file_among_others_costs_nothing(analyze):
    Path("k.cu").write_text(kernel("x[0] = 1;"))
    Path("none.cu").write_bytes(b" \n")
    run = analyze(".")
    assert run.status == 0
    assert [one["name"] for one in json.loads(run.out)["kernels"]] == ["k"]
    (told,) = [one for one in json.loads(run.out)["diagnostics"] if one["rule"] == "PW001"]
    assert (told["file"], told["severity"]) == ("none.cu", "note")
    Path("k.cu").unlink()
    assert analyze(".").status == 2


def test_a_few_latin_letters_in_comments_are_no_obstacle(analyze):
    Path("k.cu").write_bytes(("// für\n" + kernel("x[0] = 1;  // größer")).encode("latin-1"))
    assert analyze("k.cu").status == 0


def test_places_that_are_no_files(analyze):
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("nothing")
    Path("loop.cu").symlink_to("loop.cu")
    os.mkfifo("pipe.cu")
    for place, message in (
        ("absent.cu", "no such file"),
        ("folder", "no .cu file"),
        ("loop.cu", "no such file"),
        ("pipe.cu", "neither a file nor a folder"),
        ("/dev/zero", "neither a file nor a folder"),
    ):
        run = analyze(place)
        assert run.status == 2
        assert message in run.err, run.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_unreadable_file(analyze):
    Path("k.cu").write_text(kernel("x[0] = 1;"))
    Path("k.cu").chmod(0)
    assert "cannot be read" in analyze("k.cu").err


def test_options_that_contradict_or_name_nothing(analyze):
    Path("k.cu").write_text(kernel("x[0] = 1;"))
    assert "unknown GPU 'v1000'" in analyze("k.cu", "--gpu", "v1000").err
    contradiction = analyze("k.cu", "--set", "n=1", "--set", "n=2")
    assert contradiction.status == 2
    assert "n" in contradiction.err


def test_missing_include_is_told_and_the_kernel_analysed(analyze):
    Path("k.cu").write_text(kernel("x[0] = SCALE * x[1];", '#include "nowhere/scale.h"'))
    run = analyze("k.cu")
    assert run.status == 0
    assert {"PW001", "PW002"} <= run.rules


def test_names_of_files_are_any_bytes(analyze):
    names = ["-dash.cu", "with space.cu", "new\nline.cu", os.fsdecode(b"latin-\xe9.cu"), "quote'\".cu"]
    for name in names:
        Path(name).write_text(kernel("x[0] = 1;"))
        assert analyze("--", name).status == 0
    assert len(json.loads(analyze(".").out)["kernels"]) == len(names)


def test_headers_may_include_themselves(analyze):
    Path("self.h").write_text(
        '#include "self.h"\n#include "self.h"\n__device__ inline float half_of(float a);\n'
    )
    Path("k.cu").write_text(kernel("x[0] = 1;", '#include "self.h"'))
    run = analyze("k.cu")
    assert run.status == 0
    assert "PW001" in run.rules


def test_included_pipes_and_devices_are_not_read(analyze):
    os.mkfifo("pipe.h")
    for name in ("/dev/zero", "pipe.h"):
        Path("k.cu").write_text(kernel("x[0] = 1;", f'#include "{name}"'))
        run = analyze("k.cu")
        assert run.status == 2
        assert "no regular file" in run.err


@pytest.mark.slow
def test_nesting_beyond_what_is_followed_is_told(analyze):
    chain = "".join(f"if (n == {i}) x[0] = {i}; else\n" for i in range(600)) + "x[1] = 2;"
    Path("k.cu").write_text(kernel(chain))
    run = analyze("k.cu")
    assert "PW007" in run.rules
    assert only_power(run) is None


@pytest.mark.slow
def test_long_chains_are_followed(analyze):
    chain = "".join(f"if (n == {i}) x[0] = {i}; else\n" for i in range(100)) + "x[1] = 2;"
    Path("k.cu").write_text(kernel(chain + "x[2] = 0" + " + x[1]" * 1_200 + ";"))
    (found,) = json.loads(analyze("k.cu").out)["kernels"]
    assert found["counts_per_thread"]["global_load"] == 1_200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("x[0] = f(n);", '#include "deep.h"'),  # the header, not the file itself, would end clang
        ("x[0] = 0" + " + x[1]" * 100_000 + ";", ""),
        ("for (;;) " * 6_000 + "x[0] = 1;", ""),
    ],
)
def test_what_would_end_clang_is_refused(tmp_path, analyze_apart, body, before):
    (tmp_path / "deep.h").write_text("__device__ int f(int n) { return " + "~" * 20_000 + "n; }\n")
    (tmp_path / "k.cu").write_text(kernel(body, before))
    run = analyze_apart("k.cu")
    assert run.status == 2
    assert "too deeply for clang" in run.err


@pytest.mark.slow
def test_templates_without_end_are_told(analyze):
    template = "template <int N> __device__ float f(float a) { return f<N + 1>(a) + 1; }"
    Path("k.cu").write_text(kernel("x[0] = f<0>(x[1]);", template))
    assert "PW001" in analyze("k.cu").rules
    constant = "template <int N> struct F { static const int v = F<N + 1>::v + 1; };"
    Path("k.cu").write_text(kernel("x[0] = F<0>::v;", constant))
    assert "PW001" in analyze("k.cu").rules


@pytest.mark.slow
def test_text_that_multiplies_without_end_is_given_up(tmp_path, analyze_apart):
    macros = "#define A0 x[0] += 1;\n" + "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(40))
    (tmp_path / "bomb.cu").write_text(kernel("A40", macros))
    (tmp_path / "good.cu").write_text(kernel("x[0] = 1;"))
    run = analyze_apart("bomb.cu", "good.cu", budget_s=0.7)
    assert run.status == 2
    assert "bomb.cu" in run.err
    assert only_power(run) is not None  # the other file is analysed
    assert "does not finish" in run.out


@pytest.mark.slow
def test_large_generated_code_is_answered_in_seconds(tmp_path, analyze_apart):
    flat = "".join(f"  a = a * 1.5f + x[i + {j}];\n" for j in range(120_000))  # below what is read
    (tmp_path / "flat.cu").write_text(kernel(f"int i = threadIdx.x; float a = x[i];\n{flat} x[i] = a;"))
    assert (tmp_path / "flat.cu").stat().st_size > 3_500_000
    functions = "".join(
        f"__device__ float f{j}(float a) {{ return a * {j}.0f + 1.0f; }}\n" for j in range(50_000)
    )
    (tmp_path / "functions.cu").write_text(kernel("x[0] = f1(x[1]);", functions))
    # The product's budget is time on the clock, which a busy machine uses up; ours is processor time.
    patient_s = 5 * MOST_SECONDS
    assert "PW007" in analyze_apart("flat.cu", budget_s=patient_s).rules
    (found,) = json.loads(analyze_apart("functions.cu", budget_s=patient_s).out)["kernels"]
    assert found["counts_per_thread"]["fp32"] == 2


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read(analyze):
    path = Path("k.cu")
    texts = [kernel("x[0] = 1;" * number) for number in (1, 500)]
    path.write_text(texts[0])
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for text in texts:
                path.write_text(text)
                time.sleep(0.001)

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(5):
            analyze("k.cu")
    finally:
        stop.set()
        writer.join()


def test_include_folder_of_a_huge_tree(analyze):
    for number in range(2_000):
        folder = Path(f"tree/{number % 50}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.h").write_text("#pragma once\n")
    Path("k.cu").write_text(kernel("x[0] = 1;", '#include "7/57.h"\n#include "1999.h"'))
    run = analyze("-I", "tree", "k.cu")
    assert run.status == 0
    assert "PW002" not in run.rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("int g;", "no kernel found"),
        ("void k(float* x) { x[0] = " + "(" * 30_000 + "1" + ")" * 30_000 + "; }", "nest more than"),
    ],
)
def test_c_files_that_cannot_be_analysed(analyze, text, message):
    Path("k.c").write_text(text)
    run = analyze("k.c")
    assert run.status == 2
    assert message in run.err


@pytest.mark.slow
def test_long_c_expressions_are_followed(analyze):
    Path("k.c").write_text("void k(float* x) { x[0] = 0" + " + x[1]" * 1_200 + "; }")
    (found,) = json.loads(analyze("k.c").out)["kernels"]
    assert found["counts_per_thread"]["global_load"] == 1_200


@pytest.mark.slow
def test_c_functions_too_large_to_be_followed_are_told(analyze):
    Path("k.c").write_text("void k(float* x) {" + "x[0] = x[1] + 1;" * 20_000 + "}")
    run = analyze("k.c")
    assert run.rules == {"PW007"}
    assert only_power(run) is None


def test_a_c_file_that_includes_itself_is_read_once(analyze):
    Path("k.c").write_text('#include "k.c"\n#include "k.c"\nvoid k(float* x) { x[0] = 1; }')
    run = analyze("k.c")
    assert "PW001" in run.rules
    assert len(json.loads(run.out)["kernels"]) == 1


def nested_ifs(depth: int, arms: str) -> str:
    conditions = "".join(f"if (a[i + {number}] > {number}) {{\n" for number in range(depth))
    head = "__global__ void k(const int *a, int *p) { int i = threadIdx.x;\n"
    return f"{head}{conditions}p[i]++;{arms * depth}}}\n"


SUM = " + a" * 20_000
TAKE_SECONDS = {"long sum", "long sum in a launch", "infinite constants"}
FOUND = {  # what ended in an internal error once
    "nested ifs": ("k.cu", nested_ifs(64, "}")),
    "nested ifs with else": ("k.cu", nested_ifs(64, "} else { p[i] = 2; }")),
    "infinite index": ("k.cu", "struct S { int n[9]; };\n__global__ void k(S *p) { p->n[1e400] = 1; }\n"),
    "infinite constants": (
        "k.cu",
        "__global__ void k(float *p) { for (int i = 0; i < 1e400; i++) p[i + (long)1e400] = 1; }\n"
        "int main() { float x = 1e400; int n = x; k<<<n, 1e400>>>(0); k<<<1, 32, 1e400>>>(0); }\n",
    ),
    "infinite constants in C": (
        "k.c",
        "void k(int *p, int n) { p[(int)1e400] = 1; for (int i = 0; i < 1e400; i++) p[i] = n; }\n"
        "int main() { k(0, 1e400); }\n",
    ),
    "long sum in a launch": (
        "k.cu",
        "__global__ void k(int *p) { p[0] = 1; }\nint main() { k<<<1" + " + 1" * 20_000 + ", 32>>>(0); }\n",
    ),
    "long sum in C": (
        "k.c",
        "void k(int *p, int n) { p[0] = n; }\nint main() { int a = 1; k(0, 1" + SUM + "); }\n",
    ),
    "long sum": (
        "k.cu",
        "__global__ void k(int *p) { p[0] = 1; }\nint main() { int a = 1; k<<<1" + SUM + ", 32>>>(0); }\n",
    ),
    "brackets": ("k.cu", "[" * 100_000),
    "brackets in C": ("k.c", "[" * 100_000),
    "brackets in PTX": ("k.ptx", ".version 8.0\n" + "[" * 100_000),
}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(sorted(FOUND.keys() - TAKE_SECONDS), id="quick"),
        *(pytest.param([key], marks=pytest.mark.slow, id=key) for key in sorted(TAKE_SECONDS)),
    ],
)
def test_what_was_an_internal_error(analyze_apart, tmp_path, found):
    for number, key in enumerate(found):
        name, text = FOUND[key]
        (tmp_path / f"{number}{name}").write_text(text)
    run = analyze_apart(*sorted(path for path in tmp_path.iterdir() if path.suffix != ".toml"))
    assert run.status in (0, 2)
    assert "internal error" not in run.out + run.err
    assert "PW099" not in run.out + run.err


@pytest.mark.parametrize(
    "text", ['[{"file": "k.cu\\u0000"}]', '[{"command": "nvcc -Ia\\u0000b"}]', "[" * 100_000, "1" * 5_000]
)
def test_hostile_compile_commands_are_refused(analyze_apart, tmp_path, text):
    (tmp_path / "k.cu").write_text(kernel("p[0] = 1;"))
    (tmp_path / "compile_commands.json").write_text(text)
    run = analyze_apart("-p", tmp_path, tmp_path / "k.cu")
    if text[0] == "1":
        assert run.status == 0 or "is not JSON" in run.err
    else:
        assert run.status == 2
        assert re.search(
            "compile_commands.json(:1)?: (is not JSON|names a file or word with a NUL byte)", run.err
        )

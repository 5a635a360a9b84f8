"""What instrumented programs count when they run on the stand-in for CUDA, compared with counts by hand."""

import io
import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from wattslice.errors import WattsliceError
from wattslice.profiling.probes.counts import ProbeError, read_counts
from wattslice_tools.cuda_on_cpu.running import TIMEOUT_S, ProbedProgram, build_probed
from wattslice_tools.cuda_on_cpu.toolchain import refusal

FOLDER = Path(__file__).parent / "probes"
EVERY_BRANCH = FOLDER / "every_branch.cu"
HANG_S = 300.0  # nothing takes so long, however busy the machine is
GXX = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on the PATH")


def run_probed(path, arguments=(), flags=(), sources=(), timeout_s=TIMEOUT_S):
    """The program, instrumented, built and run once."""
    with build_probed(path, None, flags, sources) as program:
        return program.run(arguments, timeout_s)


WITHOUT_ELSE = {
    "if (i % 4 == 0)",
    "if (i >= n)",
    "if (i < 64)",
    "if (const int odd",
    "if (int low",
    "if (HAS(32))",
    "if (total < 0)",
    "if (++total > 20)",
    "if (total & 1)",
    "if (--total < 10)",
    "if (threadIdx.x < 5)",
}


class Expected:
    """Counts visits and takings of arms; a branch is named by the first line that holds a text."""

    def __init__(self):
        self.lines = EVERY_BRANCH.read_text(encoding="utf-8").splitlines()
        self.visits, self.taken, self.entries = Counter(), Counter(), Counter()
        self.kernel = "branches"

    def _at(self, text, skipped=0):
        number, line = next((n, line) for n, line in enumerate(self.lines, 1) if text in line)
        return self.kernel, number, line.index(text) + 1 + skipped

    def test(self, text, holds, arms=("then", "else"), skipped=0):
        place = self._at(text, skipped)
        known = arms[:1] if text in WITHOUT_ELSE else arms
        for arm in known:
            self.visits[*place, arm] += 1
        if holds or len(known) == 2:
            self.taken[*place, arms[0] if holds else arms[-1]] += 1
        return holds

    def loop(self, text, holds):
        return self.test(text, holds, ("loop",))

    def enter(self, text):
        self.entries[*self._at(text), "loop"] += 1

    def right(self, text, evaluated):
        return self.test(text, evaluated, ("right",))

    def jump(self, text, taken, arms):
        place = self._at(text)
        for arm in arms:
            self.visits[*place, arm] += 1
        if taken:
            self.taken[*place, taken] += 1


def expected():
    e = Expected()
    for i in range(128):
        one_thread(e, i)
    e.kernel = "few"
    for i in range(32):
        if e.test("if (threadIdx.x < 5)", i < 5):
            e.test("if (i % 4 == 0)", i % 4 == 0)
    return e


def one_thread(e, i):
    e.test("if (i >= n)", False)
    total = 1 if e.test("if (i < 10)", i < 10) else 2 if e.test("if (i < 30)", i < 30) else 3
    if e.test("if (i < 64)", i < 64):
        total += 1 if e.test("if (i < 16)", i < 16) else 2
    total += int(e.test("if (const int odd", i % 2 == 1))
    e.right("i > 7) total", i % 8 < 3)
    total += i % 8 if e.test("if (int low", i % 8 < 3 and i > 7) else 0
    total += 5 if e.test("if (HAS(32))", bool(i & 32)) else 0
    e.enter("while (total < 4)")
    while e.loop("while (total < 4)", total < 4):
        total += 1
    e.enter("do total -= 2")
    total -= 2
    while e.loop("do total -= 2", total > i):
        total -= 2
    if not e.test("if (total < 0)", total < 0):
        total += 1
    e.enter("for (;;)")
    while e.loop("for (;;)", True):
        total += 1
        if e.test("if (++total > 20)", total > 20):
            break
        if not e.test("if (total & 1)", total % 2 == 1):
            total += 1
    e.enter("while (true)")
    while e.loop("while (true)", True):
        total -= 1
        if e.test("if (--total < 10)", total < 10):
            break
    e.enter("for (int k = 0, m")
    for _ in range(i & 3):
        e.loop("for (int k = 0, m", True)
    e.loop("for (int k = 0, m", False)
    e.enter("for (k = 5")
    for more in (True, True, True, False):
        e.loop("for (k = 5", more)
    arms = ("case 0", "case 1", "case 3", "default")
    e.jump("switch (i % 6)", {0: "case 0", 1: "case 1", 2: "case 1", 3: "case 3"}.get(i % 6, "default"), arms)
    e.jump("switch (Colour", {0: "case 0", 2: "case 2"}.get(i % 3), ("case 0", "case 2"))
    if e.test("i < 100 ?", i < 100):
        e.test("i < 50 ?", i < 50)
    e.right("(i > 90 && i != 95)", i != 5)
    if i != 5:
        e.right("i != 95)", i > 90)
    for arm in ("then", "else"):
        e.visits["branches", 2, 51, arm] += 1  # in other.cuh
    e.taken["branches", 2, 51, "then" if i > 3 else "else"] += 1
    e.test("if (i % 4 == 0)", i % 4 == 0)
    for step in (1, 2):
        e.enter("for (int at = 0")
        for at in range(0, 4, step):
            e.loop("for (int at = 0", True)
            e.test("if (values[at] > 0)", at % 2 == 0)
        e.loop("for (int at = 0", False)
    e.test("x > 64 ?", i > 64)


@GXX
@pytest.mark.slow
def test_counts_are_those_made_by_hand():
    counted = run_probed(EVERY_BRANCH)
    assert counted.output == "1\n"
    wanted = expected()
    actual = {(arm.kernel, arm.line, arm.column, arm.arm): arm for arm in counted.arms}
    assert {key: arm.visits for key, arm in actual.items()} == dict(wanted.visits)
    assert {key: arm.taken for key, arm in actual.items() if arm.taken} == dict(wanted.taken)
    assert {key: arm.entries for key, arm in actual.items() if arm.entries is not None} == dict(
        wanted.entries
    )
    reasons = sorted((Path(one.file).name, one.reason) for one in counted.not_probed)
    assert reasons == [
        ("every_branch.cu", "a macro writes it"),
        ("every_branch.cu", "in a constexpr function, which the compiler may evaluate"),
    ]


COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && made=$2; shift; done
printf '#!/bin/sh\\n%s\\n' 'PROGRAM' > $made
chmod +x $made
"""


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("echo how to use me; exit 3", "ended with status 3: how to use me"),
        ("kill -6 $$", r"was ended by signal 6 \(SIGABRT\)"),
        ("exit 0", "left no counts: it printed nothing"),
        ("exec sleep 9", "did not end within 0.3 s"),
        (None, "g[+][+] refuses the program: line 7"),
    ],
)
def test_a_program_that_gives_no_counts(tmp_path, monkeypatch, program, message):
    text = "#!/bin/sh\necho line 7\nexit 1" if program is None else COMPILER.replace("PROGRAM", program)
    (tmp_path / "g++").write_text(text, encoding="utf-8")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    timeout_s = 0.3 if "did not end" in message else HANG_S
    with pytest.raises(WattsliceError, match=message):
        run_probed(EVERY_BRANCH, timeout_s=timeout_s)


def test_the_program_gets_its_arguments_and_the_compiler_its_flags(tmp_path, monkeypatch):
    counts = "wattslice-counts 1\\nk.cu\\nabc\\nk.cu\\tk\\t1\\t2\\ttest\\t\\t5\\t1\\n"
    program = f'printf "{counts}" > $WATTSLICE_COUNTS; echo $@'
    (tmp_path / "g++").write_text(
        f"#!/bin/sh\necho $@ >> {tmp_path}/flags\n" + COMPILER.replace("PROGRAM", program)
    )
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    counted = run_probed(EVERY_BRANCH, ("1", "two"), ("-lcublas",))
    assert counted.output == "1 two\n"
    assert [(arm.arm, arm.visits, arm.taken) for arm in counted.arms] == [("then", 5, 1), ("else", 5, 4)]
    assert "-lcublas" in (tmp_path / "flags").read_text()


GCC_SAYS = """In file included from prog.cu:1:
/headers/api.h:7:9: error: 'x' was not declared in this scope
prog.cu:31:5:   required from here
prog.cu:40:1: error: second
"""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "a.cu:3:9: error: 'cudaGraphCreate' was not declared in this scope\n",
            "a.cu:3: .* cudaGraphCreate.*--data",
        ),
        (
            "a.cu:3:9: error: 'mine' was not declared in this scope\n",
            "a.cu:3: g[+][+] refuses .*'mine'.*above",
        ),
        (
            "a.cu:1:10: fatal error: cufft.h: No such file or directory\n",
            "a.cu:1: cufft.h is not found .*-I DIR",
        ),
        ("a.cu:5:3: error: impossible constraint in 'asm'\n", "a.cu:5: PTX in asm cannot be run"),
        (
            "/headers/y.cpp: Assembler messages:\na.cu:5: Error: no such instruction: `mov.u32'\n",
            "a.cu:5: PTX in asm",
        ),
        (
            "/usr/bin/ld: x.o: in function `main':\nundefined reference to `helper(int)'\n",
            r"prog.cu: helper\(int\) is .*--source",
        ),
        (GCC_SAYS, "prog.cu:31: g[+][+] refuses the program: 'x'"),
        ("", "prog.cu: g[+][+] refuses the program: nothing"),
    ],
)
def test_what_a_compiler_says_becomes_one_line(said, message):
    error = refusal("/usr/bin/g++", Path("prog.cu"), said, Path("/headers"))
    assert re.match(message, str(error))
    assert "\n" not in str(error)
    assert str(error.__cause__) == said.strip()


@pytest.fixture
def shell_program(tmp_path):
    """Makes a program that nobody has to compile."""

    def make(script):
        executable = tmp_path / "program"
        executable.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        executable.chmod(0o755)
        return ProbedProgram(EVERY_BRANCH, executable, ())

    return make


COUNTS = "wattslice-counts 1\\nk.cu\\nabc\\nk.cu\\tk\\t1\\t2\\ttest\\t\\t5\\t1\\n"
COUNTING = f'printf "{COUNTS}" > $WATTSLICE_COUNTS'


def test_a_program_is_built_once_for_all_its_runs(tmp_path, monkeypatch):
    log = tmp_path / "log"
    for name in ("g++",):
        text = f"#!/bin/sh\necho $@ >> {log}\n" + COMPILER.replace("PROGRAM", COUNTING.replace("\\", "\\\\"))
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with build_probed(EVERY_BRANCH) as program:
        calls = log.read_text()
        assert program.run(("1",)).arms == program.run(("2",)).arms
        folder = program.executable.parent
        assert folder.is_dir()
    assert log.read_text() == calls
    assert not folder.exists()


def test_of_much_output_the_end_is_kept(shell_program):
    program = shell_program(f"{COUNTING}; head -c 3000000 /dev/zero | tr '\\0' x; echo end")
    output = program.run().output
    assert output.endswith("xend\n")
    assert len(output) < 100_000


def test_a_program_that_reads_a_terminal_gets_nothing(shell_program, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert shell_program(f"{COUNTING}; cat; echo done").run(timeout_s=HANG_S).output == "done\n"


def test_what_a_program_that_hangs_has_started_ends_with_it(shell_program, tmp_path):
    begun = tmp_path / "begun"
    program = shell_program(f"sleep 1000 & echo $! > {begun}.part; mv {begun}.part {begun}; wait")
    timeout_s = 0.1
    while not begun.exists():  # on a busy machine it may need more to begin
        timeout_s *= 2
        with pytest.raises(ProbeError, match=rf"did not end within {timeout_s:g} s"):
            program.run(timeout_s=timeout_s)
    deadline_s = time.monotonic() + HANG_S
    while is_running(int(begun.read_text())) and time.monotonic() < deadline_s:
        time.sleep(0.01)  # a signal arrives when it arrives
    assert not is_running(int(begun.read_text()))


def is_running(process):
    """A zombie, which nobody has asked for its status, runs no more."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_a_program_that_counts_nothing_is_quoted(shell_program):
    zero = COUNTING.replace("t5", "t0").replace("t1\\\\n", "t0\\\\n")
    with pytest.raises(ProbeError, match=r"every_branch.cu: every counter is zero.*said: usage: me FILE"):
        shell_program(f"{zero}; echo usage: me FILE").run()


HEADER = """
template <class T> __global__ void half(T* data, int n) {
    extern __shared__ int slots[];
    const int i = threadIdx.x;
    slots[i] = i;
    __syncthreads();
    if (i < n / 2) data[i] = slots[i];
}
inline void launch_it(int* data, int n) { half<int><<<1, n, n * sizeof(int)>>>(data, n); }
"""
MAIN = """#include "inner/launch.cuh"
#include <cuda.h>
int twice(int);
extern "C" int thrice(int);
int main(int argc, char** argv) {
    int *data, n = twice(thrice(atoi(argv[1])));  // \xe9
    cudaMalloc(&data, n * sizeof(int));
    launch_it(data, n);
    if (argc > 2) data = nullptr;
    launch_it(data, n);
    return cudaThreadSynchronize();
}
"""


@pytest.mark.slow
@GXX
def test_a_program_of_several_files_and_one_that_crashes(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/launch.cuh").write_text(HEADER, encoding="utf-8")
    (tmp_path / "twice.cu").write_text(
        "__global__ void k() {}\nint twice(int x) { k<<<1, 1>>>(); return 2 * x; }\n"
    )
    (tmp_path / "thrice.c").write_text("int thrice(int class) { return 3 * class; }\n")
    main = tmp_path / "main.cu"
    main.write_text(MAIN, encoding="latin-1")
    sources = (tmp_path / "twice.cu", tmp_path / "thrice.c")
    before = sorted(tmp_path.rglob("*"))
    with build_probed(main, None, (), sources) as program:
        arms = program.run(("2",)).arms
        with pytest.raises(
            ProbeError, match=r"SIGSEGV.*kernel half, block \(0, 0, 0\), thread .*not its own"
        ):
            program.run(("2", "crash"))
    assert [(Path(arm.file).name, arm.arm, arm.visits, arm.taken) for arm in arms] == [
        ("launch.cuh", "then", 24, 12)
    ]
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(WattsliceError, match=r"thrice is defined in another file .*--source"):
        run_probed(main, ("2",), (), sources[:1])


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ProbeError, match=r"g\+\+ is not on the PATH"):
        run_probed(EVERY_BRANCH)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no file of counts"),
        ("wattslice-counts 1\nk.cu\nabc\n", "the kernels have no branch that can be counted"),
        ("wattslice-counts 1\nk.cu\nabc\nk.cu\tk\t1\t1\ttest\t\t5\n", ":4: not a line of counts"),
        ("wattslice-counts 1\nk.cu\nabc\nk.cu\tk\t1\t1\tnonsense\t\t5\t5\n", ":4: not a line of counts"),
        ("wattslice-counts 1\nk.cu\nabc\nk.cu\tk\t1\t1\ttest\t\t0\t0\n", "every counter is zero"),
    ],
)
def test_files_of_counts_that_are_none(tmp_path, text, message):
    path = tmp_path / "counts.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProbeError, match=message):
        read_counts(path)


def test_a_file_of_counts_that_does_not_exist(tmp_path):
    with pytest.raises(ProbeError, match="cannot read the counts"):
        read_counts(tmp_path / "none.txt")

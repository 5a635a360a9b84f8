"""What instrumented programs count when they run on the stand-in for CUDA, compared with counts by hand."""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from wattslice.errors import WattsliceError
from wattslice.probes import Build, ProbeError, read_counts, run_probed

FOLDER = Path(__file__).parent / "probes"
EVERY_BRANCH = FOLDER / "every_branch.cu"
GXX = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on the PATH")


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
        for arm in arms:
            self.visits[*place, arm] += 1
        if holds or len(arms) == 2:
            self.taken[*place, arms[0] if holds else arms[1]] += 1
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
def test_counts_are_those_made_by_hand():
    counted = run_probed(EVERY_BRANCH, None, Build.CPU)
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
    ("program", "build", "message"),
    [
        ("echo how to use me; exit 3", Build.CPU, "ended with status 3: how to use me"),
        ("kill -6 $$", Build.CPU, r"was ended by signal 6 \(SIGABRT\)"),
        ("exit 0", Build.NVCC, "left no counts: it printed nothing"),
        ("exec sleep 9", Build.NVCC, "did not end within 0.3 s"),
        (None, Build.CPU, "g[+][+] refuses the program: line 7"),
        (None, Build.NVCC, "nvcc refuses the program: line 7"),
    ],
)
def test_a_program_that_gives_no_counts(tmp_path, monkeypatch, program, build, message):
    text = "#!/bin/sh\necho line 7\nexit 1" if program is None else COMPILER.replace("PROGRAM", program)
    for name in ("g++", "nvcc"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(WattsliceError, match=message):
        run_probed(EVERY_BRANCH, None, build, timeout_s=0.3)


def test_the_program_gets_its_arguments_and_the_compiler_its_flags(tmp_path, monkeypatch):
    counts = "wattslice-counts 1\\nk.cu\\nabc\\nk.cu\\tk\\t1\\t2\\ttest\\t\\t5\\t1\\n"
    program = f'printf "{counts}" > $WATTSLICE_COUNTS; echo $@'
    (tmp_path / "nvcc").write_text(
        f"#!/bin/sh\necho $@ > {tmp_path}/flags\n" + COMPILER.replace("PROGRAM", program)
    )
    (tmp_path / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    counted = run_probed(EVERY_BRANCH, None, Build.NVCC, ("1", "two"), ("-lcublas",))
    assert counted.output == "1 two\n"
    assert [(arm.arm, arm.visits, arm.taken) for arm in counted.arms] == [("then", 5, 1), ("else", 5, 4)]
    assert "-arch=native -O2" in (tmp_path / "flags").read_text()
    assert "-lcublas" in (tmp_path / "flags").read_text()


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    for build, name in ((Build.CPU, "g[+][+]"), (Build.NVCC, "nvcc")):
        with pytest.raises(ProbeError, match=f"{name} is not on the PATH"):
            run_probed(EVERY_BRANCH, None, build)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no file of counts"),
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

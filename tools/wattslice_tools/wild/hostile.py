"""Hostile inputs, before and after they were mended: what is answered, in how much time and memory.

    python -m wattslice_tools.wild.hostile CHECKOUT... [-o docs/appendix/hostile.md]

Every checkout of this repository is tried by the interpreter that runs this, each input in a folder and
process of its own, for 120 s of the processor at most.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from msgspec import Struct

from wattslice_tools.wild.document import publish

MOST_S = 120
"""Of the processor; a process that only waits ends after MOST_WALL_S."""
MOST_WALL_S = 60.0 * 4
MOST_BYTES = 8 << 30
_KERNEL = "__global__ void k(int *p) { p[threadIdx.x] = %s; }\nint main() { k<<<1, 32>>>(0); }\n"
_CALL = "import sys; from wattslice.cli import main; sys.exit(main(sys.argv[1:]))"


class Input(Struct, frozen=True):
    """Files, and the words of the command that reads them. `pipe`: a FIFO of that name is made."""

    name: str
    files: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ("analyze", "--no-cache", "k.cu")
    pipe: str = ""


def _source(name: str, text: str) -> Input:
    return Input(name, (("k.cu", text),))


def _beside(name: str, file: str, text: str, *words: str) -> Input:
    return Input(name, (("k.cu", _KERNEL % "1"), (file, text)), words or ("analyze", "--no-cache", "k.cu"))


def _macros() -> str:
    lines = [f"#define A{level} {' '.join([f'A{level - 1}'] * 10)}" for level in range(1, 8)]
    return "\n".join(("#define A0 p[0]++;", *lines, "__global__ void k(int *p) { A7 }"))


def _ifs() -> str:
    ifs = "".join(f"if (a[i + {n}] > {n}) {{\n" for n in range(64))
    return f"__global__ void k(const int *a, int *p) {{ int i = threadIdx.x;\n{ifs}p[i]++;{'}' * 64}}}\n"


_POINTER = "struct S { int n[9]; };\n__global__ void k(S *p) { p->n[1e400] = 1; }\n"
_SUM = _KERNEL.replace("<<<1", "<<<" + "+".join(["1"] * 20_000)) % "1"
_TEMPLATE = """template<class T> struct W {
  W<W<T>> *n;
  float v;
  __device__ float get() { return n ? n->get() : v; }
};
__global__ void k(W<float> *w, float *y) { y[0] = w->get(); }
int main() { k<<<1, 32>>>(0, 0); }
"""
INPUTS = (
    Input(
        "`numpy.py` in the folder, `jobs = 2` in its settings",
        tuple(
            (name, _KERNEL % "1" if name.endswith(".cu") else text)
            for name, text in (
                ("k.cu", ""),
                ("l.cu", ""),
                ("numpy.py", "print('EXECUTED')\n"),
                ("wattslice.toml", "jobs = 2\n"),
            )
        ),
        ("analyze", "--no-cache", "k.cu", "l.cu"),
    ),
    _beside("`scheduler` in its settings", "wattslice.toml", 'scheduler = "tcp://a.example:1"\n'),
    _beside("`cache` in its settings", "wattslice.toml", 'cache = "/tmp/of-a-stranger"\n', "analyze", "k.cu"),
    _beside(
        "a baseline outside of the tree",
        "wattslice.toml",
        '[gate]\nbaseline = "../elsewhere"\n',
        *("gate", "--no-cache", "k.cu"),
    ),
    _source("`W<W<T>> *n` in a template", _TEMPLATE),
    _source("eight lines of nested macros", _macros()),
    _beside('`profile = "/dev/zero"`', "wattslice.toml", 'profile = "/dev/zero"\n'),
    Input("a FIFO in place of the settings", (("k.cu", _KERNEL % "1"),), pipe="wattslice.toml"),
    _source("64 nested ifs that data decide", _ifs()),
    _source("`p->n[1e400]`", _POINTER),
    _source("a sum of 20 000 terms in host code", _SUM),
    _beside("NUL in `compile_commands.json`", "compile_commands.json", '[{"file": "k.cu\\u0000"}]\0'),
    _beside("`[` × 100 000 in a profile", "p.json", "[" * 100_000, "analyze", "--profile", "p.json", "k.cu"),
    _beside(
        "1e308 in a CSV of measurements",
        "m.csv",
        "B,time_s,power_w\n1,1e308,1e308\n2,1e-308,1e308\n",
        *("sweep", "k.cu", "-D", "B=1,2", "--measured", "m.csv"),
    ),
    Input(
        "an escape sequence in a file's name",
        (("k\x1b[31m.cu", _KERNEL.replace("p[", "q[") % "1"),),
        ("analyze", "--no-cache", "--format", "github", "k\x1b[31m.cu"),
    ),
)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))


def _tried(one: Input, checkout: Path) -> str:
    """Seconds and MiB, and what was said last."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in one.files:
            Path(folder, name).write_text(text, encoding="utf-8")
        if one.pipe:
            os.mkfifo(Path(folder, one.pipe))
        path = os.pathsep.join(str(checkout / part) for part in ("analyzer", "models", "corpora"))
        home = {
            "PYTHONPATH": path,
            "XDG_CACHE_HOME": f"{folder}/.cache",
            "XDG_CONFIG_HOME": f"{folder}/.config",
        }
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", _CALL, *one.words],
                cwd=folder,
                env={**os.environ, **home},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_limited,
            )
            end = threading.Timer(MOST_WALL_S, os.killpg, (child.pid, signal.SIGKILL))
            end.start()
            _, status, used = os.wait4(child.pid, 0)
            end.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read().decode(errors="replace").replace(f"{folder}/", "")
    figures = f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MiB"
    return f"{figures}: {_outcome(text, child.returncode)}"


def _outcome(text: str, status: int) -> str:
    if "EXECUTED" in text:
        return "**its code is run**"
    if "\x1b" in text:
        return "**escape sequence printed**"
    if found := re.search(r"(?:internal error: |\bPW099\b|Traceback).*", text):
        return f"**{found[0][:60]}**"
    if status not in (0, 1, 2):
        return "**does not end**"
    found = re.search(r"^wattslice: (?:\S+: )?(.*)|\b(PW00[17])\b", text, re.MULTILINE)
    said = "" if found is None else found[1] or found[2]
    return ("refused: " if status == 2 else "") + (said[:70].replace("|", "¦") or "a report")


def main() -> None:
    """A row for each input, a column for each checkout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    commits = [
        subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=path, capture_output=True, text=True, check=True
        ).stdout.strip()
        for path in chosen.checkouts
    ]
    lines = [f"| Input | {' | '.join(commits)} |", f"|---{'|---' * len(commits)}|"]
    for one in INPUTS:
        cells = [_tried(one, path.absolute()) for path in chosen.checkouts]
        lines.append(f"| {one.name} | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr)
    publish(chosen.output, "hostile", [*lines, ""])


if __name__ == "__main__":
    main()

"""Mutants of every input format: whatever they hold, wattslice answers, complains or refuses, and ends.

    python tests/fuzz/fuzz.py --mutants 5000
    python tests/fuzz/fuzz.py --seconds 60

Every mutant is run in a process of its own, forked from this one. A find is an internal error (PW099, or the
exit of one), a traceback, a crash, or more than a minute of the processor. Finds are kept in a folder; those
that were mended stand in `seeds/`, where `test_seeds.py` runs them for ever. The same `--seed` gives the same
mutants.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SEEDS = HERE / "seeds"
MOST_CPU_S = 75  # what an analysis may take, and some more
MOST_BYTES = 6 << 30  # of addresses: the rest of the machine is not ours
PATIENCE_S = 0.7  # until a server is given the next messages although it has told nothing
MOST_WALL_S = 10 * MOST_CPU_S
_DEFECT = re.compile(r"internal error|PW099|Traceback \(most recent call last\)|Exception ignored")
_DEFECT_IN_SARIF = re.compile(
    r'"(?:ruleId|id)":"PW099"(?!,"name")|Traceback|Exception ignored|wattslice: internal'
)
_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.+-]*|\s+|[^\w\s]")
_NASTY = tuple(
    b"0|-1|1|1e308|-1e308|1e400|nan|inf|-inf|1e-320|2147483647|-2147483648|4294967296|9223372036854775807|"
    b"99999999999999999999|0x7fffffffffffffff|1.0f|''|\"\"|\\|\0|\xff|\xef\xbb\xbf|\xe2\x80\xae|\x1b[31m|%s|{}|[]|"
    b"()|((|))|{{|}}|[[|]]|<<<|>>>|<|>|::|...|,|;|;;|=|==|/*|*/|//|#|#if 1|#endif|#define X X X|"
    b"template<class T>|"
    b"__global__|__device__|__shared__|extern|static|const|volatile|typedef|struct S {|union|enum|goto|"
    b"switch (|case 1:|default:|for (;;)|while (1)|do|else|return|sizeof|threadIdx.x|blockDim|warpSize|"
    b"float4|"
    b'double|void|auto|nullptr|true|null|1/0|1%0|1<<64|1<<-1|*(int*)0|&|&&|asm("")|__syncthreads();|@p|.reg|bra|'
    b"ret;|ld.global.f32|%r1|nan:|../..|/dev/zero|/".split(b"|")
)
SETTINGS = b"""gpu = "h100"
model = "auto"
method = "bdpm"
delta = 0.05
dense-from = 0.2
set = ["n=1048576", "k.m=64"]
launch = ["k=64,64:16,16"]
include = ["."]
define = ["BLOCK=256"]
std = "c++17"
core-mhz = 1410
mem-mhz = 1593
jobs = 1
[gate]
max-power = 250
max-energy = 2.5
unknown = "warn"
baseline = "watts.baseline"
fail-on = ["energy"]
tolerance = "5%"
confidence = "90%"
[[gate.budget]]
kernel = "k*"
max-power = 200
"""
KERNEL = b"""#define BLOCK 256
__global__ void k(const float *x, float *y, int n, int m) {
  __shared__ float s[BLOCK];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  for (int j = 0; j < m; j++) {
    if (x[j] > 0.5f) s[threadIdx.x] += x[i + j] * 2; else continue;
  }
  if (i < n) y[i] = s[threadIdx.x];
}
int main() {
  float *x, *y;
  int n = 1 << 20;
  cudaMalloc(&x, n * 4);
  cudaMalloc(&y, n * 4);
  dim3 grid((n + BLOCK - 1) / BLOCK);
  k<<<grid, BLOCK>>>(x, y, n, 16);
}
"""
C_KERNEL = b"""#include <math.h>
#define N 1024
typedef struct { double a, b[4]; } pair;
static double scale = 2.0;
static inline double helper(double x) { return x * scale; }
void k(double A[N][N], const double *x, pair *p, int n) {
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int j = 0; j < N; j += 2) {
      if (A[i][j] > 0) sum += helper(A[i][j]) * x[j];
      else if (j % 3 == 1) sum -= sqrt(x[j] / 2);
    }
    switch (i & 3) { case 0: p[i].a = sum; break; default: p[i].b[i & 3] = sum; }
  }
}
static double A[N][N], x[N];
static pair p[N];
int main(void) { int n = N; k(A, x, p, n); return 0; }
"""
SPEC = b"""[[data]]
name = "first"
seed = 1
[data.launch]
grid = [4, 1, 1]
block = [256, 1, 1]
[data.arguments]
x = { size = 2048, generator = "uniform", low = 0.0, high = 1.0 }
y = { size = 1024 }
n = 1024
m = 4
"""
PROFILE = b"""{"schema_version": 1, "branches": [
  {"file": "k.cu", "line": 8, "arm": "then", "probability": 0.25},
  {"file": "k.cu", "line": 10, "arm": "then", "probability": 1.0}]}
"""
COMMANDS = b"""[
 {"directory": "DIR", "file": "k.cu", "command": "nvcc -IDIR -DBLOCK=128 -arch=sm_80 -std=c++14 -c k.cu"},
 {"directory": "DIR", "file": "other.cu", "arguments": ["nvcc", "-I.", "-gencode", "arch=compute_90"]}]
"""
PLACE: dict[str, object] = {
    "textDocument": {"uri": "file://DIR/k.cu"},
    "position": {"line": 7, "character": 12},
}
PAUSE: tuple[str, dict[str, object], bool] = ("", {}, False)
SESSION: tuple[tuple[str, dict[str, object], bool], ...] = (
    (
        "initialize",
        {
            "processId": None,
            "rootUri": "file://DIR",
            "capabilities": {},
            "initializationOptions": {"gpu": "t4"},
        },
        True,
    ),
    ("initialized", {}, False),
    (
        "workspace/didChangeConfiguration",
        {"settings": {"wattslice": {"minShare": 0.1, "set": ["n=4"]}}},
        False,
    ),
    (
        "textDocument/didOpen",
        {
            "textDocument": {
                "uri": "file://DIR/k.cu",
                "languageId": "cuda",
                "version": 1,
                "text": KERNEL.decode(),
            }
        },
        False,
    ),
    (
        "textDocument/didChange",
        {
            "textDocument": {"uri": "file://DIR/k.cu", "version": 2},
            "contentChanges": [
                {
                    "range": {"start": {"line": 7, "character": 16}, "end": {"line": 7, "character": 20}},
                    "text": "0.25f",
                }
            ],
        },
        False,
    ),
    PAUSE,
    ("textDocument/hover", PLACE, True),
    (
        "textDocument/codeAction",
        {
            "textDocument": {"uri": "file://DIR/k.cu"},
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 9, "character": 0}},
            "context": {"diagnostics": []},
        },
        True,
    ),
    ("textDocument/codeLens", {"textDocument": {"uri": "file://DIR/k.cu"}}, True),
    (
        "textDocument/inlayHint",
        {
            "textDocument": {"uri": "file://DIR/k.cu"},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 30, "character": 0}},
        },
        True,
    ),
    PAUSE,
    ("textDocument/didSave", {"textDocument": {"uri": "file://DIR/k.cu"}}, False),
    ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "file://DIR/k.cu", "type": 2}]}, False),
    ("textDocument/didClose", {"textDocument": {"uri": "file://DIR/k.cu"}}, False),
)


def _written(folder: Path, name: str, text: bytes) -> None:
    (folder / name).write_bytes(text)


def _located(folder: Path, name: str, text: bytes) -> None:
    """DIR in it stands for the folder."""
    _written(folder, name, text.replace(b"DIR", os.fsencode(folder)))


def _fed(folder: Path, name: str, text: bytes) -> None:
    """Give every line to a server as a message. An empty one waits, if not for long, for an analysis, the
    next for all answers of `SESSION`.
    """
    _located(folder, name, text)
    lines = (folder / name).read_bytes().split(b"\n")
    messages = (
        b"Content-Length: %d\r\n\r\n%b" % (len(line), line) if line.startswith(b"{") else line
        for line in lines
    )
    reading, writing = os.pipe()
    os.dup2(reading, 0)

    awaited = [(b"$/wattslice/analyzed", 1), (b'"result"', sum(is_request for _, _, is_request in SESSION))]

    def feed() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe, contextlib.suppress(OSError):
            for message in messages:
                pipe.write(message)
                if not message and awaited:
                    (what, times), until_s = awaited.pop(0), time.monotonic() + PATIENCE_S
                    while _output_of(folder).read_bytes().count(what) < times and time.monotonic() < until_s:
                        time.sleep(0.01)

    threading.Thread(target=feed, daemon=True).start()


def _kept(folder: Path, name: str, text: bytes) -> None:
    """Put an entry in place of the one that is kept of the analysis: with its checksum, or as it is."""
    _main(CACHED)
    entry, names = _entry()
    for placeholder, value in names.items():
        text = text.replace(placeholder, value)
    _located(folder, name, text)
    text = (folder / name).read_bytes()
    entry.write_bytes(_packed(text) if text.startswith(b"{") else text)


CACHED = ("analyze", "--gpu", "v100", "--cache", "cache", "--format", "json", "k.cu")
_ENTRY_BEGINS = b"wattslice result 1\n"


def _packed(text: bytes) -> bytes:
    body = zlib.compress(text, 1)
    return b"".join((_ENTRY_BEGINS, hashlib.sha256(body).digest(), body))


def _unpacked(entry: Path) -> bytes:
    return zlib.decompress(entry.read_bytes()[len(_ENTRY_BEGINS) + hashlib.sha256().digest_size :])


def _entry() -> tuple[Path, dict[bytes, bytes]]:
    """The one entry of the cache, and what of it depends on the folder: its name, what searches found."""
    kept = (path for path in Path("cache", "results").iterdir() if not path.name.startswith("."))
    (entry,) = (path for path in kept if path.read_bytes().startswith(_ENTRY_BEGINS))
    searches = json.loads(_unpacked(entry))["inputs"]["searches"]
    answers = {b"ANSWER%d." % number: search[-1].encode() for number, search in enumerate(searches)}
    return entry, {b"NAME": entry.name.encode(), **answers}


class Kind(Struct, frozen=True):
    """An input format: the file that is mutated, what stands beside it, and the commands that read it.

    Of the commands one is chosen. `samples` are what is mutated. `place` puts a mutant where the commands
    read it, in their process.
    """

    name: str
    samples: tuple[bytes, ...]
    commands: tuple[tuple[str, ...], ...]
    beside: tuple[tuple[str, bytes], ...] = ()
    place: Callable[[Path, str, bytes], None] = _written


def _corpus(*patterns: str, most_bytes: int = 30_000) -> tuple[bytes, ...]:
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return tuple(text for path in found if len(text := path.read_bytes()) <= most_bytes)


def kinds() -> dict[str, Kind]:
    """Every kind by its name. Makes the samples that only wattslice can write."""
    source = ("k.cu", KERNEL)
    analyze = ("analyze", "--no-cache", "--format")
    formats = tuple(
        (*analyze, name) for name in ("text", "json", "github", "sarif", "gcc", "junit", "gitlab")
    )
    gate = ("gate", "--no-cache", "--gpu", "v100")
    baseline = _made("watts.baseline", (*gate, "--update-baseline", "--baseline", "watts.baseline", "k.cu"))
    interpret = ("profile", "k.cu", "--data", "spec.toml", "--steps", "20000", "-o")
    profile = _made("profile.json", (*interpret, "profile.json"), ("spec.toml", SPEC))
    in_pyproject = re.sub(rb"(?m)^(\[+)gate", rb"\1tool.wattslice.gate", SETTINGS)
    gpus = (text.replace(b'id = "', b'id = "my_') for text in _corpus("models/*/gpus/[hv]1*.toml"))
    table, card, sources = _campaign()
    listed = [
        Kind("k.cu", (KERNEL, *_corpus("corpora/*/kernels/**/*.cu")), tuple((*f, "k.cu") for f in formats)),
        Kind("k.ptx", _corpus("tests/analyzer/ptx/*.ptx"), tuple((*f, "k.ptx") for f in formats)),
        Kind("k.c", (C_KERNEL,), tuple((*f, "k.c") for f in formats)),
        Kind(
            "wattslice.toml",
            (SETTINGS,),
            ((*analyze, "text", "k.cu"), ("gate", "--no-cache", "k.cu"), ("annotate", "k.cu")),
            (source, ("watts.baseline", baseline)),
        ),
        Kind(
            "pyproject.toml",
            (b"[tool.wattslice]\n" + in_pyproject,),
            ((*analyze, "json", "k.cu"),),
            (source,),
        ),
        Kind(
            "profile.json",
            (PROFILE, profile),
            ((*analyze, "text", "--profile", "profile.json", "k.cu"),),
            (source,),
        ),
        Kind("spec.toml", (SPEC,), ((*interpret, "out.json"),), (source,)),
        Kind(
            "workflow.toml", _corpus("corpora/*/workflows/*.toml"), (("project", "workflow.toml"),), (source,)
        ),
        Kind("watts.baseline", (baseline,), ((*gate, "--baseline", "watts.baseline", "k.cu"),), (source,)),
        Kind(
            "compile_commands.json",
            (COMMANDS,),
            ((*analyze, "json", "-p", ".", "k.cu"),),
            (source,),
            _located,
        ),
        Kind(
            "gpu.toml",
            tuple(gpus),
            ((*analyze, "text", "--gpu", "gpu.toml", "k.cu"), ("roofline", "--gpu", "gpu.toml", "k.cu")),
            (source,),
        ),
        Kind(
            "measured.csv",
            (table,),
            (
                ("evaluate", "--gpu", "h100", "--trained-only", "--data", "measured.csv"),
                ("train", "--gpu", "h100", "--model", "energy", "--data", "measured.csv", "--out", "out"),
                ("train", "--gpu", "h100", "--model", "roofline", "--data", "measured.csv", "--out", "out"),
            ),
            (("card.toml", card), *sources),
        ),
        Kind(
            "card.toml",
            (card,),
            (("evaluate", "--gpu", "h100", "--trained-only", "--data", "measured.csv"),),
            (("measured.csv", table), *sources),
        ),
        Kind("session.jsonl", (_session(),), (("lsp",),), (source,), _fed),
        Kind("entry.json", (_kept_result(),), (CACHED,), (source,), _kept),
    ]
    return {kind.name: kind for kind in listed if kind.samples}


def _session() -> bytes:
    """What an editor says, a message in a line."""
    lines: list[str] = []
    for number, (method, params, is_request) in enumerate(
        (*SESSION, ("shutdown", {}, True), ("exit", {}, False))
    ):
        about: dict[str, object] = {"id": number} if is_request else {}
        message = {"jsonrpc": "2.0", **about, "method": method, "params": params}
        lines.append(json.dumps(message) if method else "")
    return "\n".join(lines).encode()


def _kept_result() -> bytes:
    """What the cache keeps of an analysis, as JSON."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("k.cu").write_bytes(KERNEL)
        _main((*CACHED, "-o", "k.json"))
        entry, names = _entry()
        text = _unpacked(entry).replace(os.fsencode(folder), b"DIR")
        for placeholder, value in names.items():
            text = text.replace(value, placeholder)
        return text


def _made(name: str, words: Sequence[str], *beside: tuple[str, bytes]) -> bytes:
    """A file that a command writes."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for other, content in (("k.cu", KERNEL), *beside):
            Path(other).write_bytes(content)
        _main(words)
        return Path(name).read_bytes()


def _campaign() -> tuple[bytes, bytes, tuple[tuple[str, bytes], ...]]:
    """A table of measured runs, its card and its sources."""
    sys.path.insert(0, str(ROOT / "tests" / "analyzer"))
    campaign: Callable[[Path], Path] = import_module("learning_data").campaign
    with tempfile.TemporaryDirectory() as folder:
        table = campaign(Path(folder))
        sources = sorted((Path(folder) / "sources").iterdir())
        beside = tuple((f"sources/{path.name}", path.read_bytes()) for path in sources)
        return table.read_bytes(), (Path(folder) / "card.toml").read_bytes(), beside


def _main(words: Sequence[str]) -> int:
    from wattslice.cli import main

    return main(words)


# --------------------------------------------------------------------------------- mutants


def mutant(kind: Kind, rng: random.Random) -> bytes:
    """A sample changed in a few places."""
    text = rng.choice(kind.samples)
    for _ in range(1 + min(int(rng.expovariate(0.6)), 8)):
        text = rng.choice(_MUTATIONS)(text, rng, kind)
    return text[: 1 << 20]


def _tokens(text: bytes, rng: random.Random, change: Callable[[list[bytes], int], None]) -> bytes:
    tokens = _TOKEN.findall(text)
    places = [number for number, token in enumerate(tokens) if not token.isspace()]
    if places:
        change(tokens, rng.choice(places))
    return b"".join(tokens)


def _nasty(text: bytes, rng: random.Random, _: Kind) -> bytes:
    return _tokens(text, rng, lambda tokens, at: tokens.__setitem__(at, rng.choice(_NASTY)))


def _insert(text: bytes, rng: random.Random, _: Kind) -> bytes:
    return _tokens(text, rng, lambda tokens, at: tokens.insert(at, b" %b " % rng.choice(_NASTY)))


def _other_token(text: bytes, rng: random.Random, _: Kind) -> bytes:
    return _tokens(text, rng, lambda tokens, at: tokens.__setitem__(at, rng.choice(tokens)))


def _drop(text: bytes, rng: random.Random, _: Kind) -> bytes:
    return _tokens(
        text, rng, lambda tokens, at: tokens.__delitem__(slice(at, at + rng.choice((1, 1, 1, 5, 40))))
    )


def _number(text: bytes, rng: random.Random, _: Kind) -> bytes:
    places = list(re.finditer(rb"\d[\d.]*", text))
    if not places:
        return text
    place = rng.choice(places)
    return text[: place.start()] + rng.choice(_NASTY[:17]) + text[place.end() :]


def _repeat(text: bytes, rng: random.Random, _: Kind) -> bytes:
    times = rng.choice((2, 2, 3, 30, 300))

    def change(tokens: list[bytes], at: int) -> None:
        tokens[at : at + 1] = [tokens[at]] * times

    return _tokens(text, rng, change)


def _lines(text: bytes, rng: random.Random, _: Kind) -> bytes:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[first : first + rng.choice((1, 2, 10))]
        case 1:
            lines[first], lines[second] = lines[second], lines[first]
        case 2:
            lines.insert(first, lines[second])
        case _:
            lines[first:first] = lines[second : second + 5] * rng.choice((1, 2, 20))
    return b"".join(lines)


def _bytes(text: bytes, rng: random.Random, _: Kind) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + bytes([rng.randrange(256)]) + text[at + rng.randrange(2) :]


def _cut(text: bytes, rng: random.Random, _: Kind) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _splice(text: bytes, rng: random.Random, kind: Kind) -> bytes:
    other = rng.choice(kind.samples)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


_MUTATIONS = (
    *(_nasty, _nasty, _insert, _other_token, _other_token, _drop, _drop),
    *(_number, _number, _repeat, _lines, _bytes, _cut, _splice),
)


# --------------------------------------------------------------------------------- runs


class Outcome(Struct, frozen=True):
    """What became of a mutant; `defect` is empty when all is well."""

    defect: str
    output: str
    seconds: float


def outcome_of(kind: Kind, command: Sequence[str], text: bytes) -> Outcome:
    """Run a command of wattslice on a text, in a folder and process of their own."""
    folder = Path(tempfile.mkdtemp(prefix="wattslice-fuzz-"))
    try:
        for name, content in kind.beside:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        return _run(folder, command, lambda: kind.place(folder, kind.name, text))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _output_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".output")


def _run(folder: Path, command: Sequence[str], place: Callable[[], None]) -> Outcome:
    sys.stdout.flush()
    began_s = time.monotonic()
    output = _output_of(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which BLAS has
        child = os.fork()
    if child == 0:
        _child(folder, command, place, output)
    status, used = _wait(child, began_s + MOST_WALL_S)
    told = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
    output.unlink(missing_ok=True)
    seconds = 0.0 if used is None else used.ru_utime + used.ru_stime
    defect = ""
    if status is None:
        defect = "hang"
    elif os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        defect = "takes too long" if number == signal.SIGXCPU else f"killed by {signal.Signals(number).name}"
    elif os.WEXITSTATUS(status) not in (0, 1, 2):
        defect = f"exit status {os.WEXITSTATUS(status)}"
    elif (found := _defect_in(told)) is not None:
        defect = next(line for line in told.splitlines() if found[0] in line).strip()[-160:]
    return Outcome(defect, told, seconds)


def _defect_in(told: str) -> re.Match[str] | None:
    """SARIF explains all rules, those of defects too."""
    return (_DEFECT_IN_SARIF if '"$schema"' in told else _DEFECT).search(told)


def _wait(child: int, until_s: float) -> tuple[int | None, resource.struct_rusage | None]:
    pause_s = 0.002
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            return status, used
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, None
        time.sleep(pause_s)
        pause_s = min(0.05, 1.5 * pause_s)


def _child(folder: Path, command: Sequence[str], place: Callable[[], None], output: Path) -> None:
    status = 99
    try:
        os.chdir(folder)
        for name, below in (("CONFIG", "config"), ("DATA", "data")):  # nothing of the user
            os.environ[f"XDG_{name}_HOME"] = str(folder / below)
        os.environ["WATTSLICE_CACHE"] = "off"
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", errors="replace") for n in (1, 2))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        place()
        status = _main(command)
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 98
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(status)


def seed_of(path: Path) -> tuple[str, int, bytes]:
    """(kind, number of the command, text) of a kept seed: ``k.cu--0--what.seed``."""
    name, number, _ = path.name.split("--", 2)
    return name, int(number), path.read_bytes()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutants of every input format; exit status 1 for a find.")
    parser.add_argument("--mutants", type=int, default=0, metavar="N", help="that many")
    parser.add_argument("--seconds", type=float, default=0.0, metavar="S", help="for that long")
    parser.add_argument("--seed", type=int, default=18, metavar="N", help="of the mutants [default: 18]")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first mutant")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="NAME", help="only this file; repeatable"
    )
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-finds"), metavar="DIR", help="folder of finds"
    )
    parser.add_argument("--threads-of-blas", default="1", help=argparse.SUPPRESS)
    found = parser.parse_args()
    if not found.mutants and not found.seconds:
        parser.error("give --mutants or --seconds")
    return found


def main() -> int:
    """Run mutants until the budget is spent; a table of what they did."""
    asked = _arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, asked.threads_of_blas)
    os.environ["WATTSLICE_CACHE"] = "off"
    known = kinds()
    chosen = [known[name] for name in asked.kind or known]
    began_s, number = time.monotonic(), asked.first
    ran: Counter[str] = Counter()
    finds: Counter[str] = Counter()
    slowest = (0.0, "")
    while (not asked.mutants or number - asked.first < asked.mutants) and (
        not asked.seconds or time.monotonic() - began_s < asked.seconds
    ):
        rng = random.Random(f"{asked.seed} {number}")
        kind = chosen[number % len(chosen)]
        which = rng.randrange(len(kind.commands))
        text = mutant(kind, rng)
        outcome = outcome_of(kind, kind.commands[which], text)
        ran[kind.name] += 1
        slowest = max(slowest, (outcome.seconds, f"{kind.name} {number}"))
        if outcome.defect:
            finds[outcome.defect] += 1
            asked.keep.mkdir(parents=True, exist_ok=True)
            place = asked.keep / f"{kind.name}--{which}--{asked.seed}-{number}.seed"
            place.write_bytes(text)
            place.with_suffix(".output").write_text(outcome.output, encoding="utf-8", errors="replace")
            print(f"{place}: {outcome.defect}", flush=True)
        number += 1
    print(f"{sum(ran.values())} mutants in {time.monotonic() - began_s:.0f} s: {sum(finds.values())} finds")
    print(f"slowest: {slowest[0]:.1f} s of the processor, {slowest[1]}")
    print("  ".join(f"{name} {count}" for name, count in ran.items()))
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())

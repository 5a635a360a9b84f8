"""Which public programs the stand-in for CUDA builds and runs, with counters in them, as Markdown.

    python -m wattslice_tools.wild.probe_programs CHECKOUT... [--why] [--jobs 2]
        [-o docs/appendix/public-code.md]

A program is a `.cu` file that has `main`, and of whose kernels the analyzer reads at least one, in the file
or in those that it includes. Each is built alone, as `python -m wattslice_tools.cuda_on_cpu` does, with the
folders of `FOLDERS`, the macros of `DEFINES` and the other sources of `SOURCES`; and run with the arguments
of `ARGUMENTS`, in a temporary folder, with nothing else than what the checkout has. `--results` keeps what
was found in a file, and goes on from there; with `--only-results` nothing is run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from wattslice.errors import WattsliceError
from wattslice.frontend.parse_options import ParseOptions
from wattslice.profiling.probes.counts import ProbeError
from wattslice_tools.cuda_on_cpu.running import build_probed
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import write_section
from wattslice_tools.wild.isolated import run_isolated

Value = TypeVar("Value")
HARD_LIMIT_S = 150.0
RUN_LIMIT_S = 8.0
AT_ONCE = 8
_MAIN = re.compile(rb"^[ \t]*(?:int|void|auto)?\s*main\s*\(", re.MULTILINE)
# By checkout, the folders that its build names; relative to the checkout.
FOLDERS = {"cuda-samples": ("Common",), "Parboil": ("common/include",), "gpu-parboil": ("common/include",)}
# By checkout, macros that make its data small.
DEFINES = {"PolyBench-ACC": ("MINI_DATASET",)}
# By the end of a program's path: the other source files of it, relative to its folder. {suite}.
SOURCES = {
    "gpu-rodinia/cuda/backprop/backprop_cuda.cu": ("backprop.c", "facetrain.c", "imagenet.c"),
    "gpu-rodinia/cuda/heartwall/main.cu": ("AVI/avilib.c", "AVI/avimod.c"),
    "simpleAtomicIntrinsics/simpleAtomicIntrinsics.cu": ("simpleAtomicIntrinsics_cpu.cpp",),
    "simpleCallback/simpleCallback.cu": ("multithreading.cpp",),
    "gpu-rodinia/cuda/kmeans/kmeans_cuda.cu": (
        "cluster.c",
        "getopt.c",
        "kmeans.c",
        "kmeans_clustering.c",
        "rmse.c",
    ),
}
# By the end of a program's path: small arguments, as in its README or run script.
ARGUMENTS = {
    "gpu-rodinia/cuda/backprop/backprop_cuda.cu": "1024",
    "gaussian/gaussian.cu": "-s 16",
    "gpu-rodinia/cuda/nw/needle.cu": "128 10",
    "NV-DVFS-Benchmark/src/linux/nw/needle.cu": "128 10",
    "ex_particle_CUDA_float_seq.cu": "-x 32 -y 32 -z 4 -np 200",
    "ex_particle_CUDA_naive_seq.cu": "-x 32 -y 32 -z 4 -np 200",
    "pathfinder/pathfinder.cu": "1000 10 5",
    "streamcluster/streamcluster_cuda.cu": "3 5 16 256 256 50 none output.txt 1",
    "srad_v2/srad.cu": "64 64 0 31 0 31 0.5 2",
    "hybridsort/main.cu": "r",
    "lavaMD/main.cu": "-boxes1d 2",
    "lud/cuda/lud.cu": "-s 64 -v",
    "myocyte/main.cu": "2 1 0",
    "cuda-samples/Samples/0_Introduction/matrixMul/matrixMul.cu": "-wA=64 -hA=64 -wB=64 -hB=64",
    "NV-DVFS-Benchmark/src/linux/matrixMul/matrixMul.cu": "-wA=64 -hA=64 -wB=64 -hB=64",
}


class Question(Struct, frozen=True):
    checkout: Path
    path: Path


class Answer(Struct, frozen=True):
    """`stage` that the program came to: "no kernel", "refused", "built" or "ran"; `why` not further.

    A program whose kernels have no branches runs, too.
    """

    stage: str
    why: str = ""
    branches: int = 0


def examine(question: Question) -> Answer:
    """Builds and runs one program."""
    path, checkout = question.path, question.checkout
    folders = tuple(checkout / folder for folder in FOLDERS.get(checkout.name, ()))
    sources = tuple(path.parent / name for name in _of(SOURCES, path) or ())
    if "arboil" in checkout.name:
        sources += (checkout / "common/src/parboil_cuda.c",)
    words = (_of(ARGUMENTS, path) or "").format(suite=checkout, folder=path.parent).split()
    stage = "refused"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            options = ParseOptions(include_dirs=folders, defines=DEFINES.get(checkout.name, ()))
            with build_probed(path, options, (), sources) as program:
                stage = "built"
                arms = program.run(words, RUN_LIMIT_S).arms
            return Answer("ran", "", len({(arm.file, arm.line, arm.column) for arm in arms if arm.visits}))
        except WattsliceError as error:
            if error.message.startswith("the kernels have no branch"):
                return Answer("ran")
            nothing = isinstance(error, ProbeError) and "has no kernel" in error.message
            place = "" if error.path is None else f" [{error.path.name}:{error.line or ''}]"
            return Answer("no kernel" if nothing else stage, f"{error.message}{place}")
        finally:
            os.chdir("/")


def _of(table: Mapping[str, Value], path: Path) -> Value | None:
    return next((value for end, value in table.items() if path.as_posix().endswith(end)), None)


def cause(answer: Answer) -> str:
    """What kept a program from going further, without its names."""
    why = answer.why
    for pattern, text in (
        (
            r"every counter is zero",
            "runs, and no kernel comes to a branch (mostly: it asks for arguments or files)",
        ),
        (r"ended with status", "ends with an error status (mostly: it asks for arguments or files)"),
        (r"was ended by signal", "crashes"),
        (r"did not end within|no answer after", "does not end in time"),
        (r"left no counts", "leaves no counts"),
        (r"PTX in asm", "PTX in `asm`"),
        (r"is defined in another file", "has functions in other source files or libraries"),
    ):
        if re.search(pattern, why):
            return text
    header = re.match(r"(\S+) is not found", why)
    if header is not None:
        return f"includes `{header[1]}`"
    missing = re.match(r"the stand-in for CUDA does not offer (\S+)", why)
    if missing is not None:
        return f"uses `{missing[1]}`"
    return "g++ refuses it otherwise" if "refuses the program" in why else why.split(" [")[0]


def report(
    found: dict[str, dict[Path, Answer]], files: dict[str, int], revisions: dict[str, str], why: bool
) -> list[str]:
    """The tables."""
    lines = [
        "| suite | commit | files with `main` tried | programs | built | ran, branches counted |",
        "|---|---|---:|---:|---:|---:|",
    ]
    whole: Counter[str] = Counter()
    causes: Counter[tuple[str, str]] = Counter()
    for name, answers in found.items():
        stages = Counter(answer.stage for answer in answers.values() if answer.stage != "no kernel")
        whole += stages
        tried = f"{len(answers)} of {files[name]}"
        lines.append(_row(name, revisions[name], tried, stages))
        for answer in answers.values():
            if answer.stage not in ("no kernel", "ran"):
                causes["built" if answer.stage == "built" else "refused", cause(answer)] += 1
    lines += [_row("**all**", "", "", whole), ""]
    for stage, title in (
        ("refused", "Why programs are not built"),
        ("built", "Why built programs count nothing"),
    ):
        lines += [f"{title}:", "", "| programs | cause |", "|---:|---|"]
        rows = [(text, number) for (of, text), number in causes.most_common() if of == stage]
        lines += [f"| {number} | {text} |" for text, number in rows[: None if why else 12]]
        rest = 0 if why else sum(number for _, number in rows[12:])
        lines += [f"| {rest} | others |", ""] if rest else [""]
    return lines


def _row(name: str, commit: str, tried: str, stages: Counter[str]) -> str:
    built = stages["built"] + stages["ran"]
    shown = commit and f"`{commit}`"
    return f"| {name} | {shown} | {tried} | {sum(stages.values())} | {built} | {stages['ran']} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--why", action="store_true", help="every cause, and every program with its own")
    parser.add_argument("--results", type=Path, help="JSON lines: what is in it is not done again")
    parser.add_argument("--only-results", action="store_true", help="report what --results has")
    parser.add_argument("-o", "--output", type=Path, help="replace the section of this document")
    arguments = parser.parse_args()
    known = _known(arguments.results)
    found: dict[str, dict[Path, Answer]] = {}
    files: dict[str, int] = {}
    seen: set[str] = set()
    for checkout in (folder.resolve() for folder in arguments.checkouts):
        paths = [path for path in cuda_files(checkout, seen) if _MAIN.search(path.read_bytes())]
        answers = found[checkout.name] = {path: known[path] for path in paths if path in known}
        files[checkout.name] = len(paths)
        todo = [] if arguments.only_results else [path for path in paths if path not in known]
        for start in range(0, len(todo), AT_ONCE):
            some = todo[start : start + AT_ONCE]
            outcomes = run_isolated(
                examine, [Question(checkout, path) for path in some], arguments.jobs, HARD_LIMIT_S
            )
            for path, outcome in zip(some, outcomes, strict=True):
                answers[path] = outcome.value or Answer("failure", outcome.failure)
                if arguments.results is not None:
                    with arguments.results.open("a", encoding="utf-8") as results:
                        print(json.dumps({"path": str(path), **asdict(answers[path])}), file=results)
        if arguments.why:
            for path, answer in answers.items():
                print(answer.stage, path.relative_to(checkout.parent), answer.branches, answer.why)
    lines = report(
        found, files, {folder.name: revision(folder) for folder in arguments.checkouts}, arguments.why
    )
    if arguments.output is None:
        print("\n".join(lines))
    else:
        write_section(arguments.output, "probe_programs", lines)


def _known(results: Path | None) -> dict[Path, Answer]:
    if results is None or not results.exists():
        return {}
    rows = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    return {Path(row.pop("path")): Answer(**row) for row in rows}


if __name__ == "__main__":
    main()

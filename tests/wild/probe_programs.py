"""Which public programs the stand-in for CUDA builds and runs, with counters in them, as Markdown.

    python tests/wild/probe_programs.py CHECKOUT... [--why] [--jobs 2] [-o docs/probes.md]

A program is a `.cu` file that has `main`, and of whose kernels the analyzer reads at least one, in the file or in
those that it includes. Each is built alone, as `wattslice profile FILE --build cpu` does, with the folders of
`FOLDERS` and the other sources of `SOURCES`; and run with the arguments of `ARGUMENTS`, in a temporary folder,
with nothing else than what the checkout has.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from checkouts import cuda_files, revision
from document import write_section
from isolated import Outcome, run_isolated

from wattslice.errors import WattsliceError
from wattslice.frontend.clang.flags import ParseOptions
from wattslice.probes import Build, ProbeError, build_probed

HARD_LIMIT_S = 150.0
RUN_LIMIT_S = 40.0
_MAIN = re.compile(rb"^[ \t]*(?:int|void|auto)?\s*main\s*\(", re.MULTILINE)
# By checkout, the folders that its build names; relative to the checkout.
FOLDERS = {
    "cuda-samples": ("Common",),
    "Parboil": ("common/include",),
    "gpu-parboil": ("common/include",),
}
# By the end of a program's path: the other source files of it, relative to its folder. {suite}.
SOURCES = {
    "gpu-rodinia/cuda/backprop/backprop_cuda.cu": ("backprop.c", "facetrain.c", "imagenet.c"),
    "gpu-rodinia/cuda/heartwall/main.cu": ("AVI/avilib.c", "AVI/avimod.c"),
    "gpu-rodinia/cuda/srad/srad_v1/main.cu": (),
}
# By the end of a program's path: small arguments, in the order of its README or run script. {folder}: its own.
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


@dataclass(frozen=True)
class Question:
    checkout: Path
    path: Path


@dataclass(frozen=True)
class Answer:
    """`stage` that the program came to: "no kernel", "refused", "built" or "ran"; `why` not further."""

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
            options = ParseOptions(include_dirs=folders)
            with build_probed(path, options, Build.CPU, (), sources) as program:
                stage = "built"
                arms = program.run(words, RUN_LIMIT_S).arms
            return Answer("ran", "", len({(arm.file, arm.line, arm.column) for arm in arms if arm.visits}))
        except ProbeError as error:
            return Answer("no kernel" if "has no kernel" in error.message else stage, str(error))
        except WattsliceError as error:
            return Answer(stage, str(error))
        finally:
            os.chdir("/")


def _of(table: dict[str, object], path: Path):  # noqa: ANN202
    return next((value for end, value in table.items() if path.as_posix().endswith(end)), None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    seen = set()
    for c in a.checkouts:
        c = c.resolve()
        paths = [p for p in cuda_files(c, seen) if _MAIN.search(p.read_bytes()) and a.only in str(p)]
        out = run_isolated(examine, [Question(c, p) for p in paths], a.jobs, HARD_LIMIT_S)
        n = Counter()
        for p, o in zip(paths, out):
            ans = o.value or Answer("failure", o.failure)
            n[ans.stage] += 1
            print(ans.stage, p.relative_to(c.parent), ans.branches, " ".join(ans.why.replace(str(c), "").split())[:330], flush=True)
        print(c.name, dict(n), flush=True)


if __name__ == "__main__":
    main()

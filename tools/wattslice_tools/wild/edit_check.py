"""Is an edited text analysed as if it were new? Random edits of public files, each compared with a fresh run.

    python -m wattslice_tools.wild.edit_check FILE_OR_CHECKOUT... [--edits 20] [--files 50] [--seed 1]
        [--watts]

Every file is opened, edited again and again (`tests/analyzer/text_edits.py`), and lowered after each edit,
once with everything that is remembered of the earlier texts and once without: the trees must be the same to
the last span. `--watts`: the whole analysis is compared too. Exit status 1 after any difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

from wattslice_tools.wild.checkouts import cuda_files

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "analyzer"))

from ir_tokens import ir_tokens  # pyright: ignore[reportMissingImports]
from text_edits import edited  # pyright: ignore[reportMissingImports]

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions
from wattslice.pipeline.files import read_program
from wattslice.pipeline.incremental import IncrementalAnalyzer


def outcome(path: Path, text: str, memory: LoweredFunctions | None) -> list[str]:
    """What a reading gives: the tree, or the error."""
    try:
        return ir_tokens(read_program(path, Config((path,), GpuChoice("v100")), text.encode(), memory))
    except WattsliceError as error:
        return [str(error)]


def differences(path: Path, edits: int, random: Random, watts: bool) -> tuple[int, int, list[str]]:
    """How many functions were taken over, how many were lowered anew, and the edits whose trees differ."""
    history = [path.read_bytes().decode("utf-8", "replace")]
    memory = LoweredFunctions()
    config = Config((path,), GpuChoice("v100"))
    analyzer = IncrementalAnalyzer(config)
    taken = anew = 0
    found: list[str] = []
    for number in range(edits + 1):
        before = set(memory.functions)
        remembered = outcome(path, history[-1], memory)
        now = [key for key, entry in memory.functions.items() if entry.round == memory.round]
        taken += sum(key in before for key in now)
        anew += sum(key not in before for key in now)
        fresh = outcome(path, history[-1], None)
        if remembered != fresh:
            pairs = enumerate(zip(remembered, fresh, strict=False))
            place = next((i for i, (one, other) in pairs if one != other), 0)
            found.append(
                f"edit {number}: {remembered[place - 9 : place + 3]}, not {fresh[place : place + 3]}"
            )
        if watts and said(analyzer, path, history[-1]) != said(
            IncrementalAnalyzer(config), path, history[-1]
        ):
            found.append(f"edit {number}: another analysis")
        history.append(edited(history, random))
    return taken, anew, found


def said(analyzer: IncrementalAnalyzer, path: Path, text: str) -> str:
    """The whole analysis in words; repr tells 1 from 1.0."""
    try:
        return repr(analyzer.analyze(path, text))
    except WattsliceError as error:
        return str(error)


def files_of(places: Sequence[Path]) -> list[Path]:
    """The .cu files of folders, and files as they are."""
    seen: set[str] = set()
    return [file for place in places for file in (cuda_files(place, seen) if place.is_dir() else [place])]


def main() -> int:
    """Edits, compares, tells."""
    parser = argparse.ArgumentParser(description="Compares remembered with fresh analyses of edited texts.")
    parser.add_argument("places", type=Path, nargs="+", metavar="FILE_OR_CHECKOUT")
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--watts", action="store_true")
    options = parser.parse_args()
    files = files_of(options.places)
    Random(options.seed).shuffle(files)
    total_taken = total_anew = failures = 0
    for path in islice(files, options.files):
        random = Random(f"{options.seed} {path.name}")
        taken, anew, found = differences(path, options.edits, random, options.watts)
        total_taken, total_anew, failures = total_taken + taken, total_anew + anew, failures + len(found)
        for line in found:
            print(f"{path}: {line}", flush=True)
    print(f"{total_taken} functions taken over, {total_anew} lowered anew, {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

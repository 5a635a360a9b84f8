"""What the rules that advise say about public code, and which of it to read.

    python -m wattslice_tools.wild.advice_findings run OUT.jsonl CHECKOUT... [--gpu v100] [--part 0/2]
        [--seconds N]
    python -m wattslice_tools.wild.advice_findings count OUT.jsonl...
    python -m wattslice_tools.wild.advice_findings sample PW041 10 OUT.jsonl...

`run` analyses every .cu file below the checkouts in an order drawn with SEED, each for 60 s at most, and
writes a line per file. `count` prints the findings of each rule, `sample` draws some of one rule with SEED.
The copies of one finding in several launches, or in several files with the same content, count once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from wattslice.config.config import Options, make_config
from wattslice.errors import WattsliceError
from wattslice.findings.findings import findings_of
from wattslice.pipeline.files import analyze_files

SEED = 6
MOST_SECONDS = 60.0


class _Late(BaseException):
    """Not an Exception, so that no stage takes it for a defect of its own."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Late


def run(out: Path, checkouts: list[Path], gpu: str, part: str, seconds: float) -> None:
    """Analyse all files of `part` (`0/2`: the first of two) for so long; one JSON line each."""
    files = sorted(path for root in checkouts for path in root.rglob("*.cu") if path.is_file())
    random.Random(SEED).shuffle(files)
    number, of = map(int, part.split("/"))
    end = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, _stop)
    with out.open("w", encoding="utf-8") as sink:
        for path in files[number::of]:
            if time.monotonic() > end:
                return
            sink.write(json.dumps(_row(path, gpu)) + "\n")
            sink.flush()


def _row(path: Path, gpu: str) -> dict[str, object]:
    row: dict[str, object] = {"file": str(path), "hash": hashlib.sha256(path.read_bytes()).hexdigest()}
    try:
        signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
        analysis = analyze_files(make_config(Options(paths=(path,), gpu=gpu)))
    except _Late:
        return row | {"ended": "late"}
    except WattsliceError as error:
        return row | {"ended": error.message}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    found = [
        (one.rule, one.severity.value, one.file, one.line, one.kernel, one.message, one.energy_j)
        for one in findings_of(analysis)
        if "PW040" <= one.rule < "PW099"
    ]
    return row | {"launches": len(analysis.kernels), "found": found}


def _findings(paths: list[Path]) -> dict[str, list[str]]:
    """By rule, each once: `file:line kernel: message`."""
    seen: set[tuple[str, str, int]] = set()
    hashes: set[str] = set()
    told: dict[str, list[str]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["hash"] in hashes:
                continue
            hashes.add(row["hash"])
            for rule, severity, file, number, kernel, message, _ in row.get("found", ()):
                if (rule, file, number) not in seen:
                    seen.add((rule, file, number))
                    told.setdefault(rule, []).append(f"{file}:{number} {kernel}: {severity}: {message}")
    return {rule: sorted(told[rule]) for rule in sorted(told)}


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("checkouts", type=Path, nargs="+")
    running.add_argument("--gpu", default="v100")
    running.add_argument("--part", default="0/1")
    running.add_argument("--seconds", type=float, default=1e9)
    counting = commands.add_parser("count")
    counting.add_argument("results", type=Path, nargs="+")
    drawing = commands.add_parser("sample")
    drawing.add_argument("rule")
    drawing.add_argument("number", type=int)
    drawing.add_argument("results", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(chosen.out, chosen.checkouts, chosen.gpu, chosen.part, chosen.seconds)
        return
    found = _findings(chosen.results)
    if chosen.command == "count":
        rows = [json.loads(line) for path in chosen.results for line in path.read_text("utf-8").splitlines()]
        print(f"{len(rows)} files, {sum(row.get('launches', 0) for row in rows)} launches")
        print(Counter(row["ended"] for row in rows if "ended" in row).most_common(5))
        for rule, told in found.items():
            print(rule, len(told))
        return
    told = found.get(chosen.rule, [])
    print("\n".join(random.Random(SEED).sample(told, min(chosen.number, len(told)))))


if __name__ == "__main__":
    sys.exit(main())

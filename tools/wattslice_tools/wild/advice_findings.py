"""What the rules that advise say about public code, and which of it to read.

    python -m wattslice_tools.wild.advice_findings run OUT.jsonl CHECKOUT... [--gpu v100] [--part 0/2]
        [--seconds N]
    python -m wattslice_tools.wild.advice_findings count OUT.jsonl...
    python -m wattslice_tools.wild.advice_findings sample PW041 10 OUT.jsonl...
    python -m wattslice_tools.wild.advice_findings noise OUT.jsonl... > tools/wattslice_tools/rules_noise.csv

`run` analyses every .cu file below the checkouts in an order drawn with SEED, each for 60 s at most, and
writes a line per file. `count` prints the findings of each advising rule, `sample` draws some of one rule
with SEED, `noise` says how often every rule fires and what share of a launch's joules is at stake.
The copies of one finding in several launches, or in several files with the same content, count once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
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
    joules = {kernel.name: kernel.energy_j for kernel in analysis.kernels}
    found = [
        (
            *(one.rule, one.severity.value, one.file, one.line, one.kernel, one.message, one.energy_j),
            joules.get(one.kernel),
        )
        for one in findings_of(analysis)
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
            for rule, severity, file, number, kernel, message, *_ in row.get("found", ()):
                if "PW040" <= rule < "PW099" and (rule, file, number) not in seen:
                    seen.add((rule, file, number))
                    told.setdefault(rule, []).append(f"{file}:{number} {kernel}: {severity}: {message}")
    return {rule: sorted(told[rule]) for rule in sorted(told)}


WORTH = 0.05
"""Share of a launch's joules from which on a finding is worth reading."""


def _noise(paths: list[Path]) -> Iterator[str]:
    """The lines of rules_noise.csv: findings as a user sees them, those of files of one content once."""
    rows = {
        row["hash"]: row for path in paths for row in map(json.loads, path.read_text("utf-8").splitlines())
    }
    launches = sum(row.get("launches", 0) for row in rows.values())
    fired: Counter[str] = Counter()
    warned: Counter[str] = Counter()
    shares: dict[str, list[float]] = {}
    for row in rows.values():
        for rule, severity, *_, energy_j, whole_j in row.get("found", ()):
            fired[rule] += 1
            warned[rule] += severity != "note"
            if energy_j is not None and whole_j:
                shares.setdefault(rule, []).append(energy_j / whole_j)
    yield "rule,launches,per_1000,warnings_per_1000,at_stake,median_percent"
    for rule in sorted(fired):
        known = shares.get(rule, [])
        worth = f"{sum(share >= WORTH for share in known) / len(known):.2f}" if known else ""
        middle = f"{100 * statistics.median(known):.0f}" if known else ""
        told = (1000.0 * number / launches for number in (fired[rule], warned[rule]))
        yield ",".join((rule, str(launches), *(f"{each:.0f}" for each in told), worth, middle))


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
    noising = commands.add_parser("noise")
    noising.add_argument("results", type=Path, nargs="+")
    drawing = commands.add_parser("sample")
    drawing.add_argument("rule")
    drawing.add_argument("number", type=int)
    drawing.add_argument("results", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(chosen.out, chosen.checkouts, chosen.gpu, chosen.part, chosen.seconds)
        return
    if chosen.command == "noise":
        print("\n".join(_noise(chosen.results)))
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

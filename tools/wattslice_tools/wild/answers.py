"""The JSON answers about whole checkouts, their hashes, and what differs from the answers of another version.

    python -m wattslice_tools.wild.answers CHECKOUT... -o answers/now [--against answers/before] [--gpu v100]

For each checkout, one `wattslice analyze --format json` of all its `.cu` files, in its folder: NAME.json
below `-o`, and its SHA-256 on stdout. With `--against`, every kernel and diagnostic that differs is
counted, three of each are printed, and the exit status is 1. To compare versions, run each from its own
environment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

_SHOWN, _SHOWN_CHARACTERS = 3, 600
_PARTS = ("kernels", "diagnostics")


class Answers(Struct, frozen=True):
    """What was said of one checkout."""

    name: str
    files: int
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def entries(self, part: str) -> tuple[str, ...]:
        """The kernels or diagnostics, each as a line of JSON."""
        return tuple(json.dumps(entry, sort_keys=True) for entry in json.loads(self.data)[part])

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.entries(part))} {part}" for part in _PARTS)
        return f"{self.name}: {self.files} files, {counts}, sha256 {self.sha256}"


def answers_of(checkout: Path, folder: Path, gpu: str, jobs: int) -> Answers:
    """Analyse all `.cu` files of a checkout; the answers stay in `folder`. SystemExit without an answer."""
    files = sorted(str(file.relative_to(checkout)) for file in checkout.rglob("*.cu"))
    target = folder / f"{checkout.name}.json"
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "wattslice", "analyze", "--no-cache", "--jobs", str(jobs), "--gpu", gpu]
    told = subprocess.run(
        [*command, "--format", "json", "-o", str(target), *files],
        cwd=checkout,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not target.is_file():
        raise SystemExit(f"{checkout}: no answer: {told.stderr.strip()}")
    return Answers(checkout.name, len(files), target.read_bytes())


def differences(before: Answers, now: Answers) -> list[str]:
    """What only one of two answers says: counted, with a few examples."""
    if before.data == now.data:
        return []
    lines = [f"{now.name} differs from before: {before.sha256}"]
    for part in _PARTS:
        old, new = set(before.entries(part)), set(now.entries(part))
        lines.append(f"  {part}: {len(old - new)} gone, {len(new - old)} new")
        lines += [
            f"  {sign} {text[:_SHOWN_CHARACTERS]}"
            for sign, texts in (("-", old - new), ("+", new - old))
            for text in sorted(texts)[:_SHOWN]
        ]
    return lines


def main() -> int:
    """Print the hashes and the differences; 1 when there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the answers")
    parser.add_argument("--against", type=Path, help="folder of earlier answers")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folder: Path = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found: list[str] = []
    for checkout in arguments.checkouts:
        now = answers_of(checkout.resolve(), folder, arguments.gpu, arguments.jobs)
        print(now, flush=True)
        if arguments.against is not None:
            before = Answers(now.name, now.files, (arguments.against / f"{now.name}.json").read_bytes())
            found += differences(before, now)
    print("\n".join(found or (["equal to the letter"] if arguments.against is not None else [])))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

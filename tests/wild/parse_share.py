"""Share of kernels that the CUDA frontend reads cleanly, per suite, and how long a parse takes.

Usage: python tests/wild/parse_share.py CHECKOUT... [--why] [--slow N]

A kernel counts once per definition in the text of a .cu file (comments and strings removed; templates once,
through an instance if there is one). It is clean when the tree has no hole: no error line inside it, no
missing condition, nothing untyped. Kernels that the preprocessor switches off are not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import statistics
import time
from collections import Counter
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.clang import ParseOptions, parse_cuda
from wattslice.frontend.clang.facts import holes, kernels, launches, mentions_made_up


def files_of(checkout: Path, seen: set[str]) -> list[Path]:
    """The .cu files of a checkout, each content once over all checkouts."""
    found: list[Path] = []
    for folder, _, names in os.walk(checkout, followlinks=True):
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix != ".cu" or not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest not in seen:
                seen.add(digest)
                found.append(path)
    return found


_NOISE = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:\\\\.|[^\"\\\\\n])*\"", re.DOTALL)
_GLOBAL = re.compile(rb"__global__\s[^;{}]*?(\w+)\s*\([^;{}]*\)\s*\{", re.DOTALL)


def kernels_in_text(source: bytes) -> Counter[str]:
    """Kernel definitions as plain text shows them: what the tree must account for."""
    return Counter(
        m[1].decode() for m in _GLOBAL.finditer(_NOISE.sub(b" ", source)) if m[1] != b"__launch_bounds__"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument(
        "--why", action="store_true", help="list what is wrong with each kernel that is not clean"
    )
    parser.add_argument("--no-pch", action="store_true")
    arguments = parser.parse_args()
    seen: set[str] = set()
    guessed_total = total = clean_total = launch_total = resolved_total = 0
    times: list[float] = []
    reasons: Counter[str] = Counter()
    for checkout in arguments.checkouts:
        guessed = count = clean_count = launch_count = resolved = unseen = 0
        files = files_of(checkout, seen)
        for path in files:
            start = time.perf_counter()
            try:
                unit = parse_cuda(path, ParseOptions(search_root=checkout, use_pch=not arguments.no_pch))
            except FrontendError as error:
                print(f"  {error}")
                continue
            times.append(time.perf_counter() - start)
            guessed_in: set[int] = set()
            best: dict[tuple[int, str], tuple[bool, str]] = {}
            for kernel in kernels(unit):
                problems = holes(kernel, unit)
                if not problems and mentions_made_up(kernel, unit):
                    guessed_in.add(kernel.start.offset)
                key = (kernel.start.offset, kernel.spelling)
                good = not problems
                if key not in best or (good and not best[key][0]):
                    best[key] = (good, "; ".join(f"{h.line}: {h.what}" for h in problems[:3]))
                    if problems and arguments.why:
                        reasons.update(h.what for h in problems[:1])
            for (_, name), (good, why) in best.items():
                count += 1
                clean_count += good
                if not good and arguments.why:
                    print(f"  {path}: {name}: {why}")
            guessed += len(guessed_in)
            lost = kernels_in_text(unit.source) - Counter(name for _, name in best)
            unseen += lost.total()
            if lost and arguments.why:
                first = next((d for d in unit.diagnostics if d.is_error), None)
                print(f"  {path}: unseen {sorted(lost)}: {first}")
            for site in launches(unit):
                launch_count += 1
                resolved += site.kernel is not None
        print(
            f"{checkout.name:20} files {len(files):4}  kernels {count:4}  clean {clean_count:4} "
            f"({100 * clean_count / max(count, 1):5.1f} %)  unseen {unseen:3}  "
            f"on made-up names {guessed:3}  "
            f"launches {launch_count:4} resolved {resolved:4}"
        )
        total += count
        guessed_total += guessed
        clean_total += clean_count
        launch_total += launch_count
        resolved_total += resolved
    print(f"{'all':20} kernels {total}, clean {clean_total} ({100 * clean_total / max(total, 1):.1f} %), "
          f"of them resting on made-up names {guessed_total}, "
          f"launches {launch_total}, resolved {resolved_total}")  # fmt: skip
    print(f"parse: median {1e3 * statistics.median(times):.1f} ms, slowest {1e3 * max(times):.0f} ms")
    for reason, number in reasons.most_common(40):
        print(f"{number:5} {reason}")


if __name__ == "__main__":
    main()

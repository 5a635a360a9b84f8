"""How much of real CUDA the frontend lowers: `python tests/wild/lowering_share.py DIR...`, a row per folder.

Prints kernels found, kernels whose body is complete, incomplete with a diagnostic, failed (internal error),
files that gave no program at all, and the median time per file. `-v` lists the incomplete kernels' reasons,
`-n COUNT` takes only every so many files.
"""

from __future__ import annotations

import argparse
import collections
import statistics
import time
import traceback
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.frontend.cuda import read_cuda


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-n", "--every", type=int, default=1)
    options = parser.parse_args()
    print(f"{'suite':24} {'files':>6} {'kernels':>8} {'complete':>9} {'holes':>6} {'failed':>7} "
          f"{'no file':>8} {'crash':>6} {'median ms':>10} {'worst ms':>9}")  # fmt: skip
    reasons: collections.Counter[str] = collections.Counter()
    total = [0] * 6
    for folder in options.folders:
        files = sorted(folder.rglob("*.cu"))[:: options.every]
        kernels = complete = failed = refused = crashed = 0
        times: list[float] = []
        for path in files:
            start = time.perf_counter()
            try:
                program = read_cuda(path)
            except WattsliceError as error:
                refused += 1
                if options.verbose:
                    print(f"  refused {path}: {error}")
                continue
            except Exception:
                crashed += 1
                print(f"  crash {path}\n{traceback.format_exc()}")
                continue
            times.append(time.perf_counter() - start)
            kernels += len(program.kernels)
            complete += sum(kernel.body_is_complete for kernel in program.kernels)
            inner = [d for d in program.diagnostics if d.rule == "PW099"]
            failed += len(inner)
            if options.verbose:
                for kernel in program.kernels:
                    if not kernel.body_is_complete:
                        why = [
                            d for d in program.diagnostics if d.rule in ("PW001", "PW005", "PW006", "PW099")
                        ]
                        print(f"  {path}:{kernel.span.line} {kernel.qualified_name}")
                        for d in why[:6]:
                            print(f"      {d.rule} {Path(d.file).name}:{d.line} {d.message}")
                            reasons[f"{d.rule} {d.message}"] += 1
        row = [len(files), kernels, complete, failed, refused, crashed]
        total = [a + b for a, b in zip(total, row, strict=True)]
        _print(folder.name, row, times)
    if len(options.folders) > 1:
        _print("all", total, [])
    for reason, number in reasons.most_common(60):
        print(f"{number:5} {reason[:150]}")


def _print(name: str, row: list[int], times: list[float]) -> None:
    files, kernels, complete, failed, refused, crashed = row
    share = f"{complete} {100 * complete / max(1, kernels):3.0f}%"
    median = f"{1e3 * statistics.median(times):10.1f} {1e3 * max(times):9.1f}" if times else ""
    holes = kernels - complete
    print(
        f"{name:24} {files:6} {kernels:8} {share:>9} {holes:6} {failed:7} {refused:8} {crashed:6} {median}",
        flush=True,
    )


if __name__ == "__main__":
    main()

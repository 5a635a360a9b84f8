"""Estimated registers per thread against what ptxas reports, on public kernels. Needs nvcc.

Usage: python -m wattslice_tools.wild.registers_check CHECKOUT... [--arch sm_80] [--most 100] [-D NAME=VALUE]
           [--fit] [--list] [-o docs/appendix/instructions.md]

Files are taken evenly from all checkouts, as far as nvcc compiles them. Reported: the median and mean
absolute error in registers, the shares within 2 and 8, and how often the estimate gives the same occupancy
(blocks of 256 threads). With -o the table replaces the section `registers_check` of the document.
`--fit` prints weights for `wattslice.workload.registers` of the least absolute error, and their error when
cross-validated over files and over checkouts. Kernels that take nearly all registers of a thread take no
part: what they need is not reported.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from wattslice import ir
from wattslice.errors import FrontendError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.workload.occupancy import occupancy
from wattslice.workload.registers import estimate_registers, features, register_pressure
from wattslice_models.gpu import load_gpu
from wattslice_tools.wild.document import publish

NEARLY_ALL = 200
"""Registers from which on ptxas may have spilled."""
_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.S)


def reported(path: Path, checkout: Path, arch: str, defines: tuple[str, ...]) -> dict[str, int]:
    """Registers by mangled name; empty when nvcc does not compile the file."""
    folders = {path.parent, path.parent.parent}
    for name in ("Common", "common", "utilities", "inc", "include"):
        folders.update(
            folder for folder in (*checkout.glob(name), *checkout.glob(f"*/{name}")) if folder.is_dir()
        )
    with tempfile.TemporaryDirectory() as work:
        command = [
            "nvcc",
            "-cubin",
            f"-arch={arch}",
            "--resource-usage",
            "-w",
            "-o",
            f"{work}/a.cubin",
            str(path),
        ]
        command += [f"-I{folder}" for folder in sorted(folders)]
        command += [f"-D{define}" for define in defines]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        except subprocess.TimeoutExpired:
            return {}
    return {name: int(number) for name, number in _ENTRY.findall(done.stderr)}


def spread(paths: list[Path], most: int) -> list[Path]:
    """Up to `most` of them, evenly."""
    step = max(1, len(paths) // most)
    return paths[::step][:most]


def fit(rows: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Weights of the least absolute error, squared below 4 (iteratively reweighted least squares)."""
    importance = np.ones(len(truth))
    weights = np.zeros(rows.shape[1])
    for _ in range(80):
        weights = np.linalg.lstsq(rows * importance[:, None], truth * importance, rcond=None)[0]
        importance = 1.0 / np.sqrt(np.maximum(np.abs(rows @ weights - truth), 4.0))
    return weights


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--most", type=int, default=100, help="files to compile")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    defines = tuple(options.defines)
    files: list[tuple[Path, Path]] = []
    for checkout in options.checkouts:
        found = sorted(path for path in checkout.rglob("*.cu") if path.is_file())
        files += [(path, checkout) for path in spread(found, options.most // len(options.checkouts))]

    def compile_one(item: tuple[Path, Path]) -> dict[str, int]:
        return reported(*item, options.arch, defines)

    with ThreadPoolExecutor(2) as pool:
        truths = list(pool.map(compile_one, files))
    pairs: list[tuple[int, ir.Kernel, int]] = []
    for number, ((path, _), truth) in enumerate(zip(files, truths, strict=True)):
        if not truth:
            continue
        try:
            program = read_cuda(path, ParseOptions(defines=defines))
        except FrontendError:
            continue
        lines: set[int] = set()
        for kernel in program.kernels:
            if kernel.mangled_name in truth and kernel.body_is_complete and kernel.span.line not in lines:
                lines.add(kernel.span.line)  # one instance per template
                pairs.append((number, kernel, truth[kernel.mangled_name]))
    if not pairs:
        print("nothing compiled")
        return
    gpu = load_gpu("a100")
    truth = np.array([registers for _, _, registers in pairs], float)
    estimate = np.array([estimate_registers(kernel, gpu) for _, kernel, _ in pairs], float)
    error = np.abs(estimate - truth)
    same = [
        occupancy(gpu, (256, 1, 1), int(e), 0).blocks_per_sm
        == occupancy(gpu, (256, 1, 1), int(t), 0).blocks_per_sm
        for e, t in zip(estimate, truth, strict=True)
    ]
    ratio = [
        occupancy(gpu, (256, 1, 1), int(e), 0).occupancy / occupancy(gpu, (256, 1, 1), int(t), 0).occupancy
        for e, t in zip(estimate, truth, strict=True)
    ]
    constant = np.abs(np.median(truth) - truth)
    within = statistics.mean(abs(r - 1) <= 0.25 for r in ratio)
    shares = f"{np.mean(error <= 2):.0%} | {np.mean(error <= 8):.0%}"
    guessed = f"{np.mean(constant <= 2):.0%} | {np.mean(constant <= 8):.0%}"
    table = [
        "| Kernels | Files | Median error | Mean error | Within 2 | Within 8 | Same occupancy, 256 threads |",
        "|---|---|---|---|---|---|---|",
        f"| {len(pairs)} | {sum(bool(t) for t in truths)} | {np.median(error):.1f} | {error.mean():.1f} "
        f"| {shares} | {statistics.mean(same):.0%}, {within:.0%} within a quarter |",
        f"| always {np.median(truth):.0f} | | {np.median(constant):.1f} | {constant.mean():.1f} "
        f"| {guessed} | |",
    ]
    publish(options.output, "registers_check", table)
    if options.list:
        for (_, kernel, registers), guess in zip(pairs, estimate, strict=True):
            print(f"  {registers:4d} {guess:4.0f} {kernel.name[:40]:40} {register_pressure(kernel)}")
    if options.fit:
        plain = [
            pair for pair in pairs if pair[2] < NEARLY_ALL and not register_pressure(pair[1]).makes_calls
        ]
        rows = np.array([features(register_pressure(kernel)) for _, kernel, _ in plain])
        wanted = np.array([registers for *_, registers in plain], float)
        print(f"{len(plain)} kernels without calls")
        for what, fold in (
            ("files", np.array([number % 5 for number, *_ in plain])),
            ("checkouts", np.array([options.checkouts.index(files[number][1]) for number, *_ in plain])),
        ):
            held_out = np.concatenate(
                [
                    np.abs(rows[fold == k] @ fit(rows[fold != k], wanted[fold != k]) - wanted[fold == k])
                    for k in np.unique(fold)
                ]
            )
            print(
                f"cross-validated over {what}: median error {np.median(held_out):.1f}, "
                f"mean {held_out.mean():.1f}, within 2 {np.mean(held_out <= 2.5):.0%}, "
                f"within 8 {np.mean(held_out <= 8.5):.0%}"
            )
        print("weights from all:", np.round(fit(rows, wanted), 2))


if __name__ == "__main__":
    main()

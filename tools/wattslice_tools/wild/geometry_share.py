"""Share of kernels launched in their own file whose geometry was read from host code, per suite.

Usage: python -m wattslice_tools.wild.geometry_share CHECKOUT... [--why] [--causes] [--arguments] [--alone]

Three classes: read (and of these how many have a value for every integer parameter, too); computed from host
variables whose value is assumed (`--set` settles all of it); assumed.
A kernel counts when its file holds a launch of it: once per definition in the source, whatever the number of
its template instances or of the files that include it, and as read when any of its launches is.
`--why` lists those whose geometry had to be assumed, with the reason; `--causes` groups what is not known of
geometry and arguments by its first cause, with the kernels; `--arguments` adds the
share of integer parameters with a value. Each file content counts once.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import statistics
import time
from collections import Counter
from functools import partial
from pathlib import Path

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.errors import FrontendError
from wattslice.frontend.cuda.read import read_callers, read_cuda, read_definitions, read_launcher
from wattslice.frontend.project.runs import find_arguments
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import ALONE, Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu


def launched_names(program: ir.Program) -> set[str]:
    """Mangled and plain names of the kernels that some host function launches."""
    names: set[str] = set()
    for function in program.functions:
        for expr in ir.expressions_below(function.body):
            if isinstance(expr, ir.LaunchCall):
                names.add(expr.kernel or expr.kernel_name)
    return names


def definitions(program: ir.Program) -> list[list[ir.Kernel]]:
    """The kernels of a program, the instances of one template together."""
    found: dict[tuple[str, int], list[ir.Kernel]] = {}
    for kernel in program.kernels:
        found.setdefault((kernel.span.file, kernel.span.line), []).append(kernel)
    return list(found.values())


def has_all_arguments(launch: KernelLaunch) -> bool:
    """Whether every integer parameter has a value."""
    return not missing_arguments(launch)


def missing_arguments(launch: KernelLaunch) -> list[str]:
    """The integer parameters without a value. A texture object is a handle, and no number."""
    pairs = zip(launch.kernel.parameters, launch.arguments, strict=True)
    return [
        parameter.name
        for parameter, value in pairs
        if value is None and parameter.type.is_integral and parameter.space is not ir.MemorySpace.TEXTURE
    ]


_NAMED = re.compile(r"'[^']*'|\b[\w:.~<>]+\(\)|\b\d+\b")


def first_cause(launches: list[KernelLaunch]) -> str:
    """Why geometry or integer arguments of a kernel are not known, of the launch that lacks least."""

    def lacks(launch: KernelLaunch) -> tuple[bool, int]:
        return launch.source is LaunchSource.ASSUMED, len(missing_arguments(launch))

    launch = min(launches, key=lacks)
    if launch.source is LaunchSource.ASSUMED:
        message = next((a.message for a in launch.assumptions if a.rule == "PW011"), "?")
        return message.split(";")[0]
    return f"argument: {dict(launch.unknown_arguments).get(missing_arguments(launch)[0], '?')}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--arguments", action="store_true")
    parser.add_argument("--alone", action="store_true", help="do not look at other files, nor for arguments")
    parser.add_argument("--gpu", default="v100")
    options = parser.parse_args()
    gpu = load_gpu(options.gpu)
    seen: set[str] = set()
    milliseconds: list[float] = []
    total = total_read = total_known = total_computed = 0
    places: set[tuple[str, int, int | None]] = set()
    for checkout in options.checkouts:
        count = read = known = computed = integers = valued = unreadable = unlaunched = 0
        causes: Counter[str] = Counter()
        missing: dict[str, list[str]] = {}
        lines: list[str] = []
        for path in sorted(checkout.rglob("*.cu")):
            if not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            try:
                program = read_cuda(path)
            except FrontendError:
                unreadable += 1
                continue
            start = time.perf_counter()
            others = Neighbours(
                partial(read_callers, path),
                partial(read_launcher, path),
                find_arguments,
                partial(read_definitions, path),
            )
            launches = resolve_launches(program, NO_OVERRIDES, gpu, ALONE if options.alone else others)
            milliseconds.append(1e3 * (time.perf_counter() - start))
            names = launched_names(program)
            for kernels in definitions(program):
                own = [launch for launch in launches if launch.kernel in kernels]
                is_named = any(kernel.mangled_name in names or kernel.name in names for kernel in kernels)
                if not is_named and all(
                    launch.line is None for launch in own
                ):  # not through a pointer either
                    unlaunched += 1
                    continue
                place = (kernels[0].span.file, kernels[0].span.line, own[0].line)
                if place in places:
                    continue
                places.add(place)
                count += 1
                good = [launch for launch in own if launch.source is not LaunchSource.ASSUMED]
                is_known = any(has_all_arguments(launch) for launch in good)
                known += is_known
                if not is_known:
                    cause = first_cause(own)
                    where = f"{path.relative_to(checkout)}:{own[0].line} {kernels[0].name}: {cause}"
                    missing.setdefault(_NAMED.sub("_", cause), []).append(where)
                for launch in good[:1]:
                    for parameter, argument in zip(launch.kernel.parameters, launch.arguments, strict=True):
                        if parameter.type.is_integral and parameter.space is not ir.MemorySpace.TEXTURE:
                            integers += 1
                            valued += argument is not None
                if good:
                    read += 1
                    continue
                reason = next((a.message for a in own[0].assumptions if a.rule == "PW011"), "?")
                causes[reason.split(";")[0].split(": ", 1)[-1]] += 1
                if any(
                    launch.assumptions and all(a.fix.startswith("--set") for a in launch.assumptions)
                    for launch in own
                ):
                    computed += 1
                lines.append(f"  {path.relative_to(checkout)}:{own[0].line} {kernels[0].name}: {reason}")
        total, total_read, total_computed = total + count, total_read + read, total_computed + computed
        total_known += known
        share = f"{read / count:6.1%}" if count else "     -"
        print(f"{checkout.name:20} launched kernels {count:4}, read {read:4} ({share})", end="")
        print(f", arguments too {known:4}" + (f" ({known / count:6.1%})" if count else ""), end="")
        print(f", computed from an assumed variable {computed}, assumed {count - read - computed}", end="")
        print(f"  not launched in their file {unlaunched}, files not readable {unreadable}")
        if options.arguments and integers:
            print(f"  integer arguments with a value: {valued} of {integers} ({valued / integers:.1%})")
        if options.causes:
            for cause, kernels_of in sorted(missing.items(), key=lambda entry: -len(entry[1])):
                print(f"  {len(kernels_of):4} {cause}")
                print("".join(f"         {where}\n" for where in kernels_of), end="")
        if options.why:
            print("\n".join(lines))
            for cause, number in causes.most_common(12):
                print(f"  {number:4} {cause}")
    if total:
        print(f"all {total}: read {total_read} ({total_read / total:.1%})", end="")
        print(f", arguments too {total_known} ({total_known / total:.1%})", end="")
        print(f", computed from an assumed variable {total_computed} ({total_computed / total:.1%})", end="")
        print(f", assumed {total - total_read - total_computed}")
    if len(milliseconds) > 1:
        worst = max(milliseconds)
        print(
            f"reading launches: median {statistics.median(milliseconds):.1f} ms, most {worst:.0f} ms a file"
        )


if __name__ == "__main__":
    main()

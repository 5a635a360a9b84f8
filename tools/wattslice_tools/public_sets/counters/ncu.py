"""From what Nsight Compute writes to the project's own table of counters."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import convert

from wattslice.errors import WattsliceError
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_corpora.ncu_counters import COUNTERS, NcuRow
from wattslice_tools.campaign.counters import METRICS, counter_value

_LAUNCH = {
    "registers_per_thread": "launch__registers_per_thread",
    "static_shared_bytes": "launch__shared_mem_per_block_static",
    "dynamic_shared_bytes": "launch__shared_mem_per_block_dynamic",
}
_NAMED = dict(zip(METRICS, COUNTERS, strict=True))
_ELSEWHERE = {
    ("cs-histogram", "histogram64Kernel"): "Samples/2_Concepts_and_Techniques/histogram/histogram64.cu",
    ("cs-histogram", "mergeHistogram64Kernel"): "Samples/2_Concepts_and_Techniques/histogram/histogram64.cu",
    ("rodinia-b+tree", "findRangeK"): "cuda/b+tree/kernel/kernel_gpu_cuda_wrapper_2.cu",
}
"""Kernels that another file of their program launches than the one it was profiled under."""
_RELATIVE = re.compile(r"\S*/wild/[^/]+/")


def read_profiles(folder: Path) -> Iterator[NcuRow]:
    """Of public programs: a folder each, with `a.csv` (its launches), `b.csv` (counters of the first ones of
    every kernel) and `meta.json` (what was run). Raises `WattsliceError` for what is none.
    """
    for place in sorted(folder.glob("*/meta.json")):
        try:
            yield from _program(place)
        except (OSError, KeyError, ValueError) as error:
            raise WattsliceError(f"{place}: not a profiled program ({error!r})") from None


def commits(folder: Path) -> tuple[str, ...]:
    """Where the profiled programs come from, a line for each repository."""
    runs = [json.loads(place.read_text(encoding="utf-8")) for place in sorted(folder.glob("*/meta.json"))]
    return tuple(dict.fromkeys(f"{run['clone']}: commit {run['commit']}" for run in runs))


def _program(place: Path) -> Iterator[NcuRow]:
    run = json.loads(place.read_text(encoding="utf-8"))
    made = Counter(bare_name(entry["Kernel Name"]) for entry, _ in _page(place.with_name("a.csv")))
    is_whole = run["a_rc"] == 0 and not run["a_capped"]
    seen: set[str] = set()
    for entry, units in _page(place.with_name("b.csv")):
        kernel = bare_name(entry["Kernel Name"])
        if kernel in seen or not all(_extent(entry["Grid Size"])):  # the profiler failed: zeros
            continue
        seen.add(kernel)
        told: dict[str, Any] = {
            name: round(counter_value(entry[metric], units[metric])) for name, metric in _LAUNCH.items()
        }
        counted = {name: counter_value(entry[metric], units[metric]) for metric, name in _NAMED.items()}
        yield convert(
            told
            | counted
            | {
                "program": run["name"],
                "repository": run["clone"],
                "file": _ELSEWHERE.get((run["name"], kernel), run["source"]),
                "options": " ".join(_options(run["nvcc_flags"])),
                "arguments": " ".join(run["argv"][1:]),
                "kernel": kernel,
                "launches": made[kernel] if is_whole else None,
                "grid": _extent(entry["Grid Size"]),
                "block": _extent(entry["Block Size"]),
            },
            NcuRow,
            strict=False,
        )


def read_campaign(path: Path) -> Iterator[NcuRow]:
    """Of the corpus' kernels: the lines that campaigns write, at the programs' medium size."""
    programs = {program.name: program for program in load_manifest()}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        _, program, kernel, size = entry["name"].split("-")
        yield convert(
            {name: entry["counters"][metric] for metric, name in _NAMED.items()}
            | dict.fromkeys(("launches", "grid", "block", *_LAUNCH))
            | dict.fromkeys(("repository", "options"), "")
            | {
                "program": program,
                "file": programs[program].file.name,
                "arguments": _arguments(programs[program], size),
                "kernel": kernel,
            },
            NcuRow,
        )


def _arguments(program: CorpusKernel, size: str) -> str:
    return next(" ".join(map(str, run.arguments)) for run in program.runs if run.size.value == size)


def _page(path: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Of the raw page: a line of names, a line of units, a line for each launch."""
    if not path.exists():
        return
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith('"')]
    reader = csv.reader(lines)
    none: list[str] = []
    names, units = next(reader, none), next(reader, none)
    for cells in reader:
        yield dict(zip(names, cells, strict=True)), dict(zip(names, units, strict=True))


def bare_name(text: str) -> str:
    """The kernel's name without result, template arguments and parameters."""
    return re.split(r"[<(]", text)[0].split()[-1].rpartition("::")[2]


def _extent(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _options(flags: str) -> Iterator[str]:
    """What changes the meaning of the source: macros, folders of the checkout, fast mathematics."""
    for word in flags.split():
        if word.startswith("-D") or word == "--use_fast_math" or word == "-use_fast_math":
            yield word
        elif word.startswith("-I") and (found := _RELATIVE.match(word)):
            yield f"-I{word[found.end() :]}"

"""How long the profiles of the corpus take, and which branches their data leave out, as Markdown.

    python -m wattslice_tools.wild.corpus_profiles [PROGRAM...] [-o docs/appendix/speed.md]

Of every program with a data spec: all kernels on all data sets, as `wattslice profile` runs them. Times are
those of one run in this process, reading the source included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from wattslice.branch_profile.making import make_profile
from wattslice.branch_profile.profile import RIGHT, ArmProbability, BranchProfile, Making
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.profiling.data_sets.spec import read_spec
from wattslice.profiling.interpreted import counted_by, run_data_sets
from wattslice.profiling.interpreter.errors import MAX_STEPS
from wattslice.profiling.interpreter.launch import Allowance
from wattslice.units import line_ranges
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_tools.wild.document import write_section

ALLOWANCE = Allowance(MAX_STEPS, 1024 << 20)


def row(program: CorpusKernel, data: Path) -> str:
    begin = time.perf_counter()
    config = Config((program.file,), GpuChoice("v100"))
    runs = tuple(run_data_sets(program.file, config, read_spec(data), None, ALLOWANCE))
    profile = make_profile(counted_by(runs), Making.INTERPRETER, "")
    total_s = time.perf_counter() - begin
    work = sum(run.execution.thread_instructions for run in runs) / 1e6
    cells = (
        program.name,
        f"{len({run.kernel for run in runs})}",
        f"{len(runs)}",
        f"{work:.2f}",
        f"{sum(run.time_s for run in runs):.2f}",
        f"{total_s:.2f}",
        f"{len({(arm.kernel, arm.file, arm.line, arm.column) for arm in profile.arms})}",
        _lines(arm for arm in profile.arms if arm.probability is None),
        _lines(_one_way(profile)),
    )
    return f"| {' | '.join(cells)} |"


def _one_way(profile: BranchProfile) -> Iterator[ArmProbability]:
    """Arms that every visit took, or none; loops always end, and `&&` is no branch of its own."""
    for arm in profile.arms:
        if (
            arm.probability in (0.0, 1.0)
            and arm.arm != RIGHT
            and not (arm.entries and arm.probability == 1.0)
        ):
            yield arm


def _lines(arms: Iterator[ArmProbability]) -> str:
    return line_ranges(tuple({arm.line for arm in arms})) or "–"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help="names of programs; all with a data spec without any")
    parser.add_argument("-o", "--output", type=Path, help="replace the section of this document")
    arguments = parser.parse_args()
    lines = [
        "| program | kernels | data sets | million thread instructions | interpreted, s | in all, s "
        "| branches | lines never met | lines that went one way only |",
        "|---|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for program in load_manifest():
        if program.data_spec is None or (arguments.programs and program.name not in arguments.programs):
            continue
        lines.append(row(program, program.data_spec))
        if arguments.output is None:
            print(lines[-1])
    if arguments.output is not None:
        write_section(arguments.output, "corpus_profiles", [*lines, ""])


if __name__ == "__main__":
    main()

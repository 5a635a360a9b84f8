"""Kernels counted by hand, one for each difficulty; the rules are in docs/counting.md.

Three things must agree: the closed form written in the case, the transcription run thread by thread
(`machine.py`), and the analyzer.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files
from wattslice.report.json import render_json

from .hand_counted.cases_branches import CASES as BRANCHES
from .hand_counted.cases_cooperation import CASES as COOPERATION
from .hand_counted.cases_language import CASES as LANGUAGE
from .hand_counted.cases_loops import CASES as LOOPS
from .hand_counted.cases_memory import CASES as MEMORY
from .hand_counted.machine import Case

DIRECTORY = Path(__file__).parent / "hand_counted"
CASES = LOOPS + BRANCHES + MEMORY + COOPERATION + LANGUAGE
each_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{Path(c.file).stem}-{c.grid[0]}x{c.block[0]}"
)


@cache
def analyze_json(path: Path) -> dict[str, Any]:
    """The analyzer's JSON for one file."""
    return json.loads(render_json(analyze_files(make_config(Options(paths=(path,), gpu="v100")))))


@each_case
def test_the_closed_form_is_what_the_threads_execute(case: Case):
    assert case.executed() == case.counts


@each_case
def test_the_analyzer_counts_exactly_that(case: Case):
    report = analyze_json(DIRECTORY / case.file)
    predictions = [
        kernel
        for kernel in report["kernels"]
        if kernel["name"] == case.kernel
        and (kernel["grid"], kernel["block"]) == (list(case.grid), list(case.block))
    ]
    assert len(predictions) == 1, [(k["name"], k["grid"], k["block"]) for k in report["kernels"]]
    (prediction,) = predictions
    assert prediction["launch_source"] == "host code"
    # What a gather touches is assumed, how often it happens is not. Where a recursion is cut is told, and
    # where the program is taken to be run without words.
    told = {"factorials": {"PW029"}, "sumRows": {"PW011"}}.get(case.kernel, set())
    assert {entry["rule"] for entry in prediction["assumptions"]} <= {"PW016", *told}
    expected = {name: float(amount) for name, amount in case.counts.by_json_name().items()}
    assert prediction["counts_per_thread"] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_every_kernel_file_has_its_case():
    assert {case.file for case in CASES} == {path.name for path in DIRECTORY.glob("*.cu")}

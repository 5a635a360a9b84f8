"""docs/schema/wattslice-1.schema.json is what `--format json` writes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import wattslice_corpora
from wattslice.analysis import Advice, Analysis
from wattslice.config.config import Options, make_config
from wattslice.counting.profile import LoopTrips
from wattslice.pipeline.files import analyze_files
from wattslice.report.json import render_json

from .samples import ANALYSIS, EMPTY, MATMUL

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "schema" / "wattslice-1.schema.json").read_text(encoding="utf-8")
)
KERNELS = Path(next(iter(wattslice_corpora.__path__))) / "kernels"


def closed(node: Any) -> Any:
    """The schema without leave to add fields: what it does not describe is a mistake here."""
    if isinstance(node, list):
        return [closed(part) for part in node]
    if not isinstance(node, dict):
        return node
    copy = {name: closed(part) for name, part in node.items()}
    if "required" in node:
        copy.setdefault("additionalProperties", False)
    return copy


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))


def problems(analysis: Analysis) -> list[str]:
    document = json.loads(render_json(analysis))
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_samples_are_valid():
    advised = replace(MATMUL, advice=(Advice("PW021", 3, "m", "f", -2.0, None),))
    for analysis in (ANALYSIS, EMPTY, replace(EMPTY, kernels=(advised,))):
        assert problems(analysis) == []


@pytest.mark.parametrize("family", sorted(path.name for path in KERNELS.iterdir() if path.is_dir()))
def test_kernels_of_the_corpus_are_valid(family: str):
    files = tuple(sorted((KERNELS / family).rglob("*.cu"))[:3])
    assert problems(analyze_files(make_config(Options(paths=files, gpu="v100")))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        replace(MATMUL, sm_saturation=1.5),
        replace(MATMUL, power_w=-1.0),
        replace(MATMUL, method="guess"),
        replace(MATMUL, grid=(1, 1, 0)),
        replace(MATMUL, loops=(LoopTrips(-3, 1, 1.0, 1.0),)),
    ],
)
def test_mistakes_are_caught(wrong: Any):
    assert len(problems(replace(EMPTY, kernels=(wrong,)))) == 1


def test_fields_that_are_missing_or_unknown_are_caught():
    document = json.loads(render_json(ANALYSIS))
    del document["kernels"][0]["power_w"]
    document["kernels"][1]["watts"] = 3
    assert len(list(VALIDATOR.iter_errors(document))) == 2
    assert len(list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))) == 1

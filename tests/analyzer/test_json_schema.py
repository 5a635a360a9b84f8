"""docs/schema/wattslice-1.schema.json is what `--format json` writes."""

import json
import types
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
from msgspec.structs import replace

import wattslice_corpora
from wattslice.analysis import (
    Advice,
    Analysis,
    ArmAnalysis,
    Basis,
    KernelAnalysis,
    KernelSource,
    Launch,
    LineHeat,
    MethodWatts,
    Power,
    Resources,
    SliceAnalysis,
    Work,
)
from wattslice.config.config import Options, make_config
from wattslice.counting.profile import LoopTrips
from wattslice.ir import Diagnostic
from wattslice.ir.operation_counts import JSON_NAMES
from wattslice.launches.launch import Assumption
from wattslice.pipeline.files import analyze_files
from wattslice.report.json import render_json
from wattslice_models.program_power import SubSlice

from .samples import ANALYSIS, EMPTY, MATMUL, changed

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "schema" / "wattslice-1.schema.json").read_text(encoding="utf-8")
)
KERNELS = Path(next(iter(wattslice_corpora.__path__))) / "kernels"


TOLD_IN: dict[str, type[Any]] = {
    "diagnostic": Diagnostic,
    "kernel": KernelAnalysis,
    "slice": SliceAnalysis,
    "sub_slice": SubSlice,
    "hot_line": LineHeat,
    "loop": LoopTrips,
    "arm": ArmAnalysis,
    "assumption": Assumption,
    "advice": Advice,
}
"""The objects of the schema, and the record that each one tells."""
PARTS = (KernelSource, Launch, Resources, Work, Power, Basis)
"""Records whose fields an object tells among its own; null where there is no such record."""
OTHER_NAMES: dict[type[Any], dict[str, str]] = {
    Launch: {name: f"launch_{name}" for name in ("source", "line", "file", "times", "times_unknown")},
    Power: {
        "low_w": "power_low_w",
        "high_w": "power_high_w",
        "static_w": "static_power_w",
        "may_hit_limit": "may_hit_power_limit",
    },
    SubSlice: {"arithmetic_operations": "compute_ops", "normalised_accesses": "memory_ops_weighted"},
}
NOT_TOLD: dict[type[Any], set[str]] = {
    # Of reports for people, of `wattslice roofline`, what `limit_exceedance` and a sweep go by.
    KernelAnalysis: {"roofline"},
    Basis: {"profile"},
    Power: {"wanted"},
    Work: {"amounts"},
    ArmAnalysis: {"column", "visits", "leaves"},  # for an editor, and for the report on a profile
    Assumption: {"about"},  # by which the report for people puts alike ones together
    LoopTrips: {"region", "is_most"},  # the assumption about it says so
}
"""Fields of records that the report leaves out. Whatever else a record gets must be told and described."""
PROPERTIES: dict[type[Any], dict[str, Any]] = {
    KernelAnalysis: {"limit_exceedance": float | None},
    SliceAnalysis: {"unknown": dict[str, str]},
}
"""What the report tells besides fields."""
NULL_WHERE_EMPTY = {"ptx_file", "fast_math", "launch_file", "launch_times_unknown"}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


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


def json_types(hint: Any) -> set[str]:
    """The types of JSON that tell a value of this hint."""
    if get_origin(hint) in (Union, types.UnionType):
        return set().union(*(json_types(part) for part in get_args(hint)))
    if get_origin(hint) is tuple:
        return {"array"}
    if hint is type(None):
        return {"null"}
    return {_TYPES[hint]} if hint in _TYPES else {"object"}


def enums(hint: Any) -> set[str]:
    parts = [hint, *get_args(hint)]
    return {
        member.value for part in parts if isinstance(part, type) and issubclass(part, Enum) for member in part
    }


def described(node: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The types and the values that a node of the schema leaves open."""
    if "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].removeprefix("#/$defs/")]
    values = node.get("enum", [])
    told = {"null" if value is None else "string" for value in values}
    named = node.get("type", [])
    return told | ({named} if isinstance(named, str) else set(named)), {v for v in values if v is not None}


def fields_told(record: type[Any]) -> dict[str, Any]:
    """The fields of a record and of its parts that a report tells, with their types."""
    hints, names, left_out = get_type_hints(record), OTHER_NAMES.get(record, {}), NOT_TOLD.get(record, set())
    assert {*names, *left_out} <= set(hints) == set(record.__struct_fields__)
    found: dict[str, Any] = {}
    for name in set(hints) - left_out:
        hint = hints[name]
        parts = [one for one in (hint, *get_args(hint)) if one in PARTS]
        if not parts:
            found[names.get(name, name)] = hint
        for part in parts:
            found |= {k: h if hint is part else h | None for k, h in fields_told(part).items()}
    return found


@pytest.mark.parametrize("name", TOLD_IN)
def test_every_field_of_a_record_is_described_and_nothing_else(name: str):
    record, told = TOLD_IN[name], SCHEMA["$defs"][name]
    expected = fields_told(record) | PROPERTIES.get(record, {})
    assert set(told["properties"]) == set(told["required"]) == set(expected)
    for key, hint in expected.items():
        kinds, values = described(told["properties"][key])
        if found := enums(hint):
            assert values <= found, key
            assert kinds == {"string", *(["null"] if type(None) in get_args(hint) else [])}, key
        elif values:
            assert json_types(hint) == {"string"}, key
        elif key == "instructions_per_thread":
            assert kinds == {"object"}
        else:
            # What is not finite is unknown.
            more = {"null"} if "number" in kinds or key in NULL_WHERE_EMPTY else set()
            assert kinds - more == json_types(hint) - more, key


def test_the_other_objects_of_the_schema_are_those_of_records():
    kernel = SCHEMA["$defs"]["kernel"]["properties"]
    assert set(kernel["counts_per_thread"]["properties"]) == set(JSON_NAMES)
    watts = {name.removesuffix("_w") for name in MethodWatts.__struct_fields__}
    assert set(kernel["methods"]["properties"]) == set(kernel["methods"]["required"]) == watts
    plain = {name for name, node in SCHEMA["$defs"].items() if node["type"] != "object"}
    assert set(SCHEMA["$defs"]) - plain == set(TOLD_IN)
    assert set(SCHEMA["properties"]) == set(SCHEMA["required"]) == set(json.loads(render_json(ANALYSIS)))


def test_samples_are_valid():
    advised = replace(MATMUL, advice=(Advice("PW021", 3, "m", "f", -2.0, None),))
    for analysis in (ANALYSIS, EMPTY, replace(EMPTY, kernels=(advised,))):
        assert problems(analysis) == []


@pytest.mark.parametrize("number", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", sorted(path.name for path in KERNELS.iterdir() if path.is_dir()))
def test_kernels_of_the_corpus_are_valid(family: str, number: int):
    files = tuple(sorted((KERNELS / family).rglob("*.cu"))[:number])
    assert problems(analyze_files(make_config(Options(paths=files, gpu="v100")))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        changed(MATMUL, resources={"sm_saturation": 1.5}),
        changed(MATMUL, power={"power_w": -1.0}),
        changed(MATMUL, basis={"method": "guess"}),
        changed(MATMUL, launch={"grid": (1, 1, 0)}),
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

import json

from msgspec.structs import replace

from wattslice.counting.profile import LoopTrips
from wattslice.report.json import render_json
from wattslice.report.json_values import Json, as_text

from .samples import ANALYSIS, EMPTY, MATMUL, changed

# fmt: off
CONTRACT_KERNEL_KEYS = [
    "name", "qualified_name", "mangled_name", "file", "line", "end_line", "grid", "block",
    "launch_source", "sm_saturation", "occupancy", "branch_class", "method", "model", "power_w",
    "power_low_w", "power_high_w", "power_limit_w", "may_hit_power_limit", "time_s", "energy_j",
    "counts_per_thread", "instructions_per_thread", "slices", "assumptions",
]
# fmt: on
# fmt: off
CONTRACT_COUNTS = [
    "fp32", "fp64", "int", "special", "fp16", "tensor", "control", "global_load", "global_store",
    "shared_load", "shared_store", "constant_load", "texture_load", "atomic", "barrier",
]
# fmt: on
# fmt: off
CONTRACT_SLICE_KEYS = [
    "memory_space", "variables", "lines", "length", "arithmetic_density", "compute_ops",
    "memory_ops_weighted", "probability", "power_w", "time_share", "average_power_w", "share_of_power",
]
# fmt: on


def test_golden(golden):
    golden("report.json", render_json(ANALYSIS))


def test_every_key_of_the_contract_is_there():
    document = json.loads(render_json(ANALYSIS))
    assert document["schema_version"] == 1
    assert {"tool", "tool_version", "gpu", "kernels", "diagnostics"} <= document.keys()
    kernel = document["kernels"][0]
    assert set(CONTRACT_KERNEL_KEYS) <= kernel.keys()
    assert list(kernel["counts_per_thread"]) == CONTRACT_COUNTS
    assert list(kernel["slices"][0])[: len(CONTRACT_SLICE_KEYS)] == CONTRACT_SLICE_KEYS
    assert {"rule", "line", "message", "fix"} <= kernel["assumptions"][0].keys()
    assert list(document["diagnostics"][0]) == ["rule", "severity", "file", "line", "message"]


def test_unknown_is_null_never_zero():
    histogram = json.loads(render_json(ANALYSIS))["kernels"][1]
    for key in ("power_w", "power_low_w", "power_high_w", "time_s", "energy_j", "may_hit_power_limit"):
        assert histogram[key] is None
    assert json.loads(render_json(ANALYSIS))["kernels"][0]["slices"][2]["arithmetic_density"] is None


def test_every_null_of_a_slice_has_a_reason():
    never = replace(
        MATMUL.slices[0], power_w=None, time_share=0.0, arithmetic_density=None, share_of_power=0.0
    )
    odd = replace(MATMUL, slices=(*MATMUL.slices, replace(never, average_power_w=0.0)))
    slices = json.loads(render_json(replace(EMPTY, kernels=(odd,))))["kernels"][0]["slices"]
    for part in slices:
        assert {key for key, value in part.items() if value is None} == set(part["unknown"])
    assert slices[-1]["unknown"]["power_w"] == "the slice never runs"
    assert slices[2]["unknown"]["arithmetic_density"] == "it accesses no memory"


def test_numbers_keep_their_full_precision_and_infinity_is_unknown():
    odd = changed(MATMUL, power={"power_w": 0.1 + 0.2}, energy_j=float("inf"))
    kernel = json.loads(render_json(replace(EMPTY, kernels=(odd,))))["kernels"][0]
    assert kernel["power_w"] == 0.1 + 0.2
    assert kernel["energy_j"] is None


def test_counts_lose_what_rounding_left_of_whole_numbers():
    loop = LoopTrips(18, 3, 17.000000000000004, 17.0001)
    odd = changed(MATMUL, loops=(loop,), work={"bytes_per_thread": 1e-12})
    kernel = json.loads(render_json(replace(EMPTY, kernels=(odd,))))["kernels"][0]
    assert (kernel["loops"][0]["trip_count"], kernel["loops"][0]["assumed"]) == (17.0, 17.0001)
    assert kernel["bytes_per_thread"] == 1e-12  # little is not nothing


def test_ends_with_one_newline_even_without_kernels():
    text = render_json(EMPTY)
    assert text.endswith("}\n")
    assert json.loads(text)["kernels"] == []


def test_the_text_is_that_of_pythons_own_encoder():
    document: dict[str, Json] = {
        "empty": [],
        "none": {},
        "nested": [[], {"x": [1, -0.0, 1e-300, None]}],
        "\udc80é\n": '"\\',
    }
    assert as_text(document) == json.dumps(document, indent=2, ensure_ascii=False) + "\n"

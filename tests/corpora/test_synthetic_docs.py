"""What docs/synthetic-slices.md shows is what the generator makes."""

import re
from pathlib import Path

import pytest

from wattslice_corpora.synthetic import AccessWeights, OperationKind, SliceSpec, Space, default_grid, source
from wattslice_corpora.synthetic.plan import is_feasible
from wattslice_models.access_power import access_power_factors
from wattslice_models.gpu import load_gpu

DOCUMENT = (Path(__file__).parents[2] / "docs" / "synthetic-slices.md").read_text(encoding="utf-8")


def test_the_sample_is_what_the_call_above_it_makes():
    (call,) = re.findall(r"spec = SliceSpec\(Space\.GLOBAL, OperationKind\.FP32, (.*)\)\n", DOCUMENT)
    assert call == "density=0.5, sm_count=132"
    (kernel,) = re.findall(r"```cuda\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert f"\n{kernel}" in source(SliceSpec(Space.GLOBAL, OperationKind.FP32, density=0.5, sm_count=132))


def test_the_lowest_densities_are_the_lowest():
    rows = re.findall(r"^\| (\w+) \| (\w+) \| ([\d.]+) \|$", DOCUMENT, flags=re.MULTILINE)
    assert len(rows) == 9
    for space, kind, lowest in rows:
        density = float(lowest)
        assert is_feasible(SliceSpec(Space(space), OperationKind(kind), density, 132)), (space, kind)
        if density > 0.25:
            assert not is_feasible(SliceSpec(Space(space), OperationKind(kind), 0.9 * density, 132)), (
                space,
                kind,
            )


@pytest.mark.slow
def test_where_the_grid_of_an_h200_begins():
    gpu = load_gpu("h200")
    factors = access_power_factors(gpu)
    weights = AccessWeights(factors.shared_memory, factors.constant_memory, factors.texture_memory)
    lowest: dict[Space, float] = {}
    for spec in default_grid(gpu.sm_count, weights):
        if spec.density is not None:
            lowest[spec.space] = min(spec.density, lowest.get(spec.space, spec.density))
    assert {lowest[space] for space in (Space.GLOBAL, Space.L2, Space.SHARED)} == {0.25}
    texture, constant = lowest[Space.TEXTURE], lowest[Space.CONSTANT]
    assert f"at {texture:g} for texture memory and at {constant:g} for constant memory" in " ".join(
        DOCUMENT.split()
    )

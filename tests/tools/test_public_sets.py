"""Features of public sources beside those that a campaign left for the same GPU."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from wattslice_corpora.records import (
    SliceRow,
    WorkloadRow,
    card_path,
    read_card,
    read_recipes,
    read_slices,
    read_workloads,
    recipes_path,
    slices_path,
    table_text,
    workloads_path,
)
from wattslice_tools.public_sets import __main__ as public_sets


def always(found: object) -> Callable[..., object]:
    """What is asked for, whatever is asked."""

    def answer(*_: object) -> object:
        return found

    return answer


def test_new_features_of_a_source_leave_those_of_a_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = read_workloads(workloads_path("h200")), read_slices(slices_path("h200"))
    public = [[row for row in rows if row.benchmark == "gpu-roofline"] for rows in before]
    assert all(0 < len(own) < len(rows) for own, rows in zip(public, before, strict=True))
    paths = tmp_path / "w.csv", tmp_path / "s.csv"
    for path, original in zip(paths, (workloads_path("h200"), slices_path("h200")), strict=True):
        path.write_bytes(original.read_bytes())
    monkeypatch.setattr(public_sets, "workloads_path", always(paths[0]))
    monkeypatch.setattr(public_sets, "slices_path", always(paths[1]))
    made = SimpleNamespace(
        features=SimpleNamespace(left_out=()),
        workloads=table_text((), WorkloadRow, tuple(public[0][:1])),
        slices=table_text((), SliceRow, ()),
    )
    monkeypatch.setattr(public_sets, "public_features", always(made))
    recipes = read_recipes(recipes_path("gpu_benches"))
    public_sets._analyze(tmp_path, read_card(card_path("h200")), recipes)
    others = [[row for row in rows if row.benchmark != "gpu-roofline"] for rows in before]
    assert list(read_workloads(paths[0])) == public[0][:1] + others[0]
    assert list(read_slices(paths[1])) == others[1]

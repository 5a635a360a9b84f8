"""Applications leave the fit of seconds in parts, with their siblings."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wattslice_tools.accuracy import seconds


def test_no_application_is_judged_by_parameters_that_saw_it(monkeypatch: pytest.MonkeyPatch):
    names = [*(f"program{number}" for number in range(20)), "tiled_gemm_1", "gemm_naive"]
    rows = tuple(SimpleNamespace(example=SimpleNamespace(benchmark=name)) for name in names)

    def seen_by(used: Iterable[Any]) -> set[str]:
        return {row.example.benchmark for row in used}

    monkeypatch.setattr(seconds, "_fitted", seen_by)
    boards = (cast("Any", SimpleNamespace(rows=rows)),)
    found = cast("dict[str, set[str]]", seconds.applications_left_out(boards))
    assert found.keys() == {*names[:20], "gemm"}
    assert all(name not in seen for name, seen in found.items())
    assert found["gemm"].isdisjoint({"tiled_gemm_1", "gemm_naive"})
    assert min(map(len, found.values())) >= len(names) - 3  # parts are small

"""Programs of the corpus as parameters of tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from wattslice_corpora.manifest import CorpusKernel

QUICK = ("bitonic_sort", "histogram_privatised", "prefix_sum", "reduction", "transpose")
"""What a run of the tests without the slow ones compiles: barriers, atomics, shuffles, several kernels."""


def sometimes_slow(programs: Iterable[CorpusKernel], quick: tuple[str, ...] = QUICK) -> list[Any]:
    """Each program as a parameter named after it, slow where it is none of the quick ones."""
    found = [
        pytest.param(program, id=program.name, marks=() if program.name in quick else pytest.mark.slow)
        for program in programs
    ]
    assert {parameter.id for parameter in found} >= set(quick)
    return found

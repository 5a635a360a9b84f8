"""Programs of the corpus as parameters of tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from wattslice_corpora.manifest import CorpusKernel


def each(programs: Iterable[CorpusKernel]) -> list[Any]:
    """Each program as a parameter named after it."""
    return [pytest.param(program, id=program.name) for program in programs]

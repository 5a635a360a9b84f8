"""Generated code is analysed in work that grows with its size and no faster: counted, not timed."""

import sys

import pytest

from wattslice import analyze_text
from wattslice_tools.wild.generated import FORMS

SIZE = 100
MOST = 2.3
"""Times the work for twice the size; what is quadratic makes 4 of the part that it is."""


def work(source: str) -> int:
    """How often the analysis calls functions of Python: the same every time."""
    calls = 0

    def noted(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(noted)
    try:
        analysis = analyze_text(source, gpu="a100")
    finally:
        sys.setprofile(None)
    assert all(kernel.power_w is not None for kernel in analysis.kernels)
    assert analysis.kernels
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_twice_the_code_is_twice_the_work(form: str):
    work(FORMS[form](3))  # imports, tables
    once, twice = work(FORMS[form](SIZE)), work(FORMS[form](2 * SIZE))
    assert twice < MOST * once

"""Generated code is analysed in work that grows with its size and no faster: counted, not timed."""

import os
import subprocess
import sys

import pytest

from wattslice_tools.wild.generated import FORMS

SIZE = 100
MOST = 2.3
"""Times the work for twice the size; what is quadratic makes 4 of the part that it is."""

WORK = """
import sys

from wattslice import analyze_text
from wattslice_tools.wild.generated import FORMS

calls = 0


def noted(_frame, event, _argument):
    global calls
    calls += event == "call"


form, size = FORMS[sys.argv[1]], int(sys.argv[2])
analyze_text(form(3), gpu="a100")  # imports, tables
sys.setprofile(noted)
analysis = analyze_text(form(size), gpu="a100")
sys.setprofile(None)
assert analysis.kernels
assert all(kernel.power_w is not None for kernel in analysis.kernels)
print(calls)
"""


def work(form: str, size: int) -> int:
    """How often the analysis calls functions of Python: the same every time in a process of its own."""
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", WORK, form, str(size)], env=path, capture_output=True, text=True, check=True
    )
    return int(found.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_twice_the_code_is_twice_the_work(form: str):
    once, twice = work(form, SIZE), work(form, 2 * SIZE)
    assert twice < MOST * once

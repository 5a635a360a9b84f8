"""Host code is read again only where that may say something else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir import Function
from wattslice.launches.host_code import HostCode
from wattslice.launches.interpreter import Interpreter
from wattslice.launches.memory import Record, Unknown
from wattslice_models.gpu import load_gpu

SOURCE = """__global__ void k(int* a) { a[0] = 1; }
int main(int argc, char** argv) {
  int n = 8, m = atoi(argv[1]);
  if (n < 5) n = m;
  k<<<n, 32>>>(0);
}
"""


@pytest.mark.parametrize(
    ("before", "pins", "grid", "is_again"),
    [
        ({}, {"nobody": 7}, 8, False),
        ({}, {"m": 7}, 8, True),  # nobody looked whether it would have been read
        ({"m": 7}, {"m": 3}, 8, False),
        ({}, {"n": 2}, 2, True),
        ({"n": 2}, {}, 8, True),
        ({"n": 2, "m": 7}, {"n": 3, "m": 7}, 3, True),
        ({"n": 2, "m": 7}, {"n": 2, "m": 3}, 2, True),
    ],
)
def test_a_reading_stands_for_others_of_what_it_does_not_ask(
    tmp_path: Path, before: Mapping[str, int], pins: Mapping[str, int], grid: int, is_again: bool
):
    path = tmp_path / "again.cu"
    path.write_text(SOURCE)
    host = HostCode(read_cuda(path), load_gpu("v100"))
    (first,) = host.launches(before)
    (second,) = host.launches(pins)
    assert isinstance(second.grid, Record)
    assert second.grid.cells[0] == grid
    assert (second is not first) is is_again


REPEATED = """int status();
__global__ void k(int* a) { a[0] = 1; }
int main() {
  int tries = 0, found = 5, n = 0;
  BEFORE
  while (1) { LOOP }
  k<<<NUMBER, 32>>>(0);
}
"""


@pytest.mark.parametrize(
    ("before", "loop", "number", "grid", "steps"),
    [
        ("", "found = status(); if (found == 3) continue; if (found) break;", "n + 4", 4, 60),
        ("", "if (status()) break; n = 7;", "found", 5, 60),
        ("", "if (status()) break; n = 7;", "n + 4", None, 60),
        ("", "if (status()) break; n++;", "n + 4", None, 60),
        ("", "if (++tries == 300) break;", "tries", 300, 3_000),
        ("int seen[4] = {0};", "if (seen[3]) break; seen[tries] = 1; tries++;", "tries", 4, 100),
        ("int a = 0, b = 0, c = 0;", "if (c) break; c = b; b = a; a = 1; n++;", "n", 3, 100),
        ("bool on = false;", "if (!on && ++tries > 9) break; on = !on;", "tries", 10, 300),
    ],
)
def test_a_loop_that_changes_nothing_is_not_followed_on(
    tmp_path: Path, before: str, loop: str, number: str, grid: int | None, steps: int
):
    """One that does is, to its end; what one changes that only an unknown condition ends stays open."""
    path = tmp_path / "repeats.cu"
    path.write_text(REPEATED.replace("BEFORE", before).replace("LOOP", loop).replace("NUMBER", number))
    program = read_cuda(path)
    interpreted: list[int] = []
    original = Interpreter.run

    def run(self: Interpreter, function: Function) -> None:
        left = self.steps_left
        original(self, function)
        interpreted.append(left - self.steps_left)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Interpreter, "run", run)
        (found,) = HostCode(program, load_gpu("v100")).launches({})
    assert isinstance(found.grid, Record)
    assert sum(interpreted) <= steps
    value = found.grid.cells[0]
    assert isinstance(value, Unknown) if grid is None else value == grid


def test_what_a_program_is_given_is_another_reading(tmp_path: Path):
    path = tmp_path / "given.cu"
    path.write_text(SOURCE.replace("int n = 8, m = atoi(argv[1]);", "int n = atoi(argv[1]), m = 3;"))
    host = HostCode(read_cuda(path), load_gpu("v100"))
    found = [host.launches({}, ProgramArguments((word,), "")) for word in ("7", "9", "7")]
    assert found[2][0] is found[0][0]
    grids = [instance.grid for (instance,) in found]
    assert [grid.cells[0] for grid in grids if isinstance(grid, Record)] == [7, 9, 7]

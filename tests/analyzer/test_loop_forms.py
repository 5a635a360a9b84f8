"""A counter loop is understood in one place: counting, host code and instructions know the same forms."""

from pathlib import Path

import pytest

from wattslice import ir
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import loops
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import HostCode, resolve_launches
from wattslice.workload.instructions import InstructionKind, lower_instructions
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")
FORMS = {
    "++": "for (int i = 0; i < 200; ++i)",
    "+=": "for (int i = 0; i < 200; i += 1)",
    "assigned": "for (int i = 0; i < 200; i = i + 1)",
    "amount first": "for (int i = 0; i < 200; i = 1 + i)",
    "limit first": "for (int i = 0; 200 > i; ++i)",
    "inclusive": "for (int i = 1; i <= 200; ++i)",
    "down": "for (int i = 199; i >= 0; --i)",
    "by two": "for (int i = 0; i < 400; i += 2)",
    "two counters": "for (int i = 0, j = 7; i < 200; ++i, ++j)",
    "shifted test": "for (int i = 0; i + 1 < 201; ++i)",
    "converted": "for (int i = 0; (long long)i < 200LL; ++i)",
}
COMPLEMENT = "for (int i = 0; i < 200; i = -~i)"
"""`-~i` is `i + 1` in two's complement: a form that nobody writes, and nothing here knows."""


def understood(folder: Path, loop: str) -> tuple[float | None, int, float]:
    """What is known of `loop` in a kernel, and around a launch of it.

    The trips that counting knows, how many of its iterations the host code was followed through, and how
    often the machine code branches: once, at its end, where the loop is unrolled.
    """
    path = folder / "forms.cu"
    path.write_text(
        f"__global__ void k(float* a) {{ float s = 0.0f; {loop} s += a[i]; a[0] = s; }}\n"
        f"int main() {{ {loop} k<<<i + 1, 32>>>(0); }}\n"
    )
    program = read_cuda(path)
    launch = resolve_launches(program, NO_OVERRIDES, GPU)[0]
    profile = count(launch)
    (trips,) = profile.loops
    branches = lower_instructions(launch.kernel, profile).number(InstructionKind.BRANCH)
    return trips.trip_count, len(HostCode(program, GPU).launches({})), branches


UNDERSTOOD = (200.0, 4, 1.0)  # of a long host loop the first two, the middle and the last iteration


@pytest.mark.parametrize("loop", FORMS.values(), ids=FORMS.keys())
def test_every_form_is_understood_by_counting_host_code_and_instructions(tmp_path, loop):
    assert understood(tmp_path, loop) == UNDERSTOOD


def test_a_new_form_is_one_case_in_one_place(tmp_path, monkeypatch):
    trips, followed, branches = understood(tmp_path, COMPLEMENT)
    assert trips == 200.0  # evaluated one after the other
    assert followed > 60
    assert branches > 200

    def with_complement(expr: ir.Expr) -> loops.Induction | None:
        match expr:
            case ir.Assign(
                target=ir.RegisterPlace(variable=variable, path=()),
                op=None,
                value=ir.Unary(
                    op=ir.UnaryOp.NEGATE,
                    operand=ir.Unary(op=ir.UnaryOp.INVERT, operand=ir.Read() as read),
                ),
            ) if read.place.variable is variable:
                return loops.Induction(variable, ir.BinaryOp.ADD, 1, 1)
            case _:
                return known(expr)

    known = loops.update_of
    monkeypatch.setattr(loops, "update_of", with_complement)
    assert understood(tmp_path, COMPLEMENT) == UNDERSTOOD

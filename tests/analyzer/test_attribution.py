"""Watts of lines and slices follow what each line executes and moves."""

import math

import pytest

from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.ir import MemorySpace, Span
from wattslice.pipeline.files import analyze_file
from wattslice.power.attribution import Part, attribute, line_powers, time_shares
from wattslice_models.energy import Component, ComponentPower

from .samples import there

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def analyzed(folder, parameters: str, body: str, grid="16384", block="256") -> KernelAnalysis:
    """The kernel of the statements `body`, one a line; the first stands on line 2."""
    path = folder / "k.cu"
    host = "int main() { float *p; k<<<%s, %s>>>(%s); }"
    arguments = ", ".join("p" for _ in parameters.split(","))
    path.write_text(
        "\n".join((f"__global__ void k({parameters}) {{", body, "}", host % (grid, block, arguments)))
    )
    (kernel,) = analyze_file(path, Config((path,), GpuChoice("v100"))).kernels
    assert kernel.power_w is not None
    lines_w = math.fsum(line.power_w for line in kernel.hot_lines)
    assert lines_w + (there(kernel.power).static_w or 0.0) == pytest.approx(kernel.power_w)
    slices_w = math.fsum(part.average_power_w or 0.0 for part in kernel.slices)
    assert slices_w == pytest.approx(kernel.power_w)
    limit_w = (kernel.power_limit_w or math.inf) * (1.0 + 1e-9)
    assert all((part.power_w or 0.0) <= limit_w for part in kernel.slices)
    return kernel


def watts(kernel: KernelAnalysis) -> dict[int, float]:
    return {line.line: line.power_w for line in kernel.hot_lines}


def test_a_strided_load_has_the_bytes_that_it_moves(tmp_path):
    body = f"{INDEX}\nfloat u = a[i];\nfloat v = b[i * 32];\no[i] = u + v;"
    found = watts(analyzed(tmp_path, "float *a, float *b, float *o", body))
    accesses = found[3] + found[4] + found[5]
    assert found[4] / accesses == pytest.approx(0.8, abs=0.03)  # 32 sectors of 40
    assert found[3] == pytest.approx(found[5], rel=0.1)


def test_a_load_that_a_block_shares_costs_little(tmp_path):
    body = f"{INDEX}\nfloat u = a[i];\nfloat v = b[blockIdx.x];\no[i] = u + v;"
    found = watts(analyzed(tmp_path, "float *a, float *b, float *o", body))
    assert found[4] < 0.15 * found[3]


def test_a_load_with_bank_conflicts_has_its_passes(tmp_path):
    shared = "__shared__ float s[32][{}];\nint x = threadIdx.x, y = threadIdx.y;\ns[y][x] = a[y * 32 + x];\n"
    shared += "__syncthreads();\nfloat t = s[x][y];\na[y * 32 + x] = t;"
    conflicting, padded = (
        analyzed(tmp_path, "float *a", shared.format(row), "4096", "dim3(32, 32)") for row in (32, 33)
    )
    assert _joules(conflicting, 6) > 3.0 * _joules(padded, 6)  # 32 passes in place of 1, and an instruction


def _joules(kernel: KernelAnalysis, line: int) -> float:
    return watts(kernel)[line] * (kernel.time_s or 0.0)


def test_a_multiplication_that_an_addition_takes_along_has_half_of_it(tmp_path):
    body = f"{INDEX}\nfloat u = a[i];\nfloat p =\nu * 3.0f;\na[i] = 1.0f +\np;"
    found = watts(analyzed(tmp_path, "float *a", body))
    assert found[5] > 0.0
    assert found[5] == pytest.approx(found.get(4, found[5]), rel=1.0)


def test_an_index_is_charged_where_it_is_computed_first(tmp_path):
    body = f"{INDEX}\nfloat u = a[i * 3 + 1];\nfloat v = b[i * 3 + 1];\na[i] = u + v;"
    kernel = analyzed(tmp_path, "float *a, float *b", body)
    found = watts(kernel)
    assert 0.7 * found[3] < found[4] < found[3]


def test_a_heavy_loop_of_arithmetic_outweighs_one_load(tmp_path):
    body = f"{INDEX}\nfloat v = a[i];\nfor (int k = 0; k < 1000; ++k)\nv = v * 1.5f + 2.0f;\na[i] = v;"
    kernel = analyzed(tmp_path, "float *a", body)
    found = watts(kernel)
    assert max(found, key=lambda line: found[line]) == 5
    assert found[5] > 10.0 * found[3]


def test_work_divides_the_watts_of_its_component_and_nothing_is_lost():
    def part(of, line, number):
        return Part(of, 0, Span("a.cu", line, 1, line), None, number)

    work = (
        part(Component.DRAM, 1, 30.0),
        part(Component.DRAM, 2, 10.0),
        part(Component.ISSUE, 2, 1.0),
        part(Component.ISSUE, 3, 3.0),
    )
    drawn = (
        ComponentPower(Component.IDLE, 50.0),
        ComponentPower(Component.DRAM, 40.0),
        ComponentPower(Component.ISSUE, 4.0),
        ComponentPower(Component.FP64, 8.0),  # that nothing has work for: goes with the issue
    )
    found = attribute(work, drawn, 102.0, 50.0)
    lines = {line.line: line.power_w for line in line_powers(found)}
    assert lines == pytest.approx({1: 30.0, 2: 10.0 + 3.0, 3: 9.0})
    clipped = attribute(work, drawn, 76.0, 50.0)  # at the board's limit: in proportion
    assert {line.line: line.power_w for line in line_powers(clipped)} == pytest.approx(
        {line: 0.5 * power_w for line, power_w in lines.items()}
    )
    assert attribute((), drawn, 102.0, 50.0).places == ()


def test_shares_of_time_sum_to_one_and_leave_room_for_the_energy():
    assert time_shares([3.0, 1.0], [0.0, 0.0]) == pytest.approx((0.75, 0.25))
    assert time_shares([3.0, 1.0, 0.0], [0.0, 0.5, 0.1]) == pytest.approx((0.4, 0.5, 0.1))
    assert time_shares([8.0, 1.0, 1.0], [0.5, 0.3, 0.1]) == pytest.approx((0.6, 0.3, 0.1))
    assert time_shares([0.0, 0.0], [0.2, 0.6]) == pytest.approx((0.25, 0.75))
    assert time_shares([0.0], [0.0]) == (0.0,)


def test_a_slice_takes_the_time_of_its_own_slowest_resource(tmp_path):
    body = f"__shared__ float s[256];\n{INDEX}\ns[threadIdx.x] = a[i];\n__syncthreads();\nfloat v = 0;\n"
    body += "for (int k = 0; k < 256; ++k)\nv += s[k] * s[255 - k];\na[i] = v;"
    kernel = analyzed(tmp_path, "float *a", body)
    time = {part.memory_space: part.time_share or 0.0 for part in kernel.slices}
    assert time[MemorySpace.SHARED] > 0.7
    assert time[MemorySpace.GLOBAL] + time[MemorySpace.SHARED] == pytest.approx(1.0)

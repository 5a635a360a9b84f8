"""The register estimate on kernels whose live values can be counted by eye."""

from __future__ import annotations

import re
import subprocess

import pytest
from msgspec.structs import replace

from wattslice import analyze_text, ir
from wattslice.frontend.c import read_c
from wattslice.frontend.cuda.read import read_cuda
from wattslice.workload.instructions.code_facts import kernel_facts
from wattslice.workload.instructions.kinds import Isa
from wattslice.workload.instructions.liveness import liveness
from wattslice.workload.instructions.pressure import LOADS_FILL
from wattslice.workload.instructions.statements import lower
from wattslice.workload.registers import REGISTERS_OF_A_CALL, estimate_registers, register_pressure
from wattslice_models.gpu import load_gpu

from .samples import there

V100 = load_gpu("v100")


def kernel(tmp_path, body, parameters="int n, float *a, float *b"):
    path = tmp_path / "k.c"
    path.write_text(f"void k({parameters}) {{ {body} }}\n")
    return read_c(path).kernels[0]


def test_values_alive_at_once_count_not_all_values(tmp_path):
    together = "float p = a[0], q = a[1], r = a[2], s = a[3]; b[0] = p + q + r + s;"
    in_turn = " ".join(f"float {v} = a[{i}]; b[{i}] = {v};" for i, v in enumerate("pqrs"))
    apart = register_pressure(kernel(tmp_path, in_turn)).live
    assert register_pressure(kernel(tmp_path, together)).live == apart + 3


def test_what_crosses_an_iteration_lives_through_the_loop(tmp_path):
    loop = "for (int i = 0; i < n; i++) { s += a[i]; float u = a[i + 1]; b[i] = u; }"
    body = f"float s = 0, t = a[n]; {loop} b[n] = s;"
    carried = register_pressure(kernel(tmp_path, body + "b[1] = t;"))
    without = register_pressure(kernel(tmp_path, body))
    assert carried.live == without.live + 1


def test_doubles_take_two_registers(tmp_path):
    body = "{0} p = x[1], q = x[2]; *x = p * q;"
    single = register_pressure(kernel(tmp_path, body.replace("{0}", "float"), "float *x"))
    double = register_pressure(kernel(tmp_path, body.replace("{0}", "double"), "double *x"))
    assert double.live > single.live


def test_parameters_that_are_only_read_are_free(tmp_path):
    few = register_pressure(kernel(tmp_path, "*x = p;", "float *x, float p"))
    many = register_pressure(
        kernel(tmp_path, "*x = p; *x += q; *x += r;", "float *x, float p, float q, float r")
    )
    assert few.live == many.live


def test_calls_and_launch_bounds(tmp_path):
    calling = kernel(tmp_path, 'printf("%d", n);')
    assert estimate_registers(kernel(tmp_path, "b[0] = 0;"), V100) < REGISTERS_OF_A_CALL
    assert estimate_registers(calling, V100) >= REGISTERS_OF_A_CALL
    assert estimate_registers(replace(calling, max_threads_per_block=1024, min_blocks_per_sm=4), V100) == 16
    assert estimate_registers(replace(calling, max_registers=24), V100) == 24


def test_a_thread_has_no_more_registers_than_the_gpu_gives_one(tmp_path):
    calling = kernel(tmp_path, 'printf("%d", n);')
    small = replace(load_gpu("gtx480"), max_registers_per_thread=20)
    assert estimate_registers(calling, small) == 20 < estimate_registers(calling, V100)


def cuda_kernels(tmp_path, source):
    path = tmp_path / "k.cu"
    path.write_text(source)
    return {kernel.name: kernel for kernel in read_cuda(path).kernels}


ARRAYS = """
__global__ void known(const float *a, float *o) {
  float r[64]; float s = 0;
  for (int i = 0; i < 64; i++) r[i] = a[i * 32 + threadIdx.x];
  for (int i = 0; i < 64; i++) s += r[i] * r[63 - i];
  o[threadIdx.x] = s;
}
__global__ void unknown(const float *a, float *o, int n) {
  float r[64]; float s = 0;
  for (int i = 0; i < 64; i++) r[i] = a[i * 32 + threadIdx.x];
  for (int i = 0; i < n; i++) s += r[i * 7 & 63];
  o[threadIdx.x] = s;
}
__global__ void __launch_bounds__(1024) bounded(const float *a, float *o) {
  float r[96]; float s = 0;
  for (int i = 0; i < 96; i++) r[i] = a[i * 32 + threadIdx.x];
  for (int i = 0; i < 96; i++) s += r[i] * r[95 - i];
  o[threadIdx.x] = s;
}"""


def test_an_array_lies_in_registers_when_all_of_its_indices_are_known(tmp_path):
    kernels = cuda_kernels(tmp_path, ARRAYS)
    assert register_pressure(kernels["known"]).arrays == 64
    assert register_pressure(kernels["unknown"]).arrays == 0
    assert estimate_registers(kernels["known"], V100) > 64 > estimate_registers(kernels["unknown"], V100)
    assert estimate_registers(kernels["bounded"], V100) == 65536 / 1024  # the rest is spilled


TILES = """#include <mma.h>
using namespace nvcuda;
template <int R, int C> __device__ void tiles(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[R][C];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> rows[R];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> columns[C];
  for (int r = 0; r < R; r++) for (int k = 0; k < C; k++) wmma::fill_fragment(sum[r][k], 0.0f);
  for (int i = 0; i < n; i++) {
    for (int r = 0; r < R; r++) wmma::load_matrix_sync(rows[r], a + (r * n + i) * 256, 16);
    for (int k = 0; k < C; k++) wmma::load_matrix_sync(columns[k], b + (k * n + i) * 256, 16);
    for (int r = 0; r < R; r++) for (int k = 0; k < C; k++)
      wmma::mma_sync(sum[r][k], rows[r], columns[k], sum[r][k]);
  }
  for (int r = 0; r < R; r++) for (int k = 0; k < C; k++)
    wmma::store_matrix_sync(c + (r * C + k) * 256, sum[r][k], 16, wmma::mem_row_major);
}
__global__ void one(const half *a, const half *b, float *c, int n) { tiles<1, 1>(a, b, c, n); }
__global__ void two(const half *a, const half *b, float *c, int n) { tiles<2, 2>(a, b, c, n); }
__global__ void four(const half *a, const half *b, float *c, int n) { tiles<4, 4>(a, b, c, n); }
__global__ void eight(const half *a, const half *b, float *c, int n) { tiles<8, 8>(a, b, c, n); }
"""


def test_fragments_hold_their_share_of_the_tiles(tmp_path):
    """A lane holds 256 / 32 floats of a sum, and as many halves of each operand."""
    kernels = cuda_kernels(tmp_path, TILES)
    held = [register_pressure(kernels[name]).arrays for name in ("one", "two", "four", "eight")]
    assert held == [8 * n * n + 4 * n + 4 * n for n in (1, 2, 4, 8)]
    estimates = [estimate_registers(kernels[name], V100) for name in ("one", "two", "four", "eight")]
    assert estimates[0] + 100 < estimates[2] < estimates[3] == 255


def test_unrolled_copies_load_ahead(tmp_path):
    body = "float s = 0; for (int i = 0; i < {}; i++) s += a[i * 64]; b[0] = s;"
    assert register_pressure(kernel(tmp_path, body.format(8))).ahead == 8
    assert register_pressure(kernel(tmp_path, body.format("n"))).ahead == 16  # of a loop of unknown length


@pytest.mark.slow
@pytest.mark.nvcc
def test_arrays_and_tiles_against_ptxas(tmp_path):
    kernels = cuda_kernels(tmp_path, TILES + ARRAYS)
    command = ["nvcc", "-cubin", "-arch=sm_80", "--resource-usage", "-w", "-o", "k.cubin", "k.cu"]
    report = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stderr
    found = dict(re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", report, re.S))
    a100 = load_gpu("a100")
    for one in kernels.values():
        truth = int(found[one.mangled_name])
        assert abs(estimate_registers(one, a100) - truth) <= max(20, 0.2 * truth), one.name


def test_what_a_loop_uses_and_does_not_change_lives_through_it(tmp_path):
    """Three factors are used first in the body; six more values are live at once behind them."""
    before = "float p = a[0], q = a[1], r = a[2], s = 1;"
    behind = " ".join(f"float v{i} = a[n + i * 32 + {i}];" for i in range(6))
    total = "s += v5 * (v4 + v3 * (v2 + v1 * v0));"
    loop = "{} for (int i = 0; i < n; i++) {{ s = {}; {} {} }} b[0] = s;"
    kept = taken(kernel(tmp_path, loop.format(before, "(s * p + q) * r", behind, total)))
    none = taken(kernel(tmp_path, loop.format("float s = 1;", "(s * 2.0f + 3.0f) * 5.0f", behind, total)))
    assert kept.in_text == none.in_text + 3
    assert kept.loads_first == none.loads_first + 3


def taken(found):
    return liveness(found).pressure


def test_a_store_that_may_reach_what_is_loaded_keeps_the_load_behind_it(tmp_path):
    """SASS of nvcc 13: eight loads before the first store with `__restrict__`, one at a time without."""
    body = "for (int i = 0; i < 8; i++) y[i * 64] = x[i * 64] + 1.0f;"
    source = f"__global__ void k(const float *{{0}} x, float *{{0}} y) {{{{ {body} }}}}"
    apart = cuda_kernels(tmp_path, source.format("__restrict__"))["k"]
    assert taken(apart).loads_first == taken(apart).in_text + 7
    together = cuda_kernels(tmp_path, source.format(""))["k"]
    assert taken(together).loads_first == taken(together).in_text


def test_loads_are_made_early_as_far_as_registers_last(tmp_path):
    body = "float s = 0; for (int i = 0; i < 64; i++) s += a[i * 64]; b[0] = s;"
    found = taken(kernel(tmp_path, body))
    assert found.loads_first > 64 > LOADS_FILL == found.beside(0)
    assert found.beside(20) == LOADS_FILL - 20
    assert found.beside(64) == found.in_text


def test_a_division_holds_the_registers_of_its_slow_path(tmp_path):
    """A kernel of one division takes ten registers more than the two of the address (ptxas of nvcc 13)."""
    quotient = taken(kernel(tmp_path, "b[0] = a[0] / a[1];"))
    product = taken(kernel(tmp_path, "b[0] = a[0] * a[1];"))
    assert quotient.in_text >= 10 > product.in_text


def test_arms_write_into_one_register(tmp_path):
    arm = "if (a[{0}] > 0) {{ for (int i = 0; i < n; i++) {1} }}"
    one = "float s = 0; " + arm.format(1, "s += a[i];") + " b[0] = s;"
    two = "float s = 0; " + arm.format(1, arm.format(2, "s += a[i];")) + " b[0] = s;"
    assert taken(kernel(tmp_path, two)).in_text == taken(kernel(tmp_path, one)).in_text


def test_loops_carry_registers_in_the_order_of_the_text(tmp_path):
    """Whatever the addresses of objects: the estimate depends on the order in which values are made."""
    names = [f"v{i}" for i in range(12)]
    body = " ".join(f"float {v} = a[{i}];" for i, v in enumerate(names))
    changes = " ".join(f"{v} += a[i + {i}];" for i, v in enumerate(names))
    stores = " ".join(f"b[{i}] = {v};" for i, v in enumerate(names))
    found = kernel(tmp_path, f"{body} for (int i = 0; i < n; ++i) {{ {changes} }} {stores}")
    (facts,) = kernel_facts(found).loops.values()
    written = [key.name for key in facts.written if isinstance(key, ir.Variable)]
    assert [name for name in written if name != "i"] in (names, names[::-1])


NESTS = """__global__ void k(const float *a, const float *b, float *c, int n) {{
    float acc[{0} * {1}] = {{0}}; float m[{0}]; float q[{1}];
    for (int d = 0; d < n; ++d) {{
        for (unsigned i = 0; i < {0}; ++i) m[i] = a[d * 64 + i + threadIdx.x];
        for (unsigned i = 0; i < {1}; ++i) q[i] = b[d * 64 + i + threadIdx.x * 2];
        for (unsigned w = 0; w < {0} / {2}; ++w) for (unsigned v = 0; v < {1} / {3}; ++v) {{
            {4} for (unsigned i = 0; i < {2}; ++i) for (unsigned j = 0; j < {3}; ++j)
                acc[(w * {2} + i) * {1} + v * {3} + j] += m[w * {2} + i] * q[v * {3} + j];
        }}
    }}
    for (unsigned i = 0; i < {0} * {1}; ++i) c[i * 64 + threadIdx.x] = acc[i];
}}"""


@pytest.mark.parametrize(
    ("tile", "lies_in_registers"),  # whether the PTX of nvcc 13 has no ld.local
    [
        ((8, 8, 8, 4, ""), True),
        ((16, 8, 8, 8, ""), True),
        ((16, 16, 8, 8, ""), True),
        ((32, 16, 8, 8, ""), False),
        ((24, 16, 24, 16, ""), False),
        ((8, 8, 8, 8, "for (int e = 0; e < n; ++e)"), True),  # loops of one iteration around one that stays
    ],
)
def test_tiles_that_all_copies_of_a_nest_index_by_numbers_lie_in_registers(tmp_path, tile, lies_in_registers):
    path = tmp_path / "k.cu"
    path.write_text(NESTS.format(*tile))
    (found,) = read_cuda(path).kernels
    assert (not liveness(found).indexed) == lies_in_registers


def test_registers_and_instructions_are_of_one_lowering(tmp_path):
    lower.cache_clear()
    one = kernel(tmp_path, "for (int i = 0; i < 3; i++) b[i] = a[i];")
    estimate_registers(one, V100)
    lower(one, ((one.body.statements[-1].region, 3.0),), Isa.IMAD)
    assert lower.cache_info().misses == 1


@pytest.mark.parametrize(
    ("elements", "taken", "is_told"), [(40, None, False), (52, 64, True), (96, None, False)]
)
def test_a_block_fits_within_the_error_of_the_estimate(elements, taken, is_told):
    """Of an estimate that is a little too high for the block that the host code launches."""
    text = f"""
__global__ void k(const float *a, float *o) {{
  float r[{elements}]; float s = 0;
  for (int i = 0; i < {elements}; i++) r[i] = a[i * 32 + threadIdx.x];
  for (int i = 0; i < {elements}; i++) s += r[i] * r[{elements - 1} - i];
  o[threadIdx.x] = s;
}}
int main() {{ k<<<1, 1024>>>(0, 0); }}"""
    analysis = analyze_text(text, gpu="v100")
    (found,) = analysis.kernels
    assert (found.power_w is None) == (elements == 96)
    assert any("registers a thread estimated" in told.message for told in analysis.diagnostics) == is_told
    assert taken in (None, there(found.resources).registers_per_thread)

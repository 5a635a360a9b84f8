"""What nvcc 13 makes of common forms of loops, branches and records: counts of its SASS for sm_80."""

import pytest

from wattslice import ir
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.walking import evaluations
from wattslice.workload.instructions import InstructionMix, lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind as K

from .source_text import kernel_of, launched
from .test_instructions import mix_of

STRIDE = "int st = blockDim.x * gridDim.x, i = blockIdx.x * blockDim.x + threadIdx.x; "
TRIPS = 4096 // 32


def branches(copies: int, entry: int) -> float:
    return 1 + entry + TRIPS / copies  # EXIT, tests at the entry, one each round


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        (STRIDE + "for (; i < 4096; i += st) a[i] = b[i] * x;", 4),
        (STRIDE + "for (; 4096 > i; i = st + i) a[i] = b[i] * x;", 4),
        (STRIDE + "while (i < 4096) { a[i] = b[i] * x; i += st; }", 4),
        ("for (int i = threadIdx.x; i < 4096; i += (int)blockDim.x) a[i] = b[i] * x;", 4),
        (STRIDE + "\n#pragma unroll\nfor (; i < 4096; i += st) a[i] = b[i] * x;", 4),
        (STRIDE + "\n#pragma unroll 1\nfor (; i < 4096; i += st) a[i] = b[i] * x;", 1),
        # what is unsigned may wrap
        ("for (int i = threadIdx.x; i < 4096; i += blockDim.x) a[i] = b[i] * x;", 1),
        ("unsigned s = blockDim.x; for (unsigned i = threadIdx.x; i < 4096; i += s) a[i] = b[i] * x;", 1),
        (STRIDE + "for (; i <= 4095; i += st) a[i] = b[i] * x;", 1),
        (STRIDE + "for (i = 4095 - i; i >= 0; i -= st) a[i] = b[i] * x;", 1),
        # others take part
        (STRIDE + "for (; i < 4096; i += st) atomicAdd(c, 1);", 1),
        (STRIDE + "for (; i < 4096; i += st) a[i] = __shfl_xor_sync(~0u, b[i], 1);", 1),
        (STRIDE + "for (; i < 4096; i += st) { a[i] = b[i]; __syncthreads(); }", 1),
        (STRIDE + "for (; i < 4096; i += st) a[i] = __ldg(b + i);", 1),
    ],
)
def test_a_loop_whose_stride_the_run_tells_is_unrolled_where_it_cannot_wrap(body: str, copies: int):
    assert mix_of(body).number(K.BRANCH) == branches(copies, 3 if copies > 1 else 1)


def test_the_way_is_divided_by_the_stride_once_before_the_loop():
    unrolled = mix_of(STRIDE + "for (; i < 4096; i += st) a[i] = b[i] * x;")
    assert (unrolled.number(K.MUFU), unrolled.number(K.CONVERSION)) == (1, 2)
    rolled = mix_of("for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) a[i] = b[i] * x;")
    assert (rolled.number(K.MUFU), rolled.number(K.CONVERSION)) == (0, 0)


@pytest.mark.parametrize(("operations", "copies"), [(40, 4), (80, 2), (120, 1)])
def test_longer_bodies_have_fewer_copies(operations: int, copies: int):
    steps = "".join(f"s = s * x + {number}.f;" for number in range(operations // 2))
    mix = mix_of(f"{STRIDE} for (; i < 4096; i += st) {{ float s = b[i]; {steps} a[i] = s; }}")
    assert mix.number(K.BRANCH) == branches(copies, 3 if copies > 1 else 1)


def choices(body: str) -> tuple[float, float]:
    """FSETP with FSEL, ISETP with SEL and IMNMX, of a kernel that has every value in a register."""
    kernel = f"int t = threadIdx.x; float u = b[t]; int v = c[t]; {body} a[t] = u; c[t] = v;"
    mix = mix_of(kernel)
    return mix.number(K.FSETP), mix.number(K.ISETP)


@pytest.mark.parametrize(
    ("body", "chosen"),
    [
        ("", (0, 0)),
        ("if (u > x) v = 7;", (1, 1)),
        ("if (u > x) v = n;", (1, 1)),
        ("if (v > n) u = 7;", (1, 1)),
        ("if (u > x) u = x;", (2, 0)),
        ("if (u > x) { u = x; v = n; }", (2, 1)),
        ("if (v > n) u = x; else u = 3;", (1, 1)),
        ("if (v > n) u = u * x; else u = 3;", (1, 1)),
        ("if (v > n) u = u * x; else u = u + x;", (0, 1)),  # computed into its register
        ("if (v > n) u = 3; else v = 4;", (0, 1)),  # predicated MOVs
        ("if (v > n) u += x;", (0, 1)),
        ("if (u > x) v += n;", (1, 1)),  # v + (u > x ? n : 0)
        ("if (u > x) v ^= n;", (1, 1)),
        ("if (u > x) v |= 4;", (1, 0)),
        ("if (u > x) v ^= c[t + 64];", (1, 0)),  # the load is predicated, and so is what needs it
        ("float w = b[t + 64]; if (u > w) { float s = u; u = w; w = s; } b[t] = w;", (3, 0)),
        ("float q[2]; q[0] = u; q[1] = b[t + 64]; if (q[0] > q[1]) q[0] = q[1]; u = q[0];", (2, 0)),
        # IMNMX compares and chooses
        ("if (v > n) v = n;", (0, 1)),
        ("v = v > n ? n : v;", (0, 1)),
        ("if (v > n) { v = n; u = x; }", (1, 2)),
        ("int w = c[t + 64]; if (v > w) { int s = v; v = w; w = s; } c[t + 64] = w;", (0, 2)),
        # the copies of an unrolled loop know
        ("for (int i = 0; i < 4; i++) { if (i > 1) v = n; u += v; }", (0, 0)),
    ],
)
def test_what_a_predicated_arm_only_moves_is_selected(body: str, chosen: tuple[float, float]):
    assert choices(body) == chosen


def test_a_minimum_is_one_instruction_whatever_form_it_has():
    forms = ("if (v > n) v = n;", "v = v > n ? n : v;", "if (n < v) { v = n; }")
    assert {choices(form) for form in forms} == {(0, 1)}


def record_mix(body: str, parameters: str) -> InstructionMix:
    text = "struct alignas(16) Q { float a, b, c, d; }; struct R { float a, b; };"
    arguments = ", ".join("0" for _ in parameters.split(","))
    kernel = f"{text} __global__ void k({parameters}) {{ int i = threadIdx.x; {body} }}"
    kernel, profile = launched(f"{kernel} int main() {{ k<<<1, 32>>>({arguments}); }}")
    return lower_instructions(kernel, profile)


@pytest.mark.parametrize(
    ("parameters", "body", "loads", "stores"),
    [
        ("const float2* p, float* q", "q[i] = p[i].x * p[i].y;", 1, 1),
        ("const float2* p, float* q", "float2 v = p[i]; q[i] = v.x * v.y;", 1, 1),
        ("const float4* p, float* q", "q[i] = p[i].x * p[i].y + p[i].z * p[i].w;", 1, 1),
        ("const float4* p, float* q", "q[i] = p[i].x * p[i].y + p[i].z;", 1, 1),
        ("const float4* p, float* q", "q[i] = p[i].z * p[i].w;", 1, 1),
        ("const float4* p, float* q", "q[i] = p[i].y * p[i].z;", 2, 1),
        ("const Q* p, float* q", "q[i] = p[i].a * p[i].b + p[i].c + p[i].d;", 1, 1),
        ("const R* p, float* q", "q[i] = p[i].a * p[i].b;", 2, 1),  # aligned to 4 bytes
        ("const float* p, float* q", "q[i] = p[2 * i] * p[2 * i + 1];", 2, 1),
        ("const double2* p, double* q", "q[i] = p[i].x + p[i].y;", 1, 1),
        ("const float2* p, float* q", "float s = p[i].x; __syncthreads(); q[i] = s + p[i].y;", 2, 1),
        ("float2* p, float* q", "p[i].x = 1.f; p[i].y = 2.f;", 0, 1),
        ("const float2* p, const float2* r, float2* q",
         "q[i].x = p[i].x * r[i].x - p[i].y * r[i].y; q[i].y = p[i].x * r[i].y + p[i].y * r[i].x;", 4, 2),
    ],
)  # fmt: skip
def test_members_of_an_aligned_record_are_accessed_together(
    parameters: str, body: str, loads: float, stores: float
):
    mix = record_mix(body, parameters)
    assert (mix.number(K.LDG), mix.number(K.STG)) == pytest.approx((loads, stores))
    made = sum(one.per_thread for one in mix.requests)
    assert made == pytest.approx(loads + stores)  # and request their sectors once


def test_one_move_of_an_element_size_serves_all_addresses_of_a_round():
    straight = mix_of("a[threadIdx.x] = b[threadIdx.x + n];").number(K.MOV)
    one = mix_of("a[threadIdx.x] = x;").number(K.MOV)
    assert straight == one
    both = mix_of("a[threadIdx.x] = ((double*)b)[threadIdx.x];").number(K.MOV)
    assert both == one + 1  # 4 and 8 bytes
    rounds = mix_of("for (unsigned i = threadIdx.x; i < 320; i += blockDim.x) a[i] = b[i];").number(K.MOV)
    assert rounds == one - 1 + 320 / 32


def test_elements_of_an_array_initialised_by_constants_are_constants():
    body = "const int w[3] = {1, 2, 4}; float s = 0; for (int i = 0; i < 3; i++) s += w[i] * x; a[0] = s;"
    assert mix_of(body).number(K.CONVERSION) == 0
    changed = body.replace("const int", "int").replace("float s", "w[0] = n; float s")
    assert mix_of(changed).number(K.CONVERSION) > 0


@pytest.mark.parametrize("call", ["normcdff(x)", "erfinvf(x)", "rcbrtf(x)", "acoshf(x)", "cyl_bessel_i0f(x)"])
def test_functions_of_several_steps_cost_what_they_take(call: str):
    mix = mix_of(f"a[0] = {call} + b[0];")
    assert mix.number(K.FFMA) + mix.number(K.FMUL) + mix.number(K.FADD) > 5


def test_axes_of_an_index_tell_expressions_apart():
    body = "a[threadIdx.x] = b[threadIdx.x]; a[threadIdx.y] = b[blockIdx.x]; a[threadIdx.x] = 0;"
    stores = [
        node.target.address
        for node, _ in evaluations(kernel_of(f"__global__ void k(float* a, float* b) {{ {body} }}"))
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.MemoryPlace)
    ]
    x, y, again = stores
    assert is_written_alike(x, again)
    assert not is_written_alike(x, y)

"""Lowering rules, one small kernel each; the SASS behind them: tools/wattslice_tools/wild/sass_check.py."""

import pytest

from wattslice import analyze_text
from wattslice.counting.count import count
from wattslice.counting.profile import total_counts
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.instructions import InstructionMix, lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.kinds import measured
from wattslice_models.gpu import load_gpu
from wattslice_tools.wild.sass_kinds import kind_of_sass

from .source_text import flat_profile, kernel_of, launched
from .test_slicing import CORPUS


def mix_of(body: str, launch: str = "<<<1, 32>>>(0, 0, 0, 100, 1.0f)") -> InstructionMix:
    text = f"__global__ void k(float* a, float* b, int* c, int n, float x) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k{launch}; }}")
    return lower_instructions(kernel, profile)


def test_a_remainder_beside_its_quotient_is_a_product_less():
    def total(*expressions: str) -> float:
        sums = " + ".join(expressions)
        text = (
            f"__global__ void k(int* a, int n, int m) {{ int x = a[threadIdx.x]; a[threadIdx.x] = {sums}; }}"
        )
        kernel, profile = launched(f"{text}\nint main() {{ k<<<1, 32>>>(0, 7, 9); }}")
        return lower_instructions(kernel, profile).total

    alone = total("x / n")
    assert total("x / n", "x % n") == alone + 2 + 1  # IADD, IMAD, and the sum of both
    assert total("x % n", "x / n") == alone + 2 + 1
    assert total("x / n", "x % n", "x / n") <= alone + 2 + 2  # the quotient is there
    assert total("x / n", "x % m") > alone + 10


def test_a_remainder_of_64_bits_beside_its_quotient_is_made_of_that():
    def total(value: str) -> float:
        index = "blockIdx.x * (long)blockDim.x + threadIdx.x"
        text = f"__global__ void k(long* a, long n) {{ long i = {index}; a[i] = {value}; }}"
        kernel, profile = launched(f"{text}\nint main() {{ k<<<64, 256>>>(0, 7); }}")
        return lower_instructions(kernel, profile).total

    both = total("i / n") + 3 + 2  # IMAD.MOV, IMAD and MOV in SASS of nvcc 13, and the sum of both
    assert (total("i / n + i % n"), total("i % n + i / n")) == (both, both)
    assert total("i / n + i % (n + 1)") > both + 20


def test_a_product_that_only_a_sum_uses_becomes_fma():
    mix = mix_of("a[0] = x * x + b[0];")
    assert (mix.number(K.FFMA), mix.number(K.FMUL), mix.number(K.FADD)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("name", "executed"),
    [
        ("exp", 27),
        ("exp2", 26),
        ("pow", 148),
        ("powf", 88),
        ("fmodf", 29),
        ("erfinvf", 19),
        ("lgamma", 161),  # what it calls among it
        ("logb", 20),
        # lanes of a warp go both ways
        ("asin", 66),
        ("tanh", 60),
        ("log1p", 100),
        # the longest path
        ("log", 63),
        ("erff", 30),
    ],
)
def test_functions_cost_what_their_usual_arguments_execute(name: str, executed: int):
    """SASS of nvcc 13, executed with numbers of every day."""
    assert sum(number for _, number in measured(name) or ()) == pytest.approx(executed, abs=2)


@pytest.mark.parametrize(
    ("call", "executed"),
    [
        ("sinf(x)", 25),
        ("sin((double)x)", 37),
        ("logf(x)", 4),
        # no branches; made ahead of the loop
        ("expf(x)", 0),
        ("sqrtf(x)", 0),
        # what one argument decides is made ahead of the loop, what a constant decides is known
        ("powf(x, b[k])", 45),
        ("powf(b[k], x)", 80),
        ("powf(0.9f, b[k])", 32),
        ("powf(b[k], 2.2f)", 73),
        ("powf(x, 2.2f)", 2),
        # constants wait in registers
        ("expf(b[k])", 8),
        ("erff(b[k])", 24),
        ("sinf(b[k])", 29),
    ],
)
def test_a_round_executes_of_a_function_what_its_branches_hold_there(call: str, executed: int):
    """SASS of nvcc 13: what the call adds to each of 64 iterations."""
    loop = "float s = 0; for (int k = 0; k < n; k++) s += {} * b[k]; a[threadIdx.x] = s;"
    with_it, without = (
        mix_of(loop.format(each), "<<<1, 32>>>(0, 0, 0, 64, 1.0f)").total
        for each in (call, "b[k]" if "b[k]" in call else "x")
    )
    assert (with_it - without) / 64 == pytest.approx(executed, rel=0.2, abs=2.5)


@pytest.mark.parametrize(
    ("index", "sums", "executed"),
    [
        # each sum may wrap: IADD and IMAD.WIDE.U32 of its own
        ("unsigned u = t + blockIdx.x * blockDim.x", ("u", "u + 1", "u + 2", "u - 1"), 6),
        ("unsigned u = t + n", ("u", "u + 1", "u + 1u"), 2),
        ("unsigned u = t * n", ("u", "u + 3"), 2),
        ("unsigned u = t % 32 + t / 32 * 64", ("u", "u + 1"), 2),
        # a sign: an immediate
        ("int u = t + blockIdx.x * blockDim.x", ("u", "u + 1", "u + 2", "u - 1"), 0),
        # what is small, and low bits that nothing else uses
        ("unsigned u = t", ("u", "u + 1", "u + 7"), 0),
        ("unsigned u = t + blockIdx.x * 256; u = u % 64", ("u", "u + 1"), 0),
        ("unsigned u = (t + n) * 4", ("u", "u + 1", "u + 3"), 0),
        ("unsigned u = (t + n) * 4", ("u", "u + 1", "u + 4", "u + 5"), 2),
    ],
)
def test_an_unsigned_index_that_may_wrap_is_computed_each(index: str, sums: tuple[str, ...], executed: int):
    """SASS of nvcc 13: beyond the loads and their sum."""
    text = "unsigned t = threadIdx.x; {}; a[t] = {};"

    def total(*each: str) -> float:
        loads = mix_of(text.format(index, " + ".join(f"b[{one}]" for one in each)))
        return loads.total - loads.number(K.LDG) - loads.number(K.FADD)

    assert total(*sums) - total(sums[0]) == pytest.approx(executed, abs=0.1)


def test_an_unsigned_sum_in_a_loop_is_stepped_and_widened():
    """SASS of nvcc 13: IMAD, IMAD.WIDE.U32 in each of 64 iterations; with a sign IMAD.WIDE alone."""
    loop = "float s = 0; {0} u = x; for ({0} k = 0; k < n; k++) s += b[u + k * c[0]]; a[0] = s;"
    without, signed = (
        mix_of(loop.format(each), "<<<1, 32>>>(0, 0, 0, 64, 1.0f)").number(K.IMAD)
        for each in ("unsigned", "int")
    )
    assert without - signed == pytest.approx(64, abs=4)


def test_calls_share_their_constants():
    one, two = (mix_of(f"a[0] = {each};") for each in ("expf(x)", "expf(x) + expf(2 * x)"))
    assert two.number(K.MUFU) == 2 * one.number(K.MUFU)
    assert two.number(K.MOV) == one.number(K.MOV)


def test_conversions_from_and_to_64_bits_are_a_kind_of_their_own():
    mix = mix_of("a[0] = b[0] * 2.0 + n; c[0] = b[1]; ((long long*)b)[2] = x;")
    assert mix.number(K.WIDE_CONVERSION) == 4  # b[0] and n to double, the sum to float, x to 64 bits
    assert mix.number(K.CONVERSION) == 1


@pytest.mark.parametrize(
    ("body", "conversions"),
    [
        ("c[0] = __float2int_rn(x);", 1),
        ("a[0] = __int2float_rz(n);", 1),
        ("c[0] = __float_as_int(x);", 0),
        ("c[0] = __double2hiint(((double*)a)[n]);", 0),
    ],
)
def test_conversions_by_name_cost_what_casts_do(body: str, conversions: int):
    assert mix_of(body).number(K.CONVERSION) == conversions


@pytest.mark.parametrize(
    ("body", "threes"),
    [
        # a chain: each multiply-add waits for the one before, between them other warps use the ports
        ("float v = b[i], w = b[i + 32], y = 1; for (int k = 0; k < 64; k++) y = y * v + w; a[i] = y;", 64),
        ("float v = b[i], w = b[i + 32]; a[i] = fmaf(v, w, b[i + 64]);", 1),
        ("float s = 0; for (int k = 0; k < 64; k++) s += b[i + k] * c[i + k]; a[i] = s;", 64),
        # the second waits for the first, a loop that stays has one
        ("float w = b[i + 32]; a[i] = fmaf(fmaf(b[i], w, b[i + 64]), w, b[i + 96]);", 2),
        (
            "float v = b[i], w = b[i + 32];\n#pragma unroll 1\n"
            "for (int k = 0; k < 64; k++) a[i + k * 32] = c[i + k * 32] * v + w;",
            64,
        ),
        # two operands are one register, an immediate, or in constant memory
        ("float v = b[i], y = 1; for (int k = 0; k < 64; k++) y = y * y + v; a[i] = y;", 0),
        ("float v = b[i], y = 1; for (int k = 0; k < 64; k++) y = y * v + 0.5f; a[i] = y;", 0),
        ("float v = b[i], y = 1; for (int k = 0; k < 64; k++) y = y * v + x; a[i] = y;", 0),
        ("float y = 0; for (int k = 0; k < 8; k++) y += taps[k] * b[i + k]; a[i] = y;", 0),
        # chains side by side share v and w (R2.reuse, R3.reuse)
        (
            "float v = b[i], w = b[i + 32], y = 1, z = 2;"
            "for (int k = 0; k < 64; k++) { y = y * v + w; z = z * v + w; } a[i] = y + z;",
            0,
        ),
        # an outer product: each factor serves four sums
        (
            "float s[4] = {}; for (int k = 0; k < n; k++) { float v = b[k];"
            "for (int j = 0; j < 4; j++) s[j] += v * b[i + 4 * k + j]; } a[i] = s[0] + s[1] + s[2] + s[3];",
            0,
        ),
    ],
)
def test_multiply_adds_of_three_registers_are_told_by_what_their_neighbours_read(body: str, threes: float):
    text = "__constant__ float taps[8];\n__global__ void k(float* a, float* b, float* c, int n, float x)"
    kernel, profile = launched(
        f"{text} {{ int i = threadIdx.x; {body} }}\nint main() {{ k<<<1, 32>>>(0, 0, 0, 100, 1.0f); }}"
    )
    assert lower_instructions(kernel, profile).three_registers == pytest.approx(threes)


def test_a_product_that_is_also_stored_stays():
    mix = mix_of("float p = x * x; a[0] = p + b[0]; a[1] = p;")
    assert (mix.number(K.FFMA), mix.number(K.FMUL), mix.number(K.FADD)) == (0, 1, 1)


def test_equal_computations_and_loads_are_shared():
    mix = mix_of("a[n] = b[n + 1] * x; a[n + 2] = b[n] * x;")
    assert (mix.number(K.LDG), mix.number(K.STG)) == (2, 2)
    assert mix.number(K.IMAD) == 2  # one address for a, one for b: the rest are immediates


def test_dead_code_costs_nothing():
    assert mix_of("float y = b[3] * x; a[0] = x;").number(K.LDG) == 0


@pytest.mark.parametrize(
    ("declared", "requests", "shared"),  # of `nvcc -arch=sm_80`, SASS; shared memory is aligned
    [
        ("typedef float2 T;", 1, 1),
        ("typedef float3 T;", 3, 3),
        ("typedef float4 T;", 1, 1),
        ("struct T { float x, y, z; };", 3, 3),
        ("struct T { float v[8]; };", 8, 2),
        ("struct __align__(8) T { float v[8]; };", 4, 2),
        ("struct __align__(16) T { float v[8]; };", 2, 2),
        ("struct T { double a; float b, c; };", 2, 2),
    ],
)
def test_one_access_is_as_wide_as_its_object_is_aligned(declared: str, requests: float, shared: float):
    body = "__shared__ T s[32]; int t = threadIdx.x; s[t] = p[t]; __syncthreads(); q[t] = s[31 - t];"
    text = f"{declared} __global__ void k(const T* p, T* q) {{ {body} }}"
    kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0); }}")
    mix = lower_instructions(kernel, profile)
    assert [mix.number(kind) for kind in (K.LDG, K.STG)] == [requests] * 2
    assert [mix.number(kind) for kind in (K.STS, K.LDS)] == [shared] * 2
    assert {made.per_thread for made in mix.requests} == {requests, shared}


@pytest.mark.parametrize(
    ("body", "stores"),  # of `nvcc -arch=sm_80 -ptx`, st.local.v2 for two neighbours
    [
        ("double h[64]; for (int i = 0; i < 64; i++) h[i] = 0.; h[p[t]] = 1.; q[t] = h[p[t + 1]];", 32 + 1),
        ("double h[8]; for (int i = 0; i < 8; i++) h[i] = q[64 * i + t]; q[t] = h[p[t]];", 4),
        ("double h[3]; h[0] = q[t + 32]; h[1] = q[t + 64]; h[2] = q[t + 96]; q[t] = h[p[t]];", 3),
        ("double h[3]; h[0] = q[t + 32]; h[1] = q[t + 64]; h[2] = q[t + 96]; q[t] = h[0] + h[1] * h[2];", 0),
    ],
)
def test_what_data_index_is_stored_at_constant_indices_too(body: str, stores: float):
    text = f"__global__ void k(const int* p, double* q) {{ int t = threadIdx.x; {body} }}"
    kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0); }}")
    assert lower_instructions(kernel, profile).number(K.STL) == stores


@pytest.mark.parametrize(
    ("elements", "reads", "comparisons", "loads"),  # of SASS of nvcc 13, sm_80
    [(8, 1, 8, 0), (64, 2, 128, 0), (16, 3, 48, 0), (16, 4, 0, 4), (8, 6, 48, 0), (8, 8, 0, 8)],
)
def test_a_few_accesses_at_unknown_indices_select_a_register(elements, reads, comparisons, loads):
    fill = f"float own[{elements}]; for (int j = 0; j < {elements}; j++) own[j] = b[threadIdx.x + 64 * j];"
    body = f"{fill} a[threadIdx.x] = {' + '.join(f'own[c[{k}]]' for k in range(reads))};"
    mix = mix_of(body)
    assert (mix.number(K.ISETP), mix.number(K.LDL)) == (comparisons, loads)
    assert (mix.number(K.STL) > 0) == (loads > 0)
    assert len([made for made in mix.requests if not made.is_store]) == 1 + reads + bool(loads) * reads


def test_a_store_at_an_unknown_index_selects_a_register():
    """8 comparisons, as the SASS of nvcc 13 for sm_80 has them."""
    fill = "float own[8]; for (int j = 0; j < 8; j++) own[j] = b[threadIdx.x + 64 * j];"
    mix = mix_of(f"{fill} own[n] = 1; for (int j = 0; j < 8; j++) x = x * 2 + own[j]; a[threadIdx.x] = x;")
    assert (mix.number(K.ISETP), mix.local_accesses) == (8, 0)


def test_arrays_of_other_sizes_and_in_loops_stay_in_local_memory():
    fill = "for (int j = 0; j < 8; j++) own[j] = b[threadIdx.x + 64 * j];"
    for array, body in (
        ("double own[8]", "a[threadIdx.x] = own[n];"),
        ("float own[8]", "for (int r = 0; r < n; r++) x += own[c[r]]; a[threadIdx.x] = x;"),
        ("float own[65]", "a[threadIdx.x] = own[n];"),
    ):
        assert mix_of(f"{array}; {fill} {body}").number(K.LDL) > 0


@pytest.mark.parametrize(
    ("use", "loads"),  # of `nvcc -arch=sm_80 -ptx`
    [
        ("q[0] = s.b;", 1),
        ("q[0] = s.a * s.c + s.h;", 3),
        ("if (s.a > 0.f) q[0] = s.a * s.c + s.h; else q[0] = s.a * s.c;", 3),
        ("*(T*)q = s;", 8),
    ],
)
def test_members_of_a_record_that_nobody_needs_are_not_loaded(use: str, loads: float):
    text = f"__global__ void k(T* p, float* q) {{ T s = p[0]; {use} }}"
    text = f"struct T {{ float a, b, c, d, e, f, g, h; }}; {text}"
    kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0); }}")
    assert lower_instructions(kernel, profile).number(K.LDG) == loads


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("volatile float* v = b; for (int i = 0; i < n; i++) { v[0]; (void)v[1]; float y = v[2]; }", 300, 0),
        ("volatile float* v = a; v[0] = v[1] + v[1]; x = v[0];", 3, 1),
        ("volatile float* v = a; for (int i = 0; i < n; i++) v[0] += x;", 100, 100),
        ("struct S { float u, w; }; volatile S* s = (volatile S*)b; s->u; (*s).w;", 2, 0),
        ("typedef volatile float V; V& r = ((V*)b)[0]; float y = r + r;", 2, 0),
    ],
)
def test_volatile_accesses_are_never_removed_merged_or_hoisted(body: str, loads: float, stores: float):
    text = f"__global__ void k(float* a, float* b, int n, float x) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 100, 1.0f); }}")
    mix = lower_instructions(kernel, profile)
    assert (mix.number(K.LDG), mix.number(K.STG)) == (loads, stores)
    assert total_counts(kernel, profile).global_load == loads  # none of them is anybody's to leave out


def test_volatile_shared_memory_is_read_again_after_a_store():
    sums = "s[t] = x; s[t] += s[t + 32]; s[t] += s[t + 16]; a[t] = s[t];"
    mix = mix_of(f"volatile __shared__ float s[64]; int t = threadIdx.x; {sums}")
    assert (mix.number(K.LDS), mix.number(K.STS)) == (5, 3)


@pytest.mark.parametrize(
    ("body", "mufu", "ffma"),
    [
        ('FOR asm("rcp.approx.f32 %0, %0;" : "+f"(x)); a[0] = x;', 100, 0),
        ('FOR asm("rcp.approx.f32 %0, %0;" : "+f"(x));', 0, 0),
        ('FOR x = fmaf(x, x, b[0]); asm volatile("mov.f32 t, %0;" :: "f"(x));', 0, 100),
        ('FOR x = fmaf(x, x, x); asm("add.f32 t, %0, t;" :: "f"(x));', 0, 100),
        ('float y; FOR asm __volatile__("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));', 100, 0),
        ('float y; FOR asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); a[0] = y;', 1, 0),
    ],
)
def test_inline_assembly_reads_its_operands_and_happens_when_volatile(body: str, mufu: float, ffma: float):
    mix = mix_of(body.replace("FOR", "for (int i = 0; i < n; i++)"))
    assert (mix.number(K.MUFU), mix.number(K.FFMA)) == (mufu, ffma)


@pytest.mark.parametrize(
    ("instruction", "constraint", "kind", "number"),
    [
        ("fma.rn.f32 %0, %1, %0, %1", "f", K.FFMA, 1),
        ("mul.f32 %0, %1, %0", "f", K.FMUL, 1),
        ("add.f32 %0, %1, %0", "f", K.FADD, 1),
        ("fma.rn.f64 %0, %1, %0, %1", "d", K.DFMA, 1),
        ("mul.f64 %0, %1, %0", "d", K.DMUL, 1),
        ("fma.rn.f16x2 %0, %1, %0, %1", "r", K.HFMA2, 1),
        ("add.f16x2 %0, %1, %0", "r", K.HFMA2, 1),
        ("mad.lo.s32 %0, %1, %0, 7", "r", K.IMAD, 1),
        ("mul.hi.u32 %0, %1, %0", "r", K.IMAD, 1),
        ("mad.lo.s64 %0, %1, %0, 7", "l", K.IMAD, 3),
        ("mul.hi.u64 %0, %1, %0", "l", K.IMAD, 4),
    ],
)
def test_inline_assembly_runs_the_instruction_that_it_names(instruction, constraint, kind, number):
    """As nvcc compiles them for sm_80."""
    type_ = {"f": "float", "d": "double", "r": "int", "l": "long long"}[constraint]
    assembly = f'asm volatile("{instruction};" : "+{constraint}"(v) : "{constraint}"(u));'

    def mix(times: int) -> dict[str, float]:
        body = f"{type_} u = a[0], v = a[1]; {assembly * times} a[2] = v;"
        return {kind.name: kind.number for kind in mix_of(body).per_thread}

    once, twice = mix(1), mix(2)
    more = {name: twice.get(name, 0) - once.get(name, 0) for name in twice}
    assert {name: value for name, value in more.items() if value} == {kind.value: number}


def test_a_branch_in_inline_assembly_is_told_unless_it_only_waits():
    loop = '"{ .reg .pred p; L%=: add.f32 %0, %0, %0; @p bra L%=; }" : "+f"(x)'
    wait = '"{ .reg .pred p; L%=: mbarrier.try_wait.shared.b64 p, [%0], 0; @!p bra L%=; }" :: "r"(n)'

    def is_whole(assembly: str) -> bool:
        text = f"__global__ void k(float *a, float x, int n) {{ asm volatile({assembly}); a[0] = x; }}"
        return kernel_of(text).body_is_complete

    assert not is_whole(loop)
    assert is_whole(wait)


@pytest.mark.parametrize(
    ("test", "loads"),
    [
        ("setp.lt.s32 p, %2, 8; @p", 0.25),
        ("setp.lt.s32 p, %2, 8; @!p", 0.75),
        ("setp.ne.b32 p, %3, 0; @p", 1.0),
        ("setp.lt.s32 p, %2, 8; mov.pred p, q; @p", 0.5),
        ("setp.lt.and.s32 p, %2, 8, q; @p", 0.5),
    ],
)
def test_guards_in_inline_assembly_are_followed_or_told(test: str, loads: float):
    body = 'int t = threadIdx.x; float v = 0; asm volatile("{ .reg .pred p, q; ' + test
    body += ' ld.global.f32 %0, [%1]; }" : "+f"(v) : "l"(b + t), "r"(t), "r"(n)); a[t] = v;'
    text = f"__global__ void k(float* a, float* b, int* c, int n, float x) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 0, 100, 1.0f); }}")
    assert total_counts(kernel, profile).global_load == loads
    assert lower_instructions(kernel, profile).number(K.LDG) == loads
    assert ("PW012" in {entry.rule for entry in profile.assumptions}) is (loads == 0.5)


@pytest.mark.parametrize("pair", ["__half2", "__nv_bfloat162"])
@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("__hfma2(h, h, g)", 1), ("__hfma2_relu(h, g, g)", 1), ("__hmul2(h, g)", 1), ("__hadd2(h, g)", 1),
        ("__hmax2(h, g)", 1), ("h * g", 1),
        ("__halves2PAIR(__hfma(h.x, g.x, g.x), __hmul(h.y, g.y))", 2),
    ],
)  # fmt: skip
def test_two_half_lanes_fill_one_instruction(pair: str, expression: str, number: float):
    expression = expression.replace("PAIR", pair.strip("_").removeprefix("nv_"))
    text = f"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k({pair}* p) {{"
    kernel, profile = launched(
        f"{text} {pair} h = p[0], g = p[1]; p[2] = {expression}; }} int main() {{ k<<<1, 32>>>(0); }}"
    )
    assert lower_instructions(kernel, profile).number(K.HFMA2) == number


@pytest.mark.parametrize(
    ("before", "body", "ffma", "fsetp", "branch"),
    [
        ("#include <cassert>", "{} assert(x < 1e30f);", 100, 1, 0),  # `@P0 EXIT`, then what fails
        ("#include <assert.h>", "{} assert(x < 1e30f); a[0] = 1.0f;", 100, 1, 3),  # BRA, BSSY and BSYNC
        ("", "assert(n > 3); {} a[0] = x;", 100, 0, 1),  # all threads alike: BRA
        ("#define NDEBUG\n#include <assert.h>", "{} assert(x < 1e30f); a[0] = 1.0f;", 0, 0, -101),  # no loop
        (
            "#define NDEBUG\n#include <cassert>\n#undef NDEBUG\n#include <cassert>",
            "{} assert(x < 1);",
            100,
            1,
            0,
        ),
    ],
)
def test_an_assertion_needs_its_condition(before: str, body: str, ffma: float, fsetp: float, branch: float):
    chain = "x *= threadIdx.x;\n#pragma unroll 1\nfor (int i = 0; i < n; i++) x = fmaf(x, x, 1.0f);"
    text = f"{before}\n__global__ void k(float* a, int n, float x) {{ {body.replace('{}', chain)} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 32>>>(0, 100, 1.0f); }}")
    mix = lower_instructions(kernel, profile)
    assert (mix.number(K.FFMA), mix.number(K.FSETP)) == (ffma, fsetp)
    assert mix.number(K.BRANCH) == 1 + (1 + 100) + branch  # EXIT, the loop's guard and its rounds


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("for (int j = 0; j < n; ++j) s += t[c[j]]; s += t[3] + t[5];", 100, 16),  # known from their stores
        ("for (int j = 0; j < n; ++j) { t[3] = b[j]; s += t[c[j]] + t[3]; }", 100, 16 + 100),
        ("for (int j = 0; j < n; ++j) t[c[j]] += t[3];", 200, 16 + 100),
        ("for (int j = 0; j < n; ++j) { t[c[j]] = x; t[5] = j; s += t[3] + t[4] + t[5]; }", 200, 16 + 200),
        ("for (int j = 0; j < n; ++j) t[c[j]] += b[j]; for (int k = 0; k < 64; ++k) s += t[k];", 116, 116),
    ],
)
def test_a_load_at_a_constant_index_is_made_where_a_store_may_have_changed_it(body, loads, stores):
    """Truth: SASS of nvcc 13 for sm_80; LDL.128 and STL.128 where 64 elements are accessed in order."""
    fill = "float s = 0, t[64]; for (int k = 0; k < 64; ++k) t[k] = b[k];"
    mix = mix_of(f"{fill} {body} a[0] = s; a[1] = t[c[n]];")
    assert (mix.number(K.LDL), mix.number(K.STL)) == (loads + 1, stores)


DEAD = [
    ("float s = 0; for (int k = 0; k < n; ++k) s += b[k] * b[k];", 0),
    ("float s = 0; for (int k = 0; k < n; ++k) { s += b[k]; if (b[k] < 0) break; }", 0),
    ("float s = 0; for (int k = n; k != 1; k = k & 1 ? 3 * k + 1 : k / 2) s += b[k];", 0),
    ("float s = 0; if (b[n] > 0) { for (int k = 0; k < n; ++k) s += b[k]; } else s = b[n + 1];", 0),
    ("float s = 0; for (int j = 0; j < n; ++j) for (int k = 0; k < j; ++k) s += b[k * n + j];", 0),
    ("float t[8]; for (int k = 0; k < n; ++k) t[k & 7] = b[k];", 0),
    ("float s = 0; for (int k = 0; k < n; ++k) s += f(b[k]); s = 2;", 0),
    ("float s = 0; for (int k = 0; k < n; ++k) { if (b[k] < 0) continue; s += 1; }", 0),
    ("switch (n) { case 1: x = b[0]; break; default: x = b[1]; }", 0),
    ("float s = 0; for (int k = 0; k < n; ++k) s += b[k]; x = s;", 0),
    # what somebody sees
    ("for (int k = 0; k < n; ++k) if (b[k] < 0) return;", 100),
    ("float s = 0; for (int k = 0; k < n; ++k) { s += b[k]; if (s > 7) break; a[k + 1] = 2; }", 100),
    ("for (int k = 0; k < n; ++k) { if (b[k] < 0) continue; a[k + 1] = 2; }", 100),
    ("for (int k = 0; k < n; ++k) switch (c[k]) { case 1: continue; default: a[k + 1] = 2; }", 100),
    ("volatile float* v = b; for (int k = 0; k < n; ++k) v[k];", 100),
    ("int m = 0; for (int k = 0; k < n; ++k) { if (b[k] > 0) ++m; } a[1] = m;", 100),
    ("int m = 0; for (int k = 0; k < n; ++k) { if (b[k] > 0) break; ++m; } a[1] = m;", 100),
    ("a[1] = first(b, n);", 100),
    ("for (int k = 0; k < n; ++k) a[1] = f(b[k]);", 100),
]
"""Loops over 100 loads, with what is left of these. Truth: SASS of nvcc 13 for sm_80."""


@pytest.mark.parametrize(("body", "loads"), DEAD)
def test_what_nobody_sees_is_not_done_nor_decided(body: str, loads: float):
    text = f"""__device__ float f(float v) {{ if (v < 0) return 1; return v; }}
    __device__ int first(const float* b, int n) {{
      for (int k = 0; k < n; ++k) if (b[k] < 0) return k;
      return -1;
    }}
    __global__ void k(float* a, float* b, int* c, int n, float x) {{ {body} a[0] = 1; }}"""
    kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0, 0, 100, 1.0f); }}")
    mix = lower_instructions(kernel, profile)
    assert mix.number(K.LDG) == pytest.approx(loads, abs=1)
    if not loads:
        assert (mix.number(K.STG), mix.number(K.BRANCH)) == (1, 1)  # EXIT
        assert mix.number(K.ISETP) + mix.number(K.FSETP) == 0


@pytest.mark.parametrize(("first", "then"), [("q[3]", "o[0]"), ("o[3]", "q[0]")])
def test_a_store_hides_what_a_pointer_may_point_to(first: str, then: str):
    """Two reads with a store in between; q is one of two pointers. Truth: SASS of nvcc 13 for sm_80."""
    text = f"""__global__ void k(float* p1, float* p2, float* o, int n) {{
      float* q = n ? p1 : p2;
      float a = {first};
      {then} = 1.0f;
      o[1] = a + {first};
    }}"""
    kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0, 0, 1); }}")
    assert lower_instructions(kernel, profile).number(K.LDG) == 2


SUMS = [
    ("float* o, const float* a", "o[i] += a[k * 64 + i];", 101, 100),
    ("float* o, const int* a", "o[i] += a[k];", 101, 100),  # types do not keep pointers apart
    ("float* __restrict__ o, const float* a", "o[i] += a[k];", 101, 1),
    ("float* o, const float* __restrict__ a", "o[i] += a[k];", 101, 1),
    ("float* __restrict__ o, const float* a", "o[i] = o[i] + a[k];", 101, 1),
    ("float* __restrict__ o, const float* a", "float* p = o + i; *p += a[k];", 101, 1),
    ("float* __restrict__ o, const float* a", "o[i] += a[k]; if (o[i] > 5) o[i] = 0;", 101, 1),
    ("float* __restrict__ o, const float* a", "for (int j = 0; j < n; ++j) o[i] += a[j];", 100 * 100 + 1, 1),
    ("float* __restrict__ o, const float* a", "o[i] += a[k]; __syncthreads();", 101, 1),
    ("float* __restrict__ o, const float* a", "o[i] = 2 * a[k];", 100, 1),
    ("float* o, const float* a", "o[i] = 2 * a[k];", 100, 100),
    ("float* o, const float* a", "o[i] += k;", 1, 1),
    ("float* o, const float* a", "o[i] += k; __syncthreads();", 100, 100),
    ("float* o, float* a", "o[i] += k; atomicAdd(a, 1.0f);", 100, 100),
    ("float* __restrict__ o, float* a", "o[i] += k; atomicAdd(a, 1.0f);", 1, 1),
    ("float* __restrict__ o, const float* a", "if (a[k] < 0) break; o[i] += a[k];", 200, 100),
    ("float* __restrict__ o, const float* a", "if (k & 1) o[i] += a[k];", 100, 50),
    ("float* __restrict__ o, const float* a", "o[i] += o[k];", 101, 100),
    ("float* o, const float* a", "o[i] += a[k]; o[i + 64] -= a[k];", 202, 200),
    ("float* o, const float* a", "g[i] += a[k];", 101, 100),
    ("float* o, const float* __restrict__ a", "g[i] += a[k];", 101, 1),
    ("float* __restrict__ o, const float* a", "o[k] = a[i];", 1, 100),
    ("float* o, const float* a", "o[k] = a[i];", 100, 100),
    (
        "float* __restrict__ o, const float* a",
        "float* p = k & 1 ? o : (float*)a; float x = *p; o[i] = k; g[k] = x + *p;",
        200,
        200,
    ),
]
"""What a loop of 100 iterations loads and stores. Truth: SASS of nvcc 13 for sm_80."""


@pytest.mark.parametrize(("parameters", "body", "loads", "stores"), SUMS)
def test_a_sum_in_memory_is_kept_in_a_register_where_nothing_may_overlap_it(parameters, body, loads, stores):
    text = f"""__device__ float g[64]; __global__ void k({parameters}, int n) {{
      int i = threadIdx.x;
      for (int k = 0; k < n; ++k) {{ {body} }}
    }}"""
    mix = lower_instructions(*launched(f"{text} int main() {{ k<<<1, 32>>>(0, 0, 100); }}"))
    assert (mix.number(K.LDG), mix.number(K.STG)) == (loads, stores)


@pytest.mark.parametrize(
    ("value", "is_assembly"),
    [
        ("a[k]", False),
        ("__vadd2(c[k], 3)", False),
        ("__ldg(a + k)", True),
        ("__ldcg(a + k)", True),
        ("by_hand(a + k)", True),
        ("__dp4a(c[k], 5, 3)", True),
        ("__funnelshift_l(c[k], 5, 3)", True),
        ("__match_any_sync(~0u, c[k])", True),
        ("__reduce_add_sync(~0u, c[k])", True),
        ("__half2float(h[k])", True),
        ("__half2float(__hadd(h[k], h[k]))", True),
    ],
)
@pytest.mark.parametrize(
    ("loop", "rounds"),
    [
        ("\n#pragma unroll 1\nfor (int k = 0; k < n; ++k)", 96),
        ("for (int k = 0; k < n; ++k)", 6),  # 16 copies share one load and one store
        ("for (int k = 0; k < 8; ++k)", 1),  # no loop is left
        (
            "\n#pragma unroll 1\nfor (int j = 0; j < 3; ++j)\n#pragma unroll 1\nfor (int k = 0; k < n; ++k)",
            288,
        ),
        ("\n#pragma unroll\nfor (int j = 0; j < 3; ++j)\n#pragma unroll 1\nfor (int k = 0; k < n; ++k)", 288),
    ],
)
def test_inline_assembly_keeps_the_stores_of_a_sum_in_their_loop(value, is_assembly, loop, rounds):
    """One load and one store a round: SASS of nvcc 13 for sm_80 (lanes that exchange: 4 copies)."""
    copies = 4 if "match" in value or "reduce" in value else 16
    text = f"""#include <cuda_fp16.h>
    __device__ float by_hand(const float* p) {{
      float v;
      asm("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
      return v;
    }}
    __global__ void k(float* __restrict__ o, const float* __restrict__ a, const int* __restrict__ c,
                      const __half* __restrict__ h, int n) {{
      int i = threadIdx.x;
      {loop} o[i] += {value};
    }}
    int main() {{ k<<<1, 32>>>(0, 0, 0, 0, 96); }}"""
    mix = lower_instructions(*launched(text))
    expected = (96 / copies if rounds == 6 else rounds) if is_assembly else 1
    assert mix.number(K.STG) == expected
    others = 8 if "8" in loop else rounds if rounds != 6 else 96
    assert mix.number(K.LDG) == others + expected


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        ("s[i] += a[k];", 1, 1),
        ("s[i] += a[k]; __syncthreads();", 100, 100),
        ("s[i] += t[k & 31];", 1 + 100, 1),
        ("t[k & 31] = s[5];", 1, 100),
        ("d[k] = d[5];", 100, 100),
        ("s[i] += 1; __syncwarp();", 100, 100),
    ],
)
def test_a_sum_in_shared_memory_is_kept_as_far_as_nobody_waits_for_it(body, loads, stores):
    text = f"""__global__ void k(float* a, int n) {{
      __shared__ float s[32], t[32]; extern __shared__ float d[]; int i = threadIdx.x;
      for (int k = 0; k < n; ++k) {{ {body} }}
      __syncthreads(); a[i] = s[31 - i] + t[i];
    }}"""
    mix = lower_instructions(*launched(f"{text} int main() {{ k<<<1, 32>>>(0, 100); }}"))
    assert (mix.number(K.LDS), mix.number(K.STS)) == (loads + 2, stores)


def test_a_store_blocks_sharing_of_loads_but_not_of_the_stored_object():
    assert mix_of("a[0] = b[0]; a[1] = b[0];").number(K.LDG) == 2
    assert mix_of("a[0] = x; a[1] = a[0];").number(K.LDG) == 0


def test_invariant_arithmetic_leaves_the_loop():
    mix = mix_of("for (int i = 0; i < n; i++) a[i] = x * x * (x + 1.0f);")
    assert (mix.number(K.FMUL), mix.number(K.FADD)) == (2, 1)
    assert mix.number(K.STG) == 100


def test_a_short_loop_of_constant_bounds_leaves_no_overhead():
    mix = mix_of("float s = 0.0f; for (int i = 0; i < 8; i++) s += b[i]; a[0] = s;")
    assert mix.number(K.BRANCH) == 1  # EXIT
    assert (mix.number(K.FADD), mix.number(K.LDG), mix.number(K.ISETP)) == (8, 8, 0)


def test_a_loop_of_unknown_bound_pays_once_per_round():
    mix = mix_of("float s = 0.0f; for (int i = 0; i < n; i++) s += b[i * n]; a[0] = s;")
    assert mix.number(K.BRANCH) == pytest.approx(1 + 6 + 1 + 3)  # six rounds of sixteen copies, one of four
    for index in ("i * n + threadIdx.x", "i * 64 + t"):  # unsigned sums may wrap; sums of scaled counters
        body = f"int t = n; float s = 0.0f; for (int i = 0; i < n; i++) s += b[{index}]; a[0] = s;"
        assert mix_of(body).number(K.BRANCH) == pytest.approx(1 + 100 / 4 + 3)


def test_unroll_one_keeps_the_loop():
    body = "float s = 0.0f;\n#pragma unroll 1\nfor (int i = 0; i < 8; i++) s += b[i]; a[0] = s;"
    assert mix_of(body).number(K.BRANCH) == 1 + 8 + 1


def test_accumulating_in_memory_loads_once_and_stores_each_time():
    mix = mix_of("for (int i = 0; i < n; i++) a[0] += b[i];")
    assert (mix.number(K.LDG), mix.number(K.STG)) == (101, 100)


def test_neighbouring_shared_loads_merge():
    body = "__shared__ float s[32][32]; s[threadIdx.x][0] = x; __syncthreads(); float t = 0.0f;"
    body += "for (int i = 0; i < 32; i++) t += s[threadIdx.x][i]; a[threadIdx.x] = t;"
    assert mix_of(body).number(K.LDS) == 8


def test_short_arms_are_predicated_and_every_thread_exits_once():
    assert mix_of("if (b[0] > x) a[0] = x; a[1] = x;").number(K.BRANCH) == 1
    assert mix_of("if (n > 3) return; a[0] = x;").number(K.BRANCH) == 1


def test_division_and_functions_come_from_the_measured_table():
    division, exponential = measured("div.fp32"), measured("expf")
    assert division is not None
    assert exponential is not None
    assert mix_of("a[0] = x / b[0];").number(K.FFMA) == dict(division)[K.FFMA]
    assert mix_of("a[0] = expf(b[0]);").number(K.FFMA) == dict(exponential)[K.FFMA]
    assert mix_of("a[0] = b[0] / 2.0f;").number(K.FMUL) == 1


@pytest.mark.parametrize(
    ("fence", "number"), [("__threadfence_block", 1), ("__threadfence", 3), ("__threadfence_system", 3)]
)
def test_fences_take_instructions(fence: str, number: float):
    """MEMBAR; beyond the block also ERRBAR and CCTL (SASS of nvcc 13, sm_80)."""
    mix = mix_of(f"a[threadIdx.x] = 1; {fence}(); b[threadIdx.x] = 2;")
    assert (mix.number(K.OTHER), mix.number(K.STG)) == (number, 2)


@pytest.mark.parametrize(
    ("index", "accesses"),
    [
        ("n & 7", 1),  # one place: loaded in front of the loops, stored behind them
        ("(j + n) & 7", 100 * 8),  # eight places, unknown until the kernel runs
        ("(j + r) & 7", 100 * 8),
    ],
)
def test_an_array_that_an_inner_loop_walks_through_stays_in_memory(index: str, accesses: float):
    loops = "for (int r = 0; r < n; r++) for (int j = 0; j < 8; j++)"
    mix = mix_of(f"float own[8]; own[0] = x; {loops} own[{index}] += x; a[threadIdx.x] = own[n & 3];")
    assert mix.number(K.STL) - 1 == accesses
    assert mix.number(K.LDL) - 1 == accesses


def test_integer_division_by_a_power_of_two_is_a_shift():
    assert mix_of("c[0] = (unsigned)c[1] / 8u;").number(K.SHF) == 1


def test_every_element_of_a_register_array_is_computed():
    mix = mix_of(
        "float s[8][8];"
        "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) s[i][j] = b[8 * i + j];"
        "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) a[8 * i + j] = s[i][j] * x;"
    )
    assert mix.number(K.FMUL) == 64


def test_warps_issue_what_any_lane_executes():
    kernel, profile = launched(
        "__global__ void k(float* a) { if (threadIdx.x == 0) a[0] = 1.0f; }\nint main() { k<<<1, 64>>>(0); }"
    )
    mix = lower_instructions(kernel, profile)
    issued = {count.name: count.number for count in mix.per_warp}
    assert mix.number(K.STG) == pytest.approx(1 / 64)
    assert issued["stg"] == pytest.approx(1 / 2)


def test_a_record_assigned_in_a_loop_changes_every_member_that_was_assigned_before():
    """Two look-ups a round, each with the member that the round before left."""
    mix = mix_of(
        "__shared__ int t[256]; t[threadIdx.x] = n; __syncthreads();"
        "int2 s = make_int2(c[0], c[1]); s.x ^= 5;"
        "for (int r = 0; r < 9; ++r) s = make_int2(t[s.x & 255], t[s.y & 255]);"
        "c[0] = s.x; c[1] = s.y;"
    )
    assert (mix.number(K.LDS), mix.number(K.LOP)) == (18, 1 + 18)


def test_a_member_that_a_loop_does_not_assign_stays_what_it_was():
    mix = mix_of(
        "int2 s = make_int2(c[0], c[1]); s.y ^= 5;"
        "for (int r = 0; r < 9; ++r) s.x ^= (s.y & 255) + r;"
        "c[0] = s.x;"
    )
    assert mix.number(K.LOP) == 2 + 9  # (y ^ 5) & 255, of two immediates, is taken once


def test_tests_of_unrolled_copies_that_an_outer_loop_does_not_change_run_once():
    """u + d < n for each of three copies before the loop over r, which tests at its entry and every round.

    The loop over d unrolled, that over r becomes an innermost one and runs four iterations a round.
    """
    mix = mix_of(
        "int u = c[0]; float s = 0.0f;"
        "for (int r = 0; r < n; ++r)\n#pragma unroll\n"
        "for (int d = 0; d < 3; ++d) if (u + d < n) s += b[r * 4 + d]; a[0] = s;"
    )
    assert mix.number(K.ISETP) == 3 + 4 + 101 / 4


def test_what_one_of_two_unrolled_loops_does_not_change_is_computed_once_for_its_copies():
    mix = mix_of(
        "float s[4]; for (int i = 0; i < 4; ++i) s[i] = 0.0f;"
        "\n#pragma unroll\nfor (int i = 0; i < 4; ++i)\n#pragma unroll\n"
        "for (int j = 0; j < 5; ++j) s[i] += b[16 * i] * (b[64 * j] - x);"
        "for (int i = 0; i < 4; ++i) a[i] = s[i];"
    )
    assert (mix.number(K.LDG), mix.number(K.FADD), mix.number(K.FFMA)) == (4 + 4, 5, 20)  # b[0] is both


@pytest.mark.parametrize(
    ("loop", "loads"),
    [
        ("for (int i = 1; i <= n; ++i) s += b[i - 1] * b[i] + b[i + 1];", 100),  # handed on to the next
        ("for (int i = 0; i < 2 * n; i += 2) s += b[i] * b[i + 1] + b[i + 2];", 200),
        ("for (int i = 0; i < n; ++i) s += b[t + i] * b[t + i + 1];", 100 * 17 / 16),
        ("for (int i = 0; i < n; ++i) s += b[i * 64 + t] - b[i * 64 - 64 + t];", 100 * 5 / 4),
        ("for (int i = 0; i < 8; ++i) s += b[t + i] * b[t + i + 1] + b[t + i + 3];", 11),
        ("for (int i = 0; i < n; ++i) for (int j = 0; j < 5; ++j) s += b[i + j] * b[j];", 100 + 5),
        ("for (int i = 0; i < n; ++i) s += b[i * m + t] * b[(i + 1) * m + t];", 100 * 5 / 4),
        ("for (int i = 0; i < n; ++i) { int j = i * m + t; s += b[j] * b[j - m]; }", 100 * 5 / 4),
        ("for (int i = 0; i < n; ++i) { int j = i * m + t; s += b[j] * b[j + m]; }", 200),  # not seen
        ("for (int i = 0, j = t; i < n; ++i, j += m) s += b[j] * b[j + m];", 100),
        ("for (int i = 0; i < 9; ++i) s += b[t + i] * i; for (int i = 2; i < 11; ++i) s *= b[t + i];", 11),
        ("for (int i = t; i < n * 64; i += 64) s += b[i] * b[i + 1];", 200),  # 64 apart: none in common
    ],
)
def test_an_address_is_loaded_once_for_all_copies_of_a_loop(loop: str, loads: float):
    """SASS of nvcc 13."""
    mix = mix_of(f"int t = threadIdx.x, m = blockDim.x; float s = 0.0f; {loop} a[t] = s;")
    assert mix.number(K.LDG) == pytest.approx(loads, rel=0.01)


def test_what_is_stored_between_copies_is_loaded_in_each():
    mix = mix_of("for (int i = 1; i < n; ++i) a[i] = b[i - 1] + b[i];")
    assert mix.number(K.LDG) == 2 * 99


def test_planes_of_a_field_are_a_known_distance_apart():
    """n * n once, then one IMAD.WIDE for each address."""
    mix = mix_of(
        "float f[9], s = 0.0f; int i = threadIdx.x;"
        "for (int q = 0; q < 9; ++q) s += b[q * n * n + i]; a[i] = s;"
    )
    assert mix.number(K.IMAD) == 1 + 1 + 9 + 1  # and the first address, and that of a


@pytest.mark.parametrize(
    ("type_", "operation", "cost"),
    [
        ("float", "atomicAdd(&s[c[0]], 1)", (1, 1, 3)),  # LDS, FADD, ATOMS.CAS, ISETP, BRA, BSSY, BSYNC
        ("double", "atomicAdd(&s[c[0]], 1)", (1, 2, 3)),
        ("unsigned long long", "atomicMax(&s[c[0]], 1)", (1, 2, 3)),
        ("int", "atomicAdd(&s[c[0]], 1)", (0, 0, 0)),
        ("float", "atomicExch(&s[c[0]], 1)", (0, 0, 0)),
        ("float", "atomicAdd(a, 1)", (0, 0, 0)),  # global memory adds by itself
    ],
)
def test_shared_memory_adds_integers_and_loops_over_anything_else(
    type_: str, operation: str, cost: tuple[int, int, int]
):
    mix = mix_of(f"__shared__ {type_} s[32]; {operation};")
    assert mix.number(K.ATOM) == 1
    assert (mix.number(K.LDS), mix.number(K.ISETP), mix.number(K.BRANCH) - 1) == cost


_ROT = "auto rot = [](unsigned x, int bits) { return x >> bits | x << (32 - bits); };"


@pytest.mark.parametrize(
    ("value", "shf", "lop"),
    [
        ("u >> 7 | u << 25", 1, 0),
        ("(u >> 7) + (v << 25)", 1, 0),  # a funnel shift
        ("u >> n ^ u << (32 - n)", 1, 0),
        ("rot(u, 7) ^ rot(u, 18) ^ u >> 3", 3, 1),
        ("u >> 7 | u << 24", 1, 1),  # and an LEA for the other shift
        ("(int)u >> 7 | u << 25", 1, 1),
    ],
)
def test_shifts_that_fill_a_word_are_one_instruction(value: str, shf: int, lop: int):
    mix = mix_of(f"{_ROT} unsigned u = c[0], v = c[1]; c[2] = {value};")
    assert (mix.number(K.SHF), mix.number(K.LOP)) == (shf, lop)


@pytest.mark.parametrize(
    ("value", "lop"),
    [
        ("(u & v) ^ (u & w) ^ (v & w)", 1),
        ("(u & v) ^ (~u & w)", 1),
        ("(u & v | w) ^ (u | v)", 1),
        ("(u & 255) ^ v", 1),
        ("(u & 255) ^ v ^ w", 2),
        ("u ^ v ^ w ^ n", 2),
        ("(u & v) | (w & n) | c[3]", 3),
        ("u ^ v ^ w ^ n ^ c[3] ^ c[4] ^ c[5]", 3),
        ("(c[4] = u & v) ^ w", 2),  # the conjunction is stored as well
    ],
)
def test_one_lop3_computes_any_function_of_three_inputs(value: str, lop: int):
    assert mix_of(f"unsigned u = c[0], v = c[1], w = c[2]; c[6] = {value};").number(K.LOP) == lop


@pytest.mark.parametrize(
    ("body", "kind", "number"),
    [
        ("float s, t; __sincosf(b[0], &s, &t); a[0] = s * t;", K.MUFU, 2),
        ("__sincosf(b[0], a, a + 1);", K.STG, 2),
        ("float s, t; __sincosf(b[0] * x, &s, &t); a[0] = x;", K.FMUL, 0),  # dead, with what feeds it
        ("float s, t; sincospif(b[0] / x, &s, &t); a[0] = t;", K.MUFU, 1),  # the division behind the results
        ("float w, f = modff(b[0], &w); a[0] = f * w;", K.FADD, 1),
        ("int e; float f = frexpf(b[0], &e); a[0] = f; c[0] = e;", K.FSETP, 4),
        ("int e; a[0] = remquof(b[0], x, &e) * e;", K.LDG, 1),
    ],
)
def test_results_left_through_pointers_depend_on_the_call(body: str, kind: K, number: int):
    assert mix_of(body).number(kind) == number


@pytest.mark.parametrize(
    "body",
    [
        "__half2 h = ((__half2*)b)[0]; a[0] = __cosf(__low2float(h)) + __cosf(__high2float(h));",
        "__half2 h = *(__half2*)b; *(__half*)a = __hmul(hsqrt(__low2half(h)), hsqrt(__high2half(h)));",
        "((__half2*)a)[0] = __floats2half2_rn(__cosf(b[0]), __cosf(b[1]));",
        "((__half2*)a)[0] = __halves2half2(__float2half(__cosf(b[0])), __float2half(__cosf(b[1])));",
        "((double*)a)[0] = __hiloint2double(__float_as_int(__cosf(b[0])), __float_as_int(__cosf(b[1])));",
        "double d = ((double*)b)[0]; a[0] = __cosf(__double2hiint(d)) + __cosf(__double2loint(d));",
        "float2 f = ((float2*)b)[0]; f = make_float2(f.y, f.x); a[0] = __cosf(f.x) * __cosf(f.y);",
    ],
)
def test_parts_of_a_packed_value_are_told_apart(body: str):
    assert mix_of(body).number(K.MUFU) == 2


def test_a_profile_of_another_kernel_is_refused():
    kernel = kernel_of("__global__ void k(float* a) { a[0] = 1.0f; }")
    other = kernel_of("__global__ void k(float* a, int n) { if (n) a[0] = 1.0f; else a[1] = 2.0f; }")
    with pytest.raises(ValueError, match="thread counts"):
        lower_instructions(kernel, flat_profile(other))


@pytest.mark.parametrize(
    ("opcode", "operands", "kind"),
    [
        ("IMAD.MOV.U32", "R1, RZ, RZ, c[0x0][0x28]", K.MOV),
        ("IMAD.WIDE", "R2, R4, R5, c[0x0][0x160]", K.IMAD),
        ("HFMA2.MMA", "R5, -RZ, RZ, 0, 0", K.MOV),
        ("LDG.E.CONSTANT", "R4, [R4.64]", K.LDG),
        ("F2F.F64.F32", "R2, R2", K.WIDE_CONVERSION),
        ("I2F.S64", "R7, R2", K.WIDE_CONVERSION),
        ("F2F.F16.F32", "R2, R2", K.CONVERSION),
        ("NOP", "", None),
    ],
)
def test_kinds_of_sass(opcode: str, operands: str, kind: K | None):
    assert kind_of_sass(opcode, operands) is kind


def test_the_same_kernel_always_lowers_to_the_same_instructions():
    """Values are told apart by themselves, never by addresses that a later object may get again."""
    kernel, profile = launched("""
        __global__ void k(const float* a, float* out, int n, float x) {
          float s[8][8] = {};
          for (int i = 0; i < n; ++i)
            for (int u = 0; u < 8; ++u)
              for (int j = 0; j < 8; ++j) s[u][j] += a[i * 8 + j];
          for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 8; j += 4) {
              float4 r;
              r.x = s[i][j + 0] * x; r.y = s[i][j + 1] * x; r.z = s[i][j + 2] * x; r.w = s[i][j + 3] * x;
              *reinterpret_cast<float4*>(out + i * n + j) = r;
            }
        }
        int main() { k<<<16, dim3(16, 16)>>>(0, 0, 512, 0.5f); }""")
    litter: list[list[object]] = []  # so that the runs find different free addresses
    found: set[str] = set()
    for run in range(100):
        found.add(str(lower_instructions(kernel, profile).per_thread))
        litter.append([object() for _ in range(37 * run % 501)])
    assert len(found) == 1


@pytest.mark.parametrize(
    ("condition", "lop", "isetp"),
    [
        ("n & 4", 1, 0),  # the LOP3 writes the predicate
        ("(n & c[1]) == 0", 1, 0),
        ("n & 1", 1, 1),
        ("threadIdx.x % 32 == 0", 1, 0),
        ("n", 0, 1),
    ],
)
def test_a_lop3_tests_what_it_leaves(condition: str, lop: int, isetp: int):
    mix = mix_of(f"if ({condition}) a[0] = x;")
    assert (mix.number(K.LOP), mix.number(K.ISETP)) == (lop, isetp)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < 16; i++, d >>= 1) if (d & 1) x += b[i];",
        "for (int i = 0; i < 16; i++) { if (d & 1) x += b[i]; d >>= 1; }",
        "for (int i = 0; i < 16; i++) if (d >> i & 1) x += b[i];",
        "for (int i = 0; i < 16; i++) if (d & 1 << i) x += b[i];",
    ],
)
def test_copies_that_test_a_bit_each_share_r2p(loop: str):
    mix = mix_of(f"int d = c[0]; {loop} a[0] = x;")
    assert [mix.number(kind) for kind in (K.OTHER, K.LOP, K.ISETP, K.SHF)] == [2, 2, 2, 0]


def test_bits_that_something_else_needs_too_are_shifted_down():
    mix = mix_of("int d = c[0]; for (int i = 0; i < 8; i++) { if (d & 1) x += b[i]; c[i] = d; d >>= 1; }")
    assert mix.number(K.SHF) == 8


def test_a_constant_where_a_bit_is_set_is_a_mask():
    mix = mix_of("for (int i = 0; i < 8; i++) n = n << 3 ^ (n & 2 ? 0x1234 : 0); c[0] = n;")
    assert (mix.number(K.LOP), mix.number(K.SHF), mix.number(K.ISETP)) == (8, 16, 0)


def test_powers_of_two_that_copies_divide_by_are_shifts_and_masks():
    body = "int t = threadIdx.x; for (int s = 1; s < 64; s *= 2) { c[t / s] = t % s; __syncthreads(); }"
    mix = mix_of(body)
    assert (mix.number(K.SHF), mix.number(K.LOP), mix.number(K.MUFU)) == (6, 6, 0)


@pytest.mark.slow
def test_a_product_of_matrix_tiles_is_no_shuffle():
    path = next(path for path in CORPUS if path.stem == "gemm_tensor")
    launch = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("a100"))[0]
    mix = lower_instructions(launch.kernel, count(launch))
    assert mix.number(K.HMMA) == 2 * total_counts(launch.kernel, count(launch)).tensor  # HMMA.16816
    assert mix.number(K.SHFL) == 0


TRIANGLE = "float s = 0.0f; {outer}for (int i = 0; i < {n}; i++) for (int j = {bounds}; j++) {body} a[n] = s;"
LIGHT, HEAVY = (
    "s += b[i * 8 + j + n];",
    "{ float y = b[i * 8 + j + n]; s = s * y + 2; s = s * y + 3; s = s * y + 4; }",
)


@pytest.mark.parametrize(
    ("n", "bounds", "body", "outer", "is_unrolled"),
    [  # as nvcc 13 has it for sm_80: branches in the PTX of each
        (6, "0; j <= i", LIGHT, "", True),
        (7, "0; j <= i", LIGHT, "", False),
        (6, "i + 1; j < 6", LIGHT, "", True),
        (64, "0; j <= i", LIGHT, "", False),
        (64, "0; j <= i", LIGHT, "\n#pragma unroll\n", True),
        (3, "0; j <= i", HEAVY, "", True),
        (5, "0; j <= i", HEAVY, "", False),
        (8, "0; j < 8", LIGHT, "", True),
        (64, "0; j < 64", LIGHT, "", False),
    ],
)
def test_a_nest_is_unrolled_with_the_copies_inside(n, bounds, body, outer, is_unrolled):
    mix = mix_of(TRIANGLE.format(n=n, bounds=bounds, body=body, outer=outer))
    assert (mix.number(K.BRANCH) == 1) is is_unrolled


def test_a_triangle_whose_inner_loop_halves_its_counter_is_unrolled():
    """The nest of a bitonic sort of 1024 keys: 55 steps, all in one stretch of code."""
    step = "__syncthreads(); int o = t ^ stride; s[t] = s[t] + s[o];"
    nest = (
        f"for (int w = 2; w <= 1024; w *= 2) for (int stride = w / 2; stride > 0; stride /= 2) {{ {step} }}"
    )
    mix = mix_of(f"__shared__ float s[1024]; int t = threadIdx.x; s[t] = b[t]; {nest} a[t] = s[t];")
    assert (mix.number(K.BAR), mix.number(K.BRANCH)) == (55, 1)


def test_a_triangle_over_an_array_of_the_thread_is_unrolled():
    fill = "float r[16]; for (int i = 0; i < 16; i++) r[i] = b[i * 32 + n];"
    triangle = "for (int i = 0; i < 16; i++) for (int j = 0; j < i; j++) r[i] -= r[j] * b[i * 16 + j];"
    mix = mix_of(f"{fill} {triangle} float s = 0; for (int i = 0; i < 16; i++) s += r[i]; a[n] = s;")
    assert (mix.number(K.BRANCH), mix.number(K.FFMA), mix.number(K.LDL)) == (1, 120, 0)


def test_a_loop_around_an_unrolled_one_runs_several_iterations_a_round():
    nest = (
        "float s = 0; for (int i = 0; i < 64; i++) for (int j = 0; j < 8; j++) s += b[i * 8 + j]; a[n] = s;"
    )
    assert 16 <= mix_of(nest).number(K.BRANCH) <= 18  # four iterations of the outer loop are one round


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("s += d[j * 32];", "s = (float)((double)s + d[j * 32]);"),
        ("s += b[j * 32] * 0.5;", "s = (float)((double)s + (double)b[j * 32] * 0.5);"),
        ("m += b[j * 32];", "m = (int)((float)m + b[j * 32]);"),
        ("a[j] += d[j * 32];", "a[j] = (float)((double)a[j] + d[j * 32]);"),
    ],
)
def test_a_compound_assignment_converts_as_it_does_written_out(written: str, plain: str):
    """SASS of nvcc 13 has F2F.F64.F32 and F2F.F32.F64 around each DADD of `s += d[i]`."""
    head = "double* d = (double*)b; float s = 0; int m = 0;"
    one, other = (
        mix_of(f"{head} for (int j = 0; j < n; j++) {{ {body} }} a[threadIdx.x] = s; c[threadIdx.x] = m;")
        for body in (written, plain)
    )
    for kind in K:
        assert one.number(kind) == pytest.approx(other.number(kind)), kind
    assert one.number(K.WIDE_CONVERSION) + one.number(K.CONVERSION) + one.number(K.INT_TO_FLOAT) > 100


def test_a_product_of_bits_runs_on_the_tensor_cores():
    """`bmma_sync` is one BMMA, no shuffle; of bits each thread holds a word, here of both tiles."""
    kernel, profile = launched(
        "#include <mma.h>\nusing namespace nvcuda;\n"
        "__global__ void k(int* out, const unsigned* a) {\n"
        "  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> x;\n"
        "  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> y;\n"
        "  wmma::fragment<wmma::accumulator, 8, 8, 128, int> c;\n"
        "  wmma::fill_fragment(c, 0); wmma::load_matrix_sync(x, a, 128); wmma::load_matrix_sync(y, a, 128);\n"
        "  for (int i = 0; i < 8; ++i) wmma::bmma_sync(c, x, y, c);\n"
        "  wmma::store_matrix_sync(out, c, 8, wmma::mem_row_major);\n"
        "}\nint main() { k<<<1, 32>>>(0, 0); }\n"
    )
    mix = lower_instructions(kernel, profile)
    assert (mix.number(K.HMMA), mix.number(K.SHFL), mix.number(K.LDG)) == (8, 0, 1)


@pytest.mark.parametrize(
    ("a", "sums", "m", "n", "k", "hmma"),
    [  # SASS of nvcc 13 for sm_80
        ("half", "float", 16, 16, 16, 2),
        ("half", "half", 32, 8, 16, 2),
        ("__nv_bfloat16", "float", 16, 16, 16, 2),
        ("signed char", "int", 16, 16, 16, 2),
        ("unsigned char", "int", 8, 32, 16, 2),
        ("precision::tf32", "float", 16, 16, 8, 4),
        ("double", "double", 8, 8, 4, 1),
        ("experimental::precision::s4", "int", 8, 8, 32, 1),
    ],
)
def test_a_product_of_fragments_has_the_instructions_of_its_shape(a, sums, m, n, k, hmma):
    kernel, profile = launched(
        "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda::wmma;\n"
        f"__global__ void k({sums}* out) {{\n"
        f"  fragment<matrix_a, {m}, {n}, {k}, {a}, row_major> x;\n"
        f"  fragment<matrix_b, {m}, {n}, {k}, {a}, col_major> y;\n"
        f"  fragment<accumulator, {m}, {n}, {k}, {sums}> c;\n"
        "  mma_sync(c, x, y, c); store_matrix_sync(out, c, 64, mem_row_major);\n"
        "}\nint main() { k<<<1, 32>>>(0); }\n"
    )
    assert lower_instructions(kernel, profile).number(K.HMMA) == hmma
    times = {"signed char": 1 / 2, "unsigned char": 1 / 2, "precision::tf32": 2, "double": 16}
    unit = times.get(a, 1 / 4 if a.endswith("s4") else 1)
    assert total_counts(kernel, profile).tensor == m * n * k * unit / 4096


TILES = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda::wmma;
__global__ void k(const {t}* a, const {t}* b, {sums}* c, int m, int n, int k) {{
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * {M}, col = (blockIdx.y * 4 + threadIdx.y) * {N};
  fragment<matrix_a, {M}, {N}, {K}, {of}, {la}_major> x;
  fragment<matrix_b, {M}, {N}, {K}, {of}, {lb}_major> y;
  fragment<accumulator, {M}, {N}, {K}, {sums}> s;
  fill_fragment(s, 0);
  for (int i = 0; i < k; i += {K}) {{
    load_matrix_sync(x, {pa}); load_matrix_sync(y, {pb}); mma_sync(s, x, y, s);
  }}
  store_matrix_sync(c + row * n + col, s, n, mem_{ls}_major);
}}
int main() {{ k<<<dim3(2, 4), dim3(128, 4)>>>(0, 0, 0, 256, 256, 16 * {K}); }}
"""
HALF, TF32 = ("half", "half", "float", 16, 16, 16), ("float", "precision::tf32", "float", 16, 16, 8)
INT8, FP64 = ("signed char", "signed char", "int", 16, 16, 16), ("double", "double", "double", 8, 8, 4)
TALL = ("half", "half", "half", 32, 8, 16)


@pytest.mark.parametrize(
    ("types", "layouts", "loads", "stores", "turned", "executed"),
    [  # SASS of nvcc 13 for sm_80: loads and MOVM for each of 16 tiles, stores, all that is executed
        (HALF, "rrr", 8, 4, 4, 509),
        (HALF, "rcr", 8, 4, 0, 491),
        (HALF, "crr", 8, 4, 8, 570),
        (HALF, "ccc", 8, 8, 4, 521),
        (TF32, "rrr", 8, 4, 0, 498),
        (TF32, "rcr", 8, 4, 0, 476),
        (INT8, "rcr", 4, 4, 0, 360),
        (FP64, "rcr", 2, 1, 0, 153),
        (FP64, "ccr", 2, 1, 0, 225),
        (TALL, "rcr", 10, 4, 0, 537),
        (TALL, "crr", 10, 4, 10, 663),
    ],
)
def test_each_tile_in_global_memory_has_addresses_loads_and_turns(
    types, layouts, loads, stores, turned, executed
):
    t, of, sums, m, n, k = types
    la, lb, ls = ({"r": "row", "c": "col"}[letter] for letter in layouts)
    pa = "a + row * k + i, k" if la == "row" else "a + row + i * m, m"
    pb = "b + i * n + col, n" if lb == "row" else "b + i + col * k, k"
    text = TILES.format(t=t, of=of, sums=sums, M=m, N=n, K=k, la=la, lb=lb, ls=ls, pa=pa, pb=pb)
    mix = lower_instructions(*launched(text))
    assert (mix.number(K.LDG), mix.number(K.STG)) == (16 * loads, stores)
    assert mix.number(K.OTHER) == 16 * turned
    assert mix.total == pytest.approx(executed, rel=0.2)


@pytest.mark.parametrize(
    ("loops", "executed"),
    [
        # 2 016 iterations in SASS of sm_80 and sm_90: two loads, FFMA, ISETP and branch each, no address
        ("for (int i = 0; i < 64; ++i)\n#pragma unroll\nfor (int j = 0; j < i; ++j)", 5 * 2016),
        ("for (int i = 0; i < 64; ++i)\n#pragma unroll\nfor (int j = i; j < 64; ++j)", 5 * 2080),
    ],
)
def test_copies_of_a_triangle_that_a_pragma_unrolls_leave_by_a_test_each(loops: str, executed: int):
    mix = mix_of(f"float s = 0;\n{loops} s += b[i * 64 + j] * b[j];\na[threadIdx.x] = s;")
    assert sum(mix.number(kind) for kind in K) == pytest.approx(executed, rel=0.1)


@pytest.mark.parametrize(
    ("rows", "columns", "loads"),
    [
        (4, 1, 21 * 4 * 15),  # as nvcc -arch=sm_80: 2 * yi + i has 21 values, 16 * xi + j is never the same
        (2, 1, 23 * 4 * 15),  # 4 * yi + i
        (1, 1, 30 * 4 * 15),  # 15 * yi + i: no row twice
        (4, 0, 21 * 15),  # what xi does not change is loaded for all xi
    ],
)
def test_what_taps_of_an_unrolled_filter_have_in_common_is_loaded_once(rows, columns, loads):
    step = {4: 2, 2: 4, 1: 15}[rows]
    tiles = {4: 4, 2: 3, 1: 2}[rows]
    unroll = "\n#pragma unroll\n"
    body = (
        "__shared__ float s[64][96]; float t[4][4] = {}; s[threadIdx.x][n] = x; __syncthreads();"
        f"{unroll}for (int i = 0; i < 15; i++){unroll}for (int j = 0; j < 15; j++)"
        f"{unroll}for (int y = 0; y < {tiles}; y++){unroll}for (int z = 0; z < 4; z++)"
        f"t[y][z] += s[threadIdx.y + y * {step} + i][threadIdx.x + z * 16 * {columns} + j];"
        f"{unroll}for (int y = 0; y < 4; y++){unroll}for (int z = 0; z < 4; z++) a[y * 4 + z] = t[y][z];"
    )
    assert mix_of(body).number(K.LDS) == loads


def test_a_store_between_keeps_loads_of_unrolled_copies_apart():
    body = (
        "__shared__ float s[64];\n#pragma unroll\nfor (int i = 0; i < 4; i++)\n#pragma unroll\n"
        "for (int j = 0; j < 4; j++) s[threadIdx.x] = s[threadIdx.x + 1 + i * 2 + j * 2] + x;"
    )
    assert mix_of(body).number(K.LDS) == 16


RING = "float h[4]; for (int k = 0; k < 4; k++) h[k] = b[k * n]; "


@pytest.mark.parametrize(
    "head", ["for (int k = 0; k < n; k++)", "\n#pragma unroll 4\nfor (int k = 4; k < 52; k++)"]
)
@pytest.mark.parametrize("index", ["k & 3", "k % 4"])
def test_a_ring_that_the_copies_of_a_loop_go_round_lies_in_registers(head: str, index: str):
    """nvcc 13 unrolls by four, and each copy knows its element."""
    loop = f"{head} {{ a[k * n] = h[{index}] + h[(k + 1) & 3]; h[{index}] = b[(k + 4) * n]; }}"
    mix = mix_of(f"{RING} {loop}")
    assert mix.number(K.LDL) + mix.number(K.STL) == 0


def test_elements_of_a_constant_table_are_known_at_constant_indices():
    """`__device__ const`: folded where the index is a constant, else loaded from global memory."""
    table = "__device__ {} float w[4] = {{1, 2, 3, 4}};"
    sum_ = "float s = 0; for (int i = 0; i < 4; i++) s += w[i] * a[i * n]; a[n] = s * w[n & 3];"
    for before, loads in (("const", 5), ("constexpr", 5), ("", 9)):
        text = f"{table.format(before)} __global__ void k(float* a, int n) {{ {sum_} }}"
        kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0, 7); }}")
        assert lower_instructions(kernel, profile).number(K.LDG) == loads


LOOP = (
    "const float* row = b + blockIdx.x * n; float s = 0; "
    "for (int i = threadIdx.x; i < n; i += STEP) s += INDEXED; a[threadIdx.x] = s;"
)


@pytest.mark.parametrize(
    ("step", "indexed", "most", "least"),
    [  # SASS of nvcc 13: pointers step once for sixteen loads; IMAD.WIDE and an addition; in two parts, five
        ("32", "b[i]", 0.4, 0.0),
        ("32u", "b[i]", 3.0, 2.0),
        ("blockDim.x * 0 + 32", "b[i]", 3.0, 1.0),
        ("32", "row[i]", 0.4, 0.0),
        ("32u", "row[i]", 5.5, 4.0),
    ],
)
def test_a_step_without_sign_may_wrap_so_that_no_pointer_steps_along(step, indexed, most, least):
    body = LOOP.replace("STEP", step).replace("INDEXED", indexed)
    mix = mix_of(body, "<<<1, 32>>>(0, 0, 0, 32000, 1.0f)")
    each = (mix.number(K.IADD) + mix.number(K.IMAD)) / mix.number(K.LDG)
    assert least <= each <= most


def test_a_half_becomes_a_float_without_the_unit_of_conversions():
    text = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        "__global__ void k(float* a, __half* b, __nv_bfloat16* c)\n"
        "{ a[0] = __half2float(b[0]); a[1] = c[0]; }\n"
    )
    mix = lower_instructions(*launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 0); }}"))
    assert (mix.number(K.CONVERSION), mix.number(K.HFMA2)) == (0, 1)  # HADD2.F32; PRMT


@pytest.mark.parametrize(
    ("arm", "loads"), [("1 - c", 1), ("(1 - c) * x + d", 1), ("(c + d) * x * (d - c) + d * d", 2)]
)
def test_members_of_a_record_are_loaded_together_past_an_arm_that_is_only_selected(arm, loads):
    function = f"auto f = [&](float d) {{ float c = d * x; if (d > 0) c = {arm}; return c; }};"
    mix = mix_of(f"{function} float2* p = (float2*)b; a[0] = f(p[n].x) + f(p[n].y);")
    assert mix.number(K.LDG) == loads


@pytest.mark.parametrize(
    ("stored", "loaded", "more"),
    [
        # SASS of nvcc 13 for sm_80, 64 iterations: 491, 427, 361 and 361 instructions
        ("a[k * n + t + 1]", "b[k * n + t + 1]", 128),
        ("a[k * n + t]", "b[k * n + t + 1]", 64),
        ("a[k * n + t]", "b[k * n + t - 1]", 0),
        ("a[k * n + t - 1]", "b[k * n + t - 1]", 0),
    ],
)
def test_a_number_added_to_an_index_of_rows_is_added_anew_in_each_copy(stored: str, loaded: str, more: int):
    def total(stored: str, loaded: str) -> float:
        return mix_of(f"int t = threadIdx.x; for (int k = 0; k < n - 36; k++) {stored} = 2 * {loaded};").total

    assert total(stored, loaded) - total("a[k * n + t]", "b[k * n + t]") == pytest.approx(more)


def test_copies_of_a_loop_that_is_unrolled_whole_need_no_such_addition():
    loop = "int t = threadIdx.x; float s = 0; for (int k = 0; k < 5; k++) s += b[k * n + t{}]; a[t] = s;"
    added, plain = mix_of(loop.format(" + 1")).total, mix_of(loop.format("")).total
    assert added - plain <= 1  # SASS of nvcc 13 for sm_80: 25 and 24


@pytest.mark.parametrize(
    ("loop", "per_sixteen"),
    [
        # what the copy before has stored: in the first copy of a round
        ("for (int i = 1; i < 513; i++) p[i] += p[i - 1];", 17),
        ("for (int i = 0; i < 512; i++) p[i + 1] = p[i] * x;", 1),
        ("for (int i = 512; i > 0; i--) p[i] += p[i + 1];", 17),
        ("for (int i = 1; i < 513; i++) p[i] = p[i - 1] + p[i + 1];", 17),
        ("for (int i = 1; i < 513; i++) p[i] = b[i] + p[i - 1];", 17),
        # of two copies before, and what the copy before has loaded: in one of four
        ("for (int i = 2; i < 514; i++) p[i] = p[i - 1] + p[i - 2];", 5),
        ("for (int i = 1; i < 513; i++) p[i] = p[i - 1] + p[i] + p[i + 1];", 21),
        # not of four copies before, nor where another store may lie on it
        ("for (int i = 4; i < 516; i++) p[i] = p[i - 4] * x;", 16),
        ("for (int i = 1; i < 513; i++) { p[i] = p[i - 1] * x; q[i] = x; }", 16),
    ],
)
def test_what_a_copy_before_has_in_a_register_is_not_loaded_again(loop: str, per_sixteen: int):
    """Truth: LDG in the loops of SASS of nvcc 13 for sm_80, of 512 iterations in 32 rounds."""
    mix = mix_of(f"float* p = a + n * threadIdx.x; float* q = b + n * threadIdx.x; {loop}")
    assert mix.number(K.LDG) == pytest.approx(per_sixteen * 32)


@pytest.mark.parametrize(("qualifier", "per_sixteen"), [("", 21), ("__restrict__", 33)])
def test_beside_other_restricted_memory_only_what_was_just_stored_is_seen(qualifier: str, per_sixteen: int):
    """Truth: LDG in the loop of SASS of nvcc 13 for sm_80, of 512 iterations in 32 rounds."""
    loop = "for (int i = 2; i < n; i++) y[t + i] = x[t + i] + 0.3f * y[t + i - 1] - 0.1f * y[t + i - 2];"
    parameters = f"const float* {qualifier} x, float* {qualifier} y, int n"
    text = f"__global__ void k({parameters}) {{ int t = threadIdx.x * n; {loop} }}\n"
    mix = lower_instructions(*launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 514); }}"))
    assert mix.number(K.LDG) == pytest.approx(per_sixteen * 32)


def test_copies_a_stride_of_64_bits_apart_add_it_in_two_instructions():
    # SASS of nvcc 13 for sm_80: IADD3 and IADD3.X for each copy of each pointer
    loop = "long long st = blockDim.x * gridDim.x; for (long long i = threadIdx.x; i < m; i += st) {};"
    added: list[float] = []
    for body in ("a[i] = 1", "a[i] = 1, b[i] = 1"):
        text = f"__global__ void k(float* a, float* b, long long m) {{ {loop.format(body)} }}\n"
        mix = lower_instructions(*launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 4096); }}"))
        added.append(mix.number(K.IADD) + mix.number(K.IMAD))
    assert added[1] - added[0] == pytest.approx(2 * 128, abs=8)


def test_an_unrolled_sum_in_place_loads_each_element_once():
    mix = mix_of("float* p = a + n * threadIdx.x; for (int i = 1; i < 16; i++) p[i] += p[i - 1];")
    assert (mix.number(K.LDG), mix.number(K.STG)) == (16, 15)


INNER = "for (int i = 0; i < 3; i++)"


@pytest.mark.parametrize(
    ("number", "loops"),
    [
        (9, f"for (int j = 0; j < 3; j++) {INNER} v[k++] = b[j * n + t + i];"),
        (9, f"for (int j = -1; j <= 1; j++) {INNER} {{ v[k] = b[j * n + t + i]; k++; }}"),
        (6, "for (int j = 0; j < 3; j++) for (int i = 0; i <= j; i++) v[k++] = b[j * n + t + i];"),
        (8, f"for (int j = 0; j < 3; j++) {INNER} if (i != 1 || j != 1) v[k++] = b[j * n + i];"),
        (
            12,
            f"for (int h = 0; h < 2; h++) for (int j = 0; j < 2; j++) {INNER} v[k++] = b[h * n + j * 9 + i];",
        ),
    ],
)
def test_an_index_that_counts_on_through_two_loops_is_known_in_each_copy(number: int, loops: str):
    """Truth: SASS of nvcc 13 for sm_80 has one LDG for each element and no local memory."""
    sum_ = f"float s = 0; for (int i = 0; i < {number}; i++) s += v[i] * i; a[t] = s;"
    mix = mix_of(f"int t = threadIdx.x, k = 0; float v[{number}]; {loops} {sum_}")
    assert (mix.number(K.LDG), mix.local_accesses) == (number, 0)


def test_an_index_that_data_count_on_stays_unknown():
    loops = f"for (int j = 0; j < 3; j++) {INNER} if (b[j * n + i] > 0) v[k++] = b[j * n + i];"
    sum_ = "float s = 0; for (int i = 0; i < 9; i++) s += v[i] * i; a[0] = s;"
    assert mix_of(f"int k = 0; float v[9]; {loops} {sum_}").local_accesses > 0


@pytest.mark.parametrize(("test", "lops"), [("i % (2 * t) == 0", 7), ("n & t", 1)])
def test_remainders_by_powers_are_no_tests_of_single_bits(test, lops):
    # SASS of nvcc 13: LOP3.LUT P0, RZ, R3, 0x7f for each remainder; R2P takes neighbouring bits together
    loop = f"for (int t = 1; t < 128; t *= 2) {{ if ({test}) a[i + 32 * t] = x; }}"
    assert mix_of(f"int i = threadIdx.x; {loop}").number(K.LOP) == lops


def test_copies_a_stride_apart_step_from_pointer_to_pointer():
    # SASS of nvcc 13: of four copies the first sums its index and adds the base, the others are IMAD.WIDE
    row = "const float* row = b + blockIdx.x * n; float s = 0; "
    loop = f"{row}for (int i = threadIdx.x; i < n; i += c) s += row[i];"
    text = f"__global__ void k(float* a, float* b, int c, int n) {{ {loop} a[threadIdx.x] = s; }}\n"
    mix = lower_instructions(*launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 32, 32000); }}"))
    each = (mix.number(K.IADD) + mix.number(K.IMAD)) / mix.number(K.LDG)
    assert 2.0 < each < 2.5


@pytest.mark.parametrize(
    ("index", "number", "body", "found"),
    [  # IMAD, SHF, IADD of nvcc 13: LEA and LEA.HI.X count as IADD
        ("int", "int", "a[i] = b[i];", (3, 0, 0)),
        ("int", "long", "a[i] = b[i];", (1, 3, 4)),
        ("unsigned", "size_t", "a[i] = b[i];", (1, 2, 4)),
        ("size_t", "size_t", "a[i] = b[i];", (1, 2, 4)),
        ("int", "long", "a[i] = 1;", (1, 1, 2)),
    ],
)
def test_an_index_compared_in_64_bits_is_there_in_64_bits_for_addresses(index, number, body, found):
    head = f"{index} i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)"
    text = f"__global__ void k(float* a, const float* b, {number} n) {{ {head} {body} }}\n"
    mix = lower_instructions(*launched(f"{text}int main() {{ k<<<8, 32>>>(0, 0, 256); }}"))
    assert tuple(map(mix.number, (K.IMAD, K.SHF, K.IADD))) == found


@pytest.mark.parametrize(
    ("body", "lops", "others"),
    [  # SASS of nvcc 13: LOP3.LUT P0, RZ, R2, 0x3; the remainder itself rounds towards zero
        ("if (n % 4 == 0) a[0] = x;", 1, 0),
        ("for (int t = 2; t <= 64; t *= 2) if ((n + 1) % t == 0) a[t] = x;", 6, 0),
        ("c[0] = n % 4;", 1, 2),
    ],
)
def test_whether_a_power_of_two_divides_a_number_asks_for_its_bits_alone(body, lops, others):
    mix = mix_of(body)
    assert mix.number(K.LOP) == lops
    assert (mix.number(K.SHF) + mix.number(K.ISETP) > 0) == (others > 0)


def test_a_value_that_a_loop_computes_from_itself_by_bits_ends():
    """What LOP3 takes in was looked for without end."""
    text = (
        "__global__ void k(unsigned *o, unsigned *p) { unsigned a = 0;\n"
        "  for (int k = 0; k < 2; k++) { *p = *p ^ (*p << 4); a += *p; }\n"
        "  o[threadIdx.x] = a; }\n"
        "int main() { k<<<1, 32>>>(0, 0); }\n"
    )
    (kernel,) = analyze_text(text, gpu="a100").kernels
    assert kernel.work is not None
    assert kernel.work.counts_per_thread.global_load == 6

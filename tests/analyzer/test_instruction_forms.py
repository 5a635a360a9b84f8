"""What nvcc 13 makes of common forms of loops, branches and records: counts of its SASS for sm_80."""

import pytest

from wattslice import ir
from wattslice.ir import BinaryOp
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.walking import evaluations
from wattslice.workload.instructions import InstructionMix, isa_of, lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.operators import FOLD_WORDS
from wattslice.workload.instructions.statements import written_instructions
from wattslice_models.gpu import load_gpu

from .source_text import kernel_of, launched
from .test_instructions import mix_of

STRIDE = "int st = blockDim.x * gridDim.x, i = blockIdx.x * blockDim.x + threadIdx.x; "
SHARES = "int i = {0}, vs = {1}, e = i + vs * 128; for (; i < e; i += vs) a[i] = b[i] * x;"
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
        # from a share of an index on by the same of a size, with the same sign
        (SHARES.format("threadIdx.x / 32", "blockDim.x / 32"), 1),
        (SHARES.format("threadIdx.x >> 5", "blockDim.x / 32"), 1),
        (SHARES.format("(int)threadIdx.x >> 5", "(int)blockDim.x >> 5"), 1),
        (SHARES.format("blockIdx.x / 32", "blockDim.x / 32"), 1),
        (SHARES.format("threadIdx.x * 2", "blockDim.x * 2"), 1),
        (SHARES.format("threadIdx.x", "blockDim.x / 32"), 4),
        (SHARES.format("threadIdx.x / 32 + 1", "blockDim.x / 32"), 4),
        (SHARES.format("threadIdx.x / 16", "blockDim.x / 32"), 4),
        (SHARES.format("(int)threadIdx.x / 32", "blockDim.x / 32"), 4),
        (SHARES.format("threadIdx.x", "(int)blockDim.x"), 4),
        # others take part
        (STRIDE + "for (; i < 4096; i += st) atomicAdd(c, 1);", 1),
        (STRIDE + "for (; i < 4096; i += st) a[i] = __shfl_xor_sync(~0u, b[i], 1);", 1),
        (STRIDE + "for (; i < 4096; i += st) { a[i] = b[i]; __syncthreads(); }", 1),
        (STRIDE + "for (; i < 4096; i += st) a[i] = __ldg(b + i);", 1),
        # what is narrower, or of another sign, than what it is compared with or steps by
        (STRIDE + "long long m = n + 9196ll * (n - 99) - 5200; for (; i < m; i += st) a[i] = b[i] * x;", 1),
        (STRIDE + "for (; i < n + 3996u; i += st) a[i] = b[i] * x;", 1),
        (STRIDE + "long long w = st; for (; i < n + 3996; i += w) a[i] = b[i] * x;", 1),
        (STRIDE + "for (; i < (long long)(n + 3996); i += st) a[i] = b[i] * x;", 4),
        (STRIDE + "short w = 32; w += st - 32; for (; i < 4096; i += w) a[i] = b[i] * x;", 4),
        # all parts of a block alike
        ("int st = blockDim.x / 4; for (int i = threadIdx.x / 4; i < 1024; i += st) a[i] = b[i] * x;", 1),
        ("int st = blockDim.x >> 2; for (int i = threadIdx.x >> 2; i < 1024; i += st) a[i] = b[i] * x;", 1),
        ("int st = blockDim.x / 4; for (int i = threadIdx.x / 8; i < 1024; i += st) a[i] = b[i] * x;", 4),
        ("int st = blockDim.x / 4; for (int i = threadIdx.x % 4; i < 1024; i += st) a[i] = b[i] * x;", 4),
        # a size of the launch alone, in 64 bits
        ("for (long long i = threadIdx.x; i < 4096; i += blockDim.x) a[i] = b[i] * x;", 1),
    ],
)
def test_a_loop_whose_stride_the_run_tells_is_unrolled_where_it_cannot_wrap(body: str, copies: int):
    assert mix_of(body).number(K.BRANCH) == branches(copies, 3 if copies > 1 else 1)


@pytest.mark.parametrize(
    ("loop", "copies"),
    [
        # an int that goes to a wider limit: counted only from a number upwards
        ("for (int k = 0; k < m; k++) s += b[k];", 16),
        ("for (int k = i; k < m; k++) s += b[k];", 1),
        ("for (int k = i; k < m; k += 32) s += b[k];", 1),
        ("int k = i; while (k < m) { s += b[k]; k += 32; }", 1),
        ("for (int k = 0; k < m; k += 4) s += b[k];", 4),
        ("for (int k = i; k < (size_t)m; k += 32) s += b[k];", 1),
        ("for (unsigned k = 0; k < m; k++) s += b[k];", 1),
        ("for (short k = 0; k < n; k += 2) s += b[k];", 1),
        ("for (short k = 0; k < n; k++) s += b[k];", 16),
        ("for (unsigned char k = 0; k < n; k++) s += b[k];", 1),
        # a limit that is a number, or that an int holds
        ("for (int k = i; k < 4096ll; k += 32) s += b[k];", 16),
        ("for (int k = i; k < (long long)(n * 128); k += 32) s += b[k];", 16),
        # an int that meets its limit without a sign
        ("for (int k = i; k < u; k += 32) s += b[k];", 4),
        ("for (int k = 0; k < u; k += 32) s += b[k];", 16),
        ("for (int k = i; k < u; k++) s += b[k];", 16),
        # counters of 64 bits
        ("for (long long k = i; k < m; k += 32) s += b[k];", 16),
        ("for (long long k = 0; k < m; k += 32) s += b[k];", 16),
        ("for (long long k = i; k < m; k++) s += b[k];", 16),
        ("for (long long k = m; k > 0; k--) s += b[k];", 16),
        ("for (long long k = 0; k < m; k++) s += b[k];", 4),
        ("for (size_t k = 0; k < m; k++) s += b[k];", 4),
        ("for (size_t k = t; k < m; k++) s += b[k];", 16),
        ("for (size_t k = t; k < m; k += 32) s += b[k];", 4),
        ("for (const float* p = b; p < b + m; p++) s += *p;", 4),
        ("for (const float* p = b; p != b + m; p++) s += *p;", 16),
    ],
)
def test_types_decide_whether_the_compiler_knows_the_way_of_a_counter(loop: str, copies: int):
    """Truth: the loads in the loops of SASS of nvcc 13 for sm_80."""
    body = f"float s = 0; int i = threadIdx.x; unsigned t = i; {loop} a[i] = s;"
    text = f"__global__ void k(float* a, float* b, int n, long long m, unsigned u) {{ {body} }}\n"
    mix = lower_instructions(*launched(f"{text}int main() {{ k<<<1, 32>>>(0, 0, 32, 4096, 4096); }}"))
    each = mix.number(K.BRANCH) / (mix.number(K.LDG) + 1)
    assert copies == (1 if each > 0.5 else 4 if each > 0.2 else 16)


def test_the_way_is_divided_by_the_stride_once_before_the_loop():
    unrolled = mix_of(STRIDE + "for (; i < 4096; i += st) a[i] = b[i] * x;")
    assert (unrolled.number(K.MUFU), unrolled.number(K.CONVERSION)) == (1, 2)
    rolled = mix_of("for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) a[i] = b[i] * x;")
    assert (rolled.number(K.MUFU), rolled.number(K.CONVERSION)) == (0, 0)


@pytest.mark.parametrize(
    ("body", "executed"),
    [
        ("unsigned t = threadIdx.x; a[t] = b[t / warpSize];", 23),
        ("unsigned t = threadIdx.x; a[t] = b[t % warpSize];", 22),
        ("int t = threadIdx.x; a[t] = b[t / warpSize];", 27),
        ("int t = threadIdx.x; a[t] = b[t % warpSize];", 25),
        ("int t = threadIdx.x; a[t] = b[t & (warpSize - 1)] + b[t * warpSize];", 14),
        ("int t = threadIdx.x, w = t / warpSize; a[w * 40 + t % warpSize] = b[t % warpSize * 8 + w];", 30),
    ],
)
def test_only_the_assembler_knows_the_size_of_a_warp(body: str, executed: int):
    """SASS of nvcc 13 for sm_80: the optimiser divides by it, the assembler folds `warpSize - 1`."""
    assert mix_of(body).total == executed


def test_a_loop_over_lanes_is_unrolled_and_one_of_halves_is_not():
    """SASS of nvcc 13 for sm_80: the range of `warpSize` tells how often a loop by ones runs."""
    assert (
        mix_of("float s = 0; for (int d = 0; d < warpSize; d++) s += b[d]; a[0] = s;").number(K.BRANCH) == 1
    )
    halves = "float s = b[0]; for (int d = {0} / 2; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d); a[0] = s;"
    assert mix_of(halves.format("32")).number(K.BRANCH) == 1
    assert mix_of(halves.format("warpSize")).number(K.BRANCH) == 1 + 1 + 5


def test_a_stride_of_a_warp_is_divided_by_and_lies_in_immediates():
    """SASS of nvcc 13 for sm_80: 32 rounds of 11 or 12 instructions each, an IMAD.WIDE for each pointer."""
    loop = (
        "float s = 0; int i = threadIdx.x & 31; for (; i < 4096; i += warpSize) s += {0}; a[threadIdx.x] = s;"
    )
    one, two = (mix_of(loop.format(body)) for body in ("b[i]", "b[i] * a[i]"))
    assert (one.number(K.MUFU), one.number(K.BRANCH)) == (1, branches(4, 3))
    assert two.number(K.IMAD) - one.number(K.IMAD) == 1 + TRIPS / 4


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        ("a[i] = b[i];", 16),
        ("if (threadIdx.x < n) r += 1; r += b[i];", 16),
        ("if (b[i] > r) r = b[i];", 16),
        ("if (threadIdx.x == 0) a[i] = b[i];", 4),
        ("r += threadIdx.x < n ? b[i] : 0.f;", 4),
        ("if (threadIdx.x == 0) s[0] = r; r += s[1];", 4),
    ],
)
def test_a_barrier_and_accesses_in_arms_keep_a_loop_from_further_copies(body: str, copies: int):
    """SASS of nvcc 13 for sm_80."""

    def tests(barrier: str, trips: str = "n") -> float:
        loop = f"for (int i = 0; i < {trips}; i++) {{ {body} {barrier} }}"
        text = f"__shared__ float s[32]; float r = 0; {loop} a[999 + threadIdx.x] = r;"
        return mix_of(text, "<<<1, 32>>>(0, 0, 0, 96, 1.0f)").number(K.BRANCH)

    assert tests("__syncthreads();") == 4 + 96 / copies
    assert tests("") == 4 + 96 / 16
    assert tests("__syncthreads();", "2048") == 2 + 2048 / 16


def test_a_pointer_advances_in_rounds_in_which_nobody_needs_it():
    """SASS of nvcc 13 for sm_80: 4 copies have two IADD for each of two pointers, and one for the counter."""
    loop = "for (int i = 0; i < n; i++) {{ {0} __syncthreads(); }}"
    mixes = [
        mix_of(loop.format(body), "<<<1, 32>>>(0, 0, 0, 96, 1.0f)")
        for body in ("if (threadIdx.x == 0) a[i] = b[i];", "")
    ]
    assert mixes[0].number(K.LDG) < 4
    assert mixes[0].number(K.IADD) > 5 * 96 / 4
    assert mixes[1].number(K.IADD) < 2 * 96 / 4


def test_to_divide_by_what_is_no_number_is_a_branch_however_it_is_written():
    loop = "for (int i = 0; i < n; i++) {{ if (i < threadIdx.x) {0}; }}"
    plain, compound = (mix_of(loop.format(body)) for body in ("a[i] = a[i] / b[i]", "a[i] /= b[i]"))
    assert plain.number(K.BRANCH) == compound.number(K.BRANCH)
    assert plain.total == compound.total


LIMITED = "int i = threadIdx.x + 4000; float s = 0; {loop} a[i] = s;"
FAR = "for (int j = 0; j < n; j++) { if (i * 3 + j >= 99999) break; s += b[j]; }"
ONE_LIMIT = "int e = min(n, i); for (int j = 0; j < e; j++) s += b[j];"


@pytest.mark.parametrize(
    ("loop", "is_one"),
    [
        ("for (int j = 0; j < min(n, i); j++) s += b[j];", True),
        ("for (int j = 0; j < n && j < i; j++) s += b[j];", True),
        ("for (int j = 0; j < n; j++) { if (j >= i) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { if (j < i) s += b[j]; else break; }", True),
        ("for (int j = 0; j < n; j++) { s += b[j]; if (j == i) break; }", True),
        ("int j = 0; while (j < n) { if (j > i) break; s += b[j++]; }", True),
        ("int j = 0; do { s += b[j]; j++; if (j > i) break; } while (j < n);", True),
        ("for (int j = 0; j < n; j++) { if (j > i) break; if (j > i * 2) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { if (j - i >= 0) break; s += b[j]; }", True),
        # a later test may compute one number, or any of what no iteration changes
        ("for (int j = 0; j < n; j++) { if (n + j >= 99999) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { if (j >= i * 3 + n * n - 7) break; s += b[j]; }", True),
        ("for (int j = 0; i * 3 + j < 99999 && j < n; j++) s += b[j];", True),
        ("for (int j = 0; j < n; j++) { s += b[j]; if (i * 3 + j > 99999) break; }", True),
        ("int j = 0; do { s += b[j]; j++; } while (j < n && n * 4 + j < 99999);", True),
        ("for (int j = 0; j < n; j++) { if (n * 4 + j >= 99999) break; s += b[j]; }", False),
        ("for (int j = 0; j < n; j++) { if (i + n + j >= 99999) break; s += b[j]; }", False),
        ("for (int j = 0; j < n; j++) { if (n * 4 >= 99999 - j) break; s += b[j]; }", False),
        ("for (int j = 0; j < n && n / 3 + j < 99999; j++) s += b[j];", False),
        ("for (int j = 0; j < n && j < c[0]; j++) s += b[j];", False),
        # what is there ahead of the loop is not computed: SASS of 64 iterations 246 to 261 instructions, else
        # 722 to 726
        ("if (i * 3 < n) s = 1; " + FAR, True),
        ("s = b[i * 3]; " + FAR, True),
        ("s = b[i * 3 + 1]; " + FAR.replace("3", "3 + 1"), True),
        ("if (x < 9) s = b[i * 3]; " + FAR, False),
        ("s = b[i * 3]; i += n; " + FAR, False),
        # a number that the test alone reads is part of it (SASS 250 to 265, not 723)
        ("for (int j = 0; j < n; j++) { int k = i + j; if (k >= 99999) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { int k = i + j, m = k; if (m >= 99999) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { int e = i - n * 2; if (j >= e + 9999) break; s += b[j]; }", True),
        ("for (int j = 0; j < n; j++) { int k = i * 3 + j; if (k >= 99999) break; s += b[j]; }", False),
        ("for (int j = 0; j < n; j++) { int k = i + j; if (k >= 99999) break; s += b[k]; }", False),
        # what follows && may compute more (SASS 246 to 263)
        ("for (int j = 0; j < n && n * 4 + j < 99999; j++) s += b[j];", True),
        ("for (int j = 0; j < n && i * 3 + n * 5 + j < 99999; j++) s += b[j];", True),
        ("for (int j = 0; j < n && (n ^ i) + j < 99999; j++) s += b[j];", True),
        ("int j = 0; while (j < n && n * 4 + j < 99999) s += b[j++];", True),
        # what is unsigned may wrap, what steps further may step over the end
        ("for (unsigned j = 0; j < (unsigned)n && j < (unsigned)i; j++) s += b[j];", False),
        ("for (int j = 0; j < n && j < i; j += 2) s += b[j];", False),
        ("for (int j = 0; j < n; j += 2) { if (j > i) break; s += b[j]; }", False),
        ("for (int j = 0, k = 0; j < n; j++, k++) { if (k > i) break; s += b[j]; }", False),
        ("int j = 0; while (j < n) { s += b[j]; j++; if (j > i) break; }", False),
        ("for (int j = 0; j < n; j++) { if (j > i || j > 9000) break; s += b[j]; }", False),
        ("for (int j = 0; j < n; j++) { if (b[j] > x) continue; s += b[j]; if (j == i) break; }", False),
        # SASS: 20 iterations 219 instructions, 24 101
        ("for (int j = 0; j < 20; j++) { if (j > n) break; s += b[j]; }", False),
    ],
)
def test_limits_of_a_counter_are_one_where_they_meet(loop: str, is_one: bool):
    """The tests and branches of an iteration: nvcc 13 has one for sixteen iterations, or two for each."""
    mix, one = (
        mix_of(LIMITED.format(loop=text), "<<<1, 32>>>(0, 0, 0, 4096, 1.0f)") for text in (loop, ONE_LIMIT)
    )
    tests, tests_of_one = (each.number(K.ISETP) + each.number(K.BRANCH) for each in (mix, one))
    iterations = mix.number(K.FADD)
    assert tests == pytest.approx(tests_of_one, rel=0.03) if is_one else tests > 2.5 * iterations
    assert not is_one or mix.total == pytest.approx(one.total, rel=0.05)


@pytest.mark.parametrize(("number", "is_one"), [(20, False), (21, True)])
def test_a_small_constant_limit_stays_a_test_of_its_own(number: int, is_one: bool):
    """SASS of nvcc 13: of 20 iterations each has both tests, of 21 many share one limit."""
    loop = f"for (int j = 0; j < {number}; j++) {{ if (j > n) break; s += b[j]; }}"
    mix = mix_of(LIMITED.format(loop=loop), "<<<1, 32>>>(0, 0, 0, 4096, 1.0f)")
    assert (mix.number(K.ISETP) + mix.number(K.BRANCH) < number) is is_one


@pytest.mark.parametrize(
    ("iterations", "instructions"),  # SASS of nvcc 13, of an iteration of the loop around
    [(4, 37.5), (5, 44.5), (6, 49.5), (7, 49.5), (9, 50.5), (13, 66.5)],
)
def test_few_iterations_take_rounds_of_sixteen_eight_and_four_and_tests_of_what_is_left(
    iterations: int, instructions: float
):
    loops = "for (int k = 0; k < m; k++) for (int j = 0; j < n; j++) s += b[k * q + j];"
    kernel, profile = launched(
        f"__global__ void k(float* a, float* b, int m, int n, int q) {{ float s = 0; {loops} a[0] = s; }}\n"
        f"int main() {{ k<<<1, 32>>>(0, 0, 48, {iterations}, 1024); }}"
    )
    assert lower_instructions(kernel, profile).total / 48 == pytest.approx(instructions, rel=0.09)


@pytest.mark.parametrize(
    ("body", "instructions"),  # SASS of nvcc 13 for 3, 5, 7 and 9 iterations
    [
        ("s += w[k];", (49, 57, 75, 64)),
        ("s += w[k] * (i + k);", (57, 61, 83, 83)),
        ("int j = i + k - q; if (j >= 0 && j < n) s += in[j] * w[k];", (73.8, 86.8, 118.6, 121.5)),
        ("s += in[min(i + k, n - 1)] * w[k];", (65, 76, 102, 109)),
        ("o[i * m + k] = in[i * m + k] * w[k];", (82, 88, 126, 104)),
    ],
)
def test_each_iteration_that_copies_leave_over_is_a_round_with_a_test(
    body: str, instructions: tuple[float, ...]
):
    loop = f"for (int k = 0; k < m; k++) {{ {body} }}"
    head = "float* o, const float* in, const float* w, int n, int m, int q"
    text = (
        f"__global__ void k({head}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; "
        f"{loop} o[i] = s + 0; }}\n"
    )
    for iterations, truth in zip((3, 5, 7, 9), instructions, strict=True):
        launch = f"int main() {{ k<<<32, 128>>>(0, 0, 0, 4096, {iterations}, {iterations // 2}); }}"
        mix = lower_instructions(*launched(text + launch))
        assert mix.total == pytest.approx(truth, rel=0.14)


def test_a_pointer_that_an_arm_reads_is_copied_in_each_round_of_four():
    """SASS of nvcc 13 for 64 iterations: 408 instructions, 32 of them copy the one pointer."""
    loop = "float s = 0; int q = threadIdx.x; for (int j = 0; j < n; j++) {{ {body} }} a[q] = s;"
    moves = [
        mix_of(loop.format(body=body), "<<<1, 32>>>(0, 0, 0, 64, 1.0f)").number(K.MOV)
        for body in ("if (q + j < n) s += b[q + j];", "s += b[q + j] * (q + j);")
    ]
    assert moves[0] == pytest.approx(moves[1] + 2 * 64 / 4, abs=8)


@pytest.mark.parametrize("arm", ["sqrtf(v)", "1.f / v", "logf(v)"])
def test_an_arm_that_is_branched_around_leaves_four_copies(arm: str):
    """SASS of nvcc 13 for 64 iterations: 401 branches, 384 of them of roots, where 450 are of no copies."""
    loop = f"for (int j = 0; j < n; j++) {{ float v = b[q + j]; if (v > 0.5f) s += {arm}; }}"
    copied, rolled = (
        mix_of(
            f"int q = threadIdx.x; float s = 0;{pragma}\n{loop} a[q] = s;", "<<<1, 32>>>(0, 0, 0, 64, 1.0f)"
        ).number(K.BRANCH)
        for pragma in ("", "\n#pragma unroll 1")
    )
    assert rolled - copied == 64 - 64 / 4 - 2  # two more at the entry


@pytest.mark.parametrize(
    ("arm", "branches"),
    [
        ("s += floorf(v);", 0),
        ("s += __sinf(v);", 0),
        ("s += __fdividef(v, s);", 0),
        ("v = (v + x) * v; v = (v + x) * v; v = (v + x) * v; s = (v + x) * v;", 0),
        ("v = (v + x) * v; v = (v + x) * v; v = (v + x) * v; v = (v + x) * v; s = v * x;", 1),
        ("s += expf(v);", 1),
        ("s += tanhf(v);", 1),
        ("a[j] = expf(v);", 1),
        ("s += expf(v) + expf(x * v) + expf(x + v) + v * x;", 3),
        ("s += logf(v);", 3),
        ("atomicAdd(a + q + j, v);", 3),
        ("atomicMax(c + q, j);", 3),
    ],
)
def test_an_arm_of_eight_instructions_is_predicated_and_one_of_twenty_has_no_bssy(arm: str, branches: int):
    """SASS of nvcc 13: what is branched around in each iteration of a loop, by an arm that loads nothing."""
    loop = f"for (int j = 0; j < n; j++) {{ float v = b[q + j]; if (v > 0.5f) {{ {arm} }} }}"
    per_trips = [
        mix_of(f"int q = threadIdx.x; float s = 0; {loop} a[q] = s;", f"<<<1, 32>>>(0, 0, 0, {trips}, 1.0f)")
        for trips in (64, 128)
    ]
    few, many = (next(entry.number for entry in mix.per_warp if entry.name == K.BRANCH) for mix in per_trips)
    assert many - few == pytest.approx(64 * branches + (16 if branches else 4), abs=12)


def test_a_break_that_constants_decide_is_the_end_of_the_loop():
    loop = "float s = 0; for (int j = 0; j < 8; j++) {{ {body} }} a[threadIdx.x] = s;"
    mix = mix_of(loop.format(body="if (j == 5) break; s += b[j];"))
    assert mix.per_thread == mix_of(loop.replace("8", "5").format(body="s += b[j];")).per_thread


@pytest.mark.slow
@pytest.mark.parametrize("test", ["k >= n", "n <= k", "!(k < n)"])
def test_a_break_is_the_test_of_an_endless_loop_also_behind_what_it_reads(test: str):
    """SASS of nvcc 13 for 64 iterations: 273 instructions, 654 with a test in each."""
    endless, counted = (
        mix_of(LIMITED.format(loop=loop), "<<<1, 32>>>(0, 0, 0, 4096, 1.0f)")
        for loop in (
            f"for (int j = 0;; j++) {{ int k = 7 + j; if ({test}) break; s += b[k]; }}",
            "for (int j = 0; j < n - 7; j++) s += b[7 + j];",
        )
    )
    assert endless.number(K.LDG) == counted.number(K.LDG)
    assert endless.total == pytest.approx(counted.total, rel=0.04)


def test_a_break_in_steps_is_one_branch_with_the_test():
    forms = ("j < n && j <= i; j += 2) {", "j < n; j += 2) { if (j > i) break;")
    few, many = (mix_of(LIMITED.format(loop=f"for (int j = 0; {form} s += b[j]; }}")) for form in forms)
    assert many.total == pytest.approx(few.total, rel=0.02)


BROKEN = "int i = threadIdx.x + 4000; float s = 0; {loop} {tail}"
STORE = "a[i] = s;"


@pytest.mark.parametrize(
    ("loop", "tail", "instructions"),
    [  # of an iteration: nvcc 13 joins ends that are alike, and then unrolls by 16
        ("for (int j = 0; j < n; j++) { if (j > i) { a[i] = s; return; } s += b[j]; }", STORE, 38 / 16),
        ("for (int j = 0; j < n; j++) { if (j <= i) s += b[j]; else { a[i] = s; return; } }", STORE, 38 / 16),
        ("for (int j = 0;; j++) { if (j > i) { a[i] = s; return; } s += b[j]; }", "", 38 / 16),
        ("int j = 0; while (true) { if (j > i) { a[i] = s; return; } s += b[j]; j++; }", "", 38 / 16),
        ("for (int j = 0; j < n; j++) { if (j > i) { a[i] = s; return; } s += b[j]; }", "a[i] = s + 1;", 10),
        ("for (int j = 0; j < n; j++) { if (j > i) { s *= 2; c[i] = n; break; } s += b[j]; }", STORE, 10),
        ("for (int j = 0; j < n; j++) { if (j > i) { a[j] = s; return; } s += b[j]; }", STORE, 10),
        ("for (int j = 0; j < n; j++) { if (j > i) { a[n] = s; return; } s += b[j]; }", STORE, 10),
    ],
)
def test_a_return_that_does_what_follows_the_loop_is_an_end_of_it(loop: str, tail: str, instructions: float):
    mix = mix_of(BROKEN.format(loop=loop, tail=tail), "<<<1, 32>>>(0, 0, 0, 8192, 1.0f)")
    assert mix.total / 4016 == pytest.approx(instructions, rel=0.03)


def test_what_stands_in_front_of_a_return_is_done_as_often_as_before():
    loop = "for (int j = 0; j < n; j++) { if (j > i) { a[i] = s; return; } s += b[j]; }"
    mix = mix_of(BROKEN.format(loop=loop, tail=STORE), "<<<1, 32>>>(0, 0, 0, 4016, 1.0f)")
    assert mix.number(K.STG) == 1
    made = sorted(one.per_thread for one in mix.requests if one.is_store)
    assert made == [15 / 32, 17 / 32]


@pytest.mark.parametrize(
    ("loop", "branches"),
    [  # EXIT, one of each copy, and tests of rounds
        ("for (int j = 0; j < 64; j++) { float v = b[j * 64]; if (v < 0) break; s += v; }", 1 + 64),
        ("for (int j = 64; j > 0; j -= 2) { float v = b[j * 64]; if (v < 0) break; s += v; }", 1 + 32),
        ("int j = 0; do { float v = b[j]; if (v < 0) break; s += v; } while (++j < 32);", 1 + 32),
        (
            "for (int j = 0; j < 64; j++) { float v = b[j * 64]; if (v < 0) { a[i] = s; return; } s += v; }",
            1 + 64,
        ),
        # too many copies: a number of them that divides the iterations
        ("for (int j = 0; j < 512; j++) { float v = b[j]; if (v < 0) break; s += v; }", 2 + 512 + 512 / 16),
        ("for (int j = 0; j < 516; j++) { float v = b[j]; if (v < 0) break; s += v; }", 2 + 516 + 516 / 4),
        ("for (int j = 0; j < 513; j++) { float v = b[j]; if (v < 0) break; s += v; }", 2 + 513 + 513),
        ("for (int j = 0; j < n; j++) { float v = b[j]; if (v < 0) break; s += v; }", 2 + 64 + 64),
    ],
)
def test_a_loop_that_data_may_leave_is_unrolled_by_its_constant_bound(loop: str, branches: float):
    mix = mix_of(BROKEN.format(loop=loop, tail=STORE), "<<<1, 32>>>(0, 0, 0, 64, 1.0f)")
    assert mix.number(K.BRANCH) == pytest.approx(branches)


ARMS = "case 0: s += b[j]; {0} break; case 1: s *= b[j]; {1} break; default: s -= b[j]; {2}"
STATES = "switch (q) { " + ARMS.format("q = 1;", "q = 2;", "q = 0;") + " }"
BY_TURNS = "switch (q) { " + ARMS.format("", "", "") + " }"
CHAIN = "if (q == 0) { s += b[j]; q = 1; } else if (q == 1) { s *= b[j]; q = 2; } else { s -= b[j]; q = 0; }"


FOUR = STATES.replace("default:", "case 2: s = b[j] - s; q = 3; break; default:")


@pytest.mark.parametrize(
    ("body", "trips", "is_known"),
    [  # SASS of nvcc 13: three states are others behind four copies, four are not
        (STATES, "24", True),
        (STATES, "48", False),
        (STATES, "n", False),
        (CHAIN, "48", False),
        (CHAIN, "n", False),
        (BY_TURNS + " q = (q + 1) % 3;", "48", True),
        (BY_TURNS + " q = (q + 1) % 3;", "n", False),
        (FOUR, "48", True),
        (FOUR, "n", True),
        ("if (q == 0) s += b[j]; else if (q == 1) s *= b[j]; else s -= b[j]; q = (q + 1) % 3;", "240", True),
        ("if (q > 1) s += b[j]; else s *= b[j]; q = (q + 1) & 3;", "n", True),
        ("if (q > 1) s += b[j]; else s *= b[j]; q = (q + 1) & 7;", "n", False),
        ("if (q) s += b[j]; else s *= b[j]; q = q == 0 ? 3 : 0;", "n", True),
    ],
)
def test_states_that_come_again_behind_the_copies_are_known(body: str, trips: str, is_known: bool):
    states_are_known(body, trips, is_known=is_known)


@pytest.mark.parametrize("trips", ["48", "n"])
@pytest.mark.parametrize(
    ("body", "is_known"),
    [  # one arm of each iteration, and nothing that decides: nvcc 13
        ("if (q) s += b[j]; else s *= b[j]; q ^= 1;", True),
        ("if (q) s += b[j]; else s *= b[j]; q = !q;", True),
        ("if (q) s += b[j]; else s *= b[j]; q = 1 - q;", True),
        # data decide
        (STATES.replace("q = 1;", "if (s > x) q = 1;"), False),
        (STATES.replace("q = 1;", "if (s > x) break; q = 1;"), False),
        (BY_TURNS + " q = (int)b[j] % 3;", False),
        ("if (q) s += b[j]; else s *= b[j]; if (s > x && q++) s += 1;", False),
        ("if (q) s += b[j]; else s *= b[j]; for (int r = 0; r < n; r++) q ^= 1;", False),
    ],
)
def test_states_that_constants_give_are_known_in_each_copy(body: str, is_known: bool, trips: str):
    states_are_known(body, trips, is_known=is_known)


def states_are_known(body: str, trips: str, *, is_known: bool) -> None:
    loop = f"int q = 0; for (int j = 0; j < {trips}; j++) {{ {body} }}"
    mix = mix_of(BROKEN.format(loop=loop, tail=STORE), "<<<1, 32>>>(0, 0, 0, 48, 1.0f)")
    plain = f"for (int j = 0; j < {trips}; j++) s += b[j];"
    least = mix_of(BROKEN.format(loop=plain, tail=STORE), "<<<1, 32>>>(0, 0, 0, 48, 1.0f)")
    assert (mix.total == pytest.approx(least.total, rel=0.05)) is is_known
    assert is_known or mix.total > 1.3 * least.total


def test_an_arm_that_gives_the_next_state_moves_it_and_branches_out():
    machine, data = (
        mix_of(
            f"float s = 0; int q = 0; for (int j = 0; j < n; j++) {{ {body} }} a[threadIdx.x] = s;",
            "<<<1, 32>>>(0, 0, 0, 48, 1.0f)",
        )
        for body in (STATES, BY_TURNS.replace("(q)", "(c[j])"))
    )
    assert machine.number(K.BRANCH) == data.number(K.BRANCH) + 32  # two of three arms
    assert machine.number(K.MOV) == pytest.approx(data.number(K.MOV) + 48, abs=2)  # c[j] has an address


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        ("if (q > 1) s += b[j]; q = (q + 1) & 7;", 16),
        ("if (j < q) s += b[j];", 16),
        ("if (j != q && j > 3) s += b[q - j];", 16),
        ("if ((j ^ q) > 3) s += b[j] * j;", 16),
        ("int m = q + j; s += b[m];", 16),
        ("s += b[j] * (j * n);", 16),
        ("int m = q + j; if (m < n) s += b[m];", 4),
        ("s += b[j] * (q - j);", 4),
        ("s += b[j] * (j + 1);", 4),
        ("if (2 * j < q) s += b[j];", 4),
        ("if (j * n + q < 99) s += b[j];", 4),
        ("s += b[min(q + j, n)];", 4),
    ],
)
def test_a_body_that_needs_a_sum_of_the_counter_but_in_an_address_has_four_copies(body: str, copies: int):
    loop = f"float s = 0; int q = threadIdx.x; for (int j = 0; j < n; j++) {{ {body} }} a[threadIdx.x] = s;"
    rounds = [mix_of(loop, f"<<<1, 32>>>(0, 0, 0, {trips}, 1.0f)").number(K.BRANCH) for trips in (4800, 9600)]
    assert rounds[1] - rounds[0] == pytest.approx(4800 / copies)


@pytest.mark.parametrize("counter", ["j = 0; j < 4096", "j = n; j < 2 * n"])
def test_a_counter_that_is_not_how_often_the_loop_ran_is_no_part_of_the_test_of_copies(counter: str):
    loop = f"float s = 0; for (int {counter}; j++) s += b[j] * (j + 1); a[threadIdx.x] = s;"
    turned = loop.replace("(j + 1)", "j")
    assert mix_of(loop).number(K.BRANCH) == mix_of(turned).number(K.BRANCH)


def test_what_a_loop_stored_just_before_is_no_load():
    body = "__shared__ float q[32]; for (int j = 0; j < n; j++) {{ q[threadIdx.x] = b[j]; {0} }} {1}"
    read = "a[threadIdx.x] = q[threadIdx.x];"
    mix = mix_of(
        body.format("q[threadIdx.x] *= x; q[threadIdx.x] += x;", read), "<<<1, 32>>>(0, 0, 0, 48, 1.0f)"
    )
    assert (mix.number(K.LDG), mix.number(K.FMUL), mix.number(K.FADD)) == (48, 48, 48)


def test_what_counts_on_is_known_in_the_copies_of_constant_bounds_alone():
    loop = "int q = 0; for (int j = 0; j < {n}; j++) {{ s += b[j]; if (++q == 5) {{ q = 0; c[j] = n; }} }}"
    known, unknown = (
        mix_of(BROKEN.format(loop=loop.format(n=n), tail=STORE), "<<<1, 32>>>(0, 0, 0, 60, 1.0f)")
        for n in ("60", "n")
    )
    assert known.number(K.ISETP) == 0
    assert unknown.number(K.ISETP) > 60


@pytest.mark.parametrize("test", ["j < n && j < i", "j < n && b[j] > x"])
def test_each_copy_tests_what_is_no_limit(test: str):
    loop = f"\n#pragma unroll 4\nfor (int j = 0; {test}; j += 2) s += b[j + 7];"
    mix = mix_of(LIMITED.format(loop=loop), "<<<1, 32>>>(0, 0, 0, 4096, 1.0f)")
    iterations = mix.number(K.FADD)
    assert mix.number(K.BRANCH) == pytest.approx(iterations, rel=0.01)
    assert mix.number(K.ISETP) + mix.number(K.FSETP) == pytest.approx(2 * iterations, rel=0.01)


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


@pytest.mark.parametrize(
    ("body", "kind", "number"),
    [  # v - (u > x ? n : 0), whatever the condition
        ("if (u > x) v -= n;", K.IADD, 1),
        ("if (threadIdx.x > 30) v -= n;", K.IADD, 1),
        ("if (threadIdx.x > 99) v ^= n;", K.LOP, 1),
        ("if (threadIdx.x > 15) u += x;", K.FADD, 0.5),  # predicated
    ],
)
def test_an_arm_that_adds_an_integer_adds_it_in_every_lane(body: str, kind: K, number: float):
    kernel = "int t = threadIdx.x; float u = b[t]; int v = c[t]; {} a[t] = u; c[t] = v;"
    assert mix_of(kernel.format(body)).number(kind) - mix_of(kernel.format("")).number(kind) == number


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


@pytest.mark.parametrize(
    "walk",
    [
        "const T* q = p + i; for (int k = 0; k < n; k++, q += n) s += q->x * q->y;",
        "for (const T* q = p; q < p + n; q++) s += q->x * q->y;",
        "const T* q = p; for (int k = 0; k < n; k++) { T v = *q++; s += v.x * v.y; }",
        "for (int k = 0; k < n; k++) s += p[k].x * p[k].y;",
    ],
)
@pytest.mark.parametrize(("type_", "loads"), [("float2", 1), ("float4", 1), ("Pair", 2)])
def test_a_pointer_to_records_that_walks_stays_aligned(walk: str, type_: str, loads: int):
    kernel, profile = launched(f"""struct Pair {{ float x, y; }}; typedef {type_} T;
    __global__ void k(const T* p, float* o, int n) {{ int i = threadIdx.x; float s = 0; {walk} o[i] = s; }}
    int main() {{ k<<<1, 32>>>(0, 0, 64); }}""")
    assert lower_instructions(kernel, profile).number(K.LDG) == pytest.approx(64 * loads)


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


@pytest.mark.parametrize(("operations", "copies", "additions"), [(1, 4, 2), (40, 4, 2), (80, 2, 1)])
def test_copies_of_a_stride_of_the_run_add_it_two_at_a_time(operations: int, copies: int, additions: int):
    """`IADD3 R3, R0, R3, R0` for each two of them."""
    steps = "".join(f"s = s * x + {number}.f;" for number in range(operations // 2))

    def additions_of(end: int) -> float:
        loop = f"for (; i < {end}; i += st) {{ float s = b[i]; {steps} a[i] = s; }}"
        return mix_of(STRIDE + loop).number(K.IADD)

    assert additions_of(2 * 4096) - additions_of(4096) == additions * TRIPS / copies


def rounds_of(loop: str, kinds: tuple[K, ...] = (K.IADD, K.IMAD, K.MOV)) -> tuple[float, ...]:
    """Instructions of some kinds that 96 more iterations of `loop` (to n) execute."""
    text = """__global__ void k(float* a, const float* b, const float* d, int* c, int n) {{
        __shared__ float s[64]; int t = threadIdx.x, v = 0; float u = 0; {loop} a[t] = u; c[t] = v; }}
        int main() {{ k<<<1, 32>>>(0, 0, 0, 0, {n}); }}"""
    few, many = (lower_instructions(*launched(text.format(loop=loop, n=n))) for n in (960, 1056))
    return tuple(round(many.number(kind) - few.number(kind), 6) for kind in kinds)


@pytest.mark.parametrize(
    ("loop", "iadd", "imad", "mov"),
    [  # each round of 16 copies: two counters, two additions for a pointer
        ("for (int i = 0; i < n; i++) u += b[t * n + i];", 6 * 4, 0, 0),
        ("for (int i = 0; i < n; i++) u += b[t * n + i] * d[i];", 6 * 6, 0, 0),
        # a sum of integers takes two elements with each IADD3
        ("for (int i = 0; i < n; i++) v += c[t * n + i];", 6 * 4 + 48, 0, 0),
        ("for (int i = 0; i < n; i++) { v += c[t * n + i]; u += v; }", 6 * 4 + 96, 0, 0),
        # the counter in each copy
        ("for (int i = 0; i < n; i++) u += b[t * n + i] * i;", 6 * 3 + 96, 0, 0),
        # two arrays at one index, or at two of them: the index is added to bases that advance
        ("for (int i = 0; i < n; i++) u += b[t * n + i] * d[t * n + i];", 6 * 6, 6 * 2, 6 * 4),
        ("for (int i = 0; i < n; i++) u += b[t * n + i] * d[t * 7 + i];", 6 * 6, 6, 6 * 2),
        ("const float *p = b + t * n, *q = d + t * n; for (int i = 0; i < n; i++) u += p[i] * q[i];",
         6 * 6, 0, 0),
        # a counter that a constant scales: 4 copies, the index advances
        ("for (int i = 0; i < n; i++) u += b[i * 64 + t];", 24 * 4, 24, 24),
        ("\n#pragma unroll 1\nfor (int i = 0; i < n; i++) u += b[t * n + i];", 96 * 3, 0, 96),
        # a barrier keeps no loop from 16 copies, an exchange does
        ("for (int i = 0; i < n; i++) { u += b[t * n + i]; __syncthreads(); }", 6 * 4, 0, 0),
        ("for (int i = 0; i < n; i++) { u += b[t * n + i]; __syncwarp(); }", 24 * 4, 0, 0),
        ("for (int i = 0; i < n; i++) u += __shfl_xor_sync(~0u, b[t * n + i], 1);", 24 * 4, 0, 0),
    ],
)  # fmt: skip
def test_what_a_round_of_copies_adds_up(loop: str, iadd: float, imad: float, mov: float):
    assert rounds_of(loop) == (iadd, imad, mov)


@pytest.mark.parametrize(
    ("loop", "iadd", "imad", "mov"),
    [  # IADD3 and IADD3.X in each copy, two in a round for the counter
        ("const float* p = b + t; for (int i = 0; i < n; i++, p += n) u += *p;", 96 * 2 + 6, 0, 0),
        ("const float* p = b + t; for (int i = 0; i < n; i++) { u += *p; p += n; }", 96 * 2 + 6, 0, 0),
        ("const float *p = b + t, *q = d; for (int i = 0; i < n; i++, p += n, q += t) u += *p * *q;",
         96 * 4 + 6, 0, 0),
        ("const float* p = b;\n#pragma unroll 1\nfor (int i = 0; i < n; i++, p += n) u += *p;",
         96 * 3, 0, 96),
    ],
)  # fmt: skip
def test_a_pointer_that_walks_by_what_the_run_tells_adds_two_words(
    loop: str, iadd: float, imad: float, mov: float
):
    assert rounds_of(loop) == (iadd, imad, mov)


@pytest.mark.parametrize(
    ("loop", "iadd", "imad"),
    [  # of 16 copies, and of 4
        ("for (int i = 0; i < n; i++) u += b[i * n + t];", 6 * 2, 96),
        ("for (int i = 0; i < n; i++) u += b[(size_t)i * n + t];", 96 * 2 + 6 * 2, 0),
        ("for (int i = 0; i < n; i++) u += ((const unsigned char*)b)[i * n + t];", 96 * 2 + 6 * 2, 0),
        ("for (int i = 0; i < n; i++) u += ((const short*)b)[i * n + t];", 6 * 2, 96),
        ("for (size_t i = 0; i < (size_t)n; i++) u += b[i * n + t];", 96 * 2 + 24 * 2, 0),
        ("for (size_t i = 0; i < (size_t)n; i++) u += b[i * 64 + t];", 24 * 4, 0),
        ("for (const float *p = b + t, *e = p + n; p < e; p++) u += *p;", 24 * 4, 0),
        ("for (const float *p = b + t, *e = p + n; p != e; p++) u += *p;", 6 * 4, 0),
    ],
)
def test_what_has_64_bits_is_added_in_two_words(loop: str, iadd: float, imad: float):
    assert rounds_of(loop, (K.IADD, K.IMAD)) == (iadd, imad)


@pytest.mark.parametrize(
    ("loop", "copies"),
    [
        ("for (int i = 0; i < n; i++) v = v * 3 + 1;", 16),
        ("for (int i = 0; i < n; i++) { v ^= v << 3; v ^= v >> 5; }", 16),
        ("for (int i = 0; i < n; i++) { v ^= v << 13; v ^= v >> 17; v ^= v << 5; }", 4),
        ("for (int i = 0; i < n; i++) { v ^= c[i]; v ^= v << 13; v ^= v >> 17; v ^= v << 5; }", 16),
        ("for (int i = 0; i < n; i++) atomicAdd(c + v, 1);", 4),
        ("for (int i = 0; i < n; i++) { u += b[i]; __threadfence(); }", 4),
    ],
)
def test_short_loops_have_further_copies(loop: str, copies: int):
    assert rounds_of(loop, (K.BRANCH,)) == (96 / copies,)


@pytest.mark.parametrize(
    ("value", "int_", "shf"),
    [  # IMAD.HI and SHF, or what the factor needs beside them; the quotient serves the remainder
        ("(unsigned)v / 10", 1, 1),
        ("(unsigned)v / 7", 3, 1),
        ("(unsigned)v / 14", 1, 2),
        ("(unsigned)v / 641", 1, 0),
        ("(unsigned)v % 10", 2, 1),
        ("v / 3", 2, 0),
        ("v / 10", 2, 1),
        ("v / 7", 2, 1),
        ("v % 7 + v / 7 * n", 4, 1),
    ],
)
def test_a_constant_divisor_is_a_factor_of_its_own(value: str, int_: int, shf: int):
    one, other = (mix_of(f"int v = c[threadIdx.x]; c[threadIdx.x] = {e};") for e in (value, "v"))
    counted = sum(one.number(kind) - other.number(kind) for kind in (K.IMAD, K.IADD))
    assert (counted, one.number(K.SHF) - other.number(K.SHF)) == (int_, shf)


def test_a_product_of_32_bits_to_64_is_one_instruction():
    body = "int v = c[threadIdx.x]; ((long long*)a)[threadIdx.x] = {};"
    plain, wide, long = (
        mix_of(body.format(value)).number(K.IMAD)
        for value in ("v", "(long long)v * n", "(long long)v * n * v")
    )
    assert wide == plain + 1
    assert long > wide + 1


def test_what_constants_decide_in_each_copy_is_no_instruction():
    """Two buffers by turns: SASS has the loads, the sum and the store of each copy, offsets in them."""
    body = """__shared__ int s[2][64]; int t = threadIdx.x, p = 0; s[0][t] = c[t]; __syncthreads();
    for (int d = 1; d < 32; d *= 2) {{ {turn} s[q][t] = s[p][t] + s[p][t ^ 1]; p = q; __syncthreads(); }}
    c[t] = s[p][t];"""
    turned = mix_of(body.format(turn="int q = 1 - p;"))
    assert turned.number(K.IADD) == 5
    run = mix_of(body.format(turn="int q = c[p];"))
    assert run.number(K.IADD) > 5


def test_the_sum_that_copies_add_their_constants_to_is_made_once():
    body = "int y = blockIdx.x * 32 + threadIdx.x; for (int j = 0; j < 32; j += 8) if (y + j < n) "
    assert mix_of(body + "a[y * 64 + j] = x;").number(K.IADD) <= 1 + 4 + 1


def test_what_a_condition_computed_is_there_behind_it():
    body = "int t = threadIdx.x; if (t < n && c[t] * n + t < 900) a[t] = c[t] * n + t;"
    apart = body.replace("a[t] = c[t] * n + t", "a[t] = x")
    assert mix_of(body).number(K.LDG) == mix_of(apart).number(K.LDG)
    assert mix_of(body).number(K.IMAD) == mix_of(apart).number(K.IMAD)
    either = "int t = threadIdx.x; if (t >= n || c[t] * n + t > 900) return; a[t] = c[t] * n + t;"
    assert mix_of(either).number(K.LDG) == 1


def test_a_computed_arm_of_a_choice_takes_no_selection():
    assert choices("u = u > x ? u * 2.f + x : u;") == (1, 0)
    assert choices("v = v > n ? v ^ 77 : v;") == (0, 1)
    assert choices("v = v > n ? v + 3 : 0;") == (0, 2)


def test_narrow_members_of_an_aligned_record_are_loaded_together():
    mix = record_mix("q[i] = p[i].x + p[i].y;", "const ushort2* p, int* q")
    assert mix.number(K.LDG) == 1
    mix = record_mix("q[i] = p[i].x + p[i].w;", "const uchar4* p, int* q")
    assert mix.number(K.LDG) == 2


def test_a_grid_stride_is_multiplied_in_every_round():
    body = "for (int i = threadIdx.x; i < {end}; i += blockDim.x * gridDim.x) a[i] = b[i];"
    few, many = (mix_of(body.format(end=end)) for end in (3200, 6400))
    assert many.number(K.IADD) == few.number(K.IADD)
    assert (many.number(K.IMAD) - few.number(K.IMAD), many.number(K.MOV) - few.number(K.MOV)) == (300, 200)


def test_an_index_of_64_bits_is_shifted_once_for_all_arrays():
    body = "for (size_t i = threadIdx.x; i < {end}; i += blockDim.x) a[i] = b[i] + a[i + 5];"
    few, many = (mix_of(body.format(end=end)) for end in (3200, 6400))
    assert many.number(K.SHF) - few.number(K.SHF) == 2 * 100
    assert many.number(K.IADD) - few.number(K.IADD) == (2 + 2 * 2) * 100


def test_copies_of_a_tile_in_registers_are_not_counted_by_their_accesses():
    body = """__shared__ float s[32][64]; float r[4][4] = {}; int t = threadIdx.x;
    for (int k = 0; k < 16; k++) { float p[4], q[4];
      for (int i = 0; i < 4; i++) { p[i] = s[k][t * 4 + i]; q[i] = s[k + 16][t * 4 + i]; }
      for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) r[i][j] += p[i] * q[j]; }
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) a[i * 4 + j] = r[i][j]; s[t][0] = x;"""
    assert mix_of(body).number(K.BRANCH) == 1  # no loop is left


def test_a_minimum_in_an_arm_is_predicated():
    assert mix_of("int t = threadIdx.x; if (c[t] > 3) c[t] = min(c[t] + n, 9);").number(K.BRANCH) == 1


@pytest.mark.parametrize(
    ("trips", "plain", "other"),
    [
        ("16", "if ((j & 1) == 0) s += x * j; else s *= x;",
         "switch (j & 1) { case 0: s += x * j; break; case 1: s *= x; }"),
        ("n", "if ((j & 1) == 0) s += x * j; else s *= x;",
         "switch (j & 1) { case 0: s += x * j; break; case 1: s *= x; }"),
        ("16", "int m = j % 4; if (m == 0) s += x; else if (m == 3) s -= x; else s *= x;",
         "switch (j % 4) { case 0: s += x; break; case 3: s -= x; break; default: s *= x; }"),
        ("16", "if (j & 1) s *= x; else s *= s;", "s *= j & 1 ? x : s;"),
        ("16", "if (j & 1) { if ((j & 2) == 0) s *= x; } else s += x;",
         "if (j & 1) { if (j & 2) continue; s *= x; } else s += x;"),
        ("n", "if ((j & 3) != 2) s += x;", "switch (j & 3) { case 2: continue; default: s += x; }"),
    ],
)  # fmt: skip
def test_what_each_copy_knows_of_its_counter_decides_in_any_form(trips: str, plain: str, other: str):
    loop = "float s = 0; for (int j = 0; j < {trips}; j++) {{ {body} }} a[threadIdx.x] = s;"
    ifs, others = (mix_of(loop.format(trips=trips, body=body)).total for body in (plain, other))
    assert others == pytest.approx(ifs, rel=0.2)


def test_a_break_of_a_switch_leaves_no_loop():
    """nvcc 13 makes four copies of a loop over data, each with its tests; a short one is unrolled."""
    body = "switch (c[j]) { case 0: s += x; break; case 1: s *= x; break; default: s -= x; }"
    short, long_ = (
        mix_of(f"float s = 0; for (int j = 0; j < {trips}; j++) {{ {body} }} a[threadIdx.x] = s;")
        for trips in ("8", "n")
    )
    assert short.number(K.BRANCH) == 8 * 2 + 1
    assert long_.number(K.BRANCH) < 100 * 2.4


@pytest.mark.parametrize(
    ("body", "loads", "issued"),
    [
        ("if (j % 4 == 0) s += b[i] * j;", 1, 1),
        ("switch (j % 4) { case 0: s += b[i] * j; break; default: s *= x; }", 1, 1),
        ("s += j % 4 == 0 ? b[i] * j : x;", 1, 1),
        ("if (j % 4 == 0) { if (j % 8) s += b[i] * j; }", 1, 1),
        ("if (j == 99) s += b[i] * j; else s += x;", 0, 0),  # in none
        ("if (j % 4 == 0) s += b[i + j];", 4, 4),
        ("if (j % 4 == 0) { s += b[i]; a[i + j] = s; }", 4, 4),  # may be what is stored
        ("if (j % 4 == 0) s += x; if (i >= j) s += b[i] * j;", 12.25, 16),  # each thread decides in each copy
    ],
)
def test_what_copies_that_run_an_arm_load_again_is_loaded_once(body: str, loads: float, issued: float):
    kernel, profile = launched(
        f"""__global__ void k(float* a, float* b, float x) {{ int i = threadIdx.x; float s = 0;
        for (int j = 0; j < 16; j++) {{ {body} }} a[i] = s; }} int main() {{ k<<<1, 32>>>(0, 0, -1.f); }}"""
    )
    mix = lower_instructions(kernel, profile)
    assert mix.number(K.LDG) == pytest.approx(loads)
    assert sum(one.per_warp for one in mix.requests if not one.is_store) == pytest.approx(issued)
    written = list(written_instructions(kernel, profile))
    assert sum(one.per_thread for one in written) == pytest.approx(mix.total)
    assert all(one.region < kernel.region_count for one in written)


@pytest.mark.parametrize(("alignment", "loads"), [("16", 1), ("8", 2), ("4", 4)])  # LDG.E.128, .64, plain
def test_aligned_storage_is_copied_at_once(alignment, loads):
    kernel, profile = launched(
        "#include <type_traits>\n__global__ void k(const float* a, float* b) {"
        f" typedef std::aligned_storage<16, {alignment}>::type T; float r[4];"
        " ((T*)r)[0] = ((const T*)a)[threadIdx.x];"
        " for (int i = 0; i < 4; i++) b[i] = r[i]; }\nint main() { k<<<1, 256>>>(0, 0); }"
    )
    assert lower_instructions(kernel, profile).number(K.LDG) == loads


@pytest.mark.parametrize(
    ("member", "shf", "lop"),
    [  # SASS: LOP3 with a mask, SHF to where it begins; signed by two shifts; whole bytes are loaded as such
        ("p[i].low", 0, 1),
        ("p[i].middle", 1, 1),
        ("p[i].half", 0, 0),
        ("p[i].last", 1, 0),
        ("p[i].first", 2, 0),
        ("p[i].end", 1, 0),
        ("p[i].middle + p[i].middle * 3", 1, 1),
    ],
)
def test_bits_of_a_word_are_taken_out_of_it(member: str, shf: float, lop: float):
    record = """struct B { unsigned low : 5, middle : 11, half : 16; unsigned one : 9, last : 23;
                          int first : 5, rest : 20, end : 7; };"""
    kernel = "__global__ void k(const {0}* p, int* q) {{ int i = threadIdx.x; q[i] = {1}; }}"
    main = "int main() { k<<<1, 32>>>(0, 0); }"
    mix = lower_instructions(*launched(record + kernel.format("B", member) + main))
    assert (mix.number(K.SHF), mix.number(K.LOP)) == (shf, lop)


FEW = """
__global__ void k(float* __restrict__ o, const float* __restrict__ a, int m, int q) {{
  int t = threadIdx.x; float s = 0; for (int k = 0; k < m; k++) {{ {body} }} o[t] = s;
}}
int main() {{ k<<<4, 256>>>(0, 0, 48, {q}); }}
"""
ALIKE = "for (int c = 0; c < q; c++) s += a[(k * q + c) * 64 + t];"
OTHER = "int e = k % q + 1; for (int c = 0; c < e; c++) s += a[c * 64 + t + k];"


@pytest.mark.parametrize(
    ("body", "q", "instructions"),
    [  # SASS of nvcc 13 for a100, executed by a warp
        (ALIKE, 2, 1080),
        (ALIKE, 3, 1080),
        (ALIKE, 4, 1896),
        ("float v = 0; for (int c = 0; c < q; c++) v += a[c * 64 + t + k]; s += v * v;", 2, 1078),
        ("for (int d = -q; d <= 0; d++) s += a[(k + d + q) * 64 + t];", 1, 1176),
        (OTHER, 3, 2144),
    ],
)
def test_how_few_iterations_are_left_over_is_computed_ahead_of_the_loop_around(
    body: str, q: int, instructions: float
):
    mix = lower_instructions(*launched(FEW.format(body=body, q=q)))
    assert mix.total == pytest.approx(instructions, rel=0.15)


GUARDED = FEW.format(body="{body}", q=64)
NEAR = "int x = t + k - 8; "


@pytest.mark.parametrize(
    ("body", "copies"),
    [  # SASS of nvcc 13: where no iteration is sure to load, pointers do not step along
        ("if (t + k < q * 9) s += a[t + k];", 4),
        (NEAR + "if (x >= 0 && x < q) s += a[x];", 4),
        (NEAR + "s += x >= 0 && x < q ? a[x] : 0.f;", 4),
        (NEAR + "if (x < 0) continue; s += a[x];", 4),
        ("if (k < t) s += a[k * m + t]; else s += a[k];", 4),
        ("float v = 0; if (k < q) v = a[k * m + t]; s += v * v;", 4),
        ("if (a[k * m + t] > 0.5f) s += 1;", 16),
        ("if (a[k * m + t] > 0.5f) s += a[k];", 16),
        ("float v = a[k * m + t]; if (k < q) s += v;", 16),
        ("float v = a[k * m + t]; if (v < 0.1f) continue; s += v;", 16),
        # what no thread and no iteration changes has a loop for each case, what is even a copy
        ("if ((k & 1) == 0) s += a[k * m + t];", 16),
        ("if (q > 3) s += a[k * m + t]; else s -= 1;", 16),
        ("if (t > 3) s += a[k * m + t]; else s -= 1;", 4),
    ],
)
def test_a_loop_that_may_load_has_four_copies_and_one_that_does_has_more(body: str, copies: int):
    mix = lower_instructions(*launched(GUARDED.replace("{body}", body)))
    assert mix.number(K.BRANCH) == pytest.approx(48 / copies + 4, abs=0.5)


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13: each copy has an index of its own, and loads the size that it is scaled by
        ("if (k < q) s += a[k * m + t];", 416),
        ("if (k == t) continue; s += a[k * m + t];", 428),
        ("float v = 0; if (k < q) v = a[k * m + t]; s += v * v;", 440),
        ("if (k < q) s += a[k * m + t]; else s += a[k];", 415),
        ("s += t > 3 ? a[k * m + t] : 0.f;", 366),
        ("int x = t + k - 8; if (x >= 0 && x < m * 9) s += a[x] * a[4096 + k];", 445),
        ("s += a[k * m + t];", 195),
    ],
)
def test_a_loop_that_may_load_has_an_address_in_each_copy(body: str, instructions: float):
    mix = lower_instructions(*launched(GUARDED.replace("{body}", body)))
    assert mix.total == pytest.approx(instructions, rel=0.12)


TESTED = """
__global__ void k(float* __restrict__ o, const int* __restrict__ a, const float* __restrict__ f,
                  int W, int H, int m, int q) {{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; float s = 0;
  {body} o[y * W + x] = s;
}}
int main() {{ k<<<dim3(2, 8), dim3(32, 8)>>>(0, 0, 0, 64, 64, 16, 7); }}
"""
NINE = "for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) { int u = x + i, v = y + j; %s }"


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        (NINE % "if (u >= 0 && u < W && v >= 0 && v < H) s += f[v * W + u];", 73),
        (NINE % "if (u >= 0 && v >= 0 && u < W && H > v) s += f[v * W + u];", 73),
        (NINE % "if (u < 0 || u >= W || v < 0 || v >= H) continue; s += f[v * W + u];", 73),
        (NINE % "if (u >= 0) if (u < W) { if (v >= 0) if (v < H) s += f[v * W + u]; }", 73),
        (NINE % "bool c = 0 <= u && u < W, d = v >= 0 && v < H; if (c && d) s += f[v * W + u];", 65),
        (NINE % "s += (u > -1 && u < W && v >= 0 && v < H) ? f[v * W + u] : 0.f;", 78),
        (NINE % "if (u > q && u < W && v > q && v < H) s += f[v * W + u];", 67),
        (NINE % "if (u >= 0 && u < 64 && v >= 0 && v < 64) s += f[v * 64 + u];", 49),
        (NINE % "if ((unsigned)u < W && (unsigned)v < H) s += f[v * W + u];", 55),
    ],
)
def test_of_joined_conditions_each_copy_compares_all_but_one_that_is_there(body: str, instructions: float):
    mix = lower_instructions(*launched(TESTED.format(body=body)))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.07)


COUNTED = FEW.replace("const float*", "const int*").replace("{q}); }}", "7); }}").replace("48", "32")
OF_IT = "int v = a[k * 1024 + t]; "


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        ("if (v > q) c++;", 215),
        ("if (v > q) c -= 1;", 215),
        ("c += v > q;", 215),
        ("c = v > q ? c : c + 1;", 215),
        ("c = v > q ? c + 1 : c;", 215),
        ("if (v > q && v < 40) ++c;", 247),
        ("if (v > q) c++; else d += v;", 271),
        ("if (v > q) c++; else c--;", 215),
        ("if (v > q) c += 2;", 198),
        ("if (v > q) c += v;", 199),
        ("if (v > q) { c++; d += a[k * 1024 + t + 512]; }", 255),
        ("if (v > q) { c += q; d += a[k * 1024 + t + 512]; }", 255),
    ],
)
def test_an_arm_that_counts_makes_both_numbers_where_it_accesses_no_memory(body: str, instructions: float):
    assert issued(body) == pytest.approx(instructions, rel=0.1)


def issued(body: str) -> float:
    """Instructions that a warp issues in a loop over `v` that counts in `c` and `d`."""
    loop = (
        COUNTED.format(body=OF_IT + body)
        .replace("float s = 0;", "int c = 0, d = 1;")
        .replace("= s", "= c * d")
    )
    mix = lower_instructions(*launched(loop))
    return sum(entry.number for entry in mix.per_warp)


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        ("if (v & 1) c++;", 167),
        ("if (v % 2) c++;", 167),
        ("if (v < 0) c++;", 151),
        ("if (v & 256) c++; d ^= v;", 207),
        ("bool p = v > q; if (p) c++; d ^= p;", 223),
        ("if (v > q) { c++; d++; }", 223),
        ("if (q > 3) c++; d += v;", 161),
        # no bit: it is none, less than nothing is added, or the arm asks for the condition itself
        ("if (!(v & 1)) c++;", 247),
        ("if ((v & 1) == 0) c++;", 247),
        ("if (v & 1) { } else c++;", 247),
        ("if (v & 1) c--;", 247),
        ("if (v > q) { c++; d--; }", 287),
        ("if (v > q) { if (v & 1) c++; }", 279),
        ("if (v & 16) { c++; d += v; }", 282),  # 319: the bit is made beside the condition
    ],
)
def test_a_counter_adds_the_bit_that_decides_or_a_number_that_others_need_too(body: str, instructions: float):
    assert issued(body) == pytest.approx(instructions, rel=0.06)


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp: a branch in each of four copies, a reciprocal in each arm
        ("if (v > 300) c += v / q;", 1032),
        ("if (v > 300) c += v % q;", 976),
        ("if (t > q) c += t / q; d += v;", 1048),
        ("c += v / q;", 656),
    ],
)
def test_a_division_that_may_not_run_is_not_made_ahead(body: str, instructions: float):
    assert issued(body) == pytest.approx(instructions, rel=0.06)


def test_a_division_of_64_bits_stays_in_its_arm_as_well():
    loaded, given = (issued(f"if ({x} > 3) c += (long long){x} / m; d += v;") for x in "vt")
    assert given == pytest.approx(loaded, rel=0.1)


def test_a_sum_shifts_what_it_adds_to_the_right():
    assert issued("c += v >> 3;") == pytest.approx(151, rel=0.02)
    assert issued("c += v >> 3;") == issued("c += v << 3;")


@pytest.mark.parametrize("operation", ["(v ^ q) & 1", "(v & q) ^ 5", "(v & 255) ^ 512", "(v ^ m) & q"])
def test_one_operand_of_a_bitwise_operation_is_in_no_register(operation: str):
    assert issued(f"c += {operation};") == pytest.approx(199, rel=0.02)
    assert issued(f"c += {operation.replace('v', '(v ^ t)')};") == pytest.approx(199, rel=0.02)


def test_counting_is_the_same_in_every_form():
    loops = (
        COUNTED.format(body=OF_IT + body)
        for body in ("if (v > q) c++;", "c += v > q;", "c = v > q ? c + 1 : c;")
    )
    mixes = [
        lower_instructions(*launched(loop.replace("float s", "int c").replace("= s", "= c")))
        for loop in loops
    ]
    assert len({sum(entry.number for entry in mix.per_warp) for mix in mixes}) == 1


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp: four copies, each with an index of its own
        ("if (a[k] > 0.5f) s += a[k * m + t];", 460),
        ("if (a[k] > 0.5f) s += a[k * 3 + t];", 350),
        ("if (a[k] > 0.5f) s += a[(k << 6) + t];", 350),
        ("if (a[k] > 0.5f) o[k * m + t] = s; s += 1;", 448),
        ("if (a[k + t] > 0.5f) continue; s += a[k * m + t];", 461),
        ("if (a[k * q + t] > 0.5f) s += a[k * m + t];", 436),
        # sixteen: where a pointer steps along, at an index that is there, in both arms
        ("if (a[k] > 0.5f) s += a[k * 2 + t];", 255),
        ("if (a[k * m + t] > 0.5f) s += a[k * m + t + 5];", 304),
        ("if (a[k] > 0.5f) s += a[k * m + t]; else s += a[k * m + q];", 428),
    ],
)
def test_an_address_that_an_arm_alone_needs_is_no_pointer_where_it_scales_the_counter(
    body: str, instructions: float
):
    mix = lower_instructions(*launched(GUARDED.replace("{body}", body)))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.11)


RESTING = """
__global__ void k(float* __restrict__ o, const float* __restrict__ a, const float* __restrict__ b,
                  int n, int m, int q, int w, int h) {{
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, x = t & 15, y = t >> 4, c = blockIdx.x; float s = 0;
  for (int k = 0; k < m; k++) {{ int u = x + k - q; {body} }} o[i] = s;
}}
int main() {{ k<<<4, 256>>>(0, 0, 0, 64, 24, 2, 8, 8); }}
"""
INSIDE = "u >= 0 && u < n"
A, B, C = (
    "a[((c * h + y) * w + q) * n + u]",
    "b[((c * q + y) * w + h) * m + k]",
    "b[((c * h + y) * h + w) * m + k]",
)


@pytest.mark.parametrize(
    ("body", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        (f"if ({INSIDE}) s += {A} * {B};", 219),
        (f"if ({INSIDE}) s += {A} * {B} * {C};", 308),
        (f"s += ({INSIDE}) ? {A} * {B} : 1.f;", 278),
        (f"if ({INSIDE}) s += {A} * {B}; else s -= {C};", 311),
        (f"if (b[k] > .5f) {{ s += {A} * {B}; s *= a[(c * w + x) * h + k]; }}", 304),
        (f"if ({INSIDE}) o[((c * h + y) * w + q) * n + u] = a[k]; s += 1;", 249),
    ],
)
def test_an_arm_is_as_long_as_what_is_not_made_ahead_of_the_loop_around(body: str, instructions: float):
    mix = lower_instructions(*launched(RESTING.format(body=body)))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.13)


FILTERED = """
__global__ void k(const float* __restrict__ a, const float* __restrict__ f, float* __restrict__ o,
                  int n, int m) {{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; float s = 0;
  for (int c = 0; c < m; c++) for (int r = 0; r < {size}; r++) for (int q = 0; q < {size}; q++) {{
    int u = x + q - {size} / 2, v = y + r - {size} / 2;
    if ({test}) s += {factor} * a[(c * n + v) * n + u];
  }}
  o[y * n + x] = s;
}}
int main() {{ k<<<dim3(2, 8), dim3(32, 8)>>>(0, 0, 0, 64, 8); }}
"""


@pytest.mark.parametrize(
    ("size", "test", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        (5, "u >= 0 && u < n && v >= 0 && v < n", 1262),
        (7, "u >= 0 && u < n && v >= 0 && v < n", 2400),
        (3, "u >= 0 && u < n", 356),
    ],
)
def test_few_comparisons_are_made_ahead_of_a_loop(size: int, test: str, instructions: float):
    source = FILTERED.format(size=size, test=test, factor=f"f[(c * {size} + r) * {size} + q]")
    mix = lower_instructions(*launched(source))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.13)


UNROLLED = """
__global__ void k(float* __restrict__ o, const float* __restrict__ a, int m, int q) {{
  int t = threadIdx.x; float s = 0, r = 0; {loop} o[t] = s + r;
}}
int main() {{ k<<<4, 256>>>(0, 0, 32, 300); }}
"""
AROUND = "for (int d = -1; d <= 1; d++)"


@pytest.mark.parametrize(
    ("loop", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp
        (f"{AROUND} s += a[t + d + 1] * d * (2 - d * d);", 16),
        ("for (int d = -2; d <= 2; d++) s += a[t + d + 2] * d * d;", 23),
        ("for (int d = 0; d < 6; d++) s += a[t + d] * (d % 2 ? 4 : 2);", 21),
        (
            f"for (int e = -1; e <= 1; e++) {AROUND} {{ float v = a[e * 64 + t + d + 65];"
            " s += v * d * (2 - e * e); r += v * e * (2 - d * d); }",
            38,
        ),
        (  # operations on numbers alone are none that make an arm long
            "for (int d = -4; d <= 4; d++) { int x = t + d; if (x >= 0 && x < q) { float v = a[x];"
            " s += v * (d * d - 3 * d + 4) + r * (d * 7 + 2); r += v * (5 - d) * (1 + d * d * 3); } }",
            86,
        ),
    ],
)
def test_each_copy_of_a_loop_knows_what_its_counter_comes_to(loop: str, instructions: float):
    mix = lower_instructions(*launched(UNROLLED.format(loop=loop)))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.11)


@pytest.mark.parametrize(
    ("test", "instructions"),
    [  # SASS of nvcc 13 for a100, issued by a warp: the distance from the lower limit is compared
        ("int x = t + d; if (x >= 2 && x < 250)", 37),
        ("int x = t + d; if (!(x < 2 || x > 250))", 37),
        ("int x = t + d; if (x <= 250 && x > 0)", 37),
        ("int x = t + d; if (x >= 2 && x < q)", 43),
        # words are compared as such, whatever they are widened to
        ("long long x = t + d; if (x >= 0 && x < 250)", 37),
        ("long long x = t + d; if (x >= 0 && x < q)", 43),
        ("int x = t + d; if ((size_t)x < 250)", 37),
        ("int x = t + d + 3; if ((long long)x < q)", 36),
    ],
)
def test_a_range_is_one_comparison_wherever_it_begins(test: str, instructions: float):
    loop = f"for (int d = -3; d <= 3; d++) {{ {test} s += a[x]; }}"
    mix = lower_instructions(*launched(UNROLLED.format(loop=loop)))
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(instructions, rel=0.03)


def test_ranges_that_no_predicates_hold_are_compared_in_each_round():
    """Nine copies of one comparison, and seven predicates (SASS of nvcc 13 for a100: 294)."""
    mix = lower_instructions(
        *launched(
            "__global__ void k(const int* a, int* o, int n, int m) {"
            "  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, c = 0;"
            "  for (int z = 0; z < m; z++) for (int d = -4; d <= 4; d++) {"
            "    int x = t + d; if (x >= 0 && x < 256) c += a[z * n + i + d];"
            "  }"
            "  o[i] = c;"
            "}\nint main() { k<<<4, 256>>>(0, 0, 1024, 8); }"
        )
    )
    assert sum(entry.number for entry in mix.per_warp) == pytest.approx(294, rel=0.03)


FUNCTIONS = (
    "__device__ float square(float v) { return v * v; }"
    "__device__ float four(const float* p, int i) { return square(p[i]) + square(p[i]); }"
    "__device__ float relu(float v) { if (v < 0) return 0; return v; }"
    "__device__ float leaky(float v) { if (v < 0) { return v * 0.1f; } else { return v * 2; } }"
    "__device__ float inside(const float* p, int i) { if (i < 9999) return p[i]; return 0; }"
    "struct Add { __device__ float operator()(float a, float b) const { return a + b; } };"
)


@pytest.mark.parametrize(
    ("arm", "branches"),
    [  # SASS of nvcc 13 for a100: 64 guarded iterations; one that loads in an arm inside branches
        ("s += square(p[i + k])", 1),
        ("s += four(p, i + k)", 1),
        ("s += relu(p[i + k])", 1),
        ("s += leaky(p[i + k])", 1),
        ("s = add(s, p[i + k])", 1),
        ("s += inside(p, i + k)", 193),
    ],
)
def test_a_function_that_ends_with_its_result_is_predicated_like_any_sum(arm: str, branches: int):
    mix = lower_instructions(
        *launched(
            f"{FUNCTIONS}__global__ void k(const float* p, float* o, int n) {{ Add add;"
            "  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
            f"  for (int k = 0; k < 64; k++) if (i + k < n) {arm};"
            "  o[i] = s;"
            "}\nint main() { k<<<4, 256>>>(0, 0, 9000); }"
        )
    )
    assert mix.number(K.BRANCH) == branches


def test_a_function_that_returns_in_both_arms_is_the_same_inline():
    """SASS of nvcc 13 for a100 is the same, too."""
    both = (
        mix_of(
            "struct { __device__ float operator()(const float* p, int i, float x) {"
            " if (i < 9000) return p[i]; else return p[i + 9]; } } pick;"
            " float s = 0; int i = threadIdx.x; for (int j = 0; j < 64; j++)"
            f" if (i + j < n) {{ {arm} }} a[i] = s;"
        )
        for arm in (
            "s += pick(b, i + j, x);",
            "float v; if (i + j < 9000) v = b[i + j]; else v = b[i + j + 9]; s += v;",
        )
    )
    called, inline = both
    assert called.number(K.BRANCH) == inline.number(K.BRANCH)
    assert called.total == pytest.approx(inline.total, rel=0.02)


def test_a_function_that_returns_a_number_early_chooses_its_result():
    """SASS of nvcc 13 for a100: a comparison and FSEL in each iteration (429 instructions, of square 279)."""
    early, plain = (
        launched(
            f"{FUNCTIONS}__global__ void k(const float* p, float* o) {{"
            f"  o[threadIdx.x] = {function}(p[threadIdx.x]); }}\nint main() {{ k<<<4, 256>>>(0, 0); }}"
        )
        for function in ("relu", "square")
    )
    chosen, product = lower_instructions(*early), lower_instructions(*plain)
    assert chosen.number(K.FSETP) - product.number(K.FSETP) == 2
    assert chosen.total == product.total + 1


@pytest.mark.parametrize(
    ("index", "integers"),
    [  # integer instructions in SASS of nvcc 13 for a100: each quotient once, in whatever order
        ("(i % n * 64 + i / n % m) * 64 + i / n / m", 51),
        ("(i / n % m * 64 + i % n) * 64 + i / n / m", 51),
        ("(i / n / m * 64 + i / n % m) * 64 + i % n", 51),
        ("i % n * 64 + i % n * (i / n)", 29),
        ("unsigned(i) % n * 64 + unsigned(i) / n + unsigned(i) / n * m", 25),
    ],
)
def test_quotient_and_remainder_are_one_division_whichever_comes_first(index: str, integers: int):
    mix = lower_instructions(
        *launched(
            "__global__ void k(const float* x, float* y, int n, int m) {"
            f" int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[{index}];"
            "}\nint main() { k<<<4, 256>>>(0, 0, 28, 28); }"
        )
    )
    assert mix.number(K.MUFU) == (2 if "/ m" in index else 1)
    others = (K.MUFU, K.LDG, K.STG, K.BRANCH)
    assert mix.total - sum(map(mix.number, others)) == pytest.approx(integers, rel=0.22)


@pytest.mark.parametrize(
    ("number", "body", "instructions"),
    [  # SASS of nvcc 13 for a100: divisions by 3, 5, 6, 7; shifts or products for 2, 4, 8; nothing for 1
        ("int", "s += v / k + v % k", 44),
        ("unsigned", "s += v / k", 25),
        ("float", "t *= v / k; s += t", 73),
        ("double", "t *= v / k; s += t", 101),
    ],
)
def test_copies_divide_by_their_own_counter(number: str, body: str, instructions: float):
    mix = lower_instructions(
        *launched(
            f"__global__ void k(const {number}* x, {number}* y) {{"
            f" int i = blockIdx.x * blockDim.x + threadIdx.x; {number} s = 1, t = 1, v = x[i];"
            f" for (int k = 1; k <= 8; k++) {{ {body}; }} y[i] = s;"
            "}\nint main() { k<<<4, 256>>>(0, 0); }"
        )
    )
    assert mix.total == pytest.approx(instructions, rel=0.12)


@pytest.mark.parametrize(
    ("number", "kind", "instructions"), [("unsigned", K.IMAD, 4), ("float", K.FMUL, 2), ("double", K.DMUL, 3)]
)
def test_a_power_of_two_among_the_divisors_of_copies_is_no_division(number: str, kind: K, instructions: int):
    """SASS of nvcc 13 for a100: of 1, 2, 3, 4 a shift or a product for 2 and 4; IMAD, too, are addresses."""
    mix = lower_instructions(
        *launched(
            f"__global__ void k(const {number}* x, {number}* y) {{"
            f" int i = blockIdx.x * blockDim.x + threadIdx.x; {number} v = x[i];"
            " for (int k = 1; k <= 4; k++) y[i * 4 + k] = v / k;"
            "}\nint main() { k<<<4, 256>>>(0, 0); }"
        )
    )
    assert mix.number(kind) == instructions
    assert mix.number(K.STG) == 4


ROTATIONS = "__device__ unsigned turn(unsigned x, int n) { return (x >> n) | (x << (32 - n)); }\n"
WRITTEN = "((({0}) << (32 - ({1}))) | (({0}) >> ({1})))"


@pytest.mark.parametrize("turn", [WRITTEN, "turn({0}, {1})"])
def test_what_is_rotated_is_there_once_for_the_size_of_a_loop(turn: str):
    """SASS of nvcc 13 for a100: 48 copies of four rotations of elements of an array, no local memory."""
    turned = [turn.format(f"w[i - {back}]", by) for back, by in ((15, 7), (15, 18), (2, 17), (2, 19))]
    text = (
        f"{ROTATIONS}__global__ void k(const unsigned* x, unsigned* y) {{"
        " int t = blockIdx.x * blockDim.x + threadIdx.x; unsigned w[64];"
        " for (int i = 0; i < 16; i++) w[i] = x[t * 16 + i];"
        " for (int i = 16; i < 64; i++)"
        f" w[i] = w[i - 16] + w[i - 7] + ({' ^ '.join(turned[:2])} ^ (w[i - 15] >> 3))"
        f" + ({' ^ '.join(turned[2:])} ^ (w[i - 2] >> 10));"
        " y[t] = w[63];"
        "}\nint main() { k<<<4, 256>>>(0, 0); }"
    )
    mix = lower_instructions(*launched(text))
    assert (mix.local_accesses, mix.number(K.BRANCH)) == (0, 1)


@pytest.mark.parametrize(("trips", "is_whole"), [(180, True), (200, False)])
def test_a_rotation_is_three_operations_of_the_size_of_a_loop(trips: int, is_whole: bool):
    text = (
        f"{ROTATIONS}__global__ void k(const unsigned* x, unsigned* y) {{"
        " unsigned a = x[threadIdx.x], b = x[threadIdx.x + 32];"
        f" for (int k = 0; k < {trips}; k++) {{ a = turn(a, 5) ^ b; b = turn(b, 9) + a; }}"
        " y[threadIdx.x] = a ^ b;"
        "}\nint main() { k<<<4, 256>>>(0, 0); }"
    )
    assert (lower_instructions(*launched(text)).number(K.BRANCH) == 1) is is_whole


@pytest.mark.parametrize(
    ("values", "executed"),
    [  # FMUL, FSETP, FADD and MUFU in SASS of nvcc 13 for sm_80
        ("__fdividef(v, w)", 5),
        ("__fdividef(v, w), __fdividef(v + 1, w)", 5 + 3),  # one reciprocal
        ("__fdividef(v, w), __fdividef(v, w + 1)", 5 + 6),
        ("__fdividef(v, 3.0f)", 1),
        ("__fdividef(1.0f, w)", 5),
        ("__fdividef(1.0f, 1.0f + __expf(-v))", 7),  # no more than one: not scaled
        ("__fdividef(v, __expf(v) + 1.0f)", 8),
        ("__sinf(v), __cosf(v)", 3),  # one product with 1 / (2 pi)
        ("__sinf(v), __cosf(-v)", 3),
        ("__sinf(v), __cosf(w)", 4),
        ("__expf(v), __expf(v)", 5),
        ("__expf(v), __expf(-v)", 10),
    ],
)
def test_fast_functions_of_the_same_number_share_what_they_do_with_it(values: str, executed: int):
    parts = values.replace("), __", ")|__").split("|")
    stores = "".join(f"a[{n} * 64 + threadIdx.x] = {one}; " for n, one in enumerate(parts))
    mix = mix_of(f"float v = b[threadIdx.x], w = b[threadIdx.x + 32]; {stores}")
    assert sum(mix.number(kind) for kind in (K.FMUL, K.FADD, K.FSETP, K.MUFU)) == executed


@pytest.mark.parametrize(
    ("value", "products"),
    [  # IMAD in SASS of nvcc 13 for sm_80
        ("__umulhi(v, n) ^ v * n", 1),  # IMAD.WIDE.U32
        ("__umulhi(0xD2511F53u, v) ^ v * 0xD2511F53u", 1),
        ("__mulhi((int)v, n) ^ (int)v * n", 1),
        ("__umulhi(v, n) ^ v * (n + 1)", 2),
        ("__umulhi(v, n) ^ v * n + w", 2),  # the sum takes the product along
        ("__umulhi(v, n)", 1),
    ],
)
def test_both_words_of_a_product_are_one_multiplication(value: str, products: int):
    def imad(value: str) -> float:
        text = f"unsigned v = c[threadIdx.x], w = c[threadIdx.x + 32]; c[threadIdx.x] = {value};"
        return mix_of(text).number(K.IMAD)

    assert imad(value) - imad("v ^ w") == products


def atomic_mix(body: str, gpu: str = "a100") -> InstructionMix:
    kernel, profile = launched(
        "__global__ void k(const int* a, int* b, int* h, float* f, int n) {"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
        "int main() { k<<<64, 256>>>(0, 0, 0, 0, 5); }"
    )
    return lower_instructions(kernel, profile, isa_of(load_gpu(gpu)))


@pytest.mark.parametrize(
    ("body", "executed"),
    [  # all that SASS of nvcc 13 for sm_80 executes
        ("atomicAdd(h, 1);", 11),  # S2R, VOTE, FLO, POPC, ISETP
        ("atomicAdd(h, 3);", 12),  # IMAD
        ("atomicAdd(h, n);", 12),
        ("atomicAdd(h, a[i]);", 18),  # S2R, VOTE, FLO, ISETP, REDUX, MOV
        ("atomicSub(h, a[i]);", 19),
        ("atomicMax(h, a[i]);", 18),
        ("atomicAdd(h + blockIdx.x, a[i]);", 17),
        ("atomicOr(h, 1);", 13),
        ("atomicMax(h, n);", 13),
        ("b[atomicAdd(h, 1)] = a[i];", 24),  # S2R, LOP3, POPC, SHFL, IADD3
        ("b[i] = atomicAdd(h, 3);", 23),
        ("atomicAdd((unsigned long long*)h, 1ull);", 17),
        # none is elected
        ("b[i] = atomicMax(h, a[i]);", 14),
        ("atomicInc((unsigned*)h, 99);", 7),
        ("atomicExch(h, a[i]);", 12),
        ("atomicAdd(f, f[i]);", 12),
        ("atomicMax((long long*)h, ((long long*)a)[i]);", 12),
        ("atomicAdd(&h[a[i]], 1);", 12),  # a constant is moved
    ],
)
def test_one_lane_does_what_a_warp_adds_to_one_address(body: str, executed: int):
    assert atomic_mix(body).total == executed


def test_a_quotient_by_what_is_cut_to_nothing_is_none():
    quotient = FOLD_WORDS[BinaryOp.DIV]
    assert (quotient(7, 0.5), quotient(7, 0), quotient(-7, 2), quotient(7, -1)) == (0, 0, -3, -7)


def test_a_loop_that_is_not_unrolled_waits_for_atomics():
    """SASS of nvcc 13: a YIELD in each iteration, not for those in shared memory on sm_90."""
    shared = "__shared__ int s[64]; for (int j = i; j < 99999; j += 256 * n) atomicAdd(&s[a[j] & 63], 1);"
    waits = {gpu: atomic_mix(shared, gpu).number(K.OTHER) for gpu in ("a100", "h200")}
    assert waits["a100"] > 1 > waits["h200"]
    assert atomic_mix(shared.replace("&s", "&h"), "h200").number(K.OTHER) > 1


def test_shared_memory_counts_up_by_itself_where_nobody_needs_the_result():
    around = "__shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); {} __syncthreads(); b[i] = s"
    counted = atomic_mix(around.format("atomicAdd(&s, 1);") + ";").total
    assert counted == pytest.approx(14, abs=0.1)  # SASS of nvcc 13: ATOMS.POPC.INC
    used = atomic_mix(around.format("int q = atomicAdd(&s, 1);") + " + q;").total
    assert used == pytest.approx(24, abs=1.1)


@pytest.mark.parametrize(
    ("condition", "is_elected"),
    [  # of SASS of nvcc 13 for sm_80
        ("threadIdx.x == 0", False),
        ("threadIdx.x == 31", False),
        ("threadIdx.x == n", False),
        ("i == 0", False),
        ("(threadIdx.x & 31) == 0", True),
        ("threadIdx.x == blockDim.x - 1", True),
        ("threadIdx.x == 0 && i > n", True),
        ("threadIdx.x < 16", True),
    ],
)
def test_where_a_comparison_lets_one_thread_pass_it_asks_no_others(condition: str, is_elected: bool):
    assert bool(atomic_mix(f"if ({condition}) atomicAdd(h, 1);").number(K.SHFL)) is is_elected


def test_the_rest_behind_a_return_of_all_but_one_thread_asks_no_others():
    assert atomic_mix("if (threadIdx.x != 0) return; atomicAdd(h, 1);").number(K.SHFL) == 0
    assert atomic_mix("if (threadIdx.x == 0) return; atomicAdd(h, 1);").number(K.SHFL) > 0


def test_a_warp_adds_up_by_shuffles_where_it_has_no_redux():
    mix = atomic_mix("atomicAdd(h, a[i]);", "quadro_rtx_5000")  # SASS of nvcc 13 for sm_75
    assert (mix.number(K.SHFL), mix.number(K.IADD), mix.number(K.ATOM)) == (6, 5, 2)


@pytest.mark.parametrize(
    ("update", "executed"),
    [  # in each of 128 iterations, in SASS of nvcc 13 for sm_80
        ("atomicAdd(c + c[i], 1)", 11),  # the constant and its size are made anew; YIELD
        ("atomicAdd(c + c[i], i)", 10),
        ("atomicAdd(a + c[i], 1.0f)", 11),
        ("c[i] = ((char*)b)[i]", 10),  # IADD3 and LEA.HI.X for bytes
    ],
)
def test_a_loop_with_an_atomic_stays_rolled_and_moves_operands_again(update: str, executed: int):
    loop = f"for (int i = threadIdx.x; i < 4096; i += blockDim.x * gridDim.x) {update};"
    assert mix_of(loop).total == pytest.approx(TRIPS * executed, rel=0.06)


@pytest.mark.parametrize(
    ("body", "executed"),
    [  # HADD2, HMUL2, HFMA2 and HMNMX2 in SASS of nvcc 13 for sm_80
        ("for (int k = 0; k < 8; k++) v.h[k] = __hadd(v.h[k], w.h[k]);", 4),
        ("for (int k = 0; k < 8; k++) v.h[k] = v.h[k] * w.h[k];", 4),
        ("for (int k = 0; k < 8; k++) v.h[k] = __hfma(v.h[k], w.h[0], w.h[k]);", 4),
        ("for (int k = 0; k < 8; k++) v.h[k] = __hmax(v.h[k], w.h[k]);", 4),
        ("for (int k = 0; k < 8; k++) v.h[0] = __hfma(v.h[k], w.h[k], v.h[0]);", 8),
        ("half m = v.h[0]; for (int k = 1; k < 8; k++) m = __hmax(m, v.h[k]); v.h[0] = m;", 7),
        ("for (int k = 0; k < 4; k++) v.p[k] = __hadd2(v.p[k], w.p[k]);", 4),
    ],
)
def test_copies_of_a_loop_do_two_halves_in_one_instruction(body: str, executed: int):
    array = "half2 p[4]" if ".p" in body else "half h[8]"
    kernel, profile = launched(
        f"#include <cuda_fp16.h>\nstruct alignas(16) H8 {{ {array}; }};\n"
        "__global__ void k(const H8* x, H8* y) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" H8 v = x[i], w = y[i]; {body} y[i] = v; }}\nint main() {{ k<<<64, 256>>>(0, 0); }}"
    )
    assert lower_instructions(kernel, profile).number(K.HFMA2) == executed


@pytest.mark.parametrize(
    ("body", "shifts", "sums"),
    [
        ("{ unsigned t = v + r; r += TURN(t, 7); }", 0, 16),
        ("{ unsigned t = v + r; r += TURN(t, (j % 4) * 5 + 7); }", 0, 16),
        ("r = TURN(r ^ v, 13) * 5 + 7u;", 8, 0),
        ("r = TURN(r + v, 13) ^ v;", 8, 8),
    ],
)
def test_a_sum_takes_a_rotation_along_and_a_product_does_not(body: str, shifts: int, sums: int):
    """SASS of nvcc 13 for a100: LEA.HI is a rotation and an addition."""
    text = (
        "#define TURN(a, b) (((a) << (b)) | ((a) >> (32 - (b))))\n"
        "__global__ void k(const unsigned* x, unsigned* y) { unsigned v = x[threadIdx.x], r = x[99];"
        f" for (int j = 0; j < 8; j++) {body} y[threadIdx.x] = r; }}"
        "\nint main() { k<<<4, 256>>>(0, 0); }"
    )
    mix = lower_instructions(*launched(text))
    assert (mix.number(K.SHF), mix.number(K.IADD)) == (shifts, sums)


@pytest.mark.parametrize(
    ("number", "body", "instructions"),
    [
        ("half", "__hadd(a[t], __hmul(a[t + 64], a[t + 128]))", 1),
        ("half", "__hsub(__hmul(a[t + 64], a[t + 128]), a[t])", 1),
        ("half", "__hadd(__hmul(a[t], a[t]), __hmul(a[t + 64], a[t + 128]))", 2),
        ("half", "__hadd(a[t], a[t + 64] * a[t + 128])", 1),
        ("half", "__hadd_rn(a[t], __hmul_rn(a[t + 64], a[t + 128]))", 2),
        ("half2", "__hadd2(a[t], __hmul2(a[t + 64], a[t + 128]))", 1),
        ("half2", "a[t] + __hmul2(a[t + 64], a[t + 128])", 1),
        ("__nv_bfloat16", "__hadd(a[t], __hmul(a[t + 64], a[t + 128]))", 2),
        ("__nv_bfloat162", "__hadd2(a[t], __hmul2(a[t + 64], a[t + 128]))", 2),
    ],
)
def test_sums_of_halves_take_products_along_by_whatever_name(number: str, body: str, instructions: int):
    """SASS of nvcc 13 for sm_80."""
    text = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        f"__global__ void k(const {number}* a, {number}* o) {{ int t = threadIdx.x; o[t] = {body}; }}"
        "\nint main() { k<<<1, 64>>>(0, 0); }"
    )
    assert lower_instructions(*launched(text)).number(K.HFMA2) == instructions


@pytest.mark.parametrize(
    ("body", "logic", "selects"),  # SASS: LOP3, and comparisons with SEL
    [
        ("bool p = true; for (int k = 0; k < 8; k++) p &= b[k] < x; a[0] = p;", 0, 9),
        ("bool p = false; for (int k = 0; k < 8; k++) p = p | (b[k] < x); a[0] = p;", 0, 9),
        ("bool p = b[0] < x; p &= b[1] > x; if (p) a[0] = x;", 0, 2),
        ("c[0] = (c[1] < 4) & (c[2] > 7);", 0, 3),
        ("int t = c[1] > 4; a[0] = t ? b[0] : b[1];", 0, 1),
        ("int t = 1; t &= c[1]; c[0] = t;", 1, 0),  # no truths
    ],
)
def test_truths_join_without_numbers(body: str, logic: int, selects: int):
    mix = mix_of(body)
    assert mix.number(K.LOP) == logic
    assert mix.number(K.FSETP) + mix.number(K.ISETP) == selects


def test_a_truth_is_a_number_once_in_four_copies():
    # SASS: 16 copies, of which every fourth has two SEL and a LOP3
    body = "bool p = true; for (int k = 0; k < n; k++) p &= b[k] < x; a[0] = p;"
    text = f"__global__ void k(float* a, float* b, float x, int n) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 64>>>(0, 0, 1, 64); }}")
    mix = lower_instructions(kernel, profile)
    assert 16 <= mix.number(K.LOP) < 20


@pytest.mark.parametrize(
    ("difference", "compared"),
    [
        ("i - k >= 0", "i >= k"),
        ("0 <= i - k", "k <= i"),
        ("!(i - k < 0)", "!(i < k)"),
        ("i - k != 0", "i != k"),
    ],
)
def test_a_difference_is_not_made_to_be_compared_with_zero(difference: str, compared: str):
    body = STRIDE + "float s = 0; for (int k = 0; k < n; k++) if ({}) s += b[k] * a[i - k]; a[i] = s;"
    text = "__global__ void k(float* a, float* b, int n) {{ {} }}\nint main() {{ k<<<8, 64>>>(0, 0, 64); }}"
    one, other = (
        lower_instructions(*launched(text.format(body.format(test)))) for test in (difference, compared)
    )
    assert one == other
    assert one.number(K.BRANCH) < 9  # sixteen copies: SASS has seven


def test_a_difference_that_may_wrap_is_made():
    # SASS: IADD3 and ISETP, but where the limit of words with a sign is zero
    assert mix_of("if (c[0] - c[1] >= 3) c[2] = 1;").number(K.IADD) == 1
    assert mix_of("if (c[0] - c[1] >= 0) c[2] = 1;").number(K.IADD) == 0
    assert mix_of("unsigned u = c[0], v = c[1]; if (u - v > 4u) c[2] = 1;").number(K.IADD) == 1


@pytest.mark.parametrize(
    ("loop", "divisor", "copies"),
    [
        ("int len = 2; len <= 512; len <<= 1", "len", 9),
        ("int len = 2; len <= 512; len <<= 1", "(len / 2)", 8),  # and one by one
        ("int len = 256; len > 1; len /= 2", "(float)len", 8),
        ("int l = 1; l < 9; l++", "(1 << l)", 8),
    ],
)
def test_a_quotient_by_powers_of_two_that_copies_know_is_a_product(loop: str, divisor: str, copies: int):
    mix = mix_of(f"float s = 0; for ({loop}) s += x / {divisor}; a[0] = s;")  # SASS: an FFMA for each
    assert mix.number(K.FFMA) + mix.number(K.FADD) == pytest.approx(copies, abs=1)
    assert mix.number(K.FFMA) >= copies - 1
    assert mix.number(K.BRANCH) == 1


def test_other_numbers_that_copies_know_divide():
    # SASS: all but the division by one are expanded, each with a branch
    mix = mix_of("float s = 0; for (int len = 1; len < 80; len *= 3) s += x / len; a[0] = s;")
    assert mix.number(K.BRANCH) > 3

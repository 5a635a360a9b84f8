"""Executed instructions on Maxwell and Pascal, and what warps issue: counted by hand."""

import pytest

from wattslice.workload.instructions import InstructionKind as K
from wattslice.workload.instructions import InstructionMix, Isa, isa_of, lower_instructions
from wattslice.workload.traffic import traffic
from wattslice_models.gpu import load_gpu

from .counted import counted
from .source_text import launched

INDEX = "int i = blockDim.x * blockIdx.x + threadIdx.x;"


def mix_of(body: str, isa: Isa, launch: str = "<<<100, 256>>>(0, 0, 0, 25600)") -> InstructionMix:
    text = f"__global__ void k(float* a, float* b, float* c, int n) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k{launch}; }}")
    return lower_instructions(kernel, profile, isa)


def integer(mix: InstructionMix) -> float:
    return sum(mix.number(kind) for kind in (K.IMAD, K.IADD, K.LOP, K.SHF, K.ISETP))


def issued(mix: InstructionMix, kind: K) -> float:
    return sum(entry.number for entry in mix.per_warp if entry.name == kind.value)


@pytest.mark.parametrize(
    ("gpu", "isa"),
    [
        ("k40", Isa.IMAD),
        ("gtx_titan_x", Isa.XMAD),
        ("titan_xp", Isa.XMAD),
        ("v100", Isa.IMAD),
        ("a100", Isa.F2FP),
        ("a40", Isa.I2FP),
        ("h100", Isa.LDC),
    ],
)
def test_the_instruction_set_of_a_gpu(gpu, isa):
    assert isa_of(load_gpu(gpu)) is isa


def test_vector_addition_by_hand():
    body = f"{INDEX} if (i < n) c[i] = a[i] + b[i];"
    # 3 XMAD, ISETP, two shifts of the index, IADD.CC and IADD.X for each of three arrays
    assert integer(mix_of(body, Isa.XMAD)) == 12
    # IMAD, ISETP, three IMAD.WIDE
    assert integer(mix_of(body, Isa.IMAD)) == 5


def moves(body: str, isa: Isa = Isa.LDC) -> float:
    return mix_of(body, isa).number(K.MOV)


def test_hopper_loads_what_lies_in_constant_memory():
    body = f"{INDEX} if (i < n) c[i] = a[i] + b[i];"
    # stack pointer, memory descriptor, thread and block: both; the element size
    assert moves(body, Isa.I2FP) == 4 + 1
    assert moves(body) == 4 + 5  # blockDim, n, three pointers (SASS of nvcc 13, sm_90)
    assert mix_of(body, Isa.LDC).total == mix_of(body, Isa.I2FP).total + 4 == 19


def test_hopper_loads_it_where_it_is_needed_first_and_once():
    early = "int i = threadIdx.x; if (i >= 64) return;"
    kept = mix_of(f"{early} c[i] = a[i];", Isa.LDC, "<<<100, 256>>>(0, 0, 0, 0)")
    assert kept.number(K.MOV) == 2 + 1 + 2 * 64 / 256  # behind the exit of most threads
    once = "int i = threadIdx.x; for (int j = 0; j < n; j++) { c[i + 256 * j] = a[j] + a[j + 1]; }"
    there = moves(once) - moves(once.replace("+ a[j + 1]", ""))
    assert there == 0.0
    assert moves("c[0] = 1.0f;", Isa.I2FP) == 2 + 2
    assert moves("c[0] = 1.0f;") == 2 + 1  # 64 bits at a time


def test_hopper_loads_members_of_a_record_and_constants_at_known_places():
    text = """
    struct P { int n; float s; float* out; };
    __constant__ float w[4];
    __global__ void k(P p) { p.out[threadIdx.x] = p.s * w[2]; }
    int main() { P p; k<<<1, 32>>>(p); }
    """
    kernel, profile = launched(text)
    # stack pointer, descriptor, thread; p.out, p.s, w[2]: `p` as a whole is never loaded
    assert lower_instructions(kernel, profile, Isa.LDC).number(K.MOV) == 3 + 3
    taps = "float s = 0.0f; for (int j = 0; j < 4; j++) s += p.s * w[j]; p.out[threadIdx.x] = s;"
    kernel, profile = launched(text.replace("p.out[threadIdx.x] = p.s * w[2];", taps))
    assert lower_instructions(kernel, profile, Isa.LDC).number(K.MOV) == 3 + 2 + 2  # ULDC.64


def test_hopper_finds_shared_memory_in_that_of_the_cluster():
    def added(text: str) -> tuple[float, float]:
        body = f"__shared__ int s[256]; __shared__ int t[256]; int x = a[threadIdx.x]; {text}"
        old, new = (mix_of(body, isa) for isa in (Isa.I2FP, Isa.LDC))
        return new.number(K.IADD) - old.number(K.IADD), new.number(K.MOV) - old.number(K.MOV)

    none, one = added("c[0] = x;"), added("s[threadIdx.x] = x; __syncthreads(); c[0] = s[3];")
    two = added("s[threadIdx.x] = x; t[threadIdx.x] = x; __syncthreads(); c[0] = s[3] + t[3];")
    assert one[0] - none[0] == 1 + 1  # ULEA, and LEA where the access scaled
    assert one[1] - none[1] == 2  # S2UR, UMOV
    assert two[0] - one[0] >= 2  # UIADD3, ULEA
    assert two[1] == one[1]
    guarded = "if (threadIdx.x >= 64) return; s[threadIdx.x] = x; __syncthreads(); c[0] = s[3];"
    assert added(guarded)[1] - added("if (threadIdx.x >= 64) return; c[0] = x;")[1] == 2 * 64 / 256


def test_a_field_of_bits_is_shifted_to_where_it_is_an_index():
    def scaled(index: str) -> float:
        body = (
            f"__shared__ int s[256]; int x = n + threadIdx.x; s[{index}] = 1; __syncthreads(); c[0] = s[0];"
        )
        return mix_of(body, Isa.LDC).number(K.IADD)

    assert scaled("x & 255") == scaled("x >> 8 & 255") + 1


def test_an_unsigned_index_of_one_array_takes_a_pair_of_lea():
    unsigned = "unsigned i = blockDim.x * blockIdx.x + threadIdx.x;"
    assert integer(mix_of(f"{unsigned} c[i] = 0.0f;", Isa.XMAD)) == 3 + 2
    assert integer(mix_of(f"{unsigned} c[i] = a[i];", Isa.XMAD)) == 3 + 2 + 2 * 2
    assert integer(mix_of(f"{INDEX} c[i] = 0.0f;", Isa.XMAD)) == 3 + 2 + 2


def test_a_shared_address_is_shifted_where_the_access_does_not_scale():
    body = "__shared__ float s[64]; s[threadIdx.x] = 1.0f; __syncthreads(); c[0] = s[0];"
    assert mix_of(body, Isa.XMAD).number(K.IADD) == mix_of(body, Isa.IMAD).number(K.IADD) + 1


def test_an_index_that_is_also_compared_is_computed_once():
    assert mix_of(f"{INDEX} if (i < n) c[i] = 0.0f;", Isa.IMAD).number(K.IMAD) == 2  # i, its address


def test_a_sum_that_exists_is_taken_up_by_a_longer_one():
    body = "int i = n * n + threadIdx.x * blockDim.x; c[i] = 0.0f; c[i + threadIdx.y * 8] = 1.0f;"
    assert mix_of(body, Isa.IMAD).number(K.IMAD) == 2 + 2  # i, two addresses; the longer index is an LEA


def test_every_warp_issues_the_exit_of_a_guard():
    mix = mix_of(f"{INDEX} if (i >= n) return; c[i] = 0.0f;", Isa.IMAD)
    assert mix.number(K.BRANCH) == 1  # a thread leaves once
    assert issued(mix, K.BRANCH) == 2


def test_a_return_of_an_inlined_function_is_no_exit():
    text = """__device__ float f(float x) { if (x > 1.0f) return 0.0f; return x; }
    __global__ void k(float* c) { c[threadIdx.x] = f(c[threadIdx.x]); } int main() { k<<<1, 32>>>(0); }"""
    mix = lower_instructions(*launched(text))
    assert issued(mix, K.BRANCH) == 1


def test_a_predicated_arm_is_issued_although_no_lane_runs_it():
    mix = mix_of("if (threadIdx.x < 32) c[threadIdx.x] = a[threadIdx.x] + 1.0f; __syncthreads();", Isa.IMAD)
    assert mix.number(K.FADD) == pytest.approx(32 / 256)
    assert issued(mix, K.FADD) == 1


def test_a_loop_that_halves_is_not_unrolled():
    body = "for (int s = blockDim.x; s > 0; s >>= 1) { c[s] = 1.0f; __syncthreads(); }"
    mix = mix_of(body, Isa.IMAD)
    assert mix.number(K.SHF) == 9  # 256, 128, ... 1: one shift each
    assert mix.number(K.ISETP) == 10
    assert mix.number(K.BRANCH) == 9 + 1 + 1  # rounds, entry, EXIT


def test_the_only_iteration_of_a_loop_knows_its_counter():
    once = "for (int j = 0; j < 16; j += 16) c[threadIdx.x + j * n] = 0.0f;"
    assert mix_of(once, Isa.IMAD).number(K.IMAD) == mix_of("c[threadIdx.x] = 0.0f;", Isa.IMAD).number(K.IMAD)


def test_a_selected_load_is_predicated_without_a_float_select():
    assert mix_of(f"{INDEX} c[i] = i < n ? a[i] : 0.0f;", Isa.IMAD).number(K.FSETP) == 0


def test_a_double_times_two_is_a_sum_that_joins_no_fma():
    mix = mix_of("double x = a[0]; c[0] = b[0] - 2.0 * x;", Isa.IMAD)
    assert (mix.number(K.DADD), mix.number(K.DMUL), mix.number(K.DFMA)) == (2, 0, 0)


def test_a_power_of_two_is_one_exponential():
    mix = mix_of("c[0] = __powf(2.0f, a[0]);", Isa.IMAD)
    assert (mix.number(K.MUFU), mix.number(K.FMUL)) == (1, 1)
    assert mix_of("c[0] = __powf(a[0], 2.0f);", Isa.IMAD).number(K.MUFU) == 2


def test_lanes_decide_by_themselves_what_their_data_say(tmp_path):
    source = """__global__ void k(const int *x, float *y) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (x[i] > 0) y[i] = 1.0f;
    }"""
    _, profile = counted(tmp_path, source, "k=100:256")
    (arm,) = profile.arms
    assert profile.thread_counts[arm.region] == pytest.approx(0.5)
    assert profile.warp_counts[arm.region] == pytest.approx(1.0)
    together = source.replace("x[i]", "x[0]")  # one datum for all: the warp decides as a whole
    _, profile = counted(tmp_path, together, "k=100:256")
    assert profile.warp_counts[profile.arms[0].region] == pytest.approx(0.5)


def test_what_is_kept_in_a_register_is_requested_once(tmp_path):
    source = """__global__ void k(const float *x, float *y) {
      __shared__ float s[32];
      s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x] * s[threadIdx.x] + s[threadIdx.x];
    }"""
    launch, profile = counted(tmp_path, source, "k=1:32")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    assert moved.shared_accesses == 2


def test_an_edge_of_the_grid_weighs_no_more_than_it_is(tmp_path):
    # All but the first and the last of 1000 rows start 16 bytes into a sector: 5 of 32 bytes for 128 bytes.
    source = """__global__ void k(const float *x, float *y) {
      int i = blockIdx.x * 32 + threadIdx.x - 4;
      if (i >= 0 && i < 32000 - 8) y[0] = x[i];
    }"""
    _, profile = counted(tmp_path, source, "k=1000:32")
    assert max(site.sectors_per_request or 0 for site in profile.sites) == pytest.approx(5, rel=0.01)


def test_without_an_l1_for_loads_every_request_goes_to_l2(tmp_path):
    source = "__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[0] + x[threadIdx.x]; }"
    launch, profile = counted(tmp_path, source, "k=1:256")
    requests = lower_instructions(launch.kernel, profile).requests
    kept = traffic(launch, profile, requests)
    passed = traffic(launch, profile, requests, l1_keeps_loads=False)
    assert kept.l2_bytes == 4 + 4  # the broadcast sector lies in what the block reads anyway
    assert passed.l2_bytes == 4 + 4 + 32 / 32
    assert passed.dram_bytes == kept.dram_bytes


def test_what_only_an_edge_block_touches_leaves_the_object_bounded(tmp_path):
    source = """__global__ void k(float *x) {
      x[blockIdx.x * 32 + threadIdx.x] += 1.0f;
      if (blockIdx.x == 0) x[threadIdx.x] += 1.0f;
    }"""
    launch, profile = counted(tmp_path, source, "k=1000:32")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    assert moved.footprint_bytes == 4 * 32000


def test_a_vector_is_what_it_was_built_from():
    body = "float3 v = make_float3(a[0] * b[0], 1.0f, 2.0f); float3 w = v; c[0] = w.x + c[1];"
    mix = mix_of(body, Isa.IMAD)
    assert (mix.number(K.FFMA), mix.number(K.FMUL), mix.number(K.FADD)) == (1, 0, 0)


def test_maxwell_and_pascal_add_the_table_to_an_index_taken_out_of_bits():
    """Newer ones have it in the offset of LDC, and shift by two bits less."""
    text = "__constant__ float t[4];\n__global__ void k(float *a, int m) {"
    text += " float s = 0; LOADS a[threadIdx.x] = s; }\n"
    text = text.replace(
        "LOADS", " ".join(f"s += t[m + threadIdx.x >> {bits} & 3];" for bits in (4, 6, 8, 10))
    )
    kernel, profile = launched(f"{text}int main() {{ k<<<100, 256>>>(0, 7); }}")
    older, newer = (integer(lower_instructions(kernel, profile, isa)) for isa in (Isa.XMAD, Isa.F2FP))
    assert older - newer >= 4

"""Accesses that move or wait more than they need: counted by hand, and told or not told."""

import pytest

from .advised import advised, analysed, saved

BANKS = """
__global__ void k(float *out, int n) {{
    __shared__ {type} s[4096 / (sizeof({type}) / 4)];
    unsigned t = threadIdx.x;
    s[t] = {type}();
    __syncthreads();
    float sum = 0.0f;
    for (unsigned i = 0; i < n; ++i) sum += s[({index}) & (4096 / (sizeof({type}) / 4) - 1)]{member};
    out[blockIdx.x * 256 + t] = sum;
}}
int main() {{ float *out; k<<<800, 256>>>(out, 64); }}
"""


@pytest.mark.parametrize(
    ("type_", "index", "passes"),
    [
        ("float", "t + i", None),
        ("float", "2 * t + i", "2 passes"),  # lanes 0 and 16 meet in bank 0
        ("float", "4 * t + i", "4 passes"),
        ("float", "32 * t + i", "32 passes"),
        ("float", "33 * t + i", None),  # the padded row
        ("float", "i", None),  # a broadcast
        ("float", "t / 2 + i", None),  # two lanes share a word
        ("float", "t / 32 * 32 + i", None),
        ("double", "t + i", None),  # 8 bytes: two half warps, free of conflicts
        ("double", "2 * t + i", "2 passes"),  # lanes 0 and 8 of a half warp
        ("double", "16 * t + i", "16 passes"),
    ],
)
def test_bank_conflicts_are_counted_as_the_banks_serve_them(tmp_path, type_, index, passes):
    source = BANKS.format(type=type_, index=index, member="")
    found = advised(tmp_path, source).get("PW042", [])
    assert [passes in advice.message for advice in found] == ([True] if passes else [])


@pytest.mark.parametrize(("index", "passes"), [("t + i", None), ("2 * t + i", "2 passes")])
def test_bank_conflicts_of_four_floats_at_a_time(tmp_path, index, passes):
    source = """
struct __align__(16) Four { float x, y, z, w; };
__global__ void k(float *out) {
    __shared__ float4 s[1024];
    unsigned t = threadIdx.x;
    s[t] = make_float4(0, 0, 0, 0);
    __syncthreads();
    float sum = 0.0f;
    for (unsigned i = 0; i < 64; ++i) { float4 v = s[(INDEX) & 1023]; sum += v.x + v.y + v.z + v.w; }
    out[blockIdx.x * 256 + t] = sum;
}
int main() { float *out; k<<<800, 256>>>(out); }
""".replace("INDEX", index)
    found = advised(tmp_path, source).get("PW042", [])
    assert [passes in advice.message for advice in found] == ([True] if passes else [])


@pytest.mark.parametrize(("mask", "is_told"), [("", False), (" & 4095", True)])
def test_neighbours_that_the_compiler_loads_together_do_not_conflict(tmp_path, mask, is_told):
    """LDS.64 in the SASS of nvcc 13; two LDS with the mask, which hides that they are neighbours."""
    source = BANKS.format(type="float", index="2 * t + i", member="")
    old = "sum += s[(2 * t + i) & (4096 / (sizeof(float) / 4) - 1)]"
    assert old in source
    new = f"sum += s[(2 * t + 1 + 4 * i){mask}] + s[(2 * t + 4 * i){mask}]"
    assert ("PW042" in advised(tmp_path, source.replace(old, new))) == is_told


ROWS = """
__global__ void sums(const float *in, float *out) {
    __shared__ float tile[32][WIDTH];
    unsigned x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 65536 + blockIdx.x * 32 + x];
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 32; ++k) sum += tile[LANE][k];
    out[blockIdx.x * 32 + x] = sum;
}
int main() { float *in, *out; sums<<<2048, dim3(32, 32)>>>(in, out); }
"""


@pytest.mark.parametrize(("width", "lane", "is_told"), [(32, "x", True), (33, "x", False), (32, "y", False)])
def test_bank_conflicts_of_merged_loads_of_an_unrolled_loop(tmp_path, width, lane, is_told):
    source = ROWS.replace("WIDTH", str(width)).replace("LANE", lane)
    told = [advice.message for advice in advised(tmp_path, source).get("PW042", [])]
    assert told == ["a warp's load from 'tile' takes 32 passes for bank conflicts where 4 would do"] * is_told


GLOBAL = """
struct Cell {{ float a, b, c, d; }};
__global__ void k(const {type} *in, {type} *out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
int main(int argc, char **argv) {{
    {type} *in, *out;
    cudaMalloc(&in, 1 << 24); cudaMalloc(&out, 1 << 24);
    k<<<1024, 256>>>(in, out, {n});
}}
"""


@pytest.mark.parametrize(
    ("type_", "body", "told"),
    [
        ("float", "out[i] = in[i];", None),
        ("float", "out[i] = in[8 * i];", "32 sectors where 4 would do"),
        ("float", "out[i] = in[2 * i];", "8 sectors where 4 would do"),
        ("float", "out[i] = in[i + 1];", None),  # misaligned: 5 sectors
        ("float", "out[i] = in[blockIdx.x];", None),  # a broadcast: 1 sector
        ("float", "out[i] = in[(int)in[i]];", None),  # data decide: PW016
        ("double", "out[i] = in[i];", None),  # 8 sectors, all of them used
        ("double", "out[i] = in[4 * i];", "32 sectors where 8 would do"),
        ("float4", "out[i] = in[i];", None),  # 16 sectors, all of them used
        ("float4", "out[i].x = in[i].x + in[i].y + in[i].z + in[i].w;", None),  # one load of 16 bytes
        ("Cell", "out[i].a = in[i].a;", "16 sectors where 4 would do"),
        ("float", "if (in[i] > 0) out[i] = 1.0f;", None),  # half of the lanes, by data
        ("float", "if (threadIdx.x % 2 == 0) out[i] = in[i];", None),
        ("float", "out[i] = in[i * n];", "32 sectors where 4 would do"),
    ],
)
def test_uncoalesced_accesses_by_their_sectors(tmp_path, type_, body, told):
    found = advised(tmp_path, GLOBAL.format(type=type_, body=body, n=8)).get("PW041", [])
    assert bool(found) == bool(told)
    assert all(told in advice.message for advice in found)


def test_a_stride_that_was_assumed_tells_nothing(tmp_path):
    source = GLOBAL.format(type="float", body="out[i] = in[i * n];", n="unheardOf()")
    assert "PW041" not in advised(tmp_path, "int unheardOf();" + source)


@pytest.mark.parametrize(
    ("far", "beside"),
    [
        ("in[16 * i]", "in[i]"),
        ("in[16 * i] + in[16 * i + 1]", "in[i] + in[i + (1 << 20)]"),  # each with sectors of its own
    ],
)
def test_what_coalescing_saves_is_what_the_model_says_of_the_coalesced_kernel(tmp_path, far, beside):
    apart = analysed(tmp_path, GLOBAL.format(type="float", body=f"out[i] = {far};", n=8))
    near = analysed(tmp_path, GLOBAL.format(type="float", body=f"out[i] = {beside};", n=8))
    (advice,) = (advice for advice in apart.advice if advice.rule == "PW041")
    assert (advice.power_w, advice.energy_j) == pytest.approx(saved(apart, near), rel=0.02)


def test_words_of_constant_memory_one_after_the_other(tmp_path):
    source = """
__constant__ float table[4096];
__global__ void k(float *out, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += table[(INDEX + i) & 4095];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
int main() { float *out; k<<<800, 256>>>(out, 100); }
"""
    (advice,) = advised(tmp_path, source.replace("INDEX", "threadIdx.x"))["PW055"]
    assert "32 different words" in advice.message
    assert "PW055" not in advised(tmp_path, source.replace("INDEX", "blockIdx.x"))


LOOP = """
__global__ void k(float * c, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
int main() { float *a, *b, *c; k<<<800, 256>>>(c, a, b, 512); }
"""


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("for (int j = 0; j < n; ++j) c[i] += a[j] * b[i];", {"PW053", "PW054"}),
        ("float s = 0; for (int j = 0; j < n; ++j) s += a[j] * b[i]; c[i] = s;", set()),
        ("for (int j = 0; j < n; ++j) c[i * n + j] += a[j];", set()),  # another place each time
        ("for (int j = 0; j < n; ++j) { c[i] += a[j]; c[i + 1] = 0; }", set()),  # which may be the same
        ("for (int j = 0; j < n; ++j) { c[i] += a[j]; __syncthreads(); }", set()),  # others may look
        ("for (int j = 0; j < n; ++j) c[j] = c[i] * a[j];", set()),  # a store that may change it indeed
    ],
)
def test_places_accessed_again_in_every_iteration(tmp_path, body, rules):
    found = advised(tmp_path, LOOP.replace("BODY", body))
    assert {"PW053", "PW054"} & found.keys() >= (rules & {"PW053"})
    assert {"PW053", "PW054"} & found.keys() <= rules


def test_restrict_tells_the_compiler(tmp_path):
    body = "for (int j = 0; j < n; ++j) c[i] += a[j] * b[i];"
    free = LOOP.replace("BODY", body).replace("float * c", "float *__restrict__ c")
    assert not {"PW053", "PW054"} & advised(tmp_path, free).keys()


@pytest.mark.parametrize(
    ("type_", "statement", "is_told"),
    [
        ("float", "atomicAdd(sum, in[i]);", True),
        ("int", "atomicAdd(sum, in[i]);", False),  # the compiler makes one of a warp
        ("float", "atomicAdd(&sum[threadIdx.x], in[i]);", False),
        ("float", "if (threadIdx.x == 0) atomicAdd(sum, in[i]);", False),
        ("float", "atomicAdd(&sum[(int)in[i]], 1.0f);", False),  # data decide
    ],
)
def test_atomics_on_one_address(tmp_path, type_, statement, is_told):
    source = f"""
__global__ void k({type_} *sum, {type_} *in) {{ int i = blockIdx.x * 256 + threadIdx.x; {statement} }}
int main() {{ {type_} *p; k<<<800, 256>>>(p, p); }}
"""
    found = advised(tmp_path, source).get("PW052", [])
    assert bool(found) == is_told
    assert all(advice.energy_j is None and advice.power_w is None for advice in found)


@pytest.mark.parametrize(
    ("index", "is_told"),
    [("(int)in[i]", True), ("(j + n) & 7", True), ("j & 7", False), ("(j + threadIdx.x) & 7", True)],
)
def test_private_arrays_indexed_at_run_time(tmp_path, index, is_told):
    source = f"""
__global__ void k(float *in, float *out, int n) {{
    int i = blockIdx.x * 256 + threadIdx.x;
    float a[8] = {{0}};
    for (int r = 0; r < n; ++r)
        for (int j = 0; j < 8; ++j) a[{index}] += in[i];
    out[i] = a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}}
int main() {{ float *p; k<<<800, 256>>>(p, p, 50); }}
"""
    assert ("PW051" in advised(tmp_path, source)) == is_told

"""Arrays are told apart by the pointers to them, wherever these lie: arguments, records, arrays, tables."""

from collections.abc import Callable

import pytest

from wattslice import analyze_text
from wattslice.counting.count import count
from wattslice.counting.iterations import SurveyError
from wattslice.counting.loops import Loops
from wattslice.ir import MemorySpace
from wattslice.ir.accesses import memory_accesses
from wattslice.launches.overrides import OverrideError
from wattslice.workload.launch_work import launch_work, residency

from .counted import counted
from .geometry import GPU, launches

N = 1 << 22
MAIN = """int main() {
  int n = 1 << 22;
  float *a, *b, *c, *d, *o;
  cudaMalloc(&a, 4 * n); cudaMalloc(&b, 4 * n); cudaMalloc(&c, 4 * n); cudaMalloc(&d, 4 * n);
  cudaMalloc(&o, 4 * n);
"""
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)"
FIVE = "float *a, *b, *c, *d, *o;"
COPIED = "cudaMalloc(&p, sizeof h); cudaMemcpy(p, &h, sizeof h, cudaMemcpyHostToDevice);"

BODIES = {
    "streams": "{ O[i] = A[i] + B[i] + C[i] + D[i]; }",
    "shared sectors": "{ O[i] = A[i / 2] + A[i / 2 + 1] + B[i] * B[n - 1 - i] + C[i]; }",
    "rounds": """{ float sum = 0; for (int k = 0; k < 8; ++k) sum += A[k * 1024 + threadIdx.x] * B[i];
                   O[i] = sum + C[i] * D[i]; }""",
    "gather": "{ O[i] = A[__float_as_int(B[i])] + C[i]; }",
    "updates": "{ A[i] += B[i]; C[i] = B[i]; atomicAdd(&D[i / 32], O[i]); }",
}


def written(body: str, names: tuple[str, ...]) -> str:
    for letter, name in zip("ABCDO", names, strict=True):
        body = body.replace(f"{letter}[", f"{name}[")
    return body


def of_record(body: str) -> str:
    return written(body, ("r.a", "r.b", "r.c", "r.d", "r.o"))


def of_names(body: str) -> str:
    return written(body, tuple("abcdo"))


FORMS: dict[str, Callable[[str], str]] = {
    "arguments": lambda body: (
        f"""
__global__ void k(float *a, float *b, float *c, float *d, float *o, int n) {{ {INDEX} {of_names(body)} }}
{MAIN} k<<<n / 256, 256>>>(a, b, c, d, o, n); }}"""
    ),
    "record": lambda body: (
        f"""struct R {{ {FIVE} }};
__global__ void k(R r, int n) {{ {INDEX} {of_record(body)} }}
{MAIN} k<<<n / 256, 256>>>(R{{a, b, c, d, o}}, n); }}"""
    ),
    "record that is copied": lambda body: (
        f"""struct R {{ {FIVE} }};
__global__ void k(R given, int n) {{ R r = given; {INDEX} {of_record(body)} }}
{MAIN} k<<<n / 256, 256>>>(R{{a, b, c, d, o}}, n); }}"""
    ),
    "members that are copied": lambda body: (
        f"""struct R {{ {FIVE} int n; }};
__global__ void k(R r) {{ float *a = r.a, *b = r.b, *c = r.c, *d = r.d, *o = r.o; int n = r.n;
  {INDEX} {of_names(body)} }}
{MAIN} k<<<n / 256, 256>>>(R{{a, b, c, d, o, n}}); }}"""
    ),
    "records in a record": lambda body: (
        f"""struct P {{ float *at; }}; struct Q {{ P a, b; }};
struct R {{ Q first, second; P o; }};
__device__ void run(const R &r, int n, int i)
{written(body, ("r.first.a.at", "r.first.b.at", "r.second.a.at", "r.second.b.at", "r.o.at"))}
__global__ void k(R r, int n) {{ {INDEX} run(r, n, i); }}
{MAIN} k<<<n / 256, 256>>>(R{{{{{{a}}, {{b}}}}, {{{{c}}, {{d}}}}, {{o}}}}, n); }}"""
    ),
    "functor": lambda body: (
        f"""struct R {{ {FIVE} int n;
  __device__ void operator()(int i) const {of_names(body)} }};
template <class F> __global__ void k(F f, int n) {{ {INDEX} f(i); }}
{MAIN} k<<<n / 256, 256>>>(R{{a, b, c, d, o, n}}, n); }}"""
    ),
    "array in a record": lambda body: (
        f"""struct R {{ float *in[4], *o; }};
__global__ void k(R r, int n) {{ {INDEX}
  {written(body, ("r.in[0]", "r.in[1]", "r.in[2]", "r.in[3]", "r.o"))} }}
{MAIN} k<<<n / 256, 256>>>(R{{{{a, b, c, d}}, o}}, n); }}"""
    ),
    "local array": lambda body: (
        f"""
__global__ void k(float *a, float *b, float *c, float *d, float *o, int n) {{ float *t[] = {{a, b, c, d, o}};
  {INDEX} {written(body, ("t[0]", "t[1]", "t[2]", "t[3]", "t[4]"))} }}
{MAIN} k<<<n / 256, 256>>>(a, b, c, d, o, n); }}"""
    ),
}
TABLES: dict[str, Callable[[str], str]] = {
    "record in constant memory": lambda body: (
        f"""struct R {{ {FIVE} }}; __constant__ R r;
__global__ void k(int n) {{ {INDEX} {of_record(body)} }}
{MAIN} R h{{a, b, c, d, o}}; cudaMemcpyToSymbol(r, &h, sizeof h); k<<<n / 256, 256>>>(n); }}"""
    ),
    "record behind a pointer": lambda body: (
        f"""struct R {{ {FIVE} }};
__global__ void k(const R *p, int n) {{ {INDEX}
  {written(body, ("p->a", "p->b", "p->c", "p->d", "p->o"))} }}
{MAIN} R h{{a, b, c, d, o}}, *p; {COPIED} k<<<n / 256, 256>>>(p, n); }}"""
    ),
    "table of pointers": lambda body: (
        f"""
__global__ void k(float *const *p, int n) {{ {INDEX}
  {written(body, ("p[0]", "p[1]", "p[2]", "p[3]", "p[4]"))} }}
{MAIN} float *h[] = {{a, b, c, d, o}}, **p; {COPIED} k<<<n / 256, 256>>>(p, n); }}"""
    ),
}


def moved(folder, text):
    (launch,) = launches(folder, text)
    resident = residency(launch, GPU)
    return launch_work(launch, resident, count(launch)).traffic


def answers(text):
    return analyze_text(text, gpu="v100").kernels


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "arguments"])
def test_where_the_pointers_lie_changes_no_byte_and_no_second(tmp_path, form, body):
    plain, text = FORMS["arguments"](BODIES[body]), FORMS[form](BODIES[body])
    one, other = moved(tmp_path, plain), moved(tmp_path, text)
    for level in ("l1_bytes", "l2_bytes", "dram_bytes", "dram_rows", "footprint_bytes"):
        if level != "l1_bytes" or "array" not in form:  # which is local memory where it is not seen through
            assert getattr(other, level) == pytest.approx(getattr(one, level))
    assert len(other.gathered) == len(one.gathered)
    (known,), (found,) = answers(plain), answers(text)
    assert found.time_s == pytest.approx(known.time_s, rel=0.03)


@pytest.mark.parametrize("body", [body for body in BODIES if body != "gather"])
@pytest.mark.parametrize("form", TABLES)
def test_pointers_in_a_table_in_memory_are_told_apart_by_their_places(tmp_path, form, body):
    one, other = (moved(tmp_path, text(BODIES[body])) for text in (FORMS["arguments"], TABLES[form]))
    assert other.dram_bytes == pytest.approx(one.dram_bytes, rel=0.001)  # the table itself is small
    assert other.footprint_bytes == pytest.approx(one.footprint_bytes, rel=0.001)


LOOPS = {
    "record": f"""struct R {{ float *in[4], *o; }};
__global__ void k(R r, int n) {{
  {INDEX} {{ float s = 0; for (int j = 0; j < 4; ++j) s += r.in[j][i]; r.o[i] = s; }} }}
{MAIN} k<<<n / 256, 256>>>(R{{{{a, b, c, d}}, o}}, n); }}""",
    "local": f"""
__global__ void k(float *a, float *b, float *c, float *d, float *o, int n) {{
  const float *t[] = {{a, b, c, d}};
  {INDEX} {{ float s = 0; for (int j = 0; j < 4; ++j) {{ const float *p = t[j]; s += p[i]; }} o[i] = s; }} }}
{MAIN} k<<<n / 256, 256>>>(a, b, c, d, o, n); }}""",
    "table": f"""
__global__ void k(float *const *p, float *o, int n) {{
  {INDEX} {{ float s = 0; for (int j = 0; j < 4; ++j) s += p[j][i]; o[i] = s; }} }}
{MAIN} float *h[] = {{a, b, c, d}}, **p; {COPIED} k<<<n / 256, 256>>>(p, o, n); }}""",
}


@pytest.mark.parametrize("form", LOOPS)
def test_a_loop_over_pointers_reads_another_array_in_each_iteration(tmp_path, form):
    found = moved(tmp_path, LOOPS[form])
    assert found.dram_bytes == pytest.approx(5 * 4, rel=0.001)
    assert found.footprint_bytes == pytest.approx(5 * 4 * N, rel=0.001)


LONG = {
    "table": """__global__ void k(float *const *p, float *o, int n, int tables) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0; for (int j = 0; j < tables; ++j) s += p[j][i]; o[i] = s; }
int main() { int n = 1 << 22; float *o, **p; cudaMalloc(&o, 4 * n); cudaMalloc(&p, 8 * 100000);
  k<<<n / 256, 256>>>(p, o, n, 100000); }""",
    "table behind a branch": """__global__ void k(float *const *p, float *o, int n, int tables) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0; for (int j = 0; j < tables; ++j) { if (j % 3 == 0) s += 1.0f; s += p[j][i]; } o[i] = s; }
int main() { int n = 1 << 22; float *o, **p; cudaMalloc(&o, 4 * n); cudaMalloc(&p, 8 * 100000);
  k<<<n / 256, 256>>>(p, o, n, 100000); }""",
    "record": """struct R { float *in[200]; };
__global__ void k(R r, float *o) { int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int t = 0; t < 500; ++t) for (int j = 0; j < 200; ++j) s += r.in[j][t * gridDim.x * blockDim.x + i];
  o[i] = s; }
int main() { float *o; R r; for (int j = 0; j < 200; ++j) cudaMalloc(&r.in[j], 500 << 24);
  cudaMalloc(&o, 1 << 24); k<<<1 << 14, 256>>>(r, o); }""",
}


@pytest.mark.parametrize("form", LONG)
def test_a_long_loop_over_pointers_reads_each_array_once(tmp_path, form):
    """Iterations stand for others that read other arrays; within one lanes read neighbours."""
    found = moved(tmp_path, LONG[form])
    assert found.dram_bytes == pytest.approx(4 * 100_001, rel=0.01)
    assert not found.gathered


def test_a_long_loop_that_cannot_be_surveyed_reads_each_array_once(tmp_path, monkeypatch):
    def refuse(*_):
        raise SurveyError

    monkeypatch.setattr(Loops, "_plan", refuse)
    assert moved(tmp_path, LONG["table"]).dram_bytes == pytest.approx(4 * 100_001, rel=0.01)


def test_a_loop_around_a_loop_over_pointers_reads_the_same_arrays_again(tmp_path):
    """Four of 16 KB, which L2 keeps, however many rounds stand for the others."""
    text = """__global__ void k(float *const *p, float *o, int rounds) {
  float s = 0;
  for (int r = 0; r < rounds; ++r) for (int j = 0; j < 4; ++j) s += p[j][threadIdx.x];
  o[threadIdx.x] = s; }
int main() { float *o, **p; cudaMalloc(&o, 4096); cudaMalloc(&p, 32); k<<<1, 1024>>>(p, o, 1 << 20); }"""
    assert moved(tmp_path, text).footprint_bytes == pytest.approx(5 * 4096 + 32)


def test_a_pointer_in_memory_may_be_null():
    text = """struct R { const float *a; };
__global__ void k(R r, const R *p, float *o) { int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (r.a != nullptr) o[i] = r.a[i];
  if (p->a != nullptr) o[i] += p->a[i]; }
int main() { R r, *p; float *o; cudaMalloc(&r.a, 4096); cudaMalloc(&p, 8); cudaMalloc(&o, 4096);
  k<<<4, 256>>>(r, p, o); }"""
    (kernel,) = answers(text)
    assert [entry.line for entry in kernel.assumptions if entry.rule == "PW012"] == [4]


def test_each_block_reads_the_array_that_a_table_has_for_it(tmp_path):
    text = """__global__ void k(float *const *p, float *o) {
  o[blockIdx.x * blockDim.x + threadIdx.x] = p[blockIdx.x][threadIdx.x]; }
int main() { float *o, **p; cudaMalloc(&o, 4 << 20); cudaMalloc(&p, 8 << 12); k<<<1 << 12, 256>>>(p, o); }"""
    found = moved(tmp_path, text)
    assert found.dram_bytes == pytest.approx(2 * 4 + 8 / 256, rel=0.01)
    assert found.footprint_bytes is None


def test_each_block_goes_through_its_own_array_again(tmp_path):
    """4 KB a block, which a cache keeps for all rounds; two tables, and two places in one."""
    text = """__global__ void k(float *const *p, float *const *q, float *o, int rounds) {
  const float *a = p[blockIdx.x], *b = q[blockIdx.x], *c = p[blockIdx.x + 1];
  float s = 0;
  for (int r = 0; r < rounds; ++r) for (int j = 0; j < 4; ++j) {
    int i = 256 * j + threadIdx.x; s += a[i] * b[i] + c[i]; }
  o[blockIdx.x * blockDim.x + threadIdx.x] = s; }
int main() { float *o, **p, **q; cudaMalloc(&o, 4 << 20); cudaMalloc(&p, 8 << 13); cudaMalloc(&q, 8 << 13);
  k<<<1 << 12, 256>>>(p, q, o, 100); }"""
    found = moved(tmp_path, text)
    assert found.dram_bytes == pytest.approx(3 * 16 + 4 + 2 * 8 / 256, rel=0.02)
    assert found.footprint_bytes is None


def test_a_pointer_in_shared_memory_is_another_in_each_block(tmp_path):
    text = """__global__ void k(const long *at, float *o) {
  __shared__ const float *rows[2]; int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) rows[threadIdx.x] = (const float *)at[2 * blockIdx.x + threadIdx.x];
  __syncthreads();
  o[i] = rows[0][threadIdx.x] + rows[1][threadIdx.x]; }
int main() { float *o; long *at; cudaMalloc(&o, 4 << 20); cudaMalloc(&at, 16 << 12);
  k<<<1 << 12, 256>>>(at, o); }"""
    found = moved(tmp_path, text)
    assert found.dram_bytes == pytest.approx(3 * 4 + 16 / 256, rel=0.01)


def test_a_chain_of_lanes_stays_in_its_array(tmp_path):
    text = """__global__ void k(void **chain, void **o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  void **p = chain + i; for (int j = 0; j < n; ++j) p = (void **)*p; o[i] = p; }
int main() { void **c, **o; cudaMalloc(&c, 8 << 12); cudaMalloc(&o, 8 << 12); k<<<16, 256>>>(c, o, 1000); }"""
    assert moved(tmp_path, text).dram_bytes == pytest.approx(2 * 8, rel=0.01)


def test_a_list_is_walked_to_an_unknown_end(tmp_path):
    """What lies behind a pointer in memory may be null, and each node is another."""
    text = """struct Node { float value; Node *next; };
__global__ void k(Node *const *lists, float *o) { int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0; for (Node *p = lists[0]; p != nullptr; p = p->next) s += p->value; o[i] = s; }
int main() { Node **p; float *o; cudaMalloc(&p, 8); cudaMalloc(&o, 4096); k<<<4, 256>>>(p, o); }"""
    (kernel,) = answers(text)
    assert "PW013" in {entry.rule for entry in kernel.assumptions}


def test_what_a_table_holds_that_the_kernel_writes_is_not_known(tmp_path):
    text = """__global__ void k(float **p, float *o) {
  float s = p[0][threadIdx.x]; p[0] = p[1]; o[threadIdx.x] = s + p[0][threadIdx.x]; }
int main() { float *o, **p; cudaMalloc(&o, 4096); cudaMalloc(&p, 16); k<<<1, 1024>>>(p, o); }"""
    found = moved(tmp_path, text)
    assert found.dram_bytes == pytest.approx(3 * 4, rel=0.05)
    assert found.footprint_bytes is None


SHARED = f"""
__global__ void sum(const float *a, const float *b, const float *c, float *o, int n) {{
  {INDEX} o[i] = a[i] + b[i] + c[i]; }}
{MAIN} sum<<<n / 256, 256>>>(GIVEN); MORE }}"""


@pytest.mark.parametrize(
    ("given", "arrays"), [("a, b, c, o", 4), ("a, a, a, o", 2), ("a, b, a, o", 3), ("a, a, a, a", 2)]
)
def test_a_pointer_that_is_given_twice_is_one_array(tmp_path, given, arrays):
    found = moved(tmp_path, SHARED.replace("GIVEN", f"{given}, n").replace("MORE", ""))
    assert found.dram_bytes == pytest.approx(4 * arrays)
    assert found.footprint_bytes == 4 * N * (arrays if given != "a, a, a, a" else 1)


def test_a_pointer_in_two_members_is_one_array(tmp_path):
    text = FORMS["record"](BODIES["streams"]).replace("R{a, b, c, d, o}", "R{a, b, a, b, o}")
    assert moved(tmp_path, text).dram_bytes == pytest.approx(4 * 3)


def test_a_pointer_that_an_unread_function_may_have_set_is_the_one_that_the_text_shows(tmp_path):
    body = f"R s = r; unread(&s); {INDEX} {{ r.a[i] = 1; s.a[i] = 2; }}"
    text = f"""struct R {{ {FIVE} }}; __device__ void unread(R *);
__global__ void k(R r, int n) {{ {body} }}
{MAIN} k<<<n / 256, 256>>>(R{{a, b, c, d, o}}, n); }}"""
    assert moved(tmp_path, text).footprint_bytes == 4 * N


def test_launches_that_share_arrays_are_other_launches(tmp_path):
    both = SHARED.replace("GIVEN", "a, b, c, o, n")
    told = both.replace("MORE", "sum<<<n / 256, 256>>>(a, a, a, o, n); sum<<<n / 256, 256>>>(b, c, d, o, n);")
    found = launches(tmp_path, told)
    assert sorted(launch.times or 0 for launch in found) == [1, 2]


@pytest.mark.parametrize("body", BODIES)
def test_slices_of_members_are_those_of_arguments(body):
    (one,), (other,) = (answers(FORMS[form](BODIES[body])) for form in ("arguments", "record"))
    assert [part.length for part in other.slices] == [part.length for part in one.slices]


def test_slices_name_the_members(tmp_path):
    (kernel,) = answers(FORMS["record"](BODIES["streams"]))
    (own,) = kernel.slices
    assert set(own.variables) == {"r.a", "r.b", "r.c", "r.d", "r.o"}
    (kernel,) = answers(FORMS["array in a record"](BODIES["streams"]))
    assert {name for part in kernel.slices for name in part.variables} == {"r.in", "r.o"}


@pytest.mark.parametrize(
    ("data", "told"),
    [("r.a=zeros", "live, r.a zeros"), ("k.r.a=zeros", "live, r.a zeros"), ("r=zeros", "live, r zeros")],
)
def test_data_of_members_is_told_by_their_names(data, told):
    text = FORMS["record"](BODIES["streams"])
    live = answers(text)[0]
    (kernel,) = analyze_text(text, gpu="v100", data=data).kernels
    assert kernel.launch.data == told
    assert kernel.power_w is not None
    assert live.power_w is not None
    assert kernel.power_w < live.power_w
    whole = analyze_text(text, gpu="v100", data="r=zeros").kernels[0].power_w
    assert (kernel.power_w == whole) == (data == "r=zeros")


def test_data_of_an_unknown_member_is_refused():
    with pytest.raises(OverrideError, match="no array"):
        analyze_text(FORMS["record"](BODIES["streams"]), gpu="v100", data="r.z=zeros")


@pytest.mark.parametrize("cast", ["reinterpret_cast<unsigned long long>(&x[i])", "(size_t)(x + i)"])
def test_bits_of_an_address_are_those_of_the_place_in_its_array(tmp_path, cast):
    """Halves are added two at a time: the word around one, and which half of it."""
    source = (
        "__global__ void k(unsigned short* x, int* y) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" auto at = {cast}; int* word = reinterpret_cast<int*>(at & ~size_t(3));"
        " if (at & 3) *word = i; if (i < 32) y[i] = *(word + 1); }"
    )
    launch, profile = counted(tmp_path, source, "k=4:64")
    first, other, _ = sorted(memory_accesses(launch.kernel), key=lambda one: one.site)
    assert profile.thread_counts[first.region] == 0.5
    assert [profile.sites[one.site].sectors_per_request for one in (first, other)] == [2, 3]
    assert profile.assumptions == ()


WALKS = {
    "until the last": "for (const float *p = first; p != last; p++) s += *p;",
    "below the last": "for (const float *p = first; p < last; p++) s += *p;",
    "from the last": "while (last != first) s += *--last;",
    "so many": "for (int i = 0; i < last - first; i++) s += first[i];",
    "behind the first": "for (int i = 0; first + i < last; i++) s += first[i];",
    "in bytes": "for (size_t i = 0; i < ((size_t)last - (size_t)first) / 4; i++) s += first[i];",
    "by addresses": "for (size_t p = (size_t)first; p < (size_t)last; p += 4) s += *(const float *)p;",
    "the nearer of two": "const float *e = first + 3 * n;"
    " for (auto p = first; p < (e < last ? e : last); p++) s += *p;",
}
OF_A_RANGE = "{} __global__ void k({}, float *o, int n) {{ float s = 0; {} o[threadIdx.x] = s; }}"
GIVEN = "int main() {{ float *a, *o; cudaMalloc(&a, 4000); cudaMalloc(&o, 4000); {} }}"


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("last", ["a + 990", "&a[990]", "(float *)((char *)a + 3960)"])
def test_pointers_into_one_array_are_as_far_apart_as_they_were_given(tmp_path, walk, last):
    kernel = OF_A_RANGE.format("", "const float *first, const float *last", walk)
    (launch,) = launches(tmp_path, kernel + GIVEN.format(f"k<<<1, 32>>>(a + 10, {last}, o, 1000);"))
    (loop,) = count(launch).loops
    assert loop.trip_count == 980


def test_a_pair_of_pointers_in_a_record_is_a_range(tmp_path):
    walk = "for (float x : r) s += x;"
    kernel = OF_A_RANGE.format(
        "struct R { float *b, *e; __device__ float *begin() const { return b; }"
        " __device__ float *end() const { return e; } };",
        "R r",
        walk,
    )
    (launch,) = launches(tmp_path, kernel + GIVEN.format("k<<<1, 32>>>(R{a, a + 700}, o, 0);"))
    assert [loop.trip_count for loop in count(launch).loops] == [700]


def test_launches_with_ranges_of_other_lengths_are_told_apart(tmp_path):
    kernel = OF_A_RANGE.format("", "const float *first, const float *last", WALKS["until the last"])
    source = kernel + GIVEN.format("k<<<1, 32>>>(a, a + 30, o, 0); k<<<1, 32>>>(a, a + 500, o, 0);")
    found = launches(tmp_path, source)
    assert [loop.trip_count for one in found for loop in count(one).loops] == [30, 500]
    unasked = kernel.replace(WALKS["until the last"], "if (last != nullptr) s = *first + *last;")
    assert len(launches(tmp_path, source.replace(kernel, unasked))) == 1


@pytest.mark.parametrize("last", ["o", "h[1]", "s.b.data()"])
def test_how_far_apart_arrays_are_is_not_known(tmp_path, last):
    record = "#include <vector>\nstruct S { std::vector<float> a, b; };"
    kernel = OF_A_RANGE.format(record, "const float *first, const float *last", WALKS["until the last"])
    first = "s.a.data()" if "." in last else "a"
    given = "float *h[2]; S s; s.a.resize(9); s.b.resize(9);"
    source = kernel + GIVEN.format(f"{given} k<<<1, 32>>>({first}, {last}, o, 0);")
    (launch,) = launches(tmp_path, source)
    assert [loop.trip_count for loop in count(launch).loops] == [None]


AS_NUMBERS = [
    ("*(float *)((size_t)x + 4 * i)", 4),
    ("*(float *)(4 * i + (size_t)x)", 4),
    ("*(float *)(reinterpret_cast<uintptr_t>(x) + blockIdx.x * 1024u + 8 * threadIdx.x)", 8),
    ("*(float *)(p - 4 * i)", 4),
    ("*(float *)p", 8),
    ("*(float *)((char *)x + ((char *)y - (char *)x) + 8 * i)", 8),
    ("((float *)(((size_t)(x + 1) + 127) & ~(size_t)127))[i + 1]", 5),
    ("*(float *)((size_t)x | 4 * i)", None),
]


@pytest.mark.parametrize(("read", "sectors"), AS_NUMBERS)
def test_sums_of_an_address_and_a_number_are_addresses(tmp_path, read, sectors):
    source = (
        "__global__ void k(float *x, float *y) { size_t i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" size_t p = (size_t)x; p = p + i * 8; p += 1024; y[i] = {read}; }}"
    )
    launch, profile = counted(tmp_path, source, "k=4:64")
    (load,) = [one for one in memory_accesses(launch.kernel) if not one.is_store]
    assert profile.sites[load.site].sectors_per_request == sectors
    assert load.root is not None
    assert load.root.name == "x"


TESTS = [
    ("((size_t)x & 15) == 0", [1]),
    ("(size_t)x % 16 == 0", [1]),
    ("(uintptr_t)(x + 1) % 16", [1]),
    ("((((size_t)x) | (size_t)y) & 15) == 0", [1]),
    ("((((size_t)(x + 2)) | (size_t)y) & 15) == 0", [0]),
    ("(size_t)(x + threadIdx.x) % 16 == 0", [0.25]),
    ("(size_t)x % 512 == 0", [0.5]),
]


@pytest.mark.parametrize(("condition", "share"), TESTS)
def test_arrays_are_aligned(tmp_path, condition, share):
    source = f"__global__ void k(float *x, float *y, float **at) {{ if ({condition}) y[threadIdx.x] = 1; }}"
    launch, profile = counted(tmp_path, source, "k=4:64")
    stores = [one for one in memory_accesses(launch.kernel) if one.is_store]
    assert [profile.thread_counts[one.region] for one in stores] == share


ALIGNED = "__device__ void *aligned(void *p, size_t n) { return (void *)(((size_t)p + n - 1) & ~(n - 1)); }"


@pytest.mark.parametrize(
    "at",
    [
        "(((uintptr_t)raw + 127) & ~(uintptr_t)127)",
        "(16 + (size_t)raw)",
        "(where / 64 * 64)",
        "aligned(raw, 1024)",
    ],
)
def test_an_address_in_shared_memory_that_is_computed_as_a_number_stays_there(tmp_path, at):
    source = (
        f"{ALIGNED} __global__ void k(float *x, float *y) {{ extern __shared__ char raw[];"
        f" uintptr_t where = (uintptr_t)raw; where += 63; float *s = (float *){at};"
        " s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[threadIdx.x * 2 % 64]; }"
    )
    launch, profile = counted(tmp_path, source, "k=4:64:4096")
    shared = [one for one in memory_accesses(launch.kernel) if one.space is MemorySpace.SHARED]
    known = {one.is_store: profile.sites[one.site].bank_passes for one in shared}
    assert known == ({True: None, False: None} if "/" in at else {True: 1, False: 2})

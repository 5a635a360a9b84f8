"""What host code writes through objects: members that are references, unions, methods, jumps, data files."""

from __future__ import annotations

from functools import partial

import pytest

from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_cuda, read_launcher
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import Neighbours, resolve_launches

from .geometry import GPU, launches

HEAD = """
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void k(int n) {}
struct Name { int &r; };
struct Functor { int &r; void operator()() const { r = 9; } };
struct Made { int &r; Made(int &a) : r(a) {} void set(int x) { r = x; } };
struct Setter {
    int v, w;
    Setter &set(int x) { v = x; return *this; }
    int &at(int i) { return i ? w : v; }
};
int &pick(Setter &s) { return s.w; }
void put(int &q) { q = 9; }
struct Base {
    virtual int size() { return 5; }
    virtual int by(int n) { return n; }
    virtual int by(float n) { return 60; }
    virtual Base *self() { return new Base; }
    virtual ~Base() {}
};
struct Wide : Base { int size() override { return 77; } };
struct Sized : Base { int n; Sized(int m) : n(m) {} int size() override { return n; } };
struct More : Wide { int size() override { return Wide::size() + 1; } };
struct Bare : Base { int size() override { return 31; } Bare *self() override { return this; } };
struct Unread : Base { int size() override; };
struct Unread2 : Unread { int by(int n) noexcept override { return 3 * n; } };
struct Looked { virtual int at(); };
struct Found : Looked { int at() override { return 8; } };
Looked *look_elsewhere();
struct None { virtual int only() = 0; };
struct Only : None { int only() override { return 8; } };
None *none();
int size_of(Base &b) { return b.size(); }
Base *made_elsewhere();
union Bits { int i; float f; char c[4]; };
struct Narrow { unsigned a : 3; unsigned b : 5; };
struct Held { int *p; };
int left;
struct Ending { int n; ~Ending() { left = n; } };
int ended(Ending e) { return e.n; }
void by_value(Held h);
void by_pointer(const Held *h);
"""

KNOWN = [
    ("a jump back", "int a = 1; again: a *= 2; if (a < 100) goto again;", 128),
    ("a jump over", "int a = 1; if (a == 1) goto out; a = 2; out: a += 3;", 4),
    ("a jump out of a loop that does nothing else",
     "int a = 1; for (int i = 0; i < 9; i++) if (i == 3) goto out; a = 2; out: a += 3;", 4),
    ("jumps both ways", "int a = 1; up: a++; if (a > 5) goto out; a += 2; goto up; out:;", 8),
    ("a member that is a reference", "int a = 3; Name f{a}; f.r = 9;", 9),
    ("a functor with one", "int a = 3; Functor f{a}; f();", 9),
    ("bound by a constructor", "int a = 3; Made m(a); m.set(9);", 9),
    ("an element bound by a constructor", "std::vector<int> v = {4, 5}; Made m(v[1]); m.set(9);"
     "int a = v[1];", 9),
    ("a name for a variable, handed on", "int a = 3; auto &r = a; auto g = [](int &q) { q = 9; }; g(r);", 9),
    ("setters in a chain", "Setter b{1, 2}; b.set(4).set(9); int a = b.v;", 9),
    ("what a method names", "Setter b{1, 2}; b.at(0) = 4; b.at(1) += 5; int a = b.v * 10 + b.w;", 47),
    ("what a function names", "Setter b{1, 2}; pick(b) = 9; int a = b.w;", 9),
    ("a member by reference", "Setter b{1, 2}; put(b.w); int a = b.w * 10 + b.v;", 91),
    ("an element by reference", "int v[3] = {1, 2, 3}; put(v[1]); int a = v[0] * 10 + v[1];", 19),
    ("of a vector", "std::vector<int> v = {1, 2, 3}; put(v[2]); int a = v[2];", 9),
    ("a virtual method", "Wide d; Base *b = &d; int a = b->size();", 77),
    ("of a reference", "Wide d; Sized e(4); int a = size_of(d) * 10 + size_of(e);", 774),
    ("of an object on the heap", "Base *b = new Sized(6); int a = b->size();", 6),
    ("of one without members there", "Base *b = new Bare; int a = b->size();", 31),
    ("of a base that it does not override", "Base *b = new Unread2; int a = b->by(2.0f) + b->by(4);", 72),
    ("that gives its own class", "Base *b = new Bare; int a = b->self()->size();", 31),
    ("that only one class has", "int a = none()->only();", 8),
    ("of a base, by its name", "More m; Base &b = m; int a = b.size();", 78),
    ("bit-fields", "Narrow b; b.a = 9; b.b = 5; int a = b.a * 10 + b.b;", 15),
    ("the member of a union that was written", "Bits u; u.f = 4.0f; int a = (int)u.f;", 4),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in KNOWN])
def test_what_is_written_is_known(tmp_path, body, grid):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


def test_what_was_not_read_of_a_class_runs_no_other_class(tmp_path):
    text = (
        "struct Way { virtual void run(int n) = 0; };"
        "\nstruct Here : Way { void run(int n) { k<<<n, 32>>>(n); } };"
        "\nstruct There : Way { void run(int n) override; };"
        "\nint main() { Way *a = new Here; a->run(3); Way *b = new There; b->run(400); There c; c.run(500); }"
    )
    (launch,) = launches(tmp_path, f"{HEAD}{text}")
    assert (launch.grid[0], launch.source, launch.times) == (3, LaunchSource.HOST_CODE, 1)


LOST = [
    ("another member of a union", "Bits u; u.i = 7; u.f = 1.0f; int a = u.i;"),
    ("a part of one", "Bits u; u.i = 258; u.c[1] = 0; int a = u.i;"),
    ("an element nobody knows", "int v[3] = {1, 2, 3}; v[rand()] = 9; int a = v[1];"),
    ("a class nobody knows", "Base *b = made_elsewhere(); int a = b->size();"),
    ("a virtual method that was not read", "Unread d; Base *b = &d; int a = b->size();"),
    ("of a class whose base has it", "Base *b = new Unread2; int a = b->size();"),
    ("of a class nobody knows", "int a = look_elsewhere()->at();"),
    ("behind a member", "int a = 3; Held h{&a}; by_value(h);"),
    ("behind a member of what is pointed at", "int a = 3; Held h{&a}; by_pointer(&h);"),
    ("a jump back", "int a = 1; again: a *= 2; if (rand()) goto again;"),
    (
        "a jump back in a loop, or not",
        "int a = 28; for (int i = 0; i < 1; i++) { up: a++; if (a % 3 && rand()) goto up; k<<<a, 64>>>(7); }",
    ),
    ("a jump into a block", "int a = 1; goto in; a = 3; { in: a += 4; }"),
    ("a jump into a block that is not run", "int a = 1; goto in; if (a == 3) { in: a = 4; } "),
    ("a jump back into a block", "int a = 1; { in: a += 4; } if (a < 10) goto in;"),
    (
        "a jump in a loop that goes on",
        "int a = 1; for (int i = 0; i < 9; i++) { up: a++; if (a == 3) continue; if (a < 5) goto up; }",
    ),
    ("a jump to what is computed", "int a = 1; void *to = &&out; goto *to; a = 3; out:;"),
    (
        "a loop that may return",
        "auto f = [] { for (int i = 0; i < rand(); i++) return 3; return 4; }; int a = f();",
    ),
    ("where a loop is left", "int a = 3; for (int i = 0; i < 4; i++) if (rand()) { a = 9; break; }"),
    ("a jump over", "int a = 1; if (rand()) goto out; a = 2; out:;"),
    ("before a jump out", "int a; for (;;) { a = 3; if (rand()) break; a = 4; break; }"),
    ("before a jump on", "int a = 1; for (int i = 0; i < 3; i++) { a = 3; if (rand()) continue; a = 4; }"),
    ("before a return", "int a = 1; auto f = [&] { a = 3; if (rand()) return; a = 4; }; f();"),
    ("a jump on that may go on", "int a = 0; for (;;) { a++; if (rand()) continue; break; }"),
    ("in front of a jump on", "int a = 0; for (int i = 0; i < 5; i++) { a++; if (rand()) continue; break; }"),
    (
        "in front of each jump on",
        "int a = 0; for (int i = 0;; i++) { a += 3; if (i > 5) break; if (rand()) continue; break; }",
    ),
    (
        "a return behind a jump",
        "auto f = [] { for (;;) { if (rand()) break; return 3; } return 4; }; int a = f();",
    ),
    ("one of two returns", "auto f = [](int c) { if (c) return 3; return rand(); }; int a = f(rand());"),
    (
        "a return in a switch",
        "auto f = [](int c) { switch (c) { case 1: return 3; default: return 4; } }; int a = f(rand());",
    ),
    ("a case that falls", "int a = 1; switch (rand()) { case 0: a = 5; case 1: k<<<a, 64>>>(7); } "),
    ("after a case that falls", "int a; switch (rand()) { case 0: a = 3; case 1: a = 4; default: a++; }"),
    ("out of a case", "int a = 1; switch (argc) { default: a = 3; if (rand()) break; a = 4; }"),
    ("on one side", "int a = 2; int b = rand() ? a++ : 0;"),
    ("where both may be", "int a = 2; if (rand() && a++) a += 0;"),
    ("when a parameter ends", "int a = (left = 9) + ended({4}); a = left;"),
]


SAME = [
    ("the same at each jump", "int a = 1; for (int i = 0; i < 3; i++) { a = 4; if (rand()) break; a = 4; }"),
    ("a case that leaves", "int a = 4; switch (rand()) { case 0: break; case 1: a = 4; default: a += 0; }"),
    (
        "a jump in what is not run",
        "int a = 4; for (int i = 0; i < 2; i++) if (a > 5) { a = 9; if (rand()) break; k<<<2, 32>>>(7); }",
    ),
    ("both sides the same", "int a = 2; rand() ? a = 4 : a = 4;"),
    (
        "returned either way",
        "auto f = [](int c) { switch (c) { case 1: return 4; } return 4; }; int a = f(rand());",
    ),
]


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in SAME])
def test_what_every_way_leaves_the_same_is_known(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (4, LaunchSource.HOST_CODE)


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_may_have_been_written_is_unknown(tmp_path, body):
    last = "" if "<<<" in body else "k<<<a, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{HEAD}int main(int argc, char **) {{ {body} {last} }}")
    assert launch.source is LaunchSource.ASSUMED


def test_a_launch_that_other_ways_lead_to_says_so(tmp_path):
    text = "dim3 made(); void go(dim3 a) { k<<<a, 32>>>(7); } int main() { if (rand()) go(3); go(made()); }"
    (launch,) = launches(tmp_path, HEAD + text)
    assert (launch.grid[0], launch.times) == (3, None)
    (note,) = launch.assumptions
    assert "on other ways, too" in note.message
    assert "made()" in note.message
    text = "dim3 made(); int main() { int a = 3; if (a > 5) k<<<a, 32>>>(7); k<<<made(), 32>>>(7); }"
    (launch,) = launches(tmp_path, HEAD + text)
    first, second = launch.assumptions
    assert "is launched where the host code does not come" in first.message
    assert "on other ways, too" in second.message


def test_a_launch_of_a_loop_that_is_not_always_known_says_so(tmp_path):
    body = "for (int i = 0; i < 3; i++) { int a = i == 1 ? 3 : rand(); k<<<2, 32>>>(a); }"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.arguments, launch.times) == ((3,), 3)
    (note,) = launch.assumptions
    assert "with an argument n that is not always known in each iteration" in note.message
    body = "int a = 3; for (int i = 0; i < 3; i++) { k<<<a, 32>>>(7); a = rand(); }"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[0], launch.times) == (3, 3)
    (note,) = launch.assumptions
    assert "with a grid that is not always known" in note.message


# ----------------------------------------------------------------------------- data files

IMAGE = b"P5\n# made by hand\n320 200\n255\n" + bytes(64)
READING = """
    char line[64]; int w = 0, h = 0;
    FILE *f = fopen("data/a.pgm", "rb");
    if (!f) exit(1);
    fgets(line, 64, f);
    do fgets(line, 64, f); while (line[0] == '#');
    sscanf(line, "%d %d", &w, &h);
"""
NUMBERS = (
    'FILE *f = fopen("n.txt", "r"); int skipped, w, h; fscanf(f, "%d", &skipped); fscanf(f, "%d %d", &w, &h);'
)
RECORD = """
    #pragma pack(push, 1)
    struct { unsigned short magic; int w; short h; } r;
    #pragma pack(pop)
    FILE *f = fopen("r.bin", "rb"); fread(&r, sizeof(r), 1, f); int w = r.w, h = r.h;
"""


@pytest.fixture
def folder(tmp_path):
    """A repository with data files."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.pgm").write_bytes(IMAGE)
    (tmp_path / "n.txt").write_text("7 320\n200\n")
    (tmp_path / "r.bin").write_bytes(b"BM" + (320).to_bytes(4, "little") + (200).to_bytes(2, "little"))
    return tmp_path


@pytest.mark.parametrize("body", [READING, NUMBERS, RECORD])
def test_a_data_file_of_the_repository_is_read(folder, body):
    (launch,) = launches(folder, f"{HEAD}int main() {{\n{body}\nk<<<w, h>>>(w); }}")
    assert (launch.grid[0], launch.block[0], launch.arguments) == (320, 200, (320,))
    assert launch.source is LaunchSource.HOST_CODE
    (note,) = launch.assumptions
    assert "as it lies in the repository" in note.message


@pytest.mark.parametrize(
    "body",
    [
        NUMBERS.replace("n.txt", "../n.txt"),
        NUMBERS.replace("n.txt", "absent.txt"),
        NUMBERS.replace("n.txt", "link.txt"),
        NUMBERS.replace('"r"', '"w"'),
    ],
)
def test_nothing_else_is_read(folder, body):
    inner = folder / "repository"
    inner.mkdir()
    (inner / ".git").mkdir()
    (inner / "link.txt").symlink_to(folder / "n.txt")
    (launch,) = launches(inner, f"{HEAD}int main() {{\n{body}\nk<<<w, h>>>(w); }}")
    assert launch.source is LaunchSource.ASSUMED


# ----------------------------------------------------------------------------- values that the language gives

GIVEN = [
    (
        "zero behind what is written",
        "int v[4] = {5}; struct { int a, b; } r = {1}; int a = v[0] + v[3] + r.b;",
        5,
    ),
    ("a member says otherwise", "struct { int a = 3, b = 4; } r = {1}; int a = 2; if (r.a == 1) a = 5;", 5),
    ("a text in an array", 'char name[] = "17"; int a = atoi(name);', 17),
    ("the program's name is always there", "int a = 3; if (argc >= 1) a = 9; if (argc < 1) a = 4;", 9),
]


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in GIVEN])
def test_what_the_language_gives_is_known(tmp_path, body, grid):
    text = f"{HEAD}int main(int argc, char **argv) {{ {body} k<<<a, 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


def test_a_constructor_of_another_file_is_not_another_one(tmp_path):
    text = "struct Grid { int n; Grid(int m); Grid() { n = 1; } };\n"
    (launch,) = launches(tmp_path, f"{HEAD}{text}int main() {{ Grid g(5); k<<<g.n, 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


def test_a_loop_says_how_far_its_launches_are_apart(tmp_path):
    text = f"{HEAD}int main() {{ for (int i = 0; i < 1000; i++) k<<<i % 100 + 1, 256>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    (note,) = launch.assumptions
    assert "which have 256 to 25600" in note.message  # of the first, second, middle and last iteration


def test_a_member_that_a_long_loop_leaves_alone_stays(tmp_path):
    body = "dim3 g; g.z = 2; for (int i = 0; i < 900; i++) { g.x = i + 1; g.y = 3; k<<<g, 32>>>(i); }"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[1:], launch.source) == ((3, 2), LaunchSource.HOST_CODE)


def test_a_header_is_launched_beside_its_folder(tmp_path):
    (tmp_path / ".git").mkdir()
    for folder in ("include", "src"):
        (tmp_path / folder).mkdir()
    header = tmp_path / "include" / "k.cuh"
    header.write_text(
        "template <class T> __global__ void scale(T *x, int n) { x[threadIdx.x % n] *= 2; }\n"
        "__global__ void plain(int n) {}\n"
    )
    (tmp_path / "src" / "main.cu").write_text(
        '#include "../include/k.cuh"\n'
        "int main() { float *x; scale<<<39, 256>>>(x, 10); plain<<<3, 32>>>(5); }\n"
    )
    around = Neighbours(launcher=partial(read_launcher, header))
    found = resolve_launches(read_cuda(header), NO_OVERRIDES, GPU, around)
    assert {(k.kernel.name, k.grid[0], k.arguments[-1]) for k in found} == {
        ("scale", 39, 10),
        ("plain", 3, 5),
    }
    assert {k.source for k in found} == {LaunchSource.HOST_CODE}


DISPATCH = """
#include <torch/extension.h>
template <typename T> __global__ void k(T *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
void run(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&] {
        k<scalar_t><<<9, 64>>>(x.data_ptr<scalar_t>(), 5);
    }));
}
"""


@pytest.mark.parametrize(("type_", "bits"), [(None, 32), ("double", 64)])
def test_the_type_of_a_dispatch_is_an_assumption(tmp_path, type_, bits):
    path = tmp_path / "a.cu"
    path.write_text(DISPATCH)
    given = () if type_ is None else (f"WATTSLICE_DISPATCHED={type_}",)
    program = read_cuda(path, ParseOptions(defines=given))
    (kernel,) = program.kernels
    element = kernel.parameters[0].type.element
    assert element is not None
    assert element.bits == bits
    assert any("AT_DISPATCH_FLOATING_TYPES goes through" in note.message for note in program.diagnostics)


def test_what_is_assumed_for_another_launch_is_not_host_code(tmp_path):
    text = """
__global__ void j(int n) {}
int threads = 64, h = 1024, mode = 0;
void nobody_calls(int threads, int h) { j<<<h / threads, threads>>>(1); }
void show() { k<<<h / threads, threads>>>(1); }
int main() { if (mode) show(); scanf("%d", &h); show(); }
"""
    shown, other = launches(tmp_path, HEAD + text)
    assert (shown.kernel.name, other.kernel.name) == ("k", "j")
    assert shown.source is other.source is LaunchSource.ASSUMED


FILES = [
    ("read", 'FILE *f = fopen("there.txt", "r"); if (!f) return 1; int a; fscanf(f, "%d", &a);', 12, ""),
    ("a stream", 'std::ifstream f("there.txt"); int a; f >> a;', 12, ""),
    ("a stream opened later", 'std::ifstream f; f.open("there.txt"); float b; int a; f >> a >> b; a += b;',
     19, ""),
    ("absent", 'FILE *f = fopen("gone.txt", "r"); if (!f) return 1; int a; fscanf(f, "%d", &a);', None,
     "'a' is read from gone.txt, which the repository does not have"),
    ("an absent line", 'FILE *f = fopen("gone.txt", "r"); char l[9]; int a; fgets(l, 9, f);'
     'sscanf(l, "%d", &a);', None, "'a' is read from gone.txt, which the repository does not have"),
    ("an absent stream", 'std::ifstream f("gone.txt"); int b, a; f >> b >> a;', None,
     "'a' is read from gone.txt, which the repository does not have"),
    ("a file of the command line", 'int a; FILE *f = fopen(argv[1], "r"); fscanf(f, "%d", &a);', None,
     "'a' is read from a file that is given on the command line"),
    ("a stream of the command line", 'int a; std::ifstream f(argv[1]); f >> a;', None,
     "'a' is read from a file that is given on the command line"),
    ("written first", 'std::ofstream o("there.txt"); int a = 3; o << a; std::cin >> a;', None,
     "'a' is set by operator>>()"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid", "why"), [pytest.param(*case[1:], id=case[0]) for case in FILES])
def test_what_files_give(tmp_path, body, grid, why):
    (tmp_path / "there.txt").write_text("12 7.5\n")
    (launch,) = launches(
        tmp_path, f"#include <fstream>\n{HEAD}int main(int argc, char **argv) {{ {body} k<<<a, 32>>>(7); }}"
    )
    if grid is None:
        assert launch.assumptions[0].message.startswith(why)
    else:
        assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


STATIC = [
    ("counted", "for (int i = 0; i < 3; i++) a = counted();", 3),
    ("two of a name", "counted(); counted(); a = other();", 11),
    ("without a value", "zero(); a = zero();", 2),
    ("where it may not be run", "if (a > 3) counted(); a = counted();", 1),
]


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in STATIC])
def test_a_static_variable_keeps_its_value(tmp_path, body, grid):
    functions = (
        "int counted() { static int calls = 0; return ++calls; }\n"
        "int other() { static int calls = 10; return ++calls; }\n"
        "int zero() { static int calls; calls += 1; return calls; }\n"
    )
    (launch,) = launches(tmp_path, f"{HEAD}{functions}int main() {{ int a = 2; {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


def test_a_static_variable_of_a_loop_of_unknown_length_is_unknown(tmp_path):
    functions = "int more(); int counted() { static int calls = 0; return ++calls; }\n"
    body = "while (more()) counted(); int a = counted();"
    (launch,) = launches(tmp_path, f"{HEAD}{functions}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


C_BRACES = [
    ("int a[5] = {[3] = 9, 8};", "a[3] * 10 + a[4]", 98),
    ("int a[6] = {1, [2 ... 4] = 7, 5};", "a[1] * 1000 + a[2] * 100 + a[4] * 10 + a[5]", 775),
    ("int a[4] = {[1] = 3, [0] = 2};", "a[0] * 10 + a[1]", 23),
    ("struct I { int p, q; }; struct C { I in; int z; } c = {1, 2, .z = 3};", "c.in.q * 10 + c.z", 23),
    ("union U { int i; float f; }; struct C { U u; int n; } c = {5, 7};", "c.u.i * 10 + c.n", 57),
    ("int a[2] = {[7] = 1};", "a[0]", None),
]


@pytest.mark.parametrize(("body", "value", "number"), C_BRACES, ids=[body for body, _, _ in C_BRACES])
def test_braces_of_c_say_where_values_go(tmp_path, body, value, number):
    found = launches(
        tmp_path, f"__global__ void k(int n) {{}} int main() {{ {body} k<<<1, 32>>>({value}); }}"
    )
    assert [one.arguments for one in found] == [(number,)]

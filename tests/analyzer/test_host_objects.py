"""What host code writes through objects: members that are references, unions, methods, jumps, data files."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

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
struct Base { virtual int size() { return 5; } virtual ~Base() {} };
struct Wide : Base { int size() override { return 77; } };
struct Sized : Base { int n; Sized(int m) : n(m) {} int size() override { return n; } };
struct More : Wide { int size() override { return Wide::size() + 1; } };
int size_of(Base &b) { return b.size(); }
Base *made_elsewhere();
union Bits { int i; float f; char c[4]; };
struct Narrow { unsigned a : 3; unsigned b : 5; };
struct Held { int *p; };
void by_value(Held h);
void by_pointer(const Held *h);
"""

KNOWN = [
    ("a member that is a reference", "int a = 3; Name f{a}; f.r = 9;", 9),
    ("a functor with one", "int a = 3; Functor f{a}; f();", 9),
    ("bound by a constructor", "int a = 3; Made m(a); m.set(9);", 9),
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
    ("of a base, by its name", "More m; Base &b = m; int a = b.size();", 78),
    ("bit-fields", "Narrow b; b.a = 9; b.b = 5; int a = b.a * 10 + b.b;", 15),
    ("the member of a union that was written", "Bits u; u.f = 4.0f; int a = (int)u.f;", 4),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in KNOWN])
def test_what_is_written_is_known(tmp_path, body, grid):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


LOST = [
    ("another member of a union", "Bits u; u.i = 7; u.f = 1.0f; int a = u.i;"),
    ("a part of one", "Bits u; u.i = 258; u.c[1] = 0; int a = u.i;"),
    ("an element nobody knows", "int v[3] = {1, 2, 3}; v[rand()] = 9; int a = v[1];"),
    ("a class nobody knows", "Base *b = made_elsewhere(); int a = b->size();"),
    ("behind a member", "int a = 3; Held h{&a}; by_value(h);"),
    ("behind a member of what is pointed at", "int a = 3; Held h{&a}; by_pointer(&h);"),
    ("a jump back", "int a = 1; again: a *= 2; if (a < 100) goto again;"),
    ("a jump over", "int a = 1; if (rand()) goto out; a = 2; out:;"),
]


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_may_have_been_written_is_unknown(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


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

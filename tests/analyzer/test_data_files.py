"""What host code reads of files in its repository, and where it meets their end."""

from __future__ import annotations

import pytest

from .geometry import launches

HEAD = """
#include <cstdio>
#include <vector>
__global__ void k(int n) {}
int main() {
    FILE *f = fopen("%s", "rb");
    if (!f) return 1;
    %s
    k<<<1, 32>>>(n);
}
"""
STREAM = """
#include <fstream>
#include <sstream>
#include <string>
__global__ void k(int n) {}
struct Head { short kind; int n; };
int main() {
    std::ifstream f("%s");
    std::string t;
    %s
    k<<<1, 32>>>(n);
}
"""
LINES = b"".join(b"%d\n" % number for number in range(3000))

READS = [
    ("every line, as far as fgets", LINES, "char t[64]; int n = 0; while (fgets(t, 64, f)) n++;", 3000),
    ("numbers until feof, the last twice", LINES,
     "int n = 0, x; while (!feof(f)) { fscanf(f, \"%d\", &x); n++; }", 3001),
    ("a last line without an end", b"1\n2\n3",
     "int n = 0, x; while (!feof(f)) { fscanf(f, \"%d\", &x); n++; }", 3),
    ("what is read of it", b"1\n2\n3", "int n = 0, x; while (fscanf(f, \"%d\", &x) == 1) n += x;", 6),
    ("lines until feof", b"a\nb\nc", "char t[9]; int n = 0; while (!feof(f)) { fgets(t, 9, f); n++; }", 3),
    ("lines until feof, with an end", b"a\nb\nc\n",
     "char t[9]; int n = 0; while (!feof(f)) { fgets(t, 9, f); n++; }", 4),
    ("a line that fills the buffer", b"abc", "char t[4]; int n; fgets(t, 4, f); n = feof(f) ? 1 : 2;", 2),
    ("characters", b"ab", "char c; int n = 0; while (fscanf(f, \"%c\", &c) == 1) n++;", 2),
    ("lines by characters", LINES,
     "int n = 0, c; while ((c = fgetc(f)) != EOF) if (c == 10) n++;", None),
    ("and fewer of them", b"1\n2\n3", "int n = 0, c; while ((c = fgetc(f)) != EOF) if (c == 10) n++;", 2),
    ("the size of the file", b"x" * 5000, "fseek(f, 0, SEEK_END); int n = ftell(f);", 5000),
    ("a place in it", b"12 34 56", "int n; fseek(f, 3, SEEK_SET); fscanf(f, \"%d\", &n);", 34),
    ("from where it is", b"12 34 56",
     "int n; fscanf(f, \"%d\", &n); fseek(f, 3, SEEK_CUR); fscanf(f, \"%d\", &n);", 56),
    ("how much fread gets", b"x" * 10, "int v[64]; int n = fread(v, 4, 64, f);", 2),
    ("and then the end", b"x" * 10, "int v[64]; fread(v, 4, 64, f); int n = feof(f) ? 7 : 8;", 7),
    ("exactly all of it", b"x" * 8, "int v[64]; fread(v, 4, 2, f); int n = feof(f) ? 7 : 8;", 8),
    ("numbers into memory", bytes(range(16)), "int *v = (int *)malloc(8); fread(v, 4, 2, f); int n = v[1];",
     0x07060504),
    ("several as one", bytes(range(16)), "int v[3]; fread(v, 12, 1, f); int n = v[2];", 0x0B0A0908),
    ("no more than there are", bytes(range(16)),
     "int v[5] = {}; int n = 4; fread(v, 4, 5, f); n = v[1];", None),
    ("into a vector", LINES,
     "std::vector<int> v; int x; while (!feof(f)) { fscanf(f, \"%d\", &x); v.push_back(x); } "
     "v.pop_back(); int n = v.size();", 3000),
]  # fmt: skip


@pytest.mark.parametrize(("content", "code", "value"), [r[1:] for r in READS], ids=[r[0] for r in READS])
def test_what_is_read(tmp_path, content, code, value) -> None:
    (tmp_path / "data.txt").write_bytes(content)
    (launch,) = launches(tmp_path, HEAD % ("data.txt", code))
    assert launch.arguments == (value,)


STREAMED = [
    ("every line", LINES, "int n = 0; while (std::getline(f, t)) n++;", 3000),
    ("a last line without an end", b"a\nb", "int n = 0; while (std::getline(f, t)) n++;", 2),
    ("an empty line", b"a\n\nb\n", "int n = 0; while (std::getline(f, t)) n += 10 + t.empty();", 31),
    ("a number in a line", b"12 7\n34\n",
     "std::getline(f, t); std::getline(f, t); int n = std::stoi(t);", 34),
    ("behind a number", b"12 7\n34\n",
     "int n; f >> n; std::getline(f, t); std::getline(f, t); n += t.size();", 14),
    ("a line of words", b"12 7\n34\n",
     "std::getline(f, t); std::istringstream in(t); int n, m; in >> n; in >> m; n += m;", 19),
    ("a word of a line", b"12 7\n34\n", "std::getline(f, t); std::istringstream in(t); int n; in >> n;", 12),
    ("as far as a mark", b"12,7\n", "std::getline(f, t, ','); int n = std::stoi(t);", None),
    ("a line longer than is looked at", b"1" * 5000, "std::getline(f, t); int n = t.size();", None),
    ("a record", bytes(range(16)), "Head h; f.read((char *)&h, sizeof(h)); int n = h.n;", 0x07060504),
    ("and the next one", bytes(range(16)),
     "Head h; f.read((char *)&h, sizeof(h)); f.read((char *)&h, sizeof(h)); int n = h.n;", 0x0F0E0D0C),
    ("more than there is", b"abc", "Head h; h.n = 4; f.read((char *)&h, sizeof(h)); int n = h.n;", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "code", "value"), [r[1:] for r in STREAMED], ids=[r[0] for r in STREAMED]
)
def test_what_a_stream_reads(tmp_path, content, code, value) -> None:
    (tmp_path / "data.txt").write_bytes(content)
    (launch,) = launches(tmp_path, STREAM % ("data.txt", code))
    assert launch.arguments == (value,)


def test_a_line_of_a_file_that_is_not_there(tmp_path) -> None:
    (launch,) = launches(tmp_path, STREAM % ("gone.txt", "std::getline(f, t); int n = std::stoi(t);"))
    assert "gone.txt, which the repository does not have" in launch.unknown_arguments[0].reason


def test_what_is_left_of_a_text_is_no_file(tmp_path) -> None:
    code = "std::stringstream in; in << 1.5; int n; in >> n;"
    (launch,) = launches(tmp_path, STREAM % ("gone.txt", code))
    assert launch.arguments == (None,)
    assert "file" not in str(launch.unknown_arguments)


@pytest.mark.slow
def test_a_file_too_long_to_follow_is_not_read_to_its_end(tmp_path) -> None:
    (tmp_path / "data.txt").write_bytes(b"1\n" * 200_000)
    code = 'int n = 0, x; while (fscanf(f, "%d", &x) == 1) n++;'
    (launch,) = launches(tmp_path, HEAD % ("data.txt", code))
    assert launch.arguments == (None,)


def test_a_file_that_is_not_there_keeps_its_name(tmp_path) -> None:
    code = "char t[64]; int n = 0; while (fgets(t, 64, f)) n++;"
    (launch,) = launches(tmp_path, HEAD % ("lost.txt", code))
    assert launch.arguments == (None,)
    assert "lost.txt, which the repository does not have" in launch.unknown_arguments[0].reason


@pytest.mark.parametrize(
    ("test", "grids"),
    [
        ("if (!f) k<<<7, 32>>>(1); else k<<<8, 32>>>(1);", [(7, None), (8, None)]),
        ("if (f != NULL) { fclose(f); k<<<8, 32>>>(1); }", [(8, None)]),
        ("if (!f) { printf(\"no\"); exit(1); } k<<<8, 32>>>(1);", [(8, 1)]),
        ("if (f == NULL) return 1; else k<<<8, 32>>>(1);", [(8, 1)]),
        ("if (g) k<<<8, 32>>>(1); else k<<<7, 32>>>(1);", [(8, 1)]),
    ],
)  # fmt: skip
def test_what_a_run_does_without_a_file_is_told_beside_what_it_does_with_it(tmp_path, test, grids):
    text = "#include <cstdio>\n#include <cstdlib>\n__global__ void k(int n) {}\nint main() {"
    text += f' FILE *f = fopen("gone.bin", "rb"), *g = fopen("here.bin", "rb"); {test} }}'
    (tmp_path / "here.bin").write_bytes(b"1")
    found = launches(tmp_path, text)
    assert [(launch.grid[0], launch.times) for launch in found] == grids
    why = "whether a run finds gone.bin, which the repository does not have"
    assert all(launch.times is not None or launch.times_unknown.endswith(why) for launch in found)


HELPERS = """
#include <cstdio>
#include <cstdlib>
__global__ void k(int n) {}
struct Reader { FILE *f; bool open(const char *p) { f = fopen(p, "r"); if (!f) return false; return true; } };
bool load(const char *p, int *n) { FILE *f = fopen(p, "rb"); if (!f) return false; *n = 9; return true; }
int work() { FILE *f = fopen("gone.bin", "rb"); if (!f) return 1; k<<<5, 32>>>(1); return 0; }
void save() { FILE *f = fopen("gone.bin", "rb"); if (!f) return; k<<<6, 32>>>(1); }
int main() { Reader r; int n = 3; BODY }
"""


@pytest.mark.parametrize(
    ("body", "grids"),
    [
        ('if (load("gone.bin", &n)) k<<<8, 32>>>(1); else k<<<7, 32>>>(1);', [(7, None), (8, None)]),
        ('if (r.open("gone.bin")) k<<<8, 32>>>(1); else k<<<7, 32>>>(1);', [(7, None), (8, None)]),
        ('if (!r.open("gone.bin")) { k<<<7, 32>>>(1); return 1; } k<<<8, 32>>>(1);', [(7, None), (8, 1)]),
        ('if (!r.open("gone.bin")) return 1; k<<<8, 32>>>(1);', [(8, 1)]),
        ('if (!load("gone.bin", &n)) { printf("no"); exit(1); } k<<<8, 32>>>(1);', [(8, 1)]),
        ('bool there = r.open("gone.bin"); if (n > 2 && !there) exit(1); k<<<8, 32>>>(1);', [(8, 1)]),
        ("if (work() != 0) return 1;", [(5, 1)]),
        ("save();", [(6, 1)]),
        ('if (load("here.bin", &n)) k<<<n, 32>>>(1); else k<<<7, 32>>>(1);', [(9, 1)]),
    ],
)  # fmt: skip
def test_a_helper_may_not_find_its_file(tmp_path, body, grids):
    (tmp_path / "here.bin").write_bytes(b"1")
    found = launches(tmp_path, HELPERS.replace("BODY", body))
    is_run = (one for one in found if "was not seen to call" not in one.times_unknown)
    assert [(one.grid[0], one.times) for one in is_run] == grids

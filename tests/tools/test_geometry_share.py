"""What the table of launches says about kernels whose geometry or arguments are not known."""

from pathlib import Path

import pytest

from wattslice_tools.wild.geometry_share import KINDS, NOT_LAUNCHED, code_of, is_run, kind_of

ALONE = "'n' is a parameter of go(), whose callers are not in this file"

CODES = [
    ("void go(int n) { k<<<n, 1>>>(); }", False),
    ('extern "C" void go(int n);\nstatic double *go(int);', False),
    ("void go(int n) {}\n// go(4);\n/* go(5); */ char *s = \"go(6)\";", False),
    ("void go(int n) {}\nint main() { go(4); }", True),
    ("int go(int n) {}\nint main() { return go(4); }", True),
    ("int go(int n) {}\nint main() { if (x) f(); else go(4); }", True),
    ("void go(int n) {}\nint main() { glutDisplayFunc(go); }", True),
    ("void S::go(int n) const {}\nvoid S::go(int n) : a(n) {}", False),
    ("void S::go(int n) {}\nint main() { s->go(4); }", True),
    ("void S::go(int n) {}\nint main() { S::go(4); }", True),
    ("void go(int n) {}\n#if 0\nint main() { go(4); }\n#else\nint main() {}\n#endif", False),
    ("void go(int n) {}\nint main() {\n#ifdef T\n  f();\n#endif\n  go(4); }", True),
    ("template <class T> void go(int n) {}\nint main() { x = go<float>(4); }", True),
]  # fmt: skip


@pytest.mark.parametrize(("code", "is_called"), CODES)
def test_a_function_that_nothing_calls_launches_nothing(tmp_path: Path, code: str, is_called: bool):
    (tmp_path / "a.cu").write_text(code)
    assert (kind_of(ALONE, tmp_path, code_of(tmp_path)) != NOT_LAUNCHED) is is_called
    assert is_run({"go"}, tmp_path, code_of(tmp_path)) is is_called
    assert is_run({"go", "main"}, tmp_path, {})


@pytest.mark.parametrize(("other", "is_called"), [("", True), ("void go(int n) {}", False)])
def test_a_program_that_has_a_function_of_that_name_calls_its_own(
    tmp_path: Path, other: str, is_called: bool
):
    for name, code in (("one", "void go(int n) {}"), ("two", f"{other}\nint main() {{ go(4); }}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Makefile").write_text("all:\n")
        (tmp_path / name / "a.cu").write_text(code)
    kind = kind_of(ALONE, tmp_path / "one", code_of(tmp_path))
    assert (kind != NOT_LAUNCHED) is is_called


def test_a_missing_file_is_a_kind_of_its_own():
    cause = "'n' is read from data/graph.txt, which the repository does not have"
    assert kind_of(cause, Path(), {}) == KINDS[0][0]
    assert kind_of("'n' is set by fscanf()", Path(), {}) == "read from a file"

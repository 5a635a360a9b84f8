"""Numbers in objects of host code: by which names they are told as unknown, assumed and set."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource
from wattslice.launches.layouts import MOST_MEMBERS
from wattslice.launches.overrides import (
    OverrideError,
    check_overrides,
    known_names,
    parse_overrides,
    parse_setting,
)

from .geometry import launches, program

HEAD = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
__global__ void k(float *a, int n) {}
struct Size { int n; int steps; };
struct Config { float scale; Size size; };
"""
APP = """struct App {
    int width = 0; float *data;
    void parse(char **argv) { width = std::stoi(argv[1]); }
    void run() { k<<<width / 32, 32>>>(data, width); }
};"""
BY_POINTER = "void by_pointer(Config *c) { k<<<c->size.n / 32, 32>>>(0, c->size.n); }"
OF_PROGRAMS = [
    ("Size s; s.n = atoi(argv[1]); k<<<s.n / 32, 32>>>(0, s.n);", "s.n", "given on the command line"),
    ("Config c; fread(&c, sizeof c, 1, fopen(argv[1], \"rb\")); by_pointer(&c);", "c.size.n", "read from a file"),
    ("App app; app.parse(argv); app.run();", "app.width", "given on the command line"),
    ("Size s; s.n = atoi(argv[1]); Size t = s; k<<<t.n / 32, 32>>>(0, t.n);", "s.n", "given on the command line"),
    ("Size *s = new Size; s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, s->n);", "s.n", "given on the command line"),
    ("Size *s = new Size{atoi(argv[1]), 2}; k<<<s->n / 32, 32>>>(0, s->n);", "s.n", "given on the command line"),
    ("Size s = {atoi(argv[1]), 2}; Config c{1, s}; k<<<c.size.n / 32, 32>>>(0, s.n);", "s.n", "given on the command line"),
    ("Size t, s; s.n = atoi(argv[1]); memcpy(&t, &s, sizeof t); k<<<t.n / 32, 32>>>(0, t.n);", "s.n",
     "given on the command line"),
    ("int n = atoi(argv[1]), m; memcpy(&m, &n, sizeof m); k<<<m / 32, 32>>>(0, m);", "n", "given on the command line"),
    ("Size *s = (Size *)malloc(sizeof(Size)); s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, s->n);", "s.n",
     "given on the command line"),
    ("auto s = std::make_unique<Size>(); s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, s->n);", "s.n",
     "given on the command line"),
    ("std::shared_ptr<Size> s(new Size); s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, s->n);", "s.n",
     "given on the command line"),
    ("Size s{64, 2}; if (unread()) s.n = 8192; k<<<s.n / 32, 32>>>(0, s.n);", "s.n", "set under a condition"),
    ("Size s; k<<<s.n / 32, 32>>>(0, s.n);", "s.n", "given no value"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "name", "why"), OF_PROGRAMS)
def test_a_number_in_an_object_is_assumed_and_set_by_its_name(tmp_path, body, name, why):
    functions = (APP if "App" in body else "") + (BY_POINTER if "by_pointer" in body else "")
    text = f"{HEAD} {functions} int unread(); int main(int argc, char **argv) {{ {body} }}"
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED
    (assumed,) = launch.assumed_variables
    assert (assumed.name, launch.grid[0]) == (name, assumed.value // 32)
    (told,) = launch.assumptions
    assert told.message.startswith(f"'{name}' is {why}")
    assert told.fix == f"--set {name}=VALUE"
    (set_,) = launches(tmp_path, text, parse_overrides((), (f"{name}=320",)))
    assert (set_.grid[0], set_.arguments[1], set_.source) == (10, 320, LaunchSource.HOST_CODE)
    assert not set_.assumptions


@pytest.mark.parametrize(
    ("function", "name", "is_behind"),
    [
        ("void f(int n) { k<<<n / 32, 32>>>(0, n); }", "n", False),
        ("void f(Config *c) { k<<<c->size.n / 32, 32>>>(0, c->size.n); }", "c.size.n", True),
        ("void f(const Size &s) { k<<<s.n / 32, 32>>>(0, s.n); }", "s.n", False),
        ("void f(Size s) { k<<<s.n / 32, 32>>>(0, s.n); }", "s.n", False),
        ("namespace a { template <class T> struct Of { T n; void f(); }; } template <class T> void a::Of<T>::f() "
         "{ k<<<n / 32, 32>>>(0, n); } template struct a::Of<int>;", "Of.n", True),
    ],
)  # fmt: skip
def test_what_an_entry_point_gets_has_names_too(tmp_path, function, name, is_behind):
    (launch,) = launches(tmp_path, HEAD + function)
    assert (launch.source, launch.assumed_variables[0].name) == (LaunchSource.ASSUMED, name)
    told = f"'{name}' is {'part of ' * is_behind}a parameter of f(), whose callers are not in this file"
    assert launch.assumptions[0].message.startswith(told)
    (launch,) = launches(tmp_path, HEAD + function, parse_overrides((), (f"{name}=320",)))
    assert (launch.grid[0], launch.source) == (10, LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    "body",
    [
        "Size *s = (Size *)malloc(4 * sizeof(Size)); s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, 1);",
        "Size *s = &(new Config)->size; s->n = atoi(argv[1]); k<<<s->n / 32, 32>>>(0, 1);",
        "int *p = &(new Size{atoi(argv[1]), 2})->n; k<<<*p / 32, 32>>>(0, 1);",
        "Size s[4]; s[2].n = atoi(argv[1]); k<<<s[2].n / 32, 32>>>(0, 1);",
    ],
)
def test_what_is_an_object_only_in_part_has_no_name(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD} int main(int argc, char **argv) {{ {body} }}")
    assert (launch.source, launch.assumed_variables) == (LaunchSource.ASSUMED, ())


def test_objects_of_one_type_are_settled_each_by_itself(tmp_path):
    body = "Size s, t; s.n = atoi(argv[1]); t.n = atoi(argv[2]); k<<<s.n / 32, 32>>>(0, t.n);"
    text = f"{HEAD} int main(int argc, char **argv) {{ {body} }}"
    (launch,) = launches(tmp_path, text, parse_overrides((), ("s.n=320",)))
    assert (launch.grid[0], launch.arguments[1]) == (10, None)
    (launch,) = launches(tmp_path, text, parse_overrides((), ("s.n=320", "t.n=64")))
    assert (launch.grid[0], launch.arguments[1]) == (10, 64)


def test_an_object_that_is_passed_on_takes_what_is_set_with_it(tmp_path):
    body = "Size s; s.n = atoi(argv[1]); s.steps = 7; by_value<<<s.n / 32, 32>>>(s);"
    text = f"{HEAD} __global__ void by_value(Size s) {{}} int main(int argc, char **argv) {{ {body} }}"
    _, launch = launches(tmp_path, text, parse_overrides((), ("s.n=320",)))
    held = {member.path: member.value for member in launch.contents.members}
    assert held == {("n",): 320, ("steps",): 7}


def test_a_known_member_is_not_assumed(tmp_path):
    body = "Size s; s.n = 640; k<<<s.n / 32, 32>>>(0, atoi(argv[1])); s.n = atoi(argv[1]); k<<<s.n / 32, 32>>>(0, 1);"
    first, second = launches(tmp_path, f"{HEAD} int main(int argc, char **argv) {{ {body} }}")
    assert (first.grid[0], first.source) == (20, LaunchSource.HOST_CODE)
    assert (second.source, second.assumed_variables[0].name) == (LaunchSource.ASSUMED, "s.n")


@pytest.mark.parametrize(
    "code",
    [
        "struct B { int m; virtual int n() { return 1; } }; struct D : B { int n() { return 9; } }; void f(B &b) { k<<<b.n(), 32>>>(0, 1); }",
        "struct B { int m; virtual int n() { return 1; } }; struct D : B { int n() { return 9; } }; void f(B *b) { k<<<b->n(), 32>>>(0, 1); }",
        "struct S { int n; S *next; void f(); }; void S::f() { n = 5; next->n = 6; k<<<n, 32>>>(0, 1); }",
        "void f(Size *s) { void touch(Size *); s->n = 5; touch(s); k<<<s->n, 32>>>(0, 1); }",
    ],
)
def test_what_may_have_changed_behind_a_parameter_is_not_known(tmp_path, code):
    found = launches(tmp_path, HEAD + code)
    assert [launch.source for launch in found] == [LaunchSource.ASSUMED]


def test_members_without_an_own_name_or_place_have_none(tmp_path):
    code = """struct Both { union { int whole; short half; }; int bits : 3; dim3 grid; int all[4]; int n; float *p; };
    int main() { Both b; k<<<b.n, 32>>>(0, b.whole); }"""
    known = known_names(program(tmp_path, HEAD + code))
    assert {name for name in known.host_members if name.startswith("b.")} == {"b.n"}


def test_a_large_object_has_names_for_the_first_members_only(tmp_path):
    members = " ".join(f"int m{number};" for number in range(MOST_MEMBERS + 1))
    code = f"struct Many {{ {members} }}; int main() {{ Many b; k<<<b.m{MOST_MEMBERS}, 32>>>(0, b.m1); }}"
    (launch,) = launches(tmp_path, HEAD + code)
    assert (launch.source, launch.assumed_variables) == (LaunchSource.ASSUMED, ())


@pytest.mark.parametrize(
    ("option", "told", "remedy"),
    [
        ("s.m=4", "no number 's.m' in the host code", "did you mean s.n"),
        ("s.n.x=4", "no number 's.n.x' in the host code", "did you mean s.n"),
        ("nobody.n=4", "no kernel 'nobody' in the analysed files", "known: k"),
    ],
)
def test_a_member_that_there_is_not_is_told(tmp_path, option, told, remedy):
    read = program(tmp_path, f"{HEAD} int main() {{ Size s; k<<<s.n, 32>>>(0, 1); }}")
    with pytest.raises(OverrideError) as error:
        check_overrides(parse_overrides((), (option,)), [known_names(read)])
    assert told in str(error.value)
    assert remedy in (error.value.remedy or "")
    check_overrides(parse_overrides((), ("s.n=4",)), [known_names(read)])


def test_settings_of_members_are_read():
    assert parse_setting("a.b.c=4K") == (parse_setting("a.b.c=4096"))
    for text in ("a..b=4", ".b=4", "a.b.=4", "a.4=4"):
        with pytest.raises(OverrideError, match="cannot be read"):
            parse_setting(text)


def test_an_option_of_an_unknown_variable_leaves_known_ones_of_its_name(tmp_path):
    """The n of launch() is 100 in one call, and follows from the n of main() in the other."""
    launch = "int ask(); void launch(float *d, int n) { k<<<(n + 255) / 256, 256>>>(d, n); }"
    text = f"{HEAD} {launch} int main() {{ int n = ask(); launch(0, n * n); launch(0, 100); }}"
    found = launches(tmp_path, text, parse_overrides((), ("n=1000",)))
    assert sorted((o.grid[0], o.arguments[1], o.source) for o in found) == [
        (1, 100, LaunchSource.HOST_CODE),
        (3907, 1000000, LaunchSource.HOST_CODE),
    ]

"""Long host loops of which a few iterations do not tell the others: followed if that is cheap, else told."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

K = "__global__ void k(int n, bool b) {}\n"
HEAD = f"#include <cstdio>\n#include <cstdlib>\n{K}__global__ void l() {{}}\n"

# What is launched, how often, with which grid and arguments: by the stub runtime's log.
FOLLOWED = [
    ("for (int i = 0; i < 1024; i++) k<<<8, 32>>>(7, (i + 1) % 10 == 0);", {(8, 0): 922, (8, 1): 102}),
    ("for (int i = 0; i < 1024; i++) k<<<((i + 1) % 10 == 0 ? 96 : 32) / 32, 32>>>(7, 0);",
     {(1, 0): 922, (3, 0): 102}),
    ("for (int i = 0; i < 80; i++) { int n = 4; if (i > 20 && i < 30) n <<= 2; k<<<n, 32>>>(n, 0); }",
     {(4, 0): 71, (16, 0): 9}),
    ("int w[8] = {4, 4, 4, 32, 4, 4, 4, 4}; for (int e = 0; e < 3; e++) for (int b = 0; b < 10; b++)"
     " for (int i = 0; i < 8; i++) k<<<w[i], 32>>>(7, 0);", {(4, 0): 210, (32, 0): 30}),
    ("for (int i = 0; i < 500; i++) k<<<i == 77 ? 9 : 3, 32>>>(7, 0);", {(3, 0): 499, (9, 0): 1}),
    ("for (int i = 0; i < 1000; i++) if (i % 10 == 0) k<<<4, 32>>>(7, 0);", {(4, 0): 100}),
    ("for (int i = 0; i < 100000; i++) k<<<4, 32>>>(7, 0);", {(4, 0): 100000}),  # no two can differ
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), FOLLOWED)
def test_a_loop_whose_iterations_differ_is_followed(tmp_path, body, expected):
    found = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    made = [one for one in found if one.kernel.name == "k"]
    assert {(one.grid[0], one.arguments[1]): one.times for one in made} == expected
    assert {one.source for one in made} == {LaunchSource.HOST_CODE}


@pytest.mark.parametrize(
    ("launch", "is_of_geometry"),
    [
        ("k<<<i % 1000 == 77 ? 9 : 3, 32>>>(7, 0);", True),
        ("int n = 4; if (i > 2000 && i < 3000) n = 64; k<<<n, 32>>>(7, 0);", True),
        ("k<<<4, 32>>>(7, (i + 1) % 1000 == 0);", False),
    ],
)
def test_of_a_loop_that_is_too_long_it_is_told_that_others_may_differ(tmp_path, launch, is_of_geometry):
    text = f"{HEAD}int main() {{ for (int i = 0; i < 1000000; i++) {{ {launch} }} }}"
    (found,) = (one for one in launches(tmp_path, text) if one.kernel.name == "k")
    told = " ".join(one.message for one in found.assumptions)
    assert "of 1000000 iterations of a loop" in told
    assert f"others may have {'a grid or block' if is_of_geometry else 'arguments'} of their own" in told
    assert (found.source is LaunchSource.ASSUMED) is is_of_geometry
    assert found.times == (None if is_of_geometry else 1000000)  # every iteration launches once


def test_layers_of_an_inner_loop_are_all_met(tmp_path):
    text = f"""{HEAD}
struct L {{ virtual void f() = 0; }};
struct A : L {{ int n; A(int n) : n(n) {{}} void f() {{ k<<<n, 32>>>(n, 0); }} }};
struct B : L {{ void f() {{ l<<<2, 32>>>(); }} }};
int main() {{
  L *net[6] = {{new A(5), new A(9), new B, new A(3), new A(9), new B}};
  for (int e = 0; e < 5; e++) for (int b = 0; b < 6; b++) for (int i = 0; i < 6; i++) net[i]->f();
}}"""
    found = {(one.kernel.name, one.grid[0]): one.times for one in launches(tmp_path, text)}
    assert found == {("k", 5): 30, ("k", 9): 60, ("k", 3): 30, ("l", 2): 60}


@pytest.mark.parametrize(("condition", "is_of_argc"), [("i % 2 == 1", False), ("i + argc > 2", True)])
def test_what_some_iterations_launch_is_come_to(tmp_path, condition, is_of_argc):
    text = f"""{HEAD}
int main(int argc, char **argv) {{ int n; scanf("%d", &n); for (int i = 0; i < 4; i++)
  if ({condition}) k<<<n, 32>>>(n, 0); }}"""
    found = [one for one in launches(tmp_path, text) if one.kernel.name == "k"]
    told = " ".join(note.message for one in found for note in one.assumptions)
    assert "does not come to it" not in told
    assert "does not launch" not in told
    assert ("argc assumed 1: that decides how often the program launches k" in told) is is_of_argc
    assert {one.source for one in found} == {LaunchSource.ASSUMED}


@pytest.mark.parametrize("grid", ["7", "m / 256 + 7 - m / 256", "(i + m) / m + 6", "std::min(m + i, 7)"])
def test_what_goes_one_way_is_known_from_the_first_and_the_last_iteration(tmp_path, grid):
    text = f"#include <algorithm>\n{K}int main() {{ int m = 5000000;\n"
    (one,) = launches(tmp_path, f"{text} for (int i = 0; i < 1000000; i++) {{ k<<<{grid}, 32>>>(3, 0); }} }}")
    assert (one.source, one.times, one.grid[0]) == (LaunchSource.HOST_CODE, 1000000, 7)


def test_what_turns_round_is_not(tmp_path):
    body = "for (int i = 0; i < 1000000; i++) k<<<i - i / 2 * 2 + 3, 32>>>(0, 0);"
    (one,) = launches(tmp_path, f"#include <cstdio>\n{K}int main() {{ {body} }}")
    assert one.source is LaunchSource.ASSUMED


def test_a_branch_that_some_iterations_take_is_come_to(tmp_path):
    body = 'int n; scanf("%d", &n); for (int i = 0; i < 2; i++) if (i == 1) k<<<n, 32>>>(i, 0);'
    (one,) = launches(tmp_path, f"#include <cstdio>\n{K}int main() {{ {body} }}")
    assert (one.times, one.arguments[0]) == (1, 1)


def test_a_branch_of_some_layers_in_a_long_loop_is_counted(tmp_path):
    body = "int s[3] = {1, 2, 1}; for (int b = 0; b < 100; b++) for (int i = 0; i < 3; i++) "
    (one,) = launches(
        tmp_path, f"#include <cstdio>\n{K}int main() {{ {body} if (s[i] == 2) k<<<4, 32>>>(1, 0); }}"
    )
    assert (one.grid[0], one.times) == (4, 100)

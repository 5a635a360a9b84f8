"""Launches in arms that compare a variable with a number: there the variable is that number."""

from pathlib import Path

import pytest

from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

KERNEL = "#include <stdlib.h>\ntemplate <int T> __global__ void of(int n) {}\n"


def launches(code: str) -> dict[str, KernelLaunch]:
    """By the last argument."""
    main = "int main(int argc, char **argv) { go(16, argv[1]); }"
    read = read_cuda(Path("a.cu"), ParseOptions(), f"{KERNEL}{code}\n{main}\n".encode())
    found = resolve_launches(read, NO_OVERRIDES, load_gpu("v100"))
    return {one.kernel.qualified_name: one for one in found}


LADDERS = [
    "switch (t) { case 64: of<64><<<g, b>>>(t); break; case 32: of<32><<<g, b>>>(t); }",
    "if (t == 64) of<64><<<g, b>>>(t); else if (32 == t) of<32><<<g, b>>>(t);",
]


@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize("value", ["32", "atoi(s)"])
def test_where_a_variable_is_compared_with_a_number_it_is_that(ladder: str, value: str):
    """What was declared by it follows. The case of the run is as the run has it."""
    declared = f"int t = {value}; int half = t / 2; dim3 b(2 * half), g(1024 / t);"
    found = launches(f"void go(int, const char *s) {{ {declared} {ladder} of<7><<<1, t>>>(t); }}")
    sizes = {name: (one.grid[0], one.block[0], one.arguments) for name, one in found.items()}
    assert (sizes["of<64>"], sizes["of<32>"]) == ((16, 64, (64,)), (32, 32, (32,)))
    is_run = value == "32"
    assert found["of<32>"].source is LaunchSource.HOST_CODE
    assert found["of<64>"].source is (LaunchSource.ASSUMED if is_run else LaunchSource.HOST_CODE)
    told = [(entry.message, entry.fix) for entry in found["of<64>"].assumptions]
    message = (
        "'t' is another than 64 with the values read or assumed; t assumed 64: of<<<(16,1,1), (64,1,1)>>>"
    )
    assert ((message, "--set t=VALUE") in told) is is_run
    behind = found["of<7>"]
    assert (behind.source is LaunchSource.HOST_CODE) is is_run
    assert (
        any(entry.message.startswith("'t' is given on the command line") for entry in behind.assumptions)
        is not is_run
    )


@pytest.mark.parametrize("condition", ["t > 64", "t != 16", "t == u", "t + 1 == 64"])
def test_what_is_no_comparison_with_a_number_supposes_nothing(condition: str):
    found = launches(
        f"void go(int t, char *) {{ int u = 9; dim3 b(t); if ({condition}) of<64><<<1, b>>>(t); }}"
    )
    launch = found["of<64>"]
    assert (launch.block[0], launch.arguments, launch.source) == (16, (16,), LaunchSource.ASSUMED)


@pytest.mark.parametrize("change", ["k += 5;", "t *= 2;", "add(&k);", "add(&t);", "b.x = 96;"])
def test_what_is_changed_does_not_follow(change: str):
    """`k` and `b` are no longer what `t` gave them when they were declared."""
    head = "void add(int *p) { *p += 5; }"
    body = f"int k = t; dim3 b(k); {change} if (t == 64) of<64><<<b, k>>>(t);"
    known = launches(f"{head} void go(int t, char *) {{ {body} }}")["of<64>"]
    assert (known.grid[0], known.block[0]) == {
        "k += 5;": (16, 21),
        "add(&k);": (16, 21),
        "b.x = 96;": (96, 64),
    }.get(change, (16, 16))
    unknown = launches(f"{head} void go(int, char *s) {{ int t = atoi(s); {body} }}")["of<64>"]
    is_known = change == "b.x = 96;"
    assert unknown.source is (LaunchSource.HOST_CODE if is_known else LaunchSource.ASSUMED)


def test_geometry_that_does_not_follow_is_as_written():
    found = launches("void go(int t, char *) { if (t == 64) of<64><<<2, 96>>>(t); }")
    launch = found["of<64>"]
    assert (launch.block[0], launch.arguments, launch.source) == (96, (64,), LaunchSource.HOST_CODE)

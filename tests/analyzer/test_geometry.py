"""Reading launches out of host code; `LAUNCH(grid, block, arguments...)` stands for <<<grid, block>>>."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_caller, read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.host_code import HostCode
from wattslice.launches.launch import BLOCKS_PER_SM, NO_OVERRIDES
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

SPAN = ir.Span("a.cu", 1, 1, 1)
GPU = load_gpu("v100")
PRELUDE = """\
#define LAUNCH(grid, block, ...) k<<<grid, block>>>(__VA_ARGS__)
extern "C" __global__ void k(int n, int m = 0) {}
int getopt(int, char **, int);
"""


def program(text):
    read = read_cuda(Path("a.cu"), ParseOptions(), (PRELUDE + text).encode())
    assert not [entry for entry in read.diagnostics if entry.severity is ir.Severity.ERROR]
    return replace(read, kernels=(kernel(),))


def kernel(limit=None):
    names = ("n", "m")
    parameters = tuple(
        ir.Variable(name, ir.INT32, ir.MemorySpace.REGISTER, ir.VariableRole.PARAMETER, SPAN)
        for name in names
    )
    body = ir.Block((), 0, SPAN)
    return ir.Kernel("k", "k", "k", parameters, body, SPAN, 1, 0, (), limit, None, True)


def launches(text, overrides=NO_OVERRIDES):
    return resolve_launches(program(text), overrides, GPU)


def geometry(text, overrides=NO_OVERRIDES):
    return [(launch.grid, launch.block, launch.arguments[0]) for launch in launches(text, overrides)]


def main(body, before=""):
    return before + "int main(int argc, char **argv) {" + body + "return 0; }"


DIV_UP = "int iDivUp(int a, int b) { return a % b != 0 ? a / b + 1 : a / b; }\n"
NEXT_POW2 = """
unsigned nextPow2(unsigned x) {
  --x; x |= x >> 1; x |= x >> 2; x |= x >> 4; x |= x >> 8; x |= x >> 16;
  return ++x;
}
int power(int x) { int p = 1; while (p < x) p *= 2; return p; }
"""
BY_POINTER = """
void sizes(int n, int most, int *blocks, int *threads) {
  *threads = (n < most * 2) ? (n + 1) / 2 : most;
  *blocks = (n + (*threads * 2 - 1)) / (*threads * 2);
}
"""
ONE_DIMENSIONAL = [
    ("constants", "LAUNCH(4, 128, 7);", "", (4, 128, 7)),
    ("arithmetic", "int n = 1000; LAUNCH((n + 255) / 256, 256, n);", "", (4, 256, 1000)),
    ("last assignment", "int n = 1; n = 5; n += 2; n <<= 1; LAUNCH(n, 32, n);", "", (14, 32, 14)),
    ("ceil of float", "int n = 1000; LAUNCH(ceil((float)n / 256), 256, n);", "", (4, 256, 1000)),
    ("command line", "int n = 64; if (argc > 1) n = atoi(argv[1]); LAUNCH(n, 32, n);", "", (64, 32, 64)),
    ("either arm", "int n; if (argc > 1) n = atoi(argv[1]); else n = 96; LAUNCH(n, 32, n);", "",
     (96, 32, 96)),
    ("conditional", "int n = argc > 1 ? atoi(argv[1]) : 9; LAUNCH(n, 32, n);", "", (9, 32, 9)),
    ("usage", 'if (argc != 2) { printf("no"); exit(1); } LAUNCH(3, 32, 0);', "", (3, 32, 0)),
    ("early return", "if (argc != 2) return 1; LAUNCH(3, 32, 0);", "", (3, 32, 0)),
    ("helper", "LAUNCH(iDivUp(1000, 256), 256, 0);", DIV_UP, (4, 256, 0)),
    ("bit tricks", "LAUNCH(nextPow2(1000), 256, power(33));", NEXT_POW2, (1024, 256, 64)),
    ("out-parameters", "int b, t; sizes(4096, 256, &b, &t); LAUNCH(b, t, 0);", BY_POINTER, (8, 256, 0)),
    ("global", "setup(); LAUNCH(size, 32, size);", "int size = 2; void setup() { size *= 3; }\n", (6, 32, 6)),
    ("parameter", "run(12);", "void run(int n) { LAUNCH(n, 32, n); }\n", (12, 32, 12)),
    ("struct", "struct s c; c.n = 11; LAUNCH(c.n, 32, c.n);", "struct s { char t; int n; };\n", (11, 32, 11)),
    ("through a pointer", "struct s c; set(&c); LAUNCH(c.n, 32, 0);",
     "struct s { char t; int n; }; void set(struct s *p) { p->n = 21; }\n", (21, 32, 0)),
    ("array", "int s[3] = {5, 6, 7}; s[1] = 8; LAUNCH(s[1], s[2], s[0]);", "", (8, 7, 5)),
    ("heap", "struct s *p = (struct s *)malloc(8); p->n = 13; LAUNCH(p->n, 32, 0);",
     "struct s { int m, n; };\n", (13, 32, 0)),
    ("no options", "int n = 5; while (getopt(argc, argv, 0) != -1) n = 6; LAUNCH(n, 1, n);", "", (5, 1, 5)),
    ("parse loop",
     "int n = 5, i; for (i = 1; i < argc; i++) if (argv[i][0] == 45) n = atoi(argv[i]); LAUNCH(n, 1, n);",
     "", (5, 1, 5)),
    ("known switch",
     "int v = 2, n; switch (v) { case 1: n = 1; break; case 2: n = 22; default: n++; } LAUNCH(n, 1, n);",
     "", (23, 1, 23)),
    ("after a loop", "int i, n = 0; for (i = 0; i < 100000; i++) n += 3; LAUNCH(n, 1, i);", "",
     (300000, 1, 100000)),
    ("short loop", "int i, n = 1; for (i = 0; i < 5; i++) n *= 2; LAUNCH(n, 1, i);", "", (32, 1, 5)),
    ("rounding", "LAUNCH(round(2.5), 5 + round(-2.5), round(-0.4));", "", (3, 2, 0)),
    ("rounding below a half", "LAUNCH(1 + round(0.49999999999999994), 1, 0);", "", (1, 1, 0)),
    ("integer wraps", "unsigned char c = 300; LAUNCH(c, 1, c);", "", (44, 1, 44)),
    ("64 bits wrap", "unsigned long m = 0; int n = -7; m -= 1; LAUNCH(m >> 60, 8 + n / 2, n % 4);", "",
     (15, 5, -3)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "before", "expected"), [pytest.param(*c[1:], id=c[0]) for c in ONE_DIMENSIONAL]
)
def test_one_launch(body, before, expected):
    grid, block, argument = expected
    (launch,) = launches(main(body, before))
    assert (launch.grid, launch.block, launch.arguments[0]) == ((grid, 1, 1), (block, 1, 1), argument)
    assert launch.source is LaunchSource.HOST_CODE


def test_dim3_members():
    text = main("dim3 g, b; g.x = 3; g.y = 4; g.z = 1; b.x = 16; b.y = 8; b.z = 2; LAUNCH(g, b, 0);")
    assert geometry(text) == [((3, 4, 1), (16, 8, 2), 0)]


def test_device_properties_come_from_the_catalogue():
    before = "struct cudaDeviceProp { int multiProcessorCount; int maxThreadsPerBlock; };\n"
    body = """struct cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
    LAUNCH(2 * p.multiProcessorCount, p.maxThreadsPerBlock, 0);"""
    assert geometry(main(body, before)) == [((160, 1, 1), (1024, 1, 1), 0)]


def test_call_sites_with_different_values_are_launches_equal_ones_are_not_repeated():
    text = main("run(1); run(2); run(2);", "void run(int n) { LAUNCH(n, 32, n); }\n")
    assert geometry(text) == [((1, 1, 1), (32, 1, 1), 1), ((2, 1, 1), (32, 1, 1), 2)]


def test_of_many_launches_the_largest_are_shown_and_the_others_counted():
    sizes = [3, 1, 4, 2, 9, 5, 6, 7, 10]  # the largest comes last
    found = launches(main(" ".join(f"LAUNCH({size}, 32, 0);\n" for size in sizes)))
    assert [launch.grid[0] for launch in found] == [3, 4, 2, 9, 5, 6, 7, 10]
    (assumption,) = found[0].assumptions
    assert assumption.rule == "PW011"
    assert assumption.message.startswith("1 further launch of k not shown")
    assert (assumption.fix, assumption.line - 1) == ("--launch 'k=1,1,1:32,1,1'", found[0].line)
    assert not any(launch.assumptions for launch in found[1:])
    found = launches(main(" ".join(f"LAUNCH({size}, 32, 0);" for size in range(1, 41))))
    assert [launch.grid[0] for launch in found] == list(range(33, 41))
    assert found[0].assumptions[0].message.startswith("32 further launches of k not shown")


def test_a_loop_shows_the_mean_launch_and_says_so():
    (launch,) = launches(main("int i; for (i = 1; i <= 9; i++) LAUNCH(i, 32, i);"))
    assert (launch.grid, launch.arguments[0]) == ((5, 1, 1), 5)
    (assumption,) = launch.assumptions
    assert assumption.rule == "PW011"
    assert "another grid and another argument n in each iteration" in assumption.message
    assert "k<<<(5,1,1), (32,1,1)>>>" in assumption.message
    # 1 2 4 ... 128: the mean is 31.9
    (launch,) = launches(main("int s; for (s = 1; s < 256; s *= 2) LAUNCH(s, 32, s);"))
    assert launch.grid == (32, 1, 1)


def test_blocks_and_arguments_that_differ_between_iterations_are_told():
    sizes = "int s[5] = {32, 64, 128, 96, 160}, i;"
    (launch,) = launches(main(f"{sizes} for (i = 0; i < 5; i++) LAUNCH(1024 / s[i], s[i], 5);"))
    assert launch.block == (64, 1, 1)
    assert "another grid and another block in each iteration" in launch.assumptions[0].message
    one = "void f(int b) { LAUNCH(1024 / b, b, 5); }"
    (launch,) = launches(f"{one}\n" + main(f"{sizes} f(64); for (i = 0; i < 5; i++) f(s[i]);"))
    assert (launch.block[0], launch.times) == (64, 6)
    assert "another grid and another block in each iteration" in launch.assumptions[0].message
    (launch,) = launches(main("int i; for (i = 0; i < 5; i++) LAUNCH(4, 32, i, 6);"))
    assert (launch.source, launch.assumptions[0].fix) == (LaunchSource.HOST_CODE, "--set k.n=VALUE")
    assert "another argument n in each iteration" in launch.assumptions[0].message


def test_few_different_launches_of_a_loop_are_shown_each_with_its_number():
    text = "int i; for (i = 0; i < 6; i++) LAUNCH(i % 3 ? 4 : 8, 32, i % 3, 6);"
    found = {(one.grid[0], one.arguments[0], one.times) for one in launches(main(text))}
    assert found == {(8, 0, 2), (4, 1, 2), (4, 2, 2)}


def test_a_long_loop_is_sampled():
    (launch,) = launches(main("int i; for (i = 0; i < 100000; i++) LAUNCH(100000 - i, 32, i);"))
    assert launch.grid == (50000, 1, 1)


def test_a_launch_that_only_iterations_between_the_visited_ones_make_is_met():
    (launch,) = launches(main("for (int i = 0; i < 1000; i++) if (i == 700) LAUNCH(4, 32, 7);"))
    assert (launch.grid, launch.source, launch.assumptions) == ((4, 1, 1), LaunchSource.HOST_CODE, ())


def test_a_loop_that_never_runs_gives_no_geometry():
    (launch,) = launches(main("int i; for (i = 1000; i < 0; i--) LAUNCH(i, 128, i);"))
    assert (launch.source, {v.name: v.value for v in launch.assumed_variables}) == (
        LaunchSource.ASSUMED,
        {"i": 1024},
    )
    assert "'i' counts a loop that never runs" in launch.assumptions[0].message
    # What it would launch does not depend on the counter here; still it is told that it is not launched.
    (launch,) = launches(main("int i, n = 0; for (i = 0; i < n; i++) LAUNCH(4, 32, n);"))
    assert (launch.grid, launch.source) == ((4, 1, 1), LaunchSource.HOST_CODE)
    assert [entry.rule for entry in launch.assumptions] == ["PW011"]


def test_a_counter_that_moves_away_from_its_bound_is_not_counted():
    (launch,) = launches(main("int i, n = 5; for (i = 3; i < 10; i--) n++; LAUNCH(n, 32, i);"))
    assert launch.source is LaunchSource.ASSUMED
    assert "'n' changes in a loop that is too long to follow" in launch.assumptions[0].message


def test_a_loop_of_unknown_length_shows_its_first_iteration():
    (launch,) = launches(main("int i = 0; do { LAUNCH(4, 32, i); i++; } while (converged());"))
    assert (launch.grid, launch.arguments[0]) == ((4, 1, 1), 0)
    assert "first iteration" in launch.assumptions[0].message
    assert launch.assumptions[0].fix == "--set k.n=VALUE"


DEAD = [
    "int v = 1; if (v == 2) run(2); else other();",
    "int v = 3; switch (v) { case 1: run(2); break; case 2: run(5); break; default: other(); }",
    "other(); return 0; run(2);",
    "int i; for (i = 0; i < 0; i++) run(2);",
]


@pytest.mark.parametrize("body", DEAD)
def test_what_does_not_run_is_one_launch_as_written(body):
    functions = "void run(int n) { LAUNCH(n, 32, n); }\nvoid other(void) { }\n"
    (launch,) = launches(main(body, functions))
    assert (launch.grid, launch.block, launch.source) == ((2, 1, 1), (32, 1, 1), LaunchSource.HOST_CODE)
    (assumption,) = launch.assumptions
    assert assumption.rule == "PW011"
    assert "only where the host code does not come with the values read or assumed" in assumption.message
    # Where the same kernel is launched for certain, nothing is said of it.
    (launch,) = launches(main(f"LAUNCH(7, 64, 1); {body}", functions))
    assert (launch.grid, launch.source, launch.assumptions) == ((7, 1, 1), LaunchSource.HOST_CODE, ())


@pytest.mark.parametrize(
    "body",
    [
        "int v = 3; if (v > 4) LAUNCH(v, 32, 1);",
        "int v = 3; int n = twice(v); if (v + 1 == 2) LAUNCH(4, n, 1);",
        "int v = 3, n = 1; n = v; if (v == 2) LAUNCH(n, 32, 1);",
        "int v = 3, n = 1; fill(&n, v); switch (v) { case 1: LAUNCH(n, 32, 1); }",
    ],
)
def test_geometry_made_of_what_keeps_it_from_running_is_assumed(body):
    functions = "int twice(int a) { return 2 * a; }\nvoid fill(int *to, int a) { *to = a; }\n"
    (launch,) = launches(main(body, functions))
    assert launch.source is LaunchSource.ASSUMED
    assert "only where the host code does not come" in launch.assumptions[-1].message


def test_an_arm_that_does_not_run_changes_nothing():
    text = main("int v = 1, n = 7; if (v == 2) { n = 9; } LAUNCH(n, 32, n);")
    assert geometry(text) == [((7, 1, 1), (32, 1, 1), 7)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("LAUNCH(0, 32, 1);", "the host code gives 0"),
        ("struct dim3 g; unknown(&g); LAUNCH(g, 32, 1);", "set by unknown()"),
        ("int s[2]; unknown(s); LAUNCH(s[1], 32, 1);", "set by unknown()"),
    ],
)
def test_unknown_geometry_is_assumed_with_its_reason_and_the_option(body, reason):
    (launch,) = launches(main(body))
    assert (launch.source, launch.assumed_variables) == (LaunchSource.ASSUMED, ())
    assert (launch.grid, launch.block) == ((BLOCKS_PER_SM * 80, 1, 1), (32, 1, 1))
    assumption = launch.assumptions[0]
    assert (assumption.rule, assumption.fix) == ("PW011", "--launch 'k=gx,gy,gz:bx,by,bz'")
    assert reason in assumption.message


@pytest.mark.parametrize(
    ("body", "reason", "grid", "values"),
    [
        ('int n; fscanf(0, "%d", &n); LAUNCH(n, 32, n);', "'n' is set by fscanf()", 1024, {"n": 1024}),
        ("int n = atoi(argv[1]), g = n / 4; LAUNCH(g, 32, n);", "'n' is given on the command line; n assumed",
         1024, {"n": 4096}),
        ("int n; LAUNCH(n / 32, 32, n);", "'n' is never assigned", 2048, {"n": 65536}),
        ("int n = 0; if (getpid() == 7) n = atoi(argv[1]); LAUNCH(n / 32, 32, n);",
         "'n' is set under a condition", 2048, {"n": 65536}),
        ("int n = atoi(argv[1]), m = atoi(argv[2]); LAUNCH(n / 8 + m / 8, 32, n);", "m assumed 1024", 256,
         {"m": 1024, "n": 1024}),
        ("int n = atoi(argv[1]); dim3 b; b.x = n; b.y = n; b.z = 1; LAUNCH(5, b, n);", "n assumed 16", 5,
         {"n": 16}),
        ("int b = atoi(argv[1]), n = atoi(argv[2]); LAUNCH((n + b - 1) / b, b, n);", "b assumed 256", 1024,
         {"b": 256, "n": 262144}),
        ("int b, n; dim3 t(b, b); LAUNCH(n / b, t, n);", "b assumed 16", 1024, {"b": 16, "n": 16384}),
        ("int b, c, n; dim3 t(b, c); LAUNCH(n / b / c, t, n);", "b assumed 16", 1024,
         {"b": 16, "c": 16, "n": 262144}),
        ("int n, t = n < 512 ? n : 512; LAUNCH((n + t - 1) / t, t, n);", "n assumed 1048576", 2048,
         {"n": 1048576}),
        ("int b, c, d, n; dim3 t(b, c, d); LAUNCH(n, t, n);", "b assumed 8", 1024,
         {"b": 8, "c": 8, "d": 8, "n": 1024}),
        ("int n = atoi(argv[1]), m, r = n % (2 * m), b = r > m ? 0 : (n - r) / 128; LAUNCH(b, 128, n);",
         "m assumed 1024", 512, {"m": 1024, "n": 65536}),
        ("int n; LAUNCH((n / 512) * (n / 512), 32, n);", "n assumed 16384", 1024, {"n": 16384}),
        ("int n; LAUNCH(n > 16384 ? 512 : n / 32, 32, n);", "n assumed 16384", 512, {"n": 16384}),
        ("int n; LAUNCH(n * n * n, 128, n);", "n assumed 64", 262144, {"n": 64}),
        ("int n, m; LAUNCH(n * m * 1024, 256, n);", "m assumed 64", 4194304, {"m": 64, "n": 64}),
        ("int n; LAUNCH(n < 1024 ? 16 : 1 << 30, 128, n);", "n assumed 256", 16, {"n": 256}),
        ("int n; LAUNCH(n * 0 + (1 << 30), 128, n);", "n assumed 16", 1 << 30, {"n": 16}),
        ("int n; LAUNCH(n < 1024 ? 0 : 1 << 30, 128, n);", "n assumed 1024", 1 << 30, {"n": 1024}),
        ("int n; LAUNCH(n / 24 - 3, 32, n);", "n assumed 16384", 679, {"n": 16384}),
        ("int n; LAUNCH((int)sqrt((double)n) / 8, 32, n);", "n assumed 4194304", 256, {"n": 4194304}),
        ("int n; LAUNCH(n / 8192 + 5, 32, n);", "n assumed 1024", 5, {"n": 1024}),
        ("int n; LAUNCH(n / 16 / 16 + 3, 32, n);", "n assumed 262144", 1027, {"n": 262144}),
        ("int n; LAUNCH(n > 65536 ? 4096 : n > 16384 ? 640 : n / 256, 32, n);", "n assumed 65536", 640,
         {"n": 65536}),
    ],
)  # fmt: skip
def test_variables_without_a_value_are_assumed_and_the_rest_follows(body, reason, grid, values):
    (launch,) = launches(main(body))
    assert launch.source is LaunchSource.ASSUMED
    assert (launch.grid[0], {v.name: v.value for v in launch.assumed_variables}) == (grid, values)
    assert [a.fix for a in launch.assumptions] == [f"--set {name}=VALUE" for name in values]
    assert reason in launch.assumptions[0].message
    assert launch.arguments[0] == values["n"]
    # The option gives the same launch, then without an assumption.
    given = parse_overrides((), [f"{name}={value}" for name, value in values.items()])
    (same,) = launches(main(body), given)
    assert (same.grid, same.block, same.arguments[0]) == (launch.grid, launch.block, launch.arguments[0])
    assert (same.source, same.assumptions) == (LaunchSource.HOST_CODE, ())


@pytest.mark.parametrize(
    ("grid", "read"),
    [
        ("n / 32", [1024, 65536]),
        ("n / 32 + 4", [1024, 65536]),
        ("(n / 512) * (n / 512)", [1024, 262144, 4096, 16384]),  # grows faster than taken at first
        ("(n / 1024) * (n / 1024)", [1024, 1048576, 4096, 65536]),
        ("n < 4096 ? 10 : (n / 4096) * (n / 4096)", [1024, 65536, 4096]),  # smaller, then
    ],
)
def test_what_would_still_be_too_small_is_not_tried(grid, read, monkeypatch):
    tried = []
    read_launches = HostCode.launches

    def noted(self, pins, *rest):
        if "n" in pins:
            tried.append(pins["n"])
        return read_launches(self, pins, *rest)

    monkeypatch.setattr(HostCode, "launches", noted)
    launches(main(f"int n; LAUNCH({grid}, 32, n);"))
    assert tried == read


UNDECIDED = [
    ("if", "int b = 64; if (n > 100000) b = 4096;"),
    ("if and else", "int b; if (n > 100000) b = 4096; else b = 64;"),
    ("select", "int b = n > 100000 ? 4096 : 64;"),
    ("logical", "int b = 64; if (n > 0 && !(n <= 100000)) b = 4096;"),
    ("switch", "int b = 64; switch (n) { case 200000: b = 4096; break; case 3: b = 2; break; }"),
    ("function", "int b = blocks(n);"),
]


@pytest.mark.parametrize("source", ['fscanf(0, "%d", &n);', "n = atoi(argv[1]);"])
@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in UNDECIDED])
def test_what_an_undecided_branch_sets_follows_from_the_assumed_variable(code, source):
    text = main(
        f"int n; {source} {code} LAUNCH(b, 256, n, b);",
        "int blocks(int m) { if (m > 100000) return 4096; return 64; }\n",
    )
    (launch,) = launches(text)
    assert (launch.grid[0], launch.source) == (64, LaunchSource.ASSUMED)
    assert (launch.arguments, {v.name: v.value for v in launch.assumed_variables}) == (
        (1024, 64),
        {"n": 1024},
    )
    (assumption,) = launch.assumptions
    assert (assumption.rule, assumption.fix) == ("PW011", "--set n=VALUE")
    for option in ("n=200000", "k.n=200000"):  # also the setting that the counting of the kernel suggests
        (launch,) = launches(text, parse_overrides((), (option,)))
        assert (launch.grid[0], launch.source) == (4096, LaunchSource.HOST_CODE)
        assert (launch.arguments, launch.assumptions) == ((200000, 4096), ())


def test_objects_that_a_branch_sets_alike_are_told_apart():
    body = "P a, b; if (ready()) { a.x = 5; b.x = 5; } else { a.x = 7; b.x = 7; } LAUNCH(b.x, 256, a.x);"
    (launch,) = launches(main(body, "struct P { int x, y; }; int ready();\n"))
    assert "'b.x' is set under a condition that is not known" in launch.assumptions[0].message


def test_members_that_a_branch_sets_alike_are_told_apart():
    body = "P a = {5, 5}; if (ready()) { a.x = 7; a.y = 7; } LAUNCH(a.y, 256, 1);"
    (launch,) = launches(main(body, "struct P { int x, y; }; int ready();\n"))
    assert "'a.y' is set under a condition that is not known" in launch.assumptions[0].message


def test_addresses_that_a_branch_sets_are_told_apart():
    body = """int x = 1, y = 2, z = 3, *r = &z; S s;
    if (ready()) { s.p = &x; s.q = &y; } else { s.p = r; s.q = r; }
    *s.q = 7; LAUNCH(y, 32, x, *s.p);"""
    (launch,) = launches(main(body, "struct S { int *p, *q; }; int ready();\n"))
    assert (launch.source, launch.arguments[0]) == (LaunchSource.ASSUMED, 1)


def test_a_branch_that_no_variable_decides_leaves_a_likely_value():
    text = main("int b = 64; if (ready()) b = 4096; LAUNCH(b, 256, b);")
    (launch,) = launches(text)
    assert (launch.grid[0], launch.source) == (64, LaunchSource.ASSUMED)
    assert "'b' is set under a condition that is not known: the result of ready()" in (
        launch.assumptions[0].message
    )
    # Nor does an argument get a value out of nothing.
    (launch,) = launches(main("int b = 64; if (ready()) b = 4096; LAUNCH(8, 256, b);"))
    assert (launch.source, launch.arguments[0]) == (LaunchSource.HOST_CODE, None)


OPTIONS = [
    'if (argc > 2 && !strcmp(argv[1], "-n")) b = atoi(argv[2]);',
    "if (argv[1][0] == 45) b = 4096;",
    'int i; for (i = 1; i < argc; i++) { if (strcmp(argv[i], "big") == 0) b = 4096; }',
    'if (getenv("BIG")) b = 4096;',
    "struct s *p = parse(&argc, argv); if (p->big) b = 4096;",
]


@pytest.mark.parametrize("code", OPTIONS)
def test_options_that_are_not_given_leave_the_default(code):
    assert geometry(main(f"int b = 64; {code} LAUNCH(b, 32, b);", "struct s { int big; };\n")) == [
        ((64, 1, 1), (32, 1, 1), 64)
    ]


def test_a_launch_in_a_branch_that_the_assumed_value_excludes_is_dropped():
    (launch,) = launches(
        main("int n = atoi(argv[1]); if (n == 1) { LAUNCH(4, 32, n); } else { LAUNCH(n / 32, 64, n); }")
    )
    assert (launch.block[0], launch.source, {v.name: v.value for v in launch.assumed_variables}) == (
        64, LaunchSource.ASSUMED, {"n": 65536},
    )  # fmt: skip


def test_only_launches_that_need_an_assumed_variable_see_it():
    text = main("int n = atoi(argv[1]); LAUNCH(4, 32, n); LAUNCH(n, 32, n);")
    first, second = launches(text)
    assert (first.source, first.arguments[0], first.assumptions) == (LaunchSource.HOST_CODE, None, ())
    assert (second.grid[0], second.arguments[0]) == (1024, 1024)


def test_a_function_nobody_calls_is_read_with_unknown_parameters():
    (launch,) = launches("void run(int n) { LAUNCH(8, 64, n); }\n")
    assert (launch.grid, launch.arguments, launch.source) == ((8, 1, 1), (None, 0), LaunchSource.HOST_CODE)
    assert launch.assumptions == ()


def test_callers_in_other_files_are_asked_for_only_when_needed(tmp_path):
    asked = []
    caller = tmp_path / "main.cu"
    caller.write_text("void run(int g); int main(void) { int n = 640; run(n / 32); return 0; }")

    def read_callers(names):
        asked.append(names)
        read = read_caller(caller, names).program
        return () if read is None else (read,)

    wrapper = program("void run(int g) { LAUNCH(g, 32, 1); }")
    (launch,) = resolve_launches(wrapper, NO_OVERRIDES, GPU, Neighbours(read_callers))
    assert (launch.grid, launch.source, asked) == ((20, 1, 1), LaunchSource.HOST_CODE, [frozenset({"run"})])
    resolve_launches(program(main("LAUNCH(2, 32, 1);")), NO_OVERRIDES, GPU, Neighbours(read_callers))
    without_kernels = replace(wrapper, kernels=())
    assert resolve_launches(without_kernels, NO_OVERRIDES, GPU, Neighbours(read_callers)) == ()
    assert len(asked) == 1


def test_file_scope_variables_keep_what_main_left_there():
    before = "int n = 0; void display(void);\n"
    before += 'extern "C" { void glutDisplayFunc(void (*)(void)); void glutMainLoop(void); }\n'
    text = main("n = 96; glutDisplayFunc(display); glutMainLoop();", before)
    text += "void display(void) { LAUNCH(n, 32, n); }"
    assert geometry(text) == [((96, 1, 1), (32, 1, 1), 96)]


def test_without_a_launch_the_gpu_is_filled():
    (launch,) = launches("int main(void) { return 0; }")
    assert (launch.grid, launch.block, launch.line) == ((BLOCKS_PER_SM * 80, 1, 1), (256, 1, 1), None)


def test_endless_host_code_ends():
    body = """int i = 0, j;
    for (;;) { i++; for (j = 0; j < 1000000; j++) i ^= j; if (i == -1) break; }
    LAUNCH(2, 32, 1);"""
    assert geometry(main(body))[0][:2] == ((2, 1, 1), (32, 1, 1))
    recursive = "int f(int n) { return f(n + 1) + f(n + 2); }\n"
    assert geometry(main("f(1); LAUNCH(2, 32, 1);", recursive)) == [((2, 1, 1), (32, 1, 1), 1)]


def test_set_of_a_host_variable_feeds_geometry_and_arguments():
    overrides = parse_overrides((), ("size=4096",))
    text = main("int size = 64; if (argc > 1) size = atoi(argv[1]); LAUNCH(size / 32, 32, size);")
    assert geometry(text, overrides) == [((128, 1, 1), (32, 1, 1), 4096)]


_OF_ONE_NAME = {
    "argument": ("void f(int w) { LAUNCH(w / 32, 32, w); }\n", "int w = atoi(argv[1]); f(w * w);"),
    "helper": (
        "int up(int w, int d) { return (w + d - 1) / d; }\n",
        "int w = atoi(argv[1]); LAUNCH(up(w * w, 32), 32, w * w);",
    ),
    "assigned": ("", "int w = atoi(argv[1]); w = w * w; LAUNCH(w / 32, 32, w);"),
}


@pytest.mark.parametrize(("before", "body"), _OF_ONE_NAME.values(), ids=_OF_ONE_NAME)
def test_a_size_is_not_that_of_what_the_host_code_makes_of_it_under_the_same_name(before, body):
    """w * w is a million where w is assumed, or set, to be a thousand."""
    (assumed,) = launches(main(body, before))
    assert (assumed.grid, assumed.block) == ((32768, 1, 1), (32, 1, 1))
    expected = [((32768, 1, 1), (32, 1, 1), 1 << 20)]
    assert geometry(main(body, before), parse_overrides((), ("w=1024",))) == expected


def test_levels_of_a_recursion_have_sizes_of_their_own():
    before = """void level(int w, int depth) {
        LAUNCH(w / 32, 32, w);
        if (depth > 1) level(w / 2, depth - 1);
    }\n"""
    text = main("int w = atoi(argv[1]); level(w, 3);", before)
    grids = [grid[0] for grid, _, _ in geometry(text, parse_overrides((), ("w=65536",)))]
    assert sorted(grids) == [512, 1024, 2048]
    assert sorted(launch.grid[0] for launch in launches(text)) == [512, 1024, 2048]


def test_set_replaces_what_the_host_code_or_its_command_line_gives():
    body = "int n = 1 << 20; f(n); int m = atoi(argv[1]); f(m);"
    before = "void f(int n) { LAUNCH(n / 32, 32, n); }\n"
    assert ((128, 1, 1), (32, 1, 1), 4096) in geometry(main(body, before), parse_overrides((), ("n=4096",)))


def test_set_of_a_parameter_and_launch():
    overrides = parse_overrides(("k=2,3:8,8:1024", "k=9:32"), ("k.n=5", "n=6", "k.trip_L4=3"))
    first, second = launches(main("LAUNCH(1, 1, 1, 2);"), overrides)
    assert (first.grid, first.block, first.dynamic_shared_bytes) == ((2, 3, 1), (8, 8, 1), 1024)
    assert (second.grid, second.block, second.dynamic_shared_bytes) == ((9, 1, 1), (32, 1, 1), 0)
    assert first.arguments == (5, 2)
    assert first.source is LaunchSource.OPTION
    assert {v.name: v.value for v in first.settings} == {"n": 5, "trip_L4": 3}


def test_launch_bounds_limit_the_assumed_block():
    found = resolve_launches(ir.Program("a.cu", (kernel(64),), (), (), (), ()), NO_OVERRIDES, GPU)
    assert found[0].block == (64, 1, 1)


def test_deeply_nested_host_code():
    chain = "else ".join(f"if (argc == {i}) n = {i}; " for i in range(2, 150))
    assert geometry(main(f"int n = 7; {chain} LAUNCH(n, 32, n);")) == [((7, 1, 1), (32, 1, 1), 7)]


@pytest.mark.slow
def test_host_code_nested_deeper_than_python_calls():
    one, block = ir.Constant(1, ir.INT32, SPAN), ir.Constant(32, ir.INT32, SPAN)
    body = ir.ExprStmt(ir.LaunchCall("k", "k", one, block, None, (one,), ir.VOID, SPAN), 0, SPAN)
    for _ in range(2500):
        body = ir.If(one, ir.Block((body,), 0, SPAN), None, 0, SPAN)
    function = ir.Function("main", "main", (), (), ir.Block((body,), 0, SPAN), SPAN)
    found = resolve_launches(ir.Program("a.cu", (kernel(),), (function,), (), (), ()), NO_OVERRIDES, GPU)
    assert [(launch.grid[0], launch.source) for launch in found] == [(1, LaunchSource.HOST_CODE)]


OVERFLOWS = "int n = 100000; LAUNCH(n * n, 32, 7);"


def test_a_number_that_overflows_is_not_known():
    (launch,) = launches(main(OVERFLOWS))
    assert launch.source is LaunchSource.ASSUMED
    assert "100000 * 100000 overflows 32 bits" in launch.assumptions[0].message
    (launch,) = launches(main("unsigned n = 4000000000u; LAUNCH((n + n) / 100000000, 32, 7);"))
    assert (launch.grid, launch.source) == ((37, 1, 1), LaunchSource.HOST_CODE)


def test_an_assumed_size_overflows_no_number_made_of_it():
    body = "int x = atoi(argv[1]); int n = 4 * x * x * x; LAUNCH((n - 1) / 128 + 1, 128, n);"
    (launch,) = launches(main(body, "int atoi(const char *);\n"))
    assert (launch.grid, launch.arguments[0]) == ((1 << 19, 1, 1), 1 << 26)
    assert {v.name: v.value for v in launch.assumed_variables} == {"x": 256}


def test_every_way_to_a_launch_has_its_own_geometry():
    helper = "int unknown(void); void go(int n) { LAUNCH(n, 32, n); }"
    first, second = launches(main("go(16); int m = unknown(); go(m);", helper))
    assert (first.grid, first.source) == ((16, 1, 1), LaunchSource.HOST_CODE)
    assert (second.grid, second.source) == ((640, 1, 1), LaunchSource.ASSUMED) or {
        v.name: v.value for v in second.assumed_variables
    }
    assert {v.name: v.value for v in second.assumed_variables}.keys() == {"m"}


UNKNOWN = "int unknown(void);"
CAPTURE = "int cudaStreamBeginCapture(int, int); int cudaStreamEndCapture(int, int *);"
LAUNCH_TIMES = [
    ("LAUNCH(4, 32, 7);", "", 1),
    ("for (int i = 0; i < 10; i++) LAUNCH(4, 32, 7);", "", 10),
    ("for (int i = 0; i < 1000; i++) LAUNCH(4, 32, 7);", "", 1000),
    ("for (int i = 0; i < 5; i++) for (int j = 0; j < 3; j++) LAUNCH(4, 32, 7);", "", 15),
    ("for (int i = 0; i < 200; i++) for (int j = 0; j < 30; j++) LAUNCH(4, 32, 7);", "", 6000),
    ("for (int i = 0; i < 1000; i++) for (int j = 0; j < i; j++) LAUNCH(4, 32, 7);", "", None),
    ("for (int i = 0; i < 1000; i++) for (int j = 0; j < i % 7 + 1; j++) LAUNCH(4, 32, 7);", "", None),
    (
        "int s = 1, i = 0, j; for (; i < 4; i++) for (j = 0; j < 99; j++) { LAUNCH(4, 4, 7); if (s) break; }",
        "",
        4,
    ),
    ("for (int i = 0; i < 1000; i++) if (i % 10 == 0) LAUNCH(4, 32, 7);", "", 100),
    ("for (int i = 0; i < 1000; i++) { if (i == 700) continue; LAUNCH(4, 32, 7); }", "", 999),
    ("for (int i = 0; i < 1000; i++) if (i == 700) LAUNCH(4, 32, 7);", "", 1),
    ("for (int i = 0; i < 9000; i++) if (i == 700) LAUNCH(4, 32, 7);", "", None),
    ("go();", "void go(void) { int i = 0; while (1) { LAUNCH(4, 32, 7); if (++i >= 500) return; } }", 500),
    ("int done = 0, i = 0; while (!done) { LAUNCH(4, 32, 7); if (++i > 500) done = 1; }", "", 501),
    ("float t = 0; while (1) { LAUNCH(4, 32, 7); t += 0.001f; if (t > 1.0f) break; }", "", 1001),  # by g++
    ("int i = 1; while (1) { i = i * 5 % 7919; if (i == 1) break; LAUNCH(4, 32, 7); }", "", None),
    ("int i = 0; while (1) { LAUNCH(4, 32, 7); i++; if (unknown() && i > 400) break; }", UNKNOWN, None),
    ("int a = 0; for (int i = 0; i < 1000; i++) if (a == 0) LAUNCH(4, 32, 7);", "", 1000),
    ("LAUNCH(4, 32, 7); for (int i = 0; i < 4; i++) LAUNCH(4, 32, 7);", "", 5),
    ("for (int i = 0; i < 4; i++) go(7);", "void go(int n) { LAUNCH(4, 32, n); }", 4),
    ("down(5);", "void down(int n) { if (n > 0) { LAUNCH(4, 32, 7); down(n - 1); } }", 5),
    ("for (int i = 0; i < *(int *)argv; i++) LAUNCH(4, 32, 7);", "", None),
    ("if (*(int *)malloc(4)) LAUNCH(4, 32, 7);", "", None),
    ("if (argc > 1) LAUNCH(4, 32, 7);", "", None),
    ("if (argc < 2) return 1; LAUNCH(4, 32, 7);", "", 1),
    ("if (argc < 2) { exit(1); } else { LAUNCH(4, 32, 7); }", "", 1),
    ("if (argc < 2) { LAUNCH(4, 32, 7); } else { return 1; }", "", 1),
    ("*(int *)argv && (LAUNCH(4, 32, 7), 1);", "", None),
    ("*(int *)argv ? (LAUNCH(4, 32, 7), 1) : 0;", "", None),
    ("for (int i = 0; i < 10; i++) { if (*(int *)argv) break; LAUNCH(4, 32, 7); }", "", None),
    ("for (int i = 0; i < 10; i++) { if (*(int *)argv) continue; LAUNCH(4, 32, 7); }", "", None),
    ("for (int i = 0; i < 10; i++) { if (i == 3) continue; LAUNCH(4, 32, 7); }", "", 9),
    ("for (int i = 0; i < 10; i++) { if (i == 3) break; LAUNCH(4, 32, 7); }", "", 3),
    ("for (int i = 0; i < 10; i++) if (*(int *)argv) break; LAUNCH(4, 32, 7);", "", 1),
    ("for (int i = 0; i < 4; i++) { for (;;) if (*(int *)argv) break; LAUNCH(4, 32, 7); }", "", 4),
    ("for (int i = 0; i < 4; i++) switch (*(int *)argv) { case 1: continue; } LAUNCH(4, 32, 7);", "", 1),
    (
        "for (int i = 0; i < 4; i++) { switch (*(int *)argv) { case 1: continue; } LAUNCH(4, 32, 7); }",
        "",
        None,
    ),
    ("go();", UNKNOWN + "void go(void) { if (unknown()) return; LAUNCH(4, 32, 7); }", None),
    ("go(); LAUNCH(4, 32, 7);", "int go(void) { if (*(int *)malloc(4)) return 1; return 2; }", 1),
    ("if (unknown()) return 1; LAUNCH(4, 32, 7);", UNKNOWN, 1),
    ("if (unknown()) return 0; LAUNCH(4, 32, 7);", UNKNOWN, None),
    ("if (unknown()) goto end; LAUNCH(4, 32, 7); end:;", UNKNOWN, None),
    ("if (unknown()) goto end; end: LAUNCH(4, 32, 7);", UNKNOWN, 1),
    ("int a = 3; if (a == 3) goto end; LAUNCH(4, 32, 7); end: LAUNCH(4, 32, 7);", "", 1),
    ("for (int i = 0; i < 9; i++) for (;;) { LAUNCH(4, 32, 7); if (i == 0) goto end; } end:;", "", 1),
    ("int a = 0; again: LAUNCH(4, 32, 7); if (++a < 5) goto again;", "", 5),
    ("again: LAUNCH(4, 32, 7); if (unknown()) goto again;", UNKNOWN, None),
    ("int a = 0; { again: LAUNCH(4, 32, 7); } if (++a < 5) goto again;", "", None),
    ("int a = 0; again: a++; if (a < 5) goto again; LAUNCH(4, 32, 7);", "", 1),
    ("cudaStreamBeginCapture(0, 0); LAUNCH(4, 32, 7); cudaStreamEndCapture(0, 0);", CAPTURE, None),
    ("cudaStreamBeginCapture(0, 0); cudaStreamEndCapture(0, 0); LAUNCH(4, 32, 7);", CAPTURE, 1),
    ("int e = cudaStreamBeginCapture(0, 0); if (e) return 1; LAUNCH(4, 32, 7);", CAPTURE, None),
    ("deep(*(int *)argv);", "void deep(int n) { LAUNCH(4, 32, 7); if (n > 1) deep(n / 2); }", None),
]


@pytest.mark.parametrize(("body", "helper", "times"), LAUNCH_TIMES)
def test_how_often_a_launch_is_made(body, helper, times):
    (launch,) = launches(main(body, helper))
    assert launch.times == times
    assert bool(launch.times_unknown) is (times is None)


GRAPH = "int cudaGraphLaunch(int, int);"
IN_A_GRAPH = "it is part of a graph: how often that is launched is not followed"
UNCOUNTED = [
    ("if (unknown()) LAUNCH(4, 32, 7);",
     "it is in a branch whose condition is not known: the result of unknown()"),
    ("unknown() && (LAUNCH(4, 32, 7), 1);",
     "it is in an expression whose condition is not known: the result of unknown()"),
    ("while (unknown()) LAUNCH(4, 32, 7);", "it is in a loop of unknown length: the result of unknown()"),
    ("if (unknown()) return 0; LAUNCH(4, 32, 7);",
     "it is behind a jump whose condition is not known: the result of unknown()"),
    ("for (int i = 0; i < 1000; i++) for (int j = 0; j < i % 7; j++) LAUNCH(4, 32, 7);",
     "it is in a loop of unknown length: 'i' changes in a long loop"),
    ("if (argc > 3) LAUNCH(4, 32, 7);", "the host code does not come to it with the values read or assumed"),
    ("cudaStreamBeginCapture(0, 0); LAUNCH(4, 32, 7); cudaStreamEndCapture(0, 0);"
     "for (int i = 0; i < 20; i++) cudaGraphLaunch(0, 0);", IN_A_GRAPH),
    ("for (int j = 0; j < 3; j++) { cudaStreamBeginCapture(0, 0); LAUNCH(4, 32, 7);"
     "cudaStreamEndCapture(0, 0); for (int i = 0; i < 20; i++) cudaGraphLaunch(0, 0); }", IN_A_GRAPH),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), UNCOUNTED)
def test_why_nobody_knows_how_often_a_launch_is_made(body, reason):
    (launch,) = launches(main(body, UNKNOWN + CAPTURE + GRAPH))
    assert (launch.times, launch.times_unknown) == (None, reason)


def test_why_nobody_knows_how_often_other_functions_launch():
    launch, _ = launches(main("LAUNCH(8, 32, 7);", "void other(void) { LAUNCH(4, 32, 7); }\n"))
    assert launch.times_unknown == "other() launches it, which main() was not seen to call"
    before = "void other(int n) { LAUNCH(4, n, 7); }\nvoid (*held)(int);\nvoid set(void) { held = other; }\n"
    (launch,) = launches(main("lost(held);", before + "void lost(void *);\n"))
    assert (
        launch.times_unknown
        == "other() launches it, which is called only where the host code is not followed"
    )
    (launch,) = launches(main(""))
    assert launch.times_unknown in launch.assumptions[0].message


def test_what_a_function_launches_that_calls_itself():
    sort = "void sort(int n) { if (n < 512) return; sort(n / 2); LAUNCH(n / 256, 256, n); }"
    found = geometry(main("sort(4096);", sort))
    assert found == [((n // 256, 1, 1), (256, 1, 1), n) for n in (512, 1024, 2048, 4096)]


MODES = [
    ("c->mode == 3", "c.n = 640;", LaunchSource.HOST_CODE),
    ("c->n > 5000", "c.n = 640;", LaunchSource.ASSUMED),
    ("c->mode == 3", "c.n = c.mode * 32 + 640;", LaunchSource.ASSUMED),
    ("c->mode == 3", "int half = c.mode + 320; c.n = 2 * half;", LaunchSource.ASSUMED),
    ("c->n", "c.n = 0;", LaunchSource.ASSUMED),
]


@pytest.mark.parametrize("form", ["pointer", "value", "reference"])
@pytest.mark.parametrize(("condition", "before", "source"), MODES)
def test_another_member_decides_whether_it_is_launched(form, condition, before, source):
    take, give = {"pointer": ("C *c", "&c"), "value": ("C c", "c"), "reference": ("C &c", "c")}[form]
    body = f"if ({condition}) LAUNCH(c->n / 32 + 1, 32, 1);"
    body = body if form == "pointer" else body.replace("->", ".")
    head = f"struct C {{ int mode, n; }}; void go({take}) {{ {body} }}"
    (launch,) = launches(main(f"C c; c.mode = 0; {before} go({give});", head))
    assert launch.source is source
    if source is LaunchSource.HOST_CODE:
        assert launch.grid == (21, 1, 1)
        assert "as written there" in launch.assumptions[0].message


def test_a_launch_that_is_only_written_tells_what_its_loop_changes():
    before = "void step(int at) { LAUNCH(8, 32, at); }\n"
    body = "int most = atoi(argv[1]); if (true) return 1; for (int at = 0; at < most; at++) step(at); "
    (launch,) = launches(main(body, before))
    assert launch.arguments[0] == 0
    told = [entry for entry in launch.assumptions if "from a loop of unknown length" in entry.message]
    assert [entry.fix for entry in told] == ["--set k.n=VALUE"]

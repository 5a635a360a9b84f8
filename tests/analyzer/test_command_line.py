"""Host code evaluated with the command line of its program."""

from __future__ import annotations

import json

import pytest

from wattslice.analysis import LaunchSource
from wattslice.cli import main as run
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.project.runs import ProgramArguments, parse_arguments
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")
HEAD = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <iostream>
#include <string>
#include <unistd.h>
__global__ void k(float *x, int n, int m) { for (int i = 0; i < m; i++) x[i % n] += 1; }
"""


def launch(tmp_path, body, words, head="int main(int argc, char **argv)"):
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}{head}\n{{\n{body}\n}}\n")
    given = parse_arguments(words)
    around = Neighbours(arguments=lambda main: given)
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, around)
    return found


POSITIONAL = "int n = atoi(argv[1]), m = (int)strtol(argv[2], NULL, 0); k<<<n, 64>>>(0, n, m);"
OPTIONS = """
    int n = 1, m = 2;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-n") && i + 1 < argc) n = atoi(argv[++i]);
        else if (strncmp(argv[i], "--m=", 4) == 0) m = atoi(argv[i] + 4);
        else if (argv[i][0] == '-') { printf("usage\\n"); exit(1); }
    }
    k<<<n, 64>>>(0, n, m);
"""
GETOPT = """
    int n = 1, m = 2, c;
    while ((c = getopt(argc, argv, "n:vm:")) != -1) {
        switch (c) {
        case 'n': n = atoi(optarg); break;
        case 'm': m = atoi(optarg); break;
        case 'v': m += 1000; break;
        default: exit(1);
        }
    }
    if (optind < argc) n += atoi(argv[optind]);
    k<<<n, 64>>>(0, n, m);
"""
LONG = """
    int n = 1, m = 2, big = 0, c, which;
    static struct option known[] = {{"size", required_argument, 0, 'n'}, {"big", no_argument, &big, 7},
                                    {"more", 2, 0, 'm'}, {0, 0, 0, 0}};
    while ((c = getopt_long(argc, argv, "n:m::", known, &which)) != -1) {
        if (c == 'n') n = atoi(optarg);
        else if (c == 'm') m = optarg ? atoi(optarg) : 99;
    }
    k<<<n, 64>>>(0, n, m + big);
"""
STRINGS = """
    std::string first(argv[1]), second = argv[2];
    int n = std::stoi(first), m = 0;
    if (second == "fast") m = 3;
    if (std::string(argv[3]) != "slow" && first.size() == 3) m += std::stoul(argv[3]);
    if (first.substr(1) == "00") m += 1000;
    k<<<n, 64>>>(0, n, m);
"""
SCANNED = """
    int n, m; float f;
    if (sscanf(argv[1], "%dx%d", &n, &m) != 2 || sscanf(argv[2], "%f", &f) != 1) return 1;
    k<<<n, 64>>>(0, n, m + (int)(f * 4));
"""
SAMPLES = """
    int n = 5, m = 6;
    if (checkCmdLineFlag(argc, (const char **)argv, "width"))
        n = getCmdLineArgumentInt(argc, (const char **)argv, "width");
    if (checkCmdLineFlag(argc, (const char **)argv, "m")) m = 7;
    k<<<n, 64>>>(0, n, m);
"""
DECLARED = """
bool checkCmdLineFlag(const int argc, const char **argv, const char *name);
int getCmdLineArgumentInt(const int argc, const char **argv, const char *name);
int main(int argc, char **argv)"""


@pytest.mark.parametrize(
    ("body", "words", "n", "m"),
    [
        (POSITIONAL, "100 0x40", 100, 64),
        (POSITIONAL, "12abc -3", 12, -3),
        (OPTIONS, "-n 77 --m=5", 77, 5),
        (OPTIONS, "", 1, 2),
        (GETOPT, "-n 40 -v -m9 2", 42, 9),
        (GETOPT, "2 -vm 9 -n40", 42, 9),
        (GETOPT, "-m 9 -v -- 5", 6, 1009),
        (LONG, "--size=12 --big -m8", 12, 15),
        (LONG, "--si 12 --more", 12, 99),
        (STRINGS, "100 fast 20", 100, 1023),
        (STRINGS, "100 FAST slow", 100, 1000),
        (SCANNED, "16x9 2.25", 16, 18),
    ],
)
def test_arguments_decide(tmp_path, body, words, n, m):
    found = launch(tmp_path, body, words)
    assert (found.grid, found.arguments[1:]) == ((n, 1, 1), (n, m))


def test_an_array_of_words(tmp_path):
    found = launch(tmp_path, POSITIONAL, "7 8", "int main(int argc, char *argv[])")
    assert (found.grid, found.arguments[1:]) == ((7, 1, 1), (7, 8))


@pytest.mark.parametrize(("words", "n", "m"), [("-width=33 --m", 33, 7), ("--WIDTH=4", 4, 6), ("", 5, 6)])
def test_flags_of_samples(tmp_path, words, n, m):
    found = launch(tmp_path, SAMPLES, words, DECLARED)
    assert (found.grid, found.arguments[1:]) == ((n, 1, 1), (n, m))


def test_a_function_that_reads_them(tmp_path):
    head = """
struct Options { int n; int m; };
Options read(int argc, char **argv)
{
    Options options = {1, 2};
    if (argc > 1) options.n = atoi(argv[1]);
    if (argc > 2) options.m = atoi(argv[2]);
    return options;
}
int main(int argc, char **argv)"""
    found = launch(tmp_path, "Options o = read(argc, argv); k<<<o.n, 64>>>(0, o.n, o.m);", "9 11", head)
    assert (found.grid, found.arguments[1:]) == ((9, 1, 1), (9, 11))


def test_where_values_come_from(tmp_path):
    body = "int n = argc > 1 ? atoi(argv[1]) : 1024; k<<<n, 64>>>(0, n, 3);"
    found = launch(tmp_path, body, "55")
    assert (found.source, found.program_arguments) == (LaunchSource.ARGUMENTS, parse_arguments("55"))
    same = launch(tmp_path, body, "1024")  # without arguments the launch is the very same
    assert (same.source, same.program_arguments) == (LaunchSource.HOST_CODE, None)
    none = launch(tmp_path, body, "")
    assert (none.grid, none.source) == ((1024, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int r = 0; r < n; r++) k<<<4, 64>>>(0, 5, 3);",
        "for (int s = 1 << n; s > 4; s /= 2) k<<<s, 64>>>(0, s, 3);",
    ],
)
def test_a_number_of_launches_that_the_words_decide(tmp_path, loop):
    body = f"int n = argc > 1 ? atoi(argv[1]) : 10; {loop}"
    found, same = (launch(tmp_path, body, words) for words in ("8", "10"))
    assert (found.source, found.program_arguments) == (LaunchSource.ARGUMENTS, parse_arguments("8"))
    assert (same.source, same.program_arguments) == (LaunchSource.HOST_CODE, None)
    assert found.times != same.times


def test_a_word_that_nobody_tells(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}int main(int argc, char **argv)\n{{\n{POSITIONAL}\n}}\n")
    given = ProgramArguments((None, "8"), "script, run.sh:2", is_found=True)
    around = Neighbours(arguments=lambda main: given)
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, around)
    assert found.source is LaunchSource.ASSUMED
    assert any("--set n=VALUE" in entry.fix for entry in found.assumptions)


def test_a_line_of_another_mode_takes_nothing_away(tmp_path):
    body = "int n = 6; if (argc > 1) { n = atoi(argv[1]); if (n == 0) return 0; } k<<<n, 64>>>(0, n, 3);"
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}int main(int argc, char **argv)\n{{\n{body}\n}}\n")
    found = ProgramArguments(("check",), "test target, Makefile:3", is_found=True)
    (kept,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, Neighbours(arguments=lambda main: found))
    assert (kept.grid, kept.source) == ((6, 1, 1), LaunchSource.HOST_CODE)
    given = ProgramArguments(("check",), "--args")
    (none,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, Neighbours(arguments=lambda main: given))
    assert none.source is LaunchSource.ASSUMED  # the program that was asked for launches nothing


def test_the_option(tmp_path, capsys):
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}int main(int argc, char **argv)\n{{\n{POSITIONAL}\n}}\n")
    (tmp_path / "Makefile").write_text("run: a\n\t./a 3 4\na: a.cu\n\tnvcc a.cu -o a\n")
    assert run(["analyze", str(path), "--no-cache", "--format", "json", "--args", "100 64"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (kernel["grid"], kernel["launch_source"]) == ([100, 1, 1], "program arguments")
    assert kernel["program_arguments"] == {"text": "100 64", "source": "--args"}
    (tmp_path / "wattslice.toml").write_text('args = "5 6"\n')
    assert run(["analyze", str(path), "--no-cache", "--format", "text"]) == 0
    assert "<<<5, 64>>>" in capsys.readouterr().out
    (tmp_path / "wattslice.toml").unlink()
    assert run(["analyze", str(path), "--no-cache", "--format", "text"]) == 0
    assert "run with 3 4 (run target, Makefile:2)" in capsys.readouterr().out
    assert run(["analyze", str(path), "--no-cache", "--args", "'1"]) == 2
    assert "close the quotation" in capsys.readouterr().err


def test_optarg_declared_in_the_function(tmp_path) -> None:
    body = """
    extern char *optarg;
    int option, n = 3;
    while ((option = getopt(argc, argv, "n:")) != -1)
        if (option == 'n') n = atoi(optarg);
    k<<<n, 64>>>(0, n, 1);
"""
    found = launch(tmp_path, body, "-n 77")
    assert found.grid == (77, 1, 1)


TABLE = """static option all[] = {
    {"size", required_argument, 0, 115}, {"fast", optional_argument, 0, 102}, {0, 0, 0, 0}};"""
SIZE = "if (c == 115) n = atoi(optarg); else if (c == 102) n += optarg ? atoi(optarg) : 1;"


@pytest.mark.parametrize(
    ("given", "grid"), [("--size=30 --fast", 31), ("--size=30 --fast=4", 34), ("--fast 4", 4)]
)
def test_an_option_that_may_have_an_argument(tmp_path, given, grid):
    body = f'{TABLE} int n = 3, c; while ((c = getopt_long(argc, argv, "", all, NULL)) != -1) {{ {SIZE} }}'
    assert launch(tmp_path, f"{body} k<<<n, 64>>>(0, n, 1);", given).grid == (grid, 1, 1)


def test_a_table_of_options_that_nobody_reads_tells_nothing(tmp_path):
    body = 'int n = 3, c; while ((c = getopt_long(argc, argv, "", table(), NULL)) != -1) n = atoi(optarg);'
    found = launch(tmp_path, f"const option *table(); {body} k<<<n, 64>>>(0, n, 1);", "--size=30")
    assert found.source is LaunchSource.ASSUMED
    found = launch(tmp_path, f"const option *table(); {body} k<<<n, 64>>>(0, n, 1);", "")
    assert (found.grid, found.source) == ((3, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize("begin", ["optind = 1;", "optind = 0;", ""])
def test_the_options_are_told_again_from_the_first_on(tmp_path, begin):
    once = 'while ((c = getopt(argc, argv, "s:f")) != -1) { if (c == 115) n = atoi(optarg); else n++; }'
    body = f"int n = 3, c; {once} {begin} n = 7; {once} k<<<n, 64>>>(0, n, 1);"
    assert launch(tmp_path, body, "-s 30 -f").grid == (31 if begin else 7, 1, 1)


USAGE = """
void quit(int code) { printf("bye"); exit(code); }
void usage(char **argv) { fprintf(stderr, "%s n", argv[0]); quit(1); }
void hint(char **argv) { if (argv[1]) return; exit(1); }
"""


def test_a_function_that_always_exits_ends_the_program(tmp_path) -> None:
    body = "int n = 5; if (argc > 2) n = 7; else usage(argv); k<<<n, 64>>>(0, n, 1);"
    path = tmp_path / "a.cu"
    main = f"int main(int argc, char **argv)\n{{\n{body}\n}}\n"
    path.write_text(HEAD + USAGE + main)
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)
    assert found.grid == (7, 1, 1)
    path.write_text(HEAD + USAGE + main.replace("usage(argv)", "hint(argv)"))
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)
    assert found.grid == (5, 1, 1)


def test_a_loop_over_options_that_nobody_gives(tmp_path):
    path = tmp_path / "a.cu"
    body = OPTIONS.replace("k<<<", "size(&n, argc, argv); k<<<")
    size = "void size(int *n, int argc, char **argv) { for (int i = 1; i < argc; i++) *n = atoi(argv[i]); }\n"
    path.write_text(f"{HEAD}{size}int main(int argc, char **argv)\n{{\n{body}\n}}\n")
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)
    assert (found.grid[0], found.arguments[1:], found.source) == (1, (1, 2), LaunchSource.HOST_CODE)


def test_a_launch_that_the_run_makes_otherwise_is_not_that_without_options(tmp_path):
    body = "int n = argc > 1 ? atoi(argv[1]) * made() : 6; k<<<n, 64>>>(0, n, 3);"
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}int made();\nint main(int argc, char **argv)\n{{\n{body}\n}}\n")
    found = ProgramArguments(("5",), "run target, Makefile:3", is_found=True)
    (one,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, Neighbours(arguments=lambda main: found))
    assert one.source is LaunchSource.ASSUMED


def test_a_library_that_is_begun_leaves_the_arguments(tmp_path):
    head = 'extern "C" int MPI_Init(int *, char ***);\nint main(int argc, char **argv)'
    body = "MPI_Init(&argc, &argv); int n = argc > 1 ? atoi(argv[1]) : 6; k<<<n, 64>>>(0, n, 3);"
    assert launch(tmp_path, body, "5", head).grid == (5, 1, 1)
    assert launch(tmp_path, body, "", head).grid == (6, 1, 1)


@pytest.mark.parametrize(
    "options",
    [
        "for (int i = 1; i < argc; i++) { n = 5; if (rand()) break; n = 6; }",
        "auto f = [&] { for (int i = 1; i < argc; i++) { n = 5; if (rand()) return; } }; f();",
        "do { if (argc > 1) { n = 5; if (rand()) break; n = 6; } } while (0);",
        "switch (argc) { case 2: n = 5; if (rand()) break; n = 6; break; default: break; }",
    ],
)
def test_jumps_that_only_options_lead_to_change_nothing_of_a_run_without(tmp_path, options):
    path = tmp_path / "a.cu"
    body = f"int n = 4; {options} k<<<n, 64>>>(0, n, 3);"
    path.write_text(f"{HEAD}int main(int argc, char **argv)\n{{\n{body}\n}}\n")
    (found,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)
    assert (found.grid, found.source) == ((4, 1, 1), LaunchSource.HOST_CODE)


def launches_of(tmp_path, body, words=None, head="int main(int argc, char **argv)", helper=""):
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}{helper}\n{head}\n{{\n{body}\n}}\n")
    given: ProgramArguments | None = parse_arguments(words) if isinstance(words, str) else None
    if isinstance(words, tuple):
        given = ProgramArguments(words, "a script")
    return resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, Neighbours(arguments=lambda main: given))


ONLY_WHERE = "is launched only where the host code does not come with the values read or assumed"


@pytest.mark.parametrize(
    "body",
    [
        "if (argc > 3) k<<<8, 64>>>(0, 4, 5);",
        "if (argc == 1) puts(argv[0]); else k<<<8, 64>>>(0, 4, 5);",
        'if (argc > 1 && !strcmp(argv[1], "x")) k<<<8, 64>>>(0, 4, 5);',
        'if (argc < 2 || !strcmp(argv[1], "x")) return 0; else if (argc == 1) k<<<8, 64>>>(0, 4, 5);',
        "int n = argc - 1; if (n > 2) k<<<8, 64>>>(0, 4, 5);",
        "while (--argc) k<<<8, 64>>>(0, 4, 5);",
        "switch (argc) { case 3: k<<<8, 64>>>(0, 4, 5); break; default: break; }",
        "if (argc < 2) exit(1); if (argc == 1) k<<<8, 64>>>(0, 4, 5);",
    ],
)
def test_a_launch_that_only_options_lead_to_is_said_to_be_none_of_the_run(tmp_path, body):
    (found,) = launches_of(tmp_path, body)
    assert (found.grid[0], found.times) == (8, None)
    assert any(ONLY_WHERE in one.message for one in found.assumptions)


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("if (argc < 3) exit(1); k<<<8, 64>>>(0, 4, 5);", 8),  # what is asked for is given
        ("switch (argc) { case 3: k<<<8, 64>>>(0, 4, 5); break; default: exit(1); }", 8),
    ],
)
def test_checks_of_the_program_succeed(tmp_path, body, grid):
    (found,) = launches_of(tmp_path, body)
    assert (found.grid[0], found.source, found.assumptions) == (grid, LaunchSource.HOST_CODE, ())


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("if (argc == 1) { k<<<8, 64>>>(0, 4, 5); return 0; } k<<<9, 64>>>(0, 4, 5);", 8),
        ("if (argc < 2) k<<<8, 64>>>(0, 4, 5); else k<<<9, 64>>>(0, 4, 5);", 8),
        ("if (argc != 3) return 1; if (argc >= 3) k<<<8, 64>>>(0, 4, 5);", 8),
        ("int n = 4; if (argc < 2) n = 8; k<<<n, 64>>>(0, 4, 5);", 8),
        ("int n; if (argc > 1) n = 4; else n = 8; k<<<n, 64>>>(0, 4, 5);", 8),
        ("if (argc == 2) k<<<9, 64>>>(0, 4, 5); else if (argc == 4) k<<<8, 64>>>(0, 4, 5); else exit(1);", 8),
        ("int n = 100; if (argc > 1) n = 77; k<<<n, 64>>>(0, 4, 5);", 100),
        ("int n = 5, m; if (argc < 2) m = n; else n = m = 6; k<<<n, 64>>>(0, 4, 5);", 5),
        ('int n = atoi(argc > 3 ? argv[3] : "19"); k<<<n, 64>>>(0, 4, 5);', 19),
        ("int n = 1; switch (argc) { case 1: n = 5; case 2: n += 7; } k<<<n, 64>>>(0, 4, 5);", 12),
        ("int n = 4; switch (argc) { case 1: n = 5; break; case 2: n = 6; } k<<<n, 64>>>(0, 4, 5);", 5),
        ("int n = 4; for (int i = 0; i < argc; i++) n *= 2; k<<<n, 64>>>(0, 4, 5);", 8),
    ],
)
def test_argc_is_one_or_what_the_checks_of_the_program_ask_for(tmp_path, body, grid):
    found, *others = launches_of(tmp_path, body)
    assert (found.grid[0], found.source) == (grid, LaunchSource.HOST_CODE)
    (said,) = found.assumptions
    assert said.message.startswith("argc assumed ")
    assert ": that decides " in said.message
    assert said.fix == "--args 'WORDS'"
    assert all(any(ONLY_WHERE[:11] in a.message for a in one.assumptions) for one in others)


@pytest.mark.parametrize(
    ("body", "grid", "argc"),
    [
        ("k<<<argc * 4, 64>>>(0, 4, 5);", 4, 1),
        ("int n = argc > 1 ? 64 : 128; k<<<n, 64>>>(0, 4, 5);", 128, 1),
        ("if (argc < 3) exit(1); k<<<argc * 4, 64>>>(0, 4, 5);", 12, 3),
        ("if (argc < 3) exit(1); use(argc, argv);", 3, 3),
    ],
)
def test_what_argc_decides_is_said_to_be_assumed(tmp_path, body, grid, argc):
    helper = "void use(int argc, char **argv) { k<<<argc, 64>>>(0, 4, 5); }"
    (found,) = launches_of(tmp_path, body, helper=helper if "use" in body else "")
    assert (found.grid[0], found.source) == (grid, LaunchSource.ASSUMED)
    (said,) = found.assumptions
    assert f"argc assumed {argc}" in said.message
    assert said.fix == "--set argc=VALUE"


def test_argc_of_a_function_without_a_caller_is_that_of_a_run_without_options(tmp_path):
    body = "k<<<argc * 4, 64>>>(0, 4, 5);"
    (found,) = launches_of(tmp_path, body, head="void f(int argc, char **argv)")
    assert (found.grid[0], found.source) == (4, LaunchSource.ASSUMED)
    assert "argc assumed 1:" in found.assumptions[0].message


def test_what_argc_makes_0_is_no_other_way(tmp_path):
    (found,) = launches_of(tmp_path, "int n = 0; if (argc > 1) n = 77; k<<<n, 64>>>(0, 4, 5);")
    assert found.source is LaunchSource.ASSUMED
    assert "the host code gives 0" in found.assumptions[0].message


@pytest.mark.parametrize(
    ("body", "times", "decided"),
    [
        ("if (argc < 3) exit(1); for (int i = 0; i < argc; i++) k<<<8, 64>>>(0, 4, 5);", 3,
         "argc assumed 3: that decides how often the program launches k"),
        ("int r = 3; for (int i = 1; i < argc; i++) r = 9; while (r--) k<<<8, 64>>>(0, 4, 5);", 3,
         "argc assumed 1: that decides how often the program launches k"),
        ("int n = 4; if (argc > 2) n = 9; k<<<8, 64>>>(0, 4, n);", 1,
         "argc assumed 1: that decides the arguments of k"),
        ("if (argc == 1) k<<<8, 64>>>(0, 4, 5);", 1,
         "argc assumed 1: that decides how often the program launches k"),
        ("k<<<8, 64>>>(0, 4, 5); if (argc == 1) puts(argv[0]);", 1, None),
        ("int n = argc; n = 8; k<<<n, 64>>>(0, 4, 5);", 1, None),
    ],
)  # fmt: skip
def test_what_argc_decides_of_a_launch_is_told(tmp_path, body, times, decided):
    (found,) = launches_of(tmp_path, body)
    assert (found.grid[0], found.times) == (8, times)
    assert [one.message for one in found.assumptions] == ([] if decided is None else [decided])
    known = launches_of(tmp_path, body, "a b")
    assert not any("argc" in one.message for launch in known for one in launch.assumptions)


ENVIRONMENT = [
    ('const char *e = getenv("N"); int n = e ? atoi(e) : 8; k<<<n, 64>>>(0, 4, 5);', "N",
     "the grid or block of"),
    ('int n = 8; if (getenv("N")) n = 4096; k<<<n, 64>>>(0, 4, 5);', "N", "the grid or block of"),
    ('int n = 5; if (std::getenv("N") && getenv("M")) n = 9; k<<<8, 64>>>(0, 4, n);', "M or N",
     "the arguments of"),
    ('char *e = getenv("N"); for (int i = 0; i < (e ? 3 : 7); i++) k<<<8, 64>>>(0, 4, 5);', "N",
     "how often the program launches"),
    ('if (!getenv("N")) k<<<8, 64>>>(0, 4, 5);', "N", "how often the program launches"),
    ('k<<<asked("N", 8), 64>>>(0, 4, 5);', "N", "the grid or block of"),
    ('k<<<deep(std::string("N")), 64>>>(0, 4, asked("M", 5));', "M or N", "the grid or block of"),
    ("k<<<asked(name(), 8), 64>>>(0, 4, 5);", "X", "the grid or block of"),
    ("int n = getenv(name()) ? 4 : 8; k<<<n, 64>>>(0, 4, 5);", "X", "the grid or block of"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "name", "what"), ENVIRONMENT)
@pytest.mark.parametrize("words", [None, "a"])
def test_what_the_environment_decides_is_told(tmp_path, body, name, what, words):
    helper = "const char *name(); int deep(const std::string &); "
    helper += "int asked(const char *n, int d) { char *e = getenv(n); return e ? atoi(e) : d; } "
    helper += "int deep(const std::string &n) { return asked(n.c_str(), 8); }"
    (found,) = launches_of(tmp_path, body, words, helper=helper)
    assert found.grid[0] == 8
    (said,) = found.assumptions
    assert said.message == f"no environment variable {name} assumed: that decides {what} k"


@pytest.mark.parametrize(
    "body",
    [
        'if (getenv("V")) puts("x"); k<<<8, 64>>>(0, 4, 5);',
        'setenv("N", "8", 1); k<<<atoi(getenv("N")), 64>>>(0, 4, 5);',
    ],
)
def test_what_the_environment_does_not_decide_is_not(tmp_path, body):
    (found,) = launches_of(tmp_path, body)
    assert (found.grid[0], found.source, found.assumptions) == (8, LaunchSource.HOST_CODE, ())


def test_a_launch_that_only_the_environment_leads_to_is_listed(tmp_path):
    (found,) = launches_of(tmp_path, 'char *e = getenv("N"); if (e != NULL) k<<<8, 64>>>(0, 4, 5);')
    assert (found.grid[0], found.times) == (8, None)
    assert any(ONLY_WHERE in one.message for one in found.assumptions)


BEFORE_THE_LAUNCH = [
    'char *e = getenv("N"); if (!e) return 0;',
    'if (std::getenv("N") == NULL) exit(1);',
    'const char *e = getenv("N"); int mode = e ? atoi(e) : 0; if (mode == 0) { puts("off"); return 0; }',
    "if (!is_on()) return 0;",
    'if (argc < 3 && !getenv("N")) exit(1);',
    'int words = argc - 1; if (!words && !getenv("N")) return 0;',
]


@pytest.mark.parametrize("body", BEFORE_THE_LAUNCH)
def test_a_return_that_the_environment_decides_is_taken_not_to_happen(tmp_path, body):
    helper = 'static bool is_on() { const char *e = getenv("N"); return e && !strcmp(e, "1"); }'
    (found,) = launches_of(tmp_path, f"{body} k<<<8, 64>>>(0, 4, 5);", helper=helper)
    assert (found.grid[0], found.times) == (8, 1)
    (told,) = found.assumptions
    assert "what the environment variable N decides in line" in told.message
    assert "a return before the launch of k, is taken not to happen" in told.message


@pytest.mark.parametrize(
    "body",
    ['if (getenv("SKIP")) return 0;', 'char *e = getenv("SKIP"); if (e != NULL && atoi(e) == 1) exit(0);'],
)
def test_a_return_that_an_unset_variable_does_not_lead_to_is_not_told(tmp_path, body):
    (found,) = launches_of(tmp_path, f"{body} k<<<8, 64>>>(0, 4, 5);")
    assert (found.grid[0], found.times, found.assumptions) == (8, 1, ())


def test_a_helper_that_asks_the_environment_and_returns_early_does_return(tmp_path):
    helper = 'static int size() { if (!getenv("N")) return 8; return 99; }'
    (found,) = launches_of(tmp_path, "k<<<size(), 64>>>(0, 4, 5);", helper=helper)
    assert found.grid[0] == 8
    assert "a return" not in " ".join(told.message for told in found.assumptions)


def test_what_another_function_launches_rests_on_a_return_that_did_not_happen(tmp_path):
    helper = "static int n; __global__ void k(float *x, int a, int b); void draw() { k<<<n, 64>>>(0, 4, 5); }"
    body = 'if (!getenv("DISPLAY")) exit(1); n = 7; register_callback(draw);'
    (found,) = launches_of(tmp_path, body, helper=f"{helper} void register_callback(void (*)());")
    assert found.grid[0] == 7
    assert any("DISPLAY decides in line" in told.message for told in found.assumptions)


def test_a_check_of_results_is_taken_to_pass(tmp_path):
    body = "float h[4]; int ok = 1; for (int i = 0; i < 4; i++) if (h[i] != 1) ok = 0; if (!ok) return 1;"
    (found,) = launches_of(tmp_path, f"{body} k<<<8, 64>>>(0, 4, 5);")
    assert (found.times, found.assumptions) == (1, ())


def test_a_number_of_an_unset_variable_is_told_as_such(tmp_path):
    (found,) = launches_of(tmp_path, 'int n = atoi(getenv("N")); k<<<n, 64>>>(0, 4, 5);')
    assert "an environment variable that is not set; n assumed" in found.assumptions[0].message


LIKELY = [
    ("int n = rand() % 100; k<<<n, 64>>>(0, 4, 5);", 23),
    ("int n = 1 + (int)(100.0 * rand() / RAND_MAX); k<<<n, 64>>>(0, 4, 5);", 50),
    ("int c = rand() % 100, n = c + 1; k<<<n, 64>>>(0, 4, 5);", 24),
    ("int s, n; scanf(\"%d %d\", &s, &n); for (int i = s; i < n; i *= 2) k<<<i, 64>>>(0, 4, 5);", 1),
    ("int s, n; scanf(\"%d %d\", &s, &n); for (int i = s; i < n; i += 2) k<<<i, 64>>>(0, 4, 5);", 1024),
    ("getopt(argc, argv, \"v\"); k<<<7 + optind, 64>>>(0, 4, 5);", 8),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), LIKELY)
def test_what_is_likely_of_an_unknown_number(tmp_path, body, grid):
    (found,) = launches_of(tmp_path, body)
    assert found.grid[0] == grid


def test_the_option_without_words(tmp_path, capsys):
    path = tmp_path / "a.cu"
    path.write_text(f"{HEAD}int main(int argc, char **argv)\n{{ k<<<argc * 4, 64>>>(0, 4, 5); }}\n")
    (tmp_path / "Makefile").write_text("run: a\n\t./a 3 4\na: a.cu\n\tnvcc a.cu -o a\n")

    def first_of(*options):
        assert run(["analyze", str(path), "--no-cache", "--format", "json", *options]) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        return kernel["grid"][0], kernel["assumptions"]

    assert first_of() == (12, [])
    assert first_of("--args", "") == (4, [])
    (tmp_path / "wattslice.toml").write_text('args = ""\n')
    assert first_of() == (4, [])
    assert first_of("--args", "7") == (8, [])


PRINTED = [
    ('snprintf(t, sizeof t, "%d %d", 12, 96); sscanf(t, "%d %d", &n, &m);', 12, 96),
    ('sprintf(t, "size=%03d,%s", 7, "40"); sscanf(t, "size=%d,%d", &n, &m);', 7, 40),
    ('n = snprintf(t, 4, "%d", 123456); m = atoi(t);', 6, 123),
    ('sprintf(t, "%x/%5.1f|%-4u|", 255, 2.25, 3u); n = strlen(t); m = t[0];', 14, 102),
    ('sprintf(t, "%lld%%", 1LL << 33); n = strlen(t); m = t[1];', 11, 53),
    ('sprintf(t, "%c%hhd", 65, 300); n = t[0]; m = t[2];', 65, 52),
]


@pytest.mark.parametrize(("code", "n", "m"), PRINTED)
def test_a_text_that_the_program_writes_itself_is_read(tmp_path, code, n, m):
    (found,) = launches_of(tmp_path, f"char t[64]; int n = 1, m = 1; {code} k<<<n, m>>>(0, n, m);")
    assert (found.grid[0], found.block[0], found.source) == (n, m, LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    "code", ['sprintf(t, "%d", rand());', 'sprintf(t, "%*d", 3, 5);', 'sprintf(t, "%#x", 5);']
)
def test_a_text_that_nobody_knows_is_not_read(tmp_path, code):
    (found,) = launches_of(tmp_path, f"char t[64]; {code} int n = atoi(t); k<<<n, 64>>>(0, n, 3);")
    assert found.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("given", "grid"),
    [
        ("-v $N -n 12", 3),  # whether it is an option nobody knows: as without any
        ("-n 12 -v $N", 12),
        ("-m $M -n 12", 12),
        ("--deep $M -n 12", 12),
    ],
)
def test_words_that_nobody_tells_leave_the_options_beside_them(tmp_path, given, grid):
    body = """static option all[] = {{"deep", 1, 0, 'm'}, {0, 0, 0, 0}}; int n = 3, m = 4, c;
    while ((c = getopt_long(argc, argv, "n:m:v", all, NULL)) != -1) {
        if (c == 'n') n = atoi(optarg); else if (c == 'm') m = atoi(optarg);
    }
    k<<<n, 64>>>(0, n, m);"""
    words = tuple(None if "$" in word else word for word in given.split())
    found = launches_of(tmp_path, body, words=words)[0]
    assert found.grid == (grid, 1, 1)


def test_a_flag_is_known_before_a_word_that_nobody_tells(tmp_path):
    body = """int n = 3; if (checkCmdLineFlag(argc, (const char **)argv, "n"))
        n = getCmdLineArgumentInt(argc, (const char **)argv, "n");
    k<<<n, 64>>>(0, n, 1);"""
    helper = "bool checkCmdLineFlag(int, const char **, const char *);"
    helper += "int getCmdLineArgumentInt(int, const char **, const char *);"
    (found,) = launches_of(tmp_path, body, words=("-n=7", None), helper=helper)
    assert found.grid == (7, 1, 1)
    (found,) = launches_of(tmp_path, body, words=(None, "-n=7"), helper=helper)
    assert found.grid == (3, 1, 1)

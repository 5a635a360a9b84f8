# pyright: reportOptionalMemberAccess=false
# What is missing fails the test.

"""Makefiles, CMakeLists.txt and scripts as texts: how programs are run, and how sources are compiled."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice.config.config import Options, make_config
from wattslice.errors import Severity
from wattslice.frontend.cuda.read import read_callers, read_cuda, read_definitions
from wattslice.frontend.inputs import recorded, repository_root
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.project import makefile as project_makefile
from wattslice.frontend.project.build import compile_flags, read_cmake
from wattslice.frontend.project.makefile import UNTOLD, read_makefile
from wattslice.frontend.project.runs import find_arguments, folder_told_of
from wattslice.frontend.project.settings_files import settings_files
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice.pipeline.cache.current import CurrentInputs
from wattslice.pipeline.files import analyze_files
from wattslice_models.gpu import load_gpu


def makefile(tmp_path, text):
    path = tmp_path / "Makefile"
    path.write_text(text)
    return read_makefile(path, tmp_path)


def test_a_makefile_without_others_is_followed_once_and_each_has_its_own_budget(tmp_path, monkeypatch):
    path, followed = tmp_path / "Makefile", list[str]()
    plain = project_makefile.logical_lines

    def following(text: str, file: Path):
        followed.append(text)
        return plain(text, file)

    monkeypatch.setattr(project_makefile, "logical_lines", following)
    first = makefile(tmp_path, "N := 4\nrun:\n\t./a $(N)\n")
    for _ in range(60):
        first.expanded("$(N)" * 2_000)
    assert first.expanded("$(N)") == UNTOLD
    assert read_makefile(path, tmp_path).expanded("$(N)") == "4"
    assert len(followed) == 1
    (tmp_path / "more.mk").write_text("N := 5\n")
    assert makefile(tmp_path, "N := 4\n-include more.mk\n").expanded("$(N)") == "5"
    (tmp_path / "more.mk").write_text("N := 6\n")
    assert read_makefile(path, tmp_path).expanded("$(N)") == "6"


def test_recipes_are_expanded_once_and_brackets_in_them_are_matched(tmp_path, monkeypatch):
    made = makefile(tmp_path, "N := 4\nrun: a.cu\n\tnvcc -o $(addsuffix (x),$(basename a(b).c $(N))) ${N\n")
    asked = list[str]()
    plain = project_makefile.Makefile.expanded

    def expanding(self: Any, text: str, automatic: Any = ()):
        asked.append(text)
        return plain(self, text, automatic)

    monkeypatch.setattr(project_makefile.Makefile, "expanded", expanding)
    ((rule, (line,)),) = made.recipes()
    assert made.recipes() == ((rule, (line,)),)
    assert len(asked) == 1
    assert rule.prerequisites == ("a.cu",)
    assert line == f"nvcc -o a(b)(x) 4(x) {UNTOLD}"


def found(path):
    arguments = find_arguments(path)
    return None if arguments is None else (arguments.text, arguments.source)


def source(folder, name="main.cu"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("int main(int argc, char **argv) {}\n")
    return path


@pytest.mark.parametrize(
    ("text", "expression", "value"),
    [
        ("A = 1\nB := $(A)2\nA = 3\n", "$(B) ${A} $A", "12 3 3"),
        ("A = x.cu y.cu\n", "$(A:.cu=.o) $(A:%.cu=o/%)", "x.o y.o o/x o/y"),
        ("A ?= 4\nA ?= 5\nA += 6\n", "$(A)", "4 6"),
        ("ifeq ($(MODE),fast)\nA = 1\nelse ifdef NONE\nA = 2\nelse\nA = 3\nendif\n", "$(A)", "3"),
        ("MODE = fast\nifneq '$(MODE)' ''\nifeq (fast, $(MODE))\nA = 1\nendif\nendif\n", "$(A)", "1"),
        ("", "$(addprefix b/,$(notdir $(patsubst %.cu,%.o,s/a.cu t/b.cu)))", "b/a.o b/b.o"),
        (
            "",
            "$(wildcard src/*.cu) $(filter %.cu,a.cu b.c) $(if ,x,y) $(strip  a   b )",
            "src/*.cu a.cu y a b",
        ),
        ("A = $(shell rm -rf /)\nB != ls\n", "$(A)$(B)", UNTOLD * 2),
        ("A = $(A)\n", "$(A)", UNTOLD),
        (
            "A = x y z\n",
            "$(words $(A)) $(word 2,$(A)) $(wordlist 2,9,$(A)) $(word n,$(A))",
            f"3 y y z {UNTOLD}",
        ),
        ("A = 1 2\n", "$(foreach n,$(A),-n$(n) t)", "-n1 t -n2 t"),
        ("size = $(1)x$(2)\n", "$(call size,3,4) $(call nothing,3)", f"3x4 {UNTOLD}"),
        ("A = one \\\n  two # three\n", "$(A)", "one two"),
        ("define X\nA = 1\nendef\nA = 2\n", "$(A) $$HOME $(NOBODY)", "2 $HOME "),
    ],
)
def test_variables(tmp_path, text, expression, value):
    assert makefile(tmp_path, text).expanded(expression) == value


def test_a_bomb_of_variables_ends(tmp_path):
    text = "A0 = xxxxxxxxxx\n" + "".join(f"A{n + 1} = $(A{n})$(A{n})$(A{n})$(A{n})\n" for n in range(18))
    assert UNTOLD in makefile(tmp_path, text).expanded("$(A18)")


def test_included_files_stay_inside(tmp_path):
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "outside.mk").write_text("A = outside\n")
    (inside / "own.mk").write_text("B = inside\ninclude own.mk\n")
    (inside / "Makefile").write_text("include own.mk ../outside.mk\n-include missing.mk\n")
    read = read_makefile(inside / "Makefile", inside)
    assert read is not None
    assert read.expanded("$(A)$(B)") == "inside"


RUN = """
program = main
N ?= 1000
LAUNCHER =
all: $(program)
$(program): main.o other.o
\tnvcc $^ -o $@
%.o: %.cu
\tnvcc -c $< -o $@
test: $(program)
\t./$(program) 1
run: $(program)
\t@echo running
\tmkdir -p out && cp ./$(program) out
\t$(LAUNCHER) ./$(program) $(N) 64 > out.txt 2>&1
"""


def test_run_targets_come_first(tmp_path):
    (tmp_path / "Makefile").write_text(RUN)
    (tmp_path / "run.sh").write_text("./main 7\n")
    assert found(source(tmp_path)) == ("1000 64", "run target, Makefile:15")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("OMP_NUM_THREADS=2 ./main 5", "5"),
        ("time mpirun -np 2 ./main -x 'a b'", "-x 'a b'"),
        ("nsys profile -t cuda,nvtx -o rep ./main 5", "5"),
        ("nsys profile -o main --force-overwrite true ./main 5", "5"),
        ("ncu --set full -o main main 5", "5"),
        ("cuda-gdb --args ./main 5", "5"),
        ("cd . ; ./main 5 | tee log", "5"),
        ("- ./main $(shell nproc) 6", "? 6"),
        ("build/release/main 8", "8"),
        ("for n in 64 128; do ./main $$n $${M:-7} $$K; done", "64 7 ?"),
        ("N=5; ./main $$N `nproc` $$(nproc --all) $$((N + 1))", "5 ? ? ?"),
        ("if true; then ./main 9 *.txt; fi", "9 ?"),
        ("echo ./main 5", None),
        ("rm -f ./main", None),
        ("./main", None),
    ],
)
def test_lines_that_start_a_program(tmp_path, line, words):
    (tmp_path / "Makefile").write_text(f"main: main.cu\n\tnvcc main.cu -o main\nrun: main\n\t{line}\n")
    assert found(source(tmp_path)) == (None if words is None else (words, "run target, Makefile:4"))


@pytest.mark.parametrize(
    ("line", "words"),
    [("mpirun -np 2 main.run 5 6", "5 6"), ("main.run 5", None), ("clean 5", None), ("mpirun other 5", None)],
)
def test_a_script_beside_a_makefile_may_start_what_it_makes(tmp_path, line, words):
    """A shell looks for a program without a folder on the PATH, mpirun where it is started."""
    (tmp_path / "Makefile").write_text(
        "main.run: main.cu\n\tnvcc main.cu -o main.run\nclean:\n\trm main.run\n"
    )
    (tmp_path / "run.sh").write_text(f"make\n{line}\n")
    assert found(source(tmp_path)) == (None if words is None else (words, "script, run.sh:2"))


@pytest.mark.parametrize(
    ("lines", "words", "number"),
    [("./main in.txt\n./main 7\n", "7", 2), ("./main in.txt 1\n./main in.txt 2\n", "in.txt 1", 1)],
)
def test_a_line_that_names_no_file_of_data_comes_first(tmp_path, lines, words, number):
    (tmp_path / "run.sh").write_text(lines)
    assert found(source(tmp_path)) == (words, f"script, run.sh:{number}")


def test_variables_of_a_target(tmp_path):
    (tmp_path / "Makefile").write_text(
        "N = 1\nrun: N = 64\nrun: M += 2\nrun: main real\n\t./main $(N) $(M)\nreal:\n"
    )
    assert found(source(tmp_path)) == ("64 2", "run target, Makefile:5")


CMAKE_WORDS = [
    ("foreach(n 1024 2048)\nadd_test(t${n} main ${n} ${nobody})\nendforeach()", "1024 ?"),
    ("set(all 3 4)\nforeach(n IN LISTS all)\nadd_test(t${n} main ${n})\nendforeach()", "3"),
    ("function(one size)\nadd_test(t main ${size} 5)\nendfunction()\none(7)", "? 5"),
    ("set(N 1)\nif(BIG)\nset(N 2)\nendif()\nadd_test(t main ${N})", "?"),
    ("set(N 1)\nforeach(n 1)\nset(N 2)\nendforeach()\nadd_test(t main ${N})", "2"),
    ("if(BIG)\nset(N 2)\nendif()\nadd_test(t main ${N})", "2"),
]


@pytest.mark.parametrize(("text", "words"), CMAKE_WORDS)
def test_no_word_of_a_test_is_lost(tmp_path, text, words):
    (tmp_path / "CMakeLists.txt").write_text(f"add_executable(main main.cu)\n{text}\n")
    arguments = find_arguments(source(tmp_path))
    assert arguments.text == words


def test_each_program_its_own_line(tmp_path):
    (tmp_path / "Makefile").write_text(
        "run:\n\t./a 1\n\t./b 2\n\n"
        "first: x.cu\n\tnvcc -o a $<\nsecond: y.cu\n\tnvcc -o b $<\nthird: z.cu\n\tnvcc -o c z.cu\n"
    )
    assert found(source(tmp_path, "x.cu")) == ("1", "run target, Makefile:2")
    assert found(source(tmp_path, "y.cu")) == ("2", "run target, Makefile:3")
    assert found(source(tmp_path, "z.cu")) is None


def test_the_makefile_above(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "Makefile").write_text(
        "SRC = $(wildcard src/*.cu)\nbin/app: $(SRC:src/%.cu=build/%.o)\n\tnvcc $^ -o $@\n"
        "run:\n\tbin/app 12\n"
    )
    assert found(source(tmp_path / "src")) == ("12", "run target, Makefile:5")
    assert found(source(tmp_path / "tools" / "deep", "main.cpp")) is None


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("cmake_minimum_required(VERSION 3.20)\n  Project(p CUDA)\n", True),
        ("add_x(p)\nproject_options(p)\n", False),
    ],
)
def test_an_archive_of_a_project_is_as_its_repository(tmp_path, text, is_known):
    include = "target_include_directories(p PUBLIC code)\n"
    (tmp_path / "CMakeLists.txt").write_text(f"{text}add_executable(p code/app/main.cu)\n{include}")
    main = source(tmp_path / "code" / "app")
    assert compile_flags(main).include_directories == ((tmp_path / "code",) if is_known else ())
    assert repository_root(main) == (tmp_path if is_known else main.parent)


def test_a_line_without_data_is_taken_first(tmp_path):
    (tmp_path / "run").write_text("./main -f ../data/matrix.txt\n./main -s 16\n")
    assert found(source(tmp_path)) == ("-s 16", "script, run:2")
    (tmp_path / "run").write_text("# how\nN=3\nfor S in 10 20; do ./main -f in.txt $S ${N} $1; done\n")
    assert found(source(tmp_path)) == ("-f in.txt 10 3 ?", "script, run:3")


CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(demo LANGUAGES CXX CUDA)
set(SIZE 4096)  # elements
add_executable(app main.cpp kernels.cu)
add_executable(other other.cu)
target_include_directories(app PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include /usr/include)
target_compile_definitions(app PRIVATE TILE=32 $<$<CONFIG:Debug>:SLOW>)
if(WITH_CHECKS)
  add_definitions(-DCHECKED)
endif()
add_compile_definitions(ALL_OF_THEM)
enable_testing()
add_test(NAME big COMMAND $<TARGET_FILE:app> ${SIZE} "a b" WORKING_DIRECTORY .)
add_test(small other 3)
"""


def test_cmake(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "include").mkdir()
    assert found(source(tmp_path, "main.cpp")) == ("4096 'a b'", "add_test, CMakeLists.txt:14")
    assert found(source(tmp_path, "other.cu")) == ("3", "add_test, CMakeLists.txt:15")
    flags = compile_flags(source(tmp_path, "kernels.cu"))
    assert set(flags.definitions) == {"ALL_OF_THEM", "TILE=32"}
    assert flags.include_directories == ((tmp_path / "include").resolve(),)
    assert compile_flags(tmp_path / "other.cu").definitions == ("ALL_OF_THEM",)


SIZED = """
#ifndef WIDTH
#define WIDTH 320
#endif
void blur(float *x, int n);
int main() { float *x; cudaMalloc(&x, WIDTH * 4); blur(x, WIDTH); }
"""
CALLED = "__global__ void k(float *x) { x[0] = 1; }\nvoid blur(float *x, int n) { k<<<n / 32, 32>>>(x); }\n"
TWO_TARGETS = """
add_executable(demo main.cu blur.cu)
target_compile_definitions(demo PRIVATE WIDTH=640)
add_executable(bench main.cu blur.cu)
target_compile_definitions(bench PRIVATE BENCH)
add_executable(same main.cu blur.cu)
target_compile_definitions(same PRIVATE WIDTH=640)
"""
TWO_RULES = """
demo: main.cu blur.cu
\tnvcc -DWIDTH=640 -o demo main.cu blur.cu
bench: main.cu blur.cu
\tnvcc -DBENCH -o bench main.cu blur.cu
\tclang-format -i main.cu
"""


@pytest.mark.parametrize(
    ("file", "text", "where"),
    [("CMakeLists.txt", TWO_TARGETS, "bench of CMakeLists.txt"), ("Makefile", TWO_RULES, "Makefile:5")],
    ids=["CMake", "make"],
)
def test_a_source_of_several_targets_is_that_of_the_first_and_others_are_told(tmp_path, file, text, where):
    (tmp_path / file).write_text(text)
    main, blur = source(tmp_path), source(tmp_path, "blur.cu")
    main.write_text(SIZED)
    blur.write_text(CALLED)
    flags = compile_flags(main)
    assert flags.definitions == ("WIDTH=640",)
    assert [(other.where, other.definitions) for other in flags.others] == [(where, ("BENCH",))]
    analysis = analyze_files(make_config(Options(paths=(blur,), gpu="v100")))
    (kernel,) = analysis.kernels
    assert kernel.launch.grid[0] == 20
    told = f"-D WIDTH=640 assumed: {where} compiles the file with -D BENCH"
    assert [(one.message, one.file) for one in kernel.assumptions] == [(told, str(main))]
    main.write_text(SIZED.replace("WIDTH", "SIDE"))
    assert not read_cuda(main).assumed  # no text names what differs


KERNEL = (
    "#include <sizes.h>\n__global__ void k(float *x) { for (int i = 0; i < TILE * SIZE; i++) x[i] = 1; }\n"
)


def test_flags_of_a_makefile(tmp_path):
    for place, size in (("inc", 5), ("other", 7)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "sizes.h").write_text(f"#define SIZE {size}\n")
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    (tmp_path / "Makefile").write_text(
        "FLAGS = -Iother -I/etc -DTILE=$(T) -DNOW=$(shell date)\nT = 3\n"
        "%.o: %.cu\n\tnvcc $(FLAGS) -c $< -o $@\n"
        "debug: k.cu\n\tnvcc -DTILE=99 k.cu\n"
    )
    flags = compile_flags(path)
    assert flags.definitions == ("TILE=3",)
    assert flags.include_directories == ((tmp_path / "other").resolve(),)
    program = read_cuda(path)
    assert not [entry for entry in program.diagnostics if entry.rule in ("PW001", "PW002")]


def test_a_compile_commands_above(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "build").mkdir()
    path = tmp_path / "src" / "k.cu"
    path.write_text("__global__ void k(float *x) { x[TILE] = 1; }\n")
    entry = {
        "directory": str(tmp_path / "build"),
        "file": "../src/k.cu",
        "command": "nvcc -DTILE=4 -I/etc -c k.cu",
    }
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps([entry]))
    assert not read_cuda(path).diagnostics
    (tmp_path / "build" / "compile_commands.json").write_text("[broken")
    assert read_cuda(path).diagnostics  # nothing is said, and the analysis goes on


def test_what_is_read_is_told_to_the_cache(tmp_path):
    path = source(tmp_path)
    (tmp_path / "Makefile").write_text("run: main\n\t./main 5\n")
    with recorded() as recording:
        find_arguments(path)
    inputs = recording.inputs
    assert inputs is not None
    assert [text.path for text in inputs.texts] == [str(tmp_path / "Makefile")]
    assert str(tmp_path / "GNUmakefile") in inputs.absent


def test_a_makefile_of_a_stranger_ends(tmp_path):
    rules = "".join(f"p{n}: s{n}.cu $(X)\n\tnvcc -o p{n} s{n}.cu $(X)\n" for n in range(8000))
    lines = "".join(f"\t./p{n} $(X) {n} && ./q{n}; time ./p{n}\n" for n in range(8000))
    (tmp_path / "Makefile").write_text(f"X = {'y ' * 50}\n{rules}run: p1\n{lines}")
    path = source(tmp_path, "other.cu")
    start = time.process_time()
    assert find_arguments(path) is None
    compile_flags(path)
    assert time.process_time() - start < 2
    odd = "run:\n\t./a " + "$(" * 5000 + "\ninclude " + "a" * 9000 + "\n%.o: %.cu\n\tnvcc -I" + "b" * 9000
    (tmp_path / "Makefile").write_text(f"{odd} -o $@ $<\n")
    arguments = find_arguments(path)
    assert arguments is not None
    assert arguments.words == (None,)
    assert compile_flags(path).include_directories == ()


DAMAGES: tuple[tuple[Callable[[Path], object], str], ...] = (
    (lambda file: file.write_bytes(b"[\0]"), "is not JSON"),
    (lambda file: file.write_text("[" * 100_000), "is not JSON"),
    (lambda file: file.write_text("{}"), "is no list of commands"),
    (lambda file: file.write_text('[{"file": "a\\u0000"}]'), "names a file or word with a NUL byte"),
    (os.mkfifo, "no regular file"),
    (lambda file: os.truncate(os.open(file, os.O_CREAT | os.O_RDWR), 200 << 20), "larger than 64 MiB"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_a_damaged_database_that_nobody_named_is_told_once(tmp_path, damage, reason):
    (tmp_path / ".git").mkdir()
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("__global__ void k(float *x) { x[threadIdx.x] *= 2; }\n")
    damage(tmp_path / "compile_commands.json")
    analysis = analyze_files(make_config(Options(paths=(tmp_path,), gpu="v100")))
    told = [entry for entry in analysis.diagnostics if entry.file.endswith("compile_commands.json")]
    assert [(entry.rule, entry.severity, entry.line) for entry in told] == [("PW001", Severity.WARNING, 1)]
    assert told[0].message.startswith(f"ignored: {reason} (let the build write it")
    assert len(analysis.kernels) == 2


INI = '[other]\nargs = 9\n[main]\nargs = [\n\t"-n 4 data/a.bin",\n\t"-n 5"\n\t]\nkernels = ["k"]\n'
DRIVER = json.dumps({"other": {"args": ["9"]}, "main": {"runs": [{"args": ["-n", 5]}, {"args": ["-n", 6]}]}})
EDITOR = (
    '{\n  // how it is started\n  "configurations": [\n'
    '    {"name": "run", "program": "${workspaceFolder}/main", "args": ["-n", "5", "${file}"], },\n  ]\n}\n'
)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("configs/all/of/it.cfg", INI, ("-n 5", "settings, configs/all/of/it.cfg:3")),
        ("tests.json", DRIVER, ("-n 5", "settings, tests.json:1")),
        (".vscode/launch.json", EDITOR, ("-n 5 ?", "settings, .vscode/launch.json:4")),
        ("a/b.json", DRIVER, None),
        ("tests.json", '{"main": {"args": [[1]]}, "else": "args"}', None),
        ("tests.json", '{"main": {"args": ["1"]}', None),
        ("tests.cfg", "args\n[[[", None),
    ],
)
def test_settings_of_a_test_driver_or_an_editor(tmp_path, path, text, expected):
    main = source(tmp_path / "src" / "main")
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "Makefile").write_text("run:\n\tmain/main\n")  # without a word
    settings = tmp_path / path
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(text)
    assert found(main) == expected


@pytest.mark.parametrize(
    ("program", "rule", "is_it"),
    [
        ("backPropForward", "back_prop-forward: main.o\n\tg++ -o $@ main.o\n", True),
        ("back_prop", "other: main.o\n\tg++ -o $@ main.o\n", False),
        ("backProp", "back_prop: other.o\n\tg++ -o $@ other.o\n", False),
        ("Main", "", True),
    ],
)
def test_settings_may_write_the_name_of_a_program_in_another_way(tmp_path, program, rule, is_it):
    main = source(tmp_path / "main")
    (tmp_path / ".git").mkdir()
    (tmp_path / "main" / "Makefile").write_text(rule)
    (tmp_path / "tests.cfg").write_text(f"[{program}]\nargs = 5\n")
    assert found(main) == (("5", "settings, tests.cfg:1") if is_it else None)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("a/configs/b/c/d.cfg", "a"),
        ("a/tests.json", "a"),
        ("configs/d.ini", ""),
        ("configs/1/2/3/d.ini", "configs/1/2/3"),
        ("a/scripts/run.sh", "a"),
        ("a/b/meson.build", "a/b"),
    ],
)
def test_of_which_folder_settings_tell(path, folder):
    assert folder_told_of(path) == folder


def test_settings_files_are_found_the_nearest_first_in_spite_of_links_without_end(tmp_path):
    names = ("z.json", "config/b.ini", "config/deep/c.cfg", "test/a.json", "config/er/er/too/deep.cfg")
    for name in (*names, "config/no.txt", "other/no.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "config" / "loop").symlink_to("loop")
    (tmp_path / "tests").symlink_to("test")
    (tmp_path / "bench").touch()
    nearest = ("z.json", "config/b.ini", "test/a.json", "tests/a.json", "config/deep/c.cfg")
    assert settings_files(tmp_path) == tuple(tmp_path / name for name in nearest)


def test_new_settings_are_told_to_the_cache(tmp_path):
    path = source(tmp_path)
    with recorded() as recording:
        assert find_arguments(path) is None
    inputs = recording.inputs
    assert inputs is not None
    assert CurrentInputs().hold(inputs)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "main.ini").write_text("[main]\nargs = 3\n")
    assert not CurrentInputs().hold(inputs)


CONDITIONS = [
    ("if(WIDE)\n{0}\nendif()", True),
    ("if(NOT WIDE)\n{0}\nendif()", False),
    ("if(NARROW)\n{0}\nendif()", False),
    ("if(NARROW)\nelse()\n{0}\nendif()", True),
    ("if(NARROW)\nelseif(WIDE)\n{0}\nendif()", True),
    ("if(WIDE)\nelseif(WIDE)\n{0}\nendif()", False),
    ("if(WIDE)\nelse()\n{0}\nendif()", False),
    ("if(UNHEARD_OF)\n{0}\nendif()", False),
    ("if(UNHEARD_OF)\nelse()\n{0}\nendif()", False),
    ("if(UNHEARD_OF)\nelseif(WIDE)\n{0}\nendif()", False),
    ("if(UNHEARD_OF AND NARROW)\nelse()\n{0}\nendif()", True),
    ("if(WIDE AND NOT NARROW)\n{0}\nendif()", True),
    ("if(NARROW OR WIDE)\n{0}\nendif()", True),
    ("if(UNHEARD_OF OR NARROW)\n{0}\nendif()", False),
    ('if(KIND STREQUAL "fast")\n{0}\nendif()', True),
    ('if("${{KIND}}" STREQUAL "slow")\n{0}\nendif()', False),
    ("if(WIDE)\nif(NARROW)\n{0}\nendif()\nendif()", False),
    ("if(WIDE)\nif(TRUE)\n{0}\nendif()\nendif()", True),
    ("foreach(n 1 2)\n{0}\nendforeach()", False),
]


@pytest.mark.parametrize(("text", "holds"), CONDITIONS)
def test_options_decide_branches_of_cmake(tmp_path, text, holds):
    heads = 'option(WIDE "as plain builds have it" ON)\noption(NARROW "not so")\nset(KIND fast)\n'
    body = heads + text.format("target_compile_definitions(app PRIVATE BY=4)")
    (tmp_path / "CMakeLists.txt").write_text(f"add_executable(app main.cu)\n{body}\n")
    assert compile_flags(source(tmp_path)).definitions == (("BY=4",) if holds else ())


def test_a_variable_has_the_value_of_the_branch_that_an_option_decides(tmp_path):
    text = "option(WIDE w ON)\nset(N 1)\nif(WIDE)\nset(N 2)\nelse()\nset(N 3)\nendif()\n"
    (tmp_path / "CMakeLists.txt").write_text(
        f"add_executable(app main.cu)\n{text}add_definitions(-DN=${{N}})\n"
    )
    assert compile_flags(source(tmp_path)).definitions == ("N=2",)


def test_what_a_library_passes_on_is_for_those_that_link_it(tmp_path):
    for name in ("include", "kernels/headers", "app", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        "add_subdirectory(kernels)\nadd_subdirectory(app)\nadd_library(base base.cu)\n"
        "target_link_libraries(base INTERFACE core)\n"
        "target_include_directories(base INTERFACE include)\n"
        "target_compile_definitions(base PUBLIC A=1 PRIVATE B=2 INTERFACE C=3)\n"
        "add_library(hidden hidden.cu)\ntarget_compile_definitions(hidden PUBLIC D=4)\n"
    )
    (tmp_path / "kernels" / "CMakeLists.txt").write_text(
        "add_library(core core.cu)\nadd_library(my::core ALIAS core)\n"
        "target_include_directories(core PUBLIC headers)\n"
        "target_link_libraries(core PUBLIC base PRIVATE hidden cudart)\n"
    )
    (tmp_path / "app" / "CMakeLists.txt").write_text(
        "add_executable(app main.cu)\ntarget_link_libraries(app my::core m)\n"
    )
    own = compile_flags(source(tmp_path, "base.cu"))
    assert (own.definitions, own.include_directories) == (("A=1", "B=2"), ())
    core = compile_flags(source(tmp_path / "kernels", "core.cu"))
    headers = (tmp_path / "kernels" / "headers").resolve()
    include = (tmp_path / "include").resolve()
    assert (core.definitions, core.include_directories) == (("A=1", "C=3", "D=4"), (headers, include))
    app = compile_flags(source(tmp_path / "app"))
    assert (app.definitions, app.include_directories) == (("A=1", "C=3"), (headers, include))


def test_a_class_in_a_folder_of_headers_is_found_by_the_main_of_another(tmp_path):
    for name in ("include", "src", "app"):
        (tmp_path / name).mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        "add_library(core src/core.cu)\ntarget_include_directories(core PUBLIC include)\n"
        "add_executable(app app/main.cpp)\ntarget_link_libraries(app PRIVATE core)\n"
    )
    (tmp_path / "include" / "core.h").write_text(
        "class Solver { public: explicit Solver(int n); void step(); private: int blocks; };\n"
    )
    (tmp_path / "app" / "main.cpp").write_text(
        '#include "core.h"\nint main() { Solver s(700); s.step(); s.step(); return 0; }\n'
    )
    core = tmp_path / "src" / "core.cu"
    core.write_text(
        '#include "core.h"\n__global__ void k(int n) {}\nSolver::Solver(int n) : blocks(n / 100) {}\n'
        "void Solver::step() { k<<<blocks, 64>>>(blocks); }\n"
    )
    around = Neighbours(partial(read_callers, core), definitions=lambda sought: read_definitions(*sought))
    (launch,) = resolve_launches(read_cuda(core), NO_OVERRIDES, load_gpu("v100"), around)
    assert (launch.grid, launch.arguments, launch.times) == ((7, 1, 1), (7,), 2)


@pytest.mark.parametrize("named", ["$(SRCS) -o $@", "$^ -o $@", "*.cu"])
def test_a_wildcard_names_the_sources_of_a_recipe(tmp_path, named):
    (tmp_path / "Makefile").write_text(
        f"FLAGS = -DTILE=8\nSRCS = $(wildcard *.cu)\nprog: $(SRCS)\n\tnvcc $(FLAGS) {named}\n"
        "other: x.cpp\n\tnvcc -DN x.cpp\n"
    )
    assert compile_flags(source(tmp_path)).definitions == ("TILE=8",)
    assert compile_flags(source(tmp_path, "y.cpp")).definitions == ()


def test_a_cmake_file_has_the_variables_of_those_above_and_a_folder_without_one_has_none(tmp_path):
    inner = tmp_path / "inner"
    (inner / "none").mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text("set(FIRST one.cu)\nadd_definitions(-DA=1)\n")
    (inner / "CMakeLists.txt").write_text("add_executable(tool ${FIRST})\nadd_definitions(-DB=2)\n")

    def read() -> tuple[tuple[tuple[str, ...], ...], list[str]]:
        found = read_cmake(inner, tmp_path)
        assert found is not None
        return tuple(made.sources for made in found.programs), [flag.word for flag in found.flags]

    assert read() == ((("one.cu",),), ["-DA=1", "-DB=2"])
    assert read_cmake(inner / "none", tmp_path) is None
    (tmp_path / "CMakeLists.txt").write_text("set(FIRST two.cu)\n")
    assert read() == ((("two.cu",),), ["-DB=2"])


@pytest.mark.parametrize(("text", "definitions"), [
    ('Extension("a", ["main.cu"], extra_compile_args=["-O3", "-DN=5"])', ("N=5",)),
    ('ext.CUDAExtension("a", ["csrc/x.cpp", "csrc/main.cu"],'
     'extra_compile_args={"cxx": ["-DN=1"], "nvcc": ["-DN=2"]})', ("N=2",)),
    ('CUDAExtension("a", ["other.cu"], extra_compile_args=["-DN=5"])', ()),
    ('CUDAExtension("b", ["other.cu"], extra_compile_args=["-DN=1"]); CUDAExtension("a", ["main.cu"],'
     'extra_compile_args=["-DN=2"])', ("N=2",)),
    ('flags = ["-DN=5"]\nCUDAExtension("a", glob("*.cu"), extra_compile_args={"nvcc": flags + ["-DM"]})',
     ("N=5", "M")),
    ('CUDAExtension("a", sources, define_macros=[("N", "5"), ("M", None), ("K", asked())])', ("N=5", "M")),
    ('if debug:\n    flags = ["-DN=5"]\nelse:\n    flags = []\nCUDAExtension("a", ["main.cu"],'
     'extra_compile_args=flags + ["-DM"])', ("M",)),
    ('flags = ["-DN=5"]\nflags += ["-DK"]\nCUDAExtension("a", ["main.cu"], extra_compile_args=flags)',
     ("N=5", "K")),
    ('flags = ["-DN=5"]\nflags.append("-DK")\nCUDAExtension("a", ["main.cu"], extra_compile_args=flags)',
     ("N=5", "K")),
    ('flags = ["-DN=5"]\nif debug:\n    flags.append("-DK")\n    flags += ["-DL"]\n'
     'CUDAExtension("a", ["main.cu"], extra_compile_args=flags)', ("N=5",)),
    ('flags = ["-DN=5"]\nflags.remove("-DN=5")\nCUDAExtension("a", ["main.cu"], extra_compile_args=flags)',
     ()),
    ('CUDAExtension("a", ["main.cu"], extra_compile_args=["-DM=%d" % n, f"-DN={n}", "-DK=" + n,'
     '"-DL={}".format(n), "-DJ" if n else "-DI", "-DH"])', ("H",)),
    ('CUDAExtension("a", ["main.cu"], extra_compile_args=["-DN=5"]', ()),
    ("".join(f"a{n} = a{n + 1} + a{n + 1}\n" for n in range(60)) + 'a60 = ["-DN=5"]\n'
     'CUDAExtension("a", ["main.cu"], extra_compile_args=a0)', ("N=5",)),
    ("(" * 100000, ()),
    ('a = "\\d"\nCUDAExtension("a", ["main.cu"], extra_compile_args=["-DN=5"])', ("N=5",)),
])  # fmt: skip
def test_flags_of_an_extension(tmp_path, text, definitions):
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.py").write_text(text)
    assert compile_flags(source(tmp_path / "csrc")).definitions == definitions


@pytest.mark.parametrize(
    ("text", "definitions"),
    [
        ('option(S "" ON)\ntarget_compile_definitions(main PRIVATE $<$<BOOL:${S}>:N=5>)', ("N=5",)),
        ('option(S "" OFF)\ntarget_compile_definitions(main PRIVATE $<$<BOOL:${S}>:N=5>)', ()),
        ("target_compile_definitions(main PRIVATE $<$<BOOL:${S}>:N=5>)", ()),
        ("if(NOT CMAKE_BUILD_TYPE)\nset(CMAKE_BUILD_TYPE Release)\nendif()", ("NDEBUG",)),
        ("set(CMAKE_BUILD_TYPE Debug)", ()),
        ("set(CMAKE_BUILD_TYPE Release)\nset(CMAKE_CUDA_FLAGS_RELEASE -O3)", ()),
    ],
)
def test_flags_that_options_and_the_kind_of_build_give(tmp_path, text, definitions):
    (tmp_path / "CMakeLists.txt").write_text(f"add_executable(main main.cu)\n{text}\n")
    assert compile_flags(source(tmp_path)).definitions == definitions


OWN_DEFAULT = """#ifndef N
#define N 256  // threads
#endif
#if !defined(UNUSED)
#define UNUSED 1
#endif
__global__ void k() {}
int main() { k<<<1, N>>>(); }
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("Makefile", "main: main.cu\n\tnvcc $(shell echo -DN=96 -DUNUSED=2) main.cu -o main\n", 2),
        ("meson.build", "executable('main', 'main.cu', cuda_args: ['-DN=24'])\n", 1),
        ("build.sh", "#!/bin/sh\nnvcc -D N=512 main.cu\n", 2),
        ("CMakeLists.txt", "add_executable(main main.cu)\nmath(EXPR h 1)\nadd_definitions(-DN=${h})\n", 3),
        ("CMakeLists.txt", "function(add)\nadd_compile_definitions(N=4)\nendfunction()\n", 2),
        ("build.sh", "nvcc -DN=256 main.cu\n", None),  # as the source has it
        ("build.sh", "nvcc -DNM=2 main.cu # -DN=4\n", None),
        ("Makefile", "N = 64\nmain: main.cu\n\tnvcc main.cu -o main\n", None),  # a variable of make
        ("Makefile", "main: main.cu\n\tnvcc -DN=64 main.cu -o main\n", None),  # followed
    ],
)
def test_a_default_of_a_macro_that_a_build_may_give_another_value_is_told(tmp_path, name, text, line):
    (tmp_path / name).write_text(text)
    (tmp_path / "main.cu").write_text(OWN_DEFAULT)
    around = replace(ParseOptions(), defines=compile_flags(tmp_path / "main.cu").definitions)
    (launch,) = resolve_launches(read_cuda(tmp_path / "main.cu", around), NO_OVERRIDES, load_gpu("v100"))
    told = [(one.line, one.message, one.fix) for one in launch.assumptions]
    message = f"N assumed 256, its default in the source: {name}:{line} gives it another value in a way that"
    assert told == ([] if line is None else [(2, f"{message} is not followed", "-D N=VALUE")])


def test_flags_of_one_source(tmp_path):
    properties = 'PROPERTIES COMPILE_FLAGS "-use_fast_math -DN=5" COMPILE_DEFINITIONS "K;L=2")'
    text = f"add_executable(main main.cu other.cu)\nset_source_files_properties(main.cu {properties}\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(text)
    assert compile_flags(source(tmp_path)).definitions == ("N=5", "K", "L=2")
    assert compile_flags(source(tmp_path)).fast_math == "CMakeLists.txt"
    assert compile_flags(tmp_path / "other.cu").definitions == ()


@pytest.mark.parametrize(
    "text",
    [
        "set_property(TARGET main PROPERTY COMPILE_DEFINITIONS N=5 K)",
        'set_property(TARGET other main APPEND PROPERTY COMPILE_OPTIONS "-DN=5;-DK")',
        'set_property(SOURCE main.cu PROPERTY COMPILE_FLAGS "-DN=5 -DK")',
        "set_property(GLOBAL PROPERTY A B)\nset_property(TARGET main PROPERTY COMPILE_DEFINITIONS N=5 K)",
        "if(WIN32)\nset_property(TARGET main PROPERTY COMPILE_DEFINITIONS N=9)\nendif()\n"
        "set_property(TARGET main PROPERTY CXX_STANDARD 17)\ntarget_compile_definitions(main PRIVATE N=5 K)",
    ],
)
def test_flags_of_a_property(tmp_path, text):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        f"add_library(other o.cu)\nadd_executable(main main.cu)\n{text}\n"
    )
    assert compile_flags(source(tmp_path)).definitions == ("N=5", "K")


ENVIRONMENT = [
    ("os.environ.get('D', '0') == '1'", 5),
    ("os.environ.get('D') != '1'", 7),
    ("not os.getenv('D')", 7),
    ("os.getenv('D', '1')", 7),
    ("'D' in os.environ", 5),
    ("debug", 5),
    ("not debug", 7),
    ("twice", None),
    ("os.path.exists('D')", None),
    ("os.environ.get(name) == '1'", None),
]


@pytest.mark.parametrize(("condition", "number"), ENVIRONMENT)
def test_flags_of_an_arm_that_the_environment_decides(tmp_path, condition, number):
    """Of a run in which no variable is set. `dict()` is a dictionary."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.py").write_text(
        "debug = os.environ.get('DEBUG', '0') == '1'\ntwice = found()\ntwice = os.getenv('A')\n"
        f"flags = ['-DK']\nif {condition}:\n    flags += ['-DN=7']\nelse:\n    flags += ['-DN=5']\n"
        "CUDAExtension('a', ['main.cu'], extra_compile_args=dict(cxx=['-DN=1'], nvcc=flags))\n"
    )
    found = compile_flags(source(tmp_path / "csrc")).definitions
    assert found == ("K",) + ((f"N={number}",) if number else ())


RULES = "prog: main.o\n\tnvcc -o $@ $^\n%.o: %.cu\n\tnvcc $(NVCCFLAGS) -c -o $@ $<\n"


@pytest.mark.parametrize(
    ("text", "definitions"),
    [
        (f"all: prog\nprog: NVCCFLAGS += -DN=5\n{RULES}", ("N=5",)),  # handed on to what it is made of
        (f"all: prog\ndebug: NVCCFLAGS += -DN=5\ndebug: prog\n{RULES}", ()),  # which nobody asks for
        ("APP_CUDACFLAGS = -O3 -DN=5\nAPP_CUDALDFLAGS = -DM\n", ("N=5",)),  # included by another
    ],
)
def test_variables_that_a_rule_is_given(tmp_path, text, definitions):
    (tmp_path / ".git").mkdir()
    (tmp_path / "Makefile").write_text(text)
    assert compile_flags(source(tmp_path)).definitions == definitions


def test_folders_of_an_extension(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "include").mkdir()
    text = 'CUDAExtension("a", ["main.cu"], include_dirs=["include", "/usr/include", found()])'
    (tmp_path / "setup.py").write_text(text)
    path = source(tmp_path / "csrc")
    assert compile_flags(path).include_directories == ((tmp_path / "include").resolve(),)
    assert folder_told_of("setup.py") == ""


DECLARED = "#define BLOCK 512\ndim3 cuda_gridsize(size_t n);\ntypedef int number;\nstruct Pair;\n"
USES = """#include "d.h"
__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
void f(float *x, int n) { k<<<cuda_gridsize(n), BLOCK>>>(x, n); }
"""


@pytest.mark.parametrize(
    ("head", "end", "defines", "told"),
    [
        ("#ifdef GPU", "", (), ("GPU assumed", 1, "-D GPU")),
        ("#if defined(GPU)  // as CMake does", "", (), ("GPU assumed", 1, "-D GPU")),
        ("#if defined GPU", "", (), ("GPU assumed", 1, "-D GPU")),
        ("#if GPU", "", (), ("GPU assumed", 1, "-D GPU")),
        ("#ifndef GPU\nint other;\n#else", "", (), ("GPU assumed", 1, "-D GPU")),
        ("#ifdef A\n#if GPU", "#endif\n", (), ("A and GPU assumed", 2, "-D A -D GPU")),
        ("#ifdef A\n#if GPU", "#endif\n", ("A=1",), ("GPU assumed", 2, "-D GPU")),
        ("#ifdef A\nint other;\n#elif defined(GPU)", "", (), ("GPU assumed", 3, "-D GPU")),
        ("#if 0", "", (), None),
        ("#ifdef _WIN32", "", (), None),
        ("#if VERSION > 2", "", (), None),
        ("#ifdef GPU\n#endif\n#if 0", "", (), None),
        ("#define NEVER 1\n#undef NEVER\n#ifdef NEVER", "", (), None),
        ("#if 1", "", (), None),
    ],
)
def test_what_is_declared_under_a_macro_only_tells_the_option(tmp_path, head, end, defines, told):
    (tmp_path / "d.h").write_text(f"{head}\n{DECLARED}{end}#endif\n")
    path = tmp_path / "k.cu"
    path.write_text(USES)
    found = [
        a for a in read_cuda(path, ParseOptions(defines=defines)).assumed if "not to be defined" in a.message
    ]
    if told is None:
        assert found == []
        return
    (one,) = found
    message, line, fix = told
    assert (one.line, one.fix, Path(one.file).name) == (line, fix, "d.h")
    assert one.message.startswith(message)
    assert one.message.endswith("only with it is there BLOCK, cuda_gridsize, used here")


def test_a_function_of_the_user_with_the_name_of_a_library_in_it_gives_no_status(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(USES.replace('#include "d.h"', ""))
    (kernel,) = analyze_files(make_config(Options(paths=(path,)))).kernels
    (told,) = (a.message for a in kernel.assumptions if "grid and block unknown" in a.message)
    assert told.startswith("grid and block unknown: the result of cuda_gridsize()")


BUILDS = {
    "Makefile": "k.o: src/k.cu\n\tnvcc -I$(CURDIR)/inc -c $< -o $@\n",
    "CMakeLists.txt": "add_executable(k src/k.cu)\ninclude_directories(${CMAKE_SOURCE_DIR}/inc)\n",
    "nothing.txt": "",  # the header is searched for
}


@pytest.mark.parametrize("build", [*BUILDS, "compile_commands.json"])
def test_a_header_that_the_build_finds_is_named_as_the_file_is(tmp_path, monkeypatch, build):
    command = {
        "directory": str(tmp_path),
        "file": "src/k.cu",
        "command": f"nvcc -I{tmp_path}/inc -c src/k.cu",
    }
    files = {
        "src/k.cu": '#include "h.cuh"\nint main() { float *x; k<<<1, 32>>>(x); }\n',
        "inc/h.cuh": "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n",
        build: BUILDS.get(build, json.dumps([command])),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for path in (Path("src/k.cu"), tmp_path / "src/k.cu"):
        (kernel,) = analyze_files(make_config(Options(paths=(path,)))).kernels
        assert kernel.source.file == str(path.parent.parent / "inc/h.cuh")

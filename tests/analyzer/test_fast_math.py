"""`--use_fast_math`: who says that a file is compiled with it, and what nvcc 13 makes of it then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wattslice import analyze
from wattslice.counting.count import count
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.project.build import compile_flags
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.instructions import lower_instructions
from wattslice_models.gpu import load_gpu

KERNEL = (
    "__global__ void k(float *a, float *b, float *c, int n)"
    " {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {} }}\n"
    "int main() {{ k<<<16, 256>>>(0, 0, 0, 64); }}\n"
)


def arithmetic(folder: Path, body: str, fast: str | None = "here") -> dict[str, float]:
    """Floating-point instructions of a thread, special functions and branches."""
    path = folder / "k.cu"
    path.write_text(KERNEL.format(body))
    (launch,) = resolve_launches(
        read_cuda(path, ParseOptions(fast_math=fast)), NO_OVERRIDES, load_gpu("a100")
    )
    mix = lower_instructions(launch.kernel, count(launch))
    kinds = ("ffma", "fadd", "fmul", "fsetp", "mufu", "conversion", "branch")
    return {one.name: one.number for one in mix.per_thread if one.name in kinds}


@pytest.mark.parametrize(
    ("expression", "made"),  # SASS of nvcc 13 -arch=sm_80 --use_fast_math
    [
        ("expf(a[i])", {"fmul": 1, "mufu": 1}),
        ("tanhf(a[i])", {"mufu": 1}),
        ("sqrtf(a[i])", {"mufu": 1}),
        ("rsqrtf(a[i])", {"mufu": 1}),
        ("1.0f / sqrtf(a[i])", {"mufu": 1}),  # MUFU.RSQ
        ("b[i] / sqrtf(a[i])", {"mufu": 2, "fmul": 1}),
        ("1.0f / a[i]", {"mufu": 1}),
        ("a[i] / 3.0f", {"fmul": 1}),
        ("a[i] / b[i] + b[i]", {"mufu": 1, "ffma": 1}),
        ("a[i] / b[i] + a[i] * a[i] / b[i]", {"mufu": 1, "fmul": 2, "ffma": 1}),  # one reciprocal for both
        ("powf(a[i], b[i]) + sinf(b[i])", {"mufu": 3, "fmul": 2, "fadd": 1}),
        ("powf(3.0f, a[i])", {"mufu": 1, "fmul": 1}),
        ("1.0f / (1.0f + expf(-a[i]))", {"mufu": 2, "fmul": 1, "fadd": 1}),
        (
            "0.5f * a[i] * (1.0f + tanhf(0.79f * (a[i] + 0.044715f * a[i] * a[i] * a[i])))",
            {"mufu": 1, "fmul": 5, "ffma": 1, "fadd": 1},
        ),
    ],
)
def test_what_an_expression_becomes(tmp_path, expression, made):
    assert arithmetic(tmp_path, f"c[i] = {expression};") == {**made, "branch": 1}  # EXIT


def test_the_reciprocal_of_a_divisor_is_made_before_the_loop(tmp_path):
    made = arithmetic(tmp_path, "float d = b[i]; for (int j = 0; j < 64; j++) c[i + j] = a[i + j] / d;")
    assert (made["mufu"], made["fmul"]) == (1, 64)


def test_doubles_are_as_without(tmp_path):
    body = "double x = a[i]; c[i] = exp(x) / x;"
    assert arithmetic(tmp_path, body) == arithmetic(tmp_path, body, "")


@pytest.mark.parametrize("name", ["exp", "log", "log2", "log10", "sin", "cos", "tan"])
def test_a_function_is_its_quick_form(tmp_path, name):
    quick = arithmetic(tmp_path, f"c[i] = __{name}f(a[i]);")
    for plain in (f"{name}f(a[i])", f"std::{name}(a[i])", f"{name}(a[i])"):
        assert arithmetic(tmp_path, f"c[i] = {plain};") == quick
    assert arithmetic(tmp_path, f"c[i] = {name}f(a[i]);", "") != quick


@pytest.mark.parametrize(
    ("expression", "special"),
    [
        ("a[i] / 3.0f", 0),
        ("a[i] / -10.5f", 0),
        ("a[i] / n", 1),
        ("a[i] / b[i]", 1),
        ("double(a[i]) / 3.1", 1),
    ],
)
def test_the_reciprocal_of_a_number_is_no_special_function(tmp_path, expression, special):
    """SASS of nvcc 13: FFMA from two constants and FCHK, no MUFU.RCP; doubles have MUFU.RCP64H."""
    found = arithmetic(tmp_path, f"c[i] = {expression};", None)
    assert found.get("mufu", 0) == special
    assert found.get("fsetp", 0) == (2 if "double" in expression else 1)


def test_a_division_is_its_quick_form(tmp_path):
    quick = arithmetic(tmp_path, "c[i] = __fdividef(a[i], b[i]);")
    assert arithmetic(tmp_path, "c[i] = a[i] / b[i];") == quick
    assert arithmetic(tmp_path, "c[i] = __powf(a[i], b[i]);") == arithmetic(
        tmp_path, "c[i] = powf(a[i], b[i]);"
    )


SOURCE = "__global__ void k(float *x) { x[threadIdx.x] = 1; }\nint main() { k<<<1, 32>>>(0); }\n"


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("Makefile", "F = -O3 --use_fast_math\nall: k\nk: k.cu\n\tnvcc $(F) k.cu -o k\n", "Makefile:4"),
        ("Makefile", "F = -O3\nF += -use_fast_math\n%: %.cu\n\tnvcc $(F) $< -o $@\n", "Makefile:4"),
        ("Makefile", "k: k.cu\n\tnvcc -O3 k.cu -o k\nother: o.cu\n\tnvcc -use_fast_math o.cu -o o\n", ""),
        ("Makefile", "ifeq ($(FAST), 1)\nF = -use_fast_math\nendif\nk: k.cu\n\tnvcc $(F) k.cu -o k\n", ""),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\ntarget_compile_options(k PRIVATE -use_fast_math)\n",
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\n"
            "target_compile_options(k PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--use_fast_math>)\n",
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\n"
            'target_compile_options(k PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-G --use_fast_math>")\n',
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\n"
            'target_compile_options(k PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-O3;--use_fast_math>")\n',
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\nadd_executable(o o.cu)\n"
            "set_target_properties(k PROPERTIES CXX_STANDARD 17 COMPILE_OPTIONS --use_fast_math)\n",
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\nadd_executable(o o.cu)\n"
            "set_target_properties(o PROPERTIES COMPILE_OPTIONS --use_fast_math)\n",
            "",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\ntarget_compile_options(k PRIVATE $<$<CONFIG:Debug>:--use_fast_math>)\n",
            "",
        ),
        (
            "CMakeLists.txt",
            "add_executable(k k.cu)\nadd_executable(o o.cu)\n"
            "target_compile_options(o PRIVATE --use_fast_math)\n",
            "",
        ),
        (
            "CMakeLists.txt",
            'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -O3 --use_fast_math")\nadd_executable(k k.cu)\n',
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            'string(APPEND CMAKE_CUDA_FLAGS " --use_fast_math")\nadd_executable(k k.cu)\n',
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "list(APPEND CUDA_NVCC_FLAGS -O3 -use_fast_math)\ncuda_add_executable(k k.cu)\n",
            "CMakeLists.txt",
        ),
        (
            "CMakeLists.txt",
            "if(UNKNOWN_PLATFORM)\nlist(APPEND CUDA_NVCC_FLAGS -use_fast_math)\nendif()\n"
            "add_executable(k k.cu)\n",
            "",
        ),
        (
            "CMakeLists.txt",
            'if(UNKNOWN)\nset(CMAKE_CUDA_FLAGS "--use_fast_math")\nendif()\nadd_executable(k k.cu)\n',
            "",
        ),
        (
            "CMakeLists.txt",
            "add_compile_options(--use_fast_math)\nadd_executable(k k.cu)\n",
            "CMakeLists.txt",
        ),
        (
            "setup.py",
            "CUDAExtension('k', ['k.cu'], extra_compile_args={'nvcc': ['-O3', '--use_fast_math']})\n",
            "setup.py",
        ),
        (
            "setup.py",
            "CUDAExtension('k', ['k.cu'], extra_compile_args={'cxx': ['-O3', '--use_fast_math']})\n",
            "",
        ),
    ],
)
def test_who_says_it(tmp_path, name, text, where):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / name).write_text(text)
    assert compile_flags(tmp_path / "k.cu").fast_math == where
    (kernel,) = read_cuda(tmp_path / "k.cu").kernels
    assert kernel.fast_math == where


def test_a_database_of_commands_says_it(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(SOURCE)
    command = {"directory": str(tmp_path), "file": "k.cu", "command": "nvcc -use_fast_math -c k.cu"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([command]))
    (kernel,) = read_cuda(tmp_path / "k.cu").kernels
    assert kernel.fast_math == "compile_commands.json"
    (kernel,) = read_cuda(tmp_path / "k.cu", ParseOptions(fast_math="")).kernels
    assert kernel.fast_math == ""


def test_the_user_has_the_last_word_and_it_is_told(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(KERNEL.format("c[i] = expf(a[i]);"))
    (tmp_path / "Makefile").write_text("k: k.cu\n\tnvcc -use_fast_math k.cu -o k\n")
    told = {
        words: analyze(tmp_path / "k.cu", gpu="a100", cache=False, nvcc_flags=words).kernels[0]
        for words in (None, "", "--use_fast_math")
    }
    assert {words: kernel.source.fast_math for words, kernel in told.items()} == {
        None: "Makefile:2",
        "": "",
        "--use_fast_math": "--nvcc-flags",
    }
    works = {words: kernel.work for words, kernel in told.items()}
    made = {words: work and work.instructions_per_thread for words, work in works.items()}
    assert made[None] == made["--use_fast_math"] != made[""]


def test_flags_that_change_nothing_we_know_of_are_refused(tmp_path):
    (tmp_path / "k.cu").write_text(SOURCE)
    with pytest.raises(WattsliceError, match="-O3"):
        analyze(tmp_path / "k.cu", cache=False, nvcc_flags="-O3 --use_fast_math")

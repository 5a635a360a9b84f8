# ruff: noqa: E501  (CUDA sources on one line)
from pathlib import Path
from typing import Any

import pytest

from wattslice.analysis import LaunchSource
from wattslice.errors import FrontendError
from wattslice.frontend import source_files
from wattslice.frontend.cuda.clang import guards
from wattslice.frontend.cuda.clang.flags import language_flags
from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.parse import prelude_pch
from wattslice.frontend.cuda.clang.session import ParsedUnit, parse_cuda
from wattslice.frontend.cuda.lowering.program import lower_program
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

KERNEL = "__global__ void k(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2.0f; }\n"


@pytest.fixture
def parse(tmp_path: Path):
    def run(text: str, name: str = "k.cu", **options: Any) -> ParsedUnit:
        path = tmp_path / name
        path.write_text(text)
        return parse_cuda(path, ParseOptions(search_root=tmp_path, **options))

    return run


def completeness(unit: ParsedUnit) -> list[bool]:
    """Of each kernel, whether nothing of it was lost."""
    return [kernel.body_is_complete for kernel in lower_program(unit).kernels]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x7fELF\0\0\1", "NUL"),
        ("__global__ void k() {}".encode("utf-16"), "UTF-16"),
        (b"// " + bytes(range(0x80, 0xC0)) * 9, "not UTF-8"),
        (b"int x = " + b"(" * 10_000 + b"1" + b")" * 10_000 + b";", "nest"),
        (b"int f(int n) { return " + b"- " * 20_000 + b"n; }", "too deeply"),
        (b"template<class T> struct V{};" + b"V<" * 20_000 + b"int" + b">" * 20_000 + b" v;", "too deeply"),
    ],
)
def test_bad_input_is_a_typed_error_with_a_remedy(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "bad.cu"
    path.write_bytes(content)
    with pytest.raises(FrontendError, match=message) as caught:
        parse_cuda(path)
    assert caught.value.path == path
    assert caught.value.remedy


def test_missing_file_and_folder_are_typed_errors(tmp_path: Path):
    with pytest.raises(FrontendError, match="no such file"):
        parse_cuda(tmp_path / "absent.cu")
    with pytest.raises(FrontendError, match="folder"):
        parse_cuda(tmp_path)


def test_unreadable_file_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(guards, "file_bytes", refuse)
    with pytest.raises(FrontendError, match="cannot be read: Permission denied"):
        parse_cuda(path)


def test_endless_template_recursion_ends_in_diagnostics(parse):
    unit = parse(
        "template <int N> __device__ int f() { return f<N + 1>(); }\n__global__ void k(int* a) { *a = f<0>(); }\n"
    )
    assert any("recursive template" in d.message for d in unit.diagnostics)


def test_latin_1_comment_is_read(tmp_path: Path):
    path = tmp_path / "k.cu"
    path.write_bytes(b"// r\xe9sum\xe9\n" + KERNEL.encode())
    assert completeness(parse_cuda(path)) == [True]


def test_header_is_searched_in_the_repository(parse, tmp_path: Path):
    (tmp_path / "deep" / "inc").mkdir(parents=True)
    (tmp_path / "deep" / "inc" / "scale.h").write_text(
        "__device__ float scale(float x) { return 3.0f * x; }\n"
    )
    unit = parse('#include "scale.h"\n__global__ void k(float* a) { a[0] = scale(a[0]); }\n')
    assert unit.recovered.found_includes == (tmp_path / "deep" / "inc",)
    assert completeness(unit) == [True]


def test_what_changed_on_the_disk_is_seen_in_the_same_process(parse, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(source_files, "_FRESH_S", 0.0)
    text = '#include "late.h"\n__global__ void k(float* a) { a[0] = late(a[0]); }\n'
    assert parse(text).recovered.missing_includes == ("late.h",)
    header = tmp_path / "inc" / "late.h"
    header.parent.mkdir()
    assert parse(text).recovered.missing_includes == ("late.h",)
    header.write_text("__device__ float late(float x) { return x; }\n")
    found = parse(text)
    assert (found.recovered.missing_includes, found.recovered.declared) == ((), ())
    header.write_text("__device__ float late(float x) { return UNKNOWN * x; }\n")
    assert [entry.name for entry in parse(text).recovered.declared] == ["UNKNOWN"]
    header.unlink()
    assert parse(text).recovered.missing_includes == ("late.h",)


def test_a_new_including_file_is_seen_in_the_same_process(parse, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(source_files, "_FRESH_S", 0.0)
    text = "__global__ void step(Cell* c) { c[threadIdx.x].v += 1.0f; }\n"
    (tmp_path / "main.cu").write_text("int main() { return 0; }\n")
    assert parse(text, name="frag.cu").recovered.including_file is None
    main = 'struct Cell { float v; };\n#include "frag.cu"\nint main() { step<<<1, 8>>>(0); }\n'
    (tmp_path / "main.cu").write_text(main)
    assert parse(text, name="frag.cu").recovered.including_file == tmp_path / "main.cu"


def test_templates_of_a_header_are_read_where_they_have_instances(parse, tmp_path: Path, monkeypatch):
    (tmp_path / ".git").mkdir()
    text = (
        "template <class T, int N> __global__ void scale(T *x) { for (int k = 0; k < N; k++) x[k] *= 2; }\n"
        "template <class T> void run(T *x) { scale<T, 8><<<16, 64>>>(x); }\n"
        "template <class T> __global__ void lonely(T *x) { x[0] = 1; }\n"
    )
    monkeypatch.setattr(source_files, "_FRESH_S", 0.0)
    assert parse(text, name="lib.cuh").recovered.including_file is None
    (tmp_path / "uses.cu").write_text('#include "lib.cuh"\nint main() { run<float>(0); }\n')
    assert parse(text, name="lib.cuh").recovered.including_file == tmp_path / "uses.cu"
    program = read_cuda(tmp_path / "lib.cuh")
    assert [kernel.qualified_name for kernel in program.kernels] == ["scale<float, 8>", "lonely"]
    (said,) = (entry.message for entry in program.diagnostics if entry.rule == "PW006")
    assert "'lonely' is not instantiated in this file or uses.cu, which includes it" in said
    (launch,) = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))[:1]
    assert (launch.grid, launch.source) == ((16, 1, 1), LaunchSource.HOST_CODE)


def test_missing_header_is_named_and_does_not_hide_a_hole(parse):
    unit = parse('#include "nowhere/at_all.h"\n__global__ void k(int* a) { a[0] = a[1]; int *p = 1.5; }\n')
    assert unit.recovered.missing_includes == ("nowhere/at_all.h",)
    assert completeness(unit) == [False]


def test_unknown_names_are_declared_and_confessed(parse):
    unit = parse("__global__ void k(real_t* a) { for (int i = 0; i < WIDTH; i++) a[i] = twist(a[i]); }\n")
    assert {(d.name, d.role.value) for d in unit.recovered.declared} == {
        ("real_t", "type"),
        ("WIDTH", "value"),
        ("twist", "function"),
    }
    assert not any(diagnostic.is_error for diagnostic in unit.diagnostics)


def test_fragment_is_read_through_the_file_that_includes_it(parse, tmp_path: Path):
    (tmp_path / "main.cu").write_text(
        'struct Cell { float v; };\n#define W 8\n#include "frag.cu"\nint main() { step<<<1, W>>>(0); }\n'
    )
    unit = parse("__global__ void step(Cell* c) { c[threadIdx.x % W].v += 1.0f; }\n", name="frag.cu")
    assert unit.recovered.including_file == tmp_path / "main.cu"
    assert unit.recovered.declared == ()
    assert completeness(unit) == [True]


def test_defines_work_with_the_precompiled_prelude(parse, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prelude_pch.cache_clear()
    unit = parse(
        "__global__ void k(int* a) { __shared__ int s[TILE]; s[0] = a[0]; a[1] = s[0]; }\n",
        defines=("TILE=64",),
    )
    assert list((tmp_path / "cache" / "wattslice").glob("prelude-*.pch"))
    assert unit.diagnostics == ()


def test_broken_or_impossible_cache_falls_back_silently(parse, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prelude_pch.cache_clear()
    pch = prelude_pch("c++17", "sm_80")
    assert pch is not None
    pch.write_bytes(pch.read_bytes()[:1000])
    assert completeness(parse(KERNEL)) == [True]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    prelude_pch.cache_clear()
    assert prelude_pch("c++17", "sm_80") is None
    assert completeness(parse(KERNEL)) == [True]
    prelude_pch.cache_clear()


@pytest.mark.parametrize("standard", ["c++14", "c++17", "c++20"])
def test_prelude_is_free_of_errors_in_every_standard(parse, standard: str):
    everything = "cuda_fp16 cuda_bf16 cuda_fp8 mma cooperative_groups curand_kernel cublas_v2 cufft math_constants unistd"
    text = "".join(f"#include <{name}.h>\n" for name in everything.split())
    text += "#include <cuda/pipeline>\n#include <cuda/barrier>\n#include <thrust/sort.h>\n"
    unit = parse(text + KERNEL, standard=standard)
    assert [d.message for d in unit.diagnostics] == []
    assert f"-std={standard}" in language_flags(standard, "sm_80")


def test_compile_commands_give_macros_folders_and_gpu(parse, tmp_path: Path):
    (tmp_path / "compile_commands.json").write_text(
        f'[{{"directory": "{tmp_path}", "file": "k.cu", "command": "nvcc -DTILE=4 -I inc -std=c++14 '
        '--expt-relaxed-constexpr -gencode arch=compute_120,code=sm_120 -Xcompiler -fPIC -rdc=true -c k.cu"}]'
    )
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "t.h").write_text("typedef float T;\n")
    unit = parse(
        '#include "t.h"\n__global__ void k(T* a) { __shared__ T s[TILE]; a[0] = s[0]; }\n',
        compile_commands=tmp_path,
    )
    assert unit.diagnostics == ()
    assert unit.recovered.declared == ()


def test_malformed_compile_commands_are_a_typed_error(parse, tmp_path: Path):
    (tmp_path / "compile_commands.json").write_text("[{,]")
    with pytest.raises(FrontendError, match="not JSON"):
        parse(KERNEL, compile_commands=tmp_path)


def test_unknown_types_with_members_become_records_and_unknown_factors_values(parse: Any):
    unit = parse(
        '#include "absent.h"\n__global__ void k(Point* p, float* x) '
        "{ Point q = p[0]; q.y = SCALE * x[1]; p[1] = q; x[2] = p->z; }"
    )
    assert {entry.name: entry.role.value for entry in unit.recovered.declared} == {
        "Point": "record",
        "SCALE": "value",
    }
    assert completeness(unit) == [True]


def test_what_is_cast_to_is_a_type_and_what_is_tested_a_value(parse: Any):
    unit = parse(
        "__global__ void k(int *p) { long a[] = {FLAG, (Handle)p[0], 3}; if (MODE) p[0] = a[1] * (SCALE)-1; }"
    )
    assert {entry.name: entry.role.value for entry in unit.recovered.declared} == {
        "FLAG": "value",
        "Handle": "type",
        "MODE": "value",
        "SCALE": "value",
    }
    assert not any(diagnostic.is_error for diagnostic in unit.diagnostics)


def test_the_file_of_a_node_is_that_of_its_place(parse, tmp_path: Path):
    (tmp_path / "own.h").write_text("#define DECLARE(name) int name(int n);\nint mine(int n);\n")
    unit: ParsedUnit = parse(
        '#include "own.h"\n#include <stdio.h>\nDECLARE(here)\n'
        'int main() { return mine(1) + here(2) + printf("") + nowhere(3); }\n'
    )
    callees = [node.referenced for node in unit.root.walk() if node.kind == CursorKind.CALL_EXPR]
    found = {callee.spelling: callee for callee in callees if callee is not None}
    files = {name: callee.file for name, callee in found.items()}
    assert files == {name: callee.place.path for name, callee in found.items()}
    assert [files["mine"], files["here"]] == [tmp_path / "own.h", tmp_path / "k.cu"]
    assert [name for name, callee in found.items() if unit.is_builtin(callee)] == ["printf"]
    assert [name for name, callee in found.items() if unit.is_made_up(callee)] == ["nowhere"]

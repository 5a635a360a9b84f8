"""PTX whose source is there: launches, arguments and names of parameters are those of the source."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

import wattslice_corpora
from wattslice import ir
from wattslice.analysis import Analysis
from wattslice.config.config import Execution, Options, make_config
from wattslice.frontend.ptx.read import read_ptx
from wattslice.launches.launch import KernelLaunch, LaunchSource
from wattslice.launches.overrides import OverrideError, parse_overrides
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline import files as pipeline
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")

SCALE = "_Z5scalePfif"
SOURCE = """#include "steps.h"
__global__ void scale(float *values, int width, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) values[i] *= factor;
}
int main() { float *v; cudaMalloc(&v, 4000); scale<<<STEPS, 128>>>(v, 1000, 2.5f); }
"""
BODY = """
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
ld.param.u32 %r5, [NAME_param_1]; setp.ge.s32 %p1, %r4, %r5; @%p1 bra DONE;
ld.param.u64 %rd1, [NAME_param_0]; cvta.to.global.u64 %rd2, %rd1; mul.wide.s32 %rd3, %r4, 4;
add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f1, [%rd4]; mul.f32 %f2, %f1, 0f40000000; st.global.f32 [%rd4], %f2;
DONE: ret;
"""
"""The kernels of this page, all alike: those threads that are below the second parameter work."""


def entry(name: str, *types: str, body: str = BODY) -> str:
    """A kernel with numbered parameters, given as `u64` or `b8 16` (of so many bytes)."""
    written = (type_.partition(" ") for type_ in types)
    declared = ",".join(
        f".param .{type_} {name}_param_{number}" + (f"[{size}]" if size else "")
        for number, (type_, _, size) in enumerate(written)
    )
    registers = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"
    return f".visible .entry {name}({declared}) {{ {registers} .loc 1 3 1\n{body.replace('NAME', name)} }}\n"


def ptx(path: Path, *entries: str, sources: tuple[Path, ...], extra: str = "") -> Path:
    """A PTX file with its list of sources at the end, where nvcc writes it."""
    files = "".join(f'.file {number} "{file}"\n' for number, file in enumerate(sources, 1))
    path.write_text(f".version 8.0\n.target sm_80\n.address_size 64\n{extra}{''.join(entries)}{files}")
    return path


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """scale.ptx in a folder of its own, of scale.cu and steps.h in another."""
    for folder in ("src", "made", ".git"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "scale.cu").write_text(SOURCE)
    (tmp_path / "src" / "steps.h").write_text("#define STEPS 8\n")
    return ptx(
        tmp_path / "made" / "scale.ptx",
        entry(SCALE, "u64", "u32", "f32"),
        sources=(tmp_path / "src" / "scale.cu",),
    )


def launches(path: Path, *settings: str) -> tuple[KernelLaunch, ...]:
    overrides = parse_overrides((), settings)
    config = make_config(Options(paths=(path,), gpu="v100", no_cache=True))
    program = pipeline.read_program(path, config)
    host = Path((program.origin or program).file)
    return resolve_launches(program, overrides, GPU, pipeline.neighbours_of(host, config))


def analysed(path: Path, *settings: str, launch: tuple[str, ...] = (), cache: Path | None = None) -> Analysis:
    options = Options(paths=(path,), gpu="v100", overrides=settings, launches=launch, no_cache=True)
    return pipeline.analyze_files(replace(make_config(options), execution=Execution(cache=cache)))


def told(path: Path) -> list[str]:
    return [entry.message for entry in read_ptx(path).diagnostics if entry.rule == "PW061"]


def names(launch: KernelLaunch) -> list[str]:
    return [parameter.name for parameter in launch.kernel.parameters]


def test_geometry_arguments_and_names_are_those_of_the_source(scale: Path):
    (launch,) = launches(scale)
    (source,) = launches(scale.parents[1] / "src" / "scale.cu")
    assert (launch.grid, launch.block) == (source.grid, source.block) == ((8, 1, 1), (128, 1, 1))
    assert (launch.source, launch.line, launch.file) == (LaunchSource.HOST_CODE, source.line, source.file)
    assert launch.arguments == source.arguments == (None, 1000, 2.5)
    assert [*launch.extents.values()] == [*source.extents.values()] == [4000]
    assert names(launch) == ["values", "width", "factor"]
    assert (launch.kernel.name, launch.kernel.mangled_name) == ("scale", SCALE)
    assert told(scale) == []


def test_corpus_kernel(tmp_path: Path):
    source = Path(wattslice_corpora.__file__).parent / "kernels" / "linear_algebra" / "transpose_variants.cu"
    mangled = ("_Z17transposeStraightPKfPfi", "_Z15transposePaddedPKfPfi")
    body = BODY.replace("param_1", "param_2")
    path = ptx(
        tmp_path / "k.ptx", *(entry(m, "u64", "u64", "u32", body=body) for m in mangled), sources=(source,)
    )
    expected = {k.kernel.mangled_name: (k.grid, k.block, k.arguments) for k in launches(source)}
    found = launches(path)
    assert [(k.grid, k.block, k.arguments) for k in found] == [expected[m] for m in mangled]
    assert names(found[0]) == ["in", "out", "n"]


@pytest.mark.parametrize("setting", ["scale.width=512", "scale.param1=512", "param1=512"])
def test_set_by_name_and_by_number(scale: Path, setting: str):
    (launch,) = launches(scale, setting)
    assert launch.arguments == (None, 512, 2.5)
    assert analysed(scale, setting).unmatched_settings == ()


def test_a_setting_without_a_kernel_is_of_the_host_code(scale: Path):
    (given,), (launch,) = launches(scale), launches(scale, "width=512")
    assert launch.arguments == given.arguments


def test_options_win(scale: Path):
    (kernel,) = analysed(scale, launch=("scale=4:64",)).kernels
    assert (kernel.launch.grid, kernel.launch.block, kernel.launch.source) == (
        (4, 1, 1),
        (64, 1, 1),
        LaunchSource.OPTION,
    )
    with pytest.raises(OverrideError, match="no variable"):
        analysed(scale, "scale.height=1")


def test_source_beside_the_ptx(scale: Path):
    for name in ("scale.cu", "steps.h"):
        (scale.parents[1] / "src" / name).rename(scale.with_name(name))
    (launch,) = launches(scale)
    assert (launch.grid, launch.source) == ((8, 1, 1), LaunchSource.HOST_CODE)


def test_without_source_as_before(scale: Path):
    (scale.parents[1] / "src" / "scale.cu").unlink()
    (launch,) = launches(scale)
    assert launch.source is LaunchSource.ASSUMED
    assert names(launch) == ["param0", "param1", "param2"]
    assert told(scale) == []


def test_newer_source_is_told(scale: Path):
    source = scale.parents[1] / "src" / "scale.cu"
    made = scale.stat().st_mtime
    os.utime(source, (made, made + 5))  # a checkout writes both, in any order
    assert told(scale) == []
    os.utime(source, (made, made + 60))
    (message,) = told(scale)
    assert "newer than the PTX" in message
    assert launches(scale)[0].source is LaunchSource.HOST_CODE


@pytest.mark.parametrize(
    ("written", "difference"),
    [
        ("float *values, int width", "2, here 3"),
        ("float *values, double width, float factor", "width is of 8 bytes, here of 4"),
        ("float *values, float width, float factor", "width is a floating-point number"),
    ],
)
def test_other_parameters_are_not_trusted(tmp_path: Path, written: str, difference: str):
    source = tmp_path / "k.cu"
    source.write_text(f'extern "C" __global__ void k({written}) {{}}\nint main() {{ k<<<3, 32>>>(0, 1); }}\n')
    path = ptx(tmp_path / "k.ptx", entry("k", "u64", "u32", "f32"), sources=(source,))
    (message,) = told(path)
    assert difference in message
    (launch,) = launches(path)
    assert (launch.source, names(launch)) == (LaunchSource.ASSUMED, ["param0", "param1", "param2"])


def test_a_kernel_of_other_parameters_is_one_for_which_the_mangled_name_differs(scale: Path):
    path = ptx(
        scale, entry("_Z5scalePfid", "u64", "u32", "f64"), sources=(scale.parents[1] / "src" / "scale.cu",)
    )
    (message,) = told(path)
    assert message.startswith("'scale' has other parameters in ")
    assert "(factor is of 4 bytes, here of 8)" in message


@pytest.mark.parametrize("settings", [("scale.width=5", "scale.param1=6"), ("width=5", "param1=6")])
def test_a_parameter_of_two_values_is_refused(scale: Path, settings: tuple[str, str]):
    with pytest.raises(OverrideError, match="param1=6 and width=5 of scale are one parameter"):
        launches(scale, *settings)
    launches(scale, "scale.width=5", "scale.param1=5")


def test_a_suffix_in_capitals_is_one_of_ptx(scale: Path):
    capitals = scale.rename(scale.with_name("SCALE.PTX"))
    (launch,) = launches(capitals)
    assert (launch.grid, launch.source) == ((8, 1, 1), LaunchSource.HOST_CODE)


def test_kernel_that_the_source_has_not(scale: Path):
    path = ptx(
        scale,
        entry("_Z5scalePff", "u64", "f32", body="ret;"),
        entry(SCALE, "u64", "u32", "f32"),
        sources=(scale.parents[1] / "src" / "scale.cu",),
    )
    (message,) = told(path)
    assert message.startswith("not found in")
    assert "scale" in message
    assert [launch.source for launch in launches(path)] == [LaunchSource.ASSUMED, LaunchSource.HOST_CODE]


def test_template_in_a_namespace_and_members_of_a_structure(tmp_path: Path):
    source = tmp_path / "k.cu"
    source.write_text(
        "struct Box { int rows; int columns; };\n"
        "namespace n {\n"
        "template <int N> __global__ void k(float *x, Box box, int last) { x[last] = box.rows; }\n}\n"
        "int main() { Box b; b.rows = 7; b.columns = 9; n::k<32><<<2, 32>>>(0, b, 5); }\n"
    )
    body = "ld.param.u32 %r1, [NAME_param_1+4]; ld.param.u32 %r2, [NAME_param_2]; ret;"
    mangled = "_ZN1n1kILi32EEEvPf3Boxi"
    path = ptx(tmp_path / "k.ptx", entry(mangled, "u64", "b8 8", "u32", body=body), sources=(source,))
    (launch,) = launches(path)
    assert (launch.kernel.name, launch.kernel.qualified_name) == ("k", "n::k<32>")
    assert dict(zip(names(launch), launch.arguments, strict=True)) == {"x": None, "box_columns": 9, "last": 5}
    (launch,) = launches(path, "k.param1_4=12")
    assert launch.arguments == (None, 12, 5)


def test_elements_of_arrays_and_bit_fields_of_a_structure(tmp_path: Path):
    source = tmp_path / "k.cu"
    source.write_text(
        "struct Box { int rows[3]; unsigned low : 5, high : 7; };\n"
        "__global__ void k(float *x, Box b) { x[b.rows[1] + b.rows[2]] = b.low; }\n"
        "int main() { Box b; for (int i = 0; i < 3; i++) b.rows[i] = 7 + i; b.low = 3; "
        "k<<<2, 32>>>(0, b); }\n"
    )
    body = "".join(f"ld.param.u32 %r{at}, [NAME_param_1+{at}]; " for at in (4, 8, 12)) + "ret;"
    path = ptx(tmp_path / "k.ptx", entry("_Z1kPf3Box", "u64", "b8 16", body=body), sources=(source,))
    (launch,) = launches(path)
    assert launch.arguments == (None, 8, 9, None)  # the last is a word of two bit-fields


@pytest.mark.parametrize(
    ("written", "mangled"),
    [
        ("static __global__ void k(float *x, int n)", "_Z1kPfi"),
        ("template <int N> static __global__ void k(float *x, int n)", "_Z1kILi4EEvPfi"),
        ("namespace { __global__ void k(float *x, int n)", "_ZN32_GLOBAL__N__91f21765_3_k_cu_main1kEPfi"),
    ],
)
def test_kernels_of_one_file_alone(tmp_path: Path, written: str, mangled: str):
    """nvcc and clang mangle these each in its own way."""
    call = "k<4>" if written.startswith("template") else "k"
    source = tmp_path / "k.cu"
    end = "}}" if written.startswith("namespace") else "}"
    source.write_text(f"{written} {{ x[n] = 0; {end}\nint main() {{ {call}<<<9, 32>>>(0, 1); }}\n")
    path = ptx(tmp_path / "k.ptx", entry(mangled, "u64", "u32"), sources=(source,))
    (launch,) = launches(path)
    assert (launch.grid, launch.arguments, told(path)) == ((9, 1, 1), (None, 1), [])


def test_kernel_in_a_header_and_callers_in_other_files(tmp_path: Path):
    header, caller, main = tmp_path / "k.cuh", tmp_path / "run.cu", tmp_path / "main.cpp"
    header.write_text(
        "template <class T> __global__ void k(T *x, int width) { if (width) x[threadIdx.x] = 0; }\n"
    )
    caller.write_text('#include "k.cuh"\nvoid run(float *x, int n) { k<<<n / 64, 64>>>(x, n); }\n')
    main.write_text("void run(float *, int);\nint main() { run(0, 640); }\n")
    path = ptx(tmp_path / "k.ptx", entry("_Z1kIfEvPT_i", "u64", "u32"), sources=(header,))
    (launch,) = launches(path)
    assert (launch.grid, launch.block, launch.arguments) == ((10, 1, 1), (64, 1, 1), (None, 640))
    assert Path(launch.file).name == "run.cu"


def test_kernels_in_many_files_that_one_includes(tmp_path: Path):
    files = [tmp_path / f"k{number}.cu" for number in range(6)]
    for number, file in enumerate(files):
        file.write_text(f"__global__ void k{number}(float *x, int n) {{ x[n] = 0; }}\n")
    calls = "".join(f"k{number}<<<{number + 1}, 32>>>(0, 1); " for number in range(6))
    includes = "".join(f'#include "{file.name}"\n' for file in files)
    (tmp_path / "main.cu").write_text(f"{includes}int main() {{ {calls}}}\n")
    entries = (entry(f"_Z2k{number}Pfi", "u64", "u32") for number in range(6))
    path = ptx(tmp_path / "k.ptx", *entries, sources=tuple(files))
    assert [launch.grid[0] for launch in launches(path)] == [1, 2, 3, 4, 5, 6]
    assert told(path) == []


def test_what_the_host_copies_into_constant_memory(tmp_path: Path):
    source = tmp_path / "k.cu"
    source.write_text(
        "__constant__ int limits[2];\n"
        "__global__ void k(float *x, int n) { if (threadIdx.x < limits[1]) x[n] = 0; }\n"
        "int main() { int h[2] = {3, 4}; cudaMemcpyToSymbol(limits, h, sizeof h); k<<<1, 32>>>(0, 1); }\n"
    )
    path = ptx(
        tmp_path / "k.ptx",
        entry("_Z1kPfi", "u64", "u32"),
        sources=(source,),
        extra=".const .align 4 .b8 limits[8];\n",
    )
    program = read_ptx(path)
    (launch,) = resolve_launches(program, parse_overrides((), ()), GPU)
    (limits,) = (v for v in program.globals if v.space is ir.MemorySpace.CONSTANT)
    assert [(c.variable, c.offset_bytes, c.value) for c in launch.contents.constants] == [
        (limits, 0, 3),
        (limits, 4, 4),
    ]


def test_cache_sees_edits_of_the_source(scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source, header = tmp_path / "src" / "scale.cu", tmp_path / "src" / "steps.h"
    old = scale.stat().st_mtime - 100

    def grid() -> tuple[int, int, int]:
        for file in (source, header):
            if file.exists():
                os.utime(file, (old, old))  # only contents may tell
        (kernel,) = analysed(scale, cache=tmp_path / "cache").kernels
        return kernel.launch.grid

    assert grid() == (8, 1, 1)
    monkeypatch.setattr(pipeline, "analyze_file", None)
    assert grid() == (8, 1, 1)
    monkeypatch.undo()
    header.write_text("#define STEPS 6\n")
    assert grid() == (6, 1, 1)
    source.write_text(SOURCE.replace("STEPS", "5"))
    assert grid() == (5, 1, 1)
    source.rename(tmp_path / "src" / "away.cu")
    assumed = grid()
    assert assumed not in ((5, 1, 1), (6, 1, 1))
    scale.with_name("scale.cu").write_text(SOURCE.replace("STEPS", "4"))
    source = scale.with_name("scale.cu")
    assert grid() == (4, 1, 1)

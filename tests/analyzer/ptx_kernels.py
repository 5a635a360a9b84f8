"""PTX kernels written by hand, and what running them counts."""

from collections import defaultdict
from pathlib import Path

from wattslice import ir
from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Options, make_config
from wattslice.counting.count import count
from wattslice.frontend.ptx.read import read_ptx
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline import files as pipeline
from wattslice_models.gpu import load_gpu

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel_text(body: str, *parameters: str, name: str = "k", directives: str = "") -> str:
    """A kernel with some registers of each type; `parameters` like `u64` become `k_param_0` and so on."""
    listed = ",\n".join(f"\t.param .{type_} {name}_param_{n}" for n, type_ in enumerate(parameters))
    registers = ".reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %fd<9>;"
    return (
        f".visible .entry {name}(\n{listed}\n) {directives}\n{{\n{registers} .reg .b16 %rs<9>;\n{body}\n}}\n"
    )


THREAD = """
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
"""
ADDRESS = """
ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd2, %rd1;
mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd2, %rd3;
"""


def read(tmp_path: Path, text: str) -> ir.Program:
    path = tmp_path / "k.ptx"
    path.write_text(HEADER + text)
    return read_ptx(path)


def executed(tmp_path: Path, text: str, launch: str, *settings: str) -> dict[str, float]:
    """How often a thread runs each instruction, in the mean."""
    program = read(tmp_path, text)
    (found,) = resolve_launches(program, parse_overrides((launch,), settings), load_gpu("v100"))
    profile = count(found)
    total: defaultdict[str, float] = defaultdict(float)
    for instruction in found.kernel.machine_instructions:
        total[instruction.opcode] += profile.thread_counts[instruction.region]
    return total


def analysed(tmp_path: Path, text: str, launch: str, *settings: str) -> KernelAnalysis:
    path = tmp_path / "k.ptx"
    path.write_text(HEADER + text)
    options = Options(paths=(path,), gpu="v100", no_cache=True, launches=(launch,), overrides=settings)
    (kernel,) = pipeline.analyze_files(make_config(options)).kernels
    return kernel

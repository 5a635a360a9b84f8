"""Corpus programs that count their branches compute what they did, and count as the interpreter does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from wattslice.branch_profile.making import arm_counts
from wattslice.branch_profile.profile import ArmCount
from wattslice.frontend.cuda.read import read_cuda
from wattslice.profiling.interpreter.launch import Allowance
from wattslice.profiling.interpreter.run import interpret
from wattslice.profiling.probes.counts import FILE_VARIABLE, read_counts
from wattslice.profiling.probes.emit import emit_probes
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_tools.cuda_on_cpu.toolchain import Toolchain

from .compiled import run
from .programs import each
from .snapshots import read_snapshots, replay

# Many branches, on data, in device functions, in loops that are left early; the whole corpus was tried once.
NAMES = (
    "edit_distance", "h264_intra", "mandelbrot", "median_filter", "merge_path", "radix_sort", "ray_spheres",
    "sorted_lookup", "string_match",
)  # fmt: skip
SAMPLE = tuple(program for program in load_manifest() if program.name in NAMES)
EVERY_BRANCH = Path(__file__).parent.parent / "analyzer" / "probes" / "every_branch.cu"
NVCC = shutil.which("nvcc")
Table = dict[tuple[str, int, int, str], tuple[int, ...]]


def table(arms: list[ArmCount]) -> Table:
    """Counts by place; a function inlined several times counts as one."""
    found: Table = {}
    for arm in arms:
        key = (arm.kernel, arm.line, arm.column, arm.arm)
        counts = (arm.visits, arm.taken, arm.entries or 0)
        found[key] = tuple(a + b for a, b in zip(found.get(key, (0, 0, 0)), counts, strict=True))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("program", each(SAMPLE))
def test_counts_are_those_of_the_interpreter(program: CorpusKernel, toolchain: Toolchain, tmp_path: Path):
    counts, launches = tmp_path / "counts.txt", tmp_path / "launches"
    source = emit_probes(program.file)
    assert source.not_probed == ()
    status, output = run(
        toolchain.compile(program.file, source.text, f"{program.name}_probed"),
        program.runs[0].arguments,
        more={
            FILE_VARIABLE: str(counts),
            "CUDA_ON_CPU_SNAPSHOTS": str(launches),
            "CUDA_ON_CPU_SNAPSHOTS_PER_KERNEL": "1000",
        },
    )
    assert status == 0, output
    parsed = read_cuda(program.file)
    arms: list[ArmCount] = []
    for snapshot in read_snapshots(launches):
        again = replay(snapshot, parsed)
        execution = interpret(again.launch, again.memory, Allowance(max_steps=20_000_000))
        arms += arm_counts(again.launch.kernel, execution.thread_counts)
    interpreted = table(arms)
    probed = table(list(read_counts(counts).arms))
    written = {key: value for key, value in probed.items() if key in interpreted or key[3] != "else"}
    assert written == interpreted


@pytest.mark.slow
@pytest.mark.nvcc
@pytest.mark.skipif(NVCC is None, reason="nvcc is not on the PATH")
def test_nvcc_compiles_them_without_warnings(tmp_path: Path):
    assert NVCC is not None
    sources: list[str] = []
    for path in (EVERY_BRANCH, *(program.file for program in SAMPLE)):
        source = tmp_path / path.name
        source.write_text(emit_probes(path).text, encoding="utf-8")
        sources.append(str(source))
    includes = {str(path.parent) for path in (EVERY_BRANCH, *(program.file for program in SAMPLE))}
    done = subprocess.run(
        [
            NVCC,
            "-std=c++17",
            "-arch=sm_90",
            "--threads=2",
            "-cubin",  # g++ builds the host's part above
            f"-odir={tmp_path}",
            *(f"-I{folder}" for folder in includes),
            *sources,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

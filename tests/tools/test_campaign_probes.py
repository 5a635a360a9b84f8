"""The microbenchmarks' kernels, run by the host's compiler: where their loads go, launch after launch."""

import shutil
import subprocess
from pathlib import Path

import pytest

from wattslice_corpora.records import write_table
from wattslice_corpora.sass import disassemble, find_nvdisasm
from wattslice_tools.campaign.measured_page import measured_page
from wattslice_tools.campaign.probes import SOURCE, ProbeRow, probes

LARGEST_L2_BYTES = 60 << 20
LINE_BYTES = 128

# A thread of a kernel as a function. A load of the ring answers what `link` writes there.
AS_HOST_CODE = """
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(count)
struct uint4 { unsigned x, y, z, w; };
struct Three { unsigned x, y, z; } blockIdx, threadIdx, blockDim{1, 1, 1}, gridDim{1, 1, 1};
uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
std::set<uintptr_t> lines;
unsigned lineCount;
unsigned follow(const unsigned* word) {
    const uintptr_t line = reinterpret_cast<uintptr_t>(word) / 128 - 1;
    lines.insert(line);
    return (1664525u * line + 1013904223u) & (lineCount - 1);
}
unsigned __ldca(const unsigned* word) { return follow(word); }
unsigned __ldcg(const unsigned* word) { return follow(word); }
uint4 __ldca(const uint4*) { return {}; }
uint4 __ldcg(const uint4*) { return {}; }
uint4 __ldcs(const uint4*) { return {}; }
void __stcs(uint4*, uint4) {}
void __syncthreads() {}
void atomicAdd(unsigned*, unsigned) {}
long long clock64() { static long long now; return ++now; }
"""
MAIN = """
int main() {
    lineCount = LINES;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
        chase<Where::WHERE>(reinterpret_cast<const unsigned*>(128), STEPS);
    }
    printf("%zu", lines.size());
}
"""


def lines_of(folder: Path, where: str, ring: int, steps: int, launches: int) -> int:
    """How many cache lines the launches of a chase touch."""
    kernels = SOURCE.read_text().partition("int main(")[0].replace("#include <cuda_runtime.h>", "")
    main = MAIN.replace("LINES", str(ring)).replace("LAUNCHES", str(launches))
    source = folder / "chase.cpp"
    source.write_text(AS_HOST_CODE + kernels + main.replace("WHERE", where).replace("STEPS", str(steps)))
    program = folder / "chase"
    subprocess.run(["g++", "-O1", "-w", "-o", str(program), str(source)], check=True)
    return int(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on the PATH")
@pytest.mark.slow
def test_launch_after_launch_the_chase_through_dram_finds_new_lines(tmp_path: Path):
    steps = next(one.amount for one in probes(132) if one.name == "latency_dram")
    launches = 2 * LARGEST_L2_BYTES // (steps * LINE_BYTES)
    assert lines_of(tmp_path, "Dram", 1 << 23, steps, launches) == launches * steps


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on the PATH")
def test_the_chase_through_l1_hardly_ever_waits_for_a_first_load(tmp_path: Path):
    steps = next(one.amount for one in probes(132) if one.name == "latency_l1")
    first = lines_of(tmp_path, "L1", 128, steps, 1)
    assert first == 128
    assert 20 * first < 0.02 * steps, "a first load takes up to 20 times as long as one from L1"


@pytest.mark.nvcc
@pytest.mark.skipif(
    shutil.which("nvcc") is None or find_nvdisasm() is None, reason="nvcc or nvdisasm is not on the PATH"
)
@pytest.mark.slow
def test_the_compiler_does_not_gather_the_atomics_of_a_warp(tmp_path: Path):
    cubin = tmp_path / "probes.cubin"
    command = ["nvcc", "-std=c++17", "-O3", "-arch=sm_90", "-cubin", "-o", str(cubin), str(SOURCE)]
    subprocess.run(command, check=True)
    (atomics,) = (one for one in disassemble(cubin.read_bytes()) if "atomics" in one.name)
    opcodes = {one.opcode.partition(".")[0] for one in atomics.instructions}
    assert "REDG" in opcodes
    assert not opcodes & {"VOTEU", "VOTE", "POPC", "REDUX"}


def test_the_page_on_what_was_measured_gives_units_and_leaves_unknown_open(tmp_path: Path):
    folder = tmp_path / "1a2b3c4d"
    folder.mkdir()
    board = '{"name": "NVIDIA H200", "uuid": "GPU-1", "pci_bus_id": "", "driver": "580", "cuda": "13.0", '
    (folder / "machine.json").write_text(
        f'{{"board": {board}"power_limit_w": 700}}, "chip": {{"sm_count": 132, "architecture": "sm_90"}}, '
        '"identity": ""}'
    )
    rows = (ProbeRow("read_dram", "byte", 2.2e-13, None, 4.546e12, None, None, ""),)
    write_table(folder / "probes.csv", (), ProbeRow, rows)
    (tmp_path / "log.jsonl").write_text(
        '{"piece": 1, "section": "c", "measured": 55, "valid": 52, '
        '"predicted_s": 225.5, "charged_s": 189.9}\n'
    )
    lines = measured_page(tmp_path).splitlines()
    assert "| 1 | c | 55 | 52 | 3.8 | 3.2 |" in lines
    assert "| 1a2b3c4d, NVIDIA H200 | 580 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert "| read_dram | byte | 0.00022 | – | 4.55e+12 | – |" in lines

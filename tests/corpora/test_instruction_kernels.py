import itertools
import re
import shutil
import struct
from fractions import Fraction
from pathlib import Path

import pytest

from wattslice_corpora.instruction_kernels import (
    INSTRUCTIONS,
    PUBLISHED,
    AssemblyError,
    ChainInstruction,
    Operand,
    assemble,
    assembled_instances,
    chain_ptx,
    faults,
)
from wattslice_corpora.instruction_kernels.machine_code import opcode_counts
from wattslice_corpora.published.arafa2020 import arafa2020_instruction_energies
from wattslice_corpora.sass import Instruction, find_nvdisasm

NVCC = shutil.which("nvcc") or ""
DOCUMENT = (Path(__file__).parents[2] / "docs" / "appendix" / "machine-code.md").read_text(encoding="utf-8")
FORMATS = {Operand.F32: "<f", Operand.F64: "<d", Operand.F16: "<e"}
needs_nvcc = [
    pytest.mark.nvcc,
    pytest.mark.skipif(not NVCC, reason="nvcc is not on the PATH"),
    pytest.mark.skipif(find_nvdisasm() is None, reason="no nvdisasm"),
]


def test_every_instruction_that_the_paper_names_is_measured():
    rows = {(row.category, row.instruction) for row in arafa2020_instruction_energies()}
    assert {(one.category, one.table_row) for one in PUBLISHED} == rows
    for category, label in rows:
        ours = "+".join(one.name for one in PUBLISHED if one.category == category).split("+")
        for name in label.replace("{s}", "").replace("{u}", "").replace("()", "").split("/"):
            words = set(name.strip().split("."))  # `approx.sqrt` is PTX's `sqrt.approx`
            assert any(words <= set(one.split(".")) for one in ours), (category, name)
    signed = {(one.table_row[1], one.name.split(".")[1][0]) for one in PUBLISHED if "{" in one.table_row}
    assert signed == {("s", "s"), ("u", "u")}


def test_no_two_instructions_share_a_file():
    assert len({one.file_stem for one in INSTRUCTIONS}) == len(INSTRUCTIONS)


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda one: one.name)
def test_the_two_kernels_differ_by_the_instances_alone(instruction: ChainInstruction, optimized: bool):
    ours, theirs = (chain_ptx(instruction, with_instances, optimized) for with_instances in (True, False))
    left = list(theirs.splitlines())
    added = []
    for line in ours.splitlines():
        if left and line == left[0]:
            left.pop(0)
        else:
            added.append(line)
    assert not left
    assert len(added) == instruction.instances
    opcodes = instruction.name.split("+")
    assert all(re.search(rf"\b{re.escape(opcode)} ", line) for opcode in opcodes for line in added)


@pytest.mark.parametrize("operand", FORMATS, ids=lambda one: one.label)
def test_floating_point_chains_begin_between_1_and_2_and_come_back(operand: Operand):
    layout = FORMATS[operand]
    size = struct.calcsize(layout)

    def number(bits: int) -> float:
        (value,) = struct.unpack(layout, bits.to_bytes(8, "little")[:size])
        return value

    shift = 32 if operand is Operand.F64 else 0
    first, last = operand.pattern << shift, (operand.pattern | operand.mask) << shift
    if operand is Operand.F16:
        first, last = first & 0xFFFF, last & 0xFFFF
    assert (number(first), number(last)) == (1.0, pytest.approx(2.0, rel=1e-3))
    a, b, c, d = (number(bits) for bits in operand.constants)
    tolerance = 1e-3 if operand is Operand.F16 else 1e-6
    assert a * b == pytest.approx(1.0, rel=tolerance)
    assert (3.0 * a + c) * b + d == pytest.approx(3.0, rel=tolerance)


def test_moves_of_a_constant_on_the_pipe_of_half_precision_are_moves():
    body = (
        Instruction("", False, "HFMA2.MMA", "R8, -RZ, RZ, 0, 0"),
        Instruction("", False, "HFMA2.MMA", "R8, R1, R2, R8"),
        Instruction("", False, "NOP", ""),
    )
    assert opcode_counts(body) == {"MOV": 1, "HFMA2.MMA": 1}


class TestAssembled:
    pytestmark = needs_nvcc

    @pytest.mark.slow
    def test_no_instance_is_removed_or_merged_and_the_document_says_what_it_became(self, tmp_path: Path):
        codes = assembled_instances(INSTRUCTIONS, NVCC, "sm_90", True, tmp_path)
        for instruction, code in zip(INSTRUCTIONS, codes, strict=True):
            assert faults(instruction, code) == ()
            (line,) = (line for line in DOCUMENT.splitlines() if line.startswith(f"| `{instruction.name}` |"))
            cells = [cell.strip() for cell in line.strip("|").split("|")][2:5]
            shown = itertools.accumulate(cells, lambda before, cell: before if cell == "same" else cell)
            assert list(shown)[-1] == str(code)

    def test_instances_that_fold_are_found(self, tmp_path: Path):
        """What the guards and helpers are for."""
        careless = (
            ChainInstruction("xor.b32", "xor.b32 {x}, {x}, {a};", Operand.B32),
            ChainInstruction("add.u64", "add.u64 {x}, {x}, {a};", Operand.B64),  # two become one of two
            ChainInstruction("rem.u32", "rem.u32 {x}, {x}, {a};", Operand.B32, instances=16),
        )
        codes = assembled_instances(careless, NVCC, "sm_90", True, tmp_path)
        assert codes[0].count < Fraction(1, 2)
        assert all(faults(one, code) for one, code in zip(careless, codes, strict=True))

    def test_what_is_no_instruction_is_told(self, tmp_path: Path):
        source = tmp_path / "bad.ptx"
        source.write_text(chain_ptx(ChainInstruction("no", "no.u32 {x};", Operand.B32), True))
        with pytest.raises(AssemblyError, match=r"bad\.ptx: does not assemble: .*no"):
            assemble(NVCC, source, "sm_90", True)

import math

import pytest

from wattslice_models.instruction_energy import (
    Basis,
    ExecutedInstruction,
    InstructionEnergies,
    Variant,
    launch_energy,
    opcode_row,
    table_1_row,
    thread_energy,
)
from wattslice_models.instruction_rows import TABLE_1

# Row n of the table costs n + 1 µJ, so that an energy tells its row.
TABLE = InstructionEnergies(
    "titan_v",
    True,
    "mtsm",
    "a table",
    tuple(
        table_1_row(category, instruction, (number + 1) * 1e-6)
        for number, (category, instruction, _) in enumerate(TABLE_1)
    ),
)
MEASURED_OPCODES = """
    add.u32 mul.lo.u32 div.s32 rem.s32 abs.s32 div.u32 rem.u32 and.b32 cnot.b32 shl.b32 add.f32 mul.f32
    div.rn.f32 add.f64 div.rn.f64 add.f16 addc.u32 subc.u32 madc.lo.s32 rcp.rn.f32 sqrt.rn.f32
    sqrt.approx.f32 rsqrt.approx.f32 sin.approx.f32 lg2.approx.f32 ex2.approx.f32 copysign.f32
    mul24.lo.u32 sad.s32 popc.b32 clz.b32 bfind.s32
"""


def row_of(opcode: str) -> str:
    return TABLE.price(opcode).row


def test_each_row_holds_for_the_opcode_that_was_run_under_it() -> None:
    rows = [f"{category}: {instruction}" for category, instruction, _ in TABLE_1]
    assert [row_of(opcode) for opcode in MEASURED_OPCODES.split()] == rows


@pytest.mark.parametrize(
    ("opcode", "row"),
    [
        ("add.s32", "Integer Arithmetic Instructions: add / sub / min / max"),
        ("mad.lo.s32", "Integer Arithmetic Instructions: mul / mad"),
        ("xor.b32", "Logic and Shift Instructions: and / or / not / xor"),
        ("shr.u32", "Logic and Shift Instructions: shl / shr"),
        ("fma.rn.f32", "Floating Single Precision Instructions: mul / mad / fma"),
        ("fma.rn.ftz.f32", "Floating Single Precision Instructions: mul / mad / fma"),
        ("max.f32", "Floating Single Precision Instructions: add / sub / min / max"),
        ("cos.approx.ftz.f32", "Special Mathematical Instructions: sin / cos"),
        ("mad.lo.cc.u32", "Multi Precision Instructions: mad.cc / madc"),
    ],
)
def test_a_row_holds_for_the_mnemonics_it_names(opcode: str, row: str) -> None:
    assert (row_of(opcode), TABLE.price(opcode).basis) == (row, Basis.NAMED)


@pytest.mark.parametrize(
    ("opcode", "why"),
    [
        ("ld.global.f32", "load"),
        ("ld.shared.v4.f32", "load"),
        ("st.global.u32", "store"),
        ("atom.global.add.u32", "atomic"),
        ("bra", "branch"),
        ("bar.sync", "barrier"),
        ("setp.lt.s32", "comparison"),
        ("mov.u32", "move"),
        ("cvt.rn.f32.s32", "conversion"),
        ("cvta.to.global.u64", "move"),
        ("mul.wide.s32", "low half"),
        ("add.s64", "width"),
        ("and.b64", "width"),
        ("div.full.f32", "correctly rounded"),
        ("fma.rn.f64", "no such instruction"),
        ("and.pred", "predicates"),
        ("add.f32x2", "no such instruction"),
    ],
)
def test_what_the_table_does_not_name_has_no_energy_but_a_reason(opcode: str, why: str) -> None:
    price = TABLE.price(opcode)
    assert (price.energy_j, price.basis) == (None, Basis.NONE)
    assert why in price.reason


def test_stand_ins_only_where_asked_for_and_marked() -> None:
    guess = TABLE.price("add.s64", stand_ins=True)
    assert guess.basis is Basis.STAND_IN
    assert guess.energy_j == pytest.approx(2e-6)  # twice the first row
    assert guess.reason
    assert guess.row.startswith("2 x Integer Arithmetic")
    assert TABLE.price("add.s32", stand_ins=True).basis is Basis.NAMED
    assert TABLE.price("ld.global.f32", stand_ins=True).basis is Basis.NONE


def test_a_number_that_the_table_lacks_is_unknown_and_not_zero() -> None:
    half = table_1_row("Half Precision Instructions", "add / sub / mul", None, "not run on this GPU")
    energies = InstructionEnergies("gtx_titan_x", True, "mtsm", "a table", (half,))
    price = energies.price("add.f16")
    assert (price.energy_j, price.reason) == (None, "not run on this GPU")


def test_a_row_that_no_table_has_is_refused() -> None:
    with pytest.raises(KeyError):
        table_1_row("Integer Arithmetic Instructions", "sub", 1e-6)


def test_executions_times_energy_with_shares_and_coverage() -> None:
    executed = [
        ExecutedInstruction("add.s32", 2.0),
        ExecutedInstruction("ld.global.f32", 8.0),
        ExecutedInstruction("add.s32", 2.0),
        ExecutedInstruction("mul.lo.s32", 6.0),
        ExecutedInstruction("fma.rn.f32", 0.0),
        ExecutedInstruction("setp.lt.s32", 4.0),
    ]
    thread = thread_energy(executed, TABLE)
    assert [entry.opcode for entry in thread.instructions] == [
        "mul.lo.s32",
        "add.s32",
        "ld.global.f32",
        "setp.lt.s32",
    ]
    assert thread.executions == 22
    assert thread.energy_j == pytest.approx(4 * 1e-6 + 6 * 2e-6)
    assert thread.coverage(Basis.NAMED) == pytest.approx(10 / 22)
    assert [thread.share(entry) for entry in thread.instructions] == [0.75, 0.25, None, None]
    guessed = thread_energy(executed, TABLE, stand_ins=True)
    assert guessed.coverage(Basis.NAMED) == pytest.approx(10 / 22)
    assert guessed.coverage(Basis.STAND_IN) == pytest.approx(4 / 22)
    assert math.isclose(guessed.energy_j or 0.0, 20e-6)


def test_nothing_priced_is_unknown() -> None:
    thread = thread_energy([ExecutedInstruction("bra", 1.0)], TABLE)
    assert thread.energy_j is None
    assert thread.share(thread.instructions[0]) is None
    assert thread_energy([], TABLE).coverage(Basis.NAMED) is None


def test_only_energies_of_a_full_board_are_multiplied_by_threads() -> None:
    executed = [ExecutedInstruction("add.u32", 3.0)]
    row = opcode_row("add.u32", 2e-12)
    alone = InstructionEnergies("h200", True, "mtsm", "", (row,))
    full = InstructionEnergies("h200", True, "mtsm", "", (row,), Variant.THROUGHPUT)
    assert launch_energy(thread_energy(executed, alone), 1000, alone) is None
    launch = launch_energy(thread_energy(executed, full), 1000, full)
    assert launch is not None
    assert (launch.most_j, launch.above_idle_j) == (pytest.approx(6e-9), None)
    row = opcode_row("add.u32", 2e-12, above_idle_j=0.5e-12)
    full = InstructionEnergies("h200", True, "mtsm", "", (row,), Variant.THROUGHPUT)
    launch = launch_energy(thread_energy(executed, full), 1000, full)
    assert launch is not None
    assert launch.above_idle_j == pytest.approx(1.5e-9)


def test_opcodes_measured_together_share_the_row() -> None:
    row = opcode_row("sub.cc.u32+subc.u32", 1e-6)
    energies = InstructionEnergies("h200", True, "mtsm", "", (row,))
    assert energies.price("subc.u32").energy_j == energies.price("sub.cc.u32").energy_j == 1e-6
    assert energies.price("subcxu32").energy_j is None

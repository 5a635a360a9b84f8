"""The kinds of instructions that machine code has, by opcode."""

from __future__ import annotations

from wattslice.workload.instructions.kinds import InstructionKind

_KINDS: tuple[tuple[InstructionKind, str], ...] = (
    (InstructionKind.FFMA, "FFMA FSWZADD"),
    (InstructionKind.FADD, "FADD"),
    (InstructionKind.FMUL, "FMUL"),
    (InstructionKind.FSETP, "FSETP FSEL FMNMX FCHK FSET"),
    (InstructionKind.DFMA, "DFMA"),
    (InstructionKind.DADD, "DADD"),
    (InstructionKind.DMUL, "DMUL"),
    (InstructionKind.DSETP, "DSETP"),
    (InstructionKind.HFMA2, "HFMA2 HADD2 HMUL2 HSETP2 HSET2 HMNMX2"),
    (InstructionKind.IMAD, "IMAD UIMAD"),
    (InstructionKind.IADD, "IADD3 UIADD3 LEA ULEA IABS IMNMX VIADD VIMNMX VABSDIFF"),
    (InstructionKind.LOP, "LOP3 ULOP3 PLOP3 UPLOP3"),
    (InstructionKind.SHF, "SHF USHF"),
    (InstructionKind.ISETP, "ISETP UISETP SEL USEL"),
    (InstructionKind.MUFU, "MUFU"),
    (InstructionKind.CONVERSION, "I2F F2I F2F I2I FRND"),
    (InstructionKind.PACK, "F2FP"),
    (InstructionKind.INT_TO_FLOAT, "I2FP"),
    (InstructionKind.BRANCH, "BRA EXIT BSSY BSYNC CALL RET WARPSYNC BRX BREAK JMP"),
    (InstructionKind.LDG, "LDG LD"),
    (InstructionKind.STG, "STG ST"),
    (InstructionKind.LDS, "LDS LDSM"),
    (InstructionKind.STS, "STS"),
    (InstructionKind.LDL, "LDL"),
    (InstructionKind.STL, "STL"),
    (InstructionKind.LDC, "LDC"),
    (InstructionKind.TEX, "TEX TLD TLD4 SULD SUST TXQ TXD TMML"),
    (InstructionKind.ATOM, "ATOM ATOMG ATOMS RED"),
    (InstructionKind.BAR, "BAR"),
    (InstructionKind.SHFL, "SHFL VOTE VOTEU MATCH REDUX"),
    (InstructionKind.HMMA, "HMMA IMMA DMMA BMMA"),
    (InstructionKind.MOV, "MOV UMOV S2R S2UR CS2R ULDC PRMT UPRMT R2UR"),
)
_OF_OPCODE: dict[str, InstructionKind] = {op: kind for kind, ops in _KINDS for op in ops.split()}


def kind_of_sass(opcode: str, operands: str) -> InstructionKind | None:
    """The kind of one SASS instruction (`IMAD.WIDE`, its operands as text); None for NOP padding."""
    name, _, modifiers = opcode.partition(".")
    if name == "NOP":
        return None
    if name == "IMAD" and modifiers.startswith(("MOV", "U32")) and _moves(operands):
        return InstructionKind.MOV
    if name == "HFMA2" and operands.count("RZ") >= 2:
        return InstructionKind.MOV
    if name == "LDC" and "c[0x0]" in operands:  # since sm_90 no other instruction reads a parameter
        return InstructionKind.MOV
    kind = _OF_OPCODE.get(name, InstructionKind.OTHER)
    if kind is InstructionKind.CONVERSION and "64" in modifiers:
        return InstructionKind.WIDE_CONVERSION
    return kind


def _moves(operands: str) -> bool:
    """`IMAD.MOV.U32 R1, RZ, RZ, x` and its kin multiply nothing."""
    return operands.count("RZ") >= 2

"""Which PTX instruction a row of Arafa et al. 2020, Table I, speaks about, and which may stand in for others.

The rows name mnemonics ("mul / mad / fma"). What was run under them is known from the kernels that the
authors published (NMSU-PEARL/GPUs-Energy at 14bc4b4): 32-bit integers, `mul.lo`, `div.rn`, `rcp.rn`,
`sqrt.rn`, and the `.approx` forms of the other functions. A row therefore holds for these forms, with either
sign and any rounding, and not for a form that becomes other instructions: `mul.wide`, `div.full`, 64 bits.
"""

from __future__ import annotations

import re

from msgspec import Struct

_ROUNDED = r"(\.r[nzmp]i?)?(\.ftz)?(\.sat)?"
_CORRECT = r"\.r[nzmp](\.ftz)?"

INTEGER = "Integer Arithmetic Instructions"
LOGIC = "Logic and Shift Instructions"
SINGLE = "Floating Single Precision Instructions"
DOUBLE = "Double Precision Instructions"
HALF = "Half Precision Instructions"
MULTI = "Multi Precision Instructions"
SPECIAL = "Special Mathematical Instructions"
INTRINSIC = "Integer Intrinsic Instructions"

TABLE_1: tuple[tuple[str, str, str], ...] = (
    (INTEGER, "add / sub / min / max", r"(add|sub|min|max)\.[su]32"),
    (INTEGER, "mul / mad", r"(mul|mad)\.lo\.[su]32"),
    (INTEGER, "{s} div", r"div\.s32"),
    (INTEGER, "{s} rem", r"rem\.s32"),
    (INTEGER, "abs", r"abs\.s32"),
    (INTEGER, "{u} div", r"div\.u32"),
    (INTEGER, "{u} rem", r"rem\.u32"),
    (LOGIC, "and / or / not / xor", r"(and|or|not|xor)\.b32"),
    (LOGIC, "cnot", r"cnot\.b32"),
    (LOGIC, "shl / shr", r"(shl|shr)\.[bsu]32"),
    (SINGLE, "add / sub / min / max", rf"(add|sub|min|max){_ROUNDED}\.f32"),
    (SINGLE, "mul / mad / fma", rf"(mul|mad|fma){_ROUNDED}\.f32"),
    (SINGLE, "div", rf"div{_CORRECT}\.f32"),
    (DOUBLE, "add / sub / min / max", rf"(add|sub|min|max){_ROUNDED}\.f64"),
    (DOUBLE, "div", rf"div{_CORRECT}\.f64"),
    (HALF, "add / sub / mul", rf"(add|sub|mul){_ROUNDED}\.f16"),
    (MULTI, "add.cc / addc / sub.cc", r"(add\.cc|addc|addc\.cc|sub\.cc)\.[su]32"),
    (MULTI, "subc", r"subc(\.cc)?\.[su]32"),
    (MULTI, "mad.cc / madc", r"(mad|madc)\.(lo|hi)\.cc\.[su]32|madc\.(lo|hi)\.[su]32"),
    (SPECIAL, "rcp", rf"rcp{_CORRECT}\.f32"),
    (SPECIAL, "sqrt", rf"sqrt{_CORRECT}\.f32"),
    (SPECIAL, "approx.sqrt", r"sqrt\.approx(\.ftz)?\.f32"),
    (SPECIAL, "rsqrt", r"rsqrt\.approx(\.ftz)?\.f32"),
    (SPECIAL, "sin / cos", r"(sin|cos)\.approx(\.ftz)?\.f32"),
    (SPECIAL, "lg2", r"lg2\.approx(\.ftz)?\.f32"),
    (SPECIAL, "ex2", r"ex2\.approx(\.ftz)?\.f32"),
    (SPECIAL, "copysign", r"copysign\.f32"),
    (INTRINSIC, "mul24() / mad24()", r"(mul24|mad24)\.(lo|hi)\.[su]32"),
    (INTRINSIC, "sad()", r"sad\.[su]32"),
    (INTRINSIC, "popc()", r"popc\.b32"),
    (INTRINSIC, "clz()", r"clz\.b32"),
    (INTRINSIC, "bfind()", r"bfind(\.shiftamt)?\.[su]32"),
)
"""Category and row as printed, and its opcodes (a regular expression of the whole opcode)."""


_SAME_CODE = (
    (r"((?:add|sub)c?(?:\.cc)?|(?:mul|mad)\.lo)\.[su](16|32|64)", r"\g<1>.[su]\g<2>"),
    (r"(selp)\.[bsuf](32|64)", r"\g<1>.[bsuf]\g<2>"),
)
"""Opcodes that become one machine code whatever the sign or type: sums, the low half of products, selection.
Not comparisons, shifts to the right, quotients and high halves, to which the sign matters."""


def same_code(opcode: str) -> str:
    """The opcodes that a measurement of one holds for, a regular expression of the whole opcode."""
    for pattern, alike in _SAME_CODE:
        if found := re.fullmatch(pattern, opcode):
            return found.expand(alike).replace(".", r"\.")
    return re.escape(opcode)


def opcodes_of(category: str, instruction: str) -> str:
    """The opcodes of a row of Table I. Raises ``KeyError`` for a row that the table does not have."""
    for known_category, known_instruction, opcodes in TABLE_1:
        if (known_category, known_instruction) == (category, instruction):
            return opcodes
    raise KeyError(f"{category}: {instruction}")


class StandIn(Struct, frozen=True):
    """What an instruction without an energy of its own may be counted as, for who wants to: a guess.

    `opcodes` (a regular expression) count as `times` that of the first of `instead` with a known energy.
    """

    opcodes: str
    instead: tuple[str, ...]
    times: int
    why: str


STAND_INS = (
    StandIn(r"(shl|shr)\.[bsu]32", ("shr.u32", "shr.s32", "shl.b32"), 1, "a shift all the same"),
    StandIn(r"min\.[su]32", ("min.s32", "min.u32", "max.s32"), 1, "the same comparison, other sign or end"),
    StandIn(r"max\.[su]32", ("max.s32", "max.u32", "min.s32"), 1, "the same comparison, other sign or end"),
    StandIn(r"div\.[su]32", ("div.s32", "div.u32"), 1, "a division of the other sign"),
    StandIn(r"rem\.[su]32", ("rem.s32", "rem.u32"), 1, "a remainder of the other sign"),
    StandIn(r"(add|sub|neg)\.[su]64", ("add.u32", "add.s32"), 2, "two additions of 32 bits with a carry"),
    StandIn(r"neg\.s32", ("add.u32", "add.s32"), 1, "a subtraction from zero"),
    StandIn(r"(and|or|xor|not)\.b64", ("and.b32",), 2, "two operations on 32 bits"),
    StandIn(r"(shl|shr)\.[bsu]64", ("shl.b32",), 2, "two shifts of 32 bits"),
    StandIn(r"(and|or|xor|not)\.pred", ("and.b32",), 1, "a logic operation on predicates"),
    StandIn(r"(lop3|prmt|selp|mov)\.[bsuf]32", ("and.b32",), 1, "one operation of the integer pipe"),
    StandIn(r"(mul|mad)\.(wide|hi)\.[su]32", ("mul.lo.u32", "mul.lo.s32"), 1, "the same product, other bits"),
    StandIn(r"setp\.[a-z]+\.[bsu]32", ("add.u32", "add.s32"), 1, "a comparison is a subtraction"),
    StandIn(r"setp\.[a-z]+(\.ftz)?\.f32", ("add.f32",), 1, "a comparison is a subtraction"),
    StandIn(r"setp\.[a-z]+\.f64", ("add.f64",), 1, "a comparison is a subtraction"),
    StandIn(r"(neg|abs)(\.ftz)?\.f32", ("add.f32",), 1, "at most an addition with a changed sign"),
    StandIn(rf"(mul|mad|fma){_ROUNDED}\.f64", ("mul.f64", "add.f64"), 1, "the same pipe as an addition"),
    StandIn(rf"fma{_ROUNDED}\.f16", ("add.f16",), 1, "the same pipe as an addition"),
    StandIn(rf"(add|sub|mul|fma){_ROUNDED}\.f16x2", ("add.f16",), 1, "one instruction for both halves"),
    StandIn(r"rcp\.approx(\.ftz)?\.f32", ("rsqrt.approx.f32",), 1, "another function of the same unit"),
)
"""Tried in this order."""

_WITHOUT: tuple[tuple[str, str], ...] = (
    (r"(ld|ldu|st|prefetch|prefetchu|cp|isspacep|ldmatrix|stmatrix)\b.*", "no load, store or copy"),
    (r"(atom|red|multimem)\b.*", "no atomic operation"),
    (r"(tex|tld4|txq|suld|sust|sured|suq)\b.*", "no texture or surface operation"),
    (r"(mma|wmma|wgmma|tcgen05)\b.*", "no matrix operation"),
    (r"(bra|brx|ret|exit|call|trap|brkpt|nanosleep)\b.*", "no branch, call or return"),
    (r"(bar|barrier|membar|fence|mbarrier|griddepcontrol)\b.*", "no barrier or fence"),
    (r"(shfl|vote|match|activemask|elect)\b.*", "no exchange between lanes"),
    (r"(setp|set|selp|slct|testp)\b.*", "no comparison or selection"),
    (r".*\.pred", "no operation on predicates"),
    (r"(mov|cvta|cvt|prmt)\b.*", "no move or conversion"),
    (r"(div|rcp|sqrt)\.(full|approx).*", "only the correctly rounded form"),
    (r"(mul|mad)\.(wide|hi).*", "only the low half of a product"),
    (r".*\.([bsu]64|f16x2|bf16|bf16x2|[bsu]16|[bsu]8)", "no operands of this width"),
)


def reason_without(opcode: str) -> str:
    """Why a table of arithmetic instructions has no energy for an opcode: what kind of row is not there."""
    for opcodes, what in _WITHOUT:
        if re.fullmatch(opcodes, opcode):
            return what
    return "no such instruction"

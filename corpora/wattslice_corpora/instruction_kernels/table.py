"""The instructions that are measured: those of Arafa et al. 2020, Table I, in its order, then a few more."""

from __future__ import annotations

from wattslice_corpora.instruction_kernels.kernels import ChainInstruction
from wattslice_corpora.instruction_kernels.operands import Operand

_EXPANDED = 16
"""Instances of what becomes tens of machine instructions: the loop has to stay in the instruction cache."""


def _plain(
    opcode: str, operand: Operand, category: str = "", row: str = "", instances: int = 64
) -> ChainInstruction:
    """``x = x op a``"""
    return ChainInstruction(opcode, f"{opcode} {{x}}, {{x}}, {{a}};", operand, category, row, instances)


def _guarded(opcode: str, operand: Operand, category: str = "", row: str = "") -> ChainInstruction:
    """``if (true) x = x op a``"""
    return ChainInstruction(opcode, f"{{guard}}{opcode} {{x}}, {{x}}, {{a}};", operand, category, row)


def _unary(
    opcode: str, operand: Operand, category: str = "", row: str = "", instances: int = 64
) -> ChainInstruction:
    """``x = op x``"""
    return ChainInstruction(opcode, f"{opcode} {{x}}, {{x}};", operand, category, row, instances)


def _guarded_unary(opcode: str, operand: Operand, category: str = "", row: str = "") -> ChainInstruction:
    """``if (true) x = op x``"""
    return ChainInstruction(opcode, f"{{guard}}{opcode} {{x}}, {{x}};", operand, category, row)


def _ternary(opcode: str, operand: Operand, category: str = "", row: str = "") -> ChainInstruction:
    """``x = op(x, a, c)``"""
    return ChainInstruction(opcode, f"{opcode} {{x}}, {{x}}, {{a}}, {{c}};", operand, category, row)


def _helped(
    text: str, operand: Operand, category: str = "", row: str = "", *, helper: str
) -> ChainInstruction:
    """The instance that `text` is, each behind a `helper`."""
    return ChainInstruction(text.split()[0], text, operand, category, row, helper=helper)


_MAD = "mad.lo.u32 {x}, {x}, {a}, {c};"

_FROM_1_TO_2 = "{guard}lop3.b32 {x}, {x}, {m}, {o}, 0xEA;"
"""For logarithm and power, which else soon give NaN and infinity."""


def _inverse(opcode: str, category: str, row: str, helper: str = "") -> ChainInstruction:
    """``x = a op x``: with a as divisor, the assembler would take its reciprocal out of the loop."""
    text = f"{opcode} {{x}}, {{a}}, {{x}};"
    return ChainInstruction(opcode, text, Operand.DIVISOR, category, row, _EXPANDED, helper=helper)


def _pair(low: str, high: str, category: str = "", row: str = "") -> ChainInstruction:
    """The lower and the upper half of a number of two words: the carry goes from one to the other."""
    text = f"{low} {{x}}, {{x}}, {{y}}; {high} {{y}}, {{y}}, {{a}};"
    return ChainInstruction(f"{low}+{high}", text, Operand.B32, category, row, split=True)


_INTEGER = "Integer Arithmetic Instructions"
_LOGIC = "Logic and Shift Instructions"
_SINGLE = "Floating Single Precision Instructions"
_DOUBLE = "Double Precision Instructions"
_HALF = "Half Precision Instructions"
_MULTIPLE = "Multi Precision Instructions"
_SPECIAL = "Special Mathematical Instructions"
_INTRINSIC = "Integer Intrinsic Instructions"
_ADD = "add / sub / min / max"

PUBLISHED: tuple[ChainInstruction, ...] = (
    _guarded("add.u32", Operand.B32, _INTEGER, _ADD),
    _guarded("sub.u32", Operand.B32, _INTEGER, _ADD),
    _guarded("min.s32", Operand.B32, _INTEGER, _ADD),
    _guarded("max.s32", Operand.B32, _INTEGER, _ADD),
    _plain("mul.lo.u32", Operand.B32, _INTEGER, "mul / mad"),
    _ternary("mad.lo.u32", Operand.B32, _INTEGER, "mul / mad"),
    _inverse("div.s32", _INTEGER, "{s} div"),
    _inverse("rem.s32", _INTEGER, "{s} rem", "{guard}or.b32 {x}, {x}, {o};"),
    _helped("abs.s32 {x}, {x};", Operand.B32, _INTEGER, "abs", helper=_MAD),
    _inverse("div.u32", _INTEGER, "{u} div"),
    _inverse("rem.u32", _INTEGER, "{u} rem", "{guard}or.b32 {x}, {x}, {o};"),
    _guarded("and.b32", Operand.B32, _LOGIC, "and / or / not / xor"),
    _guarded("or.b32", Operand.B32, _LOGIC, "and / or / not / xor"),
    _guarded_unary("not.b32", Operand.B32, _LOGIC, "and / or / not / xor"),
    _guarded("xor.b32", Operand.B32, _LOGIC, "and / or / not / xor"),
    _helped("cnot.b32 {x}, {x};", Operand.B32, _LOGIC, "cnot", helper=_MAD),
    _guarded("shl.b32", Operand.SMALL, _LOGIC, "shl / shr"),
    _guarded("shr.u32", Operand.SMALL, _LOGIC, "shl / shr"),
    _plain("add.f32", Operand.F32, _SINGLE, _ADD),
    _plain("sub.f32", Operand.F32, _SINGLE, _ADD),
    _guarded("min.f32", Operand.F32, _SINGLE, _ADD),
    _guarded("max.f32", Operand.F32, _SINGLE, _ADD),
    _plain("mul.f32", Operand.F32, _SINGLE, "mul / mad / fma"),
    _ternary("mad.rn.f32", Operand.F32, _SINGLE, "mul / mad / fma"),
    _ternary("fma.rn.f32", Operand.F32, _SINGLE, "mul / mad / fma"),
    _plain("div.rn.f32", Operand.F32, _SINGLE, "div", _EXPANDED),
    _plain("add.f64", Operand.F64, _DOUBLE, _ADD),
    _plain("sub.f64", Operand.F64, _DOUBLE, _ADD),
    _plain("min.f64", Operand.F64, _DOUBLE, _ADD),
    _plain("max.f64", Operand.F64, _DOUBLE, _ADD),
    _plain("div.rn.f64", Operand.F64, _DOUBLE, "div", _EXPANDED),
    _plain("add.f16", Operand.F16, _HALF, "add / sub / mul"),
    _plain("sub.f16", Operand.F16, _HALF, "add / sub / mul"),
    _plain("mul.f16", Operand.F16, _HALF, "add / sub / mul"),
    _pair("add.cc.u32", "addc.u32", _MULTIPLE, "add.cc / addc / sub.cc"),
    _pair("sub.cc.u32", "subc.u32", _MULTIPLE, "subc"),
    ChainInstruction(
        "mad.lo.cc.u32+madc.hi.u32",
        "mad.lo.cc.u32 {x}, {y}, {a}, {x}; madc.hi.u32 {y}, {y}, {a}, {y};",
        Operand.B32,
        _MULTIPLE,
        "mad.cc / madc",
        split=True,
    ),
    _unary("rcp.rn.f32", Operand.F32, _SPECIAL, "rcp", _EXPANDED),
    _unary("sqrt.rn.f32", Operand.F32, _SPECIAL, "sqrt", _EXPANDED),
    _unary("sqrt.approx.f32", Operand.F32, _SPECIAL, "approx.sqrt"),
    _unary("rsqrt.approx.f32", Operand.F32, _SPECIAL, "rsqrt"),
    _unary("sin.approx.f32", Operand.F32, _SPECIAL, "sin / cos"),
    _unary("cos.approx.f32", Operand.F32, _SPECIAL, "sin / cos"),
    _helped("lg2.approx.f32 {x}, {x};", Operand.F32, _SPECIAL, "lg2", helper=_FROM_1_TO_2),
    _helped("ex2.approx.f32 {x}, {x};", Operand.F32, _SPECIAL, "ex2", helper=_FROM_1_TO_2),
    _helped(
        "copysign.f32 {x}, {a}, {x};",
        Operand.F32,
        _SPECIAL,
        "copysign",
        helper="fma.rn.f32 {x}, {x}, {a}, {c};",
    ),
    _plain("mul24.lo.u32", Operand.B32, _INTRINSIC, "mul24() / mad24()"),
    _ternary("mad24.lo.u32", Operand.B32, _INTRINSIC, "mul24() / mad24()"),
    _ternary("sad.u32", Operand.B32, _INTRINSIC, "sad()"),
    _unary("popc.b32", Operand.B32, _INTRINSIC, "popc()"),
    _unary("clz.b32", Operand.B32, _INTRINSIC, "clz()"),
    _unary("bfind.u32", Operand.B32, _INTRINSIC, "bfind()"),
)
"""At least one instruction for every name in every row of Table I."""

MORE: tuple[ChainInstruction, ...] = (
    _plain("mul.lo.u64", Operand.B64),
    _helped("mul.hi.u32 {x}, {x}, {a};", Operand.B32, helper=_MAD),
    _helped("neg.s32 {x}, {x};", Operand.B32, helper=_MAD),
    _helped("selp.b32 {x}, {x}, {a}, %p;", Operand.B32, helper=_MAD),
    _helped("brev.b32 {x}, {x};", Operand.B32, helper=_MAD),
    _helped("prmt.b32 {x}, {x}, {a}, {c};", Operand.B32, helper=_MAD),
    _helped("lop3.b32 {x}, {x}, {a}, {c}, 0xE8;", Operand.B32, helper=_MAD),
    _helped("shf.l.wrap.b32 {x}, {x}, {a}, {c};", Operand.B32, helper=_MAD),
    _ternary("dp4a.u32.u32", Operand.B32),
    _plain("mul.f64", Operand.F64),
    _ternary("fma.rn.f64", Operand.F64),
    _ternary("fma.rn.f16", Operand.F16),
    _plain("add.f16x2", Operand.F16X2),
    _ternary("fma.rn.f16x2", Operand.F16X2),
    _helped("div.approx.f32 {x}, {a}, {x};", Operand.F32, helper=_FROM_1_TO_2),
    _helped("div.full.f32 {x}, {a}, {x};", Operand.F32, helper=_FROM_1_TO_2),
    _guarded_unary("rcp.approx.ftz.f32", Operand.F32),
    _unary("sqrt.approx.ftz.f32", Operand.F32),
    _unary("rsqrt.approx.ftz.f32", Operand.F32),
    _helped("lg2.approx.ftz.f32 {x}, {x};", Operand.F32, helper=_FROM_1_TO_2),
    _helped("ex2.approx.ftz.f32 {x}, {x};", Operand.F32, helper=_FROM_1_TO_2),
    _helped("cvt.rn.f32.s32 {x}, {x};", Operand.B32, helper=_MAD),
    _helped("cvt.rzi.s32.f32 {x}, {x};", Operand.B32, helper=_MAD),
)
"""What the table lacks and PTX of real kernels is full of."""

INSTRUCTIONS: tuple[ChainInstruction, ...] = (*PUBLISHED, *MORE)

"""Inline PTX: the mnemonics of an `asm` statement, each in its class (docs/counting.md)."""

from __future__ import annotations

import re

from wattslice.frontend.clang.cursors import Node
from wattslice.frontend.clang.kinds import CursorKind as C
from wattslice.frontend.lowering.context import Body, statement
from wattslice.frontend.lowering.memory import place_for_access
from wattslice.ir import (
    VOID,
    Assign,
    Expr,
    ExprStmt,
    Intrinsic,
    OperationClass,
    OperationCount,
    Semantics,
    Stmt,
    Type,
)

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_MNEMONIC = re.compile(r"^(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:][a-z0-9_:]+)*)", re.I)
_TWO = frozenset({"fma", "mad", "mad24"})
_SPECIAL = frozenset({"sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh"})
_FREE = frozenset(
    [
        "mov",
        "cvt",
        "cvta",
        "ret",
        "bra",
        "exit",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "isspacep",
        "call",
        "griddepcontrol",
        "pragma",
        "discard",
        "createpolicy",
        "applypriority",
        "setmaxnreg",
        "getctarank",
        "mapa",
        "elect",
        "trap",
        "brkpt",
        "nanosleep",
        "pmevent",
        "wgmma_fence",
    ]
)
_SPACES = {
    "global": (OperationClass.GLOBAL_LOAD, OperationClass.GLOBAL_STORE),
    "shared": (OperationClass.SHARED_LOAD, OperationClass.SHARED_STORE),
    "const": (OperationClass.CONSTANT_LOAD, OperationClass.GLOBAL_STORE),
    "param": (None, None),
    "local": (None, None),
}


def operations_of_ptx(template: str) -> tuple[OperationCount, ...]:
    """The source operations of PTX text (statements separated by `;`)."""
    counts: dict[OperationClass, float] = {}
    for line in re.split(r"[;\n{}]", re.sub(r"//[^\n]*|/\*.*?\*/", "", template, flags=re.S)):
        match = _MNEMONIC.match(line.strip())
        if match is None or match[0].endswith(":"):
            continue
        found = _operation(match[1].lower())
        if found is not None:
            counts[found[0]] = counts.get(found[0], 0) + found[1]
    return tuple(OperationCount(cls, number) for cls, number in counts.items())


def _operation(mnemonic: str) -> tuple[OperationClass, float] | None:
    parts = mnemonic.replace("::", ".").split(".")
    name, rest = parts[0], parts[1:]
    if name in _FREE or (not rest and name not in ("bar", "barrier")):
        return None
    if name in ("mma", "wmma", "wgmma"):
        if name == "wmma" and rest[0] == "load":
            return _access(rest, 0)
        if name == "wmma" and rest[0] == "store":
            return _access(rest, 1)
        tensor = name == "mma" or rest[0] in ("mma", "mma_async")
        return (OperationClass.TENSOR, 1) if tensor else None
    if name in ("bar", "barrier", "mbarrier"):
        return (OperationClass.BARRIER, 1) if name != "mbarrier" or "wait" in mnemonic else None
    if name in ("ld", "ldu", "ldmatrix"):
        return _access(["shared", *rest] if name == "ldmatrix" else rest, 0)
    if name in ("st", "stmatrix"):
        return _access(["shared", *rest] if name == "stmatrix" else rest, 1)
    if name == "cp":
        return (OperationClass.GLOBAL_LOAD, 1) if "global" in rest else None
    if name in ("atom", "red"):
        return (OperationClass.ATOMIC, 1)
    if name in ("tex", "tld4", "suld"):
        return (OperationClass.TEXTURE_LOAD, 1)
    if name == "sust":
        return (OperationClass.GLOBAL_STORE, 1)
    if name in _SPECIAL:
        return (OperationClass.SPECIAL, 1)
    lanes = 2 if any(part in ("f16x2", "bf16x2") for part in rest) else 1
    number = lanes * (2 if name in _TWO else 1)
    last = next((p for p in reversed(rest) if re.fullmatch(r"[a-z]+\d+(x\d)?|pred", p)), "")
    if name in ("setp", "set", "selp", "slct"):
        last = "s32"
    if last.startswith(("f16", "bf16")):
        return (OperationClass.FP16, number)
    if last == "f64":
        return (OperationClass.FP64, number)
    if last in ("f32", "tf32", "f32x2"):
        return (OperationClass.FP32, number)
    return (OperationClass.INT, number)


def _access(rest: list[str], direction: int) -> tuple[OperationClass, float] | None:
    for part in rest:
        if part in _SPACES:
            cls = _SPACES[part][direction]
            return None if cls is None else (cls, 1)
    return (_SPACES["global"][direction] or OperationClass.GLOBAL_LOAD, 1)


def _sections(text: str) -> list[str]:
    """The parts of an asm statement between its top-level colons: template, outputs, inputs, clobbers."""
    parts: list[str] = [""]
    depth = 0
    for piece in re.split(r'("(?:[^"\\]|\\.)*")', text):
        if piece.startswith('"'):
            parts[-1] += piece
            continue
        for char in piece:
            depth += (char in "([") - (char in ")]")
            if char == ":" and depth == 1:
                parts.append("")
            else:
                parts[-1] += char
    return parts


@statement(C.ASM_STMT, C.MS_ASM_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.span(node)
    text = body.unit.spans.text(node) or _text_in_macro(body, node)
    if not text:
        body.hole("PW006", span, "inline assembly whose text could not be read")
    sections = _sections(text)
    template = "".join(_STRING.findall(sections[0])).encode().decode("unicode_escape", "replace")
    outputs = len(_STRING.findall(sections[1])) if len(sections) > 1 else 0
    operations = operations_of_ptx(template)
    children = [child for child in node.children if 100 <= child.kind < 200]
    inputs = tuple(body.expr(child) for child in children[outputs:] if child.kind != C.STRING_LITERAL)
    name = "asm " + " ".join(template.split())[:40]
    result: list[Stmt] = []
    first: tuple[OperationCount, ...] = operations
    for child in children[:outputs]:
        where = body.location(child)
        if where is None:
            continue
        value = _result(name, inputs if first is operations else (), first, where.type, body, node)
        stored = Assign(place_for_access(body, where), None, value, where.type, where.type, span)
        result.append(ExprStmt(stored, body.region(), span))
        first = ()
    if not result:
        result.append(ExprStmt(_result(name, inputs, operations, VOID, body, node), body.region(), span))
    return result


def _result(
    name: str,
    inputs: tuple[Expr, ...],
    operations: tuple[OperationCount, ...],
    type_: Type,
    body: Body,
    node: Node,
) -> Expr:
    barrier = any(o.operation is OperationClass.BARRIER for o in operations)
    semantics = Semantics.BARRIER if barrier else Semantics.OPAQUE
    return Intrinsic(name, inputs, operations, semantics, False, type_, body.span(node))


def _text_in_macro(body: Body, node: Node) -> str:
    """The asm text of a macro's expansion, where libclang still spells it."""
    return ""

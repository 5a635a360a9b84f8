"""Count what one thread executes: the integer part of SASS (sm_80, sm_90), run instruction by instruction.

Registers hold 32-bit integers or None for "unknown" (loaded data, floating point). A branch on an unknown
predicate goes where it avoids a subroutine call (the slow paths of division and the like), else straight on;
such branches are reported, because the count then holds for one possible path only. Subroutines are not
entered: a call is reported as well, and a way around one that divides whole numbers, which no rare data need.
"""

from __future__ import annotations

import operator
import re
import struct
from collections import Counter
from collections.abc import Callable

from msgspec import Struct, field

from wattslice.workload.instructions.kinds import InstructionKind
from wattslice_tools.wild.sass import Instruction, SassFunction
from wattslice_tools.wild.sass_kinds import kind_of_sass

MASK = 0xFFFFFFFF
Word = int | None


class Thread(Struct, frozen=True):
    """Where a thread is: indices and extents as (x, y, z)."""

    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    block_extent: tuple[int, int, int]
    grid_extent: tuple[int, int, int]


class Execution(Struct):
    """Instructions executed, how often each, and how many branches depended on something unknown."""

    instructions: Counter[Instruction] = field(default_factory=Counter[Instruction])
    unknown_branches: int = 0

    @property
    def counts(self) -> Counter[InstructionKind]:
        """Instructions by kind; padding is none."""
        found: Counter[InstructionKind] = Counter()
        for here, number in self.instructions.items():
            kind = kind_of_sass(here.opcode, here.operands)
            if kind is not None:
                found[kind] += number
        return found


_Handler = Callable[["_State", list[str], list[str]], None]


class BudgetError(Exception):
    """The thread executes more instructions than the budget."""


class _State(Struct):
    thread: Thread
    parameters: dict[int, Word]
    registers: dict[str, Word] = field(default_factory=dict)
    predicates: dict[str, bool | None] = field(default_factory=dict)


def run(
    function: SassFunction, thread: Thread, parameters: dict[int, Word], budget: int = 200_000
) -> Execution:
    """Execute `function` for one thread; `parameters`: words by byte offset in the constant bank."""
    state = _State(thread, parameters)
    labels = dict(function.labels)
    found = Execution()
    code = function.instructions
    index = 0
    for _ in range(budget):
        if index >= len(code):
            return found
        here = code[index]
        guard: bool | None = True
        if here.predicate and here.predicate not in ("PT", "UPT"):
            guard = state.predicates.get(here.predicate)
            guard = guard if guard is None else guard != here.negated
        elif here.predicate:
            guard = not here.negated
        index += 1
        if guard is False:
            continue
        found.instructions[here] += 1
        name = here.opcode.split(".")[0]
        if name == "EXIT":
            if guard:
                return found
            found.unknown_branches += 1
        elif (name == "BRA" and ".DIV" not in here.opcode) or _is_far_jump(here):
            index = _branch(here, guard, state, labels, code, index, found)
        elif name == "CALL":
            found.unknown_branches += 1
        elif guard is None:
            _forget_outputs(state, here)
        else:
            _execute(state, here)
    raise BudgetError(function.name)


def _branch(
    here: Instruction,
    guard: bool | None,
    state: _State,
    labels: dict[str, int],
    code: tuple[Instruction, ...],
    following: int,
    found: Execution,
) -> int:
    label = re.search(r"\.L\w+", here.operands)
    if label is None:
        return following
    target = labels[label.group()]
    condition = re.match(r"(!?)(U?P\w+),", here.operands)
    if condition is not None:
        value = _predicate(state, condition.group(1) + condition.group(2))
        guard = value if guard else guard
        guard = None if value is None else guard
    if guard is None:
        if target > following and (call := _reached_call(code, following)) is not None:
            found.unknown_branches += _DIVIDES_INTEGERS.search(call.operands) is not None
            return target
        found.unknown_branches += 1
        return following
    return target if guard else following


def _is_far_jump(here: Instruction) -> bool:
    """`@P1 CALL.REL.NOINC .L_x_40` leaves a loop for good; a subroutine is called without a condition."""
    return here.opcode.startswith("CALL") and here.predicate not in ("", "PT", None)


_DIVIDES_INTEGERS = re.compile(r"_(div|rem)_[us]\d")
"""Subroutines whose short way around is for small numbers; those of floating point are for rare ones."""


def _reached_call(code: tuple[Instruction, ...], index: int) -> Instruction | None:
    """The call of a subroutine to which straight code leads from `index`."""
    for here in code[index : index + 12]:
        name = here.opcode.split(".")[0]
        if name == "CALL":
            return here
        if name in ("BRA", "EXIT", "BSYNC"):
            return None
    return None


# --------------------------------------------------------------------------- operands


def _split(operands: str) -> list[str]:
    return [part.strip().replace(".reuse", "") for part in operands.split(",")] if operands else []


def _forget_outputs(state: _State, here: Instruction) -> None:
    """Everything `here` writes is unknown from now on."""
    name, *modifiers = here.opcode.split(".")
    width = 4 if "128" in modifiers else 2 if "64" in modifiers or "WIDE" in modifiers or name in _WIDE else 1
    if name in ("F2F", "I2F", "FRND") and modifiers and modifiers[0] == "F64":
        width = 2
    parts = _split(here.operands)
    for position, target in enumerate(parts[:2]):
        if re.fullmatch(r"U?P\w+", target):
            if target not in ("PT", "UPT"):
                state.predicates[target] = None
        elif position == 0 or re.fullmatch(r"U?P\w+", parts[0]):
            _forget(state, target, width)


_WIDE = frozenset(["DADD", "DMUL", "DFMA", "DSETP", "CS2R"])


def _forget(state: _State, target: str, width: int = 1) -> None:
    if (found := re.fullmatch(r"(U?R)(\d+)", target)) is not None:
        for number in range(width):
            state.registers[f"{found[1]}{int(found[2]) + number}"] = None


def _predicate(state: _State, text: str) -> bool | None:
    negated = text.startswith("!")
    name = text.lstrip("!")
    value = True if name in ("PT", "UPT") else state.predicates.get(name)
    return value if value is None else value != negated


def _word(state: _State, text: str) -> Word:
    text = text.strip()
    if text.startswith("-"):
        value = _word(state, text[1:])
        return None if value is None else -value & MASK
    if text.startswith("~"):
        value = _word(state, text[1:])
        return None if value is None else ~value & MASK
    text = (
        text.removesuffix(".64")
        .removesuffix(".X4")
        .replace("][RZ]", "][0x0]")
        .split(".H")[0]
        .removesuffix(".U32")
    )
    if text in ("RZ", "URZ", "SRZ"):
        return 0
    if re.fullmatch(r"U?R\d+", text):
        return state.registers.get(text)
    if (found := re.fullmatch(r"c\[0x0\]\[(0x[0-9a-f]+)\]", text)) is not None:
        return _constant(state, int(found[1], 16))
    if re.fullmatch(r"0x[0-9a-f]+", text):
        return int(text, 16) & MASK
    if re.fullmatch(r"\d+", text):
        return int(text) & MASK
    if text.startswith(("PT", "P", "UP")):
        value = _predicate(state, text)
        return None if value is None else int(value)
    return None


def _constant(state: _State, offset: int) -> Word:
    if offset < 0xC:
        return state.thread.block_extent[offset // 4]
    if offset < 0x18:
        return state.thread.grid_extent[(offset - 0xC) // 4]
    return state.parameters.get(offset)


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value


def _pair(state: _State, text: str) -> Word:
    """A 64-bit operand: a register and the next, or two words of the constant bank."""
    low = _word(state, text)
    name = text.lstrip("-").removesuffix(".64")
    if (found := re.fullmatch(r"(U?R)(\d+)", name)) is not None:
        high = state.registers.get(f"{found[1]}{int(found[2]) + 1}")
    elif (found := re.fullmatch(r"c\[0x0\]\[(0x[0-9a-f]+)\]", name)) is not None:
        high = _constant(state, int(found[1], 16) + 4)
    else:
        high = 0
    return None if low is None or high is None else low | high << 32


def _set(state: _State, target: str, value: Word) -> None:
    if target not in ("RZ", "URZ"):
        state.registers[target] = None if value is None else value & MASK


def _set_pair(state: _State, target: str, value: Word) -> None:
    _set(state, target, value)
    if (found := re.fullmatch(r"(U?R)(\d+)", target)) is not None:
        _set(state, f"{found[1]}{int(found[2]) + 1}", None if value is None else value >> 32)


def _float(word: int) -> float:
    return struct.unpack("<f", struct.pack("<I", word & MASK))[0]


def _bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


# --------------------------------------------------------------------------- instructions


def _execute(state: _State, here: Instruction) -> None:
    name, *modifiers = here.opcode.split(".")
    parts = _split(here.operands)
    handler = _HANDLERS.get(name.removeprefix("U") if name in _UNIFORM else name)
    if handler is not None and parts:
        handler(state, modifiers, parts)
    elif parts and name not in (
        "STG",
        "STS",
        "STL",
        "BAR",
        "RED",
        "BSSY",
        "BSYNC",
        "CALL",
        "WARPSYNC",
        "MEMBAR",
    ):
        _forget_outputs(state, here)


def _mov(state: _State, _: list[str], parts: list[str]) -> None:
    _set(state, parts[0], _word(state, parts[1]))


def _s2r(state: _State, _: list[str], parts: list[str]) -> None:
    axis = "XYZ".find(parts[1][-1])
    place = state.thread
    if parts[1].startswith("SR_TID"):
        _set(state, parts[0], place.thread[axis])
    elif parts[1].startswith("SR_CTAID"):
        _set(state, parts[0], place.block[axis])
    elif parts[1] == "SR_LANEID":
        x, y, z = place.thread
        _set(state, parts[0], (x + place.block_extent[0] * (y + place.block_extent[1] * z)) % 32)
    else:
        _set(state, parts[0], 0 if parts[1] == "SRZ" else None)


def _cs2r(state: _State, modifiers: list[str], parts: list[str]) -> None:
    value = 0 if parts[1] == "SRZ" else None
    if "32" in modifiers:
        _set(state, parts[0], value)
    else:
        _set_pair(state, parts[0], value)


def _uldc(state: _State, modifiers: list[str], parts: list[str]) -> None:
    if "64" in modifiers:
        _set_pair(state, parts[0], _pair(state, parts[1]))
    else:
        _set(state, parts[0], _word(state, parts[1]) if "U8" not in modifiers else None)


def _imad(state: _State, modifiers: list[str], parts: list[str]) -> None:
    if re.fullmatch(r"U?P\w+", parts[1]):  # carry out
        carry_out, parts = parts[1], [parts[0], *parts[2:]]
    else:
        carry_out = ""
    a, b = _word(state, parts[1]), _word(state, parts[2])
    if "WIDE" in modifiers:
        c = _pair(state, parts[3])
        if a is None or b is None or c is None:
            _set_pair(state, parts[0], None)
        else:
            product = a * b if "U32" in modifiers else _signed(a) * _signed(b)
            _set_pair(state, parts[0], product + c)
        if carry_out:
            state.predicates[carry_out] = None
        return
    c = _word(state, parts[3])
    if (a == 0 or b == 0) and c is not None:
        _set(state, parts[0], c)
    elif a is None or b is None or c is None:
        _set(state, parts[0], None)
    elif "HI" in modifiers:  # the addend has 64 bits
        product = a * b if "U32" in modifiers else _signed(a) * _signed(b)
        wide = _pair(state, parts[3])
        _set(state, parts[0], None if wide is None else (product + wide) >> 32)
    else:
        carry = _predicate(state, parts[4]) if "X" in modifiers and len(parts) > 4 else False
        _set(state, parts[0], None if carry is None else a * b + c + carry)


def _iadd3(state: _State, modifiers: list[str], parts: list[str]) -> None:
    target, rest = parts[0], parts[1:]
    outs: list[str] = []
    while rest and re.fullmatch(r"U?P\w+", rest[0]):
        outs.append(rest.pop(0))
    words = [_word(state, text) for text in rest[:3]]
    carries = [_predicate(state, text) for text in rest[3:5]] if "X" in modifiers else []
    if any(word is None for word in words) or any(carry is None for carry in carries):
        _set(state, target, None)
        state.predicates.update(dict.fromkeys(outs))
        return
    total = 0
    for text, word in zip(rest, words, strict=False):
        is_minus = re.match(r"-U?R\d|-c\[", text) is not None
        inverted = "X" in modifiers and is_minus  # with .X a minus is a complement
        is_zero_less = is_minus and word == 0
        total += ((word or 0) - 1) & MASK if inverted else 1 << 32 if is_zero_less else word or 0
    total += sum(bool(carry) for carry in carries)
    _set(state, target, total)
    for position, out in enumerate(outs):
        if out not in ("PT", "UPT"):
            state.predicates[out] = total >> 32 > position


def _lea(state: _State, modifiers: list[str], parts: list[str]) -> None:
    target, rest = parts[0], parts[1:]
    out = rest.pop(0) if re.fullmatch(r"U?P\w+", rest[0]) else ""
    high = "HI" in modifiers
    a, b = _word(state, rest[0]), _word(state, rest[1])
    has_upper = high and "SX32" not in modifiers  # SX32: the sign of `a` stands above it
    upper = _word(state, rest[2]) if has_upper else 0
    shift = _word(state, rest[3 if has_upper else 2])
    carry = _predicate(state, rest[-1]) if "X" in modifiers else False
    if None in (a, b, upper, shift, carry):
        _set(state, target, None)
        if out:
            state.predicates[out] = None
        return
    assert a is not None
    assert b is not None
    assert upper is not None
    assert shift is not None
    wide = (upper << 32 | a) << shift
    if "SX32" in modifiers:
        wide = _signed(a) << shift
    total = ((wide >> 32 if high else wide) & MASK) + b + bool(carry)
    _set(state, target, total)
    if out and out not in ("PT", "UPT"):
        state.predicates[out] = bool(total >> 32)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}


def _isetp(state: _State, modifiers: list[str], parts: list[str]) -> None:
    a, b = _word(state, parts[2]), _word(state, parts[3])
    other = _predicate(state, parts[4])
    result: bool | None = None
    if a is not None and b is not None:
        if "U32" not in modifiers:
            a, b = _signed(a), _signed(b)
        result = _COMPARE[modifiers[0]](a, b)
        if "EX" in modifiers and a == b and modifiers[0] in ("LT", "LE", "GT", "GE"):
            result = _predicate(state, parts[5])
        elif "EX" in modifiers and modifiers[0] in ("EQ", "NE"):
            low = _predicate(state, parts[5])
            result = None if low is None else result and low if modifiers[0] == "EQ" else result or low
    combined: bool | None
    if "OR" in modifiers:
        combined = True if result or other else None if result is None or other is None else False
    elif "XOR" in modifiers:
        combined = None if result is None or other is None else result != other
    else:
        combined = False if result is False or other is False else None if None in (result, other) else True
    state.predicates[parts[0]] = combined
    if parts[1] not in ("PT", "UPT"):
        state.predicates[parts[1]] = None if result is None or other is None else (not result) and other


def _lut(table: int, a: int, b: int, c: int) -> int:
    result = 0
    for bit, (x, y, z) in enumerate((i >> 2 & 1, i >> 1 & 1, i & 1) for i in range(8)):
        if table >> bit & 1:
            result |= (a if x else ~a) & (b if y else ~b) & (c if z else ~c)
    return result & MASK


def _lop3(state: _State, _: list[str], parts: list[str]) -> None:
    out = ""
    if re.fullmatch(r"U?P\w+", parts[0]):
        out, parts = parts[0], parts[1:]
    words = [_word(state, text) for text in parts[1:4]]
    table = _word(state, parts[4])
    if table in (0xC0, 0xFC, 0x30, 0x3C, 0x0C) and words[2] is None:
        words[2] = 0
    value = None
    if table is not None and all(word is not None for word in words):
        value = _lut(table, *(word or 0 for word in words))
    elif table == 0xC0 and 0 in words[:2]:
        value = 0
    _set(state, parts[0], value)
    if out and out not in ("PT", "UPT"):
        state.predicates[out] = None if value is None else value != 0


def _plop3(state: _State, _: list[str], parts: list[str]) -> None:
    values = [_predicate(state, text) for text in parts[2:5]]
    for target, text in ((parts[0], parts[5]), (parts[1], parts[6] if len(parts) > 6 else "0x0")):
        table = _word(state, text)
        if target in ("PT", "UPT"):
            continue
        known = table is not None and all(value is not None for value in values)
        state.predicates[target] = (
            bool(_lut(table or 0, *(int(bool(v)) for v in values)) & 1) if known else None
        )


def _shf(state: _State, modifiers: list[str], parts: list[str]) -> None:
    low, shift, high = (_word(state, text) for text in parts[1:4])
    if parts[1] in ("RZ", "URZ"):
        low = 0
    if None in (low, shift, high):
        _set(state, parts[0], None)
        return
    assert low is not None
    assert shift is not None
    assert high is not None
    is_64 = "U64" in modifiers or "S64" in modifiers
    amount = min(shift & 0xFF, 64 if is_64 else 32) if "W" not in modifiers else shift & (63 if is_64 else 31)
    wide = high << 32 | low
    if "R" in modifiers:
        if "S32" in modifiers and "HI" in modifiers:
            value = _signed(high) >> amount
        elif "S64" in modifiers:
            signed = wide - (1 << 64) if wide >> 63 else wide
            value = signed >> amount >> (32 if "HI" in modifiers else 0)
        elif "HI" in modifiers:
            value = high >> amount
        else:
            value = wide >> amount
    elif "HI" in modifiers:
        value = (wide << amount) >> 32
    else:
        value = low << amount
    _set(state, parts[0], value)


def _sel(state: _State, _: list[str], parts: list[str]) -> None:
    chosen = _predicate(state, parts[3])
    _set(state, parts[0], None if chosen is None else _word(state, parts[1] if chosen else parts[2]))


def _imnmx(state: _State, modifiers: list[str], parts: list[str]) -> None:
    a, b, least = _word(state, parts[1]), _word(state, parts[2]), _predicate(state, parts[3])
    if a is None or b is None or least is None:
        _set(state, parts[0], None)
        return
    if "U32" not in modifiers:
        a, b = _signed(a), _signed(b)
    _set(state, parts[0], min(a, b) if least else max(a, b))


def _one(function: Callable[[int], int]) -> _Handler:
    def handler(state: _State, _: list[str], parts: list[str]) -> None:
        value = _word(state, parts[1])
        _set(state, parts[0], None if value is None else function(value))

    return handler


def _iabs(value: int) -> int:
    return abs(_signed(value))


def _hfma2(state: _State, _: list[str], parts: list[str]) -> None:
    """`HFMA2.MMA R7, -RZ, RZ, 0, 2.4e-07` puts a constant into a register: two halves."""
    if len(parts) == 5 and parts[1:3] == ["-RZ", "RZ"]:
        high, low = (struct.unpack("<H", struct.pack("<e", float(text)))[0] for text in parts[3:])
        _set(state, parts[0], high << 16 | low)
    else:
        _forget(state, parts[0])


def _r2p(state: _State, _: list[str], parts: list[str]) -> None:
    """The bits of a byte, as the mask has them, become predicates."""
    value, mask = _word(state, parts[1]), _word(state, parts[2])
    for bit in range(7):
        if mask is None or mask >> bit & 1:
            state.predicates[f"P{bit}"] = None if value is None else bool(value >> bit & 1)


def _brev(value: int) -> int:
    return int(f"{value:032b}"[::-1], 2)


def _flo(value: int) -> int:
    return value.bit_length() - 1 if value else MASK


def _i2f(state: _State, modifiers: list[str], parts: list[str]) -> None:
    value = _word(state, parts[1])
    if value is None or "F64" in modifiers or "U64" in modifiers or "S64" in modifiers:
        _forget(state, parts[0])
        return
    signed = value if any(m.startswith("U32") for m in modifiers) else _signed(value)
    _set(state, parts[0], _bits(float(signed)))


def _f2i(state: _State, modifiers: list[str], parts: list[str]) -> None:
    value = _word(state, parts[1])
    if value is None or "F64" in modifiers or "U64" in modifiers or "S64" in modifiers:
        _forget(state, parts[0])
        return
    number = _float(value)
    finite = number == number and abs(number) < 2**40
    _set(state, parts[0], min(int(number), MASK) if finite else 0)


def _mufu(state: _State, modifiers: list[str], parts: list[str]) -> None:
    value = _word(state, parts[1])
    if value is None or modifiers[0] != "RCP" or _float(value) == 0:
        _forget(state, parts[0])
        return
    _set(state, parts[0], _bits(1.0 / _float(value)))


def _prmt(state: _State, _: list[str], parts: list[str]) -> None:
    a, selector, b = (_word(state, text) for text in parts[1:4])
    if a is None or selector is None or b is None:
        _set(state, parts[0], None)
        return
    source = (b << 32 | a).to_bytes(8, "little")
    value = 0
    for position in range(4):
        nibble = selector >> 4 * position & 0xF
        byte = source[nibble & 7]
        value |= ((0xFF if byte & 0x80 else 0) if nibble & 8 else byte) << 8 * position
    _set(state, parts[0], value)


_UNIFORM = frozenset(
    ["UMOV", "UIADD3", "UIMAD", "ULEA", "ULOP3", "UPLOP3", "USHF", "USEL", "UISETP", "UPRMT", "UPOPC", "UFLO"]
)
_HANDLERS: dict[str, _Handler] = {
    "MOV": _mov,
    "S2R": _s2r,
    "S2UR": _s2r,
    "CS2R": _cs2r,
    "ULDC": _uldc,
    "LDC": _uldc,
    "R2UR": _mov,
    "IMAD": _imad,
    "IADD3": _iadd3,
    "LEA": _lea,
    "ISETP": _isetp,
    "LOP3": _lop3,
    "PLOP3": _plop3,
    "SHF": _shf,
    "SEL": _sel,
    "IMNMX": _imnmx,
    "VIMNMX": _imnmx,
    "IABS": _one(_iabs),
    "POPC": _one(int.bit_count),
    "BREV": _one(_brev),
    "FLO": _one(_flo),
    "I2F": _i2f,
    "F2I": _f2i,
    "MUFU": _mufu,
    "PRMT": _prmt,
    "HFMA2": _hfma2,
    "R2P": _r2p,
}

"""What is not PTX, PTX with faults, and any text at all: refused or told, in no time."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wattslice.errors import FrontendError
from wattslice.frontend.ptx.syntax.lexer import is_number
from wattslice.frontend.ptx.syntax.parser import parse_ptx
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Vector,
)

from .ptx_reading import body_of, one, problem, read
from .ptx_text import guard_text, instruction_text, statement_texts


def test_what_is_not_ptx_is_refused() -> None:
    for text in ("", "int main() {}", "\x7fELF\x02\x01\x00", "\n\n.target sm_90"):
        with pytest.raises(FrontendError) as error:
            parse_ptx(text, Path("a.ptx"))
        assert error.value.line == text.count("\n", 0, 2) + 1
        assert "nvcc -ptx" in error.value.remedy


def test_a_broken_function_costs_only_itself() -> None:
    module = read(
        """.visible .entry a() { ret; }
.visible .entry b()
{
    .shared .align 4 .b8 tile[64];
    { add.f32 %f1, {%f2; }
    .local .align 4 .b8 depot[64];
    ret;
}
.visible .entry c() { ret; }
.visible .entry d() { ret
.visible .entry e() { ret; }
"""
    )
    assert [function.name for function in module.functions] == ["a", "c", "e"]
    first, second = module.problems
    assert (first.line, first.function, first.is_entry) == (8, "b", True)
    assert first.message == "',' or '}' expected, ';' found"
    assert (second.line, second.function) == (14, "d")


@pytest.mark.parametrize(
    ("text", "line", "message", "function"),
    [
        (".entry k() { ret;", 1, "an instruction expected, the end of the file found", "k"),
        (".entry k() {\n ret;\n mov.u32 %r1 %r2;\n}", 3, "',' or ';' expected, '%r2' found", "k"),
        (".entry k() {\n\0}", 2, "an instruction expected, the character 0x00 found", "k"),
        (".entry k(.param .x32 a) { }", 1, "'.x32' is not part of a declaration", "k"),
        (".entry k() { .reg .f32 %f<x>; }", 1, "a number of registers expected, 'x' found", "k"),
        (".entry k() { mov.u32 %r1, 1/0; }", 1, "a division by zero in a constant", "k"),
        (".entry k() { .entry }", 1, "'.entry' inside the body of a function", "k"),
        (".entry k() { .foo; }", 1, "'.foo' is no directive of a function body", "k"),
        (".entry k() { .pragma 5; }", 1, "a pragma in quotes expected, '5' found", "k"),
        ('.file 1 "a.cu', 1, "the path of the file in quotes expected, '\"a.cu' found", None),
        (".entry (", 1, "'.param' or '.reg' expected, the end of the file found", None),
        (".entry", 1, "the name of a function expected, the end of the file found", None),
        ("\n.global .u32 x = ;", 2, "a value expected, ';' found", None),
        (".global .u32 x[-1];", 1, "an array of -1 elements", None),
        ("hello", 1, "a declaration expected, 'hello' found", None),
        (".visible .version 1.0", 1, "a variable or a function expected, '.version' found", None),
    ],
)
def test_errors(text: str, line: int, message: str, function: str | None) -> None:
    assert problem(text) == (line, message, function)


@pytest.mark.parametrize(
    "text",
    [
        ".entry k() {" + "{" * 50_000,
        ".entry k() { mov.u32 %r1, " + "(" * 50_000,
        ".entry k() { mov.u32 %r1, " + "-" * 50_000,
        ".entry k() { mov.u32 %r1, " + "1-" * 50_000,
        ".entry k() { mov.u32 %r1, " + "1?" * 50_000,
        ".entry k() { mov.u32 %r1, " + "[" * 50_000,
        ".entry k() { mov.u32 %r1, " + "{" * 50_000,
        ".entry k() { mov.u32 %r1, " + "9" * 50_000 + ";}",
        ".entry k() { mov.u32 %r1, 1e" + "9" * 50_000 + ";}",
        ".entry k() { mov.u32 %r1, (.s64) 1e999; }",
        ".entry k() { mov.u32 %r1, a" + "1" * 50_000 + "b; }",
        ".entry " + "k" * 50_000,
        ".global .u32 x = " + "{" * 50_000,
        ".global .u32 x[" + "9" * 50_000 + "];",
        '.file 1 "' + "a" * 50_000,
        "/*" * 100_000,
        "/* * / " * 100_000,
        "\0" * 50_000,
        ".visible " * 100_000,
        ".section .debug_str\n{ $a:" + " .b8 1" * 100_000,
        ".entry k() { .loc 1 1 1," * 20_000,
        "\n" * 50_000,
        "\r" * 50_000,
        ".version " + "9" * 100_000 + "." + "9" * 100_000,
        ".loc " + "9 " * 100_000,
        '"' + 'a\\"' * 100_000,
        ".section .debug_str\n{ " + "a" * 200_000,
    ],
    ids=range(27),
)
def test_hostile_text_takes_no_time(text: str) -> None:
    begin = time.process_time()
    module = read(text)
    assert time.process_time() - begin < 3
    assert all(len(found.message) < 300 for found in module.problems)


@pytest.mark.slow
def test_a_hundred_thousand_lines_take_seconds() -> None:
    line = "\tfma.rn.f32 \t%f4, %f1, 0f3F800000, %f3;\n\tst.global.f32 \t[%rd3+16], %f4;\n"
    begin = time.process_time()
    function = body_of(line * 25_000)
    assert len(function.body or ()) == 50_000
    assert time.process_time() - begin < 5


_NAMES = st.from_regex(r"(?:[a-z]|[_$][A-Za-z0-9_$])[A-Za-z0-9_$]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("call", "WARP_SZ")
)
_REGISTERS = st.builds(
    Register, st.from_regex(r"%[a-z]{1,3}[0-9]{0,3}", fullmatch=True), st.sampled_from(("", "x", "b0"))
)
_SYMBOLS = st.builds(Symbol, _NAMES, st.integers(-(1 << 31), 1 << 31))
_NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1).map(Immediate)
_BASES = st.one_of(_REGISTERS, _SYMBOLS.map(lambda found: Symbol(found.name)))
_ADDRESSES = st.builds(Address, _BASES, st.integers(-4096, 1 << 20))
_SIMPLE = st.one_of(_REGISTERS, _SYMBOLS, _NUMBERS)
_VECTORS = st.lists(_SIMPLE, min_size=1, max_size=4).map(lambda parts: Vector(tuple(parts)))
_PAIRS = st.builds(Pair, _REGISTERS, st.one_of(_REGISTERS, st.just(Sink())))
_OPERANDS = st.lists(st.one_of(_SIMPLE, _ADDRESSES, _VECTORS, _PAIRS, st.just(Sink())), max_size=5)
_MODIFIERS = st.lists(
    st.from_regex(r"[a-z0-9][A-Za-z0-9_]{0,6}(?:::[a-z][a-z0-9]{0,4})?", fullmatch=True), max_size=4
)
_GUARDS = st.none() | st.builds(Guard, st.from_regex(r"%p[0-9]{1,3}", fullmatch=True), st.booleans())
_BLANKS = st.sampled_from((" ", "\t", "\n", " /* ; */ ", " // }\n"))


@settings(max_examples=settings().max_examples // 3)
@example("p", [], [], Guard("%p0", False), [" "])  # a guard that holds the mnemonic
@given(_NAMES, _MODIFIERS, _OPERANDS, _GUARDS, st.lists(_BLANKS, min_size=1, max_size=6))
@pytest.mark.slow
def test_an_instruction_written_and_read_again_is_the_same(
    opcode: str, modifiers: list[str], operands: list[Operand], guard: Guard | None, blanks: list[str]
) -> None:
    written = Instruction(opcode, tuple(modifiers), tuple(operands), guard, 0, None)
    head = guard_text(guard)
    tail = instruction_text(written).removeprefix(head + written.mnemonic)
    gaps = itertools.cycle(blanks)
    tail = re.sub(r"[][,{}|]", lambda sign: next(gaps) + sign[0] + next(gaps), tail)
    read_again = one(f"{head}{next(gaps)}{written.mnemonic}{next(gaps)}{tail}{next(gaps)};")
    assert (read_again.opcode, read_again.modifiers) == (opcode, tuple(modifiers))
    assert (read_again.operands, read_again.guard) == (tuple(operands), guard)


@pytest.mark.slow
@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(
            [*'.[]{}(),;:@!|<>%_"/*\n', "a", "0", "0x", ".reg", ".f32", ".entry", "mov", "%r1", "$L", ".loc"]
        ),
        max_size=60,
    ).map(" ".join)
)
def test_any_text_is_read_or_said_to_be_wrong(text: str) -> None:
    module = read(f".entry k() {{ {text} }}\n.visible .entry safe() {{ ret; }}\n")
    lost = {found.function for found in module.problems}
    assert module.problems == () or lost - {None} or module.functions
    for function in module.functions:
        list(statement_texts(function.body or ()))


def test_digits_of_other_scripts_are_no_numbers():
    assert not is_number("²")
    assert not is_number("٣")

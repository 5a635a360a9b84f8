from __future__ import annotations

import itertools
import math
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.errors import FrontendError
from wattslice.frontend.ptx_source.calls import call_of
from wattslice.frontend.ptx_source.lexer import is_number
from wattslice.frontend.ptx_source.parser import parse_ptx
from wattslice.frontend.ptx_source.scopes import flat_body
from wattslice.frontend.ptx_source.syntax import (
    Address,
    Alias,
    Arguments,
    BranchTargets,
    Function,
    Guard,
    Immediate,
    InitializerList,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    Pragma,
    Register,
    RegisterDeclaration,
    Scope,
    Sink,
    Symbol,
    Variable,
    Vector,
)

from .ptx_text import instruction_text, statement_texts

HEAD = ".version 8.7\n.target sm_90a, debug\n.address_size 64\n"


def read(text: str) -> Module:
    return parse_ptx(HEAD + text, Path("a.ptx"))


def body_of(text: str) -> Function:
    module = read(f".visible .entry k()\n{{\n{text}\n}}\n")
    assert module.problems == ()
    return module.functions[0]


def one(text: str) -> Instruction:
    """The only instruction of a text."""
    (found,) = (part for part in flat_body(body_of(text)) if isinstance(part, Instruction))
    return found


def operand(text: str) -> Operand:
    return one(f"mov.b32 {text};").operands[0]


def problem(text: str) -> tuple[int, str, str | None]:
    """Line, message and lost function of the first problem; lines count from the text."""
    found = read(text).problems[0]
    assert found.remedy
    return found.line - 3, found.message, found.function


def test_the_head_of_a_module() -> None:
    module = read("")
    assert (module.version, module.target, module.address_bits) == ((8, 7), ("sm_90a", "debug"), 64)


def test_a_kernel_with_parameters_and_directives() -> None:
    kernel = read(
        """.visible .entry scale(
    .param .u64 .ptr .global .align 16 scale_a,
    .param .align 8 .b8 scale_s[24],
    .param .f32 scale_f
)
.maxntid 128, 1, 1
.minnctapersm 2
.pragma "abi_param_reg all";
{
    ret;
}
"""
    ).functions[0]
    assert (kernel.name, kernel.is_entry, kernel.linkage) == ("scale", True, "visible")
    pointer, record, factor = kernel.parameters
    assert (pointer.type, pointer.pointer_space, pointer.pointer_alignment) == ("u64", "global", 16)
    assert (record.alignment, record.dimensions, record.size_bytes) == (8, (24,), 24)
    assert (factor.type, factor.size_bytes, factor.pointer_space) == ("f32", 4, None)
    launch_bounds = kernel.directive("maxntid")
    assert launch_bounds is not None
    assert launch_bounds.arguments == ("128", "1", "1")
    assert kernel.directive("maxnreg") is None
    assert (kernel.line, kernel.end_line) == (4, 14)


def test_functions_declared_and_defined() -> None:
    module = read(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;\n"
        ".weak .func (.param .align 16 .b8 r[16]) f(.param .b32 x) .noreturn { trap; }\n"
        ".func g(.reg .f32 %f0) { ret; }\n"
        ".alias h, g;\n"
    )
    declared, weak, plain = module.functions
    assert (declared.body, declared.linkage, len(declared.parameters)) == (None, "extern", 2)
    assert weak.results[0].size_bytes == 16
    assert weak.directive("noreturn") is not None
    assert plain.parameters[0].space == "reg"
    assert module.aliases == (Alias("h", "g", 7),)


def test_variables_of_a_module() -> None:
    a, b, c, d, e = read(
        ".global .align 4 .b8 a[12] = {1, 0, 254};\n"
        ".const .align 16 .v4 .f32 b[2][3];\n"
        ".extern .shared .align 16 .b8 c[];\n"
        ".global .u64 d = generic(a)+4, e[2] = {a, 0xFF00(a)};\n"
    ).variables
    assert (a.space, a.alignment, a.size_bytes) == ("global", 4, 12)
    assert isinstance(a.initializer, InitializerList)
    assert [part.value for part in a.initializer.elements if isinstance(part, Immediate)] == [1, 0, 254]
    assert (b.space, b.lanes, b.dimensions, b.size_bytes) == ("const", 4, (2, 3), 96)
    assert (c.linkage, c.dimensions, c.size_bytes) == ("extern", (None,), None)
    assert d.initializer == Symbol("a", 4, generic=True)
    assert e.initializer == InitializerList((Symbol("a"), Symbol("a", mask=0xFF00)))


def test_opaque_and_managed_variables() -> None:
    texture, sampler, managed = read(
        ".global .texref t;\n"
        ".global .samplerref s = { addr_mode_0 = wrap, filter_mode = nearest };\n"
        ".visible .global .attribute(.managed) .align 4 .u32 m = 7;\n"
    ).variables
    assert (texture.type, sampler.type) == ("texref", "samplerref")
    assert managed.initializer == Immediate("7", 7)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%r1", Register("%r1")),
        ("%tid.x", Register("%tid", "x")),
        ("!%p1", Register("%p1", negated=True)),
        ("_", Sink()),
        ("table", Symbol("table")),
        ("table+12", Symbol("table", 12)),
        ("{%f1, _, 0}", Vector((Register("%f1"), Sink(), Immediate("0", 0)))),
        ("%p1|%p2", Pair(Register("%p1"), Register("%p2"))),
        ("%r1|_", Pair(Register("%r1"), Sink())),
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+16]", Address(Register("%rd1"), 16)),
        ("[%rd1+-8]", Address(Register("%rd1"), -8)),
        ("[ table - 4 ]", Address(Symbol("table"), -4)),
        ("[0x40]", Address(Immediate("0x40", 64))),
        ("table[3]", Address(Symbol("table"), subscript=Immediate("3", 3))),
        ("[tex, {%f1, %f2}]", Address(Symbol("tex"), 0, (Vector((Register("%f1"), Register("%f2"))),))),
        ("WARP_SZ", Immediate("WARP_SZ", 32)),
    ],
)
def test_operands(text: str, found: Operand) -> None:
    assert operand(text) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-2147483648", -(1 << 31)),
        ("0xFFFFFFFFU", 0xFFFFFFFF),
        ("0b101", 5),
        ("017", 15),
        ("0f3F800000", 1.0),
        ("0dC000000000000000", -2.0),
        ("1.5e2", 150.0),
        ("(1 << 4) | 3", 19),
        ("7 - 2 - 1", 4),
        ("-7 / 2", -3),
        ("-7 % 4", -3),
        ("2 + 3 * 4 == 14", 1),
        ("1 ? 8 : 9", 8),
        ("~0", -1),
        ("(.u64) -1", (1 << 64) - 1),
        ("0xFFFFFFFFFFFFFFFF * 2", -2),
    ],
)
def test_constants(text: str, value: float) -> None:
    found = operand(text)
    assert isinstance(found, Immediate)
    assert found.value == value
    assert found.text == text.replace(" ", "")


def test_a_float_that_is_no_number() -> None:
    found = operand("0f7FC00000")
    assert isinstance(found, Immediate)
    assert math.isnan(found.value)


def test_an_instruction_with_guard_modifiers_and_line() -> None:
    found = one("\n@!%p3 ld.global.nc.L1::evict_last.v2.f32 {%f1, %f2}, [%rd4+8];")
    assert found.opcode == "ld"
    assert found.modifiers == ("global", "nc", "L1::evict_last", "v2", "f32")
    assert found.mnemonic == "ld.global.nc.L1::evict_last.v2.f32"
    assert found.guard == Guard("%p3", negated=True)
    assert found.line == 7


def test_modifiers_standing_apart_belong_to_the_mnemonic() -> None:
    assert one("ld .global .f32 %f1, [%rd1];").mnemonic == "ld.global.f32"


def test_registers_without_percent_are_known_by_their_declaration() -> None:
    text = "{ .reg .pred p<3>; .reg .b32 tmp, t2; @p2 mov.b32 tmp, t3; }"
    assert one(text).operands == (Register("tmp@1"), Symbol("t3"))
    assert one("{ .reg .b32 t<4>; mov.b32 t1, t3; }").operands == (Register("t@1_1"), Register("t@1_3"))


def test_statements_that_are_no_instructions() -> None:
    text = """.reg .b32 %r<5>, %q;
    .shared .align 4 .b8 tile[1024];
    .local .align 8 .b8 depot[16];
$L__BB0_1:
    .pragma "nounroll";
    ret;"""
    registers, single, tile, depot, label, pragma, _ = list(body_of(text).body or ())
    assert registers == RegisterDeclaration("b32", "%r", 5, 1, 6)
    assert single == RegisterDeclaration("b32", "%q", None, 1, 6)
    assert isinstance(tile, Variable)
    assert (tile.space, tile.size_bytes) == ("shared", 1024)
    assert isinstance(depot, Variable)
    assert depot.space == "local"
    assert label == Label("$L__BB0_1", 9)
    assert pragma == Pragma("nounroll", 10)


def test_pragmas_in_a_list() -> None:
    found = body_of('.pragma "nounroll", "used_bytes_mask 1";').body
    assert found == (Pragma("nounroll", 6), Pragma("used_bytes_mask 1", 6))
    assert read('.pragma "nounroll", "x";').problems == ()


def test_branch_tables() -> None:
    table, jump = flat_body(body_of("$L_0: .branchtargets $L_1, $L_2;\n@%p1 brx.idx %r1, $L_0;"))
    assert table == BranchTargets("$L_0", ("$L_1", "$L_2"), False, 6)
    assert isinstance(jump, Instruction)
    assert jump.operands == (Register("%r1"), Symbol("$L_0"))


def test_calls() -> None:
    direct = call_of(one("call.uni (retval0),\nf,\n(\nparam0,\nparam1\n);"))
    assert direct is not None
    assert direct.results == (Symbol("retval0"),)
    assert direct.callee == Symbol("f")
    assert direct.arguments == (Symbol("param0"), Symbol("param1"))
    indirect = call_of(one("p_1 : .callprototype ()_ (.param .b32 _);\ncall %rd4, (param0), p_1;"))
    assert indirect is not None
    assert (indirect.results, indirect.callee, indirect.prototype) == ((), Register("%rd4"), "p_1")
    assert call_of(one("call.uni f;")) is not None
    assert call_of(one("ret;")) is None
    assert one("call (%f1), f, (%f2, 0f3F800000);").operands[0] == Arguments((Register("%f1"),))


def test_scopes_give_names_of_their_own() -> None:
    function = body_of(
        """.reg .b32 %r<3>;
        { .reg .b32 t; .param .b32 param0; st.param.b32 [param0+0], %r1; mov.b32 t, %r2; }
        { .param .b32 param0; { .reg .b32 %r<9>; st.param.b32 [param0], %r1; } ld.param.b32 %r1, [param0]; }
        """
    )
    scopes = [part for part in function.body or () if isinstance(part, Scope)]
    assert len(scopes) == 2
    texts = [instruction_text(part) for part in flat_body(function) if isinstance(part, Instruction)]
    assert texts == [
        "st.param.b32[param0@1],%r1",
        "mov.b32t@1,%r2",
        "st.param.b32[param0@2],%r@3_1",
        "ld.param.b32%r1,[param0@2]",
    ]


def test_source_locations() -> None:
    module = read(
        """.visible .entry k() {
    .loc 1 9 3
    mov.u32 %r1, 0;
    .loc 2 40 7, function_name $L__info_string0, inlined_at 1 9 3
    add.s32 %r1, %r1, 1;
    .loc 2 50 1, function_name $L__info_string0, inlined_at 2 40 7
    add.s32 %r1, %r1, 2;
}
.file 1 "/src/a.cu"
.file 2 "/src/b\\\\c.h", 1700000000, 99
.section .debug_str
{
$L__info_string0:
.b8 95,90,49
.b8 102,118,0
}
"""
    )
    assert [(file.number, file.path) for file in module.files] == [(1, "/src/a.cu"), (2, "/src/b\\c.h")]
    plain, inlined, twice = (part for part in flat_body(module.functions[0]) if isinstance(part, Instruction))
    assert plain.location is not None
    assert (plain.location.line, plain.location.inlined_at) == (9, None)
    assert inlined.location is not None
    assert (inlined.location.file, inlined.location.function) == (2, "_Z1fv")
    assert inlined.location.inlined_at == plain.location
    assert twice.location is not None
    assert twice.location.inlined_at == inlined.location


def test_a_place_inlined_into_itself_ends_somewhere() -> None:
    line = ".loc 1 1 1, inlined_at 1 1 1\nmov.u32 %r1, 0;\n"
    last = [part for part in flat_body(body_of(line * 2000)) if isinstance(part, Instruction)][-1]
    place, depth = last.location, 0
    while place is not None:
        place, depth = place.inlined_at, depth + 1
    assert depth < 50


def test_locations_end_with_their_function() -> None:
    module = read(".func f() { .loc 1 5 0\nret; }\n.func g() { ret; }\n")
    (last,) = flat_body(module.functions[1])
    assert isinstance(last, Instruction)
    assert last.location is None


def test_comments_sections_and_line_ends() -> None:
    text = (
        "// one\r\n/* two\r\n lines */ .func f() { ret; /* } */ } // .func x\r\n"
        "\t.section\t.debug_info\r\n\t{\r\n.b32 .debug_abbrev\r\n.b8 1\r\n\t}\r\n"
        "@@DWARF .section .debug_line\r\n.func g()\r\n{\r\nret;\r\n}\r\n"
    )
    module = parse_ptx((HEAD + text).replace("\n", "\r\n").replace("\r\r", "\r"), Path("a.ptx"))
    assert [function.name for function in module.functions] == ["f", "g"]
    assert module.problems == ()
    assert module.functions[1].line == 13
    assert parse_ptx("\ufeff" + HEAD, Path("a.ptx")).version == (8, 7)


def test_an_extracted_program_is_one_module_without_repetitions() -> None:
    heading = "\nFatbin ptx code:\n================\narch = sm_80\ncompressed\n\n"
    text = heading + HEAD + ".entry k() { ret; }\n" + heading + HEAD + ".entry k() { ret; }\n.entry l() { }\n"
    module = parse_ptx(text, Path("a.ptx"))
    assert [(function.name, function.line) for function in module.functions] == [("k", 10), ("l", 21)]
    assert module.problems == ()


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
_NUMBERS = st.one_of(
    st.integers(-(1 << 63), (1 << 64) - 1).map(lambda n: Immediate(str(n), n)),
    st.integers(0, (1 << 64) - 1).map(lambda n: Immediate(f"{n:#X}".replace("X", "x"), n)),
)
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


@given(_NAMES, _MODIFIERS, _OPERANDS, _GUARDS, st.lists(_BLANKS, min_size=1, max_size=6))
def test_an_instruction_written_and_read_again_is_the_same(
    opcode: str, modifiers: list[str], operands: list[Operand], guard: Guard | None, blanks: list[str]
) -> None:
    written = Instruction(opcode, tuple(modifiers), tuple(operands), guard, 0, None)
    text = instruction_text(written)
    end_of_mnemonic = text.index(written.mnemonic) + len(written.mnemonic)
    head, tail = text[: end_of_mnemonic - len(written.mnemonic)], text[end_of_mnemonic:]
    gaps = itertools.cycle(blanks)
    tail = re.sub(r"[][,{}|]", lambda sign: next(gaps) + sign[0] + next(gaps), tail)
    read_again = one(f"{head}{next(gaps)}{written.mnemonic}{next(gaps)}{tail}{next(gaps)};")
    assert (read_again.opcode, read_again.modifiers) == (opcode, tuple(modifiers))
    assert (read_again.operands, read_again.guard) == (tuple(operands), guard)


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

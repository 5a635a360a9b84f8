"""PTX text as a typed module."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wattslice.frontend.ptx.syntax.parser import fragment, parse_ptx
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Arguments,
    BranchTargets,
    Guard,
    Immediate,
    Instruction,
    Label,
    Operand,
    Pair,
    Pragma,
    Register,
    RegisterDeclaration,
    Sink,
    Symbol,
    Variable,
    Vector,
    call_of,
)

from .ptx_reading import HEAD, body_of, one, operand, read
from .ptx_text import instruction_text


def test_the_head_of_a_module() -> None:
    assert read("").problems == ()
    assert [found.message for found in read("hello").problems] == ["a declaration expected, 'hello' found"]


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
    assert (pointer.type, pointer.is_pointer) == ("u64", True)
    assert (record.dimensions, record.size_bytes) == ((24,), 24)
    assert (factor.type, factor.size_bytes, factor.is_pointer) == ("f32", 4, False)
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
    assert module.problems == ()


def test_variables_of_a_module() -> None:
    a, b, c, d, e = read(
        ".global .align 4 .b8 a[12] = {1, 0, 254};\n"
        ".const .align 16 .v4 .f32 b[2][3];\n"
        ".extern .shared .align 16 .b8 c[];\n"
        ".global .u64 d = generic(a)+4, e[2] = {a, 0xFF00(a)};\n"
    ).variables
    assert (a.space, a.size_bytes) == ("global", 12)
    assert (b.space, b.lanes, b.dimensions, b.size_bytes) == ("const", 4, (2, 3), 96)
    assert (c.linkage, c.dimensions, c.size_bytes) == ("extern", (None,), None)
    assert (d.name, e.name, e.dimensions) == ("d", "e", (2,))


def test_opaque_and_managed_variables() -> None:
    texture, sampler, managed = read(
        ".global .texref t;\n"
        ".global .samplerref s = { addr_mode_0 = wrap, filter_mode = nearest };\n"
        ".visible .global .attribute(.managed) .align 4 .u32 m = 7;\n"
    ).variables
    assert (texture.type, sampler.type) == ("texref", "samplerref")
    assert (managed.name, managed.type) == ("m", "u32")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%r1", Register("%r1")),
        ("%tid.x", Register("%tid", "x")),
        ("!%p1", Register("%p1", negated=True)),
        ("_", Sink()),
        ("table", Symbol("table")),
        ("table+12", Symbol("table", 12)),
        ("{%f1, _, 0}", Vector((Register("%f1"), Sink(), Immediate(0)))),
        ("%p1|%p2", Pair(Register("%p1"), Register("%p2"))),
        ("%r1|_", Pair(Register("%r1"), Sink())),
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+16]", Address(Register("%rd1"), 16)),
        ("[%rd1+-8]", Address(Register("%rd1"), -8)),
        ("[ table - 4 ]", Address(Symbol("table"), -4)),
        ("[0x40]", Address(Immediate(64))),
        ("table[3]", Address(Symbol("table"), subscript=Immediate(3))),
        ("[tex, {%f1, %f2}]", Address(Symbol("tex"), 0, (Vector((Register("%f1"), Register("%f2"))),))),
        ("WARP_SZ", Immediate(32)),
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
    table, jump = list(body_of("$L_0: .branchtargets $L_1, $L_2;\n@%p1 brx.idx %r1, $L_0;").body or ())
    assert table == BranchTargets("$L_0", ("$L_1", "$L_2"), 6)
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
    assert (indirect.results, indirect.callee) == ((), Register("%rd4"))
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
    texts = [instruction_text(part) for part in function.body or () if isinstance(part, Instruction)]
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
    plain, inlined, twice = (part for part in module.functions[0].body or () if isinstance(part, Instruction))
    assert plain.location is not None
    assert (plain.location.line, plain.location.inlined_at) == (9, None)
    assert inlined.location is not None
    assert inlined.location.file == 2
    assert inlined.location.inlined_at == plain.location
    assert twice.location is not None
    assert twice.location.inlined_at == inlined.location


def test_a_place_inlined_into_itself_ends_somewhere() -> None:
    line = ".loc 1 1 1, inlined_at 1 1 1\nmov.u32 %r1, 0;\n"
    last = [part for part in body_of(line * 2000).body or () if isinstance(part, Instruction)][-1]
    place, depth = last.location, 0
    while place is not None:
        place, depth = place.inlined_at, depth + 1
    assert depth < 50


def test_locations_end_with_their_function() -> None:
    module = read(".func f() { .loc 1 5 0\nret; }\n.func g() { ret; }\n")
    (last,) = list(module.functions[1].body or ())
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
    assert parse_ptx("\ufeff" + HEAD, Path("a.ptx")).problems == ()


def test_an_extracted_program_is_one_module_without_repetitions() -> None:
    heading = "\nFatbin ptx code:\n================\narch = sm_80\ncompressed\n\n"
    text = heading + HEAD + ".entry k() { ret; }\n" + heading + HEAD + ".entry k() { ret; }\n.entry l() { }\n"
    module = parse_ptx(text, Path("a.ptx"))
    assert [(function.name, function.line) for function in module.functions] == [("k", 10), ("l", 21)]
    assert module.problems == ()


def test_a_fragment_keeps_what_can_be_read_around_what_cannot():
    text = "{ .reg .pred p; ld.global.f32 %0, [%1+8]; rdtsc %eax (; @p st.global.u32 [%1], 0x10; }"
    load, store = fragment(text)
    assert (load.mnemonic, load.operands[1]) == ("ld.global.f32", Address(Register("%1"), 8))
    assert (store.mnemonic, store.operands[1]) == ("st.global.u32", Immediate(16))

"""PTX written by hand: how often what runs, as closed forms, and what the tree says of it."""

import io
import shutil
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.errors import Severity
from wattslice.frontend.ptx.operations import operations_of
from wattslice.ir import OperationClass
from wattslice.pipeline import files as pipeline
from wattslice.report.text import write_text

from .ptx_kernels import ADDRESS, HEADER, THREAD, analysed, executed, kernel_text, read
from .samples import there

EARLY_RETURN = (
    THREAD
    + """
ld.param.u32 %r5, [k_param_1];
setp.ge.s32 %p1, %r4, %r5;
@%p1 bra DONE;
"""
    + ADDRESS
    + """
ld.global.f32 %f1, [%rd4]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd4], %f2;
DONE: ret;
"""
)


def test_an_early_return_counts_only_who_goes_on(tmp_path):
    runs = executed(tmp_path, kernel_text(EARLY_RETURN, "u64", "u32"), "k=4:64", "k.param1=100")
    assert runs["setp.ge.s32"] == 1
    assert runs["ld.global.f32"] == runs["add.f32"] == runs["st.global.f32"] == pytest.approx(100 / 256)


SWITCH = """
ld.param.u32 %r1, [k_param_1]; ld.param.u64 %rd1, [k_param_0];
WAYS: .branchtargets A, B, A, C;
brx.idx %r1, WAYS;
A: red.global.add.u32 [%rd1], 1; bra END;
B: red.global.max.u32 [%rd1], 1;
C: red.global.min.u32 [%rd1], 1;
END: ret;
"""


@pytest.mark.parametrize(
    ("way", "adds", "most", "least"), [(0, 1, 0, 0), (1, 0, 1, 1), (2, 1, 0, 0), (3, 0, 0, 1)]
)
def test_ways_of_an_indexed_branch(tmp_path, way, adds, most, least):
    runs = executed(tmp_path, kernel_text(SWITCH, "u64", "u32"), "k=1:32", f"k.param1={way}")
    found = tuple(runs[f"red.global.{op}.u32"] for op in ("add", "max", "min"))
    assert found == (adds, most, least)


def test_an_instruction_under_a_guard_runs_where_it_holds(tmp_path):
    body = THREAD + ADDRESS + "setp.lt.u32 %p1, %r3, 8; @!%p1 st.global.u32 [%rd4], %r3; ret;"
    runs = executed(tmp_path, kernel_text(body, "u64"), "k=1:32")
    assert runs["st.global.u32"] == 0.75


def test_operations_count_as_in_sources(tmp_path):
    """`fma` is two operations, `setp` and integer sums one each, moves and conversions none."""
    body = (
        THREAD
        + ADDRESS
        + """
    ld.global.f32 %f1, [%rd4]; fma.rn.f32 %f2, %f1, %f1, %f1; cvt.f64.f32 %fd1, %f2;
    div.rn.f64 %fd2, %fd1, %fd1;
    sqrt.rn.f64 %fd3, %fd2; cvt.rn.f32.f64 %f3, %fd3; ex2.approx.f32 %f4, %f3; st.global.f32 [%rd4], %f4; ret;
    """
    )
    counts = there(analysed(tmp_path, kernel_text(body, "u64"), "k=1:32").work).counts_per_thread
    assert counts is not None
    assert (counts.fp32, counts.fp64, counts.special) == (2, 1, 2)
    assert counts.integer == 2 + 1 + 1  # mad, mul.wide, add
    assert (counts.global_load, counts.global_store, counts.control) == (1, 1, 0)


VECTORS = (
    THREAD
    + """
ld.param.u64 %rd1, [k_param_0]; mul.wide.s32 %rd3, %r4, 16; add.s64 %rd4, %rd1, %rd3;
ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4]; add.f32 %f5, %f1, %f4;
st.global.v2.f32 [%rd4+8], {%f5, %f2}; ret;
"""
)


def test_vector_accesses_are_one_access_of_their_size(tmp_path):
    kernel = analysed(tmp_path, kernel_text(VECTORS, "u64"), "k=4:64")
    assert there(kernel.work).bytes_per_thread == 16 + 8
    assert there(kernel.work).counts_per_thread.global_load == 1


FUNCTION = """
.func (.param .b32 result) twice(.param .b64 twice_param_0, .param .b32 twice_param_1)
{
.reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
ld.param.u64 %rd1, [twice_param_0]; ld.param.u32 %r1, [twice_param_1]; mov.u32 %r2, 0;
L: red.global.add.u32 [%rd1], 1; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
st.param.b32 [result], %r2; ret;
}
"""
CALL = """
ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %r1, [k_param_1];
{ .param .b64 param0; st.param.b64 [param0], %rd1; .param .b32 param1; st.param.b32 [param1], %r1;
.param .b32 retval0; call.uni (retval0), twice, (param0, param1); ld.param.b32 %r2, [retval0]; }
L2: red.global.max.u32 [%rd1], 1; add.s32 %r2, %r2, -1; setp.gt.s32 %p1, %r2, 0; @%p1 bra L2;
ret;
"""


def test_functions_of_the_file_are_followed_and_give_their_results_back(tmp_path):
    text = FUNCTION + kernel_text(CALL, "u64", "u32")
    runs = executed(tmp_path, text, "k=1:32", "k.param1=5")
    assert runs["red.global.add.u32"] == runs["red.global.max.u32"] == 5


def test_a_call_without_body_is_told_and_left_out(tmp_path):
    program = read(tmp_path, ".extern .func far();\n" + kernel_text("call.uni far; ret;"))
    assert [entry.rule for entry in program.diagnostics] == ["PW005"]
    assert program.kernels[0].holes == program.diagnostics


def test_a_loop_with_two_entries_is_a_hole_that_names_its_line(tmp_path):
    body = "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra B; A: bar.sync 0; B: bar.sync 0;\n"
    body += "setp.ne.u32 %p2, %r1, 1; @%p2 bra A; ret;"
    program = read(tmp_path, kernel_text(body) + kernel_text("ret;", name="other"))
    lost, other = program.kernels
    (told,) = program.diagnostics
    assert (told.rule, told.line) == ("PW060", 9)
    assert "one at label" in told.message
    assert not lost.body_is_complete
    assert other.body_is_complete


def test_a_branch_to_nowhere_is_a_hole(tmp_path):
    (told,) = read(tmp_path, kernel_text("bra NOWHERE; ret;")).diagnostics
    assert told.rule == "PW060"
    assert "NOWHERE" in told.message


def test_names_and_bounds(tmp_path):
    text = kernel_text(
        "ret;", name="_ZN2ns5scaleIfLi4EEEvPT_i", directives=".maxntid 64, 4, 1\n.minnctapersm 2"
    )
    (kernel,) = read(tmp_path, text).kernels
    assert (kernel.name, kernel.qualified_name) == ("scale", "ns::scale<float, 4>")
    assert (kernel.max_threads_per_block, kernel.min_blocks_per_sm) == (256, 2)


def test_a_register_limit_is_read(tmp_path):
    assert read(tmp_path, kernel_text("ret;", directives=".maxnreg 24")).kernels[0].max_registers == 24


def test_a_setting_means_the_parameter_and_no_register_of_its_name(tmp_path):
    """`%r7` is read before anything is written to it: `--set k.r7=4` does not say what it holds."""
    body = """ld.param.u64 %rd1, [p1]; ld.param.u32 %r2, [r7]; mov.u32 %r5, 0;
LOOP: setp.eq.s32 %p1, %r7, 4; @%p1 bra NEXT; red.global.add.u32 [%rd1], 1;
NEXT: ld.global.u32 %r7, [%rd1]; add.s32 %r5, %r5, 1; setp.lt.s32 %p3, %r5, %r2; @%p3 bra LOOP;
ret;"""
    text = kernel_text(body, "u64", "u32").replace("k_param_0", "p1").replace("k_param_1", "r7")
    runs = executed(tmp_path, text, "k=1:32", "k.r7=4")
    assert runs["ld.global.u32"] == 4
    assert runs["red.global.add.u32"] == 2


def test_line_information_points_into_the_source(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("\n" * 20)
    body = ".loc 1 7 3\nmov.u32 %r1, %tid.x;\n.loc 1 9 5\nbar.sync 0;\n.loc 1 12 1\nret;"
    (kernel,) = read(tmp_path, kernel_text(body) + f'.file 1 "{source}"\n').kernels
    assert (kernel.span.file, kernel.span.line, kernel.span.end_line) == (str(source), 7, 12)
    assert [(i.opcode, i.span.line) for i in kernel.machine_instructions] == [
        ("mov.u32", 7),
        ("bar.sync", 9),
        ("ret", 12),
    ]


def test_what_the_compiler_made_is_told_of_the_line_around_it(tmp_path):
    body = ".loc 1 7 3\nmov.u32 %r1, %tid.x;\n.loc 1 0 3\nbar.sync 0;\nret;"
    (kernel,) = read(tmp_path, kernel_text(body) + '.file 1 "gone.cu"\n').kernels
    assert {entry.span.line for entry in kernel.machine_instructions} == {7}


@pytest.mark.parametrize(
    "inside", ["", ".loc 2 90 1\n", ".loc 2 90 1, function_name $L, inlined_at 2 80 1\n"]
)
def test_a_function_of_the_toolkit_is_told_of_the_line_that_calls_it(tmp_path, inside):
    function = f".func slow() {{ {inside}bar.sync 0;\nret; }}\n"
    text = function + kernel_text(".loc 1 7 3\ncall.uni slow, ();\nret;")
    files = '.file 1 "gone.cu"\n.file 2 "/opt/cuda-13/include/cuda_bf16.hpp"\n'
    (kernel,) = read(tmp_path, text + files).kernels
    assert {(entry.span.file, entry.span.line) for entry in kernel.machine_instructions} == {
        (str(tmp_path / "gone.cu"), 7)
    }


def test_without_line_information_lines_are_those_of_the_ptx(tmp_path):
    (kernel,) = read(tmp_path, kernel_text("bar.sync 0;\nret;")).kernels
    assert kernel.span.file.endswith("k.ptx")
    assert [i.span.line for i in kernel.machine_instructions] == [9, 10]


def test_golden(golden, monkeypatch, tmp_path):
    folder = Path("tests/analyzer/ptx")  # copied, for in a checkout source and PTX may be of any age
    shutil.copytree(Path(__file__).parents[2] / folder, tmp_path / folder, copy_function=shutil.copyfile)
    monkeypatch.chdir(tmp_path)
    options = Options(
        paths=(Path("tests/analyzer/ptx/block_sums.ptx"),),
        gpu="v100",
        no_cache=True,
        launches=("block_sums=160:256",),
        overrides=("block_sums.param2=1000000",),
    )
    text = io.StringIO()
    write_text(pipeline.analyze_files(make_config(options)), text)
    golden("report_ptx.txt", text.getvalue())


def test_ptx_is_not_profiled(capsys):
    path = Path(__file__).parent / "ptx" / "block_sums.ptx"
    assert main(["profile", str(path), "--skeleton"]) == 2
    assert "PTX cannot be profiled" in capsys.readouterr().err


def test_a_kernel_beyond_all_bounds_is_told_and_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("wattslice.frontend.ptx.lowering.context.MAX_INSTRUCTIONS", 5)
    program = read(tmp_path, kernel_text(EARLY_RETURN, "u64", "u32"))
    assert [entry.rule for entry in program.diagnostics] == ["PW007"]
    assert not program.kernels[0].body_is_complete


def test_a_source_and_its_ptx_are_two_analyses(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(int* a) { a[threadIdx.x] = 1; }\n")
    body = ".loc 1 1 1\n" + THREAD + ADDRESS + "st.global.u32 [%rd4], 1; ret;"
    (tmp_path / "k.ptx").write_text(HEADER + kernel_text(body, "u64") + f'.file 1 "{source}"\n')
    paths = (source, tmp_path / "k.ptx")
    config = make_config(Options(paths=paths, gpu="v100", no_cache=True, jobs=1))
    kernels = pipeline.analyze_files(config).kernels
    assert [(kernel.source.file, kernel.source.line) for kernel in kernels] == [(str(source), 1)] * 2


PASSED = """
.func outer(.param .b64 outer_param_0) {
.reg .b64 %rd<5>; ld.param.u64 %rd1, [outer_param_0]; add.s64 %rd2, %rd1, 64;
{ .param .b64 param0; st.param.b64 [param0], %rd2; call.uni inner, (param0); } ret; }
.func inner(.param .b64 inner_param_0) {
.reg .b64 %rd<5>; .reg .b32 %r<5>; ld.param.u64 %rd1, [inner_param_0]; mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.u32 [%rd3], %r1; ret; }
"""


def test_a_pointer_handed_through_functions_keeps_its_object(tmp_path):
    call = "ld.param.u64 %rd1, [k_param_0]; { .param .b64 param0; st.param.b64 [param0], %rd1; "
    text = PASSED + kernel_text(call + "call.uni outer, (param0); } ret;", "u64")
    kernel = analysed(tmp_path, text, "k=2:64")
    assert [(s.memory_space.value, s.variables) for s in kernel.slices] == [("global", ("param0",))]
    assert kernel.assumptions == ()
    assert there(kernel.work).bytes_per_thread == 4


def test_sums_of_sums_do_not_grow_without_end(tmp_path):
    """Each takes in the two before it: looked into, the last would have thirty coefficients like 10**6."""
    step = "xor.b32 %r5, %r{b}, {n}; add.s32 %r6, %r{a}, %r5; add.s32 %r{c}, %r6, %r{b};\n"
    chain = "".join(step.format(n=7 * n + 1, a=8 + n, b=9 + n, c=10 + n) for n in range(30))
    body = THREAD + ADDRESS + "mov.u32 %r8, %r4; xor.b32 %r9, %r4, 5;\n" + chain
    kernel = analysed(tmp_path, kernel_text(body + "st.global.u32 [%rd4], %r39; ret;", "u64"), "k=1:32")
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert 60 <= executed["imad"] + executed["iadd"] <= 120  # of 60 additions


def test_a_rotation_is_one_shift(tmp_path):
    body = THREAD + ADDRESS + "shf.l.wrap.b32 %r8, %r4, %r4, 7; st.global.u32 [%rd4], %r8; ret;"
    kernel = analysed(tmp_path, kernel_text(body, "u64"), "k=1:32")
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert executed["shf"] == 1


@pytest.mark.parametrize(("offsets", "loads"), [((0, 4, 8, 12), 1), ((0, 4), 1), ((4, 8), 2), ((0, 4, 8), 2)])
def test_neighbouring_loads_from_shared_memory_become_vectors(tmp_path, offsets, loads):
    lines = "".join(
        f"ld.shared.f32 %f{n}, [%r8+{64 + at}]; add.f32 %f9, %f9, %f{n};\n" for n, at in enumerate(offsets)
    )
    body = THREAD + ADDRESS + ".shared .align 4 .b8 tile[4096];\nshl.b32 %r6, %r3, 5; mov.u32 %r7, tile;\n"
    body += "add.s32 %r8, %r7, %r6; mov.f32 %f9, 0f00000000;\n" + lines + "st.global.f32 [%rd4], %f9; ret;"
    kernel = analysed(tmp_path, kernel_text(body, "u64"), "k=1:32")
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert executed["lds"] == loads
    assert there(kernel.work).counts_per_thread.shared_load == len(offsets)


COPY = """
.shared .align 16 .b8 tile[4096];
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd1, %rd3;
shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2;
cp.async.cg.shared.global [%r4], [%rd4], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; ret;
"""


def test_an_asynchronous_copy_is_a_load_and_a_store(tmp_path):
    kernel = analysed(tmp_path, kernel_text(COPY, "u64"), "k=1:32")
    assert there(kernel.work).bytes_per_thread == 16 + 16
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert (executed["ldg"], executed["sts"]) == (1, 1)


MATRIX = """
ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1]; mov.u32 %r9, 64;
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], %r9;
wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd2], {%r1, %r2, %r3, %r4}, %r9; ret;
"""


def test_matrix_tiles_are_loaded_and_stored_by_all_lanes(tmp_path):
    kernel = analysed(tmp_path, kernel_text(MATRIX, "u64", "u64"), "k=1:32")
    assert there(kernel.work).bytes_per_thread == 2 * (16 * 16 * 2 / 32)
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert (executed["ldg"], executed["stg"]) == (4, 4)  # two halves a lane at a time


PASSED_ON = """
ld.global.u32 %r5, [%rd4]; add.s32 %r6, %r5, %r4;
{ .param .b32 param0; st.param.b32 [param0], %r6; .param .b32 retval0;
.loc 1 7 3
call.uni (retval0), far, (param0);
ld.param.b32 %r7, [retval0]; } st.global.u32 [%rd4], %r7; ret;
"""


def test_what_an_unknown_function_is_passed_is_computed(tmp_path):
    text = ".extern .func (.param .b32 r) far(.param .b32 a);\n"
    text += kernel_text(THREAD + ADDRESS + PASSED_ON, "u64") + '.file 1 "gone.cu"\n'
    (told,) = read(tmp_path, text).diagnostics
    assert (told.rule, told.file, told.line) == ("PW005", str(tmp_path / "gone.cu"), 7)
    kernel = analysed(tmp_path, text, "k=1:32")
    executed = {count.name: count.number for count in there(kernel.work).instructions_per_thread}
    assert executed["ldg"] == executed["stg"] == 1


def test_recursion_and_depth_are_told_apart(tmp_path):
    chain = "".join(f".func f{n}() {{ call f{n - 1}; ret; }}\n" for n in range(1, 18))
    text = ".func f0() { call f0; ret; }\n" + chain
    (recursion,) = read(tmp_path, text + kernel_text("call f0; ret;")).diagnostics
    (depth,) = read(tmp_path, text + kernel_text("call f17; ret;")).diagnostics
    assert "within itself" in recursion.message
    assert "'f2', the 16th inside one another" in depth.message


@pytest.mark.parametrize(
    ("instruction", "counted"),
    [
        ("max.s16x2 %r8, %r4, %r3;", {"integer": 2}),
        ("add.u16x2 %r8, %r4, %r3;", {"integer": 2}),
        ("fma.rn.f32x2 %rd8, %rd4, %rd4, %rd4;", {"fp32": 4}),
        ("add.f32.bf16 %f8, %rs1, %f1;", {"fp32": 1}),
        ("fma.rn.f32.f16 %f8, %rs1, %rs1, %f1;", {"fp32": 2}),
        ("fma.rn.f16x2 %r8, %r4, %r4, %r4;", {"fp16": 4}),
    ],
)
def test_pairs_and_mixed_types_count_in_the_type_they_work_in(tmp_path, instruction, counted):
    counts = there(analysed(tmp_path, kernel_text(instruction + " ret;"), "k=1:32").work).counts_per_thread
    assert counts is not None
    assert {name: getattr(counts, name) for name in ("integer", "fp32", "fp16")} == {
        "integer": 0,
        "fp32": 0,
        "fp16": 0,
    } | counted


@pytest.mark.parametrize(
    ("mnemonic", "counted"),
    [
        ("cp.async.bulk.global.shared::cta.bulk_group", (OperationClass.GLOBAL_STORE, 1)),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
            (OperationClass.GLOBAL_LOAD, 1),
        ),
        ("cp.async.bulk.prefetch.L2.global", None),
    ],
)
def test_bulk_copies_are_what_they_do(mnemonic, counted):
    found = operations_of(mnemonic)
    assert (found and (found.operation, found.number)) == counted


@pytest.mark.parametrize(
    ("mnemonic", "tensor", "hmma"),
    [  # multiply-adds by 4096, by the rates of the A100; instructions: SASS of nvcc 13
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 1 / 2, 1),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 1 / 4, 1),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 1 / 2, 1),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", 1 / 2, 1),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 1 / 2, 1),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 1 / 2, 1),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 1, 1),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 1 / 2, 1),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 1, 2),
        ("wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32", 1 / 2, 2),
        ("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", 16, 1),
        ("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", 4, 1),
    ],
)
def test_a_product_of_matrices_counts_its_multiply_adds(mnemonic, tensor, hmma):
    found = operations_of(mnemonic)
    assert found is not None
    assert (found.operation, found.instruction) == (OperationClass.TENSOR, "hmma")
    assert (found.number, found.number / found.each) == (tensor, hmma)


def test_a_product_whose_size_stands_in_a_descriptor_is_told(tmp_path):
    text = kernel_text("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1; ret;")
    (told,) = read(tmp_path, text).diagnostics
    assert (told.rule, told.severity) == ("PW006", Severity.WARNING)
    assert "stands in a descriptor: it is not counted" in told.message


@pytest.mark.parametrize(("used", "size"), [(("%f1",), 4), (("%f1", "%f4"), 16)])
def test_a_texture_is_fetched_as_far_as_it_is_used(tmp_path, used, size):
    uses = "".join(f"add.f32 %f9, %f9, {name};" for name in used)
    body = "ld.param.u64 %rd1, [k_param_0]; mov.f32 %f9, 0f00000000; cvt.rn.f32.u32 %f5, %r3;\n"
    body += "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f5}];\n" + uses
    body += "st.global.f32 [%rd2], %f9; ret;"
    work = there(analysed(tmp_path, kernel_text(body, "u64"), "k=1:32").work)
    assert work.bytes_per_thread == size + 4


@pytest.mark.parametrize(
    "wrong",
    [
        "add %r1, %r2, %r3;",
        "add.s32;",
        "setp.lt.s32 %p1;",
        "bra;",
        "bra 5;",
        "brx.idx %r1;",
        "red;",
        "mov %r1, %r2;",
    ],
)
def test_an_instruction_of_no_known_form_costs_its_kernel_alone(tmp_path, wrong):
    text = kernel_text(f"bar.sync 0;\n{wrong}\nret;") + kernel_text("ret;", name="other")
    program = read(tmp_path, text)
    (told,) = program.diagnostics
    assert (told.rule, told.line) == ("PW060", 10)
    assert wrong.split()[0].rstrip(";") in told.message
    assert [kernel.body_is_complete for kernel in program.kernels] == [False, True]


def test_an_infinity_in_a_register_of_bits_is_its_bits(tmp_path):
    body = "mov.b64 %rd3, 0d7FF0000000000000; st.global.u32 [%rd3], 1; ret;"
    kernel = analysed(tmp_path, kernel_text(body), "k=1:32")
    assert there(kernel.work).bytes_per_thread == 4


def test_kernels_and_loops_beyond_the_bounds_of_a_file_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("wattslice.frontend.ptx.read.MOST_KERNELS", 2)
    program = read(tmp_path, "".join(kernel_text("ret;", name=f"k{n}") for n in range(4)))
    assert [kernel.name for kernel in program.kernels] == ["k0", "k1"]
    assert [entry.rule for entry in program.diagnostics] == ["PW007"]
    monkeypatch.setattr("wattslice.frontend.ptx.lowering.statements.MOST_NESTED_BLOCKS", 2)
    heads = "".join(f"L{n}: add.s32 %r{n}, %r{n}, 1;\n" for n in range(3))
    tests = "".join(f"setp.lt.s32 %p{n}, %r{n}, 9; @%p{n} bra L{n};\n" for n in (2, 1, 0))
    (told,) = read(tmp_path, kernel_text(heads + tests + "ret;")).diagnostics
    assert (told.rule, "2 deep" in told.message) == ("PW007", True)


@pytest.mark.parametrize("number", [0, 1, 40, 0x80000000])
def test_bits_are_found_where_they_are(tmp_path, number):
    """Loops that run once more than `__ffs`, and than the place of the highest bit (-1 of zero), say."""
    body = """
ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %r1, [k_param_1];
brev.b32 %r2, %r1; bfind.shiftamt.u32 %r3, %r2; add.s32 %r4, %r3, 2; bfind.u32 %r5, %r1; add.s32 %r6, %r5, 2;
L1: red.global.add.u32 [%rd1], 1; add.s32 %r4, %r4, -1; setp.gt.s32 %p1, %r4, 0; @%p1 bra L1;
L2: red.global.max.u32 [%rd1], 1; add.s32 %r6, %r6, -1; setp.gt.s32 %p2, %r6, 0; @%p2 bra L2;
ret;"""
    runs = executed(tmp_path, kernel_text(body, "u64", "u32"), "k=1:32", f"k.param1={number}")
    assert runs["red.global.add.u32"] == (number & -number).bit_length() + 1
    assert runs["red.global.max.u32"] == number.bit_length() + 1


def test_an_instruction_that_ptx_does_not_have_is_told(tmp_path):
    (told,) = read(tmp_path, kernel_text("frobnicate.s32 %r1, %r2; ret;")).diagnostics
    assert told.rule == "PW006"
    assert "'frobnicate'" in told.message


VOTES = {
    "of all": "vote.sync.ballot.b32 %r5, %p1, 0xffffffff; @!%p1 bra END;",
    "by a mask": "mov.b32 %r9, -1; vote.sync.ballot.b32 %r5, %p1, %r9; @!%p1 bra END;",
    "against": "not.pred %p3, %p1; vote.sync.ballot.b32 %r5, !%p3, -1; @%p3 bra END;",
    "running": "@!%p1 bra END; activemask.b32 %r5;",
}


@pytest.mark.parametrize("vote", VOTES.values(), ids=VOTES)
@pytest.mark.parametrize(
    ("asked", "runs"), [("ld.global.u32 %r8, [%rd4]", 1.0), ("add.s32 %r8, %r3, -40", 0.75)]
)
def test_one_lane_leads_those_that_vote(tmp_path, vote, asked, runs):
    leader = (
        "mov.u32 %r6, %lanemask_lt; and.b32 %r7, %r5, %r6; setp.eq.s32 %p2, %r7, 0;"
        " @%p2 red.global.add.u32 [%rd2], 1;"
        " END: ret;"
    )
    body = THREAD + ADDRESS + f"{asked}; setp.gt.s32 %p1, %r8, 0; {vote} {leader}"
    found = executed(tmp_path, kernel_text(body, "u64"), "k=1:128")["red.global.add.u32"]
    assert 32 * found == pytest.approx(runs, abs=1e-6)

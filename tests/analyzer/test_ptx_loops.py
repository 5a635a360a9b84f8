"""Loops of PTX: how often they run, as closed forms, however the compiler has turned them round."""

import pytest

from .ptx_kernels import THREAD, analysed, executed, kernel_text
from .samples import there

STRIDED = """
ld.param.u32 %r9, [k_param_1]; ld.param.u64 %rd1, [k_param_0]; mov.u32 %r13, %ntid.x;
mov.u32 %r11, %tid.x; setp.ge.s32 %p1, %r11, %r9; @%p1 bra DONE;
LOOP: atom.global.add.u32 %r5, [%rd1], %r11; add.s32 %r11, %r11, %r13;
setp.lt.s32 %p2, %r11, %r9; @%p2 bra LOOP;
DONE: ret;
"""


def test_the_first_test_of_a_rotated_loop_is_no_bounds_check(tmp_path):
    """`for (i = threadIdx.x; i < n; i += blockDim.x)` assumes n as it does in CUDA, not a thread for each."""
    runs = executed(tmp_path, kernel_text(STRIDED, "u64", "u32"), "k=40:64")
    assert runs["atom.global.add.u32"] == 1024 / 64


def test_a_bounds_check_around_a_loop_to_the_same_size_is_one(tmp_path):
    """`if (row < n) for (i = 0; i < n; i++)`, as in a product of matrices."""
    body = STRIDED.replace("mov.u32 %r11, %tid.x;", "mov.u32 %r11, 0;")
    body = body.replace("%r11, %r11, %r13", "%r11, %r11, 1").replace("ge.s32 %p1, %r11,", "ge.s32 %p1, %r4,")
    runs = executed(tmp_path, kernel_text(THREAD + body, "u64", "u32"), "k=40:64")
    assert runs["atom.global.add.u32"] == 40 * 64


UNROLLED = """
ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [k_param_1];
setp.lt.s32 %p1, %r1, 1; mov.f32 %f9, 0f00000000; @%p1 bra DONE;
add.s32 %r2, %r1, -1; and.b32 %r3, %r1, 3; setp.lt.u32 %p2, %r2, 3; @%p2 bra REST;
sub.s32 %r4, %r1, %r3;
LOOP:
ld.global.f32 %f1, [%rd2]; add.f32 %f9, %f9, %f1; ld.global.f32 %f2, [%rd2+4]; add.f32 %f9, %f9, %f2;
ld.global.f32 %f3, [%rd2+8]; add.f32 %f9, %f9, %f3; add.s64 %rd5, %rd2, 12;
ld.global.f32 %f4, [%rd5]; add.f32 %f9, %f9, %f4; add.s64 %rd2, %rd5, 4;
add.s32 %r4, %r4, -4; setp.ne.s32 %p3, %r4, 0; @%p3 bra LOOP;
REST: setp.eq.s32 %p4, %r3, 0; @%p4 bra DONE;
TAIL: .pragma "nounroll";
ld.global.f32 %f5, [%rd2]; add.f32 %f9, %f9, %f5; add.s64 %rd2, %rd2, 4;
add.s32 %r3, %r3, -1; setp.ne.s32 %p5, %r3, 0; @%p5 bra TAIL;
DONE: ld.param.u64 %rd8, [k_param_2]; st.global.f32 [%rd8], %f9; ret;
"""


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 1000, 1003])
def test_a_loop_unrolled_by_four_with_its_rest_runs_size_times(tmp_path, size):
    text = kernel_text(UNROLLED, "u64", "u32", "u64")
    runs = executed(tmp_path, text, "k=1:32", f"k.param1={size}")
    assert runs["add.f32"] == runs["ld.global.f32"] == size
    assert runs["sub.s32"] == (size > 3)
    assert runs["st.global.f32"] == 1


def test_a_pointer_that_several_additions_move_stays_known(tmp_path):
    """Nothing is gathered: every address follows from the counter."""
    kernel = analysed(tmp_path, kernel_text(UNROLLED, "u64", "u32", "u64"), "k=1:32", "k.param1=1003")
    assert [entry.rule for entry in kernel.assumptions] == []
    assert {loop.trip_count for loop in kernel.loops} == {250, 3}


def test_an_unknown_size_is_assumed_and_the_option_named(tmp_path):
    kernel = analysed(tmp_path, kernel_text(UNROLLED, "u64", "u32", "u64"), "k=1:32")
    assert ("PW010", "--set k.param1=VALUE") in [(entry.rule, entry.fix) for entry in kernel.assumptions]


COPIED_COUNTER = """
ld.param.u32 %r9, [k_param_1]; mov.u32 %r1, 0;
LOOP: ld.param.u64 %rd1, [k_param_0]; add.s32 %r2, %r1, 3;
atom.global.add.u32 %r5, [%rd1], %r1;
setp.lt.s32 %p1, %r2, %r9; mov.u32 %r1, %r2; @%p1 bra LOOP;
ret;
"""


def test_a_counter_that_a_copy_brings_round_has_a_closed_form(tmp_path):
    runs = executed(tmp_path, kernel_text(COPIED_COUNTER, "u64", "u32"), "k=1:32", "k.param1=100000")
    assert runs["atom.global.add.u32"] == -(-100000 // 3)


TOP_TEST = """
ld.param.u32 %r9, [k_param_1]; ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, 0;
TEST: mul.lo.s32 %r2, %r1, %r1; setp.ge.s32 %p1, %r2, %r9; @%p1 bra DONE;
red.global.add.u32 [%rd1], 1; add.s32 %r1, %r1, 1; bra TEST;
DONE: ret;
"""


def test_a_test_at_the_top_runs_once_more_than_the_body(tmp_path):
    runs = executed(tmp_path, kernel_text(TOP_TEST, "u64", "u32"), "k=1:32", "k.param1=100")
    assert (runs["red.global.add.u32"], runs["mul.lo.s32"]) == (10, 11)


HALVING = """
.shared .align 4 .b8 tile[1024];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; shl.b32 %r3, %r1, 2; mov.u32 %r4, tile; add.s32 %r5, %r4, %r3;
shr.u32 %r6, %r2, 1;
LOOP: setp.ge.u32 %p1, %r1, %r6; @%p1 bra NEXT;
shl.b32 %r7, %r6, 2; add.s32 %r8, %r5, %r7; ld.shared.f32 %f1, [%r8]; ld.shared.f32 %f2, [%r5];
add.f32 %f3, %f1, %f2; st.shared.f32 [%r5], %f3;
NEXT: bar.sync 0; shr.u32 %r9, %r6, 1; setp.gt.u32 %p2, %r6, 1; mov.u32 %r6, %r9; @%p2 bra LOOP;
ret;
"""


def test_a_tree_reduction(tmp_path):
    kernel = analysed(tmp_path, kernel_text(HALVING), "k=4:256")
    counts = there(kernel.work).counts_per_thread
    assert counts.barrier == 8
    assert counts.fp32 == pytest.approx(255 / 256)
    assert counts.shared_load == pytest.approx(2 * 255 / 256)
    assert [(s.memory_space.value, s.variables) for s in kernel.slices] == [("shared", ("tile",))]


SUM_TESTED = """
ld.param.u32 %r9, [k_param_1]; ld.param.u64 %rd1, [k_param_0]; neg.s32 %r8, %r9; mov.u32 %r1, 0;
LOOP: red.global.add.u32 [%rd1], 1; add.s32 %r1, %r1, 4; add.s32 %r2, %r8, %r1;
setp.ne.s32 %p1, %r2, 0; @%p1 bra LOOP;
ret;
"""


def test_a_counter_that_is_tested_in_a_sum_has_a_closed_form(tmp_path):
    """`-n + i != 0`, which nvcc writes where `i` is used behind the loop."""
    runs = executed(tmp_path, kernel_text(SUM_TESTED, "u64", "u32"), "k=1:32", "k.param1=400000")
    assert runs["red.global.add.u32"] == 100_000


COUNTED_DOWN = """
ld.param.u32 %r9, [k_param_1]; ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, 0;
LOOP: sub.s32 %r2, %r9, %r1; atom.global.add.u32 %r5, [%rd1], %r2; atom.global.add.u32 %r6, [%rd1], %r2;
add.s32 %r1, %r1, 1; setp.gt.s32 %p1, %r2, LAST; @%p1 bra LOOP;
ret;
"""


@pytest.mark.parametrize(("last", "runs"), [("1", 100_000), ("3", 99_998)])
def test_what_is_left_of_a_count_ends_a_loop(tmp_path, last, runs):
    """`left = n - i; i++; while (left > 1)`: tested is the value ahead of the step."""
    text = kernel_text(COUNTED_DOWN.replace("LAST", last), "u64", "u32")
    assert executed(tmp_path, text, "k=1:32", "k.param1=100000")["sub.s32"] == runs


TRIANGLE = """
ld.param.u32 %r9, [k_param_1]; ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x;
OUTER: setp.eq.s32 %p1, %r9, 7; @%p1 bra NEXT; mov.u32 %r2, 64;
INNER: red.global.add.u32 [%rd1], 1; add.s32 %r2, %r2, -4; setp.ne.s32 %p2, %r2, 0; @%p2 bra INNER;
NEXT: add.s32 %r1, %r1, 1; setp.lt.s32 %p3, %r1, %r9; @%p3 bra OUTER;
ret;
"""


def test_lanes_that_have_left_a_loop_do_not_hide_the_counter_of_one_inside(tmp_path):
    runs = executed(tmp_path, kernel_text(TRIANGLE, "u64", "u32"), "k=1:32", "k.param1=2032")
    assert runs["red.global.add.u32"] == 16 * (2032 - 15.5)


SEARCH = """
ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %r9, [k_param_1]; ld.param.u32 %r10, [k_param_2]; mov.u32 %r1, 0;
LOOP: red.global.add.u32 [%rd1], 1; setp.eq.s32 %p1, %r1, %r10; @%p1 bra FOUND;
add.s32 %r1, %r1, 1; setp.lt.s32 %p2, %r1, %r9; @%p2 bra LOOP;
red.global.min.u32 [%rd1], 1; bra END;
FOUND: red.global.max.u32 [%rd1], 1;
END: red.global.xor.b32 [%rd1], 1; ret;
"""


@pytest.mark.parametrize("wanted", [0, 7, 99, 100, 5000])
def test_a_loop_left_to_another_place_than_its_end(tmp_path, wanted):
    settings = ("k.param1=100", f"k.param2={wanted}")
    runs = executed(tmp_path, kernel_text(SEARCH, "u64", "u32", "u32"), "k=1:32", *settings)
    found = tuple(runs[f"red.global.{op}"] for op in ("add.u32", "max.u32", "min.u32", "xor.b32"))
    assert found == (min(wanted + 1, 100), wanted < 100, wanted >= 100, 1)


def test_data_that_leave_a_loop_sideways_never_make_more_lanes(tmp_path):
    text = SEARCH.replace("%r1, %r10;", "%r1, %r11;").replace(
        "red.global.add.u32 [%rd1], 1;", "ld.global.u32 %r11, [%rd1];"
    )
    runs = executed(tmp_path, kernel_text(text, "u64", "u32", "u32"), "k=1:32", "k.param1=100")
    assert runs["red.global.xor.b32"] == pytest.approx(1)
    assert runs["red.global.max.u32"] + runs["red.global.min.u32"] == pytest.approx(1)


SWAPPED = """
ld.param.u64 %rd1, [k_param_0]; ld.global.u32 %r1, [%rd1];
RETRY: add.f32 %f1, %f2, %f3; mov.b32 %r2, %f1; atom.global.cas.b32 %r3, [%rd1], %r1, %r2;
setp.ne.s32 %p1, %r1, %r3; mov.u32 %r1, %r3; @%p1 bra RETRY;
ret;
"""


def test_an_atomic_that_is_a_loop_of_swaps_runs_it_once(tmp_path):
    kernel = analysed(tmp_path, kernel_text(SWAPPED, "u64"), "k=4:64")
    assert there(kernel.work).counts_per_thread.atomic == 1
    assert ["compare-and-swap" in a.message for a in kernel.assumptions if a.rule == "PW013"] == [True]


def test_the_rest_of_an_unrolled_loop_that_data_end_runs_less_often_than_the_unroll(tmp_path):
    """Nobody knows n, but n & 3 is at most 3: two iterations are assumed of the rest, not eight."""
    body = UNROLLED.replace("ld.param.u32 %r1, [k_param_1];", "ld.global.u32 %r1, [%rd2];")
    body = body.replace('TAIL: .pragma "nounroll";', "xor.b32 %r8, %r3, 5; TAIL:")
    body = body.replace("add.f32 %f9, %f9, %f5", "mul.f32 %f9, %f9, %f5")
    runs = executed(tmp_path, kernel_text(body, "u64", "u32", "u64"), "k=1:32")
    assert runs["mul.f32"] == 2 * runs["xor.b32"] > 0
    assert runs["add.f32"] == 8 * runs["sub.s32"] > 0

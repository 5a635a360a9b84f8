"""Indices that data decide but that have bounds: where they may lead, and how many lanes meet there."""

import pytest

from wattslice import ir
from wattslice.counting import bounds
from wattslice.ir import BinaryOp
from wattslice.ir.c_arithmetic import fold
from wattslice.workload.instructions import lower_instructions
from wattslice.workload.traffic import _passes_at_random, traffic

from .counted import counted

EIGHT = {
    "bits": "x[i] & 7",
    "bits, the other way round": "7 & x[i]",
    "remainder of an unsigned": "(unsigned)x[i] % 8",
    "remainder of what is positive": "(x[i] & 0xffff) % 8",
    "remainder": "x[i] % 8",  # what is negative lies before the array
    "shift": "(unsigned)x[i] >> 29",
    "byte": "(unsigned char)x[i] >> 5",
    "part of a byte": "(unsigned char)x[i] / 32",
    "byte of an array": "b[i] >> 5",
    "byte of a vector": "v[i].y >> 5",
    "limits": "min(max(x[i], 0), 7)",
    "limits, the other way round": "max(0, min(7, x[i]))",
    "pairs": "(x[i] & 3) * 2 + (x[i + 1] & 1)",
    "shifted pairs": "((x[i] & 3) << 1 | 1)",
    "difference": "7 - (x[i] & 7)",
    "byte of more": "(unsigned char)(x[i] & 1023) >> 5",
    "one of two": "x[i] > 0 ? x[i] & 7 : 7",
    "the other of two": "x[i] > 0 ? 7 : x[i] & 7",
}


def _moved(tmp_path, statement: str):
    source = (
        "__device__ float g[256]; __global__ void k(const int* x, const unsigned char* b, const uchar4* v,"
        " float* out) { __shared__ float s[256]; __shared__ int n[256];"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {statement} }}"
    )
    launch, profile = counted(tmp_path, source, "k=1000:256")
    return traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)


def _led(tmp_path, index: str) -> tuple[float, ...]:
    """Lines and sectors of global memory, passes of shared, by an index into an array."""
    line = _moved(tmp_path, f"atomicAdd(&g[{index}], 1.0f);").atomic_line_requests
    queue = _moved(tmp_path, f"atomicAdd(&n[{index}], i);").shared_passes
    loads = _moved(tmp_path, f"int at = {index}; out[i] = g[at] + s[at];").by_access
    sectors = sum(
        one.l1_bytes for one in loads if one.access.root is not None and one.access.root.name == "g"
    )
    return line, sectors, queue, sum(one.shared_passes for one in loads)


@pytest.mark.parametrize("index", EIGHT.values(), ids=EIGHT)
def test_eight_places_however_they_are_written(tmp_path, index):
    line, sectors, queue, passes = _led(tmp_path, index)
    assert line == pytest.approx(32)  # each lane, on the one line that there is
    assert sectors == pytest.approx(1)  # a sector of 32 bytes for the whole warp
    assert queue == pytest.approx(_passes_at_random(32, 8, joins_lanes=False))
    assert passes == pytest.approx(1)


def test_what_has_no_bounds_may_be_anywhere_in_its_array(tmp_path):
    line, sectors, _, passes = _led(tmp_path, "x[i]")
    assert line == pytest.approx(32 / 8)  # 1024 bytes are eight lines
    assert sectors == pytest.approx(32 * (1 - (31 / 32) ** 32))
    assert _led(tmp_path, "x[i] & 255")[3] == pytest.approx(passes)
    assert _led(tmp_path, "b[i]")[3] == pytest.approx(passes)
    wider = "(x[i] & 7) + (x[i + 1] & 8191)"
    assert _led(tmp_path, wider)[:2] == (line, sectors)
    changed = "x[i] & 7; for (int j = 0; j < x[0]; j++) at += 8; atomicAdd(&g[at], 1.0f)"
    assert _moved(tmp_path, f"int at = {changed};").atomic_line_requests == pytest.approx(32 / 8)
    twice = "x[i] & 7; for (int j = 0; j < 2; j++) { atomicAdd(&g[at], 1.0f); at = x[i + j]; }"
    assert _moved(tmp_path, f"int at = {twice}").atomic_line_requests == pytest.approx(2 * 32 / 8)
    local = "x[i] & 7; if (x[i + 1] > 0) at = x[i + 2]; atomicAdd(&g[at], 1.0f)"
    assert _moved(tmp_path, f"int at = {local};").atomic_line_requests == pytest.approx(32 / 8)


def test_arrays_of_which_only_the_index_tells_the_size(tmp_path):
    moved = _moved(tmp_path, "out[b[i]] = 1.0f; atomicAdd(&out[x[i] % 64], 1.0f);")
    assert moved.footprint_bytes is not None
    assert moved.atomic_line_requests == pytest.approx(32 / 2)
    assert _moved(tmp_path, "atomicAdd(&out[x[i]], 1.0f);").atomic_line_requests == 0.0


@pytest.mark.parametrize("op", sorted(set(BinaryOp) - set(ir.COMPARISONS), key=str))
@pytest.mark.parametrize("signed", [True, False])
def test_bounds_hold_what_operations_give(op, signed):
    """Of all pairs of small numbers, whatever part of them is known."""
    type_ = ir.Type(ir.TypeKind.INT, bits=8, signed=signed)
    whole = bounds.of_type(type_)
    assert whole is not None
    ends = sorted({whole[0], whole[0] + 3, -2, 0, 1, 5, whole[1]} & set(range(whole[0], whole[1] + 1)))
    known = [(low, high) for low in ends for high in ends if low <= high]
    for a in (None, *known):
        for b in (None, *known):
            found = bounds.of_operation(op, a, b, type_)
            if found is None:
                continue
            for left in _some(a or whole):
                for right in _some(b or whole):
                    value = fold(op, left, right, type_)
                    assert value is None or found[0] <= value <= found[1], (a, b, left, right)


def _some(of: bounds.Bounds) -> set[int]:
    return {*of, *(value for value in (0, 1, -1, 77) if of[0] <= value <= of[1])}

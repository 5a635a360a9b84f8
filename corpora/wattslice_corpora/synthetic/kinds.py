"""How each operation kind is written in CUDA, and what of it docs/counting.md counts.

A slice runs independent chains. The main operation squares and adds, `a = a * a + v` with v between
-1.9375 and -1.875: the quadratic map, which is chaotic there and never leaves [-1.94, 1.88]. So its bits
keep toggling, nothing overflows or becomes denormal however long it runs, and no two steps can be merged.
Integers wrap around instead. A special function is the reciprocal in `a = v - 1 / a`, which for v between
-2 and 2 is a rotation: it never settles either (and comes back by itself when it meets 1 / 0). The light
operation, `b = v - b`, takes in a loaded value where the density leaves room for one operation only; it has
chains of its own, which are never squared.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.synthetic.spec import OperationKind

CHAINS = 8
"""Chains of the main operation in a thread: with 16 warps a multiprocessor, enough to fill every pipe."""
LIGHT_CHAINS = 4
"""Chains of the light operation, where there is any."""


class ScalarKind(Struct, frozen=True):
    """Text of one kind: `{a}` is a chain, `{v}` a loaded value, `{h}` a variable of 32 hashed bits.

    `value` is the type computed in, `element` the one in memory, of `element_bytes`, and `texel` the one
    that a texture fetch returns; `to_value` turns an element into a value. `device_element` makes an
    element of hashed bits on the device, in `element_operations`; `host_bits` are its bits on the host.
    `main` is one instruction of `main_sass` by name (special: and an addition), and counts
    `main_operations`. `light` counts one for each of the `lanes` of a value. `start` is a thread's first
    value, out of a `seed`, and `constant` what takes the place of loaded values in registers only, with two
    operations each; `times` multiplies `start` by a number. Values of one lane are added up into the total,
    a `total_type`; those of two are joined to `all` by `join`, and then lane by lane by `total`;
    `improbable` is hardly ever true of it, which no compiler can know; `finite` says that it is a number
    (empty: it always is), in `finite_operations`.
    """

    value: str
    element: str
    element_bytes: int
    texel: str
    to_value: str
    device_element: str
    element_operations: int
    constant: str
    host_bits: str
    main: str
    main_operations: int
    main_sass: str
    light: str
    lanes: int
    seed_type: str
    seed: str
    start: str
    times: str
    join: str
    total_type: str
    total: str
    improbable: str
    finite: str
    finite_operations: int


_FP32 = ScalarKind(
    value="float",
    element="float",
    element_bytes=4,
    texel="float",
    to_value="{v}",
    device_element="__uint_as_float(0xbff00000u | h >> 13)",
    element_operations=2,
    constant="-1.875f - threadIdx.x / 8192.0f",
    host_bits="0xbff00000u | h >> 13",
    main="{a} = fmaf({a}, {a}, {v});",
    main_operations=2,
    main_sass="FFMA",
    light="{a} = {v} - {a};",
    lanes=1,
    seed_type="float",
    seed="-1.0f / 1024",
    start="seed * (513 + threadIdx.x)",
    times="0.9{0}f * start",
    join="",
    total_type="float",
    total="",
    improbable="total > 1e30f",
    finite="fabsf(total) < 1e30f",
    finite_operations=2,
)
_FP64 = ScalarKind(
    value="double",
    element="double",
    element_bytes=8,
    texel="int2",
    to_value="{v}",
    device_element="__hiloint2double(0xbffe0000u | h >> 16, h)",
    element_operations=2,
    constant="-1.875 - threadIdx.x / 8192.0",
    host_bits="0xbffe000000000000ull | static_cast<unsigned long long>(h) << 16",
    main="{a} = fma({a}, {a}, {v});",
    main_operations=2,
    main_sass="DFMA",
    light="{a} = {v} - {a};",
    lanes=1,
    seed_type="double",
    seed="-1.0 / 1024",
    start="seed * (513 + threadIdx.x)",
    times="0.9{0} * start",
    join="",
    total_type="double",
    total="",
    improbable="total > 1e30",
    finite="fabs(total) < 1e30",
    finite_operations=2,
)
_FP16 = ScalarKind(
    value="__half2",
    element="unsigned",
    element_bytes=4,
    texel="unsigned",
    to_value="asHalves({v})",
    device_element="0xbf80bf80u | (h & 0x003f003fu)",
    element_operations=2,
    constant="__float2half2_rn(-1.875f - threadIdx.x / 8192.0f)",
    host_bits="0xbf80bf80u | (h & 0x003f003fu)",
    main="{a} = __hfma2({a}, {a}, {v});",
    main_operations=4,
    main_sass="HFMA2",
    light="{a} = __hsub2({v}, {a});",
    lanes=2,
    seed_type="float",
    seed="-1.0f / 1024",
    start="__float2half2_rn(seed * (513 + threadIdx.x))",
    times="__hmul2(start, __float2half2_rn(0.9{0}f))",
    join="all = __hadd2(all, {a});",
    total_type="float",
    total="__low2float(all) + __high2float(all)",
    improbable="total > 1e30f",
    finite="fabsf(total) < 1e30f",
    finite_operations=2,
)
_INT = ScalarKind(
    value="unsigned",
    element="unsigned",
    element_bytes=4,
    texel="unsigned",
    to_value="{v}",
    device_element="h | 1u",
    element_operations=1,
    constant="2 * thread + 1",
    host_bits="h | 1u",
    main="{a} = {a} * {a} + {v};",
    main_operations=2,
    main_sass="IMAD",
    light="{a} = {v} - {a};",
    lanes=1,
    seed_type="unsigned",
    seed="2654435761u",
    start="seed * (513 + threadIdx.x)",
    times="{0}1u * start",
    join="",
    total_type="unsigned",
    total="",
    improbable="total == 0x9e3779b9u",
    finite="",
    finite_operations=0,
)
_SPECIAL = replace(
    _FP32,
    main="RECIPROCAL({a}); {a} = {v} - {a};",
    main_sass="MUFU",
    finite="total == total",
    finite_operations=1,
)
SCALAR_KINDS: dict[OperationKind, ScalarKind] = {
    OperationKind.FP32: _FP32,
    OperationKind.FP64: _FP64,
    OperationKind.FP16: _FP16,
    OperationKind.INT: _INT,
    OperationKind.SPECIAL: _SPECIAL,
}
"""Every kind but tensor cores, whose operands are matrix tiles."""

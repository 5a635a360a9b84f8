"""What the instructions of a chain read and write: one PTX register of one type, and values for it."""

from __future__ import annotations

from enum import Enum

_RANDOM = (1664525, 1013904223)
"""Press et al., Numerical Recipes, 7.1: an even quicker generator."""


class Operand(Enum):
    """The type of the chain's registers: (name, PTX register, bits, mask, pattern, constants a b c d).

    Every iteration starts the chain with ``(random bits & mask) | pattern``: any integer, or a floating-point
    number between 1 and 2. The constants are the other operands, as bits; instances alternate between (a, c)
    and (b, d). Of floating-point numbers b is 1 / a and d is -c / a: no chain overflows or gets denormal.
    """

    B32 = ("b32", ".b32", 32, 0xFFFFFFFF, 0x1, (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F))
    DIVISOR = ("divisor", ".b32", 32, 0xFFFF, 0x4000, (0x7FFF4A5D, 0x7B1F3C29, 0x0, 0x0))
    SMALL = ("small", ".b32", 32, 0xFFFFFFFF, 0x40000000, (0x3, 0x1, 0x5, 0x7))
    B64 = (
        "b64",
        ".b64",
        64,
        0xFFFFFFFF,
        0x1,
        (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F85EBCA77),
    )
    F32 = ("f32", ".f32", 32, 0x007FFFFF, 0x3F800000, (0x3FA00000, 0x3F4CCCCD, 0x3F000000, 0xBECCCCCD))
    F64 = (
        "f64",
        ".f64",
        64,
        0x000FFFFF,
        0x3FF00000,
        (0x3FF4000000000000, 0x3FE999999999999A, 0x3FE0000000000000, 0xBFD999999999999A),
    )
    F16 = ("f16", ".b16", 16, 0x03FF03FF, 0x3C003C00, (0x3D00, 0x3A66, 0x3800, 0xB666))
    F16X2 = ("f16x2", ".b32", 32, 0x03FF03FF, 0x3C003C00, (0x3D003D00, 0x3A663A66, 0x38003800, 0xB666B666))

    def __init__(
        self,
        label: str,
        register: str,
        bits: int,
        mask: int,
        pattern: int,
        constants: tuple[int, int, int, int],
    ) -> None:
        self.label = label
        self.register = register
        self.bits = bits
        self.mask = mask
        self.pattern = pattern
        self.constants = constants

    def values(self) -> tuple[int, ...]:
        """What the kernel reads: mask, pattern, factor and summand of its random numbers, then a, b, c, d."""
        return (self.mask, self.pattern, *_RANDOM, *self.constants)

"""Instruction sets that differ in what the lowering has to know."""

from __future__ import annotations

from enum import Enum


class Isa(Enum):
    """How a GPU multiplies integers and computes 64-bit addresses."""

    IMAD = "imad"
    """One IMAD for a product, one IMAD.WIDE for base + index * size."""

    XMAD = "xmad"
    """Maxwell and Pascal multiply 16 bits at a time: three XMAD for a product of 32 bits, two for one with a
    16-bit constant. An index is scaled to 64 bits by two shifts; IADD.CC and IADD.X add it to each base."""

    @property
    def multiplies_per_product(self) -> float:
        """Instructions of a 32-bit multiply-add."""
        return 3.0 if self is Isa.XMAD else 1.0

    @property
    def multiplies_by_constant(self) -> float:
        """Instructions of a multiply-add with a constant that is no power of two."""
        return 2.0 if self is Isa.XMAD else 1.0

    @property
    def address_scales(self) -> tuple[int, ...]:
        """By what an access to shared memory scales its address register for free: ``[R.X4]``."""
        return (1,) if self is Isa.XMAD else (1, 4, 8, 16)


def isa_of(compute_capability: tuple[int, int]) -> Isa:
    """The instruction set of a GPU; Kepler and older are treated like the newest ones."""
    return Isa.XMAD if compute_capability[0] in (5, 6) else Isa.IMAD

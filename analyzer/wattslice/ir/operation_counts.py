"""Source operations by class: a frozen, addable, scalable record, and what one run of a region costs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from wattslice.ir import MemorySpace, OperationClass

SPACE_OF: dict[OperationClass, MemorySpace] = {
    OperationClass.GLOBAL_LOAD: MemorySpace.GLOBAL,
    OperationClass.GLOBAL_STORE: MemorySpace.GLOBAL,
    OperationClass.SHARED_LOAD: MemorySpace.SHARED,
    OperationClass.SHARED_STORE: MemorySpace.SHARED,
    OperationClass.CONSTANT_LOAD: MemorySpace.CONSTANT,
    OperationClass.TEXTURE_LOAD: MemorySpace.TEXTURE,
}
"""The memory space that a load or store of a class works on; atomics name theirs themselves."""


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """Operations by class of the JSON contract (`counts_per_thread`); `integer` is the contract's `int`.

    Unit: operations, per whatever the context counts (one run of a region, one launched thread).
    """

    fp32: float = 0.0
    fp64: float = 0.0
    integer: float = 0.0
    special: float = 0.0
    fp16: float = 0.0
    tensor: float = 0.0
    control: float = 0.0
    global_load: float = 0.0
    global_store: float = 0.0
    shared_load: float = 0.0
    shared_store: float = 0.0
    constant_load: float = 0.0
    texture_load: float = 0.0
    atomic: float = 0.0
    barrier: float = 0.0

    def __add__(self, other: OperationCounts) -> OperationCounts:
        return OperationCounts(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))

    def scaled(self, factor: float) -> OperationCounts:
        """Every class multiplied by `factor` (a trip count, a probability)."""
        return OperationCounts(*(factor * value for value in self.values()))

    def values(self) -> tuple[float, ...]:
        """The counts in the order of the fields."""
        return tuple(getattr(self, name) for name in FIELD_NAMES)

    @property
    def compute(self) -> float:
        """Arithmetic operations, Wang & Chen's `N_a` (all operators count alike, section 4.2)."""
        return self.fp32 + self.fp64 + self.integer + self.special + self.fp16 + self.tensor


FIELD_NAMES: tuple[str, ...] = tuple(field.name for field in fields(OperationCounts))
JSON_NAMES: tuple[str, ...] = tuple("int" if name == "integer" else name for name in FIELD_NAMES)
CLASS_FIELD: dict[OperationClass, str] = {
    cls: ("integer" if cls is OperationClass.INT else cls.value) for cls in OperationClass
}

"""What a synthetic slice is asked to be: one frozen record, checked when it is made.

The axes are those of the slices that Wang & Chen 2013 (section 3) measured to fit their models, arithmetic
density and SM saturation, widened by memory space, operation kind, access pattern and input data.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct

LOWEST_DENSITY = 0.25
HIGHEST_DENSITY = 8200.0
"""Bounds of the arithmetic density, in operations per normalised access; 8200 is the paper's."""
LOWEST_SATURATION = 0.1
"""The least SM saturation, the paper's."""
THREADS_PER_BLOCK = 512
"""Threads of a block; one for each SM in use: more would spread over idle ones and belie the saturation."""


class SpecError(ValueError):
    """A slice that cannot be built; the message says why and what would be possible."""


class Space(StrEnum):
    """Where the accesses of a slice go."""

    GLOBAL = "global"
    SHARED = "shared"
    CONSTANT = "constant"
    TEXTURE = "texture"
    L2 = "l2"
    REGISTERS = "registers"


class OperationKind(StrEnum):
    """What a slice computes with."""

    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    INT = "int"
    SPECIAL = "special"
    TENSOR = "tensor"


class Pattern(StrEnum):
    """Addresses in a warp: neighbours (in constant memory one word for all), 8 elements apart, or hashed."""

    COALESCED = "coalesced"
    STRIDED = "strided"
    RANDOM = "random"


class InputData(StrEnum):
    """What the memory holds and the computation starts from: data values alone change the watts."""

    RANDOM = "random"
    ZEROS = "zeros"


class SliceSpec(Struct, frozen=True):
    """One synthetic slice for a GPU of `sm_count` multiprocessors.

    `density`: power-weighted arithmetic density Ã (Wang & Chen 2013, eq. (2)): arithmetic operations, as
    docs/counting.md counts them, over `access_weight` times accesses; None for registers only, where it has
    no meaning. `saturation`: SMs in use over SMs, in [0.1, 1] (Def. 4); the nearest whole number of SMs is
    used. `access_weight`: power of an access to `space` relative to a global one, r of eq. (1). It depends
    on the GPU (`wattslice_models.access_power`); 1 counts every access alike, and is the only value for
    global memory. `pattern` is COALESCED for registers only. Raises `SpecError` for a combination that
    means nothing.
    """

    space: Space
    kind: OperationKind
    density: float | None
    sm_count: int
    saturation: float = 1.0
    pattern: Pattern = Pattern.COALESCED
    data: InputData = InputData.RANDOM
    access_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.sm_count < 1:
            raise SpecError(f"a GPU has at least one multiprocessor, not {self.sm_count}")
        if not LOWEST_SATURATION <= self.saturation <= 1.0:
            raise SpecError(f"SM saturation must lie in [{LOWEST_SATURATION}, 1], not {self.saturation}")
        if not (math.isfinite(self.access_weight) and self.access_weight > 0):
            raise SpecError(f"access_weight must be positive, not {self.access_weight}")
        if self.space in _WEIGHT_IS_ONE and self.access_weight != 1.0:
            raise SpecError(f"access_weight must be 1 for {self.space}, not {self.access_weight}")
        self._check_density()
        self._check_combination()

    def _check_density(self) -> None:
        if self.space is Space.REGISTERS:
            if self.density is not None:
                raise SpecError("registers only: no access, so density has no meaning; use None")
        elif self.density is None:
            raise SpecError(f"{self.space} needs a density in [{LOWEST_DENSITY:g}, {HIGHEST_DENSITY:g}]")
        elif not LOWEST_DENSITY <= self.density <= HIGHEST_DENSITY:
            bounds = f"[{LOWEST_DENSITY:g}, {HIGHEST_DENSITY:g}]"
            raise SpecError(f"density must lie in {bounds}, not {self.density:g}")

    def _check_combination(self) -> None:
        if self.space is Space.REGISTERS and self.pattern is not Pattern.COALESCED:
            raise SpecError(f"registers only: no access, so none can be {self.pattern}")
        if self.kind is OperationKind.TENSOR:
            if self.space in (Space.CONSTANT, Space.TEXTURE):
                raise SpecError(
                    f"tensor cores read no matrix tile from {self.space} memory; use global or shared"
                )
            if self.pattern is Pattern.RANDOM:
                raise SpecError("a matrix tile is read as a whole: coalesced or strided, not random")
        if self.kind is OperationKind.FP16 and self.space is Space.TEXTURE:
            raise SpecError("a texture fetch returns no pair of halves; use fp32")
        if self.kind is OperationKind.SPECIAL and self.data is InputData.ZEROS:
            raise SpecError("special functions are reciprocals here: zeros would not stay finite")

    @property
    def blocks(self) -> int:
        """Blocks of the launch, one for each SM in use."""
        return max(1, round(self.saturation * self.sm_count))

    @property
    def threads(self) -> int:
        """Threads of the launch."""
        return self.blocks * THREADS_PER_BLOCK

    @property
    def is_global(self) -> bool:
        """Whether its accesses are to global memory, as the language has it: L2 is a cache of that."""
        return self.space in (Space.GLOBAL, Space.L2)

    @property
    def name(self) -> str:
        """A name that differs between any two slices of one GPU, fit for a file."""
        parts = [self.space.value, self.kind.value]
        if self.density is not None:
            parts += [self.pattern.value, f"d{self.density:g}"]
        parts.append(f"s{self.saturation:g}")
        if self.data is InputData.ZEROS:
            parts.append("zeros")
        return "_".join(parts)


_WEIGHT_IS_ONE = (Space.GLOBAL, Space.L2, Space.REGISTERS)

"""Measured variants of a kernel: whether what they taught is about the kernel that is asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from wattslice.ir import Kernel
from wattslice_models.store import ModelFileError
from wattslice_models.variant_store import StoredVariants, stored_variants


class OwnVariants(Struct, frozen=True):
    """What measured variants of a kernel taught; None: it is not used, and `note` says why.

    `is_other`: what is asked about is no longer what was measured: the taught interval does not count.
    """

    stored: StoredVariants | None
    is_other: bool = False
    note: str = ""


def variants_of(
    kernel: Kernel,
    values: str,
    gpu_id: str,
    texts: Callable[[str], Sequence[str]],
    defines: Sequence[str] = (),
) -> OwnVariants | None:
    """Those of a kernel whose arrays hold `values`; `texts`: of a file and of all others that are compiled
    with it, asked for if need be; `defines`: those of the command line. None: none taught anything.
    """
    span = kernel.span
    try:
        stored = stored_variants(gpu_id, span.file, kernel.name)
    except ModelFileError as error:
        return OwnVariants(None, note=f"what measured variants taught is not used: {error}")
    if stored is None:
        return None
    from wattslice.frontend.kernel_text import ONE_KERNEL_FROM, fixed_macros, kernel_text, likeness

    sources = (*texts(span.file), fixed_macros(defines, stored.macros))
    now = kernel_text(sources, kernel.name, span.line, span.end_line)
    alike = 1.0 if now.words == stored.words else likeness(stored.words, now.words)
    if alike < ONE_KERNEL_FROM:
        note = (
            f"variants of a kernel of this name in a file named {Path(span.file).name} were measured, but of "
            f"another text ({alike:.0%} alike): not used; if it is the same kernel, {_AGAIN}"
        )
        return OwnVariants(None, note=note)
    changed = (
        "it was edited" if alike < 1.0 else "",
        "functions, macros or declarations that it uses have changed" if now.uses != stored.uses else "",
        f"arrays held other values ({stored.values})" if values != stored.values else "",
    )
    if not any(changed):
        return OwnVariants(stored)
    return OwnVariants(
        stored, True, f"since variants were measured, {' and '.join(filter(None, changed))}: {OTHER}"
    )


_AGAIN = "train --variants again"
OTHER = f"what they taught counts, but not how narrow their interval was; measure again and {_AGAIN}"

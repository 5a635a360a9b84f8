"""Measured variants of a kernel: whether what they taught is about the kernel that is asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from wattslice.frontend.kernel_text import ONE_KERNEL_FROM, KernelText, kernel_text, likeness
from wattslice.ir import Kernel
from wattslice_models.store import ModelFileError
from wattslice_models.variant_store import StoredVariants, stored_variants


class OwnVariants(Struct, frozen=True):
    """What measured variants of a kernel taught; None: it is not used, and `note` says why.

    `is_edited`: the kernel is no longer what was measured: its own interval does not count.
    """

    stored: StoredVariants | None
    is_edited: bool = False
    note: str = ""


def variants_of(kernel: Kernel, gpu_id: str, text: Callable[[str], str]) -> OwnVariants | None:
    """Those of a kernel; `text`: of a file, asked for if need be. None: none taught anything."""
    span = kernel.span
    try:
        stored = stored_variants(gpu_id, span.file, kernel.name)
    except ModelFileError as error:
        return OwnVariants(None, note=f"what measured variants taught is not used: {error}")
    if stored is None:
        return None
    now = kernel_text(text(span.file), kernel.name, span.line, span.end_line)
    if now == KernelText(stored.words, stored.uses):
        return OwnVariants(stored)
    alike = likeness(stored.words, now.words)
    if alike >= ONE_KERNEL_FROM:
        what = "it was edited" if now.words != stored.words else "what it uses of its file was edited"
        note = (
            f"{what} since its variants were measured: what they taught counts, but not how narrow their "
            f"interval was; measure again and {_AGAIN}"
        )
        return OwnVariants(stored, is_edited=True, note=note)
    note = (
        f"variants of a kernel of this name in a file named {Path(span.file).name} were measured, but of "
        f"another text ({alike:.0%} alike): not used; if it is the same kernel, {_AGAIN}"
    )
    return OwnVariants(None, note=note)


_AGAIN = "train --variants again"

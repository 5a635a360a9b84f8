"""What the values of arrays are, as far as they matter to watts: `--data [[KERNEL.]ARRAY=]KIND`.

Arithmetic on zeros, and moving them, toggles few bits and draws a third less than on live values; so does any
other constant. What the user does not say is taken to be live.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.launch import EVERYTHING_LIVE, ArrayData, DataKind
from wattslice.launches.overrides import KnownNames, OverrideError, arrays_of, names_kernel


def parse_data(texts: Iterable[str]) -> tuple[ArrayData, ...]:
    """All `--data` of a command line. Raises `OverrideError`; of two for one array the later counts."""
    found: dict[tuple[str | None, str | None], ArrayData] = {}
    for text in texts:
        name, equals, word = text.rpartition("=")
        kernel, _, array = name.strip().partition(".") if "." in name else ("", "", name.strip())
        try:
            kind = DataKind(word.strip())
        except ValueError:
            kinds = ", ".join(kind.value for kind in DataKind)
            why = f"--data: {text!r}: {word!r} is none of {kinds}"
            raise OverrideError(why, remedy="such as ARRAY=zeros") from None
        if equals and not all(part.isidentifier() for part in array.split(".")):
            raise OverrideError(f"--data: {text!r}: {array!r} is no array", remedy="such as ARRAY=zeros")
        entry = ArrayData(kernel or None, array or None, kind)
        found[entry.kernel, entry.array] = entry
    return tuple(found.values())


def data_of(
    kernel: ir.Kernel, given: Iterable[ArrayData], zeros: Iterable[ArrayData] = ()
) -> tuple[ArrayData, ...]:
    """What is said of the arrays of one kernel, the entry for all of them first; `zeros`: what the host code
    tells of those of which nothing is said.
    """
    arrays = arrays_of(kernel)
    own = [
        entry if entry.kernel is None or names_kernel(entry.kernel, kernel) else _of_member(entry)
        for entry in given
        if entry.kernel is None or names_kernel(entry.kernel, kernel) or _of_member(entry).array in arrays
    ]
    own.sort(key=lambda entry: entry.kernel is not None)
    found: dict[str | None, ArrayData] = {None: EVERYTHING_LIVE}
    if all(entry.array is not None for entry in own):
        found |= {entry.array: entry for entry in zeros}
    found |= {entry.array: entry for entry in own}
    return tuple(entry for array, entry in found.items() if array is None or array in arrays)


def _of_member(entry: ArrayData) -> ArrayData:
    """`record.member=KIND` looks like a kernel's array, and is one of any kernel."""
    return replace(entry, kernel=None, array=f"{entry.kernel}.{entry.array}")


def check_data(given: Iterable[ArrayData], known: Sequence[KnownNames]) -> None:
    """Raises `OverrideError` for an entry that names no parameter of any kernel of the analysed files."""
    arrays = sorted({name for names in known for kernel in names.kernels for name in kernel.arrays})
    for entry in given:
        if entry.array is not None and entry.array not in arrays and _of_member(entry).array not in arrays:
            close = difflib.get_close_matches(entry.array, arrays, n=3)
            remedy = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(arrays[:8])}"
            raise OverrideError(f"--data: no array {entry.array!r} in the analysed files", remedy=remedy)

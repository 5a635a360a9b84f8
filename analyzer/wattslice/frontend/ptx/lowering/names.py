"""Names of kernels as their programmers wrote them, from the mangled ones (Itanium C++ ABI, section 5.1).

The C++ library that numpy is linked with reads them (`__cxa_demangle`). What it cannot read stays as it is.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

_LONGEST = 4096
"""Of a longer name nobody would read what it says, and reading it may take a deep stack."""


class Names(Struct, frozen=True):
    """`plain` is the name alone, `qualified` with namespaces and template arguments."""

    plain: str
    qualified: str


def demangled(name: str) -> Names:
    """The names of a function; the mangled one where it cannot be read."""
    written = _written(name) if name.startswith("_Z") and len(name) <= _LONGEST else ""
    if not written:
        return Names(name, name)
    parameters = _opening(written, len(written)) if written.endswith(")") else len(written)
    begin = parameters  # a template's result type stands before its name
    while begin and written[begin - 1] != " ":
        begin = _opening(written, begin) if written[begin - 1] in ")>}]" else begin - 1
    qualified = written[begin:parameters]
    arguments = _opening(qualified, len(qualified)) if qualified.endswith(">") else len(qualified)
    return Names(qualified[:arguments].rpartition("::")[2], qualified)


def variable_name(name: str) -> str:
    """What a variable was called in its source: `tile` of `_ZZ6kernelPfE4tile`."""
    return demangled(name).plain if name.startswith(("_ZN", "_ZZ")) else name


def _opening(text: str, end: int) -> int:
    """Where the bracket opens that closes right before `end`."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (text[at] in ")>}]") - (text[at] in "(<{[")
        if depth == 0:
            return at
    return 0


def _written(name: str) -> str:
    """The function as C++ writes it, with its parameters; empty for what is none, or cannot be read."""
    library, status = _library(), ctypes.c_int()
    found = library and library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return ""
    try:
        return ctypes.string_at(found).decode("utf-8", "replace")
    finally:
        library.free(found)


@cache
def _library() -> Any:  # noqa: ANN401 - what ctypes makes of a library
    """The two functions, found by way of the module that brings them; None where it does not."""
    core = "numpy.core" if np.__version__.startswith("1.") else "numpy._core"
    try:
        library = ctypes.CDLL(sys.modules[f"{core}._multiarray_umath"].__file__)
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.free.argtypes = (ctypes.c_void_p,)
    except (KeyError, OSError, AttributeError):
        return None
    return library

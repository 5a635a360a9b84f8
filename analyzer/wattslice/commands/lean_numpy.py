"""numpy as a command needs it: without the types of its hints and the texts of its `help`.

Together they take half of its import. No library changes what whoever imports it gets of numpy: this is for
the process of a command alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from types import ModuleType

_LEFT_OUT = ("numpy._typing", "numpy.typing", "numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")


class _Hint:
    """Stands for every type: hints are written, and not looked at."""

    def __class_getitem__(cls, _parameters: object) -> type[_Hint]:
        return cls


class _Blank(ModuleType):
    """A module that has a type of whatever name it is asked for."""

    def __getattr__(self, name: str) -> type[_Hint]:
        if name.startswith("__"):  # what Python asks every module for
            raise AttributeError(name)
        return _Hint


@contextlib.contextmanager
def lean_numpy() -> Generator[None]:
    """Meanwhile numpy is imported without them; the types are there for whoever asks afterwards."""
    if "numpy" in sys.modules:
        yield
        return
    sys.modules.update({name: _Blank(name) for name in _LEFT_OUT})
    try:
        yield
    finally:
        for name in _LEFT_OUT:
            sys.modules.pop(name, None)
        vars(sys.modules.get("numpy", _Blank(""))).pop("typing", None)

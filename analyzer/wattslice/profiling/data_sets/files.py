"""Numbers from files of a data spec: no more is read than asked for, and than memory is left for."""

from __future__ import annotations

import math
import stat
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

Reserve = Callable[[int], None]
"""Told a number of bytes before they are read; raises when memory is out."""
_CHUNK = 1 << 16


def regular_size(path: Path) -> int:
    """Bytes of a file. Raises ``ValueError`` for a folder, a device or a pipe, which may never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("a folder, device or pipe, no regular file")
    return status.st_size


def read_raw(path: Path, most: int | None, reserve: Reserve) -> NDArray[np.uint8]:
    """The (first `most`) bytes of a file."""
    size = regular_size(path)
    count = size if most is None else min(size, most)
    reserve(count)
    with path.open("rb") as file:
        return np.frombuffer(file.read(count), np.uint8).copy()


def read_npy(path: Path, most: int | None, width: int, reserve: Reserve) -> NDArray[Any]:
    """The (first `most`) numbers of an array in NumPy's format, in one row; never pickled.

    `width`: bytes that each of them will take. Raises ``ValueError`` when the header promises what the file
    does not hold, or no plain numbers.
    """
    size = regular_size(path)
    with path.open("rb") as file:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that Python 2 wrote is read all the same
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise ValueError(f"version {version[0]}.{version[1]} of the format, not 1.0 or 2.0")
        if dtype.kind not in "biuf":
            raise ValueError(f"elements of type {dtype.name}, expected whole or floating-point numbers")
        total, left = math.prod(shape), size - file.tell()
        if min(shape, default=0) < 0 or total * dtype.itemsize > left:
            raise ValueError(f"its header says {list(shape)} numbers of {dtype.name}, {left} bytes follow")
        in_order = not is_fortran or len(shape) < 2
        count = total if most is None or not in_order else min(total, most)
        reserve(count * max(dtype.itemsize, width))
        numbers = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    if not in_order:
        numbers = numbers.reshape(shape, order="F").reshape(-1)
    return numbers[:most]


def read_text(path: Path, most: int | None, is_float: bool, reserve: Reserve) -> NDArray[Any]:
    """The (first `most`) numbers of a text, between blanks, commas or semicolons. Raises ``ValueError``."""
    size = regular_size(path)
    reserve(size if most is None else min(size, most * 8))
    with path.open(encoding="utf-8") as file:
        words = islice(_words(file), most)
        if is_float:
            return np.fromiter(map(float, words), np.float64)
        return np.fromiter(map(int, words), np.int64)


def _words(file: TextIO) -> Iterator[str]:
    rest = ""
    while chunk := file.read(_CHUNK):
        text = (rest + chunk).replace(",", " ").replace(";", " ")
        words = text.split()
        rest = "" if text[-1].isspace() or not words else words.pop()  # it may go on in the next chunk
        if len(rest) > _CHUNK:
            raise ValueError(f"a word of more than {_CHUNK} characters")
        yield from words
    if rest:
        yield rest

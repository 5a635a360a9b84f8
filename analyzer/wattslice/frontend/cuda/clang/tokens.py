"""The tokens that source text is taken apart by without a parser."""

from __future__ import annotations

import re
from functools import lru_cache

from wattslice.patterns import regex

TOKEN = regex(
    rb"""(?P<directive>^[ \t]*\#(?:[^\n\\/]++|(?:\\\r?\n)++|/\*.*?(?:\*/|\Z)|[\\/])*+)
      | (?P<skipped>//(?:[^\n\\]++|(?:\\\r?\n)++|\\)*+ | /\*.*?(?:\*/|\Z)
          | \bR"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"
          | "(?:[^"\\\n]++|\\.)*+"? | (?<![0-9A-Fa-f])'(?:[^'\\\n]++|\\.)*+'?)
      | [{};]""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
COMMENT = regex(rb"//(?:[^\n\\]++|(?:\\\r?\n)++|\\)*+|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]++|\\.)*+\"", re.DOTALL)
NAME = regex(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
ATTRIBUTES = frozenset((b"__launch_bounds__", b"__attribute__", b"__align__", b"alignas", b"__declspec"))
"""What is before a parenthesis and is no function's name."""
KEYWORDS = frozenset(
    b"void bool char short int long float double signed unsigned const volatile static extern inline return "
    b"if else for while do switch case default break continue sizeof struct class union enum typename "
    b"template auto register true false this public private protected virtual constexpr typedef main "
    b"__global__ __device__ __host__ __shared__ __constant__ __restrict__ __restrict __forceinline__ "
    b"__inline__ __launch_bounds__".split()
)


@lru_cache(maxsize=1024)
def names_in(text: bytes) -> frozenset[bytes]:
    """Every word of a text, keywords left out."""
    return frozenset(NAME.findall(text)) - KEYWORDS

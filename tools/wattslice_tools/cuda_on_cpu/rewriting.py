"""What the headers of the stand-in cannot give a meaning to is rewritten before compiling; lines stay lines.

That is: the launch `kernel<<<grid, block>>>(arguments)`, the declaration `extern __shared__ T name[];`, that
`__shared__` variables hold nothing yet when a block begins, that a kernel launched through a pointer has
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wattslice.errors import WattsliceError
from wattslice.patterns import regex

_HIDDEN = regex(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])+'", re.S)
_EXTERN = regex(
    r"extern\s+(?:volatile\s+)?__shared__\s+(?:(?:__align__|alignas)\s*\([^)]*\)\s*)?([\w:\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
)
_SHARED = regex(r"__shared__\s+([^;{}=]*);")
_KERNEL = regex(r"[\w:]+\s*$")
_STATIC = regex(r"\bstatic(?=(?:\s+(?:volatile|const))*\s+__shared__\b)|(?<=__shared__ )static\b")
_ERASED = regex(r"\b(cudaLaunch(?:Cooperative)?Kernel\s*\(\s*)\(\s*(?:const\s+)?void\s*\*\s*\)")
# Literals are blanks: `out << "" << x` is no launch.
_SPACED = regex(r"(?<!<)(?:<<[ \t]+<|<[ \t]+<<)(?!<)|(?<!>)(?:>>[ \t]+>|>[ \t]+>>)(?!>)")
_NAME = regex(r"(?:\w+::)*(\w+)")
_OPEN, _CLOSE = "([{", ")]}"


def rewritten(source: str) -> str:
    """`source` as C++; every line keeps its number. Raises `WattsliceError`."""
    source = _with_undefined_shared(_with_dynamic_shared(source))
    source = _replaced(_SPACED, source, lambda found: found[0][0] * 3)
    source = _replaced(_STATIC, source, lambda _: "")
    source = _replaced(_ERASED, source, lambda found: found[1])
    parts: list[str] = []
    done = 0
    hidden = _without_text(source)
    for found in re.finditer("<<<", hidden):
        start = _kernel_start(hidden, found.start())
        configuration_end = _matching(hidden, found.end(), ">>>")
        opened = hidden.index("(", configuration_end + 3)
        closed = _matching(hidden, opened + 1, ")")
        kernel = source[start : found.start()]
        arguments = source[opened + 1 : closed]
        parts += (
            source[done:start],
            f"cuda_on_cpu::launch(cuda_on_cpu::Configuration({source[found.end() : configuration_end]}), ",
            f'"{_NAME.findall(kernel)[0]}", ',
            f"[&](auto... arguments) {{ {kernel}(arguments...); }}",
            f", {arguments}" if arguments.strip() else "",
            ")",
        )
        done = closed + 1
    return "".join((*parts, source[done:]))


def _with_dynamic_shared(source: str) -> str:
    def pointer(found: re.Match[str]) -> str:
        element, name = found[1].strip(), found[2]
        return f"{element}* const {name} = reinterpret_cast<{element}*>(cuda_on_cpu::dynamicShared);"

    return _replaced(_EXTERN, source, pointer)


def _with_undefined_shared(source: str) -> str:
    def declaration(found: re.Match[str]) -> str:
        names = (re.findall(r"\w+", variable.split("[")[0])[-1] for variable in _split(found[1]))
        return found[0] + "".join(f" cuda_on_cpu::undefine(&{name}, sizeof {name});" for name in names)

    return _replaced(_SHARED, source, declaration)


def _split(variables: str) -> list[str]:
    """At the commas outside of brackets."""
    depth = 0
    parts = [""]
    for character in variables:
        depth += (character in _OPEN + "<") - (character in _CLOSE + ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _replaced(pattern: re.Pattern[str], source: str, replacement: Callable[[re.Match[str]], str]) -> str:
    """`source` with the matches outside of comments and literals replaced."""
    parts: list[str] = []
    done = 0
    for found in pattern.finditer(_without_text(source)):
        parts += (source[done : found.start()], replacement(found))
        done = found.end()
    return "".join((*parts, source[done:]))


def _without_text(source: str) -> str:
    """`source` with blanks for comments and literals, so that positions stay the same."""
    return _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def _kernel_start(source: str, end: int) -> int:
    """Where the kernel's name before `<<<` begins; it may have template arguments."""
    at = len(source[:end].rstrip())
    if source[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(source[at], 0)
            if depth == 0:
                break
    found = _KERNEL.search(source, 0, at)
    if found is None:
        raise WattsliceError(f"no kernel before <<< in {source[max(0, end - 80) : end]!r}")
    return found.start()


def _matching(source: str, start: int, closing: str) -> int:
    """Where `closing` stands outside of all brackets opened after `start`."""
    depth = 0
    for at in range(start, len(source)):
        if depth == 0 and source.startswith(closing, at):
            return at
        depth += (source[at] in _OPEN) - (source[at] in _CLOSE)
    raise WattsliceError(f"no {closing} after {source[start : start + 80]!r}")

"""A small C preprocessor: enough for kernels, without a system compiler or system headers.

Understood: comments, line continuation, `#define` (objects, functions, `##`), `#undef`, conditionals,
`#include` of files found beside the source or in the include folders. System headers are skipped; the
types they would declare stand in `PRELUDE`. Line numbers are kept by `#line` markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.c.types import UNSIGNED_LONG
from wattslice.frontend.inputs import file_bytes, note_file, note_text
from wattslice.ir import COMPARISONS, INT64, BinaryOp, Type
from wattslice.ir.c_arithmetic import fold, wrapped

PRELUDE = """
typedef unsigned long size_t; typedef long ssize_t; typedef long ptrdiff_t; typedef long intptr_t;
typedef unsigned long uintptr_t; typedef signed char int8_t; typedef short int16_t; typedef int int32_t;
typedef long int64_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t;
typedef unsigned int uint32_t; typedef unsigned long uint64_t; typedef struct _wattslice_file FILE;
typedef void *va_list; typedef long time_t; typedef long clock_t; typedef int wchar_t;
typedef unsigned int uint; typedef unsigned char uchar; typedef unsigned short ushort;
"""
PREDEFINED = {
    "__restrict__": "restrict", "__restrict": "restrict", "__inline__": "inline", "__inline": "inline",
    "__const": "const", "__volatile__": "volatile", "__extension__": "", "__signed__": "signed",
    "__STDC__": "1", "__STDC_VERSION__": "201112L", "NULL": "((void*)0)", "bool": "_Bool", "true": "1",
    "false": "0", "INT_MAX": "2147483647", "INT_MIN": "(-2147483647-1)", "UINT_MAX": "4294967295u",
    "FLT_MAX": "3.402823466e+38f", "FLT_MIN": "1.175494351e-38f", "FLT_EPSILON": "1.192092896e-07f",
    "DBL_MAX": "1.7976931348623157e308", "DBL_MIN": "2.2250738585072014e-308", "RAND_MAX": "2147483647",
    "DBL_EPSILON": "2.2204460492503131e-16", "M_PI": "3.14159265358979323846", "EXIT_SUCCESS": "0",
    "EXIT_FAILURE": "1", "stdout": "((FILE*)0)", "stderr": "((FILE*)0)", "stdin": "((FILE*)0)",
}  # fmt: skip

_TOKEN = re.compile(
    r"""[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#\#|\s+|.""", re.S
)
_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.S)
MAX_INCLUDE_DEPTH = 40
MAX_EXPANSION_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `parameters` None for an object-like one; `is_variadic` binds the rest to `__VA_ARGS__`."""

    parameters: tuple[str, ...] | None
    body: tuple[str, ...]
    is_variadic: bool = False


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def strip_comments(text: str) -> str:
    """Comments become one space plus their line breaks; continued lines are joined, breaks kept after."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in "\"'" else " " + "\n" * found.count("\n")

    return _COMMENT.sub(blank, text)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first physical line, joined line)."""
    pending, start = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
            continue
        yield start, pending + line
        pending = ""
    if pending:
        yield start, pending


class Preprocessor:
    """Expands one translation unit. `missing` names includes in quotes that were not found."""

    def __init__(self, include_dirs: tuple[Path, ...], defines: tuple[str, ...]) -> None:
        self.missing: list[tuple[str, int, str]] = []
        self._include_dirs = include_dirs
        self._macros: dict[str, Macro] = {}
        self._once: set[Path] = set()
        for name, body in PREDEFINED.items():
            self._macros[name] = Macro(None, tuple(_TOKEN.findall(body)))
        for name in ("__attribute__", "__asm__", "__declspec"):
            self._macros[name] = Macro(("x",), (), is_variadic=True)
        for define in defines:
            name, _, value = define.partition("=")
            self._define(f"{name} {value or '1'}")

    def run(self, path: Path, text: str) -> str:
        """The expanded text of a file, with `#line` markers. Raises `FrontendError`."""
        return "\n".join((*(PRELUDE.strip().split("\n")), *self._file(path, text, 0))) + "\n"

    def _file(self, path: Path, text: str, depth: int) -> Iterator[str]:
        if depth > MAX_INCLUDE_DEPTH:
            raise FrontendError(path, 1, "includes nest too deeply", "break the circle of includes")
        yield f'#line 1 "{path}"'
        active: list[tuple[bool, bool]] = []  # (this arm is taken, some arm was taken)
        expected = 1
        buffer, buffer_line = "", 1
        for number, line in _logical_lines(strip_comments(text)):
            directive = _DIRECTIVE.match(line) if line.lstrip()[:1] == "#" else None
            if directive is None:
                if all(taken for taken, _ in active):
                    if not buffer:
                        buffer_line = number
                    buffer += line + "\n"
                    if not self._unfinished(buffer):
                        if buffer_line != expected:
                            yield f'#line {buffer_line} "{path}"'
                        yield self._expand_text(buffer.rstrip("\n"), path, buffer_line)
                        expected = number + 1
                        buffer = ""
                continue
            name, rest = directive.groups()
            if self._conditional(name, rest, active, path, number):
                continue
            if all(taken for taken, _ in active):
                yield from self._directive(name, rest.strip(), path, number, depth)
                expected = -1
        if buffer:
            yield f'#line {buffer_line} "{path}"'
            yield self._expand_text(buffer, path, buffer_line)
        if active:
            raise FrontendError(path, None, "#if without #endif", "close every #if")

    def _unfinished(self, text: str) -> bool:
        """A call of a function-like macro that goes on in the next line."""
        if not any(macro.parameters is not None and name in text for name, macro in self._macros.items()):
            return False
        return text.count("(") > text.count(")") and text.count("\n") < 64

    # ----------------------------------------------------------------- directives

    def _conditional(
        self, name: str, rest: str, active: list[tuple[bool, bool]], path: Path, line: int
    ) -> bool:
        outer = all(taken for taken, _ in active)
        if name in ("if", "ifdef", "ifndef"):
            if name == "if":
                taken = outer and self._condition(rest, path, line)
            else:
                taken = (rest.split()[:1] or [""])[0] in self._macros
                taken = taken if name == "ifdef" else not taken
            active.append((taken, taken))
            return True
        if name not in ("elif", "else", "endif"):
            return False
        if not active:
            raise FrontendError(path, line, f"#{name} without #if", "remove it or add the #if")
        _, some = active.pop()
        if name == "elif":
            outer = all(taken for taken, _ in active)
            taken = outer and not some and self._condition(rest, path, line)
            active.append((taken, some or taken))
        elif name == "else":
            active.append((not some, True))
        return True

    def _directive(self, name: str, rest: str, path: Path, line: int, depth: int) -> Iterator[str]:
        if name == "define":
            self._define(rest)
        elif name == "undef":
            self._macros.pop(rest, None)
        elif name == "include":
            yield from self._include(rest, path, line, depth)
        elif name == "error":
            raise FrontendError(path, line, f"#error {rest}", "define what it asks for with -D")
        elif name == "pragma":
            if rest == "once":
                self._once.add(path)
            elif rest.startswith("unroll"):
                yield f'#line {line} "{path}"'
                yield f"#pragma {rest}"

    def _include(self, rest: str, path: Path, line: int, depth: int) -> Iterator[str]:
        rest = self._expand_text(rest, path, line).strip() if rest[:1] not in '"<' else rest
        name = rest[1:].split(">" if rest[:1] == "<" else '"')[0]
        folders = (*((path.parent,) if rest[:1] == '"' else ()), *self._include_dirs, path.parent)
        for folder in folders:
            found = folder / name
            is_there = _is_file(found)
            note_file(found, is_there)
            if is_there:
                if found not in self._once:
                    try:
                        data = file_bytes(found)
                    except OSError as error:
                        message = f"'{name}' cannot be read: {error.strerror}"
                        raise FrontendError(path, line, message, "remove the #include") from None
                    note_text(found, data)
                    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
                    yield from self._file(found, text, depth + 1)
                return
        if rest[:1] == '"':
            self.missing.append((str(path), line, name))

    def _define(self, rest: str) -> None:
        match = re.match(r"([A-Za-z_]\w*)(\(([^)]*)\))?(.*)", rest.strip(), re.S)
        if match is None:
            return
        name, call, parameters, body = match.groups()
        tokens = tuple(_TOKEN.findall(body.strip()))
        if call is None:
            self._macros[name] = Macro(None, tokens)
            return
        names = tuple(part.strip() for part in parameters.split(",") if part.strip())
        variadic = names[-1:] == ("...",)
        self._macros[name] = Macro(names[:-1] if variadic else names, tokens, variadic)

    def _condition(self, text: str, path: Path, line: int) -> bool:
        def is_defined(match: re.Match[str]) -> str:
            return "1" if match.group(1) in self._macros else "0"

        text = re.sub(r"\bdefined\s*\(?\s*([A-Za-z_]\w*)\s*\)?", is_defined, text)
        try:
            return ConditionParser(self._expand_text(text, path, line)).value() != 0
        except (ValueError, RecursionError):
            remedy = "write an integer expression"
            raise FrontendError(path, line, f"#if {text.strip()!r} cannot be evaluated", remedy) from None

    # ----------------------------------------------------------------- expansion

    def _expand_text(self, text: str, path: Path, line: int) -> str:
        tokens = _TOKEN.findall(text)
        self._work = 0
        if not any(token in self._macros or token in ("__LINE__", "__FILE__") for token in tokens):
            return text
        try:
            return "".join(self._expand(tokens, frozenset(), line, path))
        except OverflowError:
            raise FrontendError(path, line, "macro expansion explodes", "simplify the macro") from None

    def _expand(self, tokens: list[str], hidden: frozenset[str], line: int, path: Path) -> list[str]:
        out: list[str] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            self._work += 1
            if self._work > MAX_EXPANSION_TOKENS:
                raise OverflowError
            macro = self._macros.get(token) if _is_name(token) and token not in hidden else None
            if token == "__LINE__":
                out.append(str(line))
            elif token == "__FILE__":
                out.append(f'"{path}"')
            elif macro is None:
                out.append(token)
            elif macro.parameters is None:
                out.extend(self._expand(list(macro.body), hidden | {token}, line, path))
            else:
                arguments, after = _arguments(tokens, position)
                if arguments is None:
                    out.append(token)
                    continue
                expanded = [self._expand(argument, hidden, line, path) for argument in arguments]
                body = _substitute(macro, arguments, expanded)
                out.extend(self._expand(body, hidden | {token}, line, path))
                position = after
        return out


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for the file system
        return False


def _arguments(tokens: list[str], position: int) -> tuple[list[list[str]] | None, int]:
    while position < len(tokens) and tokens[position].isspace():
        position += 1
    if position >= len(tokens) or tokens[position] != "(":
        return None, position
    depth = 0
    arguments: list[list[str]] = [[]]
    while position < len(tokens):
        token = tokens[position]
        position += 1
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return arguments, position
        if token == "(" and depth == 1:
            continue
        if token == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return None, position


def _substitute(macro: Macro, raw: list[list[str]], expanded: list[list[str]]) -> list[str]:
    assert macro.parameters is not None
    values: dict[str, tuple[list[str], list[str]]] = {}
    for index, name in enumerate(macro.parameters):
        if index < len(raw):
            values[name] = (raw[index], expanded[index])
    if macro.is_variadic:
        rest = range(len(macro.parameters), len(raw))
        joined = [token for index in rest for token in (*expanded[index], ",")][:-1]
        values["__VA_ARGS__"] = (joined, joined)
    out: list[str] = []
    body = macro.body
    paste = False
    for index, token in enumerate(body):
        following = next((t for t in body[index + 1 :] if not t.isspace()), "")
        if token == "##":
            while out and out[-1].isspace():
                out.pop()
            paste = True
            continue
        if paste and token.isspace():
            continue
        replacement = [token]
        if token in values:
            unexpanded, full = values[token]
            replacement = list(unexpanded if paste or following == "##" else full)
        if paste and out and replacement:
            out[-1] += "".join(replacement).strip()
        else:
            out.extend(replacement)
        paste = False
    return out


# ---------------------------------------------------------------------------
# The integer expressions of `#if` and `#elif`.


@dataclass(frozen=True, slots=True)
class _Number:
    """An integer of 64 bits; `value` None where C defines none, as behind `defined(N) &&`."""

    value: int | None
    type: Type = INT64


class ConditionParser:
    """Integer expressions of `#if` by precedence climbing; names that are left are 0."""

    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"),
               ("<<", ">>"), ("+", "-"), ("*", "/", "%"))  # fmt: skip
    _WORDS = re.compile(r"\d\w*|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||\S")

    def __init__(self, text: str) -> None:
        self._tokens = self._WORDS.findall(text)
        self._position = 0

    def value(self) -> int:
        """Value of the whole expression. Raises `ValueError` when it has none."""
        value = self._conditional().value
        if value is None or self._position < len(self._tokens):
            raise ValueError(self._peek())
        return value

    def _conditional(self) -> _Number:
        condition = self._level(0)
        if self._peek() != "?":
            return condition
        self._position += 1
        then = self._conditional()
        self._expect(":")
        otherwise = self._conditional()
        if condition.value is None:
            return condition
        return then if condition.value else otherwise

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise ValueError(token)
        self._position += 1

    def _level(self, level: int) -> _Number:
        if level == len(self._LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self._peek() in self._LEVELS[level]:
            op = self._peek()
            self._position += 1
            left = _apply(op, left, self._level(level + 1))
        return left

    def _unary(self) -> _Number:
        token = self._peek()
        self._position += 1
        if token == "(":
            value = self._conditional()
            self._expect(")")
            return value
        if token == "!":
            return _apply("==", self._unary(), _Number(0))
        if token == "~":
            return _apply("^", self._unary(), _Number(-1))
        if token in ("-", "+"):
            return _apply(token, _Number(0), self._unary())
        if token[:1].isdigit():
            digits = token.rstrip("uUlL")
            value = int(digits, 8 if digits[:1] == "0" and digits.isdigit() and len(digits) > 1 else 0)
            is_unsigned = "u" in token[len(digits) :].lower() or value >= 1 << 63
            type_ = UNSIGNED_LONG if is_unsigned else INT64
            return _Number(wrapped(value, type_), type_)
        if token[:1].isalpha() or token[:1] == "_":
            return _Number(0)
        raise ValueError(token)


def _apply(op: str, left: _Number, right: _Number) -> _Number:
    a, b = left.value, right.value
    if op in ("&&", "||"):
        is_or = op == "||"
        if a is None or bool(a) is is_or:  # the right side is not evaluated
            return _Number(None if a is None else int(is_or))
        return _Number(None if b is None else int(bool(b)))
    operator = BinaryOp(op)
    is_signed = left.type.signed and (right.type.signed or op in ("<<", ">>"))
    type_ = INT64 if is_signed else UNSIGNED_LONG
    value = None if a is None or b is None else fold(operator, a, b, type_)
    return _Number(None if value is None else int(value), INT64 if operator in COMPARISONS else type_)

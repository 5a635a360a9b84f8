"""Names of kernels as their programmers wrote them, from the mangled ones (Itanium C++ ABI, section 5.1).

Read are functions, namespaces, template arguments and what their parameters are made of; for what is left
out (expressions in template arguments, lambdas' bodies) the mangled name stays.
"""

from __future__ import annotations

import re

from msgspec import Struct

_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "z": "...",
}
_WELL_KNOWN = {"St": "std", "Sa": "std::allocator", "Ss": "std::string"}
_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_LOCAL = "_GLOBAL__N_"


class Names(Struct, frozen=True):
    """`plain` is the name alone, `qualified` with namespaces and template arguments."""

    plain: str
    qualified: str


class _UnknownError(Exception):
    """A part of a name that is not read."""


def demangled(name: str) -> Names:
    """The names of a function; the mangled one where it cannot be read."""
    if not name.startswith("_Z"):
        return Names(name, name)
    try:
        return _Reader(name[2:]).function()
    except (_UnknownError, IndexError):
        return Names(name, name)


_LOCAL_VARIABLE = re.compile(r"_ZZ.*E(?P<length>\d+)(?P<name>[A-Za-z_]\w*?)(?:_\d+)?\Z")


def variable_name(name: str) -> str:
    """What a variable was called in its source: `tile` of `_ZZ6kernelPfE4tile`."""
    found = _LOCAL_VARIABLE.match(name)
    if found is not None and len(found["name"]) == int(found["length"]):
        return found["name"]
    return demangled(name).plain if name.startswith("_ZN") else name


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._known: list[str] = []  # substitutions
        self._arguments: list[str] = []  # of the innermost template

    def function(self) -> Names:
        """The name that the text begins with."""
        plain, prefix, arguments = self._name()
        qualified = "::".join((*prefix, plain)) + arguments
        return Names(plain, qualified)

    # ------------------------------------------------------------------ text

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        char = self._text[self._at]
        self._at += 1
        return char

    def _number(self) -> int:
        start = self._at
        while self._at < len(self._text) and self._text[self._at].isdecimal():
            self._at += 1
        if start == self._at:
            raise _UnknownError
        return int(self._text[start : self._at])

    # ------------------------------------------------------------------ names

    def _source_name(self) -> str:
        self._take("L")  # internal linkage
        length = self._number()
        found = self._text[self._at : self._at + length]
        self._at += length
        return "(anonymous namespace)" if found.startswith(_LOCAL) else found

    def _name(self) -> tuple[str, tuple[str, ...], str]:
        """Plain name, what is before it, template arguments."""
        if self._take("N"):
            return self._nested()
        prefix: tuple[str, ...] = ()
        if self._take("St"):
            prefix = ("std",)
        plain = self._source_name()
        if self._peek("I"):
            self._known.append("::".join((*prefix, plain)))
            return plain, prefix, self._template()
        return plain, prefix, ""

    def _nested(self) -> tuple[str, tuple[str, ...], str]:
        while self._at < len(self._text) and self._text[self._at] in "rVK":
            self._at += 1
        parts: list[str] = []
        arguments = ""
        while not self._take("E"):
            if self._peek("I"):
                arguments = self._template()
                parts[-1] += arguments
            elif self._peek("S"):
                parts.append(self._substitution())
                arguments = ""
                continue
            else:
                parts.append(self._source_name())
                arguments = ""
            self._known.append("::".join(parts))
        last = parts[-1].removesuffix(arguments) if arguments else parts[-1]
        return last, tuple(parts[:-1]), arguments

    def _template(self) -> str:
        self._take("I")
        found: list[str] = []
        while not self._take("E"):
            found.append(self._argument())
        self._arguments = found
        return f"<{', '.join(found)}>"

    def _argument(self) -> str:
        if self._take("L"):
            return self._literal()
        if self._take("J"):
            found: list[str] = []
            while not self._take("E"):
                found.append(self._argument())
            return ", ".join(found)
        if self._peek("X"):
            raise _UnknownError
        return self._type()

    def _literal(self) -> str:
        if self._peek("_Z"):
            raise _UnknownError
        kind = self._text[self._at]
        type_ = self._type()
        negative = "-" if self._take("n") else ""
        end = self._text.index("E", self._at)
        value = self._text[self._at : end]
        self._at = end + 1
        if type_ == "bool":
            return "true" if value == "1" else "false"
        if kind in _SUFFIXES or kind == "i":
            return negative + value + _SUFFIXES.get(kind, "")
        return f"({type_}){negative}{value}"

    # ------------------------------------------------------------------ types

    def _type(self) -> str:
        at = self._text[self._at]
        if at == "S" and not self._peek("St"):
            found = self._substitution()
            if self._peek("I"):
                found += self._template()
                self._known.append(found)
            return found
        if at.isdecimal() or at == "N" or self._peek("St"):
            plain, prefix, arguments = self._name()
            found = "::".join((*prefix, plain)) + arguments
            if not self._known or self._known[-1] != found:
                self._known.append(found)
            return found
        self._at += 1
        if at in "PRO":
            found = self._type() + {"P": "*", "R": "&", "O": "&&"}[at]
        elif at in "KVr":
            inner = self._type()
            word = {"K": "const", "V": "volatile", "r": "__restrict"}[at]
            found = f"{inner} {word}"
        elif at == "A":
            length = "" if self._peek("_") else str(self._number())
            self._take("_")
            found = f"{self._type()} [{length}]"
        elif at == "T":
            number = 0 if self._peek("_") else self._number() + 1
            self._take("_")
            found = self._arguments[number]
        elif at == "D" and self._take("p"):
            return self._type()
        elif at == "F":
            found = self._function_type()
        elif at in _BUILTIN:
            return _BUILTIN[at]
        else:
            raise _UnknownError
        self._known.append(found)
        return found

    def _function_type(self) -> str:
        result = self._type()
        parameters: list[str] = []
        while not self._take("E"):
            parameters.append(self._type())
        shown = "" if parameters == ["void"] else ", ".join(parameters)
        return f"{result} ({shown})"

    def _substitution(self) -> str:
        for short, name in _WELL_KNOWN.items():
            if self._take(short):
                return name
        self._take("S")
        if self._take("_"):
            return self._known[0]
        end = self._text.index("_", self._at)
        number = int(self._text[self._at : end], 36) + 1
        self._at = end + 1
        if number >= len(self._known):
            raise _UnknownError
        return self._known[number]

"""Declarations for types of libraries that are not there, so that kernels which take them stay kernels.

What is written of a name tells what it is: a namespace, a template of types and numbers, a function. Nothing
is known of what a made-up function does; the kernels that call it say so.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wattslice.patterns import regex

_HD = "__attribute__((host, device))"
_MEMBER = regex(rb"(?:\.|->)[ \t]*([A-Za-z_]\w*)\b([ \t]*\()?")
_RESERVED = frozenset({"template", "operator", "x", "y", "z", "w"})
_MOST = 200
_ARGUMENTS = rb"(?:[ \t]*<(?P<args>[^;(){}<>]*(?:<[^<>;(){}]*>[^;(){}<>]*)*)>)?"
_INCLUDE = regex(rb"^[ \t]*#[ \t]*include[^\n]*|//[^\n]*", re.M)
_BEHIND = rb"\s*(?P<next>[({;]|[A-Za-z_&*>,)])?"


def _body(name: str, source: bytes) -> str:
    """Subscripts, calls, conversions and the members that the file names, whatever their object."""
    functions: dict[str, None] = {}
    values: dict[str, None] = {}
    for found in _MEMBER.finditer(_INCLUDE.sub(b"", source)):
        word = found[1].decode()
        if word not in _RESERVED:
            (values if found[2] is None else functions).setdefault(word)
    parts = [f"float {word};" for word in list(values)[:_MOST]]
    others = [word for word in functions if word not in values]
    parts += (f"template <class... A> {_HD} float {word}(A...) const;" for word in others[:_MOST])
    parts.append(f"template <class I> {_HD} const {name}& operator[](I) const; {_HD} operator float() const;")
    parts.append(f"template <class... A> {_HD} const {name}& operator()(A...) const;")
    parts.append(f"{_HD} const {name}& operator=(float) const;")
    return " ".join(parts)


def _is_number(argument: str, source: bytes) -> bool:
    plain = argument.strip()
    if re.fullmatch(r"\d.*|true|false|sizeof.*", plain):
        return True
    kinds = rb"(?:int|unsigned|size_t|bool|long|short|auto|char|u?int\d+_t)[ \t]+"
    return plain.isidentifier() and re.search(kinds + plain.encode() + rb"\b", source) is not None


def _arguments(text: str) -> list[str]:
    parts, level, begin = list[str](), 0, 0
    for position, char in enumerate(text):
        level += (char == "<") - (char == ">")
        if char == "," and level == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


def _template(arguments: str, source: bytes) -> str:
    kinds = ("auto = 0" if _is_number(one, source) else "class = int" for one in _arguments(arguments))
    return f"template <{', '.join(kinds)}>"


def template_declaration(name: str, source: bytes) -> str:
    """A class template that is used as in `source`."""
    used = re.search(rb"\b" + name.encode() + _ARGUMENTS, source)
    arguments = "" if used is None or used["args"] is None else used["args"].decode("utf-8", "replace")
    return f"{_template(arguments, source)} struct {name} {{ {_body(name, source)} }};"


@lru_cache(maxsize=2)
def _code(source: bytes) -> bytes:
    """Without what it includes and says of itself: asked for name by name."""
    return _INCLUDE.sub(b"", source)


def namespace_members(name: str, source: bytes) -> tuple[str, ...]:
    """Declarations of all that `source` names in a namespace; empty where the name is no namespace."""
    word = name.encode()
    source = _code(source)
    if re.search(rb"\b" + word + rb"\b(?!\s*::)(?!\s*=\s*\w+(?:::|\s*;))", source) is not None:
        return ()  # a class, or something else of its own
    uses = re.compile(rb"\b" + word + rb"(?P<path>(?:\s*::\s*[A-Za-z_]\w*)+)" + _ARGUMENTS + _BEHIND)
    found: dict[str, str] = {}
    for use in list(uses.finditer(source))[:_MOST]:
        parts = [part.strip().decode() for part in use["path"].split(b"::")[1:]]
        path, leaf = (name, *parts[:-1]), parts[-1]
        declared = _declared(leaf, use["args"], use["next"] or b"", source)
        text = "".join(f"namespace {part} {{ " for part in path) + declared + " }" * len(path)
        found.setdefault("::".join((*path, leaf)), text)
    scopes = {"::".join(key.split("::")[:end]) for key in found for end in range(1, key.count("::") + 1)}
    return tuple(text for key, text in found.items() if key not in scopes)


def _declared(leaf: str, arguments: bytes | None, behind: bytes, source: bytes) -> str:
    body = _body(leaf, source)
    is_type = leaf[0].isupper() or leaf.endswith("_t")
    if behind == b"(" and not is_type:
        return f"template <class... T, class... A> {_HD} float {leaf}(A...);"
    if arguments is not None:
        return f"{_template(arguments.decode('utf-8', 'replace'), source)} struct {leaf} {{ {body} }};"
    if is_type or behind.isalnum() or behind in (b"_", b"&", b"*", b">"):
        return f"struct {leaf} {{ {body} }};"
    return f"enum : int {{ {leaf} = 1 }};"

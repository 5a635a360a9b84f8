"""What clang complains about, as values, and the two kinds of complaint that the parse can repair."""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from pathlib import Path

from msgspec import Struct

from wattslice.frontend.cuda.clang.flags import STUBS
from wattslice.frontend.cuda.clang.libclang import UnitHandle, library, place_of, text
from wattslice.frontend.cuda.clang.made_up import namespace_members, template_declaration
from wattslice.frontend.source_files import SourceFiles
from wattslice.patterns import regex


class Severity(IntEnum):
    """`CXDiagnosticSeverity`."""

    IGNORED = 0
    NOTE = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


class ParseDiagnostic(Struct, frozen=True):
    """One complaint of clang; `path` None when it concerns no file. Line and column count from 1."""

    severity: Severity
    message: str
    path: Path | None
    line: int
    column: int

    @property
    def is_error(self) -> bool:
        """Whether clang may have dropped code because of it."""
        return self.severity >= Severity.ERROR


_MADE_UP = regex(r"\(unnamed enum at [^()]*auto_declared\.cuh[^()]*\)")
"""How clang calls the type of an undeclared name: it stands for an `int`."""

_MISSING_FILE = regex(r"^'(?P<name>[^']+)' file not found")


def diagnostics_of(handle: UnitHandle) -> tuple[ParseDiagnostic, ...]:
    """All complaints about a unit, in the order clang made them."""
    lib = library()
    found: list[ParseDiagnostic] = []
    for i in range(lib.clang_getNumDiagnostics(handle.unit)):
        raw = lib.clang_getDiagnostic(handle.unit, i)
        place = place_of(handle, lib.clang_getDiagnosticLocation(raw))
        found.append(
            ParseDiagnostic(
                Severity(lib.clang_getDiagnosticSeverity(raw)),
                _MADE_UP.sub("int", text(lib.clang_getDiagnosticSpelling(raw))),
                place.path,
                place.line,
                place.column,
            )
        )
        lib.clang_disposeDiagnostic(raw)
    return tuple(found)


def missing_includes(diagnostics: tuple[ParseDiagnostic, ...]) -> tuple[str, ...]:
    """The names in `#include` lines that no folder has, each once, in order."""
    found = (_MISSING_FILE.match(d.message) for d in diagnostics if d.is_error)
    return tuple(dict.fromkeys(m["name"] for m in found if m is not None))


# ---------------------------------------------------------------------------
# Names that nobody declares (a header that is not there, a -D of the build): declared so that code
# survives.


AUTO_DECLARED_FILE = STUBS / "auto_declared.cuh"

# Values are distinct (case labels must differ), positive (array sizes) and unlikely to be mistaken for real.
_FIRST_VALUE = 1_009


class Role(Enum):
    """How an undeclared name is used."""

    VALUE = "value"
    FUNCTION = "function"
    TYPE = "type"
    TEMPLATE = "template"
    RECORD = "record"
    NAMESPACE = "namespace"


class Undeclared(Struct, frozen=True):
    """A name that nothing declares, and what it was taken for.

    `members`: of a record their names, of a namespace and a template the declarations.
    """

    name: str
    role: Role
    members: tuple[str, ...] = ()


_RUNTIME_API = regex("cuda[A-Z]")
"""Functions of the CUDA runtime, newer ones than our headers know: all give a `cudaError_t`."""
_UNDECLARED = regex(r"^(?:use of undeclared|unknown type|no template named|no type named)"
                         r"(?: identifier| name)? ?'(?P<name>\w+)'(?P<in>.* in )?")  # fmt: skip


def undeclared_names(diagnostics: tuple[ParseDiagnostic, ...], files: SourceFiles) -> tuple[Undeclared, ...]:
    """The names clang does not know, each once, with their role guessed from where it stumbled."""
    found: dict[str, Undeclared] = {}
    for d in diagnostics:
        match = _UNDECLARED.match(d.message) if d.is_error else None
        if match is None or match["in"] or match["name"] in found:
            continue
        name = match["name"]
        if d.message.startswith("no template"):
            role = Role.TEMPLATE
        elif d.message.startswith("unknown type"):
            role = Role.TYPE
        else:
            role = _role_at(d, name, files)
        source = b"" if d.path is None else files.text_of(d.path)
        if role is Role.TYPE and (members := namespace_members(name, source)):
            found[name] = Undeclared(name, Role.NAMESPACE, members)
        elif role is Role.TEMPLATE:
            found[name] = Undeclared(name, role, (template_declaration(name, source),))
        else:
            found[name] = Undeclared(name, role)
    return tuple(found.values())


_OPENS_CAST = regex(rb"(?:\breturn|[^\w\s)\]]|^)\s*\($")


def _role_at(diagnostic: ParseDiagnostic, name: str, files: SourceFiles) -> Role:
    """A call, a type or a value: from the text at the place of the complaint, else from the whole file."""
    if diagnostic.path is None:
        return Role.VALUE
    source = files.text_of(diagnostic.path)
    lines = source.split(b"\n")
    word = name.encode()
    here = before = b""
    if diagnostic.line <= len(lines):
        here = b"\n".join(lines[diagnostic.line - 1 : diagnostic.line + 2])[diagnostic.column - 1 :]
        before = lines[diagnostic.line - 1][: diagnostic.column - 1].rstrip()
    # `= NAME * x;` multiplies, `(NAME * x)` and `NAME * x;` may declare.
    in_expression = here.startswith(word) and (
        before.endswith((b"=", b"+", b"-", b"*", b"/", b"%", b"[", b"?", b"return"))
    )
    # Out of a macro the complaint sits at the macro's use; then any use in the file has to tell.
    texts = (
        (here,)
        if here.startswith(word)
        else tuple(m for m in re.findall(rb"\b" + word + rb"\b[^\n]*", source))
    )
    for written in texts:
        rest = written[len(word) :].lstrip()
        if _OPENS_CAST.search(before) and re.match(rb"\)\s*[A-Za-z_]", rest):
            return Role.TYPE
        if rest.startswith(b"(") or re.match(rb"<[\w\s,:*]*>\s*\(", rest):
            return Role.FUNCTION
        if in_expression and rest.startswith((b"*", b"&")):
            return Role.VALUE
        if (
            rest.startswith(b"::")
            or re.match(rb"(?:[*&]+\s*)?\w+\s*[;=,)\[]", rest)
            or re.match(rb"\*+\s*\)", rest)
        ):
            return Role.TYPE
        if re.match(rb"<[\w\s,:*]*>", rest):
            return Role.TEMPLATE
    return Role.VALUE


_NO_RECORD = regex(
    r"^member reference (?:base )?type '(?:const )?(?P<name>\w+)[ *]*' \(aka '[^']*\bint\b[^']*'\) is not"
)
_MEMBER = regex(rb"(?:\.|->)[ \t]*([A-Za-z_]\w*)\b(?![ \t]*\()")
_MOST_MEMBERS = 200


def with_members(
    declared: tuple[Undeclared, ...], diagnostics: tuple[ParseDiagnostic, ...], source: bytes
) -> tuple[Undeclared, ...]:
    """Types that turn out to have members become records of every member that the source names."""
    wanted = {m["name"] for d in diagnostics if d.is_error and (m := _NO_RECORD.match(d.message))}
    if not any(entry.name in wanted and entry.role is Role.TYPE for entry in declared):
        return declared
    names = dict.fromkeys(name.decode() for name in _MEMBER.findall(source))
    members = tuple(names)[:_MOST_MEMBERS]
    return tuple(
        Undeclared(entry.name, Role.RECORD, members)
        if entry.name in wanted and entry.role is Role.TYPE
        else entry
        for entry in declared
    )


def declarations(names: tuple[Undeclared, ...]) -> bytes:
    """The text that declares them."""
    lines: list[str] = ["#pragma once"]
    for number, entry in enumerate(names):
        match entry.role:
            case Role.VALUE:
                lines.append(f"enum : int {{ {entry.name} = {_FIRST_VALUE + number} }};")
            case Role.FUNCTION:
                result = "cudaError_t" if _RUNTIME_API.match(entry.name) else "int"
                lines.append(
                    f"template <class... A> __attribute__((host, device)) {result} {entry.name}(A...);"
                )
            case Role.TYPE:
                lines.append(f"typedef int {entry.name};")
            case Role.RECORD:
                members = "".join(f" float {member};" for member in entry.members)
                lines.append(f"struct {entry.name} {{{members} }};")
            case Role.TEMPLATE:
                lines.extend(entry.members or (f"template <class...> struct {entry.name} {{}};",))
            case Role.NAMESPACE:
                lines.extend(entry.members)
    return ("\n".join(lines) + "\n").encode()

"""What a parse gives: the tree, what was made up for it, and what clang complained about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattslice.frontend.cuda.clang.autodeclare import AUTO_DECLARED_FILE, Undeclared
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.cuda.clang.flags import STUBS, ParseOptions
from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.libclang import INCLUSION_VISITOR, library
from wattslice.frontend.cuda.clang.places import Place, UnitHandle, place_of
from wattslice.frontend.cuda.clang.source_files import SourceFiles


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the parse had to make up or look for: the analyzer must not pass it off as the user's word.

    `declared` names have a made-up declaration: their types and values mean nothing.
    `missing_includes` were found nowhere; `found_includes` are the folders that the search came up with.
    `including_file` is the file that was parsed instead because the asked-for file is a fragment of it.
    """

    declared: tuple[Undeclared, ...] = ()
    missing_includes: tuple[str, ...] = ()
    found_includes: tuple[Path, ...] = ()
    including_file: Path | None = None


def _visit_inclusion(file: int, _stack: object, _depth: int, sink: list[int]) -> None:
    sink.append(file)


_VISIT_INCLUSION = INCLUSION_VISITOR(_visit_inclusion)


@dataclass(frozen=True, slots=True)
class ParsedUnit:
    """A file as clang understands it. `path` is the file asked for, `source` its bytes."""

    path: Path
    source: bytes
    options: ParseOptions
    diagnostics: tuple[ParseDiagnostic, ...]
    recovered: Recovered
    handle: UnitHandle = field(repr=False)
    files: SourceFiles = field(repr=False)

    @property
    def root(self) -> Node:
        """The TRANSLATION_UNIT node."""
        return Node(self.handle, library().clang_getTranslationUnitCursor(self.handle.unit))

    @property
    def included_files(self) -> tuple[Path, ...]:
        """The files that were included, the prelude's and our stubs left out, each once."""
        found: list[int] = []
        library().clang_getInclusions(self.handle.unit, _VISIT_INCLUSION, found)
        paths = dict.fromkeys(path for file in found if (path := self.handle.file_name(file)) is not None)
        return tuple(p for p in paths if not p.is_relative_to(STUBS) and not self.files.is_same(p, self.path))

    def asked_files(self) -> frozenset[Path] | None:
        """Of a fragment: the file itself and what it includes; None for a file that is none: all of them."""
        if self.recovered.including_file is None:
            return None
        found: set[Path] = set()

        def visit(file: int, stack: Any, depth: int, _: object) -> None:  # noqa: ANN401  (CXSourceLocation*)
            path = self.handle.file_name(file)
            way = (place_of(self.handle, stack[level]).path for level in range(depth))
            if path is not None and any(
                p is not None and self.files.is_same(p, self.path) for p in (path, *way)
            ):
                found.add(path)

        library().clang_getInclusions(self.handle.unit, INCLUSION_VISITOR(visit), None)
        return frozenset(found)

    def is_in_file(self, node: Node) -> bool:
        """Whether the node is (used) in the asked-for file, and not in a header, stub or including file."""
        path = node.place.path
        return path is not None and (
            path == self.path or (path.name == self.path.name and self.files.is_same(path, self.path))
        )

    def is_builtin(self, declaration: Node) -> bool:
        """Whether the prelude or a stub declares it: an intrinsic or library function known by name."""
        path = declaration.place.path
        return path is None or (path.is_relative_to(STUBS) and path != AUTO_DECLARED_FILE)

    def is_made_up(self, declaration: Node) -> bool:
        """Whether the parse itself declared this name because nobody else did."""
        return declaration.place.path == AUTO_DECLARED_FILE

    def source_of(self, place: Place) -> bytes:
        """The bytes of the file a place is in; empty for what has no file."""
        if place.path is None:
            return b""
        is_own = self.files.is_same(place.path, self.path)
        return self.source if is_own else self.files.text_of(place.path)

    def declarations(self) -> Iterator[Node]:
        """Declarations at namespace scope of the asked-for file, namespaces and extern "C" blocks opened."""
        stack = list(reversed(self.root.children))
        while stack:
            node = stack.pop()
            if node.kind in (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
                stack.extend(reversed(node.children))
            elif self.is_in_file(node):
                yield node

"""Whether everything that an analysis saw is still as it was."""

from __future__ import annotations

import os
from pathlib import Path

from wattslice.frontend.cuda.callers import caller_files, launcher_files
from wattslice.frontend.cuda.clang.includes import repository_root
from wattslice.frontend.cuda.clang.source_files import SourceFiles, look_again
from wattslice.frontend.inputs import Inputs, Search, SearchInput, digest_of_paths, digest_of_text, file_bytes


class CurrentInputs:
    """The disk as it is now. Every file is read and every search made at most once: use it for one run.

    Contents are compared, not time stamps: a checkout or a copy changes stamps without changing a letter, and
    two edits within a tick of the clock change a letter without changing stamps.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._answers: dict[tuple[Search, str, tuple[str, ...]], str] = {}
        self._roots: dict[str, SourceFiles] = {}
        look_again()

    def hold(self, inputs: Inputs) -> bool:
        """Whether an analysis now would see the very same."""
        return (
            all(self.digest(text.path) == text.sha256 for text in inputs.texts)
            and all(os.path.isfile(path) for path in inputs.present)  # noqa: PTH113  (thousands of them)
            and not any(os.path.isfile(path) for path in inputs.absent)  # noqa: PTH113
            and all(self._answer(search) == search.answer for search in inputs.searches)
        )

    def digest(self, path: str) -> str:
        """The digest of a file's content, of nothing where it cannot be read."""
        known = self._digests.get(path)
        if known is None:
            try:
                content = file_bytes(Path(path))
            except OSError:
                content = b""
            known = self._digests[path] = digest_of_text(content)
        return known

    def _answer(self, asked: SearchInput) -> str:
        question = (asked.search, asked.about, asked.names)
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = digest_of_paths(self._found(asked))
        return known

    def _found(self, asked: SearchInput) -> tuple[Path, ...]:
        about = Path(asked.about)
        if asked.search is Search.ROOT:
            return (repository_root(about),)
        if asked.search is Search.CALLERS:
            return caller_files(about, frozenset(asked.names))
        if asked.search is Search.LAUNCHERS:
            return launcher_files(about, frozenset(asked.names))
        files = self._roots.get(asked.about)
        if files is None:
            files = self._roots[asked.about] = SourceFiles(about, about, b"")
        ask = files.named if asked.search is Search.NAMED else files.includers_of
        return tuple(path for name in asked.names for path in ask(name))

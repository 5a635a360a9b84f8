"""Code actions: do what an advice proposes, write the setting that settles an assumption, or a comment that
silences a finding.

A fix is written as options of the command line: `--set k.n=VALUE --set k.m=VALUE`,
`--launch 'k=gx,gy,gz:bx,by,bz'`; values that are assumed now take the place of its placeholders.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from lsprotocol import types
from msgspec import Struct

from wattslice.analysis import KernelAnalysis
from wattslice.errors import WattsliceError
from wattslice.findings.findings import Finding
from wattslice.launches.overrides import parse_launch, parse_setting
from wattslice.lsp.diagnostics import SOURCE
from wattslice.lsp.documents import Document, Encoding, LineMap, split_lines, width
from wattslice.lsp.repairs import Repair, repair
from wattslice.lsp.settings_files import SettingsFile, has_entry, with_entry
from wattslice.lsp.views import View
from wattslice.patterns import regex

WRITE_SETTINGS = "wattslice.writeSettings"
"""Our command: the document's uri, and entries as ``{"key": ..., "value": ...}``."""
_IGNORE = regex(r"//[ \t]*wattslice:[ \t]*ignore\[[^\]]*(?=\])")


class Abilities(Struct, frozen=True):
    """What the client can apply: edits of documents with their versions, files to be created, and edits that
    the server sends by itself.
    """

    document_changes: bool
    creates_files: bool
    applies_edits: bool = False


class Asked(Struct, frozen=True):
    """A request for actions: the lines (from 0, both included) and what is underlined there."""

    first: int
    last: int
    diagnostics: tuple[types.Diagnostic, ...]


def code_actions(
    view: View,
    document: Document,
    asked: Asked,
    lines: LineMap,
    settings: SettingsFile | None,
    abilities: Abilities,
    encoding: Encoding,
    *,
    may_edit: bool,
) -> list[types.CodeAction]:
    """Actions on the findings of the lines asked for. `may_edit`: the document itself may be changed."""
    actions: dict[str, types.CodeAction] = {}
    asked_entries: list[tuple[SettingEntry, ...]] = []
    for finding, line in _findings_at(view, lines, asked):
        told = [d for d in asked.diagnostics if d.source == SOURCE and d.code == finding.rule]
        entries = settings_for(finding, view.named(finding.kernel))
        write = None if settings is None else _written(settings, entries, document, abilities, encoding)
        if settings is not None and write is not None:
            values = " ".join(entry.value for entry in entries)
            title = f"Set {values} in {settings.path.name} (the value assumed now)"
            actions.setdefault(title, _action(title, told, write))
            asked_entries.append(entries)
        if may_edit and view.is_own(finding.file) and finding.line > 0:
            texts = [document.line(number) for number in range(len(document.lines))]
            if (mended := repair(finding, texts, line)) is not None:
                edit = _line_edit(document, mended, abilities, encoding)
                actions.setdefault(mended.title, _action(mended.title, told, edit))
            edit = _ignore_edit(document, line, finding.rule, abilities, encoding)
            title = f"Ignore {finding.rule} here"
            if edit is not None:
                actions.setdefault(title, _action(title, told, edit))
    if settings is not None and asked_entries:
        missing = _missing(settings, _all_entries(view))
        write = _written(settings, missing, document, abilities, encoding)
        if write is not None and len(missing) > max(map(len, asked_entries)):
            title = f"Set all {len(missing)} missing values in {settings.path.name} (those assumed now)"
            actions.setdefault(title, _action(title, [], write))
    return list(actions.values())


def _all_entries(view: View) -> tuple[SettingEntry, ...]:
    """What would settle the document; of several values for one name the first."""
    found: dict[tuple[str, str], SettingEntry] = {}
    for finding in (*view.findings, *view.elsewhere):
        for entry in settings_for(finding, view.named(finding.kernel)):
            found.setdefault((entry.key, entry.value.partition("=")[0]), entry)
    return tuple(found.values())


def _findings_at(view: View, lines: LineMap, asked: Asked) -> Iterator[tuple[Finding, int]]:
    for finding in (*view.findings, *view.elsewhere):
        now = lines.now(view.place_of(finding) - 1)
        if now is not None and asked.first <= now <= asked.last:
            yield finding, now


def _action(
    title: str, told: list[types.Diagnostic], does: types.WorkspaceEdit | types.Command
) -> types.CodeAction:
    action = types.CodeAction(title, kind=types.CodeActionKind.QuickFix, diagnostics=told or None)
    if isinstance(does, types.Command):
        does.title, action.command = title, does
    else:
        action.edit = does
    return action


def _written(
    settings: SettingsFile,
    entries: tuple[SettingEntry, ...],
    document: Document,
    abilities: Abilities,
    encoding: Encoding,
) -> types.WorkspaceEdit | types.Command | None:
    """What writes the entries. A command where possible: of two in a row, the second knows of the first."""
    found = settings_edit(settings, entries, abilities, encoding)
    if found is None:
        return None
    if not abilities.applies_edits:
        return found[0]
    arguments = [{"key": entry.key, "value": entry.value} for entry in entries]
    return types.Command("", WRITE_SETTINGS, arguments=[document.uri, arguments])


def _missing(settings: SettingsFile, entries: tuple[SettingEntry, ...]) -> tuple[SettingEntry, ...]:
    """Those of whose name nothing is said in the file."""
    text, is_pyproject = settings.text or "", settings.is_pyproject
    return tuple(e for e in entries if not has_entry(text, e.key, e.value, is_pyproject=is_pyproject))


def settings_edit(
    settings: SettingsFile, entries: tuple[SettingEntry, ...], abilities: Abilities, encoding: Encoding
) -> tuple[types.WorkspaceEdit, str] | None:
    """The entries that are missing into the settings file, all else as it was; and its text then.

    None where nothing is missing, or it cannot be done.
    """
    old = settings.text or ""
    new = old
    for entry in _missing(settings, entries):
        added = with_entry(new, entry.key, entry.value, is_pyproject=settings.is_pyproject)
        if added is None:
            return None
        new = added
    if new == old:
        return None
    edit = _difference(old, new, encoding)
    uri = settings.path.absolute().as_uri()
    if settings.text is not None:
        return _workspace_edit(uri, None, edit, abilities), new
    if not (abilities.document_changes and abilities.creates_files):
        return None
    create = types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=True))
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=None)
    changes = [create, types.TextDocumentEdit(identifier, [edit])]
    return types.WorkspaceEdit(document_changes=changes), new


def _ignore_edit(
    document: Document, line: int, rule: str, abilities: Abilities, encoding: Encoding
) -> types.WorkspaceEdit | None:
    """A comment above the line; into the one that is there already. None within a macro's continued lines."""
    above = document.line(line - 1) if line else ""
    if above.rstrip().endswith("\\"):
        return None
    if (comment := _IGNORE.search(above)) is not None:
        place = types.Position(line - 1, width(above[: comment.end()], encoding))
        text = f", {rule}"
    else:
        own = document.line(line)
        place = types.Position(line, 0)
        indent = own[: len(own) - len(own.lstrip())]
        text = f"{indent}// wattslice: ignore[{rule}] reason{_line_end(document)}"
    edit = types.TextEdit(types.Range(place, place), text)
    return _workspace_edit(document.uri, document.version, edit, abilities)


def _line_edit(
    document: Document, mended: Repair, abilities: Abilities, encoding: Encoding
) -> types.WorkspaceEdit:
    old = document.line(mended.number)
    place = types.Range(types.Position(mended.number, 0), types.Position(mended.number, width(old, encoding)))
    text = mended.text.replace("\n", _line_end(document))
    return _workspace_edit(document.uri, document.version, types.TextEdit(place, text), abilities)


def _line_end(document: Document) -> str:
    return "\r\n" if any(line.endswith("\r\n") for line in document.lines[:1]) else "\n"


def _workspace_edit(
    uri: str, version: int | None, edit: types.TextEdit, abilities: Abilities
) -> types.WorkspaceEdit:
    if not abilities.document_changes:
        return types.WorkspaceEdit(changes={uri: [edit]})
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, [edit])])


def _difference(old: str, new: str, encoding: Encoding) -> types.TextEdit:
    """One edit that makes `new` of `old`."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
    where = types.Range(_position(old, start, encoding), _position(old, len(old) - end, encoding))
    return types.TextEdit(where, new[start : len(new) - end])


def _position(text: str, offset: int, encoding: Encoding) -> types.Position:
    lines = split_lines(text[:offset])
    if not lines or lines[-1].endswith(("\n", "\r")):
        return types.Position(len(lines), 0)
    return types.Position(len(lines) - 1, width(lines[-1], encoding))


_KEYS = {"--set": "set", "--launch": "launch"}
_LOOP = regex(r"trip_L(\d+)(?:@(.+))?")


class SettingEntry(Struct, frozen=True):
    """One entry of a list in the settings file: `set` or `launch`, and what to add to it."""

    key: str
    value: str


def settings_for(finding: Finding, launches: tuple[KernelAnalysis, ...]) -> tuple[SettingEntry, ...]:
    """The entries that settle the finding, none when there is no such setting or no value is known.

    `launches` are those of the finding's kernel.
    """
    try:
        words = shlex.split(finding.fix)
    except ValueError:
        return ()
    entries: list[SettingEntry] = []
    for option, text in zip(words[::2], words[1::2], strict=False):
        key = _KEYS.get(option)
        value = None if key is None else _filled(key, text, finding, launches)
        if key is None or value is None:
            return ()  # half of what settles it would not
        entries.append(SettingEntry(key, value))
    return tuple(entries) if len(words) == 2 * len(entries) else ()


def read_entries(value: object) -> tuple[SettingEntry, ...]:
    """Entries as a client sends them back; what is none is left out."""
    found: list[SettingEntry] = []
    for item in cast("Sequence[object]", value) if isinstance(value, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        table = cast("Mapping[object, object]", item)
        key, text = table.get("key"), table.get("value")
        if isinstance(key, str) and isinstance(text, str) and key in _KEYS.values() and _is_valid(key, text):
            found.append(SettingEntry(key, text))
    return tuple(found)


def _is_valid(key: str, text: str) -> bool:
    try:
        parse_launch(text) if key == "launch" else parse_setting(text)
    except WattsliceError:
        return False
    return True


def _filled(key: str, text: str, finding: Finding, launches: tuple[KernelAnalysis, ...]) -> str | None:
    """The text with the assumed values in it; None when they are not known or it is no valid setting."""
    name, _, value = text.partition("=")
    if key == "launch":
        if not re.fullmatch(r"[\d,:]+", value):
            if not launches:
                return None
            grid, block = (",".join(map(str, e)) for e in (launches[0].launch.grid, launches[0].launch.block))
            value = f"{grid}:{block}" + (":0" if value.endswith(":BYTES") else "")
    elif value == "VALUE":
        assumed = _assumed_value(name.rpartition(".")[2] if "trip_L" not in name else name, finding, launches)
        if assumed is None:
            return None
        value = assumed
    filled = f"{name}={value}"
    return filled if _is_valid(key, filled) else None


def _assumed_value(name: str, finding: Finding, launches: tuple[KernelAnalysis, ...]) -> str | None:
    if (loop := _LOOP.search(name)) is not None:
        for kernel in launches:
            for trips in kernel.loops:
                own = trips.file in ("", kernel.source.file)
                file = trips.file.endswith(loop[2]) if loop[2] else own
                if trips.line == int(loop[1]) and file:
                    return f"{trips.assumed:g}"
        return None
    found = re.search(rf"\b{re.escape(name)} assumed (-?[\d.]+(?:e[-+]?\d+)?)(?![\w.]*\w)", finding.message)
    return None if found is None else found[1].rstrip(".")

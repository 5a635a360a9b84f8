"""The protocol's methods, each a few words to the session, and the process around them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from wattslice.lsp.actions import WRITE_SETTINGS, Abilities, Asked, code_actions, read_entries, settings_edit
from wattslice.lsp.client_settings import read_client_settings
from wattslice.lsp.documents import Document, index
from wattslice.lsp.hover import hover_text
from wattslice.lsp.protocol import Protocol
from wattslice.lsp.session import Open, Session
from wattslice.lsp.settings_files import PendingTexts, SettingsFile, folder_of, path_of, settings_file
from wattslice.lsp.views import code_lenses, inlay_hints
from wattslice.lsp.worker import Outcome
from wattslice.version import __version__

_WATCHED = ("**/wattslice.toml", "**/pyproject.toml", "**/compile_commands.json", "**/*.{cu,cuh,h,hpp}")
_SECTION = "wattslice"
_ANALYZED = "$/wattslice/analyzed"
"""Ours, after each analysis; clients that do not know what begins with `$/` must ignore it."""
_WATCH_PROCESS_S = 2.0
_MOST_WAIT_S = 10.0
"""How long an answer may wait for the analysis, for clients that cannot be told to ask again."""


class Server(LanguageServer):
    """The server of one client."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]  (as told to __init__)
    session: Session

    def __init__(self) -> None:
        super().__init__("wattslice", __version__, protocol_cls=Protocol)  # pyright: ignore[reportUnknownMemberType]
        self.lost = asyncio.Event()
        self._watching: asyncio.Future[None] | None = None
        self._pending = PendingTexts()
        self._writing = asyncio.Lock()
        _register(self)

    def start(self, folders: tuple[Path, ...], options: object) -> None:
        """The client has introduced itself."""
        self.session = Session(self._publish, self._refresh, self._report)
        self.session.encoding = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        self.session.folders = folders
        self.configure(options)

    def configure(self, value: object) -> None:
        """Take over what the client says under `wattslice`; complain about what it cannot mean."""
        if isinstance(value, Mapping):
            table = cast("Mapping[object, object]", value)
            value = table.get(_SECTION, table)
        root = self.session.folders[0] if self.session.folders else None
        settings, complaints = read_client_settings(value, root)
        for complaint in complaints:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, complaint))
        self.session.configured(settings)

    async def pull_settings(self) -> None:
        """Ask the client for its settings; what it does not answer changes nothing."""
        items = [types.ConfigurationItem(section=_SECTION)]
        with contextlib.suppress(JsonRpcException):
            answer = await self.workspace_configuration_async(types.ConfigurationParams(items))
            if answer and answer[0] is not None:
                self.configure(answer[0])

    async def settled(self, uri: str) -> Open | None:
        """The document, for an answer about its figures.

        At once: the client is told to ask again when there are new ones. One that cannot be told waits.
        """
        found = self.session.get(uri)
        if found is not None and not self._can_refresh() and not found.settled.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(found.settled.wait(), _MOST_WAIT_S)
        return self.session.get(uri)

    def abilities(self) -> Abilities:
        """What edits the client can apply."""
        workspace = self.client_capabilities.workspace
        edits = None if workspace is None else workspace.workspace_edit
        if edits is None:
            return Abilities(document_changes=False, creates_files=False)
        applies = bool(workspace and workspace.apply_edit)
        creates = types.ResourceOperationKind.Create in (edits.resource_operations or ())
        # Files can only be created in documentChanges; Neovim says the one and not the other.
        return Abilities(bool(edits.document_changes) or creates, creates, applies)

    def settings_file(self, found: Open) -> SettingsFile | None:
        """The settings file of a document, with what we have had written into it."""
        settings = settings_file(found.document.path, self.session.folders)
        return None if settings is None else self._pending.now(settings)

    async def write_settings(self, uri: str, entries: object) -> None:
        """Our command: have the client write entries into the settings file. One after the other."""
        async with self._writing:
            found = self.session.get(uri)
            settings = None if found is None else self.settings_file(found)
            if settings is None:
                return
            edit = settings_edit(settings, read_entries(entries), self.abilities(), self.session.encoding)
            if edit is None:
                return
            asked = types.ApplyWorkspaceEditParams(edit[0], label=f"Set in {settings.path.name}")
            with contextlib.suppress(JsonRpcException, TimeoutError):
                answer = await asyncio.wait_for(self.workspace_apply_edit_async(asked), _MOST_WAIT_S)
                if answer.applied:
                    self._pending.applied(settings.path, edit[1])

    def markup(self) -> types.MarkupKind:
        """What the client can show in a hover; one that says nothing is taken to know Markdown."""
        document = self.client_capabilities.text_document
        hover = None if document is None else document.hover
        kinds = (hover.content_format if hover else None) or (types.MarkupKind.Markdown,)
        markdown = types.MarkupKind.Markdown
        return markdown if markdown in kinds else types.MarkupKind.PlainText

    def _can_refresh(self) -> bool:
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support)

    def _refresh(self) -> None:
        workspace = self.client_capabilities.workspace
        if self._can_refresh():
            self.protocol.ask(types.WORKSPACE_INLAY_HINT_REFRESH)
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.protocol.ask(types.WORKSPACE_CODE_LENS_REFRESH)

    def _publish(self, document: Document, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, diagnostics, document.version)
        )

    def _report(self, outcome: Outcome) -> None:
        """Which GPU it was for, to be shown beside the text; what it took, to who looks for a fault."""
        task, took_ms, processor_ms = outcome.task, 1e3 * outcome.seconds, 1e3 * outcome.processor_s
        if self.protocol.trace != types.TraceValue.Off:
            took = f"{took_ms:.1f} ms, {processor_ms:.1f} ms of the processor"
            self.log_trace(types.LogTraceParams(f"{task.path.name}: analysed in {took}"))
        if (analysis := outcome.analysis) is not None:
            told = {
                "uri": task.uri,
                "gpu": analysis.gpu_id,
                "gpuName": analysis.gpu_name,
                "gpuSource": analysis.gpu_source,
                "launches": len(analysis.kernels),
                "timeMs": took_ms,
                "processorMs": processor_ms,
            }
            self.protocol.notify(_ANALYZED, told)  # pyright: ignore[reportUnknownMemberType]

    def defect(self, context: dict[str, Any]) -> None:
        """Something of ours failed with nobody waiting for an answer."""
        error = context.get("exception")
        text = context["message"] if error is None else f"internal error: {type(error).__name__}: {error}"
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    def watch_process(self, process_id: int) -> None:
        """End when that process does."""
        self._watching = asyncio.ensure_future(_watch_process(process_id, self.lost))

    def watch_files(self) -> None:
        """Ask to be told of changed settings and headers, where the client can."""
        workspace = self.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        registrations: list[types.Registration] = []
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob) for glob in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registrations.append(types.Registration("wattslice-files", method, options))
        changing = workspace.did_change_configuration if workspace else None
        if changing and changing.dynamic_registration:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            registrations.append(types.Registration("wattslice-settings", method, {"section": _SECTION}))
        if registrations:
            self.client_register_capability(types.RegistrationParams(registrations))


def _register(server: Server) -> None:
    """Connect the protocol's methods."""
    _register_life(server)
    _register_changes(server)
    _register_answers(server)
    _register_actions(server)


def _register_life(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.protocol.trace = params.trace or types.TraceValue.Off
        folders = _folders(params)
        server.start(folders, params.initialization_options)
        if params.process_id is not None and _lives(params.process_id):
            server.watch_process(params.process_id)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.watch_files()
        workspace = server.client_capabilities.workspace
        if workspace and workspace.configuration:
            await server.pull_settings()

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.session.stop()


def _register_changes(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.session.opened(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        server.session.changed(params.text_document, list(params.content_changes))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.session.saved(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.session.closed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(_: types.DidChangeWatchedFilesParams) -> None:
        server.session.analyze_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        workspace = server.client_capabilities.workspace
        if workspace and workspace.configuration:
            await server.pull_settings()
            return
        settings: object = params.settings  # pyright: ignore[reportUnknownMemberType]
        if isinstance(settings, Mapping) and _SECTION in settings:
            server.configure(cast("Mapping[object, object]", settings))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.session.folders = _paths(folder.uri for folder in server.workspace.folders.values())


def _register_answers(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        found = await server.settled(params.text_document.uri)
        session = server.session
        if found is None or found.view is None or not session.client.inlay_hints:
            return []
        least = session.client.min_share
        return [
            hint
            for view in found.shown()
            for hint in inlay_hints(
                view, found.document, params.range, found.lines_of(view), least, session.encoding
            )
        ]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        found = await server.settled(params.text_document.uri)
        if found is None or found.view is None or not server.session.client.code_lenses:
            return []
        return [lens for view in found.shown() for lens in code_lenses(view, found.lines_of(view))]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        found = server.session.get(params.text_document.uri)
        if found is None:
            return None
        line = params.position.line
        text = found.document.line(line)
        column = index(text, params.position.character, server.session.encoding)
        for view in found.shown():
            then = found.lines_of(view).then(line)
            if then is not None and (markdown := hover_text(view, then + 1, text, column)):
                return types.Hover(types.MarkupContent(server.markup(), markdown))
        return None


def _register_actions(server: Server) -> None:
    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        session = server.session
        found = session.get(params.text_document.uri)
        only = params.context.only
        if found is None or found.view is None or (only and types.CodeActionKind.QuickFix not in only):
            return []
        path, folders = found.document.path, session.folders
        asked = Asked(params.range.start.line, params.range.end.line, tuple(params.context.diagnostics))
        return code_actions(
            found.view,
            found.document,
            asked,
            found.lines_of(found.view),
            server.settings_file(found),
            server.abilities(),
            session.encoding,
            may_edit=not folders or not found.document.is_saved or folder_of(path, folders) is not None,
        )

    @server.command(WRITE_SETTINGS)
    async def write_settings(ls: Server, *arguments: object) -> None:
        if len(arguments) == 2 and isinstance(arguments[0], str):
            await ls.write_settings(arguments[0], arguments[1])


def _folders(params: types.InitializeParams) -> tuple[Path, ...]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri is not None:
        uris = [params.root_uri]
    if not uris and params.root_path:
        uris = [Path(params.root_path).absolute().as_uri()]
    return _paths(uris)


def _paths(uris: Iterable[str]) -> tuple[Path, ...]:
    return tuple(path for uri in uris if (path := path_of(uri)) is not None)


def _lives(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


async def _watch_process(process_id: int, lost: asyncio.Event) -> None:
    """Sets `lost` when the client's process has ended; its end of the pipe may live on in a child of it."""
    while _lives(process_id):
        await asyncio.sleep(_WATCH_PROCESS_S)
    lost.set()


class _Output:
    """What the server writes to; a client that does not read any more is gone."""

    def __init__(self, stream: BinaryIO, lost: asyncio.Event) -> None:
        self._stream = stream
        self._lost = lost

    def write(self, data: bytes) -> None:
        """Write a whole message."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            self._lost.set()

    def close(self) -> None:
        """Nothing: the process ends right afterwards."""


def serve_stdio(failed: int) -> NoReturn:
    """Serve one client on stdin and stdout until it leaves, and end with the exit status of the protocol, or
    with `failed`.

    The process ends here and now: a running analysis is a thread that cannot be stopped, and one may be
    waiting for stdin.
    """
    for name in ("pygls", "asyncio"):  # the client hears of what goes wrong; stderr is for people
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    stdin, stdout = _private_streams()
    # An analysis holds the interpreter for milliseconds at a time; answers should not wait that long.
    sys.setswitchinterval(0.001)
    try:
        status: object = asyncio.run(_serve(stdin, stdout))
    except SystemExit as ending:  # SIGTERM
        status = ending.code
    except KeyboardInterrupt:
        status = failed
    except Exception as error:
        print(f"wattslice: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        status = failed
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else failed)


async def _serve(stdin: BinaryIO, stdout: BinaryIO) -> int:
    server = Server()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: server.defect(context))
    server.protocol.set_writer(_Output(stdout, server.lost))
    return await server.protocol.serve(stdin, server.lost)


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """stdin and stdout for the protocol alone: what else is printed goes to stderr, and reads nothing.

    That holds for libclang and for child processes too.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return stdin, stdout

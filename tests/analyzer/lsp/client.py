"""A small editor: starts the server as a process and speaks to it over its pipes, politely or not."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Message = dict[str, Any]

PATIENCE_S = 300.0  # until we believe that nothing will come: much more than a busy machine needs
CAPABILITIES: Message = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "workspace": {
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "configuration": True,
    },
}


@cache
def _nursery(path: str) -> socket.socket:
    """Takes requests for servers; its process ends with this one. `path`: where modules are looked for."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            (sys.executable, str(Path(__file__).with_name("nursery.py")), str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"},
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class Forked:
    """A server that the nursery has forked, with what we need of `subprocess.Popen`."""

    def __init__(self, folder: Path | None, environment: dict[str, str]) -> None:
        (stdin, ours_in), (ours_out, stdout), (ours_err, stderr), (ended, told) = (
            os.pipe() for _ in range(4)
        )
        theirs = [stdin, stdout, stderr, told]
        text = json.dumps({"folder": None if folder is None else str(folder), "environment": environment})
        socket.send_fds(_nursery(environment["PYTHONPATH"]), [text.encode()], theirs)
        for pipe in theirs:
            os.close(pipe)
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(ours_in, "wb"),
            os.fdopen(ours_out, "rb"),
            os.fdopen(ours_err, "rb"),
        )
        self._ended = os.fdopen(ended, "rb")
        self.pid = int(self._ended.readline())
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            found: list[bytes] = []
            reader = threading.Thread(target=lambda: found.append(self._ended.readline()), daemon=True)
            reader.start()
            reader.join(timeout)
            if not found:
                raise subprocess.TimeoutExpired("wattslice lsp", timeout or 0.0)
            self._status = int(found[0])
            self._ended.close()
        return self._status

    def terminate(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Client:
    """One server process. `settings` is what it gets when it asks for `wattslice`.

    `command`: what starts it in the usual way; None: it is forked, with all modules imported.
    """

    def __init__(
        self, root: Path | None, settings: Message | None = None, command: tuple[str, ...] | None = None
    ) -> None:
        self.root = root
        self.settings = settings
        self.applies: Callable[[Message], None] | None = None  # what it does with `workspace/applyEdit`
        self.asked: list[Message] = []  # requests and notifications of the server, in order
        self._answers: dict[object, Message] = {}
        self._unread: list[Message] = []  # of `asked`, since we last told the server something
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self._versions: dict[str, int] = {}
        self._last_id = 0
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONWARNINGS": "error",
        }
        self.process: Forked | subprocess.Popen[bytes] = (
            Forked(root, environment)
            if command is None
            else subprocess.Popen(
                (sys.executable, *command, "lsp"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=root,
            )
        )
        self.errors: list[bytes] = []
        self._readers = [threading.Thread(target=run) for run in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    # ------------------------------------------------------------------------------- the pipes

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = None
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                assert name in (b"Content-Length", b"Content-Type"), line  # nothing else prints there
                length = int(value) if name == b"Content-Length" else length
            if length is None:
                break
            self._inbox.put(json.loads(stream.read(length)))
        self._inbox.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def pump(self, timeout_s: float = PATIENCE_S) -> Message | None:
        """Take one message of the server and answer it if it asks; None at the end. Raises queue.Empty."""
        message = self._inbox.get(timeout=timeout_s)
        if message is None:
            self._inbox.put(None)
            return None
        if "method" in message:
            self.asked.append(message)
            self._unread.append(message)
            if "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)})
        else:
            self._answers[message["id"]] = message
        return message

    def _result(self, message: Message) -> object:
        if message["method"] == "workspace/configuration":
            return [self.settings]
        if message["method"] == "workspace/applyEdit" and self.applies is not None:
            self.applies(message["params"]["edit"])
            return {"applied": True}
        return None

    # ------------------------------------------------------------------------------- the protocol

    def request(self, method: str, params: object = None) -> Any:
        """The result of a request; an error raises AssertionError."""
        answer = self.answer(self.begin(method, params))
        assert "error" not in answer, answer
        return answer["result"]

    def begin(self, method: str, params: object = None) -> int:
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def answer(self, number: object) -> Message:
        while number not in self._answers:
            if self.pump() is None:
                raise AssertionError(f"the server left: {b''.join(self.errors).decode()}")
        return self._answers.pop(number)

    def notify(self, method: str, params: object = None) -> None:
        self._unread.clear()
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, capabilities: Message | None = None, **more: object) -> Message:
        folders = None if self.root is None else [{"uri": self.root.as_uri(), "name": "root"}]
        params = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": CAPABILITIES if capabilities is None else capabilities,
            "workspaceFolders": folders,
            **more,
        }
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, path: Path | str, text: str, language: str = "cuda") -> str:
        uri = path.as_uri() if isinstance(path, Path) else path
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, *changes: Message) -> None:
        self._versions[uri] += 1
        identifier = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": list(changes)})

    def ask(self, method: str, uri: str, **more: object) -> Any:
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})

    def hints(self, uri: str, first: int = 0, last: int = 100_000) -> list[Message]:
        return self.ask("inlayHint", uri, range=span(first, 0, last, 0))

    def hover(self, uri: str, line: int, character: int = 0) -> str:
        found = self.ask("hover", uri, position={"line": line, "character": character})
        return "" if found is None else found["contents"]["value"]

    def actions(self, uri: str, line: int) -> dict[str, Message]:
        found = self.ask("codeAction", uri, range=span(line, 0, line, 0), context={"diagnostics": []})
        return {action["title"]: action for action in found}

    # ------------------------------------------------------------------------------- waiting

    def wait(self, arrived: Callable[[Message], bool]) -> Message:
        """The first message of the server since our last notification, or since the one we waited for last,
        of which that is true. It may have come before an answer that we asked for meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            while self._unread:
                message = self._unread.pop(0)
                if arrived(message):
                    return message
            ended = self.pump() is None
            assert not ended, f"the server left: {b''.join(self.errors).decode()}"
        raise AssertionError("nothing came")

    def diagnostics(self, uri: str) -> list[Message]:
        """The next diagnostics of a document."""

        def arrived(message: Message) -> bool:
            return (
                message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri
            )

        return self.wait(arrived)["params"]["diagnostics"]

    def all_diagnostics(self, *uris: str) -> list[list[Message]]:
        """The next diagnostics of several documents, whichever come first."""
        found: dict[str, list[Message]] = {}
        while len(found) < len(uris):
            message = self.wait(lambda message: message.get("method") == "textDocument/publishDiagnostics")
            if message["params"]["uri"] in uris:
                found[message["params"]["uri"]] = message["params"]["diagnostics"]
        return [found[uri] for uri in uris]

    def drain(self, seconds: float) -> None:
        """Take what comes until nothing has come for so long."""
        with contextlib.suppress(queue.Empty):
            while self.pump(seconds) is not None:
                pass

    def leave(self) -> int:
        """Shut down in order; the exit status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                assert stream is not None
                stream.close()


def span(line: int, character: int, end_line: int, end_character: int) -> Message:
    return {
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    }


def edit(where: Message, text: str) -> Message:
    return {"range": where, "text": text}


def applied(text: str, change: Message) -> str:
    """The text with the edits of one document in it (ASCII, so columns are characters)."""
    lines = [*text.splitlines(keepends=True), ""]
    for one in change["edits"]:
        start, end = one["range"]["start"], one["range"]["end"]
        assert start == end  # ours only insert
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"]] + one["newText"] + line[start["character"] :]
    return "".join(lines)

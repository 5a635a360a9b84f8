"""JSON-RPC as the specification wants it, also towards clients that do not keep to it.

pygls gives the types, the dispatch, the lifecycle and what is sent. Its reading loop bounds neither a header
nor a message, knows one spelling of a header, and has no answer for what is no message or comes before
`initialize` or after `shutdown`. So messages are read and checked here: every request gets an answer (a
malformed one an error), and the process an exit status.
"""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from wattslice.patterns import regex

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.lsp.server import LanguageServer
    from pygls.protocol.json_rpc import RPCMessage


MOST_NESTING = 128
"""Levels of arrays and objects in a message; the protocol's own messages have about ten."""
_STRING = regex(rb'"(?:[^"\\]+|\\.)*"', re.DOTALL)
_OPEN, _CLOSE = b"[{", b"]}"
_DOCUMENTS = (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE)


class _State(Enum):
    NEW = "new"
    SERVING = "serving"
    SHUT_DOWN = "shut down"


class Protocol(LanguageServerProtocol):
    """One connection."""

    state = _State.NEW
    _asked = 0

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        for method in _DOCUMENTS:  # texts are kept by `documents`, which breaks lines where the protocol does
            del self.fm.builtin_features[method]  # pyright: ignore[reportUnknownMemberType]

    async def serve(self, stdin: BinaryIO, lost: asyncio.Event) -> int:
        """Handle messages until `exit`, the end of the stream, or until `lost` is set; the exit status."""
        loop = asyncio.get_running_loop()
        gone = asyncio.ensure_future(lost.wait())
        with_reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stdin")
        while True:
            frame = loop.run_in_executor(with_reader, read_frame, stdin)
            await asyncio.wait((frame, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                frame.cancel()
                return 1
            try:
                body = frame.result()
            except FrameError as error:
                self._refuse(None, JsonRpcParseError(str(error)))
                return 1  # nobody can tell where the next message begins
            if body is None or not self._take(body):
                return 0 if self.state is _State.SHUT_DOWN else 1

    def ask(self, method: str) -> None:
        """Send a request whose answer does not matter; nothing is kept of it."""
        self._asked += 1
        self._send_data({"jsonrpc": self.VERSION, "id": f"wattslice-{self._asked}", "method": method})

    def _take(self, body: bytes) -> bool:
        """Handle one message; False when it was `exit`."""
        try:
            message = _parsed(body)
        except JsonRpcException as error:
            self._refuse(None, error)
            return True
        number = message.get("id")
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | str)):
            self._refuse(None, JsonRpcInvalidRequest("an id is a number or a text"))
            return True
        if "method" not in message:
            self._take_response(message)
            return True
        method = message["method"]
        if method == types.EXIT:
            return False
        try:
            self._take_call(number, method, message)
        except JsonRpcException as error:
            if number is not None:  # notifications have no answer, whatever is wrong with them
                self._refuse(number, error)
        except Exception as error:  # a defect on one message must not end the server
            if number is not None:
                self._refuse(number, JsonRpcInternalError(f"internal error: {type(error).__name__}: {error}"))
            else:
                asyncio.get_running_loop().call_exception_handler({"message": "", "exception": error})
        return True

    def _take_call(self, number: int | str | None, method: object, message: dict[str, object]) -> None:
        if message.get("jsonrpc") != self.VERSION or not isinstance(method, str):
            raise JsonRpcInvalidRequest("no JSON-RPC 2.0")
        if self.state is _State.SHUT_DOWN:
            raise JsonRpcInvalidRequest("the server has been shut down")
        if self.state is _State.NEW and method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized("initialize comes first")
        if self.state is _State.SERVING and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest("the server has been initialized")
        if number is None:
            message.pop("id", None)
        message.setdefault("params", None)
        try:
            structured = self.structure_message(message)
        except JsonRpcException as error:
            raise JsonRpcInvalidParams(f"{method}: invalid parameters") from error
        if hasattr(structured, "id") != (number is not None):
            raise JsonRpcInvalidRequest(f"{method}: a request has an id, a notification has none")
        if method == types.INITIALIZE:
            self.state = _State.SERVING
        elif method == types.SHUTDOWN:
            self.state = _State.SHUT_DOWN
        self.handle_message(cast("RPCMessage", structured))

    def _take_response(self, message: dict[str, object]) -> None:
        if message.get("id") not in self._request_futures:
            return
        try:
            self.handle_message(cast("RPCMessage", self.structure_message(message)))
        except JsonRpcException:
            future = self._request_futures.pop(cast("str | int", message["id"]))
            future.set_exception(JsonRpcInvalidRequest("a response that is none"))

    def _refuse(self, number: int | str | None, error: JsonRpcException) -> None:
        # By hand: the types have no place for the id null that a message without a readable id gets.
        answer = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": answer})


def _parsed(body: bytes) -> dict[str, object]:
    """The message as an object. Raises `JsonRpcException`."""
    if body.count(b"[") + body.count(b"{") > MOST_NESTING and _nesting(body) > MOST_NESTING:
        raise JsonRpcParseError(f"nested more than {MOST_NESTING} levels deep")
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"no JSON: {error}") from None
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("a message is an object")
    return cast("dict[str, object]", message)


def _nesting(body: bytes) -> int:
    """Levels of brackets outside of strings: deep ones would end the parser's stack, and the process."""
    depth = deepest = 0
    for sign in _STRING.sub(b"", body):
        if sign in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif sign in _CLOSE:
            depth -= 1
    return deepest


MOST_BYTES = 256 << 20
"""Of one message; the largest source that is analysed has 4 MiB, and JSON may escape every byte of it."""
_MOST_HEADER_BYTES = 8 << 10
_MOST_HEADER_LINES = 64
_LENGTH = regex(rb"content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*", re.IGNORECASE)
_CHUNK = 1 << 20


class FrameError(Exception):
    """The stream is no sequence of messages; where the next one begins, nobody can tell."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next message, None at the end of the stream. Blocks. Raises `FrameError`."""
    length = _read_header(stream)
    if length is None:
        return None
    if length > MOST_BYTES:
        raise FrameError(f"a message of {length} bytes, at most {MOST_BYTES} are read")
    parts: list[bytes] = []
    while length:  # in parts: a length that lies does not cost its memory
        part = stream.read(min(length, _CHUNK))
        if not part:
            raise FrameError("the stream ends within a message")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _read_header(stream: BinaryIO) -> int | None:
    length: int | None = None
    for number in range(_MOST_HEADER_LINES):
        line = stream.readline(_MOST_HEADER_BYTES)
        if not line and number == 0:
            return None
        if not line.endswith(b"\n"):
            raise FrameError("a header line without an end")
        text = line.strip(b"\r\n")
        if not text and length is not None:
            return length
        if found := _LENGTH.fullmatch(text):
            length = int(found[1])
        elif text and b":" not in text:
            raise FrameError("what should be a header is none")
        elif not text:
            raise FrameError("a header without Content-Length")
    raise FrameError(f"a header of more than {_MOST_HEADER_LINES} lines")

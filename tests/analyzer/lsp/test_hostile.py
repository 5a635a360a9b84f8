"""Clients that break the protocol, and texts that mean harm: an answer, an end, never a hang."""

import os
import re
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from wattslice.lsp.protocol import FrameError, read_frame

from .client import PATIENCE_S, Client, edit, span
from .sources import HOT, LAUNCHED, LOOP, SAXPY

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NOT_INITIALIZED = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32002,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def server(folder):
    """One server for everything that it must survive."""
    with Client(folder, {"debounceMs": 0}) as client:
        client.initialize()
        yield client
        uri = client.open(folder / "last.cu", LAUNCHED)  # whatever happened, it still serves
        assert client.diagnostics(uri) == []
        assert client.leave() == 0
        assert client.errors == []


def framed(body: bytes, length: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body) if length is None else length, body)


# ------------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "meth', PARSE_ERROR),
        (b"\xff\xfe\x00", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b'{"a":' * 100_000, PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": 1e999999, "method": "shutdown"}', INVALID_REQUEST),
        (b"1" * 10_000, PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]', INVALID_REQUEST),
        (b'"shutdown"', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', INVALID_REQUEST),
    ],
)
def test_bodies_that_are_no_message(server, body, code):
    server.send_bytes(framed(body))
    assert server.answer(None)["error"]["code"] == code


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "textDocument/definition", "params": {}}, INVALID_PARAMS),
        ({"method": "textDocument/completion", "params": None}, INVALID_PARAMS),
        ({"method": "wattslice/unknown", "params": {"a": 1}}, NO_METHOD),
        ({"method": "wattslice/unknown"}, NO_METHOD),
        ({"method": "textDocument/hover"}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": []}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": {"textDocument": 3, "position": "x"}}, INVALID_PARAMS),
        (
            {
                "method": "textDocument/hover",
                "params": {"textDocument": {"uri": "a"}, "position": {"line": -1, "character": 0}},
            },
            INVALID_PARAMS,
        ),
        (
            {"method": "textDocument/inlayHint", "params": {"textDocument": {"uri": 1}, "range": 5}},
            INVALID_PARAMS,
        ),
        ({"method": "workspace/executeCommand", "params": {"command": "rm"}}, INVALID_PARAMS),
        ({"method": "initialize", "params": {}}, INVALID_REQUEST),
        ({"method": "textDocument/didOpen", "params": {}}, INVALID_PARAMS),
        ({"method": 5, "params": {}}, INVALID_REQUEST),
        ({"method": "shutdown", "jsonrpc": "1.0"}, INVALID_REQUEST),
    ],
)
def test_requests_that_mean_nothing_are_refused(server, message, code):
    server.send({"jsonrpc": "2.0", "id": "odd", **message})
    assert server.answer("odd")["error"]["code"] == code


def test_notifications_that_mean_nothing_are_ignored(server, folder):
    server.asked.clear()
    uri = (folder / "never_opened.cu").as_uri()
    identifier = {"uri": uri, "version": 3}
    server.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": "x"}]})
    server.notify("textDocument/didClose", {"textDocument": identifier})
    server.notify("textDocument/didOpen", {"textDocument": "x"})
    server.notify("$/cancelRequest", {"id": 12345})
    server.notify("$/cancelRequest", None)
    server.notify("$/unknown", [1])
    server.notify("workspace/didChangeConfiguration", {"settings": 5})
    server.send({"jsonrpc": "2.0", "id": "nobody asked", "result": {}})
    server.send({"jsonrpc": "2.0", "id": "nobody asked", "error": "x"})
    server.send({"jsonrpc": "2.0"})
    assert server.ask("hover", uri, position={"line": 2**31 - 1, "character": 0}) is None
    assert server.hints(uri) == []
    assert not [message for message in server.asked if message["method"].startswith("window/")]


def test_edits_beyond_the_text(server, folder):
    uri = server.open(folder / "beyond.cu", LAUNCHED)
    server.diagnostics(uri)
    far = 2**31 - 1
    server.change(uri, edit(span(far, far, far, far), "// end\n"), edit(span(3, 5, 1, 2), ""))
    server.change(uri, edit(span(0, far, 0, far), " // far"))
    server.diagnostics(uri)
    assert HOT in [hint["position"]["line"] for hint in server.hints(uri)]


def test_before_initialize_and_after_shutdown(tmp_path):
    with Client(tmp_path) as client:
        number = client.begin("textDocument/hover", {})
        assert client.answer(number)["error"]["code"] == NOT_INITIALIZED
        assert client.answer(client.begin("shutdown"))["error"]["code"] == NOT_INITIALIZED
        client.notify("textDocument/didOpen", {})
        number = client.begin("initialize", {"capabilities": 3})
        assert client.answer(number)["error"]["code"] == INVALID_PARAMS
        client.initialize(workspaceFolders=[{"uri": "file:///%00", "name": ""}, {"uri": "x:y", "name": ""}])
        client.request("shutdown")
        assert client.answer(client.begin("shutdown"))["error"]["code"] == INVALID_REQUEST
        client.notify("textDocument/didClose", {"textDocument": {"uri": "a"}})
        client.notify("exit")
        assert client.process.wait(PATIENCE_S) == 0


COMMAND = (sys.executable, "-m", "wattslice", "lsp", "--stdio")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def serve(data: bytes) -> tuple[int, bytes, bytes]:
    """Exit status, output and errors of a server that gets just these bytes."""
    done = subprocess.run(
        COMMAND, input=data, env=environment(), capture_output=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"no header\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Length: 5",
        framed(b"{}", 10**11),
        framed(b"{}", 100),
        b"X: " + b"a" * 100_000,
        b"X: y\r\n" * 1000,
    ],
)
def test_a_stream_that_is_no_protocol(data):
    with pytest.raises(FrameError):
        read_frame(BytesIO(data))


def test_headers_as_clients_write_them():
    stream = BytesIO(b"Content-Type: x; charset=utf-8\r\ncontent-length:2\r\n\r\n{}Content-Length: 0\n\n")
    assert [read_frame(stream) for _ in range(3)] == [b"{}", b"", None]


@pytest.mark.slow
def test_a_stream_that_is_no_protocol_ends_the_server():
    status, out, errors = serve(b"GET / HTTP/1.1\r\n\r\n")
    assert status == 1
    assert b'"code": -32700' in out
    assert errors == b""


@pytest.mark.slow
def test_it_ends_with_exit_and_with_its_input():
    assert serve(framed(b'{"jsonrpc": "2.0", "method": "exit"}')) == (1, b"", b"")
    assert serve(b"") == (1, b"", b"")


# ------------------------------------------------------------------------------- clients that die


@pytest.mark.slow
def test_a_client_that_reads_no_more():
    with subprocess.Popen(
        COMMAND, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(framed(b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}'))
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 1


@pytest.mark.slow
def test_a_client_whose_pipe_outlives_it(tmp_path):
    with (
        subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as parent,
        Client(tmp_path) as client,
    ):
        client.initialize(processId=parent.pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert client.process.wait(PATIENCE_S) == 1


def test_a_signal_ends_it_while_it_reads(tmp_path):
    with Client(tmp_path) as client:
        client.initialize()
        client.process.terminate()
        assert client.process.wait(PATIENCE_S) == 128 + signal.SIGTERM


# ------------------------------------------------------------------------------- texts and files


@pytest.mark.slow
def test_includes_that_never_end(server, folder):
    os.mkfifo(folder / "pipe.h")
    (folder / "self.h").write_text('#include "self.h"\n')
    for number, name in enumerate(("/dev/zero", "pipe.h", "/", "self.h")):
        uri = server.open(folder / f"include{number}.cu", f'#include "{name}"\n{LAUNCHED}')
        assert server.diagnostics(uri), name
        server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    (folder / "pipe.h").unlink()


def test_deleted_and_foreign_files(server, folder, tmp_path):
    path = folder / "gone.cu"
    path.write_text(LAUNCHED)
    uri = server.open(path, LAUNCHED)
    server.diagnostics(uri)
    path.unlink()
    server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 3}]})
    assert server.diagnostics(uri) == []
    assert server.hints(uri)
    for name in ("sftp://host/a.cu", "file://host/share/a.cu", "untitled:", "file:///a%00b.cu", "???"):
        uri = server.open(name, SAXPY, "cuda")
        assert server.diagnostics(uri), name
        assert server.hints(uri), name


def test_nothing_outside_of_the_workspace_is_edited(folder, server, tmp_path):
    outside = tmp_path / "outside.cu"
    outside.write_text(LOOP)
    (folder / "link.cu").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path)
    for path in (outside, folder / "link.cu", folder / "linked" / "outside.cu"):
        uri = server.open(path, LOOP)
        assert "PW013" in {entry["code"] for entry in server.diagnostics(uri)}  # read, it may be
        assert server.actions(uri, 3) == {}
    # A settings file in the workspace that is a link out of it.
    inside = folder / "inner"
    inside.mkdir()
    (tmp_path / "settings.toml").write_text("")
    (inside / "wattslice.toml").symlink_to(tmp_path / "settings.toml")
    uri = server.open(inside / "a.cu", LOOP)
    server.diagnostics(uri)
    assert [title for title in server.actions(uri, 3) if title.startswith("Set")] == []
    assert "Ignore PW013 here" in server.actions(uri, 3)


@pytest.mark.slow
def test_a_huge_text(server, folder):
    uri = server.open(folder / "huge.cu", LAUNCHED + "// filling\n" * 100_000)
    server.diagnostics(uri)
    assert HOT in [hint["position"]["line"] for hint in server.hints(uri)]
    started = processor_seconds(server)
    for _ in range(50):
        server.change(uri, edit(span(100_000, 3, 200_000, 3), "x"))
    assert server.hover(uri, HOT, 12)
    assert processor_seconds(server) - started < 2
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def processor_seconds(client: Client) -> float:
    """What its server has used so far."""
    _, _, fields = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")
    return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def resident_kib(client: Client) -> int:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])


@pytest.mark.slow
def test_a_thousand_edits_are_one_analysis(tmp_path):
    with Client(tmp_path, {"debounceMs": 1500}) as client:  # longer than a busy machine takes a break
        client.initialize()
        uri = client.open(tmp_path / "a.cu", LAUNCHED)
        client.diagnostics(uri)
        before_kib = resident_kib(client)
        for number in range(1000):
            client.change(uri, edit(span(0, 0, 0, 0), f"// {number}\n"))
        told = client.wait(lambda message: message.get("method") == "textDocument/publishDiagnostics")
        assert told["params"]["version"] == 1001
        assert 1000 + HOT in [hint["position"]["line"] for hint in client.hints(uri)]
        assert resident_kib(client) - before_kib < 64 << 10
        assert client.leave() == 0

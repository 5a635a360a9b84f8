"""Forks language servers out of a process that has imported all that a server does.

Importing takes a server half a second, and most tests start one. A request on the socket that this is given
is a JSON object (`folder`, `environment`) with the descriptors of stdin, stdout and stderr, and of a pipe on
which the server's id is told, and its status when it has ended.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from typing import Any

import wattslice.lsp.server  # pyright: ignore[reportUnusedImport]
import wattslice.pipeline.incremental  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wattslice.cli import main

PIPES = 4


def serve(requests: socket.socket) -> None:
    """Until nobody asks any more."""
    signal.signal(signal.SIGCHLD, reap)
    while True:
        text, pipes, _, _ = socket.recv_fds(requests, 1 << 20, PIPES)
        if not text:
            return
        if os.fork() == 0:
            requests.close()
            keep(json.loads(text), pipes)
        for pipe in pipes:
            os.close(pipe)


def reap(_number: int, _frame: object) -> None:
    """Take note of keepers that have ended, so that what their servers took of the processor is ours."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def keep(wanted: dict[str, Any], pipes: list[int]) -> None:
    """Start one server, wait for it and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, told = pipes
    server = os.fork()
    if server == 0:
        os.close(told)
        begin(wanted, streams)
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    os.write(told, b"%d\n" % server)
    _, status = os.waitpid(server, 0)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def begin(wanted: dict[str, Any], streams: list[int]) -> None:
    """Be a server, as a process that was started for nothing else."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    os.environ.clear()
    os.environ.update(wanted["environment"])
    if wanted["folder"] is not None:
        os.chdir(wanted["folder"])
    sys.argv = ["wattslice", "lsp"]
    os._exit(main(["lsp"]))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))

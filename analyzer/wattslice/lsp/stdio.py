"""The server as a process: its streams, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import BinaryIO, NoReturn

from wattslice.commands.table import FAILED
from wattslice.lsp.server import Server


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


def serve_stdio() -> NoReturn:
    """Serve one client on stdin and stdout until it leaves, and end with the exit status of the protocol.

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
        status = FAILED
    except Exception as error:
        print(f"wattslice: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        status = FAILED
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else FAILED)


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

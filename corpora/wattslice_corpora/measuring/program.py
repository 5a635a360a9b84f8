"""Runs a program built by `builder` and follows what its loop reports (the events of loop.cpp)."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice_corpora.measuring.errors import ConfigurationError

Dim3 = tuple[int, int, int]

START_LIMIT_S = 120.0
"""Seconds a program may take until it makes the launch."""

_LIST_ONLY = -1
_SLACK_S = 20.0
_POLL_S = 0.2
_LAST_BYTES = 4096
_LAST_WORDS = 200


class Launch(Struct, frozen=True):
    """One launch as the program made it. `index` counts all launches of the program from 0.

    `name`: of the kernel, with namespaces and template arguments: ``ns::scale<float>``. `shared_bytes` is
    dynamic, `static_shared_bytes` declared in the kernel; `registers` per thread.
    """

    index: int
    name: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    static_shared_bytes: int
    registers: int
    pci_bus_id: str


class Window(Struct, frozen=True):
    """From `begin_s` to `end_s` (``CLOCK_MONOTONIC``) the launch ran `launches` times without a break.

    `elapsed_s`: the same span by the GPU's own clock.
    """

    begin_s: float
    end_s: float
    launches: int
    elapsed_s: float


class Choice(Struct, frozen=True):
    """Which launch: number `occurrence` of those of `kernel` (empty: of all kernels).

    `kernel`: ``ns::scale<float>``, ``ns::scale`` or ``scale``.
    """

    kernel: str = ""
    occurrence: int = 0


class Repeated(Struct, frozen=True):
    """A launch that was repeated, and when."""

    launch: Launch
    window: Window


class Command(Struct, frozen=True):
    """A built program with its arguments, run in `folder` (this one, when None).

    `environment`: variables set besides those of this process.
    """

    program: Path
    arguments: tuple[str, ...] = ()
    folder: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()


def launches(command: Command, limit_s: float = START_LIMIT_S) -> tuple[Launch, ...]:
    """The launches the program makes within `limit_s`.

    Raises `ConfigurationError` when it makes none. One that fails after its launches has shown them.
    """
    found: list[Launch] = []
    try:
        for kind, fields in _events(command, Choice(occurrence=_LIST_ONLY), 0.0, 0.0, limit_s):
            if kind == "launch":
                found.append(_launch(fields))
    except ConfigurationError:
        if not found:
            raise
    if not found:
        raise ConfigurationError(f"{command.program.name}: it launches no kernel")
    return tuple(found)


def repeat(
    command: Command, choice: Choice, warmup_s: float, window_s: float, start_limit_s: float = START_LIMIT_S
) -> Repeated:
    """Runs the program and repeats the chosen launch for the warm-up and the window.

    Raises `ConfigurationError` when the program crashes, hangs or does not make that launch in time.
    """
    seen: list[Launch] = []
    chosen: Launch | None = None
    begin_s: float | None = None
    limit_s = start_limit_s + warmup_s + window_s + _SLACK_S
    for kind, fields in _events(command, choice, warmup_s, window_s, limit_s):
        if kind == "launch":
            seen.append(_launch(fields))
        elif kind == "repeat":
            chosen = seen[-1]
        elif kind == "begin":
            begin_s = int(fields[0]) * 1e-9
        elif kind == "end" and chosen is not None and begin_s is not None:
            window = Window(begin_s, int(fields[0]) * 1e-9, int(fields[1]), float(fields[2]) * 1e-3)
            return Repeated(chosen, window)
    wanted = f"kernel {choice.kernel!r}" if choice.kernel else "a kernel"
    times = _ordinal(choice.occurrence)
    names = ", ".join(dict.fromkeys(launch.name for launch in seen)) or "nothing"
    raise ConfigurationError(
        f"{command.program.name}: ended without launching {wanted} for the {times} time; it launches {names}"
    )


def run_to_end(
    words: tuple[str, ...], environment: tuple[tuple[str, str], ...], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Runs another program to its end and returns what it said; nothing that it started outlives this call.

    Raises `ConfigurationError` when it takes longer than `limit_s` or cannot be run.
    """
    name = Path(words[0]).name
    try:
        process = subprocess.Popen(
            words,
            env={**os.environ, **dict(environment)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(f"{name}: cannot be run: {error}") from None
    with _alone(process):
        try:
            said, complained = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{name}: no end in sight after {limit_s:g} s, killed") from None
    return subprocess.CompletedProcess(words, process.returncode, said, complained)


def dies_with_us() -> tuple[tuple[str, str], ...]:
    """The environment in which a program built by `builder`, started by this process, dies with it."""
    return (("WATTSLICE_LOOP_PARENT", str(os.getpid())),)


def _ordinal(occurrence: int) -> str:
    names = ("first", "second", "third")
    return names[occurrence] if occurrence < len(names) else f"{occurrence + 1}th"


def _launch(fields: list[str]) -> Launch:
    index, name, grid, block, shared, static, registers, bus = fields
    return Launch(int(index), name, _dim3(grid), _dim3(block), int(shared), int(static), int(registers), bus)


def _dim3(text: str) -> Dim3:
    x, y, z = (int(part) for part in text.split(","))
    return x, y, z


def _events(
    command: Command, choice: Choice, warmup_s: float, window_s: float, limit_s: float
) -> Iterator[tuple[str, list[str]]]:
    """What the loop reports, until the program ends. The program never outlives this generator."""
    reading, writing = os.pipe()
    environment = {
        **os.environ,
        **dict(command.environment),
        "WATTSLICE_LOOP_FD": str(writing),
        **dict(dies_with_us()),
        "WATTSLICE_LOOP_KERNEL": choice.kernel,
        "WATTSLICE_LOOP_OCCURRENCE": str(choice.occurrence),
        "WATTSLICE_LOOP_WARMUP_S": repr(warmup_s),
        "WATTSLICE_LOOP_WINDOW_S": repr(window_s),
    }
    name = command.program.name
    with os.fdopen(reading, "rb") as stream, _running(command, environment, writing) as process:
        ended = False
        output = _Tail()
        deadline_s = time.monotonic() + limit_s
        for line in _lines(stream.fileno(), process, output, deadline_s, name):
            kind, *fields = line.split("\t")
            if kind == "error":
                raise ConfigurationError(f"{name}: {fields[0]}")
            ended = ended or kind == "end"
            yield kind, fields
        try:
            status = process.wait(max(0.0, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{name}: no end in sight, killed") from None
        if status != 0 and not ended:
            raise ConfigurationError(f"{name}: {_ending(status, output.text)}")


@contextlib.contextmanager
def _running(
    command: Command, environment: dict[str, str], writing: int
) -> Generator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            [str(command.program), *command.arguments],
            cwd=command.folder,
            env=environment,
            pass_fds=(writing,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(f"{command.program.name}: cannot be run: {error}") from None
    finally:
        os.close(writing)
    with _alone(process):
        yield process


@contextlib.contextmanager
def _alone(process: subprocess.Popen[Any]) -> Generator[None]:
    """A program in a session of its own: whatever it started itself ends with it."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


class _Tail:
    """The last words of a program, however much it prints."""

    def __init__(self) -> None:
        self.text = b""

    def add(self, block: bytes) -> None:
        self.text = (self.text + block)[-_LAST_BYTES:]


def _lines(
    events: int, process: subprocess.Popen[bytes], output: _Tail, deadline_s: float, name: str
) -> Iterator[str]:
    """The lines of the descriptor `events` until the program ends; what it prints goes to `output`."""
    assert process.stdout is not None
    printed = process.stdout.fileno()
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(events, selectors.EVENT_READ)
        selector.register(printed, selectors.EVENT_READ)
        while events in selector.get_map():
            ready = selector.select(_POLL_S)
            for descriptor in [key.fd for key, _ in ready]:
                block = os.read(descriptor, 65536)
                if not block:
                    selector.unregister(descriptor)
                elif descriptor == printed:
                    output.add(block)
                else:
                    *lines, pending = (pending + block).split(b"\n")
                    yield from (line.decode(errors="replace") for line in lines)
            if not ready and process.poll() is not None:
                return  # a child that it left behind may hold the descriptors for ever
            if time.monotonic() > deadline_s:
                raise ConfigurationError(f"{name}: no end in sight, killed")


def _ending(status: int, output: bytes) -> str:
    how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    said = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return f"{how}: {said[-1][-_LAST_WORDS:]}" if said else how

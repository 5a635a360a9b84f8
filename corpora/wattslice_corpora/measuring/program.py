"""Runs a program built by `builder` and follows what its loop reports (the events of loop.cpp)."""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wattslice_corpora.measuring.errors import ConfigurationError

Dim3 = tuple[int, int, int]

_LIST_ONLY = -1
_START_LIMIT_S = 120.0
_SLACK_S = 60.0


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch as the program made it. `index` counts all launches of the program from 0.

    `shared_bytes` is dynamic, `static_shared_bytes` declared in the kernel; `registers` per thread.
    """

    index: int
    mangled_name: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    static_shared_bytes: int
    registers: int
    pci_bus_id: str

    @property
    def kernel(self) -> str:
        """The name without namespaces, template and function arguments."""
        return plain_name(self.mangled_name)


@dataclass(frozen=True, slots=True)
class Window:
    """From `begin_s` to `end_s` (``CLOCK_MONOTONIC``) the launch ran `launches` times without a break.

    `elapsed_s`: the same span by the GPU's own clock.
    """

    begin_s: float
    end_s: float
    launches: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Which launch: number `occurrence` of those of `kernel` (plain name; empty: of all kernels)."""

    kernel: str = ""
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Repeated:
    """A launch that was repeated, and when."""

    launch: Launch
    window: Window


@dataclass(frozen=True, slots=True)
class Command:
    """A built program with its arguments, run in `folder` (its own, when None)."""

    program: Path
    arguments: tuple[str, ...] = ()
    folder: Path | None = None


def launches(command: Command, limit_s: float = _START_LIMIT_S) -> tuple[Launch, ...]:
    """All launches the program makes. Raises `ConfigurationError` when it crashes, hangs or makes none."""
    found: list[Launch] = []
    for kind, fields in _events(command, Choice(occurrence=_LIST_ONLY), 0.0, 0.0, limit_s):
        if kind == "launch":
            found.append(_launch(fields))
    if not found:
        raise ConfigurationError(f"{command.program.name}: it launches no kernel with <<<...>>>")
    return tuple(found)


def repeat(command: Command, choice: Choice, warmup_s: float, window_s: float) -> Repeated:
    """Runs the program and repeats the chosen launch for the warm-up and the window.

    Raises `ConfigurationError` when the program crashes, hangs or never makes that launch.
    """
    seen: Launch | None = None
    chosen: Launch | None = None
    begin_s: float | None = None
    limit_s = _START_LIMIT_S + warmup_s + window_s + _SLACK_S
    for kind, fields in _events(command, choice, warmup_s, window_s, limit_s):
        if kind == "launch":
            seen = _launch(fields)
        elif kind == "repeat":
            chosen = seen
        elif kind == "begin":
            begin_s = int(fields[0]) * 1e-9
        elif kind == "end" and chosen is not None and begin_s is not None:
            window = Window(begin_s, int(fields[0]) * 1e-9, int(fields[1]), float(fields[2]) * 1e-3)
            return Repeated(chosen, window)
    wanted = f"kernel {choice.kernel!r}" if choice.kernel else "a kernel"
    time_ = _ordinal(choice.occurrence)
    raise ConfigurationError(f"{command.program.name}: ended without launching {wanted} for the {time_} time")


def _ordinal(occurrence: int) -> str:
    names = ("first", "second", "third")
    return names[occurrence] if occurrence < len(names) else f"{occurrence + 1}th"


def plain_name(mangled: str) -> str:
    """``_Z6matMulPf`` or ``_ZN2ns3addIfEEvPT_`` to ``matMul``, ``add``: the last name before any arguments.

    Itanium C++ ABI, 5.1.2 and 5.1.3: a nested name is a list of (length, identifier).
    """
    match = re.fullmatch(r"_Z(N?)K?L?(\d.*)", mangled)
    if match is None:
        return mangled
    nested, rest = match.groups()
    name = mangled
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
        if not nested:
            break
    return name


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
        "WATTSLICE_LOOP_FD": str(writing),
        "WATTSLICE_LOOP_KERNEL": choice.kernel,
        "WATTSLICE_LOOP_OCCURRENCE": str(choice.occurrence),
        "WATTSLICE_LOOP_WARMUP_S": repr(warmup_s),
        "WATTSLICE_LOOP_WINDOW_S": repr(window_s),
    }
    with (
        tempfile.TemporaryFile() as output,
        os.fdopen(reading, "rb") as stream,
        _running(command, environment, writing, output.fileno()) as process,
    ):
        ended = False
        for kind, *fields in _lines(stream.fileno(), time.monotonic() + limit_s, command.program.name):
            if kind == "error":
                raise ConfigurationError(f"{command.program.name}: {fields[0]}")
            ended = ended or kind == "end"
            yield kind, fields
        status = process.wait()
        if status != 0 and not ended:
            output.seek(0)
            raise ConfigurationError(f"{command.program.name}: {_ending(status, output.read())}")


@contextmanager
def _running(
    command: Command, environment: dict[str, str], writing: int, output: int
) -> Generator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            [str(command.program), *command.arguments],
            cwd=command.folder,
            env=environment,
            pass_fds=(writing,),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise ConfigurationError(f"{command.program.name}: cannot be run: {error}") from None
    finally:
        os.close(writing)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _lines(descriptor: int, deadline_s: float, name: str) -> Iterator[list[str]]:
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline_s - time.monotonic())):
                raise ConfigurationError(f"{name}: no end in sight, killed")
            block = os.read(descriptor, 65536)
            if not block:
                return
            *lines, pending = (pending + block).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace").split("\t")


def _ending(status: int, output: bytes) -> str:
    how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    said = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    return f"{how}: {said[-1].strip()}" if said else how

"""Builds and runs a program that counts its branches, on the stand-in for CUDA."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from wattslice.branch_profile.profile import ArmCount
from wattslice.frontend.parse_options import ParseOptions
from wattslice.patterns import regex
from wattslice.profiling.probes.counts import FILE_VARIABLE, NotProbed, ProbeError, read_counts
from wattslice.profiling.probes.emit import emit_probes
from wattslice_tools.cuda_on_cpu.toolchain import PLAIN, Toolchain

TIMEOUT_S = 600.0
_MOST_TOLD, _MOST_KEPT = 500, 64 * 1024
# What the stand-in rewrites must be in the text that it gets, not in a header that the compiler reads.
_REWRITTEN = regex(rb"<<<|\b__(?:shared|global|constant)__\b")


class Counted(Struct, frozen=True):
    """What a run counted, what it printed, and which branches it could not count."""

    arms: tuple[ArmCount, ...]
    output: str
    not_probed: tuple[NotProbed, ...]


class ProbedProgram(Struct, frozen=True):
    """The program of `path` with counters, ready to run as often as one likes."""

    path: Path
    executable: Path
    not_probed: tuple[NotProbed, ...]

    def run(self, arguments: Sequence[str] = (), timeout_s: float = TIMEOUT_S) -> Counted:
        """Run it in the current directory. A terminal is not its standard input, anything else is.

        Raises `ProbeError` when it fails, does not end in `timeout_s`, or leaves no counts.
        """
        counts = self.executable.with_name("counts.txt")
        counts.unlink(missing_ok=True)
        output = _run(self, arguments, counts, timeout_s)
        if not counts.exists():
            raise ProbeError(
                f"the program left no counts: {_last(output)}",
                path=self.path,
                remedy="it must end by return or exit",
            )
        try:
            return Counted(read_counts(counts).arms, output, self.not_probed)
        except ProbeError as error:
            message = f"{error.message}; the program said: {_last(output)}"
            raise ProbeError(message, path=self.path, remedy=error.remedy) from None


@contextmanager
def build_probed(
    path: Path, options: ParseOptions | None = None, flags: Sequence[str] = (), sources: Sequence[Path] = ()
) -> Generator[ProbedProgram]:
    """The program of `path`, instrumented and built in a folder that is removed in the end.

    `sources` are further files of the same program, compiled as they are; `flags` go to the compiler. Raises
    `WattsliceError` when there is no compiler, or it refuses the program.
    """
    source = emit_probes(path, options, _REWRITTEN)
    includes = options or ParseOptions()
    folders = (*includes.include_dirs, *source.include_dirs)
    more = (*(f"-D{define}" for define in includes.defines), *flags)
    with tempfile.TemporaryDirectory(prefix="wattslice-probes-", ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        toolchain = Toolchain.build(_compiler(), work, (*PLAIN, *more))
        executable = toolchain.compile(path, source.text, f"{path.stem}_probed", folders, sources)
        yield ProbedProgram(path, executable, source.not_probed)


def _compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        raise ProbeError("g++ is not on the PATH", remedy="install it")
    return found


def _run(program: ProbedProgram, arguments: Sequence[str], counts: Path, timeout_s: float) -> str:
    """What it printed, of much only the end. It is a process group: nothing of it is left behind."""
    process = subprocess.Popen(
        [str(program.executable), *arguments],
        env={**os.environ, FILE_VARIABLE: str(counts)},
        stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    kept = bytearray()
    reader = threading.Thread(target=_keep_the_end, args=(process.stdout, kept), daemon=True)
    reader.start()
    try:
        status = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise ProbeError(
            f"the program did not end within {timeout_s:g} s",
            path=program.path,
            remedy="give it arguments for less data",
        ) from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(1)
    output = kept.decode("utf-8", "replace")
    if status != 0:
        raise ProbeError(
            f"the program {_ended(status)}: {_last(output)}", path=program.path, remedy=_remedy(status)
        )
    return output


def _keep_the_end(stream: IO[bytes], kept: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), _MOST_KEPT):
            kept += chunk
            del kept[:-_MOST_KEPT]


def _ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was ended by signal {-status}"


def _remedy(status: int) -> str:
    if status in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT):
        return "--flag -g --flag -fsanitize=address tells where it leaves its arrays"
    return "what follows -- are its arguments"


def _last(output: str) -> str:
    return output.strip()[-_MOST_TOLD:] or "it printed nothing"

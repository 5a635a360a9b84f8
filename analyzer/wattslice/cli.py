"""The command line's front door: what commands there are, and how every run ends.

`wattslice --help` is answered from the table below without importing click, let alone numpy or libclang;
a command's module is imported when that command runs.
Exit status: 0 fine, 1 findings, 2 could not do the job.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from wattslice.commands.streams import StdoutError, flush, prepare_streams, writing
from wattslice.commands.table import COMMANDS, COMPLETE_VARIABLE, FAILED, FINE

TYPE_CHECKING = False  # typing itself would cost more than all the rest of --help
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_OPTIONS = (
    ("--debug", "Show the traceback of an internal error."),
    ("--version", "Show the version and exit."),
    ("-h, --help", "Show this message and exit."),
)
_NEW_OBJECTS = 100_000
"""So many more than before, and garbage is looked for: what is imported is none."""
_ISSUES = "please report it with the command you ran; `wattslice --debug COMMAND` shows the traceback"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status. Nobody sees a traceback, except with --debug."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    gc.set_threshold(_NEW_OBJECTS)
    ended: list[int] = []
    atexit.register(_leave, ended)  # it comes after what the command registers
    status = _run(words)
    if arguments is None or _has_runaways():
        ended.append(status)
    if arguments is not None:
        gc.enable()  # a command about a single file does without
    return status


def _run(words: list[str]) -> int:
    debug = words[:1] == ["--debug"]
    if debug:
        del words[0]
    status: int | None = FINE  # of a reader that leaves
    try:
        with writing():
            status = _overview(words)
        if status is None:
            from wattslice.pipeline.cache.answers import answered

            with _ending_in_order():
                status = answered(words, lambda: _dispatch(words, debug), writing)
        flush()
    except KeyboardInterrupt:
        print("wattslice: interrupted", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # whoever was reading has read enough
        flush()
        return FINE
    except StdoutError as error:
        print(f"wattslice: stdout cannot be written: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        if debug:
            raise
        print(f"wattslice: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"wattslice: this is a defect of wattslice: {_ISSUES}", file=sys.stderr)
        return FAILED
    return status


def _leave(ended: list[int]) -> None:
    """End the process of a command: what the system frees anyway took a tenth of a short run to free.

    A parse that was given up still runs in a thread: libclang must not be torn down under it either.
    """
    gc.freeze()  # nor is garbage looked for
    if ended:
        with contextlib.suppress(OSError, ValueError, StdoutError):
            flush()
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stderr.flush()
        os._exit(ended[-1])


def _has_runaways() -> bool:
    parse = sys.modules.get("wattslice.frontend.cuda.clang.parse")
    return parse is not None and parse.was_abandoned()


def _dispatch(words: list[str], debug: bool) -> int:
    from wattslice.commands.common import dispatch  # click and the tables of options load here

    return dispatch(words, debug)


@contextlib.contextmanager
def _ending_in_order() -> Generator[None]:
    """Meanwhile SIGTERM is an exception: else Python ends at once and leaves the --jobs processes behind."""
    import signal

    def leave(_number: int, _frame: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not in the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _overview(arguments: list[str]) -> int | None:
    """Answer what needs no command; None when there is one."""
    if asked := os.environ.get(COMPLETE_VARIABLE):
        from wattslice.commands.completion import complete

        return complete(asked)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(help_text(), file=sys.stdout if arguments else sys.stderr)
        return FINE if arguments else FAILED
    if arguments[0] == "--version":
        from wattslice.version import __version__

        print(f"wattslice {__version__}")
        return FINE
    return None


def help_text() -> str:
    """The text of `wattslice --help`."""
    width = 2 + max(len(name) for name, *_ in (*COMMANDS, *_OPTIONS))
    commands = "\n".join(f"  {name:{width}}{text}" for name, _, text in COMMANDS)
    options = "\n".join(f"  {name:{width}}{text}" for name, text in _OPTIONS)
    return (
        "Usage: wattslice [--debug] COMMAND ...\n\n"
        "Static power analyzer for CUDA and C kernels: watts per kernel, slice and line,\n"
        "before anything is compiled.\n\n"
        f"Commands:\n{commands}\n\nOptions:\n{options}\n\n"
        "`wattslice COMMAND --help` shows the options of a command.\n"
        "Exit status: 0 fine, 1 findings, 2 could not do the job."
    )

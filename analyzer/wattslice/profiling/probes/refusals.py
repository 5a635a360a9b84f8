"""What a compiler has against a program, in one line: where, what is missing, and what to do instead."""

from __future__ import annotations

import re
from pathlib import Path

from wattslice.errors import WattsliceError

_GXX = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal error|error|Error): (?P<text>.*)$", re.M
)
_NVCC = re.compile(r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error: (?P<text>.*)$", re.M)
_CAUSE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)?\s+required from here$", re.M)
_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>[^'\n]+)'")
_NO_HEADER = re.compile(r"(\S+): No such file or directory")
_UNKNOWN = re.compile(
    r"'([\w:]+)' (?:was not declared|has not been declared|does not name a type|is not a member of)"
    r"|'([\w:]+)' (?:is|are) not a template|there are no arguments to '(\w+)'"
    r"|no matching function for call to '(\w+)"
)
_OF_CUDA = re.compile(r"(?:cuda|cu[A-Z]|cub|nv|__|tex|surf|cooperative_groups|thrust|wmma|atomic)")
_PTX = re.compile(r"'asm'|^no such instruction|^invalid (?:character|instruction)|^bad register|^junk", re.M)
ELSEWHERE = "--build nvcc has all of CUDA; --data SPEC needs no build"
_MORE = "wattslice --debug shows all that it says"


class CompilerOutput(Exception):  # noqa: N818  (no error of its own)
    """All that a compiler printed: the cause of a `BuildError`, for those who ask for tracebacks."""


class BuildError(WattsliceError):
    """The compiler refuses a program; the message is the first thing that it says, in the user's terms."""


def refusal(compiler: str, program: Path, output: str, stand_in: Path | None = None) -> BuildError:
    """Why `compiler` refuses `program`. `stand_in`: the folder of the headers in place of CUDA's."""
    error = _refusal(Path(compiler).name, program, output, stand_in)
    error.__cause__ = CompilerOutput(output.strip())
    return error


def _refusal(compiler: str, program: Path, output: str, stand_in: Path | None) -> BuildError:
    found = _GXX.search(output) or _NVCC.search(output)
    if found is None:
        undefined = _UNDEFINED.search(output)
        if undefined is not None:
            name = undefined["name"]
            remedy = f"--source FILE for a source file that has it, --flag -lNAME for a library; {ELSEWHERE}"
            return BuildError(f"{name} is defined in another file", path=program, remedy=remedy)
        said = (output.strip().splitlines() or ["nothing"])[0]
        return BuildError(f"{compiler} refuses the program: {said}", path=program, remedy=_MORE)
    text = found["text"]
    if stand_in is not None and Path(found["file"]).parent == stand_in:
        found = _CAUSE.search(output, found.end()) or found
    place = Path(found["file"]), int(found["line"])
    header, unknown = _NO_HEADER.search(text), _UNKNOWN.search(text)
    if header is not None:
        message = f"{header[1]} is not found"
        remedy = f"-I DIR tells where it is; if it belongs to CUDA, the stand-in lacks it: {ELSEWHERE}"
    elif stand_in is not None and _PTX.search(text):
        message, remedy = "PTX in asm cannot be run by a CPU", ELSEWHERE
    elif stand_in is not None and unknown is not None and _OF_CUDA.match(name := _first(unknown)):
        message, remedy = f"the stand-in for CUDA does not offer {name} as it is used here", ELSEWHERE
    else:
        message = f"{compiler} refuses the program: {text}"
        remedy = _MORE if stand_in is None else f"{ELSEWHERE}; {_MORE}"
    return BuildError(message, path=place[0], line=place[1], remedy=remedy)


def _first(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)

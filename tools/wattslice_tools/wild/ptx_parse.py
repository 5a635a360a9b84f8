"""Whether the PTX reader reads all of what nvcc writes, as Markdown.

    python -m wattslice_tools.wild.ptx_parse CHECKOUT... [--sample cuda-samples=150] [--debug 20]
        [-o docs/appendix/ptx.md]

Every `.cu` file that nvcc compiles as it is, for sm_75 and for sm_90 with -lineinfo, some also with -G. The
statements of each function are written again from what was parsed and compared, blanks left out, with a
second, simpler reading of the text: the same instructions, labels and declarations in the same order.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct, field

from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish
from wattslice_tools.wild.ptx_files import include_folders, ptx_of

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "analyzer"))

from ptx_text import statement_texts  # pyright: ignore[reportMissingImports]

from wattslice.errors import FrontendError
from wattslice.frontend.ptx.syntax.lexer import literal_value
from wattslice.frontend.ptx.syntax.parser import parse_ptx

VARIANTS = (("-arch=sm_75",), ("-arch=sm_90", "-lineinfo"))
DEBUG = ("-arch=sm_90", "-G")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_HEADER = re.compile(r"^\s*(?:\.\w+\s+)?\.(?:entry|func)\b", re.M)
_SECTION = re.compile(r"^\s*\.section\b[^{]*\{[^}]*\}", re.M)
_VARIABLE = re.compile(r"^\s*(?:\.\w+\s+)?\.(?:global|const|shared)\b", re.M)
_LOCATION = re.compile(
    r"\.loc\s+\d+\s+\d+\s+\d+(?:\s*,\s*(?:function_name\s+[^\s,]+|inlined_at(?:\s+\d+){3}))*"
)
_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)(?!\s*\.(?:branch|call))")
_NUMBER = re.compile(
    r"(?<![\w$%.@])(?:0[fF][\da-fA-F]{8}|0[dD][\da-fA-F]{16}|0[xX][\da-fA-F]+U?|0[bB][01]+U?|\d+(?:\.\d+)?U?)(?![\w.])"
)
_OF_SCOPE = re.compile(r"@\d+_?")
_DECLARES = re.compile(r"\.(reg|shared|local|param|pragma)")


class Tally(Struct):
    """The sums of one suite and one way to compile."""

    files: int = 0
    compiled: int = 0
    lines: int = 0
    functions: int = 0
    instructions: int = 0
    variables: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list[str])
    differences: list[str] = field(default_factory=list[str])

    def row(self, name: str, options: tuple[str, ...]) -> str:
        rate = 1e5 * self.seconds / self.lines if self.lines else 0.0
        return (
            f"| {name} | `{' '.join(options)}` | {self.files} | {self.compiled} | {self.lines} "
            f"| {self.functions} | {self.instructions} | {len(self.problems)} | {len(self.differences)} "
            f"| {rate:.1f} |"
        )


def expected(text: str) -> tuple[list[list[str]], int]:
    """The statements of each function, and the number of module variables, read the simple way."""
    text = _SECTION.sub("", _COMMENT.sub(" ", text))
    functions: list[list[str]] = []
    variables, position = 0, 0
    while (header := _HEADER.search(text, position)) is not None:
        variables += len(_VARIABLE.findall(text, position, header.start()))
        begin, semicolon = text.find("{", header.end()), text.find(";", header.end())
        # A semicolon may also end the .pragma between header and body.
        if begin < 0 or (0 <= semicolon < begin and ".pragma" not in text[header.end() : semicolon]):
            functions.append([])
            position = semicolon + 1
            continue
        depth, position = 1, begin + 1
        for brace in re.compile(r"[{}]").finditer(text, position):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                position = brace.end()
                break
        functions.append(_statements(text[begin + 1 : position - 1]))
    return functions, variables + len(_VARIABLE.findall(text, position))


def _statements(body: str) -> list[str]:
    found: list[str] = []
    for piece in _LOCATION.sub(" ", body).split(";"):
        rest = piece.lstrip("{} \t\r\n")
        while (label := _LABEL.match(rest)) is not None:
            found.append(f"{label[1]}:")
            rest = rest[label.end() :].lstrip("{} \t\r\n")
        text = re.sub(r"\s+", "", rest)
        if not text:
            continue
        if (declares := _DECLARES.match(text)) is not None:
            names = 1 if "{" in text or "(" in text else text.count(",") + 1
            found.extend([f".{declares[1]}"] * names)
        elif ":.callprototype" not in text:  # of it nothing is kept
            text = text.replace("+0]", "]")
            found.append(_NUMBER.sub(lambda number: str(literal_value(number[0])), text))
    return found


def examine(path: Path, name: str, tally: Tally) -> None:
    """Parse one PTX file, compare, and add to the sums."""
    text = path.read_text(encoding="utf-8", errors="replace")
    begin = time.process_time()
    try:
        module = parse_ptx(text, path)
    except FrontendError as error:
        tally.problems.append(f"{name}: {error}")
        return
    tally.seconds += time.process_time() - begin
    tally.compiled += 1
    tally.lines += text.count("\n")
    tally.functions += len(module.functions)
    tally.variables += len(module.variables)
    tally.problems += [f"{name} {path.name}:{found.line} {found.message}" for found in module.problems]
    functions, variables = expected(text)
    if variables != len(module.variables):
        tally.differences.append(f"{name} {path}: {len(module.variables)} variables, not {variables}")
    if len(functions) != len(module.functions):
        tally.differences.append(f"{name} {path}: {len(module.functions)} functions, not {len(functions)}")
    for function, statements in zip(module.functions, functions, strict=False):
        parsed = [_OF_SCOPE.sub("", one) for one in statement_texts(function.body or ())]
        tally.instructions += sum(one[0] != "." and one[-1] != ":" for one in parsed)
        if parsed != statements:
            pairs = zip([*parsed, "nothing"], [*statements, "nothing"], strict=False)
            ours, theirs = next(((a, b) for a, b in pairs if a != b), ("", ""))
            tally.differences.append(f"{name} {path} {function.name}: {ours[:150]!r}, not {theirs[:150]!r}")


def main() -> None:
    """Print or write one row for each suite and way to compile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--sample", action="append", default=[], metavar="NAME=FILES")
    parser.add_argument("--debug", type=int, default=0, help="files compiled with -G as well")
    parser.add_argument("--kept", type=Path, help="where compiled PTX lies or is put")
    parser.add_argument("-o", dest="document", type=Path)
    arguments = parser.parse_args()
    samples = {name: int(number) for name, _, number in (one.partition("=") for one in arguments.sample)}
    rows = [
        "| Suite | Compiled with | Files | Compile | Lines | Functions | Instructions | Problems "
        "| Differences | CPU s per 100 000 lines |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    said: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        kept = arguments.kept or Path(temporary)
        seen: set[str] = set()
        for checkout in arguments.checkouts:
            files = cuda_files(checkout, seen)
            most = samples.get(checkout.name, len(files))
            files = [files[number * len(files) // most] for number in range(most)]
            variants = [(options, files) for options in VARIANTS]
            if arguments.debug:
                variants.append((DEBUG, files[: arguments.debug]))
            for options, chosen in variants:
                tally = Tally(len(chosen))
                for path in chosen:
                    ptx = ptx_of(path, include_folders(path, checkout), options, kept)
                    if ptx is not None:
                        examine(ptx, f"{checkout.name}/{path.relative_to(checkout)}", tally)
                rows.append(tally.row(f"{checkout.name} ({revision(checkout)})", options))
                print(rows[-1], flush=True)
                said += tally.problems + tally.differences
    publish(arguments.document, "ptx_parse", [*rows, ""])
    print(*said, sep="\n")


if __name__ == "__main__":
    main()

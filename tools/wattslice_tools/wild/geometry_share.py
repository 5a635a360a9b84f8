"""How many launched kernels have a known geometry and known integer arguments, and why the others not.

Usage: python -m wattslice_tools.wild.geometry_share CHECKOUT... [--alone] [-o docs/appendix/public-code.md]

A kernel counts when its file holds a launch of it: once per definition in the source, whatever the number of
its template instances or of the files that include it. Its geometry is known when that of any of its launches
was read from host code, its arguments when one of these has a value for every integer parameter. Computed:
from host variables whose value is assumed (`--set` settles all of it). Each file content counts once. Of what
something calls: without the kernels that only functions launch which nothing in their program calls.
`--kernels` prints every kernel behind a cause.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.errors import FrontendError
from wattslice.frontend.cuda.read import (
    read_callers,
    read_cuda,
    read_definitions,
    read_launcher,
    read_linking,
    read_sharing,
)
from wattslice.frontend.project.runs import find_arguments
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import ALONE, Neighbours, resolve_launches
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_tools.wild.document import publish


def launched_names(program: ir.Program) -> set[str]:
    """Mangled and plain names of the kernels that some host function launches."""
    names: set[str] = set()
    for function in program.functions:
        for expr in ir.expressions_below(function.body):
            if isinstance(expr, ir.LaunchCall):
                names.add(expr.kernel or expr.kernel_name)
    return names


def launchers(program: ir.Program, kernels: list[ir.Kernel]) -> set[str]:
    """Names of the functions that launch one of these kernels."""
    names = {name for kernel in kernels for name in (kernel.mangled_name, kernel.name)}
    return {
        function.name
        for function in program.functions
        for expr in ir.expressions_below(function.body)
        if isinstance(expr, ir.LaunchCall) and (expr.kernel or expr.kernel_name) in names
    }


def definitions(program: ir.Program) -> list[list[ir.Kernel]]:
    """The kernels of a program, the instances of one template together."""
    found: dict[tuple[str, int], list[ir.Kernel]] = {}
    for kernel in program.kernels:
        found.setdefault((kernel.span.file, kernel.span.line), []).append(kernel)
    return list(found.values())


def has_all_arguments(launch: KernelLaunch) -> bool:
    """Whether every integer parameter has a value."""
    return not missing_arguments(launch)


def missing_arguments(launch: KernelLaunch) -> list[str]:
    """The integer parameters without a value. What the runtime creates is a handle, such as a texture object,
    and no number.
    """
    lanes = Counter(member.parameter for member in launch.contents.members)
    reasons = _reasons(launch)
    pairs = zip(launch.kernel.parameters, launch.arguments, strict=True)
    return [
        parameter.name
        for index, (parameter, value) in enumerate(pairs)
        if value is None and parameter.type.is_integral and parameter.space is not ir.MemorySpace.TEXTURE
        if parameter.type.lanes == 1 or lanes[index] < parameter.type.lanes
        if not _HANDLE.search(reasons.get(parameter.name, ""))
    ]


def _reasons(launch: KernelLaunch) -> dict[str, str]:
    return {unknown.name: unknown.reason for unknown in launch.unknown_arguments}


_HANDLE = re.compile(r"\bset by cuda\w*Create\w*\(\)$")


KINDS = (
    ("read from a file that the repository does not have", r"which the repository does not have"),
    ("read from a file", r"is read from a file|set by (operator>>|\w*scanf|fread|getline|pop_back)\("),
    ("nothing that was read calls the function around the launch", r"nothing that was read|whose callers"),
    ("takes more steps than wattslice follows", r"steps (than are followed|are left)"),
    ("changes in a loop whose end depends on a file or a result", r"changes in a"),
    ("given on the command line, where the repository does not say how it is run", r"the command line"),
    ("launched only on another way than that of the run", r"is launched (only )?where"),
    ("a result of the GPU", r"set by cudaMemcpy\("),
    ("the launch that the run makes is not possible", r"which cannot be launched"),
    ("set or returned by a library that is not read", r"set by \w+\(|the result of|could not be read"),
    ("never assigned where it was read", r"never assigned|given no value"),
)
"""What a first cause says about the repository; what fits none is for wattslice to mend."""


NOT_TOLD = tuple(KINDS[index][0] for index in (0, 1, 5, 7, 8))
"""Kinds that no reader of the repository could mend: a file, words or a result that it does not hold."""


NOT_LAUNCHED = "by a function that nothing in its program calls"
_PARAMETER_OF = re.compile(r"a parameter of (\w+)\(\), (?:which nothing|whose callers)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(
    r"^[ \t]*#\s*if\s+0\b.*?^[ \t]*#\s*(?:else|elif|endif)|//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\""
    r"|^[ \t]*#\s*(?:ifn?def|if|else|elif|endif|include|undef|pragma)\b[^\n]*",
    re.S | re.M,
)
_CODE = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".inl", ".m", ".mm")


def kind_of(cause: str, own: Path, code: dict[Path, str]) -> str:
    """The row of `KINDS` that a cause belongs to; `own`: its program's folder, `code`: of all of them."""
    around = _PARAMETER_OF.search(cause)
    if around is not None and not is_called(around[1], code_that_may_call(around[1], own, code)):
        return NOT_LAUNCHED
    return next((kind for kind, pattern in KINDS if re.search(pattern, cause)), "other")


def is_called(function: str, code: str) -> bool:
    """Whether a name stands anywhere but where it is declared: behind a type, before its parameters."""
    uses = re.finditer(rf"(?P<before>[\w*&>:]\s*)?\b{function}\b\s*(?P<call>[(<])?", code)
    return any(
        use["before"] is None
        or use["call"] is None
        or code[use.start() - 1 : use.start() + 1] == "->"
        or (code[use.start()] == ":" and _DEFINED.match(code, use.end() - 1) is None)
        or _is_return(code, use.start())
        for use in uses
    )


def is_run(names: set[str], own: Path, code: dict[Path, str]) -> bool:
    """Whether something calls one of the functions that launch a kernel: `main` is called by its users, and
    of what is no plain function nobody knows.
    """
    return not names or any(
        name == "main" or not _NAME.fullmatch(name) or is_called(name, code_that_may_call(name, own, code))
        for name in names
    )


_DEFINED = re.compile(r"(?:<[^;{}()]*>)?\s*\([^;{}]*\)\s*(?:const\b\s*)?(?:noexcept\b\s*)?[:{]")


def _is_return(code: str, at: int) -> bool:
    return re.search(r"\b(?:return|else|do)\s*$", code[max(0, at - 12) : at + 1]) is not None


def code_of(checkout: Path) -> dict[Path, str]:
    """The source files of a checkout, without comments and texts, by the nearest folder with a build file."""
    found: dict[Path, str] = {}
    for file in sorted(file for file in checkout.rglob("*") if file.suffix in _CODE and file.is_file()):
        folder = program_of(file, checkout)
        text = _COMMENT.sub(" ", file.read_text(encoding="latin-1"))
        found[folder] = f"{found.get(folder, '')}\n{text}"
    return found


def program_of(file: Path, checkout: Path) -> Path:
    """The folder of the program that a file belongs to."""
    above = (folder for folder in file.parents if folder.is_relative_to(checkout))
    built = (folder for folder in above if any((folder / name).is_file() for name in _BUILDS))
    return next(built, checkout)


_BUILDS = ("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt")


def code_that_may_call(function: str, own: Path, code: dict[Path, str]) -> str:
    """The code of a function's own program, and of others as far as they have no function of that name."""
    definition = re.compile(rf"\b{function}\s*\([^;{{}}]*\)\s*{{")
    return "\n".join(text for folder, text in code.items() if folder == own or not definition.search(text))


_NAMED = re.compile(r"'[^']*'|\b[\w:.~<>]+\(\)|\b\d+\b")


def first_cause(launches: list[KernelLaunch]) -> str:
    """Why geometry or integer arguments of a kernel are not known, of the launch that lacks least."""

    def lacks(launch: KernelLaunch) -> tuple[bool, int]:
        return launch.source is LaunchSource.ASSUMED, len(missing_arguments(launch))

    launch = min(launches, key=lacks)
    if launch.source is LaunchSource.ASSUMED:
        messages = [a.message for a in launch.assumptions if a.rule == "PW011"]
        return next((m.split(";")[0] for m in messages if "as it lies in" not in m), "?")
    return f"argument: {_reasons(launch).get(missing_arguments(launch)[0], '?')}"


class Share(Struct):
    """What was found in one checkout."""

    name: str
    launched: int = 0
    read: int = 0
    known: int = 0
    computed: int = 0
    run: int = 0  # of those launched, by a function that something calls
    run_known: int = 0
    unlaunched: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)  # kernels by what is not known of them
    kinds: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, str] = field(default_factory=dict[str, str])  # a kernel of each kind

    def add(self, other: Share) -> None:
        """Sums up."""
        self.launched, self.read = self.launched + other.launched, self.read + other.read
        self.known, self.computed = self.known + other.known, self.computed + other.computed
        self.run, self.run_known = self.run + other.run, self.run_known + other.run_known
        self.unlaunched += other.unlaunched
        self.kinds.update(other.kinds)
        self.examples = {**other.examples, **self.examples}
        for cause, kernels in other.missing.items():
            self.missing.setdefault(cause, []).extend(kernels)

    @property
    def row(self) -> str:
        """Of the table."""
        shares = (
            f"{part / max(self.launched, 1):.1%} ({part})" for part in (self.read, self.known, self.computed)
        )
        run = f"{self.run_known / max(self.run, 1):.1%} ({self.run_known} of {self.run})"
        return f"| {self.name} | {self.launched} | {' | '.join(shares)} | {run} | {self.unlaunched} |"


def launches_in(
    path: Path, gpu: Gpu, *, alone: bool
) -> Iterator[tuple[list[ir.Kernel], list[KernelLaunch], bool, set[str]]]:
    """The kernels of a file, instances of one template together, their launches, whether there are any, and
    the functions of the file that launch them.
    """
    program = read_cuda(path)
    others = Neighbours(
        partial(read_callers, path),
        partial(read_launcher, path),
        find_arguments,
        lambda sought: read_definitions(*sought, own=path),
        partial(read_linking, path),
        partial(read_sharing, path),
    )
    launches = resolve_launches(program, NO_OVERRIDES, gpu, ALONE if alone else others)
    names = launched_names(program)
    for kernels in definitions(program):
        own = [launch for launch in launches if launch.kernel in kernels]
        is_named = any(kernel.mangled_name in names or kernel.name in names for kernel in kernels)
        is_launched = is_named or any(launch.line is not None for launch in own)
        yield kernels, own, is_launched, launchers(program, kernels)


_Place = tuple[str, int, int | None]
"""Where a kernel is defined, and where the first launch of it stands."""


class _Told(Struct, frozen=True):
    """The launches of a kernel as one file tells them: of those that include it, one that knows them."""

    file: str
    launches: list[KernelLaunch]
    launchers: set[str]


def is_known(launches: list[KernelLaunch]) -> bool:
    """Whether a launch was read from host code, with all its integer arguments."""
    return any(x.source is not LaunchSource.ASSUMED and has_all_arguments(x) for x in launches)


def share_of(checkout: Path, gpu: Gpu, seen: set[str], *, alone: bool) -> Share:
    """Counts one checkout; `seen`: contents that count no more."""
    checkout = checkout.resolve()  # else a kernel in an included file has two names
    share = Share(checkout.name)
    launched: dict[_Place, _Told] = {}
    code = code_of(checkout)
    for path in sorted(path for path in checkout.rglob("*.cu") if path.is_file()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        try:
            found = list(launches_in(path, gpu, alone=alone))
        except FrontendError:
            continue
        for kernels, own, is_launched, names in found:
            place = (kernels[0].span.file, kernels[0].span.line, own[0].line)
            if not is_launched:
                share.unlaunched += 1
            elif place not in launched or (is_known(own) and not is_known(launched[place].launches)):
                launched[place] = _Told(str(path.relative_to(checkout)), own, names)
    for told in launched.values():
        own = told.launches
        good = [launch for launch in own if launch.source is not LaunchSource.ASSUMED]
        share.launched += 1
        share.read += bool(good)
        program = program_of(checkout / told.file, checkout)
        runs = is_run(told.launchers, program, code)
        share.run, share.run_known = share.run + runs, share.run_known + (runs and is_known(own))
        if is_known(own):
            share.known += 1
            continue
        computed = (x.assumptions and all(a.fix.startswith("--set") for a in x.assumptions) for x in own)
        share.computed += not good and any(computed)
        cause = first_cause(own)
        where = f"{told.file}:{own[0].line} {own[0].kernel.name}: {cause}"
        kind = kind_of(cause, program, code) if runs else NOT_LAUNCHED
        share.kinds[kind] += 1
        share.examples.setdefault(kind, where)
        share.missing.setdefault(_NAMED.sub("_", cause), []).append(where)
    return share


def section(shares: list[Share]) -> list[str]:
    """The tables of the document."""
    total = Share("**all**")
    for share in shares:
        total.add(share)
    beyond = total.kinds[NOT_LAUNCHED] + total.kinds[KINDS[0][0]]
    told = total.launched - total.kinds[NOT_LAUNCHED] - sum(total.kinds[kind] for kind in NOT_TOLD)
    causes = sorted(total.missing.items(), key=lambda entry: -len(entry[1]))
    return [
        "| suite | launched in their file | geometry known | arguments, too | computed "
        "| arguments, of what something calls | not launched |",
        "|---|---|---|---|---|---|---|",
        *(share.row for share in (*shares, total)),
        "",
        f"#### Why not known: {total.launched - total.known} kernels",
        "",
        "| number | kind of cause | for example |",
        "|---|---|---|",
        *(f"| {number} | {kind} | `{total.examples[kind]}` |" for kind, number in total.kinds.most_common()),
        "",
        f"Of the {total.launched - beyond} kernels that neither a missing file nor the lack of any caller "
        f"keeps unknown, {total.known / max(total.launched - beyond, 1):.1%} have geometry and arguments. Of "
        f"the {told} that are left without those whose cause is a file or words that the repository does not "
        f"hold, a result of the GPU or a launch that is not possible: {total.known / max(told, 1):.1%}.",
        "",
        "| number | first cause | for example |",
        "|---|---|---|",
        *(f"| {len(kernels)} | {cause} | `{kernels[0]}` |" for cause, kernels in causes[:_MOST_CAUSES]),
        "",
    ]


_MOST_CAUSES = 16


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--alone", action="store_true", help="do not look at other files, nor for arguments")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("-o", type=Path, dest="output")
    options = parser.parse_args()
    seen: set[str] = set()
    gpu = load_gpu(options.gpu)
    shares = [share_of(checkout, gpu, seen, alone=options.alone) for checkout in options.checkouts]
    publish(options.output, "geometry_share", section(shares))
    if options.kernels:
        print("\n".join(where for share in shares for kernels in share.missing.values() for where in kernels))


if __name__ == "__main__":
    main()

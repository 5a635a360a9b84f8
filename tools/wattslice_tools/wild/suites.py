"""What becomes of public CUDA code: kernels, bodies, launches, loops, failures, as Markdown.

    python -m wattslice_tools.wild.suites CHECKOUT... [--why] [--gpu v100] [--jobs 2]
        [-o docs/appendix/public-code.md]

Each `.cu` file is analysed alone, without any option, in a process with a hard time limit; of identical files
one is taken. `tools/wattslice_tools/wild/README.md` says what each column counts. `--why` adds the causes,
most frequent
first, each with one place where it can be seen.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish
from wattslice_tools.wild.file_facts import FileFacts, FileQuestion, KernelFacts, examine
from wattslice_tools.wild.isolated import Outcome, run_isolated

SLOW_S = 10.0
HARD_LIMIT_S = 60.0


class Causes(Struct):
    """Causes of one kind with how often they occur and one example each."""

    numbers: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, cause: str, example: str) -> None:
        self.numbers[cause] += 1
        self.examples.setdefault(cause, example)


KINDS = {
    "no watts": "Kernels without watts, by the diagnostic that says why",
    "silent": "Kernels neither predicted nor explained",
    "body": "Bodies that are not complete",
    "geometry": "Launched kernels whose geometry was assumed",
    "sizes": "Launched kernels whose geometry was read, and a size was assumed",
    "loops": "Loops whose trip count is not known",
    "assumed loops": "Loops whose trip count rests on an assumed parameter value",
    "internal": "Internal errors (PW099)",
    "failures": "Files that ended by an exception, a crash or a hang; files over 10 s",
    "unreadable": "Files refused as a whole",
}


class Suite(Struct):
    """The sums of one suite."""

    name: str
    revision: str
    files: int = 0
    definitions: int = 0
    switched_off: int = 0
    predicted: int = 0
    explained: int = 0
    usable: int = 0
    complete: int = 0
    launched: int = 0
    geometry_read: int = 0
    geometry_computed: int = 0
    geometry_assumed: int = 0
    all_known: int = 0
    loops: int = 0
    loops_known: int = 0
    loops_assumed: int = 0
    own_loops: int = 0  # of kernels whose geometry was read
    own_loops_known: int = 0
    own_loops_assumed: int = 0
    internal: int = 0
    slow: int = 0
    failed: int = 0
    timed: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    causes: dict[str, Causes] = field(default_factory=lambda: {kind: Causes() for kind in KINDS})

    def take(self, path: str, outcome: Outcome[FileFacts]) -> None:
        """Adds one file."""
        self.files += 1
        facts = outcome.value
        if facts is None:
            self.failed += 1
            self.causes["failures"].add(outcome.failure.split(" (")[0], f"{path}: {outcome.failure}")
            return
        self.timed.append((facts.seconds, path))
        if facts.seconds > SLOW_S:
            self.slow += 1
            self.causes["failures"].add(f"over {SLOW_S:g} s", f"{path}: {facts.seconds:.1f} s")
        if facts.refusal:
            self.causes["unreadable"].add(facts.refusal, path)
        for message in facts.internal_errors:
            self.internal += 1
            self.causes["internal"].add(message.partition(": ")[2] or message, f"{path}: {message}")
        self.switched_off += facts.switched_off
        for kernel in facts.kernels:
            self._take_kernel(path, kernel)

    def _take_kernel(self, path: str, kernel: KernelFacts) -> None:
        place = f"{path}:{kernel.line} {kernel.name}"
        if kernel.is_own:
            self.definitions += 1
            self.predicted += kernel.predicted
            self.explained += not kernel.predicted and bool(kernel.why_no_power)
            self.usable += kernel.usable
            self.complete += kernel.complete
            if not kernel.predicted:
                cause = kernel.why_no_power
                self.causes["no watts" if cause else "silent"].add(cause or "no diagnostic", place)
            if not kernel.complete:
                self.causes["body"].add(kernel.why_not_complete, place)
            for loop in kernel.loops:
                known, assumed = loop.known and not loop.on_assumed_value, loop.on_assumed_value
                self.loops += 1
                self.loops_known += known
                self.loops_assumed += assumed
                if kernel.geometry_read:
                    self.own_loops += 1
                    self.own_loops_known += known
                    self.own_loops_assumed += assumed
                if not known:
                    kind = "assumed loops" if assumed else "loops"
                    self.causes[kind].add(loop.why, f"{place}, loop in line {loop.line}")
        if kernel.launched_here:
            self.launched += 1
            self.geometry_read += kernel.geometry_read
            self.geometry_computed += kernel.geometry_computed
            self.geometry_assumed += not kernel.geometry_read and not kernel.geometry_computed
            self.all_known += kernel.all_known
            if not kernel.geometry_read:
                self.causes["geometry"].add(kernel.why_no_geometry, place)
            elif not kernel.all_known:
                self.causes["sizes"].add(kernel.why_not_all_known, place)


def measure(checkouts: list[Path], gpu: str, jobs: int) -> list[Suite]:
    """Every checkout examined, in the order given."""
    suites: list[Suite] = []
    seen: set[str] = set()
    for checkout in checkouts:
        suite = Suite(checkout.name, revision(checkout))
        paths = cuda_files(checkout, seen)
        outcomes = run_isolated(examine, [FileQuestion(path, gpu) for path in paths], jobs, HARD_LIMIT_S)
        for path, outcome in zip(paths, outcomes, strict=True):
            suite.take(f"{checkout.name}/{path.relative_to(checkout)}", outcome)
        suites.append(suite)
    return suites


def total(suites: list[Suite]) -> Suite:
    """The sum of all suites."""
    whole = Suite("**all**", "")
    for suite in suites:
        for name in suite.__struct_fields__:
            value = getattr(suite, name)
            if isinstance(value, int | list):
                setattr(whole, name, getattr(whole, name) + value)
        for kind, causes in suite.causes.items():
            whole.causes[kind].numbers.update(causes.numbers)
            for cause, example in causes.examples.items():
                whole.causes[kind].examples.setdefault(cause, example)
    return whole


def report(suites: list[Suite], gpu: str) -> list[str]:
    """The tables."""
    rows = [*suites, total(suites)] if len(suites) > 1 else suites
    lines = [f"Predictions for `{gpu}`, no options given.", ""]
    lines += _table(
        ("suite", "commit", "files", "kernels", "switched off", "watts", "cause named", "accounted for",
         "usable body", "complete body"),
        ((s.name, s.revision, s.files, s.definitions, s.switched_off, s.predicted, s.explained,
          _share(s.predicted + s.explained, s.definitions), _share(s.usable, s.definitions),
          _share(s.complete, s.definitions)) for s in rows),
    )  # fmt: skip
    lines += _table(
        ("suite", "launched in their file", "geometry read", "computed", "assumed", "geometry and sizes read",
         "loops", "trips known",
         "… on an assumed value", "of geometry read: loops", "trips known", "… on an assumed value"),
        ((s.name, s.launched, _share(s.geometry_read, s.launched), _share(s.geometry_computed, s.launched),
          _share(s.geometry_assumed, s.launched), _share(s.all_known, s.launched),
          s.loops, _share(s.loops_known, s.loops), _share(s.loops_assumed, s.loops),
          s.own_loops, _share(s.own_loops_known, s.own_loops), _share(s.own_loops_assumed, s.own_loops))
         for s in rows),
    )  # fmt: skip
    lines += _table(
        ("suite", "PW099", f"over {SLOW_S:g} s", "exception, crash or hang", "median s", "slowest s"),
        ((s.name, s.internal, s.slow, s.failed, *_times([seconds for seconds, _ in s.timed])) for s in rows),
    )
    return lines


def slowest(suites: list[Suite]) -> list[str]:
    """The files that took longest."""
    timed = sorted((entry for suite in suites for entry in suite.timed), reverse=True)
    return ["#### Slowest files", "", *_table(("s", "file"), ((f"{s:.2f}", f"`{p}`") for s, p in timed[:8]))]


def why(suites: list[Suite], most: int) -> list[str]:
    """The causes, over all suites, most frequent first."""
    whole = total(suites)
    lines: list[str] = []
    for kind, title in KINDS.items():
        causes = whole.causes[kind]
        if not causes.numbers:
            continue
        lines += [f"#### {title}: {causes.numbers.total()}", ""]
        shown = causes.numbers.most_common(most)
        lines += _table(
            ("number", "cause", "for example"),
            ((n, _cell(cause), f"`{causes.examples[cause]}`") for cause, n in shown),
        )
        if len(causes.numbers) > most:
            lines += [f"… and {len(causes.numbers) - most} other causes.", ""]
    return lines


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> list[str]:
    names = [str(cell) for cell in head]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part})" if whole else "–"


def _times(seconds: list[float]) -> tuple[str, str]:
    if not seconds:
        return "–", "–"
    return f"{sorted(seconds)[len(seconds) // 2]:.3f}", f"{max(seconds):.2f}"


def main() -> None:
    """Measure and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--why", action="store_true", help="list the causes")
    parser.add_argument("--most", type=int, default=8, help="causes listed of each kind")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    suites = measure(options.checkouts, options.gpu, options.jobs)
    lines = report(suites, options.gpu)
    if options.why:
        lines += [*slowest(suites), *why(suites, options.most)]
    publish(options.output, "suites", lines)


if __name__ == "__main__":
    main()

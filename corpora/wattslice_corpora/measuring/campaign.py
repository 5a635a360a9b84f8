"""Measures many configurations, in slices of time, until all are done."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from wattslice_corpora.measuring.bench import Bench, Configuration, Measured, failed_row, measured_row
from wattslice_corpora.measuring.errors import AllFailError, MeasureError, told
from wattslice_corpora.measuring.journal import Entry, Journal
from wattslice_corpora.measuring.power import SHORTEST_LAUNCH_S, Method, power_of
from wattslice_corpora.records import MeasuredRow

_AHEAD = 8
_FIRST_GUESS_S = 8.0


class Progress(Struct, frozen=True):
    """After a configuration: `done` of `total`, its row, and how long the rest would take."""

    done: int
    total: int
    name: str
    row: MeasuredRow
    remaining_s: float


class Outcome(Struct, frozen=True):
    """What one slice of time brought. `measured`: also those again; `left`: those never measured yet."""

    measured: int
    left: int


def run_campaign(
    plan: tuple[Configuration, ...],
    bench: Bench,
    journal: Journal,
    comments: tuple[str, ...],
    time_budget_s: float | None = None,
    method: Method | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
    clock: Callable[[], float] = time.monotonic,
    most_failures: int | None = None,
) -> Outcome:
    """Measures what `plan` has and the journal has not, in the order of the plan.

    A configuration whose row is not valid was perhaps only unlucky: it is measured again, once, after the
    others. Stops before a configuration that would not fit into `time_budget_s`; one that was begun is
    finished. `method`: as in `power_of`. Raises `MeasureError` when nothing more can be measured.

    `most_failures`: after so many programs in a row that did not run, the fault is hardly theirs: raises
    `AllFailError` and keeps none of these rows, so that they are measured again. What the bench itself
    cannot do is then a failure like others.
    """
    begin_s = clock()
    names = tuple((configuration.name, configuration.version) for configuration in plan)
    new, doubtful = unmeasured(plan, journal)
    waiting = (*new, *doubtful)
    if journal.entries:  # the last run may have been killed between writing the journal and the tables
        journal.write_tables(comments, names)
    longest_s = _FIRST_GUESS_S
    measured = 0
    failed: list[Entry] = []  # in a row; kept when something runs again, or at the end

    def settle() -> None:
        for one in failed:
            journal.add(one, None)
        failed.clear()

    for number, configuration in enumerate(waiting):
        started_s = clock()
        if time_budget_s is not None and started_s + longest_s > begin_s + time_budget_s:
            break
        try:
            bench.prepare(waiting[number : number + _AHEAD])
            found = bench.measure(configuration)
        except Exception as error:
            if isinstance(error, MeasureError) and most_failures is None:
                raise
            entry = _failed(configuration, error)
            failed.append(entry)
            if len(failed) == most_failures:
                raise AllFailError(
                    f"{most_failures} programs in a row failed, the last: {told(error)}"
                ) from None
            if most_failures is None:
                settle()
        else:
            settle()
            entry = _keep(journal, configuration, found, method)
        journal.write_tables(comments, names)
        measured += 1
        spent_s = clock() - started_s
        longest_s = spent_s if measured == 1 else max(longest_s, spent_s)
        left = len(waiting) - measured
        mean_s = (clock() - begin_s) / measured
        tell(Progress(len(plan) - left, len(plan), entry.name, entry.row, left * mean_s))
    if failed:
        settle()
        journal.write_tables(comments, names)
    return Outcome(measured, max(0, len(new) - measured))


def unmeasured(
    plan: tuple[Configuration, ...], journal: Journal
) -> tuple[tuple[Configuration, ...], tuple[Configuration, ...]]:
    """What the journal has not, and what it has no valid row of."""
    known = {(entry.name, entry.version): entry.row for entry in journal.entries}
    rows = [(configuration, known.get((configuration.name, configuration.version))) for configuration in plan]
    new = tuple(configuration for configuration, row in rows if row is None)
    return new, tuple(configuration for configuration, row in rows if _unlucky(row))


def _unlucky(row: MeasuredRow | None) -> bool:
    """Not valid, for a reason that may be gone the next time; a launch stays as short as it is."""
    return row is not None and not row.power_valid and (row.time_s or 1.0) >= SHORTEST_LAUNCH_S


def _keep(journal: Journal, configuration: Configuration, found: Measured, method: Method | None) -> Entry:
    """What was measured, with its trace; where the trace makes no sense to us, with the reason."""
    try:
        power = power_of(found.trace, method)
        row = measured_row(configuration, found, power)
        entry = Entry(configuration.name, configuration.version, row, power.powers)
        journal.add(entry, found.trace)
    except MeasureError:
        raise
    except Exception as error:
        entry = _failed(configuration, error)
        journal.add(entry, found.trace)
    return entry


def _failed(configuration: Configuration, error: Exception) -> Entry:
    return Entry(configuration.name, configuration.version, failed_row(configuration, told(error)), None)

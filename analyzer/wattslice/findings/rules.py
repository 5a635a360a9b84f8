"""The table of rules (rules.toml): what each says, why it matters, what to do, and which check finds it.

A new rule is a row there, and, where it is advice, the check that the row names (plus its test and its place
in docs/rules.md, which a command writes).
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import Severity, WattsliceError

if TYPE_CHECKING:  # what checks need loads when the first of them is asked, not for `wattslice explain`
    from wattslice.analysis import Advice
    from wattslice.config.rule_choices import RuleChoices
    from wattslice.findings.advice.facts import LaunchFacts

Check = Callable[["LaunchFacts"], "Iterator[Advice]"]
"""Looks for places of a launch that cost power."""


class Rule(Struct, frozen=True):
    """One kind of finding: `what` happened, `why` it matters, an `example`, and the `remedy`.

    `severity`: how much such findings matter as a rule; each of them tells its own. `told_by`: the stage (a
    folder of the package) that finds it; of advice `check`: the module of `findings.advice` and the function
    in it that does. `explains_unknown`: its place among the rules that can explain an unknown power, 1 for
    the likeliest. `can_be_suppressed`: a defect of ours must not be hidden in somebody's source, and no
    suppression hides what is wrong with one. `needs_profile`: it fires only where a branch profile was given.
    """

    id: str
    name: str
    severity: Severity
    what: str
    why: str
    example: str
    remedy: str
    told_by: str = "findings"
    check: str = ""
    explains_unknown: int | None = None
    can_be_suppressed: bool = True
    needs_profile: bool = False

    def load_check(self) -> Check | None:
        """The function that finds it in a launch; None for what is no advice."""
        if not self.check:
            return None
        module, _, name = self.check.partition(".")
        return getattr(importlib.import_module(f"wattslice.findings.advice.{module}"), name)


class _Table(Struct, frozen=True):
    """The file of the rules."""

    rule: tuple[Rule, ...]


_TABLE = msgspec.toml.decode(Path(__file__).with_name("rules.toml").read_bytes(), type=_Table)
RULES = tuple(
    replace(rule, **{name: " ".join(getattr(rule, name).split()) for name in ("what", "why", "remedy")})
    for rule in _TABLE.rule
)


def checks() -> tuple[Check, ...]:
    """What finds advice, in the order of the table; one check may serve several rules."""
    return tuple(dict.fromkeys(check for rule in RULES if (check := rule.load_check()) is not None))


def advise(facts: LaunchFacts) -> tuple[Advice, ...]:
    """What every rule has to say about one launch, most joules first, what has none last."""
    if facts.work.workload is None:
        return ()
    found = [advice for check in checks() for advice in check(facts)]
    return tuple(sorted(found, key=lambda one: (-(one.energy_j or 0.0), one.line, one.rule)))


def check_choices(choices: RuleChoices) -> None:
    """Raises `WattsliceError` for a pattern of `select`, `ignore` or `severity` that no rule has."""
    for option, chosen in (
        ("select", choices.select),
        ("ignore", choices.ignore),
        ("severity", choices.severities),
    ):
        for one in chosen:
            if not any(fnmatchcase(rule.id, one.rule) for rule in RULES):
                message = f"--{option}: no rule has an id like {one.rule}"
                raise WattsliceError(message, remedy="`wattslice explain` lists them")


def find_rule(wanted: str) -> Rule:
    """The rule of an id (``PW010``, in either case) or a name (``size-assumed``).

    Raises `WattsliceError` with close matches.
    """
    for rule in RULES:
        if wanted.strip().lower() in (rule.id.lower(), rule.name):
            return rule
    spellings = {rule.id.lower(): rule.id for rule in RULES} | {rule.name: rule.id for rule in RULES}
    found = difflib.get_close_matches(wanted.lower(), spellings, n=3, cutoff=0.55)
    close = dict.fromkeys(spellings[spelling] for spelling in found)
    remedy = f"did you mean {' or '.join(close)}?" if close else "`wattslice explain` lists all"
    raise WattsliceError(f"no rule {wanted!r}", remedy=remedy)

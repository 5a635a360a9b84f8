"""Every rule wattslice reports, under a stable id: what it says, why it matters, and what to do about it.

An id is never reused and never changes its meaning; a retired rule keeps its entry here.
"""

from __future__ import annotations

import difflib

from wattslice.errors import WattsliceError
from wattslice.findings.rules.advice import ADVICE_RULES
from wattslice.findings.rules.assumed import ASSUMED_RULES
from wattslice.findings.rules.power import POWER_RULES
from wattslice.findings.rules.rule import Rule
from wattslice.findings.rules.source import SOURCE_RULES

__all__ = ["RULES", "Rule", "UnknownRuleError", "find_rule"]

RULES: tuple[Rule, ...] = tuple(
    sorted((*SOURCE_RULES, *ASSUMED_RULES, *POWER_RULES, *ADVICE_RULES), key=lambda rule: rule.id)
)


class UnknownRuleError(WattsliceError):
    """No rule of that id or name; the remedy names close matches."""

    def __init__(self, wanted: str) -> None:
        spellings = {rule.id.lower(): rule.id for rule in RULES} | {rule.name: rule.id for rule in RULES}
        found = difflib.get_close_matches(wanted.lower(), spellings, n=3, cutoff=0.55)
        close = tuple(dict.fromkeys(spellings[spelling] for spelling in found))
        remedy = f"did you mean {' or '.join(close)}?" if close else "`wattslice explain` lists all"
        super().__init__(f"no rule {wanted!r}", remedy=remedy)


def find_rule(wanted: str) -> Rule:
    """The rule of an id (``PW010``, in either case) or a name (``size-assumed``).

    Raises `UnknownRuleError` with close matches.
    """
    for rule in RULES:
        if wanted.strip().lower() in (rule.id.lower(), rule.name):
            return rule
    raise UnknownRuleError(wanted)

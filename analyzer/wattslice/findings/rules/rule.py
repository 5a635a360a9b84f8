"""What a rule is: the text behind one finding id."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. `what` happened, `why` it matters, an `example`, and the `remedy`."""

    id: str
    name: str
    what: str
    why: str
    example: str
    remedy: str

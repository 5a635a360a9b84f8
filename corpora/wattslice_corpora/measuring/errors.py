"""What can go wrong when power is measured, and what to do about it."""

from __future__ import annotations


class MeasureError(RuntimeError):
    """Nothing can be measured at all: no GPU, no driver, no compiler, no room. Says what to do."""


class AllFailError(MeasureError):
    """So many configurations failed in a row that the fault is hardly theirs. None of these was kept."""


class ConfigurationError(RuntimeError):
    """One configuration cannot be measured: it does not compile, crashes, hangs or launches nothing."""


def told(error: Exception) -> str:
    """What a row says of it: the message alone where it was written for a reader, else with its kind."""
    known = isinstance(error, MeasureError | ConfigurationError | OSError)
    return str(error) if known else f"{type(error).__name__}: {error}"

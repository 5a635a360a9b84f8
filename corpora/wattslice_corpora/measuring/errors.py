"""What can go wrong when power is measured, and what to do about it."""

from __future__ import annotations


class MeasureError(RuntimeError):
    """Nothing can be measured at all: no GPU, no driver, no compiler, no room. Says what to do."""


class ConfigurationError(RuntimeError):
    """One configuration cannot be measured: it does not compile, crashes, hangs or launches nothing."""

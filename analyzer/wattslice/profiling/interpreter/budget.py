"""What the interpreter may spend on a launch when nobody says otherwise; numpy is not needed to know it."""

from __future__ import annotations

MAX_STEPS = 2_000_000
"""Statements and loop tests, each counted once for all the threads that execute it together."""
MAX_MEMORY_MIB = 1024

"""From source text to the intermediate representation; bounds of how much of a file is followed (PW007)."""

MOST_NESTED_BLOCKS = 400
"""Levels of statements of a kernel."""

MOST_KERNELS = 1_000
"""Kernels of a file: each costs some milliseconds; no file written by hand has a tenth of this."""

"""`python -m wattslice`."""

from wattslice.cli import run

run()

"""`python -m wattslice`."""

import sys

from wattslice.cli import main

sys.exit(main())

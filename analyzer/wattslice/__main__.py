"""`python -m wattslice`."""

import os
import sys

# `-m` puts the current folder on the path, and that may be a stranger's repository: nothing comes from
# there, unless wattslice itself does. What Python imports before this line only `python -P` can mend.
_CURRENT = os.path.realpath(os.getcwd())  # noqa: PTH109
if os.path.realpath(f"{__file__}/../..") != _CURRENT:
    sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) != _CURRENT]

from wattslice.cli import main  # noqa: E402

sys.exit(main())

"""Numbers that formulas take one at a time or, over many configurations at once, as arrays."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Quantity = float | Array
"""One number, or one for each configuration; arrays broadcast as numpy does."""
Values = TypeVar("Values", float, Array)
"""The same where all quantities of a record are of one kind."""

"""Names for the arrays that pass between modules."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Exact = NDArray[Any]
"""Exact integers: int64 where they fit, Python integers (dtype object) where they do not."""

"""The array types used between an engine and a release."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Narrow: TypeAlias = NDArray[np.int32]
"""For columns of events, which are long: widen before multiplying."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

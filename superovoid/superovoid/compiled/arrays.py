# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Types of the arrays that kernels take: C-contiguous, named by the type of their numbers and their dimensions."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Floats1 = Annotated[NDArray[np.float64], np.dtype(np.float64), 1]
Floats2 = Annotated[NDArray[np.float64], np.dtype(np.float64), 2]
Floats3 = Annotated[NDArray[np.float64], np.dtype(np.float64), 3]
Floats4 = Annotated[NDArray[np.float64], np.dtype(np.float64), 4]
Ints1 = Annotated[NDArray[np.int64], np.dtype(np.int64), 1]
Ints2 = Annotated[NDArray[np.int64], np.dtype(np.int64), 2]
Int32s1 = Annotated[NDArray[np.int32], np.dtype(np.int32), 1]
Int32s2 = Annotated[NDArray[np.int32], np.dtype(np.int32), 2]
Int8s1 = Annotated[NDArray[np.int8], np.dtype(np.int8), 1]
Bools1 = Annotated[NDArray[np.bool_], np.dtype(np.bool_), 1]

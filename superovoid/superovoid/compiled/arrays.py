# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arrays that kernels take: C-contiguous, of types named by the type of their numbers and their dimensions."""

from __future__ import annotations

import typing
from functools import cache
from typing import Annotated, Any, TypeVar

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

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


@cache
def _hints_of(kind: type[Arrays]) -> list[Any]:
    return list(typing.get_type_hints(kind, include_extras=True).values())


def zeros(kind: type[Arrays], *fields: Any) -> Arrays:
    """Return a named tuple of arrays of zeros.

    Parameters
    ----------
    kind : type
        Its type hints are types of arrays.
    *fields : int, tuple of int, or any other value
        For each field the shape of its array. Anything else than a shape is the value of the field.
    """
    hints = zip(fields, _hints_of(kind), strict=True)
    return kind(*(np.zeros(each, hint.__metadata__[0]) if type(each) in (int, tuple) else each for each, hint in hints))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arguments that must be numbers: one error for all that is none, with the name of the argument; equality of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MOST = 2**31 - 1


def floats(name: str, value: Any) -> FloatArray:
    """Return an array of float64, the one given where it is one; `ValueError` for text, truth values and the like."""
    try:
        array = np.asarray(value)
        # Integers of any length are objects to numpy, and None would be nan.
        if array.dtype.kind in "iuf" or (array.dtype.kind == "O" and not any(v is None for v in array.flat)):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name}: must be numbers of double precision, found {short(value)}")


def number(name: str, value: Any, unit: str = "") -> float:
    """Return a finite number as a float; `ValueError` for anything else."""
    real = isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
    try:
        if real and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise ValueError(f"{name} = {short(value)}: must be a finite number{unit and f' ({unit})'}")


def whole(name: str, value: Any, least: int) -> int:
    """Return an integer from a least one to what 32 bits hold; `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= _MOST:
        raise ValueError(f"{name} = {short(value)}: must be an integer of at least {least}, at most {_MOST}")
    return int(value)


def short(value: Any) -> str:
    """What was found, for an error."""
    try:
        text = repr(value)
    except Exception:  # of an object that cannot say what it is, or an integer too long to print
        return type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]}... ({type(value).__name__})"


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal; arrays are when their shapes and all entries are, nan being equal to nan."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return bool(one == other)

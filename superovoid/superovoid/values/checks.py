# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of arguments, with the name of the argument in each error; refusals told from mistakes; equality of arrays."""

from __future__ import annotations

import dis
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Lengths and coordinates that the arithmetic carries, m: kernels multiply up to six lengths, and again as many that
# are as small as roundings of lengths. Measured, test_rounding.py.
LEAST_LENGTH, MOST_LENGTH = 1e-30, 1e30
_MOST = 2**32 - 1  # as many as messages hold


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
    real = _real(value)
    if not math.isfinite(real):
        raise ValueError(f"{name} = {short(value)}: must be a finite number{unit and f' ({unit})'}")
    return real


def positive(name: str, value: Any, unit: str) -> float:
    """Return a positive number, infinity included, as a float; `ValueError` for anything else."""
    real = _real(value)
    if not real > 0.0:
        raise ValueError(f"{name} = {short(value)}: must be a positive number ({unit})")
    return real


def greatest_distance(value: Any) -> float:
    """Return `max_distance`, a number or an infinity, as a float; `ValueError` for anything else."""
    real = _real(value)
    if math.isnan(real):
        raise ValueError(f"max_distance = {short(value)}: must be a number (metres)")
    return real


def _real(value: Any) -> float:
    """A real number as a float; nan for anything else."""
    if isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    return math.nan


def whole(name: str, value: Any, least: int) -> int:
    """Return an integer from a least one to 2**32 - 1; `ValueError` for anything else."""
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


def is_refusal(error: BaseException) -> bool:
    """Whether a `raise` statement of this package, or of one beside it, raised an error, and not numpy.

    What is refused is a `ValueError`, and so are mistakes of ours that numpy notices (arrays that do not fit). A
    function of C has no frame of its own: the innermost frame may then be ours, but stands at a call.
    """
    innermost = error.__traceback__
    if innermost is None:
        return False
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = innermost.tb_frame.f_globals.get("__name__", "")
    code = innermost.tb_frame.f_code.co_code
    return module.partition(".")[0].startswith("superovoid") and code[innermost.tb_lasti] == dis.opmap["RAISE_VARARGS"]

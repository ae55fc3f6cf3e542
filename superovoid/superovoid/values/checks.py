# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Argument checks whose errors name the argument, equality of values with arrays, and the origin of a `ValueError`."""

from __future__ import annotations

import dis
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Range of lengths and coordinates, m, without overflow or underflow: kernels multiply up to six lengths, and then up to
# six rounding errors of lengths. Measured in test_rounding.py.
LEAST_LENGTH, MOST_LENGTH = 1e-30, 1e30
_MOST = 2**32 - 1  # uint32 in ROS messages


def floats(name: str, value: Any) -> FloatArray:
    """Return `value` as a float64 array, without a copy if it is one; `ValueError` for strings, booleans and others."""
    if np.ma.is_masked(value):
        raise ValueError(f"{name}: must be numbers, found masked ones (fill them, or leave them out)")
    try:
        array = np.asarray(value)
        # numpy stores integers beyond 64 bits as objects, and would convert None to nan.
        if array.dtype.kind in "iuf" or (array.dtype.kind == "O" and not any(v is None for v in array.flat)):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name}: must be numbers of double precision, found {shorten(value)}")


def floats_without_nan(name: str, value: Any) -> FloatArray:
    """Return `value` as by `floats`; `ValueError` if it holds a nan, with which every comparison is false."""
    array = floats(name, value)
    if np.isnan(array).any():
        at = tuple(np.argwhere(np.isnan(array))[0].tolist())
        raise ValueError(f"{name}{list(at) if at else ''}: must be a number, found nan")
    return array


def number(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a float; `ValueError` unless it is a finite number."""
    real = _real_number(value)
    if not math.isfinite(real):
        raise ValueError(f"{name} = {shorten(value)}: must be a finite number{unit and f' ({unit})'}")
    return real


def positive(name: str, value: Any, unit: str) -> float:
    """Return `value` as a float; `ValueError` unless it is a positive number or infinity."""
    real = _real_number(value)
    if not real > 0.0:
        raise ValueError(f"{name} = {shorten(value)}: must be a positive number ({unit})")
    return real


def greatest_distance(value: Any, name: str = "max_distance") -> float:
    """Return a limit of distances as a float; `ValueError` unless it is a number or an infinity."""
    real = _real_number(value)
    if math.isnan(real):
        raise ValueError(f"{name} = {shorten(value)}: must be a number (metres)")
    return real


def _real_number(value: Any) -> float:
    """Return a real number as a float, and nan for anything else."""
    if isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    return math.nan


def whole_number(name: str, value: Any, least: int) -> int:
    """Return `value` as an int; `ValueError` unless it is an integer from `least` to 2**32 - 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= _MOST:
        raise ValueError(f"{name} = {shorten(value)}: must be an integer of at least {least}, at most {_MOST}")
    return int(value)


def random_generator(name: str, seed: Any) -> np.random.Generator:
    """Return `numpy.random.default_rng` of a seed; `ValueError` if it is none."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        expected = "must be None, an integer of at least 0 or a numpy.random.Generator"
        raise ValueError(f"{name} = {shorten(seed)}: {expected}") from None


def shorten(value: Any) -> str:
    """Return a short representation of a value, for an error message."""
    try:
        text = repr(value)
    except Exception:  # from a broken `__repr__`, or for an integer too long to print
        return type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]}... ({type(value).__name__})"


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; arrays if their shapes and all entries are. nan equals nan."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(are_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return bool(one == other)


def is_refusal(error: BaseException) -> bool:
    """Return whether a `raise` statement in a package ``superovoid*`` raised the error.

    Invalid arguments raise `ValueError`, and so does numpy after a bug of this package (arrays whose shapes do not
    match). A C function has no frame: the innermost frame is then in this package, but at a call instruction.
    """
    innermost = error.__traceback__
    if innermost is None:
        return False
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = innermost.tb_frame.f_globals.get("__name__", "")
    code = innermost.tb_frame.f_code.co_code
    return module.partition(".")[0].startswith("superovoid") and code[innermost.tb_lasti] == dis.opmap["RAISE_VARARGS"]

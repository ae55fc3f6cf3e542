# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What all answers share: they compare by value, have no hash, print in a few lines, and become plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid.values.checks import same

_SHOWN = 16  # numbers of an array that are printed


class Record:
    """A frozen dataclass of numbers and arrays.

    Two of one class are equal when all their fields are. There is no hash: a dictionary would compare long arrays.
    """

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in _names(self))

    def __repr__(self) -> str:
        shown = (f"{name}={shortened(getattr(self, name))}" for name in _names(self, shown=True))
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python: numbers, lists and words, such as `json` writes."""
        return {name: plain(getattr(self, name)) for name in _names(self, shown=True)}


def _names(record: Any, shown: bool = False) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if each.repr or not shown)


def plain(value: Any) -> Any:
    """A value of numbers, lists and words."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        values = map(plain, value)
        return tuple(values) if isinstance(value, tuple) else list(values)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def shortened(value: Any) -> str:
    """A value in few characters."""
    if isinstance(value, np.ndarray):
        if value.size > _SHOWN:
            return f"<{value.dtype} array of shape {value.shape}>"
        return np.array2string(value, precision=6, separator=", ", suppress_small=True).replace("\n", "")
    if isinstance(value, Enum):
        return str(value)
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def spread(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Columns of a table from an array with a row an entry; vectors of three become columns for x, y and z."""
    if values.ndim == 1:
        return {name: values}
    values = values.reshape(len(values), math.prod(values.shape[1:]))
    ends = "xyz" if values.shape[1] == 3 else range(values.shape[1])
    return {f"{name}_{end}": values[:, i] for i, end in enumerate(ends)}

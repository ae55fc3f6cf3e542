# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quantities at named places of flat arrays, and kernels that read and write them.

A row of numbers has its quantities one after the other. In an array for loops over lanes each number has a row
of its own (`stride`).
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from itertools import accumulate
from typing import Any, get_args, get_type_hints

from superovoid.compiled.kernels import inline


def layout(stride: int, **kinds: Any) -> tuple[Any, int]:
    """Return the places of quantities in a flat array, and its length.

    Parameters
    ----------
    stride : int
        From one number of a quantity to the next: 1 for a row of numbers.
    **kinds : type or int
        The quantities by name, in order: kinds as of `loader`.

    Returns
    -------
    places : named tuple of int
        Index of the first number of each quantity.
    length : int
    """
    *places, length = accumulate((numbers_in(kind) * stride for kind in kinds.values()), initial=0)
    kind_of_places: Any = namedtuple("Places", kinds)  # type: ignore[misc] # the names are not literals
    return kind_of_places(*places), length


def _parts_of(kind: Any) -> list[Any]:
    """Return the kinds of the parts of a tuple."""
    if isinstance(kind, int):
        return [float] * kind
    return list(get_args(kind)) or list(get_type_hints(kind).values())


def numbers_in(kind: Any) -> int:
    """Return how many rows hold the numbers of a kind (`loader`)."""
    return 1 if kind in (float, bool) else sum(map(numbers_in, _parts_of(kind)))


def _value(kind: Any, offset: int, stride: int, names: dict[str, Any]) -> str:
    """Return the source of a value of a kind, whose first number is `offset` behind `at`; note the names it uses."""
    if kind is float:
        return f"buffer[at + {offset}]"
    if kind is bool:
        return f"buffer[at + {offset}] != 0.0"
    parts = []
    for part in _parts_of(kind):
        parts.append(_value(part, offset, stride, names))
        offset += stride * numbers_in(part)
    if hasattr(kind, "_fields"):
        names[kind.__name__] = kind
        return f"{kind.__name__}({', '.join(parts)})"
    return f"({', '.join(parts)},)"


def _numbers(kind: Any, value: str) -> list[str]:
    """Return the sources of the numbers of a value of a kind."""
    if kind in (float, bool):
        return [value]
    return [each for i, part in enumerate(_parts_of(kind)) for each in _numbers(part, f"{value}[{i}]")]


@cache
def loader(kind: Any, stride: int) -> Any:
    """Kernel ``load(buffer, at)`` that returns a value of a kind from a number in each of successive rows.

    Its source is written out, so that it is one kernel whatever the number of numbers.

    Parameters
    ----------
    kind : type or int
        A NamedTuple or a tuple of numbers, of truth values, or of such tuples; or an integer, the number of numbers.
    stride : int
        From one number to the next.
    """
    names: dict[str, Any] = {"__name__": __name__}
    return inline(eval(f"lambda buffer, at: {_value(kind, 0, stride, names)}", names))


@cache
def storer(kind: Any, stride: int) -> Any:
    """Kernel ``store(buffer, at, value)``: the reverse of `loader`."""
    names: dict[str, Any] = {"__name__": __name__}
    lines = (f"    buffer[at + {k * stride}] = {number}" for k, number in enumerate(_numbers(kind, "value")))
    exec("\n".join(["def store(buffer, at, value):", *lines]), names)
    return inline(names["store"])

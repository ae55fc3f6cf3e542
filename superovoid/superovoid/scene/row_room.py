# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arrays of a row a body, with room behind them for more: a body that is added has no other copied.

Rows that are there are never written by this module, and those behind them only once. So who has the arrays of before,
a fork of a scene or the tables of a loop, never sees a change. Two that have the same room must not both add to it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

_MORE = 0.25  # of the rows, taken as room where there is none

Rows = TypeVar("Rows", bound=tuple[Any, ...])


def joined(rows: Rows, more: Rows, room: Rows | None) -> tuple[Rows, Rows]:
    """Put rows behind others.

    Parameters
    ----------
    rows, more : named tuple of arrays
        Of one kind each; the arrays of each have as many rows.
    room : named tuple of arrays, optional
        What `rows` are the first rows of, as it was returned when they were made; None: they are copied.

    Returns
    -------
    rows, room : named tuple of arrays
    """
    count = len(rows[0])
    total = count + len(more[0])
    make = rows._make  # type: ignore[attr-defined]
    if room is None or len(room[0]) < total:
        size = total if not count else total + int(_MORE * total)
        room = make(np.empty((size, *array.shape[1:]), array.dtype) for array in rows)
        for buffer, array in zip(room, rows, strict=True):
            buffer[:count] = array
    for buffer, array in zip(room, more, strict=True):
        buffer[count:total] = array
    return make(buffer[:total] for buffer in room), room

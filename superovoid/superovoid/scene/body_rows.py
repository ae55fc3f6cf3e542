# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of bodies for the kernels, one per body in the frame of its link, with spare rows for more.

Adding a body copies no other row. This module never writes to existing rows, and to each spare row only once, so forks
of a scene and tables of a loop that hold the earlier arrays see no change. Only one owner of a buffer may add to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from superovoid.scene.bodies import Body
from superovoid.scene.culling import Local
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.rounding import composition
from superovoid.shapes.primitives import pack_shapes
from superovoid.values.checks import LEAST_LENGTH

FloatArray = NDArray[np.float64]
Arrays: TypeAlias = tuple[NDArray[Any], ...]

_MORE = 0.25  # spare rows of a new buffer, as a share of the rows


def rows_of(bodies: Sequence[Body]) -> Local:
    """Shapes, places and bounds of bodies."""
    spheres = [body.shape.bounding_sphere() for body in bodies]
    boxes = [body.shape.obb() for body in bodies]
    packed = pack_shapes(body.shape for body in bodies)[0]
    return Local(
        packed,
        _stack([body.link_from_body for body in bodies], (4, 4)),
        _stack([sphere.centre for sphere in spheres], (3,)),
        _stack([sphere.radius for sphere in spheres], ()),
        _stack([box.centre for box in boxes], (3,)),
        _stack([box.half_extents for box in boxes], (3,)),
        losses_of(bodies, packed),
    )


def losses_of(bodies: Sequence[Body], packed: FloatArray) -> FloatArray:
    """Return the rounding of link pose times body pose, without the part from the link's position, m, shape (n,)."""
    return _stack([_loss(body, row) for body, row in zip(bodies, packed, strict=True)], ())


def _loss(body: Body, row: FloatArray) -> float:
    """Return the rounding of a body's points by the product of its two poses, without the part from its position, m.

    For a rotated half-space it is a tiny positive number, so that the error of the rotation is counted.
    """
    offset, radius = body.link_from_body, float(row[surface.RADIUS])
    turned = bool((offset[:3, :3] != np.eye(3)).any())
    return composition(radius if radius < math.inf else LEAST_LENGTH, float(np.linalg.norm(offset[:3, 3])), turned)


def _stack(items: Sequence[FloatArray | float], shape: tuple[int, ...]) -> FloatArray:
    return np.ascontiguousarray(items, dtype=np.float64) if items else np.empty((0, *shape))


def joined(rows: Arrays, more: Arrays, room: Arrays | None) -> tuple[Arrays, Arrays]:
    """Append rows to others.

    Parameters
    ----------
    rows, more : tuple of arrays
        Arrays of equal types and row shapes; all arrays of a tuple have the same number of rows.
    room : tuple of arrays, optional
        The buffers returned with `rows`; without them, `rows` are copied to new buffers.

    Returns
    -------
    rows, room : tuple of arrays
    """
    count = len(rows[0])
    total = count + len(more[0])
    if room is None or len(room[0]) < total:
        size = total if not count else total + int(_MORE * total)
        room = tuple(np.empty((size, *array.shape[1:]), array.dtype) for array in rows)
        for buffer, array in zip(room, rows, strict=True):
            buffer[:count] = array
    for buffer, array in zip(room, more, strict=True):
        buffer[count:total] = array
    return tuple(buffer[:total] for buffer in room), room

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangulation of a flat face with holes: bridges join the holes to the outer loop, then ears are cut off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return twice the signed area of triangles in the plane; arguments broadcast."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def _is_visible(
    at: FloatArray, p: int, q: int, starts: NDArray[np.int64], ends: NDArray[np.int64], tiny: float
) -> bool:
    """Return whether the segment between two vertices meets edges only at its own ends."""
    others = ~(np.isin(starts, (p, q)) | np.isin(ends, (p, q)))
    a, b = at[starts[others]], at[ends[others]]
    same_side = (_turn(at[p], at[q], a) > tiny) == (_turn(at[p], at[q], b) > tiny)
    same_side &= (_turn(at[p], at[q], a) < -tiny) == (_turn(at[p], at[q], b) < -tiny)
    apart = _turn(a, b, at[p]) * _turn(a, b, at[q]) > 0.0
    if not (same_side | apart).all():
        return False
    along = at[q] - at[p]
    corners = np.setdiff1d(starts, (p, q))
    place = (at[corners] - at[p]) @ along
    on_the_way = (np.abs(_turn(at[p], at[q], at[corners])) <= tiny) & (place > 0.0) & (place < along @ along)
    return not on_the_way.any()


def _join_loops(at: FloatArray, loops: Sequence[Sequence[int]], tiny: float) -> list[int]:
    """Return one loop around the face and, over bridges, around its holes."""
    starts = np.concatenate([np.asarray(loop) for loop in loops])
    ends = np.concatenate([np.roll(loop, -1) for loop in loops])
    outer, waiting = list(loops[0]), [list(loop) for loop in loops[1:]]
    bridges: list[tuple[int, int]] = []
    while waiting:
        # The shortest bridge is free of obstacles: a hole between its ends would have a shorter one.
        pairs = [
            (float(np.sum((at[p] - at[q]) ** 2)), i, j, k)
            for i, hole in enumerate(waiting)
            for j, p in enumerate(hole)
            for k, q in enumerate(outer)
        ]
        for _, i, j, k in sorted(pairs):
            p, q = waiting[i][j], outer[k]
            if any({p, q} & set(bridge) for bridge in bridges):
                continue
            all_starts = np.concatenate([starts, [s for s, _ in bridges]]).astype(np.int64)
            all_ends = np.concatenate([ends, [e for _, e in bridges]]).astype(np.int64)
            if _is_visible(at, p, q, all_starts, all_ends, tiny):
                hole = waiting.pop(i)
                outer[k + 1 : k + 1] = [*hole[j:], *hole[: j + 1], q]
                bridges.append((p, q))
                break
        else:
            raise ValueError(f"Polyhedron: no triangulation of the face {tuple(map(tuple, loops))}: its loops must not "
                             "cut each other")  # fmt: skip
    return outer


def triangulate(vertices: FloatArray, loops: Sequence[Sequence[int]], normal: FloatArray) -> NDArray[np.int64]:
    """Cut a flat face into triangles.

    Parameters
    ----------
    vertices : (n, 3) ndarray
        Vertices of the body.
    loops : sequence of sequences of int
        Outer loop, counter-clockwise about the normal, then holes, clockwise.
    normal : (3,) ndarray
        Unit normal.

    Returns
    -------
    (m, 3) ndarray of int
        Counter-clockwise about the normal; no vertices are added.

    Raises
    ------
    ValueError
        If the loops cut each other.
    """
    keep = np.argsort(np.abs(normal))[:2]
    first, second = sorted(keep.tolist())
    dropped = 3 - first - second
    flip = (normal[dropped] > 0.0) == (dropped == 1)
    at = vertices[:, [second, first] if flip else [first, second]]
    used = np.concatenate([np.asarray(loop) for loop in loops])
    tiny = 1e-13 * float(np.ptp(at[used], axis=0).max()) ** 2
    loop = _join_loops(at, loops, tiny)
    triangles = []
    while len(loop) > 3:
        for i in range(len(loop)):
            a, b, c = (loop[i - 1], loop[i], loop[(i + 1) % len(loop)])
            if not _turn(at[a], at[b], at[c]) > tiny:
                continue
            others = at[[v for v in set(loop) if v not in (a, b, c)]]
            inside = _turn(at[a], at[b], others) >= -tiny
            inside &= (_turn(at[b], at[c], others) >= -tiny) & (_turn(at[c], at[a], others) >= -tiny)
            if not inside.any():
                triangles.append((a, b, c))
                del loop[i]
                break
        else:
            raise ValueError(f"Polyhedron: no triangulation of the face {tuple(map(tuple, loops))}: its loops must not "
                             "cut themselves or each other")  # fmt: skip
    return np.array([*triangles, tuple(loop)], dtype=np.int64)

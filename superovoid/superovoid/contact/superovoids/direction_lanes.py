# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Many directions of a search at once, in SIMD lanes: where to split triangles, support points, bounds.

    triangles --cut--> directions --support--> points of M --bound--> lower bounds of h_M over the parts

All lie in one flat buffer, a row a quantity (`newton_lanes`). The formulas are those of the scalar kernels, recompiled
(`simd.in_lanes`). Support points are those of `support_function.support_near`, with a fixed number of steps: they are
points of M after any number of steps, and a bound of their deficit is stored with them.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.rows import layout, loader, storer
from superovoid.compiled.simd import in_lanes, rotate, rotate_back
from superovoid.compiled.vector import Vector, add, combine, scale, sub
from superovoid.contact.superovoids import triangles
from superovoid.contact.superovoids.triangles import Triangle
from superovoid.shapes.kernels import support_function, surface
from superovoid.shapes.kernels.surface import CONCAVITY_DEFICIT, CONCAVITY_HI, CONCAVITY_LO, INV_A3, TX, TY

WIDTH = 32
ROW = WIDTH + 8  # no power of two, which would crowd a column into a few sets of the cache
_NEXT_STEPS, _FIRST_STEPS = np.int64(2), np.int64(3)  # steps to a support point from one close by, and without a start

CORNER = 6 * ROW  # from one of the corners, or of the copies below, to the next
AT, LENGTH = layout(
    ROW,
    corners=24,  # three corners and the first once more, each a direction and its support point of M
    point=Vector,  # direction that splits the triangle
    core=Vector,  # point of M along it
    copies=12,  # both twice more, so that each edge is as far from one of these as the others
    bounds=18,  # of h_M over an edge's triangle with that direction, in every sixth row
    key=float,  # bound of the triangle
    chords=Vector,  # as of `triangles.Split`
    gap=float,
    turns=float,
    in_three=float,
    missing=float,  # deficit of the point of M to h_M
    body_a=9,  # rows `OF_BODY`
    body_b=9,
)
OF_BODY, _ = layout(ROW, direction=Vector, height=float, ring=float, x=Vector, lack=float)
"""Of a body: direction in its frame, height and radius of the surface point, that point, its deficit."""

in_lane, put_in_lane = loader(Vector, ROW), storer(Vector, ROW)
_load_6, _load_18 = loader(6, ROW), loader(18, ROW)
_load_shape = loader(INV_A3 + 1, 1)

_split_of = in_lanes(triangles.split_of)
_triangle_bound = in_lanes(triangles.triangle_bound)
_near_step = in_lanes(support_function.near_step)
_position = in_lanes(surface.position)


def _fan() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return 32 directions, an icosahedron's corners and faces, the first along z, and the 60 triangles between.

    No triangle has another direction in its circumscribed circle: each is between a corner and two adjacent faces.
    """
    turns = 0.4 * math.pi * np.arange(5)
    ring = [np.array([2.0 * math.cos(t), 2.0 * math.sin(t), 1.0]) / math.sqrt(5.0) for t in turns]
    axis = np.array([0.0, 0.0, 1.0])
    corners = [axis, *ring, -axis, *(-corner for corner in ring)]
    faces = [f for f in combinations(range(12), 3) if all(corners[i] @ corners[j] > 0.4 for i, j in combinations(f, 2))]
    middles = [sum(corners[i] for i in face) for face in faces]
    beside = [(i, j) for i, j in combinations(range(20), 2) if len({*faces[i]} & {*faces[j]}) == 2]
    cells = [(corner, 12 + i, 12 + j) for i, j in beside for corner in {*faces[i]} & {*faces[j]}]
    return np.array([*corners, *(middle / np.linalg.norm(middle) for middle in middles)]), np.array(cells, np.int64)


FAN, FAN_CELLS = _fan()
NEAREST = math.acos(np.sort(FAN[:, 2])[-2])
"""Angle between the first direction of the fan and the nearest other ones, rad."""


@kernel
def cut_in_lanes(lanes, count, radius, non_convex):
    """Choose where to split each triangle: `triangles.split_of`."""
    for i in range(count):
        t = _load_18(lanes, AT.corners + i)
        triangle = Triangle(t[0:3], t[6:9], t[12:15], t[3:6], t[9:12], t[15:18])
        split = _split_of(triangle, lanes[AT.key + i], radius, non_convex)
        put_in_lane(lanes, AT.point + i, split.point)
        put_in_lane(lanes, AT.chords + i, split.chords)
        lanes[AT.gap + i] = split.gap
        lanes[AT.turns + i] = split.turns
        lanes[AT.in_three + i] = 1.0 if split.in_three else 0.0


@kernel
def bound_in_lanes(lanes, count):
    """Lower bound of h_M, balls taken off, over triangles of two corners and the direction: `triangles.triangle_bound`.

    The buffer begins at the first of the two corners.
    """
    for i in range(count):
        p, q = _load_6(lanes, AT.corners + i), _load_6(lanes, AT.corners + CORNER + i)
        r = _load_6(lanes, AT.point + i)
        lanes[AT.bounds + i] = _triangle_bound(Triangle(p[0:3], q[0:3], r[0:3], p[3:6], q[3:6], r[3:6]))


@kernel
def bound_parts_in_lanes(lanes, count):
    """Bounds of the three triangles of an edge and the direction that splits the triangle."""
    for j in range(6):
        for i in range(count):
            lanes[AT.corners + 3 * CORNER + j * ROW + i] = lanes[AT.corners + j * ROW + i]
            lanes[AT.point + CORNER + j * ROW + i] = lanes[AT.point + j * ROW + i]
            lanes[AT.point + 2 * CORNER + j * ROW + i] = lanes[AT.point + j * ROW + i]
    for edge in range(3):
        bound_in_lanes(lanes[edge * CORNER :], count)


@kernel
def _points_of(rows, body, count, steps):
    """Surface points of a body along directions in its frame, from heights and radii close by.

    The rows are those of the body: no constant distances, no vectors.
    """
    shape = _load_shape(body, 0)
    lo, hi, deficit = body[CONCAVITY_LO], body[CONCAVITY_HI], body[CONCAVITY_DEFICIT]
    if shape[TX] == 0.0 and shape[TY] == 0.0:
        steps = 1
    for _ in range(steps):
        for i in range(count):
            f, lack = _near_step(shape, in_lane(rows, i), rows[OF_BODY.height + i], rows[OF_BODY.ring + i])
            rows[OF_BODY.height + i], rows[OF_BODY.ring + i] = f.w, f.r
            rows[OF_BODY.lack + i] = max(lack, deficit if lo <= f.w and f.w <= hi else 0.0)
            put_in_lane(rows, OF_BODY.x + i, _position(shape, f))


@kernel
def points_in_lanes(lanes, pair, count, first):
    """Compute surface points of both bodies along directions, from heights and radii close by unless `first`."""
    t = pair.rotation
    turn = t[0, 0], t[0, 1], t[0, 2], t[1, 0], t[1, 1], t[1, 2], t[2, 0], t[2, 1], t[2, 2]
    for i in range(count):
        n = in_lane(lanes, AT.point + i)
        put_in_lane(lanes, AT.body_a + i, n)
        put_in_lane(lanes, AT.body_b + i, rotate_back(turn, scale(-1.0, n)))
    steps = _FIRST_STEPS if first else _NEXT_STEPS
    _points_of(lanes[AT.body_a :], pair.a, count, steps)
    _points_of(lanes[AT.body_b :], pair.b, count, steps)


@kernel
def differences_in_lanes(lanes, pair, radius, count):
    """Compute points of M from points of both bodies, and their deficits."""
    centre, t = pair.centre, pair.rotation
    turn = t[0, 0], t[0, 1], t[0, 2], t[1, 0], t[1, 1], t[1, 2], t[2, 0], t[2, 1], t[2, 2]
    for i in range(count):
        n = in_lane(lanes, AT.point + i)
        y = add(centre, rotate(turn, in_lane(lanes, AT.body_b + OF_BODY.x + i)))
        m = sub(in_lane(lanes, AT.body_a + OF_BODY.x + i), y)
        put_in_lane(lanes, AT.core + i, combine(1.0, m, -radius, n))
        lanes[AT.missing + i] = lanes[AT.body_a + OF_BODY.lack + i] + lanes[AT.body_b + OF_BODY.lack + i]

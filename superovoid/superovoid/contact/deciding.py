# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Is the signed distance of two packed bodies below a threshold? With no more precision than the question takes.

Two convex bodies: GJK ends as soon as a direction proves them no closer, or a pair of points closer; where its
tetrahedron holds the origin, its least height proves an overlap. Two superovoids: `thresholds.compare_pair`. A mesh
that is not convex: hulls, triangles, and what lies inside (`convex.mesh_threshold`). What these leave open, and all
other kinds: the interval of the full answer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.contact.columns import LOWER, START, STARTED, STATE_LENGTH, UPPER
from superovoid.contact.convex import cores, epa, gjk, mesh_threshold
from superovoid.contact.convex.closed_surface import height_of_tetrahedron
from superovoid.contact.convex.core_settling import holds_means
from superovoid.contact.convex.features import are_sharp
from superovoid.contact.kind_table import (
    CONVEX,
    MESHES,
    METHODS,
    begin,
    solve_within,
    start_direction,
    start_of_polytopes,
)
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.difference import M, row_point
from superovoid.contact.pair import Placed
from superovoid.contact.thresholds import UNDECIDED, verdict_of
from superovoid.shapes import Shape
from superovoid.shapes.kernels.kinds import CONVEX_MESH, POINT, ball_radius, kind_of
from superovoid.shapes.kernels.surface import SIZE

FloatArray = NDArray[np.float64]

_STEPS = 64  # of GJK


@kernel
def _highest_upper(found):
    """The upper bound of a descent, of the depth in the tetrahedron where it ended in one."""
    if found.simplex.count < 4:
        return found.upper
    s = found.simplex
    return -height_of_tetrahedron(s.p, s.q, s.r, s.s)


@kernel
def _is_to_expand(found, upper, threshold):
    """Whether only the depth of the overlap decides."""
    return found.simplex.count == 4 and threshold <= 0.0 and not upper < threshold


@kernel
def _of_features(pair, n, goal, margin, loss, threshold):
    """The verdict on two cores of vertices and rims, and the best direction; radii of balls are in the threshold."""
    taken = margin + loss
    found = gjk.descend(pair, n, goal - 2.0 * margin, threshold - taken, threshold + taken)
    upper = _highest_upper(found)
    if _is_to_expand(found, upper + taken, threshold):
        answer = epa.expand(pair, found, goal, margin)
        return verdict_of(answer.lower - loss, answer.upper + loss, threshold), answer.n
    return verdict_of(found.lower - taken, upper + taken, threshold), found.n


@kernel(_nrt=True)
def _of_cores(pair, n, goal, margin, loss, threshold):
    """The same for any two convex cores."""
    w = difference.new_workspace()
    taken = margin + loss
    start = cores.Descent(0, -math.inf, n, math.inf, False, False, 0)
    found = cores.descend(pair, start, goal, threshold + taken, w, _STEPS, False)
    upper = found.upper
    if found.overlap and found.count == 4:
        p, q, r, s = row_point(w, 0, M), row_point(w, 1, M), row_point(w, 2, M), row_point(w, 3, M)
        upper = -height_of_tetrahedron(p, q, r, s)
    if not (holds_means(pair.a.row, pair.a.kind) and holds_means(pair.b.row, pair.b.kind)):
        upper = math.inf  # the simplex is of hulls, which reach across a dent
    return verdict_of(found.lower - taken, upper + taken, threshold), found.n


@kernel(separate=True)
def decide_convex(first, second, threshold, tolerance, loss, state):
    """The verdict on two convex bodies (`Placed`) from GJK alone, which may leave it open.

    `loss` is what is to be added to the bounds beside their own rounding, m.
    """
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    pair = task.pair
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    margin = difference.rounding(a, b, pair.centre)
    goal = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    of_cores = threshold + ball_radius(a, ka) + ball_radius(b, kb)
    if are_sharp(ka, kb):
        found, n = _of_features(pair, start_of_polytopes(task, state), goal, margin, loss, of_cores)
    else:
        found, n = _of_cores(pair, start_direction(task, state), goal, margin, loss, of_cores)
    state[STARTED] = 1.0 if task.straight else 2.0
    for i in range(3):
        state[START + i] = n[i]
    return found


@entry_point(separate=True)
def bounds_beside_mesh(
    first: Placed, second: Placed, threshold: float, tolerance: float, loss: float, state: Floats1
) -> tuple[float, float]:
    """Bounds of the signed distance of a mesh that is not convex and another body, which may leave a threshold open.

    `loss` as for `decide_convex`; it is not counted in the bounds. The state is renewed where they decide.
    """
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    a, b = task.pair.a.row, task.pair.b.row
    margin = difference.rounding(a, b, task.pair.centre)
    goal = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * margin
    n = start_direction(task, state)
    lower, upper, n = mesh_threshold.bounds(task.pair, n, threshold, goal, margin, loss)
    if verdict_of(lower - loss, upper + loss, threshold) != UNDECIDED:
        state[STARTED] = 1.0 if task.straight else 2.0
        for i in range(3):
            state[START + i] = n[i]
    return lower, upper


@kernel
def decide_within(first, second, threshold, limit, loss, state, rotation, out):
    """The verdict on two bodies (`Placed`) of any kinds."""
    ka, kb = kind_of(first.row), kind_of(second.row)
    # The closed forms of a sphere take no longer, but for a hull, of which they ask all planes.
    has_sphere, has_hull = ka == POINT or kb == POINT, ka == CONVEX_MESH or kb == CONVEX_MESH
    if METHODS[ka, kb] == CONVEX and (has_hull or not has_sphere):
        found = decide_convex(first, second, threshold, limit.tolerance, loss, state)
        if found != UNDECIDED:
            return found
    if METHODS[ka, kb] == MESHES:
        lower, upper = bounds_beside_mesh(first, second, threshold, limit.tolerance, loss, state)
        found = verdict_of(lower - loss, upper + loss, threshold)
        if found != UNDECIDED:
            return found
    solve_within(first, second, limit, state, rotation, out)
    return verdict_of(out[LOWER] - loss, out[UPPER] + loss, threshold)


def bounds_of_shapes(
    a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, threshold: float, tolerance: float
) -> tuple[float, float]:
    """`bounds_beside_mesh` for two shapes; nothing but infinite bounds where none is a mesh that it is for."""
    row_a, row_b = a._row, b._row
    if METHODS[kind_of(row_a), kind_of(row_b)] != MESHES:
        return -math.inf, math.inf
    first, second = Placed(row_a, a._pool, pose_a), Placed(row_b, b._pool, pose_b)
    lower, upper = bounds_beside_mesh(first, second, threshold, tolerance, 0.0, np.zeros(STATE_LENGTH))
    return float(lower), float(upper)

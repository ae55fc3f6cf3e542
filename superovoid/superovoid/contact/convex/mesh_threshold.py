# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Bounds of the signed distance of a mesh B and any body A that decide about a threshold t, without the depth.

Four proofs, the cheapest first. s is a length, p a point; balls around cores are counted.

hulls       The hulls are no closer than t: nor are the bodies. Two hulls of vertices that overlap are asked for the
            depth where t < 0: the bodies are in each other no deeper than their hulls.
surfaces    A triangle of B and A (or a triangle of A) are convex parts of the bodies. Points of two parts a length
            below t apart prove sd < t. Where the parts overlap, a tetrahedron of points of their Minkowski difference
            holds a ball about the origin, of radius r say: no translation shorter than r parts even these two, and
            sd <= -r. This needs no inside, so it holds for sheets.
inside      The surfaces are s apart, so that each connected part of one lies inside the other body as a whole, or
            outside. Inside: no translation shorter than s changes that, and sd <= -s. All outside: sd >= s.
points      For t < 0: p, of one body, lies inside the other one, s from all of its triangles: sd <= -s.

Inside is what a winding number says that is proved, rounding counted (`side_of`); near a surface it says nothing. The
triangles of a shell are there twice, turned both ways: its winding number is 0, so nothing is ever inside a shell.

What is left open stays so: touch, a flat contact, a threshold at the distance itself, most depths.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import cores
from superovoid.contact.convex.mesh_tree import (
    INSIDE,
    OUTSIDE,
    corners,
    opened,
    part_row,
    parts_of_node,
    point_along,
    reversed_pose,
    set_part,
    side_of,
    side_of_bodies,
)
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.on_surfaces import direction_of
from superovoid.contact.pair import Pair
from superovoid.shapes.kernels.kinds import (
    CODE,
    CONVEX_MESH,
    MESH,
    POINT,
    TORUS,
    Core,
    ball_radius,
)
from superovoid.shapes.kernels.surface import A1

_STACK = 512  # nodes that wait: two more a level of the trees
_MOST_OPEN = 64  # parts that touch as far as can be told, after which the surfaces say nothing

MET, OPEN, CLEAR = -1, 0, 1


# --- the trees ------------------------------------------------------------------------------------------------------


@kernel
def _gap_along(n, a, b):
    """Gap of two triangles along a unit vector, turned either way."""
    a0, a1, a2 = dot(n, a[0]), dot(n, a[1]), dot(n, a[2])
    b0, b1, b2 = dot(n, b[0]), dot(n, b[1]), dot(n, b[2])
    return max(min(b0, b1, b2) - max(a0, a1, a2), min(a0, a1, a2) - max(b0, b1, b2))


@kernel
def _gap_along_normals(a, b):
    """Larger gap of two triangles along their normals."""
    gap = -math.inf
    for k in range(2):
        p, q, r = a if k == 0 else b
        normal = cross(sub(q, p), sub(r, p))
        length = norm(normal)
        if length > 0.0:
            gap = max(gap, _gap_along(scale(1.0 / length, normal), a, b))
    return gap


@kernel(_nrt=True)
def _search(pair, cut, threshold, margin, w):
    """Look for parts of the surfaces that are below a threshold.

    Parameters
    ----------
    pair : Pair
        A: a mesh, or a core of another kind but a torus. B: a mesh.
    cut : float
        Distance of cores from which parts are left out, m; positive.
    threshold : float
        What the upper bound of two cores must be below, m.

    Returns
    -------
    MET and that bound; CLEAR: all parts are at least `cut` apart; OPEN: neither.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    row_a, row_b, box = part_row(a), part_row(b), b.row.copy()
    hull = CODE[CONVEX_MESH]
    part_a, part_b = Core(row_a, _hull_kind(a), a.pool), Core(row_b, hull, b.pool)
    nodes = np.zeros((_STACK, 2), np.int64)
    depth = 1
    opened_parts = 0
    while depth > 0:
        depth -= 1
        i, j = nodes[depth, 0], nodes[depth, 1]
        first_a, count_a = parts_of_node(a, i)
        first_b, count_b = parts_of_node(b, j)
        if count_a > 0 and count_b > 0:
            for t in range(first_b, first_b + count_b):
                set_part(row_b, b, t)
                p, q, r = corners(b, t)
                q_b = (
                    add(centre, rotate(rotation, p)),
                    add(centre, rotate(rotation, q)),
                    add(centre, rotate(rotation, r)),
                )
                middle_b = scale(1.0 / 3.0, add(add(q_b[0], q_b[1]), q_b[2]))
                for s in range(first_a, first_a + count_a):
                    line = middle_b
                    if a.kind == MESH:
                        set_part(row_a, a, s)
                        q_a = corners(a, s)
                        if _gap_along_normals(q_a, q_b) >= cut:
                            continue
                        line = sub(middle_b, scale(1.0 / 3.0, add(add(q_a[0], q_a[1]), q_a[2])))
                    parts = Pair(part_a, part_b, rotation, centre)
                    n = direction_of((0.0, 0.0, 0.0), line, (0.0, 0.0, 1.0))
                    lower, upper, _ = cores.bounds_about(parts, n, margin, margin, threshold, cut, w)
                    if upper < threshold:
                        return MET, upper
                    if not (lower >= cut):
                        opened_parts += 1
                        if opened_parts >= _MOST_OPEN:
                            return OPEN, math.inf
            continue
        # The node that overlaps most, or is nearest, is looked at first.
        children = opened(pair, i, j, cut, margin, box, w)
        for c in range(2):
            (i, j), gap = (children.far, children.far_gap) if c == 0 else (children.near, children.gap)
            if gap >= cut:
                continue
            if depth >= _STACK:
                return OPEN, math.inf
            nodes[depth, 0], nodes[depth, 1] = i, j
            depth += 1
    return (CLEAR, math.inf) if opened_parts == 0 else (OPEN, math.inf)


# --- all of it ----------------------------------------------------------------------------------------------------


@kernel
def _hull_kind(core):
    return CODE[CONVEX_MESH] if core.kind == MESH else core.kind


@kernel(_nrt=True)
def _point_is_deep(pair, n, cut, margin, w):
    """Whether the farthest point of A along n is proved to be inside a mesh B, so far from all of its triangles."""
    out_of_line()
    a = pair.a
    x = point_along(a, n)
    p = rotate_back(pair.rotation, sub(combine(1.0, x, ball_radius(a.row, a.kind), n), pair.centre))
    point = pair.b.row.copy()
    point[A1] = 0.0  # its radius
    beside = Pair(Core(point, CODE[POINT], pair.b.pool), pair.b, np.eye(3), scale(-1.0, p))
    found, _ = _search(beside, cut, -math.inf, margin, w)
    return found == CLEAR and side_of(pair.b, p, True) == INSIDE


@kernel(separate=True, _nrt=True)
def bounds(pair, n, threshold, goal, margin, loss):
    """Bounds of the signed distance, infinite where nothing is proved, and the best direction of the hulls.

    Parameters
    ----------
    pair : Pair
        B: a mesh that is not convex.
    n : tuple
        Unit direction to start from.
    threshold : float
        m; to be decided with `loss` added to both bounds.
    goal : float
        Width of an interval of hulls, m.
    margin, loss : float
        What rounding takes from the bounds here, and what it takes beside, m.
    """
    out_of_line()
    a, b = pair.a, pair.b
    w = difference.new_workspace()
    ball = ball_radius(a.row, a.kind)
    taken = margin + loss
    of_cores = threshold + ball
    hulls = Pair(Core(a.row, _hull_kind(a), a.pool), Core(b.row, _hull_kind(b), b.pool), pair.rotation, pair.centre)
    lower, _, n = cores.bounds_about(hulls, n, goal, margin, min(of_cores - taken, 0.0), of_cores + taken, w)
    lower -= margin + ball
    if lower - loss >= threshold or a.kind == TORUS:
        return lower, math.inf, n  # the core of a torus is no convex part
    cut = max(threshold, 0.0) + ball + 2.0 * taken
    found, upper = _search(pair, cut, of_cores - taken, margin, w)
    if found == MET:
        return lower, upper + margin - ball, n
    if found == CLEAR:
        side = side_of_bodies(pair, True)
        apart = cut - margin - ball
        if side == OUTSIDE:
            return max(lower, apart), math.inf, n
        if side == INSIDE:
            deep = abs(threshold) + 2.0 * taken
            if threshold < 0.0 and _search(pair, ball + deep, -math.inf, margin, w)[0] == CLEAR:
                apart = deep - margin
            return lower, -apart, n
        return lower, math.inf, n
    if threshold < 0.0:
        deep = 2.0 * taken - threshold
        if _point_is_deep(pair, n, deep, margin, w):
            return lower, margin - deep, n
        if a.kind == MESH:
            back, centre = reversed_pose(pair)
            u = rotate_back(pair.rotation, scale(-1.0, n))
            if _point_is_deep(Pair(b, a, back, centre), u, deep, margin, w):
                return lower, margin - deep, n
    return lower, math.inf, n

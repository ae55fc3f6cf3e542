# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""The tree of boxes over the triangles of a mesh, and proofs about the convex parts of two bodies.

The parts of a mesh are its triangles, hulls of three vertices. Of other bodies the core is the one part. A box of the
tree is a convex core too: a bound for the box holds for all triangles in it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.aabb_tree import NODE, NODE_LENGTH
from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import alternating, cores
from superovoid.contact.minkowski.on_surfaces import unit_vector
from superovoid.contact.pair import Pair
from superovoid.contact.separation import gap_of_boxes
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.rounding import EPS, ROUNDED
from superovoid.shapes.kernels.surface import A1, A2, A3, RADIUS

INSIDE, UNSURE, OUTSIDE = -1, 0, 1
STACK = 128  # nodes that wait: a tree is halved at each level


# --- triangles and boxes ------------------------------------------------------------------------------------------


@kernel
def corners(core, i):
    """Corners of triangle i of a mesh."""
    pool = core.pool
    k = int(core.row[kinds.TRIANGLES]) + 9 * i
    return (
        (pool[k], pool[k + 1], pool[k + 2]),
        (pool[k + 3], pool[k + 4], pool[k + 5]),
        (pool[k + 6], pool[k + 7], pool[k + 8]),
    )


@kernel(_nrt=True)
def part_row(core):
    """Return a row for parts of a body (`set_part`); for bodies other than meshes, the body's own row."""
    row = core.row.copy()
    if core.kind == kinds.MESH:
        row[kinds.VERTEX_COUNT], row[kinds.BLOCKS] = 3.0, -1.0
    return row


@kernel
def set_part(row, core, i):
    """Fill a row of parts with triangle i of a mesh: a hull of three vertices."""
    if core.kind == kinds.MESH:
        row[kinds.VERTICES] = core.row[kinds.TRIANGLES] + 9 * i


@kernel
def node_box(core, node):
    """Centre and half extents of the box of a node of a mesh."""
    pool, k = core.pool, int(core.row[kinds.NODES]) + NODE_LENGTH * node
    low = (pool[k + NODE.lower], pool[k + NODE.lower + 1], pool[k + NODE.lower + 2])
    high = (pool[k + NODE.upper], pool[k + NODE.upper + 1], pool[k + NODE.upper + 2])
    return scale(0.5, add(low, high)), scale(0.5, sub(high, low))


@kernel
def parts_of_node(core, node):
    """First triangle of a leaf of a mesh and their number, or the second child of an inner node and 0.

    For a body other than a mesh, its only part.
    """
    if core.kind != kinds.MESH:
        return 0, 1
    k = int(core.row[kinds.NODES]) + NODE_LENGTH * node
    second = int(core.pool[k + NODE.second])
    if second > 0:
        return node + second, 0
    first = int(core.pool[k + NODE.first])
    return first, int(core.pool[k + NODE.end]) - first


@kernel
def point_along(core, n):
    """Return a point of a body's core farthest along n: for a mesh, a corner of its triangles.

    The hull of a mesh has additional vertices if the mesh is flat, a needle or nearly so (`shapes.hull`).
    """
    if core.kind != kinds.MESH:
        x, _, _ = kinds.core_support(core, n)
        return x
    pool, at = core.pool, int(core.row[kinds.TRIANGLES])
    best, farthest = -math.inf, n
    for k in range(at, at + 9 * int(core.row[kinds.TRIANGLE_COUNT]), 3):
        p = (pool[k], pool[k + 1], pool[k + 2])
        if dot(n, p) > best:
            best, farthest = dot(n, p), p
    return farthest


# --- inside or outside --------------------------------------------------------------------------------------------


@kernel
def _half_angle(core, p):
    """Half of the solid angle of the triangles of a mesh about a point in its frame, and a bound of its error.

    Van Oosterom and Strackee, "The solid angle of a plane triangle", 1983; `side_of` derives the error.
    """
    pool = core.pool
    at = int(core.row[kinds.TRIANGLES])
    total, error = 0.0, 0.0
    for i in range(int(core.row[kinds.TRIANGLE_COUNT])):
        k = at + 9 * i
        u = (pool[k] - p[0], pool[k + 1] - p[1], pool[k + 2] - p[2])
        v = (pool[k + 3] - p[0], pool[k + 4] - p[1], pool[k + 5] - p[2])
        w = (pool[k + 6] - p[0], pool[k + 7] - p[1], pool[k + 8] - p[2])
        lu, lv, lw = norm(u), norm(v), norm(w)
        volume = lu * lv * lw
        det = dot(u, cross(v, w))
        below = volume + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv
        slack = ROUNDED * volume
        length = math.sqrt(det * det + below * below)
        if not (length > 4.0 * slack) or (below <= slack and abs(det) <= slack):
            error = math.inf
        else:
            error += 2.0 * slack / length + 8.0 * EPS
        total += math.atan2(det, below)
    return total, error


@kernel
def _cross_sign(a, b):
    """Return the sign of the cross product of two vectors in a plane, 0 if rounding might change it.

    Each product is off by two differences and its own rounding, the difference of the two by one more: 2 EPS in all.
    """
    one, other = a[0] * b[1], a[1] * b[0]
    slack = 4.0 * EPS * (abs(one) + abs(other))
    return (1 if one - other > slack else 0) - (1 if one - other < -slack else 0)


@kernel
def _crossing(u, v, w):
    """Return how a triangle meets the ray along the first axis from the origin, and whether rounding may change that.

    1: the ray leaves through it; -1: it enters; 0: it misses.
    """
    first = _cross_sign((v[1], v[2]), (w[1], w[2]))
    second = _cross_sign((w[1], w[2]), (u[1], u[2]))
    third = _cross_sign((u[1], u[2]), (v[1], v[2]))
    if min(first, second, third) < 0 and max(first, second, third) > 0:
        return 0, False
    if first * second * third == 0:
        return 0, max(u[0], v[0], w[0]) >= 0.0
    det = dot(u, cross(v, w))
    most = norm(u) * norm(v) * norm(w)
    if abs(det) <= ROUNDED * most:
        return 0, True
    return (first if det * first > 0.0 else 0), False


@kernel(_nrt=True)
def _crossings(core, p, axis):
    """Count how often a ray along an axis leaves a mesh less how often it enters; also return whether this is sure."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    margin = 1e-12 * core.row[RADIUS]
    stack = np.empty(STACK, np.int64)
    stack[0] = 0
    depth, total = 1, 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        middle, half = node_box(core, node)
        across = max(abs(p[j] - middle[j]) - half[j], abs(p[k] - middle[k]) - half[k])
        if max(across, p[axis] - middle[axis] - half[axis]) > margin:
            continue
        first, triangles = parts_of_node(core, node)
        for t in range(first, first + triangles):
            a, b, c = corners(core, t)
            found, is_unsure = _crossing(
                (a[axis] - p[axis], a[j] - p[j], a[k] - p[k]),
                (b[axis] - p[axis], b[j] - p[j], b[k] - p[k]),
                (c[axis] - p[axis], c[j] - p[j], c[k] - p[k]),
            )
            if is_unsure:
                return 0, False
            total += found
        if triangles == 0:
            if depth + 2 > STACK:
                return 0, False
            stack[depth], stack[depth + 1] = node + 1, first
            depth += 2
    return total, True


@kernel(_nrt=True)
def side_of(core, p, proved):
    r"""Return whether a point in the frame of a mesh is inside it, or outside; if `proved`, rounding counted.

    The winding number is the number of times that a ray leaves the mesh less the number of times that it enters. Three
    rays are tried. If each is near an edge, or the point near a triangle, solid angles decide:

    The solid angle of a triangle is twice the angle of (below, det) in the plane (`_half_angle`). With unit vectors of
    cosines a, b, c, below^2 + det^2 = 2 (1 + a)(1 + b)(1 + c) times the square of the product of the three lengths.
    The rounding errors of both are below 33 EPS of this product, including the subtraction of p; `ROUNDED` is twice
    that. They change the angle by at most their ratio to the root of the sum. Nothing is known near the negative axis,
    across which the angle jumps from -pi to pi, and at the origin. The sum of all angles is a multiple of 2 pi.
    """
    middle, half = node_box(core, 0)
    for i in range(3):
        if abs(p[i] - middle[i]) > (1.0 + 1e-12) * half[i] + 1e-12 * core.row[RADIUS]:
            return OUTSIDE
    for axis in range(3):
        windings, is_sure = _crossings(core, p, axis)
        if is_sure:
            return INSIDE if windings > 0 else OUTSIDE
    total, error = _half_angle(core, p)
    if not proved:
        error = 0.0
    if total - error > math.pi:
        return INSIDE
    return OUTSIDE if total + error <= math.pi else UNSURE


@kernel(_nrt=True)
def _side_of_shells(pair, proved):
    """Return whether a connected part of the surface of a mesh A is inside a mesh B, or all are outside."""
    a, pool = pair.a.row, pair.a.pool
    side = OUTSIDE
    for i in range(int(a[kinds.SHELL_COUNT])):
        k = int(a[kinds.SHELLS]) + 3 * i
        p = (pool[k], pool[k + 1], pool[k + 2])
        side = min(side, side_of(pair.b, rotate_back(pair.rotation, sub(p, pair.centre)), proved))
    return side


@kernel(_nrt=True)
def reversed_pose(pair):
    """Rotation and centre of a pair with the bodies exchanged."""
    return np.ascontiguousarray(pair.rotation.T), rotate_back(pair.rotation, scale(-1.0, pair.centre))


@kernel(_nrt=True)
def side_of_bodies(pair, proved):
    """INSIDE: of two bodies whose surfaces are apart, one has a part inside the other. OUTSIDE: they are disjoint.

    Each connected part of one surface is wholly inside or wholly outside the other body. A part of B inside a body
    other than a mesh touches it, because its core is not a surface.
    """
    if pair.a.kind != kinds.MESH:
        x, _, _ = kinds.core_support(pair.a, (0.0, 0.0, 1.0))
        return side_of(pair.b, rotate_back(pair.rotation, sub(x, pair.centre)), proved)
    rotation, centre = reversed_pose(pair)
    return min(_side_of_shells(pair, proved), _side_of_shells(Pair(pair.b, pair.a, rotation, centre), proved))


# --- bounds of parts ----------------------------------------------------------------------------------------------


@kernel
def _axes_of(rotation):
    return (
        (rotation[0, 0], rotation[1, 0], rotation[2, 0]),
        (rotation[0, 1], rotation[1, 1], rotation[2, 1]),
        (rotation[0, 2], rotation[1, 2], rotation[2, 2]),
    )


@kernel(_nrt=True)
def gap_of_nodes(pair, i, j, enough, margin, box, w):
    """Lower bound of the distance of a node of a mesh A, or the core of another body, from a node of a mesh B.

    A bound of at least `enough` need not be the best. Rounding errors are not counted. `box` is a row of B for boxes.
    """
    a, b = pair.a, pair.b
    middle, half = node_box(b, j)
    at = add(pair.centre, rotate(pair.rotation, middle))
    if a.kind == kinds.MESH:
        middle, half_a = node_box(a, i)
        return gap_of_boxes(_axes_of(pair.rotation), sub(at, middle), half_a, half, enough, margin)
    box[A1], box[A2], box[A3] = half
    parts, goal = Pair(a, kinds.Core(box, kinds.CODE[kinds.BOX], b.pool), pair.rotation, at), 0.1 * norm(at)
    nearest = alternating.nearest_points(parts, goal, margin, enough)
    if nearest.upper - nearest.lower <= goal or nearest.lower > enough:
        return nearest.lower + margin
    return cores.bounds_about(parts, unit_vector(at, (0.0, 0.0, 1.0)), goal, margin, -math.inf, enough, w)[0]


class NodePairs(NamedTuple):
    """Two pairs of nodes in place of one, with lower bounds of their distances; rounding is not counted."""

    near: tuple
    gap: float
    far: tuple
    far_gap: float


@kernel(_nrt=True)
def open_node(pair, i, j, enough, margin, box, w):
    """Open the larger of two nodes, at least one with children; parameters as in `gap_of_nodes`."""
    a, b = pair.a, pair.b
    second_a, count_a = parts_of_node(a, i)
    second_b, count_b = parts_of_node(b, j)
    open_b = count_b <= 0
    if open_b and count_a <= 0:
        _, half_a = node_box(a, i)
        _, half_b = node_box(b, j)
        open_b = max(half_b[0], half_b[1], half_b[2]) >= max(half_a[0], half_a[1], half_a[2])
    one, other = ((i, j + 1), (i, second_b)) if open_b else ((i + 1, j), (second_a, j))
    gap = gap_of_nodes(pair, one[0], one[1], enough, margin, box, w)
    other_gap = gap_of_nodes(pair, other[0], other[1], enough, margin, box, w)
    return NodePairs(one, gap, other, other_gap) if gap <= other_gap else NodePairs(other, other_gap, one, gap)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of the kinds of bodies: packed rows, support points of the cores, distances of a point.

Every body is the sum of a *core* and a ball about the origin: a capsule is a segment and a ball, a torus a circle and a
ball, a sphere a point and a ball; the ball of all others has no radius. Since h(core + ball) = h(core) + r, the signed
distance of two bodies is that of their cores less both radii: only cores are ever solved.

A core is a union of *strata* in the sense of its support function, which is smooth on each: a vertex (h = n . v), a rim
(h = R |n_perp| +- H n_z), a smooth body. The support point carries the number of its stratum. If a face or an edge
touches, the support points of nearby directions come from the strata that span it.

A compound is a union of such bodies, its members, and has no core.

Packed row: the columns of `surface` that mean the same for every kind (A1 to A3, RADIUS, SIZE), then the columns
below. Vertices, planes, neighbours and trees of meshes live in a pool, a flat array of float64, at the offsets of the
row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import bundle, entry_point, inline, kernel
from superovoid.compiled.vector import (
    LEAST_DIVISOR,
    add,
    combine,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    vector_at,
)
from superovoid.compiled.vertex_scan import LANES, highest_in_blocks
from superovoid.shapes.kernels.rounding import composition
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    BODY_LENGTH,
    HAS_CONCAVITY,
    RADIUS,
    S_,
    TX,
    TY,
    P,
    gradient,
    position,
    shape_operator,
)

# Kinds (column KIND; 0 so that a row padded with zeros is a superovoid).
SUPEROVOID, HALF_SPACE, CAPSULE, BOX, CYLINDER, CONE, TORUS, CONVEX_MESH, MESH, COMPOUND = range(10)
KIND_COUNT = 10
POINT, TRIANGLE = 10, 11  # the core of a sphere, and a part of a mesh; never packed
# numba compiles a kernel once more for every constant it is called with; an entry of this table is not a constant.
CODE = np.arange(12)

# Columns that follow those of a superovoid.
KIND = BODY_LENGTH
VERTICES, VERTEX_COUNT = BODY_LENGTH + 1, BODY_LENGTH + 2  # of the convex hull, three numbers each
PLANES, PLANE_COUNT = BODY_LENGTH + 3, BODY_LENGTH + 4  # of the hull's facets: outward normal and offset
TRIANGLES, TRIANGLE_COUNT = BODY_LENGTH + 5, BODY_LENGTH + 6  # nine numbers each, in the order of the tree's leaves
NODES, NODE_COUNT = BODY_LENGTH + 7, BODY_LENGTH + 8  # of the tree, as `aabb_tree` has them
IS_CONVEX = BODY_LENGTH + 9  # 1 for a mesh whose hull it is
PLANE_LOSS = BODY_LENGTH + 10  # by which the planes may misjudge the depth of a point in the hull
SUPPORT_LOSS = BODY_LENGTH + 11  # by which support values of the hull may be too small
SHELLS, SHELL_COUNT = BODY_LENGTH + 12, BODY_LENGTH + 13  # a point of each connected part of a mesh's surface
BLOCKS = BODY_LENGTH + 14  # the hull's vertices once more (`vertex_scan`); -1: none
ROW_LENGTH = BODY_LENGTH + 15
POOL_COLUMNS = (VERTICES, PLANES, TRIANGLES, NODES, SHELLS, BLOCKS)
# Of a compound: its members, each a row, whose offsets count from the first member, and a pose in the compound.
MEMBERS, MEMBER_COUNT = TRIANGLES, TRIANGLE_COUNT
MEMBER_LENGTH = ROW_LENGTH + 16

_MOST_CURVATURE = 1e12  # of a support function, in units of the body's size: a flat spot
_PARALLEL = 1e-9  # one less the cosine of two directions that count as one
_TIED = 1e-12  # of the body's size: distances of a point from two sides that differ less count as equal
UPRIGHT = 1e-150  # of a unit vector across the axis of a rim: less has no square


@bundle
class PackedBody(NamedTuple):
    """A body: its row of numbers, and the pool that the row refers to."""

    row: Floats1
    pool: Floats1


class Core(NamedTuple):
    """A packed body without the ball around it, with its kind and the pool that holds its vertices and trees."""

    row: Floats1
    kind: int
    pool: Floats1


@kernel
def is_sphere(row):
    """Return whether a packed superovoid is a sphere."""
    return row[A1] == row[A2] == row[A3] and row[TX] == 0.0 and row[TY] == 0.0 and row[P] == 2.0 and row[S_] == 2.0


@kernel
def kind_of(row):
    """Kind of the core: POINT for a sphere, a convex mesh for a mesh that turns out to be one."""
    kind = int(row[KIND])
    if kind == MESH and row[IS_CONVEX] == 1.0:
        return CONVEX_MESH
    return POINT if kind == SUPEROVOID and is_sphere(row) else kind


@kernel
def is_convex(core):
    """Return whether a body is convex."""
    if core.kind == SUPEROVOID:
        return core.row[HAS_CONCAVITY] == 0.0
    return not (core.kind == TORUS or core.kind == MESH or core.kind == COMPOUND)


@kernel
def ball_radius(row, kind):
    """Radius of the ball that, added to the core, gives the body."""
    if kind == POINT or kind == CAPSULE:
        return row[A1]
    return row[A2] if kind == TORUS else 0.0


@kernel
def vertex(row, pool, i):
    """Vertex i of a mesh."""
    return vector_at(pool, int(row[VERTICES]) + 3 * i)


@inline
def highest_vertex(row, pool, n):
    """Number of the vertex with the largest n . v, the first of equal ones, by looking at all."""
    if row[BLOCKS] >= 0.0:
        blocks = (int(row[VERTEX_COUNT]) + LANES - 1) // LANES
        number = highest_in_blocks(pool, int(row[BLOCKS]), blocks, n[0], n[1], n[2])
        return number if number < int(row[VERTEX_COUNT]) else np.int64(0)
    at = int(row[VERTICES])
    best, value = np.int64(0), -math.inf
    for i in range(int(row[VERTEX_COUNT])):
        k = at + 3 * i
        height = n[0] * pool[k] + n[1] * pool[k + 1] + n[2] * pool[k + 2]
        if height > value:
            best, value = i, height
    return best


@kernel
def across_axis(n):
    """Length of the part of a unit vector across the z axis."""
    return math.sqrt(n[0] * n[0] + n[1] * n[1])


@inline
def stratum_along(core, n):
    """Number of the stratum on which the support point of a core along n lies, of any core but a smooth one."""
    row, kind, pool = core
    if kind == BOX:
        return (1 if n[0] < 0.0 else 0) + (2 if n[1] < 0.0 else 0) + (4 if n[2] < 0.0 else 0)
    if kind == CAPSULE or kind == CYLINDER:
        return 1 if n[2] < 0.0 else 0
    if kind == CONE:
        return 1 if row[A1] * across_axis(n) > 2.0 * row[A3] * n[2] else 0
    if kind == TRIANGLE or kind == CONVEX_MESH or kind == MESH:
        return highest_vertex(row, pool, n)
    return 0


@kernel
def point_of_stratum(core, stratum, n):
    """Support point along n of one stratum of a core, of any core but a smooth one."""
    row, kind, pool = core
    if kind == BOX:
        return (
            -row[A1] if stratum & 1 else row[A1],
            -row[A2] if stratum & 2 else row[A2],
            -row[A3] if stratum & 4 else row[A3],
        )
    if kind == CAPSULE:
        return (0.0, 0.0, -row[A3] if stratum == 1 else row[A3])
    if kind == CYLINDER or kind == TORUS or kind == CONE:
        return _rim_point(row, kind, stratum, n)
    if kind == TRIANGLE or kind == CONVEX_MESH or kind == MESH:
        return vertex(row, pool, stratum)
    return (0.0, 0.0, 0.0)


@kernel(separate=True)
def core_support(core, n):
    """Support point of a core along a unit vector n, its stratum, and a proved upper bound of the support function."""
    if core.kind == SUPEROVOID:
        f, upper = support(core.row, n)
        return position(core.row, f), 0, upper
    stratum = stratum_along(core, n)
    x = point_of_stratum(core, stratum, n)
    return x, stratum, dot(n, x)


@kernel
def _rim_point(row, kind, stratum, n):
    """Point of a rim (or the apex of a cone) along n."""
    z, across = 0.0, across_axis(n)
    if kind == CYLINDER:
        z = -row[A3] if stratum == 1 else row[A3]
    elif kind == CONE:
        if stratum == 0:
            return (0.0, 0.0, row[A3])
        z = -row[A3]
    if across < UPRIGHT:
        return (row[A1], 0.0, z)
    return (row[A1] * n[0] / across, row[A1] * n[1] / across, z)


@kernel
def _radii_of_superovoid(row, n, t1, t2):
    """Support point of a superovoid along n and the Hessian of its support function in the tangent frame.

    The Hessian is the inverse of the shape operator, clipped at flat spots.
    """
    f, _ = support(row, n)
    s11, s12, s22 = shape_operator(row, f, t1, t2, 1.0 / norm(gradient(row, f)))
    largest = max(s11 + s22, LEAST_DIVISOR)
    least = largest / _MOST_CURVATURE
    s11 += least
    s22 += least
    det = s11 * s22 - s12 * s12
    if not (det > 0.0):
        return position(row, f), 0.0, 0.0, 0.0
    return position(row, f), s22 / det, -s12 / det, s11 / det


@kernel
def stratum_point(core, stratum, n, t1, t2):
    """Point of one stratum along n, with the Hessian (11, 12, 22) of its support function in the tangent frame."""
    row, kind = core.row, core.kind
    if kind == SUPEROVOID:
        return _radii_of_superovoid(row, n, t1, t2)
    x = point_of_stratum(core, stratum, n)
    if not (kind == CYLINDER or kind == TORUS or (kind == CONE and stratum == 1)):
        return x, 0.0, 0.0, 0.0
    across = across_axis(n)
    if across < 1e-12:
        return x, 0.0, 0.0, 0.0
    radius = row[A1] / across
    e1 = (n[0] * t1[1] - n[1] * t1[0]) / across
    e2 = (n[0] * t2[1] - n[1] * t2[0]) / across
    return x, radius * e1 * e1, radius * e1 * e2, radius * e2 * e2


@kernel
def flat_at(core, x, n, slack):
    """Dimension of the core's contact set along n (0 a point, 1 an edge, 2 a face), and the direction of an edge.

    `x` is a point of the contact set; `slack` is the length by which points may lie lower and still count.
    """
    row, kind, pool = core
    edge = (0.0, 0.0, 1.0)
    across = across_axis(n)
    is_upright = across <= slack / max(row[A1], row[A2], row[A3], LEAST_DIVISOR)
    if kind == BOX:
        free = 0
        axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        for i in range(3):
            if 2.0 * abs(n[i]) * row[A1 + i] <= slack:
                free += 1
                edge = axes[i]
        return min(free, 2), edge
    if is_upright and (kind == CYLINDER or kind == TORUS or (kind == CONE and n[2] < 0.0)):
        return 2, edge
    if kind == CAPSULE or kind == CYLINDER:
        return (1 if 2.0 * abs(n[2]) * row[A3] <= slack else 0), edge
    if kind == CONE and not is_upright and abs(row[A1] * across - 2.0 * row[A3] * n[2]) <= slack:
        ruling = (row[A1] * n[0] / across, row[A1] * n[1] / across, -2.0 * row[A3])
        return 1, scale(1.0 / math.hypot(row[A1], 2.0 * row[A3]), ruling)
    dimension = 0
    if kind == CONVEX_MESH or kind == MESH:
        level = dot(n, x) - slack
        for i in range(int(row[VERTEX_COUNT])):
            v = vertex(row, pool, i)
            if dot(n, v) < level:
                continue
            step = sub(v, x)
            length = norm(step)
            if length <= 2.0 * slack:
                continue
            step = scale(1.0 / length, step)
            if dimension == 0:
                edge, dimension = step, 1
            elif abs(dot(step, edge)) < 1.0 - _PARALLEL:
                return 2, edge
    return dimension, edge


# --- distance of a point ------------------------------------------------------------------------------------------
#
# Each returns the signed distance of a point from the body, the unit gradient (outward), the nearest point of the
# boundary, and whether it is unique.


@kernel
def _outside_distance(p, foot, otherwise):
    """Distance, direction and uniqueness for a point outside, with a direction for a point on the foot."""
    d = sub(p, foot)
    length = norm(d)
    return length, (scale(1.0 / length, d) if length > 0.0 else otherwise), foot, length > 0.0


@kernel
def point_to_segment(row, p):
    """Signed distance, normal and foot of a point: segment on the z axis."""
    inside = abs(p[2]) < row[A3]
    otherwise = (1.0, 0.0, 0.0) if inside else (0.0, 0.0, math.copysign(1.0, p[2]))
    return _outside_distance(p, (0.0, 0.0, min(row[A3], max(-row[A3], p[2]))), otherwise)


@kernel
def point_to_box(row, p):
    """Signed distance, normal and foot of a point: box."""
    gap_x, gap_y, gap_z = abs(p[0]) - row[A1], abs(p[1]) - row[A2], abs(p[2]) - row[A3]
    deepest = max(gap_x, gap_y, gap_z)
    if deepest > 0.0:
        foot = (
            min(row[A1], max(-row[A1], p[0])),
            min(row[A2], max(-row[A2], p[1])),
            min(row[A3], max(-row[A3], p[2])),
        )
        return _outside_distance(p, foot, (0.0, 0.0, 1.0))
    slack = _TIED * max(row[A1], row[A2], row[A3])
    ties = (gap_x >= deepest - slack) + (gap_y >= deepest - slack) + (gap_z >= deepest - slack)
    axis = 0 if gap_x == deepest else (1 if gap_y == deepest else 2)
    sign = math.copysign(1.0, p[axis])
    normal = (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0)
    foot = (
        sign * row[A1] if axis == 0 else p[0],
        sign * row[A2] if axis == 1 else p[1],
        sign * row[A3] if axis == 2 else p[2],
    )
    return deepest, normal, foot, ties == 1 and abs(p[axis]) > slack


@kernel
def _radial(p):
    """Distance from the axis and the direction away from it (any, on the axis)."""
    across = math.hypot(p[0], p[1])
    if across > 0.0:
        return across, p[0] / across, p[1] / across
    return 0.0, 1.0, 0.0


@kernel
def point_to_cylinder(row, p):
    """Signed distance, normal and foot of a point: cylinder about the z axis."""
    across, ex, ey = _radial(p)
    radius, half = row[A1], row[A3]
    side, end = across - radius, abs(p[2]) - half
    sign = math.copysign(1.0, p[2])
    if side > 0.0 or end > 0.0:
        rho, z = min(across, radius), min(half, max(-half, p[2]))
        return _outside_distance(p, (rho * ex, rho * ey, z), (ex, ey, 0.0))
    slack = _TIED * max(radius, half)
    if side >= end:
        foot = (radius * ex, radius * ey, p[2])
        return side, (ex, ey, 0.0), foot, across > slack and side - end > slack
    return end, (0.0, 0.0, sign), (p[0], p[1], sign * half), abs(p[2]) > slack and end - side > slack


@kernel
def point_to_cone(row, p):
    """A cone is a triangle turned about z: in the half plane (rho, z) it is (0, H), (R, -H), (0, -H)."""
    across, ex, ey = _radial(p)
    radius, half = row[A1], row[A3]
    slant = math.hypot(radius, 2.0 * half)
    nr, nz = 2.0 * half / slant, radius / slant  # outward normal of the slanted side
    side = nr * across + nz * (p[2] - half)
    base = -half - p[2]
    slack = _TIED * max(radius, half)
    if side <= 0.0 and base <= 0.0:
        if side >= base:
            rho, z = across - side * nr, p[2] - side * nz
            return side, (nr * ex, nr * ey, nz), (rho * ex, rho * ey, z), across > slack and side - base > slack
        return base, (0.0, 0.0, -1.0), (p[0], p[1], -half), base - side > slack
    # Outside: the foot on the slanted side, clamped to it, or the foot on the base.
    t = min(1.0, max(0.0, (across * radius - (p[2] - half) * 2.0 * half) / (slant * slant)))
    rho, z = t * radius, half - t * 2.0 * half
    slanted = math.hypot(across - rho, p[2] - z)
    rho_base = min(across, radius)
    level = math.hypot(across - rho_base, p[2] + half)
    if side <= 0.0 or level < slanted:
        rho, z = rho_base, -half
    return _outside_distance(p, (rho * ex, rho * ey, z), (nr * ex, nr * ey, nz))


@kernel
def point_to_circle(row, p):
    """Distance, normal and foot of a point: circle about the z axis."""
    across, ex, ey = _radial(p)
    off = across - row[A1]
    length = math.hypot(off, p[2])
    # Of a point on the circle within rounding, the difference to the foot would point along the circle as well.
    c, s = (off / length, p[2] / length) if length > 0.0 else (1.0, 0.0)
    return length, (c * ex, c * ey, s), (row[A1] * ex, row[A1] * ey, 0.0), length > 0.0 and across > _TIED * row[A1]


@kernel
def point_to_torus(row, ball, p):
    """Signed distance of a ball about p from a torus, all radii counted, as distance of the core plus the radii.

    If the ball fills the hole, a translation along the nearest radius may cross the axis into the other side. Then the
    shortest separating translation leads to the cusp on the axis of the region that the centre of the ball must leave.
    At the cusp the ball touches the torus in a whole circle, and no point of it is in line with the translation.

    Returns the distance, the direction of the separating translation, the point of the core in line with it, whether
    the points are unique, and whether the translation is.
    """
    d, n, foot, unique = point_to_circle(row, p)
    reach = ball + row[A2]
    across, ex, ey = _radial(p)
    # reach - A1 with what the sum of reach has rounded off: the height of the cusp, a root, magnifies that.
    tube = reach - ball
    over = (reach - row[A1]) + ((ball - (reach - tube)) + (row[A2] - tube))
    square = over * (reach + row[A1])
    # The way leads across where A1 + reach (across - A1) / d < 0; squared, so that nothing small is a difference.
    gap = row[A1] - across
    if over > 0.0 and gap > 0.0 and square * gap * gap > (row[A1] * p[2]) ** 2:
        cusp = (0.0, 0.0, math.copysign(math.sqrt(square), p[2]))
        away = sub(cusp, p)
        length = norm(away)
        n = scale(1.0 / length, away) if length > 0.0 else (0.0, 0.0, math.copysign(1.0, p[2]))
        circle = (row[A1] * ex, row[A1] * ey, 0.0)
        touched = combine(1.0, circle, row[A2] / reach, sub(cusp, circle))
        return reach - length, n, combine(1.0, touched, -row[A2], n), False, p[2] != 0.0
    return d, n, foot, unique, unique or d >= reach


@kernel
def point_in_hull(core, p):
    """Largest signed distance of a point from the facet planes of a convex mesh; negative: the point is inside."""
    row, pool = core.row, core.pool
    best = -math.inf
    normal = (0.0, 0.0, 1.0)
    second = -math.inf
    at = int(row[PLANES])
    for i in range(int(row[PLANE_COUNT])):
        k = at + 4 * i
        n = vector_at(pool, k)
        height = dot(n, p) - pool[k + 3]
        if height > best:
            if dot(n, normal) < 1.0 - _PARALLEL:
                second = best
            best, normal = height, n
        elif height > second and dot(n, normal) < 1.0 - _PARALLEL:
            second = height
    return best, normal, (p[0] - best * normal[0], p[1] - best * normal[1], p[2] - best * normal[2]), best > second


@kernel
def point_to_core(core, p):
    """Signed distance of a point from a core of closed form; of a mesh valid inside its hull only."""
    row, kind = core.row, core.kind
    if kind == CAPSULE:
        return point_to_segment(row, p)
    if kind == BOX:
        return point_to_box(row, p)
    if kind == CYLINDER:
        return point_to_cylinder(row, p)
    if kind == CONE:
        return point_to_cone(row, p)
    if kind == TORUS:
        return point_to_circle(row, p)
    if kind == CONVEX_MESH or kind == MESH:
        return point_in_hull(core, p)
    if kind == HALF_SPACE:
        return p[2], (0.0, 0.0, 1.0), (p[0], p[1], 0.0), True
    return _outside_distance(p, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@kernel
def _support_with_ball(core, n):
    x, _, upper = core_support(core, n)
    ball = ball_radius(core.row, core.kind)
    return upper + ball, (x[0] + ball * n[0], x[1] + ball * n[1], x[2] + ball * n[2])


@kernel
def _support_of_members(core, n):
    """Largest upper bound of the members of a compound, and the point of the member that has it."""
    row, pool = core.row, core.pool
    first = int(row[MEMBERS])
    best, point = -math.inf, (0.0, 0.0, 0.0)
    for i in range(int(row[MEMBER_COUNT])):
        k = first + i * MEMBER_LENGTH
        member, pose = pool[k : k + ROW_LENGTH], pool[k + ROW_LENGTH : k + MEMBER_LENGTH].reshape(4, 4)
        origin = (pose[0, 3], pose[1, 3], pose[2, 3])
        upper, x = _support_with_ball(Core(member, kind_of(member), pool[first:]), rotate_back(pose, n))
        upper += dot(n, origin) + composition(member[RADIUS], norm(origin), True)
        if upper > best:
            best, point = upper, add(origin, rotate(pose, x))
    return best, point


@kernel
def body_support(core, n):
    """Upper bound of the support function of a whole body along a unit vector, and a point that attains it."""
    return _support_of_members(core, n) if core.kind == COMPOUND else _support_with_ball(core, n)


@entry_point
def support_points(body: PackedBody, directions: Floats2, points: Floats2, values: Floats1) -> None:
    """Support point, and a proved upper bound of the support function, for each row of unit directions."""
    core = Core(body.row, kind_of(body.row), body.pool)
    for i in range(directions.shape[0]):
        values[i], x = body_support(core, vector_at(directions[i], 0))
        points[i, 0], points[i, 1], points[i, 2] = x


@entry_point(nogil=True)
def fill_boxes(rows: Floats2, pool: Floats1, centres: Floats2, halves: Floats2) -> None:
    """Box around each body along the axes of its frame: centre, and half extents, which a half-space has infinite."""
    for k in range(rows.shape[0]):
        core = Core(rows[k], kind_of(rows[k]), pool)
        for i in range(3):
            if core.kind == HALF_SPACE:
                centres[k, i], halves[k, i] = 0.0, math.inf
                continue
            n = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
            upper, _ = body_support(core, n)
            lower, _ = body_support(core, scale(-1.0, n))
            centres[k, i], halves[k, i] = 0.5 * (upper - lower), 0.5 * (upper + lower)


@entry_point
def heights_of_points(body: PackedBody, points: Floats2, heights: Floats1) -> None:
    """Signed distance of each point from a body of closed form; of a convex mesh, largest height above a facet."""
    core = Core(body.row, kind_of(body.row), body.pool)
    for i in range(points.shape[0]):
        distance, _, _, _ = point_to_core(core, vector_at(points[i], 0))
        heights[i] = distance - ball_radius(core.row, core.kind)

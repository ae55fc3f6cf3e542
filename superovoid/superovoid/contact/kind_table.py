# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One table from a pair of kinds to the function that answers it, and one entry for all of them.

==================  ============================================================================================
three pairs         what happens
==================  ============================================================================================
ovoid, ovoid        `pair_solver.solve_pair`, as if the other kinds did not exist
sphere, box         the sphere is a point with a ball around it: the distance of a point from a box, less a radius
cylinder, box       apart: alternating projections (`alternating`), as for spheres; then GJK and Newton on vertices and
                    rims (`gjk`); where that leaves the interval open, as for all curved cores, both go through their
                    support functions (`cores`)
==================  ============================================================================================

The bodies of a pair are brought into one order first, so that both orders give the same answer bit by bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact import columns
from superovoid.contact.convex import alternating, cores, mesh, torus
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.flats import FLATNESS, are_along_another, flat_on_plane, touching_flats
from superovoid.contact.minkowski.on_surfaces import off_line, onto_surface
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.pair_solver import poses_in_order, relative_pose, solve_pair
from superovoid.shapes.kernels.kinds import (
    BOX,
    CAPSULE,
    CONE,
    CONVEX_MESH,
    CYLINDER,
    HALF_SPACE,
    KIND_COUNT,
    MESH,
    PLANE_LOSS,
    POINT,
    SUPEROVOID,
    TORUS,
    TRIANGLE_COUNT,
    VERTEX_COUNT,
    VERTICES,
    Core,
    ball_radius,
    body_support,
    flat_of_simple,
    kind_of,
    point_in_hull,
    point_to_core,
    point_to_torus,
)
from superovoid.shapes.kernels.rounding import EPS, allowance
from superovoid.shapes.kernels.surface import SIZE, TX, TY, P
from superovoid.values.status import ARBITRARY_NORMAL, DENT, NON_UNIQUE, PRECISION, UNBOUNDED, UNPROVEN

_SAME_WAY = 0.5  # cosine: a direction farther from the line of two middles is that of another pose
# Methods.
OVOIDS, HALF_SPACES, CONVEX, TORI, MESHES = range(5)
OPPOSED = 64.0 * EPS  # |n_A + n_B| of half-spaces that face each other: what `rounding` allows two rotations

# The first of two kinds in this order is the first body of the method.
_ORDER = (HALF_SPACE, POINT, CAPSULE, BOX, CYLINDER, CONE, CONVEX_MESH, SUPEROVOID, TORUS, MESH)
_RANK = np.array([_ORDER.index(kind) for kind in range(KIND_COUNT + 1)])


def method_of(kind_a: int, kind_b: int) -> int:
    """Method for a pair of kinds, POINT standing for a sphere."""
    first, second = sorted((kind_a, kind_b), key=_ORDER.index)
    if first in (SUPEROVOID, POINT) and second in (SUPEROVOID, POINT):
        return OVOIDS
    if first == HALF_SPACE:
        return HALF_SPACES
    if second == MESH:
        return MESHES
    return TORI if second == TORUS and first != POINT else CONVEX


METHODS = np.array([[method_of(i, j) for j in range(KIND_COUNT + 1)] for i in range(KIND_COUNT + 1)])


@kernel
def _in_order(a, b, ka, kb, pool_a, pool_b, pose_a, pose_b):
    if _RANK[ka] != _RANK[kb]:
        return _RANK[ka] < _RANK[kb]
    for i in range(TY + 4):
        if a[i] != b[i]:
            return a[i] < b[i]
    if a[VERTEX_COUNT] != b[VERTEX_COUNT]:
        return a[VERTEX_COUNT] < b[VERTEX_COUNT]
    if a[TRIANGLE_COUNT] != b[TRIANGLE_COUNT]:
        return a[TRIANGLE_COUNT] < b[TRIANGLE_COUNT]
    if not (poses_in_order(pose_a, pose_b) and poses_in_order(pose_b, pose_a)):
        return poses_in_order(pose_a, pose_b)
    at_a, at_b = int(a[VERTICES]), int(b[VERTICES])
    for i in range(3 * int(a[VERTEX_COUNT])):  # meshes that are alike but for their vertices
        if pool_a[at_a + i] != pool_b[at_b + i]:
            return pool_a[at_a + i] < pool_b[at_b + i]
    return True


@kernel
def _two_half_spaces(rotation, centre):
    """Half-spaces that face each other have a gap. All others meet, and no translation parts them, however long.

    Normals that oppose each other as far as rotations can be told are taken to face each other.
    """
    nb = rotate(rotation, (0.0, 0.0, 1.0))
    up = (0.0, 0.0, 1.0)
    if norm(add(nb, up)) <= OPPOSED:
        gap = centre[2]
        margin = allowance(0.0, 0.0, norm(centre))
        return cores.Cores(gap, gap - margin, gap + margin, (centre[0], centre[1], 0.0), centre, up, 0, NON_UNIQUE)
    # A point of both: on the common line of the two boundaries, or below both.
    line = cross(up, nb)
    length = norm(line)
    x = (0.0, 0.0, min(0.0, centre[2]))
    if length > OPPOSED:
        across = scale(1.0 / length, cross(line, up))  # in the plane of A, towards where B falls away
        x = scale(dot(nb, centre) / dot(nb, across), across)
    status = NON_UNIQUE | ARBITRARY_NORMAL | UNBOUNDED
    return cores.Cores(-math.inf, -math.inf, -math.inf, x, x, up, 0, status)


@kernel
def _half_space(pair):
    """A plane and any body: the body's support function along the plane's inward normal, convex or not."""
    rotation, centre = pair.rotation, pair.centre
    upper, y = body_support(pair.b, rotate_back(rotation, (0.0, 0.0, -1.0)))
    y = add(centre, rotate(rotation, y))
    lower = centre[2] - upper
    return cores.Cores(y[2], min(lower, y[2]), y[2], (y[0], y[1], 0.0), y, (0.0, 0.0, 1.0), 0, 0)


class Task(NamedTuple):
    """Two bodies in the order of the method."""

    pair: Pair
    pose: NDArray[np.float64]  # of the frame of A in the world
    straight: bool  # whether the order is the caller's


@kernel(separate=True)
def begin(a, b, pool_a, pool_b, pose_a, pose_b, state):
    """Return the `Task` of two bodies; scratch of the state holds its rotation."""
    ka, kb = kind_of(a), kind_of(b)
    straight = _in_order(a, b, ka, kb, pool_a, pool_b, pose_a, pose_b)
    if not straight:
        a, b = b, a
        ka, kb = kb, ka
        pool_a, pool_b = pool_b, pool_a
        pose_a, pose_b = pose_b, pose_a
    rotation = state[columns.SCRATCH : columns.SCRATCH + 9].reshape(3, 3)
    centre = relative_pose(pose_a, pose_b, rotation)
    return Task(Pair(Core(a, ka, pool_a), Core(b, kb, pool_b), rotation, centre), pose_a, straight)


@kernel
def _middle_of(core):
    """Centre of the box of a hull in its own frame, in which the origin may be far from it; the origin of others."""
    row = core.row
    return (row[TX], row[TY], row[P]) if core.kind == CONVEX_MESH else (0.0, 0.0, 0.0)


@kernel
def start_direction(task, state):
    """The direction of an earlier answer, if it is not far from the line of the middles; else that line."""
    pair = task.pair
    line = sub(add(pair.centre, rotate(pair.rotation, _middle_of(pair.b))), _middle_of(pair.a))
    length = norm(line)
    n = (state[columns.START], state[columns.START + 1], state[columns.START + 2])
    if state[columns.STARTED] == (1.0 if task.straight else 2.0) and dot(n, line) >= _SAME_WAY * length:
        return n
    return scale(1.0 / length, line) if length > 0.0 else (0.0, 0.0, 1.0)


@kernel
def _widths(pair, tolerance):
    """Width of the interval that counts as certified, what it would be without rounding, and what rounding takes."""
    a, b = pair.a.row, pair.b.row
    margin = difference.rounding(a, b, pair.centre)
    wanted = tolerance * min(a[SIZE], b[SIZE])
    return wanted + 4.0 * margin, wanted, margin


@kernel
def _opposite_status(pair, answer, goal):
    """`ARBITRARY_NORMAL` if the translation against the normal is as short, to within the goal.

    Of convex cores. Along n these are -distance deep, so h is to be no more than that and the goal. Balls add the same
    to both. Since h(n) + h(-n) >= 0, cores farther apart than the goal have no such way.
    """
    out_of_line()
    h = difference.difference_support(pair, scale(-1.0, answer.n)).h
    return ARBITRARY_NORMAL if h <= goal - answer.distance else 0


@kernel
def _with_balls(answer, ball_a, ball_b):
    """Answer for two bodies from that for their cores: radii counted, points on the balls."""
    radii = ball_a + ball_b
    outward = cores.ball_direction(answer.x, answer.y, answer.n, radii) if radii > 0.0 else answer.n
    return cores.Cores(
        answer.distance - radii,
        answer.lower - radii,
        answer.upper - radii,
        combine(1.0, answer.x, ball_a, outward),
        combine(1.0, answer.y, -ball_b, outward),
        answer.n,
        answer.iterations,
        answer.status,
    )


@kernel
def _with_points_on_surfaces(answer, pair):
    """The same answer with its points on the surfaces.

    Means of support points lie under a surface by as much as the interval is wide, and the ball of a torus that is not
    at its nearest reaches beyond.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    x = onto_surface(pair.a, answer.x, answer.n)
    y = rotate_back(rotation, sub(answer.y, centre))
    y = onto_surface(pair.b, y, rotate_back(rotation, scale(-1.0, answer.n)))
    y = add(centre, rotate(rotation, y))
    return cores.Cores(answer.distance, answer.lower, answer.upper, x, y, answer.n, answer.iterations, answer.status)


@kernel
def _on_surfaces(answer, pair):
    """The same answer, of which an interval is open, with its points on the surfaces.

    Apart, the distance is that of the points. Overlapping, the interval says by how much they miss it.
    """
    out_of_line()
    k = _with_points_on_surfaces(answer, pair)
    distance = norm(sub(k.y, k.x)) if k.distance > 0.0 else k.distance
    off = distance if k.distance > 0.0 else k.distance + off_line(k.x, k.y, -k.distance, k.n)
    return cores.Cores(distance, min(k.lower, distance), max(k.upper, off), k.x, k.y, k.n, k.iterations, k.status)


@kernel
def _finish(task, answer, status, goal, wanted, state, out):
    """Write the answer for two bodies to a result row; renew the state.

    `goal` is the width of the interval that counts as certified, `wanted` what it would be without rounding.
    """
    pose = task.pose
    state[columns.STARTED] = 1.0 if task.straight else 2.0
    for i in range(3):
        state[columns.START + i] = answer.n[i]
    x = rotate(pose, answer.x)
    y = rotate(pose, answer.y)
    n = rotate(pose, answer.n)
    pa, pb, sign = (
        (columns.POINT_A, columns.POINT_B, 1.0) if task.straight else (columns.POINT_B, columns.POINT_A, -1.0)
    )
    out[columns.DISTANCE] = answer.distance
    out[columns.LOWER] = answer.lower
    out[columns.UPPER] = answer.upper
    for i in range(3):
        out[pa + i] = x[i] + pose[i, 3]
        out[pb + i] = y[i] + pose[i, 3]
        out[columns.NORMAL + i] = sign * n[i]
    if answer.upper - answer.lower > goal:
        status |= UNPROVEN
    else:
        status &= ~DENT  # what a dent had left open has been closed by other points
    if goal > 2.0 * wanted:
        status |= PRECISION
    out[columns.STATUS] = status
    out[columns.ITERATIONS] = answer.iterations


@kernel(separate=True)
def solve_half_spaces(first, second, limit, state, out):
    """A plane and any body, another plane included."""
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    pair = task.pair
    b, centre = pair.b.row, pair.centre
    if pair.b.kind == HALF_SPACE:
        answer = _two_half_spaces(pair.rotation, centre)
        _finish(task, answer, answer.status, math.inf, math.inf, state, out)
        return
    margin = difference.rounding(b, b, centre)
    wanted = limit.tolerance * b[SIZE]
    goal = wanted + 4.0 * margin
    k = _half_space(pair)
    answer = cores.Cores(k.distance, k.lower - margin, k.upper + margin, k.x, k.y, k.n, 0, 0)
    y = rotate_back(pair.rotation, sub(k.y, centre))
    flat = flat_on_plane(pair.b, y, rotate_back(pair.rotation, (0.0, 0.0, -1.0)))
    _finish(task, answer, NON_UNIQUE if flat else 0, goal, wanted, state, out)


@kernel
def _from_point(pair, margin):
    """A sphere, whose core is the origin, and a core of closed form."""
    rotation, centre = pair.rotation, pair.centre
    p = rotate_back(rotation, scale(-1.0, centre))
    if pair.b.kind == TORUS:
        ball = ball_radius(pair.a.row, pair.a.kind)
        d, normal, foot, unique, only_way = point_to_torus(pair.b.row, ball, p)
        p = combine(1.0, foot, d, normal)
    else:
        d, normal, foot, unique = point_to_core(pair.b, p)
        only_way = unique
    status = (0 if unique else NON_UNIQUE) | (0 if only_way else ARBITRARY_NORMAL)
    x, y = add(centre, rotate(rotation, p)), add(centre, rotate(rotation, foot))
    normal = scale(-1.0, rotate(rotation, normal))
    return cores.Cores(d, d - margin, d + margin, x, y, normal, 1, status)


# Solvers with scratch of their own, which is freed here: their callers count no references, and would neither free an
# array that they are handed nor pass on one that is counted.


@kernel(_nrt=True)
def _answer_cores(pair, n, goal, far, budget):
    w = difference.new_workspace()
    answer = cores.solve_cores(pair, n, goal, far, budget, w)
    beside = off_line(answer.x, answer.y, -norm(sub(answer.y, answer.x)), answer.n)
    if answer.distance > 0.0 and beside > goal and answer.upper - answer.lower <= goal:
        # Points beside the normal by the square root of an interval that is closed: a narrower one brings them closer.
        fine = 0.01 * goal
        other = cores.solve_cores(pair, answer.n, fine, far, budget, w)
        length = norm(sub(other.y, other.x))
        if other.upper - other.lower <= goal and off_line(other.x, other.y, -length, other.n) < beside:
            return other
    return answer


@kernel(_nrt=True)
def _answer_torus(pair, n, goal, budget):
    w = difference.new_workspace()
    return torus.solve(pair, n, goal, budget, w)


@kernel(_nrt=True)
def _answer_mesh(pair, n, goal, budget):
    w = difference.new_workspace()
    return mesh.solve(pair, n, goal, budget, w)


@kernel(separate=True)
def solve_apart(first, second, limit, state, rotation, out):
    """Two convex `Placed` apart that points are projected on (`alternating`); returns whether that has answered.

    Apart from `solve_convex_within`, so that what most pairs of a robot take is not paid for by what the others do.
    """
    a, b, pose_a, pose_b = first.row, second.row, first.pose, second.pose
    ka, kb = kind_of(a), kind_of(b)
    if not (alternating.has_projection(ka) and alternating.has_projection(kb)):
        return False
    straight = _in_order(a, b, ka, kb, first.pool, second.pool, pose_a, pose_b)
    if not straight:
        a, b, ka, kb, pose_a, pose_b = b, a, kb, ka, pose_b, pose_a
    centre = relative_pose(pose_a, pose_b, rotation)
    pair = Pair(Core(a, ka, first.pool), Core(b, kb, first.pool), rotation, centre)  # neither refers to a pool
    goal, wanted, margin = _widths(pair, limit.tolerance)
    ball_a, ball_b = ball_radius(a, ka), ball_radius(b, kb)
    far = limit.beyond + ball_a + ball_b
    x, y, n, length, lower, steps = alternating.nearest_points(pair, goal - 2.0 * margin, margin, far + margin)
    lower = min(lower - margin, length)
    if not (length + margin - lower <= goal or lower > far):
        return False
    slack = FLATNESS * min(a[SIZE], b[SIZE])
    flat_a, edge_a = flat_of_simple(a, ka, n, slack)
    flat_b, edge_b = flat_of_simple(b, kb, rotate_back(rotation, scale(-1.0, n)), slack)
    is_flat = flat_a > 0 and flat_b > 0 and are_along_another(flat_a, edge_a, flat_b, rotate(rotation, edge_b))
    answer = cores.Cores(length, lower, length + margin, x, y, n, steps, 0)
    task = Task(pair, pose_a, straight)
    status = NON_UNIQUE if is_flat else 0
    if length < ball_a + ball_b and length <= goal:
        status |= _opposite_status(pair, answer, goal)
    _finish(task, _with_balls(answer, ball_a, ball_b), status, goal, wanted, state, out)
    return True


@kernel(separate=True)
def solve_convex_within(first, second, limit, state, out):
    """Two convex bodies, or a sphere and a torus; beyond the limit's distance the interval may be a wide one."""
    out_of_line()
    tolerance, budget, beyond, _ = limit
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    pair = task.pair
    a, ka = pair.a.row, pair.a.kind
    b, kb, centre = pair.b.row, pair.b.kind, pair.centre
    ball_a, ball_b = ball_radius(a, ka), ball_radius(b, kb)
    goal, wanted, margin = _widths(pair, tolerance)
    closed = ka == POINT
    if ka == POINT and kb == CONVEX_MESH:
        height, _, _, _ = point_in_hull(pair.b, rotate_back(pair.rotation, scale(-1.0, centre)))
        closed = height <= 0.0
    if closed:
        if kb == CONVEX_MESH:
            margin += b[PLANE_LOSS]
            goal += 4.0 * b[PLANE_LOSS]
        answer = _from_point(pair, margin)
        status = answer.status
    else:
        far = beyond + ball_a + ball_b
        answer = _answer_cores(pair, start_direction(task, state), goal, far + margin, budget)
        if answer.lower > far:
            _finish(task, _with_balls(answer, ball_a, ball_b), answer.status, goal, wanted, state, out)
            return
        status = answer.status
        if touching_flats(pair, answer.x, answer.y, answer.n, min(a[SIZE], b[SIZE])):
            status |= NON_UNIQUE
    if answer.distance >= ball_a + ball_b:
        status &= ~ARBITRARY_NORMAL
    elif kb != TORUS and answer.distance <= goal:
        status |= _opposite_status(pair, answer, goal)
    answer = _with_balls(answer, ball_a, ball_b)
    if answer.upper - answer.lower > goal:
        answer = _on_surfaces(answer, pair)
    _finish(task, answer, status, goal, wanted, state, out)


@kernel(separate=True)
def solve_torus(first, second, limit, state, out):
    """A torus and a convex body other than a sphere, or another torus."""
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    goal, wanted, _ = _widths(task.pair, limit.tolerance)
    answer, status = _answer_torus(task.pair, start_direction(task, state), goal, limit.budget)
    answer = _on_surfaces(answer, task.pair)
    _finish(task, answer, status, goal, wanted, state, out)


@kernel(separate=True)
def solve_mesh(first, second, limit, state, out):
    """A mesh that is not convex and any body but a plane."""
    out_of_line()
    task = begin(first.row, second.row, first.pool, second.pool, first.pose, second.pose, state)
    goal, wanted, _ = _widths(task.pair, limit.tolerance)
    answer, status = _answer_mesh(task.pair, start_direction(task, state), goal, limit.budget)
    if status & UNPROVEN or answer.upper - answer.lower > goal:
        answer = _on_surfaces(answer, task.pair)
    elif answer.distance < 0.0:
        # Moved apart, the bodies touch as far as can be told: the points may lie deeper than the interval is wide.
        answer = _with_points_on_surfaces(answer, task.pair)
    _finish(task, answer, status, goal, wanted, state, out)


@kernel
def solve_within(a, b, limit, state, rotation, out):
    """Answer for two `Placed` of any kinds, written to a result row; beyond the limit's distance it may be a wide one.

    `state` is what an earlier answer of this pair has left, zeros for none, and renewed; `rotation` is scratch.
    """
    method = METHODS[kind_of(a.row), kind_of(b.row)]
    if method == OVOIDS:
        solve_pair(a.row, b.row, a.pose, b.pose, limit.tolerance, limit.budget, state, rotation, out)
    elif method == HALF_SPACES:
        solve_half_spaces(a, b, limit, state, out)
    elif method == CONVEX:
        if not solve_apart(a, b, limit, state, rotation, out):
            solve_convex_within(a, b, limit, state, out)
    elif method == TORI:
        solve_torus(a, b, limit, state, out)
    else:
        solve_mesh(a, b, limit, state, out)

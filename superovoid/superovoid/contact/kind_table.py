# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One table from a pair of kinds to the function that answers it. `compounds.solve_within` is the entry for all bodies.

==================  ============================================================================================
three pairs         what happens
==================  ============================================================================================
ovoid, ovoid        `pair_solver.solve_pair`, as if the other kinds did not exist
sphere, box         the sphere is a point with a ball around it: the distance of a point from a box, less a radius
cylinder, box       apart: alternating projections (`alternating`), as for spheres; then GJK and Newton on vertices and
                    rims (`difference`); if the interval stays open, as for all curved cores, searches of their support
                    functions (`cores`)
==================  ============================================================================================

The bodies of a pair are brought into one order first, so that both orders give the same answer bit by bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import (
    add,
    combine,
    cross,
    dot,
    norm,
    put_vector,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
    vector_at,
)
from superovoid.contact.columns import START, write_answer
from superovoid.contact.convex import alternating, cores, mesh, nearest_to_core, torus
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.flats import flat_on_plane, touching_flats
from superovoid.contact.minkowski.on_surfaces import off_line, onto_surfaces, unit_vector
from superovoid.contact.pair import UNDECIDED, Limit, Pair, verdict_of
from superovoid.contact.superovoids.pair_solver import comparison, relative_pose, solve_pair
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.rounding import ROUNDED, allowance
from superovoid.shapes.kernels.surface import SIZE, TX, TY, P
from superovoid.values.status import ARBITRARY_NORMAL, NON_UNIQUE, UNBOUNDED, UNPROVEN

# Methods.
OVOIDS, HALF_SPACES, CONVEX, TORI, MESHES, COMPOUNDS = range(6)
_PROJECTIONS = 4  # of another direction at a touch, to one that separates

# The first of two kinds in this order is the first body of the method.
_ORDER = (
    kinds.HALF_SPACE,
    kinds.POINT,
    kinds.CAPSULE,
    kinds.BOX,
    kinds.CYLINDER,
    kinds.CONE,
    kinds.CONVEX_MESH,
    kinds.SUPEROVOID,
    kinds.TORUS,
    kinds.MESH,
    kinds.COMPOUND,
)
_RANK = np.array([_ORDER.index(kind) for kind in range(kinds.KIND_COUNT + 1)])


def method_of(kind_a: int, kind_b: int) -> int:
    """Method for a pair of kinds, POINT standing for a sphere."""
    first, second = sorted((kind_a, kind_b), key=_ORDER.index)
    if second == kinds.COMPOUND:
        return COMPOUNDS
    if first in (kinds.SUPEROVOID, kinds.POINT) and second in (kinds.SUPEROVOID, kinds.POINT):
        return OVOIDS
    if first == kinds.HALF_SPACE:
        return HALF_SPACES
    if second == kinds.MESH:
        return MESHES
    return TORI if second == kinds.TORUS and first != kinds.POINT else CONVEX


METHODS = np.array([[method_of(i, j) for j in range(kinds.KIND_COUNT + 1)] for i in range(kinds.KIND_COUNT + 1)])


@kernel
def in_order(first, second):
    """Return whether the first of two `PlacedBody` is the first body of their method."""
    a, b = first.row, second.row
    ka, kb = kinds.kind_of(a), kinds.kind_of(b)
    if _RANK[ka] != _RANK[kb]:
        return _RANK[ka] < _RANK[kb]
    sign = comparison(a, b, first.pose, second.pose)
    if sign != 0:
        return sign < 0
    for i in (kinds.VERTEX_COUNT, kinds.TRIANGLE_COUNT):
        if a[i] != b[i]:
            return a[i] < b[i]
    at_a, at_b = int(a[kinds.VERTICES]), int(b[kinds.VERTICES])
    for i in range(3 * int(a[kinds.VERTEX_COUNT])):  # meshes that differ in their vertices only
        if first.pool[at_a + i] != second.pool[at_b + i]:
            return first.pool[at_a + i] < second.pool[at_b + i]
    return True


@kernel
def _two_half_spaces(rotation, centre):
    """Half-spaces that face each other have a gap. All others meet, and no translation separates them.

    Half-spaces count as facing each other if their normals are opposite to within the rounding of rotations.
    """
    nb = rotate(rotation, (0.0, 0.0, 1.0))
    up = (0.0, 0.0, 1.0)
    if norm(add(nb, up)) <= ROUNDED:
        gap = centre[2]
        margin = allowance(0.0, 0.0, norm(centre))
        return cores.CoreAnswer(gap, gap - margin, gap + margin, (centre[0], centre[1], 0.0), centre, up, 0, NON_UNIQUE)
    # A point of both: on the common line of the two boundaries, or below both.
    line = cross(up, nb)
    length = norm(line)
    x = (0.0, 0.0, min(0.0, centre[2]))
    if length > ROUNDED:
        across = scale(1.0 / length, cross(line, up))  # in the plane of A, towards where B falls away
        x = scale(dot(nb, centre) / dot(nb, across), across)
    status = NON_UNIQUE | ARBITRARY_NORMAL | UNBOUNDED
    return cores.CoreAnswer(-math.inf, -math.inf, -math.inf, x, x, up, 0, status)


class Task(NamedTuple):
    """Two bodies in the order of the method."""

    pair: Pair
    pose: NDArray[np.float64]  # of the frame of A in the world
    swapped: bool  # whether the caller's order is the other one


@kernel(separate=True)
def begin(first, second, rotation):
    """Return the `Task` of two `PlacedBody`, with its rotation in the given memory."""
    swapped = not in_order(first, second)
    a, b = (second, first) if swapped else (first, second)
    centre = relative_pose(a.pose, b.pose, rotation)
    pair = Pair(
        kinds.Core(a.row, kinds.kind_of(a.row), a.pool),
        kinds.Core(b.row, kinds.kind_of(b.row), b.pool),
        rotation,
        centre,
    )
    return Task(pair, a.pose, swapped)


@kernel
def _middle_of(core):
    """Centre of the box of a hull in its own frame, in which the origin may be far from it; the origin of others."""
    row = core.row
    return (row[TX], row[TY], row[P]) if core.kind == kinds.CONVEX_MESH else (0.0, 0.0, 0.0)


@kernel
def start_from(pair, n):
    """Return a direction of an earlier answer (zeros for none) if it is towards B, or the line of the middles.

    The middle of a core with a projection is the point of it next to the other body's.
    """
    middle_b = add(pair.centre, rotate(pair.rotation, _middle_of(pair.b)))
    line = sub(middle_b, _middle_of(pair.a))
    if nearest_to_core.is_for(pair.a.kind, pair.b.kind, pair.b.row):
        line = nearest_to_core.line_to(pair.a.row, pair.a.kind, middle_b)
    if dot(n, line) > 0.0:
        return n
    return unit_vector(line, (0.0, 0.0, 1.0))


@kernel
def _start_direction(task, state):
    """Return the direction to start from, given the state of an earlier answer."""
    is_known = state[START.order] == (2.0 if task.swapped else 1.0)
    return start_from(task.pair, vector_at(state, START.direction) if is_known else (0.0, 0.0, 0.0))


@kernel
def _widths(pair, tolerance):
    """Return the width of the interval that counts as certified, the same without rounding, and the rounding error."""
    a, b = pair.a.row, pair.b.row
    margin = difference.error_margin(a, b, pair.centre)
    wanted = tolerance * min(a[SIZE], b[SIZE])
    return wanted + 4.0 * margin, wanted, margin


@kernel
def _opposite_status(pair, n, depth, goal):
    """`ARBITRARY_NORMAL` if the translation of the hulls of the cores against n is as short as `depth`.

    To within the goal. Balls add the same to both. Since h(n) + h(-n) >= 0, cores farther apart than the goal have no
    such translation.
    """
    return ARBITRARY_NORMAL if difference.difference_support(pair, scale(-1.0, n)).h <= goal + depth else 0


@kernel
def _corner_status(pair, n, goal):
    """`ARBITRARY_NORMAL` if other directions than n separate the hulls of cores that touch, as where corners meet.

    These directions are a convex cone, which lies below the plane across each support point of the difference. A
    direction turned to the side is projected on the planes it is above. If n is the only direction, this leads back.
    """
    t1, t2 = tangent_frame(n)
    for quarter in range(4):
        turn = 0.5 * math.pi * quarter
        u = combine(1.0, n, difference.WELL_AWAY, combine(math.cos(turn), t1, math.sin(turn), t2))
        for _ in range(_PROJECTIONS):
            u = unit_vector(u, n)
            corner = difference.difference_support(pair, u)
            if corner.h <= goal:
                if norm(cross(u, n)) > 0.5 * difference.WELL_AWAY:
                    return ARBITRARY_NORMAL
                break
            u = combine(1.0, u, -dot(u, corner.m) / dot(corner.m, corner.m), corner.m)
    return 0


@kernel
def _on_surfaces(answer, pair, is_open):
    """Return the same answer with its points on the surfaces.

    Means of support points lie under a surface by as much as the interval is wide, and the ball of a torus reaches
    beyond it away from the nearest point. If the interval is open, the distance of separate bodies is that of the
    points. For overlapping bodies the interval contains the length by which the points miss it.
    """
    distance, lower, upper, x, y, n, iterations, status = answer
    x, y = onto_surfaces(pair, x, y, n, True)
    if is_open:
        is_apart = distance > 0.0
        distance = norm(sub(y, x)) if is_apart else distance
        upper = max(upper, distance if is_apart else distance + off_line(x, y, -distance, n))
    return cores.CoreAnswer(distance, min(lower, distance), upper, x, y, n, iterations, status)


@kernel
def _finish(task, answer, status, goal, wanted, state, out):
    """Write the answer for two bodies to a result row; renew the state.

    `goal` is the width of the interval that counts as certified, `wanted` what it would be without rounding.
    """
    state[START.order] = 2.0 if task.swapped else 1.0
    put_vector(state, START.direction, answer.n)
    are_convex = kinds.is_convex(task.pair.a) and kinds.is_convex(task.pair.b)
    write_answer(task.pose, task.swapped, answer, status, are_convex, (goal, wanted), out)


@kernel(separate=True)
def solve_half_spaces(first, second, limit, state, rotation, out):
    """Solve a plane and any body, another plane included."""
    task = begin(first, second, rotation)
    pair = task.pair
    b, centre = pair.b.row, pair.centre
    if pair.b.kind == kinds.HALF_SPACE:
        answer = _two_half_spaces(pair.rotation, centre)
        _finish(task, answer, answer.status, math.inf, math.inf, state, out)
        return
    margin = difference.error_margin(b, b, centre)
    wanted = limit.tolerance * b[SIZE]
    # The support function of the body along the plane's inward normal, convex or not.
    down = rotate_back(pair.rotation, (0.0, 0.0, -1.0))
    reach, point = kinds.body_support(pair.b, down)
    y = add(centre, rotate(pair.rotation, point))
    lower, x, up = min(centre[2] - reach, y[2]) - margin, (y[0], y[1], 0.0), (0.0, 0.0, 1.0)
    status = NON_UNIQUE if flat_on_plane(pair.b, point, down) else 0
    answer = cores.CoreAnswer(y[2], lower, y[2] + margin, x, y, up, 0, status)
    _finish(task, answer, status, wanted + 4.0 * margin, wanted, state, out)


@kernel
def _from_point(pair, margin):
    """A sphere, whose core is the origin, and a core of closed form."""
    rotation, centre = pair.rotation, pair.centre
    p = rotate_back(rotation, scale(-1.0, centre))
    if pair.b.kind == kinds.TORUS:
        ball = kinds.ball_radius(pair.a.row, pair.a.kind)
        d, normal, foot, unique, only_way = kinds.point_to_torus(pair.b.row, ball, p)
        p = combine(1.0, foot, d, normal)
    else:
        d, normal, foot, unique = kinds.point_to_core(pair.b, p)
        only_way = unique
    status = (0 if unique else NON_UNIQUE) | (0 if only_way else ARBITRARY_NORMAL)
    x, y = add(centre, rotate(rotation, p)), add(centre, rotate(rotation, foot))
    normal = scale(-1.0, rotate(rotation, normal))
    return cores.CoreAnswer(d, d - margin, d + margin, x, y, normal, 1, status)


# With its own scratch, which is freed here: the caller counts no references, so it can neither free an array that it
# receives nor pass on a counted one.


@kernel(_nrt=True)
def _answer_cores(pair, n, goal, limit):
    w = difference.new_workspace()
    return cores.along_normal(pair, cores.solve_cores(pair, n, goal, limit, w), goal, limit, w)


@kernel(separate=True)
def solve_convex(first, second, limit, state, rotation, out):
    """Solve two cores, or a sphere and a torus; beyond the limit's distance the interval may be a wide one."""
    task = begin(first, second, rotation)
    pair = task.pair
    a, ka = pair.a.row, pair.a.kind
    b, kb = pair.b.row, pair.b.kind
    goal, wanted, margin = _widths(pair, limit.tolerance)
    ball_a, ball_b = kinds.ball_radius(a, ka), kinds.ball_radius(b, kb)
    balls = ball_a + ball_b
    far = limit.beyond + balls
    n, is_curved = _start_direction(task, state), False
    if nearest_to_core.is_for(ka, kb, b):
        answer, is_curved = nearest_to_core.solve(pair, n, goal, margin, far)
    else:
        answer = alternating.nearest_points(pair, goal, margin, far)
    if not (answer.upper - answer.lower <= goal or answer.lower > far):
        closed = ka == kinds.POINT
        if ka == kinds.POINT and kb == kinds.CONVEX_MESH:
            height, _, _, _ = kinds.point_in_hull(pair.b, rotate_back(pair.rotation, scale(-1.0, pair.centre)))
            closed, loss = height <= 0.0, b[kinds.PLANE_LOSS] if height <= 0.0 else 0.0
            margin, goal = margin + loss, goal + 4.0 * loss
        if closed:
            answer = _from_point(pair, margin)
        else:
            of_cores = Limit(0.0, limit.budget, far + margin, limit.below + balls - margin)
            answer = _answer_cores(pair, n, goal, of_cores)
            is_curved = False
    status, is_far = answer.status, answer.lower > far
    if not is_far:
        has_flats = ka != kinds.POINT and not is_curved
        if has_flats and touching_flats(pair, answer.x, answer.y, answer.n, min(a[SIZE], b[SIZE])):
            status |= NON_UNIQUE
        if answer.distance >= balls:
            status &= ~ARBITRARY_NORMAL
        elif kb != kinds.TORUS and answer.distance <= goal:
            status |= _opposite_status(pair, answer.n, -answer.distance, goal)
        if abs(answer.distance) <= goal:
            status |= _corner_status(pair, answer.n, goal)
    answer = cores.with_balls(answer, ball_a, ball_b)
    is_open = answer.upper - answer.lower > goal
    # No point of overlapping bodies lies deeper than the two points are off the line along the normal.
    is_deep = answer.distance <= 0.0 and off_line(answer.x, answer.y, -answer.distance, answer.n) > goal
    if (is_open or is_deep) and not is_far:
        answer = _on_surfaces(answer, pair, is_open)
    _finish(task, answer, status, goal, wanted, state, out)


@kernel(separate=True)
def solve_non_convex(first, second, limit, state, rotation, out):
    """Solve a torus and any body but a sphere or a plane, or a non-convex mesh and any body but a plane."""
    task = begin(first, second, rotation)
    pair = task.pair
    goal, wanted, _ = _widths(pair, limit.tolerance)
    n, is_torus = _start_direction(task, state), pair.b.kind == kinds.TORUS
    if is_torus:
        answer = torus.solve(pair, n, goal, limit)
    else:
        answer = mesh.solve(pair, n, goal, limit)
    status = answer.status
    is_open = status & UNPROVEN != 0 or answer.upper - answer.lower > goal
    is_decided = verdict_of(answer.lower, answer.upper, limit) != UNDECIDED
    if not is_decided and (is_open or is_torus or answer.distance < 0.0):
        # After the translation the bodies touch to rounding: their points may lie deeper than the interval is wide.
        answer = _on_surfaces(answer, pair, is_open or is_torus)
    balls = kinds.ball_radius(pair.a.row, pair.a.kind) + kinds.ball_radius(pair.b.row, pair.b.kind)
    if not is_open and answer.distance < -goal:
        status |= _opposite_status(pair, answer.n, -answer.distance - balls, goal)
    if abs(answer.distance + balls) <= goal:
        status |= _corner_status(pair, answer.n, goal)
    _finish(task, answer, status, goal, wanted, state, out)


@kernel
def solve_members(a, b, limit, state, rotation, out):
    """As `compounds.solve_within`, for two bodies that are not compounds."""
    method = METHODS[kinds.kind_of(a.row), kinds.kind_of(b.row)]
    if method == OVOIDS:
        solve_pair(a.row, b.row, a.pose, b.pose, limit, state, rotation, out)
    elif method == HALF_SPACES:
        solve_half_spaces(a, b, limit, state, rotation, out)
    elif method == CONVEX:
        solve_convex(a, b, limit, state, rotation, out)
    else:
        solve_non_convex(a, b, limit, state, rotation, out)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""The proof of a depth, carried along while the bodies move.

A search (`search`) proves that no direction is shallower than a contact, by triangles that cover the sphere of
directions. That holds at one pose. Here the triangles of a pair are kept, and at each corner a point of each body in
the frame of that body. At whatever relative pose these are, the difference of two such points is a point of the
Minkowski difference M, and `triangles.triangle_bound` needs no more: the bounds are computed anew, without looking for
a support point. Of a translation they lose nothing, of a turn something of second order.

Where a triangle does not reach the depth any more, its points are renewed, and where that is not enough, it is split.
Triangles in the cap about the contact (`caps`), which is made anew at each pose, need no bound. There is a proof, or
there is none: then `pair_solver` answers, as if nothing had been kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, dot, norm, rotate, scale, sub
from superovoid.contact.columns import PROOF
from superovoid.contact.minkowski.difference import WELL_AWAY
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.answers import (
    CLOSED,
    WARM_ITERATIONS,
    is_closed,
    newton_from,
    with_interval,
)
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.certificate import gap_tolerance, rounding_margin
from superovoid.contact.superovoids.direction_net import (
    FINEST,
    GUESS,
    M_COLUMN,
    N_COLUMN,
    OCTANTS,
    corners_of,
    cut_of,
    guess_of,
    octahedron,
    put_parts,
    row_of,
    set_row,
    triangle_of,
)
from superovoid.contact.superovoids.directions import (
    minkowski_support,
    minkowski_support_near,
    sphere_radius,
)
from superovoid.contact.superovoids.kept_nets import (
    CELLS,
    MADE,
    MOST_CELLS,
    MOST_VERTICES,
    ORDER,
    OWNER,
    POINT_OF_A,
    POINT_OF_B,
    RESTS,
    TRIES,
    USED,
    VERTICES,
    net_of,
)
from superovoid.contact.superovoids.pair_solver import (
    ANSWERED,
    OPEN,
    in_order,
    load_point,
    place_of_points,
    relative_pose,
    save_points,
    still_face,
    with_former_proof,
    write_answer,
)
from superovoid.contact.superovoids.search import LEAST_COS_BESIDE
from superovoid.contact.superovoids.triangles import Triangle, anchored_bound, triangle_bound
from superovoid.shapes.kernels.support_function import LOOSE
from superovoid.shapes.kernels.surface import DENTED, position

_MOST_SPENT = 128  # support points of one answer
# A proof from the beginning takes more. So several queries work at it, each with so many support points and at so many
# proofs, which bounds the time of a query; meanwhile, and where that many have not made a proof, the search answers.
_SPENT_A_TRY, _MOST_TRIES, _AT_ONCE = 96, 8, 1
_COS_AWAY = 1.0 - 0.5 * WELL_AWAY * WELL_AWAY  # cosine of the angle from which on a direction is another one
_PAUSE = 16  # queries of a scene in which no proof is tried again after one that failed


class Task(NamedTuple):
    """What is to be proved of a pair."""

    pair: Pair
    radius: float  # of the balls that are taken off
    n: tuple  # normal of the contact
    contact: tuple  # its point of M, balls taken off
    target: float  # depth to prove
    away: float  # depth to prove of all directions well away from the normal, so that no other is as good
    cos_cap: float  # of the cap about the normal; 2: none
    floor: float  # lower bound of h_M in the cap
    now: int  # number of the query


@kernel
def _core(body, f):
    """Point of a body whose balls are taken off."""
    return (0.0, 0.0, 0.0) if sphere_radius(body) > 0.0 else position(body, f)


@kernel
def _put_point(task, vertices, i):
    """Difference of a vertex's two points at the pose of now."""
    pair = task.pair
    y = add(pair.centre, rotate(pair.rotation, row_of(vertices, i, POINT_OF_B)))
    set_row(vertices, i, M_COLUMN, sub(row_of(vertices, i, POINT_OF_A), y))


@kernel
def _set_points(task, vertices, i, fa, fb):
    """Take support points over as those of a vertex."""
    set_row(vertices, i, POINT_OF_A, _core(task.pair.a, fa))
    set_row(vertices, i, POINT_OF_B, _core(task.pair.b, fb))
    vertex = vertices[i]
    vertex[GUESS], vertex[GUESS + 1] = fa.w, fa.r
    vertex[GUESS + 2], vertex[GUESS + 3] = fb.w, fb.r
    vertex[MADE] = task.now
    _put_point(task, vertices, i)


@kernel
def _is_near(task, n):
    """Whether a direction is the contact's own, so that it need not be deeper."""
    return dot(task.n, n) >= _COS_AWAY


@kernel
def _bound_over(task, triangle, wanted):
    """Lower bound of h_M over a triangle by points of M alone; the first that is enough."""
    out_of_line()
    # First the middle of the three points, which is enough for most.
    n1, n2, n3 = triangle.n1, triangle.n2, triangle.n3
    middle = scale(1.0 / 3.0, add(triangle.m1, add(triangle.m2, triangle.m3)))
    bound = min(dot(n1, middle), dot(n2, middle), dot(n3, middle))
    if bound >= max(wanted - task.radius, 0.0):
        return task.radius + bound
    bound = task.radius + triangle_bound(triangle)
    if bound < wanted and min(dot(task.n, n1), dot(task.n, n2), dot(task.n, n3)) > LEAST_COS_BESIDE:
        return max(bound, task.radius + anchored_bound(triangle, task.contact))
    return bound


@kernel
def _rim(task, near, far):
    """Direction on the way from one near the normal to one well away from it, where that begins."""
    at_near, at_far, square = dot(task.n, near), dot(task.n, far), _COS_AWAY * _COS_AWAY
    # (at_near + t (at_far - at_near))^2 = square |near + t (far - near)|^2, and |far - near|^2 = 2 bent.
    bent, fall = 1.0 - dot(near, far), at_far - at_near
    a, b = fall * fall - 2.0 * square * bent, 2.0 * (at_near * fall + square * bent)
    c = max(at_near * at_near - square, 0.0)
    below = math.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b
    t = min(2.0 * c / below, 1.0) if below > 0.0 else 0.0
    rim = combine(1.0 - t, near, t, far)
    return scale(1.0 / norm(rim), rim)


@kernel
def _beyond_near(task, triangle):
    """Lower bound of h_M over what of a triangle is well away from the normal, which some of its corners are not.

    Directions near the normal fill a cap. So what of the triangle lies beyond the points where its edges leave the cap
    is all that lies outside it, and those points and the corners beyond are the corners of that part.
    """
    out_of_line()
    n1, n2, n3, m1, m2, m3 = triangle
    near1, near2 = _is_near(task, n1), _is_near(task, n2)
    alone1 = near1 != near2 and near1 != _is_near(task, n3)
    alone2 = near2 != near1 and near2 != _is_near(task, n3)
    # In the first place the corner that is alone near the normal, or alone well away from it.
    if alone2:
        n1, n2, n3, m1, m2, m3 = n2, n3, n1, m2, m3, m1
    elif not alone1:
        n1, n2, n3, m1, m2, m3 = n3, n1, n2, m3, m1, m2
    if not _is_near(task, n1):
        part = Triangle(n1, _rim(task, n2, n1), _rim(task, n3, n1), m1, m2, m3)
        return _bound_over(task, part, task.away)
    rim2, rim3 = _rim(task, n1, n2), _rim(task, n1, n3)
    bound = _bound_over(task, Triangle(rim2, n2, n3, m1, m2, m3), task.away)
    if bound < task.away:
        return bound
    return min(bound, _bound_over(task, Triangle(rim2, n3, rim3, m1, m3, m2), task.away))


@kernel
def _proved(task, triangle):
    """Whether what is to be proved of a triangle is, and the lower bound of h_M over it.

    In the cap about the normal its floor is a bound. Well away from the normal, h_M has to exceed the depth: of a
    triangle that is there in part, that part is looked at by itself.
    """
    near1, near2, near3 = _is_near(task, triangle.n1), _is_near(task, triangle.n2), _is_near(task, triangle.n3)
    somewhere_near, everywhere_near = near1 or near2 or near3, near1 and near2 and near3
    n = task.n
    if somewhere_near and min(dot(n, triangle.n1), dot(n, triangle.n2), dot(n, triangle.n3)) >= task.cos_cap:
        bound, wanted = task.floor, task.target
    else:
        wanted = task.target if somewhere_near else task.away
        bound = _bound_over(task, triangle, wanted)
    if not (bound >= wanted):
        return False, bound
    return not somewhere_near or everywhere_near or _beyond_near(task, triangle) >= task.away, bound


@kernel
def _renew(task, vertices, corners):
    """Look for the support points of a triangle's corners that are of another query; return how many there were."""
    renewed = 0
    for i in corners:
        vertex = vertices[i]
        if vertex[MADE] != task.now:
            guess = (vertex[GUESS], vertex[GUESS + 1], vertex[GUESS + 2], vertex[GUESS + 3])
            _, fa, fb = minkowski_support_near(task.pair, row_of(vertices, i, N_COLUMN), guess, 0.0, -math.inf)
            _set_points(task, vertices, i, fa, fb)
            renewed += 1
    return renewed


@kernel
def _split(task, about, vertices, cells, c, triangle):
    """Split a triangle; return whether there was room, and no direction shallower than what is to be proved."""
    if about[VERTICES] >= MOST_VERTICES or about[CELLS] + 2 > MOST_CELLS:
        return False
    cut = cut_of(corners_of(cells, c), triangle, task.radius + triangle_bound(triangle), task.radius)
    if min(cut.chords[0], cut.chords[1]) < FINEST:
        return False
    guess = guess_of(vertices, GUESS, cut.corners, cut.chords)
    wanted = task.target if _is_near(task, cut.point) else task.away
    m, fa, fb = minkowski_support_near(task.pair, cut.point, guess, cut.gap, wanted)
    if dot(cut.point, m) < wanted:
        return False
    vertex = about[VERTICES]
    about[VERTICES] += 1
    set_row(vertices, vertex, N_COLUMN, cut.point)
    _set_points(task, vertices, vertex, fa, fb)
    about[CELLS] = put_parts(cells, about[CELLS], c, vertex, cut)
    return True


@kernel
def _prove_all(task, about, vertices, cells, most):
    """Lower bound of h_M over the sphere from triangles that cover it; -inf where it does not reach the target.

    Triangles that do not reach it are improved, as far as the room for them and so many support points allow. Returns
    also whether it was these that were too few: the triangles cover the sphere as before, and others can go on.
    """
    out_of_line()
    spent = 0
    least = math.inf
    c = 0
    while c < about[CELLS]:
        triangle = triangle_of(vertices, corners_of(cells, c))
        proved, bound = _proved(task, triangle)
        if proved:
            least = min(least, bound)
            c += 1
            continue
        if spent >= most:
            return -math.inf, True
        renewed = _renew(task, vertices, corners_of(cells, c))
        if renewed > 0:
            spent += renewed
            continue
        spent += 1
        if not _split(task, about, vertices, cells, c, triangle):
            return -math.inf, False
    return least, False


@kernel
def _cover(task, about, vertices, cells):
    """Begin with the eight triangles of an octahedron about the normal."""
    about[VERTICES] = 0
    for n in octahedron(task.n):
        _, fa, fb = minkowski_support(task.pair, n, LOOSE)
        set_row(vertices, about[VERTICES], N_COLUMN, n)
        _set_points(task, vertices, about[VERTICES], fa, fb)
        about[VERTICES] += 1
    about[CELLS] = len(OCTANTS)
    for c in range(len(OCTANTS)):
        set_row(cells, c, 0, corners_of(OCTANTS, c))


@kernel
def _least_depth(pair, answer, goal, nets, key, order, now):
    """Lower bound of the depth of two convex bodies, enough for their contact, from kept triangles; -inf without it."""
    out_of_line()
    net, is_own, worked_at = net_of(nets, key, now)
    if net < 0:
        return -math.inf
    about = nets.about[net]
    is_own = is_own and about[ORDER] == order
    if is_own and now < about[RESTS]:
        return -math.inf
    is_whole = is_own and about[VERTICES] > 0 and about[TRIES] == 0
    if not is_whole and worked_at >= _AT_ONCE:
        if is_own:
            about[USED] = now
        return -math.inf
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    margin = rounding_margin(a, b, centre)
    # Then the interval is as narrow as the goal.
    target = margin - answer.lower - 0.5 * goal
    cap = largest_cap(pair, answer.fa, answer.fb)
    cos_cap = math.cos(cap.angle) if cap.angle > 0.0 and cap.floor >= target else 2.0
    radius = sphere_radius(a) + sphere_radius(b)
    contact = sub(_core(a, answer.fa), add(centre, rotate(rotation, _core(b, answer.fb))))
    away = goal - answer.distance
    task = Task(pair, radius, answer.n, contact, target, away, cos_cap, cap.floor, now)
    vertices, cells = nets.vertices[net], nets.cells[net]
    about[USED] = now
    depth, goes_on = -math.inf, False
    if is_own and about[VERTICES] > 0:
        for i in range(about[VERTICES]):
            _put_point(task, vertices, i)
        most = _MOST_SPENT if is_whole else _SPENT_A_TRY
        depth, goes_on = _prove_all(task, about, vertices, cells, most)
    if depth == -math.inf and not goes_on:
        about[OWNER], about[ORDER], about[RESTS], about[TRIES] = key, order, 0, 0
        _cover(task, about, vertices, cells)
        depth, goes_on = _prove_all(task, about, vertices, cells, _SPENT_A_TRY)
    if depth > -math.inf:
        about[TRIES] = 0
    elif goes_on and about[TRIES] < _MOST_TRIES:
        about[TRIES] += 1
    else:
        about[VERTICES], about[RESTS], about[TRIES] = 0, now + _PAUSE, 0
    return depth


@kernel(separate=True)
def answered_by_carried_proof(a, b, limit, nets, key, now, state, rotation, out):
    """Answer for two convex superovoids that were searched before, where what is kept of their proofs is enough.

    Parameters
    ----------
    a, b : Placed
    limit : Limit
    nets : Nets
    key : int
        Number of the pair.
    now : int
        Number of the query.
    state : array, shape (STATE_LENGTH,)
        What the last answer of the pair has left.
    rotation : array, shape (3, 3)
        Scratch.
    out : array, shape (RESULT_LENGTH,)

    Returns
    -------
    bool
        Whether `out` has the answer, and the state its points. Else all is left to `pair_solver.solve_pair`.
    """
    row_a, row_b, pose_a, pose_b = a.row, b.row, a.pose, b.pose
    straight = in_order(row_a, row_b, pose_a, pose_b)
    if not straight:
        row_a, row_b, pose_a, pose_b = row_b, row_a, pose_b, pose_a
    ka, kb, order = place_of_points(straight)
    if state[PROOF] != order or row_a[DENTED] + row_b[DENTED] > 0.0:
        return False
    centre = relative_pose(pose_a, pose_b, rotation)
    goal = gap_tolerance(row_a, row_b, centre, limit.tolerance)
    pair = Pair(row_a, row_b, rotation, centre)
    fa, fb = load_point(state, ka), load_point(state, kb)
    if not still_face(pair, fa, fb):
        return False
    answer = newton_from(pair, fa, fb, goal, WARM_ITERATIONS, 0)
    if not is_closed(answer, goal):
        if not answer.lower > -math.inf:
            return False
        answer, use = with_former_proof(pair, answer, state, order, goal)
        if use == OPEN and answer.distance < 0.0:
            depth = _least_depth(pair, answer, goal, nets, key, order, now)
            if depth == -math.inf:
                return False
            upper = rounding_margin(row_a, row_b, centre) - depth
            answer = with_interval(answer, answer.lower, min(answer.upper, upper), CLOSED)
        elif use != ANSWERED:
            return False
    save_points(state, ka, kb, answer)
    write_answer(row_a, row_b, pose_a, pose_b, straight, answer, goal, limit.tolerance, out)
    return True

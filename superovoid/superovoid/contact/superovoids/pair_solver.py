# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Solve one pair of bodies: Newton's method proposes a contact, and the certificate proves it.

1.  Newton from the points whose normals lie along a line between the bodies. If it fails, as near flats and sharp
    edges, GJK finds the nearest points of convex bodies, and Newton starts from their normal.
2.  Certificate: interval from support functions, points and tangent balls (`certificate`).
3.  If the interval stays open - a deep overlap may have several local minima of the depth, a hard pair may not have
    converged - the sphere of directions is searched by branch and bound (`search`), which polishes every improvement by
    Newton and ends with a proof. Convex bodies that the first directions show to be apart are proved by their nearest
    points instead.
4.  Non-convex bodies: the search answers for the hulls, Newton from every contact of the hulls for the bodies, and
    their own proofs for both sides of the interval (`over_concavities`).
"""

from __future__ import annotations

import math

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.rows import loader, storer
from superovoid.compiled.vector import LEAST_LENGTH, add, combine, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.columns import NO_CONTACT, write_answer, write_result
from superovoid.contact.minkowski.contact_points import HULL_GOAL
from superovoid.contact.pair import UNDECIDED, Limit, Pair, verdict_of
from superovoid.contact.separation import offset_of, rounding_margin
from superovoid.contact.superovoids.answers import (
    COLD_ITERATIONS,
    WARM_ITERATIONS,
    Answer,
    certify,
    is_enough,
    newton_from,
    newton_tolerance,
    with_iterations,
)
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.contact.superovoids.directions import proved_support
from superovoid.contact.superovoids.newton import observe, point_with_normal
from superovoid.contact.superovoids.over_concavities import (
    answer_from_hulls,
    apart_over_concavities,
    proved_contact,
)
from superovoid.contact.superovoids.search import UNKNOWN_CAP, Minimum, search
from superovoid.contact.superovoids.tangent_balls import OTHER_NORMAL
from superovoid.contact.superovoids.without_contact import apart_without_contact, nearest_by_gjk, points_along
from superovoid.shapes.kernels.kinds import is_sphere
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    CONCAVITY_DEFICIT,
    HAS_CONCAVITY,
    SIZE,
    TX,
    TY,
    SurfacePoint,
    gradient,
    surface_point_towards,
)
from superovoid.values.status import ARBITRARY_NORMAL, NON_UNIQUE

# Largest cost of a support point in the budget: of a thin body with a taper, and over a concavity.
_THIN_COST, _CONCAVITY_COST = 4, 12
_THIN = 1e-2
_FACING = 0.95  # cosine
_SHARE_OF_CENTRES = 0.1  # of the line of centres in the first direction
_TOUCHING = 0.03  # of the smaller body: bodies that seem to overlap by less at first may be apart
_FIRST_LOOK = 64  # share of a search's budget after which its contact and points must prove the answer

load_point, store_point = loader(SurfacePoint, 1), storer(SurfacePoint, 1)  # of a state


@kernel
def line_of_centres(centre):
    """Return the unit vector towards the centre of the other body; the z axis if the centres coincide."""
    length = norm(centre)
    if length > 0.0:
        return scale(1.0 / length, centre)
    return (0.0, 0.0, 1.0)


@kernel
def _nearest_in_middle(body, p):
    """Return the point nearest to p of a box in a body, whose half extents are the semi-axes less the smallest."""
    least = min(body[A1], body[A2], body[A3])
    x, y, z = body[A1] - least, body[A2] - least, body[A3] - least
    return min(max(p[0], -x), x), min(max(p[1], -y), y), min(max(p[2], -z), z)


@kernel
def first_direction(a, b, rotation, centre):
    """Return a unit direction from A to B for Newton's method to start from.

    It is nearly that of near points of the middles of the bodies: a segment in a slender body, a plate in a flat one.
    A share of the line of centres keeps it off the axis of a flat, on which a surface has no curvature. If the middles
    have a common point, it is the line of centres.
    """
    x = _nearest_in_middle(a, centre)
    y = add(centre, rotate(rotation, _nearest_in_middle(b, rotate_back(rotation, sub(x, centre)))))
    between = sub(y, _nearest_in_middle(a, y))
    if dot(between, between) > 0.0:
        return line_of_centres(combine(1.0, between, _SHARE_OF_CENTRES, centre))
    return line_of_centres(centre)


@kernel
def _support_cost(b):
    """Return the largest cost of a support point of a body, relative to most bodies."""
    if b[HAS_CONCAVITY] != 0.0:
        return _CONCAVITY_COST
    if b[TX] == 0.0 and b[TY] == 0.0:
        return 1
    return _THIN_COST if min(b[A1], b[A2], b[A3]) < _THIN * b[SIZE] else 1


@kernel
def _proved_at(pair, answer, goal):
    """Return an open answer from Newton's contact with the bounds proved there without a search, of any bodies."""
    a, b = pair.a, pair.b
    k = observe(pair, answer.fa, answer.fb, min(a[SIZE], b[SIZE]))
    answer = certify(pair, answer.fa, answer.fb, k, goal, answer.iterations)
    return proved_contact(pair, answer, goal) if a[HAS_CONCAVITY] + b[HAS_CONCAVITY] > 0.0 else answer


@kernel
def _after_search(pair, best, value, optimum, deficit, goal):
    """Make the answer from the best direction of a search and its bound, and from Newton's answer of a value."""
    a, b, centre = pair.a, pair.b, pair.centre
    iterations = best.iterations + optimum.iterations
    margin = rounding_margin(a, b, centre)
    hull_lower = -optimum.value - margin
    hull_upper = -optimum.proved + margin
    if a[HAS_CONCAVITY] + b[HAS_CONCAVITY] > 0.0:
        return answer_from_hulls(pair, best, optimum, hull_lower, hull_upper + deficit, goal, iterations)
    if optimum.converged:
        answer = best
        if optimum.value < value:
            k = observe(pair, optimum.fa, optimum.fb, min(a[SIZE], b[SIZE]))
            answer = certify(pair, optimum.fa, optimum.fb, k, goal, iterations)
        lower = max(answer.lower, hull_lower)
        upper = min(answer.upper, hull_upper)
        distance, x, y, status = answer.distance, answer.x, answer.y, answer.status
        direction = answer.n if answer.lower >= hull_lower else optimum.n  # the one that proves `lower`
    else:
        # Newton cannot resolve the contact: parallel flats, or normals beyond the arithmetic.
        flat = points_along(pair, optimum.n, optimum.value, goal)
        distance, direction, status = -flat.value, flat.n, NON_UNIQUE
        lower, upper = distance - margin, hull_upper
        x, y = flat.x, flat.y
        if distance > 0.0:
            # The points span the distance: an open one is theirs.
            length = norm(sub(flat.y, flat.x))
            upper = length + margin
            if upper - lower > goal:
                distance = length
        elif flat.off > goal:
            upper = max(upper, distance + flat.off)
    if optimum.value > 0.0 and optimum.rival <= optimum.value + goal:
        status |= ARBITRARY_NORMAL
    lower, upper, fa, fb = min(lower, distance), max(upper, distance), optimum.fa, optimum.fb
    return Answer(distance, lower, upper, x, y, direction, fa, fb, status, iterations)


@kernel(separate=True)
def prove(pair, best, goal, limit):
    """Search the sphere of directions, from the normal of an open answer, until the interval is enough."""
    a, b, centre = pair.a, pair.b, pair.centre
    known = best.lower > -math.inf
    has_concavity = a[HAS_CONCAVITY] + b[HAS_CONCAVITY] > 0.0
    if known:
        best = _proved_at(pair, best, goal)
        if is_enough(best, goal, limit):
            return best
    value = min(-best.lower, proved_support(pair, best.n)) if known else math.inf
    start = Minimum(value, best.n, best.fa, best.fb, known, UNKNOWN_CAP)
    size = min(a[SIZE], b[SIZE])
    search_goal = 0.5 * goal
    deficit = a[CONCAVITY_DEFICIT] + b[CONCAVITY_DEFICIT]
    budget = limit.budget // max(_support_cost(a), _support_cost(b))
    margin = rounding_margin(a, b, centre)
    # Over a concavity points may miss the interval of the hulls, which is then widened.
    refuted, enough = -limit.beyond - margin, margin - limit.below if deficit == 0.0 else math.inf
    if deficit > 0.0:
        # No search of the hulls can close an interval that is open because of a concavity.
        if known and best.distance >= 0.0:
            search_goal = max(search_goal, 0.02 * (best.upper - best.lower))
        else:
            search_goal = max(search_goal, min(0.25 * deficit, HULL_GOAL * size))
    tolerance = newton_tolerance(a, b, centre, goal)
    if not has_concavity and best.distance >= 0.0:
        # Of separate bodies, points prove the distance, for which triangles of directions would have to be refined to
        # the last digit: the first directions find where.
        first = search(pair, start, search_goal, tolerance, refuted, enough, budget // _FIRST_LOOK)
        if first.converged or first.value < _TOUCHING * size:
            answer = _by_points(pair, _after_search(pair, best, value, first, deficit, goal), first, goal, limit)
            if is_enough(answer, goal, limit):
                return answer
        if first.converged:
            start = Minimum(first.value, first.n, first.fa, first.fb, True, UNKNOWN_CAP)
    optimum = search(pair, start, search_goal, tolerance, refuted, enough, budget)
    answer = _after_search(pair, best, value, optimum, deficit, goal)
    return _by_points(pair, answer, optimum, goal, limit)


@kernel
def _by_points(pair, answer, optimum, goal, limit):
    """Prove an answer after a search by points, if the bodies may be apart and Newton's method has no contact."""
    are_convex = pair.a[HAS_CONCAVITY] + pair.b[HAS_CONCAVITY] == 0.0
    if are_convex and (optimum.converged or optimum.value >= _TOUCHING * min(pair.a[SIZE], pair.b[SIZE])):
        return answer
    if verdict_of(answer.lower, answer.upper, limit) != UNDECIDED:
        return answer
    return apart_without_contact(pair, answer, goal, limit.beyond)


@kernel
def still_face(pair, fa, fb):
    """Return whether the normals of an earlier answer's points still face each other: if not, start cold."""
    ga, gb = gradient(pair.a, fa), rotate(pair.rotation, gradient(pair.b, fb))
    across = -dot(ga, gb)
    return across > 0.0 and across * across > _FACING * _FACING * dot(ga, ga) * dot(gb, gb)


@kernel
def solve_relative(pair, state, start_a, start_b, goal, limit):
    """Answer in the frame of A: Newton's method from up to three starts, then searches for an open interval.

    The starts are the points of an earlier answer (if the state has any), the points whose normals lie along
    `first_direction`, and the support points of convex bodies along the best direction of GJK, which may answer itself
    or prove an overlap, or the points of others on that line through the centres.
    """
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    n = first_direction(a, b, rotation, centre)
    m = rotate_back(rotation, scale(-1.0, n))
    fa, fb = load_point(state, start_a), load_point(state, start_b)
    first = 0 if (fa.r != 0.0 or fa.w != 0.0) and still_face(pair, fa, fb) else 1
    first = 2 if state[0] == NO_CONTACT else first
    has_concavity = a[HAS_CONCAVITY] + b[HAS_CONCAVITY] > 0.0
    best = Answer(math.inf, -math.inf, math.inf, n, n, n, fa, fb, 0, 0)
    for start in range(first, 3):
        steps, nearest = WARM_ITERATIONS if start == 0 else COLD_ITERATIONS, best
        if start == 1:
            fa, fb = point_with_normal(a, n), point_with_normal(b, m)
        elif start == 2 and has_concavity:
            fa, fb = surface_point_towards(a, n), surface_point_towards(b, m)
        elif start == 2:
            nearest = nearest_by_gjk(pair, n, goal, best.iterations)
            fa, fb = nearest.fa, nearest.fb
        answer = newton_from(pair, fa, fb, goal, steps, nearest.iterations)
        if is_enough(answer, goal, limit):
            return answer
        if is_enough(nearest, goal, limit):
            return with_iterations(nearest, answer.iterations)
        if has_concavity and answer.lower > -math.inf and answer.distance > goal:
            apart = apart_over_concavities(pair, answer, goal, limit.beyond)
            if is_enough(apart, goal, limit):
                return apart
        former = nearest if nearest.upper <= 0.0 else best
        best = answer if answer.lower > former.lower else with_iterations(former, answer.iterations)
        if best.distance < 0.0:
            # A contact deeper than its balls prove: the search examines other directions, better than a further start
            # would.
            break
    return prove(pair, best, goal, limit)


@kernel
def comparison(a, b, pose_a, pose_b):
    """Return the sign of the first difference of two bodies: of rows, then of translations, then of rotations.

    A pair with a positive one is solved in the other order, so the order of the arguments changes no bit.
    """
    for i in range(TY + 4):  # semi-axes, tapers, exponents
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    for i in range(3):
        if pose_a[i, 3] != pose_b[i, 3]:
            return -1 if pose_a[i, 3] < pose_b[i, 3] else 1
    for i in range(3):
        for j in range(3):
            if pose_a[i, j] != pose_b[i, j]:
                return -1 if pose_a[i, j] < pose_b[i, j] else 1
    return 0


@kernel
def relative_pose(pose_a, pose_b, rotation):
    """Rotation (filled in) and centre of B in the frame of A."""
    for i in range(3):
        for j in range(3):
            rotation[i, j] = pose_a[0, i] * pose_b[0, j] + pose_a[1, i] * pose_b[1, j] + pose_a[2, i] * pose_b[2, j]
    return rotate_back(pose_a, offset_of(pose_a, pose_b))


@kernel
def mark_failure(state):
    """Write to a state that Newton's method has failed at the poses of the next answer."""
    state[:] = 0.0
    state[0] = NO_CONTACT


@kernel
def place_of_points(swapped):
    """Return the places of the points of the two bodies in a state, in the order in which they are solved."""
    return (8, 0) if swapped else (0, 8)


@kernel
def _solve_spheres(a, b, pose_a, pose_b, tolerance, out):
    """Solve two spheres: the distance of their centres less both radii, exact to rounding.

    If the centres coincide, the normal is the z-axis of the body that comes first in the order.
    """
    origin_a, origin_b = (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3]), (pose_b[0, 3], pose_b[1, 3], pose_b[2, 3])
    offset = sub(origin_b, origin_a)
    length = norm(offset)
    if length > LEAST_LENGTH:
        n = scale(1.0 / length, offset)
    elif comparison(a, b, pose_a, pose_b) <= 0:
        n = (pose_a[0, 2], pose_a[1, 2], pose_a[2, 2])
    else:
        n = (-pose_b[0, 2], -pose_b[1, 2], -pose_b[2, 2])
    distance = length - (a[A1] + b[A1])
    margin, goal = rounding_margin(a, b, offset), gap_tolerance(a, b, offset, tolerance)
    points = combine(1.0, origin_a, a[A1], n), combine(1.0, origin_b, -b[A1], n)
    status = ARBITRARY_NORMAL if distance < 0.0 and length * OTHER_NORMAL < goal else 0
    interval, widths = (distance - margin, distance + margin), (goal, tolerance * min(a[SIZE], b[SIZE]))
    write_result(False, distance, interval, points, n, status, True, widths, 0, out)


@entry_point(separate=True)
def solve_pair(
    a: Floats1,
    b: Floats1,
    pose_a: Floats2,
    pose_b: Floats2,
    limit: Limit,
    state: Floats1,
    rotation: Floats2,
    out: Floats1,
) -> None:
    """Answer for two packed bodies at world poses, written to a result row; the state is read and updated.

    Parameters
    ----------
    a, b : array, shape (BODY_LENGTH,)
    pose_a, pose_b : array, shape (4, 4)
        Body to world.
    limit : Limit
        Its budget is of support points that the global search may spend on the pair.
    state : array, shape (STATE_LENGTH,)
        Surface points of an earlier answer of this pair, zeros for none.
    rotation : array, shape (3, 3)
        Scratch.
    out : array, shape (RESULT_LENGTH,)
    """
    if is_sphere(a) and is_sphere(b):
        _solve_spheres(a, b, pose_a, pose_b, limit.tolerance, out)
        return
    swapped = comparison(a, b, pose_a, pose_b) > 0
    if swapped:
        a, b = b, a
        pose_a, pose_b = pose_b, pose_a
    ka, kb = place_of_points(swapped)
    centre = relative_pose(pose_a, pose_b, rotation)
    goal = gap_tolerance(a, b, centre, limit.tolerance)
    answer = solve_relative(Pair(a, b, rotation, centre), state, ka, kb, goal, limit)
    store_point(state, ka, answer.fa)
    store_point(state, kb, answer.fb)
    are_convex, widths = a[HAS_CONCAVITY] + b[HAS_CONCAVITY] == 0.0, (goal, limit.tolerance * min(a[SIZE], b[SIZE]))
    write_answer(pose_a, swapped, answer, answer.status, are_convex, widths, out)

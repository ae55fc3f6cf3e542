# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Signed distance of a non-convex mesh and any other body, by a tree of boxes over its triangles.

Separate bodies: every triangle is a convex core, so the distance is the least over triangles, each with an interval.
The search skips each box of the tree whose own distance from the other body exceeds the least found. It uses the exact
triangles, not a decomposition, whose pieces would only be near the surface.

Overlapping bodies (a triangle meets the other body, or one body lies inside the other): the depth of the hulls bounds
the depth from above, as does the shortest translation out of the plane of a triangle that meets the other body, if a
new search proves that it separates the bodies. Points bound it from below: a point of A at depth t in B needs a
translation of at least t. If these bounds do not meet, the answer stays open.

If they meet, the direction of the translation is the normal, unless A is convex and its point lies below its farthest
point along that direction. Then the normal is that of the nearest points after the translation, if a translation along
it separates the bodies too and is no longer to within the goal. If no such normal is found, the status is UNPROVEN.

`bounds` decides about a threshold without the depth, by the same search. The hulls are no closer than the bodies. Two
triangles that overlap are as deep in each other as the bodies at most; this needs no inside, so it holds for shells.
If the surfaces are s apart, each connected part of one lies inside the other body as a whole, or outside: inside, no
translation shorter than s changes that, and sd <= -s. Inside is what a winding number proves, rounding counted
(`mesh_tree.side_of`); that of a shell is 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import alternating, cores, torus
from superovoid.contact.convex.mesh_tree import (
    INSIDE,
    OUTSIDE,
    STACK,
    corners,
    gap_of_nodes,
    open_node,
    part_row,
    parts_of_node,
    point_along,
    reversed_pose,
    set_part,
    side_of,
    side_of_bodies,
)
from superovoid.contact.inputs import MOST_TRANSLATIONS
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.contact_points import ALONG, holds_means
from superovoid.contact.minkowski.flats import REACH, touching_flats
from superovoid.contact.minkowski.on_surfaces import direction_of, unit_vector
from superovoid.contact.pair import UNDECIDED, Limit, Pair, verdict_of
from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.surface import A1, A2, A3, SIZE
from superovoid.values.status import NON_UNIQUE, UNPROVEN

_MOST_TOUCHED = 64  # limit of stored triangles that meet the other body


@kernel(_nrt=True)
def _hull_of(core):
    """Return the hull of a mesh or of one of its triangles, or another core itself."""
    has_hull = core.kind == kinds.MESH or core.kind == kinds.TRIANGLE
    return kinds.Core(core.row, kinds.CODE[kinds.CONVEX_MESH] if has_hull else core.kind, core.pool)


@kernel(_nrt=True)
def _hulls_of(pair):
    """Return a pair of the hulls of two cores."""
    return Pair(_hull_of(pair.a), _hull_of(pair.b), pair.rotation, pair.centre)


@kernel(_nrt=True)
def _part_distance(pair, n, goal, beyond, w):
    """Distance of the core of A (a torus: of its circle) from a convex part of a mesh, and whether they touch."""
    ka, kind, rotation, centre = pair.a.kind, pair.b.kind, pair.rotation, pair.centre
    if ka == kinds.TORUS and kind == kinds.TRIANGLE:
        ring = Pair(pair.b, pair.a, *reversed_pose(pair))
        backward = rotate_back(rotation, scale(-1.0, n))
        k = torus.nearest_on_circle(ring, backward, goal, beyond, 0.0, np.int64(0), w)
        x, y = add(centre, rotate(rotation, k.y)), add(centre, rotate(rotation, k.x))
        touching = not (k.distance > 0.25 * goal)
        direction = scale(-1.0, rotate(rotation, k.n))
        return cores.CoreAnswer(k.distance, k.lower, k.upper, x, y, direction, k.iterations, k.status), touching
    k = alternating.nearest_points(pair, goal, difference.error_margin(pair.a.row, pair.b.row, centre), beyond)
    if k.upper - k.lower <= goal or k.lower > beyond:
        return k, False
    k = cores.solve_cores(pair, n, goal, Limit(0.0, np.int64(0), beyond, -math.inf), w)
    return k, k.lower == -math.inf


@kernel(_nrt=True)
def nearest_triangles(pair, n, goal, beyond, below, others, w):
    """Distance of a body A (a mesh: of its triangles) from the triangles of a mesh B.

    Returns a `CoreAnswer`. Its lower bound is -inf if they touch; `NON_UNIQUE` is set if points far from its own are as
    near.

    Parameters
    ----------
    pair : Pair
    n : tuple
        Direction to begin with.
    goal : float
        Width of the interval, m.
    beyond, below : float
        As in `Limit`, m. If `below` is a depth, the search looks for two convex parts as deep in each other, until many
        touch. Otherwise it ends at the first triangle that touches.
    others : bool
        Whether to search for points far from the nearest but as near to within the goal.
    """
    a, ka, pool_a = pair.a
    b, pool_b = pair.b.row, pair.b.pool
    rotation, centre = pair.rotation, pair.centre
    ball = kinds.ball_radius(a, ka)
    margin = difference.error_margin(a, b, centre)
    box, part_a, part = b.copy(), part_row(pair.a), part_row(pair.b)
    part_kind = kinds.CODE[kinds.TRIANGLE] if ka == kinds.MESH else ka
    deepens = -math.inf < below <= 0.0 and ka != kinds.TORUS and holds_means(a, ka)
    touched = 0
    reach, disc = pair, a.copy()
    if ka == kinds.TORUS:
        # The hull of a circle is a cylinder without height.
        disc[A3] = 0.0
        reach = Pair(kinds.Core(disc, kinds.CODE[kinds.CYLINDER], pool_a), pair.b, rotation, centre)
    triangle = kinds.Core(part, kinds.CODE[kinds.TRIANGLE], pool_b)
    nodes = np.empty((STACK, 2), np.int64)
    bounds = np.empty(STACK)
    nodes[0, 0], nodes[0, 1], bounds[0] = 0, 0, -math.inf
    depth = 1
    best = cores.CoreAnswer(math.inf, math.inf, math.inf, n, n, n, 0, 0)
    lower = math.inf
    iterations = 0
    aside = REACH * min(a[SIZE], b[SIZE])
    elsewhere = math.inf  # the least upper bound far from the nearest points
    while depth > 0:
        depth -= 1
        i, j, bound = nodes[depth, 0], nodes[depth, 1], bounds[depth]
        seeks = others and not (elsewhere <= best.upper + goal)
        limit = min(best.upper + (goal if seeks else -0.25 * goal), beyond)
        if bound >= limit:
            lower = min(lower, bound)
            continue
        first_a, count_a = parts_of_node(pair.a, i)
        first, count = parts_of_node(pair.b, j)
        if count > 0 and count_a > 0:
            for s in range(first_a, first_a + count_a):
                set_part(part_a, pair.a, s)
                for t in range(first, first + count):
                    set_part(part, pair.b, t)
                    cut = min(best.upper + (goal if seeks else 0.0), beyond) + ball
                    parts = Pair(kinds.Core(part_a, part_kind, pool_a), triangle, rotation, centre)
                    k, touching = _part_distance(parts, best.n, 0.25 * goal, cut, w)
                    if not touching and ka != kinds.TORUS and below + ball <= k.upper < best.upper + ball:
                        k = cores.along_normal(parts, k, 0.25 * goal, Limit(0.0, np.int64(0), cut, -math.inf), w)
                    iterations += k.iterations
                    k = cores.with_balls(k, ball, 0.0)
                    lower, upper, x, y = min(lower, k.lower), k.upper, k.x, k.y
                    touching = touching or upper <= 0.0
                    if touching and deepens and not upper < below:
                        near = below + ball - margin
                        _, deep, _ = cores.bounds_about(_hulls_of(parts), k.n, margin, margin, near, math.inf, w)
                        upper = min(upper, deep + margin - ball)
                    touched += 1 if touching else 0
                    if upper < below or (touching and (not deepens or touched >= _MOST_TOUCHED)):
                        # Too near to distinguish overlap from a gap, unless the interval distinguishes them.
                        return cores.CoreAnswer(upper, -math.inf, upper, x, y, k.n, iterations, 0)
                    is_aside = max(norm(sub(x, best.x)), norm(sub(y, best.y))) > aside
                    if seeks and upper <= best.upper + goal and not elsewhere <= upper + goal:
                        # Of two parts that are as near, the first one has the better normal.
                        u = k.n if upper < best.upper else best.n
                        if touching_flats(_hulls_of(parts), combine(1.0, x, -ball, u), y, u, min(a[SIZE], b[SIZE])):
                            elsewhere = min(elsewhere, upper)  # all along an edge or a face
                    if is_aside or k.status & NON_UNIQUE:
                        elsewhere = min(elsewhere, max(upper, best.upper) if is_aside else upper)
                    if upper < best.upper:
                        # The normal of a torus is known only to the square root of rounding; its points are exact.
                        direction = direction_of(k.x, k.y, k.n) if ka == kinds.TORUS else k.n
                        best = cores.CoreAnswer(upper, 0.0, upper, x, y, direction, iterations, 0)
            continue
        children = open_node(reach, i, j, limit + ball + margin, margin, box, w)
        for c in range(2):
            # The nearer one last, so that it is taken first.
            (i, j), gap = (children.far, children.far_gap) if c == 0 else (children.near, children.gap)
            gap = max(bound, gap - margin - ball)
            if gap >= limit or depth + 1 >= STACK:
                lower = min(lower, gap)
                continue
            nodes[depth, 0], nodes[depth, 1], bounds[depth] = i, j, gap
            depth += 1
    lower = -math.inf if touched > 0 else min(lower, best.upper)
    status = NON_UNIQUE if others and elsewhere <= best.upper + goal else 0
    return cores.CoreAnswer(best.upper, lower, best.upper, best.x, best.y, best.n, iterations, status)


@kernel(_nrt=True)
def may_overlap(pair, gap, margin):
    """Return whether bodies may have a common point, from the gap of their surfaces and its rounding error.

    The side of a point tells that of its body only if a gap is proved: a face that reaches through the surface by less
    than the goal may hold the point.
    """
    return not (gap.lower > margin) or side_of_bodies(pair, False) == INSIDE


@kernel(_nrt=True)
def depth_of_point(core, p, goal, beyond, w):
    """Return a proved depth of a point in a mesh, both in its frame; 0 outside; at `beyond` the search ends."""
    if side_of(core, p, True) != INSIDE:
        return 0.0
    point = core.row.copy()
    point[A1] = 0.0  # the radius of a point
    at = scale(-1.0, p)
    n = unit_vector(p, (0.0, 0.0, 1.0))
    mesh = kinds.Core(core.row, kinds.CODE[kinds.MESH], core.pool)
    gap = nearest_triangles(
        Pair(kinds.Core(point, kinds.CODE[kinds.POINT], core.pool), mesh, np.eye(3), at),
        n,
        goal,
        beyond,
        -math.inf,
        False,
        w,
    )
    return max(0.0, gap.lower)


@kernel(_nrt=True)
def _touched_triangles(pair, goal, w, found):
    """Fill `found` with numbers of triangles of the mesh B that meet the hull of A; returns how many."""
    a, b = pair.a, pair.b
    hull = Pair(_hull_of(a), b, pair.rotation, pair.centre)
    part, box = part_row(b), b.row.copy()
    margin = difference.error_margin(a.row, b.row, pair.centre)
    far = kinds.ball_radius(a.row, a.kind) + margin
    n = unit_vector(pair.centre, (0.0, 0.0, 1.0))
    stack = np.empty(STACK, np.int64)
    stack[0] = 0
    depth = 1
    count = 0
    while depth > 0 and count < _MOST_TOUCHED:
        depth -= 1
        node = stack[depth]
        first, triangles = parts_of_node(b, node)
        for t in range(first, first + triangles):
            set_part(part, b, t)
            parts = Pair(hull.a, kinds.Core(part, kinds.CODE[kinds.CONVEX_MESH], b.pool), pair.rotation, pair.centre)
            lower, _, _ = cores.bounds_about(parts, n, goal, margin, -math.inf, far, w)
            if lower <= far and count < _MOST_TOUCHED:
                found[count] = t
                count += 1
        if triangles > 0:
            continue
        for child in (node + 1, first):
            if gap_of_nodes(hull, 0, child, far, margin, box, w) <= far and depth < STACK:
                stack[depth] = child
                depth += 1
    return count


@kernel
def _translation(translations, i):
    return (translations[i, 1], translations[i, 2], translations[i, 3])


@kernel
def _add_translation(translations, count, length, n):
    translations[count, 0] = length
    translations[count, 1], translations[count, 2], translations[count, 3] = n
    return count + 1


@kernel(_nrt=True)
def _translations_out(pair, goal, sign, w, translations, count):
    """Add the translations that take A out of the planes of the triangles of B it meets, shortest first.

    A row of `translations`: length, direction from A to B (turned by `sign`). Returns their number and the largest
    depth proved by the deepest points of A below those planes.
    """
    rotation, centre = pair.rotation, pair.centre
    found = np.empty(_MOST_TOUCHED, np.int64)
    touched = _touched_triangles(pair, goal, w, found)
    ka = pair.a.kind
    ball = kinds.ball_radius(pair.a.row, ka)
    proved = 0.0
    tried = 0
    for i in range(touched):
        p, q, r = corners(pair.b, found[i])
        normal = cross(sub(q, p), sub(r, p))
        length = norm(normal)
        if not (length > 0.0):
            continue
        inward = rotate(rotation, scale(-1.0 / length, normal))
        known = False
        for j in range(count):
            known = known or dot(inward, _translation(translations, j)) * sign > 1.0 - 1e-9
        if known or count >= translations.shape[0]:
            continue
        x, _, upper = kinds.core_support(pair.a, inward)
        # A body outside the plane that meets the triangle within rounding leaves by any small translation.
        height = max(0.0, upper + ball - dot(inward, add(centre, rotate(rotation, p))))
        count = _add_translation(translations, count, height, scale(sign, inward))
        if height > 0.0 and tried < MOST_TRANSLATIONS:
            tried += 1
            x = point_along(pair.a, inward)
            deepest = rotate_back(rotation, sub(combine(1.0, x, ball, inward), centre))
            proved = max(proved, depth_of_point(pair.b, deepest, goal, math.inf, w))
    return count, proved


@kernel(_nrt=True)
def _shortest_translation(pair, translations, count, best, direction, goal, margin, w):
    """Return length and direction of the shortest of some translations that is proved, or of the known one."""
    is_point = pair.a.kind == kinds.POINT and kinds.ball_radius(pair.a.row, pair.a.kind) <= margin
    for _ in range(MOST_TRANSLATIONS):
        i = 0
        for j in range(1, count):
            i = j if translations[j, 0] < translations[i, 0] else i
        if count == 0 or not (translations[i, 0] < best):
            break
        # Only the translation from the place of the bodies outwards proves anything about this place.
        length, d = max(translations[i, 0], 0.0) + 0.5 * goal, _translation(translations, i)
        translations[i, 0] = math.inf
        away = Pair(pair.a, pair.b, pair.rotation, add(pair.centre, scale(length, d)))
        if is_point:
            # The side of a point needs no gap, whose bound near the surface is that of a direction of few digits.
            is_free = side_of_bodies(away, True) == OUTSIDE
        else:
            k = nearest_triangles(away, d, 0.5 * goal, 2.0 * margin, -math.inf, False, w)
            is_free = not may_overlap(away, k, margin)
        if is_free:
            return length, d
    return best, direction


@kernel
def _below_farthest(core, x, n):
    """Return how far a point of a convex body lies below the farthest along n; 0 for other bodies."""
    if core.kind == kinds.MESH or core.kind == kinds.TORUS or not holds_means(core.row, core.kind):
        return 0.0
    _, _, upper = kinds.core_support(core, n)
    return upper + kinds.ball_radius(core.row, core.kind) - dot(n, x)


@kernel(_nrt=True)
def _propose_from_inside(pair, gap, goal, margin, translations, w):
    """Propose the translation out of a body in which the other one lies; return a depth that is proved.

    The surfaces stay apart under translations shorter than their distance, `gap`. A may lie inside B, or the other way
    round: A leaves through the nearest triangle.
    """
    ball = kinds.ball_radius(pair.a.row, pair.a.kind)
    inward = scale(-1.0, gap.n)
    _, _, upper = kinds.core_support(pair.a, inward)
    _add_translation(translations, 0, upper + ball - dot(inward, gap.y), inward)
    deepest = combine(1.0, point_along(pair.a, inward), ball, inward)
    deep = depth_of_point(pair.b, rotate_back(pair.rotation, sub(deepest, pair.centre)), goal, math.inf, w)
    return max(0.0, gap.lower - margin, deep)


@kernel(_nrt=True)
def _propose_translations(pair, gap, n, goal, margin, translations, count, w):
    """Add translations of B that may separate the bodies; return their number, a proved depth, and iterations.

    The bodies may leave each other through the planes of triangles that meet the other body; a point, past the point
    of the surface that is nearest to it; a ball about a core that does not overlap, through the nearest point.
    """
    a, kind = pair.a.row, pair.a.kind
    ball, iterations = kinds.ball_radius(a, kind), 0
    count, proved = _translations_out(pair, goal, 1.0, w, translations, count)
    if kind == kinds.POINT and ball <= margin:
        count = _add_translation(translations, count, norm(gap.y), unit_vector(scale(-1.0, gap.y), gap.n))
    if kind == kinds.POINT or kind == kinds.CAPSULE or kind == kinds.TORUS:
        core = a.copy()
        core[A2 if kind == kinds.TORUS else A1] = 0.0
        bare = Pair(kinds.Core(core, kind, pair.a.pool), pair.b, pair.rotation, pair.centre)
        k = nearest_triangles(bare, n, goal, math.inf, -math.inf, False, w)
        iterations = k.iterations
        if not may_overlap(bare, k, margin):
            proved = max(proved, ball - k.upper)
            count = _add_translation(translations, count, ball - k.upper, k.n)
    if kind == kinds.MESH:
        first, backward = count, Pair(pair.b, pair.a, *reversed_pose(pair))
        count, deep = _translations_out(backward, goal, -1.0, w, translations, count)
        proved = max(proved, deep)
        for i in range(first, count):
            turned = rotate(pair.rotation, _translation(translations, i))
            _add_translation(translations, i, translations[i, 0], turned)
    return count, proved, iterations


@kernel(_nrt=True)
def _moved(pair, length, direction):
    """Return the pair with B moved."""
    return Pair(pair.a, pair.b, pair.rotation, add(pair.centre, scale(length, direction)))


class Contact(NamedTuple):
    """The nearest points of two bodies after the shortest translation known, which is then undone."""

    length: float  # of the translation, m
    x: tuple
    y: tuple
    is_paired: bool  # the points meet after the translation
    iterations: int


@kernel(_nrt=True)
def _contact_after(pair, length, direction, goal, margin, w):
    """Return the contact after a translation of B, shortened if the bodies are still apart then.

    If the search cannot separate the surfaces, there are no nearest points: there are after a slightly longer
    translation. The points of the hulls are unsuitable: they lie across holes and hollows.
    """
    c = difference.difference_support(pair, direction)
    ball = kinds.ball_radius(pair.a.row, pair.a.kind)
    x, y, is_paired, best, iterations = combine(1.0, c.x, ball, direction), c.y, False, length, 0
    for i in range(MOST_TRANSLATIONS):
        k = nearest_triangles(_moved(pair, length, direction), direction, 0.25 * goal, math.inf, -math.inf, False, w)
        iterations += k.iterations
        is_paired = norm(sub(k.y, k.x)) <= 2.0 * goal
        if k.lower == -math.inf and not is_paired:
            length += goal
            continue
        best = min(best, length)
        x, y = k.x, combine(1.0, k.y, -length, direction)
        # A negative length is proved as a gap by the one before it; beyond the place of the bodies, gaps do not add up.
        if length < 0.0 or k.lower <= goal + margin or i == MOST_TRANSLATIONS - 1:
            break
        length -= k.lower - margin
    return Contact(best, x, y, is_paired, iterations)


@kernel(_nrt=True)
def _normal_of(pair, contact, direction, goal, margin, w):
    """Return the normal of a contact whose depth is proved, the contact with that normal, and its flags.

    A translation along a touched face proves a depth about as small as the goal, even if A touches only an edge of the
    face. Then A lies below its farthest point along the translation, and the normal is that of the nearest points after
    the translation, if one along it separates the bodies too and is no longer to within the goal.
    """
    step, near = contact.length + goal, ALONG * goal
    k = nearest_triangles(_moved(pair, step, direction), direction, 0.25 * goal, near, -math.inf, True, w)
    flags, iterations = k.status, contact.iterations + k.iterations
    x, y, off = contact.x, contact.y, _below_farthest(pair.a, contact.x, direction)
    if off > goal:
        n, step = k.n, max(0.0, step * dot(direction, k.n) - max(0.0, k.lower - margin) + goal)
        away = _moved(pair, step, n)
        k = nearest_triangles(away, n, 0.25 * goal, near, -math.inf, True, w)
        iterations += k.iterations
        if k.upper <= near and step - (k.lower - margin) <= contact.length + goal and not may_overlap(away, k, margin):
            direction, flags, x, y = n, k.status, k.x, combine(1.0, k.y, -step, n)
            off = _below_farthest(pair.a, x, n)
    if off > ALONG * goal and flags & NON_UNIQUE == 0:
        flags = UNPROVEN
    return direction, Contact(contact.length, x, y, True, iterations), flags


@kernel(_nrt=True)
def solve(pair, n, goal, limit):
    """Signed distance of any body A and a mesh B, with flags of the status. Radii are counted.

    Ends as soon as the interval decides about the ends of the limit.
    """
    w, ball = difference.new_workspace(), kinds.ball_radius(pair.a.row, pair.a.kind)
    margin = difference.error_margin(pair.a.row, pair.b.row, pair.centre)
    # Whether the bodies are apart is decided in any case.
    gap = nearest_triangles(pair, n, goal, max(0.0, limit.beyond) + 2.0 * margin, 0.0, True, w)
    if not may_overlap(pair, gap, margin):
        d, lower = gap.upper, min(gap.lower - margin, gap.upper)
        return cores.CoreAnswer(d, lower, d + margin, gap.x, gap.y, gap.n, gap.iterations, gap.status)
    translations, count = np.empty((4 * _MOST_TOUCHED + 3, 4)), np.int64(0)
    best, direction, proved, iterations = math.inf, n, max(0.0, -gap.upper), gap.iterations
    if gap.lower > -math.inf:
        proved = _propose_from_inside(pair, gap, goal, margin, translations, w)
        count = np.int64(1)
        if translations[0, 0] - proved <= 0.5 * goal:
            best, direction = _shortest_translation(pair, translations, count, best, direction, goal, margin, w)
    if not best - proved <= goal:
        hulls = cores.solve_cores(pair, n, goal, Limit(0.0, limit.budget, math.inf, -math.inf), w)
        if ball - hulls.lower < best:
            best, direction = ball - hulls.lower, hulls.n
        count, deep, steps = _propose_translations(pair, gap, n, goal, margin, translations, count, w)
        proved, iterations = max(proved, deep), iterations + hulls.iterations + steps
        best, direction = _shortest_translation(pair, translations, count, best, direction, goal, margin, w)
    upper = margin - proved if gap.lower > margin or proved > 0.0 else max(margin, gap.upper)
    if verdict_of(-best - margin, upper, limit) != UNDECIDED:
        return cores.CoreAnswer(-best, -best - margin, upper, gap.x, gap.y, direction, iterations, 0)
    contact = _contact_after(pair, best, direction, goal, margin, w)
    lower = -contact.length - margin
    if contact.length < 0.0:
        upper = norm(sub(contact.y, contact.x)) + margin
    flags = UNPROVEN
    if contact.is_paired and upper - lower <= goal:
        direction, contact, flags = _normal_of(pair, contact, direction, goal, margin, w)
        if contact.length < 0.0:
            upper = norm(sub(contact.y, contact.x)) + margin
            flags = flags if upper - lower <= goal else UNPROVEN
    distance, x, y, _, steps = -contact.length, contact.x, contact.y, contact.is_paired, contact.iterations
    return cores.CoreAnswer(distance, lower, max(upper, distance), x, y, direction, iterations + steps, flags)


@kernel(separate=True, _nrt=True)
def bounds(pair, n, limit, goal, margin):
    """Bound the signed distance of any body A and a mesh B without the depth; infinite if nothing is proved.

    Parameters
    ----------
    pair : Pair
    n : tuple
        Unit direction to start from.
    limit : Limit
        The search ends as soon as the bounds decide about it.
    goal : float
        Width of an interval, m.
    margin : float
        Rounding error of a bound, m.

    Returns
    -------
    lower, upper : float
    n : tuple
        The best direction of the hulls.
    """
    a, b = pair.a, pair.b
    w = difference.new_workspace()
    ball = kinds.ball_radius(a.row, a.kind)
    near, far = limit.below + ball - margin, limit.beyond + ball + margin
    # Hulls that overlap may be closer than the bodies, but are no closer than the depth of theirs.
    lower, _, n = cores.bounds_about(_hulls_of(pair), n, goal, margin, min(near, 0.0), far, w)
    lower, upper = lower - margin - ball, math.inf
    if lower >= limit.beyond:
        return lower, upper, n
    far = max(abs(limit.beyond), abs(limit.below)) + 2.0 * margin
    gap = nearest_triangles(pair, n, goal, far, limit.below, False, w)
    upper = gap.upper + margin
    if upper < limit.below:
        return lower, upper, n
    if gap.lower > margin:
        side = side_of_bodies(pair, True)
        if side == OUTSIDE:
            lower = max(lower, gap.lower - margin)
        elif side == INSIDE:
            upper = min(upper, margin - gap.lower)
    elif limit.below < 0.0:
        # The farthest points along n, if they are inside.
        x = combine(1.0, point_along(a, n), ball, n)
        deep = depth_of_point(b, rotate_back(pair.rotation, sub(x, pair.centre)), goal, far, w)
        if a.kind == kinds.MESH and not margin - deep < limit.below:
            y = add(pair.centre, rotate(pair.rotation, point_along(b, rotate_back(pair.rotation, scale(-1.0, n)))))
            deep = max(deep, depth_of_point(a, y, goal, far, w))
        upper = min(upper, margin - deep) if deep > 0.0 else upper
    return lower, upper, n

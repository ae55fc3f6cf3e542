# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""A mesh that is not convex against any other body: a tree of boxes over its triangles.

Apart: every triangle is a convex core, so the distance is the least over triangles, each with an interval; a box of
the tree whose own distance from the other body exceeds what has been found is left out with all it holds. The exact
triangles decide, not a decomposition: pieces are only ever near the surface.

Overlapping (a triangle meets the other body, or one body lies inside the other): the depth is proved from above by
the depth of the hulls, or by the shortest translation out of the plane of a triangle concerned, after which a new
search shows the bodies apart; from below by points: a point of A at depth t in B needs a translation of t at least.
Where these do not meet, the status says NON_CONVEX.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.aabb_tree import END, FIRST, LOWER, NODE_LENGTH, SECOND, UPPER
from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.contact.convex import cores, gjk, torus
from superovoid.contact.convex.features import corner_for_sure, is_polytope, means_of
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.flats import FLATNESS, REACH, touching_flats
from superovoid.contact.minkowski.on_surfaces import direction_of
from superovoid.contact.pair import Pair
from superovoid.shapes.kernels.kinds import (
    BLOCKS,
    BOX,
    CAPSULE,
    CODE,
    CONVEX_MESH,
    LINKS,
    MESH,
    NODES,
    POINT,
    SHELL_COUNT,
    SHELLS,
    TORUS,
    TRIANGLE,
    TRIANGLE_COUNT,
    TRIANGLES,
    VERTEX_COUNT,
    VERTICES,
    Core,
    ball_radius,
    core_support,
)
from superovoid.shapes.kernels.surface import A1, A2, A3, RADIUS, SIZE
from superovoid.values.status import NON_CONVEX, NON_UNIQUE, UNPROVEN

_NARROWER = 4  # times that an interval is made narrower for points along the normal
_STACK = 4096
_MOST_TOUCHED = 64  # triangles kept of those that meet the other body
_MOST_AT = 32  # triangles looked at that meet at a point
_TRIED = 6  # translations tried
_ADVANCES = 5  # places looked at on the way back from one that parts the bodies by more than it must


class Gap(NamedTuple):
    """Distance of a body from the triangles of a mesh, in the frame of the body."""

    lower: float
    upper: float
    x: tuple
    y: tuple
    n: tuple
    touching: bool
    iterations: int
    shared: bool  # whether points far from its own are as near; False where not asked for


@kernel
def winding_number(core, p):
    """Winding number of the triangles of a mesh about a point in its frame (Van Oosterom and Strackee 1983)."""
    out_of_line()
    pool = core.pool
    at = int(core.row[TRIANGLES])
    total = 0.0
    for i in range(int(core.row[TRIANGLE_COUNT])):
        k = at + 9 * i
        u = (pool[k] - p[0], pool[k + 1] - p[1], pool[k + 2] - p[2])
        v = (pool[k + 3] - p[0], pool[k + 4] - p[1], pool[k + 5] - p[2])
        w = (pool[k + 6] - p[0], pool[k + 7] - p[1], pool[k + 8] - p[2])
        lu, lv, lw = norm(u), norm(v), norm(w)
        below = lu * lv * lw + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv
        total += math.atan2(dot(u, cross(v, w)), below)
    return total / (2.0 * math.pi)


@kernel
def node_box(b, pool, node):
    """Centre and half extents of the box of a node of a mesh."""
    k = int(b[NODES]) + NODE_LENGTH * node
    low = (pool[k + LOWER], pool[k + LOWER + 1], pool[k + LOWER + 2])
    high = (pool[k + UPPER], pool[k + UPPER + 1], pool[k + UPPER + 2])
    return scale(0.5, add(low, high)), scale(0.5, sub(high, low))


@kernel
def is_outside_box(core, p):
    """Whether a point in the frame of a mesh is outside the box of the mesh, rounding counted."""
    middle, half = node_box(core.row, core.pool, 0)
    for i in range(3):
        if abs(p[i] - middle[i]) > (1.0 + 1e-12) * half[i] + 1e-12 * core.row[RADIUS]:
            return True
    return False


@kernel
def is_inside(core, p):
    """Whether a point in the frame of a mesh lies inside it."""
    return not is_outside_box(core, p) and winding_number(core, p) > 0.5


@kernel
def _node_row(b, pool, node, row):
    """Make a row the box of a node; returns the centre."""
    middle, (row[A1], row[A2], row[A3]) = node_box(b, pool, node)
    return middle


@kernel
def node_content(b, pool, node):
    """First triangle of a leaf and their number, or the second child of an inner node and 0."""
    k = int(b[NODES]) + NODE_LENGTH * node
    second = int(pool[k + SECOND])
    if second > 0:
        return node + second, 0
    first = int(pool[k + FIRST])
    return first, int(pool[k + END]) - first


@kernel(_nrt=True)
def farthest_corner(core, n):
    """The corner of the triangles of a mesh that is farthest along n.

    The hull of a mesh has vertices beside these where the mesh is flat, a needle or next to it (`shapes.hull`).
    """
    out_of_line()
    b, pool = core.row, core.pool
    stack = np.empty(_STACK, np.int64)
    stack[0] = 0
    depth = 1
    best, farthest = -math.inf, n
    while depth > 0:
        depth -= 1
        node = stack[depth]
        middle, half = node_box(b, pool, node)
        if dot(n, middle) + abs(n[0]) * half[0] + abs(n[1]) * half[1] + abs(n[2]) * half[2] <= best:
            continue
        first, count = node_content(b, pool, node)
        if count > 0:
            for i in range(3 * first, 3 * (first + count)):
                k = int(b[TRIANGLES]) + 3 * i
                p = (pool[k], pool[k + 1], pool[k + 2])
                if dot(n, p) > best:
                    best, farthest = dot(n, p), p
        elif depth + 2 <= _STACK:
            stack[depth], stack[depth + 1] = node + 1, first
            depth += 2
    return farthest


@kernel(_nrt=True)
def point_along(core, n):
    """A point of a body's core that is farthest along n."""
    if core.kind == MESH:
        return farthest_corner(core, n)
    x, _, _ = core_support(core, n, np.int64(0))
    return x


@kernel
def _of_vertices(pair, n, goal, beyond, margin):
    """Distance of a hull of vertices from a triangle, where GJK over vertices closes it; else an open interval."""
    out_of_line()
    ka = pair.a.kind
    a = Core(pair.a.row, CODE[CONVEX_MESH] if ka == TRIANGLE else ka, pair.a.pool)
    hulls = Pair(a, Core(pair.b.row, CODE[CONVEX_MESH], pair.b.pool), pair.rotation, pair.centre)
    found = gjk.descend(hulls, n, 0.5 * (goal - margin), -math.inf, beyond)
    if found.simplex.count == 4:
        return cores.Cores(0.0, -math.inf, math.inf, n, n, n, found.iterations, 0)
    simplex, n, lower, iterations = found.simplex, found.n, found.lower, found.iterations
    x, y = means_of(hulls, simplex.names, simplex.weights)
    length = norm(sub(y, x))
    normal = cross(sub(simplex.q, simplex.p), sub(simplex.r, simplex.p))
    area = norm(normal)
    if simplex.count == 3 and area > 0.0 and not (length - lower + margin <= goal or lower > beyond):
        # Near to the origin the nearest point of a face is a worse direction than the normal of that face.
        for sign in (1.0, -1.0):
            direction = scale(sign / area, normal)
            c = corner_for_sure(hulls, direction, found.a, found.b)
            if -c.h > lower:
                n, lower = direction, -c.h
        iterations += 2
    lower = min(lower - margin, length)
    if not (length - lower <= goal or lower > beyond):
        lower = -math.inf
    return cores.Cores(length, lower, length + margin, x, y, n, iterations, 0)


@kernel(_nrt=True)
def _part_distance(pair, n, goal, beyond, margin, others, w):
    """Distance of the core of A (a torus: of its circle) from a convex part of a mesh; `others` as in `separation`."""
    out_of_line()
    ka, kind, rotation, centre = pair.a.kind, pair.b.kind, pair.rotation, pair.centre
    if ka == TORUS and kind == TRIANGLE:
        back = np.ascontiguousarray(rotation.T)
        ring = Pair(pair.b, pair.a, back, rotate_back(rotation, scale(-1.0, centre)))
        backward = rotate_back(rotation, scale(-1.0, n))
        zero = np.int64(0)
        k = torus.nearest_on_circle(ring, backward, goal, beyond, 0.0, zero, w)
        status = k.status
        if others and k.distance <= beyond and torus.circle_goes_on(ring, k, goal, zero, w):
            status |= NON_UNIQUE
        x, y = add(centre, rotate(rotation, k.y)), add(centre, rotate(rotation, k.x))
        touching = not (k.distance > 0.25 * goal)
        direction = scale(-1.0, rotate(rotation, k.n))
        return cores.Cores(k.distance, k.lower, k.upper, x, y, direction, k.iterations, status), touching
    iterations = 0
    if ka == TRIANGLE or is_polytope(ka):
        k = _of_vertices(pair, n, goal, beyond, margin)
        if k.lower > -math.inf:
            return k, False
        iterations = k.iterations
    k = cores.solve_cores(pair, n, goal, beyond, np.int64(0), w)
    iterations += k.iterations
    return cores.Cores(k.distance, k.lower, k.upper, k.x, k.y, k.n, iterations, k.status), k.lower == -math.inf


@kernel
def _part_gap(pair, n, goal, beyond, nearest, margin, others, w):
    """As `_part_distance`; where the cores are nearer to each other than `nearest`, with points along the normal.

    Near flats an interval as narrow as the goal may leave points far off the normal, and no direction near them that
    proves as much. A narrower one has better directions.
    """
    out_of_line()
    best, touching = _part_distance(pair, n, goal, beyond, margin, others, w)
    if touching or pair.a.kind == TORUS or not (best.upper < nearest):
        return best, touching
    best = cores.straightened(pair, best, goal, margin, w)
    width = goal
    for _ in range(_NARROWER):
        u = sub(best.y, best.x)
        if norm(combine(1.0, u, -dot(u, best.n), best.n)) <= goal:
            break
        width *= 0.1
        k, touched = _part_distance(pair, best.n, width, beyond, margin, False, w)  # no torus
        if touched or not (k.upper - k.lower <= goal):
            break
        k = cores.straightened(pair, k, goal, margin, w)
        iterations = best.iterations + k.iterations
        best = cores.Cores(k.distance, k.lower, k.upper, k.x, k.y, k.n, iterations, k.status)
    return best, touching


@kernel
def _direction(centre, n):
    length = norm(centre)
    return scale(1.0 / length, centre) if length > 0.0 else n


@kernel(_nrt=True)
def _triangles_at(core, p, n, slack, found):
    """Fill `found` with numbers of triangles of a mesh that reach farthest along n at p; returns how many."""
    out_of_line()
    b, pool = core.row, core.pool
    stack = np.empty(_STACK, np.int64)
    stack[0] = 0
    depth = 1
    count = 0
    while depth > 0 and count < found.shape[0]:
        depth -= 1
        node = stack[depth]
        middle, half = node_box(b, pool, node)
        outside = False
        for i in range(3):
            outside = outside or abs(p[i] - middle[i]) > half[i] + slack
        if outside:
            continue
        first, triangles = node_content(b, pool, node)
        if triangles <= 0:
            if depth + 2 <= _STACK:
                stack[depth], stack[depth + 1] = node + 1, first
                depth += 2
            continue
        for t in range(first, first + triangles):
            k = int(b[TRIANGLES]) + 9 * t
            q = sub((pool[k], pool[k + 1], pool[k + 2]), p)
            r = sub((pool[k + 3], pool[k + 4], pool[k + 5]), p)
            s = sub((pool[k + 6], pool[k + 7], pool[k + 8]), p)
            if max(dot(n, q), dot(n, r), dot(n, s)) > slack:
                continue
            wq, wr, ws = difference.triangle_weights(q, r, s)
            if norm(add(combine(wq, q, wr, r), scale(ws, s))) <= slack and count < found.shape[0]:
                found[count] = t
                count += 1
    return count


@kernel(_nrt=True)
def _flats_meet(pair, gap):
    """Whether flats touch at the nearest points of a body A and a mesh B, by all triangles that meet there."""
    out_of_line()
    a, ka, pool_a = pair.a
    b, pool_b = pair.b.row, pair.b.pool
    unit = min(a[SIZE], b[SIZE])
    slack = FLATNESS * unit
    at_a, at_b = np.zeros(_MOST_AT, np.int64), np.empty(_MOST_AT, np.int64)
    y = rotate_back(pair.rotation, sub(gap.y, pair.centre))
    down = rotate_back(pair.rotation, scale(-1.0, gap.n))
    count_b = _triangles_at(pair.b, y, down, slack, at_b)
    count_a = _triangles_at(pair.a, gap.x, gap.n, slack, at_a) if ka == MESH else 1
    part_a, part_b = a.copy(), b.copy()
    part_b[VERTEX_COUNT], part_b[LINKS], part_b[BLOCKS] = 3.0, -1.0, -1.0
    if ka == MESH:
        part_a[VERTEX_COUNT], part_a[LINKS], part_a[BLOCKS] = 3.0, -1.0, -1.0
    core_a = Core(part_a, CODE[CONVEX_MESH] if ka == MESH else ka, pool_a)
    core_b = Core(part_b, CODE[CONVEX_MESH], pool_b)
    for i in range(count_a):
        if ka == MESH:
            part_a[VERTICES] = a[TRIANGLES] + 9 * at_a[i]
        for j in range(count_b):
            part_b[VERTICES] = b[TRIANGLES] + 9 * at_b[j]
            parts = Pair(core_a, core_b, pair.rotation, pair.centre)
            if touching_flats(parts, gap.x, gap.y, gap.n, unit):
                return True
    return False


@kernel(_nrt=True)
def separation(pair, n, goal, enough, others, w):
    """Distance of a body A (a mesh: of its triangles) from the triangles of a mesh B.

    Ends early where they touch, or where the distance is proved to exceed `enough`. `others`: whether to look for
    points far from the nearest that are as near to within the goal.
    """
    out_of_line()
    a, ka, pool_a = pair.a
    b, pool_b = pair.b.row, pair.b.pool
    rotation, centre = pair.rotation, pair.centre
    ball = ball_radius(a, ka)
    margin = difference.rounding(a, b, centre)
    box, part = b.copy(), b.copy()
    box_a, part_a = a.copy(), a.copy()
    part[VERTEX_COUNT], part[LINKS], part[BLOCKS] = 3.0, -1.0, -1.0
    if ka == MESH:
        part_a[VERTEX_COUNT], part_a[LINKS], part_a[BLOCKS] = 3.0, -1.0, -1.0
    part_kind = CODE[TRIANGLE] if ka == MESH else ka
    nodes = np.empty((_STACK, 2), np.int64)
    bounds = np.empty(_STACK)
    nodes[0, 0], nodes[0, 1], bounds[0] = 0, 0, -math.inf
    depth = 1
    best = Gap(math.inf, math.inf, n, n, n, False, 0, False)
    lower = math.inf
    iterations = 0
    aside = REACH * min(a[SIZE], b[SIZE])
    elsewhere = math.inf  # the least upper bound far from the nearest points
    while depth > 0:
        depth -= 1
        i, j, bound = nodes[depth, 0], nodes[depth, 1], bounds[depth]
        seeks = others and not (elsewhere <= best.upper + goal)
        limit = min(best.upper + (goal if seeks else -0.25 * goal), enough)
        if bound >= limit:
            lower = min(lower, bound)
            continue
        first, count = node_content(b, pool_b, j)
        first_a, count_a = node_content(a, pool_a, i) if ka == MESH else (0, 1)
        if count > 0 and count_a > 0:
            for s in range(count_a):
                part_a[VERTICES] = a[TRIANGLES] + 9 * (first_a + s) if ka == MESH else a[VERTICES]
                for t in range(count):
                    part[VERTICES] = b[TRIANGLES] + 9 * (first + t)
                    k, touching = _part_gap(
                        Pair(Core(part_a, part_kind, pool_a), Core(part, CODE[TRIANGLE], pool_b), rotation, centre),
                        best.n,
                        0.25 * goal,
                        min(best.upper + (goal if seeks else 0.0), enough) + ball,
                        best.upper + ball,
                        margin,
                        others,
                        w,
                    )
                    iterations += k.iterations
                    lower = min(lower, k.lower - ball)
                    upper = k.upper - ball
                    x, y = combine(1.0, k.x, ball, cores.ball_direction(k.x, k.y, k.n, ball)), k.y
                    if touching or k.upper <= ball:
                        # Too near to tell overlap from a gap, unless the interval does.
                        return Gap(-math.inf, upper, x, y, k.n, True, iterations, False)
                    is_aside = max(norm(sub(x, best.x)), norm(sub(y, best.y))) > aside
                    if is_aside or k.status & NON_UNIQUE:
                        elsewhere = min(elsewhere, max(upper, best.upper) if is_aside else upper)
                    if upper < best.upper:
                        # That of a torus is known to the square root of what rounds only; its points are exact.
                        direction = direction_of(k.x, k.y, k.n) if ka == TORUS else k.n
                        best = Gap(0.0, upper, x, y, direction, False, iterations, False)
            continue
        # Open the larger of the two nodes, the nearer child last, so that it is taken first.
        open_b = count <= 0
        if open_b and count_a <= 0:
            ra = _node_row(a, pool_a, i, box_a)
            rb = _node_row(b, pool_b, j, box)
            open_b = max(box[A1], box[A2], box[A3]) >= max(box_a[A1], box_a[A2], box_a[A3])
        children = (j + 1, first) if open_b else (i + 1, first_a)
        gaps = (0.0, 0.0)
        for c in range(2):
            node_a, node_b = (i, children[c]) if open_b else (children[c], j)
            rb = _node_row(b, pool_b, node_b, box)
            at = add(centre, rotate(rotation, rb))
            if ka == MESH:
                ra = _node_row(a, pool_a, node_a, box_a)
                at = sub(at, ra)
                k = cores.solve_cores(
                    Pair(Core(box_a, CODE[BOX], pool_a), Core(box, CODE[BOX], pool_b), rotation, at),
                    _direction(at, n),
                    0.1 * norm(at),
                    limit,
                    np.int64(0),
                    w,
                )
            else:
                k = cores.solve_cores(
                    Pair(pair.a, Core(box, CODE[BOX], pool_b), rotation, at),
                    _direction(at, n),
                    0.1 * norm(at),
                    limit + ball,
                    np.int64(0),
                    w,
                )
            iterations += k.iterations
            gap = max(bound, k.lower - ball)
            gaps = (gap, gaps[1]) if c == 0 else (gaps[0], gap)
        order = (0, 1) if gaps[0] > gaps[1] else (1, 0)
        for c in order:
            gap = gaps[c]
            if gap >= limit or depth + 1 >= _STACK:
                lower = min(lower, gap)
                continue
            nodes[depth, 0], nodes[depth, 1] = (i, children[c]) if open_b else (children[c], j)
            bounds[depth] = gap
            depth += 1
    shared = others and elsewhere <= best.upper + goal
    if others and not shared and ka != TORUS and best.upper < math.inf:
        shared = _flats_meet(pair, best)
    return Gap(min(lower, best.upper), best.upper, best.x, best.y, best.n, False, iterations, shared)


@kernel
def _shell_inside(pair):
    """Whether a connected part of the surface of a mesh A lies inside a mesh B, the surfaces of which do not meet."""
    out_of_line()
    a, pool_a = pair.a.row, pair.a.pool
    for i in range(int(a[SHELL_COUNT])):
        k = int(a[SHELLS]) + 3 * i
        p = (pool_a[k], pool_a[k + 1], pool_a[k + 2])
        if is_inside(pair.b, rotate_back(pair.rotation, sub(p, pair.centre))):
            return True
    return False


@kernel(_nrt=True)
def overlap(pair, gap):
    """Whether bodies whose surfaces may touch have a common point, from the gap of their surfaces.

    Where the surfaces do not touch, each connected part of one is inside the other body or outside it, as a whole. A
    part of B inside a body that is no mesh touches it, since its core is no surface.
    """
    out_of_line()
    rotation, centre = pair.rotation, pair.centre
    if gap.touching:
        return True
    if pair.a.kind != MESH:
        x, _, _ = core_support(pair.a, (0.0, 0.0, 1.0), np.int64(0))
        return is_inside(pair.b, rotate_back(rotation, sub(x, centre)))
    if _shell_inside(pair):
        return True
    back = np.ascontiguousarray(rotation.T)
    return _shell_inside(Pair(pair.b, pair.a, back, rotate_back(rotation, scale(-1.0, centre))))


@kernel(_nrt=True)
def depth_of_point(core, p, goal, w):
    """Proved depth of a point in a mesh, both in its frame; 0 outside."""
    out_of_line()
    if not is_inside(core, p):
        return 0.0
    point = core.row.copy()
    point[A1] = 0.0  # the radius of a point
    at = scale(-1.0, p)
    n = _direction(p, (0.0, 0.0, 1.0))
    mesh = Core(core.row, CODE[MESH], core.pool)
    gap = separation(Pair(Core(point, CODE[POINT], core.pool), mesh, np.eye(3), at), n, goal, math.inf, False, w)
    return max(0.0, gap.lower)


@kernel(_nrt=True)
def _touched_triangles(pair, goal, w, found):
    """Fill `found` with numbers of triangles of the mesh B that meet the hull of A; returns how many."""
    out_of_line()
    a, ka = pair.a.row, pair.a.kind
    b, pool_b = pair.b.row, pair.b.pool
    rotation, centre = pair.rotation, pair.centre
    part, box = b.copy(), b.copy()
    part[VERTEX_COUNT], part[LINKS], part[BLOCKS] = 3.0, -1.0, -1.0
    ball = ball_radius(a, ka)
    stack = np.empty(_STACK, np.int64)
    stack[0] = 0
    depth = 1
    count = 0
    while depth > 0 and count < _MOST_TOUCHED:
        depth -= 1
        node = stack[depth]
        first, triangles = node_content(b, pool_b, node)
        if triangles > 0:
            for t in range(triangles):
                part[VERTICES] = b[TRIANGLES] + 9 * (first + t)
                n = _direction(centre, (0.0, 0.0, 1.0))
                k = cores.solve_cores(
                    Pair(pair.a, Core(part, CODE[TRIANGLE], pool_b), rotation, centre),
                    n,
                    goal,
                    ball,
                    np.int64(0),
                    w,
                )
                if k.lower <= ball and count < _MOST_TOUCHED:
                    found[count] = first + t
                    count += 1
            continue
        for child in (node + 1, first):
            at = add(centre, rotate(rotation, _node_row(b, pool_b, child, box)))
            n = _direction(at, (0.0, 0.0, 1.0))
            k = cores.solve_cores(
                Pair(pair.a, Core(box, CODE[BOX], pool_b), rotation, at), n, goal, ball, np.int64(0), w
            )
            if k.lower <= ball and depth < _STACK:
                stack[depth] = child
                depth += 1
    return count


@kernel(_nrt=True)
def _ways_out(pair, goal, sign, w, ways, count):
    """Add the translations that take A out of the planes of the triangles of B it meets, shortest first.

    A row of `ways`: length, direction from A to B (turned by `sign`). Returns their number and the largest depth proved
    by the deepest points of A below those planes.
    """
    out_of_line()
    b, pool_b = pair.b.row, pair.b.pool
    rotation, centre = pair.rotation, pair.centre
    found = np.empty(_MOST_TOUCHED, np.int64)
    touched = _touched_triangles(pair, goal, w, found)
    ka = pair.a.kind
    ball = ball_radius(pair.a.row, ka)
    proved = 0.0
    tried = 0
    for i in range(touched):
        k = int(b[TRIANGLES]) + 9 * found[i]
        p = (pool_b[k], pool_b[k + 1], pool_b[k + 2])
        q = (pool_b[k + 3], pool_b[k + 4], pool_b[k + 5])
        r = (pool_b[k + 6], pool_b[k + 7], pool_b[k + 8])
        normal = cross(sub(q, p), sub(r, p))
        length = norm(normal)
        if not (length > 0.0):
            continue
        inward = rotate(rotation, scale(-1.0 / length, normal))
        known = False
        for j in range(count):
            known = known or dot(inward, (ways[j, 1], ways[j, 2], ways[j, 3])) * sign > 1.0 - 1e-9
        if known or count >= ways.shape[0]:
            continue
        x, _, upper = core_support(pair.a, inward, np.int64(0))
        height = upper + ball - dot(inward, add(centre, rotate(rotation, p)))
        if not (height > 0.0):
            continue
        ways[count, 0] = height
        for j in range(3):
            ways[count, 1 + j] = sign * inward[j]
        count += 1
        if tried < _TRIED:
            tried += 1
            if ka == MESH:
                x = farthest_corner(pair.a, inward)
            deepest = rotate_back(rotation, sub(combine(1.0, x, ball, inward), centre))
            proved = max(proved, depth_of_point(pair.b, deepest, goal, w))
    return count, proved


@kernel(_nrt=True)
def solve(pair, n, goal, budget, w):
    """Signed distance of any body A and a mesh B, with flags of the status. Radii are counted."""
    out_of_line()
    a, ka, pool_a = pair.a
    b, pool_b = pair.b.row, pair.b.pool
    rotation, centre = pair.rotation, pair.centre
    margin = difference.rounding(a, b, centre)
    gap = separation(pair, n, goal, math.inf, True, w)
    if not overlap(pair, gap):
        distance = gap.upper
        lower = min(gap.lower - margin, distance)
        flags = NON_UNIQUE if gap.shared else 0
        return cores.Cores(distance, lower, distance + margin, gap.x, gap.y, gap.n, gap.iterations, 0), flags
    ball = ball_radius(a, ka)
    hulls = cores.solve_cores(pair, n, goal, math.inf, budget, w)
    best, direction = ball - hulls.lower, hulls.n
    ways = np.empty((4 * _MOST_TOUCHED + 2, 4))
    count, proved = _ways_out(pair, goal, 1.0, w, ways, np.int64(0))
    iterations = gap.iterations + hulls.iterations
    if gap.touching:
        proved = max(proved, -gap.upper)
    else:
        # A lies inside B, or the other way round: A leaves through the nearest triangle.
        inward = scale(-1.0, gap.n)
        _, _, upper = core_support(pair.a, inward, np.int64(0))
        ways[count, 0] = upper + ball - dot(inward, gap.y)
        ways[count, 1], ways[count, 2], ways[count, 3] = inward
        count += 1
        deepest = point_along(pair.a, inward)
        deepest = rotate_back(rotation, sub(combine(1.0, deepest, ball, inward), centre))
        proved = max(proved, depth_of_point(pair.b, deepest, goal, w))
    if ka == POINT or ka == CAPSULE or ka == TORUS:
        # Only the ball may overlap: the nearest point of the mesh lies that deep in it.
        core = a.copy()
        core[A2 if ka == TORUS else A1] = 0.0
        bare = separation(Pair(Core(core, ka, pool_a), pair.b, rotation, centre), n, goal, math.inf, False, w)
        iterations += bare.iterations
        if not overlap(Pair(Core(core, ka, pool_a), pair.b, rotation, centre), bare):
            proved = max(proved, ball - bare.upper)
            ways[count, 0] = ball - bare.upper
            ways[count, 1], ways[count, 2], ways[count, 3] = bare.n
            count += 1
    if ka == MESH:
        back = np.ascontiguousarray(rotation.T)
        c = rotate_back(rotation, scale(-1.0, centre))
        first = count
        count, other = _ways_out(Pair(pair.b, pair.a, back, c), goal, -1.0, w, ways, count)
        proved = max(proved, other)
        for i in range(first, count):
            d = rotate(rotation, (ways[i, 1], ways[i, 2], ways[i, 3]))
            ways[i, 1], ways[i, 2], ways[i, 3] = d
    for _ in range(_TRIED):
        i = -1
        for j in range(count):
            if ways[j, 0] < best and (i < 0 or ways[j, 0] < ways[i, 0]):
                i = j
        if i < 0:
            break
        length = ways[i, 0] + 0.5 * goal
        d = (ways[i, 1], ways[i, 2], ways[i, 3])
        ways[i, 0] = math.inf
        far = combine(1.0, centre, length, d)
        moved = separation(Pair(pair.a, pair.b, pair.rotation, far), d, 0.5 * goal, 2.0 * margin, False, w)
        iterations += moved.iterations
        if moved.lower > margin and not overlap(Pair(pair.a, pair.b, pair.rotation, far), moved):
            best, direction = length, d
            break
    # Where the bodies touch after the translation is what they have in common; where they do not, a shorter one parts
    # them, by as much as they are apart. Surfaces that meet as far as the search can tell have no nearest points: a
    # little farther they have. The points of the hulls would not do, which lie across holes and hollows.
    x, _, _ = core_support(pair.a, direction, np.int64(0))
    x = combine(1.0, x, ball, direction)
    y, _, _ = core_support(Core(b, CODE[MESH], pool_b), rotate_back(rotation, scale(-1.0, direction)), np.int64(0))
    y = add(centre, rotate(rotation, y))
    paired = False
    length = best
    for i in range(_ADVANCES):
        far = combine(1.0, centre, length, direction)
        moved = separation(Pair(pair.a, pair.b, pair.rotation, far), direction, 0.25 * goal, math.inf, False, w)
        iterations += moved.iterations
        paired = norm(sub(moved.y, moved.x)) <= 2.0 * goal
        if moved.touching and not paired:
            length += goal
            continue
        best = min(best, length)
        x, y = moved.x, combine(1.0, moved.y, -length, direction)
        if moved.touching or moved.lower <= goal + margin or i == _ADVANCES - 1:
            break
        length -= moved.lower - margin
    lower, upper = -best - margin, margin - proved
    if gap.touching and not (proved > 0.0):
        upper = max(margin, gap.upper)
    if best < 0.0:
        upper = norm(sub(y, x)) + margin
    flags = 0 if paired and upper - lower <= goal else UNPROVEN | NON_CONVEX
    return cores.Cores(-best, lower, max(upper, -best), x, y, direction, iterations, 0), flags

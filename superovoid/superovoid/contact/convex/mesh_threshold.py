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
from superovoid.contact.convex import cores, epa, gjk
from superovoid.contact.convex.closed_surface import height_of_tetrahedron
from superovoid.contact.convex.core_settling import holds_means
from superovoid.contact.convex.features import is_polytope
from superovoid.contact.convex.mesh import is_outside_box, node_box, node_content, point_along
from superovoid.contact.minkowski import difference
from superovoid.contact.minkowski.difference import M, row_point
from superovoid.contact.pair import Pair
from superovoid.shapes.kernels.kinds import (
    BLOCKS,
    BOX,
    CODE,
    CONVEX_MESH,
    LINKS,
    MESH,
    POINT,
    SHELL_COUNT,
    SHELLS,
    TORUS,
    TRIANGLE_COUNT,
    TRIANGLES,
    VERTEX_COUNT,
    VERTICES,
    Core,
    ball_radius,
    core_support,
)
from superovoid.shapes.kernels.rounding import EPS
from superovoid.shapes.kernels.surface import A1, A2, A3

_STACK = 512  # nodes that wait: two more a level of the trees
_STEPS = 64  # of GJK
_MOST_OPEN = 64  # parts that touch as far as can be told, after which the surfaces say nothing
_ANGLE = 64.0 * EPS  # of the product of three lengths: what the sine and cosine of a solid angle may round (`side_of`)
_PARALLEL = 1e-3  # sine of two edges of boxes whose cross product is no axis worth trying

MET, OPEN, CLEAR = -1, 0, 1
INSIDE, UNSURE, OUTSIDE = -1, 0, 1


# --- inside or outside --------------------------------------------------------------------------------------------


@kernel
def side_of(core, p):
    r"""Whether a point in the frame of a mesh is proved to be inside it, or outside.

    The solid angle of a triangle is twice the angle of (below, det) in the plane (`mesh.winding_number`). With unit
    vectors of cosines a, b, c, below^2 + det^2 = 2 (1 + a)(1 + b)(1 + c) times the square of the product of the three
    lengths. Both are rounded by less than 33 EPS of this product, the subtraction of p included; `_ANGLE` is twice
    that. This turns the angle by no more than its ratio to the root of the sum. Beside the negative axis, where the
    angle leaps from -pi to pi, and at the origin, nothing is known. The sum of all angles is a multiple of 2 pi.
    """
    out_of_line()
    if is_outside_box(core, p):
        return OUTSIDE
    b, pool = core.row, core.pool
    at = int(b[TRIANGLES])
    total, error = 0.0, 0.0
    for i in range(int(b[TRIANGLE_COUNT])):
        k = at + 9 * i
        u = (pool[k] - p[0], pool[k + 1] - p[1], pool[k + 2] - p[2])
        v = (pool[k + 3] - p[0], pool[k + 4] - p[1], pool[k + 5] - p[2])
        w = (pool[k + 6] - p[0], pool[k + 7] - p[1], pool[k + 8] - p[2])
        lu, lv, lw = norm(u), norm(v), norm(w)
        volume = lu * lv * lw
        det = dot(u, cross(v, w))
        below = volume + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv
        slack = _ANGLE * volume
        length = math.sqrt(det * det + below * below)
        if not (length > 4.0 * slack) or (below <= slack and abs(det) <= slack):
            return UNSURE
        total += math.atan2(det, below)
        error += 2.0 * slack / length + 8.0 * EPS
    if total - error > math.pi:
        return INSIDE
    return OUTSIDE if total + error < math.pi else UNSURE


@kernel
def _side_of_parts(pair):
    """Whether a connected part of the surface of a mesh A is inside a mesh B, or all are outside."""
    out_of_line()
    a, pool = pair.a.row, pair.a.pool
    side = OUTSIDE
    for i in range(int(a[SHELL_COUNT])):
        k = int(a[SHELLS]) + 3 * i
        p = (pool[k], pool[k + 1], pool[k + 2])
        here = side_of(pair.b, rotate_back(pair.rotation, sub(p, pair.centre)))
        if here == INSIDE:
            return INSIDE
        side = min(side, here)
    return side


@kernel(_nrt=True)
def _reversed(pair):
    back = np.ascontiguousarray(pair.rotation.T)
    return back, rotate_back(pair.rotation, scale(-1.0, pair.centre))


@kernel(_nrt=True)
def _side(pair):
    """INSIDE: of two bodies whose surfaces are apart, one has a part inside the other. OUTSIDE: they are disjoint."""
    out_of_line()
    if pair.a.kind != MESH:
        x, _, _ = core_support(pair.a, (0.0, 0.0, 1.0), np.int64(0))
        return side_of(pair.b, rotate_back(pair.rotation, sub(x, pair.centre)))
    side = _side_of_parts(pair)
    if side == INSIDE:
        return INSIDE
    back, centre = _reversed(pair)
    other = _side_of_parts(Pair(pair.b, pair.a, back, centre))
    return INSIDE if other == INSIDE else min(side, other)


# --- convex parts -------------------------------------------------------------------------------------------------


@kernel(_nrt=True)
def _bounds_of_parts(pair, n, goal, margin, threshold, far, w):
    """Bounds of the signed distance of two convex cores, good enough to tell whether it is below a threshold.

    What rounding takes from them is not counted. With the threshold -inf only the lower one is looked for.
    """
    out_of_line()
    a, b = pair.a, pair.b
    if is_polytope(a.kind) and is_polytope(b.kind):
        found = gjk.descend(pair, n, goal, threshold, far)
        upper = found.upper
        if found.simplex.count == 4:
            s = found.simplex
            upper = min(upper, -height_of_tetrahedron(s.p, s.q, s.r, s.s))
            if -math.inf < threshold <= 0.0 and not upper < threshold:
                upper = min(upper, epa.expand(pair, found, margin, margin).upper)
        return found.lower, upper
    start = cores.Descent(0, -math.inf, n, math.inf, False, False, 0)
    rough = cores.descend(pair, start, goal, far, w, _STEPS, False)
    upper = rough.upper
    if rough.count == 4:
        p, q, r, s = row_point(w, 0, M), row_point(w, 1, M), row_point(w, 2, M), row_point(w, 3, M)
        upper = -height_of_tetrahedron(p, q, r, s)
    if not (holds_means(a.row, a.kind) and holds_means(b.row, b.kind)):
        upper = math.inf  # the simplex is of hulls, which reach across a dent
    return rough.lower, upper


@kernel
def _gap_of_boxes(rotation, d, a, b, enough):
    """Largest gap of two boxes along their 15 axes, or one that is enough; d from the centre of A to that of B."""
    out_of_line()
    columns = (
        (rotation[0, 0], rotation[1, 0], rotation[2, 0]),
        (rotation[0, 1], rotation[1, 1], rotation[2, 1]),
        (rotation[0, 2], rotation[1, 2], rotation[2, 2]),
    )
    best = -math.inf
    for i in range(3):
        reach = a[i] + b[0] * abs(rotation[i, 0]) + b[1] * abs(rotation[i, 1]) + b[2] * abs(rotation[i, 2])
        best = max(best, abs(d[i]) - reach)
    if best >= enough:
        return best
    for j in range(3):
        u = columns[j]
        best = max(best, abs(dot(d, u)) - b[j] - a[0] * abs(u[0]) - a[1] * abs(u[1]) - a[2] * abs(u[2]))
    if best >= enough:
        return best
    for i in range(3):
        for j in range(3):
            u = columns[j]
            if i == 0:
                u = (0.0, -u[2], u[1])
            elif i == 1:
                u = (u[2], 0.0, -u[0])
            else:
                u = (-u[1], u[0], 0.0)
            length = norm(u)
            if length < _PARALLEL:
                continue
            reach = a[0] * abs(u[0]) + a[1] * abs(u[1]) + a[2] * abs(u[2])
            for k in range(3):
                reach += b[k] * abs(dot(u, columns[k]))
            best = max(best, (abs(dot(d, u)) - reach) / length)
            if best >= enough:
                return best
    return best


@kernel
def _corners(core, i):
    """Corners of triangle i of a mesh."""
    pool = core.pool
    k = int(core.row[TRIANGLES]) + 9 * i
    return (
        (pool[k], pool[k + 1], pool[k + 2]),
        (pool[k + 3], pool[k + 4], pool[k + 5]),
        (pool[k + 6], pool[k + 7], pool[k + 8]),
    )


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


@kernel
def _unit(d):
    length = norm(d)
    return scale(1.0 / length, d) if length > 0.0 else (0.0, 0.0, 1.0)


@kernel
def _part_row(row):
    """Row of a triangle, of which `VERTICES` is still that of the mesh: a hull of three vertices."""
    row[VERTEX_COUNT], row[LINKS], row[BLOCKS] = 3.0, -1.0, -1.0


# --- the trees ----------------------------------------------------------------------------------------------------


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
    is_mesh = a.kind == MESH
    row_a, row_b, box = a.row.copy(), b.row.copy(), b.row.copy()
    _part_row(row_b)
    if is_mesh:
        _part_row(row_a)
    hull = CODE[CONVEX_MESH]
    nodes = np.zeros((_STACK, 2), np.int64)
    depth = 1
    opened = 0
    while depth > 0:
        depth -= 1
        i, j = nodes[depth, 0], nodes[depth, 1]
        first_b, count_b = node_content(b.row, b.pool, j)
        first_a, count_a = node_content(a.row, a.pool, i) if is_mesh else (0, 1)
        if count_a > 0 and count_b > 0:
            for t in range(first_b, first_b + count_b):
                row_b[VERTICES] = b.row[TRIANGLES] + 9 * t
                p, q, r = _corners(b, t)
                q_b = (
                    add(centre, rotate(rotation, p)),
                    add(centre, rotate(rotation, q)),
                    add(centre, rotate(rotation, r)),
                )
                middle_b = scale(1.0 / 3.0, add(add(q_b[0], q_b[1]), q_b[2]))
                part_b = Core(row_b, hull, b.pool)
                for s in range(first_a, first_a + count_a):
                    if is_mesh:
                        q_a = _corners(a, s)
                        if _gap_along_normals(q_a, q_b) >= cut:
                            continue
                        middle_a = scale(1.0 / 3.0, add(add(q_a[0], q_a[1]), q_a[2]))
                        row_a[VERTICES] = a.row[TRIANGLES] + 9 * s
                        n = _unit(sub(middle_b, middle_a))
                        part_a = Core(row_a, hull, a.pool)
                    else:
                        n = _unit(middle_b)
                        part_a = Core(row_a, a.kind, a.pool)
                    parts = Pair(part_a, part_b, rotation, centre)
                    lower, upper = _bounds_of_parts(parts, n, margin, margin, threshold, cut, w)
                    if upper < threshold:
                        return MET, upper
                    if not (lower >= cut):
                        opened += 1
                        if opened >= _MOST_OPEN:
                            return OPEN, math.inf
            continue
        # Open the larger of two boxes; the child that overlaps most, or is nearest, is looked at first.
        open_b = count_b <= 0
        if open_b and count_a <= 0:
            _, half_a = node_box(a.row, a.pool, i)
            _, half_b = node_box(b.row, b.pool, j)
            open_b = max(half_b[0], half_b[1], half_b[2]) >= max(half_a[0], half_a[1], half_a[2])
        children = (j + 1, first_b) if open_b else (i + 1, first_a)
        gaps = (0.0, 0.0)
        for c in range(2):
            node_a, node_b = (i, children[c]) if open_b else (children[c], j)
            middle, half = node_box(b.row, b.pool, node_b)
            at = add(centre, rotate(rotation, middle))
            if is_mesh:
                middle, half_a = node_box(a.row, a.pool, node_a)
                gap = _gap_of_boxes(rotation, sub(at, middle), half_a, half, cut)
            else:
                box[A1], box[A2], box[A3] = half
                parts = Pair(Core(row_a, a.kind, a.pool), Core(box, CODE[BOX], b.pool), rotation, at)
                gap, _ = _bounds_of_parts(parts, _unit(at), 0.1 * norm(at), margin, -math.inf, cut, w)
            gaps = (gap, gaps[1]) if c == 0 else (gaps[0], gap)
        order = (0, 1) if gaps[0] > gaps[1] else (1, 0)
        for c in order:
            if gaps[c] >= cut:
                continue
            if depth >= _STACK:
                return OPEN, math.inf
            nodes[depth, 0], nodes[depth, 1] = (i, children[c]) if open_b else (children[c], j)
            depth += 1
    return (CLEAR, math.inf) if opened == 0 else (OPEN, math.inf)


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
    return found == CLEAR and side_of(pair.b, p) == INSIDE


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
    if is_polytope(hulls.a.kind):
        far = of_cores + taken
        found = gjk.descend(hulls, n, goal, of_cores - taken, far)
        lower, n = found.lower - margin - ball, found.n
        if threshold < 0.0 and found.simplex.count == 4:
            answer = epa.expand(hulls, found, goal, margin)
            if answer.lower > -math.inf:
                lower, n = max(lower, answer.lower - ball), answer.n
    else:
        start = cores.Descent(0, -math.inf, n, math.inf, False, False, 0)
        rough = cores.descend(hulls, start, goal, of_cores + taken, w, _STEPS, False)
        lower, n = rough.lower - margin - ball, rough.n
    if lower - loss >= threshold or a.kind == TORUS:
        return lower, math.inf, n  # the core of a torus is no convex part
    cut = max(threshold, 0.0) + ball + 2.0 * taken
    found, upper = _search(pair, cut, of_cores - taken, margin, w)
    if found == MET:
        return lower, upper + margin - ball, n
    if found == CLEAR:
        side = _side(pair)
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
            back, centre = _reversed(pair)
            u = rotate_back(pair.rotation, scale(-1.0, n))
            if _point_is_deep(Pair(b, a, back, centre), u, deep, margin, w):
                return lower, margin - deep, n
    return lower, math.inf, n

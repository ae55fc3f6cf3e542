r"""Global proof by branch and bound on the sphere of directions.

The signed distance of two convex bodies is minus the minimum over |n| = 1 of the support function h_M of their
Minkowski difference M = A - B. A spherical triangle with corners n_j and the support points m_i of M at its corners
bounds h_M on all of it: with any weights mu on the corners, y = sum mu_i m_i lies in M, so for n along
sum lambda_j n_j

    h_M(n) >= n . y >= min_j (n_j . y) / |sum lambda_j n_j|,   plane distance <= |sum lambda_j n_j| <= 1.

Triangles whose bound lies above the best value found are done, and so are those inside the cap on which the best
direction is a proved local minimum (`caps`). The others are split, at the normal of the plane through their support
points or along their longest edge, which costs one support point of each body. Only points of M are used for bounds,
so they hold whatever rounding does to the support points. A ball only adds its radius to h_M: it is taken off first,
and what is bounded is the rest, which a large ball would blur.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid_ros.compiled.jit import kernel, out_of_line
from superovoid_ros.compiled.row_heap import lift, without_first
from superovoid_ros.compiled.vector import (
    add,
    combine,
    cross,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    sub,
    tangent_frame,
)
from superovoid_ros.contact.superovoids.caps import WIDEST, Cap, largest_cap
from superovoid_ros.contact.superovoids.certificate import lower_bound
from superovoid_ros.contact.superovoids.newton import observe, refine, solve
from superovoid_ros.shapes.kernels.support_function import EXACT, LOOSE, support, support_candidate, support_near
from superovoid_ros.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    DENTED,
    S_,
    SIZE,
    TX,
    TY,
    P,
    SurfacePoint,
    gradient,
    position,
    shape_operator,
)

_CAP_USED = 0.8
_COS_WIDEST = math.cos(_CAP_USED * WIDEST)  # no cap is wider
_COS_BESIDE = math.cos(0.3)  # as far as a point along the best direction may serve the triangles about it
_INSIDE = 0.15  # least barycentric coordinate of a direction that splits a triangle in three
_LARGE = 1.0  # chord of the longest edge of a large triangle
_SHORT = 0.03  # shortest edge that is split, relative to the longest
_TOGETHER = 4e-5  # chord of the reach of a point at which a facet of M may be in the way
_WELL_AWAY = 0.05  # chord at which a direction is another one, not the same refined
_DESCENT, _LONGEST_DESCENT = 12, 0.3  # steps, and rad a step, of a descent
_LOSS = 0.02  # by which a support point may fall short, of the gap between the bound and h_M
_SETTLING = 24  # support points spent on one such point
_FINEST = 1e-15  # shortest edge
_MOST_ANCHORS = 32
_MOST_RIVALS = 32
_RIVAL_REACH = 0.03  # chord of the reach of a point from which a local minimum is looked for
_EXTRA = 12  # support points spent on a level that lasts
_MARGIN = 0.2  # by which the level need not exceed the depth
_POLISHING_STEPS = np.int64(40)
_POLISHING_ITERATIONS = 400  # Newton iterations that one search may spend on polishing


@kernel
def minkowski_support(pair, n, tolerance):
    """Support point of M = A - B along n, in the frame of A, with the two surface points."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, tolerance)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), tolerance)
    y = add(centre, rotate(rotation, position(b, fb)))
    return sub(position(a, fa), y), fa, fb


@kernel
def minkowski_support_near(pair, n, guess, gap, value):
    """As `minkowski_support`, from heights and radii close by: quick, and enough for a bound.

    It may fall short of h_M(n) by a small part of a gap, but not of a value that bounds are to reach.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_near(a, n, guess[0], guess[1], _LOSS * gap)
    fb = support_near(b, rotate_back(rotation, scale(-1.0, n)), guess[2], guess[3], _LOSS * gap)
    y = add(centre, rotate(rotation, position(b, fb)))
    m = sub(position(a, fa), y)
    if dot(n, m) < value:
        return minkowski_support(pair, n, LOOSE)
    return m, fa, fb


@kernel
def proved_support(pair, n):
    """Upper bound of h_M(n) that holds for bodies with a dent too."""
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    _, h_a = support(a, n)
    _, h_b = support(b, rotate_back(rotation, scale(-1.0, n)))
    return h_a + h_b - dot(n, centre)


@kernel
def triangle_bound(n1, n2, n3, m1, m2, m3):
    """Lower bound of h_M over a spherical triangle (module docstring), the best of a few choices of weights."""
    out_of_line()
    g11, g21, g31 = dot(n1, m1), dot(n1, m2), dot(n1, m3)
    g12, g22, g32 = dot(n2, m1), dot(n2, m2), dot(n2, m3)
    g13, g23, g33 = dot(n3, m1), dot(n3, m2), dot(n3, m3)
    best = min(g11, g12, g13)
    best = max(best, min(g21, g22, g23))
    best = max(best, min(g31, g32, g33))
    best = max(best, min(g11 + g21, g12 + g22, g13 + g23) * 0.5)
    best = max(best, min(g21 + g31, g22 + g32, g23 + g33) * 0.5)
    best = max(best, min(g31 + g11, g32 + g12, g33 + g13) * 0.5)
    best = max(best, min(g11 + g21 + g31, g12 + g22 + g32, g13 + g23 + g33) / 3.0)
    # The weights that make y equally far along all three corners (Cramer's rule on the differences).
    p1, p2, p3 = g11 - g12, g21 - g22, g31 - g32
    q1, q2, q3 = g11 - g13, g21 - g23, g31 - g33
    mu1 = p2 * q3 - p3 * q2
    mu2 = p3 * q1 - p1 * q3
    mu3 = p1 * q2 - p2 * q1
    total = mu1 + mu2 + mu3
    if total != 0.0:
        mu1, mu2, mu3 = mu1 / total, mu2 / total, mu3 / total
        if mu1 >= 0.0 and mu2 >= 0.0 and mu3 >= 0.0:
            best = max(
                best,
                min(
                    mu1 * g11 + mu2 * g21 + mu3 * g31,
                    mu1 * g12 + mu2 * g22 + mu3 * g32,
                    mu1 * g13 + mu2 * g23 + mu3 * g33,
                ),
            )
    if best < 0.0:
        best /= least_length(n1, n2, n3)
    return best


@kernel
def least_length(n1, n2, n3):
    """Lower bound of |sum lambda_j n_j| over a triangle of unit vectors, to a few eps for needles too.

    The point of its plane nearest to the origin is the centre of its circumscribed circle. Where the largest angle is
    not acute, that is beyond the longest edge L, the middle of which is nearest: sqrt(1 - L^2 / 4). Else the angle is
    between 60 and 90 degrees, and the product of its edges gives the normal without a loss; and
    |sum lambda_j n_j|^2 = 1 - sum_(i<j) lambda_i lambda_j |n_i - n_j|^2 >= 1 - L^2 / 3.
    """
    e1, e2, e3 = sub(n2, n1), sub(n3, n1), sub(n3, n2)
    c1, c2, c3 = dot(e1, e1), dot(e2, e2), dot(e3, e3)
    longest = max(c1, c2, c3)
    if c1 + c2 + c3 <= 2.0 * longest:
        return math.sqrt(max(0.0, 1.0 - 0.25 * longest))
    normal = cross(e2, e3) if longest == c1 else (cross(e1, e3) if longest == c2 else cross(e1, e2))
    return max(abs(dot(n1, normal)) / max(norm(normal), 1e-300), math.sqrt(max(0.0, 1.0 - longest / 3.0)))


@kernel
def anchored_bound(n1, n2, n3, m1, m2, m3, m):
    """Lower bound of h_M over a triangle with the help of a further point of M.

    At a minimum the support point can be had along the direction itself, to the end of the arithmetic, where those of
    neighbouring directions jump from one end of a facet to the other.
    """
    out_of_line()
    a1, a2, a3 = dot(n1, m), dot(n2, m), dot(n3, m)
    best = min(a1, a2, a3)
    for i in range(3):
        y = m1 if i == 0 else (m2 if i == 1 else m3)
        b1, b2, b3 = dot(n1, y) - a1, dot(n2, y) - a2, dot(n3, y) - a3
        # min_j a_j + mu b_j over mu in [0, 1] is greatest at a crossing.
        for j in range(3):
            rise = b1 - b2 if j == 0 else (b2 - b3 if j == 1 else b3 - b1)
            drop = a2 - a1 if j == 0 else (a3 - a2 if j == 1 else a1 - a3)
            if rise != 0.0:
                mu = drop / rise
                if 0.0 < mu < 1.0:
                    best = max(best, min(a1 + mu * b1, a2 + mu * b2, a3 + mu * b3))
    if best < 0.0:
        best /= least_length(n1, n2, n3)
    return best


@kernel
def facet_direction(n1, n2, n3, m1, m2, m3):
    """Normal of the plane through the support points, and whether it is well inside the triangle of directions.

    There the bound of the triangle is attained: a support point along it lifts the bound most (the step of the
    expanding polytope algorithm), and where M has a facet or an edge it ends the search.
    """
    normal = cross(sub(m2, m1), sub(m3, m1))
    length = norm(normal)
    if not (length > 0.0):
        return False, n1
    normal = scale(1.0 / length, normal)
    volume = dot(n1, cross(n2, n3))
    w1 = dot(normal, cross(n2, n3)) / volume
    w2 = dot(normal, cross(n3, n1)) / volume
    w3 = dot(normal, cross(n1, n2)) / volume
    total = w1 + w2 + w3
    if total < 0.0:
        normal = scale(-1.0, normal)
        w1, w2, w3, total = -w1, -w2, -w3, -total
    inside = min(w1, w2, w3) > _INSIDE * total
    return inside, normal


@kernel
def _chord(n1, n2):
    return norm(sub(n1, n2))


@kernel
def edge_gap(n1, n2, m1, m2):
    """How far the bound may lie below h_M along an edge: of second order in its length, nothing at a corner of M."""
    return dot(sub(n1, n2), sub(m1, m2))


@kernel
def _edge_direction(n1, n2, m1, m2, middle):
    """Direction that splits an edge: where its two support points are equally far, not too close to its ends."""
    difference = sub(m1, m2)
    w1 = -dot(n2, difference)
    w2 = dot(n1, difference)
    total = w1 + w2
    share = min(0.75, max(0.25, w1 / total)) if total > 0.0 and not middle else 0.5
    point = combine(share, n1, 1.0 - share, n2)
    return scale(1.0 / norm(point), point)


# Columns of a vertex: direction, support point of M with balls taken off, height and radius of the surface points of
# A and B. numpy integers: numba would compile once more for every literal.
_N, _M, _GUESS = np.int64(0), np.int64(3), np.int64(6)
_VERTEX = 10


@kernel
def _row(rows, i, k):
    return (rows[i, k], rows[i, k + 1], rows[i, k + 2])


@kernel
def _set_vertex(vertices, i, n, m, fa, fb):
    for j in range(3):
        vertices[i, _N + j] = n[j]
        vertices[i, _M + j] = m[j]
    vertices[i, _GUESS], vertices[i, _GUESS + 1] = fa.w, fa.r
    vertices[i, _GUESS + 2], vertices[i, _GUESS + 3] = fb.w, fb.r


@kernel
def _guess(vertices, i, j, k, c1, c2, c3):
    """Heights and radii for a direction between three vertices, from its chords to them."""
    w1, w2, w3 = c2 * c3, c3 * c1, c1 * c2
    total = w1 + w2 + w3
    w1, w2, w3 = w1 / total, w2 / total, w3 / total
    at = _GUESS
    return (
        w1 * vertices[i, at] + w2 * vertices[j, at] + w3 * vertices[k, at],
        w1 * vertices[i, at + 1] + w2 * vertices[j, at + 1] + w3 * vertices[k, at + 1],
        w1 * vertices[i, at + 2] + w2 * vertices[j, at + 2] + w3 * vertices[k, at + 2],
        w1 * vertices[i, at + 3] + w2 * vertices[j, at + 3] + w3 * vertices[k, at + 3],
    )


class Optimum(NamedTuple):
    """What a search has found and what it has proved."""

    value: float  # smallest h_M found
    proved: float  # lower bound of h_M over the whole sphere
    n: tuple  # its direction
    fa: SurfacePoint
    fb: SurfacePoint
    converged: bool  # fa and fb satisfy the common-normal equations
    spent: int  # support points computed
    iterations: int  # Newton iterations of the polishing runs
    cap: Cap  # about n, on which n is a proved local minimum
    level: float  # lower bound of h_M outside that cap
    rival: float  # smallest h_M met in a direction well away from n


@kernel
def cap_about(pair, best):
    """A cap smaller than it could be, so that its proof outlives a small motion (`pair_solver.depth_still_proved`)."""
    if not best.converged:
        return Cap(0.0, 0.0)
    cap = largest_cap(pair, best.fa, best.fb)
    return Cap(_CAP_USED * cap.angle, cap.floor)


@kernel
def _radii_at(body, f, t1, t2):
    """Radius matrix of a body in a tangent frame, from its shape operator; not finite on flats."""
    s11, s12, s22 = shape_operator(body, f, t1, t2, 1.0 / norm(gradient(body, f)))
    det = s11 * s22 - s12 * s12
    return s22 / det, -s12 / det, s11 / det


@kernel
def descend(pair, n, fa, fb, tolerance):
    """Newton on h_M over the sphere from the direction n, whose support points are fa and fb.

    The gradient of h_M is the part of m = x_A - x_B across n, its Hessian R_A + R_B - h_M I. A direction at a time,
    and so slower than Newton on surface points, but it goes downhill, where that may circle.

    Returns (converged, n, fa, fb): whether the part across n has fallen below the tolerance at a minimum.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    size = min(a[SIZE], b[SIZE])
    m = sub(position(a, fa), add(centre, rotate(rotation, position(b, fb))))
    for _ in range(_DESCENT):
        depth = dot(n, m)
        t1, t2 = tangent_frame(n)
        g1, g2 = dot(m, t1), dot(m, t2)
        a11, a12, a22 = _radii_at(a, fa, t1, t2)
        b11, b12, b22 = _radii_at(b, fb, rotate_back(rotation, t1), rotate_back(rotation, t2))
        h11, h12, h22 = a11 + b11 - depth, a12 + b12, a22 + b22 - depth
        det = h11 * h22 - h12 * h12
        if not (det > 0.0 and h11 > 0.0 and det < math.inf):
            return False, n, fa, fb
        p1 = (h12 * g2 - h22 * g1) / det
        p2 = (h12 * g1 - h11 * g2) / det
        if max(abs(g1), abs(g2)) < tolerance * size:
            # One step more takes what is left to the end of the arithmetic.
            trial = add(n, combine(p1, t1, p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            if norm(cross(x, trial)) < norm(cross(m, n)):
                return True, trial, ga, gb
            return True, n, fa, fb
        length = math.sqrt(p1 * p1 + p2 * p2)
        part = min(1.0, _LONGEST_DESCENT / max(length, 1e-300))
        for _ in range(6):
            trial = add(n, combine(part * p1, t1, part * p2, t2))
            trial = scale(1.0 / norm(trial), trial)
            x, ga, gb = minkowski_support(pair, trial, EXACT)
            if dot(trial, x) <= depth:
                break
            part *= 0.25
        if not (dot(trial, x) <= depth):
            return False, n, fa, fb
        n, fa, fb, m = trial, ga, gb, x
    return False, n, fa, fb


@kernel
def _better(pair, best, n, m, fa, fb, goal, tolerance):
    """Update an optimum by a direction and its support points, polished where Newton finds something no worse."""
    out_of_line()
    a, b = pair.a, pair.b
    if dot(n, m) >= best.value - goal:
        return best
    value = proved_support(pair, n)
    if value >= best.value - goal:
        return best
    iterations = best.iterations
    converged = False
    for attempt in range(2):
        if converged or best.iterations >= _POLISHING_ITERATIONS:
            break
        # Newton on surface points is quick; where it circles or climbs, Newton on h_M goes down.
        if attempt == 0:
            ok, used, ga, gb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
            iterations += 0 if ok else used
        else:
            ok, _, ga, gb = descend(pair, n, fa, fb, tolerance)
            k = observe(pair, ga, gb, min(a[SIZE], b[SIZE]))
        if ok:
            ga, gb, k = refine(pair, ga, gb, k)
            bound, direction = lower_bound(pair, ga, gb, k)
            if -bound <= value and k.residual < tolerance:
                value, n, fa, fb, converged = -bound, direction, ga, gb, True
    none = Cap(0.0, 0.0)
    return Optimum(value, best.proved, n, fa, fb, converged, best.spent, iterations, none, -math.inf, best.rival)


@kernel
def settled(pair, n, goal):
    """Points x of A and y of B, in the frame of A, with x - y as nearly along n as a quarter of the goal can buy.

    Where the contact is flat the support points of a direction are anywhere on it. Those of slightly tilted directions
    are combined with them, in both bodies alike, such that the part of x - y across n shrinks.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    fa = support_candidate(a, n, EXACT)
    fb = support_candidate(b, rotate_back(rotation, scale(-1.0, n)), EXACT)
    x = position(a, fa)
    y = add(centre, rotate(rotation, position(b, fb)))
    least = dot(n, sub(x, y)) - 0.25 * goal
    tilt = 1e-4
    for _ in range(_SETTLING):
        m = sub(x, y)
        across = combine(1.0, m, -dot(n, m), n)
        length = norm(across)
        if length * _TOGETHER <= 0.25 * goal:
            break
        tilted = combine(1.0, n, -tilt / length, across)
        fa = support_candidate(a, tilted, EXACT)
        fb = support_candidate(b, rotate_back(rotation, scale(-1.0, tilted)), EXACT)
        to_x = sub(position(a, fa), x)
        to_y = sub(add(centre, rotate(rotation, position(b, fb))), y)
        step = sub(to_x, to_y)
        step_across = combine(1.0, step, -dot(n, step), n)
        square = dot(step_across, step_across)
        share = min(1.0, -dot(across, step_across) / square) if square > 0.0 else 0.0
        if share > 1e-3 and dot(n, add(m, step)) >= least:
            x = combine(1.0, x, share, to_x)
            y = combine(1.0, y, share, to_y)
        else:
            tilt *= 0.1
    return x, y


@kernel
def _ball_radius(body):
    """Radius of a body that is a ball, else 0."""
    a = body[A1]
    is_ball = body[A2] == a and body[A3] == a and body[P] == 2.0 and body[S_] == 2.0 and body[TX] == 0.0 == body[TY]
    return a if is_ball else 0.0


@kernel
def _settled_core(pair, n, goal):
    """`settled` as a point of M, balls taken off."""
    a, b, centre = pair.a, pair.b, pair.centre
    x, y = settled(pair, n, goal)
    if _ball_radius(a) > 0.0:
        x = (0.0, 0.0, 0.0)
    if _ball_radius(b) > 0.0:
        y = centre
    return sub(x, y)


@kernel
def _anchor(pair, n, fa, fb, goal, tolerance):
    """Point of M, balls taken off, along the stationary direction next to n where Newton finds one; else along n."""
    out_of_line()
    ok, _, ga, gb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
    if ok and _chord(k.n, n) < _TOGETHER:
        _, _, k = refine(pair, ga, gb, k)
        n = k.n
    return _settled_core(pair, n, goal)


@kernel
def _tried(tries, count, n, reach):
    """Whether a local minimum has been looked for near a direction, not much less closely."""
    for i in range(count):
        if _chord(_row(tries, i, _N), n) < 4.0 * tries[i, 3] and reach > 0.1 * tries[i, 3]:
            return True
    return False


@kernel
def _in_rival_cap(caps, count, n1, n2, n3):
    """Floor of the first cap that holds a triangle; -inf where none does."""
    for i in range(count):
        n = _row(caps, i, _N)
        if min(dot(n, n1), dot(n, n2), dot(n, n3)) >= caps[i, 3]:
            return caps[i, 4]
    return -math.inf


@kernel
def _rival_cap(pair, point, reach, fa, fb, tolerance):
    """Cap about the local minimum next to a direction, where Newton finds one; its direction and its value."""
    out_of_line()
    ok, _, fa, fb, k = solve(pair, fa, fb, tolerance, _POLISHING_STEPS)
    if not (ok and _chord(k.n, point) < 4.0 * reach):
        return Cap(0.0, 0.0), point, math.inf
    fa, fb, k = refine(pair, fa, fb, k)
    return largest_cap(pair, fa, fb), k.n, -dot(k.u, k.n)


@kernel
def _cell_bound(vertices, i, j, k):
    return triangle_bound(
        _row(vertices, i, _N),
        _row(vertices, j, _N),
        _row(vertices, k, _N),
        _row(vertices, i, _M),
        _row(vertices, j, _M),
        _row(vertices, k, _M),
    )


@kernel(_nrt=True)
def search(pair, best, goal, tolerance, budget):
    """Find the global minimum of h_M and prove it, best bound first.

    Parameters
    ----------
    best : Optimum
        The best direction known; the first octahedron is turned to it.
    goal : float
        Width of the bracket [proved, value] to reach, m.
    tolerance : float
        Residual at which Newton has converged.
    budget : int
        Support points that may be spent, at most MAX_BUDGET.

    Returns
    -------
    Optimum
        With `proved` a bound that holds whether or not the goal was reached.
    """
    out_of_line()
    a, b = pair.a, pair.b
    start = best.n
    t1, t2 = tangent_frame(start)
    corners = (start, t1, t2, scale(-1.0, start), scale(-1.0, t1), scale(-1.0, t2))
    radius = _ball_radius(a) + _ball_radius(b)
    vertices = np.empty((budget + 8, _VERTEX))
    rival = math.inf
    for i in range(6):
        x, fa, fb = minkowski_support(pair, corners[i], LOOSE)
        _set_vertex(vertices, i, corners[i], combine(1.0, x, -radius, corners[i]), fa, fb)
        best = _better(pair, best, corners[i], x, fa, fb, goal, tolerance)
    for i in range(6):
        if _chord(corners[i], best.n) > _WELL_AWAY:
            rival = min(rival, radius + dot(corners[i], _row(vertices, i, _M)))
    capacity = 2 * budget + 8
    cells = np.empty((capacity, 3), np.int64)
    key = np.empty(capacity)
    heap = np.empty(capacity, np.int64)
    length = 0
    for i in (0, 3):
        for j in (1, 4):
            for k in (2, 5):
                cells[length, 0], cells[length, 1], cells[length, 2] = i, j, k
                key[length] = radius + _cell_bound(vertices, i, j, k)
                heap[length] = length
                lift(heap, key, length)
                length += 1
    anchors = np.empty((_MOST_ANCHORS, 3))
    tries = np.empty((_MOST_RIVALS, 4))  # directions about which rivals were looked for, and how closely
    rival_caps = np.empty((_MOST_RIVALS, 5))  # directions, cosines of angles, floors
    tried = capped = 0
    convex = a[DENTED] + b[DENTED] == 0.0
    attempts = found = 0
    used = length
    spent = 6
    # Of the best direction: its cap and its point, once triangles near it ask for them.
    cap = Cap(0.0, 0.0)
    anchor = best.n
    cap_value = settled_value = math.inf  # the values they belong to
    limit = budget
    proved = math.inf
    level = math.inf
    closed = False
    while length > 0:
        cell = heap[0]
        bound = key[cell]
        if not closed and bound >= best.value - goal:
            # Proved. A few more triangles lift the level outside the cap, which is what lets the proof last.
            closed = True
            proved = min(proved, bound)
            if cap_value != best.value:
                cap_value = best.value
                cap = cap_about(pair, best)
            limit = min(budget, spent + _EXTRA) if cap.angle > 0.0 else 0
        if spent >= limit or (closed and bound >= (1.0 + _MARGIN) * best.value):
            proved = min(proved, bound)
            level = min(level, bound)
            break
        length = without_first(heap, key, length)
        i, j, k = cells[cell, 0], cells[cell, 1], cells[cell, 2]
        n1, n2, n3 = _row(vertices, i, _N), _row(vertices, j, _N), _row(vertices, k, _N)
        m1, m2, m3 = _row(vertices, i, _M), _row(vertices, j, _M), _row(vertices, k, _M)
        least_cos = min(dot(best.n, n1), dot(best.n, n2), dot(best.n, n3))
        if least_cos > _COS_WIDEST:
            if cap_value != best.value:
                cap_value = best.value
                cap = cap_about(pair, best)
            if cap.angle > 0.0 and least_cos >= math.cos(cap.angle):
                proved = min(proved, cap.floor)
                continue
        floor = _in_rival_cap(rival_caps, capped, n1, n2, n3)
        if floor >= best.value - goal:
            proved = min(proved, floor)
            level = min(level, floor)
            continue
        if bound < best.value - goal:
            lifted = bound
            if cap.angle == 0.0 and least_cos > _COS_BESIDE:
                if settled_value != best.value:
                    settled_value = best.value
                    anchor = _settled_core(pair, best.n, goal)
                lifted = radius + anchored_bound(n1, n2, n3, m1, m2, m3, anchor)
            for at in range(found):
                if lifted < best.value - goal:
                    lifted = max(lifted, radius + anchored_bound(n1, n2, n3, m1, m2, m3, _row(anchors, at, _N)))
            if lifted >= best.value - goal:
                proved = min(proved, lifted)
                level = min(level, lifted)
                continue
        inside, point = facet_direction(n1, n2, n3, m1, m2, m3)
        e12, e23, e31 = edge_gap(n1, n2, m1, m2), edge_gap(n2, n3, m2, m3), edge_gap(n3, n1, m3, m1)
        gap = max(e12, e23, e31, 0.0)
        # Support points over a dent are candidates only, and may not lie beyond the facet: halving always gets on.
        inside = inside and convex
        if not inside:
            # Turn the triangle so that the edge to split runs from n1 to n2: the one along which the bound is worst, or
            # the longest where the triangle is large or its plane's distance spoils the bound.
            l12, l23, l31 = _chord(n1, n2), _chord(n2, n3), _chord(n3, n1)
            longest = max(l12, l23, l31)
            by_length = bound < radius or longest > _LARGE
            if not by_length:
                # An edge much shorter than the others is left alone: slivers have nothing to give.
                e12 = e12 if l12 > _SHORT * longest else 0.0
                e23 = e23 if l23 > _SHORT * longest else 0.0
                e31 = e31 if l31 > _SHORT * longest else 0.0
                by_length = not (max(e12, e23, e31) > 0.0)
            if by_length:
                e12, e23, e31 = l12, l23, l31
            if e23 >= e12 and e23 >= e31:
                i, j, k = j, k, i
                n1, n2, n3 = n2, n3, n1
                m1, m2 = m2, m3
            elif e31 >= e12 and e31 >= e23:
                i, j, k = k, i, j
                n1, n2, n3 = n3, n1, n2
                m1, m2 = m3, m1
            point = _edge_direction(n1, n2, m1, m2, by_length)
        c1, c2, c3 = _chord(point, n1), _chord(point, n2), _chord(point, n3)
        if min(c1, c2) < _FINEST:
            # The corners have run together: no finer direction exists in this arithmetic.
            proved = min(proved, bound)
            level = min(level, bound)
            continue
        before, former = best.value, best.n
        reach = max(c1, c2, c3)
        guess = _guess(vertices, i, j, k, c1, c2, c3)
        x, fa, fb = minkowski_support_near(pair, point, guess, gap, best.value)
        best = _better(pair, best, point, x, fa, fb, goal, tolerance)
        if best.value < before:
            # What was put aside inside the former cap lies outside the new one, above the former value.
            level = min(level, before)
            if _chord(former, best.n) > _WELL_AWAY:
                rival = min(rival, before)
            cap = Cap(0.0, 0.0)
            closed = False
            limit = budget
        elif _chord(point, best.n) > _WELL_AWAY:
            rival = min(rival, dot(point, x))
        vertex = spent
        _set_vertex(vertices, vertex, point, combine(1.0, x, -radius, point), fa, fb)
        spent += 1
        elsewhere = reach < _RIVAL_REACH and _chord(point, best.n) > max(_WELL_AWAY, 4.0 * reach)
        if elsewhere and tried < _MOST_RIVALS and not _tried(tries, tried, point, reach):
            # Another minimum about as low as the best: triangles would have to be refined all the way down to it.
            tries[tried, 0], tries[tried, 1], tries[tried, 2] = point
            tries[tried, 3] = reach
            tried += 1
            other_cap, n, depth = _rival_cap(pair, point, reach, fa, fb, tolerance)
            apart = _chord(n, best.n) > _WELL_AWAY
            if apart and other_cap.angle > 0.0 and other_cap.floor >= best.value - goal:
                rival_caps[capped, 0], rival_caps[capped, 1], rival_caps[capped, 2] = n
                rival_caps[capped, 3] = math.cos(other_cap.angle)
                rival_caps[capped, 4] = other_cap.floor
                capped += 1
                rival = min(rival, depth)
        if reach < _TOGETHER and attempts < _MOST_ANCHORS and bound < best.value - goal:
            # A minimum on a facet: the support points of these directions lie at its ends, none along the direction.
            attempts += 1
            anchors[found, 0], anchors[found, 1], anchors[found, 2] = _anchor(pair, point, fa, fb, goal, tolerance)
            other = combine(1.0, _row(anchors, found, _N), radius, point)
            other = scale(1.0 / max(norm(other), 1e-300), other)
            if _chord(other, best.n) > _WELL_AWAY:
                y, _, _ = minkowski_support(pair, other, EXACT)
                rival = min(rival, dot(other, y))
            found += 1
        cells[cell, 0], cells[cell, 1], cells[cell, 2] = i, vertex, k
        cells[used, 0], cells[used, 1], cells[used, 2] = vertex, j, k
        first = used
        used += 1
        if inside:
            cells[used, 0], cells[used, 1], cells[used, 2] = i, j, vertex
            used += 1
        for at in range(first - 1, used):
            child = at if at >= first else cell
            above = _cell_bound(vertices, cells[child, 0], cells[child, 1], cells[child, 2])
            key[child] = max(bound, radius + above)
            heap[length] = child
            lift(heap, key, length)
            length += 1
    return Optimum(
        best.value,
        min(proved, best.value),
        best.n,
        best.fa,
        best.fb,
        best.converged,
        best.spent + spent,
        best.iterations,
        cap,
        level,
        rival,
    )

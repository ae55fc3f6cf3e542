# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Newton for many pairs at once, one pair a lane: `newton.solve` over a flat buffer.

All numbers of all lanes live in one float64 array, row by row; a row holds one quantity of all lanes, so that the inner
loops, ``for i in range(...): buffer[ROW_OF_X + i] = ...``, have constant distances between all they read and write.
That is what lets LLVM prove that they vectorise; with an array a quantity it would have to assume that they overlap.
Rows of quantities that each body has are double: WIDTH bodies A, then WIDTH bodies B.

        lane          0     1    ...  WIDTH-1 | WIDTH  ...  2 WIDTH-1
    SHAPE + 0 ROW    a1_A  a1_A                 a1_B
    SHAPE + 1 ROW    a2_A  a2_A                 a2_B
    ...
    LAST             |r|   |r|    (of the pair)

A sweep (`sweep`) takes each lane one evaluation further: the points move by what the last evaluation planned
(`retract`), then the new residual decides whether the lane has converged, shortens its step or makes a new one
(`plan`). A lane computes nothing from another lane, and every lane runs the same instructions: an answer does not
depend on where in a batch its pair stands. The geometry is that of the scalar kernels, recompiled (`simd.in_lanes`).

A lane also ends when its points prove a convex pair to be farther than its CUT: with the normals n_A and n_B (inwards)
at x_A and x_B, u = x_B - x_A and |n_A - n_B| = m, each of n_A . u - 2 m radius_B and n_B . u - 2 m radius_A is a lower
bound of the signed distance (`certificate.lower_bound`). What rounding takes from it is for the CUT.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import combine, dot, norm, scale, sub
from superovoid.compiled.vector import rotate as rotate_by_array
from superovoid.compiled.vector import rotate_back as rotate_back_by_array
from superovoid.contact.lanes.simd import exp, in_lanes, inlined, inlined_copy, loader, log, log_1p, power
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.newton import BACKTRACK, GROWTH, MAX_BACKTRACKS, point_chart
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    INV_Q,
    INV_S,
    INV_T,
    RADIUS,
    S_,
    T_,
    TX,
    TY,
    P,
    Q,
    SurfacePoint,
)

WIDTH = 32  # loops over 16 are unrolled instead of vectorised; 64 is no faster
ROW = 2 * WIDTH + 8  # no power of two, which would crowd a column into a few sets of the cache
SHAPE_LENGTH = RADIUS + 1  # columns of a packed body that Newton reads
POINT_LENGTH = len(SurfacePoint._fields)
RUNNING, CONVERGED, FAILED, BEYOND = 0.0, 1.0, 2.0, 3.0


class Layout:
    """Offsets of rows in a flat buffer."""

    def __init__(self, row: int) -> None:
        self.row = row
        self.length = 0

    def rows(self, count: int = 1) -> int:
        """Offset of the first of so many further rows."""
        start = self.length
        self.length += count * self.row
        return start


_layout = Layout(ROW)
# Of each body.
SHAPE = _layout.rows(SHAPE_LENGTH)
POINT = _layout.rows(POINT_LENGTH)  # C, S, Cd, Sd, r, w, rd, wd
# Where the step starts: point, normal, r, and how far the bodies are apart there.
FROM_X, FROM_N, FROM_R, FROM_GAP = _layout.rows(3), _layout.rows(3), _layout.rows(), _layout.rows()
STEP_X, STEP_N = _layout.rows(3), _layout.rows(3)
PART = _layout.rows()  # of the step that is taken
CHART_1, CHART_2 = _layout.rows(), _layout.rows()  # 1: the layer is brought back from its point, 0: from its normal
HOLD = _layout.rows()  # 1: the point is given, for the first evaluation of a warm start
_U, _V, _N1, _N2, _W, _N3, _TAPER_X, _TAPER_Y = (_layout.rows() for _ in range(8))
_FIRST, _SECOND, _EXPONENT, _INVERSE = (_layout.rows() for _ in range(4))
_CURVE, _RATIO, _SHARE, _MAJOR = _layout.rows(4), _layout.rows(), _layout.rows(), _layout.rows()
_CAPPED_POINT = _layout.rows(8)  # surface point of a box or a cylinder
# Of each pair.
ROTATION, CENTRE, SIZE, TOLERANCE = _layout.rows(9), _layout.rows(3), _layout.rows(), _layout.rows()
PHASE, ITERATIONS, LIMIT = _layout.rows(), _layout.rows(), _layout.rows()
LAST, BACKTRACKS, CUT = _layout.rows(), _layout.rows(), _layout.rows()
LENGTH = _layout.length

load_3, load_4, load_8, load_9, load_shape = (loader(count, ROW) for count in (3, 4, 8, 9, SHAPE_LENGTH))


@inlined
def load_point(buffer, at):
    """Surface point of a lane."""
    f = load_8(buffer, at)
    return SurfacePoint(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7])


@inlined
def store_3(lanes, at, v):
    """Write a vector to three rows of a lane."""
    lanes[at], lanes[at + ROW], lanes[at + 2 * ROW] = v[0], v[1], v[2]


@inlined
def store_4(lanes, at, v):
    """Write four numbers to four rows of a lane."""
    lanes[at], lanes[at + ROW], lanes[at + 2 * ROW], lanes[at + 3 * ROW] = v[0], v[1], v[2], v[3]


@inlined
def rotate(rotation, a):
    """``R a``, R as nine numbers."""
    return (
        rotation[0] * a[0] + rotation[1] * a[1] + rotation[2] * a[2],
        rotation[3] * a[0] + rotation[4] * a[1] + rotation[5] * a[2],
        rotation[6] * a[0] + rotation[7] * a[1] + rotation[8] * a[2],
    )


@inlined
def rotate_back(rotation, a):
    """``R^T a``, R as nine numbers."""
    return (
        rotation[0] * a[0] + rotation[3] * a[1] + rotation[6] * a[2],
        rotation[1] * a[0] + rotation[4] * a[1] + rotation[7] * a[2],
        rotation[2] * a[0] + rotation[5] * a[1] + rotation[8] * a[2],
    )


# --- unit curves ------------------------------------------------------------------------------------------------


@inlined
def _pose_ratio(u, v):
    return min(abs(u), abs(v)) / max(abs(u), abs(v))


_unit_curve = inlined_copy(surface.unit_curve, surface.unit_curve.__globals__)


@inlined
def unit_curve_from_point(u, v, p, inv_p):
    """As `shapes.kernels.surface.unit_curve_from_point`, without its branches."""
    ratio = _pose_ratio(u, v)
    share = exp(p * log(ratio))
    return _unit_curve(u, v, ratio, share, exp(-inv_p * log_1p(share)))


@kernel
def _unit_curves(lanes):
    """`unit_curve_from_point` for all bodies of all lanes.

    Loops of one log or exp each: their iterations are short enough for the processor to overlap.
    """
    for i in range(2 * WIDTH):
        ratio = _pose_ratio(lanes[_FIRST + i], lanes[_SECOND + i])
        lanes[_RATIO + i] = ratio
        lanes[_SHARE + i] = lanes[_EXPONENT + i] * log(ratio)
    for i in range(2 * WIDTH):
        lanes[_SHARE + i] = exp(lanes[_SHARE + i])
    for i in range(2 * WIDTH):
        lanes[_MAJOR + i] = -lanes[_INVERSE + i] * log_1p(lanes[_SHARE + i])
    for i in range(2 * WIDTH):
        major = exp(lanes[_MAJOR + i])
        store_4(
            lanes,
            _CURVE + i,
            _unit_curve(lanes[_FIRST + i], lanes[_SECOND + i], lanes[_RATIO + i], lanes[_SHARE + i], major),
        )


@inlined
def _pose_curve(lanes, i, from_point, point, normal, exponents, dual_exponents):
    """Ask for the unit curve through a point, or for its dual through a normal."""
    lanes[_FIRST + i] = point[0] if from_point else normal[0]
    lanes[_SECOND + i] = point[1] if from_point else normal[1]
    lanes[_EXPONENT + i] = exponents[0] if from_point else dual_exponents[0]
    lanes[_INVERSE + i] = exponents[1] if from_point else dual_exponents[1]


@inlined
def _solved_curve(lanes, i, from_point):
    c, s = lanes[_CURVE + i], lanes[_CURVE + ROW + i]
    cd, sd = lanes[_CURVE + 2 * ROW + i], lanes[_CURVE + 3 * ROW + i]
    return (c if from_point else cd), (s if from_point else sd), (cd if from_point else c), (sd if from_point else s)


@inlined
def _store_layer(lanes, at, curve, hold):
    if not hold:
        store_4(lanes, at, curve)


# --- one evaluation ---------------------------------------------------------------------------------------------

SUBSTITUTES = {
    surface.power: power,
    surface.unit_curve_from_point: unit_curve_from_point,
    rotate_by_array: rotate,
    rotate_back_by_array: rotate_back,
}
observe = in_lanes(newton.observe, SUBSTITUTES)
newton_step = in_lanes(newton.newton_step, SUBSTITUTES)
point_chart = in_lanes(point_chart, SUBSTITUTES)
dual_ratio = in_lanes(surface.dual_ratio, SUBSTITUTES)


@inlined
def _off_zero(u, v):
    return u if abs(u) + abs(v) >= 1e-100 else 1e-100


# --- boxes and cylinders ----------------------------------------------------------------------------------------
#
# A box has the form of a surface point: C, S, w are its coordinates in units of the half extents, r = rd = 1, and the
# unit normal m gives the duals Cd = m1 a1, Sd = m2 a2, wd = m3 a3, so that position and gradient are those of the
# kernels for superovoids without a taper. Of equal exponents p the entries of the Hessian are (p - 1) |m_k| / a_k: 0
# along the faces and edges that m stands on, and for a large p as good as infinite across them. Of a cylinder (C, S)
# is the direction from the axis, with the exponent 2, r and w are the radius and the height in units of its own, and
# the large exponent is that of the second layer: the curvature along a rim comes out as |m_r| / a1.

CAPPED = 1e8
"""The large exponent."""
_LEAST_GAP = 1e-2  # of the smaller body, that a step of such a body is taken for


@inlined
def is_capped(body):
    """Whether the columns of a body are those of a box or a cylinder."""
    return body[S_] == CAPPED


@inlined
def _side(z, half, beyond):
    """Coordinate of the nearest point of a body, and that of the line from there; inside, of the nearest side."""
    clamped = min(half, max(-half, z))
    on_side = abs(z) - half >= beyond
    return (math.copysign(half, z) if on_side else clamped), (math.copysign(1.0, z) if on_side else z - clamped)


@inlined
def _capped_point(body, x, n, gap):
    """Surface point of a box or a cylinder from a moved point and a moved normal, the nearest one to a point outside.

    That is the point a gap away along the normal, about where the other body's point is moved to. So the normal lies in
    the normal cone of the surface point.
    """
    z = combine(1.0, x, gap, n)
    is_box = body[P] == CAPPED
    from_axis = norm((z[0], z[1], 0.0))
    first, second = z[0] if is_box else from_axis, z[1] if is_box else 0.0
    most = max(abs(first) - body[A1], abs(second) - body[A2], abs(z[2]) - body[A3])
    beyond = most if most <= 0.0 else math.inf
    y1, m1 = _side(first, body[A1], beyond)
    y2, m2 = _side(second, body[A2], beyond)
    y3, m3 = _side(z[2], body[A3], beyond)
    m2 = m2 if is_box else 0.0
    per = 1.0 / norm((m1, m2, m3))
    m1, m2, m3 = per * m1 * body[A1], per * m2 * body[A2], per * m3 * body[A3]
    per_axis = 1.0 / max(from_axis, 1e-100)
    c, s = z[0] * per_axis if from_axis > 0.0 else 1.0, z[1] * per_axis
    return SurfacePoint(
        y1 * body[INV_A1] if is_box else c,
        y2 * body[INV_A2] if is_box else s,
        m1 if is_box else c,
        m2 if is_box else s,
        1.0 if is_box else y1 * body[INV_A1],
        y3 * body[INV_A3],
        1.0 if is_box else m1,
        m3,
    )


@inlined
def _select_4(first, u, v):
    return (
        u[0] if first else v[0],
        u[1] if first else v[1],
        u[2] if first else v[2],
        u[3] if first else v[3],
    )


@kernel
def retract(lanes):
    """Move the points of all lanes by the planned part of the step: `newton.retract`."""
    for i in range(2 * WIDTH):
        body = load_shape(lanes, SHAPE + i)
        part = lanes[PART + i]
        x = combine(1.0, load_3(lanes, FROM_X + i), part, load_3(lanes, STEP_X + i))
        n = combine(1.0, load_3(lanes, FROM_N + i), part, load_3(lanes, STEP_N + i))
        w = min(1.3, max(-1.3, x[2] * body[INV_A3]))
        kx = 1.0 + body[TX] * w
        ky = 1.0 + body[TY] * w
        v = x[1] * body[INV_A2] / ky
        u = _off_zero(x[0] * body[INV_A1] / kx, v)
        n2 = body[A2] * ky * n[1]
        n1 = _off_zero(body[A1] * kx * n[0], n2)
        lanes[_U + i], lanes[_V + i], lanes[_N1 + i], lanes[_N2 + i] = u, v, n1, n2
        lanes[_W + i], lanes[_N3 + i] = w, body[A3] * n[2]
        lanes[_TAPER_X + i], lanes[_TAPER_Y + i] = body[TX] / kx, body[TY] / ky
        f = _capped_point(body, x, n, lanes[FROM_GAP + i])
        store_4(lanes, _CAPPED_POINT + i, (f.C, f.S, f.Cd, f.Sd))
        store_4(lanes, _CAPPED_POINT + 4 * ROW + i, (f.r, f.w, f.rd, f.wd))
        from_point = lanes[CHART_1 + i] != 0.0
        _pose_curve(lanes, i, from_point, (u, v), (n1, n2), (body[P], body[INV_P]), (body[Q], body[INV_Q]))
    _unit_curves(lanes)
    for i in range(2 * WIDTH):
        body = load_shape(lanes, SHAPE + i)
        c, s, cd, sd = _solved_curve(lanes, i, lanes[CHART_1 + i] != 0.0)
        curve = _select_4(is_capped(body), load_4(lanes, _CAPPED_POINT + i), (c, s, cd, sd))
        _store_layer(lanes, POINT + i, curve, lanes[HOLD + i] != 0.0)
        m = max(lanes[_U + i] * cd + lanes[_V + i] * sd, 1e-100)
        g = max(lanes[_N1 + i] * c + lanes[_N2 + i] * s, 1e-100)
        n3 = lanes[_N3 + i] + g * lanes[FROM_R + i] * (c * cd * lanes[_TAPER_X + i] + s * sd * lanes[_TAPER_Y + i])
        from_point = lanes[CHART_2 + i] != 0.0
        _pose_curve(lanes, i, from_point, (m, lanes[_W + i]), (g, n3), (body[S_], body[INV_S]), (body[T_], body[INV_T]))
    _unit_curves(lanes)
    for i in range(2 * WIDTH):
        curve = _solved_curve(lanes, i, lanes[CHART_2 + i] != 0.0)
        curve = _select_4(lanes[SHAPE + S_ * ROW + i] == CAPPED, load_4(lanes, _CAPPED_POINT + 4 * ROW + i), curve)
        _store_layer(lanes, POINT + 4 * ROW + i, curve, lanes[HOLD + i] != 0.0)


@inlined
def _charts(body, f):
    layer_1 = point_chart(f.C, f.S, f.Cd, f.Sd, body[P] - 1.0, dual_ratio(f.rd, f.r, body[S_]))
    layer_2 = point_chart(f.r, f.w, f.rd, f.wd, body[S_] - 1.0, 1.0)
    return (1.0 if layer_1 else 0.0), (1.0 if layer_2 else 0.0)


@inlined
def _plan_body(lanes, i, r, gap, charts, x, normal, dx, dnormal):
    store_3(lanes, FROM_X + i, x)
    store_3(lanes, FROM_N + i, normal)
    store_3(lanes, STEP_X + i, dx)
    store_3(lanes, STEP_N + i, dnormal)
    lanes[FROM_R + i], lanes[FROM_GAP + i], lanes[CHART_1 + i], lanes[CHART_2 + i] = r, gap, charts[0], charts[1]


@inlined
def _proved_gap(a, b, k):
    """Lower bound of the signed distance of two convex bodies at a pair of points, without what rounding takes."""
    mismatch = norm(sub(k.normal_a, k.inward_b))
    from_a = dot(k.normal_a, k.u) - 2.0 * mismatch * b[RADIUS]
    return max(from_a, dot(k.inward_b, k.u) - 2.0 * mismatch * a[RADIUS])


@inlined
def _plan_lane(lanes, lane):
    other = WIDTH + lane
    a, b = load_shape(lanes, SHAPE + lane), load_shape(lanes, SHAPE + other)
    fa, fb = load_point(lanes, POINT + lane), load_point(lanes, POINT + other)
    rotation = load_9(lanes, ROTATION + lane)
    k = observe(Pair(a, b, rotation, load_3(lanes, CENTRE + lane)), fa, fb, lanes[SIZE + lane])
    step = newton_step(a, b, rotation, fa, fb, k)
    backtracks = lanes[BACKTRACKS + lane]
    shorten = not (k.residual < lanes[LAST + lane]) and backtracks < MAX_BACKTRACKS
    converged = k.residual < lanes[TOLERANCE + lane]
    failed = lanes[ITERATIONS + lane] >= lanes[LIMIT + lane] or (not shorten and not step.finite)
    ended = CONVERGED if converged else (FAILED if failed else RUNNING)
    lanes[PHASE + lane] = BEYOND if _proved_gap(a, b, k) > lanes[CUT + lane] else ended
    lanes[ITERATIONS + lane] += 0.0 if converged or failed else 1.0
    lanes[BACKTRACKS + lane] = backtracks + 1.0 if shorten else 0.0
    part = BACKTRACK * lanes[PART + lane] if shorten else 1.0
    lanes[PART + lane], lanes[PART + other] = part, part
    lanes[HOLD + lane], lanes[HOLD + other] = 0.0, 0.0
    outward_b = scale(-1.0, rotate_back(rotation, k.inward_b))
    charts_a, charts_b = _charts(a, fa), _charts(b, fb)
    if not shorten:
        last = k.residual if backtracks < MAX_BACKTRACKS else GROWTH * k.residual
        lanes[LAST + lane] = GROWTH * last if step.downhill else last
        gap = max(dot(k.u, k.n), _LEAST_GAP * lanes[SIZE + lane])
        _plan_body(lanes, lane, fa.r, gap, charts_a, k.x, k.normal_a, step.dx, step.dnormal_a)
        _plan_body(lanes, other, fb.r, gap, charts_b, k.y, outward_b, step.dy, step.dnormal_b)


@kernel
def plan(lanes):
    """Look at the pairs of points of all lanes and plan the next move: the body of the loop of `newton.solve`."""
    for lane in range(WIDTH):
        _plan_lane(lanes, lane)


@kernel
def sweep(lanes):
    """One evaluation of every lane."""
    retract(lanes)
    plan(lanes)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Newton's method for many pairs at once, one pair a lane: `newton.advance` and `newton.retract` over a flat buffer.

All numbers of all lanes live in one float64 array, row by row. A row holds one quantity of all lanes, and a NamedTuple
has a row for each of its numbers (`simd.loader`). So the inner loops have constant distances between all they read and
write. That is what lets LLVM prove that they vectorise; with an array for each quantity it would have to assume that
they overlap. Rows of quantities that each body has are double: WIDTH bodies A, then WIDTH bodies B.

        lane          0     1    ...  WIDTH-1 | WIDTH  ...  2 WIDTH-1
    SHAPE            a1_A  a1_A                 a1_B
    SHAPE + ROW      a2_A  a2_A                 a2_B
    ...
    PROGRESS         phase phase  (of the pair)

A lane computes nothing from another lane, and every lane runs the same instructions: an answer does not depend on the
place of its pair in a batch. The formulas are those of `newton`, compiled for loops (`simd.in_lanes`). They differ from
the scalar ones in the last bits: the logarithm and the exponential are others, and LLVM may fuse other products with
sums.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import Vector, combine, norm
from superovoid.contact.lanes.simd import Layout, exp, in_lanes, inlined, loader, log, log_1p, storer
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.newton import Layers, Move, Progress, Ray, Task
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.surface import A1, A2, A3, INV_A1, INV_A2, INV_A3, ON_AXIS, RADIUS, S_, P, SurfacePoint

WIDTH = 32  # loops over 16 are unrolled instead of vectorised; 64 is no faster
ROW = 2 * WIDTH + 8  # no power of two, which would crowd a column into a few sets of the cache
SHAPE_LENGTH = RADIUS + 1  # columns of a packed body that Newton's method reads
POINT_LENGTH = len(SurfacePoint._fields)

_layout = Layout(ROW)
# Of each body.
SHAPE, POINT, MOVE = _layout.place(SHAPE_LENGTH), _layout.place(SurfacePoint), _layout.place(Move)
_LAYERS, _RAY, _RATIO, _SHARE, _MAJOR = (_layout.place(kind) for kind in (Layers, Ray, float, float, float))
_CURVE, _FIRST = _layout.place(4), _layout.place(4)
# Of each pair.
ROTATION, CENTRE, TASK, PROGRESS = (_layout.place(kind) for kind in (9, Vector, Task, Progress))
LENGTH = _layout.length

load_shape, load_point, load_move, _load_layers, _load_ray, load_4 = (
    loader(kind, ROW) for kind in (SHAPE_LENGTH, SurfacePoint, Move, Layers, Ray, 4)
)
load_3, load_9, load_task, load_progress = (loader(kind, ROW) for kind in (Vector, 9, Task, Progress))
store_shape, store_point, store_move, _store_layers, _store_ray, store_4 = (
    storer(kind, ROW) for kind in (SHAPE_LENGTH, SurfacePoint, Move, Layers, Ray, 4)
)
store_3, store_9, store_task, store_progress = (storer(kind, ROW) for kind in (Vector, 9, Task, Progress))

_layers_of, _first_ray, _second_ray, _in_order = map(
    in_lanes, (newton.layers_of, newton.first_ray, newton.second_ray, newton.in_order)
)
_ratio_of, _unit_curve = in_lanes(surface.ratio_of), in_lanes(surface.unit_curve)
observe, _advance, _target = in_lanes(newton.observe), in_lanes(newton.advance), in_lanes(newton.target)


@kernel
def _unit_curves(lanes):
    """`unit_curve_from_point` for all bodies of all lanes.

    Loops of one log or exp each: their iterations are short enough for the processor to overlap.
    """
    for i in range(2 * WIDTH):
        ray = _load_ray(lanes, _RAY + i)
        lanes[_RATIO + i] = ratio = _ratio_of(ray.u, ray.v)
        lanes[_SHARE + i] = ray.exponent * log(ratio)
    for i in range(2 * WIDTH):
        lanes[_SHARE + i] = exp(lanes[_SHARE + i])
    for i in range(2 * WIDTH):
        lanes[_MAJOR + i] = -_load_ray(lanes, _RAY + i).inverse * log_1p(lanes[_SHARE + i])
    for i in range(2 * WIDTH):
        ray = _load_ray(lanes, _RAY + i)
        store_4(
            lanes, _CURVE + i, _unit_curve(ray.u, ray.v, lanes[_RATIO + i], lanes[_SHARE + i], exp(lanes[_MAJOR + i]))
        )


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
    per_axis = 1.0 / max(from_axis, ON_AXIS)
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


# --- one evaluation -------------------------------------------------------------------------------------------------


@kernel
def retract(lanes):
    """Move the points of all lanes: `newton.retract`, with loops in place of its unit curves."""
    for i in range(2 * WIDTH):
        body, move = load_shape(lanes, SHAPE + i), load_move(lanes, MOVE + i)
        x, n = _target(move)
        layers = _layers_of(body, x, n)
        _store_layers(lanes, _LAYERS + i, layers)
        _store_ray(lanes, _RAY + i, _first_ray(body, layers, move.by_point_1))
    _unit_curves(lanes)
    for i in range(2 * WIDTH):
        body, move = load_shape(lanes, SHAPE + i), load_move(lanes, MOVE + i)
        curve = _in_order(load_4(lanes, _CURVE + i), move.by_point_1)
        store_4(lanes, _FIRST + i, curve)
        layers = _load_layers(lanes, _LAYERS + i)
        _store_ray(lanes, _RAY + i, _second_ray(body, layers, curve, move.r, move.by_point_2))
    _unit_curves(lanes)
    for i in range(2 * WIDTH):
        body, move = load_shape(lanes, SHAPE + i), load_move(lanes, MOVE + i)
        f = SurfacePoint(*load_4(lanes, _FIRST + i), *_in_order(load_4(lanes, _CURVE + i), move.by_point_2))
        x, n = _target(move)
        moved = _capped_point(body, x, n, move.gap) if is_capped(body) else f
        store_point(lanes, POINT + i, load_point(lanes, POINT + i) if move.part == 0.0 else moved)


@kernel
def advance(lanes):
    """Look at the pairs of points of all lanes and plan the next moves."""
    for i in range(WIDTH):
        a, b = load_shape(lanes, SHAPE + i), load_shape(lanes, SHAPE + WIDTH + i)
        pair = Pair(a, b, load_9(lanes, ROTATION + i), load_3(lanes, CENTRE + i))
        fa, fb = load_point(lanes, POINT + i), load_point(lanes, POINT + WIDTH + i)
        move_a, move_b = load_move(lanes, MOVE + i), load_move(lanes, MOVE + WIDTH + i)
        task, progress = load_task(lanes, TASK + i), load_progress(lanes, PROGRESS + i)
        _, progress, move_a, move_b = _advance(pair, fa, fb, task, progress, move_a, move_b)
        store_progress(lanes, PROGRESS + i, progress)
        store_move(lanes, MOVE + i, move_a)
        store_move(lanes, MOVE + WIDTH + i, move_b)


@kernel
def sweep(lanes):
    """Make the moves of all lanes and plan the next ones."""
    retract(lanes)
    advance(lanes)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Newton's method for many pairs at once, one pair a lane: `newton.advance` and `retract` over a flat buffer.

All numbers of all lanes live in one float64 array, row by row. A row holds one quantity of all lanes, and a NamedTuple
has a row for each of its numbers (`rows.loader`). So the inner loops have constant distances between all they read and
write. That is what lets LLVM prove that they vectorise; with an array for each quantity it would have to assume that
they overlap. Rows of quantities that each body has are double: WIDTH bodies A, then WIDTH bodies B.

        lane          0     1    ...  WIDTH-1 | WIDTH  ...  2 WIDTH-1
    AT.shape         a1_A  a1_A                 a1_B
    AT.shape + ROW   a2_A  a2_A                 a2_B
    ...
    AT.progress      phase phase  (of the pair)

A lane computes nothing from another lane, and every lane runs the same instructions: an answer does not depend on the
place of its pair in a batch. The formulas are those of `newton`, compiled for loops (`simd.in_lanes`). They differ from
the scalar ones in the last bits: the logarithm and the exponential are others, and LLVM may fuse other products with
sums.
"""

from __future__ import annotations

from superovoid.compiled.kernels import inline, kernel
from superovoid.compiled.rows import layout, loader, storer
from superovoid.compiled.simd import exp, in_lanes, log, log_1p
from superovoid.compiled.vector import Vector
from superovoid.contact.convex import nearest_to_core
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import newton
from superovoid.contact.superovoids.newton import Move, Progress, Task
from superovoid.shapes.kernels import retraction, surface
from superovoid.shapes.kernels.retraction import Layers, Ray
from superovoid.shapes.kernels.surface import RADIUS, SurfacePoint

WIDTH = 32  # loops over 16 are unrolled instead of vectorised; 64 is no faster
ROW = 2 * WIDTH + 8  # no power of two, which would crowd a column into a few sets of the cache
SHAPE_LENGTH = RADIUS + 1  # columns of a packed body that Newton's method reads
POINT_LENGTH = len(SurfacePoint._fields)

AT, LENGTH = layout(
    ROW,
    shape=SHAPE_LENGTH,  # of each body, to `first`
    point=SurfacePoint,
    move=Move,
    layers=Layers,
    ray=Ray,
    ratio=float,
    share=float,
    major=float,
    curve=4,
    first=4,
    rotation=9,  # of each pair from here on
    centre=Vector,
    task=Task,
    progress=Progress,
    kind=float,  # of body A
)

load_shape, load_point, load_move, _load_layers, _load_ray, load_4 = (
    loader(kind, ROW) for kind in (SHAPE_LENGTH, SurfacePoint, Move, Layers, Ray, 4)
)
load_3, load_9, load_task, load_progress = (loader(kind, ROW) for kind in (Vector, 9, Task, Progress))
store_shape, store_point, store_move, _store_layers, _store_ray, store_4 = (
    storer(kind, ROW) for kind in (SHAPE_LENGTH, SurfacePoint, Move, Layers, Ray, 4)
)
store_3, store_9, store_task, store_progress = (storer(kind, ROW) for kind in (Vector, 9, Task, Progress))

_layers_of, _first_ray, _second_ray, _curve_before_dual = map(
    in_lanes, (retraction.layers_of, retraction.first_ray, retraction.second_ray, retraction.curve_before_dual)
)
_ratio_of, _unit_curve = in_lanes(surface.ratio_of), in_lanes(surface.unit_curve)
observe, _advance, _target = in_lanes(newton.observe), in_lanes(newton.advance), in_lanes(newton.target)
_advance_to_core = in_lanes(nearest_to_core.advance)


@inline
def _unit_curves(lanes, first):
    """`unit_curve_from_point` for all bodies of all lanes, or from `first` = WIDTH on for bodies B.

    Loops of one log or exp each: their iterations are short enough for the processor to overlap.
    """
    for i in range(first, 2 * WIDTH):
        ray = _load_ray(lanes, AT.ray + i)
        lanes[AT.ratio + i] = ratio = _ratio_of(ray.u, ray.v)
        lanes[AT.share + i] = ray.exponent * log(ratio)
    for i in range(first, 2 * WIDTH):
        lanes[AT.share + i] = exp(lanes[AT.share + i])
    for i in range(first, 2 * WIDTH):
        lanes[AT.major + i] = -_load_ray(lanes, AT.ray + i).inverse * log_1p(lanes[AT.share + i])
    for i in range(first, 2 * WIDTH):
        ray = _load_ray(lanes, AT.ray + i)
        store_4(
            lanes,
            AT.curve + i,
            _unit_curve(ray.u, ray.v, lanes[AT.ratio + i], lanes[AT.share + i], exp(lanes[AT.major + i])),
        )


# --- one evaluation -------------------------------------------------------------------------------------------------


@inline
def _retract(lanes, first):
    """Move the points of all lanes: `retraction.retract`, with loops in place of its unit curves."""
    for i in range(first, 2 * WIDTH):
        body, move = load_shape(lanes, AT.shape + i), load_move(lanes, AT.move + i)
        x, n = _target(move)
        layers = _layers_of(body, x, n)
        _store_layers(lanes, AT.layers + i, layers)
        _store_ray(lanes, AT.ray + i, _first_ray(body, layers, move.by_point_1))
    _unit_curves(lanes, first)
    for i in range(first, 2 * WIDTH):
        body, move = load_shape(lanes, AT.shape + i), load_move(lanes, AT.move + i)
        curve = _curve_before_dual(load_4(lanes, AT.curve + i), move.by_point_1)
        store_4(lanes, AT.first + i, curve)
        layers = _load_layers(lanes, AT.layers + i)
        _store_ray(lanes, AT.ray + i, _second_ray(body, layers, curve, move.r, move.by_point_2))
    _unit_curves(lanes, first)
    for i in range(first, 2 * WIDTH):
        move = load_move(lanes, AT.move + i)
        f = SurfacePoint(
            *load_4(lanes, AT.first + i), *_curve_before_dual(load_4(lanes, AT.curve + i), move.by_point_2)
        )
        store_point(lanes, AT.point + i, load_point(lanes, AT.point + i) if move.part == 0.0 else f)


@kernel
def retract(lanes):
    """Move the points of all bodies."""
    _retract(lanes, 0)


@kernel
def retract_second(lanes):
    """Move the points of bodies B."""
    _retract(lanes, WIDTH)


@kernel
def advance(lanes):
    """Look at the pairs of points of all lanes and plan the next moves."""
    for i in range(WIDTH):
        a, b = load_shape(lanes, AT.shape + i), load_shape(lanes, AT.shape + WIDTH + i)
        pair = Pair(a, b, load_9(lanes, AT.rotation + i), load_3(lanes, AT.centre + i))
        fa, fb = load_point(lanes, AT.point + i), load_point(lanes, AT.point + WIDTH + i)
        move_a, move_b = load_move(lanes, AT.move + i), load_move(lanes, AT.move + WIDTH + i)
        task, progress = load_task(lanes, AT.task + i), load_progress(lanes, AT.progress + i)
        _, progress, move_a, move_b = _advance(pair, fa, fb, task, progress, move_a, move_b)
        store_progress(lanes, AT.progress + i, progress)
        store_move(lanes, AT.move + i, move_a)
        store_move(lanes, AT.move + WIDTH + i, move_b)


@kernel
def advance_to_cores(lanes):
    """Do as `advance` for superovoids B next to cores A: `nearest_to_core.advance`."""
    for i in range(WIDTH):
        core, body = load_shape(lanes, AT.shape + i), load_shape(lanes, AT.shape + WIDTH + i)
        f, move = load_point(lanes, AT.point + WIDTH + i), load_move(lanes, AT.move + WIDTH + i)
        task, progress = load_task(lanes, AT.task + i), load_progress(lanes, AT.progress + i)
        place = load_9(lanes, AT.rotation + i), load_3(lanes, AT.centre + i)
        _, progress, move = _advance_to_core(core, lanes[AT.kind + i], body, *place, f, task, progress, move)
        store_progress(lanes, AT.progress + i, progress)
        store_move(lanes, AT.move + WIDTH + i, move)


@kernel
def sweep(lanes, to_cores):
    """Make the moves of all lanes and plan the next ones; `to_cores`: of superovoids B next to cores A."""
    if to_cores:
        retract_second(lanes)
        advance_to_cores(lanes)
    else:
        retract(lanes)
        advance(lanes)

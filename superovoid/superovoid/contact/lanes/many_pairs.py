# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Many pairs: the first attempt of `pair_solver.solve_pair` in SIMD lanes; the solver answers the open pairs.

    pairs --load--> block --prepare--> block --Newton in lanes--> block --prove--> block --store--> answers, states
                                                                                     \--> open pairs --> solve_pair

A block holds CHUNK pairs in the layout of `newton_lanes`: one flat buffer, a row a quantity, bodies A before bodies B.
Newton runs in fewer lanes than a block has pairs; a lane that has converged, or failed, takes in the next pair. So does
one whose points prove that the pair is farther than a limit of the caller. Then
the certificate, that of `answers.certify`, is evaluated for the whole block. Pairs whose interval it does not close
- deep overlaps, contacts near a concavity - and those that may need a flag are for the scalar solver, which searches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import bundle, entry_point, inline, kernel
from superovoid.compiled.rows import layout, loader, storer
from superovoid.compiled.simd import IN_LANES, in_lanes, rotate, rotate_back
from superovoid.compiled.vector import Vector, add, put_vector, scale, sub
from superovoid.contact import separation
from superovoid.contact.broadcasting import MOST_AT_ONCE, Pairs, bodies_of, share_pairs
from superovoid.contact.columns import RESULT, START
from superovoid.contact.compounds import solve_within
from superovoid.contact.convex import cores, nearest_to_core
from superovoid.contact.lanes import newton_lanes
from superovoid.contact.lanes.newton_lanes import (
    POINT_LENGTH,
    SHAPE_LENGTH,
    WIDTH,
    observe,
)
from superovoid.contact.pair import Limit, Pair
from superovoid.contact.superovoids import answers, certificate, pair_solver, tangent_balls
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, WARM_ITERATIONS
from superovoid.contact.superovoids.certificate import clear_of_concavity, flatness
from superovoid.contact.superovoids.newton import BEGUN, CONVERGED, FAILED, RUNNING, Task, first_move
from superovoid.shapes.kernels.kinds import CAPSULE, KIND, SUPEROVOID, is_sphere
from superovoid.shapes.kernels.surface import A1, HAS_CONCAVITY, SIZE, SurfacePoint
from superovoid.values import status
from superovoid.values.status import NON_UNIQUE

FloatArray = NDArray[np.float64]

NO_LANES, OVOIDS, TO_CORES = 0, 1, 2
"""Classes of pairs: not for lanes; two superovoids; a superovoid next to a core (`nearest_to_core`)."""

CHUNK = MOST_AT_ONCE  # 0.6 MB a block; fewer pairs of a class are not solved in lanes
ROW = 2 * CHUNK + 8
_POSE_LENGTH = 12  # translation, then rotation row by row: the order in which `pair_solver.comparison` reads

AT, LENGTH = layout(
    ROW,
    body=KIND + 1,  # of each body, to `start`
    pose=_POSE_LENGTH,
    point=SurfacePoint,
    start=Vector,  # the normal at which Newton begins cold
    swapped=float,  # of each pair from here on
    warm=float,
    rotation=9,
    centre=Vector,
    goal=float,
    task=Task,
    limit=float,  # largest distance of interest
    phase=float,
    iterations=float,
    distance=float,  # from here on in the order of a result row
    lower=float,
    upper=float,
    point_a=Vector,
    point_b=Vector,
    normal=Vector,
    status=float,
)

load_3, load_9, load_12, load_shape, load_body, load_point, load_task = (
    loader(kind, ROW) for kind in (Vector, 9, _POSE_LENGTH, SHAPE_LENGTH, KIND + 1, SurfacePoint, Task)
)
store_3, store_point, store_task = (storer(kind, ROW) for kind in (Vector, SurfacePoint, Task))


@kernel
def lane_class(a, b):
    """Return the class of lanes of a pair of packed bodies; two spheres have a closed form."""
    if a[KIND] == SUPEROVOID and b[KIND] == SUPEROVOID:
        return NO_LANES if is_sphere(a) and is_sphere(b) else OVOIDS
    core, ovoid = (a, b) if b[KIND] == SUPEROVOID else (b, a)
    is_near_core = nearest_to_core.is_for(core[KIND], ovoid[KIND], ovoid)
    return TO_CORES if is_near_core and not is_sphere(ovoid) else NO_LANES


@entry_point
def lane_classes(pairs: Pairs, out: Ints1) -> None:
    """Fill in the class of lanes of each pair."""
    for i in range(out.shape[0]):
        a, b = bodies_of(pairs, i)
        out[i] = lane_class(a.row, b.row)


@kernel
def hull_excess(body, f, n):
    """Compute `certificate.hull_excess` without a search: infinite if a concavity may matter."""
    return 0.0 if clear_of_concavity(body, f, n) else math.inf


@kernel
def is_flat(a, b, rotation, fa, fb, k, reach, goal):
    """Run the first test of `certificate.is_flat`; if it does not clear the contact, the scalar solver runs all."""
    return flatness(a, b, rotation, fa, fb, k) * reach * reach < 2.0 * goal


# --- between arrays of pairs and a block ------------------------------------------------------------------------


@inline
def _load_body(block, at, body):
    for j in range(KIND + 1):
        block[at + j * ROW] = body[j]


@inline
def _load_pose(block, at, pose):
    for j in range(3):
        block[at + j * ROW] = pose[j, 3]
        for k in range(3):
            block[at + (3 + 3 * j + k) * ROW] = pose[j, k]


@inline
def load_bodies(block, i, a, b, pose_a, pose_b):
    """Load the bodies of a pair into a column of the block, in the order in which they are solved."""
    if a[KIND] == b[KIND]:
        swapped = pair_solver.comparison(a, b, pose_a, pose_b) > 0
    else:
        swapped = b[KIND] != SUPEROVOID  # cores come first
    at_a, at_b = (CHUNK + i, i) if swapped else (i, CHUNK + i)
    block[AT.swapped + i] = 1.0 if swapped else 0.0
    _load_body(block, AT.body + at_a, a)
    _load_body(block, AT.body + at_b, b)


@inline
def places_of(block, i):
    """Return the places of the bodies of a pair in the block, in the caller's order."""
    return (i, CHUNK + i) if block[AT.swapped + i] == 0.0 else (CHUNK + i, i)


@inline
def load_poses(block, i, pose_a, pose_b):
    """Load the poses of a pair."""
    at_a, at_b = places_of(block, i)
    _load_pose(block, AT.pose + at_a, pose_a)
    _load_pose(block, AT.pose + at_b, pose_b)


@inline
def load_points(block, i, state):
    """Load the points of an earlier answer."""
    at_a, at_b = places_of(block, i)
    store_point(block, AT.point + at_a, pair_solver.load_point(state, 0))
    store_point(block, AT.point + at_b, pair_solver.load_point(state, POINT_LENGTH))


@inline
def load_no_points(block, i):
    """Load zeros: no points of an earlier answer."""
    for j in range(POINT_LENGTH):
        block[AT.point + j * ROW + i] = block[AT.point + j * ROW + CHUNK + i] = 0.0


@inline
def store_points(block, i, state):
    """Write the points of a pair, or the direction from a core, to a state."""
    at_a, at_b = places_of(block, i)
    if block[AT.body + KIND * ROW + i] != SUPEROVOID:
        state[START.order] = 1.0 + block[AT.swapped + i]
        put_vector(state, START.direction, load_3(block, AT.start + i))
        return
    pair_solver.store_point(state, 0, load_point(block, AT.point + at_a))
    pair_solver.store_point(state, POINT_LENGTH, load_point(block, AT.point + at_b))


@inline
def store_row(block, i, tolerance, row):
    """Write the answer of a pair of the block if its interval is closed; return whether it is."""
    goal, distance, lower, upper = block[AT.goal + i], block[AT.distance + i], block[AT.lower + i], block[AT.upper + i]
    closed = lower <= distance and distance <= upper and upper - lower <= goal  # false for NaN
    if not (closed and block[AT.phase + i] == CONVERGED and block[AT.status + i] == 0.0):
        return False
    for j in range(RESULT.status):
        row[j] = block[AT.distance + j * ROW + i]
    row[RESULT.status] = status.PRECISION if goal > 2.0 * tolerance * block[AT.task + i] else 0.0
    row[RESULT.iterations] = block[AT.iterations + i]
    return True


@inline
def store_pair(block, i, tolerance, state, row):
    """Do as `store_row`; also store the points of a contact: the scalar solver starts from them if it is not closed."""
    if block[AT.phase + i] == CONVERGED:
        store_points(block, i, state)
    return store_row(block, i, tolerance, row)


# --- in a block -------------------------------------------------------------------------------------------------


@inline
def ball_of(body):
    """Return the radius of the ball around the core of a body: `kinds.ball_radius`."""
    return body[A1] if body[KIND] == CAPSULE else 0.0


@kernel
def _round_up(count):
    """Round a number of columns up to full registers, so that no loop over them has a remainder."""
    return (count + WIDTH - 1) // WIDTH * WIDTH


@inline
def _store_column(block, at, v):
    """Store a column of a rotation, which is stored row by row."""
    block[at], block[at + 3 * ROW], block[at + 6 * ROW] = v[0], v[1], v[2]


line_of_centres = in_lanes(pair_solver.line_of_centres)
first_direction = in_lanes(pair_solver.first_direction)
line_to = in_lanes(nearest_to_core.line_to)
gap_tolerance = in_lanes(certificate.gap_tolerance)
newton_tolerance = in_lanes(answers.newton_tolerance)
still_face = in_lanes(pair_solver.still_face)


@entry_point(nogil=True, separate=True)
def prepare(block: Floats1, count: int, tolerance: float) -> None:
    """Compute relative poses, tolerances and cold starts of the first pairs of a block."""
    count = _round_up(count)
    for i in range(count):
        pose_a, pose_b = load_12(block, AT.pose + i), load_12(block, AT.pose + CHUNK + i)
        turn_a, turn_b = pose_a[3:], pose_b[3:]
        _store_column(block, AT.rotation + i, rotate_back(turn_a, (turn_b[0], turn_b[3], turn_b[6])))
        _store_column(block, AT.rotation + ROW + i, rotate_back(turn_a, (turn_b[1], turn_b[4], turn_b[7])))
        _store_column(block, AT.rotation + 2 * ROW + i, rotate_back(turn_a, (turn_b[2], turn_b[5], turn_b[8])))
        store_3(block, AT.centre + i, rotate_back(turn_a, sub(pose_b[:3], pose_a[:3])))
    for i in range(count):
        a, b = load_body(block, AT.body + i), load_body(block, AT.body + CHUNK + i)
        fa, fb = load_point(block, AT.point + i), load_point(block, AT.point + CHUNK + i)
        centre, rotation = load_3(block, AT.centre + i), load_9(block, AT.rotation + i)
        is_kept = (fa.r != 0.0) | (fa.w != 0.0)
        is_warm = is_kept & still_face(Pair(a, b, rotation, centre), fa, fb)
        goal = gap_tolerance(a, b, centre, tolerance)
        # The goal is four times the rounding error, and an answer may lie below the distance by once that error.
        convex = (a[HAS_CONCAVITY] == 0.0) & (b[HAS_CONCAVITY] == 0.0)
        cut = block[AT.limit + i] + ball_of(a) + 2.0 * goal if convex else math.inf
        size, residual = min(a[SIZE], b[SIZE]), newton_tolerance(a, b, centre, goal)
        most = float(WARM_ITERATIONS if is_warm else COLD_ITERATIONS)
        store_task(block, AT.task + i, Task(size, residual, most, cut))
        is_core = a[KIND] != SUPEROVOID
        n = line_of_centres(line_to(a, a[KIND], centre)) if is_core else first_direction(a, b, rotation, centre)
        block[AT.goal + i], block[AT.warm + i] = goal, 1.0 if is_warm else 0.0
        store_3(block, AT.start + i, n)
        store_3(block, AT.start + CHUNK + i, rotate_back(rotation, scale(-1.0, n)))


@kernel
def _enter(lanes, lane, block, i):
    """Move a pair of the block into a lane."""
    part = 1.0 - block[AT.warm + i]
    for side in range(2):
        to, at = lane + side * WIDTH, i + side * CHUNK
        newton_lanes.store_shape(lanes, newton_lanes.AT.shape + to, load_shape(block, AT.body + at))
        newton_lanes.store_point(lanes, newton_lanes.AT.point + to, load_point(block, AT.point + at))
        newton_lanes.store_move(lanes, newton_lanes.AT.move + to, first_move(load_3(block, AT.start + at), part))
    newton_lanes.store_9(lanes, newton_lanes.AT.rotation + lane, load_9(block, AT.rotation + i))
    newton_lanes.store_3(lanes, newton_lanes.AT.centre + lane, load_3(block, AT.centre + i))
    newton_lanes.store_task(lanes, newton_lanes.AT.task + lane, load_task(block, AT.task + i))
    lanes[newton_lanes.AT.kind + lane] = block[AT.body + KIND * ROW + i]
    newton_lanes.store_progress(lanes, newton_lanes.AT.progress + lane, BEGUN)


@kernel
def _leave(lanes, lane, block, i):
    """Write the points of a lane back to the block."""
    progress = newton_lanes.load_progress(lanes, newton_lanes.AT.progress + lane)
    block[AT.phase + i], block[AT.iterations + i] = progress.phase, progress.iterations
    store_point(block, AT.point + i, newton_lanes.load_point(lanes, newton_lanes.AT.point + lane))
    store_point(block, AT.point + CHUNK + i, newton_lanes.load_point(lanes, newton_lanes.AT.point + WIDTH + lane))


@entry_point(nogil=True, separate=True)
def converge(lanes: Floats1, pair: Ints1, block: Floats1, count: int, to_cores: bool) -> None:
    """Run Newton's method for the pairs of a block; a finished lane takes in the next pair. `pair` is scratch.

    All pairs of a block are of two superovoids or, `to_cores`, of a core and a superovoid.
    """
    following = 0
    for lane in range(WIDTH):
        pair[lane] = -1
    while True:
        idle = 0
        for lane in range(WIDTH):
            if pair[lane] >= 0 and lanes[newton_lanes.AT.progress + lane] == RUNNING:
                continue
            if pair[lane] >= 0:
                _leave(lanes, lane, block, pair[lane])
                pair[lane] = -1
            if following < count:
                _enter(lanes, lane, block, following)
                pair[lane] = following
                following += 1
            else:
                idle += 1
        if idle == WIDTH:
            return
        newton_lanes.sweep(lanes, to_cores)


IN_LANES[certificate.hull_excess] = in_lanes(hull_excess)
IN_LANES[certificate.is_flat] = in_lanes(is_flat)
IN_LANES[tangent_balls.proved_depth] = in_lanes(tangent_balls.depth_by_balls)
certify = in_lanes(answers.certify)
observe_core, certify_core = in_lanes(nearest_to_core.observe), in_lanes(nearest_to_core.certify)
rounding_margin, with_balls = in_lanes(separation.rounding_margin), in_lanes(cores.with_balls)


@inline
def _pick(first, u, v):
    return (u[0] if first else v[0], u[1] if first else v[1], u[2] if first else v[2])


@inline
def _store_answer(block, i, answer):
    """Store an answer, its points and normal in the world and in the caller's order of the bodies."""
    block[AT.distance + i], block[AT.lower + i], block[AT.upper + i] = answer.distance, answer.lower, answer.upper
    pose, swapped = load_12(block, AT.pose + i), block[AT.swapped + i] != 0.0
    x, y = add(pose[:3], rotate(pose[3:], answer.x)), add(pose[:3], rotate(pose[3:], answer.y))
    store_3(block, AT.point_a + i, _pick(swapped, y, x))
    store_3(block, AT.point_b + i, _pick(swapped, x, y))
    store_3(block, AT.normal + i, scale(-1.0 if swapped else 1.0, rotate(pose[3:], answer.n)))


@inline
def _prove_pair(block, i):
    a, b = load_body(block, AT.body + i), load_body(block, AT.body + CHUNK + i)
    fa, fb = load_point(block, AT.point + i), load_point(block, AT.point + CHUNK + i)
    pair = Pair(a, b, load_9(block, AT.rotation + i), load_3(block, AT.centre + i))
    k = observe(pair, fa, fb, block[AT.task + i])
    answer = certify(pair, fa, fb, k, block[AT.goal + i], 0)
    block[AT.status + i] = answer.status
    _store_answer(block, i, answer)


@inline
def _prove_core(block, i):
    core, body = load_body(block, AT.body + i), load_body(block, AT.body + CHUNK + i)
    rotation, centre, f = (
        load_9(block, AT.rotation + i),
        load_3(block, AT.centre + i),
        load_point(block, AT.point + CHUNK + i),
    )
    k = observe_core(core, core[KIND], body, rotation, centre, f, block[AT.task + i])
    margin = rounding_margin(core, body, centre)
    answer, is_curved = certify_core(core, core[KIND], body, rotation, f, k, margin, 0)
    # The scalar solver finds out whether other points are as near.
    is_alone = is_curved & (answer.distance > block[AT.goal + i])
    block[AT.status + i] = 0.0 if is_alone else float(NON_UNIQUE)
    answer = with_balls(answer, ball_of(core), 0.0)
    store_3(block, AT.start + i, answer.n)
    _store_answer(block, i, answer)


@kernel(nogil=True, separate=True)
def prove_pairs(block, count):
    """Compute certificates and answers, in the world, of the converged pairs among the first of a block."""
    for i in range(_round_up(count)):
        _prove_pair(block, i)


@kernel(nogil=True, separate=True)
def prove_cores(block, count):
    """Do as `prove_pairs` for cores and superovoids."""
    for i in range(_round_up(count)):
        _prove_core(block, i)


@entry_point(nogil=True)
def prove(block: Floats1, count: int, to_cores: bool) -> None:
    """Compute certificates and answers of the pairs of a block."""
    if to_cores:
        prove_cores(block, count)
    else:
        prove_pairs(block, count)


# --- pairs and blocks -------------------------------------------------------------------------------------------


@bundle
class Lanes(NamedTuple):
    """Memory of a thread."""

    block: Floats1
    newton: Floats1
    running: Ints1  # which pair of the block is in which lane
    rotation: Floats2


def lanes_for(used: bool) -> Lanes:
    """Return memory for lanes, empty if they are not used.

    Loops compute columns without a pair too. The same positive number throughout gives them bodies and normals.
    """
    block, newton = np.full(used * LENGTH, 0.5), np.full(used * newton_lanes.LENGTH, 0.5)
    return Lanes(block, newton, np.empty(used * WIDTH, np.int64), np.empty((3, 3)))


@entry_point(nogil=True)
def answer_in_lanes(
    pairs: Pairs,
    which: Ints1,
    to_cores: bool,
    tolerance: float,
    budget: int,
    states: Floats2,
    lanes: Lanes,
    out: Floats2,
) -> int:
    """Solve the given pairs, at most CHUNK; return how many were left to the scalar solver.

    All are of two superovoids or, `to_cores`, of a superovoid and a core. `states` and `out` have a row for each pair;
    others are as for `pair_solver.solve_pair`.
    """
    block, count = lanes.block, which.shape[0]
    # A loop for each source is faster than one loop.
    for k in range(count):
        a, b = bodies_of(pairs, which[k])
        load_bodies(block, k, a.row, b.row, a.pose, b.pose)
    for k in range(count):
        a, b = bodies_of(pairs, which[k])
        load_poses(block, k, a.pose, b.pose)
    for k in range(count):
        if to_cores:
            load_no_points(block, k)
        else:
            load_points(block, k, states[which[k]])
        block[AT.limit + k] = math.inf
    prepare(block, count, tolerance)
    converge(lanes.newton, lanes.running, block, count, to_cores)
    prove(block, count, to_cores)
    left = 0
    for k in range(count):
        i = which[k]
        if not store_pair(block, k, tolerance, states[i], out[i]):
            if not to_cores and block[AT.phase + k] == FAILED:
                pair_solver.mark_failure(states[i])
            a, b = bodies_of(pairs, i)
            solve_within(a, b, Limit(tolerance, budget, math.inf, -math.inf), states[i], lanes.rotation, out[i])
            left += 1
    return left


def solve_batch(
    pairs: Pairs,
    which: NDArray[np.int64],
    to_cores: bool,
    tolerance: float,
    budget: int,
    states: FloatArray,
    out: FloatArray,
    threads: int | None = 1,
) -> int:
    """Solve the given pairs in lanes; the answers do not depend on the number of threads.

    Parameters
    ----------
    pairs : Pairs
    which : (m,) ndarray of int
    to_cores : bool
        Whether all are `TO_CORES`; otherwise all are `OVOIDS`.
    tolerance : float
        As for `pair_solver.solve_pair`.
    budget : int
        Most support points of the global search for each open pair.
    states : (n, STATE_LENGTH) ndarray
        States of earlier answers, zeros for none; renewed.
    out : (n, RESULT_LENGTH) ndarray
        Answers.
    threads : int or None, optional
        As for `share_pairs`.

    Returns
    -------
    int
        Number of pairs left to the scalar solver.
    """
    left: list[int] = []

    def answer(some: NDArray[np.int64], lanes: Lanes) -> None:
        left.append(answer_in_lanes(pairs, some, to_cores, tolerance, budget, states, lanes, out))

    share_pairs(which, answer, threads, lambda: lanes_for(True))
    return sum(left)

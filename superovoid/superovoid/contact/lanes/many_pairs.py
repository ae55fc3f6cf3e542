# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Many pairs: what `pair_solver.solve_pair` answers at the first try, in SIMD lanes; the rest handed to it.

    pairs --load--> block --prepare--> block --Newton in lanes--> block --prove--> block --store--> answers, states
                                                                                     \--> open pairs --> solve_pair

A block holds CHUNK pairs in the layout of `newton_lanes`: one flat buffer, a row a quantity, bodies A before bodies B.
Newton runs in fewer lanes than a block has pairs; a lane that has converged, or failed, takes in the next pair. So does
one whose points prove that the pair is farther than a limit, where the caller sets one. Then
the certificate, that of `answers.certify`, is evaluated for the whole block. Pairs whose interval it does not close
- deep overlaps, contacts near a dent - and those that may need a flag are for the scalar solver, which searches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.threads import share
from superovoid.compiled.vector import Vector, add, norm, scale, sub
from superovoid.contact import columns
from superovoid.contact.lanes import newton_lanes
from superovoid.contact.lanes.newton_lanes import (
    POINT_LENGTH,
    SHAPE_LENGTH,
    WIDTH,
    is_capped,
    observe,
)
from superovoid.contact.lanes.simd import IN_LANES, Layout, in_lanes, inlined, loader, rotate, rotate_back, storer
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import answers, certificate, pair_solver, tangent_balls
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, WARM_ITERATIONS
from superovoid.contact.superovoids.certificate import clear_of_dent, flatness
from superovoid.contact.superovoids.newton import BEGUN, CONVERGED, RUNNING, Task, first_move
from superovoid.contact.superovoids.tangent_balls import depth_of_balls, radius_wanted, wider_balls
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    BODY_LENGTH,
    DENTED,
    INV_A1,
    RADIUS,
    S_,
    SIZE,
    TX,
    P,
    SurfacePoint,
)
from superovoid.values import status

FloatArray = NDArray[np.float64]
Rows = TypeVar("Rows", range, NDArray[np.int64])

CHUNK = 512  # 0.6 MB a block
_PORTION = 16  # open pairs that a thread takes at a time, at most: they differ by orders of magnitude in cost
_PORTIONS = 4  # for each thread, at least
ROW = 2 * CHUNK + 8
_POSE_LENGTH = 12  # translation, then rotation row by row: the order in which `pair_solver.in_order` compares

_layout = Layout(ROW)
# Of each body.
BODY, POSE = _layout.place(BODY_LENGTH), _layout.place(_POSE_LENGTH)
POINT, START = _layout.place(SurfacePoint), _layout.place(Vector)  # START: the normal at which Newton begins cold
# Of each pair.
SWAPPED, WARM, ROTATION, CENTRE = _layout.place(), _layout.place(), _layout.place(9), _layout.place(Vector)
GOAL, TASK, LIMIT = _layout.place(), _layout.place(Task), _layout.place()  # LIMIT: of the distance that is wanted
UNIT = TASK
PHASE, ITERATIONS = _layout.place(), _layout.place()
DISTANCE, LOWER, UPPER = _layout.place(), _layout.place(), _layout.place()
RESULT = DISTANCE  # in the order of a result row
POINT_A, POINT_B, NORMAL, STATUS = _layout.place(Vector), _layout.place(Vector), _layout.place(Vector), _layout.place()
LENGTH = _layout.length

load_3, load_9, load_12, load_shape, load_body, load_point, load_task = (
    loader(kind, ROW) for kind in (Vector, 9, _POSE_LENGTH, SHAPE_LENGTH, BODY_LENGTH, SurfacePoint, Task)
)
store_3, store_point, store_task = (storer(kind, ROW) for kind in (Vector, SurfacePoint, Task))


@kernel
def hull_excess(body, f, n):
    """`certificate.hull_excess` where it needs no search: infinite over a dent and where its edge does not tell."""
    return 0.0 if clear_of_dent(body, f, n) else math.inf


@kernel
def is_flat(a, b, rotation, fa, fb, k, reach, goal):
    """First test of `certificate.is_flat`: where it does not clear the contact, the scalar solver looks closer."""
    return flatness(a, b, rotation, fa, fb, k) * reach * reach < 2.0 * goal


@kernel
def proved_depth(pair, fa, fb, k, goal):
    """First balls of `tangent_balls.proved_depth`; if they are not as wide as wanted the scalar solver tries others."""
    wanted = radius_wanted(k, goal)
    r_a, r_b = wider_balls(pair, fa, fb, 0.0, 0.0, wanted)
    return depth_of_balls(k, r_a, r_b), r_a + r_b >= wanted


# --- between arrays of pairs and a block ------------------------------------------------------------------------


@inlined
def _load_body(block, at, body):
    for j in range(BODY_LENGTH):
        block[at + j * ROW] = body[j]


@inlined
def _load_pose(block, at, pose):
    for j in range(3):
        block[at + j * ROW] = pose[j, 3]
        for k in range(3):
            block[at + (3 + 3 * j + k) * ROW] = pose[j, k]


@inlined
def _load_point(block, at, state, k):
    for j in range(POINT_LENGTH):
        block[at + j * ROW] = state[k + j]


@inlined
def load_bodies(block, i, a, b, pose_a, pose_b):
    """The bodies of a pair take a column of the block, in the order in which they are solved."""
    straight = pair_solver.in_order(a, b, pose_a, pose_b)
    at_a, at_b = (i, CHUNK + i) if straight else (CHUNK + i, i)
    block[SWAPPED + i] = 0.0 if straight else 1.0
    _load_body(block, BODY + at_a, a)
    _load_body(block, BODY + at_b, b)


@inlined
def places_of(block, i):
    """Where the block has the bodies of a pair, as they were given."""
    return (i, CHUNK + i) if block[SWAPPED + i] == 0.0 else (CHUNK + i, i)


@inlined
def _load_capped(block, at, exponent):
    """Give a body of the block, of which half extents, radius and size are loaded, the columns of a box or cylinder."""
    for j in range(TX, RADIUS):
        block[at + j * ROW] = 0.0
    for j in range(DENTED, BODY_LENGTH):
        block[at + j * ROW] = 0.0
    if exponent != newton_lanes.CAPPED:
        block[at + A2 * ROW] = block[at + A1 * ROW]
    for j in range(3):
        block[at + (INV_A1 + j) * ROW] = 1.0 / block[at + (A1 + j) * ROW]
    block[at + P * ROW], block[at + S_ * ROW] = exponent, newton_lanes.CAPPED


@inlined
def load_capped(block, i, exponent_a, exponent_b):
    """After `load_bodies`: the columns of boxes and cylinders, whose first exponents are given; 0 for superovoids."""
    at_a, at_b = places_of(block, i)
    if exponent_a > 0.0:
        _load_capped(block, BODY + at_a, exponent_a)
    if exponent_b > 0.0:
        _load_capped(block, BODY + at_b, exponent_b)


@inlined
def load_poses(block, i, pose_a, pose_b):
    """Their poses."""
    at_a, at_b = places_of(block, i)
    _load_pose(block, POSE + at_a, pose_a)
    _load_pose(block, POSE + at_b, pose_b)


@inlined
def load_points(block, i, state):
    """The points of an earlier answer."""
    at_a, at_b = places_of(block, i)
    _load_point(block, POINT + at_a, state, 0)
    _load_point(block, POINT + at_b, state, POINT_LENGTH)


@inlined
def load_no_points(block, i):
    """No points of an earlier answer."""
    for j in range(POINT_LENGTH):
        block[POINT + j * ROW + i] = block[POINT + j * ROW + CHUNK + i] = 0.0


@entry_point(nogil=True)
def load(
    block: Floats1, a: Floats2, b: Floats2, pose_a: Floats3, pose_b: Floats3, states: Floats2, first: int, count: int
) -> None:
    """Transpose a range of pairs into the columns of a block; a loop a source is faster than one loop."""
    for i in range(count):
        load_bodies(block, i, a[first + i], b[first + i], pose_a[first + i], pose_b[first + i])
    for i in range(count):
        load_poses(block, i, pose_a[first + i], pose_b[first + i])
    for i in range(count):
        load_points(block, i, states[first + i])
        block[LIMIT + i] = math.inf


@inlined
def store_points(block, i, state):
    """Write the points of a pair as a state has them."""
    at_a, at_b = places_of(block, i)
    for j in range(POINT_LENGTH):
        state[j] = block[POINT + j * ROW + at_a]
        state[POINT_LENGTH + j] = block[POINT + j * ROW + at_b]


@kernel(forceinline=True)
def store_row(block, i, tolerance, row):
    """Write the answer of a pair of the block; return whether its interval is closed. Else nothing is written."""
    goal, distance, lower, upper = block[GOAL + i], block[DISTANCE + i], block[LOWER + i], block[UPPER + i]
    closed = lower <= distance and distance <= upper and upper - lower <= goal  # false for NaN
    if not (closed and block[PHASE + i] == CONVERGED and block[STATUS + i] == 0.0):
        return False
    for j in range(columns.STATUS):
        row[j] = block[RESULT + j * ROW + i]
    row[columns.STATUS] = status.PRECISION if goal > 2.0 * tolerance * block[UNIT + i] else 0.0
    row[columns.ITERATIONS] = block[ITERATIONS + i]
    return True


@kernel(forceinline=True)
def store_pair(block, i, tolerance, state, row):
    """As `store_row`, with the points of the answer."""
    if not store_row(block, i, tolerance, row):
        return False
    store_points(block, i, state)
    return True


@entry_point(nogil=True)
def store(
    block: Floats1, first: int, count: int, tolerance: float, states: Floats2, out: Floats2, open_rows: Ints1
) -> int:
    """Write the answers of the pairs whose interval is closed; list the others and return how many they are."""
    opened = 0
    for i in range(count):
        if not store_pair(block, i, tolerance, states[first + i], out[first + i]):
            open_rows[opened] = first + i
            opened += 1
    return opened


@kernel(forceinline=True)
def close_contact(block, i, a, b, pose_a, pose_b, tolerance, budget, state, rotation, row):
    """Answer a pair of the block from its contact, where `pair_solver.answer_contact` does; return whether it did."""
    if block[PHASE + i] != CONVERGED:
        return False
    fa, fb = load_point(block, POINT + i), load_point(block, POINT + CHUNK + i)
    steps, cold = np.int64(block[ITERATIONS + i]), block[WARM + i] == 0.0
    return pair_solver.answer_contact(
        a, b, pose_a, pose_b, tolerance, budget, fa, fb, steps, cold, state, rotation, row
    )


@entry_point(nogil=True)
def close_contacts(
    block: Floats1,
    first: int,
    opened: int,
    a: Floats2,
    b: Floats2,
    pose_a: Floats3,
    pose_b: Floats3,
    tolerance: float,
    budget: int,
    states: Floats2,
    rotation: Floats2,
    out: Floats2,
    open_rows: Ints1,
) -> int:
    """Answer those of the pairs listed that their contacts lead to an answer of; return how many stay listed."""
    left = 0
    for k in range(opened):
        row = open_rows[k]
        places = a[row], b[row], pose_a[row], pose_b[row]
        if not close_contact(block, row - first, *places, tolerance, budget, states[row], rotation, out[row]):
            open_rows[left] = row
            left += 1
    return left


# --- in a block -------------------------------------------------------------------------------------------------


@kernel
def _whole(count):
    """So many columns, and as many more as fill the registers: no loop over them has an end of its own."""
    return (count + WIDTH - 1) // WIDTH * WIDTH


@inlined
def _store_column(block, at, v):
    """Column of a rotation, which is kept row by row."""
    block[at], block[at + 3 * ROW], block[at + 6 * ROW] = v[0], v[1], v[2]


line_of_centres = in_lanes(pair_solver.line_of_centres)
gap_tolerance = in_lanes(certificate.gap_tolerance)
newton_tolerance = in_lanes(answers.newton_tolerance)
still_face = in_lanes(pair_solver.still_face)


@entry_point(nogil=True, separate=True)
def prepare(block: Floats1, count: int, tolerance: float) -> None:
    """Relative poses, tolerances and cold starts of the first pairs of a block."""
    count = _whole(count)
    for i in range(count):
        pose_a, pose_b = load_12(block, POSE + i), load_12(block, POSE + CHUNK + i)
        turn_a, turn_b = pose_a[3:], pose_b[3:]
        _store_column(block, ROTATION + i, rotate_back(turn_a, (turn_b[0], turn_b[3], turn_b[6])))
        _store_column(block, ROTATION + ROW + i, rotate_back(turn_a, (turn_b[1], turn_b[4], turn_b[7])))
        _store_column(block, ROTATION + 2 * ROW + i, rotate_back(turn_a, (turn_b[2], turn_b[5], turn_b[8])))
        store_3(block, CENTRE + i, rotate_back(turn_a, sub(pose_b[:3], pose_a[:3])))
    for i in range(count):
        a, b = load_body(block, BODY + i), load_body(block, BODY + CHUNK + i)
        fa, fb = load_point(block, POINT + i), load_point(block, POINT + CHUNK + i)
        centre, rotation = load_3(block, CENTRE + i), load_9(block, ROTATION + i)
        is_kept = (fa.r != 0.0) | (fa.w != 0.0)
        is_warm = is_kept & still_face(Pair(a, b, rotation, centre), fa, fb)
        goal = gap_tolerance(a, b, centre, tolerance)
        # The goal is four times what rounding takes, and an answer may lie below the distance by another.
        convex = (a[DENTED] == 0.0) & (b[DENTED] == 0.0)
        cut = block[LIMIT + i] + 2.0 * goal if convex else math.inf
        size, residual = min(a[SIZE], b[SIZE]), newton_tolerance(a, b, centre, goal)
        most = float(WARM_ITERATIONS if is_warm else COLD_ITERATIONS)
        store_task(block, TASK + i, Task(size, residual, most, cut))
        n = line_of_centres(centre)
        block[GOAL + i], block[WARM + i] = goal, 1.0 if is_warm else 0.0
        store_3(block, START + i, n)
        store_3(block, START + CHUNK + i, rotate_back(rotation, scale(-1.0, n)))


@kernel
def _enter(lanes, lane, block, i):
    """A pair of the block takes a lane."""
    gap, part = norm(load_3(block, CENTRE + i)), 1.0 - block[WARM + i]
    for side in range(2):
        to, at = lane + side * WIDTH, i + side * CHUNK
        newton_lanes.store_shape(lanes, newton_lanes.SHAPE + to, load_shape(block, BODY + at))
        newton_lanes.store_point(lanes, newton_lanes.POINT + to, load_point(block, POINT + at))
        newton_lanes.store_move(lanes, newton_lanes.MOVE + to, first_move(load_3(block, START + at), gap, part))
    newton_lanes.store_9(lanes, newton_lanes.ROTATION + lane, load_9(block, ROTATION + i))
    newton_lanes.store_3(lanes, newton_lanes.CENTRE + lane, load_3(block, CENTRE + i))
    newton_lanes.store_task(lanes, newton_lanes.TASK + lane, load_task(block, TASK + i))
    newton_lanes.store_progress(lanes, newton_lanes.PROGRESS + lane, BEGUN)


@kernel
def _leave(lanes, lane, block, i):
    """A lane gives its points back to the block."""
    progress = newton_lanes.load_progress(lanes, newton_lanes.PROGRESS + lane)
    block[PHASE + i], block[ITERATIONS + i] = progress.phase, progress.iterations
    store_point(block, POINT + i, newton_lanes.load_point(lanes, newton_lanes.POINT + lane))
    store_point(block, POINT + CHUNK + i, newton_lanes.load_point(lanes, newton_lanes.POINT + WIDTH + lane))


@entry_point(nogil=True, separate=True)
def converge(lanes: Floats1, pair: Ints1, block: Floats1, count: int) -> None:
    """Newton for the pairs of a block; a lane that is done takes in the next pair. `pair` is scratch."""
    following = 0
    for lane in range(WIDTH):
        pair[lane] = -1
    while True:
        idle = 0
        for lane in range(WIDTH):
            if pair[lane] >= 0 and lanes[newton_lanes.PROGRESS + lane] == RUNNING:
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
        newton_lanes.sweep(lanes)


IN_LANES[certificate.hull_excess] = in_lanes(hull_excess)
IN_LANES[certificate.is_flat] = in_lanes(is_flat)
IN_LANES[tangent_balls.proved_depth] = in_lanes(proved_depth)
certify = in_lanes(answers.certify)


@inlined
def _pick(first, u, v):
    return (u[0] if first else v[0], u[1] if first else v[1], u[2] if first else v[2])


@inlined
def _prove_pair(block, i):
    a, b = load_body(block, BODY + i), load_body(block, BODY + CHUNK + i)
    fa, fb = load_point(block, POINT + i), load_point(block, POINT + CHUNK + i)
    pair = Pair(a, b, load_9(block, ROTATION + i), load_3(block, CENTRE + i))
    k = observe(pair, fa, fb, block[UNIT + i])
    answer = certify(pair, fa, fb, k, block[GOAL + i], 0)
    block[DISTANCE + i], block[LOWER + i], block[UPPER + i] = answer.distance, answer.lower, answer.upper
    # What is proved of an overlap is proved of superovoids.
    meets_capped = (is_capped(a) | is_capped(b)) & (answer.distance <= block[GOAL + i])
    block[STATUS + i] = status.UNPROVEN if meets_capped else answer.status
    pose_a, pose_b = load_12(block, POSE + i), load_12(block, POSE + CHUNK + i)
    x = add(pose_a[:3], rotate(pose_a[3:], answer.x))
    y = add(pose_b[:3], rotate(pose_b[3:], answer.y))
    n = rotate(pose_a[3:], answer.n)
    swapped = block[SWAPPED + i] != 0.0
    store_3(block, POINT_A + i, _pick(swapped, y, x))
    store_3(block, POINT_B + i, _pick(swapped, x, y))
    store_3(block, NORMAL + i, scale(-1.0 if swapped else 1.0, n))


@entry_point(nogil=True, separate=True)
def prove(block: Floats1, count: int) -> None:
    """Certificates and answers, in the world, of the converged pairs among the first of a block."""
    for i in range(_whole(count)):
        _prove_pair(block, i)


def _at_a_time(count: int, threads: int, least: int, most: int) -> int:
    """How many of some rows a thread takes at once: few enough that all threads end at about the same time."""
    return most if threads == 1 else min(most, max(least, count // (_PORTIONS * threads)))


def _portions(rows: Rows, size: int) -> list[Rows]:
    return [rows[k : k + size] for k in range(0, len(rows), size)]


def solve_in_lanes(
    a: FloatArray,
    b: FloatArray,
    pose_a: FloatArray,
    pose_b: FloatArray,
    tolerance: float,
    states: FloatArray,
    out: FloatArray,
    budget: int | None = None,
    blocks: Iterable[range] | None = None,
) -> NDArray[np.int64]:
    """Answer what closes at the first try; return the rows of the other pairs.

    Parameters
    ----------
    a, b : (n, BODY_LENGTH) ndarray
        Packed bodies.
    pose_a, pose_b : (n, 4, 4) ndarray
        Poses, body to world, m.
    tolerance : float
        As for `pair_solver.solve_pair`.
    states : (n, STATE_LENGTH) ndarray
        Surface points of earlier answers, zeros for none; renewed where a pair is answered.
    out : (n, RESULT_LENGTH) ndarray
        Answers.
    budget : int, optional
        Support points that a search from a contact found in the lanes may spend. None: pairs that take more than a
        certificate in closed form in lanes stay open.
    blocks : iterable of range, optional
        Rows to take at once, at most CHUNK; threads share one iterator. None: all.
    """
    block = np.zeros(LENGTH)
    lanes = np.zeros(newton_lanes.LENGTH)
    pair = np.empty(WIDTH, np.int64)
    open_rows, rotation = np.empty(CHUNK, np.int64), np.empty((3, 3))
    found = [np.empty(0, np.int64)]
    for rows in _portions(range(len(a)), CHUNK) if blocks is None else blocks:
        first, count = rows.start, len(rows)
        load(block, a, b, pose_a, pose_b, states, first, count)
        prepare(block, count, tolerance)
        converge(lanes, pair, block, count)
        prove(block, count)
        opened = store(block, first, count, tolerance, states, out, open_rows)
        if budget is not None:
            opened = close_contacts(
                block, first, opened, a, b, pose_a, pose_b, tolerance, budget, states, rotation, out, open_rows
            )
        found.append(open_rows[:opened].copy())
    return np.concatenate(found)


def solve_batch(
    a: FloatArray,
    b: FloatArray,
    pose_a: FloatArray,
    pose_b: FloatArray,
    tolerance: float,
    budget: int,
    states: FloatArray,
    out: FloatArray,
    threads: int = 1,
) -> int:
    """`pair_solver.solve_pairs` for large batches; the answers do not depend on the number of threads.

    Parameters
    ----------
    a, b, pose_a, pose_b, tolerance, states, out
        As for `solve_in_lanes`.
    budget : int
        Support points that the global search may spend on a pair that is left open.
    threads : int, optional
        Kernels run without the interpreter's lock.

    Returns
    -------
    int
        Number of pairs that were left to the scalar solver.
    """
    blocks = _portions(range(len(a)), _at_a_time(len(a), threads, 2 * WIDTH, CHUNK))

    def first_try(left: Iterator[range]) -> NDArray[np.int64]:
        return solve_in_lanes(a, b, pose_a, pose_b, tolerance, states, out, budget, left)

    still_open = np.concatenate(share(blocks, first_try, threads))
    portions = _portions(still_open, _at_a_time(len(still_open), threads, 1, _PORTION))

    def search(left: Iterator[NDArray[np.int64]]) -> None:
        for rows in left:
            kept, answers = states[rows], np.empty((len(rows), columns.RESULT_LENGTH))
            pair_solver.solve_pairs(a[rows], b[rows], pose_a[rows], pose_b[rows], tolerance, budget, kept, answers)
            states[rows], out[rows] = kept, answers

    share(portions, search, min(threads, len(portions)))
    return len(still_open)

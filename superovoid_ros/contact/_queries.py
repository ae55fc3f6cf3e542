r"""Questions that need less than a distance, and bodies that move.

**Closer than a threshold?** Proofs in the order of their cost, until one decides:

    bounding spheres               |c| - R_A - R_B <= sd
    a direction                    g(n) = n . c - h_A(n) - h_B(-n) <= sd, for the line of centres and the line between
                                   the two support points; these are points of the bodies, so sd <= |x_B - x_A|
    a common point                 the middle of two such points inside both bodies: sd < 0
    the contact                    the engine's interval, with its global search only where the rest was not enough

**Time of impact.** Along a fixed world direction n the separation s(t) = n . c(t) - h_A(t; n) - h_B(t; -n) is a lower
bound of sd(t), and costs two support points. A point that rotates by omega about a straight path, at a distance rho
from the axis, has |d2(n . x)/dt2| <= |omega x n| |omega| rho. So the support function, a maximum of such functions,
lies below its own chord plus that of a parabola: on [t0, t1], with K the sum of these bounds over both bodies,

    s(t) >= s0 + (s1 - s0) (t - t0)/(t1 - t0) - K (t - t0) (t1 - t) / 2.

Time advances only over what this proves free of contact, so nothing can be tunnelled through; and since t1 is where
Newton's method expects the contact, it converges as fast (docs/queries.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from superovoid_ros._checks import floats, number, whole
from superovoid_ros._jit import kernel
from superovoid_ros._rounding import allowance, straighten
from superovoid_ros._vector import add, combine, cross, dot, norm, rotate, rotate_back, scale, sub, tangent_frame
from superovoid_ros.contact._api import (
    SEARCH_BUDGET,
    TOLERANCE,
    DistanceResult,
    DistanceResults,
    as_poses,
    check_tolerance,
)
from superovoid_ros.contact._pair import (
    DISTANCE,
    LOWER,
    NORMAL,
    POINT_A,
    POINT_B,
    PROOF,
    RESULT_LENGTH,
    STATE_LENGTH,
    UPPER,
    solve_pair,
)
from superovoid_ros.shapes import Superovoid
from superovoid_ros.shapes._kernels import (
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    RADIUS,
    S_,
    SIZE,
    TX,
    TY,
    P,
    position,
    power,
    support,
)

FloatArray = NDArray[np.float64]

BY_SPHERES, BY_DIRECTION, BY_POINT, BY_CONTACT, BY_SEARCH = 0, 1, 2, 3, 4
IMPACT, GRAZE, STARTS_IN_CONTACT, FREE, UNPROVEN = 0, 1, 2, 3, 4

# Columns of a row of `compare_pairs`: 1 closer, -1 not closer, 0 undecided; what is proved; by what; solver calls.
ANSWER, PROVED_LOWER, PROVED_UPPER, PROVED_BY, SOLVES = 0, 1, 2, 3, 4
VERDICT_LENGTH = 5

_DIRECTIONS = 2  # tried before the solver
_AIM, _FLOOR = 0.5, 0.25  # of the gap that counts as touch: where a step should end, and what every step must keep
_ALONG_ONE_DIRECTION = 12  # steps before the normal is asked for again
_NEARER = 0.25  # of the separation it had when found: from there on a direction is no longer the best
_FORWARD = 14  # doublings of the step that looks for a proof of overlap after the touch
IMPACT_TOLERANCE = 1e-6
MAX_SOLVES = 1000


@kernel
def rounding(a, b, distance):
    """Bound of the rounding errors in a separation of two bodies so far apart (`_rounding`)."""
    return allowance(a[RADIUS], b[RADIUS], distance)


class Separation(NamedTuple):
    """What a direction proves, with the support points relative to the origins of the bodies, world axes."""

    lower: float
    x: tuple
    y: tuple


@kernel
def separation(a, b, pose_a, pose_b, offset, n):
    """g(n) less what rounding may have added, for a unit n (world) and the offset of the origins."""
    fa, h_a = support(a, rotate_back(pose_a, n))
    fb, h_b = support(b, rotate_back(pose_b, scale(-1.0, n)))
    lower = dot(n, offset) - h_a - h_b - rounding(a, b, norm(offset))
    return Separation(lower, rotate(pose_a, position(a, fa)), rotate(pose_b, position(b, fb)))


@kernel
def is_inside(body, x, slack):
    """Whether a local point is inside a body by more than a slack of F."""
    w = x[2] * body[INV_A3]
    if abs(w) >= 1.0:
        return False
    u = abs(x[0] * body[INV_A1] / (1.0 + body[TX] * w))
    v = abs(x[1] * body[INV_A2] / (1.0 + body[TY] * w))
    larger = max(u, v)  # taken out first: powers of large exponents would vanish together
    share = power(min(u, v) / larger, body[P]) if larger > 0.0 else 0.0
    r = larger * math.exp(body[INV_P] * math.log(1.0 + share))
    return power(r, body[S_]) + power(abs(w), body[S_]) < 1.0 - slack


@kernel
def _slack(body, error):
    """What an error of a position can change in F."""
    steepest = max(body[INV_A1], body[INV_A2], body[INV_A3]) / (1.0 - max(abs(body[TX]), abs(body[TY])))
    return 1e-12 + 8.0 * error * max(body[P], body[S_]) * steepest


@kernel
def is_common(a, b, pose_a, pose_b, offset, from_a):
    """Whether a point, given from the origin of A in world axes, is proved to be inside both bodies."""
    error = rounding(a, b, norm(offset))
    if not is_inside(a, rotate_back(pose_a, from_a), _slack(a, error)):
        return False
    return is_inside(b, rotate_back(pose_b, sub(from_a, offset)), _slack(b, error))


@kernel
def _decide(lower, upper, common, threshold):
    if lower >= threshold:
        return -1
    if upper < threshold or (common and threshold >= 0.0):
        return 1
    return 0


@kernel
def compare_pair(a, b, pose_a, pose_b, threshold, tolerance, budget, direction, state, rotation, row, out):
    """Decide whether the signed distance is below a threshold, by the cheapest proof.

    Parameters
    ----------
    a, b : array, shape (BODY_LENGTH,)
    pose_a, pose_b : array, shape (4, 4)
    threshold : float
        m.
    tolerance, budget, state, rotation : as for `solve_pair`
    direction : array, shape (3,)
        A guess of the normal (world, unit), zeros for none; renewed by the best direction found.
    row : array, shape (RESULT_LENGTH,)
        Scratch for `solve_pair`.
    out : array, shape (VERDICT_LENGTH,)
    """
    offset = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    length = norm(offset)
    margin = rounding(a, b, length)
    lower = length - a[RADIUS] - b[RADIUS] - margin
    upper = length + margin  # the origins are points of the bodies
    common = False
    by = BY_SPHERES
    solves = 0
    answer = _decide(lower, upper, common, threshold)
    if answer == 0:
        n = (direction[0], direction[1], direction[2])
        if dot(n, n) == 0.0:
            n = scale(1.0 / length, offset) if length > 0.0 else (0.0, 0.0, 1.0)
        for _ in range(_DIRECTIONS):
            s = separation(a, b, pose_a, pose_b, offset, n)
            u = sub(add(offset, s.y), s.x)
            span = norm(u)
            if s.lower > lower:
                lower = s.lower
                direction[0], direction[1], direction[2] = n
            upper = min(upper, span + margin)
            by = BY_DIRECTION
            answer = _decide(lower, upper, common, threshold)
            if answer != 0:
                break
            if (
                s.lower < 0.0
                and threshold >= 0.0
                and is_common(a, b, pose_a, pose_b, offset, combine(0.5, u, 1.0, s.x))
            ):
                common = True
                upper = min(upper, 0.0)
                by = BY_POINT
                answer = 1
                break
            if not (span > 0.0):
                break
            n = scale(1.0 / span, u)
    # First without the global search, which only the depth of an overlap needs.
    while answer == 0 and solves < 2:
        state[PROOF] = 0.0  # a search cut short is no proof to build on
        solve_pair(a, b, pose_a, pose_b, tolerance, 0 if solves == 0 else budget, state, rotation, row)
        solves += 1
        lower = max(lower, row[LOWER])
        upper = min(upper, row[UPPER])
        for i in range(3):
            direction[i] = row[NORMAL + i]
        by = BY_CONTACT if solves == 1 else BY_SEARCH
        answer = _decide(lower, upper, common, threshold)
        if answer == 0 and threshold >= 0.0 and row[DISTANCE] < 0.0:
            x = (row[POINT_A] - pose_a[0, 3], row[POINT_A + 1] - pose_a[1, 3], row[POINT_A + 2] - pose_a[2, 3])
            y = (row[POINT_B] - pose_a[0, 3], row[POINT_B + 1] - pose_a[1, 3], row[POINT_B + 2] - pose_a[2, 3])
            if is_common(a, b, pose_a, pose_b, offset, combine(0.5, x, 0.5, y)):
                upper = min(upper, 0.0)
                answer = 1
    out[ANSWER] = answer
    out[PROVED_LOWER] = lower
    out[PROVED_UPPER] = upper
    out[PROVED_BY] = by
    out[SOLVES] = solves


@kernel(nogil=True, _nrt=True)
def compare_pairs(a, b, poses_a, poses_b, thresholds, tolerance, budget, directions, states, out):
    """`compare_pair` for rows of bodies and poses."""
    rotation = np.empty((3, 3))
    row = np.empty(RESULT_LENGTH)
    for i in range(a.shape[0]):
        compare_pair(
            a[i],
            b[i],
            poses_a[i],
            poses_b[i],
            thresholds[i],
            tolerance,
            budget,
            directions[i],
            states[i],
            rotation,
            row,
            out[i],
        )


# --- motion ------------------------------------------------------------------------------------------------------
#
# A motion is a pose at time 0 and nine numbers: arm (from the point that moves straight to the origin of the body's
# frame, at time 0), velocity of that point, angular velocity.


@kernel
def _vector(row, k):
    return (row[k], row[k + 1], row[k + 2])


@kernel
def _turned_arm(motion, t):
    """exp(omega t) arm - arm, without the cancellation that a distant axis would bring."""
    arm, omega = _vector(motion, 0), _vector(motion, 6)
    speed = norm(omega)
    if speed == 0.0:
        return (0.0, 0.0, 0.0)
    axis = scale(1.0 / speed, omega)
    across = cross(axis, arm)
    half = math.sin(0.5 * speed * t)
    return combine(math.sin(speed * t), across, 2.0 * half * half, cross(axis, across))


@kernel
def pose_at(start, motion, t, pose):
    """Fill in the pose at a time."""
    omega = _vector(motion, 6)
    speed = norm(omega)
    axis = scale(1.0 / speed, omega) if speed > 0.0 else omega
    sine, half = math.sin(speed * t), math.sin(0.5 * speed * t)
    for j in range(3):
        column = (start[0, j], start[1, j], start[2, j])
        across = cross(axis, column)
        turned = add(column, combine(sine, across, 2.0 * half * half, cross(axis, across)))
        pose[0, j], pose[1, j], pose[2, j] = turned
    straighten(pose)
    moved = combine(1.0, _turned_arm(motion, t), t, _vector(motion, 3))
    for i in range(3):
        pose[i, 3] = start[i, 3] + moved[i]


@kernel
def reach_of(body, start, motion):
    """Bounds of the distances of the body's points from the axis of rotation and from the point on it."""
    arm, omega = _vector(motion, 0), _vector(motion, 6)
    speed = norm(omega)
    about = norm(arm) + body[RADIUS]
    if speed == 0.0:
        return 0.0, about
    axis = scale(1.0 / speed, omega)
    e1, e2 = tangent_frame(axis)
    square = 0.0
    for e in (e1, e2):
        _, ahead = support(body, rotate_back(start, e))
        _, behind = support(body, rotate_back(start, scale(-1.0, e)))
        half = max(abs(dot(e, arm) + ahead), abs(dot(e, arm) - behind))
        square += half * half
    lifted = norm(sub(arm, scale(dot(axis, arm), axis)))
    return min(math.sqrt(square), lifted + body[RADIUS]) * (1.0 + 1e-12), about


@kernel
def travel(motion, reach, end):
    """Bound of the way of the body's points: what is rounded in its poses is a part of that."""
    return end * (norm(_vector(motion, 3)) + norm(_vector(motion, 6)) * reach)


class Bounds(NamedTuple):
    """How fast the separation along a direction can change."""

    fall: float  # largest speed of approach, m/s
    bend: float  # K of the module docstring, m/s^2


@kernel
def bounds_along(motion_a, motion_b, reach_a, reach_b, n):
    """`Bounds` along a direction, from the bodies' distances from their axes."""
    turn_a = norm(cross(_vector(motion_a, 6), n))
    turn_b = norm(cross(_vector(motion_b, 6), n))
    closing = dot(n, _vector(motion_a, 3)) - dot(n, _vector(motion_b, 3))
    bend = turn_a * norm(_vector(motion_a, 6)) * reach_a + turn_b * norm(_vector(motion_b, 6)) * reach_b
    return Bounds(closing + turn_a * reach_a + turn_b * reach_b, bend)


@kernel
def velocity_of(motion, t, from_origin):
    """Velocity of the body's point at a place given from the origin of its frame."""
    arm = add(_vector(motion, 0), _turned_arm(motion, t))
    return add(_vector(motion, 3), cross(_vector(motion, 6), add(arm, from_origin)))


@kernel
def _offset(pose_a, pose_b):
    return (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])


@kernel
def free_part(s0, s1, width, bend, floor):
    """How far into a step the parabola of the module docstring stays above a floor; the width if on all of it."""
    slope = (s1 - s0) / width - 0.5 * bend * width
    if slope >= 0.0:
        return width if s1 >= floor else 0.0
    square = slope * slope - 2.0 * bend * (s0 - floor)
    if square < 0.0:
        return width
    root = 2.0 * (s0 - floor) / (math.sqrt(square) - slope)
    return min(width, (1.0 - 1e-12) * root)


@kernel
def _sure_step(start_a, start_b, motion_a, motion_b, about_a, about_b, can, n, t, s, floor):
    """Time for which a separation stays above a floor whatever the bodies' shapes: inf for ever.

    The better of the largest speed of approach, and of the spheres that the turning bodies stay in.
    """
    sure = (s - floor) / can.fall if can.fall > 0.0 else math.inf
    drift = sub(_vector(motion_b, 3), _vector(motion_a, 3))
    between = sub(_offset(start_a, start_b), sub(_vector(motion_b, 0), _vector(motion_a, 0)))
    spheres = dot(n, combine(1.0, between, t, drift)) - about_a - about_b
    if spheres > floor:
        closing = -dot(n, drift)
        sure = max(sure, (spheres - floor) / closing if closing > 0.0 else math.inf)
    return sure


@kernel
def _advance(
    a, b, start_a, start_b, motion_a, motion_b, reach_a, reach_b, about_a, about_b, n, t, end, gap, pose_a, pose_b
):
    """Advance time along one direction while that pays; return (time, support points of each body spent).

    Every step is proved free of contact; a separation that is not above the floor at the start proves nothing.
    """
    floor, aim = _FLOOR * gap, _AIM * gap
    can = bounds_along(motion_a, motion_b, reach_a, reach_b, n)
    pose_at(start_a, motion_a, t, pose_a)
    pose_at(start_b, motion_b, t, pose_b)
    s = separation(a, b, pose_a, pose_b, _offset(pose_a, pose_b), n)
    spent = 1
    leave = max(gap, _NEARER * s.lower)
    if not (s.lower > floor):
        return t, spent
    for _ in range(_ALONG_ONE_DIRECTION):
        sure = _sure_step(start_a, start_b, motion_a, motion_b, about_a, about_b, can, n, t, s.lower, floor)
        if t + sure >= end:
            return end, spent
        rate = dot(n, velocity_of(motion_b, t, s.y)) - dot(n, velocity_of(motion_a, t, s.x))
        step = end - t
        if rate < 0.0:
            step = min(step, (s.lower - aim) / -rate)
        if can.bend > 0.0:
            step = min(step, 2.0 * math.sqrt((s.lower - floor) / can.bend))
        step = max(step, sure)
        ahead = min(t + step, end)
        step = ahead - t
        if not (step > 0.0):
            return t, spent
        pose_at(start_a, motion_a, ahead, pose_a)
        pose_at(start_b, motion_b, ahead, pose_b)
        s1 = separation(a, b, pose_a, pose_b, _offset(pose_a, pose_b), n)
        spent += 1
        part = max(free_part(s.lower, s1.lower, step, can.bend, floor), min(sure, step))
        if part >= step and s1.lower >= floor:
            t, s = ahead, s1
        else:
            t = t + min(part, step)
            pose_at(start_a, motion_a, t, pose_a)
            pose_at(start_b, motion_b, t, pose_b)
            s = separation(a, b, pose_a, pose_b, _offset(pose_a, pose_b), n)
            spent += 1
        if t >= end or s.lower <= leave:
            break
    return t, spent


@kernel(_nrt=True)
def find_impact(
    a, b, start_a, start_b, motion_a, motion_b, end, tolerance, budget, max_solves, pose_a, pose_b, state, out
):
    """First time at which two moving bodies come within a gap, by steps that are proved free of contact.

    Parameters
    ----------
    a, b : array, shape (BODY_LENGTH,)
    start_a, start_b : array, shape (4, 4)
    motion_a, motion_b : array, shape (9,)
    end : float
        Time at which to stop.
    tolerance : float
        Gap that counts as touch, relative to the smaller body.
    budget, state : as for `solve_pair`
    max_solves : int
        Solver calls after which to give up.
    pose_a, pose_b : array, shape (4, 4)
        Filled in with the poses at the time found; the last row must be (0, 0, 0, 1).
    out : array, shape (RESULT_LENGTH,)
        Filled in with the result there.

    Returns
    -------
    status, time, time of a proved overlap (inf for none), solver calls, support points of each body
    """
    rotation = np.empty((3, 3))
    reach_a, about_a = reach_of(a, start_a, motion_a)
    reach_b, about_b = reach_of(b, start_b, motion_b)
    farthest = norm(_offset(start_a, start_b)) + travel(motion_a, reach_a, end) + travel(motion_b, reach_b, end)
    gap = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * rounding(a, b, farthest)
    fine = min(TOLERANCE, 0.1 * tolerance)
    t = 0.0
    solves = spent = 0
    while True:
        pose_at(start_a, motion_a, t, pose_a)
        pose_at(start_b, motion_b, t, pose_b)
        solve_pair(a, b, pose_a, pose_b, fine, budget, state, rotation, out)
        solves += 1
        if out[UPPER] <= gap:
            break
        if t >= end:
            return FREE, end, math.inf, solves, spent
        if solves >= max_solves:
            return UNPROVEN, t, math.inf, solves, spent
        n = _vector(out, NORMAL)
        later, used = _advance(
            a,
            b,
            start_a,
            start_b,
            motion_a,
            motion_b,
            reach_a,
            reach_b,
            about_a,
            about_b,
            n,
            t,
            end,
            gap,
            pose_a,
            pose_b,
        )
        spent += used
        if not (later > t):
            pose_at(start_a, motion_a, t, pose_a)
            pose_at(start_b, motion_b, t, pose_b)
            return UNPROVEN, t, math.inf, solves, spent
        t = later
    if t == 0.0:
        return STARTS_IN_CONTACT, 0.0, (0.0 if out[UPPER] < 0.0 else math.inf), solves, spent
    # Close the bracket from above: the first of ever longer steps at whose end an overlap is proved.
    n = _vector(out, NORMAL)
    x = (out[POINT_A] - pose_a[0, 3], out[POINT_A + 1] - pose_a[1, 3], out[POINT_A + 2] - pose_a[2, 3])
    y = (out[POINT_B] - pose_b[0, 3], out[POINT_B + 1] - pose_b[1, 3], out[POINT_B + 2] - pose_b[2, 3])
    rate = dot(n, velocity_of(motion_b, t, y)) - dot(n, velocity_of(motion_a, t, x))
    overlap = math.inf
    if rate < 0.0:
        row = np.empty(RESULT_LENGTH)
        ahead_a, ahead_b, ahead_state = pose_a.copy(), pose_b.copy(), state.copy()
        step = 1.5 * max(out[DISTANCE], 0.0) / -rate + 4.0 * rounding(a, b, farthest) / -rate
        for _ in range(_FORWARD):
            later = min(t + step, end)
            pose_at(start_a, motion_a, later, ahead_a)
            pose_at(start_b, motion_b, later, ahead_b)
            solve_pair(a, b, ahead_a, ahead_b, fine, budget, ahead_state, rotation, row)
            solves += 1
            if row[UPPER] < 0.0:
                overlap = later
                break
            if later >= end:
                break
            step *= 2.0
    return (IMPACT if overlap < math.inf else GRAZE), t, overlap, solves, spent


# --- as a person calls it ------------------------------------------------------------------------------------------


class Proof(IntEnum):
    """What decided a comparison, cheapest first."""

    SPHERES = BY_SPHERES
    """The bounding spheres, or the distance of the origins."""
    DIRECTION = BY_DIRECTION
    """Support points along one or two directions."""
    POINT = BY_POINT
    """A point inside both bodies."""
    CONTACT = BY_CONTACT
    """The engine's contact without a global search."""
    SEARCH = BY_SEARCH
    """The engine with all its means. An undecided answer ends here too."""


@dataclass(frozen=True)
class Verdict:
    """Whether the signed distance is below a threshold. `are_closer` gives arrays, one row a pair."""

    closer: bool | NDArray[np.bool_]
    """Proved: the signed distance is below the threshold."""
    farther: bool | NDArray[np.bool_]
    """Proved: it is not below. Where neither is proved the threshold lies in [lower, upper]."""
    lower: float | FloatArray
    """Proved lower bound of the signed distance, m; no tighter than the decision needed."""
    upper: float | FloatArray
    """Proved upper bound, m."""
    proof: Proof | NDArray[np.uint8]
    """What decided."""
    solves: int | NDArray[np.uint8]
    """Calls of the pair solver: 0 where bounds were enough, 2 where the global search was needed."""

    def __bool__(self) -> bool:
        raise TypeError(
            "a Verdict has no truth value, since it may be undecided: ask for `.closer` (proved closer, or "
            "overlapping), for `.farther` (proved not to be), or for `not .farther` (to be on the safe side)"
        )


def is_closer(
    a: Superovoid,
    pose_a: ArrayLike,
    b: Superovoid,
    pose_b: ArrayLike,
    threshold: float,
    *,
    direction: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Verdict:
    """Whether the signed distance of two bodies is below a threshold, by the cheapest proof.

    Parameters
    ----------
    a, b : Superovoid
        The bodies.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    threshold : float
        Signed distance to compare with, m. Negative: whether the bodies overlap deeper than that.
    direction : (3,) array_like, optional
        A guess of the normal from A to B, world, such as that of an earlier result; default: the line of the origins.
        A good one decides most pairs that are apart without the solver; a bad one costs time, never truth.
    tolerance : float, optional
        As for `distance`: how near the threshold the solver decides.

    Returns
    -------
    Verdict
        A distance that equals the threshold to within the tolerance is neither closer nor farther.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, or a number is not finite.
    TypeError
        If a shape is none of ours.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid_ros import Ellipsoid, is_closer
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> verdict = is_closer(Ellipsoid((1.0, 2.0, 3.0)), np.eye(4), Ellipsoid((1.0, 2.0, 3.0)), apart, 0.5)
    >>> verdict.farther, verdict.proof.name, verdict.solves
    (True, 'DIRECTION', 0)
    """
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    for name, pose in (("pose_a", pose_a), ("pose_b", pose_b)):
        if pose.shape != (4, 4):
            raise ValueError(f"{name}: must have shape (4, 4), found {pose.shape}; are_closer() takes arrays")
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, Superovoid):
            raise TypeError(f"{name}: must be a shape of superovoid_ros.shapes, found {type(shape).__name__}")
    limit = number("threshold", threshold, "metres")
    guess = np.zeros(3) if direction is None else _unit_directions("direction", direction, (3,))
    out = np.empty((1, VERDICT_LENGTH))
    compare_pairs(  # of one row: `compare_pair` by itself would be compiled a second time
        a._packed[None],
        b._packed[None],
        pose_a[None],
        pose_b[None],
        np.array([limit]),
        check_tolerance(tolerance),
        SEARCH_BUDGET,
        guess[None],
        np.zeros((1, STATE_LENGTH)),
        out,
    )
    answer, lower, upper, proof, solves = out[0].tolist()
    return Verdict(answer > 0.0, answer < 0.0, lower, upper, Proof(int(proof)), int(solves))


def intersects(
    a: Superovoid,
    pose_a: ArrayLike,
    b: Superovoid,
    pose_b: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Verdict:
    """Whether two bodies overlap: `is_closer` with the threshold 0.

    Returns
    -------
    Verdict
        `closer`: they have an inner point in common. `farther`: they have none. Neither: they touch, to within the
        tolerance.
    """
    return is_closer(a, pose_a, b, pose_b, 0.0, direction=direction, tolerance=tolerance)


def are_closer(
    shapes_a: Superovoid | Sequence[Superovoid],
    poses_a: ArrayLike,
    shapes_b: Superovoid | Sequence[Superovoid],
    poses_b: ArrayLike,
    thresholds: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Verdict:
    """`is_closer` for many pairs; `Verdict` with arrays.

    Parameters
    ----------
    shapes_a, shapes_b : Superovoid or sequence of Superovoid
        The bodies of each pair; a single one stands in every pair.
    poses_a, poses_b : (n, 4, 4) or (4, 4) array_like
        Poses, body to world, m; a single one stands in every pair.
    thresholds : float or (n,) array_like
        Signed distances to compare with, m.
    directions : (n, 3) array_like, optional
        Guesses of the normals, such as `DistanceResults.normal` of an earlier moment.
    tolerance : float, optional
        As for `distance`.

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or a number is not finite.
    """
    pose_a, pose_b = as_poses("poses_a", poses_a), as_poses("poses_b", poses_b)
    limits = floats("thresholds", thresholds)
    counts = {}
    for name, array, plain in (("poses_a", pose_a, 2), ("poses_b", pose_b, 2), ("thresholds", limits, 0)):
        if array.ndim not in (plain, plain + 1) or not np.isfinite(array).all():
            raise ValueError(f"{name}: must be finite and one per pair, found shape {array.shape}")
        if array.ndim > plain:
            counts[name] = len(array)
    for name, shapes in (("shapes_a", shapes_a), ("shapes_b", shapes_b)):
        if not isinstance(shapes, Superovoid):
            counts[name] = len(shapes)
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise ValueError(f"all arguments must speak of the same number of pairs, found {found}")
    n = next(iter(counts.values()), 1)
    guesses = np.zeros((n, 3)) if directions is None else _unit_directions("directions", directions, (n, 3))
    out = np.empty((n, VERDICT_LENGTH))
    # Copies, since numba would compile the kernel again for views that are read-only.
    compare_pairs(
        _packed_rows("shapes_a", shapes_a, n),
        _packed_rows("shapes_b", shapes_b, n),
        np.array(np.broadcast_to(pose_a, (n, 4, 4)), order="C"),
        np.array(np.broadcast_to(pose_b, (n, 4, 4)), order="C"),
        np.array(np.broadcast_to(limits, n), order="C"),
        check_tolerance(tolerance),
        SEARCH_BUDGET,
        guesses,
        np.zeros((n, STATE_LENGTH)),
        out,
    )
    return Verdict(
        out[:, ANSWER] > 0.0,
        out[:, ANSWER] < 0.0,
        out[:, PROVED_LOWER],
        out[:, PROVED_UPPER],
        out[:, PROVED_BY].astype(np.uint8),
        out[:, SOLVES].astype(np.uint8),
    )


def _unit_directions(name: str, directions: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    guesses = floats(name, directions)
    if guesses.shape != shape or not np.isfinite(guesses).all():
        raise ValueError(f"{name}: must be finite numbers of shape {shape}, found shape {guesses.shape}")
    length = np.linalg.norm(guesses, axis=-1, keepdims=True)
    if not (length > 0.0).all():
        raise ValueError(f"{name}: must not be zero")
    return guesses / length


def _packed_rows(name: str, shapes: Superovoid | Sequence[Superovoid], n: int) -> FloatArray:
    if isinstance(shapes, Superovoid):
        return np.broadcast_to(shapes._packed, (n, shapes._packed.size)).copy()
    for i, shape in enumerate(shapes):
        if not isinstance(shape, Superovoid):
            raise TypeError(f"{name}[{i}]: must be a shape of superovoid_ros.shapes, found {type(shape).__name__}")
    return np.array([shape._packed for shape in shapes]) if len(shapes) else np.empty((0, 1))


@dataclass(frozen=True)
class Motion:
    """A rigid motion: a point of the body moves straight at a constant velocity, the body turns about it steadily.

    `between` interpolates two poses, `screw` follows a constant twist, `still` stays; the constructor takes the rest, a
    body thrown with a spin for example (`about` its centre of mass).

    Parameters
    ----------
    start : (4, 4) array_like
        Pose at time 0, body to world, m.
    linear : (3,) array_like
        Velocity of the point `about`, world, m/s.
    angular : (3,) array_like
        Angular velocity, world, rad/s.
    about : (3,) array_like, optional
        That point at time 0, world, m; default: the origin of the body's frame.

    Raises
    ------
    ValueError
        If the pose is not a rigid transform or a vector is not three finite numbers.
    """

    start: FloatArray
    linear: FloatArray
    angular: FloatArray
    about: FloatArray | None = None

    def __post_init__(self) -> None:
        start = as_poses("Motion.start", self.start).copy()
        if start.shape != (4, 4):
            raise ValueError(f"Motion.start: must have shape (4, 4), found {start.shape}")
        vectors = {"linear": self.linear, "angular": self.angular}
        vectors["about"] = start[:3, 3] if self.about is None else self.about
        object.__setattr__(self, "start", start)
        for name, value in vectors.items():
            vector = floats(f"Motion.{name}", value).copy()
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ValueError(f"Motion.{name} = {value!r}: must be three finite numbers")
            object.__setattr__(self, name, vector)

    @classmethod
    def still(cls, pose: ArrayLike) -> Motion:
        """No motion."""
        return cls(pose, np.zeros(3), np.zeros(3))

    @classmethod
    def between(cls, start: ArrayLike, end: ArrayLike, duration: float = 1.0) -> Motion:
        """From one pose to another: the origin straight, the rotation the shortest way about a fixed axis.

        Parameters
        ----------
        start, end : (4, 4) array_like
            Poses at time 0 and at the end, body to world, m.
        duration : float, optional
            s.
        """
        start, end = as_poses("start", start), as_poses("end", end)
        if not number("duration", duration, "seconds") > 0.0:
            raise ValueError(f"duration = {duration!r}: must be positive (seconds)")
        turn = Rotation.from_matrix(end[:3, :3] @ start[:3, :3].T).as_rotvec()
        return cls(start, (end[:3, 3] - start[:3, 3]) / duration, turn / duration)

    @classmethod
    def screw(cls, start: ArrayLike, twist: ArrayLike) -> Motion:
        """Constant twist: the pose at time t is exp(t twist) start.

        Parameters
        ----------
        start : (4, 4) array_like
            Pose at time 0, body to world, m.
        twist : (6,) array_like
            Velocity of the origin of the body's frame at time 0 and angular velocity, world axes (linear; angular).
        """
        start = as_poses("start", start)
        twist = floats("twist", twist)
        if twist.shape != (6,) or not np.isfinite(twist).all():
            raise ValueError(f"twist: must be six finite numbers, found {twist!r}")
        linear, angular = twist[:3], twist[3:]
        square = angular @ angular
        if square == 0.0:
            return cls(start, linear, angular)
        axis_point = start[:3, 3] + np.cross(angular, linear) / square
        return cls(start, angular * (angular @ linear) / square, angular, axis_point)

    def pose(self, time: float) -> FloatArray:
        """Pose at a time, shape (4, 4), body to world, m."""
        out = np.eye(4)
        pose_at(self.start, self._packed, number("time", time, "seconds"), out)
        return out

    @property
    def _packed(self) -> FloatArray:
        return np.concatenate([self.start[:3, 3] - self.about, self.linear, self.angular])


class ImpactStatus(IntEnum):
    """How a motion ends."""

    IMPACT = IMPACT
    """They come within the tolerance, and an overlap is proved at `Impact.overlap_time`."""
    GRAZE = GRAZE
    """They come within the tolerance, but no overlap is proved soon after: they may pass by."""
    STARTS_IN_CONTACT = STARTS_IN_CONTACT
    """They are within the tolerance, or overlap, at time 0."""
    FREE = FREE
    """Proved: they do not touch up to the end."""
    UNPROVEN = UNPROVEN
    """Proved free of contact up to `Impact.time` only: a dent is in the way, or the solver calls ran out."""


@dataclass(frozen=True)
class Impact:
    """When two moving bodies meet."""

    time: float
    """Proved free of contact up to here; for `IMPACT` and `GRAZE` within the tolerance of it here, s."""
    overlap_time: float
    """A time at which an overlap is proved, s: the first contact is in [time, overlap_time]. Infinite for none."""
    result: DistanceResult
    """The contact at `time`."""
    status: ImpactStatus
    solves: int
    """Calls of the pair solver."""
    supports: int
    """Separations evaluated along a known direction (a support point of each body)."""


def time_of_impact(
    a: Superovoid,
    motion_a: Motion | ArrayLike,
    b: Superovoid,
    motion_b: Motion | ArrayLike,
    *,
    duration: float = 1.0,
    tolerance: float = IMPACT_TOLERANCE,
    max_solves: int = MAX_SOLVES,
) -> Impact:
    """First time at which two moving bodies touch, by steps proved free of contact: nothing is tunnelled through.

    Parameters
    ----------
    a, b : Superovoid
        The bodies.
    motion_a, motion_b : Motion or (4, 4) array_like
        Their motions from time 0 on; a pose for a body that stays.
    duration : float, optional
        Time at which to stop, s.
    tolerance : float, optional
        Gap that counts as touch, as a fraction of the smaller body's largest semi-axis. What rounding takes at large
        coordinates is allowed on top.
    max_solves : int, optional
        Solver calls after which to give up with `ImpactStatus.UNPROVEN`.

    Returns
    -------
    Impact

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, or a number is out of range.
    TypeError
        If a shape is none of ours.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid_ros import Motion, Sphere, time_of_impact
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> found = time_of_impact(Sphere(0.5), Motion(np.eye(4), (4.0, 0.0, 0.0), (0.0, 0.0, 0.0)), Sphere(0.5), apart)
    >>> round(found.time, 5), found.status.name
    (0.5, 'IMPACT')
    """
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, Superovoid):
            raise TypeError(f"{name}: must be a shape of superovoid_ros.shapes, found {type(shape).__name__}")
    if not number("duration", duration, "seconds") > 0.0:
        raise ValueError(f"duration = {duration!r}: must be positive (seconds)")
    max_solves = whole("max_solves", max_solves, 1)
    motions = [
        motion if isinstance(motion, Motion) else Motion.still(as_poses(name, motion))
        for name, motion in (("motion_a", motion_a), ("motion_b", motion_b))
    ]
    # Seen from where A starts, so that what rounding takes does not depend on where in the world this happens.
    origin = motions[0].start[:3, 3].copy()
    starts = [motion.start.copy() for motion in motions]
    for start in starts:
        start[:3, 3] -= origin
    row = np.empty((1, RESULT_LENGTH))
    status, time, overlap, solves, supports = find_impact(
        a._packed,
        b._packed,
        *starts,
        *(motion._packed for motion in motions),
        float(duration),
        check_tolerance(tolerance),
        SEARCH_BUDGET,
        max_solves,
        np.eye(4),
        np.eye(4),
        np.zeros(STATE_LENGTH),
        row[0],
    )
    row[0, POINT_A : POINT_A + 3] += origin
    row[0, POINT_B : POINT_B + 3] += origin
    result = DistanceResults.from_rows(row)[0]
    return Impact(time, overlap, result, ImpactStatus(status), solves, supports)

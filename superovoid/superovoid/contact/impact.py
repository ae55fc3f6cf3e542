# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Time of impact of two bodies that move.

Along a fixed world direction n the separation s(t) = n . c(t) - h_A(t; n) - h_B(t; -n) is a lower
bound of sd(t), and costs two support points. A point that rotates by omega about a straight path, at a distance rho
from the axis, has |d2(n . x)/dt2| <= |omega x n| |omega| rho. So the support function, a maximum of such functions,
lies below its own chord plus that of a parabola: on [t0, t1], with K the sum of these bounds over both bodies,

    s(t) >= s0 + (s1 - s0) (t - t0)/(t1 - t0) - K (t - t0) (t1 - t) / 2.

Time advances only over what this proves free of contact, so nothing can be tunnelled through; and since t1 is where
Newton's method expects the contact, it converges as fast (docs/queries.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate_back, scale, sub, tangent_frame
from superovoid.contact.columns import (
    DISTANCE,
    LOWER,
    NORMAL,
    POINT_A,
    POINT_B,
    RESULT_LENGTH,
    STATE_LENGTH,
    STATUS,
    UPPER,
)
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_pose, as_poses, check_rtol, packed_row
from superovoid.contact.pair import Limit
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.contact.separation import rounding, separation
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.contact.thresholds import UndecidedError, Verdict, are_intersecting
from superovoid.shapes import Shape, Superovoid
from superovoid.shapes.kernels.rounding import straighten
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.values.checks import floats, number, whole
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.values.records import Record, Statistics
from superovoid.values.status import UNPROVEN, Words

FloatArray = NDArray[np.float64]


IMPACT, GRAZE, STARTS_IN_CONTACT, FREE, GIVEN_UP = 0, 1, 2, 3, 4  # `ImpactStatus`
LARGEST, SMALLEST = 1e100, 1e-100  # m/s, rad/s, m: components of a motion, whose squares and ways stay numbers
LONGEST = 1e50  # s
# Of the gap that counts as touch where bodies are, by which they are apart for certain though rounding at the end of
# their ways would hide it.
CLEAR = 16.0
AIM, FLOOR = 0.5, 0.25  # of the gap that counts as touch: where a step should end, and what every step must keep
ALONG_ONE_DIRECTION = 12  # steps before the normal is asked for again
NEARER = 0.25  # of the separation it had when found: from there on a direction is no longer the best
FORWARD = 14  # doublings of the step that looks for a proof of overlap after the touch
IMPACT_TOLERANCE = 1e-6
MAX_SOLVES = 1000


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


@entry_point
def pose_at(start: Floats2, motion: Floats1, t: float, pose: Floats2) -> None:
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


class Mover(NamedTuple):
    """A body on its way."""

    body: NDArray[np.float64]
    start: NDArray[np.float64]  # pose at time 0
    motion: NDArray[np.float64]
    reach: float  # bounds of the distances of its points: from the axis of rotation,
    about: float  # and from the point on it
    pose: NDArray[np.float64]  # filled in


@kernel
def move(a, b, t):
    """Fill in the poses of two bodies at a time."""
    pose_at(a.start, a.motion, t, a.pose)
    pose_at(b.start, b.motion, t, b.pose)


class Bounds(NamedTuple):
    """How fast the separation along a direction can change."""

    fall: float  # largest speed of approach, m/s
    bend: float  # K of the module docstring, m/s^2


@entry_point
def bounds_along(
    motion_a: Floats1, motion_b: Floats1, reach_a: float, reach_b: float, n: tuple[float, float, float]
) -> Bounds:
    """`Bounds` along a direction, from the bodies' distances from their axes."""
    turn_a = norm(cross(_vector(motion_a, 6), n))
    turn_b = norm(cross(_vector(motion_b, 6), n))
    closing = dot(n, _vector(motion_a, 3)) - dot(n, _vector(motion_b, 3))
    bend = turn_a * norm(_vector(motion_a, 6)) * reach_a + turn_b * norm(_vector(motion_b, 6)) * reach_b
    return Bounds(closing + turn_a * reach_a + turn_b * reach_b, bend)


@entry_point
def velocity_of(motion: Floats1, t: float, from_origin: tuple[float, float, float]) -> tuple[float, float, float]:
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
def _sure_step(a, b, can, n, t, s, floor):
    """Time for which a separation stays above a floor whatever the bodies' shapes: inf for ever.

    The better of the largest speed of approach, and of the spheres that the turning bodies stay in.
    """
    sure = (s - floor) / can.fall if can.fall > 0.0 else math.inf
    drift = sub(_vector(b.motion, 3), _vector(a.motion, 3))
    between = sub(_offset(a.start, b.start), sub(_vector(b.motion, 0), _vector(a.motion, 0)))
    spheres = dot(n, combine(1.0, between, t, drift)) - a.about - b.about
    if spheres > floor:
        closing = -dot(n, drift)
        sure = max(sure, (spheres - floor) / closing if closing > 0.0 else math.inf)
    return sure


@kernel
def _separation(a, b, n):
    return separation(a.body, b.body, a.pose, b.pose, _offset(a.pose, b.pose), n)


@kernel
def _advance(a, b, n, t, end, gap):
    """Advance time along one direction while that pays; return (time, support points of each body spent).

    Every step is proved free of contact; a separation that is not above the floor at the start proves nothing.
    """
    floor, aim = FLOOR * gap, AIM * gap
    can = bounds_along(a.motion, b.motion, a.reach, b.reach, n)
    move(a, b, t)
    s = _separation(a, b, n)
    spent = 1
    leave = max(gap, NEARER * s.lower)
    if not (s.lower > floor):
        return t, spent
    for _ in range(ALONG_ONE_DIRECTION):
        sure = _sure_step(a, b, can, n, t, s.lower, floor)
        if t + sure >= end:
            return end, spent
        rate = dot(n, velocity_of(b.motion, t, s.y)) - dot(n, velocity_of(a.motion, t, s.x))
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
        move(a, b, ahead)
        s1 = _separation(a, b, n)
        spent += 1
        part = max(free_part(s.lower, s1.lower, step, can.bend, floor), min(sure, step))
        if part >= step and s1.lower >= floor:
            t, s = ahead, s1
        else:
            t = t + min(part, step)
            move(a, b, t)
            s = _separation(a, b, n)
            spent += 1
        if t >= end or s.lower <= leave:
            break
    return t, spent


@entry_point(_nrt=True)
def find_impact(
    a: Floats1,
    b: Floats1,
    start_a: Floats2,
    start_b: Floats2,
    motion_a: Floats1,
    motion_b: Floats1,
    end: float,
    limit: Limit,
    max_solves: int,
    out: Floats1,
) -> tuple[int, float, float, int, int]:
    """First time at which two moving bodies come within a gap, by steps that are proved free of contact.

    Parameters
    ----------
    a, b : array, shape (BODY_LENGTH,)
    start_a, start_b : array, shape (4, 4)
    motion_a, motion_b : array, shape (9,)
    end : float
        Time at which to stop.
    limit : Limit
        Gap that counts as touch, relative to the smaller body, and the budget of `solve_pair`.
    max_solves : int
        Solver calls after which to give up.
    out : array, shape (RESULT_LENGTH,)
        Filled in with the result there.

    Returns
    -------
    status, time, time of a proved overlap (inf for none), solver calls, support points of each body
    """
    tolerance, budget = limit.tolerance, limit.budget
    rotation, state = np.empty((3, 3)), np.zeros(STATE_LENGTH)
    pose_a, pose_b = np.eye(4), np.eye(4)
    reach_a, about_a = reach_of(a, start_a, motion_a)
    reach_b, about_b = reach_of(b, start_b, motion_b)
    mover_a = Mover(a, start_a, motion_a, reach_a, about_a, pose_a)
    mover_b = Mover(b, start_b, motion_b, reach_b, about_b, pose_b)
    farthest = norm(_offset(start_a, start_b)) + travel(motion_a, reach_a, end) + travel(motion_b, reach_b, end)
    gap = tolerance * min(a[SIZE], b[SIZE]) + 4.0 * rounding(a, b, farthest)
    fine = min(TOLERANCE, 0.1 * tolerance)
    t = 0.0
    solves = spent = 0
    while True:
        move(mover_a, mover_b, t)
        solve_pair(a, b, pose_a, pose_b, fine, budget, state, rotation, out)
        solves += 1
        if out[UPPER] <= gap:
            break
        if t >= end:
            return FREE, end, math.inf, solves, spent
        if solves >= max_solves:
            return GIVEN_UP, t, math.inf, solves, spent
        n = _vector(out, NORMAL)
        later, used = _advance(mover_a, mover_b, n, t, end, gap)
        spent += used
        if not (later > t):
            move(mover_a, mover_b, t)
            return GIVEN_UP, t, math.inf, solves, spent
        t = later
    so_far = norm(_offset(pose_a, pose_b)) + travel(motion_a, reach_a, t) + travel(motion_b, reach_b, t)
    if out[LOWER] > CLEAR * (tolerance * min(a[SIZE], b[SIZE]) + 4.0 * rounding(a, b, so_far)):
        # Apart here: what counts as touch is what rounding takes at the end of a way that is so much longer.
        return GIVEN_UP, t, math.inf, solves, spent
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
        for _ in range(FORWARD):
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


@dataclass(frozen=True, eq=False)
class Motion(Record):
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
        If the pose is not a rigid transform, or a vector is not three finite numbers of 1e100 at most.

    Notes
    -----
    Components below 1e-100 count as 0.
    """

    start: FloatArray
    linear: FloatArray
    angular: FloatArray
    about: FloatArray = None  # type: ignore[assignment] # until the constructor has it

    if TYPE_CHECKING:  # what the constructor takes; the fields are what it makes of them

        def __init__(
            self, start: PoseLike, linear: ArrayLike, angular: ArrayLike, about: ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        start = as_poses("Motion.start", self.start).copy()
        if start.shape != (4, 4):
            raise ValueError(f"Motion.start: must have shape (4, 4), found {start.shape}")
        vectors: dict[str, Any] = {"linear": self.linear, "angular": self.angular}
        vectors["about"] = start[:3, 3] if self.about is None else self.about
        start.flags.writeable = False
        object.__setattr__(self, "start", start)
        for name, value in vectors.items():
            vector = floats(f"Motion.{name}", value).copy()
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ValueError(f"Motion.{name} = {value!r}: must be three finite numbers")
            if np.abs(vector).max() > LARGEST:
                raise ValueError(f"Motion.{name} = {value!r}: no component may be larger than {LARGEST:g}")
            vector[np.abs(vector) < SMALLEST] = 0.0  # squares would vanish, and no motion that lasts gets anywhere
            vector.flags.writeable = False
            object.__setattr__(self, name, vector)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for array in state.values():
            array.flags.writeable = False  # which a pickle forgets
        self.__dict__.update(state)

    @classmethod
    def still(cls, pose: PoseLike) -> Motion:
        """No motion."""
        return cls(pose, np.zeros(3), np.zeros(3))

    @classmethod
    def between(cls, start: PoseLike, end: PoseLike, duration: float = 1.0) -> Motion:
        """From one pose to another: the origin straight, the rotation the shortest way about a fixed axis.

        Parameters
        ----------
        start, end : (4, 4) array_like
            Poses at time 0 and at the end, body to world, m.
        duration : float, optional
            s.
        """
        from scipy.spatial.transform import Rotation  # late: importing it takes longer than most programs need it

        start, end = as_pose("start", start), as_pose("end", end)
        if not number("duration", duration, "seconds") > 0.0:
            raise ValueError(f"duration = {duration!r}: must be positive (seconds)")
        turn = Rotation.from_matrix(end[:3, :3] @ start[:3, :3].T).as_rotvec()
        way = end[:3, 3] - start[:3, 3]
        if max(np.abs(way).max(), np.abs(turn).max()) > LARGEST * duration:
            raise ValueError(f"duration = {duration!r}: is too short, the motion would be faster than {LARGEST:g}")
        return cls(start, way / duration, turn / duration)

    @classmethod
    def screw(cls, start: PoseLike, twist: ArrayLike) -> Motion:
        """Constant twist: the pose at time t is exp(t twist) start.

        Parameters
        ----------
        start : (4, 4) array_like
            Pose at time 0, body to world, m.
        twist : (6,) array_like
            Velocity of the origin of the body's frame at time 0 and angular velocity, world axes (linear; angular).
        """
        start = as_pose("start", start)
        twist = floats("twist", twist)
        if twist.shape != (6,) or not np.isfinite(twist).all():
            raise ValueError(f"twist: must be six finite numbers, found {twist!r}")
        twist = np.where(np.abs(twist) < SMALLEST, 0.0, twist)
        linear, angular = twist[:3], twist[3:]
        square = angular @ angular
        if square == 0.0:
            return cls(start, linear, angular)
        axis_point = start[:3, 3] + np.cross(angular, linear) / square
        return cls(start, angular * (angular @ linear) / square, angular, axis_point)

    def pose(self, time: float) -> FloatArray:
        """Pose at a time, s, shape (4, 4), body to world, m; `ValueError` where that is beyond what numbers hold."""
        out = np.eye(4)
        # A copy, since kernels take writable arrays.
        pose_at(self.start.copy(), self._packed, number("time", time, "seconds"), out)
        if not np.isfinite(out).all():
            raise ValueError(f"time = {time!r}: the body has gone farther, or turned more, than numbers hold")
        return out

    @property
    def _packed(self) -> FloatArray:
        return np.concatenate([self.start[:3, 3] - self.about, self.linear, self.angular])


class ImpactStatus(Words, IntEnum):
    """How a motion ends."""

    IMPACT = IMPACT
    """They come within the tolerance, and an overlap is proved at `Impact.overlap_time`."""
    GRAZE = GRAZE
    """They come within the tolerance, but no overlap is proved soon after: they may pass by."""
    STARTS_IN_CONTACT = STARTS_IN_CONTACT
    """They are within the tolerance, or overlap, at time 0."""
    FREE = FREE
    """Proved: they do not touch up to the end."""
    UNPROVEN = GIVEN_UP
    """Proved free of contact up to `Impact.time` only: a dent is in the way, or the solver calls ran out."""


@dataclass(frozen=True, eq=False, repr=False)
class Impact(Record):
    """When two moving bodies meet.

    ``bool(impact)`` is True if an overlap is proved at `overlap_time`, False if the bodies are proved to stay apart
    (`ImpactStatus.FREE`), and raises `UndecidedError` otherwise.
    """

    time: float
    """Proved free of contact up to here; for `IMPACT` and `GRAZE` within the tolerance of it here, s."""
    overlap_time: float
    """A time at which an overlap is proved, s: the first contact is in [time, overlap_time]. Infinite for none."""
    result: DistanceResult
    """The contact at `time`."""
    status: ImpactStatus
    statistics: Statistics
    """``solves``: calls of the pair solver; ``supports``: separations evaluated along a known direction, by a support
    point of each body."""

    def __bool__(self) -> bool:
        if math.isfinite(self.overlap_time):
            return True
        if self.status is ImpactStatus.FREE:
            return False
        raise UndecidedError(
            f"an overlap is neither proved nor excluded ({self.status}, free of contact up to {self.time:.17g} s): use "
            "`.status`, or `.status is not ImpactStatus.FREE` as the safe question"
        )


def _overlap_at(a: Shape, motion_a: Motion, b: Shape, motion_b: Motion, time: float, rtol: float) -> Verdict:
    """Whether two bodies overlap at a time."""
    return are_intersecting(a, motion_a.pose(time), b, motion_b.pose(time), rtol=rtol)


def time_of_impact(
    a: Shape,
    motion_a: Motion | PosesLike,
    b: Shape,
    motion_b: Motion | PosesLike,
    *,
    duration: float = 1.0,
    rtol: float = IMPACT_TOLERANCE,
    max_evaluations: int = MAX_SOLVES,
) -> Impact:
    """First time at which two moving bodies touch, by steps proved free of contact: nothing is tunnelled through.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds.
    motion_a, motion_b : Motion, or (4, 4) array_like or transform
        Their motions from time 0 on; a pose for a body that stays.
    duration : float, optional
        Time at which to stop, s.
    rtol : float, optional
        Gap that counts as touch, as a fraction of the smaller body's largest semi-axis. What rounding takes at large
        coordinates is allowed on top.
    max_evaluations : int, optional
        Evaluations of the distance after which to give up with `ImpactStatus.UNPROVEN`.

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
    >>> from superovoid import Motion, Sphere, time_of_impact
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> found = time_of_impact(Sphere(0.5), Motion(np.eye(4), (4.0, 0.0, 0.0), (0.0, 0.0, 0.0)), Sphere(0.5), apart)
    >>> round(found.time, 5), found.status.name
    (0.5, 'IMPACT')
    """
    for name, shape in (("a", a), ("b", b)):
        packed_row(name, shape)
    if not 0.0 < number("duration", duration, "seconds") <= LONGEST:
        raise ValueError(f"duration = {duration!r}: must be positive, and {LONGEST:g} at most (seconds)")
    max_evaluations = whole("max_evaluations", max_evaluations, 1)
    motions = [
        motion if isinstance(motion, Motion) else Motion.still(as_pose(name, motion))
        for name, motion in (("motion_a", motion_a), ("motion_b", motion_b))
    ]
    # Seen from where A starts, so that what rounding takes does not depend on where in the world this happens.
    origin = motions[0].start[:3, 3].copy()
    starts = [motion.start.copy() for motion in motions]
    for start in starts:
        start[:3, 3] -= origin
    row = np.empty((1, RESULT_LENGTH))
    packed = [motion._packed for motion in motions]
    rtol = check_rtol(rtol)
    if isinstance(a, Superovoid) and isinstance(b, Superovoid):
        status, time, overlap, solves, supports = find_impact(
            a._packed,
            b._packed,
            *starts,
            *packed,
            float(duration),
            Limit(rtol, SEARCH_BUDGET, math.inf),
            max_evaluations,
            row[0],
        )
    else:
        from superovoid.contact.impact_of_kinds import find_impact_of_kinds  # here: it imports this

        status, time, overlap, solves, supports = find_impact_of_kinds(
            a, b, (starts[0], starts[1]), (packed[0], packed[1]), float(duration), rtol, max_evaluations, row[0]
        )
    is_open = overlap == math.inf and status in (GIVEN_UP, STARTS_IN_CONTACT) and int(row[0, STATUS]) & UNPROVEN
    if is_open:
        verdict = _overlap_at(a, motions[0], b, motions[1], time, rtol)
        solves += verdict.statistics.solves
        if verdict.closer:
            # Free up to here, and overlapping here: beside a dent only the verdict knows.
            status, overlap = (STARTS_IN_CONTACT if time == 0.0 else IMPACT), time
    row[0, POINT_A : POINT_A + 3] += origin
    row[0, POINT_B : POINT_B + 3] += origin
    result = DistanceResults.from_rows(row)[0]
    return Impact(time, overlap, result, ImpactStatus(status), Statistics(solves=solves, supports=supports))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of impact of two bodies that move, of any kinds: conservative advancement (Mirtich 1996).

Along a fixed world direction n the separation s(t) = n . c(t) - h_A(t; n) - h_B(t; -n) bounds sd(t) from below. A point
that rotates by omega about a straight path, at a distance rho from the axis, moves along n no faster than
|omega x n| rho plus the path's own speed, so that

    -s'(t) <= n . (v_A - v_B) + |omega_A x n| rho_A + |omega_B x n| rho_B.

This bound holds for convex hulls, and for a half-space that does not turn. For every body, convex or not, the signed
distance falls from the last proved distance no faster than two points can approach each other,
|v_A - v_B| + |omega_A| rho_A + |omega_B| rho_B, and is bounded by that of spheres about the points that move straight.
Time advances only over an interval that one of these bounds proves free of contact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.rows import layout, storer
from superovoid.compiled.vector import add, combine, cross, dot, norm, scale, sub, vector_at
from superovoid.contact.broadcasting import Pairs, Shapes, bodies_of, own_or_only, pairs_of, share_pairs
from superovoid.contact.columns import RESULT, RESULT_LENGTH, VERDICT
from superovoid.contact.compounds import solve_within
from superovoid.contact.deciding import decide_from_nothing
from superovoid.contact.inputs import MOST_STEPS, SEARCH_BUDGET, TOLERANCE, check_rtol
from superovoid.contact.one_pair import scratch_in
from superovoid.contact.pair import CLOSER, Limit, PlacedBody
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.contact.separation import from_origin, offset_of, radii, separation
from superovoid.contact.thresholds import UndecidedError
from superovoid.shapes import Shape
from superovoid.shapes.kernels.kinds import HALF_SPACE, Core, kind_of
from superovoid.shapes.kernels.rounding import ROUNDED, allowance, straighten
from superovoid.shapes.kernels.surface import RADIUS, SIZE
from superovoid.shapes.poses import as_pose, as_poses
from superovoid.values.checks import floats, number, whole_number
from superovoid.values.poses import PoseLike, rotation_vectors_of
from superovoid.values.records import Record, Statistics, Table
from superovoid.values.status import UNPROVEN, Words

FloatArray = NDArray[np.float64]


class ImpactStatus(Words, IntEnum):
    """How a motion ends."""

    IMPACT = 0
    """They come within the tolerance, and an overlap is proved at `Impact.overlap_time`."""
    GRAZE = 1
    """They come within the tolerance, but no overlap is proved soon after: they may pass each other."""
    STARTS_IN_CONTACT = 2
    """They are within the tolerance, or overlap, at time 0."""
    FREE = 3
    """Proved: they do not touch up to the end."""
    UNPROVEN = 4
    """Proved free of contact up to `Impact.time` only: at a concavity, or after `max_evaluations` evaluations."""


IMPACT, GRAZE, STARTS_IN_CONTACT, FREE, GIVEN_UP = map(int, ImpactStatus)
LARGEST, SMALLEST = 1e100, 1e-100  # m/s, rad/s, m: components of a motion, whose squares and paths stay finite
LONGEST = 1e50  # s
# Bodies are certainly apart if their distance is this many times the gap that counts as touch at their coordinates,
# even if rounding at the far end of their motions is larger.
CLEAR = 16.0
FLOOR = 0.25  # least separation that every step must keep, as a share of the gap that counts as touch
FORWARD = 14  # doublings of the step that searches for a proved overlap after the touch
# What is found: an `ImpactStatus`, times, solver calls, support points of each body.
FOUND, FOUND_LENGTH = layout(1, status=float, time=float, overlap_time=float, solves=float, supports=float)
IMPACT_TOLERANCE = 1e-6
MAX_SOLVES = 1000

_put_found = storer(FOUND_LENGTH, 1)


# --- motion ------------------------------------------------------------------------------------------------------
#
# A motion is a pose at time 0 and nine numbers: the arm (from the point that moves straight to the origin of the body's
# frame, at time 0), the velocity of that point, and the angular velocity.


@kernel
def _turned_arm(motion, t):
    """Return exp(omega t) arm - arm, without cancellation if the axis is far away."""
    arm, omega = vector_at(motion, 0), vector_at(motion, 6)
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
    omega = vector_at(motion, 6)
    speed = norm(omega)
    axis = scale(1.0 / speed, omega) if speed > 0.0 else omega
    sine, half = math.sin(speed * t), math.sin(0.5 * speed * t)
    for j in range(3):
        column = (start[0, j], start[1, j], start[2, j])
        across = cross(axis, column)
        turned = add(column, combine(sine, across, 2.0 * half * half, cross(axis, across)))
        pose[0, j], pose[1, j], pose[2, j] = turned
    straighten(pose)
    moved = combine(1.0, _turned_arm(motion, t), t, vector_at(motion, 3))
    for i in range(3):
        pose[i, 3] = start[i, 3] + moved[i]


@kernel
def reach_of(core, motion, others):
    """Return a bound of the distances from the axis of rotation of the points that matter.

    These are the body's own, and for a half-space those of the other body, which are at most `others` from the axis.
    """
    if norm(vector_at(motion, 6)) == 0.0:
        return 0.0
    return others if core.kind == HALF_SPACE else norm(vector_at(motion, 0)) + core.row[RADIUS]


class Mover(NamedTuple):
    """A moving body."""

    core: Core
    start: NDArray[np.float64]  # pose at time 0
    motion: NDArray[np.float64]
    reach: float
    pose: NDArray[np.float64]  # filled in


@kernel
def move(a, b, t):
    """Fill in the poses of two bodies at a time."""
    pose_at(a.start, a.motion, t, a.pose)
    pose_at(b.start, b.motion, t, b.pose)


@entry_point
def fall_along(
    motion_a: Floats1, motion_b: Floats1, reach_a: float, reach_b: float, n: tuple[float, float, float]
) -> float:
    """Bound of the speed at which the separation along a direction falls, m/s, from the bodies' `reach_of`."""
    closing = dot(n, vector_at(motion_a, 3)) - dot(n, vector_at(motion_b, 3))
    return closing + norm(cross(vector_at(motion_a, 6), n)) * reach_a + norm(cross(vector_at(motion_b, 6), n)) * reach_b


@kernel
def velocity_of(motion, t, from_origin):
    """Velocity of the body's point at a place given from the origin of its frame."""
    arm = add(vector_at(motion, 0), _turned_arm(motion, t))
    return add(vector_at(motion, 3), cross(vector_at(motion, 6), add(arm, from_origin)))


@kernel
def _separation(a, b, n):
    return separation(a.core, b.core, a.pose, b.pose, n).lower


@kernel
def _direction(a, b, row):
    """Return the direction to advance along, and whether there is one: the normal, or that of a fixed half-space."""
    n, has_fixed = vector_at(row, RESULT.normal), a.core.kind != HALF_SPACE or b.core.kind != HALF_SPACE
    for mover, sign in ((a, 1.0), (b, -1.0)):
        if mover.core.kind == HALF_SPACE:
            n = scale(sign, (mover.pose[0, 2], mover.pose[1, 2], mover.pose[2, 2]))
            has_fixed = has_fixed and norm(vector_at(mover.motion, 6)) == 0.0
    return n, has_fixed


@kernel
def _advance(a, b, n, t, end, gap):
    """Advance time along one direction while steps are long enough; return the time and number of support points.

    Every step is proved free of contact. If the first separation is not above the floor, time does not advance.
    """
    floor, fall = FLOOR * gap, fall_along(a.motion, b.motion, a.reach, b.reach, n)
    move(a, b, t)
    lower = _separation(a, b, n)
    for spent in range(1, MOST_STEPS):
        if not lower > floor:
            return t, spent
        t = min(t + (lower - floor) / fall, end) if fall > 0.0 else end
        if t >= end:
            return end, spent
        move(a, b, t)
        lower = _separation(a, b, n)
        if lower <= gap:
            return t, spent + 1
    return t, MOST_STEPS


@kernel
def _stop_spin(core, start, motion, across):
    """Set the angular velocity of a half-space to zero if it turns about its own normal.

    `across`: share of the angular velocity across the normal that counts as rounding.
    """
    omega = vector_at(motion, 6)
    off = norm(cross((start[0, 2], start[1, 2], start[2, 2]), omega))
    if core.kind == HALF_SPACE and off <= across * norm(omega):
        motion[6:9] = 0.0


@kernel
def _solve(a, b, limit, state, rotation, out):
    first, second = PlacedBody(a.core.row, a.core.pool, a.pose), PlacedBody(b.core.row, b.core.pool, b.pose)
    solve_within(first, second, limit, state, rotation, out)


@kernel
def _touch(a, b, tolerance, path_length):
    """Return the gap that counts as touch after a path of this length, and the rounding in it."""
    size = math.inf
    for mover in (a, b):
        if mover.core.kind != HALF_SPACE:
            size = min(size, mover.core.row[SIZE])
    of_a, of_b = radii(a.core, b.core)
    rounded = 4.0 * allowance(of_a, of_b, path_length)
    return (tolerance * size if size < math.inf else 0.0) + rounded, rounded


@kernel(_nrt=True)
def _find(first, second, motion_a, motion_b, end, tolerance, most, scratch, out):
    """Return the first time at which two moving bodies (`PlacedBody` at time 0) come within a gap, as `find_impact`."""
    rotation, state = scratch.rotation, scratch.state
    state[:] = 0.0
    core_a = Core(first.row, kind_of(first.row), first.pool)
    core_b = Core(second.row, kind_of(second.row), second.pool)
    # Two half-spaces count as opposed up to the rounding of their rotations (`kind_table`), so a turn below it is none.
    across = ROUNDED if core_a.kind == HALF_SPACE and core_b.kind == HALF_SPACE else 0.0
    motion_a, motion_b = motion_a.copy(), motion_b.copy()
    _stop_spin(core_a, first.pose, motion_a, across)
    _stop_spin(core_b, second.pose, motion_b, across)
    # From one of the points that move straight to the other, and their largest distance.
    arm_a, arm_b = vector_at(motion_a, 0), vector_at(motion_b, 0)
    drift = sub(vector_at(motion_b, 3), vector_at(motion_a, 3))
    line = sub(offset_of(first.pose, second.pose), sub(arm_b, arm_a))
    apart = max(norm(line), norm(combine(1.0, line, end, drift)))
    about_a, about_b = norm(arm_a) + first.row[RADIUS], norm(arm_b) + second.row[RADIUS]
    reach_a, reach_b = reach_of(core_a, motion_a, apart + about_b), reach_of(core_b, motion_b, apart + about_a)
    a = Mover(core_a, first.pose, motion_a, reach_a, np.eye(4))
    b = Mover(core_b, second.pose, motion_b, reach_b, np.eye(4))
    between = norm(offset_of(a.start, b.start))
    turning = norm(vector_at(motion_a, 6)) * reach_a + norm(vector_at(motion_b, 6)) * reach_b
    path_length = end * (norm(vector_at(motion_a, 3)) + norm(vector_at(motion_b, 3)) + turning)
    # A half-space that turns meets any other half-space at once.
    is_bounded = path_length < math.inf
    gap, rounded = _touch(a, b, tolerance, between + path_length if is_bounded else between)
    speed = norm(drift) + turning
    limit = Limit(min(TOLERANCE, 0.1 * tolerance), SEARCH_BUDGET, math.inf, -math.inf)
    t = 0.0
    solves = spent = 0
    while True:
        move(a, b, t)
        _solve(a, b, limit, state, rotation, out)
        solves += 1
        if out[RESULT.upper] <= gap:
            break
        if t >= end:
            return FREE, end, math.inf, solves, spent
        later = t
        if is_bounded and solves < most:
            # Spheres about the points that move straight contain the bodies however fast they spin.
            spheres = norm(combine(1.0, line, t, drift)) - about_a - about_b
            for proved, rate in ((out[RESULT.lower], speed), (spheres, norm(drift))):
                above = proved - FLOOR * gap
                if above > 0.0:
                    later = max(later, min(end, t + above / rate) if rate > 0.0 else end)
            n, has_fixed = _direction(a, b, out)
            if has_fixed and later < end:
                ahead, used = _advance(a, b, n, t, end, gap)
                later = max(later, ahead)
                spent += used
        if not (later > t):
            return GIVEN_UP, t, math.inf, solves, spent
        t = later
    so_far = path_length * (t / end) if is_bounded else 0.0
    if out[RESULT.lower] > CLEAR * _touch(a, b, tolerance, norm(offset_of(a.pose, b.pose)) + so_far)[0]:
        # The bodies are apart here. The gap counts as touch only because of rounding at the end of a much longer path.
        return GIVEN_UP, t, math.inf, solves, spent
    if t == 0.0:
        return STARTS_IN_CONTACT, 0.0, (0.0 if out[RESULT.upper] < 0.0 else math.inf), solves, spent
    # Close the bracket from above: double the step until an overlap is proved at its end.
    x, y = from_origin(a.pose, out, RESULT.point_a), from_origin(b.pose, out, RESULT.point_b)
    speed = dot(vector_at(out, RESULT.normal), sub(velocity_of(motion_a, t, x), velocity_of(motion_b, t, y)))
    if speed > 0.0:
        row = np.empty(RESULT_LENGTH)
        later, step = t, (1.5 * max(out[RESULT.distance], 0.0) + rounded) / speed
        for _ in range(FORWARD):
            if later >= end:
                break
            later = min(t + step, end)
            move(a, b, later)
            _solve(a, b, limit, state, rotation, row)
            solves += 1
            if row[RESULT.upper] < 0.0:
                return IMPACT, t, later, solves, spent
            step *= 2.0
    return GRAZE, t, math.inf, solves, spent


@kernel(_nrt=True)
def find_impact(first, second, motion_a, motion_b, end, tolerance, most, scratch, out):
    """Find the first time at which two moving bodies come within a gap, by steps proved free of contact.

    Parameters
    ----------
    first, second : PlacedBody
        At time 0.
    motion_a, motion_b : array, shape (9,)
    end : float
        Time at which to stop.
    tolerance : float
        Gap that counts as touch, relative to the smaller body.
    most : int
        Solver calls after which to give up.
    scratch : Scratch
    out : array, shape (RESULT_LENGTH,)
        Filled in with the result there.

    Returns
    -------
    `ImpactStatus`, time, time of a proved overlap, solver calls, support points of each body
    """
    # Relative to the start of A, so that rounding does not depend on the place in the world.
    start_a, start_b = first.pose.copy(), second.pose.copy()
    for i in range(3):
        start_b[i, 3] -= start_a[i, 3]
        start_a[i, 3] = 0.0
    from_a, from_b = PlacedBody(first.row, first.pool, start_a), PlacedBody(second.row, second.pool, start_b)
    status, time, overlap, solves, supports = _find(
        from_a, from_b, motion_a, motion_b, end, tolerance, most, scratch, out
    )
    for i in range(3):
        out[RESULT.point_a + i] += first.pose[i, 3]
        out[RESULT.point_b + i] += first.pose[i, 3]
    if (
        overlap == math.inf
        and (status == GIVEN_UP or status == STARTS_IN_CONTACT)
        and int(out[RESULT.status]) & UNPROVEN
    ):
        # Free up to here. At a concavity only the verdict proves an overlap of the bodies.
        pose_at(first.pose, motion_a, time, scratch.pose_a)
        pose_at(second.pose, motion_b, time, scratch.pose_b)
        scratch.direction[:] = 0.0
        there = PlacedBody(first.row, first.pool, scratch.pose_a), PlacedBody(second.row, second.pool, scratch.pose_b)
        answer = decide_from_nothing(*there, 0.0, tolerance, scratch, scratch.verdict)
        solves += int(scratch.verdict[VERDICT.solves])
        if answer == CLOSER:
            status, overlap = (STARTS_IN_CONTACT if time == 0.0 else IMPACT), time
    return status, time, overlap, solves, supports


@entry_point(nogil=True, _nrt=True)
def find_impacts(
    pairs: Pairs,
    which: Ints1,
    motions_a: Floats2,
    motions_b: Floats2,
    end: float,
    tolerance: float,
    most: int,
    work: Floats1,
    found: Floats2,
    out: Floats2,
) -> None:
    """Call `find_impact` for the given pairs, at time 0, with a motion for each or one for all.

    Parameters
    ----------
    pairs : Pairs
    which : array, shape (m,)
    motions_a, motions_b : array, shape (n, 9) or (1, 9)
    end : float
    tolerance : float
    most : int
    work : array, shape (WORK_LENGTH,)
    found : array, shape (n, FOUND_LENGTH)
    out : array, shape (n, RESULT_LENGTH)
    """
    scratch = scratch_in(work)
    for k in range(which.shape[0]):
        i = which[k]
        first, second = bodies_of(pairs, i)
        motion_a, motion_b = motions_a[own_or_only(motions_a, i)], motions_b[own_or_only(motions_b, i)]
        ended = find_impact(first, second, motion_a, motion_b, end, tolerance, most, scratch, out[i])
        _put_found(found[i], 0, ended)


@dataclass(frozen=True, eq=False)
class Motion(Record):
    """A rigid motion: a point of the body moves at a constant velocity, and the body turns about it at a constant rate.

    `from_poses` interpolates two poses, `screw` follows a constant twist, and `at_rest` does not move. The constructor
    makes other motions, for example that of a body thrown with a spin (`about` its centre of mass).

    Parameters
    ----------
    start : (4, 4) array_like
        Pose at time 0, body to world, m.
    linear : (3,) array_like
        Velocity of the point `about`, world, m/s.
    angular : (3,) array_like
        Angular velocity, world, rad/s.
    about : (3,) array_like, optional
        The point at time 0, world, m; default: the origin of the body's frame.

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

    if TYPE_CHECKING:  # the constructor takes more types than the fields have

        def __init__(
            self, start: PoseLike, linear: ArrayLike, angular: ArrayLike, about: ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        start = as_pose("Motion.start", self.start).copy()
        linear, angular = _components("Motion.linear", self.linear, 3), _components("Motion.angular", self.angular, 3)
        about = _components("Motion.about", start[:3, 3] if self.about is None else self.about, 3)
        for name, array in (("start", start), ("linear", linear), ("angular", angular), ("about", about)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for array in state.values():
            array.flags.writeable = False  # a pickle does not keep this flag
        self.__dict__.update(state)

    @classmethod
    def at_rest(cls, pose: PoseLike) -> Motion:
        """Return a motion that stays at a pose."""
        return cls(pose, np.zeros(3), np.zeros(3))

    @classmethod
    def from_poses(cls, start: PoseLike, end: PoseLike, duration: float = 1.0) -> Motion:
        """Return the motion from one pose to another: the origin on a line, the rotation by the least angle.

        Parameters
        ----------
        start, end : (4, 4) array_like
            Poses at time 0 and at the end, body to world, m.
        duration : float, optional
            s.
        """
        start, end = as_pose("start", start), as_pose("end", end)
        if not number("duration", duration, "seconds") > 0.0:
            raise ValueError(f"duration = {duration!r}: must be positive (seconds)")
        turn = rotation_vectors_of(end[:3, :3] @ start[:3, :3].T)
        displacement = end[:3, 3] - start[:3, 3]
        if max(np.abs(displacement).max(), np.abs(turn).max()) > LARGEST * duration:
            raise ValueError(f"duration = {duration!r}: is too short, the motion would be faster than {LARGEST:g}")
        return cls(start, displacement / duration, turn / duration)

    @classmethod
    def screw(cls, start: PoseLike, twist: ArrayLike) -> Motion:
        """Return the motion of a constant twist, given at the origin of the body's frame, not of the world.

        Parameters
        ----------
        start : (4, 4) array_like
            Pose at time 0, body to world, m.
        twist : (6,) array_like
            Velocity of the origin of the body's frame at time 0 and angular velocity, world axes (linear; angular).
        """
        start = as_pose("start", start)
        twist = _components("twist", twist, 6)
        linear, angular = twist[:3], twist[3:]
        square = angular @ angular
        if square == 0.0:
            return cls(start, linear, angular)
        axis_point = start[:3, 3] + np.cross(angular, linear) / square
        return cls(start, angular * (angular @ linear) / square, angular, axis_point)

    def pose(self, time: float) -> FloatArray:
        """Return the pose at a time (s), shape (4, 4), body to world, m; `ValueError` if it overflows."""
        out = np.eye(4)
        # A copy, since kernels take writable arrays.
        pose_at(self.start.copy(), self._numbers, number("time", time, "seconds"), out)
        if not np.isfinite(out).all():
            raise ValueError(f"time = {time!r}: the body has moved or turned too far for float64")
        return out

    @property
    def _numbers(self) -> FloatArray:
        return np.concatenate([self.start[:3, 3] - self.about, self.linear, self.angular])


def _components(name: str, value: ArrayLike, count: int) -> FloatArray:
    """Return `count` finite numbers of 1e100 at most; those whose squares would underflow are 0."""
    array = floats(name, value).copy()
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"{name} = {value!r}: must be {count} finite numbers")
    if np.abs(array).max() > LARGEST:
        raise ValueError(f"{name} = {value!r}: no component may be larger than {LARGEST:g}")
    array[np.abs(array) < SMALLEST] = 0.0
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Impact(Record):
    """When two moving bodies meet.

    ``bool(impact)`` is True if an overlap is proved at `overlap_time`, False if the bodies are proved to stay apart
    (`ImpactStatus.FREE`), and raises `UndecidedError` otherwise.
    """

    time: float
    """Proved free of contact up to this time, s; for `IMPACT` and `GRAZE` in contact, within the tolerance, at it."""
    overlap_time: float
    """A time at which an overlap is proved, s; infinite if none is. The first contact is in [time, overlap_time]."""
    result: DistanceResult
    """The contact at `time`."""
    status: ImpactStatus
    statistics: Statistics
    """``solves``: calls of the pair solver; ``supports``: evaluations of the separation along a direction, each of
    which takes a support point of each body."""

    def __bool__(self) -> bool:
        if math.isfinite(self.overlap_time):
            return True
        if self.status is ImpactStatus.FREE:
            return False
        raise UndecidedError(
            f"an overlap is neither proved nor excluded ({self.status}, free of contact up to {self.time:.17g} s): use "
            "`.status`, or `.status is not ImpactStatus.FREE` as the safe question"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Impacts(Table):
    """`Impact` as arrays, one row a pair; ``impacts[0]`` is a row."""

    time: FloatArray
    overlap_time: FloatArray
    result: DistanceResults
    status: NDArray[np.uint8]
    """`ImpactStatus` of each row, as a number."""
    statistics: Statistics
    """``solves`` and ``supports`` of each row."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("time", "overlap_time", "result", "status", "statistics")
    ENUMS = MappingProxyType({"status": ImpactStatus})

    def _row(self, row: int) -> Impact:
        return self._make_row(Impact, row)

    def __bool__(self) -> bool:
        raise TypeError(
            "impacts of many pairs have no truth value, and some may be undecided: use `.overlap_time` (infinite where "
            "no overlap is proved), or `(.status == ImpactStatus.FREE).all()`"
        )


MotionLike: TypeAlias = Motion | PoseLike
MotionsLike: TypeAlias = MotionLike | Sequence[MotionLike]


def _motions(name: str, given: MotionsLike) -> tuple[FloatArray, FloatArray]:
    """Return poses at time 0 and motions as kernels read them, (4, 4) or (n, 4, 4) and (1, 9) or (n, 9)."""
    if isinstance(given, Motion):
        return given.start, given._numbers[None]
    if isinstance(given, list | tuple) and any(isinstance(each, Motion) for each in given):
        motions = [each if isinstance(each, Motion) else Motion.at_rest(as_pose(name, each)) for each in given]
        return np.array([each.start for each in motions]), np.array([each._numbers for each in motions])
    return as_poses(name, given), np.zeros((1, 9))  # type: ignore[arg-type] # poses alone are left


class _Options(TypedDict, total=False):
    duration: float
    rtol: float
    max_evaluations: int
    threads: int | None


@overload
def time_of_impact(  # type: ignore[overload-overlap]
    a: Shape, motion_a: MotionLike, b: Shape, motion_b: MotionLike, **options: Unpack[_Options]
) -> Impact: ...


@overload
def time_of_impact(
    a: Shapes, motion_a: MotionsLike, b: Shapes, motion_b: MotionsLike, **options: Unpack[_Options]
) -> Impacts: ...


def time_of_impact(
    a: Shapes,
    motion_a: MotionsLike,
    b: Shapes,
    motion_b: MotionsLike,
    *,
    duration: float = 1.0,
    rtol: float = IMPACT_TOLERANCE,
    max_evaluations: int = MAX_SOLVES,
    threads: int | None = None,
) -> Impact | Impacts:
    """Compute the first time at which two moving bodies touch, by steps proved free of contact.

    Two shapes with one motion each are one pair, and the result is an `Impact`. If shapes or motions are given for many
    pairs, the result is `Impacts`. A pair has the same result, bit by bit, alone and among others.

    Parameters
    ----------
    a, b : Shape, ShapeArray or sequence of Shape
        The bodies of each pair, of any kinds; a single one is used for every pair.
    motion_a, motion_b : Motion, (4, 4) array_like or transform, or many of these
        Their motions from time 0 on; a pose for a body at rest. Many: a list of motions and poses, or (n, 4, 4)
        array_like; a single one is used for every pair.
    duration : float, optional
        Time at which to stop, s.
    rtol : float, optional
        Gap that counts as touch, as a fraction of the smaller body's largest semi-axis. An allowance for rounding at
        large coordinates is added.
    max_evaluations : int, optional
        Evaluations of the distance of a pair after which to give up with `ImpactStatus.UNPROVEN`.
    threads : int, optional
        Number of threads for many pairs; None: at most one for each processor, fewer if more would not be faster. The
        results do not depend on it.

    Returns
    -------
    Impact or Impacts

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or a number is out of range.
    TypeError
        If a shape is not a `Shape`.

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
    if not 0.0 < number("duration", duration, "seconds") <= LONGEST:
        raise ValueError(f"duration = {duration!r}: must be positive, and {LONGEST:g} at most (seconds)")
    max_evaluations = whole_number("max_evaluations", max_evaluations, 1)
    start_a, packed_a = _motions("motion_a", motion_a)
    start_b, packed_b = _motions("motion_b", motion_b)
    pairs, is_single = pairs_of(a, start_a, b, start_b, names=("motion_a", "motion_b"))
    count = pairs.length
    found, rows = np.empty((count, FOUND_LENGTH)), np.empty((count, RESULT_LENGTH))
    asked = packed_a, packed_b, float(duration), check_rtol(rtol), max_evaluations
    share_pairs(np.arange(count), lambda which, work: find_impacts(pairs, which, *asked, work, found, rows), threads)
    if is_single:
        status, time, overlap_time, solves, supports = found[0].tolist()
        counts = Statistics(solves=int(solves), supports=int(supports))
        return Impact(time, overlap_time, DistanceResult._from_row(rows[0]), ImpactStatus(int(status)), counts)
    return Impacts(
        found[:, FOUND.time],
        found[:, FOUND.overlap_time],
        DistanceResults.from_rows(rows),
        found[:, FOUND.status].astype(np.uint8),
        Statistics(solves=found[:, FOUND.solves].astype(np.int64), supports=found[:, FOUND.supports].astype(np.int64)),
    )

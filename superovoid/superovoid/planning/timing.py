# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Times for a path: as fast as the limits of the joints allow, by TOPP-RA, and proved as it is executed.

The corners of a path are rounded where that is proved to be free of contact; at the others the motion stops. Each
rounding is a polynomial of degree 5 that meets the straight motions with their direction and without curvature: its
Bezier points are the corner's neighbours c - l u, c - 0.6 l u, c - 0.2 l u, c + 0.2 l v, c + 0.6 l v, c + l v with the
directions u, v of the motions before and behind. TOPP-RA (Pham, Pham 2018; the library toppra) finds the fastest speed
along it. Between the points of a trajectory joints follow the cubic polynomials through positions and velocities, as
joint_trajectory_controller interpolates: what is proved, and what keeps the limits, are these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.motion_check import MotionCheck, MotionValidator
from superovoid.planning.problem import FloatArray, IntArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Validity
from superovoid.robot import Robot

DEFAULT_LIMIT = 1.0
"""rad/s and rad/s^2, m/s and m/s^2: of a joint of which nothing is known, as in MoveIt."""
_PARTS = 16  # of a rounding
_ROUNDINGS = 1.0, 0.5, 0.25, 0.125, 0.0625  # parts of the longest that are tried
_BLEND = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0])
_SPACING = 0.05  # m in the metric of the weights, of points on straight motions
_FEWEST, _MOST = 8, 60
_ON_THE_LINE = 1e-9  # m
_SHORT = 1e-9  # m in the metric of the weights


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Largest speeds and accelerations of planned joints, shape (joints,): rad/s or m/s, and per s."""

    velocity: FloatArray
    acceleration: FloatArray

    def __post_init__(self) -> None:
        for name in ("velocity", "acceleration"):
            values = np.array(getattr(self, name), dtype=float)
            if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0.0).all()):
                raise ValueError(f"{name} = {values}: must be positive and finite, one a joint")
            object.__setattr__(self, name, values)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion in time: between its points each joint follows the cubic polynomial of positions and velocities."""

    joints: tuple[str, ...]
    times: FloatArray
    """Shape (n,), s, ascending from 0."""
    positions: FloatArray
    """Shape (n, joints), rad or m."""
    velocities: FloatArray
    """Shape (n, joints), rad/s or m/s."""
    stops: int
    """Corners of the path at which it comes to rest."""

    @property
    def duration(self) -> float:
        """How long it takes, s."""
        return float(self.times[-1])

    def at(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Positions at times, or velocities (1) or accelerations (2), shape (..., joints)."""
        from scipy.interpolate import CubicHermiteSpline

        within = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        if len(self.times) == 1:
            return np.broadcast_to(self.positions[0] * (derivative == 0), (*within.shape, len(self.joints))).copy()
        return CubicHermiteSpline(self.times, self.positions, self.velocities)(within, derivative)


def motion_limits(
    robot: Robot,
    joints: Sequence[str],
    joint_limits: Mapping[str, Mapping[str, object]] | None = None,
    *,
    velocity_scale: float = 1.0,
    acceleration_scale: float = 1.0,
) -> MotionLimits:
    """Limits of joints by the URDF and MoveIt's joint_limits.yaml.

    Parameters
    ----------
    robot : Robot
        Its URDF has velocities.
    joints : sequence of str
        Independent joints. What follows one of them keeps its own limits, too.
    joint_limits : mapping, optional
        What stands under ``joint_limits`` in that file: joint -> has_velocity_limits, max_velocity,
        has_acceleration_limits, max_acceleration. Its velocities replace the URDF's.
    velocity_scale, acceleration_scale : float
        Parts of them that are used, above 0 and up to 1.

    Returns
    -------
    MotionLimits
        `DEFAULT_LIMIT` where nothing is known.

    Raises
    ------
    ValueError
        If a number is out of range, or a joint is not one of the robot's independent joints.
    """
    for name, scale in (("velocity_scale", velocity_scale), ("acceleration_scale", acceleration_scale)):
        if not 0.0 < scale <= 1.0:
            raise ValueError(f"{name} = {scale!r}: must be above 0 and at most 1")
    for joint in joints:
        if joint not in robot.joint_names:
            raise ValueError(f"joints: '{joint}' is no independent joint of '{robot.name}'")
    rows = {joint: _limits_of(robot, joint, dict((joint_limits or {}).get(joint) or {})) for joint in joints}
    for follower, mimic in robot.mimic.items():
        factor, leader = mimic.multiplier, mimic.joint
        while leader in robot.mimic:
            factor, leader = factor * robot.mimic[leader].multiplier, robot.mimic[leader].joint
        if leader in rows and factor:
            own = _limits_of(robot, follower, dict((joint_limits or {}).get(follower) or {}), math.inf)
            rows[leader] = np.minimum(rows[leader], own / abs(factor))
    velocity, acceleration = np.array([rows[joint] for joint in joints], dtype=float).reshape(-1, 2).T
    return MotionLimits(velocity_scale * velocity, acceleration_scale * acceleration)


def _limits_of(robot: Robot, joint: str, given: Mapping[str, object], default: float = DEFAULT_LIMIT) -> FloatArray:
    """Velocity and acceleration of a joint."""
    found = []
    for what, known in (("velocity", robot.joints[joint].velocity), ("acceleration", math.inf)):
        value = known
        if given.get(f"has_{what}_limits"):
            raw = given.get(f"max_{what}")
            if isinstance(raw, bool) or not isinstance(raw, int | float) or not (math.isfinite(raw) and raw > 0.0):
                raise ValueError(f"joint_limits: {joint}: max_{what} = {raw!r}: must be a positive number")
            value = float(raw)
        found.append(value if math.isfinite(value) else default)
    return np.array(found)


def time_path(
    problem: PlanningProblem,
    validity: Validity,
    path: ArrayLike,
    limits: MotionLimits,
    *,
    accept: Callable[[FloatArray], bool] | None = None,
) -> Trajectory:
    """Give a path times.

    Parameters
    ----------
    problem : PlanningProblem
        Of the path.
    validity : Validity
        Where distances come from.
    path : array_like, shape (k, joints)
        Its straight motions are proved (`find_path`, `MotionValidator`).
    limits : MotionLimits
        Of the joints of the problem.
    accept : callable, optional
        Whether a state satisfies what is asked beside; it is asked at the points of roundings.

    Returns
    -------
    Trajectory
        From rest to rest. As it is interpolated it is proved to keep all pairs above their floors, and keeps the
        limits.

    Raises
    ------
    PlanningError
        If no times were found.
    ValueError
        If the path or the limits are none of the problem's.
    ModuleNotFoundError
        If toppra is missing.
    """
    corners = problem.check_path(path)
    if len(limits.velocity) != len(problem.joints) or len(limits.acceleration) != len(problem.joints):
        raise ValueError(f"limits: expected those of {len(problem.joints)} joints")
    validator = MotionValidator(problem, validity)
    corners = _without_short_motions(problem, validator, corners)
    if len(corners) == 1:
        return Trajectory(problem.joints, np.zeros(1), corners, np.zeros_like(corners), 0)
    lengths = np.diff(problem.along(corners))
    rounding = np.zeros(len(corners))  # length l at each corner
    for k in range(1, len(corners) - 1):
        longest = 0.5 * min(lengths[k - 1], lengths[k])
        around = corners[k - 1 : k + 2]
        tried = (part * longest for part in _ROUNDINGS)
        rounding[k] = next((length for length in tried if _is_free(problem, validator, around, length, accept)), 0.0)
    while True:
        pieces = _pieces(problem, corners, rounding)
        trajectory, corner = _timed(problem, pieces, limits)
        failed = _first_not_proved(problem, validator, trajectory, corner)
        if failed is None:
            return trajectory
        rounding[failed] = 0.0


def _without_short_motions(problem: PlanningProblem, validator: MotionValidator, path: FloatArray) -> FloatArray:
    """A path without motions that are too short to be given times, wherever what takes their place is proved.

    A path that is no longer than that itself is its first state.
    """
    kept = path[:1]
    for k in range(1, len(path)):
        if problem.length([kept[-1], path[k]]) > _SHORT:
            kept = np.concatenate([kept, path[k : k + 1]])
        elif k < len(path) - 1 and not validator.is_valid(kept[-1], path[k + 1]):
            kept = np.concatenate([kept, path[k : k + 1]])
        elif k == len(path) - 1 and len(kept) > 1:
            without = kept[:-1] if validator.is_valid(kept[-2], path[k]) else kept
            kept = np.concatenate([without, path[k:]])
    return kept


def _bezier(problem: PlanningProblem, corner: FloatArray, length: float) -> FloatArray:
    """Bezier points of the rounding of a corner (3 states), shape (6, joints)."""
    before, at, behind = corner
    u, v = (at - before) / problem.length([before, at]), (behind - at) / problem.length([at, behind])
    return at + length * _BLEND[:, None] * np.where(_BLEND[:, None] < 0.0, u, v)


def _powers(points: FloatArray) -> FloatArray:
    """Coefficients of the powers of the parameter of a Bezier curve of degree 5, shape (6, joints)."""
    rows = []
    for order in range(6):
        difference = sum((-1) ** (order - i) * math.comb(order, i) * points[i] for i in range(order + 1))
        rows.append(math.comb(5, order) * difference)
    return np.array(rows)


def _is_free(
    problem: PlanningProblem,
    validator: MotionValidator,
    corner: FloatArray,
    length: float,
    accept: Callable[[FloatArray], bool] | None,
) -> bool:
    """Whether the rounding of a corner is proved to be free.

    A curve is off the chord between two of its points by at most h^2 / 8 of its second derivative.
    """
    points = _bezier(problem, corner, length)
    t = np.linspace(0.0, 1.0, _PARTS + 1)[:, None]
    states = sum(math.comb(5, i) * t**i * (1.0 - t) ** (5 - i) * points[i] for i in range(6))
    states = np.clip(states, *problem.limits)
    off = 20.0 * np.abs(np.diff(points, 2, axis=0)).max(axis=0) / (8.0 * _PARTS**2)
    floors = np.broadcast_to(problem.floors + problem.speeds @ off, (_PARTS, len(problem.pairs)))
    if accept is not None and not all(accept(state) for state in states):
        return False
    return validator.is_path_valid(states, floors)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A part of a path, from s = 0 to `length`: a polynomial in s / length, coefficients (powers, joints)."""

    length: float
    powers: FloatArray
    corner: int
    """Of the path, that it rounds; -1: it is straight."""
    stops: bool
    """Whether the motion comes to rest at its end."""

    def at(self, s: FloatArray, order: int) -> FloatArray:
        """The piece or its derivatives by s, shape (n, joints)."""
        powers = self.powers
        for _ in range(order):
            powers = powers[1:] * np.arange(1, len(powers))[:, None] / self.length
        x = (np.asarray(s) / self.length)[:, None]
        return sum((row * x**i for i, row in enumerate(powers)), np.zeros((len(x), self.powers.shape[1])))


def _pieces(problem: PlanningProblem, path: FloatArray, rounding: FloatArray) -> list[_Piece]:
    pieces = []
    for k, (first, last) in enumerate(pairwise(path)):
        length = problem.length([first, last])
        direction = (last - first) / length
        straight = length - rounding[k] - rounding[k + 1]
        last_of_all = k == len(path) - 2
        if straight > 1e-9 * length or last_of_all:
            begin = first + rounding[k] * direction
            pieces.append(
                _Piece(straight, np.array([begin, straight * direction]), -1, rounding[k + 1] == 0.0 or last_of_all)
            )
        if rounding[k + 1] > 0.0:
            points = _bezier(problem, path[k : k + 3], rounding[k + 1])
            pieces.append(_Piece(2.0 * rounding[k + 1], _powers(points), k + 1, False))
    return pieces


def _timed(problem: PlanningProblem, pieces: Sequence[_Piece], limits: MotionLimits) -> tuple[Trajectory, IntArray]:
    """The trajectory along pieces, and for each of its motions the corner that it rounds, -1 where it is straight."""
    runs: list[list[_Piece]] = [[]]
    for piece in pieces:
        runs[-1].append(piece)
        if piece.stops:
            runs.append([])
    runs = [run for run in runs if run]
    time, corners = np.zeros(1), []
    first = pieces[0].at(np.zeros(1), 0)
    positions, velocities = [first], [np.zeros_like(first)]
    for run in runs:
        counts = [
            _PARTS if piece.corner >= 0 else int(np.clip(piece.length / _SPACING, _FEWEST, _MOST)) for piece in run
        ]
        ends = np.cumsum([0.0, *(piece.length for piece in run)])
        grid = np.concatenate(
            [np.zeros(1), *(np.linspace(ends[i], ends[i + 1], n + 1)[1:] for i, n in enumerate(counts))]
        )
        curve = _Curve(run, ends)
        speed = _speeds(curve, grid, limits)
        time = np.concatenate([time, time[-1] + np.cumsum(2.0 * np.diff(grid) / (speed[:-1] + speed[1:]))])
        positions.append(curve(grid[1:], 0))
        velocities.append(curve(grid[1:], 1) * speed[1:, None])
        corners += [np.full(n, piece.corner) for piece, n in zip(run, counts, strict=True)]
    q, v = np.clip(np.concatenate(positions), *problem.limits), np.concatenate(velocities)
    slower = _excess(time, q, v, limits)
    return Trajectory(problem.joints, time * slower, q, v / slower, len(runs) - 1), np.concatenate(corners)


class _Curve:
    """Pieces one behind the other, as toppra asks for a path; called with s and the order of the derivative."""

    def __init__(self, pieces: Sequence[_Piece], ends: FloatArray) -> None:
        self._pieces, self._ends = pieces, ends
        self.dof = pieces[0].powers.shape[1]
        self.path_interval = np.array([0.0, ends[-1]])
        self.waypoints = None

    def __call__(self, s: ArrayLike, order: int = 0) -> FloatArray:
        s = np.asarray(s, dtype=float)
        flat = np.atleast_1d(s)
        piece = np.clip(np.searchsorted(self._ends, flat, side="right") - 1, 0, len(self._pieces) - 1)
        found = np.empty((len(flat), self.dof))
        for i in np.unique(piece):
            rows = piece == i
            found[rows] = self._pieces[i].at(flat[rows] - self._ends[i], order)
        return found.reshape(*s.shape, self.dof)


def _speeds(curve: _Curve, grid: FloatArray, limits: MotionLimits) -> FloatArray:
    """The fastest ds/dt at points of a curve, from rest to rest."""
    try:
        from toppra import algorithm, constraint
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"times need toppra: no module {error.name!r}: pip install 'superovoid[plan]'"
        ) from error
    constraints = [
        constraint.JointVelocityConstraint(np.column_stack([-limits.velocity, limits.velocity])),
        constraint.JointAccelerationConstraint(np.column_stack([-limits.acceleration, limits.acceleration])),
    ]
    solver = algorithm.TOPPRA(constraints, curve, gridpoints=grid, solver_wrapper="seidel")
    solver.compute_parameterization(0.0, 0.0)
    speed = solver.problem_data.sd_vec
    if speed is None or not np.isfinite(speed).all() or not (speed[:-1] + speed[1:] > 0.0).all():
        raise PlanningError("no times were found for the path: toppra gave up")
    return np.asarray(speed, dtype=float)


def _excess(time: FloatArray, q: FloatArray, v: FloatArray, limits: MotionLimits) -> float:
    """By what a trajectory has to be slower so that its cubic polynomials keep the limits, at least 1.

    The acceleration of a cubic polynomial is linear, so largest at an end; its speed is largest at an end or where the
    acceleration is zero.
    """
    h = np.diff(time)[:, None]
    slope = np.diff(q, axis=0) / h
    begin, end = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h, (4.0 * v[1:] + 2.0 * v[:-1] - 6.0 * slope) / h
    change = end - begin
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(change != 0.0, -begin / change, 0.0)
    at = np.clip(np.nan_to_num(at), 0.0, 1.0)
    inner = v[:-1] + h * (begin * at + 0.5 * change * at**2)
    fastest = np.maximum(np.abs(v).max(axis=0), np.abs(inner).max(axis=0)) / limits.velocity
    hardest = np.maximum(np.abs(begin), np.abs(end)).max(axis=0) / limits.acceleration
    return max(1.0, float(fastest.max()), math.sqrt(float(hardest.max())))


def along(problem: PlanningProblem, trajectory: Trajectory, spacing: float) -> FloatArray:
    """States along a trajectory as it is interpolated, its points among them, shape (k, joints).

    Parameters
    ----------
    problem : PlanningProblem
        Of the joints of the trajectory.
    trajectory : Trajectory
    spacing : float
        Largest distance between two of the states, m in the metric of the weights, as far as the trajectory goes
        straight between its points.
    """
    if not spacing > 0.0:
        raise ValueError(f"spacing = {spacing!r}: must be positive")
    times = [trajectory.times[-1:]]
    for k, length in enumerate(np.diff(problem.along(trajectory.positions)).tolist()):
        count = max(1, math.ceil(length / spacing))
        times.append(np.linspace(trajectory.times[k], trajectory.times[k + 1], count, endpoint=False))
    return trajectory.at(np.sort(np.concatenate(times)))


def check_trajectory(problem: PlanningProblem, validity: Validity, trajectory: Trajectory) -> MotionCheck:
    """Prove of a trajectory, as it is interpolated, that it keeps all pairs of a problem above their floors.

    Parameters
    ----------
    problem : PlanningProblem
        Of the joints of the trajectory; its obstacles need not be those that the trajectory was made among.
    validity : Validity
        Where distances come from.
    trajectory : Trajectory

    Raises
    ------
    ValueError
        If it is of other joints.
    """
    if trajectory.joints != problem.joints:
        raise ValueError(f"trajectory: of joints {', '.join(trajectory.joints)}, expected {', '.join(problem.joints)}")
    validator = MotionValidator(problem, validity)
    if len(trajectory.times) == 1:
        return validator.check_state(trajectory.positions[0])
    off = _off_the_chords(problem, trajectory, _inner_points(trajectory))
    return validator.check_path(trajectory.positions, problem.floors + off @ problem.speeds.T)


def _inner_points(trajectory: Trajectory) -> FloatArray:
    """The two inner Bezier points of each cubic polynomial, shape (2, n - 1, joints)."""
    q, v, h = trajectory.positions, trajectory.velocities, np.diff(trajectory.times)[:, None]
    return np.stack([q[:-1] + h / 3.0 * v[:-1], q[1:] - h / 3.0 * v[1:]])


def _off_the_chords(problem: PlanningProblem, trajectory: Trajectory, points: FloatArray) -> FloatArray:
    """How far each joint is at most from the straight motion between two points of a trajectory, shape (n - 1, joints).

    A cubic polynomial lies in the hull of its Bezier points, of which the outer two are on that motion.
    """
    first, last = trajectory.positions[:-1], trajectory.positions[1:]
    chord = (last - first) * problem.weights
    square = np.maximum((chord**2).sum(axis=1, keepdims=True), 1e-300)
    off = np.zeros_like(first)
    for point in points:
        part = np.clip((((point - first) * problem.weights) * chord).sum(axis=1, keepdims=True) / square, 0.0, 1.0)
        off = np.maximum(off, np.abs(point - first - part * (last - first)))
    return off


def _first_not_proved(
    problem: PlanningProblem, validator: MotionValidator, trajectory: Trajectory, corner: IntArray
) -> int | None:
    """The corner of a motion of which no proof was found, if there is one.

    What a polynomial may be off its chord, the straight motion has to keep beside the floors. On a straight motion of
    the path there is nothing to be proved again: the points lie on it.
    """
    q = trajectory.positions
    points = _inner_points(trajectory)
    outside = ((points < problem.lower - 1e-9) | (points > problem.upper + 1e-9)).any(axis=(0, 2)) & (corner >= 0)
    if outside.any():
        return int(corner[np.argmax(outside)])
    off = _off_the_chords(problem, trajectory, points)
    straight = corner < 0
    if ((off * problem.weights)[straight] > _ON_THE_LINE).any():
        raise PlanningError("the trajectory leaves the straight motions of its path")  # never seen
    for at in np.unique(corner[~straight]):
        rows = np.flatnonzero(corner == at)
        floors = problem.floors + off[rows] @ problem.speeds.T
        if not validator.is_path_valid(q[rows[0] : rows[-1] + 2], floors):
            return int(at)
    return None

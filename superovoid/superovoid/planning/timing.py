# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute the timing of a path: as fast as the joint limits allow (TOPP-RA), and proved as it is executed.

Corners of the path are rounded if the rounding is proved free of contact; at the others, the motion stops. A rounding
is a polynomial of degree 5 that joins the straight motions with their direction and zero curvature: its Bezier points
are c - l u, c - 0.6 l u, c - 0.2 l u, c + 0.2 l v, c + 0.6 l v, c + l v with the corner c, the length l, and the
directions u, v of the motions before and after it. TOPP-RA (Pham, Pham 2018; the library toppra) finds the fastest
speed along the path. Between the points of a trajectory, joints follow the cubic polynomials through positions and
velocities, as joint_trajectory_controller interpolates; the proof and the limits hold for these polynomials. Those
through accelerations too are of degree 5, and are proved alike (`check_trajectory`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.planning.motion_check import MotionCheck, MotionValidator
from superovoid.planning.problem import AT_LIMIT, FloatArray, IntArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Validity
from superovoid.robot import Robot
from superovoid.values.checks import floats
from superovoid.values.records import Statistics

DEFAULT_LIMIT = 1.0
"""Default limit as in MoveIt, for joints without a known one: rad/s and rad/s^2, m/s and m/s^2."""
_PARTS = 16  # intervals per rounding
_ROUNDINGS = 1.0, 0.5, 0.25, 0.125, 0.0625  # fractions of the longest rounding to try
_BLEND = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0])
_SPACING = 0.05  # m in the metric of the weights, between points on straight motions
_FEWEST, _MOST = 8, 60  # intervals per straight motion
_ON_THE_LINE = 1e-9  # m, tolerance
_SHORT = 1e-8  # rad or m, of each joint
_BENT = 0.002  # m in the metric of the weights, deviation from the straight motion beyond which a polynomial is halved
_MOST_HALVINGS = 8
_AHEAD = 0.05  # rad or m, how much farther from a late robot the polynomial that it follows may be than others


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Maximum speeds and accelerations of planned joints, shape (joints,): rad/s or m/s, rad/s^2 or m/s^2."""

    velocity: FloatArray
    acceleration: FloatArray

    def __post_init__(self) -> None:
        for name in ("velocity", "acceleration"):
            values = np.array(getattr(self, name), dtype=float)
            if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0.0).all()):
                raise ValueError(f"{name} = {values}: must be positive and finite, one per joint")
            object.__setattr__(self, name, values)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A timed motion; between its points each joint follows the polynomial through positions and velocities.

    Its degree is 3, or 5 if it passes through accelerations too.

    Raises
    ------
    ValueError
        If a joint occurs twice, times do not ascend, an array has another shape, or a number is not finite.
    """

    joints: tuple[str, ...]
    times: FloatArray
    """Shape (n,), s, ascending; not negative."""
    positions: FloatArray
    """Shape (n, joints), rad or m."""
    velocities: FloatArray
    """Shape (n, joints), rad/s or m/s."""
    stops: int = 0
    """Number of corners of the path at which the motion comes to rest."""
    accelerations: FloatArray | None = None
    """Shape (n, joints), rad/s^2 or m/s^2; planned motions have none."""

    def __post_init__(self) -> None:
        if len(set(self.joints)) < len(self.joints):
            raise ValueError(f"joints: {', '.join(self.joints)}: must not repeat a joint")
        rows = len(self.times), len(self.joints)
        for name in ("times", "positions", "velocities", "accelerations"):
            value, expected = getattr(self, name), rows[:1] if name == "times" else rows
            if value is None and name == "accelerations":
                continue
            array = floats(name, value)
            if array.shape != expected:
                raise ValueError(f"{name}: shape {array.shape}, expected {expected}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name}: must be finite")
            object.__setattr__(self, name, array)
        if not (rows[0] and self.times[0] >= 0.0 and (np.diff(self.times) > 0.0).all()):
            raise ValueError(f"times = {self.times}: must ascend, and not be negative")

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.times[-1])

    def remaining(self, time: float, state: ArrayLike) -> Trajectory:
        """Return the rest of the motion of a robot that may lag behind it.

        The rest begins with the first polynomial, of those begun by that time, that comes near the state. A motion may
        come there several times, and the robot may be later than it should be.

        Parameters
        ----------
        time : float
            Time since the start, s.
        state : array_like, shape (joints,)
            Positions of the joints, rad or m.
        """
        begun = slice(max(1, int(np.searchsorted(self.times, time, side="right"))))
        if len(self.times) == 1:
            return self
        points = self._bezier_points[:, begun]
        at = np.asarray(state, dtype=float)
        # A polynomial lies in the box around its Bezier points.
        off = np.maximum(points.min(axis=0) - at, at - points.max(axis=0)).max(axis=1, initial=0.0)
        return self.points(slice(int(np.argmax(off <= off.min() + _AHEAD)), None))

    @property
    def _bezier_points(self) -> FloatArray:
        """Bezier points of the polynomials, shape (points, n - 1, joints)."""
        return np.concatenate([self.positions[None, :-1], _inner_points(self), self.positions[None, 1:]])

    def points(self, rows: slice) -> Trajectory:
        """Return the motion between some of the points, with their times."""
        return replace(
            self,
            times=self.times[rows],
            positions=self.positions[rows],
            velocities=self.velocities[rows],
            accelerations=None if self.accelerations is None else self.accelerations[rows],
        )

    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Return positions at times, or velocities (1) or accelerations (2), shape (..., joints)."""
        within = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        if len(self.times) == 1:
            return np.broadcast_to(self.positions[0] * (derivative == 0), (*within.shape, len(self.joints))).copy()
        piece = np.clip(np.searchsorted(self.times, within, side="right") - 1, 0, len(self.times) - 2)
        length = np.diff(self.times)[piece][..., None]
        part = (within - self.times[piece])[..., None] / length
        # Bezier points of the polynomials; the algorithm of de Casteljau is exact at their ends.
        points = self._bezier_points[:, piece]
        for _ in range(derivative):
            points = (len(points) - 1) * np.diff(points, axis=0) / length
        while len(points) > 1:
            points = (1.0 - part) * points[:-1] + part * points[1:]
        return np.asarray(points[0])


def motion_limits(
    robot: Robot,
    joints: Sequence[str],
    joint_limits: Mapping[str, Mapping[str, object]] | None = None,
    *,
    velocity_scale: float = 1.0,
    acceleration_scale: float = 1.0,
) -> MotionLimits:
    """Return the limits of joints from the URDF and MoveIt's joint_limits.yaml.

    Parameters
    ----------
    robot : Robot
        Robot whose URDF gives maximum velocities.
    joints : sequence of str
        Independent joints. Limits of joints that mimic them are respected too.
    joint_limits : mapping, optional
        The entry ``joint_limits`` of that file: joint -> has_velocity_limits, max_velocity,
        has_acceleration_limits, max_acceleration. Its velocities replace those of the URDF.
    velocity_scale, acceleration_scale : float
        Fractions of the limits to use, above 0 and at most 1.

    Returns
    -------
    MotionLimits
        Limits of the joints; `DEFAULT_LIMIT` if none is known.

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
            raise ValueError(f"joints: '{joint}' is not an independent joint of '{robot.name}'")
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
    """Return the maximum velocity and acceleration of a joint."""
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
    """Compute the timing of a path.

    Parameters
    ----------
    problem : PlanningProblem
        Problem of the path.
    validity : Validity
        Answers the distance queries.
    path : array_like, shape (k, joints)
        Path of proved straight motions (`find_path`, `MotionValidator`).
    limits : MotionLimits
        Limits of the problem's joints.
    accept : callable, optional
        Returns whether a state satisfies additional conditions; called at points of the roundings.

    Returns
    -------
    Trajectory
        Begins and ends at rest. As interpolated, it is proved to keep all pairs above their floors, and it respects
        the limits.

    Raises
    ------
    PlanningError
        If no timing is found.
    ValueError
        If the path or the limits do not match the problem.
    ModuleNotFoundError
        If toppra is missing.
    """
    corners = problem.check_path(path)
    if len(limits.velocity) != len(problem.joints) or len(limits.acceleration) != len(problem.joints):
        raise ValueError(f"limits: expected those of {len(problem.joints)} joints")
    validator = MotionValidator(problem, validity)
    corners = _drop_short_motions(problem, validator, corners)
    if len(corners) == 1:
        return Trajectory(problem.joints, np.zeros(1), corners, np.zeros_like(corners), 0)
    lengths = np.diff(problem.path_lengths(corners))
    rounding = np.zeros(len(corners))  # the length l of each corner
    for k in range(1, len(corners) - 1):
        longest = 0.5 * min(lengths[k - 1], lengths[k])
        around = corners[k - 1 : k + 2]
        tried = (part * longest for part in _ROUNDINGS)
        rounding[k] = next((length for length in tried if _is_free(problem, validator, around, length, accept)), 0.0)
    while True:
        pieces = _pieces(problem, corners, rounding)
        trajectory, corner = _parameterise(problem, pieces, limits)
        failed = _first_unproved_corner(problem, validator, trajectory, corner)
        if failed is None:
            return trajectory
        rounding[failed] = 0.0


def _drop_short_motions(problem: PlanningProblem, validator: MotionValidator, path: FloatArray) -> FloatArray:
    """Drop states that end motions too short to be timed, if the motions that replace them are proved.

    If the whole path is that short, return its first state.
    """
    kept = path[:1]
    for k in range(1, len(path)):
        if np.abs(path[k] - kept[-1]).max() > _SHORT:
            kept = np.concatenate([kept, path[k : k + 1]])
        elif k < len(path) - 1 and not validator.is_valid(kept[-1], path[k + 1]):
            kept = np.concatenate([kept, path[k : k + 1]])
        elif k == len(path) - 1 and len(kept) > 1:
            without = kept[:-1] if validator.is_valid(kept[-2], path[k]) else kept
            kept = np.concatenate([without, path[k:]])
    return kept


def _bezier(problem: PlanningProblem, corner: FloatArray, length: float) -> FloatArray:
    """Return the Bezier points of the rounding of a corner (3 states), shape (6, joints)."""
    before, at, behind = corner
    u, v = (at - before) / problem.length([before, at]), (behind - at) / problem.length([at, behind])
    return at + length * _BLEND[:, None] * np.where(_BLEND[:, None] < 0.0, u, v)


def _powers(points: FloatArray) -> FloatArray:
    """Convert a Bezier curve of degree 5 to the coefficients of powers of its parameter, shape (6, joints)."""
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
    """Return whether the rounding of a corner is proved free of contact.

    A curve deviates from the chord over a parameter interval h by at most h^2 / 8 times its second derivative.
    """
    points = _bezier(problem, corner, length)
    t = np.linspace(0.0, 1.0, _PARTS + 1)[:, None]
    states = sum(math.comb(5, i) * t**i * (1.0 - t) ** (5 - i) * points[i] for i in range(6))
    states = np.clip(states, *problem.limits)
    off = 20.0 * np.abs(np.diff(points, 2, axis=0)).max(axis=0) / (8.0 * _PARTS**2)
    floors = np.broadcast_to(problem.floors + problem.relative_motions(off), (_PARTS, len(problem.pairs)))
    if accept is not None and not all(accept(state) for state in states):
        return False
    return validator.is_path_valid(states, floors)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A part of a path for s from 0 to `length`: a polynomial in s / length with coefficients (powers, joints)."""

    length: float
    powers: FloatArray
    corner: int
    """Index of the corner that it rounds; -1 for a straight piece."""
    stops: bool
    """Whether the motion comes to rest at its end."""

    def evaluate(self, s: FloatArray, order: int) -> FloatArray:
        """Return the piece or its derivative of this order with respect to s, shape (n, joints)."""
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


def _parameterise(
    problem: PlanningProblem, pieces: Sequence[_Piece], limits: MotionLimits
) -> tuple[Trajectory, IntArray]:
    """Return the trajectory along pieces, and the corner that each of its motions rounds, -1 for a straight one."""
    runs: list[list[_Piece]] = [[]]
    for piece in pieces:
        runs[-1].append(piece)
        if piece.stops:
            runs.append([])
    runs = [run for run in runs if run]
    time, corners = np.zeros(1), []
    first = pieces[0].evaluate(np.zeros(1), 0)
    positions, velocities = [first], [np.zeros_like(first)]
    for run in runs:
        counts = [
            _PARTS if piece.corner >= 0 else int(np.clip(piece.length / _SPACING, _FEWEST, _MOST)) for piece in run
        ]
        # The absolute tolerances of toppra suit a curve along which the fastest joint has about the speed 1.
        ways = [float(np.abs(np.diff(piece.evaluate(np.array([0.0, piece.length]), 0), axis=0)).max()) for piece in run]
        unit = math.fsum(piece.length for piece in run) / math.fsum(ways)
        run = [replace(piece, length=piece.length / unit) for piece in run]
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
    slower = _slowdown(time, q, v, limits)
    return Trajectory(problem.joints, time * slower, q, v / slower, len(runs) - 1), np.concatenate(corners)


class _Curve:
    """Pieces joined to one curve with the path interface of toppra; called with s and the order of the derivative."""

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
            found[rows] = self._pieces[i].evaluate(flat[rows] - self._ends[i], order)
        return found.reshape(*s.shape, self.dof)


def _speeds(curve: _Curve, grid: FloatArray, limits: MotionLimits) -> FloatArray:
    """Return the fastest ds/dt at points of a curve, from rest to rest."""
    try:
        from toppra import algorithm, constraint
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"timing needs toppra: no module {error.name!r}: pip install 'superovoid[plan]'", name=error.name
        ) from error
    constraints = [
        constraint.JointVelocityConstraint(np.column_stack([-limits.velocity, limits.velocity])),
        constraint.JointAccelerationConstraint(np.column_stack([-limits.acceleration, limits.acceleration])),
    ]
    solver = algorithm.TOPPRA(constraints, curve, gridpoints=grid, solver_wrapper="seidel")
    solver.compute_parameterization(0.0, 0.0)
    speed = solver.problem_data.sd_vec
    if speed is None or not np.isfinite(speed).all() or not (speed[:-1] + speed[1:] > 0.0).all():
        raise PlanningError("toppra found no timing for the path")
    return np.asarray(speed, dtype=float)


def _slowdown(time: FloatArray, q: FloatArray, v: FloatArray, limits: MotionLimits) -> float:
    """Return the factor, at least 1, to slow a trajectory down so that its cubic polynomials respect the limits.

    The acceleration of a cubic polynomial is linear, so it is largest at an end; the speed is largest at an end or
    where the acceleration is zero.
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


def states_along(problem: PlanningProblem, trajectory: Trajectory, spacing: float) -> FloatArray:
    """Return states along a trajectory as interpolated, including its points, shape (k, joints).

    Parameters
    ----------
    problem : PlanningProblem
        Problem with the joints of the trajectory.
    trajectory : Trajectory
    spacing : float
        Largest distance between neighbouring states, m in the metric of the weights, measured on the straight lines
        between the trajectory's points.
    """
    if not spacing > 0.0:
        raise ValueError(f"spacing = {spacing!r}: must be positive")
    times = [trajectory.times[-1:]]
    for k, length in enumerate(np.diff(problem.path_lengths(trajectory.positions)).tolist()):
        count = max(1, math.ceil(length / spacing))
        times.append(np.linspace(trajectory.times[k], trajectory.times[k + 1], count, endpoint=False))
    return trajectory.evaluate(np.sort(np.concatenate(times)))


def check_trajectory(problem: PlanningProblem, validity: Validity, trajectory: Trajectory) -> MotionCheck:
    """Check whether a trajectory, as interpolated, is proved to keep the limits and all pairs above their floors.

    Parameters
    ----------
    problem : PlanningProblem
        Problem with the joints of the trajectory; its obstacles may differ from those at planning time.
    validity : Validity
        Answers the distance queries.
    trajectory : Trajectory

    Raises
    ------
    ValueError
        If the trajectory has other joints.
    """
    if trajectory.joints != problem.joints:
        raise ValueError(f"trajectory: joints {', '.join(trajectory.joints)}: must be {', '.join(problem.joints)}")
    validator = MotionValidator(problem, validity)
    if len(trajectory.times) == 1:
        return validator.check_state(trajectory.positions[0])
    trajectory = _refine(problem, trajectory)
    points = _inner_points(trajectory)
    outside = _find_violations(problem, points)
    if outside.any():
        return MotionCheck(False, Statistics(states=0), trajectory.positions[int(np.argmax(outside))])
    off = _chord_deviations(problem, trajectory, points)
    return validator.check_path(trajectory.positions, problem.floors + problem.relative_motions(off))


def _refine(problem: PlanningProblem, trajectory: Trajectory) -> Trajectory:
    """Return the same motion with further points between those from whose straight motion it deviates much."""
    for _ in range(_MOST_HALVINGS):
        off = _chord_deviations(problem, trajectory, _inner_points(trajectory))
        bent = np.flatnonzero(((off * problem.weights) > _BENT).any(axis=1))
        if not len(bent):
            break
        middle = 0.5 * (trajectory.times[bent] + trajectory.times[bent + 1])
        names = ("positions", "velocities", "accelerations")[: 2 if trajectory.accelerations is None else 3]
        rows = {
            name: np.insert(getattr(trajectory, name), bent + 1, trajectory.evaluate(middle, derivative), axis=0)
            for derivative, name in enumerate(names)
        }
        trajectory = replace(trajectory, times=np.insert(trajectory.times, bent + 1, middle), **rows)
    return trajectory


def _inner_points(trajectory: Trajectory) -> FloatArray:
    """Return the inner Bezier points of each polynomial, two or four, shape (points, n - 1, joints)."""
    q, v, a, h = (
        trajectory.positions, trajectory.velocities, trajectory.accelerations, np.diff(trajectory.times)[:, None],
    )  # fmt: skip
    if a is None:
        return np.stack([q[:-1] + h / 3.0 * v[:-1], q[1:] - h / 3.0 * v[1:]])
    begin, end = h / 5.0 * v[:-1], h / 5.0 * v[1:]
    middle = [q[:-1] + 2.0 * begin + h**2 / 20.0 * a[:-1], q[1:] - 2.0 * end + h**2 / 20.0 * a[1:]]
    return np.stack([q[:-1] + begin, *middle, q[1:] - end])


def _find_violations(problem: PlanningProblem, points: FloatArray) -> NDArray[np.bool_]:
    """Return which polynomials have an inner Bezier point beyond a limit, shape (n - 1,)."""
    beyond: NDArray[np.bool_] = ~((points >= problem.lower - AT_LIMIT) & (points <= problem.upper + AT_LIMIT))
    return np.logical_or.reduce(beyond, axis=(0, 2))


def _chord_deviations(problem: PlanningProblem, trajectory: Trajectory, points: FloatArray) -> FloatArray:
    """Return bounds of each joint's deviation from the straight motion between points, shape (n - 1, joints).

    A polynomial lies in the convex hull of its Bezier points; the outer two are ends of the straight motion.
    """
    first, last = trajectory.positions[:-1], trajectory.positions[1:]
    chord = (last - first) * problem.weights
    square = np.maximum((chord**2).sum(axis=1, keepdims=True), 1e-300)
    off = np.zeros_like(first)
    for point in points:
        part = np.clip((((point - first) * problem.weights) * chord).sum(axis=1, keepdims=True) / square, 0.0, 1.0)
        off = np.maximum(off, np.abs(point - first - part * (last - first)))
    return off


def _first_unproved_corner(
    problem: PlanningProblem, validator: MotionValidator, trajectory: Trajectory, corner: IntArray
) -> int | None:
    """Return the corner of the first motion that could not be proved; None if all are proved.

    Each straight motion must exceed the floors by the deviation of the polynomial from its chord. Straight motions of
    the path need no new proof, because the points lie on them.
    """
    q = trajectory.positions
    points = _inner_points(trajectory)
    outside = _find_violations(problem, points) & (corner >= 0)
    if outside.any():
        return int(corner[np.argmax(outside)])
    off = _chord_deviations(problem, trajectory, points)
    straight = corner < 0
    if ((off * problem.weights)[straight] > _ON_THE_LINE).any():
        raise PlanningError("the trajectory leaves the straight motions of its path")  # a safeguard; not known to occur
    for at in np.unique(corner[~straight]):
        rows = np.flatnonzero(corner == at)
        floors = problem.floors + problem.relative_motions(off[rows])
        if not validator.is_path_valid(q[rows[0] : rows[-1] + 2], floors):
            return int(at)
    return None

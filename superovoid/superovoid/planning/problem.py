# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planning problem: joints to move, obstacles, and which pairs may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot import Robot
from superovoid.scene import Body
from superovoid.values.checks import floats, number

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST_WEIGHT = 0.01  # of a joint in the metric, relative to the largest
AT_LIMIT = 1e-9
"""rad or m. A position that exceeds a limit by at most this counts as at the limit."""


class PlanningError(RuntimeError):
    """No answer was found; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """Joints of a robot among obstacles. A state is an array of the positions of `joints`, rad or m.

    Contact is **wanted** for the pairs in `wanted`: they may come arbitrarily near but must not overlap. It is
    **unwanted** for all other pairs that the robot's rules check, and for every other pair of a link and an obstacle:
    these stay at least `clearance` apart.
    """

    robot: Robot
    joints: tuple[str, ...]
    """Independent joints to plan; each needs finite limits or a range."""
    positions: Mapping[str, float]
    """Positions of the other joints, which do not move."""
    base_poses: Mapping[str, FloatArray] = field(default_factory=dict)
    """root_from_link of the robot's floating bases, which do not move."""
    obstacles: tuple[Body, ...] = ()
    """Bodies on links that the robot does not have; these links are fixed at the root frame."""
    wanted: tuple[tuple[str, str], ...] = ()
    """Pairs of links, groups or obstacle links."""
    clearance: float = 0.001
    """Minimum distance of pairs with unwanted contact, m."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Narrower limits of some of the `joints`, rad or m; they reduce the search space of a planner."""

    def __post_init__(self) -> None:
        robot = self.robot
        for name in ("joints", "obstacles", "wanted"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "positions", robot.by_name(self.positions))
        if not self.joints:
            raise ValueError("joints: is empty, expected at least one")
        for joint in self.joints:
            if joint not in robot.joint_names:
                raise ValueError(
                    f"joints: '{joint}' is not an independent joint of '{robot.name}' ({', '.join(robot.joint_names)})"
                )
            if not np.isfinite(self.ranges.get(joint, robot.joint_limits[joint])).all():
                raise ValueError(f"joints: '{joint}' has no limits: must have finite limits or a range")
        if len(set(self.joints)) < len(self.joints):
            raise ValueError(f"joints: {', '.join(self.joints)}: must not repeat a joint")
        if number("clearance", self.clearance, "metres") < 0.0:
            raise ValueError(f"clearance = {self.clearance!r}: must be at least 0 (metres)")
        for joint, (low, high) in self.ranges.items():
            if joint not in self.joints:
                raise ValueError(f"ranges: '{joint}' is not one of the planned joints ({', '.join(self.joints)})")
            lower, upper = robot.joint_limits[joint]
            if not lower - AT_LIMIT <= low < high <= upper + AT_LIMIT:
                raise ValueError(f"ranges: {joint}: {low:g} to {high:g}: must ascend within [{lower:g}, {upper:g}]")
        for body in self.obstacles:
            if body.link in robot.links:
                raise ValueError(f"obstacles: '{body.name}' is on link '{body.link}': must not be a link of the robot")
        # Raises ValueError if positions of joints or bases are missing.
        robot.forward_kinematics(self.positions_at(self.lower), self.base_poses)
        wanted = self.wanted_pairs
        for row, (a, b) in zip(wanted, self.wanted, strict=True):
            if not row.any():
                raise ValueError(f"wanted: ('{a}', '{b}'): no pair of them is checked; see Robot.exclusion_reason")

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Bodies of the robot, then the obstacles."""
        return (*self.robot.bodies, *self.obstacles)

    @cached_property
    def pairs(self) -> IntArray:
        """All checked pairs, shape (n, 2), indices into `bodies`."""
        robot, count = self.robot.body_pairs(), len(self.robot.bodies)
        others = [(i, count + j) for i in range(count) for j in range(len(self.obstacles))]
        return np.concatenate([robot, np.array(others, dtype=int).reshape(-1, 2)]).astype(np.int64)

    def pair_of(self, body_a: IntArray, body_b: IntArray) -> IntArray:
        """Return the index into `pairs` of two bodies in either order, shape (n,); -1 if it is not a pair."""
        keys, order = self._keys
        wanted = np.minimum(body_a, body_b) * len(self.bodies) + np.maximum(body_a, body_b)
        if not len(keys):
            return np.full(wanted.shape, -1, dtype=np.int64)
        row = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[row] == wanted, order[row], -1)

    @cached_property
    def _keys(self) -> tuple[IntArray, IntArray]:
        """Sorted integer keys of the pairs, and the pairs in that order."""
        keys = self.pairs.min(axis=1) * len(self.bodies) + self.pairs.max(axis=1)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @cached_property
    def wanted_pairs(self) -> NDArray[np.bool_]:
        """Mask of the `pairs` in each entry of `wanted`, shape (len(wanted), n)."""
        links = np.array([body.link for body in self.bodies], dtype=object)[self.pairs]
        table = np.zeros((len(self.wanted), len(self.pairs)), dtype=bool)
        for row, (a, b) in enumerate(self.wanted):
            of_a, of_b = (np.isin(links, self._links_of(name)) for name in (a, b))
            table[row] = (of_a[:, 0] & of_b[:, 1]) | (of_b[:, 0] & of_a[:, 1])
        return table

    @cached_property
    def is_wanted(self) -> NDArray[np.bool_]:
        """Mask of the `pairs` with wanted contact, shape (n,)."""
        return np.any(self.wanted_pairs, axis=0)

    @cached_property
    def floors(self) -> FloatArray:
        """Distance that each of `pairs` must exceed, shape (n,), m."""
        return np.where(self.is_wanted, 0.0, self.clearance)

    @cached_property
    def limits(self) -> FloatArray:
        """Lower and upper limits of the joints, shape (2, joints)."""
        return np.array([self.ranges.get(joint, self.robot.joint_limits[joint]) for joint in self.joints]).T

    @property
    def lower(self) -> FloatArray:
        """Lower limits."""
        return self.limits[0]

    @property
    def upper(self) -> FloatArray:
        """Upper limits."""
        return self.limits[1]

    @cached_property
    def columns(self) -> IntArray:
        """Indices of `joints` in `Robot.joint_names`."""
        return np.array([self.robot.joint_names.index(joint) for joint in self.joints])

    @cached_property
    def speeds(self) -> FloatArray:
        """Bounds of the closing speed of each pair per unit joint speed, shape (n, joints), m/rad or m/m.

        They hold for planned joints within `limits` and for the others at `positions`, which may be beyond the robot's
        limits.
        """
        at_rest = {joint: (position, position) for joint, position in self.positions.items()}
        # Trajectories may exceed the limits by rounding.
        planned = self.limits + np.array([[-AT_LIMIT], [AT_LIMIT]])
        ranges = {**at_rest, **dict(zip(self.joints, planned.T.tolist(), strict=True))}
        return self.robot.relative_speeds(self.bodies, self.pairs, ranges)[:, self.columns]

    @cached_property
    def _are_speeds_finite(self) -> bool:
        return bool(np.isfinite(self.speeds).all())

    def relative_motions(self, changes: ArrayLike) -> FloatArray:
        """Return upper bounds of the change of each pair's distance while the joints move.

        Parameters
        ----------
        changes : array_like, shape (..., joints)
            Changes of the joints' positions, rad or m.

        Returns
        -------
        array, shape (..., n)
            m, infinite where it is not bounded.
        """
        if self._are_speeds_finite:
            return np.abs(changes) @ self.speeds.T
        with np.errstate(invalid="ignore"):
            bounds = np.abs(changes) @ self.speeds.T
        return np.where(np.isnan(bounds), np.inf, bounds)  # 0 * inf

    @cached_property
    def weights(self) -> FloatArray:
        """Metres per unit of each joint, shape (joints,): the farthest that it moves any body relative to another.

        Joints that hardly move any have a hundredth of the largest, or 1 if no joint moves any, so that the length of
        a path counts their motion too.
        """
        farthest = self.speeds.max(axis=0, initial=0.0)
        return np.maximum(farthest, _LEAST_WEIGHT * farthest.max(initial=0.0) or 1.0)

    def length(self, path: ArrayLike) -> float:
        """Return the length of a path (k, joints) in the metric of `weights`, m."""
        return float(self.path_lengths(path)[-1])

    def path_lengths(self, path: ArrayLike) -> FloatArray:
        """Return the length of a path (k, joints) up to each of its states, shape (k,), m."""
        steps = np.linalg.norm(np.diff(np.asarray(path, dtype=float), axis=0) * self.weights, axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def positions_at(self, state: ArrayLike) -> dict[str, float]:
        """Return the positions of all independent joints at a state."""
        return {**self.positions, **dict(zip(self.joints, np.asarray(state, dtype=float).tolist(), strict=True))}

    def joint_positions(self, states: ArrayLike) -> FloatArray:
        """Return the positions of all independent joints in many states, shape (states, `Robot.joint_names`)."""
        states = np.asarray(states, dtype=float)
        rows = np.tile(self._rest, (len(states), 1))
        rows[:, self.columns] = states
        return rows

    @cached_property
    def _rest(self) -> FloatArray:
        positions = self.positions_at(self.lower)
        return np.array([positions[joint] for joint in self.robot.joint_names])

    def state(self, positions: Mapping[str, float]) -> FloatArray:
        """Return the state given by a mapping of joint names.

        Raises
        ------
        ValueError
            If a planned joint is missing.
        """
        missing = [joint for joint in self.joints if joint not in positions]
        if missing:
            raise ValueError(f"positions: joint '{missing[0]}' is missing")
        return self.check_state("positions", [positions[joint] for joint in self.joints])

    def check_state(self, name: str, state: ArrayLike) -> FloatArray:
        """Check a state and return it as an array within the limits.

        Raises
        ------
        ValueError
            If it has another shape, is not finite, or is beyond a limit by more than rounding.
        """
        array = floats(name, state)
        if array.shape != (len(self.joints),):
            raise ValueError(f"{name}: shape {array.shape}, expected ({len(self.joints)},): {', '.join(self.joints)}")
        for joint, value, low, high in zip(self.joints, array, *self.limits, strict=True):
            if not low - AT_LIMIT <= value <= high + AT_LIMIT:
                raise ValueError(f"{name}: {joint} = {value:.6g}: must be in [{low:g}, {high:g}]")
        return np.clip(array, *self.limits)

    def check_margin(self, margin: float) -> float:
        """Return a margin, m; raise ValueError if it is less than the clearance."""
        if not margin >= self.clearance:
            raise ValueError(f"margin = {margin!r}: must be at least the clearance, {self.clearance} m")
        return margin

    def check_path(self, path: ArrayLike) -> FloatArray:
        """Return a path as an array (k, joints) within the limits, k at least 2; raise ValueError if it is not one."""
        array = floats("path", path)
        if array.ndim != 2 or len(array) < 2 or array.shape[1] != len(self.joints):
            raise ValueError(f"path: shape {array.shape}, expected (at least 2, {len(self.joints)})")
        return np.array([self.check_state(f"path[{k}]", state) for k, state in enumerate(array)])

    def name_of(self, pair: int) -> str:
        """Return the body names of a pair in `pairs`."""
        a, b = self.pairs[pair]
        return f"{self.bodies[a].name}, {self.bodies[b].name}"

    def _links_of(self, name: str) -> Sequence[str]:
        if any(body.link == name for body in self.obstacles):
            return [name]
        return self.robot.links_of([name])

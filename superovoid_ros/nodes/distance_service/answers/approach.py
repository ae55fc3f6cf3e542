# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Approach speeds of bodies, computed from distances and measured joint velocities. Does not use ROS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from superovoid.scene import SceneResult
from superovoid_ros.nodes.distance_service.robot_state.measured import States
from superovoid_ros.nodes.distance_service.world.model import Model

_ROUNDING = 1.0 - 1e-12  # factor on a time that is a quotient of a bound and a sum of bounds


class Approach:
    """Bounds on the relative speeds of the bodies of a model.

    Parameters
    ----------
    model
        Robot and objects.
    """

    def __init__(self, model: Model) -> None:
        self._robot, self._bodies = model.robot, model.scene.bodies
        self._ranges = np.array([self._robot.joint_limits[name] for name in self._robot.joint_names]).reshape(-1, 2)
        self._bounds = self._robot.relative_speed_bounds(self._bodies)

    def _extend_ranges(self, positions: np.ndarray) -> None:
        """Extend the ranges of positions for which the bounds hold, which are the joint limits at first."""
        low, high = self._ranges.T
        if not ((low <= positions) & (positions <= high)).all():
            self._ranges = np.column_stack([np.minimum(low, positions), np.maximum(high, positions)])
            by_joint = dict(zip(self._robot.joint_names, self._ranges.tolist(), strict=True))
            self._bounds = self._robot.relative_speed_bounds(self._bodies, by_joint)

    def seconds(self, result: SceneResult, positions: np.ndarray, velocities: np.ndarray) -> float:
        """Return a lower bound on the time until a pair touches, s.

        It holds if no joint moves faster than measured or beyond its limits, or farther beyond them than measured.

        Parameters
        ----------
        result
            The pairs.
        positions
            Positions of `Robot.joint_names` of the result, rad or m.
        velocities
            Velocities of `Robot.joint_names`, rad/s or m/s.
        """
        self._extend_ranges(positions)
        moving = velocities != 0.0  # a bound may be infinite
        bounds = self._bounds(np.column_stack([result.body_a, result.body_b]))
        speeds = bounds[:, moving] @ np.abs(velocities[moving])
        with np.errstate(divide="ignore", invalid="ignore"):
            seconds = np.where(result.lower > 0.0, result.lower / speeds, 0.0)
        return _ROUNDING * float(seconds.min())

    def closing_speed(self, closest: SceneResult, state: States, velocities: np.ndarray) -> float:
        """Return the rate at which the distance of the closest pair decreases, m/s.

        Parameters
        ----------
        closest
            Result with one row.
        state
            State at which the result was computed.
        velocities
            Velocities of `Robot.joint_names`, rad/s or m/s.
        """
        bodies = tuple(closest.bodies[i] for i in (int(closest.body_a[0]), int(closest.body_b[0])))
        row = replace(closest, body_a=np.array([0]), body_b=np.array([1]), bodies=bodies)
        gradients = self._robot.distance_gradients(row, state.positions[0], state.base_poses)
        return -float(gradients.by_joint[0] @ velocities)

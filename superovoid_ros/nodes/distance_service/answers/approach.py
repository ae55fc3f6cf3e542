# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Approach speeds of bodies, computed from distances and measured joint velocities. Does not use ROS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from superovoid.robot.planning_scene import OCTOMAP
from superovoid.scene import SceneResult
from superovoid_ros.nodes.distance_service.robot_state.measured import States
from superovoid_ros.nodes.distance_service.world.model import Model, Selection

_ROUNDING = 1.0 - 1e-12  # factor on a time that is a quotient of a bound and a sum of bounds


class Approach:
    """Bounds on the relative speeds of the pairs in a selection.

    Parameters
    ----------
    model
        Robot and objects.
    selection
        A selection of the model.
    """

    def __init__(self, model: Model, selection: Selection) -> None:
        self._model, self._count = model, len(model.scene.bodies)
        # The boxes of an octomap do not move, so one represents all.
        self._stands_for = np.arange(self._count)
        boxes = model.planning.bodies_of(OCTOMAP)
        self._stands_for[boxes] = boxes[:1]
        first, *crowds = selection.parts
        pairs = np.vstack([first, *(crowd[:1] for crowd in crowds)])
        self._keys, rows = np.unique(self._keys_of(*pairs.T), return_index=True)
        used, bodies = np.unique(pairs[rows], return_inverse=True)
        self._bodies, self._pairs = [model.scene.bodies[i] for i in used], bodies.reshape(-1, 2)
        self._limits = np.array([model.robot.joint_limits[name] for name in model.robot.joint_names]).reshape(-1, 2)
        self._ranges = np.empty((0, 2))  # of joint positions, for which `_speeds` hold
        self._speeds = np.empty((0, 0))

    def _speeds_at(self, positions: np.ndarray) -> np.ndarray:
        """Return bounds of relative speeds within the joint limits, extended to positions measured beyond them."""
        ranges = np.column_stack([np.minimum(self._limits[:, 0], positions), np.maximum(self._limits[:, 1], positions)])
        if not np.array_equal(ranges, self._ranges):
            robot = self._model.robot
            by_joint = dict(zip(robot.joint_names, ranges.tolist(), strict=True))
            self._ranges, self._speeds = ranges, robot.relative_speeds(self._bodies, self._pairs, by_joint)
        return self._speeds

    def _keys_of(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = self._stands_for[a], self._stands_for[b]
        return np.minimum(a, b) * self._count + np.maximum(a, b)

    def seconds(self, result: SceneResult, positions: np.ndarray, velocities: np.ndarray) -> float:
        """Return a lower bound on the time until a pair touches, s.

        It holds if no joint moves faster than measured or beyond its limits, or farther beyond them than measured.

        Parameters
        ----------
        result
            All pairs of the selection; for each body only the closest pair with the octomap.
        positions
            Positions of `Robot.joint_names` of the result, rad or m.
        velocities
            Velocities of `Robot.joint_names`, rad/s or m/s.
        """
        rows = np.searchsorted(self._keys, self._keys_of(result.body_a, result.body_b))
        moving = velocities != 0.0  # a bound may be infinite
        speeds = self._speeds_at(positions)[rows][:, moving] @ np.abs(velocities[moving])
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
        robot = self._model.robot
        gradients = robot.distance_gradients(row, state.positions[0], state.base_poses)
        return -float(gradients.by_joint[0] @ velocities)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of objects by the frames in which they were placed, if the robot does not carry these. No messages."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from superovoid.robot.planning_scene import PlanningScene
from superovoid.robot.scene_objects import SceneObject

_NOT_TURNED = 1e-12  # rad; largest rotation of a half-space that counts as none, since a half-space is infinite


class Place:
    """Objects whose poses refer to one frame at one pose of it; a query checks all of them at once."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.frame, self._before = things[0].outside_frame
        self.names = [thing.name for thing in things]
        self._owners = np.repeat(np.arange(len(things)), [len(thing.shapes) for thing in things])
        self._spheres = np.concatenate([_spheres(thing) for thing in things])

    def farthest_object(self, root_from_frame: np.ndarray, tolerance: float) -> tuple[str, float] | None:
        """Return an object that a motion of the frame moves by more than `tolerance`, and a bound on its motion, m."""
        if np.array_equal(root_from_frame, self._before):
            return None
        motion = root_from_frame @ np.linalg.inv(self._before)
        turned = motion[:3, :3] - np.eye(3)
        moved = np.linalg.norm(self._spheres[:, :3] @ turned.T + motion[:3, 3], axis=1)
        # |R - 1| = 2 sin(angle / 2), and the Frobenius norm of R - 1 is sqrt(2) times that.
        turn = float(np.linalg.norm(turned)) / np.sqrt(2.0)
        if not turn < _NOT_TURNED:
            moved += turn * self._spheres[:, 3]
        beyond = np.flatnonzero(~(moved <= tolerance))
        return (self.names[self._owners[beyond[0]]], float(moved[beyond[0]])) if len(beyond) else None


# A scene and its objects are immutable, so the results are cached for their lifetime.
_places_of: WeakKeyDictionary[PlanningScene, list[Place]] = WeakKeyDictionary()
_spheres_of: WeakKeyDictionary[SceneObject, np.ndarray] = WeakKeyDictionary()


def places(planning: PlanningScene) -> list[Place]:
    """Return the objects of a scene in frames outside the robot, grouped by frame and its pose."""
    known = _places_of.get(planning)
    if known is None:
        together: dict[tuple[str, bytes], list[SceneObject]] = {}
        for thing in planning.objects.values():
            if thing.outside_frame is not None:
                frame, before = thing.outside_frame
                together.setdefault((frame, before.tobytes()), []).append(thing)
        known = _places_of[planning] = [Place(things) for things in together.values()]
    return known


def _spheres(thing: SceneObject) -> np.ndarray:
    """Return the centres and radii of spheres around the shapes of an object, in the root frame, m, shape (n, 4)."""
    found = _spheres_of.get(thing)
    if found is None:
        spheres = [shape.bounding_sphere() for shape in thing.shapes]
        found = np.array([(*sphere.centre, sphere.radius) for sphere in spheres]).reshape(-1, 4)
        poses = thing.pose @ thing.object_from_shape
        found[:, :3] = (poses[:, :3, :3] @ found[:, :3, None])[..., 0] + poses[:, :3, 3]
        _spheres_of[thing] = found
    return found

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
    """Objects whose poses refer to one frame at one pose of it, in one ball."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.frame, self._before = things[0].outside_frame
        self.name = things[0].name
        spheres = np.concatenate([_spheres(thing) for thing in things])
        self._centre = spheres[:, :3].mean(axis=0)
        self._radius = float((np.linalg.norm(spheres[:, :3] - self._centre, axis=1) + spheres[:, 3]).max())

    def largest_motion(self, root_from_frame: np.ndarray) -> float:
        """Return a bound on the distance by which a motion of the frame moves a point of the objects, m."""
        if np.array_equal(root_from_frame, self._before):
            return 0.0
        motion = root_from_frame @ np.linalg.inv(self._before)
        turned = motion[:3, :3] - np.eye(3)
        # |R - 1| = 2 sin(angle / 2), and the Frobenius norm of R - 1 is sqrt(2) times that.
        turn = float(np.linalg.norm(turned)) / np.sqrt(2.0)
        moved = float(np.linalg.norm(turned @ self._centre + motion[:3, 3]))
        return moved if turn < _NOT_TURNED else moved + turn * self._radius


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

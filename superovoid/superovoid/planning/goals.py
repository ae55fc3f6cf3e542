# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of a planner: poses of links, regions of poses, ranges of joints, conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from superovoid.planning.problem import FloatArray
from superovoid.robot.reach import ORIENTATION, POSE, POSITION
from superovoid.shapes import Shape
from superovoid.shapes.poses import as_pose

PARTS = {"pose": POSE, "position": POSITION, "orientation": ORIENTATION}
_DRAWS = 200  # maximum number of attempts to draw a point within a shape


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A goal pose of a link."""

    link: str
    pose: FloatArray
    """root_from_link, shape (4, 4), m."""
    part: str = "pose"
    """Which part of the pose to reach: "pose", "position" (of the link's origin) or "orientation"."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", as_pose(f"pose of '{self.link}'", self.pose))
        if self.part not in PARTS:
            raise ValueError(f"part = {self.part!r}: must be one of {', '.join(PARTS)}")

    def draw(self, random: np.random.Generator | None) -> PoseGoal:
        """Return this goal."""
        return self


@dataclass(frozen=True, eq=False)
class PoseRegion:
    """Goal poses of a link: a point of the link lies in one of several shapes, its rotation is near a given one."""

    link: str
    rotation: FloatArray
    """root_from_link, shape (3, 3)."""
    shapes: Sequence[tuple[FloatArray, Shape]] = ()
    """Shapes, each with its pose root_from_shape (4, 4), m; without any, the point may be anywhere."""
    point: FloatArray = field(default_factory=lambda: np.zeros(3))
    """In the link's frame, shape (3,), m."""
    tolerances: FloatArray | None = None
    """Largest angles from `rotation`, shape (3,), rad; None for any rotation, `rotation` first."""
    axes: FloatArray | None = None
    """Rotation, shape (3, 3), into the link's frame at `rotation` from the frame of the rotation vector that
    `tolerances` limit; None: they limit angles about the rotating axes x, y, z."""

    def draw(self, random: np.random.Generator | None) -> PoseGoal:
        """Return a random pose of the region, or for None the middle of its first shape with `rotation`."""
        pose = np.eye(4)
        pose[:3, :3] = self._draw_rotation(random)
        if not self.shapes:
            return PoseGoal(self.link, pose, "orientation")
        pose[:3, 3] = self._draw_point(random) - pose[:3, :3] @ self.point
        is_free = self.tolerances is None and not np.any(self.point)
        return PoseGoal(self.link, pose, "position" if is_free else "pose")

    def _draw_rotation(self, random: np.random.Generator | None) -> FloatArray:
        if random is None:
            return self.rotation
        from scipy.spatial.transform import Rotation  # imported late because it is slow

        if self.tolerances is None:
            return np.asarray(Rotation.random(random_state=random).as_matrix())
        angles = random.uniform(-1.0, 1.0, 3) * np.minimum(self.tolerances, np.pi)
        if self.axes is None:
            return np.asarray(self.rotation @ Rotation.from_euler("XYZ", angles).as_matrix())
        return np.asarray(self.rotation @ Rotation.from_rotvec(self.axes @ angles).as_matrix())

    def _draw_point(self, random: np.random.Generator | None) -> FloatArray:
        if random is None:
            return self.shapes[0][0][:3, 3]
        pose, shape = self.shapes[int(random.integers(len(self.shapes)))]
        low, high = shape.aabb(np.eye(3))
        for _ in range(_DRAWS):
            point = random.uniform(low, high)
            if shape.contains(point):
                return np.asarray(pose[:3, :3] @ point + pose[:3, 3])
        return pose[:3, 3]


def any_state(state: FloatArray) -> bool:
    """Accept every state."""
    return True


@dataclass(frozen=True, eq=False)
class GoalRegion:
    """A general goal: poses of links, joints within ranges, additional conditions."""

    poses: Sequence[PoseGoal | PoseRegion] = ()
    """Poses to reach, all at once."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Ranges of joints at the goal, rad or m."""
    preferred: Mapping[str, float] = field(default_factory=dict)
    """Joint positions to try first; other joints begin at the start state."""
    accept: Callable[[FloatArray], bool] = field(default=any_state)
    """Returns whether a state satisfies additional conditions."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether what stands in frames of TF still is where it was put when it came."""

from __future__ import annotations

import numpy as np

from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state.transforms import TransformSource
from superovoid_ros.robot.planning_scene import PlanningScene, SceneObject

_NOT_TURNED = 1e-12  # rad; by so little a half-space may be turned: it reaches everywhere


def check_still(planning: PlanningScene, transforms: TransformSource, root: str, tolerance: float) -> None:
    """Raise `InputError` where TF has moved an object of the world by more than `tolerance` [m] since it was placed.

    Parameters
    ----------
    planning
        Its objects, with the frames outside of the robot that they were given in.
    transforms
        What TF says now.
    root
        What the frame that they are placed in is called on TF.
    tolerance
        m.
    """
    now: dict[str, np.ndarray] = {}
    for thing in planning.objects.values():
        if thing.given_in is None:
            continue
        frame, before = thing.given_in
        if frame not in now:
            try:
                now[frame] = transforms.lookup(root, frame).target_from_source
            except InputError as error:
                raise InputError(f"not ready: object '{thing.name}' stands in frame '{frame}', and {error}") from error
        if np.array_equal(now[frame], before):
            continue
        moved = _moved(thing, now[frame] @ np.linalg.inv(before))
        if not moved <= tolerance:
            raise InputError(
                f"not ready: object '{thing.name}' stands in frame '{frame}', which TF has moved against '{root}' "
                f"since it came, the object by {moved:.3g} m (frame_tolerance: {tolerance:g} m): send it anew, "
                f"or set planning_frame to a frame of the world, like '{frame}'"
            )


def _moved(thing: SceneObject, motion: np.ndarray) -> float:
    """Return how far a motion moves any point of an object [m], a bound of it."""
    reach = 0.0
    for shape in {id(shape): shape for shape in thing.shapes}.values():
        sphere = shape.bounding_sphere()
        reach = max(reach, float(np.linalg.norm(sphere.centre)) + sphere.radius)
    # |R - 1| = 2 sin(angle / 2), and the Frobenius norm of R - 1 is sqrt(2) times that.
    turn = float(np.linalg.norm(motion[:3, :3] - np.eye(3))) / np.sqrt(2.0)
    centres = (thing.pose @ thing.object_from_shape)[:, :3, 3]
    shifts = np.linalg.norm(centres @ (motion[:3, :3] - np.eye(3)).T + motion[:3, 3], axis=1)
    turned = 0.0 if turn < _NOT_TURNED else turn * reach
    return float(shifts.max(initial=0.0)) + turned

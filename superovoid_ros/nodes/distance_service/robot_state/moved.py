# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether what stands in frames of TF still is where it was put when it came."""

from __future__ import annotations

import numpy as np

from superovoid.robot.planning_scene import PlanningScene
from superovoid_ros.nodes.common.mistakes import Code, InputError
from superovoid_ros.nodes.distance_service.robot_state.transforms import TransformSource
from superovoid_ros.nodes.distance_service.world.given_in_frames import places


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
    for placed in places(planning):
        frame = placed.frame
        if frame not in now:
            try:
                now[frame] = transforms.lookup(root, frame).target_from_source
            except InputError as error:
                raise InputError(
                    f"not ready: object '{placed.names[0]}' stands in frame '{frame}', and {error}",
                    Code.INCOMPLETE_WORLD,
                ) from error
        if np.array_equal(now[frame], placed.before):
            continue
        moved = placed.moved(now[frame] @ np.linalg.inv(placed.before))
        beyond = np.flatnonzero(~(moved <= tolerance))
        if len(beyond):
            row = beyond[0]
            raise InputError(
                f"not ready: object '{placed.names[placed.owners[row]]}' stands in frame '{frame}', which TF has moved "
                f"against '{root}' since it came, the object by {moved[row]:.3g} m (frame_tolerance: {tolerance:g} m): "
                f"send it anew, or set planning_frame to a frame of the world, like '{frame}'",
                Code.INCOMPLETE_WORLD,
            )

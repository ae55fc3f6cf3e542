# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether what took long to be found holds in the world as it is when it is answered.

Objects, rules, the robot's base and its other joints may have moved meanwhile. Where they have, what was found is
judged again; it is never answered for a world that is no more without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes, RobotState

from superovoid_ros.nodes.distance_service.answers.asked import Asked, StatesAsked
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError
from superovoid_ros.nodes.distance_service.answers.workers import LONG, Workers
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.world.current import CurrentModel

_MOST_TIMES = 5  # that it is judged again


class Afterwards:
    """Judges again what was found.

    Parameters
    ----------
    common
        Whether the node still answers, and by how much the robot may move unnoticed.
    current
        The world of now.
    states
        Reads the request's state anew.
    workers
        Judge aside.
    """

    def __init__(self, common: Common, current: CurrentModel, states: StatesAsked, workers: Workers) -> None:
        self._current, self._states, self._workers, self._activity = current, states, workers, common.activity
        self._tolerance = lambda: float(common.value("frame_tolerance"))

    async def confirm(
        self,
        before: Asked,
        message: RobotState,
        frame_ids: Iterable[str],
        moved: Collection[str],
        why_not: Callable[[Asked], str],
    ) -> str:
        """Return a note for the answer, empty where there is nothing to be said.

        Parameters
        ----------
        before
            The state that the answer was found for.
        message, frame_ids
            As `StatesAsked.of` read them.
        moved
            Joints that the answer is about.
        why_not
            Returns why the answer does not hold in a state of now, empty where it does; called in another thread.

        Raises
        ------
        CodedError
            Where what was found does not hold any more.
        InputError
            Where nothing can be judged any more.
        """
        frame_ids = list(frame_ids)
        for time in range(_MOST_TIMES):
            self._activity.require()
            model = self._current.model()
            changed = model is not before.model
            if changed and model.robot is not before.model.robot:
                raise _outdated("another robot was described meanwhile")
            if not changed and time:
                return ""
            now = self._states.of(model, message, frame_ids)
            if not changed and not _has_moved(before, now, moved, self._tolerance()):
                return ""
            words = await self._workers.do_aside(LONG, lambda now=now: why_not(now))
            if words:
                raise _outdated(words)
            before = now
        return "the world goes on changing: proved for one of its last states"


def _outdated(words: str) -> CodedError:
    return CodedError(
        MoveItErrorCodes.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE,
        f"the world has changed since the request came, and what was found does not hold any more: {words}",
    )


def _has_moved(before: Asked, now: Asked, moved: Collection[str], tolerance: float) -> bool:
    """Whether a body of the robot has moved by more than a tolerance, m, but for what the answer's joints move."""
    there = now.at({joint: before.positions[joint] for joint in moved}).poses
    for body in before.planning.robot.bodies:
        sphere = body.shape.bounding_sphere()
        poses = [poses[body.link] @ body.link_from_body for poses in (before.poses, there)]
        centre, moved_centre = (pose[:3, :3] @ sphere.centre + pose[:3, 3] for pose in poses)
        turned = np.linalg.norm(poses[1][:3, :3] - poses[0][:3, :3]) / np.sqrt(2.0)  # at least 2 sin(angle / 2)
        if not np.linalg.norm(moved_centre - centre) + turned * sphere.radius <= tolerance:
            return True
    return False

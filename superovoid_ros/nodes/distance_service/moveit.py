# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of the node that use MoveIt's messages; importing this module needs `moveit_msgs`."""

from __future__ import annotations

from superovoid_ros.nodes.distance_service.answers.state_validity import Validity
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current import CurrentModel
from superovoid_ros.nodes.distance_service.world.moveit_world import MoveItWorld


def parts(
    common: Common,
    current: CurrentModel,
    measurements: Measurements,
    *,
    planning: bool,
) -> tuple[Part, ...]:
    """Make the parts, in the order of their configuration; those of kinematics and plans only for `planning`."""
    parts = MoveItWorld(common, current, measurements), Validity(common, current, measurements)
    if not planning:
        return parts
    from superovoid_ros.nodes.distance_service.answers.kinematics_services import KinematicsServices
    from superovoid_ros.nodes.distance_service.answers.motion_plans import MotionPlans

    return (
        *parts,
        KinematicsServices(common, current, measurements),
        MotionPlans(common, current, measurements),
    )

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of the node that use MoveIt's messages; importing this module needs `moveit_msgs`."""

from __future__ import annotations

from collections.abc import Callable

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
    urdf: Callable[[], str],
) -> tuple[Part, ...]:
    """Make the parts, in the order of their configuration.

    Parameters
    ----------
    common, current, measurements
        As for `Part`s.
    planning
        Whether to make those of kinematics, plans and motions.
    urdf
        Returns the URDF of the robot.
    """
    parts = MoveItWorld(common, current, measurements), Validity(common, current, measurements)
    if not planning:
        return parts
    from superovoid_ros.nodes.distance_service.answers.cartesian_paths import CartesianPaths
    from superovoid_ros.nodes.distance_service.answers.kinematics_services import KinematicsServices
    from superovoid_ros.nodes.distance_service.answers.motion_plans import MotionPlans
    from superovoid_ros.nodes.distance_service.answers.motions import Motions

    plans = MotionPlans(common, current, measurements)
    return (
        *parts,
        KinematicsServices(common, current, measurements, urdf),
        plans,
        CartesianPaths(common, current, measurements),
        Motions(common, current, measurements, plans),
    )

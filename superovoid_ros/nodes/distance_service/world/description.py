# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters that describe the robot and its limits, and the robot that results from their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from superovoid.robot import Robot
from superovoid.robot.limits import MOST_PAIRS, Limits
from superovoid.robot.mesh_files import MESHES
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.robot.urdf import REPRESENTATIONS
from superovoid_ros.nodes.common.mistakes import refusals
from superovoid_ros.nodes.common.packages import package_folders
from superovoid_ros.nodes.common.parameters import choice, count, number, switch, text

TOPICS = ("robot_description", "robot_description_semantic")
"""Names of the topics, and of the parameters with the same content."""


OF_ROBOT = (
    text("robot_description", "", "URDF of the robot; empty: from topic robot_description"),
    text("robot_description_semantic", "", "SRDF of the robot; empty: from topic robot_description_semantic"),
    choice(
        "representation",
        "mixed",
        REPRESENTATIONS,
        "Contact geometry of the URDF to use",
    ),
    choice(
        "meshes",
        "hull",
        MESHES,
        "How to read a mesh of a collision element: as its convex hull; as its triangles, with an open mesh as its "
        "hull (triangles) or as a shell (shells); or not at all, with a warning",
    ),
    # Read-only, since it decides which files a sender of robot descriptions can have opened.
    text(
        "package_directories",
        [""],
        "Folders of packages whose meshes may be read, in addition to the installed packages",
        "each 'name=/folder'",
        check=package_folders,
        read_only=True,
    ),
    number(
        "rtol",
        1e-9,
        1e-12,
        0.1,
        "Largest width of a certified interval, relative to the largest semi-axis of the smaller body; wider "
        "intervals have status UNPROVEN",
    ),
    switch("strict", "Refuse a URDF and an SRDF that contradict each other; false: log a warning", default=False),
    text(
        "planning_frame",
        "",
        "Fixed frame of the world, in which TF places the robot and objects are at rest; empty: that of the SRDF's "
        "planar or floating virtual joint, or the root link if there is none",
    ),
)
"""Parameters that determine how the robot is read."""
OF_SCENE = (
    number("padding", 0.0, 0.0, 1e3, "[m] Padding of every link against objects, in check_state_validity"),
    number("safety_margin", 0.0, 0.0, 1e3, "[m] Clearance below which check_state_validity reports a contact"),
    switch("pad_self_collisions", "Pad links against each other too, not only against objects", default=False),
    count("max_bodies", Limits().bodies, 1, 1_000_000, "Largest number of bodies of robot and objects together"),
    count("max_objects", Limits().objects, 1, 100_000, "Largest number of objects, including attached objects"),
    count("max_pairs", Limits().pairs, 1, MOST_PAIRS, "Largest number of checked pairs of bodies"),
)
"""Parameters of the robot and its objects together."""
ROBOT_NAMES, SCENE_NAMES = (frozenset(one.name for one in declared) for declared in (OF_ROBOT, OF_SCENE))
Values: TypeAlias = Mapping[str, object]
"""Values of all these parameters; the descriptions come from topics if their parameters are empty."""


def read_robot(values: Values) -> Robot:
    """Return the robot; raise `InputError` with the error in its description."""
    with refusals():
        return Robot.from_urdf(
            values["robot_description"],
            srdf=values["robot_description_semantic"] or None,
            representation=values["representation"],
            package_directories=package_folders(values["package_directories"]),
            meshes=values["meshes"],
            strict=bool(values["strict"]),
            with_root_joint=True,
            world_frame=str(values["planning_frame"]).strip().removeprefix("/"),
        )


def limits_and_padding(values: Values, kept: PlanningScene | None) -> tuple[Limits, Padding]:
    """Return limits and paddings of a planning scene; paddings by name, which messages set, are those of `kept`."""
    padding = Padding(
        default=float(values["padding"]),
        margin=float(values["safety_margin"]),
        self_too=bool(values["pad_self_collisions"]),
        by_name={} if kept is None else kept.padding.by_name,
    )
    limits = Limits(**{name: values[f"max_{name}"] for name in ("bodies", "objects", "pairs")})
    return limits, padding

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build robots with fitted bodies and with their meshes, and random states of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.link_geometry import read_solids
from superovoid.fitting.robot_fits import RobotFit
from superovoid.robot import Robot
from superovoid.robot.kinematics import OUTSIDE
from superovoid.robot.srdf import Semantics, read_srdf
from superovoid.robot.urdf import Geometry, Joint, read_urdf
from superovoid.shapes import ConvexMesh, Mesh, Shape, Shell

FloatArray = NDArray[np.float64]
_SLIDE = 1.0  # m; range of a sliding joint without limits in random states, to either side


def robot_with(text: str, bodies: Mapping[str, Sequence[tuple[Shape, FloatArray]]]) -> Robot:
    """Build a robot with given bodies as the geometry of some links; other links keep theirs, except meshes.

    Parameters
    ----------
    text : str
        The URDF.
    bodies : mapping of str to sequence of (Shape, (4, 4) ndarray)
        For each link, shapes and their poses in its frame.
    """
    description = read_urdf(text, meshes="ignore")
    kept = [geometry for geometry in description.geometry if geometry.link not in bodies]
    placed = [Geometry(link, shape, pose) for link, several in bodies.items() for shape, pose in several]
    unsupported = {link: kinds for link, kinds in description.unsupported.items() if link not in bodies}
    description = replace(description, geometry=(*kept, *placed), unsupported=unsupported)
    return Robot(description, Semantics({}, {}, ()))


def with_rules(robot: Robot, srdf: str | None) -> Robot:
    """Return the robot with the rules of an SRDF, given as text."""
    if srdf is None:
        return robot
    description, _ = robot._made_of
    return Robot(description, read_srdf(srdf, description.name, description.links, description.joints))


def with_hulls(robot: Robot) -> Robot:
    """Return the robot with its meshes replaced by their convex hulls, except flat ones; itself if it has no meshes."""
    if not any(isinstance(body.shape, Mesh | Shell) for body in robot.bodies):
        return robot
    description, semantics = robot._made_of
    geometry = tuple(replace(each, shape=_hull_of(each.shape)) for each in description.geometry)
    return Robot(replace(description, geometry=geometry), semantics)


def _hull_of(shape: object) -> object:
    if isinstance(shape, Mesh | Shell):
        try:
            return ConvexMesh(shape.vertices)
        except ValueError:  # its points lie in a plane
            return shape
    return shape


def robots_of(fit: RobotFit, packages: Mapping[str, Path]) -> tuple[Robot, Robot]:
    """Return a robot with its fitted bodies, and the same with the original solids; both without an SRDF.

    Parameters
    ----------
    fit : RobotFit
    packages : mapping of str to Path
        Folders of ROS packages.

    Raises
    ------
    RobotDescriptionError
        If a fitted mesh can no longer be read.
    """
    fitted = {link.link: [(body.shape, body.pose) for body in link.bodies] for link in fit.links if link.bodies}
    return robot_with(fit.source, fitted), robot_with(
        fit.source, read_solids(fit.source, packages, fit.options.target, fitted)
    )


def joint_spans(robot: Robot) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return a range of each joint in `Robot.joint_names`, and whether it covers all positions.

    One turn covers a joint with a range of a full turn or more if its followers turn an integer number of times as
    fast. A sliding joint without limits, or a revolute one without limits and with other followers, has no bounded
    range that covers all positions.

    Returns
    -------
    spans : (joints, 2) ndarray
        rad or m.
    whole : (joints,) ndarray of bool
        Whether the range covers all positions.
    """
    spans, whole = np.empty((len(robot.joint_names), 2)), np.ones(len(robot.joint_names), dtype=bool)
    for number, name in enumerate(robot.joint_names):
        lower, upper = robot.joint_limits[name]
        slides = robot.joints[name].kind == "prismatic"
        if not slides and upper - lower >= 2.0 * math.pi and _is_periodic(robot, name):
            spans[number] = -math.pi, math.pi
            continue
        reach = _SLIDE if slides else math.pi
        whole[number] = math.isfinite(lower) and math.isfinite(upper)
        if math.isinf(lower):
            lower = -reach if math.isinf(upper) else upper - 2.0 * reach
        spans[number] = lower, lower + 2.0 * reach if math.isinf(upper) else upper
    return spans, whole


def _is_periodic(robot: Robot, name: str) -> bool:
    """Return whether a full turn of a joint leaves it and all its followers in the same pose."""
    factors = {name: 1.0}
    pending = [name]
    while pending:
        master = pending.pop()
        for follower, mimic in robot.mimic.items():
            if mimic.joint == master:
                factors[follower] = factors[master] * mimic.multiplier
                pending.append(follower)
                if robot.joints[follower].kind == "prismatic" and factors[follower] != 0.0:
                    return False
    return all(factor == round(factor) for factor in factors.values())


def random_states(robot: Robot, count: int, seed: int) -> FloatArray:
    """Return joint positions, uniform in `joint_spans`, one row per state."""
    spans, _ = joint_spans(robot)
    return np.random.default_rng(seed).uniform(spans[:, 0], spans[:, 1], (count, len(spans)))


def joints_between(robot: Robot, link_a: str, link_b: str) -> tuple[Joint, ...]:
    """Return the joints on the path from one link to another, including fixed ones."""
    above = {joint.child: joint for joint in robot.joints.values()}

    def way(link: str) -> list[Joint]:
        found = []
        while link in above:
            found.append(above[link])
            link = above[link].parent
        return found

    a, b = way(link_a), way(link_b)
    while a and b and a[-1] is b[-1]:
        a.pop()
        b.pop()
    return (*a, *reversed(b))


def is_outside(robot: Robot, pair: tuple[str, str]) -> bool:
    """Return whether a joint between two links has a pose that joint positions do not determine."""
    return any(joint.kind in OUTSIDE for joint in joints_between(robot, *pair))

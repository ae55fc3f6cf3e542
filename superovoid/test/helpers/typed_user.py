# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Example code of a user, with the types that a type checker must infer; it also runs.

`assert_type` is checked by the type checker. An unused `type: ignore` is an error there, so each line with one has a
mistake that the type checker must find.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from superovoid import (
    Body,
    Box,
    Capsule,
    ContactSet,
    DistanceResult,
    DistanceResults,
    Impact,
    Impacts,
    Motion,
    PairResult,
    PoseGradients,
    Robot,
    Scene,
    SceneResult,
    ShapeArray,
    StateDistances,
    Status,
    Superellipsoid,
    Superovoid,
    Verdict,
    Verdicts,
    are_closer,
    are_intersecting,
    contacts,
    distance,
    distances,
    pose_gradients,
    state_distances,
    time_of_impact,
)

Floats = NDArray[np.float64]
URDF = """
<robot name="two"><link name="base"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <link name="tip"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <link name="between"><contact_geometry><sphere radius="0.05"/></contact_geometry></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="between"/></joint>
  <joint name="slide" type="prismatic"><parent link="between"/><child link="tip"/><axis xyz="1 0 0"/>
    <limit lower="0.5" upper="1" effort="1" velocity="1"/></joint></robot>
"""


def pairs() -> None:
    """Use bodies and poses in various forms, and check the types of the results."""
    a = Superovoid(np.array([0.1, 0.1, 0.2]), section_exponent=0.9, profile_exponent=0.8, taper=[0.1, 0.1])
    b = Superellipsoid.from_barr((0.1, 0.1, 0.1), [0.5, 1.0])
    assert_type(a.semi_axes, tuple[float, float, float])
    apart = np.eye(4)
    apart[0, 3] = 0.5
    found = distance(a, np.eye(4), b, (np.eye(3), [0.5, 0.0, 0.0]))
    assert_type(found, DistanceResult)
    assert_type(found.distance, float)
    assert_type(found.point_a, Floats)
    assert_type(found.status, Status)
    assert_type(found.certified, bool)
    many = distances([a, b], np.eye(4), Capsule(0.01, 0.04), [apart, apart])
    assert_type(many, DistanceResults)
    assert_type(many[0], DistanceResult)
    assert_type(many[many.certified & (many.distance < 1.0)], DistanceResults)
    assert_type(many[:1].distance, Floats)
    assert_type([row.distance for row in many], list[float])
    assert_type(are_closer(a, np.eye(4), b, apart, 0.1), Verdict)
    assert_type(are_closer([a, b], np.eye(4), b, [apart, apart], 0.1), Verdicts)
    assert_type(are_closer(a, np.eye(4), [a, b], apart, [0.1, 0.2]), Verdicts)
    assert_type(are_intersecting(a, np.eye(4), b, apart), Verdict)
    assert_type(are_intersecting([a], np.eye(4), b, apart), Verdicts)
    assert_type(pose_gradients(found, np.eye(4), apart), PoseGradients)
    touching = contacts(a, np.eye(4), b, apart, 0.01, max_contacts=4)
    assert_type(touching, ContactSet)
    assert_type(touching.gap, Floats)
    assert_type(touching.result, DistanceResult)
    impact = time_of_impact(a, Motion(np.eye(4), [1.0, 0.0, 0.0], (0.0, 0.0, 0.0)), b, Motion.at_rest(apart))
    assert_type(impact, Impact)
    assert_type(time_of_impact([a, b], apart, b, [Motion.at_rest(apart)] * 2), Impacts)
    eggs = ShapeArray(Superellipsoid, [(0.1, 0.1, 0.2), (0.1, 0.1, 0.3)], profile_exponent=0.9)
    assert_type(eggs[0], Superellipsoid)
    assert_type(eggs[1:], ShapeArray[Superellipsoid])
    assert_type(distances(eggs, (0.0, 0.0, 0.0), a, [(0.5, 0.0, 0.0), (0.6, 0.0, 0.0)]), DistanceResults)
    assert_type(are_closer(eggs, np.eye(4), b, apart, 0.1), Verdicts)


def scenes() -> None:
    """Query a scene of named bodies."""
    scene = Scene([Body("a", "left", Box((0.2, 0.2, 0.2))), Body("b", "right", Box([0.2] * 3))])
    scene.set_link_poses({"left": np.eye(4), "right": (np.eye(3), (1.0, 0.0, 0.0))})
    found = scene.query(max_distance=2.0)
    assert_type(found, SceneResult)
    assert_type(found[0], PairResult)
    assert_type(found[0].name_a, str)
    assert_type(found[found.distance < 1.0], SceneResult)


def states() -> None:
    """Query a robot in many states."""
    robot = Robot.load(URDF)
    found = state_distances(robot, robot.scene(), np.array([[0.0, 0.5], [0.0, 0.7]]), gradients=True)
    assert_type(found, StateDistances)
    assert_type(found[-1], PairResult)
    assert_type(found[:1], StateDistances)
    assert_type(found.gradients, Floats | None)
    assert_type(robot.forward_kinematics({"turn": 0.0, "slide": 0.6})["tip"], Floats)


def mistakes() -> None:
    """Make mistakes that a type checker must find."""
    ball = Superellipsoid((1.0, 1.0, 1.0))
    try:
        distance(1.0, np.eye(4), ball, np.eye(4))  # type: ignore[arg-type]
        distance(ball, np.eye(4), ball, np.eye(4), rtol="fine")  # type: ignore[arg-type]
        ball.semi_axes = (2.0, 2.0, 2.0)  # type: ignore[misc]
        print(ball.radius)  # type: ignore[attr-defined]
    except (TypeError, AttributeError):
        pass


if __name__ == "__main__":
    for part in (pairs, scenes, states, mistakes):
        part()

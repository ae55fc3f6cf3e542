# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Second derivatives of distances by joints are differences of the first ones; a status marks where there are none."""

import bridged
import numpy as np
import panda
import pytest

from superovoid.contact import DerivativeStatus
from superovoid.robot import Robot
from superovoid.scene import Body, Scene
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    Shell,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
)

# parent_from_joint of the UR5: xyz, rpy, axis.
UR5 = (
    ((0.0, 0.0, 0.089159), (0.0, 0.0, 0.0), (0, 0, 1)),
    ((0.0, 0.13585, 0.0), (0.0, np.pi / 2, 0.0), (0, 1, 0)),
    ((0.0, -0.1197, 0.425), (0.0, 0.0, 0.0), (0, 1, 0)),
    ((0.0, 0.0, 0.39225), (0.0, np.pi / 2, 0.0), (0, 1, 0)),
    ((0.0, 0.093, 0.0), (0.0, 0.0, 0.0), (0, 0, 1)),
    ((0.0, 0.0, 0.09465), (0.0, 0.0, 0.0), (0, 1, 0)),
)
KINDS = (
    Sphere(0.1),
    Superellipsoid((0.06, 0.07, 0.2), section_exponent=0.9, profile_exponent=0.8),
    Superovoid((0.08, 0.06, 0.15), section_exponent=0.7, profile_exponent=1.1, taper=(0.2, 0.1)),
    Capsule(0.06, 0.2),
    Cylinder(0.08, 0.15),
    Box((0.1, 0.2, 0.15)),
    Torus(0.12, 0.04),
    Cone(0.1, 0.2),
    # Few large features: a difference of first derivatives is that of one feature.
    ConvexMesh([(0.15, 0.0, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.02), (0.0, 0.02, 0.15), (0.02, 0.0, -0.12)]),
)


def chain(joints, kinds=None):
    """Return a robot without geometry."""
    text = '<robot name="chain"><link name="l0"/>'
    for i, (xyz, rpy, axis) in enumerate(joints, start=1):
        x, r, a = (" ".join(map(str, values)) for values in (xyz, rpy, axis))
        kind = "revolute" if kinds is None else kinds[i - 1]
        text += f"""<link name="l{i}"/><joint name="j{i}" type="{kind}"><parent link="l{i - 1}"/><child link="l{i}"/>
          <origin xyz="{x}" rpy="{r}"/><axis xyz="{a}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""
    return Robot.from_urdf(text + "</robot>")


def answers_of(robot, scene, positions):
    """Return the answers in the order of pairs, and their gradients."""
    scene.set_link_poses(robot.forward_kinematics(positions) | {"fixed": np.eye(4)})
    found = scene.query()
    found = found[np.lexsort((found.body_b, found.body_a))]
    return found, robot.distance_gradients(found, positions)


def compare(robot, scene, positions, step=1e-6):
    """Return the rows with second derivatives, and the largest errors of these relative to the largest entry.

    Rows whose second derivatives jump within a step, as beyond the end of an edge, are left out.
    """
    result, first = answers_of(robot, scene, positions)
    found = robot.distance_hessians(scene, result, positions)
    assert found.by_joint.shape == (len(result), *[len(robot.joint_names)] * 2)
    regular, expected = found.differentiable & first.differentiable, np.empty_like(found.by_joint)
    for column in range(len(positions)):
        ends = []
        for way in (step, -step):
            moved = positions + way * np.eye(len(positions))[column]
            there, gradients = answers_of(robot, scene, moved)
            second = robot.distance_hessians(scene, there, moved).by_joint
            largest = 1.0 + np.abs(found.by_joint).max(axis=(1, 2))
            regular &= gradients.differentiable
            regular &= np.abs(second - found.by_joint).max(axis=(1, 2)) < 0.1 * largest
            ends.append(gradients.by_joint)
        expected[:, :, column] = (ends[0] - ends[1]) / (2.0 * step)
    size = 1.0 + np.abs(expected[regular]).max(axis=(1, 2), initial=0.0)
    errors = np.abs(found.by_joint - expected)[regular].max(axis=(1, 2), initial=0.0) / size
    return regular, errors, result.distance


def with_fixed(scene):
    """Return a scene with the pose of its obstacles."""
    scene.set_link_pose("fixed", np.eye(4))
    return scene


def test_capsules_and_boxes_of_a_panda():
    robot = panda.robot()
    scene = with_fixed(
        Scene(
            [*robot.bodies, Body("egg", "fixed", KINDS[1], bridged.random_poses(np.random.default_rng(1), reach=0.5))],
            [*robot.scene().pairs.tolist(), (4, len(robot.bodies))],
        )
    )
    regular = []
    for positions in robot.random_states(4, 2):
        rows, errors, _ = compare(robot, scene, positions)
        regular.extend(rows)
        assert errors.max() < 1e-5
    assert np.mean(regular) > 0.95


def test_bodies_of_all_kinds_on_a_ur5():
    robot, rng = chain(UR5), np.random.default_rng(3)
    bodies = [Body(f"b{i}", f"l{i}", shape, bridged.random_poses(rng, reach=0.05)) for i, shape in enumerate(KINDS[:7])]
    scene = with_fixed(
        Scene([*bodies, Body("floor", "fixed", HalfSpace())], [(0, 3), (0, 5), (1, 5), (2, 5), (1, 6), (6, 7), (4, 7)])
    )
    for positions in robot.random_states(4, 4):
        rows, errors, _ = compare(robot, scene, positions)
        assert rows.sum() >= len(rows) - 1 and errors.max() < 1e-4


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[type(shape).__name__ for shape in KINDS])
def test_random_shapes_apart_and_overlapping(kind):
    joints = [((0, 0, 0), (0, 0, 0), axis) for axis in np.eye(3)] + [((0, 0, 0), (0, 0, 0), axis) for axis in np.eye(3)]
    robot = chain(joints, ["prismatic"] * 3 + ["revolute"] * 3)
    bodies = [Body("moved", "l6", KINDS[kind]), *(Body(str(i), "fixed", shape) for i, shape in enumerate(KINDS))]
    scene = with_fixed(Scene(bodies, [(0, i) for i in range(1, len(bodies))]))
    rng, count, deep = np.random.default_rng(5 + kind), 0, 0
    for reach in (0.1, 0.15, 0.5, 0.5):
        way = rng.standard_normal(3)
        positions = np.concatenate([reach * way / np.linalg.norm(way), rng.uniform(-1.5, 1.5, 3)])
        # An overlap ends when its interval is narrow; its normal is then known to 1e-6, which a small step amplifies.
        for step, overlapping, within in ((1e-5, False, 1e-4), (1e-3, True, 3e-2)):
            rows, errors, distance = compare(robot, scene, positions, step)
            of_sign = (distance[rows] < 0.0) == overlapping
            assert errors[of_sign].max(initial=0.0) < within
            count, deep = count + of_sign.sum(), deep + overlapping * of_sign.sum()
    assert count > 12 and deep > 1


def test_a_status_marks_what_has_no_second_derivatives():
    robot = chain([((0, 0, 0), (0, 0, 0), (1, 0, 0)), ((0, 0, 0), (0, 0, 0), (0, 0, 1))], ["prismatic", "revolute"])
    place = np.eye(4)
    place[2, 3] = 1.0
    expected = {
        (Sphere(0.1), Shell(*Box((0.2, 0.2, 0.2)).triangles())): DerivativeStatus.OTHER_KIND,
        (Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))): DerivativeStatus.NON_UNIQUE,
        (Sphere(0.2), Sphere(0.1)): DerivativeStatus.REGULAR,
    }
    for (moved, fixed), status in expected.items():
        scene = with_fixed(Scene([Body("a", "l2", moved), Body("b", "fixed", fixed, place)]))
        result, _ = answers_of(robot, scene, np.zeros(2))
        found = robot.distance_hessians(scene, result, [0.0, 0.0])
        assert DerivativeStatus(int(found.status[0])) & status == status
        assert found.differentiable[0] == (status == 0)
        if status == 0:  # 1 / (distance of the centres)
            assert found.by_joint[0] == pytest.approx(np.diag([1.0, 0.0]), abs=1e-12)
        else:
            assert np.isnan(found.by_joint).all()

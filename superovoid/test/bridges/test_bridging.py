# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances as functions of arrays: values of the engine, and Jacobians as differences have them."""

import bridged
import numpy as np
import pytest

from superovoid import Box, ShapeArray, Sphere, Superovoid, derivatives, distances, state_distances
from superovoid.bridging import PARAMETERS, PairFunction, Shapes, StateFunction, framework
from superovoid.values.status import differentiable_rows


def differences(function, inputs, number, entry, step):
    """Return central differences of the distances along an entry of an input."""
    high, low = ([np.array(each) for each in inputs] for _ in range(2))
    high[number][entry] += step
    low[number][entry] -= step
    return (function(*high).distance - function(*low).distance) / (2.0 * step)


@pytest.mark.parametrize("kinds", bridged.KIND_PAIRS, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
def test_parameters_of_all_kinds_have_the_jacobians_of_differences(kinds):
    rng = np.random.default_rng(len(kinds[0].__name__) + 20 * len(kinds[1].__name__))
    poses = bridged.random_poses(rng, 4, reach=0.05), bridged.random_poses(rng, 4, reach=1.0)
    poses[1][2:, :3, 3] *= 0.3  # overlapping
    parameters = [np.array(bridged.PARAMETERS[kind]) for kind in kinds]
    function = PairFunction(*(Shapes(kind, None) for kind in kinds))
    answer = function(*poses, *parameters)
    expected = distances(bridged.shape(kinds[0]), poses[0], bridged.shape(kinds[1]), poses[1])
    assert np.abs(answer.distance - expected.distance).max() <= 1e-12
    regular = differentiable_rows(answer.status)
    assert regular[:2].any() or {Sphere}.isdisjoint(kinds)
    for number, values in enumerate(parameters, start=2):
        for column in range(len(values)):
            found = differences(function, (*poses, *parameters), number, column, 1e-4)
            error = np.abs(answer.jacobians[number][:, column] - found)[regular]
            assert error.max(initial=0.0) < bridged.WITHIN, PARAMETERS[kinds[number - 2]][column]


@pytest.mark.parametrize("shape", [*map(bridged.shape, bridged.PARAMETERS), *bridged.without_parameters()], ids=repr)
def test_poses_have_the_jacobians_of_differences(shape):
    rng = np.random.default_rng(1)
    poses = bridged.random_poses(rng, 3, reach=1.0), bridged.random_poses(rng, reach=0.05)
    function = PairFunction(bridged.shape(next(iter(bridged.PARAMETERS))), shape)
    answer = function(*poses)
    regular = differentiable_rows(answer.status)
    assert regular.any()
    for number in range(2):
        for twist in 1e-4 * np.eye(6):
            ends = [list(poses), list(poses)]
            for way, sign in zip(ends, (1.0, -1.0), strict=True):
                way[number] = bridged.move(poses[number], sign * twist[:3], sign * twist[3:])
            found = (function(*ends[0]).distance - function(*ends[1]).distance) / 2e-4
            change = (ends[0][number] - ends[1][number]) / 2e-4
            product = (answer.jacobians[number] * change).sum(axis=(-1, -2))
            assert np.abs(product - found)[regular].max() < bridged.WITHIN


@pytest.mark.parametrize("count", [40, 600])  # 512 superovoids and more are solved in SIMD lanes
def test_pairs_of_superovoids_have_the_derivatives_of_the_engine(count):
    rng = np.random.default_rng(count)
    poses = bridged.random_poses(rng, count, reach=0.05), bridged.random_poses(rng, count, reach=1.0)
    parameters = np.array(bridged.PARAMETERS[Superovoid]) * rng.uniform(0.8, 1.0, (count, 7))
    answer = PairFunction(bridged.shape(Superovoid), Shapes(Superovoid, None), threads=2)(*poses, parameters)
    bodies = bridged.shape(Superovoid), ShapeArray.from_columns(Superovoid, parameters)
    found = distances(bodies[0], poses[0], bodies[1], poses[1])
    assert np.array_equal(answer.distance, found.distance) and np.array_equal(answer.status, found.status)
    expected = derivatives(bodies[0], poses[0], bodies[1], poses[1], found)
    assert np.abs(answer.jacobians[2] - expected.by_shape_b).max() <= 1e-12
    twist = rng.standard_normal(6)
    for jacobian, pose, gradient in zip(
        answer.jacobians, poses, (expected.by_pose_a, expected.by_pose_b), strict=False
    ):
        rate = np.zeros_like(pose)  # of the pose along the twist
        rate[:, :3, :3] = np.cross(twist[3:], pose[:, :3, :3], axisb=1, axisc=1)
        rate[:, :3, 3] = twist[:3]
        assert np.abs((jacobian * rate).sum(axis=(1, 2)) - gradient @ twist).max() <= 1e-12


def test_parameters_are_broadcast_as_poses_are():
    rng = np.random.default_rng(11)
    pose, sizes = bridged.random_poses(rng, 3, 1, reach=1.0), rng.uniform(0.2, 0.4, (2, 3))
    function = PairFunction(Sphere(0.1), Shapes(Box, None))
    answer = function(np.eye(4), pose, sizes)
    assert [each.shape for each in answer.jacobians] == [(3, 2, 4, 4), (3, 2, 4, 4), (3, 2, 3)]
    for i, j in np.ndindex(3, 2):
        one = function(np.eye(4), pose[i, 0], sizes[j])
        assert answer.distance[i, j] == one.distance
        assert all(np.array_equal(many[i, j], few) for many, few in zip(answer.jacobians, one.jacobians, strict=True))


def test_batch_axes_are_broadcast_and_bodies_lie_along_the_last():
    rng = np.random.default_rng(2)
    bodies = [bridged.shape(kind) for kind in bridged.PARAMETERS]
    pose_a, pose_b = bridged.random_poses(rng, 2, 1), bridged.random_poses(rng, len(bodies), reach=2.0)
    answer = PairFunction(Sphere(0.1), bodies)(pose_a, pose_b)
    assert answer.distance.shape == (2, 9) and answer.point_a.shape == (2, 9, 3)
    assert [each.shape for each in answer.jacobians] == [(2, 9, 4, 4)] * 2
    expected = distances(Sphere(0.1), pose_a[1, 0], bodies[4], pose_b[4:5])
    assert answer.distance[1, 4] == expected.distance[0]


def test_states_have_answers_and_gradients_in_the_order_of_pairs():
    rng, robot = np.random.default_rng(3), bridged.robot()
    positions, bases = bridged.states(rng, 5)
    function = StateFunction(robot, pairs=robot.scene().pairs[::-1, ::-1])
    answer = function(positions[:, None], bases[:, None, None])
    found = state_distances(robot, robot.scene(), positions, base_poses={"ball": bases}, gradients=True)
    assert answer.distance.shape == (5, len(function.pairs)) == (5, found.distance.size // 5)
    for row in range(len(found)):
        (column,) = np.flatnonzero((function.pairs == (found.body_a[row], found.body_b[row])).all(axis=1))
        state = found.state[row]
        assert answer.distance[state, column] == found.distance[row]
        assert np.array_equal(answer.point_b[state, column], found.point_b[row])
        assert np.array_equal(answer.jacobians[0][state, column], found.gradients[row])
    step = np.array([0.0, 1e-5, 0.0])
    ends = [
        function(positions[:, None], bridged.move(bases, way, way)[:, None, None]).distance for way in (step, -step)
    ]
    change = (bridged.move(bases, step, step) - bridged.move(bases, -step, -step))[:, None, None]
    product = (answer.jacobians[1] * change).sum(axis=(-1, -2, -3))
    assert np.abs(product - (ends[0] - ends[1])).max() < 1e-9


def test_distant_pairs_have_the_cut_off_and_no_gradient():
    positions, bases = bridged.states(np.random.default_rng(4), 20)
    whole, cut = (StateFunction(bridged.robot(), max_distance=limit) for limit in (np.inf, 0.8))
    full, near = (function(positions[:, None], bases[:, None, None]) for function in (whole, cut))
    distant = full.distance > 0.8
    assert 0 < distant.sum() < distant.size
    assert np.abs(near.distance - np.minimum(full.distance, 0.8)).max() <= 1e-12
    assert not near.jacobians[0][distant].any() and near.jacobians[0][~distant].any()


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"a\.kind"):
        PairFunction(Shapes(type(bridged.without_parameters()[0]), None), Sphere(1.0))
    with pytest.raises(ValueError, match="columns radius, length"):
        PairFunction(Shapes(list(bridged.PARAMETERS)[5], None), Sphere(1.0))(np.eye(4), np.eye(4), np.ones(3))
    with pytest.raises(TypeError, match="a: must be a shape, a sequence of shapes or Shapes, found float"):
        PairFunction(1.0, Sphere(1.0))
    pair = PairFunction([Sphere(1.0), Sphere(2.0)], Sphere(1.0))
    with pytest.raises(ValueError, match=r"pose_b: must have shape \(\.\.\., 4, 4\), found \(3,\)"):
        pair(np.eye(4), np.zeros(3))
    with pytest.raises(ValueError, match=r"batch axes do not match: a: \(2,\), pose_a: \(3,\), pose_b: \(\)"):
        pair(np.zeros((3, 4, 4)), np.eye(4))
    with pytest.raises(ValueError, match="pose_a: upper left 3 x 3 must be a rotation"):
        PairFunction(Sphere(1.0), Sphere(1.0))(np.diag([2.0, 1.0, 1.0, 1.0]), np.eye(4))
    with pytest.raises(ValueError, match=r"shape 1 of 2: .*radius"):
        PairFunction(Sphere(1.0), Shapes(Sphere, None))(np.eye(4), np.eye(4), np.array([[1.0], [-1.0]]))
    with pytest.raises(TypeError, match="robot: must be a Robot, found 1"):
        StateFunction(1)
    with pytest.raises(TypeError, match="scene: must be a Scene or None, found 'table'"):
        StateFunction(bridged.robot(), "table")
    with pytest.raises(ValueError, match=r"max_distance = -1\.0: must be at least 0"):
        StateFunction(bridged.robot(), max_distance=-1)
    with pytest.raises(ValueError, match="'ball' is missing"):
        StateFunction(bridged.robot()).bases({})
    with pytest.raises(ModuleNotFoundError, match=r"superovoid\[torch\]"):
        framework("no_such_framework", "torch")


def test_repeated_pairs_have_equal_distances():
    robot = bridged.robot()
    pairs = robot.scene().pairs
    inputs = np.zeros((1, 2)), np.eye(4)[None, None]
    found = StateFunction(robot, pairs=[pairs[1], pairs[0], pairs[1][::-1]])(*inputs)
    each = StateFunction(robot)(*inputs)
    assert found.distance.tolist() == each.distance[[1, 0, 1]].tolist()
    assert found.jacobians[0].tolist() == each.jacobians[0][[1, 0, 1]].tolist()

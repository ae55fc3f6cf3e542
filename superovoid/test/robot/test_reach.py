# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint positions for a relative pose: damped least squares with the robot's Jacobian."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid.robot.reach import pose_errors, reach

import hands

ROBOT = Robot.load(hands.UPPER_BODY_URDF, srdf=hands.UPPER_BODY_SRDF)
ARMS = [name for name in ROBOT.joint_names if name.startswith(("l_", "r_"))]
HANDS = ("l_hand", "r_hand")


def random_positions(generator, room=0.0):
    """Return random positions of all joints, away from the limits by a fraction `room` of the range."""
    lower, upper = np.array([ROBOT.joint_limits[name] for name in ROBOT.joint_names]).T
    margin = room * (upper - lower)
    return dict(zip(ROBOT.joint_names, generator.uniform(lower + margin, upper - margin).tolist(), strict=True))


def relative_pose(positions):
    poses = ROBOT.forward_kinematics(positions)
    return np.linalg.inv(poses[HANDS[0]]) @ poses[HANDS[1]]


def test_reachable_pose_is_found_from_a_nearby_posture():
    generator = np.random.default_rng(7)
    for _ in range(12):
        there = random_positions(generator, room=0.15)
        wanted = relative_pose(there)
        start = there | {name: there[name] + generator.uniform(-0.15, 0.15) for name in ARMS}
        found = reach(ROBOT, *HANDS, wanted, start, ARMS)
        # The pose is checked by forward kinematics only.
        np.testing.assert_allclose(relative_pose(start | found.positions), wanted, atol=1e-12)
        assert max(found.position_error, found.angle_error) < 1e-12


@pytest.mark.ci
def test_limits_hold_if_the_comfortable_posture_is_beyond_them():
    generator = np.random.default_rng(8)
    for _ in range(12):
        wanted = relative_pose(random_positions(generator))
        start = random_positions(generator)
        wish = dict.fromkeys(ARMS, 9.0)
        found = reach(ROBOT, *HANDS, wanted, start, ARMS, comfortable=wish, max_iterations=60)
        for name, value in found.positions.items():
            lower, upper = ROBOT.joint_limits[name]
            assert lower <= value <= upper


def test_result_is_the_posture_nearest_to_the_comfortable_one():
    generator = np.random.default_rng(9)
    there = random_positions(generator, room=0.3)
    wanted = relative_pose(there)
    comfortable = {name: there[name] + 0.05 for name in ARMS}
    found = reach(ROBOT, *HANDS, wanted, there, ARMS, comfortable=comfortable).positions
    # Stationary: the pull towards comfort has no component along motions that preserve the pose.
    columns = [ROBOT.joint_names.index(name) for name in ARMS]
    positions = there | found
    point = ROBOT.forward_kinematics(positions)["r_hand"][:3, 3]
    jacobian = (ROBOT.jacobian("r_hand", point, positions) - ROBOT.jacobian("l_hand", point, positions))[:, columns]
    pull = np.array([comfortable[name] - found[name] for name in ARMS])
    free = pull - np.linalg.pinv(jacobian) @ (jacobian @ pull)
    assert np.abs(free).max() < 1e-8 < 1e-3 < np.abs(pull).max()


def test_unreachable_pose_returns_its_remaining_error():
    wanted = np.eye(4)
    wanted[2, 3] = 2.0  # metres; the arms have 0.3 each
    start = dict.fromkeys(ROBOT.joint_names, 0.3)
    found = reach(ROBOT, *HANDS, wanted, start, ARMS, max_iterations=40)
    assert 1.0 < found.position_error < 2.0
    assert found.iterations == 40
    errors = pose_errors(ROBOT, *HANDS, wanted, start | found.positions)
    assert errors == (found.position_error, found.angle_error)


def test_only_the_listed_joints_move():
    positions = dict.fromkeys(ROBOT.joint_names, 0.3)
    wanted = relative_pose(positions | {"r_elbow": 0.8, "r_wrist_yaw": -0.2})
    found = reach(ROBOT, *HANDS, wanted, positions, ["r_elbow", "r_wrist_yaw"])
    assert found.positions == pytest.approx({"r_elbow": 0.8, "r_wrist_yaw": -0.2}, abs=1e-12)


def test_pose_errors_are_the_added_distance_and_angle():
    positions = dict.fromkeys(ROBOT.joint_names, 0.3)
    wanted = relative_pose(positions)
    wanted[:3, :3] = wanted[:3, :3] @ Rotation.from_rotvec([0.0, 0.03, 0.04]).as_matrix()
    wanted[:3, 3] += [0.0, 3e-3, 4e-3]
    assert pose_errors(ROBOT, *HANDS, wanted, positions) == pytest.approx((5e-3, 5e-2), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joints": ["r_ellbow"]}, "'r_ellbow' is not an independent joint"),
        ({"joints": ["right_tj6"]}, "'right_tj6' is not an independent joint"),
        ({"joints": []}, "joints: must not be empty"),
        ({"wanted": np.diag([1.0, 1.0, -1.0, 1.0])}, "wanted: .* reflection"),
        ({"wanted": np.full((4, 4), np.nan)}, "wanted: must be finite"),
    ],
)
def test_error_names_the_wrong_argument(change, words):
    arguments = {"wanted": np.eye(4), "joints": ARMS} | change
    start = dict.fromkeys(ROBOT.joint_names, 0.3)
    with pytest.raises(ValueError, match=words):
        reach(ROBOT, *HANDS, arguments["wanted"], start, arguments["joints"])

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The grasp sweep moved by the arms: the palms have the poses of the sweep, and all distances agree."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import yaml

from superovoid_ros.motions import arm_sweep
from superovoid_ros.motions.arm_sweep import ArmSweep, follow, nearest_besides_hands, upper_body
from superovoid_ros.motions.grasp_sweep import GraspSweep, read_sweep
from superovoid_ros.resources import share_directory

CONFIG = share_directory() / "config"
# Created on first use: importing this module takes no time.
robot, arms, hands_and_sweep = cache(upper_body), cache(arm_sweep.read_sweep), cache(read_sweep)


def hands():
    return hands_and_sweep()[0]


def sweep():
    return hands_and_sweep()[1]


def test_palms_have_the_poses_of_the_sweep_in_every_frame():
    # Checked by forward kinematics and matrices alone.
    for moved, wanted in zip(arms(), sweep(), strict=True):
        poses = robot().forward_kinematics(moved.positions)
        left_from_right = np.linalg.inv(poses["left_palm"]) @ poses["right_palm"]
        np.testing.assert_allclose(left_from_right, wanted.base_poses["right_palm"], atol=1e-13)
        assert (moved.index, moved.phase, moved.distance, moved.angle) == (
            wanted.index,
            wanted.phase,
            wanted.distance,
            wanted.angle,
        )


def test_frames_have_all_joints_and_no_poses_of_palms():
    for frame in (arms().frame(0), arms().frame(213)):
        assert set(frame.positions) == set(robot().joint_names)
        assert {name: frame.positions[name] for name in sweep().positions} == dict(sweep().positions)
        assert frame.base_poses == {}
    with pytest.raises(IndexError, match="0 to 213"):
        arms().frame(214)


def test_joints_stay_within_their_limits_and_move_smoothly():
    lower, upper = np.array([robot().joint_limits[name] for name in arms().joints]).T
    assert (arms().rows - lower).min() > -1e-12 and (upper - arms().rows).min() > -1e-12
    columns = [column for column, name in enumerate(arms().joints) if not name.startswith("torso")]
    assert np.minimum(arms().rows - lower, upper - arms().rows)[:, columns].min() > 0.1  # rad to the limits
    steps = np.diff(arms().rows, axis=0)
    # A frame moves the palm by 2 mm or 0.0055 rad; this detects jumps of the posture.
    assert 1e-3 < np.abs(steps).max() < 0.01


def test_distances_of_the_hands_equal_those_of_the_sweep_without_arms():
    wanted, moved = hands().scene(), robot().scene()
    for index in (0, 24, 30, 31, 92, 150, 213):
        wanted.set_link_poses(
            hands().forward_kinematics(sweep().frame(index).positions, sweep().frame(index).base_poses)
        )
        moved.set_link_poses(robot().forward_kinematics(arms().frame(index).positions))
        answers = []
        for owner, scene in ((hands(), wanted), (robot(), moved)):
            result = scene.query(pairs=owner.body_pairs(["left_hand"], ["right_hand"]))
            names = [
                (owner.bodies[a].name, owner.bodies[b].name) for a, b in zip(result.body_a, result.body_b, strict=True)
            ]
            answers.append({frozenset(pair): d for pair, d in zip(names, result.distance, strict=True)})
        assert answers[0].keys() == answers[1].keys()
        for pair, distance in answers[0].items():
            assert answers[1][pair] == pytest.approx(distance, abs=1e-12), (index, pair)


def test_arms_and_chest_keep_their_distance_during_the_sweep():
    few = ArmSweep(dataclasses.replace(sweep(), approach_frames=1, rotate_frames=10), arms().joints, arms().rows[3::20])
    distance, *_ = nearest_besides_hands(robot(), few)
    assert distance > 0.02


def test_shipped_rows_are_reproduced(tmp_path):
    short = dataclasses.replace(sweep(), approach_frames=4, rotate_frames=6)
    found = follow(robot(), short)
    arm_sweep.write(found, tmp_path / "arms.yaml")
    read = ArmSweep.from_file(tmp_path / "arms.yaml", short)
    np.testing.assert_array_equal(read.rows, found.rows)
    # Three frames of the long sweep, computed along other paths: the first, the last of the approach, and the last.
    for a, b in ((0, 0), (3, 30), (9, 213)):
        np.testing.assert_allclose(found.rows[a], arms().rows[b], atol=1e-7)


@pytest.mark.ci
def test_a_sweep_out_of_reach_is_reported_with_its_frame():
    with pytest.raises(ValueError, match=r"frame 0: out of reach of the arms: \d"):
        follow(robot(), dataclasses.replace(sweep(), touch_distance=3.0, approach_frames=1, rotate_frames=1))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda values: values["sweep"].update(touch_distance=0.1), "sweep.touch_distance = 0.1, but this sweep has"),
        (lambda values: values["frames"].pop(), "expected a row for each of 214 frames"),
        (lambda values: values["frames"][3].pop(), "arms.yaml: "),
        (lambda values: values["frames"][3].__setitem__(0, float("nan")), "not finite"),
        (lambda values: values.update(sweep=[1]), r"sweep = \[1\]: expected a mapping"),
        (lambda values: values.update(joints="l_elbow"), "joints = 'l_elbow': expected a list of names"),
        (lambda values: values.pop("joints"), "expected a mapping with sweep, joints and frames"),
    ],
)
def test_a_file_of_another_sweep_is_refused(tmp_path, change, words):
    values = yaml.load((CONFIG / arm_sweep.FILE).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    change(values)
    path = tmp_path / "arms.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        ArmSweep.from_file(path, GraspSweep.from_file(CONFIG / "grasp_sweep.yaml"))

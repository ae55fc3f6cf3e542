"""The grasp sweep moved by the arms: the palms are where the sweep has them, and so is every distance."""

import dataclasses

import numpy as np
import pytest
import yaml

from superovoid_ros.experiments import arm_sweep
from superovoid_ros.experiments.arm_sweep import ArmSweep, follow, nearest_besides_hands, upper_body
from superovoid_ros.experiments.grasp_sweep import GraspSweep, shipped
from superovoid_ros.resources import share_directory

CONFIG = share_directory() / "config"
HANDS, SWEEP = shipped()
ROBOT = upper_body()
ARMS = arm_sweep.shipped()


def test_palms_are_where_the_sweep_has_them_in_every_frame():
    # Judged by forward kinematics and matrices alone.
    for moved, wanted in zip(ARMS, SWEEP, strict=True):
        poses = ROBOT.forward_kinematics(moved.positions)
        left_from_right = np.linalg.inv(poses["left_palm"]) @ poses["right_palm"]
        np.testing.assert_allclose(left_from_right, wanted.base_poses["right_palm"], atol=1e-13)
        assert (moved.index, moved.phase, moved.distance, moved.angle) == (
            wanted.index,
            wanted.phase,
            wanted.distance,
            wanted.angle,
        )


def test_frames_have_all_joints_and_no_poses_of_palms():
    for frame in (ARMS.frame(0), ARMS.frame(213)):
        assert set(frame.positions) == set(ROBOT.joint_names)
        assert {name: frame.positions[name] for name in SWEEP.positions} == dict(SWEEP.positions)
        assert frame.base_poses == {}
    with pytest.raises(IndexError, match="0 to 213"):
        ARMS.frame(214)


def test_joints_keep_within_their_limits_and_move_smoothly():
    lower, upper = np.array([ROBOT.joint_limits[name] for name in ARMS.joints]).T
    assert (ARMS.rows - lower).min() > -1e-12 and (upper - ARMS.rows).min() > -1e-12
    arms = [column for column, name in enumerate(ARMS.joints) if not name.startswith("torso")]
    assert np.minimum(ARMS.rows - lower, upper - ARMS.rows)[:, arms].min() > 0.1  # rad, room to go on
    steps = np.diff(ARMS.rows, axis=0)
    # A frame is 2 mm or 0.0055 rad of the palm; a posture that jumped would show here.
    assert 1e-3 < np.abs(steps).max() < 0.01


def test_distances_of_the_hands_are_those_of_the_sweep_without_arms():
    wanted, moved = HANDS.scene(), ROBOT.scene()
    for index in (0, 24, 30, 31, 92, 150, 213):
        wanted.set_link_poses(HANDS.forward_kinematics(SWEEP.frame(index).positions, SWEEP.frame(index).base_poses))
        moved.set_link_poses(ROBOT.forward_kinematics(ARMS.frame(index).positions))
        answers = []
        for robot, scene in ((HANDS, wanted), (ROBOT, moved)):
            result = scene.query(pairs=robot.body_pairs(["left_hand"], ["right_hand"]))
            names = [
                (robot.bodies[a].name, robot.bodies[b].name) for a, b in zip(result.body_a, result.body_b, strict=True)
            ]
            answers.append({frozenset(pair): d for pair, d in zip(names, result.distance, strict=True)})
        assert answers[0].keys() == answers[1].keys()
        for pair, distance in answers[0].items():
            assert answers[1][pair] == pytest.approx(distance, abs=1e-12), (index, pair)


def test_nothing_of_arms_and_chest_comes_near_anything_during_the_sweep():
    few = ArmSweep(dataclasses.replace(SWEEP, approach_frames=1, rotate_frames=10), ARMS.joints, ARMS.rows[3::20])
    distance, *_ = nearest_besides_hands(ROBOT, few)
    assert distance > 0.02


def test_rows_shipped_are_those_that_are_found(tmp_path):
    short = dataclasses.replace(SWEEP, approach_frames=4, rotate_frames=6)
    found = follow(ROBOT, short)
    arm_sweep.write(found, tmp_path / "arms.yaml")
    read = ArmSweep.from_file(tmp_path / "arms.yaml", short)
    np.testing.assert_array_equal(read.rows, found.rows)
    # The first frame, the last of the approach, and the last are frames of the long sweep too: found by other ways.
    for a, b in ((0, 0), (3, 30), (9, 213)):
        np.testing.assert_allclose(found.rows[a], ARMS.rows[b], atol=1e-7)


def test_sweep_out_of_reach_is_told_with_its_frame():
    with pytest.raises(ValueError, match=r"frame 0: out of reach of the arms: \d"):
        follow(ROBOT, dataclasses.replace(SWEEP, touch_distance=3.0, approach_frames=1, rotate_frames=1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda values: values["sweep"].update(touch_distance=0.1), "sweep.touch_distance = 0.1, but the sweep played"),
        (lambda values: values["frames"].pop(), "expected a row for each of 214 frames"),
        (lambda values: values["frames"][3].pop(), "arms.yaml: "),
        (lambda values: values["frames"][3].__setitem__(0, float("nan")), "not finite"),
        (lambda values: values.update(sweep=[1]), r"sweep = \[1\]: expected a mapping"),
        (lambda values: values.update(joints="l_elbow"), "joints = 'l_elbow': expected a list of names"),
        (lambda values: values.pop("joints"), "expected a mapping with sweep, joints and frames"),
    ],
)
def test_file_that_does_not_fit_the_sweep_is_refused(tmp_path, change, words):
    values = yaml.load((CONFIG / arm_sweep.FILE).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    change(values)
    path = tmp_path / "arms.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        ArmSweep.from_file(path, GraspSweep.from_file(CONFIG / "grasp_sweep.yaml"))

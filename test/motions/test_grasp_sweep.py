# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The grasp sweep against its published table of poses."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.resources import share_directory

SHARE = share_directory()
SWEEP = GraspSweep.from_file(SHARE / "config" / "grasp_sweep.yaml")
with open(Path(__file__).parents[1] / "data" / "grasp_sweep.csv", encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def test_it_has_31_frames_of_approach_and_183_of_rotation():
    phases = [frame.phase for frame in SWEEP]
    assert len(SWEEP) == len(phases) == 214
    assert phases == ["approach"] * 31 + ["rotate"] * 183


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["frame"])
def test_frames_agree_with_the_table(row):
    frame = SWEEP.frame(int(row["frame"]))
    assert (frame.index, frame.phase) == (int(row["frame"]), row["phase"])
    assert frame.distance == pytest.approx(float(row["D_m"]), abs=1e-6)
    assert frame.angle == pytest.approx(float(row["theta_rad"]), abs=1e-8)
    pose = frame.base_poses["right_palm"]
    np.testing.assert_allclose(pose[:3, 3], [float(row[axis]) for axis in ("x_m", "y_m", "z_m")], atol=1e-6)
    quaternion = [float(row[name]) for name in ("qx", "qy", "qz", "qw")]
    np.testing.assert_allclose(pose[:3, :3], Rotation.from_quat(quaternion).as_matrix(), atol=1e-7)
    np.testing.assert_array_equal(frame.base_poses["left_palm"], np.eye(4))
    assert frame.positions["left_tj2"] == pytest.approx(float(row["thumb_opposition_rad"]), abs=1e-6)


def test_it_moves_exactly_the_independent_joints_of_the_hands():
    robot = Robot.from_urdf((SHARE / "urdf" / "icub_hands.urdf").read_text(encoding="utf-8"))
    assert set(SWEEP.positions) == set(robot.joint_names)
    assert set(SWEEP.frame(0).base_poses) == set(robot.base_links)
    for name, position in SWEEP.positions.items():
        lower, upper = robot.joint_limits[name]
        assert lower <= position <= upper


@pytest.mark.parametrize("index", [-1, 214, 10_000])
def test_a_missing_frame_is_an_error(index):
    with pytest.raises(IndexError, match="frames 0 to 213"):
        SWEEP.frame(index)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"approach_frames": 0}, "approach_frames = 0: must be an integer of at least 1"),
        ({"rotate_frames": 2.5}, "rotate_frames = 2.5"),
        ({"end_angle": math.nan}, "end_angle = nan: must be a finite number"),
        ({"touch_distance": "far"}, "touch_distance = 'far'"),
        ({"positions": {"left_tj2": math.inf}}, r"positions\['left_tj2'\] = inf"),
        ({"positions": [1]}, "must map joint names"),
    ],
)
def test_bad_parameters_are_errors_with_their_names(change, message):
    with pytest.raises(ValueError, match=message):
        replace(SWEEP, **change)


@pytest.mark.parametrize(
    ("text", "message"), [("- 1\n", "expected a mapping"), ("speed: 3\n", "speed"), ("approach: 1\n", "missing")]
)
def test_a_bad_parameter_file_is_an_error_with_its_name(tmp_path, text, message):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        GraspSweep.from_file(path)
    assert "sweep.yaml" in str(error.value)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The planning example: both hands to a grasp around an egg."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from superovoid.cli import main
from superovoid.robot import Robot
from superovoid.viewing.recording import ReplayModel
from superovoid.viewing.recording_files import read_csv
from superovoid_ros.icub import grasp_planning, grasp_problem
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.resources import share_directory


@pytest.mark.slow
def test_the_example_ends_without_unwanted_contact(tmp_path):
    pytest.importorskip("ompl", reason="OMPL is missing: pip install 'superovoid[plan]'")
    assert grasp_planning.main(output=tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "plan_grasp.csv",
        "plan_grasp.png",
        "plan_grasp_hands.png",
    ]


def test_palms_on_joints_have_the_poses_of_the_sweep():
    sweep = GraspSweep.from_file(share_directory() / "config" / "grasp_sweep.yaml")
    robot = Robot.from_urdf(grasp_problem.hands_urdf())
    for frame in (sweep.frame(0), sweep.frame(100)):
        joints = {"left_distance": 0.0, "right_lateral": sweep.lateral_offset}
        joints |= {"right_distance": frame.distance, "right_swing": frame.angle}
        poses = robot.forward_kinematics({**frame.positions, **joints})
        for palm, pose in frame.base_poses.items():
            np.testing.assert_allclose(poses[palm], pose, atol=1e-9)


def test_a_parameter_file_without_an_entry_names_it(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("object: {size: [0.02, 0.02, 0.02]}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"plan\.yaml: 'epsilon' is missing"):
        grasp_problem.read_example(path)


@pytest.mark.slow
def test_the_path_is_shown_in_a_browser_after_planning(tab, tmp_path):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    pytest.importorskip("ompl", reason="ompl is missing: pip install 'superovoid[plan]'")
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    words = [sys.executable, "-m", "superovoid.cli", "grasp", "--view", "--output", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=environment, start_new_session=True, **pipes) as process:
        try:
            url = next(found[1] for line in process.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
            model = ReplayModel(read_csv(tmp_path / grasp_planning.STATES))
            last = len(model.recording.moments) - 1
            tab.open(url)
            for index in (0, last // 2, last):
                model.seek(index)
                tab.set_number("moment", index)
                tab.page.get_by_text(f"{model.recording.words(index)} ({index + 1} of {last + 1})").wait_for()
                said = model.answer().clearance.words.replace(", ", "", 1)  # two lines on the page
                tab.page.wait_for_function(
                    "words => document.body.innerText.replaceAll('\\n', '').includes(words)", arg=said
                )
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGINT and tab.troubles == []


def test_the_command_names_the_extra_with_ompl(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ompl", None)
    assert main(["grasp"]) == 2
    assert "pip install 'superovoid[plan]'" in capsys.readouterr().err

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings from the tables of `superovoid demo` and `superovoid grasp`."""

import csv
import re

import numpy as np
import pytest

from superovoid import output
from superovoid.viewing.meanings import Meaning
from superovoid.viewing.recording import ReplayModel, track_of
from superovoid.viewing.recording_files import RecordingError, read_csv
from superovoid_ros.icub import grasp_problem
from superovoid_ros.motions import dental_bite, grasp_sweep
from superovoid_ros.motions.arm_sweep import wanted_pose
from superovoid_ros.tools.replay_report import ReplayRow


def write_csv(path, names, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def write_table(path, frames, **settings):
    """Write the table of a walk through a motion; only fields read by the recording have values."""
    counts = {"intersecting": 0, "answers_not_proved": 0, "body_a": "a", "body_b": "b"}
    output.write_csv(path, [ReplayRow(frame=at, distance=0.1 * at, **counts, **settings) for at in frames])


def test_the_table_of_the_demo_shows_its_own_frames(tmp_path):
    path = tmp_path / "dental_bite.csv"
    sides = {"links_a": dental_bite.LOWER, "links_b": dental_bite.UPPER}
    write_table(path, [46, 47, 60], motion="bite", representation="mixed", **sides)
    recording = read_csv(path)
    robot, bite = dental_bite.read_bite()
    assert recording.robot.name == robot.name
    assert [moment.at for moment in recording.moments] == [46, 47, 60]
    assert recording.recorded == pytest.approx([4.6, 4.7, 6.0])
    track = track_of(ReplayModel(recording))
    scene, pairs = robot.scene(), robot.body_pairs([dental_bite.LOWER], [dental_bite.UPPER])
    for index, frame in enumerate((46, 47, 60)):
        scene.set_link_poses(robot.forward_kinematics(bite.frame(frame).positions))
        (expected,) = scene.query(pairs=pairs, max_results=1).distance
        assert track.lower[index] <= expected <= track.upper[index]
    # The first contact of the paper's bite.
    assert list(track.meaning == Meaning.OVERLAPPING) == [False, True, True]


@pytest.mark.parametrize("motion", ["hands", "arms"])
def test_hands_of_the_demo_have_the_poses_of_the_player(tmp_path, motion):
    path = tmp_path / "grasp_sweep.csv"
    sides = {"links_a": "left_fingers", "links_b": "right_fingers"}
    write_table(path, [30], motion=motion, representation="superovoids", **sides)
    model = ReplayModel(read_csv(path))
    links = model.answer().root_from_link
    found = np.linalg.inv(links["left_palm"]) @ links["right_palm"]
    assert found == pytest.approx(wanted_pose(grasp_sweep.read_sweep()[1], 30), abs=1e-9)


def test_the_path_of_the_planning_example_has_its_object(tmp_path):
    example = grasp_problem.read_example()
    names = ["seed", "along_m", *grasp_problem.joint_columns(example.problem)]
    path = write_csv(tmp_path / "plan_grasp.csv", names, [1, 0.0, *example.start], [1, 0.2, *example.guess])
    model = ReplayModel(read_csv(path))
    assert list(model.planning.objects) == ["object"]
    assert (model.recording.axis, model.recording.unit) == ("length of path", "m")
    assert {pair.owner_b for pair in model.answer().pairs} <= {*model.robot.links, "object"}


DEMO = ["motion", "representation", "links_a", "links_b", "frame", "distance_m"]
BITE = ["bite", "mixed", "lower_molar", "upper_molar"]


@pytest.mark.parametrize(
    ("names", "rows", "words"),
    [
        (["motion", "frame"], [["bite", "0"]], "no column representation, links_a, links_b, distance_m"),
        (DEMO, [["dance", "mixed", "a", "b", "0", "0"]], "'dance' must be one of arms, bite, hands"),
        (DEMO, [["bite", "wax", "a", "b", "0", "0"]], "wax"),
        (DEMO, [["bite", "mixed", "a", "b", "0", "0"]], "'a' is not a link"),
        (DEMO, [[*BITE, "181", "0"]], "must be a frame from 0 to 180"),
        (DEMO, [[*BITE, "0.5", "0"]], "must be a frame from 0 to 180"),
        (DEMO, [[*BITE, "5", "0"], [*BITE, "4", "0"]], "row 3, column frame: 4 after 5"),
        (DEMO, [[*BITE, "1e999", "0"]], "must be a finite number"),
        (DEMO, [[*BITE, "0", "0"], ["hands", *BITE[1:], "1", "0"]], "row 3, column motion: 'hands' after 'bite'"),
    ],
)
def test_an_invalid_table_of_the_demo_is_refused_with_a_reason(tmp_path, names, rows, words):
    with pytest.raises(RecordingError, match=re.escape(words)):
        read_csv(write_csv(tmp_path / "p.csv", names, *rows))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bags: recorded joint states become moments; missing ones are unknown."""

import math
import re

import numpy as np
import pytest
from mcap_bags import KINDS, STAMP, ball, joints, write_bag

from superovoid import Robot
from superovoid.cli import main
from superovoid.viewing.meanings import Meaning
from superovoid.viewing.recording import ReplayModel, track_of
from superovoid.viewing.recording_bags import read_bag, read_descriptions
from superovoid.viewing.recording_files import RecordingError

from arm import SRDF, URDF


@pytest.fixture(scope="module")
def arm():
    return Robot.from_urdf(URDF, srdf=SRDF)


def test_recorded_states_have_the_distances_of_the_library(arm, tmp_path):
    states = [(0.1 * i, 0.1 * i) for i in range(11)]
    path = write_bag(
        tmp_path / "b.mcap", ball(0.0, 2.0, "/tf_static"), *(joints(t, slide=x, wrist=0.2) for t, x in states)
    )
    recording = read_bag(path, arm, rate=10.0)
    assert recording.seconds == pytest.approx([t for t, _ in states])
    track, scene = track_of(ReplayModel(recording, near=0.1)), arm.scene()
    pose = np.eye(4)
    pose[0, 3] = 2.0
    for index, (_, slide) in enumerate(states):
        scene.set_link_poses(arm.forward_kinematics({"slide": slide, "wrist": 0.2}, {"ball": pose}))
        (expected,) = scene.query(max_results=1).distance
        assert track.lower[index] <= expected <= track.upper[index]


def test_missing_and_stale_positions_are_unknown(arm, tmp_path):
    path = write_bag(
        tmp_path / "b.mcap",
        ball(0.0, 2.0, "/tf_static"),
        joints(0.0, slide=0.5),
        joints(1.0, wrist=0.0),
        joints(1.5, slide=0.5, wrist=0.0),
        joints(5.0, slide=0.5, wrist=0.0),
        joints(5.5, slide=math.nan, wrist=0.0),
    )
    recording = read_bag(path, arm, rate=2.0)
    unknown = [moment.unknown for moment in recording.moments]
    assert unknown[:3] == ["not recorded yet: joint wrist"] * 2 + [""]  # 0, 0.5, 1.0 s
    assert unknown[3:6] == ["", "", ""]  # 1.5, 2.0, 2.5 s
    assert unknown[6] == "not recorded for 1 s: joint slide, joint wrist"  # 3.0 s
    assert unknown[-2:] == ["", "invalid value: joint slide (nan)"]
    track = track_of(ReplayModel(recording, near=0.1))
    assert (track.meaning[[0, 1, 6, 7, 8, 9, 11]] == Meaning.UNKNOWN).all() and np.isnan(track.lower[6])
    assert (track.meaning[[2, 3, 4, 5, 10]] == Meaning.APART).all()
    assert "1 values were ignored" in recording.notes[1]


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "the pose of ball in ground"),
        ([ball(0.0, 2.0, parent="odom")], "the pose of ball in ground"),
        ([ball(0.0, math.nan)], "the pose of ball in ground"),
        ([ball(0.0, 2.0, w=0.0)], "the pose of ball in ground"),
        ([ball(0.0, 2.0)], "not recorded for 1 s: the pose of ball"),
    ],
)
def test_a_base_without_a_transform_leaves_the_state_unknown(arm, tmp_path, frames, words):
    messages = [joints(0.5 * i, slide=0.5, wrist=0.0) for i in range(5)]
    recording = read_bag(write_bag(tmp_path / "b.mcap", *frames, *messages), arm, rate=2.0)
    assert words in recording.moments[-1].unknown


def test_the_command_shows_the_robot_of_a_bag(tmp_path, capsys):
    path = write_bag(
        tmp_path / "b.mcap",
        ("/robot_description", "String", 0.0, {"data": URDF}),
        ("/robot_description_semantic", "String", 0.0, {"data": SRDF}),
        ball(0.0, 2.0, "/tf_static"),
        *(joints(0.1 * i, slide=0.05 * i, wrist=0.0) for i in range(5)),
    )
    assert read_descriptions(path).srdf == SRDF
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    assert main(["view", str(path), "--rate", "10", "--html", str(tmp_path / "b.html")]) == 0
    text = (tmp_path / "b.html").read_text()
    assert "time 0.4 s: " in text and "time 0.5 s: " not in text


@pytest.mark.parametrize(
    ("messages", "options", "words"),
    [
        ([], {}, "no joint states on a topic joint_states"),
        ([joints(0.0, slide=0.0)], {"topic": "/other"}, "no joint states on /other"),
        (
            [joints(0.0, slide=0.0), joints(0.0, "/a/joint_states", slide=0.0)],
            {},
            "/a/joint_states, /joint_states: choose",
        ),
        ([joints(0.0, elbow=0.0)], {}, "name no joint of 'arm'"),
        ([joints(0.0, slide=0.0), joints(1e6, slide=0.0)], {}, "are more than 20000 moments: choose a lower --rate"),
    ],
)
def test_an_unusable_bag_is_rejected_with_a_reason(arm, tmp_path, messages, options, words):
    with pytest.raises(RecordingError, match=re.escape(words)):
        read_bag(write_bag(tmp_path / "b.mcap", *messages), arm, **options)


def test_a_topic_can_be_chosen(arm, tmp_path):
    path = write_bag(tmp_path / "b.mcap", joints(0.0, "/a/joint_states", slide=1.0), joints(0.0, slide=0.5))
    assert read_bag(path, arm, topic="/a/joint_states").moments[0].positions == {"slide": 1.0}


def test_a_damaged_bag_is_rejected_or_gives_the_same_states(arm, tmp_path):
    """Change bytes of a bag and truncate it: the only error is a `RecordingError`."""
    good = write_bag(tmp_path / "b.mcap", *(joints(0.1 * i, slide=0.1 * i, wrist=0.0) for i in range(4))).read_bytes()
    states = [dict(moment.positions) for moment in read_bag(tmp_path / "b.mcap", arm, rate=10.0).moments]
    random, path, refused = np.random.default_rng(1), tmp_path / "d.mcap", 0
    for number in range(200):
        bad = bytearray(good)
        for at in random.integers(0, len(bad), 1 + number % 3):
            bad[at] = random.integers(0, 256)
        path.write_bytes(bad if number % 4 else good[: random.integers(0, len(good))])
        try:
            found = read_bag(path, arm, rate=10.0)
        except RecordingError as error:
            refused += 1
            assert str(error).startswith(str(path))
        else:
            assert [dict(moment.positions) for moment in found.moments] == states
    assert refused > 100


JOINTS, FRAMES = "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"


@pytest.mark.parametrize(
    ("kind", "definition", "message", "lacking"),
    [
        ("JointState", "float64 x\n", {"x": 1.0}, "header.stamp.sec"),
        ("JointState", KINDS[JOINTS].replace("string[] name", "int32[] name"),
         {"header": STAMP, "name": [1], "position": [0.0], "velocity": [], "effort": []}, "name[]"),
        ("JointState", KINDS[JOINTS].replace("float64[] position", "string[] position"),
         {"header": STAMP, "name": ["slide"], "position": ["0"], "velocity": [], "effort": []}, "position[]"),
        ("JointState", KINDS[JOINTS].replace("float64[] position", "float64 position"),
         {"header": STAMP, "name": ["slide"], "position": 0.0, "velocity": [], "effort": []}, "position[]"),
        ("TFMessage", "string transforms\n", {"transforms": "none"}, "transforms[].header.stamp.sec"),
    ],
)  # fmt: skip
def test_messages_with_missing_fields_are_rejected_with_a_reason(arm, tmp_path, kind, definition, message, lacking):
    full = JOINTS if kind == "JointState" else FRAMES
    topic = "/joint_states" if kind == "JointState" else "/tf"
    bag = write_bag(
        tmp_path / "b.mcap", (topic, kind, 0.0, message), *([joints(0.1, slide=0.0)] if kind == "TFMessage" else []),
        kinds={full: definition},
    )  # fmt: skip
    words = f"{bag}: topic {topic}: the messages have the type name {full}, but no field {lacking} "
    with pytest.raises(RecordingError, match=re.escape(words)):
        read_bag(bag, arm)


def test_a_description_without_text_is_rejected_with_a_reason(tmp_path):
    bag = write_bag(
        tmp_path / "b.mcap",
        ("/robot_description", "String", 0.0, {"data": 1}),
        kinds={"std_msgs/msg/String": "int32 data\n"},
    )
    with pytest.raises(RecordingError, match=r"b\.mcap: topic /robot_description.*no field data as"):
        read_descriptions(bag)


def test_large_positions_are_unknown_and_the_last_equal_time_counts(arm, tmp_path):
    bag = write_bag(
        tmp_path / "b.mcap",
        ball(0.0, 2.0, "/tf_static"),
        joints(0.0, slide=0.5, wrist=0.0),
        joints(0.0, slide=0.7, wrist=0.0),
        joints(0.5, slide=1e308, wrist=0.0),
    )
    first, last = read_bag(bag, arm, rate=2.0).moments
    assert first.positions["slide"] == 0.7 and not first.unknown
    assert last.unknown == "invalid value: joint slide (1e+308)"


def test_a_bag_with_one_state_and_names_with_tags_is_read(tmp_path):
    tag = "<img src=x> \u624b"
    urdf = URDF.replace('"slide"', '"&lt;img src=x&gt; \u624b"')
    bag = write_bag(tmp_path / "b.mcap", ball(0.0, 2.0, "/tf_static"), joints(0.0, **{tag: 0.5, "wrist": 0.0}))
    (moment,) = read_bag(bag, Robot.from_urdf(urdf)).moments
    assert moment.positions == {tag: 0.5, "wrist": 0.0} and not moment.unknown

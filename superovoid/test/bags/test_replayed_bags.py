# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Replay of bags: distances equal the library's, at the recorded times, and other readers decode the output."""

import csv
import math
import os
import random
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from mcap_bags import ball, joints, write_bag

from superovoid import Robot, Status
from superovoid.bags import ReplayQuery, distance_messages, replay
from superovoid.cli import main
from superovoid.dataset import spreading
from superovoid.viewing.recording_files import RecordingError

from arm import SRDF, URDF

reader_module = pytest.importorskip("mcap_ros2.reader", reason="mcap is missing: pip install 'superovoid[view]'")

MESSAGES = Path(__file__).resolve().parents[3] / "superovoid_interfaces" / "msg"


@pytest.fixture(scope="module")
def arm():
    return Robot.from_urdf(URDF, srdf=SRDF)


def run_of(path, count=300, robot=True):
    """Write a bag: the slide oscillates, the base stands still, and the first state lacks the wrist."""
    texts = [("/robot_description", "String", 0.0, {"data": URDF}),
             ("/robot_description_semantic", "String", 0.0, {"data": SRDF})]  # fmt: skip
    states = [joints(0.01 * i, slide=slide_at(i), wrist=0.2) for i in range(1, count)]
    return write_bag(path, *(texts if robot else ()), ball(0.0, 2.0, "/tf_static"), joints(0.0, slide=0.0), *states)


def slide_at(number):
    return 0.5 + 0.4 * math.sin(0.1 * number)


def distances_of(robot, slide, **how):
    scene, pose = robot.scene(), np.eye(4)
    pose[0, 3] = 2.0
    scene.set_link_poses(robot.forward_kinematics({"slide": slide, "wrist": 0.2}, {"ball": pose}))
    return scene.query(**how)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def decode(path, topic="/distance_service/distances"):
    """Return time, ns, and message of each entry, decoded by mcap_ros2."""
    return [(each.log_time_ns, each.ros_msg) for each in reader_module.read_ros2_messages(str(path), topics=[topic])]


def test_replayed_distances_equal_direct_queries(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap")
    table, bag = tmp_path / "t.csv", tmp_path / "out.mcap"
    did = replay(run, arm, ReplayQuery(max_results=None), table=table, bag=bag, threads=2)
    assert (did.states, did.known) == (300, 299)
    assert did.first_unknown == (0.0, "not recorded yet: joint wrist")
    rows, messages = rows_of(table), decode(bag)
    assert (rows[0]["state"], rows[0]["distance_m"], rows[0]["lower_m"]) == (did.first_unknown[1], "nan", "-inf")
    assert len(messages) == 299 and len(rows) == 1 + 299 * did.pairs == did.rows
    at = 1
    for number, (then, message) in enumerate(messages, start=1):
        assert then == 1_700_000_000 * 10**9 + 10_000_000 * number
        if number % 20 == 1:
            found = distances_of(arm, slide_at(number))
            for one, row, expected in zip(message.pairs, rows[at:], found, strict=False):
                names = {arm.bodies[expected.body_a].name, arm.bodies[expected.body_b].name}
                assert {one.body_a, one.body_b} == names == {row["body_a"], row["body_b"]}
                assert one.distance == float(row["distance_m"]) == pytest.approx(expected.distance, abs=1e-9)
                assert one.lower == float(row["lower_m"]) <= expected.upper and expected.lower <= one.upper
                assert Status(one.status).certified and row["status"] == "CERTIFIED"
                between = np.array([getattr(one.point_b, axis) - getattr(one.point_a, axis) for axis in "xyz"])
                normal = np.array([getattr(one.normal, axis) for axis in "xyz"])
                assert between == pytest.approx(one.distance * normal, abs=1e-7)
        assert message.header.frame_id == "ground" and message.pairs_considered == did.pairs
        assert (message.uses_joint_states, message.joint_state_age, message.uses_transforms) == (True, 0.0, True)
        at += did.pairs
    least = min((row for row in rows[1:]), key=lambda row: float(row["distance_m"]))
    assert did.least.distance_m == float(least["distance_m"])


def test_outputs_do_not_depend_on_number_of_threads(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "_AHEAD", 1)
    run, bits = run_of(tmp_path / "run.mcap", 600), []
    for threads in (1, 3):
        table, bag = tmp_path / f"{threads}.csv", tmp_path / f"{threads}.mcap"
        replay(run, arm, ReplayQuery(), table=table, bag=bag, threads=threads)
        bits.append((table.read_bytes(), bag.read_bytes()))
    assert bits[0] == bits[1]


def test_states_without_pair_within_max_distance_have_that_lower_bound(arm, tmp_path):
    asked = ReplayQuery(max_distance=1e-6, max_results=None)
    did = replay(run_of(tmp_path / "run.mcap", 3), arm, asked, table=tmp_path / "t.csv",
                 bag=tmp_path / "out.mcap")  # fmt: skip
    rows = rows_of(tmp_path / "t.csv")
    assert [(row["state"], row["body_a"], row["lower_m"]) for row in rows[1:]] == [("known", "", "1e-06")] * 2
    assert [len(message.pairs) for _, message in decode(tmp_path / "out.mcap")] == [0, 0] and did.least is None


def test_states_at_fixed_rate_use_latest_message(arm, tmp_path):
    did = replay(run_of(tmp_path / "run.mcap"), arm, ReplayQuery(), rate=25.0, table=tmp_path / "t.csv")
    times = [float(row["time_s"]) for row in rows_of(tmp_path / "t.csv")]
    assert times == pytest.approx(np.arange(75) / 25.0) and did.known == 74


def test_recording_is_copied_message_by_message_on_request(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap", 20)
    replay(run, arm, ReplayQuery(), bag=tmp_path / "out.mcap", with_recording=True)
    for topic in ("/joint_states", "/tf_static", "/robot_description"):
        there, here = (
            [(each.log_time_ns, each.sequence_count) for each in reader_module.read_ros2_messages(str(file), [topic])]
            for file in (run, tmp_path / "out.mcap")
        )
        assert there == here and there
    assert len(decode(tmp_path / "out.mcap")) == 19
    with pytest.raises(RecordingError, match="already has a topic /distance_service/distances: choose another --name"):
        replay(tmp_path / "out.mcap", arm, ReplayQuery(), bag=tmp_path / "more.mcap", with_recording=True)
    assert not (tmp_path / "more.mcap").exists() and not list(tmp_path.glob(".*"))
    replay(tmp_path / "out.mcap", arm, ReplayQuery(), bag=tmp_path / "more.mcap", name="/again", with_recording=True)
    assert len(decode(tmp_path / "more.mcap", "/again/distances")) == 19


def test_message_definition_matches_superovoid_interfaces():
    def fields(text):
        lines = (re.sub(r"\s+", " ", line.partition("#")[0]).strip() for line in text.splitlines())
        return [line.replace(" = ", "=") for line in lines if line]

    parts = distance_messages.DEFINITION.split("=" * 80)
    assert fields(parts[0]) == fields((MESSAGES / "DistanceArray.msg").read_text())
    assert fields(parts[1])[1:] == fields((MESSAGES / "PairDistance.msg").read_text())


def test_ros_deserializes_the_messages(arm, tmp_path):
    serialization = pytest.importorskip("rclpy.serialization")
    kind = pytest.importorskip("superovoid_interfaces.msg").DistanceArray
    replay(run_of(tmp_path / "run.mcap", 3), arm, ReplayQuery(max_results=None), bag=tmp_path / "out.mcap")
    from mcap.reader import make_reader

    with (tmp_path / "out.mcap").open("rb") as file:
        raw = [message.data for _, _, message in make_reader(file).iter_messages()]
    for data, (_, ours) in zip(raw, decode(tmp_path / "out.mcap"), strict=True):
        read = serialization.deserialize_message(data, kind)
        assert read.header.stamp.sec == 1_700_000_000 and len(read.pairs) == len(ours.pairs) > 0
        assert [(p.link_a, p.body_b, p.distance, p.upper, p.normal.z, p.status, p.iterations) for p in read.pairs] == [
            (p.link_a, p.body_b, p.distance, p.upper, p.normal.z, p.status, p.iterations) for p in ours.pairs
        ]
        assert (read.solved, read.pairs_considered, read.solve_time) == (ours.solved, ours.pairs_considered, 0.0)
        assert len(serialization.serialize_message(read)) - len(data) in range(4)  # alignment padding may differ


@pytest.mark.parametrize("names", [(b"", b"\xc3\xa9"), (b"a", b"bc"), (b"abcdefg", b"abcdefgh")])
@pytest.mark.parametrize("frame", ["", "w", "wor", "world/of"])
def test_names_of_any_length_decode(arm, frame, names):
    from superovoid.states import state_distances

    found = state_distances(arm, arm.scene(), np.array([[0.3, 0.1]]), base_poses={"ball": np.eye(4)})
    bodies = [(names[i % 2].decode(), f"link_{'x' * i}") for i in range(len(found.bodies))]
    fresh = distance_messages.Freshness(-1, 0.5, 0.25, True, False)
    data = distance_messages.DistanceMessages(frame, bodies).of_state(found, 0, fresh)
    read = _read(data)
    assert (read.header.stamp.sec, read.header.stamp.nanosec, read.header.frame_id) == (-1, 999_999_999, frame)
    assert (read.joint_state_age, read.base_pose_age, read.uses_transforms, read.stale) == (0.5, 0.25, False, False)
    for row, one in enumerate(read.pairs):
        assert (one.body_a, one.link_b) == (bodies[found.body_a[row]][0], bodies[found.body_b[row]][1])
        assert (one.lower, one.point_b.y, one.iterations) == (
            found.lower[row], found.point_b[row, 1], found.statistics.iterations[row],
        )  # fmt: skip
    assert read.solved == found.statistics.solved[0]


def _read(data):
    from mcap.records import Schema
    from mcap_ros2.decoder import DecoderFactory

    schema = Schema(1, distance_messages.DEFINITION.encode(), "ros2msg", distance_messages.KIND)
    return DecoderFactory().decoder_for("cdr", schema)(data)


def test_command_reads_robot_and_rules_from_bag(tmp_path, capsys):
    folder = tmp_path / "recorded"
    folder.mkdir()
    run_of(folder / "run_0.mcap", 30)
    assert main(["replay", str(folder), "--output", str(tmp_path), "--closest", "2", "--parquet"]) == 0
    printed = capsys.readouterr().out
    assert "first unknown state at 0.000 s: not recorded yet: joint wrist" in printed
    assert printed.startswith("minimum distance") and (tmp_path / "run_0_distances.mcap").stat().st_size > 1000
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "run_0_distances.parquet").num_rows == 1 + 2 * 29


def test_command_fails_if_no_state_is_known(tmp_path, capsys):
    write_bag(tmp_path / "run.mcap", *(joints(0.1 * i, slide=0.0) for i in range(3)))
    (tmp_path / "arm.urdf").write_text(URDF)
    assert main(["replay", f"{tmp_path}/run.mcap", f"{tmp_path}/arm.urdf", "--output", str(tmp_path)]) == 1
    assert "none of 3 states is complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["no.mcap"], "no.mcap': cannot be read"),
        (["empty"], "is a folder with no file NAME.mcap"),
        (["run.mcap", "--srdf", "run.mcap"], "argument --srdf: needs a URDF"),
        (["run.mcap", "--name", "a b"], "must be a node name"),
        (["run.mcap", "--rate", "0"], "must be more than 0"),
    ],
)
def test_invalid_arguments_are_usage_errors(tmp_path, capsys, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    run_of(tmp_path / "run.mcap", 2)
    with pytest.raises(SystemExit) as ended:
        main(["replay", *words])
    assert ended.value.code == 2 and problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["bare.mcap"], "contains no robot_description; give a URDF too"),
        (["run.mcap", "--between", "hand", "none"], "none"),
        (["run.mcap", "--topic", "/other"], "no joint states on /other"),
        (["torn.mcap"], "cannot be read as a bag"),
        (["run.mcap", "--rate", "100000"], "are more than 10000000 moments: choose a lower --rate"),
    ],
)
def test_failed_command_names_problem_and_leaves_no_files(tmp_path, capsys, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    run = run_of(tmp_path / "run.mcap", 2)
    if "--rate" in words:
        description = ("/robot_description", "String", 0.0, {"data": URDF})
        write_bag(run, description, joints(0.0, slide=0.0), joints(1e6, slide=0.0))
    run_of(tmp_path / "bare.mcap", 2, robot=False)
    (tmp_path / "torn.mcap").write_bytes(run.read_bytes()[:-100])
    before = sorted(os.listdir(tmp_path))
    assert main(["replay", *words]) == 2
    assert problem in capsys.readouterr().err and sorted(os.listdir(tmp_path)) == before


def test_input_bag_is_never_overwritten(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap", 3)
    (tmp_path / "link.mcap").symlink_to(run)
    before = run.read_bytes()
    with pytest.raises(RecordingError, match="is the input and cannot be overwritten"):
        replay(run, arm, ReplayQuery(), bag=tmp_path / "link.mcap")
    assert run.read_bytes() == before


def test_stamp_of_a_state_is_that_of_its_oldest_part(arm, tmp_path):
    def add_stamp(seconds, sec, **positions):
        topic, kind, then, message = joints(seconds, **positions)
        return topic, kind, then, {**message, "header": {"stamp": {"sec": sec, "nanosec": 5}, "frame_id": ""}}

    run = write_bag(
        tmp_path / "run.mcap", ball(0.0, 2.0, "/tf_static"), add_stamp(0.0, 100, wrist=0.1),
        add_stamp(0.5, 90, slide=0.1), add_stamp(0.75, 95, slide=0.2), add_stamp(0.75, 94, wrist=0.2),
    )  # fmt: skip
    replay(run, arm, ReplayQuery(), bag=tmp_path / "out.mcap")
    found = [(each.header.stamp.sec, each.joint_state_age) for _, each in decode(tmp_path / "out.mcap")]
    assert found == [(90, 0.5), (95, 0.75), (94, 0.0)]


def test_next_replay_removes_partial_files_of_a_killed_one(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap", 20)
    outputs = {"table": tmp_path / "t.csv", "bag": tmp_path / "out.mcap"}
    child = os.fork()
    if child == 0:
        try:
            replay(
                run, arm, ReplayQuery(), threads=1, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL), **outputs
            )
        finally:
            os._exit(7)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len(list(tmp_path.glob(".*.partial"))) == 2 and not any(path.exists() for path in outputs.values())
    replay(run, arm, ReplayQuery(), threads=1, **outputs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mcap", "run.mcap", "t.csv"]


@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 25), marks=pytest.mark.slow)])
def test_corrupted_bag_is_replayed_or_refused_with_its_name(arm, tmp_path, seed):
    data = run_of(tmp_path / "run.mcap", 30).read_bytes()
    harmed, outputs = tmp_path / "harmed.mcap", {"table": tmp_path / "t.csv", "bag": tmp_path / "out.mcap"}
    for each in [seed] if isinstance(seed, int) else seed:
        chance, ended = random.Random(each), set()
        for how in 4 * ("cut", "bit", "noise"):
            at = chance.randrange(len(data))
            rest = {"cut": b"", "bit": bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :],
                    "noise": chance.randbytes(8) + data[at + 8 :]}  # fmt: skip
            harmed.write_bytes(data[:at] + rest[how])
            try:
                did = replay(harmed, arm, ReplayQuery(), threads=1, **outputs)
            except RecordingError as error:
                assert str(harmed) in str(error) and not any(path.exists() for path in outputs.values())
                ended.add("refused")
            else:
                assert did.states == len(rows_of(outputs["table"])) and len(decode(outputs["bag"])) == did.known
                ended.add("replayed")
            for path in outputs.values():
                path.unlink(missing_ok=True)
        assert "refused" in ended and not list(tmp_path.glob(".*.partial"))


def joints_at(seconds, names, positions):
    topic, kind, then, message = joints(seconds)
    return topic, kind, then, {**message, "name": names, "position": positions}


@pytest.mark.parametrize(
    ("names", "positions", "words"),
    [
        (
            ["slide", "wrist", "slide"],
            [0.1, 0.2, 0.9],
            "invalid value: joint slide (in one message 0.1 and 0.9)",
        ),
        (["slide", "wrist"], [math.nan, 0.2], "invalid value: joint slide (nan)"),
        (["slide", "slide", "wrist"], [0.1, math.inf, 0.2], "invalid value: joint slide (0.1, inf)"),
        (["slide", "wrist", "slide"], [0.3, 0.2, 0.3], "known"),
    ],
)
def test_invalid_position_makes_state_unknown_until_next_message(arm, tmp_path, names, positions, words):
    run = write_bag(
        tmp_path / "run.mcap", ball(0.0, 2.0, "/tf_static"), joints_at(0.0, ["slide", "wrist"], [0.1, 0.2]),
        joints_at(0.1, names, positions), joints_at(0.2, ["wrist"], [0.2]), joints_at(0.3, ["slide"], [0.3]),
    )  # fmt: skip
    replay(run, arm, ReplayQuery(), table=tmp_path / "t.csv", threads=1)
    assert [row["state"] for row in rows_of(tmp_path / "t.csv")] == ["known", words, words, "known"]


def test_invalid_base_pose_is_reported(arm, tmp_path):
    run = write_bag(
        tmp_path / "run.mcap", ball(0.0, 2.0), ball(0.05, math.nan), joints(0.1, slide=0.1, wrist=0.2),
        ball(0.15, 2.0), joints(0.2, slide=0.1, wrist=0.2),
    )  # fmt: skip
    replay(run, arm, ReplayQuery(), table=tmp_path / "t.csv", threads=1)
    words = "invalid value: the pose of ball in ground (nan, 0, 0, 0, 0, 0, 1)"
    assert [row["state"] for row in rows_of(tmp_path / "t.csv")] == [words, "known"]


def test_fewer_positions_than_names_leave_the_joints_unknown(arm, tmp_path):
    run = write_bag(tmp_path / "run.mcap", ball(0.0, 2.0, "/tf_static"), joints_at(0.0, ["slide", "wrist"], [0.1]))
    did = replay(run, arm, ReplayQuery(), threads=1)
    assert (did.states, did.first_unknown[1]) == (1, "not recorded yet: joint slide, joint wrist")


def with_another_channel(run, to, topic, kind, encoding, definition):
    """Copy a bag and add a message of another type or encoding on a topic."""
    from mcap.reader import make_reader
    from mcap.writer import Writer

    with run.open("rb") as source, to.open("wb") as target:
        writer, channels = Writer(target), {}
        writer.start(profile="ros2")
        for schema, channel, message in make_reader(source).iter_messages():
            if channel.id not in channels:
                number = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, number)
            writer.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
        number = writer.register_schema(kind, definition, b"{}") if kind else 0
        writer.add_message(writer.register_channel(topic, encoding, number), message.log_time, b"{}", 0)
        writer.finish()
    return to


@pytest.mark.parametrize("kind", ["foxglove.Log", ""])
def test_messages_of_another_type_on_the_topic_are_ignored(arm, tmp_path, kind):
    run = run_of(tmp_path / "run.mcap", 5)
    other = with_another_channel(run, tmp_path / "o.mcap", "/joint_states", kind, "json", "jsonschema")
    assert replay(other, arm, ReplayQuery(), threads=1).states == 5


def test_joint_states_in_another_encoding_are_refused_with_topic(arm, tmp_path):
    run, kind = run_of(tmp_path / "run.mcap", 5), "sensor_msgs/msg/JointState"
    other = with_another_channel(run, tmp_path / "o.mcap", "/joint_states", kind, "json", "jsonschema")
    with pytest.raises(RecordingError, match=r"topic /joint_states: .* 'json' and defined by 'jsonschema'; expected"):
        replay(other, arm, ReplayQuery(), threads=1)
    other = with_another_channel(run, tmp_path / "p.mcap", "/joint_states", kind, "cdr", "ros2msg")
    with pytest.raises(RecordingError, match=r"topic /joint_states: .* cannot be decoded"):
        replay(other, arm, ReplayQuery(), threads=1)


def test_table_and_bag_cannot_be_the_same_file(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap", 3)
    with pytest.raises(RecordingError, match="cannot be both the table and the bag"):
        replay(run, arm, ReplayQuery(), table=tmp_path / "out", bag=tmp_path / "." / "out")
    assert os.listdir(tmp_path) == ["run.mcap"]


@pytest.mark.parametrize("then", [0, 2**31 * 10**9, 2**63, 2**64 - 1])
def test_extreme_recording_times_are_kept(arm, tmp_path, then):
    run = run_of(tmp_path / "run.mcap", 2)
    moved = with_time(run, tmp_path / "moved.mcap", then)
    did = replay(moved, arm, ReplayQuery(), table=tmp_path / "t.csv", bag=tmp_path / "out.mcap", threads=1)
    assert did.states == 2 and {row["recorded_ns"] for row in rows_of(tmp_path / "t.csv")} == {str(then)}


def with_time(path, to, then):
    """Copy a bag so that all messages were recorded at one time."""
    from mcap.reader import make_reader
    from mcap.writer import Writer

    with path.open("rb") as source, to.open("wb") as target:
        writer, channels = Writer(target), {}
        writer.start(profile="ros2")
        for schema, channel, message in make_reader(source).iter_messages(log_time_order=False):
            if channel.id not in channels:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, kind)
            writer.add_message(channels[channel.id], then, message.data, then, message.sequence)
        writer.finish()
    return to


def test_error_names_links_without_a_pair_to_check(arm, tmp_path):
    run = run_of(tmp_path / "run.mcap", count=2)
    with pytest.raises(RecordingError, match="'arm' has no pair between hand, thumb and thumb to check"):
        replay(run, arm, ReplayQuery(between=(["hand", "thumb"], ["thumb"])), table=tmp_path / "t.csv")

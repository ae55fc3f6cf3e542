# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Command lines, parameter files and launch arguments without sense: words, and the right exit code."""

import pytest

from superovoid_ros.nodes import sweep_player
from superovoid_ros.nodes.common import launch_arguments, main
from superovoid_ros.nodes.distance_service import distance_service

from node_processes import run_to_the_end

LINES = [
    (["--params-file", "/no/such.yaml"], ["'--params-file /no/such.yaml'"]),
    (["--params-file", "BAD"], ["bad.yaml"]),
    (["-r", "nothing"], ["remap rule: '-r nothing'"]),
    (["-p", "a b"], ["parameter override rule: '-p a b'"]),
    (["--log-level", "loud"], ["log level: '--log-level loud'"]),
    (["-x"], ["-x"]),
]
QOS = "qos_overrides./joint_states.subscription"
DEPTH = "qos_overrides./collision_object.subscription.depth"
SERVICE = [
    (["-p", "pairs:=[]"], ["pairs: has no value"]),
    (["-p", "planning_scene_service:=a//b"], ["planning_scene_service = 'a//b': "]),
    (["-p", "rate:=1e-300"], ["rate = 1e-300: must be 0, or 0.01 to 1000"]),
    (["-p", "representation:=round"], ["representation = 'round'"]),
    (["-p", "package_directories:=[etc=/no/such]"], ["'etc=/no/such': must be 'name=/folder'"]),
    (["-p", "package_directories:=[etc=relative]"], ["must be 'name=/folder'"]),
    (["-p", f"{QOS}.reliability:=sometimes"], ["qos_overrides./joint_states"]),
    (["-p", f"{QOS}.depth:=-3"], ["qos_overrides./joint_states"]),
    (["-p", f"{QOS}.durability:=1.5"], ["qos_overrides./joint_states"]),
    # A queue of these depths would hide that objects were lost.
    (["-p", f"{DEPTH}:=0"], [f"{DEPTH} = 0: must be in [1, 5000]"]),
    (["-p", f"{DEPTH}:=5001"], [f"{DEPTH} = 5001: must be in [1, 5000]"]),
]
PLAYER = [
    (["-p", "motion:=legs"], ["motion = 'legs': must be one of hands, arms, bite"]),
    (["-p", "motion_file:=/no/such.csv"], ["motion_file: /no/such.csv"]),
    (["-p", "motion_file:=CSV"], ["column 'a': must be JOINT_rad or JOINT_m"]),
    (["-p", "motion_file:=CSV", "-p", "publish_robot_description:=true"], ["names no robot"]),
]
NODES = {
    "distance_service": (distance_service.DistanceService, SERVICE),
    "sweep_player": (sweep_player.SweepPlayer, PLAYER + LINES),
}
STARTS = [(kind, *row) for kind, rows in NODES.values() for row in rows]


@pytest.mark.parametrize(("kind", "arguments", "words"), STARTS)
def test_a_wrong_start_ends_with_its_reason(tmp_path, monkeypatch, capfd, loopback_domain, kind, arguments, words):
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)  # pytest keeps its own handlers
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("distance_service:\n  ros__parameters: [\n", encoding="utf-8")
    arguments = [one.replace("CSV", str(tmp_path / "other.csv")) for one in arguments]
    arguments = [one.replace("BAD", str(tmp_path / "bad.yaml")) for one in arguments]
    assert main.run(kind, ["--ros-args", *arguments]) == 1
    printed = capfd.readouterr().err
    assert "cannot start: " in printed and "Traceback" not in printed
    for word in words:
        assert word in printed


def test_the_process_ends_with_the_code():
    found, printed = run_to_the_end(
        ["-m", "superovoid_ros.nodes.sweep_player", "--ros-args", "--params-file", "/no/such.yaml"]
    )
    assert found == 1 and "cannot start: " in printed and "Traceback" not in printed, printed


def test_only_given_arguments_set_parameters(tmp_path):
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("<robot/>")
    values = dict.fromkeys(("urdf", "srdf", "representation", "meshes", "rate", "max_distance", "use_sim_time"), "")
    assert launch_arguments.distance_service(values) == {}
    values |= {"urdf": str(urdf), "meshes": "ignore", "rate": "2.5", "autostart": "False", "namespace": "left"}
    assert launch_arguments.distance_service(values | {"package_directories": "a=/a, b=/b"}) == {
        "robot_description": "<robot/>",
        "meshes": "ignore",
        "rate": 2.5,
        "autostart": False,
        "package_directories": ["a=/a", "b=/b"],
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("max_distance", "far", "must be a number"),
        ("use_sim_time", "maybe", "must be true or false"),
        ("urdf", "nothere.urdf", "cannot be read"),
    ],
)
def test_a_value_of_another_type_and_a_missing_file_are_named(name, text, words):
    with pytest.raises(ValueError, match=f"{name}:={text}: {words}"):
        launch_arguments.distance_service({name: text})

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Command lines and parameter files without sense, and signals during the start: words, and the right exit code."""

from __future__ import annotations

import pytest
import rclpy

from superovoid_ros.nodes.common.main import start_ros

from node_processes import run_to_the_end

BAD_YAML = "distance_service:\n  ros__parameters: [\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ros-args", "--params-file", "/no/such.yaml"], "'--params-file /no/such.yaml'"),
        (["--ros-args", "--params-file", "BAD"], "bad.yaml"),
        (["--ros-args", "-r", "nothing"], "remap rule: '-r nothing'"),
        (["--ros-args", "-p", "a b"], "parameter override rule: '-p a b'"),
        (["--ros-args", "--log-level", "loud"], "log level: '--log-level loud'"),
        (["--ros-args", "-x"], "-x"),
        (["--no-such-option"], "unknown argument '--no-such-option'"),
        (["robot.urdf"], "expected only ROS arguments"),
    ],
)
def test_an_invalid_command_line_is_reported(tmp_path, arguments, words):
    bad = tmp_path / "bad.yaml"
    bad.write_text(BAD_YAML, encoding="utf-8")
    try:
        problem = start_ros([str(bad) if one == "BAD" else one for one in arguments])
    finally:
        rclpy.try_shutdown()
    assert words in problem and ".c:" not in problem


QOS = "qos_overrides./joint_states.subscription"
DEPTH = "qos_overrides./collision_object.subscription.depth"
SERVICE = [
    (["--params-file", "/no/such.yaml"], 2, ["'--params-file /no/such.yaml'"]),
    (["-p", "pairs:=[]"], 1, ["pairs: has no value"]),
    (["-p", "rate:=1e-300"], 1, ["rate = 1e-300: must be 0, or 0.01 to 1000"]),
    (["-p", "representation:=round"], 1, ["representation = 'round'"]),
    (["-p", "package_directories:=[etc=/no/such]"], 1, ["'etc=/no/such': must be 'name=/folder'"]),
    (["-p", "package_directories:=[etc=relative]"], 1, ["must be 'name=/folder'"]),
    (["-p", f"{QOS}.reliability:=sometimes"], 1, ["qos_overrides./joint_states"]),
    (["-p", f"{QOS}.depth:=-3"], 1, ["qos_overrides./joint_states"]),
    (["-p", f"{QOS}.durability:=1.5"], 1, ["qos_overrides./joint_states"]),
    # A queue of these depths would hide that objects were lost.
    (["-p", f"{DEPTH}:=0"], 1, [f"{DEPTH} = 0: must be in [1, 5000]"]),
    (["-p", f"{DEPTH}:=5001"], 1, [f"{DEPTH} = 5001: must be in [1, 5000]"]),
]
PLAYER = [
    (["--params-file", "/no/such.yaml"], 2, ["'--params-file /no/such.yaml'"]),
    (["-p", "config_file:=[]"], 1, ["config_file"]),
    (["-p", "config_file:=/nowhere/sweep.yaml"], 1, ["/nowhere/sweep.yaml"]),
    (["-p", "start_frame:=300"], 1, ["start_frame = 300"]),
    (["-p", "start_frame:=50", "-p", "end_frame:=40"], 1, ["end_frame = 40"]),
    (["-p", "motion:=legs"], 1, ["motion = 'legs': must be one of hands, arms, bite"]),
    (["-p", "motion:=bite", "-p", "start_frame:=181"], 1, ["start_frame = 181"]),
    (["-p", "motion:=arms", "-p", "arms_file:=/nowhere/arms.yaml"], 1, ["arms_file = '"]),
    (["-p", "motion:=arms", "-p", "arms_file:=ARMS"], 1, ["sweep.touch_distance = 0.5, but the sweep played has"]),
]
TRAIL = [
    (["-p", "path:=[]"], 1, ["path"]),
    (["-p", "path:=CSV"], 1, ["no path of `superovoid grasp`: 'left_distance_m'"]),
]
STARTS = [
    (node, *row)
    for node, rows in (("distance_service", SERVICE), ("sweep_player", PLAYER), ("path_trail", TRAIL))
    for row in rows
]


@pytest.mark.parametrize(("node", "arguments", "code", "words"), STARTS)
def test_a_wrong_start_ends_with_its_exit_code_and_reason(tmp_path, node, arguments, code, words):
    (tmp_path / "arms.yaml").write_text("sweep: {touch_distance: 0.5}\njoints: [a]\nframes: [[0]]\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    files = {"ARMS": tmp_path / "arms.yaml", "CSV": tmp_path / "other.csv"}
    for name, file in files.items():
        arguments = [argument.replace(f":={name}", f":={file}") for argument in arguments]
    found, printed = run_to_the_end(["-m", f"superovoid_ros.nodes.{node}", "--ros-args", *arguments])
    assert found == code, printed
    assert "cannot start: " in printed and "Traceback" not in printed
    for word in words:
        assert word in printed

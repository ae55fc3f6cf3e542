# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Command lines and parameter files without sense, and signals during the start: words, and the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import rclpy

from superovoid_ros.nodes.common.process import start_ros

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
def test_command_line_that_makes_no_sense_is_told(tmp_path, arguments, words):
    bad = tmp_path / "bad.yaml"
    bad.write_text(BAD_YAML, encoding="utf-8")
    try:
        problem = start_ros([str(bad) if one == "BAD" else one for one in arguments])
    finally:
        rclpy.try_shutdown()
    assert words in problem and ".c:" not in problem


@pytest.mark.parametrize(
    ("node", "arguments", "code", "words"),
    [
        ("distance_service", ["--params-file", "/no/such.yaml"], 2, "'--params-file /no/such.yaml'"),
        ("distance_service", ["-p", "pairs:=[]"], 1, "pairs: has no value"),
        ("distance_service", ["-p", "rate:=1e-300"], 1, "rate = 1e-300: must be 0, or 0.01 to 1000"),
        ("sweep_player", ["--params-file", "/no/such.yaml"], 2, "'--params-file /no/such.yaml'"),
        ("sweep_player", ["-p", "config_file:=[]"], 1, "config_file"),
        ("path_trail", ["-p", "path:=[]"], 1, "path"),
    ],
)
def test_start_that_makes_no_sense_is_told_and_ends_with_its_exit_code(node, arguments, code, words):
    found, printed = run_to_the_end(["-m", f"superovoid_ros.nodes.{node}", "--ros-args", *arguments])
    assert found == code, printed
    assert "cannot start: " in printed and words in printed and "Traceback" not in printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["common.process", "distance_service.world.model"])
def test_signal_during_the_start_ends_it_with_a_word(tmp_path, number, moment):
    # At an import of the start, in the main thread, the process sends the signal to itself: no wait, any machine.
    (tmp_path / "sitecustomize.py").write_text(
        f"""
import importlib.abc, os, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "superovoid_ros.nodes.{moment}" and not Finder.done:
            Finder.done = True
            os.kill(os.getpid(), {int(number)})

Finder.done = False
if "-m" in sys.orig_argv:
    sys.meta_path.insert(0, Finder())
""",
        encoding="utf-8",
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "superovoid_ros.nodes.distance_service"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    output, _ = process.communicate(timeout=120.0)
    assert process.returncode == 0, output
    assert "ended by a signal" in output and "Traceback" not in output


def test_signal_while_its_handler_is_installed_ends_the_start_with_a_word():
    program = """
import os, signal, sys, threading
from superovoid_ros.nodes.common.start import start
begin = threading.Thread.start
def interrupted(thread):
    begin(thread)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread.start = interrupted
sys.exit(start("distance_service"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.strip()) == (0, "ended by a signal during the start")

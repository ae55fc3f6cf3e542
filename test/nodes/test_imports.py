# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What clients and the node import: clients nothing of the engine, the node nothing that starts slowly."""

import json
import subprocess
import sys

import pytest

import arm
from asking import ANSWER_TIMEOUT

ENGINE = (
    *("numba", "llvmlite", "scipy", "trimesh"),
    *(f"superovoid.{name}" for name in ("compiled", "contact", "scene", "shapes", "robot", "states", "planning")),
)

CALLS = """
import sys
import numpy as np
from superovoid_ros.client import *
with DistanceClient(service=sys.argv[1], timeout=float(sys.argv[2])) as client:
    client.wait(ready=False)
    client.apply_objects([])
    bases = {"ball": np.diag([1.0, 1.0, 1.0, 1.0])}
    found = client.distances(np.zeros((2, 2)), joint_names=["slide", "wrist"], gradients=True, base_poses=bases)
    row = found.of_state(1)[0]
    repr(found), repr(row), found.to_dict(), row.to_dict(), found.status_words, found.name_a, found.link_b
"""
PRINT = """
import json, sys
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(program, *arguments):
    """Names of the modules that a fresh process has imported when it has run a program."""
    command = [sys.executable, "-c", program + PRINT, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout.splitlines()[-1]))


def of_the_engine(modules):
    return sorted(name for name in modules if any(name == each or name.startswith(f"{each}.") for each in ENGINE))


@pytest.fixture(scope="module")
def service(serve):
    serve(**arm.DESCRIPTIONS, rate=0.0)
    return "/distance_service"


@pytest.mark.ci
def test_asking_with_the_client_imports_no_engine(service):
    modules = modules_after(CALLS, service, ANSWER_TIMEOUT)
    assert {"superovoid_ros.client", "numpy", "rclpy"} <= modules
    assert of_the_engine(modules) == []


@pytest.mark.ci
def test_importing_the_node_imports_nothing_slow():
    parts = "answers.topics", "answers.motions", "health.diagnostics", "world.move_group", "distance_service"
    modules = modules_after("".join(f"import superovoid_ros.nodes.distance_service.{part}\n" for part in parts))
    assert modules.isdisjoint({"numba", "scipy", "matplotlib", "trimesh", "rich", "ompl", "toppra"})

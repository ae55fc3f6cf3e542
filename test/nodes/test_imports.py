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

IMPORT = "from superovoid_ros.client import *\n"
# Without Distances.to_pandas, which imports pandas.
CALLS = """
import sys
import numpy as np
from superovoid_interfaces.msg import SuperovoidObject
from superovoid import Status
from superovoid_ros.nodes.common.questions import Question
joints, pose = ["slide", "wrist"], np.eye(4)
pose[0, 3] = 2.0
turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
question = {"positions": np.zeros((2, 2)), "joint_names": joints, "gradients": True, "batch": 1}
bases = {"ball": (turned, [2.0, 0.0, 0.0])}
egg = SuperovoidObject(id="egg", size=[0.1] * 3, epsilon=[1.0] * 2, frame_id="ground")
egg.pose.orientation.w = 1.0
client = DistanceClient(service=sys.argv[1], timeout=float(sys.argv[2]))
calls = {
    "wait": lambda: client.wait(ready=True),
    "apply_objects": lambda: client.apply_objects([egg]),
    "distances": lambda: client.distances(**question, base_poses=bases),
    "distances_async": lambda: client.distances_async(**question, base_poses={"ball": np.array([pose, pose])}),
    "result": lambda: client.result(answers["distances_async"]),
    "close": client.close,
}
answers = {}
for name, call in calls.items():
    answers[name] = call()
assert set(calls) == {name for name in vars(DistanceClient) if name[0] != "_"}
found = answers["distances"]
np.testing.assert_allclose(found.closest, answers["result"].closest, rtol=0.0, atol=1e-12)
assert found.done == 2 and {"egg", "ball"} <= set(found.bodies)
(row,) = found[found.distance == found.closest[0]][:1]
assert found.of_state(1).closest[1] == found.closest[1] and row == found[0]
assert row.status.certified and Status(int(found.status[0])) == row.status
repr(found), repr(row), found.to_dict(), row.to_dict(), found.status_words, found.name_a, found.link_b, found.state
assert repr(Question(**question, base_poses=bases)) and Question(**question, base_poses=bases).requests()
try:
    DistanceClient(service="/a//b")
    raise AssertionError
except ValueError:
    pass
"""
PRINT = """
import json, sys
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(program, *arguments, first=IMPORT):
    """Names of the modules that a fresh process has imported when it has run a program."""
    ended = subprocess.run(
        [sys.executable, "-c", first + program + PRINT, *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout.splitlines()[-1]))


def of_the_engine(modules):
    return sorted(name for name in modules if any(name == each or name.startswith(f"{each}.") for each in ENGINE))


@pytest.fixture(scope="module")
def service(serve):
    serve(**arm.DESCRIPTIONS, rate=0.0)
    return "/distance_service"


def test_importing_the_client_imports_no_engine():
    modules = modules_after("")
    assert {"superovoid_ros.client", "numpy", "rclpy"} <= modules
    assert of_the_engine(modules) == []


@pytest.mark.ci
def test_calling_every_method_of_the_client_imports_no_engine(service):
    assert of_the_engine(modules_after(CALLS, service, ANSWER_TIMEOUT)) == []


@pytest.mark.ci
def test_importing_the_node_imports_nothing_slow():
    parts = "answers.topics", "answers.motions", "health.diagnostics", "world.move_group", "distance_service"
    modules = modules_after(
        "", first="".join(f"import superovoid_ros.nodes.distance_service.{part}\n" for part in parts)
    )
    assert modules.isdisjoint({"numba", "scipy", "matplotlib", "trimesh", "rich", "ompl", "toppra"})

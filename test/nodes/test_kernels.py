# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a node does whose kernels are not compiled yet: it says so, and goes on with everything else."""

import threading
import time
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import GetState
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetMinDistance

from superovoid.compiled import jit
from superovoid.states import ahead
from superovoid_ros.client import DistanceClient, RequestRefusedError, ServiceUnavailableError
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.health import compiling
from superovoid_ros.nodes.distance_service.health.compiling import ENGINE, Kernels

import parts
from asking import START_TIMEOUT

URDF = """<robot name="boxes">
<link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
<link name="arm"/>
<link name="rod"><collision><geometry><box size="0.1 0.1 1"/></geometry></collision></link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="arm"/><origin xyz="0 0 2"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="turn" type="revolute"><parent link="arm"/><child link="rod"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


class Compiler:
    """Stands for the compiler: each level is ready when it is told, or fails."""

    def __init__(self):
        self.may = {level: threading.Event() for level in range(len(ahead.LEVELS))}
        self.done = []
        self.error = None

    def compile_level(self, level):
        while not self.may[level].is_set():
            jit._look()
            time.sleep(0.001)
        if self.error is not None:
            raise self.error
        self.done.append(level)
        return 0.0


@pytest.fixture
def compiler(monkeypatch):
    compiler = Compiler()
    monkeypatch.setattr(compiling.ahead, "compile_level", compiler.compile_level)
    return compiler


@pytest.fixture
def part(compiler):
    part = Kernels(parts.common())
    yield part
    part.clean_up()


def wait_until(condition):
    until = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_what_is_only_loaded_is_waited_for(part, compiler):
    compiler.may[ENGINE].set()
    part.need(ENGINE)
    part.require()


def test_what_is_compiled_is_not_waited_for_and_answers_say_how_far_it_is(part, compiler):
    part.need(ENGINE)  # returns
    with pytest.raises(InputError, match=r"not ready: compiling kernels for superovoids, .*: \d+ of about \d+, \d+ s"):
        part.require()
    compiler.may[ENGINE].set()
    wait_until(lambda: part.is_done(ENGINE))
    part.require()


def test_kernels_that_cannot_be_compiled_are_said_so_and_end_nothing(part, compiler):
    compiler.error = RuntimeError("no such instruction")
    compiler.may[ENGINE].set()
    part.need(ENGINE)
    with pytest.raises(InputError, match=r"could not be compiled: .*no such instruction"):
        part.require()
    assert any("no such instruction" in line for line in part.node.logger.lines)


def test_cleaning_up_stops_the_compiler_and_configuring_again_starts_it(part, compiler):
    part.need(ENGINE)
    part.clean_up()
    assert not compiler.done
    assert all(thread.name != "compiler" for thread in threading.enumerate())
    compiler.may[ENGINE].set()
    part.need(ENGINE)
    part.require()


@pytest.fixture
def slow(request, start_node, client, tmp_path, monkeypatch):
    """A node whose kernels for convex bodies are compiled when a file is there; nodes of other tests may live on."""
    monkeypatch.setenv("SLOW_COMPILER", str(tmp_path / "go"))
    node = start_node(
        str(Path(__file__).with_name("slow_compiler.py")),
        getattr(request, "param", "slow_service"),
        robot_description=URDF,
        **{"diagnostics.period": 0.05},
    )
    node.wait_for_output("robot 'boxes'")
    return node


@pytest.mark.parametrize("slow", ["awaited_service"], indirect=True)
def test_a_client_waits_for_the_kernels_where_it_is_told_to(slow, tmp_path):
    question = {"positions": [[0.0, 0.0]], "joint_names": ["lift", "turn"]}
    with DistanceClient(service="/awaited_service", timeout=START_TIMEOUT) as asking:
        asking.wait()
        with pytest.raises(RequestRefusedError, match="not ready: compiling kernels for convex bodies"):
            asking.distances(**question)
        with pytest.raises(ServiceUnavailableError, match=r"cannot answer after 0\.5 s: not ready: compiling kernels"):
            asking.wait(0.5, ready=True)
        (tmp_path / "go").touch()
        asking.wait(ready=True)
        with pytest.raises(RequestRefusedError, match="no allowed pair"):  # a joint connects the two links
            asking.distances(**question)


def test_a_node_answers_not_ready_while_it_compiles_and_serves_everything_else(slow, client, tmp_path):
    statuses = client.collect(DiagnosticArray, "/diagnostics")

    def ask():
        return client.call(
            GetMinDistance, "/slow_service/get_min_distance", joint_names=["lift", "turn"], joint_positions=[0.0, 0.0]
        )

    answer = ask()
    assert not answer.success
    assert answer.message.startswith("not ready: compiling kernels for convex bodies, once on this machine: ")
    assert client.call(GetState, "/slow_service/get_state").current_state.label == "active"
    egg = SuperovoidObject(id="egg", size=[0.1, 0.1, 0.1], epsilon=[1.0, 1.0])
    egg.pose.position.x = 5.0
    egg.pose.orientation.w = 1.0
    applied = client.call(ApplyObjects, "/slow_service/apply_objects", objects=[egg])
    assert applied.success, applied.message

    def robot():
        return [status for array in statuses for status in array.status if status.name.endswith("slow_service: robot")]

    assert client.wait(lambda: any("not ready: compiling kernels" in status.message for status in robot()))
    assert robot()[-1].level == DiagnosticStatus.WARN
    (tmp_path / "go").touch()
    answer = client.call_until(
        lambda answer: answer.success,
        GetMinDistance,
        "/slow_service/get_min_distance",
        joint_names=["lift", "turn"],
        joint_positions=[0.0, 0.0],
    )
    found = {frozenset((pair.link_a, pair.link_b)): pair.distance for pair in answer.distances.pairs}
    # The joints' links may touch; the egg came while the kernels were compiled.
    assert found.keys() == {frozenset(("base", "egg")), frozenset(("rod", "egg"))}
    assert found[frozenset(("base", "egg"))] == pytest.approx(5.0 - 0.5 - 0.1)
    statuses.clear()
    assert client.wait(lambda: any(status.level == DiagnosticStatus.OK for status in robot()))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parts of the distance service, each built with what it needs and without the node."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from superovoid_interfaces.srv import GetMinDistance

from superovoid.robot.limits import Limits
from superovoid.robot.planning_scene import Padding
from superovoid.shapes import Sphere
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.answers.queries import Queries
from superovoid_ros.nodes.distance_service.answers.workers import Workers
from superovoid_ros.nodes.distance_service.health.namesakes import Namesakes
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.building import Description, build, changed, repadded
from superovoid_ros.nodes.distance_service.world.changes import (
    Brought,
    ObjectChange,
    Operation,
)
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Standing, Waiting
from superovoid_ros.nodes.distance_service.world.frames import Surroundings

import arm
import parts


class Kernels:
    """Kernels of which all are there, or one is missing."""

    def __init__(self, missing=""):
        self.missing, self.needed = missing, []

    def forget(self):
        self.needed = []

    def need_for(self, scene):
        self.needed.append(scene)

    def prepare_usual(self):
        pass

    def require(self):
        if self.missing:
            raise InputError(self.missing)


def description(**options):
    found = {
        "urdf": arm.URDF,
        "srdf": "",
        "representation": "mixed",
        "tolerance": 1e-9,
        "meshes": "hull",
        "packages": {},
        "limits": Limits(),
        "padding": Padding(),
    }
    return Description(**(found | options))


def around(robot, **transforms):
    return Surroundings(robot, InputError("nothing measured"), transforms)


def ball(name="cup", y=-2.0, frame="ground", operation=Operation.ADD):
    brought = Brought((Sphere(0.1),), (np.eye(4),), (np.eye(4),), arm.at(0.0, y, 0.0), has_pose=True)
    return ObjectChange(name, operation, frame, brought)


def waiting(*changes):
    return tuple(Waiting("collision_object", (), change) for change in changes)


def built(standing=None, robot=None, **options):
    what = description(**options)
    robot = robot or what.read()
    return build(robot, what, standing or Standing(), around(robot))


# --- what there is ---


def test_objects_without_room_keep_the_model_from_being_whole():
    model = built(Standing(waiting=waiting(ball()))).model
    again = built(Standing().with_model(model), limits=Limits(pairs=len(model.live.pairs) - 1)).model
    assert set(again.planning.misfits) == {"cup"} and "not ready" in again.missing
    removed, _ = changed(again, [ball(operation=Operation.REMOVE)], around(again.robot))
    assert not removed.missing and not removed.planning.objects
    roomy = repadded(again, description(padding=Padding(margin=0.5)))
    assert not roomy.missing and set(roomy.planning.objects) == {"cup"} and roomy.planning.padding.margin == 0.5


def test_nothing_is_answered_from_less_than_there_is():
    kernels, calls = Kernels(), []
    current = CurrentModel(kernels, lambda: calls.append(current.current))
    current.exchange(Standing(problem="no robot yet"))
    for ask in (current.model, current.whole):
        with pytest.raises(InputError, match="no robot yet"):
            ask()
    first = built().model
    current.exchange(current.standing.with_model(first))
    assert current.model() is first and calls == [first] and kernels.needed == [first.live]
    current.exchange(Standing(first, "", first.planning, (), unheard=3))
    with pytest.raises(InputError, match="lost 3 messages about objects"):
        current.model()
    assert current.current is first and calls == [first]
    current.exchange(current.standing.without_model("gone"))
    assert calls == [first, None] and current.standing.planning is first.planning
    kernels.missing = "not ready: compiling"
    current.exchange(Standing().with_model(first))
    assert current.whole() is first
    with pytest.raises(InputError, match="compiling"):
        current.model()


def test_whoever_asks_while_models_are_exchanged_gets_whole_ones():
    current = CurrentModel(Kernels())
    robot = description().read()
    models = [built(Standing(waiting=waiting(ball(y=-2.0 - i), ball("plate", 2.0 + i))), robot).model for i in range(3)]
    current.exchange(Standing().with_model(models[0]))
    stop, wrong = threading.Event(), []

    def ask():
        while not stop.is_set():
            objects = current.model().planning.objects
            heights = [objects[name].pose[1, 3] for name in ("cup", "plate")]
            if sum(heights) != 0.0:
                wrong.append(heights)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(2000):
        current.exchange(current.standing.with_model(models[i % 3]))
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


# --- parts ---


@pytest.fixture
def current():
    found = CurrentModel(Kernels())
    found.exchange(Standing().with_model(built(Standing(waiting=waiting(ball()))).model))
    return found


class Measured:
    """Transforms of the ball, 2 m from the ground."""

    def lookup(self, target, source):
        return SimpleNamespace(target_from_source=arm.AHEAD, stamp=5, newest=5)

    def lies_below(self, frame, above):
        return False


@pytest.fixture
def measurements():
    values = {"frame": "", "frame_prefix": "", "stale_timeout": 0.0, "frame_tolerance": 0.001}
    values["unmeasured_joints"] = "refuse"
    made = Measurements(parts.common(**values))
    made._transforms = Measured()
    return made


def test_queries_alone_answer_from_a_model_and_measurements(current, measurements):
    common = parts.common()
    queries = Queries(common, current, measurements, Workers(common))
    queries.configure()
    ask = common.node.services["~/get_min_distance"]

    def answer(**request):
        request = GetMinDistance.Request(joint_names=arm.JOINTS, joint_positions=[0.0, 0.0], **request)
        return parts.run(ask(request, GetMinDistance.Response()))

    found = answer(links_a=["ground"], links_b=["cup"])
    assert found.success and found.distances.pairs[0].distance == pytest.approx(1.8, abs=1e-12)
    current.exchange(current.standing.without_model("no robot: a reason"))
    found = answer(links_a=["ground"], links_b=["cup"])
    assert not found.success and found.message == "no robot: a reason"
    common.activity.is_active = False
    assert "ros2 lifecycle set /fake activate" in answer().message
    assert common.statistics.total.calls["GetMinDistance"] == 3
    assert common.statistics.total.refused["GetMinDistance"] == 2


@pytest.fixture
def lonely():
    """A part that looks for namesakes, the nodes that it sees, and the seconds that have passed."""
    there, now = [("fake", "/"), ("else", "/"), ("fake", "/left")], [0.0]
    node = parts.FakeNode()
    node.get_node_names_and_namespaces = lambda: there

    def look(seconds):
        for _ in range(round(seconds)):
            now[0] += 1.0
            part._look()

    part = Namesakes(parts.common(node), lambda: now[0])
    return part, there, look


def test_another_node_of_the_name_is_told_once(lonely):
    part, there, look = lonely
    look(100)
    assert not part.problem and not part.log.lines
    there.append(("fake", "/"))
    look(100)
    [line] = part.log.lines
    assert "another node has the name /fake" in line and line == part.problem
    there.remove(("fake", "/"))
    look(1)
    assert not part.problem and part.facts() == {"other nodes of this name": 0}


def test_a_node_that_crashed_before_this_one_was_started_is_no_other(lonely):
    part, there, look = lonely
    there.append(("fake", "/"))
    look(20)
    there.remove(("fake", "/"))
    look(20)
    there.append(("fake", "/"))
    look(20)
    assert not part.problem and not part.log.lines

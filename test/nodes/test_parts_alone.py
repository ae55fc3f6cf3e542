# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parts of the distance service, each built with what it needs and without the node."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.serialization import serialize_message
from superovoid_interfaces.srv import GetMinDistance

from superovoid.robot import Robot
from superovoid.robot.limits import Limits
from superovoid.robot.planning_scene import Padding
from superovoid.shapes import Sphere
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.answers.queries import Queries
from superovoid_ros.nodes.distance_service.answers.workers import Workers
from superovoid_ros.nodes.distance_service.health.diagnostics import Diagnostics
from superovoid_ros.nodes.distance_service.health.mismatches import Mismatches
from superovoid_ros.nodes.distance_service.health.namesakes import Namesakes
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.building import Description, build, changed, repadded
from superovoid_ros.nodes.distance_service.world.changes import (
    FROM_MOVEIT,
    Brought,
    ObjectChange,
    Operation,
    RulesChange,
    SceneChange,
)
from superovoid_ros.nodes.distance_service.world.current import MOST_WAITING, CurrentModel, Standing, Waiting
from superovoid_ros.nodes.distance_service.world.frames import Surroundings
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.world import World

import arm
import parts
from world import cup


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
        "rtol": 1e-9,
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


def test_model_is_built_with_all_that_waited_but_what_makes_no_sense():
    lost = ball("lost", frame="nowhere")
    found = built(Standing(waiting=waiting(ball(), lost, ball("plate", 3.0))), padding=Padding(margin=0.5))
    assert set(found.model.planning.objects) == {"cup", "plate"} and not found.model.missing
    assert found.model.planning.padding.margin == 0.5
    ((topic, problem),) = found.problems
    assert topic == "collision_object" and "frame_id 'nowhere'" in str(problem)


def test_model_of_another_robot_has_objects_rules_and_paddings_of_the_one_before():
    first = built(Standing(waiting=waiting(ball()))).model
    changes = [
        RulesChange([("cup", "thumb", False)], "why not"),
        SceneChange(whole=False, paddings={"hand": 0.25}),
    ]
    first, _ = changed(first, changes, around(first.robot))
    again = built(Standing().with_model(first).without_model(""), rtol=1e-6, padding=Padding(default=0.1)).model
    assert again.robot is not first.robot and again.rtol == 1e-6
    assert again.planning.objects["cup"] is first.planning.objects["cup"]
    assert again.planning.rules.why("cup", "thumb").rule == "runtime"
    assert again.planning.padding == Padding({"hand": 0.25}, default=0.1)


def test_change_that_fails_half_way_leaves_the_model_as_it_was():
    model = built(Standing(waiting=waiting(ball()))).model
    with pytest.raises(InputError, match="nowhere"):
        changed(model, [ball("plate"), ball("cup", -9.0, frame="nowhere")], around(model.robot))
    assert tuple(model.planning.objects) == ("cup",)
    assert model.planning.objects["cup"].pose[1, 3] == -2.0 and model.planning.objects["cup"].source == FROM_MOVEIT


def test_objects_without_room_keep_the_model_from_being_whole():
    model = built(Standing(waiting=waiting(ball()))).model
    again = built(Standing().with_model(model), limits=Limits(pairs=len(model.live.pairs) - 1)).model
    assert set(again.planning.misfits) == {"cup"} and "not ready" in again.missing
    removed, _ = changed(again, [ball(operation=Operation.REMOVE)], around(again.robot))
    assert not removed.missing and not removed.planning.objects
    roomy = repadded(again, description(padding=Padding(margin=0.5)))
    assert not roomy.missing and set(roomy.planning.objects) == {"cup"} and roomy.planning.padding.margin == 0.5


def test_changes_that_wait_are_bounded_in_number_and_size():
    standing = Standing()
    for i in range(MOST_WAITING):
        standing = standing.with_waiting(*waiting(ball(f"o{i}")))
    with pytest.raises(InputError, match=f"{MOST_WAITING} messages wait for a robot"):
        standing.with_waiting(*waiting(ball()))
    heavy = SimpleNamespace(size=40_000_000)
    standing = Standing().with_waiting(*waiting(heavy))
    with pytest.raises(InputError, match="bytes"):
        standing.with_waiting(*waiting(heavy))


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


def test_messages_that_are_too_many_to_be_read_are_missing():
    class Full:
        def do(self, task):
            raise InputError("1000 messages and requests wait to be read")

    current = CurrentModel(Kernels())
    current.exchange(Standing().with_model(built().model))
    made = parts.common(octomap_cubes=10, open_meshes="hull", require_scene=False)
    world = World(made, current, Full(), None)
    world.configure()
    made.node.subscriptions["collision_object"](serialize_message(cup()))
    with pytest.raises(InputError, match="lost 1 message about objects"):
        current.model()


def test_model_is_exchanged_after_its_kernels_were_asked_for_and_before_anybody_is_told():
    seen = []
    kernels = Kernels()
    kernels.need_for = lambda _scene: seen.append(("kernels", current.current))
    current = CurrentModel(kernels, lambda: seen.append(("told", current.current)))
    model = built().model
    current.exchange(Standing().with_model(model))
    assert seen == [("kernels", None), ("told", model)]
    kernels.need_for = lambda _scene: 1 / 0
    with pytest.raises(ZeroDivisionError):
        current.exchange(Standing().with_model(built().model))
    assert current.current is model


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


def test_measurements_alone_make_states_and_surroundings(measurements):
    robot = Robot.from_urdf(arm.URDF)
    with pytest.raises(InputError, match="no position of joint slide, wrist"):
        measurements.state(robot)
    measurements.joints.update(arm.JOINTS, [0.5, 0.0], 7, 9)
    state = measurements.state(robot, ["wrist"], [0.25])
    assert (state.frame, state.joint_stamp, state.transform_stamp, state.newest_stamp) == ("ground", 7, 5, 7)
    assert state.link_poses["hand"][:3, 3] == pytest.approx((0.5, 0.0, 0.0))
    assert np.array_equal(state.link_poses["ball"], arm.AHEAD)
    found = measurements.surroundings(robot, ["/camera", "hand", ""])
    assert set(found.transforms) == {"camera"} and found.link_poses["hand"][0, 3] == 0.5


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


def test_diagnostics_alone_tell_of_a_model_that_is_not_whole(current, measurements):
    topics = SimpleNamespace(listeners=0, published=0, problem="")
    told = Diagnostics(parts.common(), current, measurements, topics, lambda: {"objects": 1})
    found = told._on_robot()
    assert found.level == DiagnosticStatus.OK and found.values["objects"] == 1
    model = current.current
    robot = Robot.from_urdf(arm.URDF.replace('"thumb"', '"cup"'))
    current.exchange(Standing().with_model(Model(robot, 1e-9, model.planning.for_robot(robot))))
    found = told._on_robot()
    assert found.level == DiagnosticStatus.ERROR and "object 'cup': is the name of a link" in found.message


def test_end_whose_node_has_no_name_yet_is_told_when_it_has_one_or_after_a_while(monkeypatch):
    nameless, named = "node '_NODE_NAME_UNKNOWN_' is late", "node '/late' is late"
    looks: list[dict] = []
    part = Mismatches(parts.common())
    monkeypatch.setattr(part, "_mismatches", lambda: looks[-1].items())
    for now in ({"a": nameless}, {"a": named, "b": nameless}, {"a": named, "b": nameless}):
        looks.append(now)
        part._look()
    assert part.log.lines == [named]
    for _ in range(10):  # what stays without a name is told too, once
        part._look()
    assert part.log.lines == [named, nameless]


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


def test_diagnostics_warn_of_what_is_wrong_beside_the_model(current, measurements):
    topics = SimpleNamespace(listeners=0, published=0, problem="")
    found = Diagnostics(parts.common(), current, measurements, topics, warning=lambda: "two of one name")._on_robot()
    assert found.level == DiagnosticStatus.WARN and found.message.startswith("two of one name; robot 'arm'")


def test_where_no_pair_is_allowed_the_reason_is_of_two_links_and_not_of_one(current):
    """Of a link and itself only where nothing else was asked about."""
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    model = Model(robot, 1e-9, current.current.planning.for_robot(robot))
    with pytest.raises(InputError, match="between hand and hand: hand and hand: both are the same link"):
        model.select(["hand"], ["hand"])
    with pytest.raises(InputError, match="between hand and hand, thumb: hand and thumb: "):
        model.select(["hand"], ["hand", "thumb"])

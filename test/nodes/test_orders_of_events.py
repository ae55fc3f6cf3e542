# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""In whatever order descriptions, objects and parameters come: what is answered from is one whole state of these.

The parts that build the model run here step by step: what the reader's thread does between two events is chosen.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from superovoid_ros.nodes.common.endpoints import LostMessages
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.robot_state.robot_state import RobotState
from superovoid_ros.nodes.distance_service.world import current, moveit_changes
from superovoid_ros.nodes.distance_service.world.current import CurrentModel
from superovoid_ros.nodes.distance_service.world.own_changes import SuperovoidChanges
from superovoid_ros.nodes.distance_service.world.world import World

import arm
import parts
from draws import few_or_many
from world import TOPICS, attached_object, cup, matrix, ovoid, scene_diff, sphere, thing

OTHER = arm.URDF.replace('name="arm"', 'name="other"')
# No transform relates objects of the world to this frame.
EARTH = arm.URDF.replace('"ground"', '"earth"')
ON_CLAW = arm.URDF.replace('"hand"', '"claw"')
TEXTS = (arm.URDF, OTHER, EARTH, ON_CLAW, "<robot/>", "nonsense", "")
PARAMETERS = {
    "frame": "",
    "frame_prefix": "",
    "stale_timeout": 0.0,
    "strict": False,
    "planning_frame": "",
    "unknown_root_pose": "refuse",
    "frame_tolerance": 0.001,
    "unmeasured_joints": "refuse",
    "incomplete_world": "refuse",
    "require_scene": False,
    "robot_description": "",
    "robot_description_semantic": "",
    "representation": "mixed",
    "meshes": "hull",
    "package_directories": [""],
    "rtol": 1e-9,
    "padding": 0.0,
    "safety_margin": 0.0,
    "pad_self_collisions": False,
    "max_bodies": 100,
    "max_objects": 100,
    "max_pairs": 10_000,
    "octomap_cubes": 100,
    "open_meshes": "hull",
    "planning_scene_service": "",
}


class Transforms:
    """Every frame but 'nowhere' is in one place, at first in that of the root link's."""

    where = np.eye(4)

    def lookup(self, _target, source):
        if source == "nowhere":
            raise InputError("no transform of 'nowhere'")
        return SimpleNamespace(target_from_source=self.where, stamp=None, newest=None)

    def lies_below(self, _frame, _above):
        return False


class Service:
    """The parts that build the model."""

    def __init__(self, **values):
        self.values = PARAMETERS | values
        self.common = parts.common()
        object.__setattr__(self.common, "value", self.values.__getitem__)
        self.jobs, self.current = self.common.jobs, CurrentModel()
        measurements = Measurements(self.common)
        self.source = RobotState(self.common, self.current, measurements)
        self.world = World(self.common, self.current, measurements)
        self.source.configure()
        measurements._transforms = self.transforms = Transforms()
        self.world.configure()

    def send(self, message, topic=""):
        topic = topic or TOPICS[type(message)]
        self.common.node.subscriptions[topic](serialize_message(message))

    def describe(self, text):
        self.send(String(data=text), "robot_description")

    def set(self, **new):
        self.source.check(new)
        self.values.update(new)
        self.source.apply(frozenset(new))

    @property
    def objects(self):
        return {name: thing.pose[0, 3] for name, thing in self.current.model().planning.objects.items()}


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def described(service):
    """The service with a robot without a known state."""
    service.describe(arm.URDF)
    service.jobs.finish()
    return service


@pytest.mark.parametrize(("text", "is_read"), [(OTHER, False), ("nonsense", True)])
def test_a_description_that_a_parameter_has_overtaken_changes_nothing(described, text, is_read):
    described.describe(text)
    if is_read:
        described.jobs.step()  # it is read, but not used
    described.set(robot_description=ON_CLAW)
    described.jobs.finish()
    assert "claw" in described.current.model().robot.links
    described.describe(arm.URDF)
    described.set(robot_description="")
    described.jobs.finish()
    assert "hand" in described.current.model().robot.links


def test_clean_up_in_the_midst_of_a_reading_leaves_nothing(service):
    service.send(cup())
    service.describe(arm.URDF)
    for _ in range(3):
        service.jobs.step()
    service.source.clean_up()
    for task in service.jobs.waiting:
        task.done(None, InputError("the node was cleaned up before this was read"))
    with pytest.raises(InputError, match="no robot"):
        service.current.model()
    service.jobs.waiting.clear()
    service.jobs.found = None
    service.describe(arm.URDF)
    service.jobs.finish()
    assert service.objects == {}


def test_nothing_is_answered_without_messages_that_were_too_many_to_wait(service, monkeypatch):
    monkeypatch.setattr(current, "MOST_WAITING", 2)
    for name in "abcd":
        service.send(cup(name=name))
    service.jobs.finish()
    assert sum("at most 2" in line for line in service.common.log.lines) == 2
    service.describe(arm.URDF)
    check_refusal(service, "lost 2 messages about objects")
    service.send(cup(name="e"))  # does not mention those
    service.describe(OTHER)
    check_refusal(service, "send a whole planning scene")
    whole = PlanningScene()
    whole.world.collision_objects = [cup(x=4.0, name=name) for name in "cd"]
    service.send(whole, "planning_scene")
    service.jobs.finish()
    assert service.objects == {"c": 4.0, "d": 4.0}


def test_an_object_on_a_link_that_a_description_lacks_is_missing(described):
    described.send(attached_object(name="tool", pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()]))
    described.jobs.finish()
    with pytest.raises(InputError, match="object 'tool': link 'hand' does not exist"):
        described.set(robot_description=ON_CLAW)
    described.describe(ON_CLAW)
    check_refusal(described, "object 'tool': link 'hand' does not exist", "remove or re-send tool")
    described.describe(arm.URDF)  # the link is there again, and what hung on it
    described.jobs.finish()
    assert described.current.model().planning.objects["tool"].link == "hand"


# --- lost messages ---


def queued(service, *messages, topic="collision_object"):
    """Let messages come together: each with its number, and perhaps its publisher."""
    queue = service.common.node.subscriptions[topic]
    for message, *source in messages:
        queue.put(message if isinstance(message, bytes) else serialize_message(message), *source)
    queue.spin()
    service.jobs.finish()


LOST = {
    CollisionObject: cup(),
    AttachedCollisionObject: attached_object(primitives=[sphere()], frame="hand"),
    PlanningScene: scene_diff(cup()),
    PlanningSceneWorld: PlanningSceneWorld(),
}


@pytest.mark.parametrize("kind", TOPICS)
def test_a_lost_message_is_missing_until_a_whole_scene_comes(described, kind):
    queued(described, (LOST[kind], 1), (LOST[kind], 4), topic=TOPICS[kind])
    how = "send a whole planning scene (is_diff: false, and robot_state.is_diff: false)"
    check_refusal(described, "lost 2 messages about objects", how)
    assert any(f"lost 2 messages on {TOPICS[kind]}" in line for line in described.common.log.lines)
    queued(described, (cup(name="c"), 1, b"other"))
    queued(described, (scene_diff(cup(name="d")), 1, b"other"), topic="planning_scene")
    check_refusal(described, "lost 2 messages about objects")
    whole = PlanningScene()
    whole.world.collision_objects = [cup(name="wall")]
    queued(described, (whole, 2, b"other"), topic="planning_scene")
    assert described.objects == {"wall": 0.0}


def test_publishers_that_come_later_or_are_started_again_have_lost_nothing(described):
    queued(described, (cup(name="a"), 7, b"one"), (cup(name="b"), 1, b"two"), (cup(name="c"), 8, b"one"))
    queued(described, (cup(name="d"), 1, b"three"), (cup(name="e"), 2, b"two"), (cup(name="f"), 9, b"one"))
    assert set(described.objects) == set("abcdef")


def test_a_whole_scene_replaces_losses_before_it_and_none_after(described):
    queued(described, (scene_diff(), 1), (PlanningScene(), 5), topic="planning_scene")
    assert described.objects == {}
    queued(described, (PlanningScene(), 6), (scene_diff(), 9), topic="planning_scene")
    check_refusal(described, "lost 2 messages about objects")


def test_a_scene_requested_before_a_loss_does_not_replace_it(described):
    asked = described.current.snapshot.lost_messages
    queued(described, (cup(name="a"), 1), (cup(name="b"), 3))
    told = []
    described.world.take_whole(PlanningScene(), asked, told.append)
    check_refusal(described, "lost 1 message about objects")
    described.world.take_whole(PlanningScene(), described.current.snapshot.lost_messages, told.append)
    described.jobs.finish()
    assert described.objects == {} and told == [None, None]


def test_what_a_mistake_leaves_unread_is_missing(described, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(moveit_changes, "SceneChange", fail)
        patch.setattr(moveit_changes.SceneMessage, "missing_without", fail)
        queued(described, (cup(name="a"), 1))
    queued(described, (cup(name="b"), 2))
    check_refusal(described, "lost 1 message about objects")
    assert set(described.current.snapshot.model.planning.objects) == {"b"}
    assert described.common.statistics.internal_errors == 1


def test_a_full_queue_has_lost_what_its_first_number_lacks():
    def count_lost(*numbers, depth=3):
        counts = LostMessages(depth)
        found = [
            counts.losses({"publication_sequence_number": number, "publisher_gid": number and {"data": b"a"}})
            for number in numbers
        ]
        counts.is_empty()
        return found

    assert count_lost(1, 2, 3, 4) == [0, 0, 0, 0]
    assert count_lost(7, 8) == [0, 0]
    assert count_lost(7, 8, 9, 10) == [0, 0, 1, 0]
    assert count_lost(1, 5, 6) == [0, 3, 0]
    assert count_lost(2, 1, 3) == [0, 0, 1]
    assert count_lost(None, None) == [0, 0]
    assert count_lost(None, None, None) == [0, 0, 1]


def test_nothing_is_answered_before_a_required_scene():
    service = Service(require_scene=True)
    service.describe(arm.URDF)
    service.send(cup())
    check_refusal(service, "no whole planning scene received yet (require_scene: true)")
    with pytest.raises(InputError, match="require_scene"):
        service.current.model_to_report()
    service.send(scene_diff(cup()))
    check_refusal(service, "require_scene")
    service.send(PlanningScene())
    service.jobs.finish()
    assert service.objects == {}
    service.describe(OTHER)
    service.jobs.finish()
    assert service.objects == {}


def raise_full(_task):
    raise InputError("1000 messages and requests wait to be read")


def test_a_whole_scene_does_not_replace_messages_refused_after_it(described, monkeypatch):
    for _ in range(2):
        described.send(PlanningScene())
    with monkeypatch.context() as patch:
        patch.setattr(described.jobs, "submit", raise_full)
        patch.setattr(described.jobs, "last_waiting", lambda _kind: None)
        described.send(cup(name="late"))
    check_refusal(described, "lost 1 message about objects")
    described.send(PlanningScene())
    described.jobs.finish()
    assert described.objects == {}


def check_refusal(service, *words):
    service.jobs.finish()
    with pytest.raises(InputError) as problem:
        service.current.model()
    assert all(word in str(problem.value) for word in words), problem.value


def test_what_was_to_be_put_down_is_missing_until_it_is(described):
    described.send(attached_object(name="cup", link="ground", primitives=[sphere()]))
    described.send(attached_object(CollisionObject.REMOVE, name="cup", link="slider"))
    check_refusal(described, "'cup'", "is attached to link 'ground'")
    described.send(attached_object(CollisionObject.REMOVE, name="cup", link="ground"))
    described.jobs.finish()
    assert described.current.model().planning.objects["cup"].link is None
    # The pose of its link is unknown.
    held = attached_object(name="cup", link="hand", frame="hand", primitives=[sphere()])
    described.send(held)
    for message in (
        attached_object(CollisionObject.REMOVE, name="", link=""),
        scene_diff(),
        attached_object(CollisionObject.REMOVE, name="other"),
        thing("cup", CollisionObject.REMOVE),  # it is not one of the world
    ):
        described.send(message)
        check_refusal(described, "'cup'", "joint slide")
    scene = scene_diff()
    scene.robot_state.attached_collision_objects = [held]
    described.send(scene)
    described.jobs.finish()
    assert described.objects == {"cup": 0.0}
    scene.robot_state.attached_collision_objects = [attached_object(CollisionObject.REMOVE, name="cup")]
    described.send(scene)
    check_refusal(described, "'cup'", "joint slide")


def test_a_refused_whole_scene_leaves_its_matrix_missing(described):
    described.send(scene_diff(allowed_collision_matrix=matrix(["ball", "hand"], {"ball", "hand"})))
    scene = PlanningScene(fixed_frame_transforms=[TransformStamped(child_frame_id="f")])
    scene.fixed_frame_transforms[0].transform.rotation.w = 0.0
    scene.world.collision_objects = [cup()]
    described.send(scene)
    described.send(cup())
    check_refusal(described, "<planning_scene>", "quaternion")
    assert not described.current.snapshot.model.planning.rules.is_checked("ball", "hand")
    described.send(PlanningScene())
    described.jobs.finish()
    assert described.current.model().planning.rules.is_checked("ball", "hand")


def test_an_object_on_one_of_unknown_place_is_missing_too(described):
    described.send(cup())
    described.send(cup(operation=CollisionObject.MOVE, frame="hand"))
    described.send(thing("plate", primitives=[sphere()], frame="cup"))
    described.send(cup(x=3.0, operation=CollisionObject.MOVE))
    check_refusal(described, "'plate'", "frame_id 'cup'")
    described.send(thing("plate", primitives=[sphere()], frame="cup"))
    described.jobs.finish()
    assert described.objects == {"cup": 3.0, "plate": 3.0}


def test_a_superovoid_needs_a_state_only_if_it_matters(described):
    def apply_egg(frame):
        egg = ovoid(frame=frame, attach_link="hand")
        found = described.world.change("apply_objects", [frame], lambda: SuperovoidChanges([egg]))
        described.jobs.finish()
        return found.result()

    with pytest.raises(InputError, match="no position of joint"):
        apply_egg("")
    assert apply_egg("hand").objects["egg"].link == "hand"


def test_an_object_moved_by_tf_is_not_attached_where_it_was(described):
    described.send(cup(x=1.0, frame="map"))
    described.send(attached_object(name="cup", link="ground"))  # named by no header, and not there yet when this comes
    described.jobs.finish()
    assert described.objects == {"cup": 1.0}
    described.send(attached_object(CollisionObject.REMOVE, name="cup", link="ground"))
    described.send(cup(x=1.0, frame="map"))
    described.jobs.finish()
    described.transforms.where = arm.at(0.5, 0.0, 0.0)
    described.send(attached_object(name="cup", link="ground"))
    check_refusal(described, "'cup' was placed in frame 'map'", "by 0.5 m")
    described.send(attached_object(name="cup", link="ground", frame="map", primitives=[sphere()]))
    described.jobs.finish()
    assert described.objects == {"cup": 0.5}


def test_an_object_whose_attaching_was_refused_is_missing(described):
    in_hand = attached_object(name="cup", link="hand")  # the pose of the hand is unknown
    worlds = (PlanningSceneWorld(), scene_diff(CollisionObject(operation=CollisionObject.REMOVE)))
    for world in worlds:
        described.send(cup())
        described.send(in_hand)
        described.send(world)
        check_refusal(described, "'cup'", "joint slide")
        assert not described.current.snapshot.model.planning.objects
        described.send(PlanningScene())
        described.jobs.finish()
        assert described.objects == {}
    broken = attached_object(name="cup", primitives=[sphere(-1.0)])
    for is_diff, removed in ((True, [thing("cup", CollisionObject.REMOVE)]), (False, [])):
        scene = PlanningScene(is_diff=is_diff)
        scene.robot_state.is_diff = is_diff
        scene.robot_state.attached_collision_objects = [broken]
        scene.world.collision_objects = removed  # as move_group publishes it
        described.send(cup())
        described.send(scene)
        check_refusal(described, "'cup'", "radius")
        assert not described.current.snapshot.model.planning.objects
        described.send(thing("cup", CollisionObject.REMOVE))
        described.jobs.finish()
        assert described.objects == {}


def test_a_message_read_again_keeps_the_poses_of_its_arrival(described):
    described.send(cup(x=1.0, frame="map"))
    described.jobs.step()
    described.set(padding=0.5)  # another model, so that it is read again
    described.transforms.where = arm.at(5.0, 0.0, 0.0)
    described.jobs.step()
    described.send(attached_object(name="cup", link="ground"))
    described.transforms.where = np.eye(4)
    described.jobs.finish()
    check_refusal(described, "'cup' was placed in frame 'map'", "by 5 m")
    assert described.current.snapshot.model.planning.objects["cup"].pose[0, 3] == 1.0
    described.send(cup(x=1.0, frame="map"))
    described.jobs.step()
    described.describe(OTHER)  # its links are looked up again
    described.jobs.finish()
    assert described.objects == {"cup": 1.0}


@few_or_many(5, 100, "seeds")
def test_random_orders(seeds):
    for seed in range(seeds):
        check_random_order(random.Random(seed))


def check_random_order(rng):
    service = Service()
    states, present, seen = [{}], {}, 0  # after each message; those that were answered from never go back
    unread = set()  # while there is any nothing is answered

    def look():
        nonlocal seen
        try:
            found = service.objects
        except InputError:
            return
        assert found in states[seen:], (found, states[seen:])
        seen += states[seen:].index(found)
        assert service.current.model().planning.padding.default == service.values["padding"]

    for number in range(1, rng.randrange(10, 80)):
        name, kind = rng.choice("abc"), rng.randrange(10)
        if kind < 3:
            service.send(cup(x=float(number), name=name))
            present[name] = float(number)
            unread.discard(name)
        elif kind == 3:
            service.send(thing(name, operation=CollisionObject.REMOVE))
            present.pop(name, None)
            unread.discard(name)
        elif kind == 4:
            service.send(thing(name, primitives=[sphere(-1.0)]))
            unread.add(name)
        elif kind < 7:
            service.describe(rng.choice(TEXTS))
        elif kind == 7:
            service.set(padding=rng.choice((0.0, 0.1, 0.2)))
        elif kind == 8:
            try:
                service.set(robot_description=rng.choice(("", "", *TEXTS)))
            except InputError:
                pass
        states.append(None if unread else dict(present))
        for _ in range(rng.randrange(4)):
            look()
            service.jobs.step()
        look()
    service.describe(f"{arm.URDF}<!-- the last -->")
    service.values["robot_description"] = ""
    service.source.load()
    service.jobs.finish()
    look()
    planning = service.current.snapshot.model.planning
    assert {*planning.objects, *planning.problems} == {*present, *unread}
    assert planning.problems.keys() >= unread
    assert planning.problems or service.objects == present
    assert not service.common.statistics.internal_errors, service.common.log.lines

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""In whatever order descriptions, objects and parameters come: what is answered from is one whole state of these.

The parts that build the model run here step by step: what the reader's thread does between two events is chosen.
"""

import gc
import random
import weakref
from functools import partial

import numpy as np
import pytest
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, LinkScale, PlanningScene, PlanningSceneWorld
from moveit_msgs.srv import GetPlanningScene
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from superovoid_interfaces.srv import ApplyObjects

from superovoid_ros.nodes.common import endpoints
from superovoid_ros.nodes.common.endpoints import Endpoints, LostMessages
from superovoid_ros.nodes.common.mistakes import Code, InputError
from superovoid_ros.nodes.distance_service import parameter_file
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world import current_model, moveit_changes, world
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel
from superovoid_ros.nodes.distance_service.world.own_changes import apply_superovoids
from superovoid_ros.nodes.distance_service.world.world import World

import arm
import parts
from draws import few_or_many
from octrees import HALF
from world import TOPICS, WALL, attached_object, cup, matrix, octomap, ovoid, scene_diff, sphere, thing, with_octomap

REMOVE, MOVE = CollisionObject.REMOVE, CollisionObject.MOVE
OTHER = arm.URDF.replace('name="arm"', 'name="other"')
# No transform relates objects of the world to this frame.
EARTH = arm.URDF.replace('"ground"', '"earth"')
ON_CLAW = arm.URDF.replace('"hand"', '"claw"')
TEXTS = (arm.URDF, OTHER, EARTH, ON_CLAW, "<robot/>", "nonsense", "")
PARAMETERS = {one.name: one.default for declared in parameter_file.SECTIONS.values() for one in declared}
PARAMETERS |= {"stale_timeout": 0.0, "max_bodies": 100, "octomap_cubes": 100, "planning_scene_service": ""}


class Service:
    """The parts that build the model."""

    def __init__(self, **values):
        self.values = PARAMETERS | values
        self.common = parts.common()
        object.__setattr__(self.common, "parameter", self.values.__getitem__)
        self.jobs, self.current = self.common.jobs, CurrentModel()
        measurements = Measurements(self.common)
        self.transforms = measurements.transforms
        self.transforms.put([("earth", ("map", np.eye(4))), ("ball", ("ground", np.eye(4)))], None)
        self.put_map(0.0)
        self.world = World(self.common, self.current, measurements)
        self.world.configure()

    def put_map(self, x):
        """Let TF place the frame of the map relative to the root link."""
        self.transforms.put([("ground", ("map", arm.at(-x, 0.0, 0.0)))], None)

    def send(self, message, *source):
        """Let a message come; `source` is its number, and perhaps its publisher."""
        topic = "robot_description" if isinstance(message, String) else TOPICS[type(message)]
        self.common.node.subscriptions[topic](serialize_message(message), *source)

    def describe(self, text):
        self.send(String(data=text))

    def set(self, **new):
        self.world.check(new)
        self.values.update(new)
        self.world.apply(frozenset(new))

    @property
    def objects(self):
        return {name: thing.pose[0, 3] for name, thing in self.current.model().planning.objects.items()}

    def check(self, expected):
        """After all jobs: the objects that are answered from, or words of the reason for which nothing is answered."""
        self.jobs.finish()
        if isinstance(expected, dict):
            assert self.objects == expected
            return
        with pytest.raises(InputError) as problem:
            self.current.model()
        assert all(word in str(problem.value) for word in expected), problem.value

    def follow(self, *steps):
        """Let messages come; after each that has an expectation, check that."""
        for message, *rest in steps:
            self.send(message, *rest[1:])
            if rest and rest[0] is not None:
                self.check(rest[0])


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
    for later, link in ((ON_CLAW, "claw"), ("", "hand")):
        described.set(robot_description=later)
        described.jobs.finish()
        assert link in described.current.model().robot.links
        described.describe(arm.URDF)


def test_a_robot_set_before_an_object_is_read_is_the_only_one(described):
    described.send(cup())
    described.set(robot_description=ON_CLAW)
    while described.jobs.waiting:
        described.jobs.step()
        model = described.current.snapshot.model
        assert model is None or "claw" in model.robot.links
    assert described.objects == {"cup": 0.0}


def test_objects_are_taken_while_the_node_is_inactive(described):
    described.common.activity.state = "inactive"
    described.follow((cup(), {"cup": 0.0}))


def test_a_request_without_a_robot_is_refused(service):
    found = service.world.change("apply_objects", partial(apply_superovoids, [ovoid()]))
    assert "no robot" in str(found.exception())


@pytest.mark.parametrize("is_read", [False, True])
def test_a_padding_and_a_description_do_not_replace_each_other(described, is_read):
    described.describe(ON_CLAW)
    if is_read:
        described.jobs.step()  # but it is not used yet
    described.set(padding=0.1)
    described.jobs.finish()
    assert "claw" in described.current.model().robot.links
    assert described.current.model().planning.padding.default == 0.1


def test_clean_up_in_the_midst_of_a_reading_leaves_nothing(service):
    service.send(cup())
    service.describe(arm.URDF)
    for _ in range(3):
        service.jobs.step()
    service.world.clean_up()
    for task in service.jobs.waiting:
        task.future.set_exception(InputError("the node was cleaned up before this was read"))
    service.jobs.waiting.clear()
    service.jobs.found = None
    service.check(["no robot"])
    service.describe(arm.URDF)
    service.check({})


def test_nothing_is_answered_without_messages_that_were_too_many_to_wait(service, monkeypatch):
    monkeypatch.setattr(world, "MOST_WAITING", 2)
    for name in "abcd":
        service.send(cup(name=name))
    service.jobs.finish()
    assert sum("at most 2" in line for line in service.common.log.lines) == 2
    service.describe(arm.URDF)
    service.check(["lost 1 message on collision_object"])
    service.send(cup(name="e"))  # does not mention those
    service.describe(OTHER)
    service.check(["send a whole planning scene"])
    service.follow((whole(cup(x=4.0, name="c"), cup(x=4.0, name="d")), {"c": 4.0, "d": 4.0}))


def test_an_object_on_a_link_that_a_description_lacks_is_missing(described):
    lacks = "object 'tool': link 'hand' does not exist"
    described.send(attached_object(name="tool", pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()]))
    described.jobs.finish()
    described.describe(ON_CLAW)
    described.check([lacks, "re-send 'tool'"])
    described.describe(arm.URDF)  # the link is there again, and what hung on it
    described.check({"tool": 0.6})


REFUSED = {
    "move": thing("cup", operation=MOVE),
    "shape": thing("cup", primitives=[sphere(-1.0)]),
    "part of a scene": scene_diff(thing("cup", primitives=[sphere(-1.0)])),
    "scene": PlanningScene(is_diff=True, link_scale=[LinkScale(link_name="hand", scale=2.0)]),
    "request": ApplyObjects.Request(objects=[ovoid(size=[-1.0, 1.0, 1.0])]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_change_keeps_no_scene_in_memory(described, case):
    """Its error holds frames with the planning scene, which must not wait for a collection of garbage."""
    gc.collect()
    gc.disable()
    try:
        before = weakref.ref(described.current.snapshot.planning)
        if case == "request":
            described.world.open()
            call = described.common.node.services["~/apply_objects"](REFUSED[case], ApplyObjects.Response())
            call.send(None)
            described.jobs.finish()
            assert "size[0]" in parts.run(call).message
        else:
            described.send(REFUSED[case])
            described.jobs.finish()
            assert described.common.log.lines
        described.send(whole())
        described.jobs.finish()
        assert described.objects == {} and before() is None
    finally:
        gc.enable()


# --- messages of which each is answered, refused, or missing ---


def whole(*objects):
    message = PlanningScene()
    message.world.collision_objects = list(objects)
    return message


def held_scene(*attached, is_diff=True, objects=()):
    message = scene_diff(*objects)
    message.is_diff = message.robot_state.is_diff = is_diff
    message.robot_state.attached_collision_objects = list(attached)
    return message


def plate():
    return thing("plate", primitives=[sphere()], frame="cup")


def put_down(name="cup", link="hand"):
    return attached_object(REMOVE, name=name, link=link)


HELD = attached_object(name="cup", link="hand", frame="hand", primitives=[sphere()])
ON_GROUND = attached_object(name="cup", link="ground", primitives=[sphere()])
IN_HAND = attached_object(name="cup", link="hand")  # an object of the world; the pose of the hand is unknown
BROKEN = attached_object(name="cup", primitives=[sphere(-1.0)])
BAD = thing("cup", primitives=[sphere(-1.0)])
UNKNOWN, LOSS, EMPTY = ("'cup'", "joint slide"), ["lost 2 messages on"], PlanningScene()
REMOVED = thing("cup", REMOVE)
HOW = "send a whole planning scene (is_diff: false, and robot_state.is_diff: false)"
RADIUS = "'cup'", "radius"
WITH_JOINTS = PlanningScene(is_diff=True)
WITH_JOINTS.robot_state.joint_state.name, WITH_JOINTS.robot_state.joint_state.position = ["slide"], [0.0]
LOST = {
    CollisionObject: cup(),
    AttachedCollisionObject: attached_object(primitives=[sphere()], frame="hand"),
    PlanningScene: scene_diff(cup()),
    PlanningSceneWorld: PlanningSceneWorld(),
}
STORIES = {
    "what a whole state in a difference does not hold": [(ON_GROUND, {"cup": 0.0}), (WITH_JOINTS, {})],
    "what is put down from another link": [
        (ON_GROUND,),
        (put_down(link="slider"), ("'cup'", "is attached to link 'ground'")),
        (put_down(link="ground"), ("'cup'", "is attached to link 'ground'")),
        (cup(), {"cup": 0.0}),
    ],
    "what is put down from an unknown place": [
        (HELD,),
        *((one, UNKNOWN) for one in (put_down("", ""), scene_diff(), put_down("other"))),
        *((REMOVED, {}), (HELD,), (held_scene(put_down()), UNKNOWN), (cup(), {"cup": 0.0})),
    ],
    "what was unreadable before it had no place on another robot": [
        (cup(),),
        (thing("cup", primitives=[sphere(-1.0)]), ("'cup'", "radius")),
        (String(data=EARTH), ("'cup'", "the root of robot 'arm' is 'earth'")),
        (String(data=OTHER), ("'cup'", "radius")),
        (cup(x=3.0), {"cup": 3.0}),
    ],
    "what stands on an object of unknown place": [
        (cup(),),
        (cup(operation=MOVE, frame="hand"),),
        (plate(),),
        (cup(x=3.0, operation=MOVE), ("'plate'", "frame_id 'cup'")),
        (plate(), {"cup": 3.0, "plate": 3.0}),
    ],
    "what is attached at an unknown place": [
        *((cup(),), (IN_HAND,), (PlanningSceneWorld(), UNKNOWN), (EMPTY, {})),
        *((cup(),), (IN_HAND,), (scene_diff(CollisionObject(operation=REMOVE)), UNKNOWN), (EMPTY, {})),
    ],
    "what is attached in a shape without sense": [
        (cup(),),
        # As move_group publishes it.
        *((one, RADIUS) for one in (held_scene(BROKEN, objects=[REMOVED]), REMOVED, put_down())),
        *((REMOVED, {}), (cup(),)),
        *((held_scene(BROKEN, is_diff=False), RADIUS), (EMPTY, {})),
    ],
    "what an unreadable attachment took out of the world": [
        *((cup(),), (BROKEN, RADIUS), (WITH_JOINTS, RADIUS), (PlanningSceneWorld(), {})),
        *((cup(),), (held_scene(BROKEN, is_diff=False), RADIUS), (WITH_JOINTS, {})),
    ],
    "what is unknown in the world and on a link": [
        *((one, RADIUS) for one in (BROKEN, BAD, PlanningSceneWorld(), BAD, WITH_JOINTS)),
        (PlanningSceneWorld(), {}),
        *((one, RADIUS) for one in (held_scene(BROKEN, is_diff=False, objects=[cup()]), cup())),
        (attached_object(link="ground", name="cup"), RADIUS),
        (ON_GROUND, {"cup": 0.0}),
    ],
    **{
        f"a lost message on {TOPICS[kind]}": [
            (message, None, 1),
            (message, [*LOSS, HOW], 4),
            (cup(name="<more objects>"), ("the name is reserved",), 1, b"other"),
            (cup(name="c"), None, 2, b"other"),
            (scene_diff(cup(name="d")), [HOW], 1, b"other"),
            (WITH_JOINTS, [HOW], 2, b"other"),
            (whole(cup(name="wall")), {"wall": 0.0}, 3, b"other"),
        ]
        for kind, message in LOST.items()
    },
    "what a link held that another robot lacks": [
        *((HELD,), (String(data=ON_CLAW), ("'cup'", "link 'hand' does not exist")), (REMOVED, {})),
    ],
    "publishers that begin late or again": [
        *((cup(name="a"), None, 7, b"one"), (cup(name="b"), None, 1, b"two"), (cup(name="c"), None, 8, b"one")),
        *((cup(name="d"), None, 1, b"three"), (cup(name="e"), None, 2, b"two")),
        (cup(name="f"), dict.fromkeys("abcdef", 0.0), 9, b"one"),
    ],
    "losses before a whole scene": [(scene_diff(), None, 1), (EMPTY, {}, 5)],
    "losses after a whole scene": [(EMPTY, None, 6), (scene_diff(), LOSS, 9)],
}


@pytest.mark.parametrize("story", STORIES)
def test_nothing_is_answered_without_an_object_of_unknown_fate(described, story):
    described.follow(*STORIES[story])


def test_a_scene_requested_before_a_loss_does_not_replace_it(described):
    described.world.record()
    described.follow((cup(name="a"), {"a": 0.0}, 1), (cup(name="b"), None, 3))
    first = described.world.take_whole(PlanningScene())
    described.check(["lost 1 message on collision_object"])
    assert set(described.current.snapshot.model.planning.objects) == {"a", "b"}
    described.world.record()
    second = described.world.take_whole(PlanningScene())
    described.check({})
    assert first.exception() is None and second.exception() is None


def test_what_a_mistake_leaves_unread_is_missing(described, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(moveit_changes, "_parts_of", fail)
        described.send(cup(name="a"))
        described.jobs.finish()
    described.follow((cup(name="b"), ["INTERNAL: ZeroDivisionError", HOW]))
    assert set(described.current.snapshot.model.planning.objects) == {"b"}
    assert described.common.statistics.internal_errors == 1


def test_a_whole_scene_does_not_replace_messages_refused_after_it(described, monkeypatch):
    described.follow((EMPTY,), (EMPTY,))
    with monkeypatch.context() as patch:
        patch.setattr(world, "MOST_WAITING", 2)
        described.send(cup(name="late"))
    described.check(["lost 1 message on collision_object"])
    described.follow((EMPTY, {}))
    with monkeypatch.context() as patch:
        patch.setattr(world, "MOST_BYTES", 10)
        described.send(cup(name="large"))
    described.check(["lost 1 message on collision_object"])


@pytest.mark.parametrize(
    ("numbers", "lost"),
    [
        ((1, 2, 3, 4), [0, 0, 0, 0]),
        ((7, 8), [0, 0]),
        ((7, 8, 9, 10), [0, 0, 1, 0]),
        ((1, 5, 6), [0, 3, 0]),
        ((2, 1, 3), [0, 0, 1]),
        ((None, None), [0, 0]),
        ((None, None, None), [0, 0, 1]),
    ],
)
def test_a_full_queue_has_lost_what_its_first_number_lacks(numbers, lost):
    counts = LostMessages(3)
    infos = [{"publication_sequence_number": one, "publisher_gid": one and {"data": b"a"}} for one in numbers]
    assert [counts.losses(info) for info in infos] == lost


def test_publishers_that_are_too_many_count_as_a_loss(monkeypatch):
    monkeypatch.setattr(endpoints, "_MOST_PUBLISHERS", 2)
    counts = LostMessages(3)
    infos = [{"publication_sequence_number": 1, "publisher_gid": {"data": bytes([i])}} for i in range(4)]
    lost = [counts.losses(info) for info in infos if not counts.is_empty()]
    assert lost == [0, 0, 1, 0]


def test_messages_that_wait_are_taken_together_and_an_empty_queue_has_lost_none():
    node, taken = parts.FakeNode(), []
    Endpoints(node, pytest.fail).listen_to_every(String, "topic", taken.append, QoSProfile(depth=3))
    queue = node.subscriptions["topic"]
    for number in range(7, 20):  # more than the depth, one at a time
        queue(b"", number)
    assert taken == [[(b"", 0)]] * 13
    for number in range(20, 23):
        queue.put(b"", number)
    queue.spin()
    assert taken[13:] == [[(b"", 0)] * 3]


def test_nothing_is_answered_before_a_required_scene():
    service = Service(require_scene=True)
    service.describe(arm.URDF)
    service.follow((cup(), ["no whole planning scene received yet (require_scene: true)"]))
    service.follow((scene_diff(cup()), ["require_scene"]), (EMPTY, {}))
    service.describe(OTHER)
    service.check({})


def test_a_reported_scene_without_lost_messages_is_no_whole_scene(described):
    described.follow((cup(name="a"), {"a": 0.0}, 1), (cup(name="b"), LOSS, 4))
    described.world.open()
    answer = described.common.node.services["get_planning_scene"]
    scene = parts.run(answer(GetPlanningScene.Request(), GetPlanningScene.Response())).scene
    assert not scene.is_diff and {one.id for one in scene.world.collision_objects} == {"a", "b"}
    described.follow((scene, ["<more objects>", HOW]), (EMPTY, {}))


def refused_scene():
    scene = whole(cup())
    scene.link_scale = [LinkScale(link_name="hand", scale=2.0)]
    return scene


def test_messages_are_read_once_although_one_of_them_is_refused(described, monkeypatch):
    read, kinds = world.read, []
    monkeypatch.setattr(world, "read", lambda data, kind: kinds.append(kind) or read(data, kind))
    for message in (cup(name="a"), refused_scene(), cup(name="b"), cup(name="c")):
        described.send(message)
    described.check([HOW])
    assert kinds == [CollisionObject, PlanningScene, CollisionObject, CollisionObject]
    assert set(described.current.snapshot.model.planning.objects) == set("abc")


def test_an_octomap_with_a_cell_too_far_away_is_unreadable_until_the_next(described):
    scene = with_octomap(octomap([(-HALF, 0, 0)], resolution=1e26))
    scene.world.collision_objects = [cup()]
    described.send(scene)
    described.check(["1 object", "'<octomap>'", "within 1e+30 m, found 3.28e+30"])
    described.send(with_octomap(octomap([(0, 0, 0)])))
    described.check({"cup": 0.0, "<octomap>": 0.0})


def test_only_messages_beyond_a_limit_of_pairs_are_refused():
    service = Service(max_pairs=12)  # 4 of the robot and 4 of each cup
    service.describe(arm.URDF)
    for name in "abc":
        service.send(cup(name=name))
    service.check(["16 pairs, at most 12"])
    assert set(service.current.snapshot.model.planning.objects) == {"a", "b"}


@pytest.mark.parametrize("limits", [{"max_objects": 2}, {"max_bodies": 6}])
def test_a_whole_scene_at_a_limit_replaces_another(limits):
    service = Service(**limits)
    service.describe(arm.URDF)
    service.follow((whole(cup(name="a"), cup(name="b")), {"a": 0.0, "b": 0.0}))
    service.follow((held_scene(ON_GROUND, is_diff=False, objects=[cup(name="c")]), {"cup": 0.0, "c": 0.0}))
    service.follow(
        (with_octomap(octomap([WALL[0]]), is_diff=False),), (whole(cup(), cup(name="c")), {"cup": 0.0, "c": 0.0})
    )


def test_a_message_refused_again_after_a_requested_scene_is_logged_once(described):
    described.world.record()
    described.follow((refused_scene(), [HOW]))
    described.world.take_whole(PlanningScene())
    described.check([HOW])
    assert sum("link_scale" in line for line in described.common.log.lines) == 1


def test_a_refused_request_leaves_nothing_among_others(described):
    requests = [ovoid("a"), ovoid("b", size=[-1.0] * 3)], [ovoid("c")]
    first, second = (
        described.world.change("apply_objects", partial(apply_superovoids, objects)) for objects in requests
    )
    described.check({"c": 0.0})
    assert "size[0]" in str(first.exception()) and second.exception() is None


def test_long_readings_end_between_two_messages(described, monkeypatch):
    monkeypatch.setattr(current_model, "LONGEST", 0.0)
    for name in "abc":
        described.send(cup(name=name))
    for names in ("a", "ab", "abc"):
        described.jobs.step(), described.jobs.step()  # one is read, and used
        assert set(described.objects) == set(names)
    assert not described.jobs.waiting


def test_long_readings_do_not_end_between_a_scene_and_later_messages(described, monkeypatch):
    monkeypatch.setattr(current_model, "LONGEST", 0.0)
    described.world.record()
    described.follow((cup(name="a"), {"a": 0.0}), (cup(name="b"), {"a": 0.0, "b": 0.0}))
    described.world.take_whole(PlanningScene())
    while described.jobs.waiting:
        assert set(described.objects) == {"a", "b"}
        described.jobs.step()
    described.check({"a": 0.0, "b": 0.0})


def test_a_refused_whole_scene_leaves_its_matrix_missing(described):
    described.send(scene_diff(allowed_collision_matrix=matrix(["ball", "hand"], {"ball", "hand"})))
    described.follow((refused_scene(),), (cup(), ("planning_scene: link_scale", "must be 1", HOW)))
    for expected in (False, True):
        assert described.current.snapshot.model.planning.rules.is_checked("ball", "hand") == expected
        described.follow((EMPTY, {}))


def test_an_extension_in_an_unknown_frame_is_refused(described):
    described.send(cup())
    described.send(cup(operation=CollisionObject.APPEND, frame="nowhere"))
    described.check(["'cup'", "frame_id 'nowhere'"])


def test_a_superovoid_needs_a_state_only_if_it_matters(described):
    def apply_egg(frame):
        egg = ovoid(frame=frame, attach_link="hand")
        found = described.world.change("apply_objects", partial(apply_superovoids, [egg]))
        described.jobs.finish()
        return found.result()

    with pytest.raises(InputError, match="no position of joint"):
        apply_egg("")
    assert apply_egg("hand").objects["egg"].link == "hand"


def test_an_object_moved_by_tf_is_not_attached_where_it_was(described):
    on_map, attach = cup(x=1.0, frame="map"), attached_object(name="cup", link="ground")
    # The second is named by no header, and not there yet when this comes.
    described.follow((on_map,), (attach, {"cup": 1.0}), (put_down(link="ground"),), (on_map, {"cup": 1.0}))
    described.put_map(0.5)
    described.follow((attach, ("'cup' was placed in frame 'map'", "by up to 0.5 m")))
    described.follow((attached_object(name="cup", link="ground", frame="map", primitives=[sphere()]), {"cup": 0.5}))


def test_an_object_whose_frame_tf_has_lost_is_not_attached_where_it_was(described):
    described.follow((cup(frame="map"), {"cup": 0.0}))
    del described.transforms.latest["ground"]
    attach = attached_object(name="cup", link="ground")
    described.follow((attach, ("'cup' was placed in frame 'map', and no transform from 'map'",)))


def test_a_message_has_the_poses_of_its_arrival(described):
    described.send(cup(x=1.0, frame="map"))
    described.put_map(5.0)
    described.send(attached_object(name="cup", link="ground"))
    described.put_map(0.0)
    described.check(("'cup' was placed in frame 'map'", "by up to 5 m"))
    assert described.current.snapshot.model.planning.objects["cup"].pose[0, 3] == 1.0


def test_parameters_set_without_a_pause_starve_no_reading(service):
    service.describe(arm.URDF)
    service.send(cup())
    for padding in (0.1, 0.2):
        service.jobs.step()
        service.set(padding=padding)
    assert service.objects == {"cup": 0.0} and service.current.model().planning.padding.default == 0.2
    service.send(cup(name="plate"))
    service.jobs.step()
    service.set(padding=0.3)
    service.jobs.step()
    assert set(service.objects) == {"cup", "plate"} and service.current.model().planning.padding.default == 0.3


def test_robot_parameters_set_faster_than_the_robot_is_read_do_not_starve_it(described):
    accepted = 0
    with pytest.raises(InputError, match="being read") as refused:
        for number in range(100):  # one in each reading
            described.set(rtol=1e-9 * (1 + number))
            accepted += 1
            described.jobs.step()
            described.jobs.step() if number else None
    assert refused.value.code == Code.BUSY and accepted > 2
    described.check({})
    assert described.current.model().planning._rtol == 1e-9 * accepted
    described.set(rtol=1e-3)
    described.check({})


def test_a_limit_raised_during_a_reading_that_it_ends_counts():
    service = Service(max_bodies=1)
    service.describe(arm.URDF)
    service.jobs.step()
    service.set(max_bodies=100)
    service.check({})


def test_objects_read_before_a_smaller_limit_wait_for_room(described):
    described.send(cup())
    described.jobs.step()
    described.set(max_pairs=4)
    described.check(["'cup'", "8 pairs, at most 4"])
    described.set(max_pairs=8)
    described.check({"cup": 0.0})


@few_or_many(100, 2000, "seeds")
def test_objects_are_those_of_a_sender_that_reads_all(seeds, monkeypatch):
    """If anything is answered. As in MoveIt, the sender has names of the world and names of links."""
    monkeypatch.setattr(world, "_PERIOD", 0.0)
    assert sum(answers_like_the_sender(random.Random(seed)) for seed in range(seeds)) > seeds


def answers_like_the_sender(rng):
    """Return after how many messages something was answered."""
    service, there, held, count = Service(), set(), set(), 0
    service.describe(arm.URDF)
    for _ in range(rng.randrange(2, 15)):
        # The pose of the ground is known, that of the hand is not.
        name, link, radius = rng.choice("abc"), rng.choice(("ground", "hand")), rng.choice((0.1, 0.1, -1.0))
        added = thing(name, primitives=[sphere(radius)])
        attached = attached_object(name=name, link=link, frame=link, primitives=[sphere(radius)])
        removed, detached = rng.choice((name, "")), rng.choice((name, ""))
        down, plain = held & {detached} if detached else held, cup(name=rng.choice("abc"))
        message, there, held = rng.choice(
            (
                (added, there | {name}, held),
                (thing(removed, REMOVE), there - {name} if removed else set(), held),
                (PlanningSceneWorld(collision_objects=[added]), {name}, held),
                (attached, there - {name}, held | {name}),
                (held_scene(attached, objects=[thing(name, REMOVE)]), there - {name}, held | {name}),
                (attached_object(name=name, link=link), there - {name}, held | ({name} & there)),
                (put_down(detached, ""), there | down, held - down),
                (WITH_JOINTS, there, set()),
                (held_scene(attached, is_diff=False, objects=[plain]), {plain.id}, {name}),
                (held_scene(attached, is_diff=False, objects=[added]), {name}, {name}),
                (EMPTY, set(), set()),
            )
        )
        service.send(message)
        service.jobs.finish()
        if not service.current.problem:
            count += 1
            links = {one: thing.link for one, thing in service.current.model().planning.objects.items()}
            assert not there & held
            assert {one: link is None for one, link in links.items()} == {one: one in there for one in there | held}
    return count


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
            service.send(thing(name, operation=REMOVE))
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
    service.world.load()
    service.jobs.finish()
    look()
    planning = service.current.snapshot.model.planning
    assert {*planning.objects, *planning.problems} == {*present, *unread}
    assert planning.problems.keys() >= unread
    assert planning.problems or service.objects == present
    assert not service.common.statistics.internal_errors, service.common.log.lines

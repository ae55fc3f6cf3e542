# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot that moves in a frame of the world, among objects that stand there: by TF, and by the states of requests."""

import numpy as np
import pytest
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, RobotState
from superovoid_interfaces.srv import GetDistances

from superovoid_ros.nodes.common.conversions import from_pose, from_transform, to_transform

import arm
from world import DISTANCES, RELIABLE, TOPICS, attached_object, cup, scene_diff, sphere, thing

VIRTUAL = '<virtual_joint name="drive" type="{}" parent_frame="odom" child_link="ground"/>'
ON_CUP = arm.at(0.0, -2.0, 0.0)
FAR = arm.at(0.0, 0.0, 50.0)


def srdf(kind="planar"):
    return arm.SRDF.replace("</robot>", f"{VIRTUAL.format(kind)}</robot>" if kind else "</robot>")


PLANAR = srdf()


@pytest.fixture(scope="module")
def service(serve):
    return serve(rate=0.0, stale_timeout=0.0, robot_description=arm.URDF)


@pytest.fixture
def begin(service, client):
    """Return what begins a life of the service without measurements and objects, with parameters."""

    def begin(*, semantic=PLANAR, **parameters):
        values = {"frame_prefix": "", "unknown_root_pose": "refuse", "planning_frame": "", **parameters}
        client.bring("unconfigured")
        client.set(robot_description_semantic=semantic, **values)
        client.bring("active")
        for kind in (CollisionObject, AttachedCollisionObject, PlanningScene):
            publisher = client.publisher(kind, TOPICS[kind], RELIABLE)
            assert client.wait(lambda p=publisher: p.get_subscription_count() == 1)
        return client

    return begin


def drive(client, pose=None, positions=(0.0, 0.0)):
    """Publish a state with this base pose (None: no transform), and wait until the service answers from it."""
    stamp = client.now()

    def answers_from_it(response):
        arm.send_state(client, positions, FAR, stamp)
        if pose is not None:
            client.send_transform("odom", "ground", pose, stamp=stamp)
        return response.success and response.distances.header.stamp == stamp

    return client.until(answers_from_it, links_a=["hand"], links_b=["ball"])


def check(client, *, base=None, frame="", group="", joint="drive", is_diff=True):
    state = RobotState(is_diff=is_diff)
    if base is not None:
        state.multi_dof_joint_state.joint_names = [joint]
        state.multi_dof_joint_state.transforms = [to_transform("", "", base, client.now()).transform]
        state.multi_dof_joint_state.header.frame_id = frame
    return client.check(state, group_name=group)


def both_answers(client, **request):
    return client.nearest(**request), client.call(GetDistances, DISTANCES, **request)


@pytest.mark.ci
@pytest.mark.parametrize(
    "parameters",
    [{"semantic": srdf("planar")}, {"semantic": srdf("floating")}, {"semantic": arm.SRDF, "planning_frame": "odom"}],
)
def test_a_robot_that_drives_onto_a_box_is_not_valid(begin, parameters):
    client = begin(**parameters)
    drive(client, np.eye(4))
    client.apply(cup(frame="odom"))
    assert client.gap() == pytest.approx(2.0 - 0.1 - 0.1) and check(client).valid
    answer = drive(client, ON_CUP)
    assert answer.distances.header.frame_id == "odom"
    assert client.gap() == pytest.approx(-0.2)
    response = check(client)
    assert not response.valid and {c.header.frame_id for c in response.contacts} == {"odom"}
    contact = next(c for c in response.contacts if {c.contact_body_1, c.contact_body_2} == {"cup", "ground"})
    assert contact.position.y == pytest.approx(-2.0)


def test_the_state_of_a_request_moves_the_base(begin):
    client = begin()
    drive(client, np.eye(4))
    client.send_transform("map", "odom", arm.at(0.0, 7.0, 0.0), static=True)
    client.apply(cup())  # in the frame of the root link, which stands in odom's
    assert check(client).valid and not check(client, base=ON_CUP).valid
    assert not check(client, base=ON_CUP, is_diff=False).valid
    for frame in ("odom", "/odom"):
        assert not check(client, base=ON_CUP, frame=frame).valid
    assert not check(client, base=arm.at(0.0, 5.0, 0.0), frame="map").valid
    assert check(client, base=ON_CUP, frame="map").valid
    given = to_transform("odom", "ground", ON_CUP, client.now())
    assert client.gap(base_poses=[given]) == pytest.approx(-0.2)
    given.header.frame_id = ""  # the robot's root: odom
    assert client.gap(base_poses=[given]) == pytest.approx(-0.2)
    poses = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *ON_CUP[:3, 3], 0.0, 0.0, 0.0, 1.0]
    request = {"links_a": ["cup"], "links_b": ["ground"], "base_links": ["ground"], "base_poses": poses}
    rows = client.call(GetDistances, DISTANCES, **request, base_gradients=True)
    assert rows.success, rows.message
    assert list(rows.distance) == pytest.approx([1.8, -0.2]) and rows.header.frame_id == "odom"
    at = list(rows.gradient_bases).index("ground")
    gradients = np.reshape(rows.base_gradients, (-1, len(rows.gradient_bases), 6))
    np.testing.assert_allclose(gradients[0, at, :3], [0.0, 1.0, 0.0], atol=1e-9)  # away from the cup


def test_an_object_of_base_or_hand_is_put_in_the_world(begin):
    client = begin()
    drive(client, ON_CUP)
    place = {"pose": arm.at(0.6, 0.0, 0.0), "frame": "hand"}
    stone = thing("stone", pose=arm.at(3.0, 0.0, 0.0), primitives=[sphere()])
    client.apply(stone, attached=[attached_object(**place, primitives=[sphere()], touch_links=["thumb"])])
    drive(client, np.eye(4))
    assert client.gap("stone", "ground") == pytest.approx(np.hypot(3.0, 2.0) - 0.2)
    (stone,) = client.scene().world.collision_objects
    assert stone.header.frame_id == "odom"
    np.testing.assert_allclose(from_pose(stone.pose, ""), arm.at(3.0, -2.0, 0.0), atol=1e-12)
    drive(client, ON_CUP)
    scene = client.scene()
    joints = scene.robot_state.multi_dof_joint_state
    places = dict(zip(joints.joint_names, joints.transforms, strict=True))
    np.testing.assert_allclose(from_transform(places["drive"], ""), ON_CUP, atol=1e-12)
    np.testing.assert_allclose(from_transform(places["free"], ""), FAR, atol=1e-12)
    assert joints.header.frame_id == "odom"
    assert {one.child_frame_id for one in scene.fixed_frame_transforms} == {"odom"}
    # What was answered can be sent back, and changes nothing.
    before = client.gap("stone", "cup")
    assert client.apply_scene(scene) and client.gap("stone", "cup") == before


def test_the_frame_of_the_world_has_no_prefix(begin):
    client = begin(frame_prefix="left/")
    stone = thing("stone", frame="left/ground", primitives=[sphere()])

    def put_down(_):
        client.send_joints(arm.JOINTS, [0.0, 0.0], client.now())
        client.send_transform("odom", "left/ground", ON_CUP, static=True)
        return client.apply_scene(scene_diff(cup(frame="odom"), stone))

    client.send_transform("left/ground", "left/ball", FAR, static=True)
    client.until(put_down)
    given = [to_transform("left/ground", "left/ball", FAR, client.now())]
    assert client.gap(base_poses=given) == pytest.approx(-0.2)
    assert client.nearest(base_poses=given).distances.header.frame_id == "odom"
    assert client.gap("stone", "ground") == pytest.approx(-0.2)
    for parent in ("left/ground", "ground"):  # links may be named without the prefix, and frames not
        given = [to_transform(parent, "ball", FAR, client.now())]
        assert client.nearest(base_poses=given).success == (parent == "left/ground")
    assert not client.apply_scene(scene_diff(cup(frame="left/odom")))
    assert not check(client).valid


def test_without_its_pose_only_the_robots_own_distances_are_answered(begin):
    client = begin()
    own = drive(client)
    assert own.distances.header.frame_id == "ground" and check(client).valid
    client.apply(cup(frame="odom"))
    assert drive(client).distances.pairs[0].distance == own.distances.pairs[0].distance
    for request in ({"links_a": ["cup"]}, {}):
        for answer in both_answers(client, **request):
            assert not answer.success and "'ground'" in answer.message and "'odom'" in answer.message, answer.message
    assert client.call(GetDistances, DISTANCES, links_a=["hand"], links_b=["ball"]).success
    assert not check(client).valid and not check(client, group="gripper").valid
    # An object of the hand is no part of the world, one of the base's place would be.
    place = {"pose": arm.at(0.6, 0.0, 0.0), "frame": "slider"}
    client.send(attached_object(name="pen", **place, primitives=[sphere()], touch_links=["hand"]))
    client.until(links_a=["pen"], links_b=["ground"])
    assert not client.apply_scene(scene_diff(thing("stone", frame="ground", primitives=[sphere()])))
    assert "object 'stone': " in client.nearest().message
    client.apply(thing("stone", operation=CollisionObject.REMOVE))
    # Who gives the pose is answered.
    assert client.gap(base_poses=[to_transform("odom", "ground", ON_CUP, client.now())]) == pytest.approx(-0.2)
    assert check(client, base=np.eye(4)).valid and not check(client, base=ON_CUP).valid
    drive(client, ON_CUP)
    assert client.gap() == pytest.approx(-0.2)


def test_an_unknown_pose_may_be_the_default_as_in_move_group(begin):
    client = begin(unknown_root_pose="identity")
    assert drive(client).distances.header.frame_id == "odom"
    client.apply(cup(frame="odom"), cup(name="stone", y=-1.0))
    assert client.gap() == pytest.approx(1.8) and client.gap("stone") == pytest.approx(0.8) and check(client).valid
    drive(client, ON_CUP)
    assert client.gap() == pytest.approx(-0.2) and client.gap("stone") == pytest.approx(0.8)


def test_a_link_of_the_robot_is_no_planning_frame(begin):
    client = begin(semantic=arm.SRDF)
    client.set_robot(planning_frame="hand")
    assert "no robot: " in client.nearest().message and "'hand'" in client.nearest().message


def test_an_object_whose_frame_has_moved_blocks_answers(begin):
    client = begin(semantic=arm.SRDF)
    drive(client, np.eye(4))
    client.apply(cup(frame="odom"))
    assert client.gap() == pytest.approx(1.8) and check(client).valid
    drive(client, ON_CUP)
    assert not check(client).valid
    for answer in both_answers(client):
        assert not answer.success
        assert all(word in answer.message for word in ("'cup'", "'odom'", "'ground'", "planning_frame"))
    drive(client, np.eye(4))
    assert client.gap() == pytest.approx(1.8) and check(client).valid
    drive(client, ON_CUP)
    client.apply(cup(frame="odom"))  # where it is now
    assert client.gap() == pytest.approx(-0.2)


def test_an_object_in_a_frame_on_the_robot_stays_in_place(begin):
    client = begin(semantic=arm.SRDF)
    drive(client, np.eye(4))
    client.send_transform("hand", "camera", np.eye(4), static=True)
    client.send_transform("ground", "hand", arm.at(0.0, -1.0, 0.0))
    client.until()
    assert client.wait(lambda: client.apply_scene(scene_diff(cup(y=-1.0, frame="camera"))))
    assert client.gap() == pytest.approx(1.8)
    client.send_transform("ground", "hand", arm.at(0.0, 1.0, 0.0))
    drive(client, ON_CUP)
    assert client.gap() == pytest.approx(1.8)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot that moves in a frame of the world, among objects that stand there: by TF, and by the states of requests."""

from __future__ import annotations

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, RobotState
from moveit_msgs.srv import GetPlanningScene, GetStateValidity
from superovoid_interfaces.srv import GetDistances, GetMinDistance

from superovoid_ros.nodes.common.conversions import from_pose, from_transform, to_transform

import arm
import lifecycle
from parameters import set_parameters
from world import MIN_DISTANCE, RELIABLE, apply_scene, attached_object, cup, scene_diff, send, sphere, thing

NAME = "/distance_service"
VIRTUAL = '<virtual_joint name="drive" type="{}" parent_frame="odom" child_link="ground"/>'
ON_CUP = arm.at(0.0, -2.0, 0.0)
FAR = arm.at(0.0, 0.0, 50.0)


def srdf(kind="planar"):
    return arm.SRDF.replace("</robot>", f"{VIRTUAL.format(kind)}</robot>" if kind else "</robot>")


@pytest.fixture(scope="module")
def service(serve):
    return serve(rate=0.0, stale_timeout=0.0, robot_description=arm.URDF)


@pytest.fixture
def begin(service, client):
    """Return what begins a life of the service without measurements and objects, with parameters."""

    def begin(*, semantic=None, **parameters):
        assert client.wait(lambda: lifecycle.state(client, NAME) == "active")
        values = {
            "robot_description_semantic": srdf() if semantic is None else semantic,
            "frame": "",
            "frame_prefix": "",
        }
        values |= {"unknown_root_pose": "refuse", "planning_frame": "", **parameters}
        assert lifecycle.change(client, NAME, Transition.TRANSITION_DEACTIVATE)
        assert lifecycle.change(client, NAME, Transition.TRANSITION_CLEANUP)
        answer = set_parameters(client, NAME, values)
        assert answer.successful, answer.reason
        assert lifecycle.change(client, NAME, Transition.TRANSITION_CONFIGURE)
        assert lifecycle.change(client, NAME, Transition.TRANSITION_ACTIVATE)
        for kind, topic in (
            (CollisionObject, "collision_object"),
            (AttachedCollisionObject, "attached_collision_object"),
            (PlanningScene, "planning_scene"),
        ):
            publisher = client.publisher(kind, topic, RELIABLE)
            assert client.wait(lambda p=publisher: p.get_subscription_count() == 1)
        return client

    return begin


def drive(client, pose=None, positions=(0.0, 0.0)):
    """Publish a state with this base pose (None: no transform), and wait until the service answers from it."""
    stamp = client.now()

    def publish():
        client.send_joints(arm.JOINTS, list(positions), stamp)
        client.send_transform("ground", "ball", FAR, stamp=stamp)
        if pose is not None:
            client.send_transform("odom", "ground", pose, stamp=stamp)

    def answers_from_it(response):
        publish()
        return response.success and response.distances.header.stamp == stamp

    return client.call_until(answers_from_it, GetMinDistance, MIN_DISTANCE, links_a=["hand"], links_b=["ball"])


def gap(client, a="cup", b="ground", **request):
    answer = client.call(GetMinDistance, MIN_DISTANCE, links_a=[a], links_b=[b], **request)
    assert answer.success, answer.message
    return answer.distances.pairs[0].distance


def check(client, *, base=None, frame="", group="", joint="drive", is_diff=True):
    state = RobotState(is_diff=is_diff)
    if base is not None:
        state.multi_dof_joint_state.joint_names = [joint]
        state.multi_dof_joint_state.transforms = [to_transform("", "", base, client.now()).transform]
        state.multi_dof_joint_state.header.frame_id = frame
    return client.call(GetStateValidity, "/check_state_validity", robot_state=state, group_name=group)


# --- the virtual joint of the SRDF ---


@pytest.mark.ci
@pytest.mark.parametrize(
    "parameters",
    [{"semantic": srdf("planar")}, {"semantic": srdf("floating")}, {"semantic": arm.SRDF, "planning_frame": "odom"}],
)
def test_a_robot_that_drives_onto_a_box_is_not_valid(begin, parameters):
    client = begin(**parameters)
    drive(client, np.eye(4))
    assert apply_scene(client, scene_diff(cup(frame="odom")))
    assert gap(client) == pytest.approx(2.0 - 0.1 - 0.1) and check(client).valid
    answer = drive(client, ON_CUP)
    assert answer.distances.header.frame_id == "odom"
    assert gap(client) == pytest.approx(-0.2)
    response = check(client)
    assert not response.valid and {c.header.frame_id for c in response.contacts} == {"odom"}
    contact = next(c for c in response.contacts if {c.contact_body_1, c.contact_body_2} == {"cup", "ground"})
    assert contact.position.y == pytest.approx(-2.0)


def test_the_state_of_a_request_moves_the_base(begin):
    client = begin()
    drive(client, np.eye(4))
    client.send_transform("map", "odom", arm.at(0.0, 7.0, 0.0), static=True)
    assert apply_scene(client, scene_diff(cup()))  # in the frame of the root link, which stands in odom's
    assert check(client).valid and not check(client, base=ON_CUP).valid
    assert not check(client, base=ON_CUP, is_diff=False).valid
    for frame in ("odom", "/odom"):
        assert not check(client, base=ON_CUP, frame=frame).valid
    assert not check(client, base=arm.at(0.0, 5.0, 0.0), frame="map").valid
    assert check(client, base=ON_CUP, frame="map").valid
    given = to_transform("odom", "ground", ON_CUP, client.now())
    assert gap(client, base_poses=[given]) == pytest.approx(-0.2)
    given.header.frame_id = ""  # the robot's root: odom
    assert gap(client, base_poses=[given]) == pytest.approx(-0.2)
    at_cup = to_transform("cup", "ground", np.eye(4), client.now())  # an object's frame
    assert gap(client, base_poses=[at_cup]) == pytest.approx(-0.2)
    assert not check(client, base=np.eye(4), frame="cup").valid
    assert check(client, base=arm.at(0.0, 1.0, 0.0), frame="cup").valid
    rows = client.call(
        GetDistances,
        f"{NAME}/get_distances",
        links_a=["cup"],
        links_b=["ground"],
        base_links=["ground"],
        base_poses=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *ON_CUP[:3, 3], 0.0, 0.0, 0.0, 1.0],
        base_gradients=True,
    )
    assert rows.success, rows.message
    assert list(rows.distance) == pytest.approx([1.8, -0.2]) and rows.header.frame_id == "odom"
    at = list(rows.gradient_bases).index("ground")
    gradients = np.reshape(rows.base_gradients, (-1, len(rows.gradient_bases), 6))
    np.testing.assert_allclose(gradients[0, at, :3], [0.0, 1.0, 0.0], atol=1e-9)  # away from the cup


def test_an_object_of_base_or_hand_is_put_in_the_world(begin):
    client = begin()
    drive(client, ON_CUP)
    send(
        client, attached_object(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()], touch_links=["thumb"])
    )
    assert apply_scene(client, scene_diff(thing("stone", pose=arm.at(3.0, 0.0, 0.0), primitives=[sphere()])))
    client.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE, links_a=["cup"], links_b=["stone"])
    drive(client, np.eye(4))
    assert gap(client, "stone", "ground") == pytest.approx(np.hypot(3.0, 2.0) - 0.2)
    scene = client.call(GetPlanningScene, "/get_planning_scene").scene
    (stone,) = scene.world.collision_objects
    assert stone.header.frame_id == "odom"
    np.testing.assert_allclose(from_pose(stone.pose, ""), arm.at(3.0, -2.0, 0.0), atol=1e-12)
    drive(client, ON_CUP)
    scene = client.call(GetPlanningScene, "/get_planning_scene").scene
    places = dict(zip(scene.robot_state.multi_dof_joint_state.joint_names,
                      scene.robot_state.multi_dof_joint_state.transforms, strict=True))  # fmt: skip
    np.testing.assert_allclose(from_transform(places["drive"], ""), ON_CUP, atol=1e-12)
    np.testing.assert_allclose(from_transform(places["free"], ""), FAR, atol=1e-12)
    assert scene.robot_state.multi_dof_joint_state.header.frame_id == "odom"
    assert {one.child_frame_id for one in scene.fixed_frame_transforms} == {"odom"}
    # What was answered can be sent back, and changes nothing.
    before = gap(client, "stone", "cup")
    assert apply_scene(client, scene) and gap(client, "stone", "cup") == before


def test_the_frame_of_the_world_has_no_prefix(begin):
    client = begin(frame_prefix="left/")
    given = [to_transform("left/ground", "left/ball", FAR, client.now())]
    client.send_joints(arm.JOINTS, [0.0, 0.0], client.now())
    client.send_transform("odom", "left/ground", ON_CUP, static=True)

    def put_down(_):
        client.send_joints(arm.JOINTS, [0.0, 0.0], client.now())
        client.send_transform("odom", "left/ground", ON_CUP, static=True)
        return apply_scene(
            client, scene_diff(cup(frame="odom"), thing("stone", frame="left/ground", primitives=[sphere()]))
        )

    client.send_transform("left/ground", "left/ball", FAR, static=True)
    client.call_until(put_down, GetMinDistance, MIN_DISTANCE)
    answer = client.call(GetMinDistance, MIN_DISTANCE, links_a=["cup"], links_b=["ground"], base_poses=given)
    assert answer.success and answer.distances.header.frame_id == "odom", answer.message
    assert answer.distances.pairs[0].distance == pytest.approx(-0.2)
    assert gap(client, "stone", "ground") == pytest.approx(-0.2)
    assert not apply_scene(client, scene_diff(cup(frame="left/odom")))
    assert not check(client).valid


# --- without a transform of the robot's base ---


def test_without_its_pose_only_the_robots_own_distances_are_answered(begin):
    client = begin()
    own = drive(client)
    assert own.distances.header.frame_id == "ground" and check(client).valid
    assert apply_scene(client, scene_diff(cup(frame="odom")))
    assert drive(client).distances.pairs[0].distance == own.distances.pairs[0].distance
    for request in ({"links_a": ["cup"]}, {}):
        for kind, name in ((GetMinDistance, MIN_DISTANCE), (GetDistances, f"{NAME}/get_distances")):
            answer = client.call(kind, name, **request)
            assert not answer.success and "'ground'" in answer.message and "'odom'" in answer.message, answer.message
    assert client.call(GetDistances, f"{NAME}/get_distances", links_a=["hand"], links_b=["ball"]).success
    assert not check(client).valid and not check(client, group="gripper").valid
    # An object of the hand is no part of the world, one of the base's place would be.
    pen = attached_object(
        name="pen", pose=arm.at(0.6, 0.0, 0.0), frame="slider", primitives=[sphere()], touch_links=["hand"]
    )
    send(client, pen)
    client.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE, links_a=["pen"], links_b=["ground"])
    assert not apply_scene(client, scene_diff(thing("stone", frame="ground", primitives=[sphere()])))
    assert "object 'stone': " in client.call(GetMinDistance, MIN_DISTANCE).message
    assert apply_scene(client, scene_diff(thing("stone", operation=CollisionObject.REMOVE)))
    # Who gives the pose is answered.
    assert gap(client, base_poses=[to_transform("odom", "ground", ON_CUP, client.now())]) == pytest.approx(-0.2)
    assert check(client, base=np.eye(4)).valid and not check(client, base=ON_CUP).valid
    drive(client, ON_CUP)
    assert gap(client) == pytest.approx(-0.2)


def test_an_unknown_pose_may_be_the_default_as_in_move_group(begin):
    client = begin(unknown_root_pose="identity")
    assert drive(client).distances.header.frame_id == "odom"
    assert apply_scene(
        client, scene_diff(cup(frame="odom"), thing("stone", pose=arm.at(0.0, -1.0, 0.0), primitives=[sphere()]))
    )
    assert gap(client) == pytest.approx(1.8) and gap(client, "stone") == pytest.approx(0.8) and check(client).valid
    drive(client, ON_CUP)
    assert gap(client) == pytest.approx(-0.2) and gap(client, "stone") == pytest.approx(0.8)


# --- a frame of the world that no SRDF names ---


def test_a_link_of_the_robot_is_no_planning_frame(begin):
    answer = set_parameters(begin(semantic=arm.SRDF), NAME, {"planning_frame": "hand"})
    assert not answer.successful and "'hand'" in answer.reason


def test_an_object_whose_frame_has_moved_blocks_answers(begin):
    client = begin(semantic=arm.SRDF)
    drive(client, np.eye(4))
    assert apply_scene(client, scene_diff(cup(frame="odom")))
    assert gap(client) == pytest.approx(1.8) and check(client).valid
    drive(client, ON_CUP)
    assert not check(client).valid
    for kind, name in ((GetMinDistance, MIN_DISTANCE), (GetDistances, f"{NAME}/get_distances")):
        answer = client.call(kind, name)
        assert not answer.success
        for word in ("'cup'", "'odom'", "'ground'", "planning_frame"):
            assert word in answer.message
    drive(client, np.eye(4))
    assert gap(client) == pytest.approx(1.8) and check(client).valid
    drive(client, ON_CUP)
    assert apply_scene(client, scene_diff(cup(frame="odom")))  # where it is now
    assert gap(client) == pytest.approx(-0.2)


def test_an_object_in_a_frame_on_the_robot_stays_in_place(begin):
    client = begin(semantic=arm.SRDF)
    drive(client, np.eye(4))
    client.send_transform("hand", "camera", np.eye(4), static=True)
    client.send_transform("ground", "hand", arm.at(0.0, -1.0, 0.0))
    client.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE)
    assert client.wait(lambda: apply_scene(client, scene_diff(cup(y=-1.0, frame="camera"))))
    assert gap(client) == pytest.approx(1.8)
    client.send_transform("ground", "hand", arm.at(0.0, 1.0, 0.0))
    drive(client, ON_CUP)
    assert gap(client) == pytest.approx(1.8)

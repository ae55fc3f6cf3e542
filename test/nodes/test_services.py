# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The services that answer distances, compared with the library; the topics and parameters of the same node."""

import math

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from moveit_msgs.msg import RobotState
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPenetration, SetPairRules

from superovoid.robot import Robot, planning_scene
from superovoid.shapes import Sphere
from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_quaternion, to_transform

import arm
from world import DISTANCES, MIN_DISTANCE, NAME, SET_RULES, attached_object, sphere, thing, vector

PENETRATION = f"{NAME}/get_penetration"
PARAMETERS = {"rate": 50.0, "max_distance": 0.0}
ROBOT = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
MEASURED = {"slide": 0.5, "wrist": 0.3}, arm.at(1.1, 0.1, 0.02)
OTHER = {"slide": 0.2, "wrist": 0.4}, arm.at(1.2, 0.4, 0.1)
CUP = arm.at(1.25, 0.15, 0.0)


def base_pose(pose):
    return to_transform("ground", "ball", pose, Time())


def numbers(pose):
    q = to_quaternion(pose[:3, :3])
    return [*pose[:3, 3], q.x, q.y, q.z, q.w]


# The states in which something touches, by world.
WORLDS = {
    "bare": {"measured"},
    "object": {"measured", "joints"},
    "attached": {"measured", "joints", "base", "whole"},
    "rules": set(),
}
# Whether a request has joints, and the pose of the ball.
STATES = {"measured": (False, False), "joints": (True, False), "base": (False, True), "whole": (True, True)}


def furnish(client, world):
    """Make a world in the node, and return the same one in the library."""
    edit = planning_scene.PlanningScene(ROBOT).edit()
    client.reset()
    cup = {"name": "cup", "primitives": [sphere()]}
    if world == "object":
        edit.add("cup", [Sphere(0.1)], np.eye(4)[None], CUP)
        client.apply(thing(pose=CUP, **cup))
    elif world == "attached":
        on_hand = arm.at(0.6, 0.0, 0.0)
        edit.add("cup", [Sphere(0.1)], np.eye(4)[None], np.eye(4))
        edit.attach("cup", "hand", on_hand, ["thumb"])
        client.apply(attached=[attached_object(pose=on_hand, frame="hand", touch_links=["thumb"], **cup)])
    elif world == "rules":
        edit.set_runtime("hand", "ball", False)
        edit.set_runtime("hand", "thumb", True)
        rules = {"links_a": ["hand", "hand"], "links_b": ["ball", "thumb"], "checked": [False, True]}
        assert client.call(SetPairRules, SET_RULES, **rules).success
    return edit.commit()


def rows_of(found):
    """Rows of an answer by the names of their bodies."""
    if isinstance(found, GetDistances.Response):
        points = (np.reshape(getattr(found, name), (-1, 3)) for name in ("point_a", "point_b", "normal"))
        columns = (found.body_a, found.body_b, found.distance, found.lower, found.upper, found.status, *points)
        return {
            (found.bodies[a], found.bodies[b]): (distance, lower, upper, status, *(tuple(one) for one in rest))
            for a, b, distance, lower, upper, status, *rest in zip(*columns, strict=True)
        }
    return {
        (pair.body_a, pair.body_b): (
            *(pair.distance, pair.lower, pair.upper, pair.status),
            *(tuple(vector(one)) for one in (pair.point_a, pair.point_b, pair.normal)),
        )
        for pair in found.distances.pairs
    }


def assert_is_library_answer(answer, planning, state, *, overlapping=False):
    positions, ball = state
    scene = planning.scene.fork()
    scene.set_link_poses(ROBOT.forward_kinematics(positions, {"ball": ball}))
    result = scene.query(overlapping_only=overlapping)
    names = [(scene.bodies[a].name, scene.bodies[b].name) for a, b in zip(result.body_a, result.body_b, strict=True)]
    rows = rows_of(answer)
    assert list(rows) == names  # in the same order, too
    for k, name in enumerate(names):
        expected = [result.distance[k], result.lower[k], result.upper[k], result.status[k]]
        assert rows[name][:4] == pytest.approx(expected, rel=0, abs=1e-9), name
        for found, wanted in zip(rows[name][4:], (result.point_a, result.point_b, result.normal), strict=True):
            assert found == pytest.approx(wanted[k], rel=0, abs=1e-6), name


@pytest.mark.ci
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("given", STATES)
def test_every_service_answers_what_the_library_does(service, client, world, given):
    joints, base = STATES[given]
    arm.set_state(client, NAME, list(MEASURED[0].values()), MEASURED[1])
    planning = furnish(client, world)
    state = OTHER[0] if joints else MEASURED[0], OTHER[1] if base else MEASURED[1]
    one, many, robot_state = {}, {}, RobotState(is_diff=True)
    if joints:
        one = {"joint_names": list(OTHER[0]), "joint_positions": list(OTHER[0].values())}
        many = dict(one)
        robot_state.joint_state.name, robot_state.joint_state.position = one.values()
    if base:
        one = one | {"base_poses": [base_pose(OTHER[1])]}
        many |= {"base_links": ["ball"], "base_poses": numbers(OTHER[1])}
        robot_state.multi_dof_joint_state.joint_names = ["free"]
        robot_state.multi_dof_joint_state.transforms = [base_pose(OTHER[1]).transform]
        robot_state.multi_dof_joint_state.header.frame_id = "ground"
    nearest = client.nearest(**one)
    deepest = client.call(GetPenetration, PENETRATION, **one)
    rows = client.call(GetDistances, DISTANCES, **many)
    for answer in (nearest, deepest, rows):
        assert answer.success, answer.message
    assert_is_library_answer(nearest, planning, state)
    assert_is_library_answer(deepest, planning, state, overlapping=True)
    assert_is_library_answer(rows, planning, state)
    assert rows.uses_joint_states == nearest.distances.uses_joint_states == (not joints)
    assert rows.uses_transforms == nearest.distances.uses_transforms == (not base)
    judged = client.check(robot_state)
    touching = {frozenset(names) for names, row in rows_of(nearest).items() if row[0] < 0.0}
    assert {frozenset((one.contact_body_1, one.contact_body_2)) for one in judged.contacts} == touching
    assert judged.valid == (not touching) == (given not in WORLDS[world])
    client.reset()


def test_limits_links_and_groups_choose_pairs_and_sides(ahead):
    def choose_pairs(**request):
        return [(pair.link_a, pair.link_b) for pair in ahead.nearest(**request).distances.pairs]

    assert choose_pairs(max_distance=1.4) == choose_pairs(max_results=1) == [("hand", "ball")]
    assert choose_pairs(max_distance=0.1) == []
    assert choose_pairs(links_a=["ball"], links_b=["gripper"]) == [("ball", "hand"), ("ball", "thumb")]
    assert choose_pairs(links_b=["hand"]) == [("ball", "hand")]
    state = {"joint_names": arm.JOINTS, "joint_positions": [0.0, 0.0]}
    rows = rows_of(ahead.call(GetDistances, DISTANCES, links_b=["hand"], **state))
    assert list(rows) == [("ball", "hand")] and rows["ball", "hand"][-1] == pytest.approx((-1.0, 0.0, 0.0), abs=1e-12)
    joints = {"joint_names": arm.JOINTS, "joint_positions": [0.0, 0.0, 0.5, 0.0, 0.0, 0.3]}
    near = ahead.call(GetDistances, DISTANCES, max_distance=0.9, **joints)
    assert list(near.first) == [0, 0, 1, 1]
    assert list(ahead.call(GetDistances, DISTANCES, max_results=1, **joints).first) == [0, 1, 2, 3]


def test_an_answer_has_frame_stamp_and_age_of_its_state(service, client):
    found = arm.set_state(client, NAME, [0.1, 0.0]).distances
    longest = (to_nanoseconds(client.now()) - to_nanoseconds(found.header.stamp)) * 1e-9
    assert found.header.frame_id == "ground" and not found.stale
    assert 0.0 <= found.joint_state_age <= longest and 0.0 <= found.base_pose_age <= longest
    client.set(stale_timeout=1.0)
    old = client.until(lambda response: response.distances.stale)
    assert old.success and "old" in old.message and old.distances.joint_state_age > 1.0
    client.set(stale_timeout=0.0)


def test_most_answers_are_of_the_joint_state_published_before(ahead):
    """Messages of a fast topic wake the node seldom, but the arrived ones are taken for each answer."""
    answers = []
    for k in range(40):
        ahead.send_joints(arm.JOINTS, [0.001 * k, 0.0])
        answers.append(ahead.gap("hand", "ball") == pytest.approx(1.35 - 0.001 * k, abs=1e-9))
    assert sum(answers) > 20


def test_one_request_gets_the_same_bits_whatever_came_before(ahead):
    def ask(kind, service, request):
        found = ahead.call(kind, service, **request).distances
        found.solve_time = found.joint_state_age = found.base_pose_age = 0.0
        found.stale, found.header.stamp = False, Time()
        return found

    rng = np.random.default_rng(4)
    asked = [(GetMinDistance, MIN_DISTANCE, {})]  # the measured state
    for _ in range(6):
        request = {"joint_names": arm.JOINTS, "joint_positions": rng.uniform(0.0, 1.0, 2).tolist()}
        request["base_poses"] = [base_pose(arm.at(*rng.uniform(-1.0, 1.0, 3)))]
        asked += [(GetMinDistance, MIN_DISTANCE, request), (GetPenetration, PENETRATION, request)]
    first = [ask(*one) for one in asked]
    assert any(answer.pairs for answer in first)
    for i in rng.permutation(np.tile(np.arange(len(asked)), 3)):
        assert ask(*asked[i]) == first[i]


def test_distances_are_published_as_the_service_answers_them(ahead):
    messages = ahead.collect(DistanceArray, f"{NAME}/distances")
    assert ahead.wait(lambda: len(messages) >= 3)
    assert rows_of(ahead.nearest()).keys() == {("hand", "ball"), ("thumb", "ball")}
    assert [pair.distance for pair in messages[-1].pairs] == pytest.approx([1.35, math.sqrt(2.5) - 0.12], abs=1e-9)
    for pairs, expected in ((["hand ball"], ["hand"]), ([""], ["hand", "thumb"])):
        ahead.set(pairs=pairs)
        assert ahead.wait(lambda links=expected: [pair.link_a for pair in messages[-1].pairs] == links)


def test_wrong_measurements_are_ignored_and_no_number_is_an_error(service, ahead):
    ahead.send_joints(arm.JOINTS, [1.0])
    service.wait_for_output("2 names, 1 positions")
    ahead.send_joints(["somebody_else"], [1.0])
    ahead.send_joints(["slide", "wrist"], [])  # velocities only
    ahead.send_transform("ground", "ball", arm.at(math.nan, 0.0, 0.0))
    service.wait_for_output("must be finite")
    assert ahead.gap("hand", "ball") == pytest.approx(1.35, abs=1e-12)
    ahead.send_joints(arm.JOINTS, [math.nan, 0.0])
    response = ahead.until(lambda response: not response.success)
    assert "slide" in response.message and "nan" in response.message
    assert arm.set_state(ahead, NAME).success

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""compute_fk, compute_ik and plan_kinematic_path as move_group's clients call them, answered by a process.

In the second part a search is held from its beginning until the world has changed.
"""

import numpy as np
import panda
import pytest
import yaml
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, PoseStamped
from holding import SERVICE, begin, hold
from moveit_msgs.msg import Constraints, MoveItErrorCodes, OrientationConstraint, RobotState
from moveit_msgs.srv import GetPositionFK, GetStateValidity
from panda_service import (
    LEFT,
    RIGHT,
    ROBOT,
    ROOT,
    TIP,
    attached,
    block,
    inverse,
    joint_goal,
    joint_range,
    joint_state,
    plan,
    put,
    region,
    solid,
    start,
    tip,
)
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header
from superovoid_interfaces.srv import GetDistances

from superovoid.compiled.threads import processors
from superovoid_ros.nodes.common.conversions import from_pose, to_pose

import arm

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
INVALIDATED = Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
BESIDE_LEFT = (0.6, *LEFT[1:])
NAME = "/distance_service"
THREADS = max(1, processors() - 1)
"""Of each kind of search."""


@pytest.fixture(scope="module")
def service(serve, tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "joint_limits.yaml"
    limits = {"has_velocity_limits": True, "max_velocity": 1.0, "has_acceleration_limits": True, "max_acceleration": 2}
    path.write_text(yaml.safe_dump({"joint_limits": dict.fromkeys(panda.ARM, limits)}), encoding="utf-8")
    return start(serve, SERVICE, stale_timeout=0.0, joint_limits=str(path))


@pytest.fixture
def scene(service, client):
    """The arm at the left of a wall."""
    client.bring("active")
    for kind in ("plan", "inverse"):
        hold(client, kind, False)
    client.set_robot(robot_description=panda.urdf())
    put(client, LEFT)
    client.empty()
    client.apply(block("wall", panda.wall()))
    return client


def is_valid(client, values):
    return client.check(state_of(values), group_name="panda_arm").valid


def state_of(values):
    return RobotState(is_diff=True, joint_state=joint_state(panda.state_of(values)))


def pose_goal(pose, frame=ROOT, link=TIP, tolerance=1e-3):
    """A sphere and an orientation, as clients of MoveIt make a pose goal."""
    orientation = OrientationConstraint(link_name=link, orientation=to_pose(pose).orientation, weight=1.0)
    orientation.header.frame_id = frame
    for axis in "xyz":
        setattr(orientation, f"absolute_{axis}_axis_tolerance", tolerance)
    position = region(link, frame, pose, [tolerance])
    return Constraints(position_constraints=[position], orientation_constraints=[orientation])


def rows(response):
    points = response.trajectory.joint_trajectory.points
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points]
    return np.array(times), *(
        np.array([list(getattr(p, name)) for p in points]) for name in ("positions", "velocities")
    )


def interpolate(response, parts=4):
    """States as a joint_trajectory_controller goes through them."""
    t, q, v = rows(response)
    x = np.arange(parts)[:, None] / parts
    states = [
        (2 * x**3 - 3 * x**2 + 1) * q[k]
        + (x**3 - 2 * x**2 + x) * h * v[k]
        + (3 * x**2 - 2 * x**3) * q[k + 1]
        + (x**3 - x**2) * h * v[k + 1]
        for k, h in enumerate(np.diff(t))
    ]
    return np.concatenate([*states, q[-1:]])


AT_WALL = (0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.8)
NEAR_LEFT = {"path_constraints": Constraints(joint_constraints=[joint_range("panda_joint1", 0.7, 0.1)])}
NEAR_RIGHT = {"path_constraints": joint_goal(RIGHT)}
BEYOND = state_of((3.0, *LEFT[1:]))
INTO_WALL = tip(LEFT)
INTO_WALL[1, 3] = 0.0


def poses(count, links=None):
    return {"pose_stamped_vector": [PoseStamped()] * count, "ik_link_names": [TIP] * (links or count)}


@pytest.mark.ci
def test_forward_kinematics_are_those_of_the_requested_state(scene):
    links = ["panda_hand", "panda_link3"]
    state = state_of(RIGHT)
    response = scene.call(GetPositionFK, "/compute_fk", fk_link_names=links, robot_state=state)
    assert response.error_code.val == Code.SUCCESS and response.fk_link_names == links
    expected = ROBOT.forward_kinematics(panda.state_of(RIGHT))
    for name, stamped in zip(links, response.pose_stamped, strict=True):
        assert stamped.header.frame_id == ROOT
        np.testing.assert_allclose(from_pose(stamped.pose, ""), expected[name], atol=1e-12)
    header = Header(frame_id="panda_hand")
    there = scene.call(GetPositionFK, "/compute_fk", header=header, fk_link_names=[TIP], robot_state=state)
    seen = np.linalg.inv(expected["panda_hand"]) @ expected[TIP]
    np.testing.assert_allclose(from_pose(there.pose_stamped[0].pose, ""), seen, atol=1e-12)


def arm_of(state):
    given = dict(zip(state.joint_state.name, state.joint_state.position, strict=True))
    return [given[name] for name in panda.ARM]


def test_inverse_kinematics_reach_the_pose_and_the_state_is_valid(scene):
    response = inverse(scene, tip(RIGHT))
    assert response.error_code.val == Code.SUCCESS
    found = arm_of(response.solution)
    np.testing.assert_allclose(tip(found), tip(RIGHT), atol=3e-6)
    assert is_valid(scene, found)
    hand = ROBOT.forward_kinematics(panda.state_of(LEFT))["panda_hand"]
    other = inverse(scene, hand, ik_link_name="panda_hand", frame="world")
    np.testing.assert_allclose(
        ROBOT.forward_kinematics(panda.state_of(arm_of(other.solution)))["panda_hand"], hand, atol=3e-6
    )


def test_inverse_kinematics_into_the_wall_exist_if_contact_is_allowed(scene):
    assert inverse(scene, INTO_WALL, avoid_collisions=False).error_code.val == Code.SUCCESS
    far = arm.at(3.0, 0.0, 0.0) @ INTO_WALL
    assert inverse(scene, far, avoid_collisions=False, timeout=Duration(sec=1)).error_code.val == Code.NO_IK_SOLUTION


def test_inverse_kinematics_obey_additional_constraints(scene):
    elbow = Constraints()
    elbow.joint_constraints = [joint_range("panda_joint1", -1.2, 0.2)]
    response = inverse(scene, tip(RIGHT), constraints=elbow)
    assert response.error_code.val == Code.SUCCESS
    assert -1.4 <= arm_of(response.solution)[0] <= -1.0


def test_a_plan_to_joints_goes_around_the_wall(scene):
    assert not is_valid(scene, np.mean([LEFT, RIGHT], axis=0))
    response = plan(scene, joint_goal(RIGHT))
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    assert response.group_name == "panda_arm" and 0.0 < response.planning_time < 20.0
    trajectory = response.trajectory.joint_trajectory
    assert tuple(trajectory.joint_names) == panda.ARM and trajectory.header.frame_id == ROOT
    assert arm_of(response.trajectory_start) == pytest.approx(LEFT)
    t, q, v = rows(response)
    np.testing.assert_allclose(q[[0, -1]], [LEFT, RIGHT], atol=1e-4)
    assert (np.diff(t) > 0.0).all() and np.abs(v).max() <= 1.0 + 1e-9  # the file's limits
    for state in interpolate(response)[::5]:
        assert is_valid(scene, state)


@pytest.mark.ci
def test_a_plan_to_a_pose_ends_there_and_obeys_the_scaling(scene):
    response = plan(scene, pose_goal(tip(RIGHT)))
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    _, q, v = rows(response)
    np.testing.assert_allclose(tip(q[-1]), tip(RIGHT), atol=2e-3)
    slow = plan(scene, pose_goal(tip(RIGHT)), max_velocity_scaling_factor=0.1, max_acceleration_scaling_factor=0.1)
    _, _, speeds = rows(slow)
    assert np.abs(speeds).max() <= 0.1 + 1e-9 and np.abs(v).max() > 0.2


@pytest.mark.ci
def test_an_attached_object_of_the_request_is_carried_around_the_wall(scene):
    pose = np.eye(4)
    pose[2, 3] = 0.2
    fingers = "panda_hand", "panda_leftfinger", "panda_rightfinger"
    rod = attached(solid("rod", pose, [0.02, 0.02, 0.2], frame="panda_hand"), *fingers)
    start = RobotState(is_diff=True, attached_collision_objects=[rod])
    response = plan(scene, joint_goal(RIGHT), start_state=start)
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    for state in interpolate(response)[::5]:
        asked = state_of(state)
        asked.attached_collision_objects = [rod]
        assert scene.check(asked, group_name="panda_arm").valid


@pytest.mark.ci
def test_constraints_of_the_path_hold_along_it(scene):
    path = Constraints()
    path.joint_constraints = [joint_range("panda_joint7", 0.8, 0.1)]
    path.position_constraints = [region(TIP, ROOT, np.eye(4), [4.0, 4.0, 2.0])]
    response = plan(scene, joint_goal(RIGHT), path_constraints=path, seconds=30.0)
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    states = interpolate(response)
    assert (np.abs(states[:, 6] - 0.8) <= 0.1 + 1e-9).all()
    assert max(tip(state)[2, 3] for state in states) <= 1.0 + 1e-6


FAR = PoseStamped(pose=Pose(position=Point(x=1e200)))
UNKNOWN = PoseStamped(pose=Pose(position=Point(x=float("nan"))))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("ask", "wanted", "fields", "code", "words"),
    [
        (plan, joint_goal(RIGHT), {"group_name": "leg"}, Code.INVALID_GROUP_NAME, "'leg' is not a group"),
        (plan, Constraints(), {}, Code.INVALID_GOAL_CONSTRAINTS, "no constraint"),
        (plan, joint_goal(AT_WALL), {}, Code.GOAL_IN_COLLISION, "wall"),
        (plan, pose_goal(tip(LEFT), link="thumb"), {}, Code.INVALID_LINK_NAME, "thumb"),
        (plan, pose_goal(tip(LEFT), frame="moon"), {}, Code.FRAME_TRANSFORM_FAILURE, "moon"),
        (plan, pose_goal(np.diag([1.0, -1, -1, 1]) + 3.0 * np.eye(4, k=3)), {}, Code.NO_IK_SOLUTION, "out of reach"),
        (plan, pose_goal(np.eye(4) + 1e200 * np.eye(4, k=3)), {}, Code.INVALID_GOAL_CONSTRAINTS, "1e+200"),
        (plan, joint_goal(RIGHT), {"pipeline_id": "pilz_industrial_motion_planner"}, Code.FAILURE, "pipeline_id"),
        (plan, joint_goal(RIGHT), {"max_velocity_scaling_factor": 1e-9}, Code.FAILURE, "would take"),
        (plan, joint_goal(RIGHT), {"max_cartesian_speed": 0.1}, Code.FAILURE, "max_cartesian_speed"),
        (plan, joint_goal(RIGHT), {"seconds": float("nan")}, Code.FAILURE, "allowed_planning_time"),
        (plan, joint_goal(RIGHT), {"start_state": state_of(AT_WALL)}, Code.START_STATE_IN_COLLISION, "wall"),
        (plan, joint_goal(RIGHT), {"start_state": BEYOND}, Code.START_STATE_INVALID, "panda_joint1 = 3"),
        (plan, joint_goal(RIGHT), NEAR_RIGHT, Code.START_STATE_VIOLATES_PATH_CONSTRAINTS, "start"),
        (plan, joint_goal(RIGHT), NEAR_LEFT, Code.GOAL_VIOLATES_PATH_CONSTRAINTS, "panda_joint1"),
        (inverse, INTO_WALL, {}, Code.NO_IK_SOLUTION, "wall"),
        (inverse, tip(LEFT), {"ik_link_name": "thumb"}, Code.INVALID_LINK_NAME, "thumb"),
        (inverse, tip(LEFT), {"frame": "moon"}, Code.FRAME_TRANSFORM_FAILURE, "moon"),
        (inverse, tip(LEFT), {"pose_stamped": UNKNOWN}, Code.INVALID_GOAL_CONSTRAINTS, "finite"),
        (inverse, tip(LEFT), {"pose_stamped": FAR}, Code.INVALID_GOAL_CONSTRAINTS, "1e+200"),
        (inverse, tip(LEFT), poses(51), Code.INVALID_GOAL_CONSTRAINTS, "51 poses, expected 1 to 50"),
        (inverse, tip(LEFT), poses(2, links=1), Code.INVALID_LINK_NAME, "1 links, 2 poses"),
    ],
)
def test_what_cannot_be_found_is_refused_by_its_code(scene, ask, wanted, fields, code, words):
    limit = {"seconds": 3.0} if ask is plan else {"timeout": Duration(sec=1)}
    response = ask(scene, wanted, **limit | fields)
    assert response.error_code.val == code, response.error_code
    assert words in response.error_code.message
    found = response.trajectory if ask is plan else response.solution
    assert found == type(found)()


# --- the world changes during a search ---


def ball(client, point):
    client.apply(solid("ball", arm.at(*point), [0.05], SolidPrimitive.SPHERE))


def begin_plan(client, path=None, to=RIGHT):
    """Ask for a plan, and return its future."""
    fields = {"start_state": state_of(LEFT), "path_constraints": path or Constraints(), "seconds": 60.0}
    return plan(client, joint_goal(to, 1e-3), begin=begin, **fields)


def begin_inverse(client, pose=None, frame=ROOT, avoid=True):
    return inverse(
        client, tip(RIGHT) if pose is None else pose, frame, begin, robot_state=state_of(LEFT), avoid_collisions=avoid
    )


def end(client, future):
    """Let searches go on, and return the answer of one."""
    for kind in ("plan", "inverse"):
        hold(client, kind, False)
    assert client.wait(future.done)
    result = future.result()
    return getattr(result, "motion_plan_response", result)


def test_a_plan_whose_path_constraints_have_moved_away_is_not_answered(scene):
    """They are given in a frame of TF."""

    def put_station(x):
        """Put the frame there, and wait until the tip is seen to be where it is from there."""
        pose, where = arm.at(x, 0.0, 0.0), arm.at(-x, 0.0, 0.0) @ tip(LEFT)
        here = Constraints(position_constraints=[region(TIP, "station", where, [0.01] * 3)])

        def is_known(response):
            scene.send_transform(ROOT, "station", pose)
            return response.valid

        asked = {"robot_state": state_of(LEFT), "constraints": here}
        scene.call_until(is_known, GetStateValidity, "/check_state_validity", **asked)

    put_station(0.0)
    room = Constraints(position_constraints=[region(TIP, "station", np.eye(4), (4.0, 4.0, 20.0))])
    # Constraints are judged state by state: no more states than a straight way has.
    future = begin_plan(scene, room, BESIDE_LEFT)
    put_station(50.0)
    response = end(scene, future)
    code = response.error_code
    assert code.val == INVALIDATED and "path_constraints" in code.message, code
    assert not response.trajectory.joint_trajectory.points


def describe_another_robot(client):
    other = panda.urdf().replace('size="0.05 0.2 0.06"', 'size="0.05 0.25 0.06"')
    client.set(robot_description=other)


@pytest.mark.parametrize(
    ("ask", "event", "code", "words"),
    [
        (begin_plan, lambda client: ball(client, (-0.6, 0.0, 0.8)), Code.SUCCESS, ""),
        (begin_plan, lambda client: ball(client, tip(RIGHT)[:3, 3]), INVALIDATED, "ball"),
        (begin_plan, describe_another_robot, INVALIDATED, "was replaced"),
        (begin_plan, lambda client: client.bring("inactive"), Code.INVALID_ROBOT_STATE, "deactivated"),
        (begin_inverse, lambda client: ball(client, tip(RIGHT)[:3, 3]), INVALIDATED, "ball"),
    ],
)
def test_what_an_event_invalidates_is_not_answered(scene, ask, event, code, words):
    future = ask(scene)
    event(scene)
    response = end(scene, future)
    assert response.error_code.val == code and words in response.error_code.message, response.error_code
    found = getattr(response, "trajectory", None) or response.solution
    assert (found != type(found)()) == (code == Code.SUCCESS)


def test_a_solution_whose_goal_has_moved_away_is_not_answered(scene):
    """It is given in the frame of an object."""
    ball(scene, (0.0, 0.0, -5.0))
    # Nothing else is judged again than the goal.
    future = begin_inverse(scene, arm.at(0.0, 0.0, 5.0) @ tip(RIGHT), "ball", avoid=False)
    ball(scene, (1.1, 0.0, -5.0))
    response = end(scene, future)
    code = response.error_code
    assert code.val == INVALIDATED and TIP in code.message, code
    assert not response.solution.joint_state.name


@pytest.mark.ci
def test_plans_keep_neither_distances_nor_inverse_kinematics_waiting(scene):
    futures = [begin_plan(scene) for _ in range(THREADS)]
    states = np.column_stack([np.tile(list(LEFT), (500, 1)), np.full(500, 0.02)])
    names = [*panda.ARM, "panda_finger_joint1"]
    request = {"joint_names": names, "joint_positions": states.ravel().tolist()}
    answer = scene.call(GetDistances, f"{NAME}/get_distances", **request)
    assert answer.success and answer.states == len(states), answer.message
    solution = begin_inverse(scene, tip(LEFT))
    hold(scene, "inverse", False)
    assert scene.wait(solution.done) and solution.result().error_code.val == Code.SUCCESS
    assert not any(future.done() for future in futures)
    scene.bring("unconfigured")  # ends the plans

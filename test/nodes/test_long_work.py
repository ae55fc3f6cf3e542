# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Long queries and messages that take long to read: others are answered, and a deadline or the end stops them."""

import pytest
from holding import SERVICE, begin, hold
from moveit_msgs.msg import RobotState
from moveit_msgs.srv import ApplyPlanningScene, GetStateValidity
from superovoid_interfaces.msg import ErrorCode
from superovoid_interfaces.srv import ApplyObjects, GetDistances

import arm
from world import APPLY, DISTANCES, attached_object, cube_mesh, cup, ovoid, scene_diff

ANSWERS = {"links_a": ["hand"], "links_b": ["ball"]}


@pytest.fixture(scope="module")
def service(serve):
    """The service with the arm, and with a service that holds long work."""
    return serve(SERVICE, rate=0.0, stale_timeout=0.0)


@pytest.fixture
def state(service, client):
    """The arm, described by topic, with its joints at 0 and the ball far away, and no objects; nothing is held."""
    client.send_text("robot_description", arm.URDF)
    service.wait_for_output("robot 'arm'")
    # A whole scene first: what an earlier test left unread keeps questions from being answered.
    client.empty()
    client.put([0.0, 0.0])
    yield client
    if service.process.poll() is None:
        hold(client, "read", False), hold(client, "query", False)


def states(count):
    return {"joint_names": arm.JOINTS, "joint_positions": [0.001 * (i % 900) for i in range(2 * count)]}


def scene_request(*objects):
    return ApplyPlanningScene, "/apply_planning_scene", {"scene": scene_diff(*objects)}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("read", scene_request(cup(name="pile", y=-20.0)), scene_request(cup(y=1.0, frame="pile"))),
        ("query", (GetDistances, DISTANCES, states(5000)), (GetDistances, DISTANCES, states(1000))),
    ],
)
def test_questions_are_answered_while_others_wait_in_order(state, kind, first, second):
    hold(state, kind, True)
    futures = [state.client(asked, name).call_async(asked.Request(**fields)) for asked, name, fields in (first, second)]
    for _ in range(5):
        assert state.call(GetDistances, DISTANCES, **ANSWERS).states == 1
        state.gap("hand", "ball")
    assert not any(future.done() for future in futures)
    hold(state, kind, False)
    assert state.wait(lambda: all(future.done() for future in futures))
    assert all(future.result().success for future in futures)
    if kind == "read":
        assert (state.gap("ground", "pile"), state.gap("ground", "cup")) == pytest.approx((19.8, 18.8), abs=1e-9)
    else:
        assert [future.result().states for future in futures] == [5000, 1000]


def test_questions_are_answered_while_a_large_attached_object_of_a_request_is_read(state):
    hold(state, "query", True)
    held = attached_object(meshes=[cube_mesh(4)])
    request = GetStateValidity.Request(robot_state=RobotState(is_diff=True, attached_collision_objects=[held]))
    future = state.client(GetStateValidity, "/check_state_validity").call_async(request)
    for _ in range(5):
        state.gap("hand", "ball")
    assert not future.done()
    hold(state, "query", False)
    assert [contact.contact_body_2 for contact in state.answer(future).contacts] == ["cup"]


def test_a_deadline_leaves_the_first_states_and_a_message(state):
    future = begin(state, "query", GetDistances, DISTANCES, deadline=0.1, **states(5000))
    state.spin(0.2)
    hold(state, "query", False)
    response = state.answer(future)
    assert response.success and 1 <= response.states < 5000
    assert f"{response.states} of 5000 states" in response.message and "deadline" in response.message
    assert len(response.first) == response.states + 1 and response.first[-1] == len(response.distance) > 0


def test_calls_that_wait_at_a_clean_up_are_refused(state):
    waiting = [
        begin(state, "query", GetDistances, DISTANCES, **states(5000)),
        begin(state, "read", ApplyObjects, APPLY, objects=[ovoid()]),
    ]
    state.bring("unconfigured")
    assert [state.answer(future).error_code.value for future in waiting] == [ErrorCode.CANCELLED] * 2
    state.bring("active")


def test_the_end_does_not_wait_for_work_that_never_ends(state, service):
    waiting = [
        begin(state, "query", GetDistances, DISTANCES, **states(5000)),
        begin(state, "read", ApplyObjects, APPLY, objects=[ovoid()]),
    ]
    assert service.interrupt() == 0
    assert [state.answer(future).error_code.value for future in waiting] == [ErrorCode.CANCELLED] * 2
    assert "Traceback" not in service.output()

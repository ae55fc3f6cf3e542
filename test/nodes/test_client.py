# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The client in Python against a node in a process of its own: in scripts, in nodes, blocking and not."""

import threading
import time

import numpy as np
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import GetDistances

from superovoid.robot import Robot
from superovoid.scene import Body
from superovoid.shapes import Superovoid
from superovoid.states import state_distances
from superovoid_ros.client import DistanceClient, RequestRefusedError, ServiceFailedError, ServiceUnavailableError
from superovoid_ros.client.caller import Caller
from superovoid_ros.nodes.common.conversions import superovoid_object
from superovoid_ros.nodes.common.mistakes import Code

import arm
from asking import ANSWER_TIMEOUT
from lifecycle import bring

ARM = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
QUESTION = {"positions": [0.0, 0.0], "joint_names": arm.JOINTS, "base_poses": {"ball": arm.AHEAD}}
# A ball of 0.1 m at 0.5 m above that of 0.1 m on the ground.
PEAR = superovoid_object(Body("pear", "pear", Superovoid((0.1, 0.1, 0.1)), arm.at(0.0, 0.0, 0.5)))


@pytest.fixture(scope="module")
def service(serve):
    """The service with the arm."""
    serve(**arm.DESCRIPTIONS, rate=0.0)
    return "/distance_service"


@pytest.fixture(scope="module")
def script(service):
    """A client of a script: with a node of its own."""
    with DistanceClient(service=service, timeout=ANSWER_TIMEOUT) as client:
        client.wait()
        yield client


@pytest.fixture
def caller(loopback_domain):
    """A node of the test, with a single-threaded executor that spins only while the test waits."""
    with Caller("planner") as caller:
        yield caller


def wait_until(condition):
    """Wait until a condition holds; false where it does not in time."""
    end = time.monotonic() + ANSWER_TIMEOUT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def states(count, seed=0):
    rng = np.random.default_rng(seed)
    balls = np.tile(np.eye(4), (count, 1, 1))
    balls[:, :3, 3] = rng.uniform(-1.0, 1.0, (count, 3))
    return rng.uniform(-1.0, 1.0, (count, 2)), balls


def test_a_script_gets_what_the_library_answers(script):
    positions, balls = states(50)
    asked = {"base_poses": {"ball": balls}, "max_distance": 0.7, "gradients": True, "base_gradients": True}
    found = script.distances(positions, joint_names=arm.JOINTS, **asked)
    expected = state_distances(ARM, ARM.scene(), positions, **asked)
    assert (found.done, found.frame, found.message, found.stale) == (50, "ground", "", False)
    assert 0 < len(found) < 50 * 2
    assert (found.gradient_joints, found.gradient_bases) == (("slide", "wrist"), ("ball",))
    np.testing.assert_array_equal(found.first, expected.first)
    np.testing.assert_array_equal(found.state, expected.state)
    names = [body.name for body in ARM.bodies]
    assert [found.bodies[i] for i in found.body_a] == [names[i] for i in expected.body_a]
    assert [found.links[i] for i in found.body_b] == [names[i] for i in expected.body_b]
    assert found.differentiable.tolist() == expected.differentiable.tolist()
    for name in ("distance", "lower", "point_a", "point_b", "normal", "gradients", "base_gradients", "closest"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-11, err_msg=name)
    assert (found.status == expected.status).all()


def test_calls_from_several_threads_are_kept_apart(script):
    def ask(x):
        question = QUESTION | {"base_poses": {"ball": arm.at(x, 0, 0)}}
        results[x] = [script.distances(**question, max_results=1).closest[0] for _ in range(10)]

    results = {}
    threads = [threading.Thread(target=ask, args=(x,)) for x in (2.0, 3.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {x: pytest.approx([x - 0.65] * 10, abs=1e-12) for x in (2.0, 3.0, 4.0)}


def test_a_node_asks_in_its_callbacks_without_waiting(service, caller):
    """Nothing but a single-threaded executor: callbacks go on while the answer is awaited."""
    client, answers = DistanceClient(caller.node, service), []

    async def plan():
        timer.cancel()
        question = QUESTION | {"positions": [[0.0, 0.0], [0.25, 0.0]]}
        answers.append(await client.distances_async(**question))

    client.wait()
    timer = caller.node.create_timer(0.01, plan)
    assert caller.wait(lambda: bool(answers), ANSWER_TIMEOUT)
    assert answers[0].closest == pytest.approx([1.35, 1.1], abs=1e-12)


def test_an_absent_service_is_named_with_the_present_ones(service):
    with DistanceClient(service="/nowhere/distance_service", timeout=3.0) as client:
        with pytest.raises(ServiceUnavailableError, match="/nowhere/distance_service/get_distances") as error:
            client.distances()
    assert f"{service}/get_distances" in str(error.value)


def test_waiting_names_an_unconfigured_node_and_a_missing_robot(start_node, client):
    start_node("distance_service", "late_service", autostart=False)
    with DistanceClient(service="/late_service", timeout=ANSWER_TIMEOUT) as asking:
        asking.wait()
        with pytest.raises(ServiceUnavailableError, match=r"is unconfigured .* set /late_service configure"):
            asking.wait(0.1, ready=True)
        bring(client, "/late_service", "active")
        with pytest.raises(ServiceUnavailableError, match=r"cannot answer after 0\.5 s: no robot: parameter"):
            asking.wait(0.5, ready=True)


def test_a_node_without_a_spinning_executor_is_an_error(service, caller):
    client = DistanceClient(caller.node, service, timeout=1.0)
    client.wait(10.0)
    with pytest.raises(ServiceUnavailableError, match="executor of the client's node is not spinning"):
        client.distances(**QUESTION)


def test_all_or_none_of_the_applied_objects_are_in_the_answers(script):
    assert "pear" in script.apply_objects([PEAR])
    try:
        assert script.distances(**QUESTION, links_a=["pear"], links_b=["ground"]).closest == pytest.approx([0.3])
        plum, nameless = (SuperovoidObject(id="plum", size=[0.1] * 3, epsilon=[1.0] * 2), SuperovoidObject())
        plum.pose.orientation.w = 1.0
        with pytest.raises(RequestRefusedError, match="object without id"):
            script.apply_objects([plum, nameless])
        assert "plum" not in script.distances(**QUESTION).bodies
    finally:
        script.apply_objects([SuperovoidObject(id="pear", operation=SuperovoidObject.REMOVE)])
    assert "pear" not in script.distances(**QUESTION).bodies


@pytest.mark.ci
def test_cleanup_restart_and_end_of_the_node_are_errors(start_node, client):
    """Without the objects the state would look free."""
    name = "mortal_arm"  # a node of its own: those of other tests live on

    def start():
        node = start_node("distance_service", name, **arm.DESCRIPTIONS, rate=0.0)
        node.wait_for_output("robot 'arm'")
        node.is_tested = False
        return node

    mortal = start()
    with DistanceClient(service=f"/{name}", timeout=ANSWER_TIMEOUT) as asking:

        def apply():
            asking.apply_objects([PEAR])
            assert "pear" in asking.distances(**QUESTION).bodies

        def is_missing():
            asking.wait(ready=True)
            for _ in range(3):
                with pytest.raises(ServiceUnavailableError, match="restarted or cleaned up after apply_objects"):
                    asking.distances(**QUESTION)

        asking.wait(ready=True)
        assert "pear" not in asking.distances(**QUESTION).bodies
        apply()
        bring(client, f"/{name}", "inactive")
        bring(client, f"/{name}", "active")
        assert "pear" in asking.distances(**QUESTION).bodies
        bring(client, f"/{name}", "unconfigured")
        bring(client, f"/{name}", "active")
        is_missing()
        apply()
        mortal.kill()
        mortal = start()
        is_missing()
        apply()
        mortal.kill()
        asking.timeout = 3.0
        with pytest.raises(ServiceUnavailableError, match="the node has ended"):
            asking.distances(**QUESTION)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positions": [[0.0]]}, r"positions: must have shape \(states, 2\).*found \(1, 1\)"),
        ({"positions": None}, r"positions: must have shape \(states, 2\).*found None"),
        ({"joint_names": "slide"}, "must be a sequence of names"),
        ({"base_poses": {"ball": np.eye(3)}}, r"base_poses\['ball'\]: found a rotation alone"),
        ({"base_poses": {"ball": np.diag([2.0, 2.0, 2.0, 1.0])}}, "must be a rotation"),
        ({"base_poses": {"ball": np.tile(np.eye(4), (3, 1, 1))}}, "one pose for all states or 1, found 3"),
        ({"max_distance": -1.0}, "max_distance = -1.0"),
        ({"max_results": 0}, "max_results = 0"),
        ({"max_results": 2.5}, "max_results = 2.5: must be an integer of at least 1, at most 4294967295"),
        ({"max_results": 10**20}, "max_results = 10{20}: must be"),
        ({"max_results": True}, "max_results = True"),
        ({"links_b": [3]}, "links_b: must be names, found 3"),
        ({"deadline": 0.0}, "deadline = 0.0"),
    ],
)
def test_wrong_arguments_are_errors_before_anything_is_sent(script, options, words):
    arguments = {"positions": [[0.0, 0.0]], "joint_names": arm.JOINTS, **options}
    with pytest.raises(ValueError, match=words):
        script.distances(**arguments)


def test_an_unknown_argument_is_named_with_the_known_ones(script):
    with pytest.raises(TypeError, match=r"max_dist: must be among joint_names, .*max_distance"):
        script.distances(max_dist=1.0)


# --- when it ends, and when something goes wrong ---


def test_a_closed_client_raises_an_error(service):
    client = DistanceClient(service=service)
    client.wait(60.0)
    client.close()
    client.close()
    for call in (client.distances, client.distances_async, client.wait, lambda: client.apply_objects([])):
        with pytest.raises(ServiceUnavailableError, match="is closed"):
            call()


def test_closing_ends_the_wait_of_another_thread(loopback_domain):
    client = DistanceClient(service="/nobody", timeout=600.0)
    told = []

    def wait():
        try:
            client.distances()
        except ServiceUnavailableError as error:
            told.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    client.close()
    waiting.join(60.0)
    assert told and "is closed" in told[0]


def test_an_asynchronous_call_waits_for_nothing(caller):
    client = DistanceClient(caller.node, service="/nobody", timeout=600.0)
    with pytest.raises(ServiceUnavailableError, match="no service '/nobody/get_distances'"):
        client.distances_async()  # ten minutes if it waited


class SilentService(Caller):
    """A service that takes requests and answers none, or not the first ones."""

    def __init__(self, name, *answer, lost=0):
        super().__init__(name)
        self.asked, self.requests, self.lost, self._answer = threading.Event(), 0, lost, answer
        self.node.create_service(GetDistances, "~/get_distances", self._take, callback_group=ReentrantCallbackGroup())
        self.spin_aside()

    async def _take(self, _request, response):
        self.requests += 1
        self.asked.set()
        if not self._answer or self.requests <= self.lost:
            await Future()
        response.success, response.message, response.first = self._answer[:3]
        response.error_code.value = int(*self._answer[3:])
        return response


ANSWER = True, "", [0, 0]


def test_a_call_to_a_restarted_service_is_repeated(loopback_domain):
    found = []
    with SilentService("restarted") as silent, DistanceClient(service="/restarted", timeout=15.0) as client:
        client.wait()
        calling = threading.Thread(target=lambda: found.append(client.distances([[0.0]], joint_names=["a"])))
        calling.start()
        assert silent.asked.wait(60.0)
        assert wait_until(lambda: client._client._pending_requests)  # the call is kept after it is sent
        with SilentService("restarted", *ANSWER):
            calling.join()  # if the first answer is lost, the client asks again after a third of its timeout
        assert found and found[0].done == 1
        assert not client._client._pending_requests


@pytest.mark.ci
def test_only_a_first_call_is_repeated_after_a_lost_answer(loopback_domain):
    with SilentService("lossy", *ANSWER, lost=1) as lossy, DistanceClient(service="/lossy", timeout=60.0) as client:
        client.wait()
        client.timeout = 4.5
        assert client.distances([[0.0]], joint_names=["a"]).done == 1
        assert lossy.requests == 2
        lossy.lost, client.timeout = 3, 0.5
        with pytest.raises(ServiceUnavailableError, match="no answer"):
            client.distances([[0.0]], joint_names=["a"])
        assert lossy.requests == 3


def test_a_mistake_of_the_node_is_no_refusal(loopback_domain):
    with (
        SilentService("failing", False, "KeyError('x')", [], Code.INTERNAL),
        DistanceClient(service="/failing", timeout=60.0) as client,
        pytest.raises(ServiceFailedError, match="KeyError"),
    ):
        client.distances()

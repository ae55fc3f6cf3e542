"""Processes that ask the distance service, well or badly, and that send joint states as a bad network does.

Each takes orders from `tools/load/run.py` through a pipe and reports what it saw.
"""

from __future__ import annotations

import math
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPenetration

from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_time, to_transform
from superovoid_ros.nodes.common.parent import be_helper
from superovoid_ros.tools.load import measures
from superovoid_ros.tools.load.measures import CUTOFF, GROUPS, KINDS, MANY, Question
from superovoid_ros.tools.process.waiting import NOT_READY

GIVE_UP = 30.0  # s after which a call counts as lost
JOINTS_PERIOD = 1_000_000  # ns
_SERVICES = {
    "closest": (GetMinDistance, "distance_service/get_min_distance"),
    "near": (GetMinDistance, "distance_service/get_min_distance"),
    "penetration": (GetPenetration, "distance_service/get_penetration"),
    "many": (GetDistances, "distance_service/get_distances"),
}
_LIMITS = {"closest": {"max_results": 1}, "near": {"max_distance": CUTOFF}, "penetration": {}}


@dataclass(frozen=True)
class Order:
    """What a client is to do: `count` calls, one each `period` seconds from `start` on (time.monotonic)."""

    start: float
    period: float
    count: int
    first: int = 0
    """number of the first question; the others follow in turn"""
    questions: str = "states"
    """`states`: about a state that the request describes; `measured`: joints from joint_states; `garbage`; `huge`"""
    give_up: float = GIVE_UP
    is_last: bool = False
    """whether the client kills itself when the last call is sent, which nobody can have answered by then"""


@dataclass
class Seen:
    """What a client saw; one entry a call."""

    due: np.ndarray
    """time.monotonic, s"""
    latency: np.ndarray
    """[s] from then on; nan: no answer"""
    faults: list[str] = field(default_factory=list)
    """what was wrong with answers"""
    measured: list[tuple[int, int, float]] = field(default_factory=list)
    """answers about measured states: number of the question, stamp of the state [ns], least distance [m]"""
    refusals: list[str] = field(default_factory=list)

    @property
    def last(self) -> float:
        """When the last answer came."""
        return float(np.nanmax(self.due + self.latency))


def client_process(connection: Connection, namespace: str, questions: list[Question]) -> None:
    """Take orders and report what was seen, until the connection is closed."""
    be_helper()
    client = _Client(namespace, questions)
    connection.send("ready")
    try:
        while True:
            order = connection.recv()
            connection.send(client.obey(order))
    except EOFError:
        client.close()


class _Client:
    """Asks the service; lives in a process of its own."""

    def __init__(self, namespace: str, questions: list[Question]) -> None:
        self._questions = questions
        self._caller = Caller(f"load_client_{os.getpid()}", namespace)
        self._services = {name: self._caller.client(kind, name) for kind, name in dict.fromkeys(_SERVICES.values())}
        # As long as it takes: the process that started this one watches the node.
        for client in self._services.values():
            while not client.service_is_ready():
                time.sleep(0.02)
        self._requests = {
            (kind, given): [_request(kind, one, given) for one in questions]
            for kind in KINDS[:3]
            for given in ("states", "measured")
        }
        self._requests["many", "states"] = [_request_many(self._many(index)) for index in range(len(questions))]
        self._bad = {"garbage": garbage(), "huge": huge()}
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        """Ask until a node that compiles answers."""
        service, request = self._services[_SERVICES["closest"][1]], self._requests["closest", "states"][0]
        while True:
            answer = self._caller.answer(service.call_async(request))
            if answer.success or not answer.message.startswith(NOT_READY):
                return
            time.sleep(0.1)

    def close(self) -> None:
        self._caller.close()

    def obey(self, order: Order) -> Seen:
        """Ask as ordered, and wait until everything is answered or given up."""
        due = order.start + order.period * np.arange(order.count)
        seen = Seen(due, np.full(order.count, np.nan))
        waiting: dict[object, tuple[int, object]] = {}
        sent = 0
        while sent < order.count or waiting:
            now = time.monotonic()
            if sent < order.count and due[sent] <= now:
                service, request, judge = self._call(order, order.first + sent)
                future = service.call_async(request)
                waiting[future] = sent, service
                future.add_done_callback(self._receiver(waiting, seen, judge))
                sent += 1
                if order.is_last and sent == order.count:
                    os.kill(os.getpid(), signal.SIGKILL)
                continue
            for future, (number, service) in list(waiting.items()):
                if now < due[number] + order.give_up:
                    break
                service.remove_pending_request(future)
                del waiting[future]
            left = due[sent] - now if sent < order.count else 0.05
            self._caller.executor.spin_once(timeout_sec=min(max(left, 0.0), 0.05))
        return seen

    @staticmethod
    def _receiver(
        waiting: dict[object, tuple[int, object]], seen: Seen, judge: Callable[[object, Seen], None]
    ) -> Callable[[object], None]:
        def receive(future: object) -> None:
            if future in waiting and not future.cancelled():
                number, _ = waiting.pop(future)
                seen.latency[number] = time.monotonic() - seen.due[number]
                judge(future.result(), seen)

        return receive

    def _many(self, index: int) -> list[Question]:
        return [self._questions[(index + k) % len(self._questions)] for k in range(MANY)]

    def _call(self, order: Order, number: int) -> tuple[object, object, Callable[[object, Seen], None]]:
        """Return the service to call, the request, and what judges the answer."""
        if order.questions in self._bad:
            requests = self._bad[order.questions]
            service, request = requests[number % len(requests)]
            return self._services[service], request, _judge_refusal
        kind = KINDS[number % len(KINDS)] if order.questions == "states" else "closest"
        index = number // len(KINDS) % len(self._questions)
        request = self._requests[kind, order.questions][index]
        service = self._services[_SERVICES[kind][1]]

        def note(response: object, seen: Seen) -> None:
            if response.success:
                stamp = to_nanoseconds(response.distances.header.stamp)
                seen.measured.append((index, stamp, response.distances.pairs[0].distance))
            else:
                seen.refusals.append(response.message)

        def judge(response: object, seen: Seen) -> None:
            if kind == "many":
                problem = measures.fault_of_many(response, [one.truth for one in self._many(index)])
            else:
                problem = measures.fault(kind, response, self._questions[index].truth)
            if problem:
                seen.faults.append(f"{kind}: {problem}")

        return service, request, note if order.questions == "measured" else judge


def _request(kind: str, question: Question, given: str) -> object:
    request = _SERVICES[kind][0].Request(links_a=[GROUPS[0]], links_b=[GROUPS[1]], **_LIMITS[kind])
    request.base_poses = [to_transform("world", link, pose, Time()) for link, pose in question.base_poses.items()]
    if given == "states":
        request.joint_names = list(question.positions)
        request.joint_positions = list(question.positions.values())
    return request


def _request_many(questions: list[Question]) -> GetDistances.Request:
    names, links = list(questions[0].positions), list(questions[0].base_poses)
    poses = [
        (*one.base_poses[link][:3, 3], *Rotation.from_matrix(one.base_poses[link][:3, :3]).as_quat())
        for one in questions
        for link in links
    ]
    return GetDistances.Request(
        links_a=[GROUPS[0]],
        links_b=[GROUPS[1]],
        max_distance=CUTOFF,
        joint_names=names,
        joint_positions=[one.positions[name] for one in questions for name in names],
        base_links=links,
        base_poses=np.ravel(poses).tolist(),
    )


def _judge_refusal(response: object, seen: Seen) -> None:
    if response.success or not response.message:
        seen.faults.append("nonsense was not refused with a reason")


def garbage() -> list[tuple[str, object]]:
    """Return requests that make no sense, each with the service it is for."""
    bent = to_transform("world", "right_palm", np.eye(4), Time())
    bent.transform.rotation.w = 7.0
    lost = to_transform("world", "right_palm", np.eye(4), Time())
    lost.transform.translation.x = math.nan
    fields = (
        {"links_a": ["no such link"]},
        {"links_a": [""], "links_b": ["left_fingers"]},
        {"links_a": ["\n\t\u2603" * 50]},
        {"links_a": ["left_palm"], "links_b": ["left_palm"]},
        {"joint_names": ["left_tj4"]},
        {"joint_positions": [0.0]},
        {"joint_names": ["left_tj4"], "joint_positions": [math.nan]},
        {"joint_names": ["left_tj4"], "joint_positions": [-math.inf]},
        {"joint_names": ["left_tj4", "left_tj4"], "joint_positions": [0.0, 0.0]},
        {"joint_names": ["elbow"], "joint_positions": [0.0]},
        {"base_poses": [bent]},
        {"base_poses": [lost]},
        {"base_poses": [to_transform("nowhere", "right_palm", np.eye(4), Time())]},
        {"base_poses": [to_transform("world", "nothing", np.eye(4), Time())]},
    )
    requests = [(_SERVICES[kind][1], _SERVICES[kind][0].Request(**one)) for one in fields for kind in KINDS[1:3]]
    many = (
        {"links_a": ["no such link"]},
        {"joint_names": ["left_tj4"], "joint_positions": []},
        {"joint_names": ["left_tj4", "right_tj4"], "joint_positions": [0.0, 0.0, 0.0]},
        {"joint_names": ["left_tj4"], "joint_positions": [math.nan]},
        {"base_links": ["right_palm"], "base_poses": [0.0] * 7},
        {"base_links": ["right_palm"], "base_poses": [0.0] * 3},
        {"max_distance": math.nan},
        {"deadline": -1.0},
    )
    requests += [(_SERVICES["many"][1], GetDistances.Request(**one)) for one in many]
    for value in (-1.0, math.nan, -math.inf):
        requests.append((_SERVICES["near"][1], GetMinDistance.Request(max_distance=value)))
    return requests


def huge(size: int = 100_000) -> list[tuple[str, object]]:
    """Return requests as nobody should send them, of a few megabytes each."""
    names = [f"joint_{number}" for number in range(size)]
    fields = (
        {"links_a": names},
        {"links_a": ["x" * 2**22]},
        {"joint_names": names, "joint_positions": [0.0] * size},
        {"joint_names": ["left_tj4"] * size, "joint_positions": [0.0] * size},
        {"base_poses": [to_transform("world", "right_palm", np.eye(4), Time())] * (size // 10)},
    )
    return [(_SERVICES["near"][1], GetMinDistance.Request(**one)) for one in fields]


# --- Joint states as a bad network and a bad driver send them ---


def joint_positions(rest: dict[str, float], number: int) -> dict[str, float]:
    """Return the positions in message `number`, by which its judge knows it; `rest`: those that they swing about."""
    swing = 0.2 * math.sin(0.003 * number)
    return {name: position + swing for name, position in rest.items()}


def disorder(count: int, seed: int) -> list[int]:
    """Return the order in which joint states are sent: gaps of 50 ms, duplicates, and old ones that come late.

    A fifth is sent again up to 40 ms later, as over two ways of unequal length; a tenth comes only then.
    """
    rng = random.Random(seed)
    arrivals = []
    for number in range(count):
        if number % 1000 >= 950:
            continue
        late = number + rng.randint(1, 40)
        fate = rng.random()
        if fate >= 0.1:
            arrivals.append((number, number))
        if fate < 0.3:
            arrivals.append((late, number))
    return [number for _, number in sorted(arrivals)]


def joints_process(connection: Connection, namespace: str) -> None:
    """Send joint states at 1 kHz in disorder: an order is (start, duration, seed, share of messages that hold NaN)."""
    be_helper()
    caller = Caller(f"load_joints_{os.getpid()}", namespace)
    node = caller.node
    publisher = node.create_publisher(JointState, "joint_states", 100)
    _, sweep = shipped()
    rest = dict(sweep.positions)
    rng = random.Random(0)
    try:
        while not publisher.get_subscription_count():
            time.sleep(0.02)
        connection.send("ready")
        while True:
            start, duration, seed, broken = connection.recv()
            zero = node.get_clock().now().nanoseconds + round(1e9 * (start - time.monotonic()))
            newest = 0
            for number in disorder(round(duration * 1e9 / JOINTS_PERIOD), seed):
                newest = max(newest, number)
                time.sleep(max(0.0, start + newest * JOINTS_PERIOD * 1e-9 - time.monotonic()))
                message = JointState(name=list(rest), position=list(joint_positions(rest, number).values()))
                message.header.stamp = to_time(zero + number * JOINTS_PERIOD)
                if rng.random() < broken:
                    message.position[rng.randrange(len(rest))] = math.nan
                publisher.publish(message)
            connection.send(zero)
    except EOFError:
        caller.close()

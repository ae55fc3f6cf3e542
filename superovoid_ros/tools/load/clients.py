# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processes that ask the distance service, well or badly, and that send joint states as a bad network does.

Each takes orders from `tools/load/run.py` through a pipe and reports what it saw. What they say to ROS is in
`nodes/clients/`.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import random
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.clients.joint_sender import JointSender
from superovoid_ros.nodes.clients.load_requests import about_state, about_states, garbage, huge
from superovoid_ros.nodes.clients.timed_calls import Call, TimedCaller
from superovoid_ros.nodes.common.conversions import to_nanoseconds
from superovoid_ros.nodes.common.parent import be_helper
from superovoid_ros.tools.load import measures
from superovoid_ros.tools.load.measures import CUTOFF, GROUPS, KINDS, MANY, Question
from superovoid_ros.tools.process.waiting import NOT_READY

GIVE_UP = 30.0  # s after which a call counts as lost
JOINTS_PERIOD = 1_000_000  # ns
_SECOND = 1000  # joint states
_MOST_UNJUDGED = 500  # answers; judging takes as long as answering, so it waits until the calls are over
_SERVICES = {"closest": "get_min_distance", "near": "get_min_distance", "penetration": "get_penetration"}
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
    processor: float = math.nan
    """processor time that the client took to ask and to be answered [s]; judging is not in it"""

    @property
    def last(self) -> float:
        """When the last answer came."""
        return float(np.nanmax(self.due + self.latency))


def spare_garbage() -> None:
    """Take what is there out of Python's searches for garbage.

    Each search through modules and kernels stops a process for 100 ms, which would count as the node's.
    """
    gc.collect()
    gc.freeze()


def client_process(connection: Connection, namespace: str, questions: list[Question]) -> None:
    """Take orders and report what was seen, until the connection is closed.

    An order is answered twice: when its calls are over and, once told to go on, by what was seen. So no client judges,
    which takes longer than asking, while another one waits for the processor that this takes.
    """
    be_helper()
    client = _Client(namespace, questions)

    def pause() -> None:
        connection.send("calls are over")
        connection.recv()

    spare_garbage()
    connection.send("ready")
    try:
        while True:
            order = connection.recv()
            connection.send(client.obey(order, pause))
    except EOFError:
        client.close()


class _Client:
    """Asks the service; lives in a process of its own."""

    def __init__(self, namespace: str, questions: list[Question]) -> None:
        self._questions = questions
        self._calls = {
            (kind, given): [_call(kind, one, given) for one in questions]
            for kind in KINDS[:3]
            for given in ("states", "measured")
        }
        self._calls["many", "states"] = [self._call_many(index) for index in range(len(questions))]
        self._bad = {"garbage": garbage(), "huge": huge()}
        # As long as it takes: the process that started this one watches the node.
        every = [calls[0] for calls in self._calls.values()]
        self._caller = TimedCaller(f"load_client_{os.getpid()}", namespace, every)
        self._wait_until_ready(self._calls["closest", "states"][0])

    def _wait_until_ready(self, call: Call) -> None:
        """Ask until a node that compiles answers."""
        while True:
            answer = self._caller.ask_now(call)
            if answer.success or not answer.message.startswith(NOT_READY):
                return
            time.sleep(0.1)

    def close(self) -> None:
        self._caller.close()

    def obey(self, order: Order, pause: Callable[[], None] = lambda: None) -> Seen:
        """Ask as ordered, and wait until everything is answered or given up; judge the answers after a pause."""
        due = order.start + order.period * np.arange(order.count)
        seen = Seen(due, np.full(order.count, np.nan))

        unjudged: deque[tuple[int, object]] = deque()

        judging = 0.0

        def judge_first() -> None:
            nonlocal judging
            began = time.process_time()
            number, response = unjudged.popleft()
            self._judge_of(order, order.first + number)(response, seen)
            judging += time.process_time() - began

        def on_answer(number: int, response: object) -> None:
            seen.latency[number] = time.monotonic() - due[number]
            unjudged.append((number, response))
            if len(unjudged) > _MOST_UNJUDGED:
                judge_first()

        def on_sent(number: int) -> None:
            if order.is_last and number == order.count - 1:
                os.kill(os.getpid(), signal.SIGKILL)

        began = time.process_time()
        self._caller.make(
            lambda number: self._call_of(order, order.first + number), due, order.give_up, on_answer, on_sent
        )
        seen.processor = time.process_time() - began - judging
        pause()
        while unjudged:
            judge_first()
        return seen

    def _many(self, index: int) -> list[Question]:
        return [self._questions[(index + k) % len(self._questions)] for k in range(MANY)]

    def _call_many(self, index: int) -> Call:
        chosen = self._many(index)
        return about_states(GROUPS, [one.positions for one in chosen], [one.base_poses for one in chosen], CUTOFF)

    def _kind_of(self, order: Order, number: int) -> tuple[str, int]:
        """Return the kind of the question, and which of the states it is about."""
        kind = KINDS[number % len(KINDS)] if order.questions == "states" else "closest"
        return kind, number // len(KINDS) % len(self._questions)

    def _call_of(self, order: Order, number: int) -> Call:
        if order.questions in self._bad:
            calls = self._bad[order.questions]
            return calls[number % len(calls)]
        kind, index = self._kind_of(order, number)
        return self._calls[kind, order.questions][index]

    def _judge_of(self, order: Order, number: int) -> Callable[[object, Seen], None]:
        """Return what judges the answer."""
        if order.questions in self._bad:
            return _judge_refusal
        kind, index = self._kind_of(order, number)

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

        return note if order.questions == "measured" else judge


def _call(kind: str, question: Question, given: str) -> Call:
    joints = {}
    if given == "states":
        joints = {
            "joint_names": list(question.positions),
            "joint_positions": list(question.positions.values()),
        }
    return about_state(_SERVICES[kind], GROUPS, question.base_poses, **joints, **_LIMITS[kind])


def _judge_refusal(response: object, seen: Seen) -> None:
    if response.success or not response.message:
        seen.faults.append("nonsense was not refused with a reason")


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


def endless_disorder(seed: int) -> Iterator[int]:
    """Yield the numbers of joint states as `disorder` has them, second after second."""
    for first in itertools.count(0, _SECOND):
        yield from (first + number for number in disorder(_SECOND, seed + first))


def joints_process(connection: Connection, namespace: str) -> None:
    """Send joint states at 1 kHz in disorder, from an order on until told to stop.

    An order is (start, seed, share that hold NaN); its answer, before anything is sent, is the stamp of
    the start [ns].
    """
    be_helper()
    _, sweep = shipped()
    rest = dict(sweep.positions)
    sender = JointSender(f"load_joints_{os.getpid()}", namespace, list(rest))
    rng = random.Random(0)
    try:
        sender.wait(sender.is_heard)
        connection.send("ready")
        while True:
            start, seed, broken = connection.recv()
            zero = sender.now() + round(1e9 * (start - time.monotonic()))
            connection.send(zero)
            newest = 0
            for number in endless_disorder(seed):
                if connection.poll():
                    break
                newest = max(newest, number)
                time.sleep(max(0.0, start + newest * JOINTS_PERIOD * 1e-9 - time.monotonic()))
                positions = list(joint_positions(rest, number).values())
                if rng.random() < broken:
                    positions[rng.randrange(len(rest))] = math.nan
                sender.send(positions, zero + number * JOINTS_PERIOD)
            connection.recv()
    except EOFError:
        sender.close()

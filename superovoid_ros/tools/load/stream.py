# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From joint states at a rate to the topic of distances: how old an answer is when it comes.

A sender, the distance service and a listener are processes of their own. Each joint state bears the time at which it
is sent, an answer that of the joint state which it is about. So the age of an answer is all that lies between: two
messages, the node's wait for its turn, and the query.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from rich.table import Table

from superovoid.output import CsvRow, column
from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.clients.distance_listener import DistanceListener
from superovoid_ros.nodes.clients.joint_sender import JointSender
from superovoid_ros.nodes.common.parent import be_helper
from superovoid_ros.tools.load import measures
from superovoid_ros.tools.load.clients import joint_positions, spare_garbage
from superovoid_ros.tools.load.measures import CUTOFF, GROUPS
from superovoid_ros.tools.load.run import Helper
from superovoid_ros.tools.process.child import hands_service
from superovoid_ros.tools.process.network import own_network

_FRAME = 0.6  # of the sweep, at which the hands are while their fingers move
_FIRST = 1.0  # s that are not measured: what is called for the first time takes longer
_BEHIND = 0.5  # s in which the last answers come
_JUDGED = 20  # answers that are compared with the library's
_RATES = 0.5, 0.99, 0.999, 1.0


@dataclass(frozen=True)
class Stream(CsvRow):
    """Answers on the topic beside joint states; ages from the stamp of a joint state to the answer about it.

    Once the last joint state was answered for, nothing newer is there to be answered for: these ages do not count.
    """

    rate: float = column("joint_states_per_s")
    duration: float = column("duration_s")
    sent: int
    """joint states"""
    answers: int
    overtaken: int
    """joint states that no answer is about: a newer one was there when the node's turn came"""
    back: int
    """answers about an older joint state than one before them"""
    again: int
    """answers about the same joint state as one before them"""
    wrong: int
    """of some answers, those that are not the library's"""
    answered: float = column("answers_per_s")
    age_p50: float = column("age_p50_ms")
    age_p99: float = column("age_p99_ms")
    age_p999: float = column("age_p99.9_ms")
    age_worst: float = column("age_worst_ms")
    sent_late: float = column("sent_late_p99_ms")
    """how late the sender was: that is the machine's and not in the ages"""
    processor: float = column("node_per_answer_ms")
    """processor time of the node"""
    node_load: float = column("node_cores")


def _base_poses() -> dict[str, np.ndarray]:
    _, sweep = shipped()
    return dict(sweep.frame(int(_FRAME * len(sweep))).base_poses)


def sender_process(connection: Connection, namespace: str) -> None:
    """Send joint states at even distances: an order is (start, rate, count); reports when they were due and sent."""
    be_helper()
    _, sweep = shipped()
    rest = dict(sweep.positions)
    sender = JointSender(f"stream_joints_{os.getpid()}", namespace, list(rest))
    try:
        sender.wait(sender.is_heard)
        spare_garbage()
        connection.send("ready")
        while True:
            start, rate, count = connection.recv()
            stamps, late = np.zeros(count, dtype=np.int64), np.zeros(count)
            for number in range(count):
                due = start + number / rate
                time.sleep(max(0.0, due - time.monotonic()))
                positions = list(joint_positions(rest, number).values())
                stamps[number], late[number] = time.time_ns(), time.monotonic() - due
                sender.send(positions, int(stamps[number]))
            connection.send((stamps, late))
    except EOFError:
        sender.close()


def listener_process(connection: Connection, namespace: str) -> None:
    """Note answers until a time: reports arrivals and stamps [ns], and distances of pairs of some of the answers."""
    be_helper()
    seen: list[tuple[int, int]] = []
    kept: dict[int, dict[tuple[str, str], float]] = {}
    every = [1]

    def note(arrival: int, stamp: int, message: object) -> None:
        seen.append((arrival, stamp))
        if len(seen) % every[0] == 0:
            kept[stamp] = {(pair.body_a, pair.body_b): pair.distance for pair in message.pairs}

    listener = DistanceListener(f"stream_listener_{os.getpid()}", namespace, _base_poses(), note)
    try:
        spare_garbage()
        connection.send("ready")
        while True:
            until, every[0] = connection.recv()
            seen.clear()
            kept.clear()
            listener.wait(lambda end=until: time.monotonic() >= end)
            connection.send((np.array(seen, dtype=np.int64).reshape(-1, 2), dict(kept)))
    except EOFError:
        listener.close()


def summary(
    rate: float,
    duration: float,
    sent: np.ndarray,
    late: np.ndarray,
    seen: np.ndarray,
    wrong: int,
    node_time: float,
) -> Stream:
    """Make numbers of what was sent and seen.

    Parameters
    ----------
    rate, duration, wrong
        As in `Stream`.
    sent : (n,) ndarray of int
        Stamps of joint states [ns].
    late : (n,) ndarray
        How long after they were due [s].
    seen : (m, 2) ndarray of int
        Arrivals and stamps of answers [ns], in the order in which they came.
    node_time
        Processor time that the node used meanwhile [s].
    """
    stamps = seen[:, 1]
    about = np.isin(stamps, sent)
    seen, stamps = seen[about], stamps[about]
    newest = np.maximum.accumulate(stamps)
    # Where no joint state comes any more, the node answers for the last one again and again.
    is_over = np.cumsum(stamps == sent[-1]) > 1
    ages = (seen[~is_over, 0] - stamps[~is_over]) * 1e-6
    quantiles = np.quantile(ages, _RATES).tolist() if len(ages) else [float("nan")] * 4
    distinct = len(np.unique(stamps))
    return Stream(
        rate,
        duration,
        sent=len(sent),
        answers=len(stamps),
        overtaken=len(sent) - distinct,
        back=int(np.count_nonzero(stamps < newest)),
        again=len(stamps) - distinct,
        wrong=wrong,
        answered=len(stamps) / duration,
        age_p50=quantiles[0],
        age_p99=quantiles[1],
        age_p999=quantiles[2],
        age_worst=quantiles[3],
        sent_late=1e3 * float(np.quantile(late, 0.99)),
        processor=1e3 * node_time / max(len(stamps), 1),
        node_load=node_time / duration,
    )


def _count_wrong(kept: dict[int, dict[tuple[str, str], float]], sent: np.ndarray) -> int:
    """How many of these answers, by their stamps, are not the library's."""
    robot, sweep = shipped()
    rest, base_poses = dict(sweep.positions), _base_poses()
    number_of = {int(stamp): number for number, stamp in enumerate(sent)}
    wrong = 0
    for stamp, pairs in kept.items():
        if stamp not in number_of:
            continue
        known = measures.truth(robot, joint_positions(rest, number_of[stamp]), base_poses)
        expected = {names: one for names, one in known.items() if one.distance <= CUTOFF - 1e-9}
        found = {(names if names in known else names[::-1]): distance for names, distance in pairs.items()}
        wrong += not (
            set(expected) <= set(found) <= set(known)
            and all(abs(known[names].distance - distance) <= 1e-9 for names, distance in found.items())
        )
    return wrong


def measure(rate: float, duration: float, report: Callable[[str], None] = lambda text: None) -> Stream:
    """Send joint states at a rate for so long [s] and listen to the distances of both hands within 10 mm.

    Raises
    ------
    NodeError
        If a process ends or does not answer.
    """
    report(f"starting the node, a sender of {rate:g} joint states a second, and a listener")
    with ExitStack() as stack:
        namespace = stack.enter_context(own_network("stream"))
        node = hands_service(namespace, rate=float(rate), cutoff=CUTOFF, pairs=[" ".join(GROUPS)])
        stack.callback(node.stop)
        helpers = []
        for target in (listener_process, sender_process):
            helpers.append(Helper(target, namespace))
            stack.callback(helpers[-1].close)
        listener, sender = helpers
        for helper in helpers:
            helper.hear(node)
        count = round(rate * duration)
        for seconds, number in ((_FIRST, round(rate * _FIRST)), (duration, count)):
            used, start = node.processor_time(), time.monotonic() + 0.2
            listener.tell((start + seconds + _BEHIND, max(1, count // _JUDGED)))
            sender.tell((start, rate, number))
            sent, late = sender.hear(node, busy=seconds + _BEHIND)
            seen, kept = listener.hear(node, busy=seconds + _BEHIND)
        used = node.processor_time() - used
        node.check()
    return summary(rate, duration, sent, late, seen, _count_wrong(kept, sent), used)


def table(row: Stream) -> Table:
    """The measure as it is printed."""
    result = Table(title="Joint states to the topic of distances", title_justify="left")
    result.add_column("")
    result.add_column("", justify="right")
    for name in Stream.__dataclass_fields__:
        value = getattr(row, name)
        result.add_row(Stream.heading(name), f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    return result

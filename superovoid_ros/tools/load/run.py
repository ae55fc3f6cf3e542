# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service under load and under faults: node and clients as processes, over DDS on this machine.

Every client is a process of its own, as planners and controllers are: none waits for another's interpreter, and one
that is killed dies as a planner does. A client asks at times laid down in advance and waits for no answer before
the next question, see `tools/load/measures.py`, which also judges the answers; the clients are in `load_clients.py`.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from superovoid.cli.interruption import INTERRUPTS
from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.common.parent import start_helper
from superovoid_ros.tools.load import measures
from superovoid_ros.tools.load.clients import (
    GIVE_UP,
    JOINTS_PERIOD,
    Order,
    Seen,
    client_process,
    joint_positions,
    joints_process,
)
from superovoid_ros.tools.load.measures import Finding, Memory, Step
from superovoid_ros.tools.process.child import Child, HelperProcess, NodeError, NodeProcess, hands_service
from superovoid_ros.tools.process.network import own_network
from superovoid_ros.tools.process.waiting import Watch

_LEAD = 0.2  # s from an order to its first call, so that all clients have it by then
_STATES = 64
_AWAY = 3.0  # s, after which a call is given up that nobody may have heard


class Helper(HelperProcess):
    """A process that takes orders."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would take the middleware's threads' locks along
        self._connection, theirs = spawn.Pipe()
        process = spawn.Process(target=target, args=(theirs, *arguments), daemon=True)
        start_helper(process)
        theirs.close()
        super().__init__("a client", process)

    def tell(self, order: object) -> None:
        """Give it an order."""
        self._connection.send(order)

    def hear(self, *others: Child, busy: float = 0.0) -> object:
        """Return its next report, as long as one of the processes that it needs works.

        Parameters
        ----------
        *others
            Processes that it waits for, if they work.
        busy
            s, from now on, while it may have nothing to do.
        """
        until = time.monotonic() + busy
        watches = []
        while not self._connection.poll(0.1):
            INTERRUPTS.check()
            for process in (self, *others):
                process.check()
            if time.monotonic() < until:
                continue
            watches = watches or [Watch(process, cause="it does not report") for process in (*others, self)]
            idle = []
            for watch in watches:
                try:
                    watch.look("no report of a client")
                except NodeError as error:
                    idle.append(error)
            if len(idle) == len(watches):
                raise idle[0]
        try:
            return self._connection.recv()
        except EOFError:
            self.process.join()
            self.check()
            raise

    def wait_for_end(self) -> None:
        """Wait until it has ended itself, as long as it works."""
        watch = Watch(self, cause="it was to end itself")
        while self.process.is_alive():
            INTERRUPTS.check()
            self.process.join(0.1)
            try:
                watch.look("a client goes on")
            except NodeError:
                if self.process.is_alive():  # else it ended meanwhile, as it should
                    raise

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        """End it in order, and by force where that does not help."""
        self._connection.close()
        self.process.join(5.0)
        if self.process.is_alive():
            self.kill()


class LoadTest:
    """The distance service with the two hands, and its clients.

    Parameters
    ----------
    clients
        Processes that ask.
    seed
        Of the states asked about.
    """

    def __init__(self, clients: int, seed: int = 0) -> None:
        self._stack = ExitStack()
        # What it does to the node it does to no other that may run on this network.
        self._namespace = self._stack.enter_context(own_network("load"))
        self.questions = measures.questions(_STATES, seed)
        try:
            self.node = self._start_node()
            self.clients: list[Helper] = []
            self.add_clients(clients)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> LoadTest:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start_node(self) -> NodeProcess:
        node = hands_service(self._namespace)
        self._stack.callback(node.stop)
        return node

    def _hire(self, target: Callable[..., None], *arguments: object) -> Helper:
        helper = Helper(target, *arguments)
        self._stack.callback(helper.close)
        return helper

    def add_clients(self, count: int) -> None:
        """Start more clients and wait until they see the service."""
        started = [self._hire(client_process, self._namespace, self.questions) for _ in range(count)]
        for client in started:
            client.hear(self.node)
        self.node.check()
        self.clients += started

    def restart_node(self) -> None:
        """Start the node again after it was killed."""
        self.node = self._start_node()

    def order(
        self, clients: Sequence[Helper], rate: float, duration: float, start: float | None = None, **fields: object
    ) -> float:
        """Let clients ask, so many calls a second all together, at even distances; return when that begins."""
        start = time.monotonic() + _LEAD if start is None else start
        for number, client in enumerate(clients):
            count = max(1, round(rate * duration / len(clients)))
            client.tell(Order(start + number / rate, len(clients) / rate, count, 21 * number, **fields))
        return start

    def reports(self, clients: Sequence[Helper], duration: float) -> list[Seen]:
        """Return what clients saw, once they are done."""
        until = time.monotonic() + duration + 3.0 * GIVE_UP  # as long as a client may wait for answers
        for client in clients:
            client.hear(busy=until - time.monotonic())
        for client in clients:
            client.tell("go on")  # to judge, which no client does while another one waits for answers
        return [client.hear(busy=until - time.monotonic()) for client in clients]

    def step(self, name: str, clients: int, rate: float, duration: float) -> tuple[Step, list[str]]:
        """Let so many clients ask for a while.

        Returns
        -------
        Step
        list of str
            What was wrong with answers.
        """
        chosen = self.clients[:clients]
        used = self.node.processor_time()
        start = self.order(chosen, rate, duration)
        return self._step(name, rate, duration, start, used, self.reports(chosen, duration))

    def _step(
        self, name: str, rate: float, duration: float, start: float, used: float, seen: Sequence[Seen]
    ) -> tuple[Step, list[str]]:
        self.node.check()
        faults = [fault for one in seen for fault in one.faults]
        result = measures.step(
            name,
            len(seen),
            rate,
            duration,
            np.concatenate([one.latency for one in seen]),
            len(faults),
            max(max(one.last for one in seen) - start, 1e-9),
            self.node.processor_time() - used,
            self.node.resident_memory(),
            sum(one.processor for one in seen),
        )
        return result, faults

    def soak(
        self, clients: int, rate: float, duration: float, on_sample: Callable[[float, float], None] = lambda *_: None
    ) -> tuple[Step, list[str], Memory]:
        """Ask for a long while, and watch the node's memory once a second."""
        chosen = self.clients[:clients]
        used = self.node.processor_time()
        start = self.order(chosen, rate, duration)
        samples = []
        while (now := time.monotonic()) < start + duration:
            self.node.check()
            samples.append((now - start, self.node.resident_memory()))
            on_sample(*samples[-1])
            time.sleep(min(1.0, max(0.0, start + duration - now)))
        step, faults = self._step("long run", rate, duration, start, used, self.reports(chosen, duration))
        return step, faults, Memory(*np.array(samples).T)

    # --- Faults ---

    def kill_client(self, duration: float = 4.0, others: int = 2, rate: float = 40.0) -> Finding:
        """Kill a client that has calls under way, while others ask, who go on asking afterwards."""
        staying = self.clients[:others]
        victim = self._hire(client_process, self._namespace, self.questions)
        victim.hear(self.node)
        used, began = self.node.processor_time(), self.order(staying, rate, 0.5 * duration)
        # A burst. Whether it falls among the calls of the others or, on a slow machine, behind them: the verdict holds.
        self.order([victim], 1000.0, 0.1, is_last=True)
        seen = self.reports(staying, 0.5 * duration)
        victim.wait_for_end()
        self.order(staying, rate, 0.5 * duration)
        seen += self.reports(staying, 0.5 * duration)
        step, faults = self._step("", rate, duration, began, used, seen)
        return Finding(
            "client killed with calls under way",
            f"{others} others: {step.calls} calls, {step.lost} lost, {step.wrong} wrong, p99 {step.p99:.1f} ms, "
            f"worst {step.worst:.1f} ms" + _examples(faults),
            not step.lost and not step.wrong and victim.process.exitcode == -signal.SIGKILL,
        )

    def kill_node(self, down: float = 1.0, up: float = 5.0, clients: int = 2, rate: float = 20.0) -> Finding:
        """Kill the node and start it again, while clients go on asking."""
        asking = self.clients[:clients]

        def turn(duration: float, give_up: float = GIVE_UP) -> list[Seen]:
            self.order(asking, rate, duration, give_up=give_up)
            return self.reports(asking, duration)

        before = turn(1.0)
        start = self.order(asking, rate, 0.5 + down, give_up=_AWAY)
        time.sleep(max(0.0, start + 0.5 - time.monotonic()))
        self.node.kill()
        time.sleep(down)
        self.restart_node()
        restarted = time.monotonic()
        away = self.reports(asking, 0.5 + down)
        # As long as its start takes.
        watch, first = Watch(self.node), [np.inf] * clients
        while True:
            for number, one in enumerate(away[-clients:]):
                answered = (t for t in one.due + one.latency if t > restarted)
                first[number] = min([first[number], *answered])
            if np.isfinite(max(first)):
                break
            watch.look("a client has no answer since the node was started again")
            away += turn(1.0, _AWAY)
        after = turn(up)
        self.node.check()
        faults = [fault for one in (*before, *away, *after) for fault in one.faults]
        lost = [sum(int(np.count_nonzero(np.isnan(one.latency))) for one in seen) for seen in (before, away, after)]
        return Finding(
            "node killed and started again",
            f"first answer {min(first) - restarted:.1f} s after the restart, every client had one after "
            f"{max(first) - restarted:.1f} s; unanswered: {lost[0]} before, {lost[1]} while it was away, {lost[2]} of "
            f"{sum(len(one.due) for one in after)} after that; {len(faults)} wrong" + _examples(faults),
            not lost[0] and not lost[2] and not faults,
        )

    def joint_storm(self, duration: float = 5.0, rate: float = 30.0, broken: float = 0.0) -> Finding:
        """Send joint states at 1 kHz in disorder while a client asks about the measured state."""
        sender = self._hire(joints_process, self._namespace)
        sender.hear(self.node)
        sender.tell((time.monotonic() + _LEAD, 1, broken))
        zero = sender.hear()
        asking = self.clients[:1]
        self._wait_until_measured(asking, sender, zero)
        used, began = self.node.processor_time(), time.monotonic()
        self.order(asking, rate, duration, questions="measured")
        [seen] = self.reports(asking, duration)
        share = (self.node.processor_time() - used) / (time.monotonic() - began)
        sender.tell("enough")
        sender.close()
        self.node.check()
        robot, sweep = shipped()
        rest, wrong = dict(sweep.positions), 0
        for index, stamp, distance in seen.measured:
            message, remainder = divmod(stamp - zero, JOINTS_PERIOD)
            base_poses = self.questions[index].base_poses
            known = measures.truth(robot, joint_positions(rest, message), base_poses)
            wrong += bool(remainder) or not abs(min(one.distance for one in known.values()) - distance) <= 1e-9
        stamps = [stamp for _, stamp, _ in seen.measured]
        back = sum(later < earlier for earlier, later in itertools.pairwise(stamps))
        lost = int(np.count_nonzero(np.isnan(seen.latency)))
        words = (
            f"{len(stamps)} answers, {wrong} wrong, {back} older than the one before, {lost} lost, "
            f"p99 {1e3 * float(np.nanquantile(seen.latency, 0.99)):.1f} ms, node {share:.0%} of a core"
        )
        if not broken:
            words += f", {len(seen.refusals)} refused"
            is_well = bool(stamps) and not (wrong or back or lost or seen.refusals)
            return Finding("joint states at 1 kHz with gaps, late and twice", words, is_well)
        named = all("must be finite" in refusal for refusal in seen.refusals)
        words += f", {len(seen.refusals)} refused because of NaN"
        return Finding(
            f"the same, NaN in {broken:.0%} of them", words, bool(stamps) and not (wrong or back or lost) and named
        )

    def _wait_until_measured(self, asking: Sequence[Helper], sender: Helper, zero: int) -> None:
        """Ask until every joint is measured later than `zero` [ns]: the node hears a new sender after a while only."""
        watch = Watch(self.node)
        while True:
            self.order(asking, 1.0, 1.0, questions="measured")
            [seen] = self.reports(asking, 1.0)
            if any(stamp >= zero for _, stamp, _ in seen.measured):
                return
            sender.check()
            watch.look("no question about measured joints is answered")

    def nonsense(self, kind: str, rate: float, duration: float = 4.0) -> Finding:
        """Let one client send requests that make no sense (`garbage` or `huge`) while another asks properly."""
        bad, good = self.clients[:2]
        memory = self.node.resident_memory()
        start = self.order([good], 20.0, duration)
        self.order([bad], rate, duration, start, questions=kind)
        [proper], [refused] = self.reports([good], duration), self.reports([bad], duration)
        self.node.check()
        lost = [int(np.count_nonzero(np.isnan(one.latency))) for one in (proper, refused)]
        faults = proper.faults + refused.faults
        return Finding(
            f"{kind} requests, {rate:g} a second",
            f"{len(refused.due)} sent, {lost[1]} unanswered; the other client: {lost[0]} lost, "
            f"median {1e3 * float(np.nanmedian(proper.latency)):.1f} ms, "
            f"worst {1e3 * float(np.nanmax(proper.latency)):.1f} ms; {len(faults)} wrong; "
            f"node {self.node.resident_memory() - memory:+.0f} MiB" + _examples(faults),
            not any(lost) and not faults,
        )


def run(
    clients: Sequence[int],
    rates: Sequence[float],
    duration: float,
    *,
    faults: bool = True,
    soak: float = 0.0,
    soak_rate: float = 40.0,
    seed: int = 0,
    report: Callable[[str], None] = lambda text: None,
) -> Results:
    """Put the distance service under load, then under faults.

    Parameters
    ----------
    clients
        Numbers of clients, each at all rates.
    rates
        Calls a second of all clients together.
    duration
        Of each step [s].
    faults
        Whether faults follow.
    soak, soak_rate
        Length [s] of a long run that watches the node's memory, and calls a second in it; 0: none.
    seed
        Of the states asked about.
    report
        Called with what is being done and what was found.

    Raises
    ------
    NodeError
        If the node or a client ends or does not answer.
    """
    results = Results()
    report(f"starting the node and {max(clients)} clients")
    with LoadTest(max(clients), seed) as test:
        test.step("", 1, 20.0, 1.0)  # the first calls find everything cold
        for count in clients:
            for rate in rates:
                step, problems = test.step("", count, rate, duration)
                results.add(step, problems)
                report(f"{count} clients, {rate:g} calls a second: median {step.median:.1f} ms, p99 {step.p99:.1f} ms")
    if soak:
        # A node of its own, which has seen no burst that its memory could remember.
        with LoadTest(4, seed) as test:
            report(f"long run: {soak:.0f} s, 4 clients, {soak_rate:g} calls a second")
            step, problems, results.memory = test.soak(4, soak_rate, soak)
            results.add(step, problems)
            report(str(results.memory))
    if faults:
        with LoadTest(2, seed) as test:
            for fault in (
                test.kill_client,
                test.joint_storm,
                lambda: test.joint_storm(broken=0.05),
                lambda: test.nonsense("garbage", 200.0),
                lambda: test.nonsense("huge", 1.5),
                test.kill_node,
            ):
                results.findings.append(fault())
                report(f"{results.findings[-1].fault}: {'well' if results.findings[-1].is_well else 'NOT WELL'}")
    return results


@dataclass
class Results:
    """What a load test found."""

    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """what was wrong with answers"""
    findings: list[Finding] = field(default_factory=list)
    memory: Memory | None = None

    def add(self, step: Step, problems: list[str]) -> None:
        """Take over what a step found."""
        self.steps.append(step)
        self.problems += problems

    @property
    def is_well(self) -> bool:
        """Whether no call was lost, no answer wrong, and every fault taken as it should be."""
        return not any(one.lost or one.wrong for one in self.steps) and all(one.is_well for one in self.findings)


def _examples(faults: Sequence[str]) -> str:
    return f" ({'; '.join(faults[:2])})" if faults else ""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of the node on `/diagnostics`, in the format of diagnostic_updater.

Four statuses, each named `<node>: <task>`: `robot`, `measurements`, `topics`, `queries`. docs/reference/ros.md
documents the levels. If the package `bond` is installed, an active node also publishes heartbeats, as the servers of
Nav2 do: if they stop, a lifecycle manager that has a bond with the node knows that it has ended or hangs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from superovoid_ros.nodes.common.conversions import NANOSECONDS
from superovoid_ros.nodes.common.mistakes import reason_of
from superovoid_ros.nodes.common.parameters import number
from superovoid_ros.nodes.distance_service.answers.topics import Topics
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel

try:
    from bond.msg import Status
except ModuleNotFoundError:
    Status = None

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
# Shortest span for measuring a rate, in periods and in seconds.
RATE_PERIODS = 5.0
RATE_SECONDS = 2.0
BOND = "bond"
"""Topic of heartbeats."""
_HEARTBEAT, _SILENCE = 0.5, 4.0  # s: period of the heartbeats, and time without them after which a bond is broken
LEAST_RATE = 0.8  # fraction of the requested rate below which the level is WARN (ERROR if nothing can be published)


@dataclass
class Finding:
    """One status while it is determined."""

    level: bytes = OK
    message: str = ""
    values: dict[str, object] = field(default_factory=dict)

    def note(self, level: bytes, words: str) -> None:
        """Append a message, and raise the level to `level` if that is higher."""
        self.level, self.message = max(self.level, level), f"{self.message}; {words}" if self.message else words


class Diagnostics(Part):
    """Part that publishes the state of the node from `configure` on, active or not, and heartbeats while it is active.

    Parameters
    ----------
    common, current, measurements, topics
        The shared services, and the parts that the diagnostics describe.
    facts
        Returns further facts of the parts.
    """

    parameters = (
        number(
            "diagnostics.period",
            1.0,
            0.0,
            60.0,
            "[s] Time between messages on /diagnostics; 0: no messages",
            least=0.05,
        ),
    )

    def __init__(
        self,
        common: Common,
        current: CurrentModel,
        measurements: Measurements,
        topics: Topics,
        facts: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        super().__init__(common)
        self._current, self._measurements, self._topics, self._facts = current, measurements, topics, facts
        self._timer = self._heart = self._bond = None
        self._since: tuple[float, float, int] | None = None  # requested rate, time and count, as its measurement began
        self._rate: float | None = None
        self._time_before = -1
        self._counts_before = (0, 0, 0)

    def configure(self) -> None:
        """Start to publish."""
        self._publisher = self.endpoints.advertise(DiagnosticArray, "/diagnostics", 1)
        self._bond = None if Status is None else self.endpoints.advertise(Status, BOND, 5)
        self._apply_values()

    def activate(self) -> None:
        """Begin a bond with whoever listens."""
        if self._bond is not None:
            beat = partial(self._beat, str(uuid.uuid4()))
            self._heart = self.endpoints.start_timer(_HEARTBEAT, beat), beat

    def deactivate(self) -> None:
        """End the bond."""
        if self._heart is not None:
            (timer, beat), self._heart = self._heart, None
            self.endpoints.stop(timer)
            beat(is_active=False)

    def _beat(self, instance: str, *, is_active: bool = True) -> None:
        status = Status(id=self.node.get_name(), instance_id=instance, active=is_active)
        status.header.stamp = self.node.get_clock().now().to_msg()
        status.heartbeat_period, status.heartbeat_timeout = _HEARTBEAT, _SILENCE
        self._bond.publish(status)

    def apply(self, names: AbstractSet[str]) -> None:
        """Apply a new period."""
        if "diagnostics.period" in names:
            self._apply_values()

    def _apply_values(self) -> None:
        self.endpoints.stop(self._timer)
        period = float(self.parameter("diagnostics.period"))
        if period > 0.0:
            self._timer = self.endpoints.start_timer(period, self._publish)

    def _publish(self) -> None:
        model = self._current.snapshot.model
        message = DiagnosticArray()
        message.header.stamp = self.node.get_clock().now().to_msg()
        findings = {
            "robot": self._on_robot(),
            "measurements": self._on_measurements(),
            "topics": self._on_topics(),
            "queries": self._on_queries(),
        }
        name = self.node.get_fully_qualified_name().lstrip("/")
        for task, finding in findings.items():
            message.status.append(
                DiagnosticStatus(
                    level=finding.level,
                    name=f"{name}: {task}",
                    message=finding.message,
                    hardware_id=model.robot.name if model is not None else "none",
                    values=[KeyValue(key=key, value=_format_value(value)) for key, value in finding.values.items()],
                )
            )
        self._publisher.publish(message)

    def _on_robot(self) -> Finding:
        found = Finding()
        model = self._current.snapshot.model
        found.values["state"] = self.activity.state
        if model is None:
            found.note(ERROR, self._current.problem)
        else:
            found.values |= {
                "robot": model.robot.name,
                "links": len(model.robot.links),
                "joints": len(model.robot.joint_names),
                "bodies": len(model.robot.bodies),
                "pairs": model.scene.pair_count,
            }
            if self._current.problem:
                found.note(ERROR, self._current.problem)
            elif self._current.missing_content:
                found.note(WARN, self._current.missing_content)
            elif not model.robot.bodies:
                found.note(WARN, f"no link of robot '{model.robot.name}' has contact geometry: no distances to compute")
            else:
                found.message = model.describe()
        found.values |= self._facts()
        return found

    def _on_measurements(self) -> Finding:
        found = Finding()
        self._look_at_clock(found)
        model = self._current.snapshot.model
        if model is None:
            found.message = found.message or "no robot"
            return found
        try:
            state = self._measurements.placed_states(model.planning)
        except Exception as error:
            found.level, found.message = ERROR, reason_of(error)
            return found
        if state.unplaced:
            found.values["pose of the root link"] = "unknown"
        now = self.node.get_clock().now().nanoseconds
        for what, stamp in (("joint states", state.joint_stamp), ("transforms", state.transform_stamp)):
            if stamp is not None:
                found.values[f"age of {what} [s]"] = (now - stamp) / NANOSECONDS
        stale = self._measurements.stale_reason(state)
        if stale:
            found.note(STALE, stale)
        if found.level == OK:
            found.message = "nothing needs to be measured" if state.oldest_stamp is None else "fresh"
        return found

    def _look_at_clock(self, found: Finding) -> None:
        """Determine which clock the node uses, and whether it runs."""
        now = self.node.get_clock().now().nanoseconds
        before, self._time_before = self._time_before, now
        if not self.node.get_parameter("use_sim_time").value:
            found.values["time"] = "system"
        elif now == 0:
            found.values["time"] = "simulated, nothing received on /clock"
            found.note(WARN, "use_sim_time is set but nothing was received on /clock")
        else:
            found.values["time"] = "simulated, stopped" if now == before else "simulated"

    def _on_topics(self) -> Finding:
        found = Finding()
        wanted, listeners = float(self.parameter("rate")), self._topics.listeners
        now, published = self.node.get_clock().now().nanoseconds / NANOSECONDS, self._topics.published
        found.values |= {"requested rate [Hz]": wanted, "listeners": listeners, "published": published}
        if not (self.activity.is_active and wanted > 0.0 and listeners > 0):
            idle = "no subscribers" if wanted > 0.0 else "rate is 0: nothing is published"
            self._since, found.message = None, idle if self.activity.is_active else "inactive"
            return found
        if self._since is None or self._since[0] != wanted or now < self._since[1]:  # time may run backwards
            self._since, self._rate = (wanted, now, published), None
        _, began, before = self._since
        if now - began >= max(RATE_SECONDS, RATE_PERIODS / wanted):
            self._since, self._rate = (wanted, now, published), (published - before) / (now - began)
        if self._rate is None:
            found.message = "measuring the rate"
            return found
        found.values["actual rate [Hz]"], found.message = self._rate, f"{self._rate:.1f} of {wanted:g} Hz"
        if self._rate < LEAST_RATE * wanted:
            found.note(ERROR if self._topics.problem else WARN, self._topics.problem or "slower than requested")
        return found

    def _on_queries(self) -> Finding:
        total, found = self.statistics, Finding()
        counts = total.internal_errors, total.uncertified, total.unreadable
        errors, uncertified, unreadable = (
            now - before for now, before in zip(counts, self._counts_before, strict=True)
        )
        self._counts_before = counts
        found.values |= {
            "calls": total.calls.total(),
            "calls refused": total.refused.total(),
            "internal errors": total.internal_errors,
            "messages refused": total.refused_messages,
            "unreadable messages": total.unreadable,
            "omitted log lines": self.log.left_out,
            "uncertified answers": total.uncertified,
        }
        for service, number_of_calls in sorted(total.calls.items()):
            found.values[f"calls of {service}"] = number_of_calls
            found.values[f"calls of {service} refused"] = total.refused[service]
            if service in total.reasons:
                found.values[f"last refusal of {service}"] = total.reasons[service]
        if errors:
            found.note(ERROR, f"{errors} internal errors: please report them, with the log")
        if uncertified:
            found.note(WARN, f"{uncertified} pairs answered with status UNPROVEN")
        if unreadable:
            found.note(WARN, f"{unreadable} unreadable messages or requests, see the log")
        found.message = found.message or "certified"
        return found


def _format_value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

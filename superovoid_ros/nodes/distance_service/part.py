# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parts of the node `distance_service`: one module for each of its tasks.

The node creates its parts, passes to each the parts that it uses, and calls these methods of all parts, in order:

    open                                                once, when the node starts
    configure -> activate -> deactivate -> clean_up     the node's lifecycle
    check -> apply                                      new values of parameters
    model_changed                                       new or no robot; changed objects or rules

To add a part, write a class like this, and add a line to `DistanceService` with the other parts that it uses:

    class Greeter(Part):
        parameters = (text("greeting", "hello", "Greeting in the response"),)

        def __init__(self, common, current):
            super().__init__(common)
            self._current = current

        def open(self):
            self.serve(Trigger, "~/greet", self._greet)

        def _greet(self, request, response):
            return f"{self.parameter('greeting')}, {self._current.model().robot.name}"

After the configuration of all parts, `model_changed` is called if there is a robot. Subscriptions, publishers and
timers that a part opens by its `endpoints` are closed after `clean_up`. Services and actions stay open, and refuse
requests unless the node is active.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rclpy.node import Node

from superovoid_ros.nodes.common.endpoints import Endpoints, words_of
from superovoid_ros.nodes.common.mistakes import (
    Code,
    InputError,
    UnreadableError,
    code_of,
    drop_tracebacks,
    reason_of,
    shorten,
)
from superovoid_ros.nodes.common.parameters import Declaration
from superovoid_ros.nodes.common.throttle import Log
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE, Jobs, Kind

Result = TypeVar("Result")

_UPWARDS = {"unconfigured": "configure", "inactive": "activate"}  # transitions towards "active", by state


class Activity:
    """Lifecycle state of the node.

    Parameters
    ----------
    name
        Full name of the node.

    Attributes
    ----------
    state : str
        "unconfigured"; "inactive": the node listens; "active": it also answers requests and publishes topics; or
        "finalized".
    """

    def __init__(self, name: str) -> None:
        self.state = "unconfigured"
        self._name = name

    @property
    def is_active(self) -> bool:
        """Whether the node answers requests and publishes topics."""
        return self.state == "active"

    def require(self) -> None:
        """Raise `InputError`, with the remedy, if the node is not active."""
        if not self.is_active:
            words, transition = f"{self._name} is {self.state} and answers nothing", _UPWARDS.get(self.state)
            if transition is not None:
                words += f"; to {transition} it: ros2 lifecycle set {self._name} {transition}"
            raise InputError(words, Code.INACTIVE)


@dataclass
class RequestCounts:
    """Counts since the start of the process, for the diagnostics."""

    calls: Counter[str] = field(default_factory=Counter)
    """Number of calls of each service."""
    refused: Counter[str] = field(default_factory=Counter)
    """Number of refused calls of each service: with `success: false` or an error code."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Reason of the last refusal by each service, since some responses have no field for it."""
    internal_errors: int = 0
    """Number of calls, messages and timers that failed because of a bug in this package."""
    unreadable: int = 0
    """Number of messages and requests that rclpy could not deserialize."""
    refused_messages: int = 0
    """Number of other refused messages."""
    uncertified: int = 0
    """Number of pairs answered with status UNPROVEN."""

    def call(self, service: str, error: Exception | None = None) -> None:
        """Count a call of a service, with the error that prevented an answer if there was one."""
        self.calls[service] += 1
        if error is not None:
            self.reasons[service] = shorten(str(error) or repr(error), 300)
            self.refused[service] += 1
            self.internal_errors += not isinstance(error, InputError)

    def fault(self) -> None:
        """Count an error of this package."""
        self.internal_errors += 1


@dataclass(frozen=True)
class Common:
    """Shared services passed to every part."""

    node: Node
    """The node, which opens endpoints and provides clock, names and executor."""
    parameter: Callable[[str], object]
    """Returns the current value of a parameter."""
    log: Log
    """Log for lines that other nodes can cause."""
    statistics: RequestCounts
    """Counts of requests and answers, for the diagnostics."""
    activity: Activity
    jobs: Jobs
    """Runs long work in threads."""

    def report_failure(self, what: str, error: Exception) -> None:
        """Log and count the error of a message, timer or job; `what` is the topic or the name of the others."""
        self.log.error(what, words_of(what, error))
        if isinstance(error, UnreadableError):
            self.statistics.unreadable += 1
        elif isinstance(error, InputError):
            self.statistics.refused_messages += 1
        else:
            self.statistics.fault()


class Part:
    """The methods of every part; each does nothing by default.

    Parameters
    ----------
    common
        Services shared by all parts.
    """

    parameters: tuple[Declaration, ...] = ()
    """Parameters of the part, declared at the start of the process, in every state of the node."""

    def __init__(self, common: Common) -> None:
        self.node, self.parameter, self.log, self.statistics = (
            common.node,
            common.parameter,
            common.log,
            common.statistics,
        )
        self.activity, self.jobs, self.report_failure = common.activity, common.jobs, common.report_failure
        self.endpoints = Endpoints(common.node, common.report_failure)
        self._calls = 0  # calls of services that have no response yet

    def open(self) -> None:
        """Open services and actions, which stay open until the node is destroyed."""

    def configure(self) -> None:
        """Create subscriptions and publishers; raise `InputError` if the parameters do not allow it."""

    def activate(self) -> None:
        """Start to publish."""

    def deactivate(self) -> None:
        """Stop publishing."""

    def is_done(self) -> bool:
        """Return True once all clients have their responses and results; called after `deactivate`."""
        return not self._calls

    def clean_up(self) -> None:
        """Discard everything since `configure`; also called after failures."""

    def check(self, new: Mapping[str, object]) -> None:
        """Raise `InputError` if new values cannot be used; nothing else may change.

        `new` holds the parameters to be set together and no other.
        """

    def apply(self, names: AbstractSet[str]) -> None:
        """Apply the new values of parameters, which `check` has accepted; not called while unconfigured."""

    def model_changed(self) -> None:
        """Discard everything computed from the previous model; `CurrentModel` has the new one."""

    def facts(self) -> Mapping[str, object]:
        """Return facts of this part for the diagnostics of the robot, such as `{"objects": 3}`."""
        return {}

    def serve(self, kind: type, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Open a service that many clients may call at once.

        Parameters
        ----------
        kind, name
            Type and name of the service.
        answer
            Function or coroutine function that takes request and response, fills the response, and returns the text of
            its `message`, if it has one. While the node is inactive, it is not called, and the call is refused. If it
            raises, the call is refused too, with an empty response (`refuse`).
        """

        async def run(request: Any, response: Any) -> Any:
            self._calls += 1
            try:
                self.activity.require()
                words = answer(request, response)
                if inspect.isawaitable(words):
                    words = await words
            except Exception as error:
                self.statistics.call(kind.__name__, error)
                response = kind.Response()
                self.refuse(name, response, error)
                drop_tracebacks(error)
                return response
            finally:
                self._calls -= 1
            self.statistics.call(kind.__name__)
            if hasattr(response, "message"):
                response.message = words
            if hasattr(response, "success"):
                response.success = True
            return response

        self.endpoints.serve(kind, name, run)

    def refuse(self, name: str, response: Any, error: Exception) -> None:
        """Fill an empty response with the reason of a refusal; log the reason if the response has no `message`."""
        words = reason_of(error)
        if not hasattr(response, "message"):
            self.log.error(name, f"{name}: refused: {words}")
            return
        response.message = words
        if hasattr(response, "error_code"):
            response.error_code.value = int(code_of(error))

    async def query(self, cost: int, work: Callable[[], Result]) -> Result:
        """Run a query of `cost` pairs of bodies, or as much work, and return its result; in a thread if it is long.

        The work must not access the node.
        """
        return work() if cost <= AT_ONCE else await self.jobs.result(Kind.QUERY, work)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics, services and timers of a node: quality of service, guarded callbacks, and closing.

An exception in a callback would pass through rclpy's executor and end the node. The callbacks of `Endpoints` never
raise: errors are passed to their owner, which logs and counts them.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, QoSRequestedIncompatibleQoSInfo, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy, qos_policy_name_from_kind
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from superovoid_ros.nodes.common.mistakes import InputError, UnreadableError, reason_of
from superovoid_ros.nodes.common.throttle import Log

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
# A service's default depth is 10: of 16 calls that arrive during another one, 6 would be lost silently.
SERVICE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
# Number of messages that a client may publish at once. Fast DDS keeps at most 5000 messages of a topic: for a longer
# queue it refuses the newest instead of dropping the oldest, which is noticed much later.
EVERY = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
_MOST_PUBLISHERS = 1_000  # of a topic, whose message numbers are stored
_TAKEN_TOGETHER = 200  # messages of a topic handled before other callbacks run
_REST = 0.05  # s between two wake-ups by a topic whose messages need no immediate reaction
_DELIVERY = 1.0  # s, longest wait of `close` for acknowledgments, which a killed subscriber does not send
POLICIES = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)
"""Policies that the parameters `qos_overrides.<topic>.<subscription or publisher>.<policy>` can set."""


class LostMessages:
    """Counter of the lost messages of a topic, from the sequence numbers of each publisher.

    A full queue drops its oldest message, and Fast DDS reports no event for it. Then the number of the next message
    does not follow the previous number.

        numbers received from a publisher   lost
        1 2 3                               0
        7 8                                 0: the first six were published before this subscription existed
        1 2 5                               2
        7 8, from a queue that was full     at least 1: the first six may have been dropped

    Parameters
    ----------
    depth
        Depth of the queue.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._newest: dict[bytes, int] = {}  # number by publisher
        self._taken = 0
        self._begins_late = False

    def losses(self, info: Mapping[str, Any]) -> int:
        """Return how many messages of the same publisher were lost just before a message.

        Parameters
        ----------
        info
            rclpy's information about the message. If the middleware provides no numbers or publishers, only a full
            queue reveals a loss.
        """
        self._taken += 1
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        lost = 0
        if number is None or publisher is None:
            self._begins_late = True
        else:
            key = bytes(publisher["data"])
            before = self._newest.get(key)
            if before is None:
                self._begins_late = self._begins_late or number > 1
            else:
                lost = max(0, number - before - 1)
            self._newest[key] = number if before is None else max(number, before)
            if len(self._newest) > _MOST_PUBLISHERS:  # what is lost before their next messages is unknown
                self._newest.clear()
                lost += 1
        if self._begins_late and self._taken >= self._depth:
            self._begins_late = False
            lost += 1
        return lost

    def is_empty(self) -> None:
        """Record that the queue was found empty, so that nothing more was dropped until now."""
        self._taken, self._begins_late = 0, False


Failed = Callable[[str, Exception], None]
"""Function that receives the name of a topic, service or timer, and the exception of its callback."""


def failures_of(node: Node) -> Failed:
    """Return the receiver of callback errors: the node's method `report_failure` if it exists, otherwise its log."""
    log = Log(node)
    return getattr(node, "report_failure", None) or (lambda what, error: log.error(what, words_of(what, error)))


def words_of(what: str, error: Exception) -> str:
    """Return a log line about an error in a callback."""
    if isinstance(error, UnreadableError):
        return f"{what}: ignored an unreadable message: {error}"
    return f"{what}: {reason_of(error)}"


class _Gate(ReentrantCallbackGroup):
    """Callback group that keeps a subscription out of the executor's wait set unless `is_open` returns True."""

    def __init__(self, is_open: Callable[[], bool]) -> None:
        super().__init__()
        self._is_open = is_open

    def can_execute(self, entity: object) -> bool:
        """Return whether the executor may wait for the subscription."""
        return self._is_open()


class Endpoints:
    """The topics, services, actions and timers of one owner.

    Topics and timers are open until `close`. Services and actions are open until the node is destroyed: a service that
    closes can lose its last responses on their way, and the requests that it has not read.

    Parameters
    ----------
    node
        The node that opens them.
    failed
        Receives exceptions of callbacks. Default: `failures_of` the node.
    """

    def __init__(self, node: Node, failed: Failed | None = None) -> None:
        self._node, self._failed = node, failed or failures_of(node)
        self._opened: dict[object, Callable[[Any], object]] = {}  # with the function that closes each

    def close(self) -> None:
        """Close topics and timers; first wait for acknowledgments, since closing a publisher discards its messages."""
        end = time.monotonic() + _DELIVERY
        for publisher in (entity for entity in self._opened if isinstance(entity, Publisher)):
            with contextlib.suppress(RuntimeError):  # middleware without acknowledgments
                publisher.wait_for_all_acked(Duration(seconds=max(end - time.monotonic(), 0.0)))
        while self._opened:
            entity, destroy = self._opened.popitem()
            destroy(entity)

    def listen(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile | int,
        *,
        wakes: Callable[[], bool] = lambda: True,
        changed: Callable[[], None] = lambda: None,
    ) -> Callable[[], None]:
        """Subscribe with a quality of service that parameters can override.

        Messages arrive as bytes and are deserialized here (`read`), so that malformed ones are logged and counted. A
        turn of rclpy's executor takes one message of a subscription. If turns took longer than the sender's period, the
        queue would fill up, so all messages that have arrived are taken.

        Parameters
        ----------
        kind, topic
            Type and name of the topic.
        callback
            Receives each message; may run in any thread that calls the returned function.
        qos
            Default quality of service.
        wakes
            For a fast topic whose messages are needed only when another callback uses them: returns whether every
            message should wake the node. For each message that wakes it, rclpy's executor lists all entities of the
            node twice, which takes longer than reading the message. So if `wakes` returns False, messages wake the node
            at most every `_REST` seconds, and code that uses them first takes all that have arrived.
        changed
            Called on the executor's thread after messages that woke the node.

        Returns
        -------
        callable
            Takes all messages that have arrived; may be called from any thread.

        Raises
        ------
        InputError
            If an override is invalid.
        """
        handle = self._guard(topic, lambda data: callback(read(data, kind)))
        rests_until = 0.0

        def take_arrived() -> None:
            for data, _ in _arrived(subscription, subscription.qos_profile.depth):
                handle(data)

        def take(data: bytes, _info: object) -> None:
            nonlocal rests_until
            handle(data)
            take_arrived()
            rests_until = time.monotonic() + _REST
            changed()

        gate = _Gate(lambda: wakes() or time.monotonic() >= rests_until)
        subscription = self._subscribe(kind, topic, take, qos, gate)
        return take_arrived

    def listen_to_every(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Sequence[tuple[bytes, int]]], None],
        qos: QoSProfile = EVERY,
    ) -> None:
        """Subscribe to a topic whose lost messages must be detected.

        Parameters
        ----------
        kind, topic
            As for `listen`.
        callback
            Receives all messages that arrived together, in order: of each its bytes (for `read`), and the number of
            messages of the same publisher that were lost just before it.
        qos
            Default quality of service; parameters can override it. The depth must be in [1, 5000].

        Raises
        ------
        InputError
            As for `listen`; also for a depth out of range.
        """

        def take(data: bytes, info: Mapping[str, Any]) -> None:
            arrived = ((data, info), *_arrived(subscription, _TAKEN_TOGETHER - 1))
            together = [(data, lost.losses(info)) for data, info in arrived]
            if len(together) < _TAKEN_TOGETHER:
                lost.is_empty()
            callback(together)

        subscription = self._subscribe(kind, topic, take, qos)
        depth = subscription.qos_profile.depth
        if not 1 <= depth <= EVERY.depth:
            name = f"qos_overrides.{self._node.resolve_topic_name(topic)}.subscription.depth"
            raise InputError(f"{name} = {depth}: must be in [1, {EVERY.depth}], so that a lost message is detected")
        lost = LostMessages(depth)

    def _subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[bytes, Mapping[str, Any]], None],
        qos: QoSProfile | int,
        gate: _Gate | None = None,
    ) -> Subscription:
        guarded, name = self._guard(topic, callback), self._node.resolve_topic_name(topic)

        def report(event: QoSRequestedIncompatibleQoSInfo) -> None:
            policy = qos_policy_name_from_kind(event.last_policy_kind)
            words = f"nothing is received from a publisher: its {policy} is incompatible (parameters qos_overrides."
            self._node.get_logger().warning(f"'{name}': {words}{name}.subscription...)")

        # Only one event: rclpy's executor checks all of them in every call of a service. Nodes that subscribe to a
        # topic of this node, or publish one of another type, report a mismatch themselves.
        events = SubscriptionEventCallbacks(incompatible_qos=report, use_default_callbacks=False)
        return self._open(
            topic,
            self._node.destroy_subscription,
            lambda: self._node.create_subscription(
                kind,
                topic,
                lambda data, info: guarded(data, info),  # rclpy counts the parameters
                _copy_profile(qos),
                callback_group=gate,
                raw=True,
                event_callbacks=events,
                qos_overriding_options=QoSOverridingOptions(POLICIES),
            ),
        )

    def advertise(
        self, kind: type, topic: str, qos: QoSProfile | int, matched: Callable[[], None] | None = None
    ) -> Publisher:
        """Create a publisher with a quality of service that parameters can override; raises as `listen` does.

        `matched` is called when a subscriber appears or disappears.
        """
        events = PublisherEventCallbacks(
            matched=matched and self._guard(topic, lambda _status: matched()), use_default_callbacks=False
        )
        return self._open(
            topic,
            self._node.destroy_publisher,
            lambda: self._node.create_publisher(
                kind,
                topic,
                _copy_profile(qos),
                event_callbacks=events,
                qos_overriding_options=QoSOverridingOptions(POLICIES),
            ),
        )

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Open a service that many clients may call at once; its callback never raises.

        The callback may be a coroutine function. Other calls start while one waits, since each service has a reentrant
        callback group.
        """
        self._node.create_service(kind, name, callback, qos_profile=SERVICE, callback_group=ReentrantCallbackGroup())

    def act(
        self,
        kind: type,
        name: str,
        execute: Callable[[ServerGoalHandle], Any],
        cancel: Callable[[ServerGoalHandle], None],
    ) -> None:
        """Open an action; several goals may run at once.

        Parameters
        ----------
        kind, name
            Type and name of the action.
        execute
            Coroutine function that ends a goal and returns its result.
        cancel
            Called if a client cancels a goal.
        """

        def accept(handle: ServerGoalHandle) -> CancelResponse:
            self._guard(name, cancel)(handle)
            return CancelResponse.ACCEPT

        # ROS remaps services and topics but not actions, so the name is resolved as that of a service.
        resolved, group = self._node.resolve_service_name(name), ReentrantCallbackGroup()
        ActionServer(
            self._node,
            kind,
            resolved,
            execute,
            callback_group=group,
            cancel_callback=accept,
            goal_service_qos_profile=SERVICE,
            result_service_qos_profile=SERVICE,
            cancel_service_qos_profile=SERVICE,
        )

    def start_timer(self, seconds: float, callback: Callable[[], None], *, steady: bool = True) -> Timer:
        """Start a timer, by a steady clock (`steady`) or by the clock of the node, which a simulation may stop."""
        timer = self._node.create_timer(
            seconds,
            self._guard("timer", callback),
            clock=Clock(clock_type=ClockType.STEADY_TIME) if steady else None,
        )
        self._opened[timer] = self._node.destroy_timer
        return timer

    def stop(self, timer: Timer | None) -> None:
        """Close a timer, unless it is None or already closed."""
        if timer in self._opened:
            self._opened.pop(timer)(timer)

    def _guard(self, what: str, callback: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: object) -> None:
            try:
                callback(*arguments)
            except Exception as error:
                if self._node.context.ok():  # otherwise the node is ending
                    self._failed(what, error)

        return run

    def _open(self, topic: str, destroy: Callable[[Any], object], create: Callable[[], Any]) -> Any:
        try:
            entity = create()
        # rclpy raises these for an unknown policy, a wrong type and a negative depth.
        except (ParameterException, RuntimeError, TypeError, ValueError, AssertionError) as error:
            raise InputError(f"qos_overrides.{self._node.resolve_topic_name(topic)}: {error}") from error
        self._opened[entity] = destroy
        return entity


def _arrived(subscription: Subscription, most: int) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    """Take messages that have arrived; yield each with rclpy's information about it."""
    with contextlib.suppress(InvalidHandle), subscription.handle:  # a thread may outlast the subscription
        for _ in range(most):
            found = subscription.handle.take_message(subscription.msg_type, True)
            if found is None:
                break
            yield found


def read(data: bytes, kind: type) -> object:
    """Return the message in serialized data.

    Raises
    ------
    UnreadableError
        If the data are not a message of this type.
    """
    # The first four bytes define byte order and encoding, and their last two bits the number of padding bytes at the
    # end. If the data are shorter than that, Fast CDR 2.3.3 reads beyond the end of its buffer
    # (`Cdr::read_encapsulation`): the message contains foreign memory, or the process ends by SIGSEGV.
    if len(data) < 4 or data[3] & 3 > len(data) - 4:
        raise UnreadableError(f"{_describe_bytes(data, kind)}: too short for a header")
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # the type of rclpy's exception depends on the field
        raise UnreadableError(_describe_bytes(data, kind)) from error


def _describe_bytes(data: bytes, kind: type) -> str:
    return f"{len(data)} bytes that are not a {kind.__module__.partition('.')[0]}/{kind.__name__}"


def _copy_profile(qos: QoSProfile | int) -> QoSProfile:
    """Return a copy of a profile, into which rclpy may write overrides."""
    return QoSProfile(depth=qos) if isinstance(qos, int) else copy.copy(qos)

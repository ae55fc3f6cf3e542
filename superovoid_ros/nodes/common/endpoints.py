# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics, services and timers of a node: quality of service, guarded callbacks, and closing them together.

rclpy's executors raise what a callback raises, which ends the node. The callbacks of `Endpoints` never raise: an error
is handed to its owner, which logs and counts it.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from superovoid_ros.nodes.common.mistakes import InputError, UnreadableError, reason_of
from superovoid_ros.nodes.common.throttle import Log

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
# The usual depth of a service is 10: of 16 calls that arrive while one is answered, 6 would be lost without a word.
SERVICE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
# What a client may publish at once. Fast DDS keeps at most 5000 messages of a topic: of a longer queue it refuses the
# newest ones instead of dropping the oldest, which shows much later.
EVERY = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
_MOST_PUBLISHERS = 1_000  # of a topic, whose numbers are kept
_TAKEN_TOGETHER = 200  # of a topic whose messages all count, before anything else has its turn
_REST = 0.05  # s, after messages of a topic that wake the node no more often
_DELIVERY = 1.0  # s, longest wait of `close` for acknowledgments: a killed subscriber sends none
POLICIES = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)
"""What `qos_overrides.<topic>.<subscription or publisher>.<policy>` can set."""


class LostMessages:
    """Count the lost messages of a topic, by the numbers that each publisher gives to its messages.

    A full queue drops its oldest message, and Fast DDS raises no event for it: the number of the next message does not
    follow the previous number.

        numbers taken of a publisher    lost
        1 2 3                           0
        7 8                             0: the first six were published before this subscription was there
        1 2 5                           2
        7 8, from a queue that was full 1 at least: the first six may have been dropped

    Parameters
    ----------
    depth
        How many messages the queue holds.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._newest: dict[bytes, int] = {}  # number, by publisher, the one silent for longest first
        self._taken = 0
        self._begins_late = self._has_forgotten = False

    def before(self, info: Mapping[str, Any]) -> int:
        """Return how many messages were lost between a message and the one before it of the same publisher.

        Parameters
        ----------
        info
            rclpy's information about the message. With middleware that does not number messages, or does not name
            publishers, only a full queue shows a loss.
        """
        self._taken += 1
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        lost = 0
        if number is None or publisher is None:
            self._begins_late = True
        else:
            key = bytes(publisher["data"])
            before = self._newest.pop(key, None)
            if before is None:
                self._begins_late = self._begins_late or number > 1
                lost = int(number > 1 and self._has_forgotten)
            else:
                lost = max(0, number - before - 1)
            self._newest[key] = number if before is None else max(number, before)
            if len(self._newest) > _MOST_PUBLISHERS:
                del self._newest[next(iter(self._newest))]
                self._has_forgotten = True
        if self._begins_late and self._taken >= self._depth:
            self._begins_late = False
            lost += 1
        return lost

    def is_empty(self) -> None:
        """Note that the queue was found empty: until now nothing else was dropped."""
        self._taken, self._begins_late = 0, False


class TakenMessage(NamedTuple):
    """What was taken of a topic."""

    message: object
    """Or an `UnreadableError`."""
    lost: int
    """Number of messages of the same publisher lost just before it."""
    size: int
    """Bytes."""


Failed = Callable[[str, Exception], None]
"""Takes the name of a topic, service or timer and what its callback raised."""


def failures_of(node: Node) -> Failed:
    """Return the receiver of callback errors: the node's method `failed` if it has one, otherwise its log."""
    log = Log(node)
    return getattr(node, "failed", None) or (lambda what, error: log.error(what, words_of(what, error)))


def words_of(what: str, error: Exception) -> str:
    """Return a line for the log about an error of a callback."""
    if isinstance(error, UnreadableError):
        return f"{what}: what arrived cannot be read and is ignored: {error}"
    return f"{what}: {reason_of(error)}"


class _Rests(ReentrantCallbackGroup):
    """Keeps a subscription out of the executor's wait set for a while after each message."""

    def __init__(self, wakes: Callable[[], bool]) -> None:
        super().__init__()
        self._wakes, self._until = wakes, 0.0

    def can_execute(self, entity: object) -> bool:
        """Return whether the executor may wait for the subscription."""
        return self._wakes() or time.monotonic() >= self._until

    def rest(self) -> None:
        """Begin a rest."""
        self._until = time.monotonic() + _REST


class Endpoints:
    """The topics, services and timers of one owner.

    Parameters
    ----------
    node
        On which they are opened.
    failed
        Receives exceptions of callbacks. Default: `failures_of` the node.
    """

    def __init__(self, node: Node, failed: Failed | None = None) -> None:
        self._node, self._failed = node, failed or failures_of(node)
        self._opened: dict[object, Callable[[Any], object]] = {}  # with what closes it

    def close(self) -> None:
        """Close all of them. Wait for acknowledgments first: closing a publisher discards undelivered messages."""
        end = time.monotonic() + _DELIVERY
        for publisher in (entity for entity in self._opened if isinstance(entity, Publisher)):
            with contextlib.suppress(RuntimeError):  # middleware without acknowledgments
                publisher.wait_for_all_acked(Duration(seconds=max(end - time.monotonic(), 0.0)))
        while self._opened:
            entity, destroy = self._opened.popitem()
            destroy(entity)

    def listen(self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile | int) -> Subscription:
        """Subscribe with a quality of service that parameters override.

        Messages come as bytes and are read here (`read`), so that malformed bytes are logged and counted. A turn of
        rclpy's executor takes one message of a subscription. If turns take longer than the sender's period, messages
        would wait until the queue is full, so the callback takes all that have arrived.

        Raises
        ------
        InputError
            If an override makes no sense.
        """
        handle = self._guarded(topic, lambda data: callback(read(data, kind)))

        def take(data: bytes) -> None:
            handle(data)
            _take_arrived(subscription, kind, handle)

        subscription = self._subscribe(kind, topic, take, qos)
        return subscription

    def listen_to_every(
        self, kind: type, topic: str, callback: Callable[[Sequence[TakenMessage]], None], qos: QoSProfile = EVERY
    ) -> Subscription:
        """Subscribe to a topic whose lost messages must be noticed.

        Parameters
        ----------
        kind, topic
            As for `listen`.
        callback
            Takes all messages that arrived together, in order.
        qos
            Parameters override it; the depth must be in [1, 5000].

        Raises
        ------
        InputError
            As for `listen`, and for a depth out of range.
        """

        def take(data: bytes, info: Mapping[str, Any]) -> None:
            together = [_taken(data, info, kind, lost)]
            with subscription.handle:
                while len(together) < _TAKEN_TOGETHER:
                    found = subscription.handle.take_message(kind, True)
                    if found is None:
                        lost.is_empty()
                        break
                    together.append(_taken(*found, kind, lost))
            callback(together)

        subscription = self._subscribe(kind, topic, take, qos, with_info=True)
        depth = subscription.qos_profile.depth
        if not 1 <= depth <= EVERY.depth:
            name = f"qos_overrides.{self._node.resolve_topic_name(topic)}.subscription.depth"
            raise InputError(f"{name} = {depth}: must be in [1, {EVERY.depth}], so that a lost message is noticed")
        lost = LostMessages(depth)
        return subscription

    def listen_at_rest(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        wakes: Callable[[], bool],
        changed: Callable[[], None],
    ) -> Callable[[], None]:
        """Subscribe to a topic that may be fast, and whose messages count only when they are used.

        For each message that wakes it, rclpy's executor lists all entities of the node twice, which takes longer than
        reading the message. So messages wake the node every `_REST` at most, and who uses them takes all that have
        arrived first.

        Parameters
        ----------
        kind, topic, callback
            As for `listen`; the callback is for any thread.
        qos
            Parameters override it. The depth should suffice for the messages of two rests and of a turn of the
            executor.
        wakes
            Returns whether every message is to wake the node.
        changed
            Called on the executor's thread after messages that woke the node.

        Returns
        -------
        callable
            Takes what has arrived; for any thread.

        Raises
        ------
        InputError
            As for `listen`.
        """
        handle = self._guarded(topic, lambda data: callback(read(data, kind)))
        group = _Rests(wakes)

        def woken(data: bytes) -> None:
            handle(data)
            _take_arrived(subscription, kind, handle)
            group.rest()
            changed()

        subscription = self._subscribe(kind, topic, woken, qos, group=group)
        return partial(_take_arrived, subscription, kind, handle)

    def _subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., None],
        qos: QoSProfile | int,
        *,
        with_info: bool = False,
        group: CallbackGroup | None = None,
    ) -> Subscription:
        guarded = self._guarded(topic, callback)
        return self._open(
            topic,
            self._node.destroy_subscription,
            lambda: self._node.create_subscription(
                kind,
                topic,
                (lambda data, info: guarded(data, info)) if with_info else guarded,  # rclpy counts the parameters
                _own(qos),
                callback_group=group,
                raw=True,
                # `mismatches.py` reports what these would.
                event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
                qos_overriding_options=QoSOverridingOptions(POLICIES),
            ),
        )

    def advertise(
        self, kind: type, topic: str, qos: QoSProfile | int, matched: Callable[[], None] | None = None
    ) -> Publisher:
        """Advertise with a quality of service that parameters override; `InputError` as `listen`.

        `matched` is called when a subscriber has come or gone.
        """
        events = PublisherEventCallbacks(
            matched=matched and self._guarded(topic, lambda _status: matched()), use_default_callbacks=False
        )
        return self._open(
            topic,
            self._node.destroy_publisher,
            lambda: self._node.create_publisher(
                kind,
                topic,
                _own(qos),
                event_callbacks=events,
                qos_overriding_options=QoSOverridingOptions(POLICIES),
            ),
        )

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Open a service that many clients may call at once; its callback never raises.

        The callback may be a coroutine function. While one call waits, others are begun: each service has a reentrant
        callback group.
        """
        service = self._node.create_service(
            kind, name, callback, qos_profile=SERVICE, callback_group=ReentrantCallbackGroup()
        )
        self._opened[service] = self._node.destroy_service

    def act(
        self,
        kind: type,
        name: str,
        execute: Callable[[ServerGoalHandle], Any],
        cancel: Callable[[ServerGoalHandle], None],
    ) -> ActionServer:
        """Open an action; several goals may be under way.

        Parameters
        ----------
        kind, name
            Of the action.
        execute
            Coroutine function that ends a goal and returns its result.
        cancel
            Hears that a goal is to end.
        """

        def accept(handle: ServerGoalHandle) -> CancelResponse:
            self._guarded(name, cancel)(handle)
            return CancelResponse.ACCEPT

        # Remapping rules are for services and topics; ours may name an action.
        resolved, group = self._node.resolve_service_name(name), ReentrantCallbackGroup()
        server = ActionServer(self._node, kind, resolved, execute, callback_group=group, cancel_callback=accept)
        self._opened[server] = lambda opened: opened.destroy()
        return server

    def client_of_action(self, kind: type, name: str) -> ActionClient:
        """Return a client of an action."""
        resolved = self._node.resolve_service_name(name)
        client = ActionClient(self._node, kind, resolved, callback_group=ReentrantCallbackGroup())
        self._opened[client] = lambda opened: opened.destroy()
        return client

    def every(self, seconds: float, callback: Callable[[], None], *, steady: bool = True) -> Timer:
        """Start a timer, by a steady clock (`steady`), or by the clock of the node, which a simulation may stop."""
        timer = self._node.create_timer(
            seconds,
            self._guarded("timer", callback),
            clock=Clock(clock_type=ClockType.STEADY_TIME) if steady else None,
        )
        self._opened[timer] = self._node.destroy_timer
        return timer

    def stop(self, timer: Timer | None) -> None:
        """Close a timer, if there is one and `close` has not."""
        if timer in self._opened:
            self._opened.pop(timer)(timer)

    def _guarded(self, what: str, callback: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: object) -> None:
            try:
                callback(*arguments)
            except Exception as error:
                if self._node.context.ok():  # else the node is ending
                    self._failed(what, error)

        return run

    def _open(self, topic: str, destroy: Callable[[Any], object], create: Callable[[], Any]) -> Any:
        try:
            entity = create()
        # What rclpy raises for a policy that does not exist, a wrong type and a negative depth.
        except (ParameterException, RuntimeError, TypeError, ValueError, AssertionError) as error:
            raise InputError(f"qos_overrides.{self._node.resolve_topic_name(topic)}: {error}") from error
        self._opened[entity] = destroy
        return entity


def _take_arrived(subscription: Subscription, kind: type, handle: Callable[[bytes], None]) -> None:
    """Take the messages that wait in the queue of a subscription; for any thread."""
    with contextlib.suppress(InvalidHandle), subscription.handle:  # a thread may outlast the subscription
        for _ in range(subscription.qos_profile.depth):
            found = subscription.handle.take_message(kind, True)
            if found is None:
                break
            handle(found[0])


def _taken(data: bytes, info: Mapping[str, Any], kind: type, lost: LostMessages) -> TakenMessage:
    count = lost.before(info)
    try:
        return TakenMessage(read(data, kind), count, len(data))
    except UnreadableError as error:
        return TakenMessage(error, count, len(data))


def read(data: bytes, kind: type) -> object:
    """Return the message that bytes are.

    Raises
    ------
    UnreadableError
        If they are none.
    """
    # The first four bytes give byte order and encoding, and their last two bits the number of padding bytes at the
    # end. If the data are shorter than that, Fast CDR 2.3.3 reads beyond the end of its buffer
    # (`Cdr::read_encapsulation`): foreign memory becomes a message, or the process ends by SIGSEGV.
    if len(data) < 4 or data[3] & 3 > len(data) - 4:
        raise UnreadableError(f"{_named(data, kind)}: they end before the message begins")
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # whatever rclpy raises; the type depends on the field
        raise UnreadableError(_named(data, kind)) from error


def _named(data: bytes, kind: type) -> str:
    return f"{len(data)} bytes that are no {kind.__module__.partition('.')[0]}/{kind.__name__}"


def _own(qos: QoSProfile | int) -> QoSProfile:
    """Return a profile that rclpy may write overrides into."""
    return QoSProfile(depth=qos) if isinstance(qos, int) else copy.copy(qos)

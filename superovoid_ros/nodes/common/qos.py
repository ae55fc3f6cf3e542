# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics and services are opened here: with which quality of service, how users override it, and how bytes are read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription

from superovoid_ros.nodes.common.lost_messages import LostMessages
from superovoid_ros.nodes.common.mistakes import InputError, UnreadableError

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
# The usual depth of a service is 10: of 16 calls that arrive while one is answered, 6 would be lost without a word.
SERVICE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
# What a client may publish at once. Fast DDS keeps at most 5000 messages of a topic: of a longer queue it refuses the
# newest ones instead of dropping the oldest, which shows much later.
EVERY = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
_TAKEN_TOGETHER = 200  # of a topic whose messages all count, before anything else has its turn
POLICIES = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)
"""What `qos_overrides.<topic>.<subscription or publisher>.<policy>` can set."""


def listen(
    node: Node, kind: type, topic: str, callback: Callable[[object], None], qos: QoSProfile | int
) -> Subscription:
    """Subscribe with a quality of service that parameters override; `InputError` naming one without sense.

    The messages come as bytes and are read here (`read`), so that bytes which are no message can be told and counted.
    """
    return _subscription(node, kind, topic, lambda data: callback(read(data, kind)), qos)


def _subscription(
    node: Node, kind: type, topic: str, callback: Callable[..., None], qos: QoSProfile | int
) -> Subscription:
    return _open(
        node,
        topic,
        lambda: node.create_subscription(
            kind,
            topic,
            callback,
            _own(qos),
            raw=True,
            # `mismatches.py` says what these would.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            qos_overriding_options=QoSOverridingOptions(POLICIES),
        ),
    )


class Taken(NamedTuple):
    """What was taken of a topic."""

    message: object
    """Or an `UnreadableError`."""
    lost: int
    """Messages of the same publisher that were lost just before it."""


def listen_to_every(
    node: Node, kind: type, topic: str, callback: Callable[[Sequence[Taken]], None], qos: QoSProfile = EVERY
) -> Subscription:
    """Subscribe to a topic of which no message may be lost unnoticed; `InputError` as `listen`.

    Parameters
    ----------
    node, kind, topic
        As for `listen`.
    callback
        Takes all messages that have come together, in their order.
    qos
        Parameters override it; the depth must be in [1, 5000].
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

    subscription = _subscription(node, kind, topic, take, qos)
    depth = subscription.qos_profile.depth
    if not 1 <= depth <= EVERY.depth:
        node.destroy_subscription(subscription)
        name = f"qos_overrides.{node.resolve_topic_name(topic)}.subscription.depth"
        raise InputError(f"{name} = {depth}: must be in [1, {EVERY.depth}], so that a lost message is noticed")
    lost = LostMessages(depth)
    return subscription


def _taken(data: bytes, info: Mapping[str, Any], kind: type, lost: LostMessages) -> Taken:
    count = lost.before(info)
    try:
        return Taken(read(data, kind), count)
    except UnreadableError as error:
        return Taken(error, count)


def read(data: bytes, kind: type) -> object:
    """Return the message that bytes are.

    Raises
    ------
    UnreadableError
        If they are none.
    """
    # The first four bytes tell byte order and encoding; the last two bits of them, how many bytes at the end are
    # padding. Fast CDR 2.3.3 believes these where there are fewer, and then reads on beyond the end of its buffer
    # (`Cdr::read_encapsulation`): foreign memory becomes a message, or the process ends by SIGSEGV.
    if len(data) < 4 or data[3] & 3 > len(data) - 4:
        raise UnreadableError(f"{_named(data, kind)}: they end before the message begins")
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # whatever rclpy raises; the type depends on the field
        raise UnreadableError(_named(data, kind)) from error


def _named(data: bytes, kind: type) -> str:
    return f"{len(data)} bytes that are no {kind.__module__.partition('.')[0]}/{kind.__name__}"


def advertise(
    node: Node, kind: type, topic: str, qos: QoSProfile | int, events: PublisherEventCallbacks | None = None
) -> Publisher:
    """Advertise with a quality of service that parameters override; `InputError` naming one without sense."""
    return _open(
        node,
        topic,
        lambda: node.create_publisher(
            kind,
            topic,
            _own(qos),
            event_callbacks=events or PublisherEventCallbacks(use_default_callbacks=False),
            qos_overriding_options=QoSOverridingOptions(POLICIES),
        ),
    )


def serve(
    node: Node,
    kind: type,
    name: str,
    callback: Callable[[object, object], object],
    callback_group: CallbackGroup | None = None,
) -> Service:
    """Open a service that many clients may call at once."""
    return node.create_service(kind, name, callback, qos_profile=SERVICE, callback_group=callback_group)


def _own(qos: QoSProfile | int) -> QoSProfile:
    """Return a profile that rclpy may write overrides into."""
    return QoSProfile(depth=qos) if isinstance(qos, int) else copy.copy(qos)


def _open(node: Node, topic: str, create: Callable[[], object]) -> object:
    try:
        return create()
    # What rclpy raises for a policy that does not exist, a wrong type and a negative depth.
    except (ParameterException, RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise InputError(f"qos_overrides.{node.resolve_topic_name(topic)}: {error}") from error

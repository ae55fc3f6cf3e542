# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Says so where nothing can come through a topic of the node: another type, or a quality of service that does not fit.

rclpy reports this by events, two for every topic. Its executor checks all of them several times in every call of a
service, which made a short call a tenth slower. So this module searches for mismatches periodically, and the message
names the node at the other end.
"""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from superovoid_ros.nodes.common.throttle import Log

_UNNAMED = "_NODE_NAME_UNKNOWN_"  # the word of rmw
_LOOKS_FOR_A_NAME = 5


class Mismatches:
    """Compares the ends of a node's topics with those of other nodes, and logs each that does not fit once."""

    def __init__(self, node: Node, log: Log) -> None:
        self._node, self._log = node, log
        self._told: dict[tuple[str, bytes], str] = {}
        self._nameless: dict[tuple[str, bytes], int] = {}  # looks at which an end's node had no name yet

    def forget(self) -> None:
        """Forget what was logged."""
        self._told.clear()
        self._nameless.clear()

    def facts(self) -> dict[str, object]:
        """Return how many other nodes' ends do not fit, for diagnostics."""
        return {"mismatched topic ends": len(self._told)}

    def look(self) -> None:
        """Look at all topics."""
        found = dict(self._mismatches())
        # Discovery finds a topic's end before its node. Ends without a name are reported later.
        self._nameless = {
            end: self._nameless.get(end, 0) + 1
            for end in found.keys() - self._told.keys()
            if _UNNAMED in found[end] and self._nameless.get(end, 0) < _LOOKS_FOR_A_NAME
        }
        for end in self._nameless:
            del found[end]
        for end in found.keys() - self._told.keys():
            self._log.warning("mismatches", found[end])
        self._told = found

    def _mismatches(self) -> Iterator[tuple[tuple[str, bytes], str]]:
        """Yield the endpoints of others that do not match, with a line about each."""
        node = self._node
        for ours in node.subscriptions:
            topic = ours.topic_name
            found = self._apart(node.get_subscriptions_info_by_topic(topic), node.get_publishers_info_by_topic(topic))
            for own, theirs in found:
                why = _why(theirs, ours, theirs.qos_profile, own.qos_profile, "subscription")
                if why:
                    yield (topic, bytes(theirs.endpoint_gid)), _received_from(theirs, topic, why)
        for ours in node.publishers:
            topic = ours.topic_name
            found = self._apart(node.get_publishers_info_by_topic(topic), node.get_subscriptions_info_by_topic(topic))
            for own, theirs in found:
                why = _why(theirs, ours, own.qos_profile, theirs.qos_profile, "publisher")
                if why:
                    yield (
                        (topic, bytes(theirs.endpoint_gid)),
                        f"node '{_name(theirs)}' receives nothing on '{topic}': {why}",
                    )

    def _apart(
        self, same: list[TopicEndpointInfo], other: list[TopicEndpointInfo]
    ) -> Iterator[tuple[TopicEndpointInfo, TopicEndpointInfo]]:
        """Yield this node's own end of a topic, as it is reported like all others, with each end opposite.

        Not the requested profile: an unset deadline is 0 there, and infinite in the reported one.
        """
        name = self._node.get_fully_qualified_name()
        for own in (end for end in same if _name(end) == name):
            for theirs in other:
                yield own, theirs


def _received_from(theirs: TopicEndpointInfo, topic: str, why: str) -> str:
    return f"nothing is received from node '{_name(theirs)}' on '{topic}': {why}"


def _why(
    theirs: TopicEndpointInfo, ours: Publisher | Subscription, offered: QoSProfile, wanted: QoSProfile, entity: str
) -> str:
    """Return why nothing comes through and what can be done; empty if it does."""
    kind = f"{ours.msg_type.__module__.partition('.')[0]}/msg/{ours.msg_type.__name__}"
    if theirs.topic_type != kind:
        return f"the type there is {theirs.topic_type}, here {kind}"
    verdict, reason = qos_check_compatible(offered, wanted)
    if verdict != QoSCompatibility.ERROR:
        return ""
    reason = reason.strip().removeprefix("ERROR: ").rstrip(";")
    return f"{reason} (of this end: parameters qos_overrides.{ours.topic_name}.{entity}...)"


def _name(end: TopicEndpointInfo) -> str:
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"

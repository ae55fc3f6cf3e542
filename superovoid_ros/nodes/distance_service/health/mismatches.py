# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Log messages about topics on which a type or quality of service prevents communication with another node.

rclpy reports a mismatch by events, two for every topic. Its executor checks all of them several times in every call of
a service, which made a short call a tenth slower. So this part searches for mismatches periodically, and its message
names the other node.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rclpy.publisher import Publisher
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from superovoid_ros.nodes.distance_service.part import Common, Part

_LOOK = 2.0  # s between two searches
_UNNAMED = "_NODE_NAME_UNKNOWN_"  # placeholder of rmw for a node that is discovered after its topics


class Mismatches(Part):
    """Part that compares the endpoints of the node's topics with those of other nodes, and logs each mismatch once."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._reported: dict[tuple[str, bytes], str] = {}

    def configure(self) -> None:
        """Start to search."""
        self.endpoints.start_timer(_LOOK, self._look)

    def clean_up(self) -> None:
        """Stop, and forget which mismatches were logged."""
        self._reported.clear()

    def facts(self) -> dict[str, object]:
        """Return the number of mismatched endpoints of other nodes, for the diagnostics."""
        return {"mismatched endpoints": len(self._reported)}

    def _look(self) -> None:
        """Search all topics for mismatches, and log new ones."""
        found = dict(self._mismatches())
        for end in found.keys() - self._reported.keys():
            self.log.warning("mismatches", found[end])
        self._reported = found

    def _mismatches(self) -> Iterator[tuple[tuple[str, bytes], str]]:
        """Yield mismatched endpoints of other nodes, with a log line about each."""
        node, name = self.node, self.node.get_fully_qualified_name()
        publishers, subscriptions = node.get_publishers_info_by_topic, node.get_subscriptions_info_by_topic
        for ours, entity in (
            *((one, "subscription") for one in node.subscriptions),
            *((one, "publisher") for one in node.publishers),
        ):
            topic, listens = ours.topic_name, entity == "subscription"
            same, other = (subscriptions, publishers) if listens else (publishers, subscriptions)
            # Use this node's endpoint as reported by discovery, not the requested profile: an unset deadline is 0 in
            # the reported profile and infinite in the requested one.
            for own, theirs in product((end for end in same(topic) if _name(end) == name), other(topic)):
                offered, wanted = (theirs, own) if listens else (own, theirs)
                why = _mismatch(theirs, ours, offered.qos_profile, wanted.qos_profile, entity)
                if why and theirs.node_name != _UNNAMED:
                    whom = f"node '{_name(theirs)}'"
                    words = f"nothing is received from {whom}" if listens else f"{whom} receives nothing"
                    yield (topic, bytes(theirs.endpoint_gid)), f"{words} on '{topic}': {why}"


def _mismatch(
    theirs: TopicEndpointInfo, ours: Publisher | Subscription, offered: QoSProfile, wanted: QoSProfile, entity: str
) -> str:
    """Return the reason for a mismatch and its remedy; empty if the endpoints match."""
    kind = f"{ours.msg_type.__module__.partition('.')[0]}/msg/{ours.msg_type.__name__}"
    if theirs.topic_type != kind:
        return f"its type is {theirs.topic_type}, this node's {kind}"
    verdict, reason = qos_check_compatible(offered, wanted)
    if verdict != QoSCompatibility.ERROR:
        return ""
    reason = reason.strip().removeprefix("ERROR: ").rstrip(";")
    return f"{reason} (of this node: parameters qos_overrides.{ours.topic_name}.{entity}...)"


def _name(end: TopicEndpointInfo) -> str:
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"

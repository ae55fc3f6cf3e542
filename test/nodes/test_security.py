"""The SROS 2 policy that is shipped allows each node what it has, and nothing else."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from conftest import ROOT

import arm

POLICY = ROOT / "config" / "security" / "policy.xml"
# Only with use_sim_time, publish_clock, publish_robot_description, and as rclpy likes.
SOMETIMES = {"/clock", "/robot_description", "/robot_description_semantic", "/parameter_events"}


def allowed(node, kind, what):
    """Return the full names that the policy allows a node."""
    (enclave,) = (one for one in ElementTree.parse(POLICY).iter("enclave") if one.get("path") == f"/superovoid/{node}")
    (profile,) = enclave.iter("profile")
    assert (profile.get("ns"), profile.get("node")) == ("/", node)
    names = [
        entry.text for group in profile.iter(f"{kind}s") if group.get(what) == "ALLOW" for entry in group.iter(kind)
    ]
    return {f"/{node}{name[1:]}" if name.startswith("~") else f"/{name}" for name in names}


@pytest.mark.parametrize(
    ("node", "parameters"), [("distance_service", {**arm.DESCRIPTIONS}), ("sweep_player", {"paused": True})]
)
def test_policy_has_the_topics_and_services_of_the_node(start_node, client, node, parameters):
    start_node(node, **parameters)
    seen = client.node
    services = allowed(node, "service", "reply")

    def offered():
        if (node, "/") not in seen.get_node_names_and_namespaces():
            return set()
        return {name for name, _ in seen.get_service_names_and_types_by_node(node, "/")}

    def differing():
        """Return what is there and not allowed, or the other way round; discovery takes a while."""
        if offered() != services:
            return offered() ^ services
        found = set()
        for what, names in (
            ("publish", {name for name, _ in seen.get_publisher_names_and_types_by_node(node, "/")}),
            ("subscribe", {name for name, _ in seen.get_subscriber_names_and_types_by_node(node, "/")}),
        ):
            there = allowed(node, "topic", what)
            found |= (names - there) | (there - names - SOMETIMES)
        return found

    assert client.wait(lambda: not differing(), 120.0), differing()

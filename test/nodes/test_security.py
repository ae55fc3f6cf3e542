# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The SROS 2 policy that is shipped allows each node what it has, and nothing else."""

from xml.etree import ElementTree

import pytest

from superovoid_ros.client.caller import Caller
from superovoid_ros.nodes.distance_service.health.diagnostics import Status

import arm
from node_processes import ROOT

POLICY = ROOT / "config" / "security" / "policy.xml"
_CALLS, _NEWS = ("send_goal", "cancel_goal", "get_result"), ("feedback", "status")
ACTIONS = {
    "execute": {("service", "reply"): _CALLS, ("topic", "publish"): _NEWS},
    "call": {("service", "request"): _CALLS, ("topic", "subscribe"): _NEWS},
}
"""What sros2 makes of the right to an action."""
CONTROLLERS = {"controllers": str(ROOT / "config" / "moveit_controllers.yaml")}
# A player that plays by the time that it publishes itself would stand still.
NOT_TOGETHER = {"sweep_player": {"/clock"}}
# Only with the parameter `planning_scene_service`.
NOT_REQUESTED = {"/get_planning_scene"}
WITHOUT_BOND = {"/bond"} if Status is None else set()
PLAYED = {"paused": True, "publish_clock": True, "publish_robot_description": True}


def allowed_names(node, kind, what, name):
    """Return the full names that the policy allows a node if its name is `name`."""
    (enclave,) = (one for one in ElementTree.parse(POLICY).iter("enclave") if one.get("path") == f"/superovoid/{node}")
    (profile,) = enclave.iter("profile")
    assert (profile.get("ns"), profile.get("node")) == ("/", node)
    names = [
        entry.text for group in profile.iter(f"{kind}s") if group.get(what) == "ALLOW" for entry in group.iter(kind)
    ]
    for right, parts in ACTIONS.items():
        actions = [one.text for group in profile.iter("actions") if group.get(right) == "ALLOW" for one in group]
        names += [f"{action}/_action/{part}" for action in actions for part in parts.get((kind, what), ())]
    return {f"/{name}{one[1:]}" if one.startswith("~") else f"/{one}" for one in names}


# With everything that is on demand.
@pytest.mark.ci
@pytest.mark.parametrize(
    ("node", "parameters"),
    [
        ("distance_service", {**arm.DESCRIPTIONS, **CONTROLLERS, "use_sim_time": True}),
        ("simulated_controllers", {**CONTROLLERS, "use_sim_time": True}),
        ("sweep_player", PLAYED),
    ],
)
def test_the_policy_has_the_nodes_topics_and_services_alone(start_node, client, node, parameters):
    # The graph of a participant that saw a node end can keep its name without endpoints, so the name and the
    # participant are used here alone.
    name = f"{node}_alone"
    start_node(node, name, **parameters)

    def allowed(kind, what):
        return allowed_names(node, kind, what, name)

    def difference(seen):
        """Return what is there and not allowed, or the other way round; discovery takes a while."""
        if (name, "/") not in seen.get_node_names_and_namespaces():
            return {name}
        listens = allowed("topic", "subscribe") - NOT_TOGETHER.get(node, set())
        rights = (
            (seen.get_service_names_and_types_by_node, allowed("service", "reply")),
            (seen.get_client_names_and_types_by_node, allowed("service", "request") - NOT_REQUESTED),
            (seen.get_publisher_names_and_types_by_node, allowed("topic", "publish") - WITHOUT_BOND),
            (seen.get_subscriber_names_and_types_by_node, listens),
        )
        return set().union(*({one for one, _ in found(name, "/")} ^ there for found, there in rights))

    with Caller("observer") as observer:
        assert client.wait(lambda: not difference(observer.node), 120.0), (
            difference(observer.node),
            observer.node.get_node_names_and_namespaces(),
        )

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages, requests and parameters that nobody meant, for a node that runs; and whether the witness would notice."""

from __future__ import annotations

import contextlib
import time

import pytest

pytest.importorskip("superovoid_papers.judges.fuzz")


from superovoid_papers.judges.fuzz import MESSAGES, running
from superovoid_ros.nodes.clients.stranger import NAME, SERVICES, TOPICS, WrongAnswerError
from superovoid_ros.tools import fuzzed
from superovoid_ros.tools.fuzzed import tried

from node_processes import TestedNode

# What they are meant to do would end the questions.
SERVICE_TYPES_OF_LIFE = {
    f"lifecycle_msgs/srv/{name}"
    for name in ("ChangeState", "GetState", "GetAvailableStates", "GetAvailableTransitions")
}


@pytest.mark.parametrize(
    ("kinds", "inputs"),
    [(["anything"], 60), pytest.param(list(MESSAGES), 5000, marks=pytest.mark.slow)],
    ids=["of any kind", "of each kind"],
)
def test_node_refuses_or_takes_what_comes_and_the_witness_s_answer_stays_right(loopback_domain, kinds, inputs):
    for report in running.run(kinds, inputs, seed=inputs):
        print(f"{report.kind}: seed {report.seed}, {report.inputs} inputs")
        assert not report.problem, (report.kind, report.problem, report.failing)
        assert report.inputs == report.taken == inputs


@pytest.fixture
def warm(loopback_domain, monkeypatch):
    """Nodes that are tried start as those of other tests."""
    monkeypatch.setattr(fuzzed, "NodeProcess", TestedNode)


def test_every_topic_and_service_of_the_node_is_among_them(warm):
    expected = {*SERVICES, f"{NAME}/set_parameters", f"{NAME}/set_parameters_atomically"}
    from rclpy.impl.implementation_singleton import rclpy_implementation

    unknown = rclpy_implementation.NodeNameNonExistentError
    with tried() as node:
        client = node.stranger.caller.node
        deadline = time.monotonic() + 60.0
        while True:  # discovery tells of one after the other
            topics, services = set(), {}
            with contextlib.suppress(unknown):  # its name may come after its first topics
                topics = {name for name, _ in client.get_subscriber_names_and_types_by_node("distance_service", "/")}
                services = dict(client.get_service_names_and_types_by_node("distance_service", "/"))
            if (topics >= set(TOPICS) and services.keys() >= expected) or time.monotonic() > deadline:
                break
            time.sleep(0.02)
    assert topics - {"/clock", "/parameter_events"} == set(TOPICS)
    others = {name for name, kinds in services.items() if not SERVICE_TYPES_OF_LIFE & set(kinds)}
    assert others == expected


@pytest.mark.parametrize("fault", ["end", "lie", "silence"])
def test_witness_notices_a_node_that_ends_lies_or_falls_silent(warm, monkeypatch, fault):
    from superovoid_ros.nodes.clients import stranger
    from superovoid_ros.tools.process.child import NodeError

    monkeypatch.setattr(fuzzed, "_ANSWER", 5.0 if fault == "silence" else 240.0)
    with pytest.raises((NodeError, WrongAnswerError)), tried() as node:
        node.stranger.ask()
        assert (node.stranger.right, node.stranger.refused) == (1, 0)
        if fault == "end":
            node.process.kill()
        elif fault == "lie":
            monkeypatch.setattr(stranger, "TRUTH", 1.350001)
        else:
            node.process.process.send_signal(19)  # SIGSTOP
        node.stranger.ask()

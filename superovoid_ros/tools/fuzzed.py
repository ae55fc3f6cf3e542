# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages, requests and parameters that nobody meant, for a distance service that runs, and a witness that asks it.

Kinds of `superovoid_papers.judges.fuzz`. The node is a process of its own; after each input a client asks it
for a distance that is known, in a state given as a whole. Whatever came before, the answer is right or a refusal, and
after a refusal the node is put in order by its own services and must answer. An input is the bytes of a damaged
message, with the topic in its first byte, or the seed of a message made by its fields. Requests have no damaged bytes:
these are read below rclpy, and end every node that has a service (`raw_requests`, docs/network.md).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hypothesis import strategies as st

from superovoid_papers.judges.fuzz import Target
from superovoid_papers.judges.fuzz.mutations import mutated
from superovoid_ros.nodes.clients.stranger import TOPICS, URDF, Stranger, WrongAnswerError, sample
from superovoid_ros.tools.process.child import NodeProcess
from superovoid_ros.tools.process.network import own_network

_ANSWER = 240.0  # s; a kind of body that comes for the first time is compiled for
_MOST_MEMORY = 1000.0  # MiB that the node may grow
_MISTAKE = "Traceback"


class Tried:
    """A distance service in a process of its own, and the stranger that sends to it and asks it."""

    def __init__(self) -> None:
        # Objects that make no sense are many here: what is asked about is the robot, whatever is known of the world.
        values = {"robot_description": URDF, "rate": 50.0, "incomplete_world": "warn"}
        self.process = NodeProcess("superovoid_ros.nodes.distance_service", values)
        try:
            self.stranger = Stranger(self.process.check, self.process.output, _ANSWER)
        except BaseException:
            self.process.stop()
            raise
        self._memory = self.process.resident_memory()
        self._seen = 0

    def check(self) -> None:
        """Raise where the node has ended, has grown, or has printed a traceback since the last look."""
        self.process.check()
        grown = self.process.resident_memory() - self._memory
        if grown > _MOST_MEMORY:
            raise WrongAnswerError(f"the node has grown by {grown:.0f} MiB")
        printed = self.process.printed()
        words = self.process.output(max(0, self._seen - len(_MISTAKE)))
        self._seen = printed
        if _MISTAKE in words:
            begin = words.index(_MISTAKE)
            raise WrongAnswerError(words[begin : begin + 4000])

    def close(self) -> None:
        """End node and client."""
        self.stranger.close()
        self.process.stop()


@contextmanager
def tried() -> Iterator[Tried]:
    """Start a node to be tried; what it has done is looked at once more at the end."""
    with own_network("fuzzed"):
        node = Tried()
        try:
            yield node
            node.check()
        finally:
            node.close()


def _target(
    act: Callable[[bytes, Stranger], None], inputs: st.SearchStrategy[bytes] | None = None, first: bytes = bytes(8)
) -> Target:
    """Return what takes an input: `act` gives it to the node, then the witness is asked."""

    def take(data: bytes, node: Tried) -> None:
        act(data, node.stranger)
        node.stranger.ask()
        node.check()

    inputs = st.binary(min_size=8, max_size=8) if inputs is None else inputs
    return Target(inputs, take, (), around=tried, is_alone=False, sample=first)


# --- kinds ---


def message_bytes() -> Target:
    """Bytes of messages on every topic, damaged as bytes."""
    corpus = {index: [sample(index, seed) for seed in range(8)] for index in range(len(TOPICS))}
    inputs = st.sampled_from(range(len(corpus))).flatmap(
        lambda index: mutated(corpus[index]).map(lambda data: bytes([index]) + data)
    )
    return _target(lambda data, stranger: stranger.send_bytes(data[0], data[1:]), inputs, bytes([0]) + corpus[0][0])


def messages() -> Target:
    """Messages on every topic, whatever is in their fields."""
    return _target(lambda data, stranger: stranger.send(random.Random(data)))


def requests() -> Target:
    """Requests to every service, whatever is in their fields; each is answered."""
    return _target(lambda data, stranger: stranger.request(random.Random(data)))


def parameters() -> Target:
    """Parameters, one by one and together: any name, any type, any value."""
    return _target(lambda data, stranger: stranger.set_parameters(random.Random(data)))


def anything() -> Target:
    """All of these to one node, so that each meets what others have left behind; the first byte says which it is."""
    kinds = message_bytes(), messages(), requests(), parameters()
    inputs = st.sampled_from(range(len(kinds))).flatmap(
        lambda kind: kinds[kind].inputs.map(lambda data: bytes([kind]) + data)
    )

    def take(data: bytes, node: Tried) -> None:
        kinds[data[0] % len(kinds)].take(data[1:], node)

    return Target(inputs, take, (), around=tried, is_alone=False, sample=bytes([0]) + kinds[0].sample)

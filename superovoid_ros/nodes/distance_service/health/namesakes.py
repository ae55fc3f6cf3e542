# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Says so where another node has this node's name: each answers every question, by what it was told itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node

from superovoid_ros.nodes.common.throttle import Log

_CRASHED = 30.0  # s; the middleware knows a node for 20 s after it has ended without a word


class Namesakes:
    """Looks for other nodes of this node's name, and logs once that there are some.

    A node that crashed, and was started again, is a namesake of itself until the middleware has forgotten it. So only
    those count that are seen for longer.

    Parameters
    ----------
    node, log
        The node, and its log.
    steady
        Returns the time in seconds; never set.
    """

    def __init__(self, node: Node, log: Log, steady: Callable[[], float] = time.monotonic) -> None:
        self._node, self._log, self._steady = node, log, steady
        self._seen = self._told = 0
        self._since = 0.0

    def forget(self) -> None:
        """Forget what was seen."""
        self._seen = self._told = 0

    @property
    def problem(self) -> str:
        """What is wrong, in words; empty where nothing is."""
        if not self._told:
            return ""
        others = "another node has" if self._told == 1 else f"{self._told} other nodes have"
        return (
            f"{others} the name {self._node.get_fully_qualified_name()} of this one: each answers every question, "
            "and the first answer counts, though robots, objects and parameters may differ. Give each a name or "
            "a namespace of its own (-r __node:=NAME, -r __ns:=/NAME)"
        )

    def facts(self) -> dict[str, object]:
        """Return how many there are, for diagnostics."""
        return {"other nodes of this name": self._told}

    def look(self) -> None:
        """Look at the names of all nodes."""
        own = self._node.get_fully_qualified_name()
        there = self._node.get_node_names_and_namespaces()
        others = max(0, sum(f"{namespace.rstrip('/')}/{name}" == own for name, namespace in there) - 1)
        now = self._steady()
        if others > self._seen:
            self._since = now
        self._seen = others
        if others <= self._told:
            self._told = others
        elif now - self._since >= _CRASHED:
            self._told = others
            self._log.error("namesakes", self.problem)

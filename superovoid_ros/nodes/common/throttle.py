# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Log lines about messages and calls of others: shortened, and limited in rate."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node

from superovoid_ros.nodes.common.mistakes import LOG_PERIOD, shortened

MOST = 10_000
"""Characters of one kind of line in one period; the line that goes beyond is the last."""
_KINDS = 200  # counted separately; others share one count


class Log:
    """A node's log for whatever other nodes can cause.

    Of each kind of line come at most `MOST` characters in five seconds, some fifty lines; those left out are counted,
    and the next line of the kind gives their number.

    Parameters
    ----------
    node
        Whose log it is.
    steady
        Returns the time in seconds; never set.
    """

    def __init__(self, node: Node, steady: Callable[[], float] = time.monotonic) -> None:
        self._logger = node.get_logger()
        self._steady = steady
        self._kinds: dict[str, list[float]] = {}
        """kind -> beginning of the period, characters in it, lines left out"""
        self.left_out = 0

    def error(self, kind: str, words: object) -> None:
        """Say what went wrong; `kind` is what it went wrong with, a topic or a service."""
        line = self._line(kind, words)
        if line:
            self._logger.error(line)

    def warning(self, kind: str, words: object) -> None:
        """Log a line for people."""
        line = self._line(kind, words)
        if line:
            self._logger.warning(line)  # rclpy wants one severity at one place

    def _line(self, kind: str, words: object) -> str:
        """Return the line to write; empty: none."""
        if kind not in self._kinds and len(self._kinds) >= _KINDS:
            kind = ""
        now = self._steady()
        counts = self._kinds.setdefault(kind, [now, 0, 0])
        if now - counts[0] >= LOG_PERIOD:
            counts[:2] = now, 0
        if counts[1] >= MOST:
            counts[2] += 1
            self.left_out += 1
            return ""
        line = shortened(words)
        counts[1] += len(line)
        more = f" ({counts[2]} lines like this one were left out before it)" if counts[2] else ""
        counts[2] = 0
        return line + more

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Log lines about messages and calls of other nodes, limited in length and rate."""

from __future__ import annotations

import time

from rclpy.node import Node

from superovoid_ros.nodes.common.mistakes import LOG_PERIOD, shorten

MOST = 10_000
"""Largest number of characters for one kind of line in one period; the line that exceeds it is the last."""
_KINDS = 200  # kinds counted separately; others share one count


class Log:
    """A node's log for lines that other nodes can cause.

    Each kind of line may write `MOST` characters in five seconds, about fifty lines. Lines beyond that are omitted and
    counted; the next line of the kind reports their number.

    Parameters
    ----------
    node
        The node whose logger is used.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._kinds: dict[str, list[float]] = {}
        """For each kind: start of the period, s, characters written in it, lines omitted."""
        self.left_out = 0

    def error(self, kind: str, words: object) -> None:
        """Log an error; `kind` groups lines for the limit, such as a topic or a service."""
        line = self._line(kind, words)
        if line:
            self._logger.error(line)

    def warning(self, kind: str, words: object) -> None:
        """Log a warning; `kind` as for `error`."""
        line = self._line(kind, words)
        if line:
            self._logger.warning(line)  # rclpy allows only one severity for each call site

    def _line(self, kind: str, words: object) -> str:
        """Return the line to write; empty if it is omitted."""
        if kind not in self._kinds and len(self._kinds) >= _KINDS:
            kind = ""
        now = time.monotonic()
        counts = self._kinds.setdefault(kind, [now, 0, 0])
        if now - counts[0] >= LOG_PERIOD:
            counts[:2] = now, 0
        if counts[1] >= MOST:
            counts[2] += 1
            self.left_out += 1
            return ""
        line = shorten(words)
        counts[1] += len(line)
        more = f" ({counts[2]} similar lines omitted)" if counts[2] else ""
        counts[2] = 0
        return line + more

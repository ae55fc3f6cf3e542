# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Counts of what the node has done, for the diagnostics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from superovoid_ros.nodes.common.mistakes import InputError, shortened


@dataclass
class Counts:
    """Answers in a stretch of time."""

    calls: Counter[str] = field(default_factory=Counter)
    """service -> calls"""
    refused: Counter[str] = field(default_factory=Counter)
    """service -> calls answered with `success: false`, or with the like of it"""
    internal_errors: int = 0
    """calls, messages and timers that failed by a mistake of this package"""
    unreadable: int = 0
    """messages and requests that rclpy could not read"""
    refused_messages: Counter[str] = field(default_factory=Counter)
    """topic -> refused messages"""
    slowest: float = 0.0
    """[s]"""
    slowest_name: str = ""
    uncertified: int = 0
    """pairs answered with status UNPROVEN"""


class Statistics:
    """Counts since the start and since the last look.

    Attributes
    ----------
    total, recent : Counts
        Since the start of the process; since the last `look`.
    reasons : dict
        Service -> why it refused its last call that it refused: some answers have no room for words.
    """

    def __init__(self) -> None:
        self.total = Counts()
        self.recent = Counts()
        self.reasons: dict[str, str] = {}

    def look(self) -> Counts:
        """Return what happened since the last look."""
        recent, self.recent = self.recent, Counts()
        return recent

    def call(self, service: str, error: Exception | None = None) -> None:
        """Count a call of a service, and what kept it from an answer."""
        if error is not None:
            self.reasons[service] = shortened(str(error) or repr(error), 300)
        for counts in (self.total, self.recent):
            counts.calls[service] += 1
            if error is not None:
                counts.refused[service] += 1
                counts.internal_errors += not isinstance(error, InputError)

    def message(self, topic: str, error: Exception) -> None:
        """Count a refused message of a topic, with the reason."""
        for counts in (self.total, self.recent):
            counts.refused_messages[topic] += 1
            counts.internal_errors += not isinstance(error, InputError)

    def fault(self, is_read: bool = True) -> None:
        """Count a callback that failed, or what could not even be read."""
        for counts in (self.total, self.recent):
            counts.internal_errors += is_read
            counts.unreadable += not is_read

    def query(self, name: str, seconds: float, uncertified: int) -> None:
        """Count a query of the scene (or many in one call), by a service or for a topic."""
        for counts in (self.total, self.recent):
            counts.uncertified += uncertified
            if seconds > counts.slowest:
                counts.slowest, counts.slowest_name = seconds, name

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Counts of requests, messages and failures, for the diagnostics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from superovoid_ros.nodes.common.mistakes import InputError, shorten


@dataclass
class RequestCounts:
    """Counts since the start of the process."""

    calls: Counter[str] = field(default_factory=Counter)
    """Number of calls of each service."""
    refused: Counter[str] = field(default_factory=Counter)
    """Number of refused calls of each service: with `success: false` or an error code."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Reason of the last refusal by each service, since some responses have no field for it."""
    internal_errors: int = 0
    """Number of calls, messages and timers that failed because of a bug in this package."""
    unreadable: int = 0
    """Number of messages and requests that rclpy could not deserialize."""
    refused_messages: Counter[str] = field(default_factory=Counter)
    """Number of refused messages on each topic."""
    uncertified: int = 0
    """Number of pairs answered with status UNPROVEN."""

    def call(self, service: str, error: Exception | None = None) -> None:
        """Count a call of a service, with the error that prevented an answer if there was one."""
        self.calls[service] += 1
        if error is not None:
            self.reasons[service] = shorten(str(error) or repr(error), 300)
            self.refused[service] += 1
            self.internal_errors += not isinstance(error, InputError)

    def message(self, topic: str, error: Exception) -> None:
        """Count a refused message of a topic, with the reason."""
        self.refused_messages[topic] += 1
        self.internal_errors += not isinstance(error, InputError)

    def fault(self, is_read: bool = True) -> None:
        """Count a callback that failed, or with `is_read` false a message that could not be deserialized."""
        self.internal_errors += is_read
        self.unreadable += not is_read

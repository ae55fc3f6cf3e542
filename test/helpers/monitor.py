# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A monitor of the diagnostics that nodes publish."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """Return the values of a status by key."""
    return {pair.key: pair.value for pair in status.values}


class Monitor:
    """Listens to /diagnostics.

    Parameters
    ----------
    client
        The client node of the test.
    node
        Name of the node whose diagnostics count.
    """

    def __init__(self, client, node: str = "distance_service") -> None:
        self.client, self._node = client, node
        self.messages = client.collect(DiagnosticArray, "/diagnostics")

    def wait_for(
        self, task: str, accept: Callable[[DiagnosticStatus], bool] = lambda _: True
    ) -> tuple[DiagnosticStatus, dict[str, str]]:
        """Wait for a new status of a task that is accepted, and return it with its values."""
        self.messages.clear()

        def statuses() -> list[DiagnosticStatus]:
            return [one for m in self.messages for one in m.status if one.name == f"{self._node}: {task}"]

        assert self.client.wait(lambda: any(map(accept, statuses()))), statuses()[-1:]
        found = [one for one in statuses() if accept(one)][-1]
        return found, values_of(found)

    def wait_for_value(self, task: str, key: str, value: str) -> None:
        """Wait for a new status of a task with this value."""
        self.wait_for(task, lambda status: values_of(status).get(key) == value)

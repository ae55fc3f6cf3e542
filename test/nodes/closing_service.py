# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with one more part, whose service is closed while it is being called."""

from __future__ import annotations

from std_srvs.srv import Trigger

from superovoid_ros.nodes.common.process import run
from superovoid_ros.nodes.common.qos import serve
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.part import Part


class Closing(Part):
    """A service in whose call the node is cleaned up, as a lifecycle manager does during a long call."""

    def configure(self) -> None:
        serve(self.node, Trigger, "~/close", self._close)

    def _close(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.node.trigger_deactivate()
        self.node.trigger_cleanup()
        return self.answer(response, lambda: "closed")


def create() -> DistanceService:
    """Return a node with the part; it is left to the test to configure it."""
    node = DistanceService()
    node.parts += (Closing(node.common),)
    return node


if __name__ == "__main__":
    raise SystemExit(run(create))

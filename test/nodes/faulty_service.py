# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with mistakes built in, as a bug would make them, and with calls that take for ever."""

from __future__ import annotations

import time

import numpy as np
from std_msgs.msg import String
from std_srvs.srv import Trigger

from superovoid.robot.planning_scene import PlanningScene
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.distance_service.answers import state_validity
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.part import Part


def broadcast() -> None:
    np.zeros(3) + np.zeros(2)


class FaultyPart(Part):
    """Fails in a service, in a topic and in a timer; `contacts` and `objects` break those of the package."""

    def configure(self) -> None:
        self.serve(Trigger, "~/fail", lambda _request, _response: broadcast())
        self.serve(Trigger, "~/break_contacts", self._break_contacts)
        self.serve(Trigger, "~/break_objects", self._break_objects)
        self.serve(Trigger, "~/sleep_aside", self._sleep_aside)
        self.endpoints.listen(String, "~/fail_topic", lambda _message: broadcast(), 10)

    def _break_contacts(self, _request: Trigger.Request, _response: Trigger.Response) -> str:
        state_validity.contacts_of = lambda *_: np.linalg.inv(np.zeros((2, 2)))
        return "broken"

    def _break_objects(self, _request: Trigger.Request, _response: Trigger.Response) -> str:
        PlanningScene.edit = lambda _self: np.linalg.inv(np.zeros((2, 2)))
        return "broken"

    async def _sleep_aside(self, _request: Trigger.Request, _response: Trigger.Response) -> str:
        def work() -> None:
            print("sleeping", flush=True)
            time.sleep(600.0)

        await self.query(10**9, work)
        return "slept"


def create() -> DistanceService:
    """Return a node with the part."""
    node = DistanceService()
    node.parts += (FaultyPart(node.common),)
    return node


if __name__ == "__main__":
    raise SystemExit(run(create))

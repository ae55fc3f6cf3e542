# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with a part by which a test decides when jobs begin, and one with mistakes, as of a bug."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from superovoid.robot.planning_scene import PlanningScene
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.distance_service.answers import state_validity
from superovoid_ros.nodes.distance_service.answers.motions import Share
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.jobs import Jobs, Kind
from superovoid_ros.nodes.distance_service.part import Part

_may_work = {kind: threading.Event() for kind in Kind}
_submitted: Counter[Kind] = Counter()
_result = Jobs.result


def _result_held(self: Jobs, kind: Kind, work: Callable[[], object]) -> Future:
    def wait_and_work() -> object:
        _may_work[kind].wait()
        return work()

    _submitted[kind] += 1
    return _result(self, kind, wait_and_work)


class Hold(Part):
    """Services `~/hold_<kind>` that hold jobs of a kind, or let them go on, and tell how many were submitted."""

    def open(self) -> None:
        for kind in Kind:
            self.endpoints.serve(SetBool, f"~/hold_{kind.name.lower()}", partial(self._hold, kind))

    def _hold(self, kind: Kind, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        (_may_work[kind].clear if request.data else _may_work[kind].set)()
        response.success, response.message = True, str(_submitted[kind])
        return response


def broadcast(*_: object) -> None:
    np.zeros(3) + np.zeros(2)


def invert(*_: object) -> None:
    np.linalg.inv(np.zeros((2, 2)))


BREAKABLE = {
    "contacts": (state_validity, "contacts_of"),
    "objects": (PlanningScene, "edit"),
    "motions": (Share, "end_reason"),
}


class FaultyPart(Part):
    """Fails in a service and in a topic; other services break those of the package, or take for ever."""

    def open(self) -> None:
        self.serve(Trigger, "~/fail", broadcast)
        for name in BREAKABLE:
            self.serve(Trigger, f"~/break_{name}", partial(self._break, name))
        self.serve(Trigger, "~/sleep_aside", self._sleep_aside)

    def configure(self) -> None:
        self.endpoints.listen(String, "~/fail_topic", broadcast, 10)

    def _break(self, name: str, _request: Trigger.Request, _response: Trigger.Response) -> str:
        setattr(*BREAKABLE[name], invert)
        return "broken"

    async def _sleep_aside(self, _request: Trigger.Request, _response: Trigger.Response) -> str:
        def work() -> None:
            print("sleeping", flush=True)
            time.sleep(600.0)

        await self.query(10**9, work)
        return "slept"


class AlteredService(DistanceService):
    """The distance service with these parts."""

    def _make_parts(self) -> None:
        super()._make_parts()
        self.parts += (Hold(self.common), FaultyPart(self.common))


if __name__ == "__main__":
    for event in _may_work.values():
        event.set()
    Jobs.result = _result_held
    raise SystemExit(run(AlteredService))

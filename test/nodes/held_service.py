# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with one more part, by which a test decides how long the reader's work takes."""

from __future__ import annotations

import threading
from dataclasses import replace

from std_srvs.srv import SetBool

from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.part import Part
from superovoid_ros.nodes.distance_service.world.reader import Reader, Task

_may_work = threading.Event()
_do = Reader.do


def _do_when_it_may(self: Reader, task: Task) -> None:
    def work() -> object:
        _may_work.wait()
        return task.work()

    _do(self, replace(task, work=work))


class Hold(Part):
    """A service that holds the reader's work before it starts, and lets it go on."""

    def configure(self) -> None:
        self.endpoints.serve(SetBool, "~/hold", self._hold)

    def _hold(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        def change() -> str:
            (_may_work.clear if request.data else _may_work.set)()
            return "held" if request.data else "let go"

        return self.answer(response, change)


def create() -> DistanceService:
    """Return a node with the part."""
    node = DistanceService()
    node.parts += (Hold(node.common),)
    node.trigger_configure()
    node.trigger_activate()
    return node


if __name__ == "__main__":
    _may_work.set()
    Reader.do = _do_when_it_may
    raise SystemExit(run(create))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with one more part, by which a test decides how long reading takes."""

from __future__ import annotations

import threading

from std_srvs.srv import SetBool

from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.jobs import Job, Jobs, Kind
from superovoid_ros.nodes.distance_service.part import Part

_may_work = threading.Event()
_submit = Jobs.submit


def _submit_held(self: Jobs, job: Job) -> None:
    work = job.work

    def wait_and_work() -> object:
        _may_work.wait()
        return work()

    if job.kind is Kind.READ:
        job.work = wait_and_work
    _submit(self, job)


class Hold(Part):
    """A service that holds what is to be read, and lets it go on."""

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
    Jobs.submit = _submit_held
    raise SystemExit(run(create))

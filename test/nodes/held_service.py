# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with one more part, by which a test decides when jobs of each kind begin."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial

import rclpy
from std_srvs.srv import SetBool

from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.distance_service.distance_service import DistanceService
from superovoid_ros.nodes.distance_service.jobs import Job, Jobs, Kind
from superovoid_ros.nodes.distance_service.part import Part

_may_work = {kind: threading.Event() for kind in Kind}
_submitted: Counter[Kind] = Counter()
_submit = Jobs.submit


def _submit_held(self: Jobs, job: Job) -> None:
    work = job.work

    def wait_and_work() -> object:
        while rclpy.ok() and not _may_work[job.kind].wait(0.05):
            pass  # the end of the process would wait for this thread
        return work()

    job.work = wait_and_work
    _submitted[job.kind] += 1
    _submit(self, job)


class Hold(Part):
    """Services `~/hold_<kind>` that hold jobs of a kind, or let them go on, and tell how many were submitted."""

    def configure(self) -> None:
        for kind in Kind:
            self.endpoints.serve(SetBool, f"~/hold_{kind.name.lower()}", partial(self._hold, kind))

    def _hold(self, kind: Kind, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        (_may_work[kind].clear if request.data else _may_work[kind].set)()
        response.success, response.message = True, str(_submitted[kind])
        return response


def create() -> DistanceService:
    """Return a node with the part."""
    node = DistanceService()
    node.parts += (Hold(node.common),)
    return node


if __name__ == "__main__":
    for event in _may_work.values():
        event.set()
    Jobs.submit = _submit_held
    raise SystemExit(run(create))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A distance service whose jobs start when a test releases them (`test/nodes/altered_service.py`)."""

from __future__ import annotations

from pathlib import Path

from std_srvs.srv import SetBool

SERVICE = str(Path(__file__).resolve().parents[1] / "nodes" / "altered_service.py")


def hold(client, kind: str, is_held: bool) -> int:
    """Hold or release the jobs of a kind; return how many were submitted."""
    return int(client.call(SetBool, f"/distance_service/hold_{kind}", data=is_held).message)


def begin(client, job: str, kind: type, service: str, **request: object) -> object:
    """Send a request whose job is held, and return its future once the node has submitted the job."""
    before = hold(client, job, True)
    asking = client.client(kind, service)
    assert client.wait(asking.service_is_ready)
    future = asking.call_async(kind.Request(**request))
    while hold(client, job, True) == before:
        client.spin(0.02)
    return future

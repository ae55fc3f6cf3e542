# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Client of the two nodes of the demo: the player of frames and the distance service."""

from __future__ import annotations

from rclpy.client import Client
from superovoid_interfaces.srv import GetMinDistance, GetPenetration, PlayFrame

from superovoid_ros.client.caller import Caller

NODES = {"play_frame": "sweep_player", "get_min_distance": "distance_service", "get_penetration": "distance_service"}
"""The node of each service."""
_TYPES = {"play_frame": PlayFrame, "get_min_distance": GetMinDistance, "get_penetration": GetPenetration}


class SweepClient(Caller):
    """Caller of the services in `NODES`."""

    def client_of(self, service: str) -> Client:
        """Return the client of a service."""
        return self.client(_TYPES[service], f"{NODES[service]}/{service}")

    def request(self, service: str, timeout: float, **fields: object) -> object:
        """Call a service and return its response as `Caller.ask` does."""
        return self.ask(self.client_of(service), _TYPES[service].Request(**fields), timeout)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Client of the two nodes of the demo: the player of frames and the distance service."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.client import Client
from superovoid_interfaces.srv import GetMinDistance, GetPenetration, PlayFrame

from superovoid_ros.nodes.common.caller import Caller


class SweepClient(Caller):
    """Client of `sweep_player` and `distance_service`.

    Parameters
    ----------
    namespace
        Namespace of both nodes.
    look
        As for `Caller`.

    Attributes
    ----------
    of_player, of_service : list of rclpy.client.Client
        The clients of each node's services.
    """

    def __init__(self, namespace: str, look: Callable[[], None]) -> None:
        super().__init__("sweep_demo", namespace, look)
        self._play = self.client(PlayFrame, "sweep_player/play_frame")
        self._distance = self.client(GetMinDistance, "distance_service/get_min_distance")
        self._penetration = self.client(GetPenetration, "distance_service/get_penetration")
        self.of_player: list[Client] = [self._play]
        self.of_service: list[Client] = [self._distance, self._penetration]

    def play(self, frame: int, each_turn: Callable[[], None]) -> PlayFrame.Response:
        """Request that a frame be published; `Caller.ask` repeats a lost call."""
        return self.ask(self._play, PlayFrame.Request(frame=frame), each_turn=each_turn)

    def request_nearest(
        self, links_a: Sequence[str], links_b: Sequence[str], each_turn: Callable[[], None]
    ) -> GetMinDistance.Response:
        """Request the closest pair."""
        request = GetMinDistance.Request(links_a=list(links_a), links_b=list(links_b), max_results=1)
        return self.ask(self._distance, request, each_turn=each_turn)

    def request_overlaps(
        self, links_a: Sequence[str], links_b: Sequence[str], each_turn: Callable[[], None]
    ) -> GetPenetration.Response:
        """Request all overlapping pairs."""
        request = GetPenetration.Request(links_a=list(links_a), links_b=list(links_b))
        return self.ask(self._penetration, request, each_turn=each_turn)

"""The services `~/get_min_distance` and `~/get_penetration`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance, GetPenetration

from superovoid_ros.nodes.conversions import fill_pairs
from superovoid_ros.nodes.errors import InputError
from superovoid_ros.nodes.measurements import State
from superovoid_ros.nodes.model import Selection
from superovoid_ros.nodes.part import Part
from superovoid_ros.nodes.qos import serve
from superovoid_ros.robot.planning_scene import query_parts
from superovoid_ros.scene import Scene, SceneResult

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service import DistanceService


def ask(
    node: DistanceService, asker: str, scene: Scene, state: State, selection: Selection, **limits: object
) -> tuple[DistanceArray, SceneResult]:
    """Ask a scene about a state, and return the answer as a message and as arrays; `asker` is for the statistics."""
    message = DistanceArray()
    started = time.perf_counter()
    scene.set_link_poses(state.link_poses)
    result = query_parts(scene, selection.parts, **limits)
    message.solve_time = time.perf_counter() - started
    fill_pairs(message, scene, result, selection.links_a, selection.links_b, selection.owners)
    node.measurements.fill_freshness(message, state)
    node.statistics.query(asker, time.perf_counter() - started, message.unproven)
    return message, result


class Queries(Part):
    """Answers about one state."""

    def configure(self, node: DistanceService) -> None:
        """Open the services."""
        serve(node, GetMinDistance, "~/get_min_distance", self._get_min_distance)
        serve(node, GetPenetration, "~/get_penetration", self._get_penetration)

    def _get_min_distance(
        self, request: GetMinDistance.Request, response: GetMinDistance.Response
    ) -> GetMinDistance.Response:
        def limits() -> dict[str, object]:
            # Of NaN no comparison holds.
            if not request.max_distance >= 0.0:
                raise InputError(f"request: max_distance = {request.max_distance}: must be positive, or 0 for no limit")
            cutoff = request.max_distance or np.inf
            return {"cutoff": cutoff, "max_results": request.max_results or None}

        return self.answer(response, lambda: self._fill(request, response, limits))

    def _get_penetration(
        self, request: GetPenetration.Request, response: GetPenetration.Response
    ) -> GetPenetration.Response:
        def limits() -> dict[str, object]:
            return {"overlapping_only": True, "max_results": request.max_results or None}

        return self.answer(response, lambda: self._fill(request, response, limits))

    def _fill(
        self,
        request: GetMinDistance.Request | GetPenetration.Request,
        response: GetMinDistance.Response | GetPenetration.Response,
        limits: Callable[[], dict[str, object]],
    ) -> str:
        """Fill a response and return its message."""
        chosen_limits = limits()
        model = self.node.robot.model()
        selection = model.select(request.links_a, request.links_b)
        state = self.node.measurements.state(model, request.joint_names, request.joint_positions, request.base_poses)
        is_live = not request.joint_names and not request.base_poses
        scene = model.live if is_live else model.hypothetical
        asker = type(request).__name__.removesuffix("_Request")
        response.distances, _ = ask(self.node, asker, scene, state, selection, **chosen_limits)
        return _summary(response.distances)


def _summary(distances: DistanceArray) -> str:
    """Return words for an answer, the state's age first where it matters."""
    notes = []
    if distances.stale:
        age = max(distances.joint_state_age, distances.base_pose_age)
        notes.append(f"state is {age:.1f} s old")
    if distances.unproven:
        notes.append(f"{distances.unproven} pairs with status UNPROVEN")
    found = len(distances.pairs)
    considered = distances.pairs_considered
    notes.append(f"{found} of {considered} pairs" if found else f"none of {considered} pairs within the limits")
    return "; ".join(notes)

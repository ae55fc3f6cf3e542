# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The services `~/get_min_distance` and `~/get_penetration`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from superovoid_interfaces.msg import DistanceArray, PairDistance
from superovoid_interfaces.srv import GetMinDistance, GetPenetration

from superovoid.contact import Status
from superovoid.robot import Robot
from superovoid.robot.planning_scene import query_parts
from superovoid.scene import Scene, SceneResult
from superovoid.states import StateQuery
from superovoid_ros.nodes.common.mistakes import InputError, refusals
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measurements import Joints, Measurements, State
from superovoid_ros.nodes.distance_service.world.current import CurrentModel
from superovoid_ros.nodes.distance_service.world.model import Selection

# Pairs of an answer; more are refused. The messages of so many take a second to be written.
_MOST_PAIRS = 20_000
_MOST_SPARE = 1000


def ask(
    scene: Scene, state: State, selection: Selection, spare: list[PairDistance] | None = None, **limits: object
) -> tuple[DistanceArray, SceneResult]:
    """Ask a scene about a state, and return the answer as a message, and as arrays; `spare` as of `_message`."""
    started = time.perf_counter()
    with refusals():
        scene.set_link_poses(state.link_poses)
    result = query_parts(scene, selection.parts, **limits)
    return _message(result, selection, time.perf_counter() - started, spare), result


def ask_once(
    question: StateQuery, robot: Robot, joints: Joints, selection: Selection, spare: list[PairDistance] | None = None
) -> DistanceArray:
    """Ask about joint positions, without the poses of links as an object each; `spare` as of `_message`."""
    started = time.perf_counter()
    with refusals():
        found = question(
            [[joints.positions[name] for name in robot.joint_names]],
            base_poses=joints.base_poses,
            root_pose=joints.frame_from_root,
            threads=1,
        )
    return _message(found.of_state(0), selection, time.perf_counter() - started, spare)


def _is_small(selection: Selection) -> bool:
    """Whether a question about these pairs takes its tables along ready-made; octomaps are asked part by part."""
    return len(selection.parts) == 1 and len(selection.pairs) <= AT_ONCE


def _message(
    result: SceneResult, selection: Selection, seconds: float, spare: list[PairDistance] | None
) -> DistanceArray:
    """Return an answer as a message.

    `spare` has messages of pairs that are used again, and takes new ones: to make one takes as long as to fill three.
    What they were part of before must have been sent.
    """
    if len(result.distance) > _MOST_PAIRS:
        raise InputError(
            f"{len(result.distance)} pairs are more than an answer can have ({_MOST_PAIRS}): ask with max_distance or "
            "max_results, or by get_distances"
        )
    message = DistanceArray()
    message.solve_time = seconds
    bodies, owners, ordered = result.bodies, selection.owners, selection.in_order(result)
    rows = zip(
        ordered.body_a.tolist(),
        ordered.body_b.tolist(),
        ordered.distance.tolist(),
        ordered.lower.tolist(),
        ordered.upper.tolist(),
        ordered.point_a.tolist(),
        ordered.point_b.tolist(),
        ordered.normal.tolist(),
        ordered.status.tolist(),
        np.minimum(ordered.statistics.iterations, 65535).tolist(),
        strict=True,
    )
    used = iter(tuple(spare or ()))
    # Field by field: the constructor of a message makes every field that it is given once more.
    for a, b, distance, lower, upper, point_a, point_b, normal, status, iterations in rows:
        pair = next(used, None)
        if pair is None:
            pair = PairDistance()
            if spare is not None and len(spare) < _MOST_SPARE:
                spare.append(pair)
        pair.link_a, pair.link_b, pair.body_a, pair.body_b = owners[a], owners[b], bodies[a].name, bodies[b].name
        pair.distance, pair.lower, pair.upper = distance, lower, upper
        for vector, values in ((pair.point_a, point_a), (pair.point_b, point_b), (pair.normal, normal)):
            vector.x, vector.y, vector.z = values
        pair.status, pair.iterations = status, iterations
        message.pairs.append(pair)
    for name in ("past_sphere", "past_obb", "solved", "intersecting"):
        setattr(message, name, int(getattr(result.statistics, name)))
    message.pairs_considered = int(result.statistics.pairs)
    message.unproven = int(np.count_nonzero(result.status & Status.UNPROVEN))
    return message


class Queries(Part):
    """Answers about one state."""

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        # An answer that is made at once is sent before the next one is made.
        self._spare: list[PairDistance] = []

    def configure(self) -> None:
        """Open the services."""
        self.endpoints.serve(GetMinDistance, "~/get_min_distance", self._get_min_distance)
        self.endpoints.serve(GetPenetration, "~/get_penetration", self._get_penetration)

    async def _get_min_distance(
        self, request: GetMinDistance.Request, response: GetMinDistance.Response
    ) -> GetMinDistance.Response:
        def limits() -> dict[str, object]:
            # Of NaN no comparison holds.
            if not request.max_distance >= 0.0:
                raise InputError(f"request: max_distance = {request.max_distance}: must be positive, or 0 for no limit")
            max_distance = request.max_distance or np.inf
            return {"max_distance": max_distance, "max_results": request.max_results or None}

        return await self._answer(request, response, limits)

    async def _get_penetration(
        self, request: GetPenetration.Request, response: GetPenetration.Response
    ) -> GetPenetration.Response:
        def limits() -> dict[str, object]:
            return {"overlapping_only": True, "max_results": request.max_results or None}

        return await self._answer(request, response, limits)

    async def _answer(
        self,
        request: GetMinDistance.Request | GetPenetration.Request,
        response: GetMinDistance.Response | GetPenetration.Response,
        limits: Callable[[], dict[str, object]],
    ) -> GetMinDistance.Response | GetPenetration.Response:
        """Fill a response. The answer follows from request and state alone: no warm start of an earlier one goes in."""

        def prepare() -> tuple[int, Callable[[], tuple[DistanceArray, Joints]]]:
            chosen_limits = limits()
            model = self._current.model()
            selection = model.select(request.links_a, request.links_b)
            robot = model.robot
            state = self._measurements.asked(
                robot, request.joint_names, request.joint_positions, request.base_poses, model.planning
            )
            self._measurements.require_world(model.planning, selection.pairs, state)

            def work() -> tuple[DistanceArray, Joints]:
                if _is_small(selection):
                    question = model.question(selection, **chosen_limits)
                    return ask_once(question, robot, state, selection, self._spare), state
                with model.cold_scene() as scene:
                    return ask(scene, state.state(robot), selection, **chosen_limits)[0], state

            return len(selection.pairs), work

        def fill(found: tuple[DistanceArray, Joints]) -> str:
            response.distances, state = found
            asker, distances = type(request).__name__.removesuffix("_Request"), response.distances
            self.statistics.query(asker, distances.solve_time, distances.unproven)
            words = _summary(distances, self._measurements.fill_freshness(distances, state))
            return f"{words}; {self._current.missing}" if self._current.missing else words

        return await self.answer_long(response, prepare, fill)


def _summary(distances: DistanceArray, stale: str) -> str:
    """Return words for an answer, first why its state is stale."""
    notes = [stale] if stale else []
    if distances.unproven:
        notes.append(f"{distances.unproven} pairs with status UNPROVEN")
    found = len(distances.pairs)
    considered = distances.pairs_considered
    notes.append(f"{found} of {considered} pairs" if found else f"none of {considered} pairs within the limits")
    return "; ".join(notes)

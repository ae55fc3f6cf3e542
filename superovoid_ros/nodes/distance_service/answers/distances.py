# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of the robot in its states: services `~/get_min_distance`, `~/get_penetration` and `~/get_distances`.

    request -> DistanceQuery -> [a thread, if it is long: StateQuery] -> response

The measured state, a requested state and many states are handled alike, with one row for each state. A `DistanceQuery`
stores everything that it needs (robot, objects, measurements, transforms) when the call arrives, so later events do not
change its answer. It uses no warm start. Long questions run in threads without the interpreter's lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from superovoid_interfaces.msg import DistanceArray, PairDistance
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPenetration

from superovoid.compiled.threads import processors
from superovoid.contact import Status
from superovoid.robot import Robot
from superovoid.robot.forward import poses_of_numbers
from superovoid.robot.planning_scene import join_parts
from superovoid.scene import SceneResult
from superovoid.states import StateDistances, StateQuery
from superovoid_ros.nodes.common.conversions import flat_array, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.common.parameters import count
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE, Kind
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measured import States, StateValues, read_values
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel
from superovoid_ros.nodes.distance_service.world.model import Model, Selection

# Largest number of pairs in a response with a message for each. Serializing these takes a second.
_MOST_PAIRS = 20_000
_MOST_SPARE = 1000
# Number of rows that ends a response with arrays; about 300 MB without gradients.
_MOST_ROWS = 2_000_000
_POSE = 7  # numbers in a pose: x y z qx qy qz qw
_COLUMNS = ("body_a", "body_b", "status", "distance", "lower", "upper", "point_a", "point_b", "normal")
OneState = GetMinDistance.Response | GetPenetration.Response


@dataclass
class DistanceQuery:
    """The pairs and states of a request."""

    model: Model
    selection: Selection
    states: States
    queries: Sequence[StateQuery]
    """Queries, each for some of the pairs."""
    until: float | None = None
    """Value of `time.perf_counter` after which no further state is started, s."""
    stop: threading.Event | None = None
    """Ends the work between states when set."""
    max_results: int | None = None
    solve_time: float = 0.0
    """Time spent on the queries, s."""

    @property
    def cost(self) -> int:
        """Number of pairs of bodies to check, times states."""
        return len(self.states.positions) * len(self.selection.pairs)

    def run(self, threads: int = 1) -> list[StateDistances]:
        """Return the answer of each query, computed in a number of threads."""
        started = time.perf_counter()
        with refusals("request"):
            found = [
                query(
                    self.states.positions,
                    base_poses=self.states.base_poses,
                    deadline=None if self.until is None else max(self.until - started, 1e-9),
                    max_rows=_MOST_ROWS,
                    stop=self.stop,
                    threads=threads,
                )
                for query in self.queries
            ]
        self.solve_time = time.perf_counter() - started
        return found

    def run_once(self) -> SceneResult:
        """Return the pairs of the first state, closest first."""
        return join_parts([found.of_state(0) for found in self.run()], self.max_results)


def closest_pairs_query(model: Model, selection: Selection, states: States, **limits: object) -> DistanceQuery:
    """Return the query about the closest pairs in one state, with only one pair for each body and the octomap."""
    queries = model.closest_queries(selection, **limits)
    return DistanceQuery(model, selection, states, queries, max_results=limits.get("max_results"))


def message_of(query: DistanceQuery, result: SceneResult, spare: list[PairDistance] | None = None) -> DistanceArray:
    """Return the answer for one state as a message.

    `spare` contains messages of pairs for reuse and is extended: creating one takes as long as filling three. The
    message that contained them before must have been sent.
    """
    if len(result.distance) > _MOST_PAIRS:
        raise InputError(
            f"{len(result.distance)} pairs exceed the largest response ({_MOST_PAIRS}): set max_distance or "
            "max_results, or call get_distances"
        )
    message = DistanceArray()
    message.solve_time = query.solve_time
    selection, bodies = query.selection, result.bodies
    owners, ordered = selection.owners, selection.in_order(result)
    columns = [getattr(ordered, name).tolist() for name in _COLUMNS]
    rows = zip(*columns, np.minimum(ordered.statistics.iterations, 65535).tolist(), strict=True)
    used = iter(tuple(spare or ()))
    # Set the fields one by one, since the constructor of a message would create each of them twice.
    for a, b, status, distance, lower, upper, point_a, point_b, normal, number in rows:
        pair = next(used, None)
        if pair is None:
            pair = PairDistance()
            if spare is not None and len(spare) < _MOST_SPARE:
                spare.append(pair)
        pair.link_a, pair.link_b, pair.body_a, pair.body_b = owners[a], owners[b], bodies[a].name, bodies[b].name
        pair.distance, pair.lower, pair.upper = distance, lower, upper
        for vector, values in ((pair.point_a, point_a), (pair.point_b, point_b), (pair.normal, normal)):
            vector.x, vector.y, vector.z = values
        pair.status, pair.iterations = status, number
        message.pairs.append(pair)
    for name in ("past_sphere", "past_obb", "solved", "intersecting"):
        setattr(message, name, int(getattr(result.statistics, name)))
    message.pairs_considered = int(result.statistics.pairs)
    message.unproven = int(np.count_nonzero(result.status & Status.UNPROVEN))
    return message


class DistanceServices(Part):
    """Part that answers requests for distances."""

    parameters = (
        count(
            "threads",
            0,
            0,
            1024,
            "Threads for calls of get_distances with many states, shared by simultaneous calls; 0: one per processor",
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        # Send each response before computing the next.
        self._spare: list[PairDistance] = []

    def open(self) -> None:
        """Open the services."""
        self.serve(GetMinDistance, "~/get_min_distance", self._answer_once)
        self.serve(GetPenetration, "~/get_penetration", self._answer_once)
        self.serve(GetDistances, "~/get_distances", self._get_distances)

    # --- one state ---

    async def _answer_once(self, request: GetMinDistance.Request | GetPenetration.Request, response: OneState) -> str:
        is_penetration = isinstance(request, GetPenetration.Request)
        limits = {"overlapping_only": True} if is_penetration else {"max_distance": _max_distance(request)}
        model = self._current.model()
        selection = model.select(request.links_a, request.links_b)
        given = self._read_state(request, model.robot)
        states = self._measurements.placed_states(model.planning, given, selection.pairs)
        query = closest_pairs_query(model, selection, states, max_results=request.max_results or None, **limits)
        spare = self._spare if query.cost <= AT_ONCE else None
        found = await self.query(query.cost, lambda: message_of(query, query.run_once(), spare))
        response.distances = found
        self.statistics.uncertified += found.unproven
        return self._current.append_missing(_summary(found, self._measurements.fill_freshness(found, states)))

    # --- many states ---

    async def _get_distances(self, request: GetDistances.Request, response: GetDistances.Response) -> str:
        started, model, max_distance = time.perf_counter(), self._current.model(), _max_distance(request)
        response.world_id = self._current.snapshot.world_id
        # This comparison is false for NaN.
        if not request.deadline >= 0.0:
            raise InputError(f"request: deadline = {request.deadline}: must be positive, or 0 for none")
        selection = model.select(request.links_a, request.links_b)
        given = self._read_states(request, model.robot)
        states = self._measurements.placed_states(model.planning, given, selection.pairs)
        options = {name: getattr(request, name) for name in ("gradients", "base_gradients")}
        max_results = request.max_results or None
        queries = [model.query(selection, max_distance=max_distance, max_results=max_results, **options)]
        until = started + request.deadline if request.deadline else None
        query = DistanceQuery(model, selection, states, queries, until, self.jobs.stop)
        threads = 1
        if query.cost > AT_ONCE:  # use only a fair share of them
            threads = max(1, (int(self.parameter("threads")) or processors()) // (1 + self.jobs.count(Kind.QUERY)))
        (found,) = await self.query(query.cost, lambda: query.run(threads))
        return self._fill(response, query, found)

    def _read_state(self, request: GetMinDistance.Request | GetPenetration.Request, robot: Robot) -> StateValues:
        """Return the values of the state in a request."""
        names, row = request.joint_names, np.array([request.joint_positions], dtype=float)
        if len(names) != row.size:
            raise InputError(f"request: {len(names)} joint_names, {row.size} joint_positions: must be the same number")
        poses = []
        for one in request.base_poses:
            pose = from_transform(one.transform, f"request: base pose of link '{one.child_frame_id}'")
            poses.append((one.child_frame_id, one.header.frame_id, pose))
        return self._values(robot, names, row, poses)

    def _read_states(self, request: GetDistances.Request, robot: Robot) -> StateValues:
        """Return the values of the states in a request."""
        rows, bases = _rows_of_joints(request), _matrices_of_bases(request)
        if len(rows) and len(bases) not in (0, 1, len(rows)):
            raise InputError(
                f"request: joint_positions are {len(rows)} states, base_poses {len(bases)}: must be the same number, "
                "or one row of base_poses for all"
            )
        columns = bases[0] if len(bases) == 1 else np.swapaxes(bases, 0, 1)
        poses = [(name, request.base_frame, pose) for name, pose in zip(request.base_links, columns, strict=True)]
        return self._values(robot, request.joint_names, rows, poses)

    def _values(
        self, robot: Robot, names: Sequence[str], rows: np.ndarray, base_poses: Sequence[tuple[str, str, np.ndarray]]
    ) -> StateValues:
        """Return values of states, with poses of links on floating joints, each with the names of link and frame."""
        poses: dict[str, tuple[str, np.ndarray]] = {}
        for name, frame, pose in base_poses:
            link = name if name in robot.base_links else name.removeprefix(self._measurements.prefix)
            if link not in robot.base_links:
                raise InputError(
                    f"request: base_poses names link '{link}', which is not on a floating joint; "
                    f"links on floating joints: {listing(robot.base_links)}"
                )
            if link in poses:
                raise InputError(f"request: base pose of link '{link}' occurs twice")
            poses[link] = frame.removeprefix("/"), pose
        return read_values(robot, names, rows, poses)

    def _fill(self, response: GetDistances.Response, query: DistanceQuery, found: StateDistances) -> str:
        """Fill a response with an answer, and return its message."""
        response.states = found.done
        response.first = flat_array("I", found.first[: found.done + 1])
        bodies, owners = query.model.scene.bodies, query.selection.owners
        ordered = query.selection.in_order(found)
        appears = np.zeros(len(bodies), dtype=bool)
        appears[ordered.body_a] = appears[ordered.body_b] = True
        appear, numbers = np.flatnonzero(appears).tolist(), appears.cumsum() - 1
        response.bodies = [bodies[i].name for i in appear]
        response.body_links = [owners[i] for i in appear]
        response.body_a = flat_array("I", numbers[ordered.body_a])
        response.body_b = flat_array("I", numbers[ordered.body_b])
        response.status = flat_array("B", ordered.status)
        for name in _COLUMNS[3:]:
            setattr(response, name, flat_array("d", getattr(ordered, name)))
        if found.gradients is not None:
            response.gradient_joints = list(found.joint_names)
            response.gradients = flat_array("d", found.gradients)
        if found.base_gradients is not None:
            response.gradient_bases = list(found.base_links)
            response.base_gradients = flat_array("d", found.base_gradients)
        self._measurements.fill_freshness(response, query.states)
        response.pairs_considered = found.statistics.pairs * found.done
        response.solved = int(found.statistics.solved[: found.done].sum())
        response.unproven = int(np.count_nonzero(found.status & Status.UNPROVEN))
        response.solve_time = query.solve_time
        self.statistics.uncertified += response.unproven
        return self._current.append_missing("" if found.done == found.states else _incomplete_message(query, found))


def _incomplete_message(query: DistanceQuery, found: StateDistances) -> str:
    """Return a message about an answer with fewer states than requested."""
    reason = "the deadline was reached"
    if len(found) >= _MOST_ROWS:
        reason = f"the answer is full with {len(found)} rows: set max_distance or max_results, or request fewer states"
    elif query.stop is not None and query.stop.is_set():
        reason = "the node was deactivated"
    return f"{found.done} of {found.states} states: {reason}"


def _max_distance(request: GetMinDistance.Request | GetDistances.Request) -> float:
    """Return the largest distance to report, m."""
    # This comparison is false for NaN.
    if not request.max_distance >= 0.0:
        raise InputError(f"request: max_distance = {request.max_distance}: must be positive, or 0 for no limit")
    return request.max_distance or np.inf


def _rows_of_joints(request: GetDistances.Request) -> np.ndarray:
    """Return joint positions, shape (states, joint_names); no rows if there are neither names nor positions."""
    positions, count = np.asarray(request.joint_positions, dtype=float), len(request.joint_names)
    if not count and not len(positions):
        return np.empty((0, 0))
    if not count or not len(positions) or len(positions) % count:
        raise InputError(
            f"request: {count} joint_names, {len(positions)} joint_positions: must be one or more rows of as many "
            "positions as there are names"
        )
    return positions.reshape(-1, count)


def _matrices_of_bases(request: GetDistances.Request) -> np.ndarray:
    """Return base_frame_from_link, m, shape (states or 1, base_links, 4, 4); no rows if the request has none."""
    numbers, links = np.asarray(request.base_poses, dtype=float), request.base_links
    if not links and not len(numbers):
        return np.empty((0, 0, 4, 4))
    if not links or not len(numbers) or len(numbers) % (_POSE * len(links)):
        raise InputError(
            f"request: {len(links)} base_links, {len(numbers)} numbers in base_poses: must be one or more rows of "
            f"{_POSE} numbers (x y z qx qy qz qw) for each link"
        )
    rows = numbers.reshape(-1, len(links), _POSE)
    matrices = np.empty((len(rows), len(links), 4, 4))
    wrong = poses_of_numbers(rows.reshape(-1, _POSE), matrices.reshape(-1, 4, 4))
    if wrong >= 0:
        state, i = divmod(wrong, len(links))
        raise InputError(
            f"request: base pose of link '{links[i]}' in state {state} = {rows[state, i].tolist()}: must be three "
            "finite numbers and a quaternion of unit length"
        )
    return matrices


def _summary(distances: DistanceArray, stale: str) -> str:
    """Return a message about an answer, starting with the reason why its state is stale."""
    notes = [stale] if stale else []
    if distances.unproven:
        notes.append(f"{distances.unproven} pairs with status UNPROVEN")
    found = len(distances.pairs)
    considered = distances.pairs_considered
    notes.append(f"{found} of {considered} pairs" if found else f"none of {considered} pairs within the limits")
    return "; ".join(notes)

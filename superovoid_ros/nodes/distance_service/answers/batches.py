# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service `~/get_distances`: many states of the robot in one call, as flat arrays.

What a call needs from the node (robot, measurements, transforms) is taken when the call comes in, so that nothing that
happens later changes its answer. A short call is answered at once; a long one is computed by other threads
(`jobs.py`), without the interpreter's lock, while the node goes on with measurements and other calls:

    request -> Job -> [threads: state_distances] -> response
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from superovoid_interfaces.srv import GetDistances

from superovoid.compiled.threads import processors
from superovoid.contact import Status
from superovoid.robot.forward import poses_of_numbers
from superovoid.states import StateDistances, StateQuery
from superovoid_ros.nodes.common.conversions import flat
from superovoid_ros.nodes.common.mistakes import InputError, listing, refusals
from superovoid_ros.nodes.common.parameters import count
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.given import joints_given
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements, Rest
from superovoid_ros.nodes.distance_service.world.current import CurrentModel
from superovoid_ros.nodes.distance_service.world.model import Model, Selection

# Rows that end an answer; about 300 MB without gradients.
_MOST_ROWS = 2_000_000
_POSE = 7  # numbers of a pose: x y z qx qy qz qw


@dataclass
class Job:
    """A call, with all it needs."""

    model: Model
    selection: Selection
    rest: Rest
    """what was measured"""
    positions: np.ndarray
    """array, shape (states, joints), columns as `Robot.joint_names`"""
    base_poses: dict[str, np.ndarray]
    """root_from_link, arrays of shape (states, 4, 4) or (4, 4)"""
    question: StateQuery
    deadline: float | None
    """[s] of `time.perf_counter`"""
    stop: threading.Event
    solve_time: float = 0.0

    def run(self, threads: int) -> StateDistances:
        """Compute the answer in so many threads."""
        started = time.perf_counter()
        found = self.question(
            self.positions,
            base_poses=self.base_poses,
            root_pose=self.rest.frame_from_root,
            deadline=None if self.deadline is None else max(self.deadline - started, 1e-9),
            max_rows=_MOST_ROWS,
            stop=self.stop,
            threads=threads,
        )
        self.solve_time = time.perf_counter() - started
        return found


class Batches(Part):
    """Answers about many states."""

    parameters = (
        count(
            "threads",
            0,
            0,
            1024,
            "Threads that answer one call of get_distances about many states, calls at the same time sharing them; "
            "0: one a processor",
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements
        self._running = 0  # long calls that threads are at
        self._lock = threading.Lock()

    def configure(self) -> None:
        """Open the service."""
        self.endpoints.serve(GetDistances, "~/get_distances", self._get_distances)

    async def _get_distances(
        self, request: GetDistances.Request, response: GetDistances.Response
    ) -> GetDistances.Response:
        def prepare() -> tuple[int, Callable[[], tuple[Job, StateDistances]]]:
            job = self._job(request, time.perf_counter())
            cost = len(job.positions) * len(job.selection.pairs)
            threads = 1 if cost <= AT_ONCE else int(self.value("threads")) or processors()
            return cost, lambda: (job, self._run(job, threads))

        return await self.answer_long(response, prepare, lambda done: self._fill(response, *done))

    def _run(self, job: Job, threads: int) -> StateDistances:
        """Compute an answer in a fair part of the threads."""
        with self._lock:
            self._running += 1
            part = max(1, threads // self._running)
        try:
            with refusals("request"):
                return job.run(part)
        finally:
            with self._lock:
                self._running -= 1

    # --- Requests ---

    def _job(self, request: GetDistances.Request, started: float) -> Job:
        """Check a request and take down what it needs; `InputError` where it makes no sense."""
        # Of NaN no comparison holds.
        if not request.max_distance >= 0.0:
            raise InputError(f"request: max_distance = {request.max_distance}: must be positive, or 0 for no limit")
        if not request.deadline >= 0.0:
            raise InputError(f"request: deadline = {request.deadline}: must be positive, or 0 for none")
        model = self._current.model()
        selection = model.select(request.links_a, request.links_b)
        names, robot = request.joint_names, model.robot
        rows = _rows_of_joints(request)
        # The first state's names and numbers as those of any request; the other states have the same names.
        given = joints_given(robot, names, rows[0].tolist() if len(rows) else ())
        links = self._base_links(request, robot.base_links)
        bases = _matrices_of_bases(request)
        states = _number_of_states(rows, bases)
        rest = self._measurements.rest(model.planning, given, links, request.base_frame)
        self._measurements.require_world(model.planning, selection.pairs, rest)

        if tuple(names) == robot.joint_names:
            positions = rows
        else:
            positions = np.empty((states, len(robot.joint_names)))
            for column, name in enumerate(robot.joint_names):
                positions[:, column] = rows[:, names.index(name)] if name in given else rest.positions[name]
        if rest.root_from_given is not None:
            bases = rest.root_from_given @ bases
        base_poses = dict(rest.base_poses)
        for i, link in enumerate(links):
            base_poses[link] = bases[0, i] if len(bases) == 1 else bases[:, i]
        for link, pose in rest.carried.items():
            base_poses[link] = base_poses[robot.root_link] @ pose
        question = model.question(
            selection,
            max_distance=request.max_distance or np.inf,
            max_results=request.max_results or None,
            gradients=request.gradients,
            base_gradients=request.base_gradients,
        )
        return Job(
            model,
            selection,
            rest,
            positions,
            base_poses,
            question,
            started + request.deadline if request.deadline else None,
            self.jobs.stop,
        )

    def _base_links(self, request: GetDistances.Request, known: Sequence[str]) -> list[str]:
        """Return the base links that poses are given for, by the robot's names."""
        prefix = self._measurements.prefix
        links: list[str] = []
        for name in request.base_links:
            link = name if name in known else name.removeprefix(prefix)
            if link not in known:
                raise InputError(
                    f"request: base_links names link '{link}', which hangs on no floating joint; "
                    f"links that do: {listing(known)}"
                )
            if link in links:
                raise InputError(f"request: base pose of link '{link}' is given twice")
            links.append(link)
        return links

    # --- Responses ---

    def _fill(self, response: GetDistances.Response, job: Job, found: StateDistances) -> str:
        """Put an answer into a response and return its message."""
        response.states = found.done
        response.first = flat("I", found.first[: found.done + 1])
        unproven = 0
        if len(found):
            self._fill_pairs(response, job, found)
            unproven = int(np.count_nonzero(found.status & Status.UNPROVEN))
        if found.gradients is not None:
            response.gradient_joints = list(found.joint_names)
            response.gradients = flat("d", found.gradients)
        if found.base_gradients is not None:
            response.gradient_bases = list(found.base_links)
            response.base_gradients = flat("d", found.base_gradients)
        self._measurements.fill_freshness(response, job.rest)
        response.pairs_considered = found.statistics.pairs * found.done
        response.solved = int(found.statistics.solved[: found.done].sum())
        response.unproven = unproven
        response.solve_time = job.solve_time
        # As of a query about one state: many states take long without anything being wrong.
        self.statistics.query("GetDistances", job.solve_time / max(1, found.done), unproven)
        words = [] if found.done == found.states else [_why_not_all(job, found)]
        return "; ".join((*words, *filter(None, [self._current.missing])))

    @staticmethod
    def _fill_pairs(response: GetDistances.Response, job: Job, found: StateDistances) -> None:
        """Put the rows of an answer into a response."""
        bodies, owners = job.model.live.bodies, job.selection.owners
        found = job.selection.in_order(found)
        appears = np.zeros(len(bodies), dtype=bool)
        appears[found.body_a] = appears[found.body_b] = True
        appear, numbers = np.flatnonzero(appears).tolist(), appears.cumsum() - 1
        response.bodies = [bodies[i].name for i in appear]
        response.body_links = [owners[i] for i in appear]
        response.body_a, response.body_b = flat("I", numbers[found.body_a]), flat("I", numbers[found.body_b])
        response.status = flat("B", found.status)
        for name in ("distance", "lower", "upper", "point_a", "point_b", "normal"):
            setattr(response, name, flat("d", getattr(found, name)))


def _why_not_all(job: Job, found: StateDistances) -> str:
    """Return words for an answer with fewer states than were asked for."""
    reason = "the deadline was over"
    if len(found) >= _MOST_ROWS:
        reason = f"the answer is full with {len(found)} rows: ask with max_distance, max_results or fewer states"
    elif job.stop.is_set():
        reason = "the node was cleaned up"
    return f"{found.done} of {found.states} states: {reason}"


def _rows_of_joints(request: GetDistances.Request) -> np.ndarray:
    """Return joint positions, shape (states, joint_names); no rows where neither names nor positions are given."""
    positions, count = np.asarray(request.joint_positions, dtype=float), len(request.joint_names)
    if not count and not len(positions):
        return np.empty((0, 0))
    if not count or not len(positions) or len(positions) % count:
        raise InputError(
            f"request: {count} joint_names, {len(positions)} joint_positions: must be one or more rows of as many "
            "positions as there are names"
        )
    rows = positions.reshape(-1, count)
    if not np.isfinite(rows).all():
        state, joint = np.argwhere(~np.isfinite(rows))[0]
        name = request.joint_names[joint]
        raise InputError(f"request: position of joint '{name}' in state {state} = {rows[state, joint]}: must be finite")
    return rows


def _matrices_of_bases(request: GetDistances.Request) -> np.ndarray:
    """Return base_frame_from_link, shape (states or 1, base_links, 4, 4); no rows where nothing is given."""
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


def _number_of_states(rows: np.ndarray, bases: np.ndarray) -> int:
    """Return how many states are asked about; joints and bases must agree about it."""
    if len(rows) and len(bases) not in (0, 1, len(rows)):
        raise InputError(
            f"request: joint_positions are {len(rows)} states, base_poses {len(bases)}: must be equally many, "
            "or one row of base_poses for all"
        )
    return len(rows) or len(bases) or 1

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute the distances of a robot along a recorded run on all processors, as a table and as messages in a bag.

States are read one by one, distributed to threads in groups, and written in their order. Neither the bag nor the
results have to fit into memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from superovoid.bags.distance_bags import DistanceBag
from superovoid.bags.distance_messages import DistanceMessages, Freshness
from superovoid.bags.distance_tables import KNOWN, Row, TableWriter, table_at
from superovoid.contact import Status
from superovoid.dataset.spreading import in_order
from superovoid.robot import Robot
from superovoid.states import StateDistances, StateQuery
from superovoid.viewing.recording_bags import StateOfBag, StatesOfBag
from superovoid.viewing.recording_files import RecordingError

# States per group: a multiple of the block size of `StateQuery`.
_GROUP = 256


@dataclass(frozen=True)
class ReplayQuery:
    """Query made in every state."""

    between: tuple[Sequence[str], Sequence[str]] | None = None
    """Links or groups: only pairs between these; None: all pairs that the robot's rules allow."""
    max_distance: float = math.inf
    """Ignore pairs at larger distances, m."""
    max_results: int | None = 1
    """Number of pairs to return at most, the closest ones; None: all."""


@dataclass(frozen=True)
class ReplaySummary:
    """Summary of a replay."""

    states: int
    known: int
    """Number of states with all joints and bases recorded."""
    first_unknown: tuple[float, str]
    """Time, s, of the first unknown state and the reason; the reason is empty if all states are known."""
    rows: int
    pairs: int
    """Number of pairs checked in each known state."""
    least: Row | None
    """The row with the minimum distance."""
    lasts: float
    """Time from the first state to the last, s."""
    seconds: float
    """Computing time, s."""


@dataclass(frozen=True, eq=False)
class _Answer:
    states: Sequence[StateOfBag]
    messages: list[tuple[int, bytes]]
    """Time of recording and content, for each known state."""
    rows: list[Row]
    least: Row | None


def replay(
    path: Path,
    robot: Robot,
    query: ReplayQuery,
    *,
    topic: str = "",
    rate: float | None = None,
    table: Path | None = None,
    bag: Path | None = None,
    name: str = "/distance_service",
    with_recording: bool = False,
    threads: int | None = None,
    progress: Callable[[int, float], object] | None = None,
) -> ReplaySummary:
    """Compute the distances of a robot along a recorded run.

    Parameters
    ----------
    path : Path
        Bag (MCAP) with joint states, and with transforms of the links on floating joints.
    robot : Robot
    query : ReplayQuery
    topic : str, optional
        Topic of the joint states; default: the only one whose name ends with ``joint_states``.
    rate : float, optional
        States per second, Hz; default: one for each message of joint states.
    table : Path, optional
        File to write the rows to, CSV or NAME.parquet.
    bag : Path, optional
        Bag (MCAP) to write messages of type superovoid_interfaces/DistanceArray to, on the topic ``NAME/distances``,
        one for each known state at its time.
    name : str, optional
        NAME in the topic; default: the name of the node.
    with_recording : bool, optional
        If true, copy the recording into `bag` as well.
    threads : int, optional
        Default: one per processor. The outputs do not depend on it.
    progress : callable, optional
        Called with the number of states done and the time of the last one, s.

    Returns
    -------
    ReplaySummary

    Raises
    ------
    RecordingError
        If the bag cannot be read, has no data of the robot or is also an output, or if there is no pair to check.
    ValueError
        If a link or group is unknown.
    DatasetError
        If the package that writes the table is missing.
    OSError
        If an output cannot be written. No partial file remains.
    """
    started = time.perf_counter()
    for output in filter(None, (table, bag)):
        if output.exists() and output.samefile(path):
            raise RecordingError(f"{path}: is the input and cannot be overwritten: choose another output")
    if table is not None and bag is not None and table.resolve() == bag.resolve():
        raise RecordingError(f"{table}: cannot be both the table and the bag: choose another output")
    scene = robot.scene()
    pairs = robot.body_pairs(*query.between) if query.between is not None else None
    ask = StateQuery(robot, scene, pairs=pairs, max_distance=query.max_distance, max_results=query.max_results)
    if not len(scene.tables(pairs).pairs):
        named = "" if query.between is None else f" between {' and '.join(', '.join(names) for names in query.between)}"
        raise RecordingError(f"{path}: '{robot.name}' has no pair{named} to check, so there is nothing to compute")
    writer = DistanceMessages(robot.root_link, [(body.name, body.link) for body in scene.bodies])
    states = StatesOfBag(path, robot, topic=topic, rate=rate)
    work = partial(_answer, ask, robot, query.max_distance, writer if bag is not None else None)
    count = known = rows = pairs_asked = 0
    first_unknown, least, first, last = (math.nan, ""), None, math.nan, math.nan
    with ExitStack() as stack:
        into = stack.enter_context(table_at(table)) if table is not None else None
        written = None
        if bag is not None:
            written = stack.enter_context(DistanceBag(bag, f"{name}/distances", path if with_recording else None))
        answers = stack.enter_context(closing(in_order(work, _group_states(states), threads=threads)))
        for group, answer in answers:
            _write(answer, into, written)
            count, known, rows = count + len(group), known + len(answer.messages), rows + len(answer.rows)
            if not first_unknown[1]:
                first_unknown = next(
                    ((each.moment.at, each.moment.unknown) for each in group if each.moment.unknown), first_unknown
                )
            if answer.least is not None and (least is None or answer.least.distance_m < least.distance_m):
                least = answer.least
            first = group[0].moment.at if math.isnan(first) else first
            last = group[-1].moment.at
            if progress is not None:
                progress(count, last)
    pairs_asked = len(scene.tables(pairs).pairs)
    return ReplaySummary(
        count, known, first_unknown, rows, pairs_asked, least, last - first, time.perf_counter() - started
    )


def _group_states(states: StatesOfBag) -> Iterator[tuple[StateOfBag, ...]]:
    left = iter(states)
    while group := tuple(islice(left, _GROUP)):
        yield group


def _write(answer: _Answer, table: TableWriter | None, bag: DistanceBag | None) -> None:
    if table is not None:
        table.write(answer.rows)
    if bag is not None:
        for then, content in answer.messages:
            bag.write(then, content)


def _answer(
    ask: StateQuery, robot: Robot, max_distance: float, writer: DistanceMessages | None, states: Sequence[StateOfBag]
) -> _Answer:
    """Compute the distances in a group of states, in this thread."""
    known = [state for state in states if not state.moment.unknown]
    found = None
    if known:
        joints = np.array([[each.moment.positions[name] for name in robot.joint_names] for each in known])
        bases = {link: np.stack([each.moment.base_poses[link] for each in known]) for link in robot.base_links}
        found = ask(joints.reshape(len(known), -1), base_poses=bases, threads=1)
    messages, rows, at = [], [], 0
    for state in states:
        if state.moment.unknown or found is None:
            rows.append(_row_without_pair(state, state.moment.unknown, -math.inf))
            continue
        if writer is not None:
            moving = bool(robot.base_links)
            fresh = Freshness(state.stamp, state.joint_age, state.base_age, bool(robot.joint_names), moving)
            messages.append((state.then, writer.of_state(found, at, fresh)))
        else:
            messages.append((state.then, b""))
        rows += _rows(state, found, at) or [_row_without_pair(state, KNOWN, max_distance)]
        at += 1
    least = min((row for row in rows if not math.isnan(row.distance_m)), key=lambda row: row.distance_m, default=None)
    return _Answer(states, messages, rows, least)


def _row_without_pair(state: StateOfBag, words: str, farther: float) -> Row:
    """Return the row of a state in which only a lower bound `farther` on all distances is known."""
    return Row(state.moment.at, state.then, words, "", "", math.nan, farther, math.inf, "")


def _rows(state: StateOfBag, found: StateDistances, at: int) -> list[Row]:
    part = slice(int(found.first[at]), int(found.first[at + 1]))
    names = found.bodies
    columns = (found.body_a, found.body_b, found.distance, found.lower, found.upper, found.status)
    return [
        Row(state.moment.at, state.then, KNOWN, names[a].name, names[b].name, *numbers, str(Status(int(status))))
        for a, b, *numbers, status in zip(*(column[part].tolist() for column in columns), strict=True)
    ]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service under load: the questions, the judge of its answers, and what is made of the times.

No ROS here; `tools/load/run.py` starts node and clients and brings what they saw.

Latency is counted from the moment a call was due, not from the moment it was sent: clients ask at times laid down in
advance, so that a node (or client) that is late for one call is late for all that were due meanwhile, and nobody who
waits his turn is left out of the count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rich.table import Table

from superovoid.contact import Status
from superovoid.output import CsvRow, column
from superovoid_ros.motions.grasp_sweep import shipped

KINDS = ("closest", "near", "penetration", "many")
"""Of questions, asked in turn: the closest pair; all pairs within `CUTOFF`; all overlapping pairs; all pairs within
`CUTOFF` at `MANY` states, in one call."""
CUTOFF = 0.01
"""[m] of the kinds `near` and `many`"""
MANY = 8
GROUPS = ("left_fingers", "right_fingers")
_JOINT_NOISE = 0.1  # rad, so that no state is asked about twice by chance
_ROUNDING = 1e-12  # m, between a pose and the same pose written as a quaternion
_WIDTH = 1e-9  # m, two certified answers may be this far apart, and by as much as they leave open


@dataclass(frozen=True)
class Truth:
    """What the library says about one pair."""

    distance: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Question:
    """One state of both hands, and the library's answers about it."""

    positions: Mapping[str, float]
    base_poses: Mapping[str, np.ndarray]
    truth: Mapping[tuple[str, str], Truth]
    """(body of a left finger, body of a right finger) -> answer, of all pairs"""


def questions(count: int, seed: int) -> list[Question]:
    """Draw states from the grasp sweep, fingers moved at random, and answer them by the library.

    Parameters
    ----------
    count
        How many.
    seed
        Of the random numbers.

    Returns
    -------
    list of Question
    """
    robot, sweep = shipped()
    rng = np.random.default_rng(seed)
    drawn = []
    for index in rng.integers(0, len(sweep), count):
        frame = sweep.frame(int(index))
        positions = {name: float(q + rng.uniform(-_JOINT_NOISE, _JOINT_NOISE)) for name, q in frame.positions.items()}
        drawn.append((positions, frame.base_poses))
    return [Question(positions, bases, truth(robot, positions, bases)) for positions, bases in drawn]


def truth(
    robot: object, positions: Mapping[str, float], base_poses: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], Truth]:
    """Return the library's answers about all pairs of fingers, by a scene that has seen no other state."""
    scene = robot.scene()
    pairs = robot.body_pairs([GROUPS[0]], [GROUPS[1]])
    scene.set_link_poses(robot.forward_kinematics(positions, base_poses))
    result = scene.query(pairs=pairs)
    left = set(robot.links_of([GROUPS[0]]))
    answers = {}
    for row in range(len(result)):
        a, b = scene.bodies[result.body_a[row]], scene.bodies[result.body_b[row]]
        key = (a.name, b.name) if a.link in left else (b.name, a.name)
        answers[key] = Truth(float(result.distance[row]), float(result.lower[row]), float(result.upper[row]))
    return answers


def fault_of_many(response: object, known: Sequence[Mapping[tuple[str, str], Truth]]) -> str:
    """Compare an answer of `get_distances` with the library's; as `fault`, `known` state by state."""
    if not response.success:
        return f"refused: {response.message}"
    if response.states != len(known):
        return f"{response.states} states of {len(known)}"
    names = response.bodies
    points = [np.reshape(rows, (-1, 3)) for rows in (response.point_a, response.point_b, response.normal)]
    for state, truth_of_state in enumerate(known):
        pairs = []
        for row in range(response.first[state], response.first[state + 1]):
            a, b, n = (SimpleNamespace(x=x, y=y, z=z) for x, y, z in (rows[row] for rows in points))
            pairs.append(
                SimpleNamespace(
                    body_a=names[response.body_a[row]],
                    body_b=names[response.body_b[row]],
                    distance=response.distance[row],
                    lower=response.lower[row],
                    upper=response.upper[row],
                    status=response.status[row],
                    point_a=a,
                    point_b=b,
                    normal=n,
                )
            )
        one = SimpleNamespace(success=True, distances=SimpleNamespace(pairs=pairs))
        problem = fault("near", one, truth_of_state)
        if problem:
            return f"state {state}: {problem}"
    return ""


def fault(kind: str, response: object, known: Mapping[tuple[str, str], Truth]) -> str:
    """Compare an answer of the service with the library's.

    Parameters
    ----------
    kind
        One of `KINDS` but `many`.
    response
        `GetMinDistance.Response` or `GetPenetration.Response`.
    known
        The library's answers about the state that was asked about.

    Returns
    -------
    str
        What is wrong with the answer; empty: nothing.
    """
    if not response.success:
        return f"refused: {response.message}"
    seen = set()
    for pair in response.distances.pairs:
        key = (pair.body_a, pair.body_b)
        if key not in known or key in seen:
            return f"pair {key} was not asked for, or comes twice"
        seen.add(key)
        expected = known[key]
        width = (pair.upper - pair.lower) + (expected.upper - expected.lower)
        if not abs(pair.distance - expected.distance) <= _WIDTH + width:
            return f"{key}: distance {pair.distance}, library {expected.distance}"
        if not (pair.lower <= expected.upper + _ROUNDING and expected.lower <= pair.upper + _ROUNDING):
            return f"{key}: interval [{pair.lower}, {pair.upper}], library [{expected.lower}, {expected.upper}]"
        if not pair.status & (Status.UNPROVEN | Status.DENT | Status.UNBOUNDED) and not _closed(pair):
            return f"{key}: the points are not {pair.distance} apart along the normal"
    if kind == "closest":
        least = min(one.lower for one in known.values())
        if len(seen) != 1 or not known[next(iter(seen))].lower <= least + _WIDTH:
            return f"closest pairs {sorted(seen)}: not the closest one"
        return ""
    limit = CUTOFF if kind == "near" else 0.0
    missing = {key for key, one in known.items() if one.upper < limit - _WIDTH} - seen
    extra = {key for key in seen if known[key].lower > limit + _WIDTH}
    return f"pairs missing {sorted(missing)}, too far {sorted(extra)}" if missing or extra else ""


def _closed(pair: object) -> bool:
    a, b, n = (np.array([v.x, v.y, v.z]) for v in (pair.point_a, pair.point_b, pair.normal))
    return bool(np.linalg.norm(a + pair.distance * n - b) <= 1e-6)


@dataclass(frozen=True)
class Step(CsvRow):
    """So many clients at such a rate for a while; latencies from the moment a call was due."""

    name: str
    clients: int
    rate: float = column("calls_per_s")
    """calls due a second, of all clients"""
    duration: float = column("duration_s")
    """while calls were due"""
    calls: int
    answered: int
    lost: int
    """calls without an answer, long after the last one was due"""
    wrong: int
    throughput: float = column("answers_per_s")
    """answers a second, from the first call due to the last answer"""
    median: float = column("median_ms")
    p99: float = column("p99_ms")
    p999: float = column("p99.9_ms")
    worst: float = column("worst_ms")
    node_load: float = column("node_cores")
    """share of one core that the node used"""
    processor: float = column("node_per_answer_ms")
    """processor time of the node"""
    asking: float = column("clients_per_answer_ms")
    """processor time of all clients; each of them receives the answers to all"""
    memory: float = column("node_MiB")
    """resident memory of the node at the end"""


def step(
    name: str,
    clients: int,
    rate: float,
    duration: float,
    latencies: np.ndarray,
    wrong: int,
    span: float,
    node_time: float,
    memory: float,
    asking: float = math.nan,
) -> Step:
    """Make numbers of what the clients of a step saw.

    Parameters
    ----------
    name, clients, rate, duration, wrong, memory
        As in `Step`.
    latencies
        Of all calls due [s]; nan where no answer came.
    span
        From the first call due to the last answer [s].
    node_time
        Processor time that the node used meanwhile [s].
    asking
        Processor time that the clients used meanwhile [s].
    """
    answered = np.sort(latencies[~np.isnan(latencies)]) * 1e3
    median, p99, p999, worst = (
        (float(np.quantile(answered, q)) for q in (0.5, 0.99, 0.999, 1.0)) if len(answered) else 4 * (float("nan"),)
    )
    return Step(
        name,
        clients,
        rate,
        duration,
        calls=len(latencies),
        answered=len(answered),
        lost=len(latencies) - len(answered),
        wrong=wrong,
        throughput=len(answered) / span,
        median=median,
        p99=p99,
        p999=p999,
        worst=worst,
        node_load=node_time / span,
        processor=1e3 * node_time / max(len(answered), 1),
        asking=1e3 * asking / max(len(answered), 1),
        memory=memory,
    )


@dataclass(frozen=True)
class Finding:
    """What a fault did: what was to be seen, what was seen, and whether that is well."""

    fault: str
    seen: str
    is_well: bool


@dataclass(frozen=True)
class MemoryRow(CsvRow):
    """A sample of `Memory`."""

    time_s: float
    node_MiB: float


@dataclass(frozen=True)
class Memory:
    """Resident memory of the node over a long run."""

    seconds: np.ndarray
    mebibytes: np.ndarray

    @property
    def growth(self) -> float:
        """MiB a minute, least squares after the first tenth, in which buffers find their size."""
        late = self.seconds >= 0.1 * self.seconds[-1]
        return 60.0 * float(np.polyfit(self.seconds[late], self.mebibytes[late], 1)[0])

    def rows(self) -> list[MemoryRow]:
        """Its samples as they are written."""
        return [MemoryRow(*sample) for sample in zip(self.seconds.tolist(), self.mebibytes.tolist(), strict=True)]

    def __str__(self) -> str:
        first, last = self.mebibytes[self.seconds >= 0.1 * self.seconds[-1]][[0, -1]]
        return (
            f"{first:.1f} MiB after {0.1 * self.seconds[-1]:.0f} s, {last:.1f} MiB after {self.seconds[-1]:.0f} s, "
            f"at most {self.mebibytes.max():.1f} MiB, {self.growth:+.2f} MiB a minute"
        )


def table(steps: Sequence[Step]) -> Table:
    """The steps as they are printed."""
    result = Table(title="Service calls; latency from the moment a call was due", title_justify="left")
    for name in (
        "name", "clients", "rate", "calls", "lost", "wrong", "throughput", "median", "p99", "p999", "worst",
        "node_load", "processor", "asking", "memory",
    ):  # fmt: skip
        result.add_column(Step.heading(name), justify="left" if name == "name" else "right")
    for one in steps:
        result.add_row(
            one.name,
            str(one.clients),
            f"{one.rate:g}",
            f"{one.calls:,}",
            str(one.lost),
            str(one.wrong),
            f"{one.throughput:.0f}",
            *(f"{value:.1f}" for value in (one.median, one.p99, one.p999, one.worst)),
            f"{one.node_load:.2f}",
            f"{one.processor:.2f}",
            f"{one.asking:.2f}",
            f"{one.memory:.0f}",
        )
    return result


def findings_table(findings: Sequence[Finding]) -> Table:
    """The faults as they are printed."""
    result = Table(title="Faults", title_justify="left")
    for name in ("fault", "what was seen", ""):
        result.add_column(name)
    for one in findings:
        result.add_row(one.fault, one.seen, "well" if one.is_well else "[red]NOT WELL")
    return result


def plot(steps: Sequence[Step], path: Path, memory: Memory | None = None) -> None:
    """Draw latency against rate, one panel a number of clients, and the memory of a long run."""
    from matplotlib.figure import Figure

    steps = [one for one in steps if not one.name]  # a long run is no point of the curves
    clients = sorted({one.clients for one in steps})
    figure = Figure(figsize=(10.0, 4.0 if memory is None else 6.5), layout="constrained")
    grid = figure.add_gridspec(
        1 if memory is None else 2, len(clients), height_ratios=(2,) if memory is None else (2, 1)
    )
    first = None
    for panel, count in enumerate(clients):
        axes = figure.add_subplot(grid[0, panel], sharey=first)
        first = first or axes
        rows = [one for one in steps if one.clients == count]
        rates = [one.rate for one in rows]
        for name, label, colour in (
            ("p999", "p99.9", "tab:red"),
            ("p99", "p99", "tab:orange"),
            ("median", "median", "tab:blue"),
        ):
            axes.plot(rates, [getattr(one, name) for one in rows], "-o", color=colour, markersize=4, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
        axes.minorticks_off()
        axes.set_title(f"{count} client{'s' if count > 1 else ''}")
        axes.set_xlabel("calls due a second, all clients")
        axes.grid(True, color="0.9")
    first.set_ylabel("latency from the moment due [ms]")
    first.legend(frameon=False, loc="upper left")
    if memory is not None:
        axes = figure.add_subplot(grid[1, :])
        axes.plot(memory.seconds, memory.mebibytes, color="0.2")
        axes.set_ylim(0.0, 1.15 * memory.mebibytes.max())
        axes.set_xlabel("seconds")
        axes.set_ylabel("resident [MiB]")
        axes.set_title(f"memory of the node, {memory.growth:+.2f} MiB a minute")
        axes.grid(True, color="0.9")
    figure.savefig(path, dpi=120)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The 16 places of table 2 of the lower distance bound, and the tolerance queries of its tables 2 and 3.

PQP decides whether two meshes are closer than a tolerance without computing their distance. Coal, another descendant of
the same library of trees, replaces it here: its collision test decides the same with a security margin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from superovoid.output import CsvRow, cell, column
from superovoid_papers.benchmarks import peers
from superovoid_papers.experiments.lower_bound.cases import OFFSETS, SIZES, Case, Row

TOLERANCES = (1.01, 0.99, 0.90, 0.50, 0.10, 0.01, 0.001)
"""Tolerances of tables 2 (the first two) and 3, as shares of the distance."""


@dataclass(frozen=True)
class PrintedRow:
    """A row of table 2 and, if present, of table 3: times in ms, lengths in m."""

    bound_ms: float
    bound: float
    distance_ms: float
    distance: float
    collision_ms: float
    tolerance_ms: tuple[float, ...]
    """Times of `TOLERANCES`; table 3 has the last five for 5 x 5 and 6 x 6 only."""


PRINTED: tuple[PrintedRow, ...] = (
    PrintedRow(1.8, 0.0250, 14.4, 0.0388, 9.2, (0.9, 13.7)),
    PrintedRow(5.0, 0.0320, 30.1, 0.0378, 19.7, (3.1, 29.3)),
    PrintedRow(10.3, 0.0320, 58.1, 0.0371, 39.3, (7.5, 56.8, 56.6, 55.7, 55.2, 55.0, 54.9)),
    PrintedRow(20.3, 0.0118, 95.0, 0.0367, 63.9, (3.1, 93.6, 93.3, 91.3, 86.7, 85.5, 85.0)),
    PrintedRow(1.8, 0.0298, 14.3, 0.0433, 9.2, (0.8, 13.9)),
    PrintedRow(4.8, 0.0310, 30.1, 0.0423, 19.4, (3.1, 28.8)),
    PrintedRow(10.4, 0.0309, 60.2, 0.0416, 38.6, (2.0, 59.4, 59.0, 58.0, 57.3, 57.0, 57.0)),
    PrintedRow(20.2, 0.0231, 92.4, 0.0412, 63.0, (3.0, 90.8, 90.8, 88.6, 86.1, 85.5, 85.5)),
    PrintedRow(1.8, 0.0724, 14.8, 0.0859, 9.1, (0.9, 14.3)),
    PrintedRow(4.9, 0.0209, 30.5, 0.0849, 19.8, (1.3, 29.5)),
    PrintedRow(10.5, 0.0049, 59.5, 0.0842, 38.3, (2.0, 56.9, 58.1, 54.6, 53.3, 53.3, 52.8)),
    PrintedRow(19.9, 0.0005, 95.8, 0.0838, 62.3, (3.1, 93.5, 93.5, 88.1, 85.0, 84.6, 84.4)),
    PrintedRow(1.8, 0.0073, 16.0, 0.1569, 9.0, (1.0, 15.4)),
    PrintedRow(4.9, 0.0039, 33.5, 0.1559, 19.1, (1.4, 31.9)),
    PrintedRow(10.3, 0.0071, 65.5, 0.1552, 37.7, (2.1, 62.9, 62.7, 57.9, 53.4, 53.4, 53.0)),
    PrintedRow(19.5, 0.0073, 101.4, 0.1548, 61.7, (3.1, 99.5, 98.5, 90.3, 84.5, 84.2, 83.9)),
)
"""Tables 2 and 3 in the order of the paper: four places, the four sizes at each."""


def printed_row(size: int, place: int) -> PrintedRow:
    """Return the paper's row for a size, index in `SIZES`, and a place, index in `OFFSETS`."""
    return PRINTED[place * len(SIZES) + size]


@dataclass(frozen=True)
class Tolerance(CsvRow):
    """One query of Coal's trees about a place."""

    bodies: str
    distance: float = column("distance_m")
    """Certified distance by the engine."""
    question: str
    """The query: the distance, a collision, or a tolerance as a share of the distance."""
    closer: bool
    """The answer; true for the distance itself."""
    ms: float = column("processor_ms")
    printed_ms: float = column("paper_ms")
    """PQP's time in the paper; nan if there is none."""


def _least_ms(query: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.thread_time_ns()
        query()
        times.append(1e-6 * (time.thread_time_ns() - started))
    return min(times)


def tolerances(case: Case, paper: PrintedRow, coal: peers.Coal, rounds: int) -> list[Tolerance]:
    """Query Coal at one place for the distance, a collision, and whether the distance is below each tolerance.

    Raises
    ------
    RuntimeError
        If the certified distance refutes an answer of Coal, which makes its time meaningless.
    """
    certified = case.certified_distance()
    shapes = [coal.surface(body.vertices, body.triangles) for body in case.bodies]
    placed = shapes[0], case.poses[0], shapes[1], case.poses[1]
    found = [
        Tolerance(case.name, certified, "distance", True, _least_ms(coal.query(*placed), rounds), paper.distance_ms)
    ]
    times = dict(zip(TOLERANCES, paper.tolerance_ms, strict=False))
    for share in (0.0, *TOLERANCES):
        query = coal.tolerance_query(*placed, threshold=share * certified)
        closer = query()
        name = "collision" if share == 0.0 else f"tolerance {share:g} d"
        if closer != (share > 1.0):
            raise RuntimeError(f"{case.name}, {name}: Coal returned closer = {closer}, the distance is {certified}")
        ms = paper.collision_ms if share == 0.0 else times.get(share, float("nan"))
        found.append(Tolerance(case.name, certified, name, closer, _least_ms(query, rounds), ms))
    return found


def place_table(rows: Sequence[Row]) -> Table:
    """Return a table of the bounds of the 16 places and the paper's, mm; rows in the order of `insertion_cases`."""
    table = Table(title="Table 2: place by place (share of the distance)", title_justify="left")
    paper, here = ("paper: distance, mm", "paper: bound, mm"), ("pruned bound, mm", "farthest pruned bound, mm")
    for name in ("bodies", paper[0], "distance, mm", paper[1], *here):
        table.add_column(name, justify="right")
    for index, row in enumerate(rows):
        paper = printed_row(*divmod(index, len(OFFSETS)))
        pairs = (paper.bound, paper.distance), (row.pruned, row.distance), (row.farthest_pruned, row.distance)
        table.add_row(
            row.bodies,
            f"{1e3 * paper.distance:.1f}",
            f"{1e3 * row.distance:.1f}",
            *(f"{1e3 * bound:.2f} ({bound / distance:.2f})" for bound, distance in pairs),
        )
    return table


def tolerance_table(rows: Sequence[Tolerance]) -> Table:
    """Return tables 2 and 3: ms of Coal, and PQP's in the paper, medians of the four places."""
    table = Table(title="Tables 2 and 3: processor, ms (paper, ms)", title_justify="left")
    questions = list(dict.fromkeys(row.question for row in rows))
    table.add_column("question")
    sizes = list(dict.fromkeys(row.bodies for row in rows))
    for size in sizes:
        table.add_column(size, justify="right")
    for question in questions:
        cells = []
        for size in sizes:
            own = [row for row in rows if row.bodies == size and row.question == question]
            cells.append(f"{cell(median(r.ms for r in own), '.2f')} ({cell(median(r.printed_ms for r in own), '.1f')})")
        table.add_row(question, *cells)
    return table

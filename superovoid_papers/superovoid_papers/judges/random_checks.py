# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers to random pairs, and wrong ones made of them, before the checker of `superovoid.checker`."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from superovoid.checker import ACCEPTED, REFUTED, UNDECIDED, Check, record, verify_record
from superovoid.contact import DistanceResult, distance
from superovoid.dataset.spreading import in_order
from superovoid.output import machine, output_folder, print_table, progress
from superovoid.shapes import Plane, Shape, Superovoid
from superovoid.testing.random_pairs import FAMILIES, generate
from superovoid_papers.benchmarks.kind_shares import KINDS, random_pose, random_shape

FloatArray = NDArray[np.float64]

OTHER_KINDS = "kinds"
"""Name of the family of pairs of any two kinds of bodies but meshes that are not convex."""
NAMES = (*FAMILIES, OTHER_KINDS)
PLANTED = ("raised", "lowered", "point", "normal")
"""Wrong answers: the interval moved up or down by ten times its width, a point moved, the normal turned."""
_CHUNK = 100
_KINDS_SEED = 24  # any number: the same pairs whatever families there are
_KINDS = (*(kind for kind in KINDS if kind != "mesh"), "plane")


class Drawn(NamedTuple):
    """Two bodies at their poses."""

    a: Shape
    pose_a: FloatArray
    b: Shape
    pose_b: FloatArray


def draw(family: str, seed: int, count: int) -> Iterator[Drawn]:
    """Draw pairs of a family of `random_pairs`, or of any kinds."""
    if family == OTHER_KINDS:
        rng = np.random.default_rng([seed, _KINDS_SEED])
        both = itertools.cycle(
            pair for pair in itertools.combinations_with_replacement(_KINDS, 2) if set(pair) != {"plane"}
        )
        for kinds in itertools.islice(both, count):
            a, b = (Plane() if kind == "plane" else random_shape(kind, rng) for kind in kinds)
            reach = sum(shape.bounding_sphere().radius for shape in (a, b) if not isinstance(shape, Plane))
            yield Drawn(a, random_pose(rng, 0.0), b, random_pose(rng, rng.uniform(0.0, 1.3) * reach))
        return
    for number in range(-(-count // _CHUNK)):
        _, batch = generate(seed, family, number, min(_CHUNK, count - number * _CHUNK))
        poses = batch.poses()
        for i in range(len(batch)):
            a, b = (Superovoid(row[:3], row[3:5], row[5:7]) for row in batch.rows[:, i])
            yield Drawn(a, poses[0, i], b, poses[1, i])


def spoiled(pair: dict[str, Any], how: str, rng: np.random.Generator, size: float) -> dict[str, Any]:
    """A record whose answer is wrong in one way of `PLANTED`; `size` is that of the smaller body."""
    answer = dict(pair["answer"])
    lower, upper = answer["lower"], answer["upper"]
    shift = max(10.0 * (upper - lower), 1e-13 * size)
    if how in ("raised", "lowered"):
        sign = 1.0 if how == "raised" else -1.0
        answer |= {name: answer[name] + sign * shift for name in ("distance", "lower", "upper")}
    elif how == "point":
        # Along the normal: beside it a point may stay on a flat face.
        move = rng.choice([-1.0, 1.0]) * (1e-3 * size + (upper - lower))
        answer["point_a"] = [x + move * n for x, n in zip(answer["point_a"], answer["normal"], strict=True)]
    else:
        n = np.array(answer["normal"])
        turned = n + 0.3 * np.cross(n, rng.normal(size=3))
        answer["normal"] = (turned / np.linalg.norm(turned)).tolist()
    return pair | {"answer": answer}


@dataclass
class FamilyChecks:
    """Counts of one family."""

    name: str
    certified: Counter[str] = field(default_factory=Counter)
    """Verdicts on answers that are not UNPROVEN."""
    unproven: Counter[str] = field(default_factory=Counter)
    intervals: Counter[str] = field(default_factory=Counter)
    """Verdicts on the intervals alone, of all answers."""
    certificates: Counter[str] = field(default_factory=Counter)
    """Verdicts on the cones and pieces of certificates, of those that had some and were needed."""
    planted: dict[str, Counter[str]] = field(default_factory=lambda: {how: Counter() for how in PLANTED})
    seconds: float = 0.0
    slowest: float = 0.0

    @property
    def pairs(self) -> int:
        """Answers that were checked."""
        return self.certified.total() + self.unproven.total()

    @property
    def accepted_wrong(self) -> int:
        """Wrong answers that were accepted."""
        return sum(found[ACCEPTED] for found in self.planted.values())


class Part(NamedTuple):
    """Some pairs of a family, checked as one."""

    family: str
    number: int
    first: int
    pairs: tuple[Drawn, ...]


# Pairs of a part: they take seconds.
_PART = 10


def _parts(families: Sequence[str], seed: int, count: int) -> Iterator[Part]:
    for family in families:
        drawn = draw(family, seed, count)
        for number in itertools.count():
            pairs = tuple(itertools.islice(drawn, _PART))
            if not pairs:
                break
            yield Part(family, number, number * _PART, pairs)


def check_part(seed: int, planted: bool, part: Part) -> tuple[FamilyChecks, list[dict[str, Any]]]:
    """Check answers, with their certificates, to some pairs.

    Parameters
    ----------
    seed : int
    planted : bool
        Whether to have a wrong answer of one kind, in turns, checked with each.
    part : Part

    Returns
    -------
    report : FamilyChecks
    bad : list of dict
        The records of what was refuted, and of wrong answers that were accepted.
    """
    name = part.family
    report, bad = FamilyChecks(name), []
    rng = np.random.default_rng([seed, NAMES.index(name), 1, part.number])
    for number, drawn in enumerate(part.pairs, part.first):
        result = distance(*drawn, certificate=True)
        pair = record(result, *drawn)
        check = _timed(report, pair)
        (report.certified if result.certified else report.unproven)[check.verdict] += 1
        report.intervals[check.interval.verdict] += 1
        report.certificates[check.certificate.verdict] += check.parts > 0 and check.certificate.why != "there is none"
        if check.verdict == REFUTED:
            bad.append(pair | {"family": name, "status": str(result.status), "check": list(check.lines())})
        if planted and result.certified:
            how = PLANTED[number % len(PLANTED)]
            if _can_be(how, drawn, result):
                wrong = spoiled(pair, how, rng, _size(drawn))
                if how == "normal" and not (proves_less(wrong, drawn) and is_judged(wrong, check, _size(drawn))):
                    continue
                check = verify_record(wrong)
                report.planted[how][check.verdict] += 1
                if check.verdict == ACCEPTED:
                    bad.append(wrong | {"family": name, "planted": how})
    return report, bad


def checked(
    families: Sequence[str], seed: int, count: int, planted: bool, workers: int | None = None
) -> Generator[tuple[FamilyChecks, list[dict[str, Any]]], None, None]:
    """Check so many pairs of each family; yield what `check_part` returns, part by part in their order.

    Parameters
    ----------
    families : sequence of str
    seed, count : int
    planted : bool
        As for `check_part`.
    workers : int, optional
        Processes; default: a thread of this one, since the checker holds the interpreter's lock.
    """
    threads = 1 if workers is None else None
    parts = _parts(families, seed, count)
    with closing(in_order(partial(check_part, seed, planted), parts, threads=threads, workers=workers)) as done:
        for _, found in done:
            yield found


def _timed(report: FamilyChecks, pair: dict[str, Any]) -> Check:
    started = time.process_time()
    check = verify_record(pair)
    took = time.process_time() - started
    report.seconds += took
    report.slowest = max(report.slowest, took)
    return check


def _size(drawn: Drawn) -> float:
    return min(float(max(shape.obb().half_extents)) for shape in (drawn.a, drawn.b) if not isinstance(shape, Plane))


def _can_be(how: str, drawn: Drawn, result: DistanceResult) -> bool:
    """Whether an answer becomes wrong in a way: the normal of bodies that are not convex promises nothing."""
    if how != "normal":
        return True
    if _has_plane(drawn):
        return True
    return _is_convex(drawn.a) and _is_convex(drawn.b) and "ARBITRARY" not in str(result.status)


def proves_less(wrong: dict[str, Any], drawn: Drawn) -> bool:
    """Whether a turned normal proves less than it is to.

    At sharp tips that nearly touch it does not: many normals prove their distance to the tolerance. Any other normal
    than that of a plane proves nothing.
    """
    if _has_plane(drawn):
        return True
    n = np.array(wrong["answer"]["normal"])
    farthest = [
        pose[:3, :3] @ shape.support(pose[:3, :3].T @ (sign * n)) + pose[:3, 3]
        for shape, pose, sign in ((drawn.a, drawn.pose_a, 1.0), (drawn.b, drawn.pose_b, -1.0))
    ]
    allowed = 10.0 * wrong["tolerance"] * _size(drawn)
    return bool(n @ (farthest[1] - farthest[0]) < wrong["answer"]["lower"] - allowed)


def is_judged(wrong: dict[str, Any], check: Check, size: float) -> bool:
    """Whether a turned normal breaks what the checker looks at; `check` is of the answer before it was turned.

    What a normal proves is judged of bodies that the checker has proved to be convex. Of others, as of those at the
    border of convexity, it is only that the points lie along it, to ten times the tolerance.
    """
    if check.normal.verdict == ACCEPTED:
        return True
    answer = wrong["answer"]
    across = np.cross(np.subtract(answer["point_b"], answer["point_a"]), answer["normal"])
    allowed = 10.0 * wrong["tolerance"] * size
    if answer["lower"] > 0.0:
        allowed += math.sqrt((answer["upper"] - answer["lower"]) * (answer["upper"] + answer["lower"]))
    return bool(np.linalg.norm(across) > 2.0 * allowed)


def _has_plane(drawn: Drawn) -> bool:
    return isinstance(drawn.a, Plane) or isinstance(drawn.b, Plane)


def _is_convex(shape: Shape) -> bool:
    return shape.convexity().convex if isinstance(shape, Superovoid) else type(shape).__name__ != "Torus"


def table(reports: Sequence[FamilyChecks]) -> Table:
    """Counts by family."""
    made = Table(title="answers checked in ball arithmetic: + accepted, ? undecided, - refuted; ms of processor time")
    for words in (
        *("family", "pairs", "+", "?", "-", "certified, + %", "intervals, + %", "unproven", "cones, pieces +", "?"),
        *("wrong: -", "wrong: ?", "wrong: +", "ms", "most s"),
    ):
        made.add_column(words, justify="left" if words == "family" else "right")
    for report in reports:
        verdicts = report.certified + report.unproven
        wrong = sum(report.planted.values(), Counter())
        share = 100.0 * report.certified[ACCEPTED] / max(report.certified.total(), 1)
        alone = 100.0 * report.intervals[ACCEPTED] / max(report.pairs, 1)
        numbers = (report.pairs, *(verdicts[verdict] for verdict in (ACCEPTED, UNDECIDED, REFUTED)))
        made.add_row(
            report.name,
            *map(str, numbers),
            f"{share:.2f}",
            f"{alone:.2f}",
            str(report.unproven.total()),
            *(str(report.certificates[verdict]) for verdict in (ACCEPTED, UNDECIDED)),
            *(str(wrong[verdict]) for verdict in (REFUTED, UNDECIDED, ACCEPTED)),
            f"{1e3 * report.seconds / max(report.pairs, 1):.1f}",
            f"{report.slowest:.1f}",
        )
    return made


def total(reports: Sequence[FamilyChecks], name: str = "all") -> FamilyChecks:
    """The sum of several."""
    made = FamilyChecks(name)
    for report in reports:
        made.certified += report.certified
        made.unproven += report.unproven
        made.intervals += report.intervals
        made.certificates += report.certificates
        for how in PLANTED:
            made.planted[how] += report.planted[how]
        made.seconds += report.seconds
        made.slowest = max(made.slowest, report.slowest)
    return made


def main(
    pairs: int, seed: int, families: Sequence[str], planted: bool, output: Path, workers: int | None = None
) -> int:
    """Check answers to random pairs, the same number of each family, and say after each what was found.

    Returns
    -------
    int
        1 where an answer was refuted or a wrong one accepted; their records are written to `output`. Where the check is
        interrupted the table of what was found by then is printed all the same.
    """
    console = Console()
    names = families or NAMES
    each = max(1, pairs // len(names))
    reports: dict[str, FamilyChecks] = {}
    bad: list[dict[str, Any]] = []
    try:
        with progress(console) as bar, closing(checked(names, seed, each, planted, workers)) as done:
            task = bar.add_task("pairs", total=each * len(names))
            for part, wrong in done:
                found = reports[part.name] = total([reports.get(part.name, FamilyChecks(part.name)), part], part.name)
                bad += wrong
                bar.update(task, advance=part.pairs, description=part.name)
                if found.pairs == each:
                    console.print(_line(found, len(names) - len(reports)), soft_wrap=True)
    finally:
        _leave(console, list(reports.values()), bad, output)
    return 1 if bad else 0


def _line(report: FamilyChecks, left: int) -> str:
    """What was found of a family."""
    verdicts = report.certified + report.unproven
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (ACCEPTED, UNDECIDED, REFUTED))
    wrong = f", {report.accepted_wrong} wrong ones accepted" if any(report.planted.values()) else ""
    return f"{report.name}: {counts}{wrong}, {report.seconds:.1f} s of processor time; {left} families left"


def _leave(console: Console, reports: Sequence[FamilyChecks], bad: list[dict[str, Any]], output: Path) -> None:
    """Print the table of what was found, write down what is wrong."""
    reports = [report for report in reports if report.pairs]
    if reports:
        print_table(console, table([*reports, total(reports)] if len(reports) > 1 else reports))
    console.print(machine(("numpy", "python-flint")), soft_wrap=True)
    if bad:
        path = output_folder(output) / "verify_failures.json"
        path.write_text(json.dumps({"pairs": bad}, indent=1), encoding="utf-8")
        console.print(f"refuted answers, and wrong ones that were accepted: {path}", soft_wrap=True)

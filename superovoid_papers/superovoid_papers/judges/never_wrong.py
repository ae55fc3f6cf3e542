# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers to random pairs, checked by `superovoid.checker`; and wrong answers, which the checker must not accept.

Two more tests complement the proofs of single answers:

* points of the bodies attack lower ends that the checker leaves undecided because of concavities (`examination`);
* `broken_promises` compares answers: a certified interval is as narrow as the tolerance, swapping the bodies changes no
  bit, and answers from warm starts and from batches agree with cold ones of single pairs.
"""

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
from superovoid.contact import DistanceResult, DistanceResults, distance
from superovoid.contact.broadcasting import pairs_of
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.lanes import many_pairs
from superovoid.dataset.spreading import in_order
from superovoid.output import REPORT, machine, output_folder, print_table, progress
from superovoid.scene import Body, Scene
from superovoid.shapes import HalfSpace, Superovoid
from superovoid.testing.flat_contacts import Pair
from superovoid.testing.independent import EPS, Batch
from superovoid.testing.random_pairs import NAMES, directions, draw
from superovoid_papers.judges.examination import refuted_by_points

FloatArray = NDArray[np.float64]

PLANTED = ("raised", "lowered", "point", "normal")
"""Wrong answers: the interval moved up or down by ten times its width, a point moved, the normal rotated."""


def spoil(pair: dict[str, Any], how: str, rng: np.random.Generator, size: float) -> dict[str, Any]:
    """Return a record with a wrong answer of a kind of `PLANTED`; `size` is that of the smaller body."""
    answer = dict(pair["answer"])
    lower, upper = answer["lower"], answer["upper"]
    shift = max(10.0 * (upper - lower), 1e-13 * size)
    if how in ("raised", "lowered"):
        sign = 1.0 if how == "raised" else -1.0
        answer |= {name: answer[name] + sign * shift for name in ("distance", "lower", "upper")}
    elif how == "point":
        # Along the normal, since in another direction a point may stay on a flat face.
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
    """Verdicts on answers without UNPROVEN."""
    unproven: Counter[str] = field(default_factory=Counter)
    intervals: Counter[str] = field(default_factory=Counter)
    """Verdicts on the intervals alone, of all answers."""
    certificates: Counter[str] = field(default_factory=Counter)
    """Verdicts on the cones and pieces of necessary certificates."""
    attacked: int = 0
    """Number of undecided answers to pairs with concavities, which points attack."""
    reached: int = 0
    """Number of those refuted by points."""
    broken: Counter[str] = field(default_factory=Counter)
    """Broken promises."""
    planted: dict[str, Counter[str]] = field(default_factory=lambda: {how: Counter() for how in PLANTED})
    seconds: float = 0.0
    slowest: float = 0.0

    @property
    def pairs(self) -> int:
        """Number of checked answers."""
        return self.certified.total() + self.unproven.total()

    @property
    def accepted_wrong(self) -> int:
        """Number of wrong answers that the checker accepted."""
        return sum(found[ACCEPTED] for found in self.planted.values())


class Part(NamedTuple):
    """Some pairs of a family, checked together."""

    family: str
    number: int
    first: int
    pairs: tuple[Pair, ...]


# Number of pairs of a part, which take seconds.
_PART = 10


def _parts(families: Sequence[str], seed: int, count: int) -> Iterator[Part]:
    for family in families:
        drawn = draw(family, seed, count)
        for number in itertools.count():
            pairs = tuple(itertools.islice(drawn, _PART))
            if not pairs:
                break
            yield Part(family, number, number * _PART, pairs)


def answers(pairs: Sequence[Pair], in_lanes: bool) -> list[DistanceResult]:
    """Return the engine's answers: one by one with their certificates, or in SIMD lanes as in large batches.

    Only superovoids have lanes; other pairs are always solved one by one.
    """
    if not (in_lanes and all(_are_superovoids(drawn) for drawn in pairs)):
        return [distance(*drawn, certificate=True) for drawn in pairs]
    a, pose_a, b, pose_b = zip(*pairs, strict=True)
    given, _ = pairs_of(a, np.array(pose_a), b, np.array(pose_b))
    states, out = np.zeros((len(pairs), STATE_LENGTH)), np.empty((len(pairs), RESULT_LENGTH))
    many_pairs.solve_batch(given, np.arange(len(pairs)), False, TOLERANCE, SEARCH_BUDGET, states, out)
    return list(DistanceResults.from_rows(out))


def broken_promises(drawn: Pair, result: DistanceResult, rng: np.random.Generator) -> list[str]:
    """Return the broken promises of an answer that its correctness does not imply.

    ``wide``: it is certified, and the interval is wider than the tolerance and rounding. ``swapped``: the pair in the
    other order has different bits. ``single``: the intervals of a batch and of `distance` are disjoint. ``warm``:
    the same for the interval of a scene with a warm start and this one. The last three apply to superovoids, the last
    two to convex ones: two answers near a concavity may be two contacts.
    """
    size = _size(drawn)
    a, pose_a, b, pose_b = drawn
    radii = [shape.bounding_sphere().radius for shape in (a, b) if not isinstance(shape, HalfSpace)]
    world = 64.0 * EPS * (sum(radii) + np.abs(pose_a[:3, 3]).max() + np.abs(pose_b[:3, 3]).max())
    broken = []
    if result.certified and not result.upper - result.lower <= 1.000001 * TOLERANCE * size + 8.0 * world:
        broken.append("wide")
    if not _are_superovoids(drawn):
        return broken
    single, swapped = distance(*drawn), distance(b, pose_b, a, pose_a)
    is_one_twice = a == b and np.array_equal(pose_a, pose_b)  # has no order to swap
    numbers = [
        np.array([one.distance, one.lower, one.upper, *x, *y, *normal])
        for one, x, y, normal in (
            (single, single.point_a, single.point_b, single.normal),
            (swapped, swapped.point_b, swapped.point_a, -swapped.normal),
        )
    ]
    if not is_one_twice and not np.array_equal(*numbers):
        broken.append("swapped")
    if a.is_convex() and b.is_convex():
        scene = Scene([Body("a", "a", a), Body("b", "b", b)])
        near = pose_b.copy()
        near[:3, 3] += 0.01 * size * directions(rng, 1)[0]
        scene.set_link_poses({"a": pose_a, "b": near})
        scene.query()
        scene.set_link_poses({"a": pose_a, "b": pose_b})
        for name, other in (("single", single), ("warm", scene.query()[0])):
            if max(result.lower, other.lower) > min(result.upper, other.upper) + world:
                broken.append(name)
    return broken


def check_part(seed: int, planted: bool, in_lanes: bool, part: Part) -> tuple[FamilyChecks, list[dict[str, Any]]]:
    """Check the answers for some pairs, with their certificates.

    Parameters
    ----------
    seed : int
    planted : bool
        If true, also check a wrong answer with each certified one, each kind in turn.
    in_lanes : bool
        If true, check the answers of batches.
    part : Part

    Returns
    -------
    report : FamilyChecks
    bad : list of dict
        The records of refuted answers, broken promises, and accepted wrong answers.
    """
    name = part.family
    report, bad = FamilyChecks(name), []
    rng, walks = (np.random.default_rng([seed, NAMES.index(name), use, part.number]) for use in (1, 2))
    results = answers(part.pairs, in_lanes)
    undecided = []
    for number, (drawn, result) in enumerate(zip(part.pairs, results, strict=True)):
        pair = record(result, *drawn)
        check = _time_check(report, pair)
        (report.certified if result.certified else report.unproven)[check.verdict] += 1
        report.intervals[check.interval.verdict] += 1
        report.certificates[check.certificate.verdict] += check.parts > 0 and check.certificate.why != "there is none"
        about = pair | {"family": name, "status": str(result.status)}
        broken = broken_promises(drawn, result, walks)
        report.broken.update(broken)
        if check.verdict == REFUTED or broken:
            bad.append(about | {"check": list(check.lines()), "broken promises": broken})
        if check.interval.verdict == UNDECIDED and _are_superovoids(drawn) and _has_a_concavity(drawn):
            undecided.append((number, about))
        if planted and result.certified:
            how = PLANTED[(part.first + number) % len(PLANTED)]
            if _can_be(how, drawn, result):
                wrong = spoil(pair, how, rng, _size(drawn))
                if how == "normal" and not (proves_less(wrong, drawn) and is_judged(wrong, check, _size(drawn))):
                    continue
                check = verify_record(wrong)
                report.planted[how][check.verdict] += 1
                if check.verdict == ACCEPTED:
                    bad.append(wrong | {"family": name, "planted": how})
    if undecided:
        numbers = [number for number, _ in undecided]
        batch = _batch([part.pairs[number] for number in numbers])
        reached = refuted_by_points(walks, batch, [results[number] for number in numbers])
        report.attacked, report.reached = len(numbers), int(reached.sum())
        bad += [
            about | {"refuted by": "points of the bodies"}
            for (_, about), is_reached in zip(undecided, reached, strict=True)
            if is_reached
        ]
    return report, bad


def check_families(
    families: Sequence[str], seed: int, count: int, planted: bool, in_lanes: bool = False, workers: int | None = None
) -> Generator[tuple[FamilyChecks, list[dict[str, Any]]], None, None]:
    """Check `count` pairs of each family; yield the results of `check_part` in the order of the parts.

    Parameters
    ----------
    families : sequence of str
    seed, count : int
    planted, in_lanes : bool
        As for `check_part`.
    workers : int, optional
        Number of processes; default: a thread of this one, since the checker holds the interpreter's lock.
    """
    threads = 1 if workers is None else None
    parts = _parts(families, seed, count)
    check = partial(check_part, seed, planted, in_lanes)
    with closing(in_order(check, parts, threads=threads, workers=workers)) as done:
        for _, found in done:
            yield found


def _time_check(report: FamilyChecks, pair: dict[str, Any]) -> Check:
    started = time.process_time()
    check = verify_record(pair)
    took = time.process_time() - started
    report.seconds += took
    report.slowest = max(report.slowest, took)
    return check


def _size(drawn: Pair) -> float:
    return min(float(max(shape.obb().half_extents)) for shape in (drawn.a, drawn.b) if not isinstance(shape, HalfSpace))


def _can_be(how: str, drawn: Pair, result: DistanceResult) -> bool:
    """Return whether `how` makes an answer wrong: the normal of non-convex bodies promises nothing."""
    if how != "normal":
        return True
    if _has_plane(drawn):
        return True
    return drawn.a.is_convex() and drawn.b.is_convex() and "ARBITRARY" not in str(result.status)


def proves_less(wrong: dict[str, Any], drawn: Pair) -> bool:
    """Return whether a rotated normal proves less than it should.

    It does not for sharp tips close together: many normals prove their distance to the tolerance. For a plane, any
    other normal proves nothing.
    """
    if _has_plane(drawn):
        return True
    n = np.array(wrong["answer"]["normal"])
    farthest = [
        pose[:3, :3] @ shape.support(pose[:3, :3].T @ (sign * n)) + pose[:3, 3]
        for shape, pose, sign in ((drawn.a, drawn.pose_a, 1.0), (drawn.b, drawn.pose_b, -1.0))
    ]
    allowed = 10.0 * wrong["rtol"] * _size(drawn)
    return bool(n @ (farthest[1] - farthest[0]) < wrong["answer"]["lower"] - allowed)


def is_judged(wrong: dict[str, Any], check: Check, size: float) -> bool:
    """Return whether a rotated normal violates a test of the checker; `check` belongs to the original answer.

    The checker tests the proof by a normal only for bodies that it has proved to be convex. For others, such as those
    at the border of convexity, it only tests that the points lie along it, to ten times the tolerance.
    """
    if check.normal.verdict == ACCEPTED:
        return True
    answer = wrong["answer"]
    across = np.cross(np.subtract(answer["point_b"], answer["point_a"]), answer["normal"])
    allowed = 10.0 * wrong["rtol"] * size
    if answer["lower"] > 0.0:
        allowed += math.sqrt((answer["upper"] - answer["lower"]) * (answer["upper"] + answer["lower"]))
    return bool(np.linalg.norm(across) > 2.0 * allowed)


def _are_superovoids(drawn: Pair) -> bool:
    return isinstance(drawn.a, Superovoid) and isinstance(drawn.b, Superovoid)


def _has_a_concavity(drawn: Pair) -> bool:
    return not (drawn.a.is_convex() and drawn.b.is_convex())


def _batch(pairs: Sequence[Pair]) -> Batch:
    """Return pairs of superovoids with concavities as arrays."""
    rows = np.array(
        [
            [(*s.semi_axes, s.section_exponent, s.profile_exponent, *s.taper) for s in side]
            for side in zip(*[p[::2] for p in pairs], strict=True)
        ]
    )
    poses = np.array([[pair.pose_a for pair in pairs], [pair.pose_b for pair in pairs]])
    return Batch(rows, poses[..., :3, :3], poses[..., :3, 3], np.zeros(len(pairs), dtype=bool))


def _has_plane(drawn: Pair) -> bool:
    return isinstance(drawn.a, HalfSpace) or isinstance(drawn.b, HalfSpace)


def table(reports: Sequence[FamilyChecks]) -> Table:
    """Return the table of counts by family."""
    made = Table(title="answers checked in ball arithmetic: + accepted, ? undecided, - refuted; ms of processor time")
    for words in (
        *("family", "pairs", "+", "?", "-", "certified, + %", "intervals, + %", "unproven", "cones, pieces +", "?"),
        *("by points: -", "?", "broken", "wrong: -", "wrong: ?", "wrong: +", "ms", "most s"),
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
            *map(str, (report.reached, report.attacked - report.reached, report.broken.total())),
            *(str(wrong[verdict]) for verdict in (REFUTED, UNDECIDED, ACCEPTED)),
            f"{1e3 * report.seconds / max(report.pairs, 1):.1f}",
            f"{report.slowest:.1f}",
        )
    return made


def total(reports: Sequence[FamilyChecks], name: str = "all") -> FamilyChecks:
    """Return the sum of several."""
    made = FamilyChecks(name)
    for report in reports:
        made.certified += report.certified
        made.unproven += report.unproven
        made.intervals += report.intervals
        made.certificates += report.certificates
        made.attacked += report.attacked
        made.reached += report.reached
        made.broken += report.broken
        for how in PLANTED:
            made.planted[how] += report.planted[how]
        made.seconds += report.seconds
        made.slowest = max(made.slowest, report.slowest)
    return made


def main(
    pairs: int,
    seed: int,
    *,
    families: Sequence[str] = (),
    planted: bool = False,
    in_lanes: bool = False,
    output: Path = Path(),
    workers: int | None = None,
) -> int:
    """Check answers for random pairs, the same number of each family, and print results after each family.

    Parameters
    ----------
    pairs : int
        Number of pairs of all families together.
    seed : int
    families : sequence of str
        Names from `NAMES`; default: all.
    planted, in_lanes : bool
        As for `check_part`.
    output : Path
        Folder for `never_wrong_failures.json`, which `superovoid verify` reads.
    workers : int, optional
        As for `checked`.

    Returns
    -------
    int
        1 if an answer was refuted, a promise broken or a wrong answer accepted, otherwise 0. If the check is
        interrupted, it still prints the table of results.
    """
    console = REPORT.console()
    names = families or NAMES
    each = max(1, pairs // len(names))
    reports: dict[str, FamilyChecks] = {}
    bad: list[dict[str, Any]] = []
    try:
        with progress() as bar, closing(check_families(names, seed, each, planted, in_lanes, workers)) as done:
            task = bar.add_task("pairs", total=each * len(names))
            for part, wrong in done:
                found = reports[part.name] = total([reports.get(part.name, FamilyChecks(part.name)), part], part.name)
                bad += wrong
                bar.update(task, advance=part.pairs, description=part.name)
                if found.pairs == each:
                    REPORT.detail(_line(found, len(names) - len(reports)))
    finally:
        total_pairs = sum(report.pairs for report in reports.values())
        REPORT.verdict(f"{total_pairs} pairs checked, {len(bad)} answers wrong", pairs=total_pairs, wrong=len(bad))
        _leave(console, list(reports.values()), bad, output)
    return 1 if bad else 0


def _line(report: FamilyChecks, left: int) -> str:
    """Return a line about a family."""
    verdicts = report.certified + report.unproven
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (ACCEPTED, UNDECIDED, REFUTED))
    counts += f", {report.reached} refuted by points, {report.broken.total()} broken promises"
    wrong = f", {report.accepted_wrong} wrong ones accepted" if any(report.planted.values()) else ""
    return f"{report.name}: {counts}{wrong}, {report.seconds:.1f} s of processor time; {left} families left"


def _leave(console: Console, reports: Sequence[FamilyChecks], bad: list[dict[str, Any]], output: Path) -> None:
    """Print the table of results, and write the wrong answers to a file."""
    reports = [report for report in reports if report.pairs]
    if reports:
        print_table(console, table([*reports, total(reports)] if len(reports) > 1 else reports))
    console.print(machine(("numpy", "python-flint")), soft_wrap=True)
    if bad:
        path = output_folder(output) / "never_wrong_failures.json"
        path.write_text(json.dumps({"pairs": bad}, indent=1), encoding="utf-8")
        console.print(f"refuted answers, broken promises, and accepted wrong answers: {path}", soft_wrap=True)

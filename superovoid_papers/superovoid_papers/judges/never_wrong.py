# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs over the whole parameter range, every answer checked (`examination`), a sample with 40 digits."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np
from rich.console import Console
from rich.table import Table

from superovoid.contact import Status, columns
from superovoid.dataset.spreading import in_order
from superovoid.output import heading, machine, print_table, progress, write_lines
from superovoid.testing import flat_contacts
from superovoid.testing.exact_pairs import MpPair
from superovoid.testing.independent import Batch, FloatArray
from superovoid.testing.random_pairs import FAMILIES, WITH_DENTS, generate
from superovoid_papers.judges.examination import (
    KINDS,
    TOUCH_UP,
    Findings,
    attack,
    examine,
    solve,
    solve_in_lanes,
    times,
)

CHUNK = 2000
TIMED = 300


@dataclass
class FamilyReport:
    """Sums over the chunks of a family."""

    name: str
    pairs: int = 0
    overlapping: int = 0
    flags: dict[str, int] = field(default_factory=lambda: {flag.name: 0 for flag in Status})
    certified: int = 0
    beyond_goal: int = 0  # certified, but wider than the goal alone: the allowance for rounding at large coordinates
    widest_certified: float = 0.0
    widest: float = 0.0
    surface: float = 0.0
    closer: int = 0
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    median_us: float = math.nan
    p99_us: float = math.nan

    def add(self, findings: Findings) -> None:
        """Take in a chunk."""
        self.pairs += findings.pairs
        self.overlapping += findings.overlapping
        for flag in Status:
            if flag.value:
                self.flags[flag.name] += int(((findings.status & flag.value) != 0).sum())
        certified = (findings.status & Status.UNPROVEN) == 0
        self.certified += int(certified.sum())
        self.beyond_goal += int((certified & (findings.width > (1.0 + 1e-6) * TOUCH_UP)).sum())
        self.widest_certified = max(self.widest_certified, float(findings.width[certified].max(initial=0.0)))
        self.widest = max(self.widest, float(findings.width.max(initial=0.0)))
        self.surface = max(self.surface, float(findings.surface.max(initial=0.0)))
        self.closer += findings.closer
        for kind in KINDS:
            self.failures[kind] += int(findings.failures[kind].sum())

    @property
    def failed(self) -> int:
        """Failures of any kind."""
        return sum(self.failures.values())


class _Chunk(NamedTuple):
    family: int
    number: int
    pairs: int


def _chunks(pairs: int, names: Sequence[str]) -> Iterator[_Chunk]:
    """Chunks of all families in turns; a chunk's pairs depend on the seed, its family and its number only."""
    chosen = [k for k, name in enumerate(FAMILIES) if name in names]
    total = sum(FAMILIES[name][0] for name in names)
    left = {k: max(1, round(pairs * list(FAMILIES.values())[k][0] / total)) for k in chosen}
    number = 0
    while left:
        for k in list(left):
            count = min(CHUNK, left[k])
            yield _Chunk(k, number, count)
            left[k] -= count
            if not left[k]:
                del left[k]
        number += 1


class Failure(NamedTuple):
    """A pair with a failure, to be looked at."""

    kind: str
    family: str
    row_a: FloatArray
    row_b: FloatArray
    pose_a: FloatArray
    pose_b: FloatArray
    result: FloatArray


def _run_chunk(seed: int, in_lanes: bool, chunk: _Chunk) -> tuple[Findings, list[Failure]]:
    family = list(FAMILIES)[chunk.family]
    rng, batch = generate(seed, family, chunk.number, chunk.pairs)
    with np.errstate(all="ignore"):
        findings, out = examine(rng, batch, solve_in_lanes) if in_lanes else examine(rng, batch)
    poses = batch.poses()
    failures = [
        Failure(kind, family, batch.rows[0, i], batch.rows[1, i], poses[0, i], poses[1, i], out[i])
        for kind, failed in findings.failures.items()
        for i in np.flatnonzero(failed)
    ]
    return findings, failures


def run(
    pairs: int,
    seed: int,
    threads: int = 1,
    families: Sequence[str] = tuple(FAMILIES),
    timed: int = 0,
    console: Console | None = None,
    workers: int | None = None,
    in_lanes: bool = False,
) -> tuple[list[FamilyReport], list[Failure]]:
    """Draw, solve and check pairs.

    Parameters
    ----------
    pairs : int
        Of all families together.
    seed : int
    threads : int
        Chunks at a time; the engine and most of the checks release the interpreter's lock.
    families : sequence of str
        Names of `FAMILIES`.
    timed : int
        Pairs of each family to time, one by one on one thread, after all is checked.
    console : rich.console.Console, optional
        For a progress bar.
    workers : int, optional
        Instead of threads: so many processes of dask.distributed. The answer is the same.
    in_lanes : bool, optional
        Answers of batches, in SIMD lanes, in place of pairs one by one.

    Returns
    -------
    reports : list of FamilyReport
    failures : list of Failure
    """
    reports = {name: FamilyReport(name) for name in families}
    failures: list[Failure] = []
    done = in_order(partial(_run_chunk, seed, in_lanes), _chunks(pairs, families), threads=threads, workers=workers)
    with progress(console) as bar, closing(done):
        task = bar.add_task("pairs", total=pairs)
        for chunk, (findings, failed) in done:
            reports[list(FAMILIES)[chunk.family]].add(findings)
            failures.extend(failed)
            bar.update(task, advance=chunk.pairs, description=f"{len(failures)} failures")
    for name, report in reports.items():
        if timed:
            microseconds = times(generate(seed, name, 0, min(timed, report.pairs))[1])
            report.median_us, report.p99_us = float(np.median(microseconds)), float(np.quantile(microseconds, 0.99))
    return list(reports.values()), failures


def _total(reports: Sequence[FamilyReport]) -> FamilyReport:
    total = FamilyReport("all")
    for report in reports:
        for name in ("pairs", "overlapping", "certified", "beyond_goal", "closer"):
            setattr(total, name, getattr(total, name) + getattr(report, name))
        for name in ("widest_certified", "widest", "surface"):
            setattr(total, name, max(getattr(total, name), getattr(report, name)))
        for name in total.flags:
            total.flags[name] += report.flags[name]
        for kind in KINDS:
            total.failures[kind] += report.failures[kind]
    return total


def _tables(reports: Sequence[FamilyReport], seed: int) -> tuple[Table, Table]:
    flags = [flag.name for flag in Status if flag.value]
    answers = Table(title=f"Answers, seed {seed}; widths in units of the smaller body", title_justify="left")
    checks = Table(title="Checks: counts of failing pairs", title_justify="left")
    columns = ["pairs", "overlapping", "certified", *(name.lower() for name in flags), "widest certified", "widest"]
    columns += [heading("median_us"), heading("p99_us")]
    for table, names in ((answers, columns), (checks, [*KINDS, "closer", "surface"])):
        for name in ("family", *names):
            table.add_column(name, justify="left" if name == "family" else "right")
    for report in (*reports, _total(reports)):
        share = 100.0 / max(1, report.pairs)
        answers.add_row(
            report.name,
            str(report.pairs),
            f"{share * report.overlapping:.0f}%",
            f"{share * report.certified:.3f}%",
            *(f"{share * report.flags[name]:.3f}%" for name in flags),
            f"{report.widest_certified:.0e}",
            f"{report.widest:.0e}",
            "" if math.isnan(report.median_us) else f"{report.median_us:.1f}",
            "" if math.isnan(report.p99_us) else f"{report.p99_us:.0f}",
        )
        counts = (*(report.failures[kind] for kind in KINDS), report.closer)
        checks.add_row(report.name, *(str(count) for count in counts), f"{report.surface:.0e}")
    return answers, checks


_LENGTHS = ("widest_certified", "widest", "surface")
"""Figures of a `FamilyReport` in units of the smaller body."""


def _write_csv(reports: Sequence[FamilyReport], path: Path, *about: str) -> None:
    flags = [flag.name for flag in Status if flag.value]
    numbers = "pairs", "overlapping", "certified", "beyond_goal", *_LENGTHS, "closer"
    names = "family", *numbers, *(name.lower() for name in flags), *KINDS, "median_us", "p99_us"
    lines = [
        [report.name]
        + [getattr(report, name) for name in numbers]
        + [report.flags[name] for name in flags]
        + [report.failures[kind] for kind in KINDS]
        + [report.median_us, report.p99_us]
        for report in reports
    ]
    names = [f"{name}_of_size" if name in _LENGTHS else name for name in names]
    write_lines(path, names, lines, *about)


class MpReport(NamedTuple):
    """Comparison with 40 digits."""

    pairs: int
    outside: int  # values outside [lower, upper]
    largest_error: float  # of the distance, in units of the smaller body, of certified pairs
    largest_error_unproven: float
    failures: list[Failure]


def compare_with_40_digits(pairs: int, seed: int, console: Console | None = None, in_lanes: bool = False) -> MpReport:
    """Solve a sample of convex pairs of all families and compare with ascents of g in 40 digits.

    Apart, g has one summit. Overlapping, the highest of the summits found from eight starts in double precision is
    climbed with all digits, beside the one of the answer.
    """
    names = [name for name in FAMILIES if name not in WITH_DENTS]
    each = np.bincount(np.arange(pairs) % len(names), minlength=len(names))
    family = np.repeat(names, each)
    parts = [generate(seed, name, 1_000_000, int(count))[1] for name, count in zip(names, each, strict=True) if count]
    batch = Batch(
        np.concatenate([part.rows for part in parts], axis=1),
        np.concatenate([part.rotation for part in parts], axis=1),
        np.concatenate([part.position for part in parts], axis=1),
        np.concatenate([part.convex for part in parts]),
    )
    rng = np.random.default_rng([seed, len(names)])
    outside, errors, failures = 0, {True: 0.0, False: 0.0}, []
    with progress(console) as bar, np.errstate(all="ignore"):
        task = bar.add_task("40 digits", total=pairs)
        out = solve_in_lanes(batch, None) if in_lanes else solve(batch, None)
        poses, unit = batch.poses(), batch.unit()
        normal = out[:, columns.NORMAL : columns.NORMAL + 3]
        _, best_n, _ = attack(rng, batch, normal, True, starts=8, steps=40)
        for i in range(len(batch)):
            pair = MpPair(batch, i)
            g = max(pair.climb(n)[0] for n in (best_n[i], normal[i]))
            error = abs(float((mpmath.mpf(float(out[i, columns.DISTANCE])) - g) / float(unit[i])))
            proven = not int(out[i, columns.STATUS]) & Status.UNPROVEN
            errors[proven] = max(errors[proven], error)
            if not out[i, columns.LOWER] <= g <= out[i, columns.UPPER]:
                outside += 1
                rows = batch.rows
                failures.append(
                    Failure("40 digits", str(family[i]), rows[0, i], rows[1, i], poses[0, i], poses[1, i], out[i])
                )
            bar.update(task, advance=1)
    return MpReport(pairs, outside, errors[True], errors[False], failures)


def save(failures: Sequence[Failure], path: Path) -> None:
    """Write failing pairs with poses and answers to an .npz file."""
    columns = list(zip(*failures, strict=True)) if failures else [[]] * len(Failure._fields)
    np.savez(path, **{name: np.array(column) for name, column in zip(Failure._fields, columns, strict=True)})


def main(
    pairs: int,
    seed: int,
    *,
    mpmath_pairs: int = 0,
    threads: int = 1,
    workers: int | None = None,
    flat_pairs: int = 0,
    families: Sequence[str] = (),
    in_lanes: bool = False,
    output: Path | None = None,
) -> int:
    """Run, print a table, write CSV and failing pairs.

    Parameters
    ----------
    pairs : int
        Random pairs of all families together.
    seed : int
    mpmath_pairs : int
        Further pairs compared with 40 digits.
    threads : int
        Chunks at a time.
    workers : int, optional
        Instead: so many processes of dask.distributed.
    flat_pairs : int
        Further pairs of all kinds of bodies, flats against flats (`flat_contacts`).
    families : sequence of str
        Default: all.
    in_lanes : bool, optional
        Answers of batches, in SIMD lanes, in place of pairs one by one. No pair is timed then.
    output : Path, optional
        Folder for `never_wrong.csv` and `never_wrong_failures.npz`; default: the current one.

    Returns
    -------
    int
        0, or 1 if anything was wrong.
    """
    console = Console()
    started = time.perf_counter()
    chosen = tuple(families) or tuple(FAMILIES)
    for name in chosen:
        if name not in FAMILIES:
            raise ValueError(f"families: {name!r} is none of {', '.join(FAMILIES)}")
    reports, failures = run(pairs, seed, threads, chosen, 0 if in_lanes else TIMED, console, workers, in_lanes)
    for table in _tables(reports, seed):
        print_table(console, table)
    total = _total(reports)
    console.print(
        f"certified but wider than {TOUCH_UP:g} of the smaller body, by the allowance for rounding: "
        f"{total.beyond_goal}; dented pairs apart for which closer points were found: {total.closer}"
    )
    for kind, text in KINDS.items():
        count = sum(report.failures[kind] for report in reports)
        if count:
            console.print(f"{kind}: {count} ({text})")
    if mpmath_pairs:
        compared = compare_with_40_digits(mpmath_pairs, seed, console, in_lanes)
        failures += compared.failures
        console.print(
            f"40 digits: {compared.pairs} pairs, {compared.outside} outside their interval; largest error of the "
            f"distance {compared.largest_error:.1e} of the smaller body "
            f"({compared.largest_error_unproven:.1e} where unproven)"
        )
    broken = []
    if flat_pairs:
        flat = flat_contacts.examine(flat_pairs, seed, console=console)
        broken = flat.breaches
        for line in flat.lines():
            console.print(line)
    folder = Path() if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    command = f"superovoid bench never-wrong --pairs {pairs} --seed {seed}"
    command += " --in-lanes" * in_lanes + "".join(f" --family {name}" for name in families)
    _write_csv(reports, folder / "never_wrong.csv", command, machine())
    if failures:
        save(failures, folder / "never_wrong_failures.npz")
        console.print(f"failing pairs: {folder / 'never_wrong_failures.npz'}", soft_wrap=True)
    console.print(f"{pairs} pairs in {time.perf_counter() - started:.0f} s, {len(failures) + len(broken)} failures")
    return 1 if failures or broken else 0

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances in a control loop: both hands in the motion of the grasp sweep, all pairs of fingers within 10 mm.

A turn is one iteration of a controller: the poses of all links for new joint positions, `Scene.set_link_poses`, and a
query. Turns are due on a fixed schedule, so a late one delays the following ones, and times count from the moment a
turn was due. The loop runs first without preparation, then by the recipe of docs/how_to/frameworks.md.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, unitless
from superovoid_ros.motions.grasp_sweep import read_sweep

FloatArray = NDArray[np.float64]

MAX_DISTANCE = 0.01
"""Largest distance of the queries, m."""
GROUPS = ("left_fingers", "right_fingers")
_SWEEP = 5.0  # s, in each direction
_PLAIN = 0.1  # share of the time without preparation
_TRACED = 500  # turns whose memory is traced
_RATES = 0.5, 0.99, 0.999, 1.0


class Hands:
    """The two hands in the sweep; one call is the work of a turn."""

    def __init__(self, rate: int) -> None:
        robot, sweep = read_sweep()
        frames = max(2, round(_SWEEP * rate))
        part = frames / len(sweep)
        approach = max(1, round(part * sweep.approach_frames))
        sweep = replace(sweep, approach_frames=approach, rotate_frames=frames - approach)
        self._robot, self._positions = robot, dict(sweep.positions)
        there = [sweep.frame(index).base_poses for index in range(frames)]
        self._bases: list[Mapping[str, FloatArray]] = [*there, *reversed(there)]
        self.pairs = robot.body_pairs(*([name] for name in GROUPS))
        self.scene = robot.scene()
        self.found = 0

    def turn(self, number: int) -> None:
        """Query one state."""
        bases = self._bases[number % len(self._bases)]
        self.scene.set_link_poses(self._robot.forward_kinematics(self._positions, bases))
        self.found += len(self.scene.query(max_distance=MAX_DISTANCE, pairs=self.pairs))


@dataclass(frozen=True)
class Loop(CsvRow):
    """A loop; times in microseconds, p50, p99, p99.9 and worst."""

    name: str
    turns: int
    late: int
    """turns not finished when the next one was due"""
    work_p50: float = column("work_p50_us")
    """from the beginning of a turn to its end"""
    work_p99: float = column("work_p99_us")
    work_p999: float = column("work_p99.9_us")
    work_worst: float = column("work_worst_us")
    done_p50: float = column("done_p50_us")
    """from the moment a turn was due to its end"""
    done_p99: float = column("done_p99_us")
    done_p999: float = column("done_p99.9_us")
    done_worst: float = column("done_worst_us")
    used_p50: float = column("used_p50_us")
    """processor time of a turn, which other programs do not affect"""
    used_p99: float = column("used_p99_us")
    used_p999: float = column("used_p99.9_us")
    used_worst: float = column("used_worst_us")
    searches: int
    """garbage collections during the loop"""
    kept: float = unitless("blocks_kept_a_turn")
    """additional blocks of Python's memory at the end, per turn"""


def run(name: str, hands: Hands, turns: int, period: float) -> Loop:
    """Run a number of turns, one per period [s]."""
    searches = [0]

    def count(phase: str, _: Mapping[str, int]) -> None:
        searches[0] += phase == "start"

    # Allocated before the loop, in which the measurement then allocates nothing.
    begun, ended, used = np.zeros(turns), np.zeros(turns), np.zeros(turns)
    gc.callbacks.append(count)
    try:
        blocks = sys.getallocatedblocks()
        start = time.perf_counter() + period
        for number in range(turns):
            left = start + number * period - time.perf_counter()
            if left > 0.0:
                time.sleep(left)
            begun[number], before = time.perf_counter(), time.thread_time()
            hands.turn(number)
            ended[number], used[number] = time.perf_counter(), time.thread_time() - before
        blocks = sys.getallocatedblocks() - blocks
    finally:
        gc.callbacks.remove(count)
    due = start + period * np.arange(turns)
    work, done, used = (np.quantile(1e6 * one, _RATES).tolist() for one in (ended - begun, ended - due, used))
    late = int(np.count_nonzero(ended - due > period))
    return Loop(name, turns, late, *work, *done, *used, searches[0], blocks / turns)


def by_the_recipe(hands: Hands) -> int:
    """Prepare this process for the loop; return its core."""
    hands.scene.prepare(pairs=hands.pairs)
    hands.turn(0)
    gc.collect()
    gc.disable()
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def memory_of_a_turn(hands: Hands, turns: int) -> float:
    """Return the peak of a turn's additional memory [bytes], the median of some turns."""
    tracemalloc.start()
    try:
        peaks = []
        for number in range(turns):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            hands.turn(number)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return float(np.median(peaks))


def table(rows: list[Loop], rate: int) -> Table:
    """Return the table of loops."""
    title = f"{rate} turns a second, both hands, max_distance {1e3 * MAX_DISTANCE:.0f} mm; microseconds"
    result = Table(title=title, title_justify="left")
    for name in ("", *(row.name for row in rows)):
        result.add_column(name, justify="right" if name else "left")
    for name in list(Loop.__dataclass_fields__)[1:]:
        values = [getattr(row, name) for row in rows]
        heading = Loop.heading(name).removesuffix(", us")
        result.add_row(heading, *(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in values))
    return result


def main(seconds: int, rate: int, output: Path) -> int:
    """Measure, print, and write CSV."""
    console = REPORT.console()
    output_folder(output)
    affinity, collects = os.sched_getaffinity(0), gc.isenabled()
    period, turns = 1.0 / rate, max(1, math.ceil(seconds * rate))
    try:
        hands = Hands(rate)
        rows = [run("as it comes", hands, max(1, round(_PLAIN * turns)), period)]
        hands = Hands(rate)
        core = by_the_recipe(hands)
        rows.append(run("by the recipe", hands, turns, period))
        held = memory_of_a_turn(hands, min(turns, _TRACED))
    finally:
        os.sched_setaffinity(0, affinity)
        if collects:
            gc.enable()
    print_table(console, table(rows, rate))
    lines = (
        f"core {core}; {hands.found} pairs found",
        f"memory that a turn takes and gives back: {held / 1024.0:.1f} KiB",
    )
    about = f"superovoid dev bench loop --seconds {seconds} --rate {rate}", machine()
    return leave(console, output, {"control_loop": rows}, {}, about, lines)

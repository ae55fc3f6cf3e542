# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop of distances: its measurements are correct, and it restores the process."""

from __future__ import annotations

import csv
import gc
import itertools
import os
import time

import numpy as np
import pytest

from superovoid.cli import main as superovoid
from superovoid_papers.benchmarks import control_loop


class LoopWork:
    """Work with one slow turn; it keeps memory."""

    def __init__(self):
        self.kept = []

    def turn(self, number):
        until = time.thread_time() + (0.02 if number == 5 else 0.0)
        while time.thread_time() < until:
            pass
        self.kept += [bytearray(8), bytearray(8)]


def test_a_slow_turn_is_measured_and_delays_the_next_ones():
    found = control_loop.run("slow", LoopWork(), 60, 0.004)
    assert found.turns == 60 and found.late >= 1
    assert 20e3 <= found.work_worst <= found.done_worst
    assert 20e3 <= found.used_worst and found.used_p50 < found.used_worst
    assert found.kept >= 2.0


def test_garbage_collections_are_counted():
    class CollectingWork(LoopWork):
        def turn(self, number):
            gc.collect(0)

    collects = gc.isenabled()
    gc.disable()
    try:
        assert control_loop.run("searching", CollectingWork(), 7, 1e-3).searches == 7
    finally:
        if collects:
            gc.enable()


@pytest.mark.ci
def test_the_command_writes_a_table_and_restores_the_process(tmp_path, capsys):
    before = os.sched_getaffinity(0), gc.isenabled(), list(gc.callbacks)
    assert superovoid(["dev", "bench", "loop", "--seconds", "1", "--rate", "20", "--output", str(tmp_path)]) == 0
    assert (os.sched_getaffinity(0), gc.isenabled(), list(gc.callbacks)) == before
    lines = (tmp_path / "control_loop.csv").read_text().splitlines()
    plain, best = csv.DictReader(line for line in lines if not line.startswith("#"))
    assert (plain["turns"], best["turns"]) == ("2", "20")
    assert best["searches"] == "0" and float(best["used_p50_us"]) > 0.0
    assert "superovoid dev bench loop --seconds 1 --rate 20" in capsys.readouterr().out


def test_the_hands_move_forth_and_back_and_meet():
    hands = control_loop.Hands(10)
    assert len(hands._bases) == 100
    assert all((hands._bases[k]["right_palm"] == hands._bases[-1 - k]["right_palm"]).all() for k in range(50))
    steps = [np.abs(b["right_palm"] - a["right_palm"]).max() for a, b in itertools.pairwise(hands._bases)]
    assert max(steps[:49]) < 0.2
    hands.turn(25)
    assert hands.found

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Times and output of `superovoid dev bench` and `superovoid dev bench states`."""

import numpy as np
import pytest

from superovoid import Superovoid, distance
from superovoid.cli import command_line
from superovoid.contact.columns import RESULT
from superovoid.testing.random_pairs import FAMILIES
from superovoid.values.status import UNPROVEN
from superovoid_papers.benchmarks import engine_speed, many_states


@pytest.mark.ci
def test_every_family_has_a_worst_call():
    table = engine_speed.worst_calls(2, 1, 3)
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == [*FAMILIES, "all"]
    medians, worst = [float(x) for x in cells[1][:-1]], [float(x) for x in cells[3]]
    assert all(0.0 < median <= most for median, most in zip(medians, worst[:-1], strict=True))
    assert max(worst[:-1]) == worst[-1]


def test_timed_overlaps_of_hands_overlap_and_are_proved():
    pairs = engine_speed.overlaps_of_hands(every=250)
    assert pairs.count > 40
    pairs.solve(0, pairs.count)
    assert (pairs.out[:, RESULT.distance] < 0.0).all()
    assert (pairs.out[:, RESULT.status].astype(int) & UNPROVEN == 0).all()
    row = pairs.shapes[:, 7]
    one, other = (Superovoid.from_goncalves(parameters[:3], parameters[3:5], parameters[5:]) for parameters in row)
    answer = distance(one, pairs.poses[0, 7], other, pairs.poses[1, 7])
    assert answer.distance == pytest.approx(pairs.out[7, RESULT.distance], abs=1e-12)


def test_lists_of_shapes_take_longer_than_the_kernels():
    line = engine_speed.lists_of_shapes(2, 0)
    figures = [float(word) for word in line.replace(",", "").split() if "." in word]
    assert 0.0 < figures[1] < figures[0]


def test_every_row_of_states_is_printed_with_its_overlaps(capsys):
    chosen = command_line.parser().parse_args(["dev", "bench", "states", "--states", "4", "--repeats", "1"])
    assert chosen.run(chosen) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0].strip() for row in rows] == [name for name, _, _ in many_states.regimes(many_states.hands())]
    overlaps, times = [float(row[2]) for row in rows], np.array([row[3:] for row in rows], float)
    assert overlaps[-1] > 10.0 and (times >= 0.0).all()

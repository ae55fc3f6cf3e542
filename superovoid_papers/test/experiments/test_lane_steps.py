# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of the steps of a batch does what the batch does."""

import numpy as np

from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.lanes import many_pairs
from superovoid_papers.benchmarks import lane_steps
from superovoid_papers.benchmarks.engine_speed import paper_battery


def test_steps_one_by_one_give_the_answers_of_the_batch():
    apart, together = paper_battery(700, 1), paper_battery(700, 1)  # more than a block
    spent = lane_steps.steps(apart)
    left_open = many_pairs.solve_in_lanes(*together.bodies, *together.poses, TOLERANCE, together.states, together.out)
    closed = np.setdiff1d(np.arange(700), left_open)
    assert len(closed) > 400 and (spent > 0.0).all()
    assert np.array_equal(apart.out[closed], together.out[closed])


def test_pairs_of_the_first_try_all_close_there():
    pairs = lane_steps.first_try(300, 2)
    assert 200 < pairs.count < 300
    assert pairs.solve_batch(1) == 0

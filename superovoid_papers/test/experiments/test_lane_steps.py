# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of small batches times pairs that close in lanes."""

from superovoid_papers.benchmarks import lane_steps


def test_pairs_of_the_first_try_all_close_in_lanes():
    pairs = lane_steps.first_try(300, 2)
    assert 200 < pairs.count < 300
    assert pairs.solve_batch(1) == 0

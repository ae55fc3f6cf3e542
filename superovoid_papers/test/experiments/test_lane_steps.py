# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of small batches times pairs that close in lanes."""

from superovoid_papers.benchmarks import lane_steps


def test_lanes_answer_all_selected_pairs():
    pairs = lane_steps.first_try(300, 2)
    assert 200 < pairs.count < 300
    assert pairs.solve_batch(1) == 0

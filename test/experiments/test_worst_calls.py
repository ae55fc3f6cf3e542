# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The worst call of every family, as `superovoid bench` prints it."""

import pytest

pytest.importorskip("mpmath")

from superovoid_ros.experiments.benchmarks.engine_speed import worst_calls
from superovoid_ros.experiments.judges.random_pairs import FAMILIES


def test_every_family_has_its_worst_call():
    table = worst_calls(2, 1, 3)
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == [*FAMILIES, "all"]
    medians, worst = [float(x) for x in cells[1][:-1]], [float(x) for x in cells[3]]
    assert all(0.0 < median <= most for median, most in zip(medians, worst[:-1], strict=True))
    assert max(worst[:-1]) == worst[-1]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order of rows, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid.compiler.jit import kernel
from superovoid.scene.solving import keys_for, lower_limit, sort

VALUES = {
    "both signs": lambda draws, n: draws.normal(size=n),
    "all magnitudes": lambda draws, n: draws.choice([-1.0, 1.0], n) * 10.0 ** draws.uniform(-320, 308, n),
    "few different ones": lambda draws, n: draws.choice([0.0, -0.0, 0.25, -0.25, 5e-324], n),
    "the same upper bits": lambda draws, n: 1.0 + draws.integers(-200, 200, n) * 2.0**-52,
    "descending": lambda draws, n: -np.arange(n) * 1e-9,
    "infinite ones": lambda draws, n: draws.choice([-np.inf, np.inf, 1.0, -1e308], n),
}


@kernel
def _sort(keys, count):
    sort(keys, count)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_rows_are_ordered_by_their_values_and_then_by_their_pairs(values):
    draws = np.random.default_rng(5)
    for count in (0, 1, 7, 8, 9, 47, 48, 49, 64, 65, 1000, 3001):
        keys = keys_for(count + 3)
        keys.values[:count] = values(draws, count)
        keys.pairs[:count] = np.stack([draws.integers(0, 20, count), draws.permutation(count)], axis=1)
        _sort(keys, count)
        expected = np.lexsort((keys.pairs[:count, 1], keys.pairs[:count, 0], keys.values[:count]))
        np.testing.assert_array_equal(keys.order[:count], expected)


def test_the_limit_is_the_largest_of_the_least_distances():
    values = np.random.default_rng(1).normal(size=200)
    nearest, farness = np.empty(200, dtype=np.int64), np.empty(200)
    limit, kept = 1.0, []
    for value in values[values <= 1.0]:
        if value <= limit:
            limit = lower_limit(nearest, farness, len(kept), 20, limit, value)
            kept.append(value)
            least = sorted(kept)[:20]
            assert limit == (least[-1] if len(least) == 20 else 1.0)
    assert len(kept) > 30

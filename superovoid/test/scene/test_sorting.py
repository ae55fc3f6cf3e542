# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order of rows, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid.compiler.jit import kernel
from superovoid.scene.solving import keys_for, sort

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

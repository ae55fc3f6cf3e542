# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of superovoids of the random families, by number."""

import functools

import numpy as np

from superovoid_ros import Superovoid
from superovoid_ros.experiments.judges import random_pairs


@functools.cache
def _family(name):
    return random_pairs.generate(5, name, 0, 2000)[1]


def drawn_pair(name, number):
    """Shape and pose of A, shape and pose of B."""
    batch = _family(name).take(np.array([number]))
    a, b = (Superovoid(row[0, :3], row[0, 3:5], row[0, 5:]) for row in batch.rows)
    return a, batch.poses()[0, 0], b, batch.poses()[1, 0]

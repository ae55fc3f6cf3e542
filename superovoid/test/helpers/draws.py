# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random draws of tests: their number, few in every run and many with `-m slow`, directions and superovoids."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid import Superovoid


def few_or_many(few: int, many: int, name: str = "draws") -> pytest.MarkDecorator:
    """Return a decorator that parametrizes a test by `name`, with `few` in every run and `many` in slow runs."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=pytest.mark.slow)])


def unit(rng, count=None):
    """Return a random unit vector, or some."""
    n = rng.normal(size=3 if count is None else (count, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def mild_superovoid(rng, epsilon=(0.15, 1.8)):
    """Return a superovoid without a taper, with a convex equal one, or with a mild unequal one."""
    e1, e2 = rng.uniform(*epsilon, 2)
    kind = rng.integers(3)
    taper = (0.0, 0.0)
    if kind == 1:
        limit = min(0.5, 0.98 * (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2))
        taper = (rng.uniform(-limit, limit),) * 2
    elif kind == 2:
        e2, taper = rng.uniform(1.0, 1.3), tuple(rng.uniform(-0.25, 0.25, 2))
    return Superovoid(np.exp(rng.uniform(-0.8, 0.8, 3)), section_exponent=e1, profile_exponent=e2, taper=taper)


def any_superovoid(rng):
    """Return a superovoid of any exponents and tapers, with a concavity or without."""
    epsilon = rng.uniform(0.05, 1.95, 2) if rng.random() < 0.7 else 10.0 ** rng.uniform(-2.5, 0.29, 2)
    taper = rng.uniform(-0.5, 0.5, 2) * rng.choice([0.0, 0.1, 1.0], 2)
    taper = taper[[0, 0]] if rng.random() < 0.3 else taper
    return Superovoid.from_goncalves(np.exp(rng.uniform(-1.5, 1.5, 3)), epsilon, taper)

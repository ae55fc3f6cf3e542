# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bounds of distances that no solver is needed for."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid import Superovoid
from superovoid.scene.culling import reach_at_most
from superovoid.testing import independent


@pytest.mark.parametrize("exponents", [(0.02, 0.5), (0.5, 1.5), (1.0, 1.99)], ids=["flat", "round", "creased"])
def test_reach_of_a_superovoid_is_bounded_from_above_and_closely(exponents):
    rng = np.random.default_rng(2)
    count = 4000
    sizes = np.exp(rng.uniform(-2.0, 2.0, (count, 3)))
    e1, e2 = rng.uniform(*exponents, (2, count))
    taper = rng.uniform(-0.5, 0.5, (count, 2)) * (rng.random((count, 1)) < 0.8)
    n = rng.normal(size=(count, 3)) * np.where(rng.random((count, 3)) < 0.1, 0.0, 1.0)
    n[~n.any(axis=1)] = 0.0, 0.0, -1.0
    n /= np.linalg.norm(n, axis=1)[:, None]
    rows = np.c_[sizes, e1, e2, taper]
    exact, _ = independent.support(rows, n, np.abs(taper).max(axis=1) <= independent.taper_limit(e2))
    shapes = [Superovoid(r[:3], section_exponent=r[3], profile_exponent=r[4], taper=tuple(r[5:])) for r in rows]
    bound = np.array([reach_at_most(shape._packed, tuple(v)) for shape, v in zip(shapes, n, strict=True)])
    assert (bound >= exact * (1.0 - 1e-14)).all()
    untapered = ~taper.any(axis=1)
    assert untapered.sum() > 500 and (bound / exact)[untapered].max() < (1.05 if exponents[1] <= 1.0 else 1.8)
    assert np.median(bound / exact) < 1.1

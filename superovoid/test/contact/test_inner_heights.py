# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Heights of inner bodies reach the largest value, both for smooth slopes and for those that jump at the equator."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid import Superovoid
from superovoid.contact.superovoids.inner_bodies import COLUMNS, NODES, InnerShare, fill_shares, inner_height, share_at
from superovoid.shapes.kernels.surface import SIZE

NEAR = 10.0 ** np.linspace(-12.0, -1.0, 200)
HEIGHTS = np.unique(np.concatenate([np.sin(np.linspace(-1.5, 1.5, 2001)), NEAR, -NEAR, 1.0 - NEAR, NEAR - 1.0, [0.0]]))


def largest_value(shape, inner, n):
    """Return the largest value over many heights, by the section's support function."""
    w = HEIGHTS
    share = np.array([share_at(inner, height)[0] for height in w])
    e1, e2 = shape.section_exponent, shape.profile_exponent
    p, q = 2.0 / e2, 2.0 / (2.0 - e1)
    ring = (-np.expm1(p * np.log(np.maximum(np.abs(w), 1e-300)))) ** (0.5 * e2)
    x = np.abs(n[0]) * shape.semi_axes[0] * (1.0 + shape.taper[0] * w)
    y = np.abs(n[1]) * shape.semi_axes[1] * (1.0 + shape.taper[1] * w)
    most = np.maximum(x, y)
    across = most * ((x / most) ** q + (y / most) ** q) ** (1.0 / q)
    return float((shape.semi_axes[2] * n[2] * w + share * ring * across).max())


def judge_shares(shape, level, n, loss, start):
    row = shape._packed_row
    rows = np.empty((2, NODES, COLUMNS))
    low, high, ok = fill_shares(row, level, rows)
    if not ok:
        return None
    inner = InnerShare(low, high, rows)
    return inner_height(row, inner, tuple(n), start, loss * row[SIZE])[1], largest_value(shape, inner, n), row[SIZE]


def test_a_height_rounded_beyond_a_pole_has_the_share_of_the_pole():
    rows = np.full((2, NODES, COLUMNS), -1e4)  # not filled in: the body has no concavity
    for height in (np.nextafter(1.0, 2.0), np.nextafter(-1.0, -2.0)):
        assert share_at(InnerShare(-1.0, 1.0, rows), height) == (1.0, 0.0)


@pytest.mark.ci
@pytest.mark.parametrize("sharp", [False, True])
def test_a_height_of_an_inner_body_reaches_the_largest_value(sharp):
    rng = np.random.default_rng(81)
    looked = 0
    while looked < 60:
        e2 = rng.uniform(1.7, 1.999) if sharp else rng.uniform(0.05, 1.5)
        try:
            shape = Superovoid(
                np.exp(rng.normal(size=3)),
                section_exponent=np.exp(rng.uniform(-3.0, 0.6)),
                profile_exponent=e2,
                taper=rng.uniform(-0.5, 0.5, 2),
            )
        except ValueError:
            continue
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        answer = judge_shares(shape, rng.choice([-0.9, 0.9]), n, 1e-10, rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)]))
        if answer is None or not shape._packed_row[SIZE] > 0.0:
            continue
        value, reference, size = answer
        assert value > reference - 1e-9 * size
        looked += 1


def test_a_height_next_to_a_kink_needs_few_cuts():
    taper = -0.020884841986305903
    shape = Superovoid(
        (0.20237428615212275, 1.4955158478104489, 0.4988494602932106),
        section_exponent=0.2634087690852042,
        profile_exponent=1.99,
        taper=(taper, taper),
    )
    n = np.array([-0.5301729169708215, -0.8273910360224486, -0.18531257814932478])
    value, reference, size = judge_shares(shape, 0.8638886767287254, n, 1e-10, 0.0)
    assert value > reference - 1e-9 * size

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Overlapping non-convex bodies: the depth of the bodies themselves, proved from both sides.

The implicit functions of the bodies alone check the proofs: points with both functions negative are common.
"""

import numpy as np

from superovoid import Superovoid
from superovoid.contact.superovoids.inner_bodies import (
    COLUMNS,
    NODES,
    InnerShare,
    fill_shares,
    inner_height,
    inner_point,
    share_at,
)
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.support_function import point_at_height


def non_convex_shapes(rng, count):
    """Yield non-convex bodies: shallow and deep ones, with equal and unequal tapers, any exponents."""
    while count:
        kind = rng.integers(0, 3)
        epsilon, taper = rng.uniform(0.05, 1.95, 2), rng.uniform(-0.5, 0.5, 2)
        if kind == 0:
            epsilon[1], taper[1] = rng.uniform(1.4, 1.95), taper[0]
        elif kind == 1:
            taper *= 10.0 ** rng.uniform(-3.0, 0.0)
        shape = Superovoid.from_goncalves(np.exp(rng.uniform(-1.0, 1.0, 3)), epsilon, taper)
        if shape._packed_row[surface.HAS_CONCAVITY] != 0.0:
            count -= 1
            yield shape


def non_convex_rows(rng, count):
    """Yield packed non-convex bodies."""
    return (shape._packed_row for shape in non_convex_shapes(rng, count))


HEIGHTS = np.sin(0.5 * np.pi * np.linspace(-1.0, 1.0, 801))[1:-1]


def below_chords(row, share):
    """Return the greatest drop of an azimuth's profile below chords between neighbours, relative to the profile."""
    w = HEIGHTS
    r = (1.0 - np.abs(w) ** row[surface.S_]) ** row[surface.INV_S]
    angle = np.arctan(np.geomspace(1e-4, 1e4, 61))[:, None]
    n1 = np.cos(angle) * row[surface.A1] * (1.0 + row[surface.TX] * w)
    n2 = np.sin(angle) * row[surface.A2] * (1.0 + row[surface.TY] * w)
    larger = np.maximum(n1, n2)
    q = row[surface.Q]
    psi = share * r * larger * ((n1 / larger) ** q + (n2 / larger) ** q) ** (1.0 / q)
    before, after = np.diff(w)[:-1], np.diff(w)[1:]
    chord = (psi[:, :-2] * after + psi[:, 2:] * before) / (before + after)
    return (chord - psi[:, 1:-1]).max() / psi.max()


def test_inner_bodies_are_convex_and_share_the_contact_section():
    rng = np.random.default_rng(8)
    known = seen = 0
    for row in non_convex_rows(rng, 120):
        lo, hi = row[surface.CONCAVITY_LO], row[surface.CONCAVITY_HI]
        at = rng.choice([rng.uniform(lo, hi), rng.uniform(-1.0, 1.0), lo, hi, 0.0])
        rows = np.empty((2, NODES, COLUMNS))
        first, last, is_known = fill_shares(row, at, rows)
        assert first <= at <= last
        if not is_known:
            continue
        known += 1
        inner = InnerShare(first, last, rows)
        share, slope = np.array([share_at(inner, height) for height in HEIGHTS]).T
        assert ((share > 0.0) & (share <= 1.0) & (slope >= 0.0)).all()
        assert share_at(inner, at) == (1.0, 0.0)
        assert below_chords(row, share) < 1e-14
        seen += below_chords(row, np.ones_like(share)) > 1e-14  # the check detects an uncorrected concavity
    assert known > 80
    assert seen > 40


def test_points_of_inner_bodies_are_the_farthest():
    rng = np.random.default_rng(9)
    seen = 0
    for row in non_convex_rows(rng, 60):
        at = rng.choice([rng.uniform(row[surface.CONCAVITY_LO], row[surface.CONCAVITY_HI]), rng.uniform(-1.0, 1.0)])
        rows = np.empty((2, NODES, COLUMNS))
        first, last, is_known = fill_shares(row, at, rows)
        if not is_known:
            continue
        inner = InnerShare(first, last, rows)
        share = np.array([share_at(inner, height)[0] for height in HEIGHTS])
        r = share * (1.0 - np.abs(HEIGHTS) ** row[surface.S_]) ** row[surface.INV_S]
        for n in rng.normal(size=(8, 3)):
            n /= np.linalg.norm(n)
            axes = row[[surface.A1, surface.A2], None] * (1.0 + row[[surface.TX, surface.TY], None] * HEIGHTS)
            across = np.abs(n[:2, None]) * axes
            reach = row[surface.A3] * n[2] * HEIGHTS + r * np.linalg.norm(across, row[surface.Q], axis=0)
            loss = 1e-4 * row[surface.SIZE]
            height, value = inner_height(row, inner, tuple(n), rng.uniform(-1.0, 1.0), loss)
            point = inner_point(row, inner, point_at_height(row, tuple(n), height))
            assert abs(n @ point - value) <= 1e-12 * row[surface.SIZE]
            assert value >= reach.max() - 1.01 * loss
            seen += not first <= height <= last
    assert seen > 40

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies with dents that are apart: proved piece by piece, for the bodies and not for their hulls."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, distance
from superovoid.contact.superovoids.pieces import is_convex_piece, piece_support
from superovoid.shapes.kernels import surface
from superovoid.testing import contract
from superovoid_papers.benchmarks.engine_speed import paper_battery

from draws import few_or_many


def answer(pairs, i):
    bodies = [Superovoid.from_goncalves(rows[i, :3], rows[i, 3:5], rows[i, 5:]) for rows in pairs.shapes]
    drawn = bodies[0], pairs.poses[0, i], bodies[1], pairs.poses[1, i]
    return drawn, distance(*drawn)


def on_curve(exponent, angle):
    """Point of |x|^(2/e) + |y|^(2/e) = 1 along an angle."""
    c, s = np.cos(angle), np.sin(angle)
    length = (np.abs(c) ** (2.0 / exponent) + np.abs(s) ** (2.0 / exponent)) ** (-0.5 * exponent)
    return c * length, s * length


def surface_points(shape, pose, meridian, azimuth):
    """Points of a surface, straight from its definition."""
    r, w = on_curve(shape.profile_exponent, meridian)
    u, v = on_curve(shape.section_exponent, azimuth)
    (a1, a2, a3), (tx, ty) = shape.semi_axes, shape.taper
    return (
        np.stack([a1 * (1.0 + tx * w) * r * u, a2 * (1.0 + ty * w) * r * v, a3 * w], axis=1) @ pose[:3, :3].T
        + pose[:3, 3]
    )


def nearest_found(drawn, rng, walks=60):
    """Smallest distance of two surface points met by random walks from the nearest points of two grids."""
    a, pose_a, b, pose_b = drawn
    eta, omega = np.meshgrid(np.linspace(-0.5, 0.5, 33) * np.pi, np.linspace(-1.0, 1.0, 48, endpoint=False) * np.pi)
    angles = np.stack([eta.ravel(), omega.ravel()], axis=1)
    x, y = surface_points(a, pose_a, *angles.T), surface_points(b, pose_b, *angles.T)
    gaps = np.linalg.norm(x[:, None] - y[None], axis=2)
    first = np.argsort(gaps, axis=None)[:4000:100]
    best = np.hstack([angles[first // len(y)], angles[first % len(y)]])

    def gap(v):
        return np.linalg.norm(
            surface_points(a, pose_a, v[:, 0].clip(-np.pi / 2, np.pi / 2), v[:, 1])
            - surface_points(b, pose_b, v[:, 2].clip(-np.pi / 2, np.pi / 2), v[:, 3]),
            axis=1,
        )

    for spread in 0.2 * 0.8 ** np.arange(walks):
        trial = np.concatenate([best, np.repeat(best, 8, axis=0) + spread * rng.normal(size=(8 * len(best), 4))])
        best = trial[np.argsort(gap(trial))[: len(best)]]
    return gap(best[:1])[0]


@few_or_many(2000, 20000, "count")
def test_all_pairs_of_the_papers_battery_that_are_apart_are_proved(count):
    pairs = paper_battery(count, 7)
    pairs.solve(0, count)
    distances, status = pairs.out[:, 0], pairs.out[:, 12].astype(int)
    apart = distances > 0.0
    assert apart.sum() > 0.4 * count
    assert not (status[apart] & Status.UNPROVEN).any()
    width = pairs.out[apart, 2] - pairs.out[apart, 1]
    assert width.max() < 1.1e-9
    assert (
        np.abs(np.linalg.norm(pairs.out[apart, 6:9] - pairs.out[apart, 3:6], axis=1) - distances[apart]).max() < 1e-12
    )


# Over a dent, in it, with one body in the other's, and with hulls that overlap by 8.7e-3.
@pytest.mark.parametrize("i", [427, 3242, 4452, 7599, 15768])
def test_no_points_are_closer_than_what_is_proved_over_a_dent(i):
    drawn, result = answer(paper_battery(20000, 0), i)
    assert result.status & Status.UNPROVEN == 0
    assert result.lower > 0.0
    assert result.upper - result.lower < 1.1e-9
    assert not list(contract.breaches(*drawn, result)), result
    found = nearest_found(drawn, np.random.default_rng(i))
    assert found >= result.lower - 1e-12
    assert found <= result.distance + 1e-3  # the walk is worth something


def test_supports_of_pieces_are_not_below_any_of_their_points():
    """Bounds of slabs and of what lies above and below a dent against values at many heights and azimuths."""
    rng = np.random.default_rng(4)
    pieces = dented = 0
    while dented < 40:
        shape = Superovoid(
            np.exp(rng.uniform(-1.0, 1.0, 3)),
            section_exponent=rng.uniform(0.05, 1.9),
            profile_exponent=rng.uniform(0.05, 1.9),
            taper=rng.uniform(-0.5, 0.5, 2),
        )
        row = shape._packed
        if row[surface.DENTED] == 0.0:
            continue
        dented += 1
        lo, hi = row[surface.DENT_LO], row[surface.DENT_HI]
        for _ in range(20):
            n = Rotation.random(rng=rng).as_matrix()[0]
            side = (max(lo, 0.0), hi) if lo >= 0.0 or (hi > 0.0 and rng.random() < 0.5) else (lo, min(hi, 0.0))
            slab = np.sort(rng.uniform(*side, 2)) if rng.random() < 0.7 else np.array(side)
            for ends in (tuple(slab), (-1.0, lo), (hi, 1.0)):
                if not ends[0] < ends[1]:
                    continue
                near = (math.inf, -math.inf, rng.normal(scale=0.3))[rng.integers(3)]
                found = piece_support(row, tuple(n), *ends, near)
                close = np.geomspace(1e-12, 1.0, 400)
                about = [ends[0] + close, ends[1] - close, found.f.w + close, found.f.w - close]
                w = np.concatenate([np.linspace(*ends, 3001), *about]).clip(*ends)
                kx, ky = 1.0 + row[surface.TX] * w, 1.0 + row[surface.TY] * w
                g = np.linalg.norm([row[surface.A1] * kx * n[0], row[surface.A2] * ky * n[1]], row[surface.Q], axis=0)
                r = (1.0 - np.abs(w) ** row[surface.S_]).clip(0.0) ** row[surface.INV_S]
                phi = row[surface.A3] * n[2] * w + r * g
                size = row[surface.RADIUS]
                assert found.upper >= phi.max() - 1e-14 * size
                assert found.value <= phi.max() + 1e-5 * size
                if is_convex_piece(row, *ends):
                    assert found.upper <= phi.max() + 1e-3 * size
                pieces += 1
    assert pieces > 1500

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nearest points of pieces of non-convex bodies."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import nearest_pieces
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.kinds import SUPEROVOID, Core
from superovoid.shapes.kernels.support_function import support_candidate


def level(shape, pose, points):
    """Return the gauge of a body at points of the world, by its definition: at most 1 inside."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    w = local[:, 2] / shape.semi_axes[2]
    across = np.abs(local[:, :2] / (np.array(shape.semi_axes[:2]) * (1.0 + np.outer(w, shape.taper))))
    e1, e2 = shape.section_exponent, shape.profile_exponent

    def norm_of(pairs, e):
        larger = np.maximum(pairs.max(axis=1), 1e-300)
        return larger * ((pairs / larger[:, None]) ** (2.0 / e)).sum(axis=1) ** (0.5 * e)

    whole = norm_of(np.stack([norm_of(across, e1), np.abs(w)], axis=1), e2)
    return np.where(np.abs(w) > 1.0, np.maximum(whole, np.abs(w)), whole)


def bound_of_bodies(bounds, margin=0.0):
    """Return the bound on the bodies from bounds of pairs of pieces."""
    least = nearest_pieces._LeastBound(np.inf, (0.0, 0.0, 1.0), np.inf)
    for bound in bounds:
        least = nearest_pieces._with_bound(least, bound, (1.0, 0.0, 0.0))
    return nearest_pieces._bound_of_bodies(least, margin)


def test_a_negative_bound_of_pieces_holds_if_no_others_meet():
    for other in (0.3, 0.2, -0.1, -0.5):
        for bounds in itertools.permutations((0.5, -0.25, other)):
            assert bound_of_bodies(bounds) == (-0.25 if other == 0.3 else -np.inf)


@pytest.mark.parametrize(("bounds", "lower"), [((-0.25, 0.29), -0.26), ((0.02, 0.02), 0.01)])
def test_each_bound_of_two_pieces_is_reduced_by_the_rounding(bounds, lower):
    assert bound_of_bodies(bounds, 0.01) == pytest.approx(lower)
    # With this margin two pairs of pieces may meet along different directions: no one translation separates both.
    assert bound_of_bodies(bounds, 0.03) == -np.inf


def on_surface(shape, w, angle):
    """Return point and outer unit normal of a surface at a height and an angle, by its definition."""
    (a1, a2, a3), (e1, e2), (tx, ty) = shape.semi_axes, (shape.section_exponent, shape.profile_exponent), shape.taper
    c, s = np.cos(angle), np.sin(angle)
    c, s = np.array([c, s]) * (abs(c) ** (2.0 / e1) + abs(s) ** (2.0 / e1)) ** (-0.5 * e1)
    r, kx, ky = (1.0 - abs(w) ** (2.0 / e2)) ** (0.5 * e2), 1.0 + tx * w, 1.0 + ty * w
    along_x, along_y = (np.sign(v) * abs(v) ** (2.0 / e1 - 1.0) for v in (c, s))
    rise = r ** (2.0 / e2 - 1.0)
    along_z = np.sign(w) * abs(w) ** (2.0 / e2 - 1.0) - rise * r * (c * along_x * tx / kx + s * along_y * ty / ky)
    n = np.array([rise * along_x / (a1 * kx), rise * along_y / (a2 * ky), along_z / a3])
    return np.array([a1 * kx * r * c, a2 * ky * r * s, a3 * w]), n / np.linalg.norm(n)


def draw_facing_bodies(rng, gap):
    """Return non-convex bodies and a pose of B in A; points face each other across a gap, over concavities or not."""
    bodies, places = [], []
    while len(bodies) < 2:
        epsilon, taper = rng.uniform(0.3, 1.7, 2), rng.uniform(-0.5, 0.5, 2)
        if rng.random() < 0.4:
            epsilon[1], taper[1] = rng.uniform(1.2, 1.8), taper[0]
        shape = Superovoid.from_goncalves(rng.uniform(0.3, 2.0, 3), epsilon, taper)
        row = shape._packed_row
        if row[surface.HAS_CONCAVITY]:
            bodies.append(shape)
            ends = (row[surface.CONCAVITY_LO], row[surface.CONCAVITY_HI]) if rng.random() < 0.5 else (-0.98, 0.98)
            w = rng.uniform(*ends)
            places.append(on_surface(shape, w, rng.uniform(-np.pi, np.pi)))
    (x, n), (y, m) = places
    turn = Rotation.from_rotvec(rng.uniform(-np.pi, np.pi) * n) * Rotation.align_vectors(-n[None], m[None])[0]
    pose = np.eye(4)
    pose[:3, :3] = turn.as_matrix()
    pose[:3, 3] = x + gap * n - pose[:3, :3] @ y
    return *bodies, pose


def searched_from(a, b, pose, n, budget):
    """Return the result of the search of pieces from the support points along a direction."""
    turn, centre = np.ascontiguousarray(pose[:3, :3]), pose[:3, 3]
    fa, fb = (support_candidate(body._packed_row, tuple(m), 1e-13) for body, m in ((a, n), (b, -n @ turn)))
    x, y = (np.array(surface.position(body._packed_row, f)) for body, f in ((a, fa), (b, fb)))
    y = turn @ y + centre
    known = nearest_pieces.NearestPoints(float(np.linalg.norm(y - x)), tuple(x.tolist()), tuple(y.tolist()), fa, fb)
    cores = (Core(body._packed_row, SUPEROVOID, body._packed_row) for body in (a, b))
    pair = Pair(*cores, turn, tuple(centre.tolist()))
    return nearest_pieces.nearest_of_pieces(pair, tuple(n.tolist()), known, 1e-9, np.inf, 1e-13, budget)


def test_a_search_of_pieces_that_ends_early_proves_true_bounds():
    """The gap between two points that face each other is at least the distance."""
    rng = np.random.default_rng(12)
    closed = overlapping = 0
    for number in range(9):
        gap = -(10.0 ** rng.uniform(-3.0, -0.5)) if number % 3 == 2 else 10.0 ** rng.uniform(-4.0, -0.5)
        a, b, pose = draw_facing_bodies(rng, gap)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        most = gap if gap > 0.0 else 0.0
        for budget in (0, 1, 3, 10, 40, 150, 1000):
            found = searched_from(a, b, pose, n, budget)
            assert found.lower <= most, (number, budget)
            x, y = np.array([found.nearest.x]), np.array([found.nearest.y])
            assert level(a, np.eye(4), x)[0] == pytest.approx(1.0, abs=1e-9)
            assert level(b, pose, y)[0] == pytest.approx(1.0, abs=1e-9)
            assert found.nearest.distance == pytest.approx(np.linalg.norm(y - x), abs=1e-14)
            assert not found.lower > found.nearest.distance
            if found.overlap:
                common = np.array([found.common])
                assert level(a, np.eye(4), common)[0] < 1.0 and level(b, pose, common)[0] < 1.0
        closed += found.lower > 0.0 and found.nearest.distance - found.lower < 1.1e-9
        overlapping += found.overlap
    assert closed > 2 and overlapping > 1

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies with dents that overlap: the depth of the bodies themselves, proved from both sides.

What is proved is held against the implicit functions of the bodies alone: where both are negative is a common point.
"""

import functools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, distance
from superovoid.compiled.vector import rotate_back
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, is_closed, newton_from
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.contact.superovoids.inner_bodies import (
    COLUMNS,
    NODES,
    Inner,
    fill_shares,
    inner_height,
    inner_point,
    share_at,
)
from superovoid.contact.superovoids.over_dents import proved_contact
from superovoid.contact.superovoids.pair_solver import line_of_centres, relative_pose
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.support_function import point_at_height
from superovoid_papers.benchmarks.engine_speed import TOLERANCE, paper_battery

from draws import few_or_many


def level(shape, pose, x):
    """The implicit function of a body at a point of the world, of its definition."""
    local = (x - pose[:3, 3]) @ pose[:3, :3]
    (a1, a2, a3), (e1, e2), (tx, ty) = shape.semi_axes, (shape.section_exponent, shape.profile_exponent), shape.taper
    w = local[2] / a3
    u, v = local[0] / (a1 * (1.0 + tx * w)), local[1] / (a2 * (1.0 + ty * w))
    return (np.abs(u) ** (2.0 / e1) + np.abs(v) ** (2.0 / e1)) ** (e1 / e2) + np.abs(w) ** (2.0 / e2) - 1.0


def common_level(drawn, move, starts):
    """Least level found that a point has in both bodies, B moved: negative where they overlap."""
    a, pose_a, b, pose_b = drawn

    def both(x):
        return max(level(a, pose_a, x), level(b, pose_b, x - move))

    best = np.inf
    for start in starts:
        found = minimize(
            lambda z: z[3],
            np.append(start, both(start)),
            method="SLSQP",
            constraints=[
                {"type": "ineq", "fun": lambda z: z[3] - level(a, pose_a, z[:3])},
                {"type": "ineq", "fun": lambda z: z[3] - level(b, pose_b, z[:3] - move)},
            ],
            options={"maxiter": 200, "ftol": 1e-15},
        )
        best = min(best, both(found.x[:3]))
        if best < 0.0:
            break
    return best


@few_or_many(2000, 20000, "count")
def test_nearly_all_overlapping_pairs_of_the_papers_battery_are_proved(count):
    pairs = paper_battery(count, 7)
    pairs.solve(0, count)
    distances, lower, upper = pairs.out[:, :3].T
    status = pairs.out[:, 12].astype(int)
    overlapping = distances < 0.0
    dented = (pairs.bodies[:, :, surface.DENTED] != 0.0).any(axis=0)
    assert (overlapping & dented).sum() > 0.3 * count
    unproven = (status & Status.UNPROVEN) != 0
    assert unproven[overlapping].mean() < 0.005
    proved = overlapping & ~unproven
    assert ((lower <= distances) & (distances <= upper))[overlapping].all()
    assert (upper - lower)[proved].max() < 1.1e-9
    between = pairs.out[:, 6:9] - pairs.out[:, 3:6] - distances[:, None] * pairs.out[:, 9:12]
    assert np.linalg.norm(between[proved], axis=1).max() < 1e-8


@functools.cache
def battery():
    return paper_battery(20000, 0)


# Of the battery: contacts in and beside dents, deep and shallow; the last one away from dents.
@pytest.mark.parametrize("i", [17033, 8325, 13408, 18931, 182, 14672])
def test_no_shorter_way_parts_bodies_that_overlap_over_a_dent(i):
    pairs = battery()
    bodies = [Superovoid.from_goncalves(rows[i, :3], rows[i, 3:5], rows[i, 5:]) for rows in pairs.shapes]
    drawn = bodies[0], pairs.poses[0, i], bodies[1], pairs.poses[1, i]
    result = distance(*drawn)
    assert result.certified
    assert result.upper - result.lower < 1.1e-9
    rng = np.random.default_rng(i)
    middle = 0.5 * (result.point_a + result.point_b)
    starts = middle + rng.normal(size=(6, 3)) * np.geomspace(1e-3, 0.7, 6)[:, None]
    # Moved by the depth they have no point in common, moved by a little less they have.
    assert common_level(drawn, (1e-9 - result.lower) * result.normal, starts) > -1e-9
    tilts = rng.normal(size=(6, 3)) * np.geomspace(1e-4, 3.0, 6)[:, None]
    for n in result.normal + np.vstack([np.zeros(3), tilts]):
        move = -(result.upper + 1e-7) * n / np.linalg.norm(n)
        contact = 0.5 * (result.point_a + result.point_b + move)
        assert common_level(drawn, move, np.vstack([contact, starts])) < 0.0


def contact_of(a, b, pose_a, pose_b):
    """Newton's contact of two packed bodies, from the points on the line of centres, with what its normal proves."""
    rotation = np.empty((3, 3))
    pair = Pair(a, b, rotation, relative_pose(pose_a, pose_b, rotation))
    goal = gap_tolerance(a, b, pair.centre, TOLERANCE)
    n = line_of_centres(pair.centre)
    fa = surface.surface_point_towards(a, n)
    fb = surface.surface_point_towards(b, rotate_back(rotation, tuple(-x for x in n)))
    return pair, newton_from(pair, fa, fb, goal, COLD_ITERATIONS, 0), goal


# Of the battery: contacts in a dent of either body.
@pytest.mark.parametrize("i", [182, 6484, 14672])
def test_a_contact_in_a_dent_is_proved_without_a_search_of_the_hulls(i):
    pairs = battery()
    pair, contact, goal = contact_of(*pairs.bodies[:, i], *pairs.poses[:, i])
    assert contact.distance < 0.0
    assert contact.distance - contact.lower > goal  # its normal proves no more than of the hulls
    proved = proved_contact(pair, contact, goal)
    assert is_closed(proved, goal)
    assert proved.lower <= contact.distance <= proved.upper < 0.0


def dented_shapes(rng, count):
    """Bodies with dents: shallow and deep ones, with equal and unequal tapers, any exponents."""
    while count:
        kind = rng.integers(0, 3)
        epsilon, taper = rng.uniform(0.05, 1.95, 2), rng.uniform(-0.5, 0.5, 2)
        if kind == 0:
            epsilon[1], taper[1] = rng.uniform(1.4, 1.95), taper[0]
        elif kind == 1:
            taper *= 10.0 ** rng.uniform(-3.0, 0.0)
        shape = Superovoid.from_goncalves(np.exp(rng.uniform(-1.0, 1.0, 3)), epsilon, taper)
        if shape._packed[surface.DENTED] != 0.0:
            count -= 1
            yield shape


def dented_rows(rng, count):
    """The same, packed."""
    return (shape._packed for shape in dented_shapes(rng, count))


def test_a_body_in_a_plane_of_symmetry_of_one_with_a_dent_has_two_ways_out():
    """The mirror image of a normal parts the bodies as soon, and that is said."""
    rng = np.random.default_rng(3)
    mirrored = alone = 0
    for a in dented_shapes(rng, 150):
        b = Superovoid.from_goncalves(rng.uniform(0.3, 1.0, 3), rng.uniform(0.4, 1.6, 2))
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_rotvec([rng.uniform(-np.pi, np.pi), 0.0, 0.0]).as_matrix()
        pose[1:3, 3] = rng.uniform(-0.4, 0.4, 2)
        result = distance(a, np.eye(4), b, pose)
        if result.status & Status.UNPROVEN or result.distance > -1e-3:
            continue
        if abs(result.normal[0]) > 0.05:
            mirrored += 1
            assert result.status & Status.ARBITRARY_NORMAL, (a, b, pose)
        alone += result.status == Status.CERTIFIED
    assert mirrored > 8 and alone > 8


HEIGHTS = np.sin(0.5 * np.pi * np.linspace(-1.0, 1.0, 801))[1:-1]


def below_chords(row, share):
    """Most that the profile of an azimuth lies below its chords between neighbours, relative to the profile."""
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


def test_inner_bodies_are_convex_and_share_the_section_of_the_contact():
    rng = np.random.default_rng(8)
    known = seen = 0
    for row in dented_rows(rng, 120):
        lo, hi = row[surface.DENT_LO], row[surface.DENT_HI]
        at = rng.choice([rng.uniform(lo, hi), rng.uniform(-1.0, 1.0), lo, hi, 0.0])
        rows = np.empty((2, NODES, COLUMNS))
        first, last, is_known = fill_shares(row, at, rows)
        assert first <= at <= last
        if not is_known:
            continue
        known += 1
        inner = Inner(first, last, rows)
        share, slope = np.array([share_at(inner, height) for height in HEIGHTS]).T
        assert ((share > 0.0) & (share <= 1.0) & (slope >= 0.0)).all()
        assert share_at(inner, at) == (1.0, 0.0)
        assert below_chords(row, share) < 1e-14
        seen += below_chords(row, np.ones_like(share)) > 1e-14  # the test sees a dent that is left as it is
    assert known > 80
    assert seen > 40


def test_points_of_inner_bodies_are_the_farthest_whatever_height_they_are_looked_for_from():
    rng = np.random.default_rng(9)
    seen = 0
    for row in dented_rows(rng, 60):
        at = rng.choice([rng.uniform(row[surface.DENT_LO], row[surface.DENT_HI]), rng.uniform(-1.0, 1.0)])
        rows = np.empty((2, NODES, COLUMNS))
        first, last, is_known = fill_shares(row, at, rows)
        if not is_known:
            continue
        inner = Inner(first, last, rows)
        share = np.array([share_at(inner, height)[0] for height in HEIGHTS])
        r = share * (1.0 - np.abs(HEIGHTS) ** row[surface.S_]) ** row[surface.INV_S]
        for n in rng.normal(size=(8, 3)):
            n /= np.linalg.norm(n)
            axes = row[[surface.A1, surface.A2], None] * (1.0 + row[[surface.TX, surface.TY], None] * HEIGHTS)
            across = np.abs(n[:2, None]) * axes
            reach = row[surface.A3] * n[2] * HEIGHTS + r * np.linalg.norm(across, row[surface.Q], axis=0)
            loss = 1e-4 * row[surface.SIZE]
            for begin in rng.uniform(-1.0, 1.0, 3):
                if first <= begin <= last:
                    continue
                height, value = inner_height(row, inner, tuple(n), begin, loss)
                point = inner_point(row, inner, point_at_height(row, tuple(n), height))
                assert abs(n @ point - value) <= 1e-12 * row[surface.SIZE]
                assert value >= reach.max() - 1.01 * loss
                seen += height != begin
    assert seen > 400

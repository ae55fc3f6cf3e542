# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Concavities: extent and depth of the non-convex part of a body, and the bounds of answers next to it.

The reference is the profile phi(w) = a3 nz w + r(w) g(w) itself, with 90 digits, and its second differences: it shares
no formula with the kernels.
"""

import math
import re
from types import FunctionType, SimpleNamespace

import mpmath
import numpy as np
import pytest

from superovoid import (
    ConvexMesh,
    ImpactStatus,
    Motion,
    Sphere,
    Status,
    Superellipsoid,
    Superovoid,
    are_closer,
    distance,
    distances,
    time_of_impact,
)
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.deciding import decide_within
from superovoid.contact.pair import CLOSER, Limit, PlacedBody
from superovoid.contact.superovoids import certificate
from superovoid.shapes.kernels import bodies, support_function, surface
from superovoid.shapes.kernels.concavities import slice_defect
from superovoid.testing.random_pairs import generate

from draws import few_or_many

MP = mpmath.mp.clone()
MP.dps = 90
ENDS = (1e-6, 1.999999)  # of the exponents


class Profile:
    """phi of a body for a direction, with 90 digits."""

    def __init__(self, shape, n):
        self.size = [MP.mpf(a) for a in shape.semi_axes]
        self.taper = [MP.mpf(t) for t in shape.taper]
        e1, e2 = (MP.mpf(e) for e in (shape.section_exponent, shape.profile_exponent))
        self.q, self.s = 2 / (2 - e1), 2 / e2
        self.n = [MP.mpf(float(x)) for x in n]

    def __call__(self, w):
        u, v = (abs(self.size[i] * (1 + self.taper[i] * w) * self.n[i]) for i in range(2))
        long, short = max(u, v), min(u, v)
        g = long * (1 + (short / long) ** self.q) ** (1 / self.q) if long > 0 else MP.mpf(0)
        return self.size[2] * self.n[2] * w + (1 - abs(w) ** self.s) ** (1 / self.s) * g

    def bend(self, w):
        """Return the second derivative at a height other than 0."""
        w = MP.mpf(w)
        step = min(abs(w), 1 - abs(w)) * MP.mpf("1e-12")
        return (self(w + step) - 2 * self(w) + self(w - step)) / step**2

    def slope(self, w):
        w = MP.mpf(w)
        step = min(abs(w), 1 - abs(w)) * MP.mpf("1e-15")
        return (self(w + step) - self(w - step)) / (2 * step)


def steepest_azimuth(shape, w):
    """Return the azimuth (nx, ny) with the least concave profile at a height (docs/explanation/numerics.md)."""
    s, q = 2.0 / shape.profile_exponent, 2.0 / (2.0 - shape.section_exponent)
    kx, ky = 1.0 + shape.taper[0] * w, 1.0 + shape.taper[1] * w
    unlike = shape.taper[0] / kx - shape.taper[1] / ky
    fall = math.copysign(abs(w) ** (s - 1.0), w) / -math.expm1(s * math.log(abs(w)))
    c = 0.5 - fall / ((q - 1.0) * unlike) if unlike != 0.0 else 0.5
    c = min(1.0, max(0.0, c))
    n = np.array([c ** (1.0 / q) / (shape.semi_axes[0] * kx), (1.0 - c) ** (1.0 / q) / (shape.semi_axes[1] * ky), 0.0])
    return n / np.linalg.norm(n)


def concavity_of(shape):
    body = shape._packed_row
    return SimpleNamespace(
        exists=body[surface.HAS_CONCAVITY] != 0.0,
        low=body[surface.CONCAVITY_LO],
        high=body[surface.CONCAVITY_HI],
        curvature=body[surface.CONCAVITY_CURVATURE],
    )


def highest_sample(profile, concavity, rng):
    """Return the largest of many values of a profile over the concavity, and of some others."""
    heights = np.linspace(-1.0, 1.0, 61)
    if concavity.exists:
        heights = np.concatenate([heights, rng.uniform(concavity.low, concavity.high, 20)])
    return max(profile(MP.mpf(float(w))) for w in heights)


def random_body(rng, kind):
    """Return a body of any shape, with an exponent near an end, nearly equal tapers, or nearly convex."""
    size, epsilon, taper = np.exp(rng.uniform(-1.0, 1.0, 3)), rng.uniform(0.02, 1.98, 2), rng.uniform(-0.5, 0.5, 2)
    if kind in (1, 2):
        near = 10.0 ** rng.uniform(-6.0, -1.0)
        epsilon[kind - 1] = near if rng.random() < 0.5 else 2.0 - near
    if kind == 3:
        taper[1] = np.clip(taper[0] + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-8.0, -1.0), -0.5, 0.5)
    if kind == 4:
        epsilon[1] = rng.uniform(1.0, 1.98)
        lo, hi = 0.0, 1.0
        for _ in range(55):
            share = 0.5 * (lo + hi)
            if concavity_of(Superovoid.from_goncalves(size, epsilon, share * taper)).exists:
                hi = share
            else:
                lo = share
        taper = taper * min(1.0, hi * (1.0 + rng.choice([0.0, 1.0, -1.0]) * 10.0 ** rng.uniform(-16.0, -3.0)))
    return Superovoid.from_goncalves(size, np.clip(epsilon, *ENDS), taper)


def test_an_interval_next_to_a_narrow_concavity_contains_the_closest_points():
    """Missing a concavity 1e-3 of the height wide, between two samples, raises the lower bound by 3e-8."""
    taper = 0.4679273500283261
    a = Superovoid((1, 1, 1), section_exponent=1, profile_exponent=1.43, taper=(taper, taper))
    b = Superellipsoid((1, 1, 1), section_exponent=0.2, profile_exponent=0.02)
    pose = np.eye(4)
    pose[:3, :3] = [
        [0, -0.7071062056831225, -0.7071073566895042],
        [1, 0, 0],
        [0, -0.7071073566895042, 0.7071062056831225],
    ]
    pose[:3, 3] = [1.1594004538119513, 0, -1.4409825619203853]
    assert not a.convexity().convex
    # Points of b opposite those of a: b's upper face is flat to 1e-16 about its middle.
    x = a.surface_point(np.linspace(-1.2, -0.2, 200_001), 0.0)
    local = (x - pose[:3, 3]) @ pose[:3, :3]
    ring = (np.abs(local[:, 0]) ** 10 + np.abs(local[:, 1]) ** 10) ** 10
    opposite = local.copy()
    opposite[:, 2] = (1.0 - ring).clip(0.0) ** 0.01
    assert np.abs(b.implicit(opposite[ring < 0.5])).max() < 1e-12
    closest = np.linalg.norm(local - opposite, axis=1)[ring < 0.5].min()
    assert closest < 0.1 + 1e-12
    result = distance(a, np.eye(4), b, pose)
    assert result.lower <= closest + 1e-15


def test_equal_tapers_have_a_concavity_beyond_the_closed_form_limit():
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(1500):
        e2 = rng.uniform(1.39, ENDS[1])
        limit = (1 - MP.mpf(e2) / 2) * 2 ** (MP.mpf(e2) / 2)
        excess = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-17.0, math.log10(2e-4))
        taper = rng.choice([-1.0, 1.0]) * min(0.5, float(limit * (1 + MP.mpf(excess))))
        concavity = concavity_of(
            Superovoid((1, 1, 1), section_exponent=rng.uniform(0.02, 1.98), profile_exponent=e2, taper=(taper, taper))
        )
        if abs(MP.mpf(taper)) > limit:
            beyond += 1
            assert concavity.exists
            # The profile is first non-concave at |w|^(2/e2) = 1/2, on the side narrowed by the taper.
            assert concavity.low <= -math.copysign(2.0 ** (-0.5 * e2), taper) <= concavity.high
        elif abs(taper) < float(limit) * (1.0 - 4e-15):
            assert not concavity.exists
    assert beyond > 500


@pytest.mark.ci
@pytest.mark.parametrize("kind", range(5))
def test_profiles_are_concave_outside_the_concavity_and_bounded_inside(kind):
    rng = np.random.default_rng([1, kind])
    found = []
    for _ in range(25):
        shape = random_body(rng, kind)
        concavity = concavity_of(shape)
        inside = []
        if concavity.exists:
            width = concavity.high - concavity.low
            inside = [concavity.low + width * u for u in (*rng.random(4), 1e-6, 1e-3, 0.999)]
            outside = [concavity.low - 10.0 ** rng.uniform(-9, -0.5) for _ in range(4)]
            outside += [concavity.high + 10.0 ** rng.uniform(-9, -0.5) for _ in range(4)]
        else:
            outside = list(rng.uniform(-1.0, 1.0, 6)) + [
                10.0 ** rng.uniform(-9, 0) * rng.choice([-1, 1]) for _ in range(4)
            ]
            outside += [rng.choice([-1, 1]) * 2.0 ** (-0.5 * shape.profile_exponent)]
        for w in inside + outside:
            if not 1e-14 < abs(w) < 1.0 - 1e-12:
                continue
            azimuth = rng.uniform(0.0, 0.5 * math.pi)
            for n in (steepest_azimuth(shape, w), [math.cos(azimuth), math.sin(azimuth), 0.0]):
                bend = Profile(shape, n).bend(w)
                if concavity.low <= w <= concavity.high:
                    assert bend <= concavity.curvature, (shape, w)
                    found.append(float(bend) / concavity.curvature)
                else:
                    assert bend <= 0.0, (shape, w)
    assert kind == 4 or max(found) > 0.5  # otherwise the bound would be valid and worthless


@pytest.mark.parametrize("kind", range(5))
@few_or_many(3, 25)
def test_support_values_of_non_convex_bodies_bound_every_section(kind, draws):
    rng = np.random.default_rng([2, kind])
    worst = 0.0
    for _ in range(draws):
        shape = random_body(rng, kind)
        concavity = concavity_of(shape)
        size = max(shape.semi_axes)
        heights = list(rng.uniform(-1.0, 1.0, 3))
        if concavity.exists:
            heights += list(rng.uniform(concavity.low, concavity.high, 3))
        for w in heights:
            if not 1e-9 < abs(w) < 1.0 - 1e-9:
                continue
            # Normals of the surface near the concavity matter most.
            n = steepest_azimuth(shape, w) if rng.random() < 0.5 else np.append(rng.normal(size=2), 0.0)
            n[2] = -float(Profile(shape, n).slope(w)) / shape.semi_axes[2]
            n /= np.linalg.norm(n)
            profile = Profile(shape, n)
            point, (value, upper) = None, support_function.support(shape._packed_row, tuple(n))
            point = surface.position(shape._packed_row, value)
            grid = np.concatenate(
                [np.linspace(-1.0, 1.0, 61), rng.uniform(concavity.low, concavity.high, 20) if concavity.exists else []]
            )
            best = max(profile(MP.mpf(float(x))) for x in grid)
            assert best <= upper + 4e-15 * size, (shape, n)
            reached = sum(a * b for a, b in zip(profile.n, map(MP.mpf, point), strict=True))
            assert best <= reached + 1e-9 * size, (shape, n)
            worst = max(worst, float(upper - reached) / size)
    assert worst < 1e-6


@pytest.mark.parametrize("kind", range(5))
@few_or_many(3, 40)
def test_excess_of_the_hull_over_a_surface_point_is_bounded(kind, draws):
    """`hull_excess` bounds the distance of the hull beyond the tangent plane of a surface point."""
    rng = np.random.default_rng([3, kind])
    clear = checked = 0
    while checked < 6 * draws:
        shape = random_body(rng, kind)
        concavity = concavity_of(shape)
        if not concavity.exists:
            continue
        size = max(shape.semi_axes)
        for _ in range(6):
            reach = 0.3 * rng.choice([1e-6, 1e-3, 1.0])
            w = float(
                np.clip(rng.choice([concavity.low, concavity.high]) + reach * rng.uniform(-1.0, 1.0), -0.999, 0.999)
            )
            f = support_function.point_at_height(shape._packed_row, tuple(np.append(rng.normal(size=2), 0.0)), w)
            n = np.array(surface.gradient(shape._packed_row, f))
            n = tuple(n / np.linalg.norm(n))
            excess = certificate.hull_excess(shape._packed_row, f, n)
            profile = Profile(shape, n)
            own = sum(a * MP.mpf(b) for a, b in zip(profile.n, surface.position(shape._packed_row, f), strict=True))
            best = highest_sample(profile, concavity, rng)
            assert best - own <= excess + 8e-15 * size, (shape, n)
            checked += 1
            clear += excess == 0.0
    assert clear > (0.01 if kind in (1, 2) else 0.1) * checked  # a concavity from pole to pole leaves nothing clear


@pytest.mark.parametrize(
    ("epsilon", "name", "found"),
    [
        ((2.0, 1.0), "epsilon[0]", "2.0"),
        ((1.0, 0.0), "epsilon[1]", "0.0"),
        ((1.0, math.nextafter(2.0, 0.0)), "epsilon[1]", "1.9999999999999998"),
        ((1e-300, 1.0), "epsilon[0]", "1e-300"),
        ((1.0, 1.9999991), "epsilon[1]", "1.9999991"),
        ((9e-7, 1.0), "epsilon[0]", "9e-07"),
    ],
)
def test_exponents_out_of_range_are_refused_by_name(epsilon, name, found):
    message = rf"Superovoid\.{re.escape(name)} = {found}: must be in \[1e-06, 1\.999999\]"
    with pytest.raises(ValueError, match=message):
        Superovoid.from_goncalves((1, 1, 1), epsilon)


def test_concavities_at_the_ends_of_the_exponents_have_finite_numbers():
    for e1 in ENDS:
        for e2 in ENDS:
            for taper in ((0.5, -0.5), (-0.5, -0.5), (0.3, 0.0), (1e-9, -1e-9), (1e-160, 0.0), (0.5, 0.4999999)):
                body = Superovoid((1, 1, 1), section_exponent=e1, profile_exponent=e2, taper=taper)._packed_row
                assert np.isfinite(body).all()
                assert -1.0 < body[surface.CONCAVITY_LO] <= 1.0
                assert -1.0 <= body[surface.CONCAVITY_HI] < 1.0


def test_depths_of_concavities_are_computed_up_to_the_largest_exponents():
    for taper in ((0.3, 0.1), (0.4, -0.4)):
        depths = [
            Superovoid((1, 1, 1), section_exponent=e1, profile_exponent=1.9, taper=taper).convexity().concavity
            for e1 in (1.99, 1.999999)
        ]
        assert depths[0] == pytest.approx(depths[1], rel=0.01) and depths[0] > 0.01


def test_answers_far_from_microscopic_concavities_are_certified():
    a = Superovoid((1.0, 0.8, 1.2), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.10001))
    assert not a.convexity().convex
    pose = np.eye(4)
    pose[:3, 3] = (1.5, 0.4, 2.5)
    assert distance(a, np.eye(4), a, pose).status == Status.CERTIFIED


def ball_in_a_concavity(depth):
    """Return a body with a concavity of 7 % of its size, a pose at a part of the concavity's depth, and the normal
    there."""
    a, w = Superovoid((1, 1, 1), section_exponent=0.8, profile_exponent=1.9, taper=(0.5, 0.5)), MP.mpf("-0.45")
    n = np.array([1.0, 0.0, 0.0])
    n[2] = -float(Profile(a, n).slope(w))
    pose = np.eye(4)
    pose[:3, 3] = (float((1 - abs(w) ** (2 / MP.mpf(1.9))) ** (MP.mpf(1.9) / 2) * (1 + w / 2)), 0.0, float(w))
    n /= np.linalg.norm(n)
    pose[:3, 3] += depth * a.convexity().concavity * n
    return a, pose, n


@pytest.mark.parametrize("share", [0.2, 0.3, 0.499])
def test_a_ball_in_a_concavity_has_its_distance_from_the_body(share):
    a, pose, n = ball_in_a_concavity(0.5)
    concavity = a.convexity().concavity
    ball = Sphere(share * concavity)
    result = distance(a, np.eye(4), ball, pose)
    assert result.distance == pytest.approx((0.5 - share) * concavity, abs=1e-12)
    assert result.lower <= result.distance <= result.upper <= result.lower + 1e-8
    assert result.status == Status.CERTIFIED
    assert result.normal == pytest.approx(n, abs=1e-9)
    assert are_closer(a, np.eye(4), ball, pose, 0.0).farther
    larger = Sphere(0.51 * concavity)
    assert are_closer(a, np.eye(4), larger, pose, 0.0).closer


def test_a_hull_in_a_concavity_is_never_reported_too_close():
    a, pose, _ = ball_in_a_concavity(0.5)
    concavity = a.convexity().concavity
    hull = ConvexMesh(0.14 * concavity * Sphere(1.0).tessellate(8).vertices)
    least = distance(a, np.eye(4), Sphere(0.141 * concavity), pose).lower
    first, second = PlacedBody(a._row, a._pool, np.eye(4)), PlacedBody(hull._row, hull._pool, pose)
    scratch = np.empty((3, 3)), np.empty(RESULT_LENGTH)
    memory = np.zeros(3), np.zeros(STATE_LENGTH), scratch, np.empty(VERDICT_LENGTH)
    assert least > 0.1 * concavity
    found = decide_within(first, second, Limit(1e-6, 10_000, 0.1 * concavity, 0.1 * concavity), *memory)
    assert found != CLOSER


def test_a_ball_falling_into_a_concavity_is_free_until_contact():
    a, pose, n = ball_in_a_concavity(2.0)
    concavity, ball = a.convexity().concavity, Sphere(0.2 * a.convexity().concavity)
    short = time_of_impact(a, np.eye(4), ball, Motion(pose, -1.5 * concavity * n, (0.0, 0.0, 0.0)))
    assert short.status is ImpactStatus.FREE  # it stops below the edge of the concavity, above its ground
    fall = Motion(pose, -3.0 * concavity * n, (0.0, 0.0, 0.0))
    found = time_of_impact(a, np.eye(4), ball, fall)
    assert found.status is ImpactStatus.IMPACT
    there = fall.pose(found.time)[:3, 3]
    outwards = np.random.default_rng(2).normal(size=(20_000, 3))
    outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
    heights = np.array([a.implicit(there + r * 0.2 * concavity * outwards).min() for r in (0.99, 1.01)])
    assert heights[0] > 0.0 > heights[1]


def test_thresholds_next_to_concavities_agree_with_points_of_the_bodies():
    """Verdicts on separate pairs, against a random walk over points of both surfaces."""
    rng, batch = generate(9, "dent contact", 0, 120)
    shapes = [[Superovoid.from_goncalves(row[:3], row[3:5], row[5:7]) for row in rows] for rows in batch.rows]
    poses = batch.poses()
    result = distances(shapes[0], poses[0], shapes[1], poses[1])
    examination = pytest.importorskip("superovoid_papers.judges.examination")
    found = examination.closer_points(rng, batch, result.point_a, result.point_b)
    apart = result.lower > 0.0
    unit = batch.unit()
    decided = 0
    for factor in (-1e-3, -1e-6, -1e-9, 1e-9, 1e-6, 1e-3):
        threshold = result.distance + factor * unit
        verdict = are_closer(shapes[0], poses[0], shapes[1], poses[1], threshold)
        assert not (verdict.farther & apart & (found < threshold - 1e-14 * batch.reach())).any()
        assert not (verdict.closer & (result.lower > threshold)).any()
        decided += int((verdict.farther | verdict.closer)[apart].sum())
    assert decided > 3 * apart.sum()


def test_support_points_of_pieces_take_few_newton_steps():
    taken = []

    def count_steps(*arguments):
        taken[-1] += 1
        return support_function._profile_at(*arguments)

    function = support_function.support_between
    here = {**function.__globals__, "_profile_at": count_steps}
    support = FunctionType(function.__code__, here)
    rng = np.random.default_rng(4)
    for _ in range(100):
        body = np.zeros(surface.BODY_LENGTH)
        bodies.pack(body, 1.0, 1.0, 1.0, *rng.uniform(0.3, 1.1, 2), *rng.uniform(-0.4, 0.4, 2))
        n = rng.normal(size=3)
        taken.append(0)
        support(body, tuple(n / np.linalg.norm(n)), -math.inf, math.inf, support_function.OF_PIECES)
    assert max(taken) <= 12


def test_the_defect_of_a_slice_is_infinite_where_its_power_underflows():
    assert 1e-4**100.0 == 0.0
    assert slice_defect(1e-4, 100.0, 99.0, 1.0, 0.42, -0.33) == np.inf

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Comparisons with a threshold and times of impact, against full solutions and closed forms."""

import math

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Ellipsoid,
    ImpactStatus,
    Motion,
    Proof,
    Sphere,
    Superellipsoid,
    Superovoid,
    UndecidedError,
    are_closer,
    are_intersecting,
    distance,
    distances,
    time_of_impact,
)
from superovoid.contact import impact
from superovoid.contact.separation import level, slack_of_level
from superovoid.shapes.kernels.kinds import Core, kind_of

WORLD = np.eye(4)


def at(*translation, rotation=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, 3] = translation
    pose[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    return pose


def random_shape(rng, non_convex=False):
    size = np.exp(rng.uniform(-1.0, 1.0, 3))
    if non_convex:
        return Superovoid.from_goncalves(size, rng.uniform(0.3, 1.1, 2), rng.uniform(-0.4, 0.4, 2))
    epsilon = rng.uniform(0.2, 1.8, 2)
    limit = 0.9 * min(0.5, (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1]))
    return Superovoid.from_goncalves(size, epsilon, [rng.uniform(-limit, limit)] * 2)


def random_poses(rng, count, spread):
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = spread * rng.normal(size=(count, 3))
    return poses


@pytest.fixture(scope="module")
def pairs():
    """Return convex pairs, a third of them overlapping, with their distances."""
    rng = np.random.default_rng(5)
    count = 600
    a = [random_shape(rng) for _ in range(count)]
    b = [random_shape(rng) for _ in range(count)]
    pose_a, pose_b = random_poses(rng, count, 1.2), random_poses(rng, count, 1.2)
    result = distances(a, pose_a, b, pose_b)
    assert 0.25 < (result.distance < 0.0).mean() < 0.75
    return a, pose_a, b, pose_b, result


# -- closer than a threshold -----------------------------------------------------------------------


def test_separate_pairs_are_decided_without_the_solver(pairs):
    a, pose_a, b, pose_b, result = pairs
    apart = np.flatnonzero(result.distance > 0.02)
    moved = pose_b[apart].copy()
    moved[:, :3, 3] += 1e-3
    some_a, some_b = [a[i] for i in apart], [b[i] for i in apart]
    cold = are_closer(some_a, pose_a[apart], some_b, moved, 0.0)
    warm = are_closer(some_a, pose_a[apart], some_b, moved, 0.0, direction=result.normal[apart])
    assert warm.farther.all() and cold.farther.all()
    assert (warm.statistics.solves == 0).all() and (cold.statistics.solves == 0).all()


def test_wrong_directions_cost_time_but_never_truth(pairs):
    a, pose_a, b, pose_b, result = pairs
    verdict = are_closer(a, pose_a, b, pose_b, 0.0, direction=-7.0 * result.normal)
    assert not (verdict.closer & (result.lower > 0.0)).any()
    assert not (verdict.farther & (result.upper < 0.0)).any()
    assert (verdict.closer | verdict.farther)[np.abs(result.distance) > 1e-6].all()


def test_swapping_bodies_changes_no_verdict(pairs):
    a, pose_a, b, pose_b, _ = pairs
    for threshold in (-0.2, 0.0, 0.3):
        one = are_closer(a, pose_a, b, pose_b, threshold)
        other = are_closer(b, pose_b, a, pose_a, threshold)
        np.testing.assert_array_equal(one.closer, other.closer)
        np.testing.assert_array_equal(one.farther, other.farther)


def test_array_form_equals_the_single_form(pairs):
    a, pose_a, b, pose_b, result = pairs
    many = are_closer(a, pose_a, b, pose_b, 0.1, direction=result.normal)
    for i in range(0, 600, 20):
        one = are_closer(a[i], pose_a[i], b[i], pose_b[i], 0.1, direction=3.0 * result.normal[i])
        assert (one.closer, one.farther) == (many.closer[i], many.farther[i])
        assert one.statistics == many.statistics[i]
        assert one.proof == many.proof[i] and one.lower == pytest.approx(many.lower[i], abs=1e-12)


def test_spheres_are_decided_by_their_distance_and_touch_is_undecided():
    verdict = are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), at(1.5, 0.0, 0.0))
    assert not verdict.closer and not verdict.farther
    assert verdict.lower <= 0.0 <= verdict.upper and verdict.upper - verdict.lower < 1e-9
    assert are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), at(1.5 - 1e-8, 0.0, 0.0)).closer
    assert are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), at(1.5 + 1e-8, 0.0, 0.0)).farther
    assert are_closer(Sphere(1.0), WORLD, Sphere(0.5), WORLD, -1.4).closer  # depth 1.5
    assert are_closer(Sphere(1.0), WORLD, Sphere(0.5), WORLD, -1.6).farther
    far = are_closer(Sphere(1.0), WORLD, Sphere(0.5), at(50.0, 0.0, 0.0), 1.0)
    assert far.farther and far.proof is Proof.SPHERES and far.statistics.solves == 0


def test_masks_and_slices_select_verdicts_like_distances():
    places = np.array([at(x, 0.0, 0.0) for x in (1.0, 2.0, 3.0)])
    found = are_closer(Sphere(1.0), WORLD, [Sphere(0.5)] * 3, places, 0.0)
    assert [verdict.closer for verdict in found] == found.closer.tolist() == [True, False, False]
    assert found[found.closer][0] == found[0] and found[1:][-1] == found[-1] and isinstance(found[0].proof, Proof)
    assert len(found[found.undecided]) == 0
    with pytest.raises(IndexError, match="one entry per row"):
        found[[True]]


def test_a_verdict_is_true_only_if_proved():
    apart, inside = at(50.0, 0.0, 0.0), at(1.0, 0.0, 0.0)
    assert not are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), apart)
    assert are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), inside)
    assert are_closer(Sphere(1.0), WORLD, Sphere(0.5), apart, 49.0)
    touching = are_intersecting(Sphere(1.0), WORLD, Sphere(0.5), at(1.5, 0.0, 0.0))
    assert touching.undecided
    with pytest.raises(UndecidedError, match=r"leaves open .*`\.closer`.*`not \.farther`"):
        bool(touching)
    many = are_closer(Sphere(1.0), WORLD, [Sphere(0.5)] * 3, np.array([apart, inside, at(1.5, 0.0, 0.0)]), 0.0)
    with pytest.raises(TypeError, match="undecided"):
        assert not many
    assert many.undecided.tolist() == [False, False, True] and len(many) == 3
    assert not many[0] and many[1] and many[2] == touching
    pairs = Sphere(1.0), WORLD, [Sphere(0.5)] * 2, np.array([apart, inside])
    assert are_intersecting(*pairs) == are_closer(*pairs, 0.0)


def test_rounding_far_from_the_origin_makes_no_small_bodies_overlap():
    small = Superellipsoid((1e-3, 1e-3, 1e-3), section_exponent=0.2, profile_exponent=0.2)
    for x in (1e3, 1e6):
        for gap in (1e-9, 1e-7, 1e-5):
            verdict = are_intersecting(small, at(x, 0.0, 0.0), small, at(x + 2e-3 + gap, 0.0, 0.0))
            assert not verdict.closer


@pytest.mark.parametrize("step", [1e-3, 1e-7])
def test_a_step_changes_the_level_by_at_most_its_slack(step):
    rng = np.random.default_rng(11)
    for _ in range(200):
        body = random_shape(rng)
        x = rng.uniform(0.5, 0.9999) * body.support(rng.normal(size=3))
        n = rng.normal(size=3)
        end = x + step * n / np.linalg.norm(n)
        change = level(body._row, end) - level(body._row, x)
        assert math.isinf(change) or abs(change) <= slack_of_level(body._row, step)


def test_bad_arguments_of_comparisons_are_named():
    a = Sphere(1.0)
    with pytest.raises(ValueError, match="threshold = nan: must be a finite"):
        are_closer(a, WORLD, a, WORLD, math.nan)
    for thresholds in ([math.nan], [[0.0]]):
        with pytest.raises(ValueError, match=r"threshold = \[.*: must be a finite number \(metres\), or an array"):
            are_closer([a], WORLD, a, WORLD, thresholds)
    with pytest.raises(ValueError, match=r"direction: must have shape \(\.\.\., 3\), found \(3, 2\)"):
        are_closer([a], WORLD, a, WORLD, [0.0], direction=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"a: 1, threshold: 1, direction: 2"):
        are_closer([a], WORLD, a, WORLD, [0.0], direction=np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"threads = 0: must be None or an integer of at least 1"):
        are_closer(a, WORLD, a, WORLD, 0.0, threads=0)
    with pytest.raises(ValueError, match="direction: must be finite and not zero"):
        are_closer(a, WORLD, a, WORLD, 0.0, direction=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="direction: must be finite and not zero"):
        are_closer(a, WORLD, a, WORLD, 0.0, direction=(0.0, math.nan, 0.0))
    for length in (1e-320, 1e300):
        assert are_closer(a, WORLD, a, WORLD, 0.0, direction=(length, length, 0.0)).closer
    with pytest.raises(ValueError, match=r"a: 2, threshold: 3"):
        are_closer([a, a], WORLD, a, WORLD, [0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match=r"b.*: must be a shape"):
        are_intersecting(a, WORLD, "sphere", WORLD)
    assert are_closer([], WORLD, a, WORLD, 0.0).closer.shape == (0,)


# -- motions ---------------------------------------------------------------------------------------


def test_interpolation_ends_at_the_given_pose():
    rng = np.random.default_rng(7)
    for start, end in zip(random_poses(rng, 50, 3.0), random_poses(rng, 50, 3.0), strict=True):
        motion = Motion.from_poses(start, end, duration=2.5)
        np.testing.assert_array_equal(motion.pose(0.0), start)
        np.testing.assert_allclose(motion.pose(2.5), end, atol=1e-13)
        np.testing.assert_allclose(motion.pose(1.0)[:3, 3], start[:3, 3] + 0.4 * (end - start)[:3, 3], atol=1e-13)


@pytest.mark.parametrize("turn", (0.0, 1e-9, 1e-4, 1.0, 20.0))
def test_a_screw_is_the_exponential_of_its_twist(turn):
    rng = np.random.default_rng(8)
    for start in random_poses(rng, 20, 3.0):
        linear, angular = rng.normal(size=3), turn * rng.normal(size=3)
        generator = np.zeros((4, 4))
        generator[:3, :3] = np.array(
            [[0.0, -angular[2], angular[1]], [angular[2], 0.0, -angular[0]], [-angular[1], angular[0], 0.0]]
        )
        generator[:3, 3] = linear - np.cross(angular, start[:3, 3])  # velocity of the point at the world's origin
        motion = Motion.screw(start, np.concatenate([linear, angular]))
        np.testing.assert_allclose(motion.pose(0.7), expm(0.7 * generator) @ start, atol=1e-10)


def test_a_thrown_body_keeps_its_centre_on_a_straight_path():
    motion = Motion(at(1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 5.0), about=(1.5, 0.0, 0.0))
    for t in (0.0, 0.3, 1.0):
        pose = motion.pose(t)
        np.testing.assert_allclose(pose[:3, :3] @ (0.5, 0.0, 0.0) + pose[:3, 3], (1.5, 2.0 * t, 0.0), atol=1e-14)
        np.testing.assert_allclose(pose[:3, :3], Rotation.from_rotvec((0.0, 0.0, 5.0 * t)).as_matrix(), atol=1e-14)


def random_motion(rng, pose, speed, spin):
    linear, angular = speed * rng.normal(size=3), spin * rng.normal(size=3)
    about = pose[:3, 3] + 0.5 * rng.normal(size=3) if rng.random() < 0.3 else None
    return Motion(pose, linear, angular, about)


def test_separation_never_falls_faster_than_its_bound():
    rng = np.random.default_rng(9)
    for _ in range(15):
        bodies = [random_shape(rng) for _ in range(2)]
        motions = [random_motion(rng, pose, 2.0, 3.0) for pose in random_poses(rng, 2, 2.0)]
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        cores = [Core(b._row, kind_of(b._row), b._pool) for b in bodies]
        packed = [m._numbers for m in motions]
        reach = [impact.reach_of(core, motion, math.inf) for core, motion in zip(cores, packed, strict=True)]
        fall = impact.fall_along(*packed, *reach, n)

        def separation(t, bodies=bodies, motions=motions, n=n):
            (a, b), (pa, pb) = bodies, [m.pose(t) for m in motions]
            span = n @ (pb - pa)[:3, 3]
            return span - a.support_value(n @ pa[:3, :3]) - b.support_value(-n @ pb[:3, :3])

        for t in np.linspace(0.0, rng.uniform(0.05, 1.0), 41):
            assert separation(t) >= separation(0.0) - max(fall, 0.0) * t - 1e-12


# -- time of impact --------------------------------------------------------------------------------


def test_spheres_meet_at_the_root_of_the_quadratic():
    rng = np.random.default_rng(10)
    met = 0
    for _ in range(300):
        ra, rb = rng.uniform(0.1, 1.0, 2)
        c = 3.0 * rng.normal(size=3)
        v = rng.uniform(0.5, 3.0) * c + 0.7 * rng.normal(size=3)
        if np.linalg.norm(c) < ra + rb + 1e-3:
            continue
        found = time_of_impact(
            Sphere(ra),
            Motion(WORLD, 0.3 * v, (1.0, 2.0, 3.0)),
            Sphere(rb),
            Motion(at(*c), -0.7 * v, (3.0, 2.0, 1.0)),
            rtol=1e-9,
        )
        # |c - v t| = ra + rb
        square = (c @ v) ** 2 - (v @ v) * (c @ c - (ra + rb) ** 2)
        first = (c @ v - math.sqrt(square)) / (v @ v) if square > 0.0 and c @ v > 0.0 else math.inf
        if first > 1.0:
            assert found.status is ImpactStatus.FREE and found.time == 1.0
            continue
        met += 1
        assert found.status is ImpactStatus.IMPACT
        assert found.time <= first <= found.overlap_time
        slack = 1e-8 / math.sqrt(square) * np.linalg.norm(v)
        assert found.overlap_time - found.time < 10.0 * slack
        assert 0.0 <= found.result.distance <= 1e-9 * min(ra, rb) + 1e-12
    assert met > 30


@pytest.fixture(scope="module")
def moving_bodies():
    """Return random convex bodies on random motions towards each other's neighbourhood, with their impacts."""
    rng = np.random.default_rng(11)
    cases = []
    for i in range(200):
        a, b = random_shape(rng), random_shape(rng)
        start_a, start_b = random_poses(rng, 2, 3.0)
        towards = start_b[:3, 3] - start_a[:3, 3] + rng.normal(size=3)
        spin = (0.0, 1.0, 6.0)[i % 3]
        motion_a = Motion(start_a, towards, spin * rng.normal(size=3))
        motion_b = random_motion(rng, start_b, 1.0, spin)
        cases.append((a, motion_a, b, motion_b, time_of_impact(a, motion_a, b, motion_b)))
    statuses = [found.status for *_, found in cases]
    assert statuses.count(ImpactStatus.IMPACT) > 60 and statuses.count(ImpactStatus.FREE) > 20
    assert statuses.count(ImpactStatus.UNPROVEN) == 0
    return cases


def test_bodies_are_separate_before_impact_and_overlap_after_it(moving_bodies):
    for a, motion_a, b, motion_b, found in moving_bodies[::4]:
        if found.status is ImpactStatus.STARTS_IN_CONTACT:
            assert found.time == 0.0
            assert distance(a, motion_a.start, b, motion_b.start).distance < 1e-5
            continue
        times = np.linspace(0.0, found.time, 60)
        before = distances(
            a, np.array([motion_a.pose(t) for t in times]), b, np.array([motion_b.pose(t) for t in times])
        )
        assert before.lower.min() > 0.0
        if found.status is ImpactStatus.IMPACT:
            late = found.overlap_time
            assert distance(a, motion_a.pose(late), b, motion_b.pose(late)).upper < 0.0
            assert late - found.time < 1e-4


def test_the_contact_belongs_to_the_poses_at_the_impact(moving_bodies):
    for a, motion_a, b, motion_b, found in moving_bodies:
        there = distance(a, motion_a.pose(found.time), b, motion_b.pose(found.time))
        assert found.result.lower <= there.upper + 1e-12 and there.lower <= found.result.upper + 1e-12
        if found.status is ImpactStatus.IMPACT:
            size = min(max(a.semi_axes), max(b.semi_axes))
            assert found.result.distance <= 1.001e-6 * size
            np.testing.assert_allclose(found.result.point_b - found.result.point_a, 0.0, atol=1.1e-6 * size)


def test_swapping_bodies_gives_the_same_time(moving_bodies):
    for a, motion_a, b, motion_b, found in moving_bodies:
        other = time_of_impact(b, motion_b, a, motion_a)
        assert other.status is found.status
        if found.status is ImpactStatus.IMPACT:
            assert other.time <= found.overlap_time and found.time <= other.overlap_time
            np.testing.assert_allclose(other.result.normal, -found.result.normal, atol=1e-2)


def test_double_speed_halves_the_time_and_translations_do_not_matter(moving_bodies):
    shift = np.array([1e4, -2e4, 5e3])
    for a, motion_a, b, motion_b, found in moving_bodies[::5]:
        if found.status is not ImpactStatus.IMPACT:
            continue
        fast = []
        for motion in (motion_a, motion_b):
            start = motion.start.copy()
            start[:3, 3] += shift
            fast.append(Motion(start, 2.0 * motion.linear, 2.0 * motion.angular, motion.about + shift))
        other = time_of_impact(a, fast[0], b, fast[1], duration=0.5)
        assert 2.0 * other.time <= found.overlap_time + 1e-9 and found.time <= 2.0 * other.overlap_time + 1e-9
        np.testing.assert_allclose(other.result.point_a - shift, found.result.point_a, atol=1e-4)


@pytest.mark.parametrize("common", [1e3, 1e6, 1e9])
def test_rounding_on_a_long_path_keeps_contacts_in_their_brackets(common):
    def impact_at(common, rtol):
        a = Motion(WORLD, (common, common / 4.0, 0.0), (0.0, 0.0, 0.0))
        b = Motion(at(3.0, 0.3, 0.1), (common - 4.0, common / 4.0, 0.0), (0.1, 0.0, 0.2))
        return time_of_impact(Sphere(1.0), a, Box((1.0, 1.0, 1.0)), b, rtol=rtol)

    at_rest = impact_at(0.0, 1e-12)
    for rtol in (1e-6, 1e-9, 1e-12):
        found = impact_at(common, rtol)
        assert found.status == ImpactStatus.IMPACT
        assert found.time <= at_rest.overlap_time
        assert found.overlap_time >= at_rest.time


def test_a_grain_at_any_speed_does_not_tunnel_through_a_plate():
    plate = Superellipsoid((1.0, 1.0, 1e-5), section_exponent=0.2, profile_exponent=0.2)
    grain = Ellipsoid((1e-4, 2e-4, 3e-4))
    for speed in (1.0, 1e3, 1e6):
        motion = Motion(at(0.1, 0.2, 0.5 * speed), (0.0, 0.0, -speed), (0.3, -0.2, 0.5))
        found = time_of_impact(grain, motion, plate, WORLD)
        assert found.status is ImpactStatus.IMPACT
        pose = motion.pose(found.time)
        below = grain.support_value(pose[:3, :3].T @ (0.0, 0.0, -1.0))
        assert found.time == pytest.approx(0.5 - (below + 1e-5) / speed, abs=1e-9 / speed + 1e-13)
        assert found.result.point_a[2] == pytest.approx(1e-5, abs=1e-9 + 1e-13 * speed)
        assert found.statistics.solves <= 12


def test_two_thin_plates_that_cross_edge_on_meet():
    plate = Superellipsoid((1.0, 1.0, 1e-5), section_exponent=0.2, profile_exponent=0.2)
    upright = at(0.3, 0.1, 400.0, rotation=(0.5 * math.pi, 0.0, 0.0))  # its thin direction is along y
    found = time_of_impact(plate, Motion(upright, (0.0, 0.0, -800.0), (0.0, 0.0, 0.0)), plate, WORLD)
    assert found.status is ImpactStatus.IMPACT
    assert found.time == pytest.approx((400.0 - 1.0) / 800.0, abs=1e-6)
    beside = upright.copy()
    beside[0, 3] = 2.001
    found = time_of_impact(plate, Motion(beside, (0.0, 0.0, -800.0), (0.0, 0.0, 0.0)), plate, WORLD)
    assert found.status is ImpactStatus.FREE


def test_a_blade_of_many_turns_hits_only_what_it_sweeps():
    blade = Superellipsoid((2.0, 0.05, 1e-4), section_exponent=0.3, profile_exponent=0.3)
    for turns in (0.4, 10.4):
        motion = Motion(WORLD, (0.0, 0.0, 0.0), (0.0, 0.0, 2.0 * math.pi * turns))
        hit = time_of_impact(blade, motion, Sphere(0.1), at(0.0, 1.5, 0.0))
        assert hit.status is ImpactStatus.IMPACT
        assert 0.0 < hit.time < 0.25 / turns
        assert time_of_impact(blade, motion, Sphere(0.1), at(0.0, 1.5, 0.102)).status is ImpactStatus.FREE
        assert time_of_impact(blade, motion, Sphere(0.1), at(0.0, 2.102, 0.0)).status is ImpactStatus.FREE


def test_a_fast_spinning_drill_far_away_is_free_in_one_step():
    drill = Ellipsoid((0.01, 0.01, 1.0))
    found = time_of_impact(drill, Motion(WORLD, (0.0, 0.0, 0.0), (0.0, 5e4, 0.0)), Sphere(0.5), at(0.0, 0.0, 9.0))
    assert found.status is ImpactStatus.FREE and found.statistics.solves <= 3


@pytest.mark.parametrize("miss", (-1e-3, -1e-6, 1e-6, 1e-3))
def test_grazing_is_decided_in_few_steps(miss):
    motion = Motion(at(0.0, 1.0 + miss, 0.0), (6.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    found = time_of_impact(Sphere(0.5), motion, Sphere(0.5), at(3.0, 0.0, 0.0), rtol=1e-9)
    assert found.status is (ImpactStatus.IMPACT if miss < 0.0 else ImpactStatus.FREE)
    assert found.statistics.solves <= 30 and found.statistics.supports <= 60


def test_an_impact_is_true_only_if_an_overlap_is_proved():
    ball, fast = Sphere(0.5), (6.0, 0.0, 0.0)

    def impact(height, **options):
        motion = Motion(at(0.0, height, 0.0), fast, (0.0, 0.0, 0.0))
        return time_of_impact(ball, motion, ball, at(3.0, 0.0, 0.0), **options)

    assert impact(0.0) and not impact(1.1)
    assert time_of_impact(ball, WORLD, ball, at(0.7, 0.0, 0.0))
    for undecided in (impact(1.0), impact(0.95, max_evaluations=2)):
        with pytest.raises(UndecidedError, match=r"neither proved nor excluded .*`\.status is not ImpactStatus.FREE`"):
            bool(undecided)


def test_exact_grazing_has_its_own_status():
    motion = Motion(at(0.0, 1.0, 0.0), (6.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    found = time_of_impact(Sphere(0.5), motion, Sphere(0.5), at(3.0, 0.0, 0.0), rtol=1e-6)
    assert found.status is ImpactStatus.GRAZE and found.overlap_time == math.inf
    assert 0.0 < found.result.distance <= 1e-6
    assert found.time <= 0.5


def test_contact_at_the_start_and_rest_have_their_status():
    touching = time_of_impact(Sphere(0.5), WORLD, Sphere(0.5), at(1.0, 0.0, 0.0))
    assert touching.status is ImpactStatus.STARTS_IN_CONTACT and touching.time == 0.0
    inside = time_of_impact(Sphere(0.5), WORLD, Sphere(0.5), at(0.7, 0.0, 0.0))
    assert inside.status is ImpactStatus.STARTS_IN_CONTACT and inside.overlap_time == 0.0
    assert inside.result.distance == pytest.approx(-0.3)
    still = time_of_impact(Sphere(0.5), WORLD, Sphere(0.5), at(1.1, 0.0, 0.0))
    assert still.status is ImpactStatus.FREE and still.statistics.solves <= 2


def test_a_motion_ends_early_at_the_limit_of_solver_calls():
    motion = Motion(at(0.0, 0.95, 0.0), (6.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    found = time_of_impact(Sphere(0.5), motion, Sphere(0.5), at(3.0, 0.0, 0.0), max_evaluations=2)
    assert found.status is ImpactStatus.UNPROVEN and found.statistics.solves == 2
    assert 0.0 < found.time < 0.5 and found.result.lower > 0.0


def test_non_convex_bodies_advance_while_their_hulls_are_free():
    rng = np.random.default_rng(12)
    seen = set()
    for _ in range(15):
        a, b = random_shape(rng, non_convex=True), random_shape(rng, non_convex=True)
        start_a, start_b = random_poses(rng, 2, 3.0)
        motion = Motion(start_a, 1.5 * (start_b[:3, 3] - start_a[:3, 3]), rng.normal(size=3))
        found = time_of_impact(a, motion, b, start_b)
        seen.add(found.status)
        assert found.status is not ImpactStatus.FREE
        times = np.linspace(0.0, found.time, 50)[:-1]
        if found.time > 0.0:
            before = distances(a, np.array([motion.pose(t) for t in times]), b, start_b)
            assert before.distance.min() > 0.0
    assert ImpactStatus.IMPACT in seen


def test_bad_arguments_of_motions_are_named():
    with pytest.raises(ValueError, match=r"Motion\.linear"):
        Motion(WORLD, (0.0, math.nan, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"Motion\.start"):
        Motion(np.eye(3), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"twist = .*: must be 6 finite numbers"):
        Motion.screw(WORLD, (0.0, 0.0, 0.0))
    assert Motion.screw(WORLD, (1.0, 0.0, 0.0, 0.0, 1e-110, 0.0)).angular.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"duration = 1e-320: is too short"):
        Motion.from_poses(WORLD, at(1.0, 0.0, 0.0), 1e-320)
    assert not Motion.from_poses(WORLD, WORLD, 1e-320).linear.any()
    with pytest.raises(ValueError, match=r"time = 1e\+300: the body has moved or turned"):
        Motion(WORLD, (1e100, 0.0, 0.0), (0.0, 0.0, 1.0)).pose(1e300)
    with pytest.raises(ValueError, match="duration"):
        time_of_impact(Sphere(1.0), WORLD, Sphere(1.0), WORLD, duration=0.0)
    with pytest.raises(TypeError, match="a: must be a shape"):
        time_of_impact("sphere", WORLD, Sphere(1.0), WORLD)
    with pytest.raises(ValueError, match="rtol"):
        time_of_impact(Sphere(1.0), WORLD, Sphere(1.0), WORLD, rtol=0.0)
    with pytest.raises(ValueError, match=r"a: 3, motion_b: 2"):
        time_of_impact([Sphere(1.0)] * 3, WORLD, Sphere(1.0), [WORLD, WORLD])
    with pytest.raises(ValueError, match=r"motion_b: must have shape \(4, 4\), found \(2, 4, 4\)"):
        time_of_impact(Sphere(1.0), WORLD, Sphere(1.0), [Motion.at_rest(WORLD), [WORLD, WORLD]])


# -- documentation ---------------------------------------------------------------------------------


def test_sharp_sections_keep_the_distance_from_the_axis():
    """(|u|^p + |v|^p)^(s/p) with p in the thousands: |u|^p underflows in double precision long before u."""
    for e1 in (1e-6, 1e-3, 0.02):
        for e2 in (0.5, 1.0, 1.9):
            body = Superellipsoid((1.0, 1.0, 1.0), section_exponent=e1, profile_exponent=e2)
            x = 0.6 if e1 < 0.01 else 0.005
            height = (1.0 - x ** (2.0 / e2)) ** (0.5 * e2)
            small = Sphere(1e-4)
            outside, inside = at(x, 0.0, height + 1e-3), at(x, 0.0, height - 1e-3)
            verdict = are_intersecting(small, outside, body, WORLD, direction=(0.0, 0.0, -1.0))
            assert not verdict.closer and verdict.farther
            assert are_intersecting(small, inside, body, WORLD, direction=(0.0, 0.0, -1.0)).closer
            assert not body.contains(outside[:3, 3])
            assert body.contains(inside[:3, 3])

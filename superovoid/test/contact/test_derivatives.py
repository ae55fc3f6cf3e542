# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the signed distance against central differences of the engine's own distances and closed forms."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Cone,
    ConvexMesh,
    Cylinder,
    DerivativeStatus,
    Ellipsoid,
    Sphere,
    Status,
    Superellipsoid,
    Superovoid,
    Torus,
    derivatives,
    distance,
    distances,
    pose_gradients,
)
from superovoid.robot import Robot
from superovoid.testing import flat_contacts

import hands
from draws import few_or_many

PAIRS = 1000
KINDS = ("ellipsoids", "superellipsoids", "superovoids")
DEPTHS = ("apart", "touching", "shallow", "deep")
STEPS = (1e-4, 2e-5)
EGG = Superellipsoid((0.3, 0.4, 0.5), section_exponent=0.9, profile_exponent=0.7)
SEARCHED = (  # two bodies, and the distance of their origins
    (EGG, Box((0.3, 0.4, 0.5)), 0.35),
    (EGG, Cylinder(0.3, 0.6), 0.35),
    (EGG, Cone(0.3, 0.5), 0.35),
    (EGG, ConvexMesh([(0.3, 0.0, 0.0), (-0.3, 0.2, 0.0), (-0.2, -0.3, 0.1), (0.0, 0.1, 0.4), (0.1, 0.0, -0.3)]), 0.35),
    (Superovoid((0.3, 0.4, 0.5), section_exponent=0.9, profile_exponent=0.7, taper=(0.1, 0.2)), Torus(0.4, 0.1), 1.1),
)
SMALL_STEPS = (5e-7, 1e-7)


def random_shape(rng, kind):
    size = np.exp(rng.uniform(-0.7, 0.7, 3))
    if kind == "ellipsoids":
        return Ellipsoid(size)
    if kind == "superellipsoids":
        return Superellipsoid.from_goncalves(size, rng.uniform(0.3, 1.7, 2))
    while True:
        epsilon = rng.uniform((0.3, 0.3), (1.7, 1.5))
        limit = 0.9 * min(0.5, (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1]))
        taper = rng.uniform(-limit, limit, 2)
        if epsilon[1] < 1.05 or rng.random() < 0.5:
            taper[1] = taper[0]  # unequal tapers have a concavity if epsilon_2 < 1
        shape = Superovoid.from_goncalves(size, epsilon, taper)
        if shape.convexity().convex:
            return shape


def random_pairs(kind, depth, count=PAIRS):
    """Return shapes and poses of pairs in contact, or at a given separation, along a random common normal."""
    rng = np.random.default_rng([KINDS.index(kind), DEPTHS.index(depth)])
    a = [random_shape(rng, kind) for _ in range(count)]
    b = [random_shape(rng, kind) for _ in range(count)]
    pose_a, pose_b = np.tile(np.eye(4), (2, count, 1, 1))
    pose_a[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    pose_b[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    pose_a[:, :3, 3] = rng.uniform(-1.0, 1.0, (count, 3))
    n = rng.normal(size=(count, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    gap = {
        "apart": rng.uniform(0.01, 2.0, count),
        "touching": rng.uniform(-1e-9, 1e-9, count),
        "shallow": -rng.uniform(1e-4, 0.05, count),
        "deep": -rng.uniform(0.2, 1.5, count),
    }[depth]
    for i in range(count):
        x = pose_a[i, :3, :3] @ a[i].support(n[i] @ pose_a[i, :3, :3])
        y = pose_b[i, :3, :3] @ b[i].support(-n[i] @ pose_b[i, :3, :3])
        pose_b[i, :3, 3] = pose_a[i, :3, 3] + x - y + gap[i] * n[i]
    return a, pose_a, b, pose_b


def apply_twists(poses, twists):
    """Return poses after a small twist (linear; angular) about the bodies' origins, axes of the world."""
    out = poses.copy()
    out[:, :3, 3] += twists[:, :3]
    out[:, :3, :3] = Rotation.from_rotvec(twists[:, 3:]).as_matrix() @ poses[:, :3, :3]
    return out


def change_shapes(shapes, changes):
    """Return shapes with changed parameters (a1, a2, a3, epsilon_1, epsilon_2, Tx, Ty)."""
    return [
        Superovoid.from_goncalves(
            np.add(s.semi_axes, c[:3]),
            np.add((s.section_exponent, s.profile_exponent), c[3:5]),
            np.clip(np.add(s.taper, c[5:]), -0.5, 0.5),
        )
        for s, c in zip(shapes, changes, strict=True)
    ]


def central_difference(distance_along, steps):
    """Return derivatives of distances by a scalar, and the difference of the two closest estimates of each."""
    plain = [(distance_along(h) - distance_along(-h)) / (2.0 * h) for h in steps]
    ratio = (steps[0] / steps[1]) ** 2
    better = [(ratio * fine - coarse) / (ratio - 1.0) for coarse, fine in itertools.pairwise(plain)]
    estimates = np.array([*plain, *better])
    gaps = np.abs(estimates[:, None] - estimates[None]) + 1e300 * np.eye(len(estimates))[:, :, None]
    best = gaps.min(axis=1).argmin(axis=0)
    columns = np.arange(estimates.shape[1])
    return estimates[best, columns], gaps.min(axis=1)[best, columns]


@pytest.fixture(scope="module", params=[(kind, depth) for kind in KINDS for depth in DEPTHS], ids="-".join)
def solved_pairs(request):
    kind, depth = request.param
    a, pose_a, b, pose_b = random_pairs(kind, depth)
    result = distances(a, pose_a, b, pose_b)
    return depth, a, pose_a, b, pose_b, result, derivatives(a, pose_a, b, pose_b, result)


# -- by pose and shape -----------------------------------------------------------------------------


@pytest.mark.ci
@few_or_many(100, PAIRS, "count")
def test_derivatives_along_random_changes_agree_with_central_differences(solved_pairs, count):
    depth, a, pose_a, b, pose_b, result, found = solved_pairs
    certified = result.status == Status.CERTIFIED
    assert certified.mean() >= (0.96 if depth == "deep" else 0.999)
    rng = np.random.default_rng(1)
    twists = rng.normal(size=(2, PAIRS, 6))
    changes = rng.normal(size=(2, PAIRS, 7))
    for side, shapes in enumerate((a, b)):
        equal = [shape.taper[0] == shape.taper[1] for shape in shapes]
        changes[side, equal, 6] = changes[side, equal, 5]  # otherwise a concavity appears
    changes /= np.linalg.norm(changes, axis=2)[:, :, None]
    twists /= np.linalg.norm(twists, axis=2)[:, :, None]
    sides = ((a, pose_a, twists[0], changes[0]), (b, pose_b, twists[1], changes[1]))

    def expected_change(side, by_shape, rows):
        def distance_along(h):
            pairs = []
            for i, (shapes, poses, twist, change) in enumerate(sides):
                shapes, poses = [shapes[k] for k in rows], poses[rows]
                if i == side and by_shape:
                    shapes = change_shapes(shapes, h * change[rows])
                elif i == side:
                    poses = apply_twists(poses, h * twist[rows])
                pairs += [shapes, poses]
            return distances(*pairs).distance

        return distance_along

    largest = {}
    # Deep pairs cost most: a few of them every day, all with `-m slow`.
    certified[count if depth == "deep" else PAIRS :] = False
    for side, by_shape, gradient, direction in (
        (0, False, found.by_pose_a, twists[0]),
        (1, False, found.by_pose_b, twists[1]),
        (0, True, found.by_shape_a, changes[0]),
        (1, True, found.by_shape_b, changes[1]),
    ):
        value = (gradient * direction).sum(axis=1)
        rows = np.flatnonzero(certified)
        reference, doubt = central_difference(expected_change(side, by_shape, rows), STEPS)
        # Next to a crease, or close to a change of the shallowest contact, only smaller steps are accurate.
        again = np.flatnonzero(doubt > 1e-7)
        assert len(again) <= 20
        if len(again):
            reference[again], _ = central_difference(expected_change(side, by_shape, rows[again]), SMALL_STEPS)
        error = np.abs(value[rows] - reference).max()
        assert error < 1e-6
        largest[by_shape] = max(error, largest.get(by_shape, 0.0))
    print(f"{depth}: by pose {largest[False]:.1e}, by shape {largest[True]:.1e}, {certified.sum()} pairs")


def test_derivatives_over_all_exponents_agree_with_central_differences(battery):
    data = {name: column[::4] for name, column in battery("hard").items()}
    count = len(data["distance"])
    bodies, poses = [], []
    for side in "ab":
        columns = (data[f"{name}_{side}"] for name in ("size", "epsilon", "taper"))
        bodies.append([Superovoid.from_goncalves(*row) for row in zip(*columns, strict=True)])
        poses.append(np.tile(np.eye(4), (count, 1, 1)))
        poses[-1][:, :3, :3], poses[-1][:, :3, 3] = data[f"rotation_{side}"], data[f"position_{side}"]
    (a, b), (pose_a, pose_b) = bodies, poses
    result = distances(a, pose_a, b, pose_b)
    found = derivatives(a, pose_a, b, pose_b, result)
    clear = result.status == Status.CERTIFIED
    assert clear.mean() > 0.98
    rng = np.random.default_rng(4)
    twists, changes = rng.normal(size=(count, 6)), 0.05 * rng.normal(size=(count, 7))
    changes[:, :3] *= data["size_b"]
    changes[:, 6] = changes[:, 5]
    for gradient, direction, distance_along in (
        (found.by_pose_b, twists, lambda h: distances(a, pose_a, b, apply_twists(pose_b, h * twists)).distance),
        (found.by_shape_b, changes, lambda h: distances(a, pose_a, change_shapes(b, h * changes), pose_b).distance),
    ):
        reference, _ = central_difference(distance_along, (1e-4, 4e-6, 1.6e-7))
        error = np.abs((gradient * direction).sum(axis=1) - reference)
        assert error[clear].max() < 1e-6


def test_scaling_the_world_scales_the_distance(solved_pairs):
    """Euler: d = sum of a ddist/da over the six semi-axes + the centres' offset along the normal, to rounding."""
    _, a, pose_a, b, pose_b, result, found = solved_pairs
    size_a, size_b = np.array([s.semi_axes for s in a]), np.array([s.semi_axes for s in b])
    total = (found.by_shape_a[:, :3] * size_a).sum(axis=1) + (found.by_shape_b[:, :3] * size_b).sum(axis=1)
    total += (found.by_pose_b[:, :3] * (pose_b - pose_a)[:, :3, 3]).sum(axis=1)
    clear = result.status == Status.CERTIFIED
    assert np.abs(total - result.distance)[clear].max() < 1e-9


def test_moving_both_bodies_together_changes_nothing(solved_pairs):
    _, _, pose_a, _, pose_b, result, found = solved_pairs
    clear = result.status == Status.CERTIFIED
    about_origin_a = found.by_pose_a[:, 3:] + np.cross(pose_a[:, :3, 3], found.by_pose_a[:, :3])
    about_origin_b = found.by_pose_b[:, 3:] + np.cross(pose_b[:, :3, 3], found.by_pose_b[:, :3])
    np.testing.assert_array_equal(found.by_pose_a[:, :3], -found.by_pose_b[:, :3])
    assert np.abs(about_origin_a + about_origin_b)[clear].max() < 1e-9


def test_swapping_bodies_swaps_derivatives(solved_pairs):
    depth, a, pose_a, b, pose_b, *_ = solved_pairs
    n = 100 if depth == "deep" else PAIRS  # deep pairs cost most
    a, pose_a, b, pose_b = a[:n], pose_a[:n], b[:n], pose_b[:n]
    found = derivatives(a, pose_a, b, pose_b, distances(a, pose_a, b, pose_b))
    swapped = derivatives(b, pose_b, a, pose_a, distances(b, pose_b, a, pose_a))
    np.testing.assert_allclose(swapped.by_pose_a, found.by_pose_b, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(swapped.by_shape_b, found.by_shape_a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(swapped.relative_curvatures, found.relative_curvatures, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(swapped.status, found.status)


def test_touching_pairs_alone_are_flagged(solved_pairs):
    depth, *_, result, found = solved_pairs
    flagged = (found.status & DerivativeStatus.TOUCHING) != 0
    np.testing.assert_array_equal(flagged, (result.lower <= 0.0) & (result.upper >= 0.0))
    assert flagged.any() if depth == "touching" else not flagged.any()
    unproven = (found.status & DerivativeStatus.UNPROVEN) != 0
    np.testing.assert_array_equal(unproven, (result.status & Status.UNPROVEN) != 0)


# -- second order ----------------------------------------------------------------------------------


def test_second_derivative_by_translation_is_that_of_the_normal(solved_pairs):
    depth, a, pose_a, b, pose_b, result, found = solved_pairs
    curved = (result.status == Status.CERTIFIED) & (found.status & ~DerivativeStatus.TOUCHING == 0)
    # Creases and flats turn the normal within a fraction of a step, so differences are meaningless at them.
    curved &= (np.abs(found.curvature_a).max(axis=(1, 2)) < 20.0) & (np.abs(found.curvature_b).max(axis=(1, 2)) < 20.0)
    assert curved.mean() > 0.3
    curved[100 if depth == "deep" else PAIRS :] = False  # deep pairs cost most
    rows = np.flatnonzero(curved)
    a, b, pose_a, pose_b = [a[i] for i in rows], [b[i] for i in rows], pose_a[rows], pose_b[rows]
    direction = np.random.default_rng(2).normal(size=(len(rows), 3))
    h = 3e-6
    normals = []
    for sign in (1.0, -1.0):
        shifted = pose_b.copy()
        shifted[:, :3, 3] += sign * h * direction
        normals.append(distances(a, pose_a, b, shifted).normal)
    reference = (normals[0] - normals[1]) / (2.0 * h)
    value = np.einsum("nij,nj->ni", found.by_translation_twice[rows], direction)
    assert np.quantile(np.abs(value - reference), 0.99) < 1e-5
    assert np.abs(value - reference).max() < 1e-2


@pytest.mark.ci
def test_relative_curvature_agrees_with_the_implicit_forms(solved_pairs):
    _, a, pose_a, b, pose_b, result, found = solved_pairs
    rows = np.flatnonzero((result.status == Status.CERTIFIED) & (found.status & ~DerivativeStatus.TOUCHING == 0))[:200]
    checked = 0
    for i in rows:
        total = np.zeros((2, 2))
        for shape, pose, point in ((a[i], pose_a[i], result.point_a[i]), (b[i], pose_b[i], result.point_b[i])):
            local = pose[:3, :3].T @ (point - pose[:3, 3])
            tangents = found.relative_directions[i] @ pose[:3, :3]
            operator = tangents @ shape.hessian(local) @ tangents.T / np.linalg.norm(shape.gradient(local))
            total += operator
        if not np.abs(total).max() < 100.0:
            continue  # a normal recomputed from a rounded point is no reference at a crease
        checked += 1
        np.testing.assert_allclose(
            total, np.diag(found.relative_curvatures[i]), atol=1e-6 * (1.0 + np.abs(total).max())
        )
    assert checked > 100
    assert (np.diff(found.relative_curvatures, axis=1) >= 0.0).all()


def test_curvatures_of_two_spheres_are_known():
    apart = np.eye(4)
    apart[:3, 3] = 0.0, 0.0, 5.0
    a, b = Sphere(2.0), Sphere(0.5)
    found = derivatives(a, np.eye(4), b, apart, distance(a, np.eye(4), b, apart))
    np.testing.assert_allclose(found.relative_curvatures, 0.5 + 2.0)
    np.testing.assert_allclose(found.relative_radii, 0.4)
    np.testing.assert_allclose(found.curvature_a, 0.5 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.by_translation_twice, np.diag([0.2, 0.2, 0.0]), atol=1e-12)
    np.testing.assert_allclose(found.by_shape_a, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)
    assert found.status is DerivativeStatus.REGULAR


# -- non-unique contacts ---------------------------------------------------------------------------


def test_parallel_flats_are_flagged_and_keep_their_gradient_by_translation():
    box = Superellipsoid((1.0, 1.0, 0.5), section_exponent=0.1, profile_exponent=0.1)
    above = np.eye(4)
    above[:3, 3] = 0.3, 0.1, 1.25
    for gap in (0.25, 0.0, -0.01):
        above[2, 3] = 1.0 + gap
        result = distance(box, np.eye(4), box, above)
        found = derivatives(box, np.eye(4), box, above, result)
        assert DerivativeStatus.NON_UNIQUE in found.status
        assert (DerivativeStatus.TOUCHING in found.status) == (gap == 0.0)
        np.testing.assert_allclose(found.by_pose_b[:3], [0.0, 0.0, 1.0], atol=1e-9)
        assert np.isfinite(found.by_pose_b).all() and np.isfinite(found.by_shape_b).all()
        np.testing.assert_allclose(found.by_shape_a[2], -1.0, atol=1e-9)


def test_turning_parallel_flats_has_a_gradient_between_one_sided_derivatives():
    """A flat of 1 x 1 over a larger one: a turn by h about x, either way, brings its lower edge closer by h/2."""
    below, above = Box((4.0, 4.0, 1.0)), np.eye(4)
    above[:3, 3] = 0.2, 0.3, 1.1
    result = distance(below, np.eye(4), Box((1.0, 1.0, 1.0)), above)
    assert result.status == Status.NON_UNIQUE
    _, by_pose_b = pose_gradients(result, np.eye(4), above)
    assert by_pose_b[:3] == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)
    assert np.abs(by_pose_b[3:5]).max() <= 0.5 + 1e-9  # d'(w) = -0.5 |w| for w across the normal
    for turn in (1e-6, -1e-6):
        turned = apply_twists(above[None], np.array([[0.0, 0.0, 0.0, turn, 0.0, 0.0]]))[0]
        change = distance(below, np.eye(4), Box((1.0, 1.0, 1.0)), turned).distance - result.distance
        assert change == pytest.approx(-0.5e-6, rel=1e-3)


def test_gradient_of_superovoids_flat_on_flat_belongs_to_a_closest_pair():
    a = Superovoid((0.568, 0.989, 0.411), section_exponent=0.05, profile_exponent=0.01, taper=(-0.075, -0.075))
    b = Superovoid((0.952, 0.893, 0.956), section_exponent=0.01, profile_exponent=0.01)
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3] = [[0, -1, 0], [0, 0, -1], [1, 0, 0]]
    pose_b[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    pose_b[:3, 3] = -0.041, 1.463, 0.121
    result = distance(a, pose_a, b, pose_b)
    _, by_pose_b = pose_gradients(result, pose_a, pose_b)
    for turn in np.random.default_rng(0).normal(size=(20, 3)):
        twist = 1e-6 * np.concatenate([np.zeros(3), turn])
        forward, backward = (
            distance(a, pose_a, b, apply_twists(pose_b[None], sign * twist[None])[0]).distance - result.distance
            for sign in (1.0, -1.0)
        )
        slope = float(by_pose_b @ twist)
        assert forward - 1e-8 <= slope <= -backward + 1e-8


def test_gradients_at_flats_lie_between_one_sided_derivatives():
    """Points that realise the distance bound it from above as the bodies move (docs/explanation/certificates.md)."""
    step, seen, kinked = 1e-6, 0, 0
    rng = np.random.default_rng(0)
    for number in range(4 * len(flat_contacts.KINDS_IN_TURN)):
        a, pose_a, b, pose_b = flat_contacts.draw(5, number)
        result = distance(a, pose_a, b, pose_b)
        if abs(result.distance) < 0.02 or result.status & (Status.UNPROVEN | Status.ARBITRARY_NORMAL):
            continue
        _, by_pose_b = pose_gradients(result, pose_a, pose_b)
        twist = np.concatenate([np.zeros(3), rng.normal(size=3)])
        twist /= np.linalg.norm(twist)
        forward, backward = (
            (distance(a, pose_a, b, apply_twists(pose_b[None], h * twist[None])[0]).distance - result.distance) / h
            for h in (step, -step)
        )
        slope = float(by_pose_b @ twist)
        assert forward - 1e-2 <= slope <= backward + 1e-2, (number, forward, slope, backward)
        seen += 1
        kinked += backward - forward > 0.05
    assert seen > 30 and kinked > 3


def test_points_without_curvature_are_not_flat():
    """On the axis of a section with exponent 0.8 the curvature is 0, but a turn by d moves the point by d^(2/3)."""
    body = Superellipsoid((1.0, 0.8, 0.6), section_exponent=0.8, profile_exponent=1.0)
    apart = np.eye(4)
    apart[0, 3] = 3.0
    result = distance(body, np.eye(4), body, apart)
    found = derivatives(body, np.eye(4), body, apart, dataclasses.replace(result, status=Status.CERTIFIED))
    assert found.relative_curvatures[0] == pytest.approx(0.0, abs=1e-6)
    assert found.status is DerivativeStatus.REGULAR
    np.testing.assert_allclose(found.by_pose_b, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-6)


def test_concentric_spheres_are_flagged_and_keep_a_unit_gradient():
    result = distance(Sphere(1.0), np.eye(4), Sphere(0.5), np.eye(4))
    found = derivatives(Sphere(1.0), np.eye(4), Sphere(0.5), np.eye(4), result)
    assert DerivativeStatus.FOCAL | DerivativeStatus.ARBITRARY_NORMAL in found.status
    assert np.linalg.norm(found.by_pose_b[:3]) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found.by_pose_b[3:], 0.0, atol=1e-12)


def test_creases_are_flagged_and_first_derivatives_stay_finite():
    gem = Superellipsoid((1.0, 0.8, 0.6), section_exponent=1.95, profile_exponent=1.95)
    apart = np.eye(4)
    apart[:3, 3] = 2.0, 0.0, 0.0
    found = derivatives(gem, np.eye(4), Sphere(0.2), apart, distance(gem, np.eye(4), Sphere(0.2), apart))
    assert DerivativeStatus.SHARP in found.status
    np.testing.assert_allclose(found.by_pose_b, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.by_shape_a, [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_derivatives_by_exponent_near_creases_agree_with_closed_forms():
    """h(n) = (|a1 nx|^q + |a2 ny|^q)^(1/q) in a coordinate plane, differentiated by hand in q = 2 / (2 - e)."""
    for e in (0.2, 0.9, 1.6, 1.9):
        for tilt in (1e-12, 1e-6, 1e-2, 0.3):
            n = np.array([np.cos(tilt), np.sin(tilt), 0.0])
            body = Superellipsoid((1.0, 0.7, 0.5), section_exponent=e, profile_exponent=1.0)
            other = np.eye(4)
            other[:3, 3] = body.support(n) + 1.5 * n
            result = distance(body, np.eye(4), Sphere(0.5), other)
            found = derivatives(body, np.eye(4), Sphere(0.5), other, result)
            q = 2.0 / (2.0 - e)
            terms = np.array([abs(n[0]), 0.7 * abs(n[1])])
            share = terms**q / (terms**q).sum()
            by_q = (terms**q).sum() ** (1.0 / q) * -(np.where(share > 0.0, -share * np.log(share), 0.0).sum()) / q**2
            expected = -by_q * 2.0 / (2.0 - e) ** 2
            assert found.by_shape_a[3] == pytest.approx(expected, rel=1e-7, abs=1e-13)


# -- forms and errors ------------------------------------------------------------------------------


def test_array_form_equals_the_single_form():
    a, pose_a, b, pose_b = random_pairs("superovoids", "shallow", 20)
    many = derivatives(a, pose_a, b, pose_b, distances(a, pose_a, b, pose_b))
    for i in range(20):
        one = derivatives(a[i], pose_a[i], b[i], pose_b[i], distance(a[i], pose_a[i], b[i], pose_b[i]))
        for field in dataclasses.fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(many, field.name)[i])


def test_no_pairs_give_no_derivatives():
    none = np.empty((0, 4, 4))
    found = derivatives([], none, [], none, distances([], none, [], none))
    assert found.by_pose_a.shape == (0, 6) and found.curvature_a.shape == (0, 2, 2)


def test_bad_arguments_are_named():
    result = distances(Sphere(1.0), np.eye(4), [Sphere(1.0)] * 2, np.tile(np.eye(4), (2, 1, 1)))
    with pytest.raises(
        ValueError, match=r"pose_b: must have shape \(4, 4\) or \(2, 4, 4\) as the result, found \(3, 4, 4\)"
    ):
        pose_gradients(result, np.eye(4), np.tile(np.eye(4), (3, 1, 1)))
    with pytest.raises(ValueError, match="differ: a: 1, result: 2"):
        derivatives([Sphere(1.0)], np.eye(4), Sphere(1.0), np.eye(4), result)
    with pytest.raises(TypeError, match=r"b\[0\]: must be a shape of superovoid.shapes, found str"):
        derivatives(Sphere(1.0), np.eye(4), ["x", "y"], np.eye(4), result)
    with pytest.raises(TypeError, match="a: must be a shape or a sequence of shapes, found float"):
        derivatives(1.0, np.eye(4), Sphere(1.0), np.eye(4), result)


# -- by the joints of a robot ----------------------------------------------------------------------

HANDS, SWEEP = hands.hands(), hands.grasp_sweep()


def in_order_of_pairs(result):
    return np.lexsort((result.body_b, result.body_a))


def hand_distances(scene, positions, bases):
    scene.set_link_poses(HANDS.forward_kinematics(positions, bases))
    result = scene.query()
    return result.distance[in_order_of_pairs(result)]


@pytest.mark.ci
@pytest.mark.parametrize("index", range(0, len(SWEEP), 10))
def test_gradients_by_joints_and_bases_agree_with_differences(index):
    frame = SWEEP.frame(index)
    positions, bases = dict(frame.positions), dict(frame.base_poses)
    scene = HANDS.scene()
    scene.set_link_poses(HANDS.forward_kinematics(positions, bases))
    result = scene.query()
    shapes = [body.shape for body in scene.bodies]
    of_pairs = derivatives(
        [shapes[i] for i in result.body_a],
        scene.poses[result.body_a],
        [shapes[i] for i in result.body_b],
        scene.poses[result.body_b],
        result,
    )
    unclear = DerivativeStatus.NON_UNIQUE | DerivativeStatus.UNPROVEN
    clear = of_pairs.status & unclear == 0
    assert (~clear).sum() <= 4  # the palms: their faces are parallel
    order = in_order_of_pairs(result)
    found = HANDS.distance_gradients(result, positions, bases)
    assert found.by_joint.shape == (len(result), len(HANDS.joint_names)) and found.joint_names == HANDS.joint_names
    h = 1e-7  # the palms' faces are so flat that a turn by 1e-6 rad shows their curvature
    for column, joint in enumerate(HANDS.joint_names):
        plus, minus = (
            hand_distances(scene, {**positions, joint: positions[joint] + s * h}, bases) for s in (1.0, -1.0)
        )
        error = found.by_joint[order, column] - (plus - minus) / (2.0 * h)
        assert np.abs(error)[clear[order]].max() < 1e-6
    twists = np.random.default_rng(3).normal(size=(len(HANDS.base_links), 6))
    for column, base in enumerate(HANDS.base_links):
        twist = twists[column] / np.linalg.norm(twists[column])
        plus, minus = (
            hand_distances(scene, positions, {**bases, base: apply_twists(bases[base][None], s * h * twist[None])[0]})
            for s in (1.0, -1.0)
        )
        error = found.by_base[order, column] @ twist - (plus - minus) / (2.0 * h)
        assert np.abs(error)[clear[order]].max() < 1e-6
        # At non-unique points the difference belongs to another point of the flat.
        assert np.abs(error).max() < 0.05


ARM = """<robot name="arm">
  <link name="base"><collision><geometry><sphere radius="0.2"/></geometry></collision></link>
  <link name="upper"/><link name="slide"/>
  <link name="left"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="right"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0.1 0 0.2" rpy="0.1 -0.2 0.3"/><axis xyz="0 2 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/>
    <origin xyz="0 0.3 0.5" rpy="1 0 0"/><axis xyz="1 1 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
  <joint name="grip" type="revolute"><parent link="slide"/><child link="left"/><origin xyz="0 0.1 0.3"/>
    <axis xyz="0 1 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="follow" type="revolute"><parent link="slide"/><child link="right"/><origin xyz="0.3 -0.1 0.2"/>
    <axis xyz="1 1 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-0.5" offset="0.1"/></joint>
</robot>"""


@pytest.mark.parametrize(("egg", "other", "reach"), SEARCHED, ids=repr)
def test_gradients_of_searched_pairs_are_as_precise_as_the_distance(egg, other, reach):
    rng, count = np.random.default_rng(4), 60
    poses = np.tile(np.eye(4), (2, count, 1, 1))
    poses[..., :3, :3] = Rotation.from_rotvec(rng.standard_normal((2 * count, 3))).as_matrix().reshape(2, count, 3, 3)
    way = rng.standard_normal((count, 3))
    poses[1, :, :3, 3] = reach * way / np.linalg.norm(way, axis=1, keepdims=True)
    found = distances(egg, poses[0], other, poses[1])
    gradients = pose_gradients(found, *poses)
    expected, rough = np.zeros((2, count, 6))
    for column, twist in enumerate(1e-5 * np.eye(6)):
        ends = []
        for times in (2.0, 1.0, -1.0, -2.0):
            moved = poses[1].copy()
            moved[:, :3, :3] = Rotation.from_rotvec(times * twist[3:]).as_matrix() @ moved[:, :3, :3]
            moved[:, :3, 3] += times * twist[:3]
            ends.append(distances(egg, poses[0], other, moved, rtol=1e-12).distance)
        expected[:, column] = (8.0 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / 12e-5
        rough[:, column] = (ends[1] - ends[2]) / 2e-5
    regular = gradients.differentiable & ((found.distance < 0.0) == (reach < 0.5))
    regular &= np.abs(expected - rough).max(axis=1) < 1e-6  # no other feature within the steps
    assert regular.sum() > 0.7 * count
    # An interval of 1e-9 of a body allows points and normals to be off by its root, 3e-5.
    assert np.abs(gradients.by_pose_b - expected)[regular].max() < 1e-7


def test_prismatic_and_mimic_joints_contribute_to_gradients():
    robot = Robot.from_urdf(ARM.replace("<geometry><sphere", '<origin xyz="0.1 0.2 0"/><geometry><sphere'))
    scene = robot.scene()
    positions = {"shoulder": 0.4, "lift": 0.2, "grip": -0.3}

    def solve(values):
        scene.set_link_poses(robot.forward_kinematics(values))
        result = scene.query()
        return result, result.distance[in_order_of_pairs(result)]

    result, _ = solve(positions)
    assert len(result) == 1  # the two fingers: each is next to the base, spheres left out between
    found = robot.distance_gradients(result, positions)
    h = 1e-6
    for column, joint in enumerate(robot.joint_names):
        plus, minus = (solve({**positions, joint: positions[joint] + s * h})[1] for s in (1.0, -1.0))
        np.testing.assert_allclose(found.by_joint[:, column], (plus - minus) / (2.0 * h), atol=1e-8)
    assert np.abs(found.by_joint[:, robot.joint_names.index("grip")]).max() > 1e-3
    np.testing.assert_allclose(found.by_joint[:, :2], 0.0, atol=1e-12)  # shoulder and lift carry both fingers
    assert found.by_base.shape == (1, 0, 6)


def test_results_of_another_robot_are_refused():
    scene = HANDS.scene()
    frame = SWEEP.frame(0)
    scene.set_link_poses(HANDS.forward_kinematics(frame.positions, frame.base_poses))
    with pytest.raises(ValueError, match="result: no body is on a link of 'arm', found the links"):
        Robot.from_urdf(ARM).distance_gradients(scene.query(), {"shoulder": 0.0, "lift": 0.0, "grip": 0.0})


@pytest.mark.parametrize("result", [None, 3, "far", {}])
def test_arguments_other_than_results_are_refused_by_name(result):
    with pytest.raises(TypeError, match="result: must be a DistanceResult or DistanceResults, found"):
        pose_gradients(result, np.eye(4), np.eye(4))

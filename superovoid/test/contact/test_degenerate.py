# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs whose points or normal are not unique, and pairs at the ends of the parameter range."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Sphere, Superellipsoid, Superovoid, distance
from superovoid.contact import Status


def pose(position=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, 3] = position
    if rotation is not None:
        matrix[:3, :3] = rotation.as_matrix()
    return matrix


def support_value(shape, pose_, directions):
    """Support function from the definition: the largest n.x over a dense grid of surface points, a lower bound of h."""
    eta = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 61)
    omega = np.linspace(-np.pi, np.pi, 121)
    e1, e2 = shape.section_exponent, shape.profile_exponent

    def signed(x, e):
        return np.sign(x) * np.abs(x) ** e

    w = signed(np.sin(eta), e2)[:, None]
    r = signed(np.cos(eta), e2)[:, None]
    x = shape.semi_axes[0] * (1.0 + shape.taper[0] * w) * r * signed(np.cos(omega), e1)
    y = shape.semi_axes[1] * (1.0 + shape.taper[1] * w) * r * signed(np.sin(omega), e1)
    z = np.broadcast_to(shape.semi_axes[2] * w, x.shape)
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1) @ pose_[:3, :3].T + pose_[:3, 3]
    return (points @ directions.T).max(axis=0)


def check_witnesses(result):
    """The points realise the distance along the normal."""
    width = result.upper - result.lower + 1e-12
    np.testing.assert_allclose(
        result.point_b - result.point_a, result.distance * result.normal, atol=max(width, 1e-9), rtol=0.0
    )


def test_parallel_flat_faces_have_points_that_are_not_unique():
    box = Superellipsoid((1.0, 1.0, 1.0), section_exponent=0.1, profile_exponent=0.1)
    result = distance(box, pose(), box, pose((0.3, -0.2, 2.5)))
    assert result.distance == pytest.approx(0.5, abs=1e-9)
    assert result.status == Status.NON_UNIQUE
    check_witnesses(result)


def test_aligned_axes_have_points_that_are_not_unique():
    rod = Superellipsoid((0.1, 0.1, 1.0), section_exponent=1.0, profile_exponent=0.1)
    result = distance(rod, pose(), rod, pose((0.5, 0.0, 0.2)))
    assert result.distance == pytest.approx(0.3, abs=1e-9)
    assert result.status == Status.NON_UNIQUE
    check_witnesses(result)


def test_curved_bodies_have_unique_points_and_normals_at_poles_too():
    result = distance(
        Sphere(1.0),
        pose(),
        Superellipsoid((0.3, 0.4, 0.5), section_exponent=1.0, profile_exponent=1.0),
        pose((0.0, 0.0, 2.0)),
    )
    assert result.status == Status.CERTIFIED


@pytest.mark.parametrize(
    ("a", "b", "rotation", "depth"),
    [
        (Sphere(1.0), Sphere(0.25), None, 1.25),
        (
            Superellipsoid((1.0, 2.0, 3.0), section_exponent=0.3, profile_exponent=0.6),
            Superellipsoid((0.5, 0.6, 0.7), section_exponent=0.2, profile_exponent=1.2),
            None,
            1.5,
        ),
        (
            Superellipsoid((1.0, 1.0, 0.4), section_exponent=0.7, profile_exponent=0.1),
            Superellipsoid((0.2, 0.2, 0.3), section_exponent=1.1, profile_exponent=1.1),
            None,
            0.7,
        ),
        (
            Superellipsoid((1.0, 2.0, 3.0), section_exponent=1.0, profile_exponent=1.0),
            Superellipsoid((1.0, 2.0, 3.0), section_exponent=1.0, profile_exponent=1.0),
            Rotation.from_euler("x", 180, degrees=True),
            2.0,
        ),
    ],
)
def test_concentric_bodies_have_a_proved_depth_and_an_arbitrary_normal(a, b, rotation, depth):
    result = distance(a, pose(), b, pose(rotation=rotation))
    assert result.distance == pytest.approx(-depth, abs=1e-9)
    assert Status.ARBITRARY_NORMAL in result.status
    assert result.status.certified
    check_witnesses(result)


def test_a_body_off_the_centre_of_another_has_one_normal():
    result = distance(Sphere(1.0), pose(), Sphere(0.25), pose((0.0, 0.3, 0.0)))
    assert result.distance == pytest.approx(-0.95, abs=1e-12)
    np.testing.assert_allclose(result.normal, [0.0, 1.0, 0.0], atol=1e-9)
    assert result.status == Status.CERTIFIED


def test_coordinates_that_cost_precision_are_named():
    a = Superellipsoid((1.0, 0.7, 0.4), section_exponent=0.8, profile_exponent=1.2)
    result = distance(a, pose(), a, pose((1e6, 2e6, -1e6), Rotation.from_rotvec([0.3, 0.2, 0.5])))
    assert result.status == Status.PRECISION
    assert result.upper - result.lower < 1e-6
    assert distance(a, pose(), a, pose((100.0, 0.0, 0.0))).status == Status.CERTIFIED


def extreme_pairs(count, seed):
    """Deep overlaps of bodies with flat faces, sharp edges and needles, many in line with each other's axes."""
    rng = np.random.default_rng(seed)
    exponents = np.array([0.05, 0.1, 0.2, 0.5, 0.9, 1.0, 1.3, 1.6, 1.9])
    for i in range(count):
        shapes = []
        for _ in range(2):
            size = np.exp(rng.uniform(np.log(0.05), np.log(5.0), 3))
            e1, e2 = rng.choice(exponents, 2)
            taper = 0.98 * min(0.5, (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2)) * rng.choice([0.0, 0.5, -1.0])
            shapes.append(Superovoid(tuple(size), section_exponent=e1, profile_exponent=e2, taper=(taper, taper)))
        in_line = Rotation.from_euler("zxz", 90.0 * rng.integers(0, 4, 3), degrees=True)
        rotation = in_line if i % 2 else Rotation.random(random_state=rng)
        offset = rng.normal(size=3) * min(shapes[0].semi_axes) * rng.choice([0.0, 0.3])
        yield shapes[0], pose(), shapes[1], pose(offset, rotation)


def test_extreme_overlaps_are_proved_and_no_direction_refutes_them():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for a, pose_a, b, pose_b in extreme_pairs(60, seed=4):
        result = distance(a, pose_a, b, pose_b)
        size = min(max(a.semi_axes), max(b.semi_axes))
        assert result.status.certified, (a, b, pose_b, result)
        assert result.upper - result.lower < 1.1e-9 * size
        check_witnesses(result)
        # Every direction separates the bodies by h_A(n) + h_B(-n) at most as deep as the depth; sampled supports are
        # a little short, so they can only refute more.
        near = result.normal + 0.2 * directions[:100]
        tried = np.vstack([directions, near / np.linalg.norm(near, axis=1, keepdims=True), result.normal[None]])
        depths = support_value(a, pose_a, tried) + support_value(b, pose_b, -tried)
        assert depths[-1] == pytest.approx(-result.distance, abs=2e-2 * max(*a.semi_axes, *b.semi_axes))
        assert depths.min() > -result.distance - 2e-2 * max(*a.semi_axes, *b.semi_axes)


def test_scale_changes_nothing_but_the_scale():
    for a, pose_a, b, pose_b in extreme_pairs(12, seed=9):
        reference = distance(a, pose_a, b, pose_b)
        for scale in (2.0**-13, 2.0**13):
            moved = pose_b.copy()
            moved[:3, 3] *= scale
            result = distance(
                Superovoid(
                    tuple(scale * np.array(a.semi_axes)),
                    section_exponent=a.section_exponent,
                    profile_exponent=a.profile_exponent,
                    taper=a.taper,
                ),
                pose_a,
                Superovoid(
                    tuple(scale * np.array(b.semi_axes)),
                    section_exponent=b.section_exponent,
                    profile_exponent=b.profile_exponent,
                    taper=b.taper,
                ),
                moved,
            )
            assert result.distance == pytest.approx(scale * reference.distance, rel=1e-8)
            assert result.status.certified


@pytest.mark.parametrize("ratio", [3.0, 40.0, 1000.0])
def test_a_small_ellipsoid_in_the_centre_of_a_ball_is_proved(ratio):
    # h_M = radius + h of the ellipsoid, least along its shortest axis.
    rng = np.random.default_rng(4)
    for _ in range(20):
        size = np.exp(rng.uniform(-1.0, 0.0)) * np.array([1.0, 1.3, 1.8])[rng.permutation(3)]
        small = Superellipsoid(tuple(size), section_exponent=1.0, profile_exponent=1.0)
        radius = ratio * size.max()
        result = distance(small, pose(rotation=Rotation.random(rng=rng)), Sphere(radius), pose())
        assert not result.status & Status.UNPROVEN
        assert result.distance == pytest.approx(-(radius + size.min()), abs=1e-9 * size.max())


def test_eight_minima_of_one_depth_are_all_proved():
    # Equal bodies in one place: the depth is the least width, here along generic directions, one in each octant.
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for _ in range(20):
        shape = Superellipsoid.from_goncalves(tuple(rng.uniform(0.5, 1.5, 3)), tuple(rng.uniform(1.15, 1.6, 2)))
        result = distance(shape, pose(), shape, pose())
        assert result.status == Status.ARBITRARY_NORMAL
        assert -result.distance <= 2.0 * np.min(np.sum(shape.support(directions) * directions, axis=1)) + 1e-12
        assert result.upper - result.lower <= 1.1e-9 * max(shape.semi_axes)


def test_depths_of_mirrored_directions_are_both_seen():
    # Both bodies are symmetric about x = 0, and the best normal leans to one side.
    a = Superovoid(
        (0.7756100560749841, 1.3189601814943666, 0.6885796503871474),
        section_exponent=0.2576879488470875,
        profile_exponent=0.33186942453022156,
        taper=(-0.43249393536714387, -0.43249393536714387),
    )
    b = Superovoid(
        (0.16414054984304094, 0.5259393083035437, 1.3784498924644892),
        section_exponent=0.3890120097770201,
        profile_exponent=0.10245083426496694,
        taper=(0.35003292535777675, 0.35003292535777675),
    )
    there = np.eye(4)
    there[:3] = [[-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, -1.3356202542163862], [0.0, -1.0, 0.0, 0.0]]
    result = distance(a, np.eye(4), b, there)
    assert abs(result.normal[0]) > 0.8
    assert result.status == Status.ARBITRARY_NORMAL

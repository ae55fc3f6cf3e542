# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of points and hits of rays, compared with closed forms, samples of surfaces and bisection."""

import math

import numpy as np
import pytest
import trimesh
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    ImpactStatus,
    Mesh,
    Scene,
    Shell,
    Sphere,
    Superovoid,
    Torus,
    cast_rays,
    point_distances,
)

TILTED = np.eye(4)
TILTED[:3, :3] = Rotation.from_rotvec((0.3, -0.5, 0.9)).as_matrix()
TILTED[:3, 3] = 0.2, -0.1, 0.4
OVOID = Superovoid((0.3, 0.2, 0.5), section_exponent=0.6, profile_exponent=0.8, taper=(0.2, -0.3))
NON_CONVEX = Superovoid((0.3, 0.2, 0.5), section_exponent=1.7, profile_exponent=1.0, taper=(0.4, -0.4))
RING = Mesh.from_trimesh(trimesh.creation.annulus(0.2, 0.5, 0.3, sections=24))
TERRAIN = Mesh.from_heights(np.random.default_rng(4).uniform(0.0, 0.5, (4, 5)), (1.0, 1.0), -0.2)
HULL = ConvexMesh(np.random.default_rng(3).normal(scale=0.3, size=(40, 3)))
BODIES = [
    OVOID,
    NON_CONVEX,
    Ellipsoid((0.3, 0.2, 0.5)),
    Sphere(0.4),
    Box((0.6, 0.4, 1.0)),
    Capsule(0.2, 0.5),
    Cylinder(0.3, 0.7),
    Cone(0.3, 0.7),
    Torus(0.4, 0.15),
    HULL,
    RING,
    TERRAIN,
]


def in_world(pose, points):
    return points @ pose[:3, :3].T + pose[:3, 3]


def box_distance(points, half):
    over = np.abs(points) - half
    return np.linalg.norm(np.maximum(over, 0.0), axis=1) + np.minimum(over.max(axis=1), 0.0)


CLOSED_FORMS = [
    (Sphere(0.4), lambda p: np.linalg.norm(p, axis=1) - 0.4),
    (Box((0.6, 0.4, 1.0)), lambda p: box_distance(p, (0.3, 0.2, 0.5))),
    (Capsule(0.2, 0.5), lambda p: np.linalg.norm(p - np.clip(p, (0, 0, -0.25), (0, 0, 0.25)), axis=1) - 0.2),
    (Cylinder(0.3, 0.7), lambda p: box_distance(np.column_stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]]), (0.3, 0.35))),
    (Torus(0.4, 0.15), lambda p: np.hypot(np.hypot(p[:, 0], p[:, 1]) - 0.4, p[:, 2]) - 0.15),
    (HalfSpace(), lambda p: p[:, 2]),
]


@pytest.mark.parametrize(("shape", "formula"), CLOSED_FORMS, ids=lambda value: repr(value) if value in BODIES else "")
def test_distances_of_points_are_those_of_the_closed_form(shape, formula):
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (600, 3))
    found = point_distances(shape, in_world(TILTED, points), TILTED)
    np.testing.assert_allclose(found.distance, formula(points), atol=1e-14)
    assert found.certified.all() and np.all(found.lower <= found.distance) and np.all(found.distance <= found.upper)


@pytest.mark.parametrize("shape", BODIES, ids=repr)
def test_nearest_points_are_on_the_surface_and_no_other_is_nearer(shape):
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.uniform(-1.0, 1.0, (60, 3)), rng.normal(scale=0.1, size=(20, 3))])
    found = point_distances(shape, in_world(TILTED, points), TILTED)
    near = (found.point - TILTED[:3, 3]) @ TILTED[:3, :3]
    proved = found.certified
    assert proved.mean() > 0.9
    np.testing.assert_array_equal(found.distance[proved] < 0.0, shape.contains(points)[proved])
    off = np.linalg.norm(points - near, axis=1)
    np.testing.assert_allclose(off[proved], np.abs(found.distance[proved]), atol=1e-9)
    np.testing.assert_allclose(shape_height(shape, near[proved]), 0.0, atol=1e-8)
    samples = shape.sample_surface(4000, seed=4)
    least = np.linalg.norm(points[:, None] - samples, axis=2).min(axis=1)
    assert np.all(np.where(found.distance > 0.0, found.lower, -found.upper) <= least)
    assert np.all(least < np.abs(found.distance) + 0.1)


def shape_height(shape, points):
    """Return how far points are from the surface, by its distance along the ray from a point deep inside."""
    if isinstance(shape, Superovoid):
        return shape.implicit(points) / np.linalg.norm(shape.gradient(points), axis=1)
    return point_distances(shape, points).distance


def level(ovoid, points):
    """Return the implicit function of a superovoid: below 1 inside."""
    x, y, z = (points / ovoid.semi_axes).T
    section, profile = ovoid.section_exponent, ovoid.profile_exponent
    x, y = x / (1.0 + ovoid.taper[0] * z), y / (1.0 + ovoid.taper[1] * z)
    ring = (np.abs(x) ** (2.0 / section) + np.abs(y) ** (2.0 / section)) ** (section / profile)
    return ring + np.abs(z) ** (2.0 / profile)


@pytest.mark.parametrize("profile", [0.3, 0.8, 1.6])
def test_no_point_inside_a_non_convex_superovoid_is_reported_outside(profile):
    ovoid = Superovoid((0.3, 0.2, 0.5), section_exponent=1.6, profile_exponent=profile, taper=(0.5, -0.4))
    points = np.random.default_rng(1).uniform(-1.2, 1.2, (4000, 3)) * ovoid.semi_axes
    points = points[np.abs(points[:, 2]) < 0.5]
    found, inside = point_distances(ovoid, points), level(ovoid, points) < 1.0
    np.testing.assert_array_equal(found.distance < 0.0, inside)
    assert np.all(found.lower[inside] < 0.0) and np.all(found.upper[inside] < 1e-12)


def test_points_on_a_surface_with_hollows_have_no_distance_from_it():
    points = TERRAIN.sample_surface(2000, 1)
    found = point_distances(TERRAIN, points)
    np.testing.assert_allclose(found.distance, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.point, points, atol=1e-9)
    assert found.certified.all()


def test_points_near_several_bodies_take_the_nearest_of_all():
    rng = np.random.default_rng(5)
    poses = np.tile(np.eye(4), (len(BODIES) + 1, 1, 1))
    poses[:, :3, :3] = Rotation.random(len(poses), random_state=rng).as_matrix()
    poses[:, :3, 3] = rng.uniform(-1.5, 1.5, (len(poses), 3))
    shapes = [*BODIES, HalfSpace()]
    poses[-1, :3, 3] = 0.0, 0.0, -2.0
    poses[-1, :3, :3] = np.eye(3)
    points = rng.uniform(-2.0, 2.0, (500, 3))
    found = point_distances(shapes, points, poses)
    each = [point_distances(shape, points, pose) for shape, pose in zip(shapes, poses, strict=True)]
    np.testing.assert_array_equal(found.distance, np.min([one.distance for one in each], axis=0))
    np.testing.assert_array_equal(found.body, np.argmin([one.distance for one in each], axis=0))
    np.testing.assert_allclose(found.lower, np.min([one.lower for one in each], axis=0), atol=1e-9)


@pytest.mark.parametrize("shape", [OVOID, NON_CONVEX, Ellipsoid((0.3, 0.2, 0.5))], ids=repr)
def test_rays_end_where_bisection_finds_the_surface(shape):
    rng = np.random.default_rng(6)
    starts = rng.normal(size=(120, 3))
    starts *= (1.2 / np.linalg.norm(starts, axis=1))[:, None]
    ways = rng.normal(scale=0.15, size=(120, 3)) - starts
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    hits = cast_rays(shape, in_world(TILTED, starts), ways @ TILTED[:3, :3].T, TILTED)
    steps = np.linspace(0.0, 3.0, 3001)
    for start, way, hit in zip(starts, ways, hits, strict=True):
        heights = shape.implicit(start + steps[:, None] * way)
        if heights.min() > 1e-3:
            assert hit.status is ImpactStatus.FREE and math.isinf(hit.distance) and hit.body == -1
        elif heights.min() < -1e-3:
            first = int(np.argmax(heights < 0.0))
            expected = brentq(
                lambda t, start=start, way=way: shape.implicit(start + t * way),
                steps[first - 1],
                steps[first],
                xtol=1e-14,
            )
            assert hit.distance <= expected + 1e-12 and expected <= hit.upper
            assert hit.distance == pytest.approx(expected, abs=1e-4)
            assert hit.normal @ (TILTED[:3, :3] @ way) < 1e-6


@pytest.mark.parametrize(
    "shape", [Box((0.6, 0.4, 1.0)), HULL, RING, Torus(0.4, 0.15), Shell(HULL.vertices, HULL.faces)], ids=repr
)
def test_rays_meet_bodies_where_they_meet_a_fine_mesh(shape):
    rng = np.random.default_rng(7)
    starts = rng.normal(size=(100, 3))
    starts *= (1.5 / np.linalg.norm(starts, axis=1))[:, None]
    ways = rng.normal(scale=0.2, size=(100, 3)) - starts
    mesh = trimesh.Trimesh(*shape.triangles(300), process=False)
    hits = cast_rays(shape, starts, ways)
    ways = ways / np.linalg.norm(ways, axis=1)[:, None]
    expected = np.array([first_crossing(mesh.triangles, *ray) for ray in zip(starts, ways, strict=True)])
    is_hit = hits.body == 0
    np.testing.assert_array_equal(is_hit, np.isfinite(expected))
    # A ray at a flat angle leaves the surface slowly, so that the gap that counts as a hit is met early.
    steep = -np.einsum("ij,ij->i", hits.normal, ways)[is_hit]
    early = expected[is_hit] - hits.distance[is_hit]
    assert np.all(np.abs(early) < 1e-3 / np.maximum(steep, 0.05)) and np.median(np.abs(early)) < 2e-4


def first_crossing(triangles, start, way):
    """Return the distance of the first triangle on a ray (Möller and Trumbore 1997); infinite if there is none."""
    a, u, v = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    across = np.cross(way, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / np.einsum("ij,ij->i", u, across)
        s = scale * ((start - a) * across).sum(axis=1)
        turned = np.cross(start - a, u)
        t = scale * (turned @ way)
        distance = scale * (turned * v).sum(axis=1)
    met = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0) & (distance > 0.0)
    return distance[met].min(initial=math.inf)


def test_rays_among_several_bodies_meet_the_first_of_all():
    rng = np.random.default_rng(8)
    poses = np.tile(np.eye(4), (len(BODIES), 1, 1))
    poses[:, :3, 3] = rng.uniform(-2.0, 2.0, (len(BODIES), 3))
    shapes, floor = [*BODIES, HalfSpace()], np.eye(4)
    floor[2, 3] = -3.0
    poses = np.concatenate([poses, floor[None]])
    ways = rng.normal(size=(300, 3))
    hits = cast_rays(shapes, (0.0, 0.0, 4.0), ways, poses)
    each = [cast_rays(shape, (0.0, 0.0, 4.0), ways, pose) for shape, pose in zip(shapes, poses, strict=True)]
    least = np.min([one.distance for one in each], axis=0)
    is_hit = np.isfinite(least)
    np.testing.assert_array_equal(hits.body >= 0, is_hit)
    np.testing.assert_allclose(hits.distance[is_hit], least[is_hit], rtol=1e-5)
    assert np.all(hits.distance <= hits.upper)


def test_a_ray_from_inside_hits_at_zero_and_short_rays_miss():
    hits = cast_rays(
        [Sphere(1.0), HalfSpace()],
        [(0.5, 0.0, 0.0), (4.0, 0.0, 2.0), (4.0, 0.0, 2.0), (4.0, 0.0, 2.0)],
        [(1.0, 0.0, 0.0), (-1.0, 0.0, -0.5), (0.0, 0.0, 1.0), (0.0, 0.0, -3.0)],
        [(0.0, 0.0, 2.0 - 2.0), (0.0, 0.0, -5.0)],
        max_distance=7.5,
    )
    inside, short, away, down = hits
    assert inside.distance == 0.0 and inside.status is ImpactStatus.STARTS_IN_CONTACT and inside.body == 0
    assert away.status is ImpactStatus.FREE
    assert hits.to_columns()["status"].tolist() == [str(hit.status) for hit in hits]
    assert down.distance == pytest.approx(7.0, abs=1e-5) and down.body == 1
    np.testing.assert_allclose(down.normal, (0.0, 0.0, 1.0))
    assert cast_rays(Sphere(1.0), (4.0, 0.0, 0.0), (-1.0, 0.0, 0.0), max_distance=2.9)[0].body == -1
    assert short.body in (-1, 0)


def test_a_scene_answers_points_and_rays_at_its_link_poses():
    scene = Scene([Body("ball", "hand", Sphere(0.5)), Body("table", "world", Box((4.0, 4.0, 0.2)))])
    with pytest.raises(ValueError, match="pose"):
        scene.point_distances([(0.0, 0.0, 0.0)])
    hand = np.eye(4)
    hand[2, 3] = 2.0
    scene.set_link_poses({"hand": hand, "world": np.eye(4)})
    found = scene.point_distances([(0.0, 0.0, 1.0), (0.0, 0.0, 0.2)])
    np.testing.assert_allclose(found.distance, [0.5, 0.1], atol=1e-14)
    assert found.body.tolist() == [0, 1]
    hits = scene.cast_rays((0.0, 0.0, 5.0), [(0.0, 0.0, -1.0), (0.25, 0.0, -1.0)])
    assert hits.body.tolist() == [0, 1] and hits[0].distance == pytest.approx(2.5, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_points_of_small_and_large_bodies_are_as_accurate_in_proportion(scale):
    points = scale * np.random.default_rng(9).uniform(-1.0, 1.0, (100, 3))
    found = point_distances(
        Superovoid(scale * np.array(OVOID.semi_axes), section_exponent=0.6, profile_exponent=0.8), points
    )
    same = point_distances(Superovoid(OVOID.semi_axes, section_exponent=0.6, profile_exponent=0.8), points / scale)
    np.testing.assert_allclose(found.distance, scale * same.distance, atol=1e-9 * scale)


@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_any_number_of_points_and_rays_has_as_many_rows(count):
    points = np.random.default_rng(10).normal(size=(count, 3))
    assert len(point_distances(Box((1.0, 1.0, 1.0)), points)) == count
    assert len(cast_rays(Box((1.0, 1.0, 1.0)), points[:100], np.ones(3))) == min(count, 100)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: point_distances(Sphere(1.0), [(0.0, 0.0, math.nan)]), ValueError, "points: must be finite"),
        (
            lambda: point_distances(Sphere(1.0), (0.0, 0.0, 1.0)),
            ValueError,
            r"points: must have shape \(n, 3\), found \(3,\)",
        ),
        (
            lambda: point_distances(Sphere(1.0), [(1e31, 0.0, 0.0)]),
            ValueError,
            r"points: coordinates must be within 1e\+30",
        ),
        (
            lambda: cast_rays(Sphere(1.0), (1e31, 0.0, 0.0), np.ones(3)),
            ValueError,
            r"origins: coordinates must be within 1e\+30 m, found 1e\+31",
        ),
        (lambda: cast_rays(Sphere(1.0), np.zeros(2), np.ones(3)), ValueError, r"origins: must have shape \(n, 3\)"),
        (lambda: cast_rays(Sphere(1.0), np.zeros(3), "x"), ValueError, "directions: must be numbers"),
        (lambda: point_distances(1.0, np.zeros((1, 3))), TypeError, "shapes: must be a shape or a sequence of shapes"),
        (lambda: point_distances([Sphere(1.0), None], np.zeros((1, 3))), TypeError, r"shapes\[1\]: must be a shape"),
        (
            lambda: point_distances([Sphere(1.0)] * 2, np.zeros((1, 3)), np.zeros((3, 3))),
            ValueError,
            "poses: must be one",
        ),
        (
            lambda: cast_rays(Sphere(1.0), np.zeros((2, 3)), np.ones((3, 3))),
            ValueError,
            "origins, directions: found 2 and 3",
        ),
        (lambda: cast_rays(Sphere(1.0), np.zeros(3), np.zeros(3)), ValueError, "directions: must not be zero"),
        (lambda: cast_rays(Sphere(1.0), np.zeros(3), np.ones(3), max_distance=0.0), ValueError, r"max_distance = 0\.0"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_name(call, error, words):
    with pytest.raises(error, match=words):
        call()

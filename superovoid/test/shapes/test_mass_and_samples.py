# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Area, mass, inertia, and points drawn from the surface and the volume."""

import math

import numpy as np
import pytest
import trimesh

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Shell,
    Sphere,
    Superovoid,
    Torus,
)

SMOOTH = [
    Ellipsoid((0.3, 0.2, 0.5)),
    Superovoid((0.3, 0.2, 0.5), section_exponent=0.4, profile_exponent=1.3, taper=(0.4, -0.3)),
    Superovoid((0.3, 0.2, 0.5), section_exponent=1.9, profile_exponent=1.8, taper=(0.1, 0.2)),
    Superovoid((0.3, 0.4, 0.1), section_exponent=0.05, profile_exponent=0.1, taper=(0.5, 0.5)),
    Capsule(0.2, 0.7),
    Cylinder(0.3, 0.5),
    Cone(0.3, 0.8),
    Torus(0.4, 0.15),
]
RING = trimesh.creation.annulus(0.2, 0.5, 0.4, sections=20)
FLAT = [
    Box((0.3, 0.5, 0.7)),
    ConvexMesh(np.random.default_rng(1).normal((1.0, 2.0, 3.0), size=(30, 3))),
    Mesh.from_trimesh(RING.apply_translation((3.0, 0.0, 1.0))),
]


def mesh_of(shape, resolution=24):
    mesh = trimesh.Trimesh(*shape.triangles(resolution), process=False)
    return np.array([mesh.area, mesh.volume, *mesh.center_mass, *mesh.moment_inertia.ravel()])


def numbers_of(shape):
    found = shape.mass_properties(density=1.0)
    return np.array([shape.area(), found.mass, *found.centre_of_mass, *found.inertia.ravel()])


@pytest.mark.parametrize("shape", SMOOTH, ids=repr)
def test_integrals_are_the_limit_of_those_of_finer_meshes(shape):
    coarse, fine = mesh_of(shape, 128), mesh_of(shape, 256)
    np.testing.assert_allclose(numbers_of(shape), (4.0 * fine - coarse) / 3.0, rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("shape", FLAT, ids=repr)
def test_integrals_of_bodies_with_flat_faces_are_those_of_their_mesh(shape):
    np.testing.assert_allclose(numbers_of(shape), mesh_of(shape), rtol=1e-12, atol=1e-12)


def test_areas_of_spheroids_are_those_of_the_closed_form():
    eccentricity = math.sqrt(1.0 - (2.0 / 5.0) ** 2)
    oblate = 2.0 * math.pi * 25.0 * (1.0 + (4.0 / 25.0) / eccentricity * math.atanh(eccentricity))
    assert Ellipsoid((5.0, 5.0, 2.0)).area() == pytest.approx(oblate, rel=1e-12)
    assert Sphere(1e-3).area() == pytest.approx(4e-6 * math.pi, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1.999999])
def test_areas_at_the_limits_of_exponents_are_those_of_polyhedra(epsilon):
    body = Superovoid((0.3, 0.4, 0.5), section_exponent=epsilon, profile_exponent=epsilon)
    corners = np.vstack([np.diag(body.semi_axes), -np.diag(body.semi_axes)])
    limit = Box((0.6, 0.8, 1.0)).area() if epsilon < 1.0 else ConvexMesh(corners).area()
    # A step of the exponent of 1e-6 changes the area in proportion.
    assert body.area() == pytest.approx(limit, rel=1e-5)


def test_a_dense_sphere_has_the_inertia_of_textbooks():
    found = Sphere(0.1).mass_properties(density=7850.0)
    assert found.mass == pytest.approx(7850.0 * 4.0 / 3.0 * math.pi * 1e-3, rel=1e-14)
    np.testing.assert_allclose(found.inertia, 0.4 * found.mass * 0.01 * np.eye(3), rtol=1e-14)
    assert not found.centre_of_mass.any()


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_mass_of_bodies_of_extreme_size_is_finite(size):
    found = Superovoid((size, size, size), taper=(0.1, 0.2)).mass_properties()
    assert math.isfinite(found.mass) and found.mass > 0.0 and np.isfinite(found.inertia).all()


@pytest.mark.parametrize("shape", SMOOTH + FLAT, ids=repr)
def test_surface_samples_lie_on_it_and_fill_octants_by_area(shape):
    points = shape.sample_surface(20_000, seed=3)
    middle, half = shape.obb()
    if not isinstance(shape, Torus | Mesh):  # seen from the middle, the surface is met once
        inner, outer = (middle + (points - middle) * scale for scale in (1.0 - 1e-9, 1.0 + 1e-9))
        assert shape.contains(inner).all() and not shape.contains(outer).any()
    mesh = trimesh.Trimesh(*shape.triangles(100), process=False).subdivide_to_size(0.06 * half.max())
    centre = middle + 0.3 * half
    octants = (mesh.triangles_center > centre) @ (1, 2, 4)
    expected = np.bincount(octants, mesh.area_faces, minlength=8) / mesh.area
    found = np.bincount((points > centre) @ (1, 2, 4), minlength=8) / len(points)
    np.testing.assert_allclose(found, expected, atol=2.0 / math.sqrt(len(points)))


@pytest.mark.parametrize("shape", [*SMOOTH, FLAT[0], FLAT[1]], ids=repr)
def test_points_of_the_volume_have_its_centre_and_spread(shape):
    count = 20_000
    points = shape.sample_volume(count, seed=4)
    assert points.shape == (count, 3) and shape.contains(points).all()
    found = shape.mass_properties(density=1.0 / shape.volume())
    spread = 0.5 * np.trace(found.inertia) * np.eye(3) - found.inertia
    bound = 4.0 * np.sqrt(np.diag(spread) / count)
    assert np.all(np.abs(points.mean(axis=0) - found.centre_of_mass) < bound)
    np.testing.assert_allclose(np.cov(points.T), spread, atol=0.05 * np.trace(spread))


def test_samples_of_a_hollow_mesh_lie_in_its_solid_part():
    points = FLAT[2].sample_volume(300, seed=5)
    assert FLAT[2].contains(points).all()


def test_equal_seeds_draw_equal_points_and_a_generator_goes_on():
    body = SMOOTH[1]
    np.testing.assert_array_equal(body.sample_surface(5, seed=1), body.sample_surface(5, seed=1))
    rng = np.random.default_rng(1)
    assert not np.array_equal(body.sample_volume(5, rng), body.sample_volume(5, rng))
    assert body.sample_surface(0).shape == body.sample_volume(0).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: HalfSpace().mass_properties(), "HalfSpace: has no finite volume"),
        (lambda: Shell(np.eye(3), [(0, 1, 2)]).mass_properties(), "Shell: has no finite volume"),
        (lambda: Shell(np.eye(3), [(0, 1, 2)]).sample_volume(1), "Shell: has no finite volume"),
        (lambda: HalfSpace().sample_volume(1), "HalfSpace: has no finite volume"),
        (lambda: HalfSpace().sample_surface(1), "HalfSpace: has no finite surface"),
        (lambda: Sphere(1.0).mass_properties(density=0.0), r"density = 0\.0: must be positive and finite"),
        (lambda: Sphere(1.0).mass_properties(density=math.inf), "density = inf: must be a finite number"),
        (lambda: Sphere(1.0).sample_surface(3, "a"), "seed = 'a': must be None, an integer of at least 0"),
        (lambda: Sphere(1.0).sample_volume(3, -1), "seed = -1: must be None, an integer of at least 0"),
        (lambda: Sphere(1.0).sample_surface(-1), "count = -1: must be an integer of at least 0"),
    ],
)
def test_wrong_arguments_and_infinite_bodies_are_refused_with_the_reason(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_shell_has_area_and_samples_of_one_side():
    shell = Shell(np.eye(3), [(0, 1, 2)])
    assert shell.area() == pytest.approx(0.5 * math.sqrt(3.0), rel=1e-14)
    np.testing.assert_allclose(shell.sample_surface(100, seed=2).sum(axis=1), 1.0, rtol=1e-12)

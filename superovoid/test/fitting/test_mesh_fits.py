# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fits of several bodies to meshes and point clouds, their measured figures and proved bounds."""

import itertools

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Sphere, Superovoid, Torus
from superovoid.fitting import fit_mesh, fit_points, mesh_fits
from superovoid.fitting.enclosing import enclose
from superovoid.fitting.joint import body_in_box
from superovoid.fitting.normal_equations import BOX
from superovoid.fitting.proofs import (
    containment_margin,
    largest_protrusion,
    largest_uncovered,
    point_distances,
)
from superovoid.fitting.quality import measure_union, union_surface
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree

HERE = np.eye(4)


def at(*place):
    pose = np.eye(4)
    pose[:3, 3] = place
    return pose


def solid(mesh):
    return Target.from_triangles(mesh.vertices, mesh.faces)


def angle():
    """Return two bars that meet at a right angle."""
    bars = [trimesh.creation.box((0.3, 0.06, 0.08)), trimesh.creation.box((0.06, 0.3, 0.08))]
    bars[0].apply_translation((0.12, 0.0, 0.0))
    bars[1].apply_translation((0.0, 0.12, 0.0))
    return trimesh.util.concatenate(bars)


# ------------------------------------------------------------------------------------------------------------- fits


@pytest.fixture(scope="module")
def one_body():
    """Return a fit of one body, which does not reach the tolerance."""
    return fit_mesh(angle(), bodies=1, tolerance=0.004)


@pytest.fixture(scope="module")
def two_bodies():
    return fit_mesh(angle(), tolerance=0.004)


@pytest.mark.slow
def test_two_bars_need_two_bodies(one_body, two_bodies):
    assert len(two_bodies.bodies) == 2 and all(body.shape.convexity().convex for body in two_bodies.bodies)
    assert two_bodies.quality.iou > 0.96 and two_bodies.quality.mean < 1e-3
    assert one_body.quality.iou < 0.75


@pytest.mark.slow
def test_tolerance_selects_the_fewest_sufficient_bodies(one_body, two_bodies):
    assert len(two_bodies.bodies) == two_bodies.tried == 2 and not two_bodies.notes
    assert two_bodies.clearance.error <= 0.004 and two_bodies.clearance.verdict == "good"
    assert one_body.clearance.tolerance == 0.004 and one_body.clearance.verdict == "unusable"
    loose = fit_mesh(angle(), tolerance=0.2)
    assert len(loose.bodies) == 1 and not loose.notes


def test_worse_result_with_more_bodies_is_rejected(monkeypatch):
    box = solid(trimesh.creation.box((0.2, 0.1, 0.1)))
    half = [0.1 / box.radius, 0.05 / box.radius, 0.05 / box.radius]
    whole = body_in_box(BOX, np.eye(3), np.array(half), np.zeros(3), (0.1, 0.1))
    small = body_in_box(BOX, np.eye(3), 0.1 * np.array(half), 0.8 * np.ones(3), (0.1, 0.1))
    tried = []

    def search(_solid, count, *_):
        tried.append(_[-1])
        return [whole if count == 1 else small.add_bodies(small)]

    monkeypatch.setattr(mesh_fits, "_search", search)
    monkeypatch.setattr(mesh_fits, "descend", lambda bodies, *_: (0.0, bodies))
    one, two, three = mesh_fits.grow_bodies(box, 3, mesh_fits.check_kinds("box"), 0)
    assert [len(one), len(two), len(three)] == [1, 1, 1]
    assert measure_union(two, box, volume_points=4096, surface_points=500).iou > 0.97
    assert tried[0] is None and tried[1] is tried[2] is whole  # a worse result is no start either
    assert len(next(mesh_fits.grow_bodies(box, 2, mesh_fits.check_kinds("box"), 0, each=False))) == 1


def bent_rod():
    """Return a rod with a boss on one side at each end; a needle along its middle is close to both."""
    parts = [trimesh.creation.box((0.12, 0.12, 1.0))] + [trimesh.creation.box((0.18, 0.18, 0.1)) for _ in range(2)]
    for boss, z in zip(parts[1:], (0.45, -0.45), strict=True):
        boss.apply_translation((0.0, 0.06, z))
    return trimesh.util.concatenate(parts)


def overhang(bodies, target):
    """Return the largest overhang of bodies beyond a solid's box."""
    boxes = [pose[:3, 3] + np.array(shape.aabb(pose[:3, :3])) for shape, pose in bodies]
    return max(max((target.lower - low).max(), (high - target.upper).max()) for low, high in boxes)


@pytest.mark.slow
def test_fit_of_a_bent_rod_is_not_a_needle():
    rod = solid(bent_rod())
    found = fit_mesh(rod, bodies=1)
    assert overhang([(body.shape, body.pose) for body in found.bodies], rod) < 0.2 * rod.radius
    assert found.quality.iou > 0.7


def test_protrusion_beyond_all_samples_of_the_solid_counts():
    box = solid(trimesh.creation.box((0.2, 0.1, 0.1)))
    half = np.array([0.1, 0.05, 0.05]) / box.radius
    whole = body_in_box(BOX, np.eye(3), half, np.zeros(3), (0.1, 0.1))
    needle = body_in_box(BOX, np.eye(3), half * (3.0, 1.0, 1.0), np.zeros(3), (0.1, 0.1))
    samples = mesh_fits._Samples(box, 0)
    assert samples.misfit(whole) < 0.01 < 0.2 < samples.misfit(needle)
    assert np.abs(samples.many[:, 0]).max() < 1.3 * half[0]
    rows = samples.with_bodies(samples.many, needle)
    assert np.abs(rows[:, 0]).max() > 2.8 * half[0] and rows[:, 4].sum() == pytest.approx(1.0)
    _, found = mesh_fits.descend(needle, rows, mesh_fits._FINE, 40)
    assert samples.misfit(found) < 0.02


def test_bodies_that_leave_a_leg_uncovered_count_as_farther():
    # A bar of two plates with a leg at each end. By the mean alone, both plates with one leg are closer.
    plates = [((0.0, 0.0, 0.0), (0.24, 0.045, 0.01)), ((0.0, 0.0225, -0.0175), (0.24, 0.005, 0.045))]
    legs = [((x, 0.0, -0.05), (0.015, 0.04, 0.11)) for x in (-0.113, 0.113)]
    bar = ((0.0, 0.0, -0.0175), (0.24, 0.045, 0.045))
    parts = [trimesh.creation.box(extents, at(*middle)) for middle, extents in (*plates, *legs)]
    bench = solid(trimesh.util.concatenate(parts))
    samples = mesh_fits._Samples(bench, 0)

    def boxes(*which):
        found = [
            body_in_box(
                BOX,
                np.eye(3),
                np.array(size) / (2.0 * bench.radius),
                (middle - bench.centre) / bench.radius,
                (1.0, 1.0),
            )
            for middle, size in which
        ]
        return found[0].add_bodies(found[1]).add_bodies(found[2])

    covering, leaving = boxes(bar, *legs), boxes(*plates, legs[0])
    means = [
        measure_union(some.shapes(bench.radius, bench.centre), bench, volume_points=512, surface_points=3000).mean
        for some in (covering, leaving)
    ]
    assert means[0] > 1.1 * means[1]
    assert samples.misfit(covering) < samples.misfit(leaving)


def test_body_that_bridges_a_gap_is_split():
    bars = [trimesh.creation.box((0.05, 0.3, 0.05)) for _ in range(2)]
    for bar, x in zip(bars, (0.2, -0.2), strict=True):
        bar.apply_translation((x, 0.0, 0.0))
    pair = solid(trimesh.util.concatenate(bars))
    samples = mesh_fits._Samples(pair, 0)
    half = np.array([0.225, 0.15, 0.025]) / pair.radius
    bridge = body_in_box(BOX, np.eye(3), half, np.zeros(3), (0.1, 0.1))
    held = (pair.interior(600, 0) - pair.centre) / pair.radius
    near = mesh_fits._starts_near(bridge, held, BOX, samples, 0, 4)
    misfit, found = min((mesh_fits._descend_fine(start, samples) for start in near), key=lambda each: each[0])
    assert samples.misfit(bridge) > 0.1 and misfit < 1e-3 and len(found.kinds) == 2


def test_body_around_a_long_angle_profile_is_split_into_its_plates():
    # Two clusters of its points are the halves of its length, with a misfit of 0.012 after the same descent.
    plates = [((0.0, 0.0, 0.02), (0.6, 0.005, 0.045)), ((0.0, 0.02, 0.0), (0.6, 0.045, 0.005))]
    profile = solid(trimesh.util.concatenate([trimesh.creation.box(size, at(*middle)) for middle, size in plates]))
    samples = mesh_fits._Samples(profile, 0)
    half = (profile.upper - profile.lower) / (2.0 * profile.radius)
    around = body_in_box(BOX, np.eye(3), half, np.zeros(3), (0.1, 0.1))
    held = (profile.interior(600, 0) - profile.centre) / profile.radius
    rows = samples.with_bodies(samples.many, around)
    ((rest, pairs),) = mesh_fits._splits(around, rows, held, BOX, 0)
    assert not len(rest.kinds)
    misfit = min(mesh_fits._descend_fine(pair, samples)[0] for pair in pairs)
    assert samples.misfit(around) > 0.02 and misfit < 6e-3


def test_results_are_compared_after_the_last_descent(monkeypatch):
    # For example, two bodies for the pedestal of Baxter have an IoU of 0.42 before it and 0.62 after it.
    bars = solid(angle())
    middle = [(place - bars.centre) / bars.radius for place in ((0.12, 0.0, 0.0), (0.0, 0.12, 0.0))]
    halves = [np.array(side) / bars.radius for side in ((0.15, 0.03, 0.04), (0.03, 0.15, 0.04))]
    good = [body_in_box(BOX, np.eye(3), half, at_, (0.1, 0.1)) for half, at_ in zip(halves, middle, strict=True)]
    loose = [body_in_box(BOX, np.eye(3), half * (1.6, 1.6, 1.6), at_, (0.1, 0.1)) for half, at_ in zip(halves, middle,
             strict=True)]  # fmt: skip
    monkeypatch.setattr(
        mesh_fits, "_search", lambda _solid, count, *_: [good[0] if count == 1 else loose[0].add_bodies(loose[1])]
    )
    one, two = mesh_fits.grow_bodies(bars, 2, mesh_fits.check_kinds("box"), 0)
    assert [len(one), len(two)] == [1, 2]
    assert measure_union(two, bars, volume_points=4096, surface_points=500).iou > 0.95


def test_last_descent_that_moves_bodies_away_is_rejected(monkeypatch):
    box = solid(trimesh.creation.box((0.2, 0.1, 0.1)))
    half = np.array([0.1, 0.05, 0.05]) / box.radius
    whole, left = (body_in_box(BOX, np.eye(3), share * half, np.zeros(3), (0.1, 0.1)) for share in (0.9, 0.2))
    samples, kinds = mesh_fits._Samples(box, 0), mesh_fits.check_kinds("box")
    for worse, kept in ((left, whole), (whole, whole)):
        monkeypatch.setattr(mesh_fits, "descend", lambda *_, worse=worse: (0.0, worse))
        assert mesh_fits._finish(whole, kinds, samples) is kept
    monkeypatch.setattr(mesh_fits, "descend", lambda *_: (0.0, whole))
    assert mesh_fits._finish(left, kinds, samples) is whole


def test_number_and_tolerance_give_equal_bodies_for_a_seed():
    found = fit_mesh(angle(), tolerance=0.004, kinds=("box",))
    assert len(found.bodies) == 2
    assert fit_mesh(angle(), bodies=2, tolerance=0.004, kinds=("box",)) == found


@pytest.mark.slow
def test_equal_seeds_give_equal_superovoids(two_bodies):
    assert fit_mesh(angle(), bodies=2, tolerance=0.004) == two_bodies


@pytest.mark.slow
def test_superovoid_is_recovered_in_any_pose_and_unit():
    shape = Superovoid((0.05, 0.07, 0.14), section_exponent=0.6, profile_exponent=0.7, taper=(0.25, 0.25))
    pose = at(3.0, -2.0, 1.0)
    pose[:3, :3] = Rotation.from_rotvec((1.0, 0.4, -0.8)).as_matrix()
    mesh = shape.tessellate(64)
    mesh.apply_transform(pose)
    scale = 1000.0
    fit = fit_mesh((scale * np.asarray(mesh.vertices), mesh.faces), bodies=1)
    assert fit.quality.iou > 0.99
    assert fit.quality.mean < 4e-4 * scale
    assert fit.bodies[0].shape.volume() == pytest.approx(scale**3 * shape.volume(), rel=0.01)
    np.testing.assert_allclose(fit.bodies[0].pose[:3, 3], scale * pose[:3, 3], atol=0.02 * scale)


@pytest.mark.slow
def test_plate_of_a_300th_of_its_length_is_recovered():
    plate = fit_mesh(trimesh.creation.box((1.0, 0.8, 0.0033)), bodies=1)
    assert plate.quality.iou > 0.95 and plate.quality.volume_ratio == pytest.approx(1.0, abs=0.05)


def test_wedge_with_unequal_tapers_is_recovered():
    shape = Superovoid((0.08, 0.05, 0.12), section_exponent=0.3, profile_exponent=1.0, taper=(0.45, -0.3))
    mesh = shape.tessellate(48)
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, (1, 2, 3)))
    fit = fit_mesh(mesh, bodies=1)
    assert fit.quality.iou > 0.985 and fit.bodies[0].shape.convexity().convex
    assert np.ptp(fit.bodies[0].shape.taper) > 0.5
    ((holding, _),) = enclose(solid(mesh))
    assert holding.volume() < 1.01 * shape.volume()


@pytest.mark.parametrize(("kind", "shape"), [("capsule", Capsule(0.05, 0.2)), ("box", Box((0.1, 0.2, 0.4)))])
def test_body_of_another_kind_is_recovered(kind, shape):
    mesh = shape.tessellate(48)
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, (1, 2, 3)))
    fit = fit_mesh(mesh, bodies=1, kinds=(kind,))
    assert type(fit.bodies[0].shape) is type(shape)
    assert fit.quality.iou > 0.985


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Box((0.1, 0.2, 0.4)), "Box"),
        (Capsule(0.05, 0.2), "Capsule"),
        (Cylinder(0.05, 0.3), "Cylinder"),
        (Superovoid((0.1, 0.2, 0.3), section_exponent=1.3, profile_exponent=1.0, taper=(0.4, 0.4)), "Superovoid"),
    ],
)
def test_simpler_kinds_are_taken_only_if_about_as_close(shape, expected):
    mesh = shape.tessellate(48)
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, (1, 2, 3)))
    closest = fit_mesh(mesh, bodies=1)
    fit = fit_mesh(mesh, bodies=1, kinds="auto")
    assert [type(body.shape).__name__ for body in fit.bodies] == [expected]
    assert fit.quality.iou > closest.quality.iou - 0.01


def test_fewer_simple_bodies_are_taken_if_about_as_close():
    mesh = trimesh.creation.box((0.1, 0.2, 0.4), transform=trimesh.transformations.rotation_matrix(0.7, (1, 2, 3)))
    fit = fit_mesh(mesh, bodies=2, kinds="auto")
    assert [type(body.shape) for body in fit.bodies] == [Box]
    assert fit.quality.iou > 0.985


def ring_with_stem():
    """Return a torus about y on a cylinder along z, which ends in it."""
    ring, stem = trimesh.creation.torus(0.1, 0.025), trimesh.creation.cylinder(0.025, 0.2)
    ring.apply_transform(trimesh.transformations.rotation_matrix(0.5 * np.pi, (1, 0, 0)))
    stem.apply_translation((0.0, 0.0, -0.21))
    return trimesh.util.concatenate([ring, stem])


@pytest.mark.ci
def test_ring_of_an_eye_bolt_becomes_a_torus():
    fit = fit_mesh(ring_with_stem(), kinds="auto")
    assert sorted(type(body.shape).__name__ for body in fit.bodies) == ["Cylinder", "Torus"]
    (torus,) = (body.shape for body in fit.bodies if isinstance(body.shape, Torus))
    assert torus.major_radius == pytest.approx(0.1, rel=0.02) and torus.minor_radius == pytest.approx(0.025, rel=0.03)
    assert fit.clearance.verdict == "good" and fit.quality.iou > 0.97


def test_torus_is_kept_only_if_several_bodies_are_no_closer():
    # A round tube is closer to a flat ring than one convex body is, but no part of a good fit.
    flat = trimesh.creation.annulus(0.06, 0.1, 0.03)
    assert [type(body.shape) for body in fit_mesh(flat, bodies=1, kinds="auto").bodies] == [Torus]
    assert fit_mesh(flat, kinds="auto").clearance.verdict == "good"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shape"), [("capsule", Capsule(0.05, 0.2)), ("box", Box((0.1, 0.2, 0.4)))])
def test_closest_of_several_kinds_is_chosen(kind, shape):
    assert fit_mesh(shape.tessellate(48), bodies=1, kinds=("superovoid", kind)).quality.iou > 0.985


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bodies": 0}, "bodies = 0"),
        ({"bodies": 17}, "bodies = 17: must be from 1 to 16"),
        ({"tolerance": -1.0}, "tolerance = -1.0: must be a positive length"),
        ({"tolerance": np.nan}, "tolerance = nan"),
        ({"target": "skin"}, "target = 'skin': must be 'mesh' or 'hull'"),
        ({"kinds": ("sphere",)}, "kinds: 'sphere' must be one of superovoid"),
        ({"kinds": ()}, "kinds: is empty"),
        ({"kinds": ("auto", "box")}, "kinds: 'auto' must be one of superovoid"),
    ],
)
def test_invalid_options_are_refused(options, words):
    with pytest.raises(ValueError, match=r"must be|empty") as error:
        fit_mesh(angle(), **options)
    assert words in str(error.value)


@pytest.mark.parametrize(("unseen", "within"), [(-0.01, 0.02), (0.02, 0.08)])
def test_body_is_recovered_from_cloud_with_hole_noise_and_outliers(unseen, within):
    # Three fifths of the body's width are visible, then a third. The volume varies with the seed by 0.5 % and 2 %.
    generator = np.random.default_rng(0)
    shape = Superovoid((0.05, 0.04, 0.1), section_exponent=0.6, profile_exponent=0.8, taper=(0.1, 0.1))
    cloud = shape.surface_point(*generator.uniform((-1.57, -3.14), (1.57, 3.14), (3000, 2)).T)
    cloud = cloud[cloud[:, 0] > unseen] + at(0.3, 0.0, 1.0)[:3, 3]
    cloud += 5e-4 * generator.normal(size=cloud.shape)
    strays = generator.uniform(-0.15, 0.15, (len(cloud) // 10, 3)) + np.array((0.3, 0.0, 1.0))
    fit = fit_points(np.concatenate([cloud, strays]), noise=5e-4)
    assert fit.mean < 6e-4 and 0.8 * len(strays) < fit.outliers < 1.2 * len(strays)
    assert fit.bodies[0].shape.volume() == pytest.approx(shape.volume(), rel=within)
    np.testing.assert_allclose(fit.bodies[0].pose[:3, 3], (0.3, 0.0, 1.0), atol=2e-3)


def test_unseen_thickness_of_a_flat_patch_is_small():
    generator = np.random.default_rng(0)
    patch = np.column_stack([generator.uniform(-0.1, 0.1, (400, 2)), 1e-3 * generator.normal(size=400)])
    (body,) = fit_points(patch, noise=1e-3).bodies
    assert np.ptp(body.shape.aabb(body.pose[:3, :3]), axis=0)[2] < 0.02


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros((5, 3)), "expected (n, 3) with n >= 20"),
        (np.zeros((50, 3)), "points: coincide"),
        (np.full((50, 3), np.inf), "points[0]: not finite"),
    ],
)
def test_invalid_clouds_are_refused(points, words):
    with pytest.raises(ValueError, match="points") as error:
        fit_points(points)
    assert words in str(error.value)


# --------------------------------------------------------------------------------------------------------- measures


@pytest.mark.slow
def test_measures_of_concentric_spheres_match_formulas():
    ball = solid(trimesh.creation.icosphere(4))
    found = measure_union([(Sphere(0.9), HERE)], ball)
    assert found.iou == pytest.approx(0.9**3, abs=0.01) and abs(found.iou - 0.9**3) < 6.0 * found.iou_error + 2e-3
    assert found.coverage == pytest.approx(0.9**3, abs=0.01) and found.protrusion == 0.0
    assert found.volume_ratio == pytest.approx(0.9**3, abs=0.01)
    for value in (found.mean, found.to_bodies_max, found.to_solid_p95, found.uncovered_mean, found.uncovered_max):
        assert value == pytest.approx(0.1, abs=2e-3)
    assert found.protruding_max == 0.0 and found.hausdorff == pytest.approx(0.1, abs=2e-3)
    grown = measure_union([(Sphere(1.1), HERE)], ball)
    assert grown.coverage == 1.0 and grown.uncovered_max == 0.0
    assert grown.protruding_mean == pytest.approx(0.1, abs=2e-3)


def test_union_surface_excludes_parts_inside_other_bodies():
    apart = 1.0
    surface = union_surface([(Sphere(1.0), HERE), (Sphere(1.0), at(apart, 0.0, 0.0)), (Sphere(0.2), HERE)])
    area = 0.5 * np.linalg.norm(np.cross(surface[:, 1] - surface[:, 0], surface[:, 2] - surface[:, 0]), axis=1).sum()
    # Two spheres without a cap of height 1/2 each (Archimedes: 2 pi r h).
    assert area == pytest.approx(2.0 * (4.0 * np.pi - 2.0 * np.pi * (1.0 - 0.5 * apart)), rel=5e-3)


def test_exact_union_of_boxes_has_no_error():
    bars = [(Box((0.3, 0.06, 0.08)), at(0.12, 0.0, 0.0)), (Box((0.06, 0.3, 0.08)), at(0.0, 0.12, 0.0))]
    found = measure_union(bars, solid(angle()))
    assert found.iou == 1.0 and found.mean < 1e-12 and found.hausdorff < 1e-12


def test_union_surface_is_complete_with_little_excess():
    generator = np.random.default_rng(3)
    bodies = []
    for turn in Rotation.random(3, rng=generator):
        pose = at(*generator.uniform(-0.1, 0.1, 3))
        pose[:3, :3] = turn.as_matrix()
        size, exponents = generator.uniform(0.04, 0.2, 3), generator.uniform(0.1, 1.8, 2)
        bodies.append((Superovoid.from_goncalves(size, exponents), pose))
    surface = union_surface(bodies)
    diagonal = np.linalg.norm(np.ptp(surface.reshape(-1, 3), axis=0))
    tested = np.concatenate([surface.reshape(-1, 3)[::20], surface.mean(axis=1)[::7]])
    tree = TriangleTree(surface)
    for shape, pose in bodies:
        depth = -point_distances(shape, pose, tested)[1]
        assert depth.max() <= 0.05 / np.sqrt(3.0) * diagonal  # the bound in `union_surface`
        assert np.mean(depth > 1e-3 * diagonal) < 1e-3
        vertices, faces = shape.triangles(128)
        own = (vertices @ pose[:3, :3].T + pose[:3, 3])[faces[::7]].mean(axis=1)
        others = [point_distances(*body, own)[0] for body in bodies if body[0] is not shape]
        bounding = own[np.min(others, axis=0) > 1e-6 * diagonal]
        feet, _ = tree.nearest_points(bounding)
        np.testing.assert_allclose(feet, bounding, atol=1e-6 * diagonal)


def test_no_bodies_and_too_thin_targets_are_not_measured():
    with pytest.raises(ValueError, match="bodies: is empty"):
        measure_union([], solid(angle()))
    needle = np.array([(0, 0, 0), (1, 0, 0), (0, 1e-5, 0), (0, 0, 1e-5)])[[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]]
    with pytest.raises(ValueError, match="target: is too thin"):
        measure_union([(Sphere(1.0), HERE)], Target(needle, "mesh"))


# ----------------------------------------------------------------------------------------------------------- proofs


@pytest.fixture(scope="module")
def cube():
    return solid(trimesh.creation.box((2.0, 2.0, 2.0)))


def test_bounds_of_a_ball_and_a_cube_contain_the_exact_distances(cube):
    gap = largest_uncovered([(Sphere(1.0), HERE)], cube, 1e-4)
    assert gap.lower <= np.sqrt(3.0) - 1.0 <= gap.upper <= gap.lower + 1e-4
    width = 2e-3 * cube.radius  # as in the report of a fit
    over = largest_protrusion([(Sphere(1.5), at(0.2, 0.0, 0.0))], cube, width)
    assert over.lower <= 0.7 <= over.upper <= over.lower + width
    assert largest_protrusion([(Sphere(0.5), HERE)], cube, 1e-3).upper <= 1e-3


def test_bounds_of_a_torus_and_a_cube_contain_the_exact_distances(cube):
    # The middle of a face is farther from the torus than the corners of the face are.
    gap = largest_uncovered([(Torus(1.0, 0.25), HERE)], cube, 1e-3)
    assert gap.lower <= np.sqrt(2.0) - 0.25 <= gap.upper <= gap.lower + 1e-3
    over = largest_protrusion([(Torus(1.0, 0.25), HERE)], cube, 1e-2)
    assert over.lower <= 0.25 <= over.upper <= over.lower + 1e-2
    ring = solid(Torus(1.0, 0.25).tessellate(64))
    assert largest_uncovered([(Torus(1.0, 0.25), HERE)], ring, 1e-3).upper <= 2e-3
    assert largest_protrusion([(Box((0.6, 0.6, 0.6)), HERE)], ring, 0.05).lower > 0.4


def test_torus_contains_no_hull_of_points():
    ring = Torus(1.0, 0.25).triangles(16)[0] * 0.99
    assert Torus(1.0, 0.25).contains(ring * (1.0, 1.0, 0.5)).any()
    assert containment_margin(Torus(1.0, 0.25), HERE, ring) < 0.0


def test_largest_uncovered_distance_is_found_far_from_corners():
    # Cubes at both ends leave the middle of a bar uncovered; its corners are covered.
    bar = solid(trimesh.creation.box((6.0, 1.0, 1.0)))
    ends = [(Box((2.0, 1.2, 1.2)), at(x, 0.0, 0.0)) for x in (-2.2, 2.2)]
    gap = largest_uncovered(ends, bar, 1e-3)
    assert gap.lower <= 1.2 <= gap.upper <= gap.lower + 1e-3
    assert largest_uncovered([*ends, (Box((2.6, 1.2, 1.2)), HERE)], bar, 1e-3).upper <= 1e-3


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_protrusion_from_nearly_equal_convex_solid_has_narrow_bounds(turn):
    half = np.array((0.05, 0.03, 0.15))
    pose = at(0.1, -0.2, 0.3)
    pose[:3, :3] = Rotation.from_rotvec(turn * np.array((1.0, 2.0, 3.0))).as_matrix()
    box = solid(trimesh.creation.box(2.0 * half, transform=pose))
    width = 2e-3 * box.radius
    assert largest_protrusion([(Box(2.0 * half), pose)], box, width).upper <= width
    # Sharp enough to reach 1 mm beyond both ends.
    over = largest_protrusion(
        [(Superovoid(half + np.array((0.0, 0.0, 0.001)), section_exponent=0.02, profile_exponent=0.02), pose)],
        box,
        width,
    )
    assert over.lower <= 0.001 <= over.upper <= over.lower + width
    # With one corner of the solid cut off, the body's corner is as far from the solid as from the plane of the cut.
    corners = half * np.array(list(itertools.product((-1, 1), repeat=3)))
    cut = np.concatenate([corners[1:], corners[0] + 0.01 * np.eye(3)]) @ pose[:3, :3].T + pose[:3, 3]
    over = largest_protrusion([(Box(2.0 * half), pose)], solid(trimesh.convex.convex_hull(cut)), width)
    assert over.lower <= 0.01 / np.sqrt(3.0) <= over.upper <= over.lower + width


def test_body_in_a_notch_counts_as_outside():
    bars = [trimesh.creation.box(bounds=((0, 0, 0), far)) for far in ((3, 1, 1), (1, 1, 3))]
    over = largest_protrusion([(Box((0.8, 0.8, 0.8)), at(2.0, 0.5, 2.0))], solid(trimesh.util.concatenate(bars)), 0.05)
    assert over.lower <= 1.4 <= over.upper <= over.lower + 0.05


def test_protrusion_through_the_opening_of_a_mesh_is_bounded():
    mesh = trimesh.creation.box((2.0, 2.0, 2.0))
    cup = Target(mesh.triangles[mesh.face_normals[:, 2] < 0.5])
    # The winding number is one half everywhere in the plane of the lid, whose centre is 1 from its rim.
    over = largest_protrusion([(Box((0.2, 0.2, 0.1)), at(0.0, 0.0, 0.99))], cup, 0.02)
    assert over.lower <= np.hypot(1.0, 0.04) <= over.upper <= over.lower + 0.02


def test_containment_is_decided_near_the_border(cube):
    for share, holds in ((1.0 + 1e-9, True), (1.0 - 1e-9, False)):
        margin = containment_margin(Sphere(share * np.sqrt(3.0)), HERE, cube.corners.reshape(-1, 3))
        assert (margin >= 0.0) == holds


@pytest.mark.parametrize("kind", ["superovoid", "capsule", "box"])
@pytest.mark.slow
def test_enclosing_body_is_tight_and_contains_every_corner(kind):
    generator = np.random.default_rng(7)
    points = generator.normal(size=(60, 3)) * (0.05, 0.08, 0.15) + (1.0, 2.0, 3.0)
    target = Target.from_triangles(points, None, "hull")
    ((shape, pose),) = enclose(target, kinds=(kind,))
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    assert shape.contains(local).all()  # by the shape's own function, which is independent of the proof
    assert not shape.contains(1.001 * local).all()
    # It is smaller than the body given by the points' principal axes without a search.
    axes = np.linalg.eigh(np.cov(points.T))[1]
    along = (points - points.mean(axis=0)) @ axes
    reach = np.hypot(along[:, 0], along[:, 1]).max()
    plain = Capsule(reach, np.ptp(along[:, 2])).volume() if kind == "capsule" else np.ptp(along, axis=0).prod()
    assert shape.volume() < plain


@pytest.mark.parametrize("mesh", ["link.stl", None, 3.0, {"vertices": []}, object(), [1.0, 2.0, 3.0]])
def test_error_about_an_argument_other_than_a_mesh_names_its_type(mesh):
    with pytest.raises(TypeError, match=f"mesh: found {type(mesh).__name__}, expected an object with vertices"):
        fit_mesh(mesh)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Foundations of fits: trees of triangles, solids of meshes, distances of bodies with derivatives."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Sphere, Superovoid, Torus, distance
from superovoid.fitting import descent, joint
from superovoid.fitting import normal_equations as equations
from superovoid.fitting.targets import Target
from superovoid.fitting.triangle_tree import TriangleTree

BOX = trimesh.creation.box((0.2, 0.3, 0.4))
AROUND = np.random.default_rng(4).uniform(-0.3, 0.3, (400, 3))
IN_BOX = (np.abs(AROUND) < (0.1, 0.15, 0.2)).all(axis=1)


def target(mesh, **options):
    return Target.from_triangles(mesh.vertices, mesh.faces, **options)


@pytest.mark.parametrize("count", [1, 4, 5, 37, 1280])
def test_nearest_points_match_brute_force(count):
    corners = np.asarray(trimesh.creation.icosphere(3).triangles)[:count] * (1.0, 0.5, 0.3)
    points = np.random.default_rng(0).normal(size=(200, 3))
    feet, numbers = TriangleTree(corners).nearest_points(points)
    soup = trimesh.Trimesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), process=False)
    _, expected, _ = trimesh.proximity.closest_point_naive(soup, points)
    np.testing.assert_allclose(np.linalg.norm(points - feet, axis=1), expected, atol=1e-14)
    on_triangles = trimesh.triangles.closest_point(corners[numbers], points)
    np.testing.assert_allclose(on_triangles, feet, atol=1e-14)


def test_winding_numbers_of_closed_meshes_are_integers():
    corners = np.asarray(trimesh.creation.icosphere(4).triangles) * (1.0, 0.5, 0.3)
    points = np.random.default_rng(0).normal(size=(300, 3))
    tree = TriangleTree(corners)
    exact = tree.winding(points, exact=True)
    np.testing.assert_allclose(exact, np.round(exact), atol=1e-12)
    assert set(np.round(exact)) == {0.0, 1.0}
    np.testing.assert_allclose(tree.winding(points), exact, atol=0.02)


def test_inverted_and_open_meshes_have_the_intended_inside():
    inverted = BOX.copy()
    inverted.invert()
    found = target(inverted)
    np.testing.assert_array_equal(found.contains(AROUND), IN_BOX)
    assert any("inside out" in note for note in found.notes)
    fine = BOX.subdivide().subdivide()
    one_face_turned = fine.faces.copy()
    one_face_turned[3] = one_face_turned[3, ::-1]
    np.testing.assert_array_equal(Target.from_triangles(fine.vertices, one_face_turned).contains(AROUND), IN_BOX)
    holed = Target.from_triangles(fine.vertices, fine.faces[1:])
    assert holed.kind == "mesh" and any("open" in note for note in holed.notes)
    away = np.linalg.norm(AROUND - fine.triangles_center[0], axis=1) > 0.1  # undefined near the hole
    np.testing.assert_array_equal(holed.contains(AROUND)[away], IN_BOX[away])


def test_overlapping_parts_form_one_solid_without_inner_walls():
    other = BOX.copy()
    other.apply_translation((0.1, 0.0, 0.0))
    both = trimesh.util.concatenate([BOX, other])
    found = target(both)
    assert not found.notes  # no edge is open, though the parts share some edges
    union = IN_BOX | (np.abs(AROUND - (0.1, 0.0, 0.0)) < (0.1, 0.15, 0.2)).all(axis=1)
    np.testing.assert_array_equal(found.contains(AROUND), union)
    points, normals = found.surface(3000, 0)
    walls = (np.abs(points[:, 0]) < 1e-9) | (np.abs(points[:, 0] - 0.1) < 1e-9)
    assert not (walls & (np.abs(points[:, 1]) < 0.149) & (np.abs(points[:, 2]) < 0.199)).any()
    assert not found.contains(points + 1e-4 * normals).any() and found.contains(points - 1e-4 * normals).all()


def test_signed_distances_of_a_box_match_formula():
    q = np.abs(AROUND) - (0.1, 0.15, 0.2)
    expected = np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)
    np.testing.assert_allclose(target(BOX).signed_distance(AROUND), expected, atol=1e-14)


def test_mesh_that_encloses_nothing_becomes_its_hull_with_a_note():
    generator = np.random.default_rng(3)
    leaves = generator.normal(size=(60, 1, 3)) + 0.1 * generator.normal(size=(60, 3, 3))
    found = Target.from_triangles(leaves.reshape(-1, 3), np.arange(180).reshape(-1, 3))
    assert found.kind == "hull" and any("convex hull" in note for note in found.notes)
    points_alone = Target.from_triangles(BOX.vertices, None)
    assert points_alone.kind == "hull" and any("no triangles" in note for note in points_alone.notes)
    np.testing.assert_array_equal(points_alone.contains(AROUND), IN_BOX)
    sheet = Target.from_triangles([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    assert sheet.kind == "hull" and any("plane" in note for note in sheet.notes)
    assert 0.0 < sheet.hull.volume < 0.01


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (np.zeros((3, 3)), None, "expected (n, 3) with n >= 4"),
        (np.zeros((9, 3)), None, "coincide or lie on a line"),
        (np.outer(np.arange(9.0), (1, 2, 3)), None, "coincide or lie on a line"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, np.nan)], None, "points[3]: not finite"),
        (np.eye(4, 3), [(0, 1, 9)], "indices must be in [0, 4), found 0 to 9"),
    ],
)
def test_invalid_points_and_faces_are_refused(vertices, faces, words):
    with pytest.raises(ValueError, match=r"^(points|faces)") as error:
        Target.from_triangles(vertices, faces)
    assert words in str(error.value)


def solid_of_revolution(*profile):
    """Return a body of revolution with a given profile."""
    return trimesh.creation.revolve(np.array(profile), sections=32)


BOTTLE = solid_of_revolution(
    (0, 0), (0.1, 0), (0.1, 0.3), (0.03, 0.3), (0.03, 0.295), (0.095, 0.295), (0.095, 0.005), (0, 0.005)
)
CUP = solid_of_revolution((0, 0), (0.1, 0), (0.1, 0.1), (0.097, 0.1), (0.097, 0.003), (0, 0.003))


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_hollow_part_becomes_solid(scale):
    found = Target.from_triangles(scale * BOTTLE.vertices, BOTTLE.faces)
    assert found.kind == "mesh" and any("is hollow: inner walls are left out" in note for note in found.notes)
    generator = np.random.default_rng(0)
    points = generator.uniform((-0.13, -0.13, -0.05), (0.13, 0.13, 0.35), (2000, 3))
    across = np.hypot(points[:, 0], points[:, 1])
    below_the_neck = across > 0.06  # undefined in the neck
    inside = (across < 0.0995 * np.cos(np.pi / 32)) & (points[:, 2] > 0.0) & (points[:, 2] < 0.3)
    clear = below_the_neck & (np.abs(across - 0.1) > 0.001)
    np.testing.assert_array_equal(found.contains(scale * points[clear]), inside[clear])
    # The inner wall does not count as surface.
    middle = scale * np.array([[0.07, 0.0, 0.15]])
    assert found.signed_distance(middle) == pytest.approx(-0.03 * scale, rel=0.03)


def test_thin_cup_becomes_its_hull_with_a_note():
    found = target(CUP)
    assert found.kind == "hull" and any("is a skin around a hollow" in note for note in found.notes)
    assert found.contains(np.array([[0.0, 0.0, 0.09]])).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["wire", "tube"])
def test_slender_diagonal_meshes_are_searched_for_hollows(name):
    mesh = {
        "wire": trimesh.creation.box((1e-3, 1e-3, 1.0)),
        "tube": trimesh.creation.annulus(0.0095, 0.01, 1.0, sections=16),
    }[name]
    mesh.apply_transform(trimesh.geometry.align_vectors((0.0, 0.0, 1.0), (1.0, 1.0, 1.0)))
    found = target(mesh)
    assert found.kind == "mesh"
    assert [note.split(":")[0] for note in found.notes] == ["is hollow"] * (name == "tube")


def test_concave_solid_without_hollow_is_unchanged():
    bracket = trimesh.util.concatenate([
        trimesh.creation.box(bounds=((0, 0, 0), (0.2, 0.1, 0.02))),
        trimesh.creation.box(bounds=((0, 0, 0), (0.02, 0.1, 0.2))),
    ])  # fmt: skip
    plate = trimesh.creation.box((0.3, 0.2, 0.004))
    ring = trimesh.creation.torus(0.1, 0.02)
    bowl = solid_of_revolution((0, 0), (0.1, 0), (0.1, 0.1), (0.08, 0.1), (0.08, 0.04), (0, 0.04))
    for mesh in (bracket, plate, ring, bowl):
        found = target(mesh)
        assert found.kind == "mesh" and not found.notes
        assert len(found.corners) == len(mesh.faces)


@pytest.mark.parametrize("count", [1, 4, 37, 1280])
def test_ray_queries_match_brute_force(count):
    corners = np.asarray(trimesh.creation.icosphere(3).triangles)[:count] * (1.0, 0.5, 0.3)
    generator = np.random.default_rng(1)
    points, along = generator.normal(size=(2, 300, 3))
    along[:30] = np.eye(3)[generator.integers(3, size=30)] * generator.choice((-1.0, 1.0), (30, 1))  # along an axis
    found = TriangleTree(corners).is_blocked(points, along)
    for point, direction, meets in zip(points, along, found, strict=True):
        # Point + t direction = a + u ab + v ac, all triangles at once.
        a, b, c = corners.transpose(1, 0, 2)
        system = np.stack([np.tile(-direction, (len(a), 1)), b - a, c - a], axis=2)
        across = np.abs(np.linalg.det(system)) > 0.0  # no ray meets a triangle whose plane it is parallel to
        t, u, v = np.linalg.solve(system[across], (point - a[across])[:, :, None])[:, :, 0].T
        assert meets == ((t > 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0)).any()


# ---------------------------------------------------------------------------------------------- distances of bodies

ROTATION = Rotation.from_rotvec((0.4, -1.0, 0.7)).as_matrix()
CENTRE = np.array([0.1, -0.2, 0.05])
SIZE = (0.5, 0.3, 0.4)
BODIES = {
    "superovoid": (
        equations.SUPEROVOID,
        (0.6, 0.8),
        (0.2, 0.2),
        Superovoid(SIZE, section_exponent=0.6, profile_exponent=0.8, taper=(0.2, 0.2)),
    ),
    "double pyramid": (
        equations.SUPEROVOID,
        (1.2, 0.9),
        (-0.3, -0.3),
        Superovoid(SIZE, section_exponent=1.2, profile_exponent=0.9, taper=(-0.3, -0.3)),
    ),
    "wedge": (
        equations.WEDGE,
        (0.7, 1.0),
        (0.4, -0.2),
        Superovoid(SIZE, section_exponent=0.7, profile_exponent=1.0, taper=(0.4, -0.2)),
    ),
    "box": (equations.BOX, (1.0, 1.0), (0.0, 0.0), Box(2.0 * np.array(SIZE))),
    "cylinder": (equations.CYLINDER, (1.0, 1.0), (0.0, 0.0), Cylinder(0.5, 0.8)),
    "capsule": (equations.CAPSULE, (1.0, 1.0), (0.0, 0.0), Capsule(0.5, 0.8)),
    "torus": (equations.TORUS, (1.0, 1.0), (0.0, 0.0), Torus(0.9, 0.4)),
}


def row(kind, epsilon, tapers):
    made = np.zeros(equations.ROW_LENGTH)
    made[equations.KIND], made[equations.RADIUS] = kind, 1.5
    made[equations.TAPERS : equations.TAPERS + 2] = tapers
    made[equations.SIZE : equations.SIZE + 3] = SIZE
    made[equations.EXPONENTS : equations.EXPONENTS + 2] = epsilon
    made[equations.ROTATION : equations.ROTATION + 9] = ROTATION.ravel()
    made[equations.CENTRE : equations.CENTRE + 3] = CENTRE
    made[equations.CHAIN : equations.CHAIN + 3] = 1.0  # the parameters are exponents and tapers themselves
    return made


def distances(made, points, steps=200):
    found, slopes = np.empty(len(points)), np.empty((len(points), equations.PARAMETERS))
    equations.body_distances(made, np.ascontiguousarray(points), steps, found, slopes, equations.scratch(1))
    return found, slopes


@pytest.mark.parametrize("name", BODIES)
def test_body_distances_are_lower_bounds_and_agree_near_the_surface(name):
    kind, epsilon, tapers, shape = BODIES[name]
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = ROTATION, CENTRE
    points = np.random.default_rng(1).normal(size=(150, 3)) * 0.4
    found, _ = distances(row(kind, epsilon, tapers), points)
    for point, value in zip(points, found, strict=True):
        place = np.eye(4)
        place[:3, 3] = point
        truth = distance(shape, pose, Sphere(1e-6), place)
        assert value <= truth.upper + 1e-6 + 1e-12
        if abs(value) < 0.1:
            assert value == pytest.approx(truth.distance + 1e-6, abs=2e-3)


def move(made, parameter, step):
    made = made.copy()
    if parameter < 3:
        made[equations.SIZE + parameter] *= np.exp(step)
    elif parameter < 6:
        e1, tx = equations.EXPONENTS, equations.TAPERS
        equal = ([e1], [e1 + 1], [tx, tx + 1])
        made[
            ([e1], [tx], [tx + 1])[parameter - 3] if made[equations.KIND] == equations.WEDGE else equal[parameter - 3]
        ] += step
    elif parameter < 9:
        turn = Rotation.from_rotvec(step * np.eye(3)[parameter - 6]).as_matrix()
        made[equations.ROTATION : equations.ROTATION + 9] = (turn @ ROTATION).ravel()
    else:
        made[equations.CENTRE + parameter - 9] += step
    return made


@pytest.mark.parametrize("name", BODIES)
def test_distance_derivatives_match_finite_differences(name):
    kind, epsilon, tapers, _ = BODIES[name]
    made = row(kind, epsilon, tapers)
    points = CENTRE + np.random.default_rng(2).normal(size=(40, 3)) * 0.4
    found, slopes = distances(made, points)
    smooth = (found > 0.0) & (found < 0.3)  # inside there are creases
    unused = () if kind in (equations.SUPEROVOID, equations.WEDGE) else (3, 4, 5)
    for parameter in set(range(equations.PARAMETERS)) - set(unused):
        ahead, behind = (distances(move(made, parameter, step), points)[0] for step in (1e-6, -1e-6))
        np.testing.assert_allclose(slopes[smooth, parameter], ((ahead - behind) / 2e-6)[smooth], atol=2e-2)
        assert np.median(np.abs(slopes[:, parameter] - (ahead - behind) / 2e-6)) < 1e-5


def test_all_wedge_parameters_give_convex_bodies():
    # The condition increases with e1 and is largest at the ends of the tapers (`joint`), so these cases suffice.
    for tapers in ((0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)):
        assert (
            Superovoid((1.0, 1.0, 1.0), section_exponent=descent.WEDGE_HIGH, profile_exponent=1.0, taper=tapers)
            .convexity()
            .convex
        )
    generator = np.random.default_rng(3)
    for _ in range(200):
        body = joint.body_in_box(equations.WEDGE, np.eye(3), np.ones(3), np.zeros(3), (1.0, 1.0))
        body.unknowns[0, 3:6] = generator.uniform(-9.0, 9.0, 3)
        ((shape, _),) = body.shapes(1.0, np.zeros(3))
        assert shape.convexity().convex and shape.profile_exponent == 1.0
        tangent = shape.surface_point(*generator.uniform((-1.57, -3.14), (1.57, 3.14), (40, 2)).T)
        # Midpoints of chords lie inside: a test independent of the formulas of convexity.
        assert shape.contains(0.5 * (tangent[:20] + tangent[20:])).all()


@pytest.mark.parametrize("shift", [(0.2, 0.3, 0.4), (0.2, 0.3, 0.0)], ids=["corner", "edge"])
def test_inverted_part_touching_another_has_its_own_inside(shift):
    other = BOX.copy()
    other.apply_translation(shift)
    other.invert()
    found = target(trimesh.util.concatenate([BOX, other]))
    assert found.notes == ("1 of its 2 parts were inside out",)
    assert found.contains(np.array([np.zeros(3), shift])).all()


@pytest.mark.parametrize("kind", ["mesh", "hull"])
def test_unused_vertices_are_ignored(kind):
    found = Target.from_triangles(np.vstack([[9.0, 0.0, 0.0], BOX.vertices]), BOX.faces + 1, kind)
    np.testing.assert_array_equal([found.lower, found.upper], BOX.bounds)


@pytest.mark.parametrize("softness", [0.0, 0.05])
def test_one_moving_body_has_the_loss_of_all_bodies(softness):
    generator = np.random.default_rng(6)
    kinds = (equations.BOX, equations.CAPSULE, equations.SUPEROVOID)
    one, two, new = (
        joint.body_in_box(kind, ROTATION, np.array((0.4, 0.3, 0.5)), centre, (0.5, 0.8))
        for kind, centre in zip(kinds, generator.uniform(-0.6, 0.6, (3, 3)), strict=True)
    )
    points = generator.uniform(-1.0, 1.0, (700, 3))
    rows = joint.samples_at(points, generator.uniform(-0.3, 0.3, 700), np.full(700, 1.0 / 700))
    loss = equations.Loss(band=0.4, softness=softness, knee=0.05, steps=40, fill=0.0)
    # Bodies with a share below 1e-4 of the soft minimum are left out, which changes it by 1e-4 of the softness.
    within = 1e-7 + 1e-4 * softness
    for others in ((one,), (one, two) if softness == 0.0 else (two,)):
        still = others[0] if len(others) == 1 else one.add_bodies(two)
        cost, residuals = joint.evaluate(new, joint.samples_behind(still, rows), loss)
        expected, of_all = joint.evaluate(still.add_bodies(new), rows, loss)
        np.testing.assert_allclose(residuals, of_all, atol=within)
        assert cost == pytest.approx(expected, rel=1e-5)
    distances = [joint.distances_of(each, points)[0] for each in (one, two)]
    both = joint.union_distances(one.add_bodies(two), rows)
    np.testing.assert_allclose(both, np.clip(np.min(distances, axis=0), -1.0, 1.0), atol=1e-7)


def test_descent_of_a_body_ignores_what_others_already_cover():
    half = np.array((0.2, 0.2, 0.2))
    still = joint.body_in_box(equations.BOX, np.eye(3), half, np.array((-0.4, 0.0, 0.0)), (1.0, 1.0))
    goal = joint.body_in_box(equations.BOX, np.eye(3), half, np.array((0.4, 0.0, 0.0)), (1.0, 1.0))
    points = np.random.default_rng(2).uniform(-0.8, 0.8, (4000, 3))
    nothing = joint.samples_at(points, np.zeros(4000), np.full(4000, 1.0 / 4000))
    rows = joint.samples_at(points, joint.union_distances(still.add_bodies(goal), nothing), nothing[:, 4])
    start = joint.body_in_box(equations.BOX, np.eye(3), 0.8 * half, np.array((0.3, 0.1, 0.05)), (1.0, 1.0))
    loss = equations.Loss(band=0.4, softness=0.0, knee=0.05, steps=12, fill=0.0)
    cost, found = joint.descend(start, joint.samples_behind(still, rows), loss, 40)
    assert cost < 1e-12
    np.testing.assert_allclose(found.unknowns, goal.unknowns, atol=1e-4)
    assert joint.descend(start, rows, loss, 40)[0] > 1e-4

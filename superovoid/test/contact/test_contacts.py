# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contact points: corners of patches by scipy's polytopes, closed forms, bisection, symmetries, and wrong input."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError
from scipy.spatial.transform import Rotation

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
    Status,
    Superovoid,
    Torus,
    contacts,
)
from superovoid.contact import polygons as polygons_of
from superovoid.contact.facing import leave
from superovoid.testing import contract, flat_contacts

from draws import mild_superovoid, unit

TABLE = HalfSpace()
GROUND = np.eye(4)


def at(x, y, z, turn=(0.0, 0.0, 0.0)):
    """Return a pose with a rotation vector."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


def motion(rng, reach=1.0):
    """Return a random rigid motion."""
    return at(*rng.normal(size=3) * reach, turn=Rotation.random(rng=rng).as_rotvec())


def assert_same_points(found, expected, tolerance):
    """Compare two sets of points in any order."""
    apart = np.linalg.norm(np.asarray(found)[:, None] - np.asarray(expected)[None], axis=2)
    assert apart.min(axis=1).max() <= tolerance, (found, expected)
    assert apart.min(axis=0).max() <= tolerance, (found, expected)


def unit_of(a, b):
    """Return the extent of the smaller body."""
    return min((size for size in map(contract.extent, (a, b)) if size > 0.0), default=1.0)


# --- against references ---------------------------------------------------------------------------------------------


def vertices_of(shape):
    if isinstance(shape, Box):
        return np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * shape.lengths
    return shape.vertices


def facing_plane(shape, pose, n, angle):
    """Return the corners of the facet that faces n, with its normal; None if there is no such facet, or several."""
    points = vertices_of(shape) @ pose[:3, :3].T + pose[:3, 3]
    planes = ConvexHull(points).equations
    facing = planes[planes[:, :3] @ n >= math.cos(angle)]
    if not len(facing) or np.abs(facing - facing[0]).max() > 1e-9:
        return None
    plane = facing[0]
    return points[np.abs(points @ plane[:3] + plane[3]) < 1e-9], plane


def chebyshev(lines):
    """Return centre and radius of the largest disc in the polygon of lines a x + b y + c <= 0; None if it is empty."""
    found = linprog(
        [0, 0, -1],
        A_ub=np.column_stack([lines[:, :2], np.ones(len(lines))]),
        b_ub=-lines[:, 2],
        bounds=[(None, None), (None, None), (0, None)],
    )
    return found.x if found.status == 0 else None


def patch(face_a, face_b, tangents):
    """Return the corners shared by two faces across the normal; None if they share almost no area."""
    lines = np.vstack([ConvexHull(corners @ tangents.T).equations for corners, _ in (face_a, face_b)])
    inner = chebyshev(lines)
    if inner is None or inner[2] < 1e-3:
        return None
    corners = HalfspaceIntersection(lines, inner[:2]).intersections
    return corners[ConvexHull(corners).vertices]


@pytest.mark.ci
def test_corners_of_polytopes_agree_with_scipy():
    checked = 0
    for number in range(400):
        rng = np.random.default_rng([71, number])
        a, pose_a, b, pose_b = flat_contacts.pair(rng, *rng.choice(["box", "convex mesh"], size=2))
        found = contacts(a, pose_a, b, pose_b, math.inf, max_contacts=100)
        n = found.normal
        faces = facing_plane(a, pose_a, n, 0.01), facing_plane(b, pose_b, -n, 0.01)
        if None in faces:
            continue
        tangents = np.linalg.svd(n[None])[2][1:]
        try:
            corners = patch(*faces, tangents)
        except QhullError:
            continue
        if corners is None:
            continue
        checked += 1
        unit = unit_of(a, b)
        witness = np.linalg.norm(found.point_a - found.result.point_a, axis=1) < 1e-9 * unit
        places = found.point_a @ tangents.T
        apart = np.linalg.norm(places[:, None] - corners[None], axis=2)
        assert apart.min(axis=0).max() < 1e-5 * unit
        assert apart[~witness].min(axis=1).max(initial=0.0) < 1e-5 * unit
        for x, y, gap in zip(found.point_a, found.point_b, found.gap, strict=True):
            heights = [
                -(p @ plane[:3] + plane[3]) / (plane[:3] @ n) for p, (_, plane) in zip((x, y), faces, strict=True)
            ]
            assert np.abs(heights).max() < 1e-8 * unit  # both points are on the faces
            assert abs((y - x) @ n - gap) < 1e-8 * unit
    assert checked > 150


@pytest.mark.ci
def test_hulls_and_intersections_of_polygons_agree_with_scipy():
    rng = np.random.default_rng(8)
    met = 0
    for _ in range(200):
        one, other = rng.normal(size=(int(rng.integers(3, 12)), 2)), rng.normal(size=(int(rng.integers(3, 12)), 2))
        other += rng.normal(size=2)
        polygons = []
        for points in (one, other):
            rows = [(x, y) for x, y in points.tolist()]
            corners = polygons_of.hull(rows, 0.0)
            expected = ConvexHull(points)
            assert set(corners) == set(expected.vertices)
            polygons.append([rows[k] for k in corners])
            assert polygons_of.area(polygons[-1]) == pytest.approx(expected.volume, rel=1e-12)
        shared = polygons_of.clip_polygon(polygons[0], polygons_of.edge_lines(polygons[1]), 0.0)
        lines = np.vstack([ConvexHull(points).equations for points in (one, other)])
        inner = chebyshev(lines)
        assert (len(shared) > 0) == (inner is not None)
        if inner is not None and inner[2] > 1e-6:
            met += 1
            corners = HalfspaceIntersection(lines, inner[:2]).intersections
            assert_same_points(shared, corners, 1e-9)
    assert met > 50


@pytest.mark.ci
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_points_lie_on_both_surfaces_opposite_each_other(first):
    several = 0
    for number in range(first, first + 100):
        a, pose_a, b, pose_b = flat_contacts.draw(5, number)
        unit = unit_of(a, b)
        limit = (math.inf, 0.1 * unit)[number % 2]
        found = contacts(a, pose_a, b, pose_b, limit)
        exact = found.result
        assert (len(found) > 0) == (-math.inf < exact.distance <= limit)
        if not len(found):
            continue
        several += len(found) > 1
        coordinates = max(np.abs(pose[:3, 3]).max() for pose in (pose_a, pose_b))
        goal = 1e-8 * unit + 1e-13 * (coordinates + contract.extent(a) + contract.extent(b))
        wide = goal if exact.certified else goal + exact.upper - exact.lower
        assert len(found) <= 8
        assert (found.gap <= limit).all()
        assert (np.diff(found.gap) >= -goal).all()
        assert exact.lower - goal <= found.gap[0] <= exact.upper + goal
        for k, (x, y) in enumerate(zip(found.point_a, found.point_b, strict=True)):
            allowed = wide if k == 0 else goal
            assert np.linalg.norm(y - x - found.gap[k] * found.normal) <= 10.0 * allowed
            for shape, pose, point in ((a, pose_a, x), (b, pose_b, y)):
                assert contract.surface_distance(shape, contract.in_frame(pose, point)) <= allowed
    assert several > 20


def height(shape, pose, x, y, top):
    """Return the height of the underside of a superovoid at x, y, by bisection of its implicit function."""

    def value(z):
        return float(shape.implicit(contract.in_frame(pose, np.array([x, y, z]))))

    return brentq(value, -1e-3, top, xtol=1e-15)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-6, 1e-3, 5e-3, 9e-3])
@pytest.mark.parametrize("exponent", [0.01, 0.05, 0.2])
def test_a_boxy_superovoid_has_four_corners_on_a_table(exponent, tilt):
    body = Superovoid((0.2, 0.3, 0.1), section_exponent=exponent, profile_exponent=exponent)
    turn = Rotation.from_rotvec((tilt, 0.3 * tilt, 0.0)).as_matrix()
    pose = at(0.4, -0.2, float(body.support_value(-turn[2])), (tilt, 0.3 * tilt, 0.0))
    found = contacts(body, pose, TABLE, GROUND, 0.01)
    corners = found.point_b[:, :2] - (0.4, -0.2)
    for sign in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        beside = corners * sign
        assert ((beside > (0.4 * 0.2, 0.4 * 0.3)) & (beside < (0.2 + 1e-3, 0.3 + 1e-3))).all(axis=1).any()
    assert 4 <= len(found) <= 5
    for (x, y, _), gap in zip(found.point_b, found.gap, strict=True):
        assert gap == pytest.approx(height(body, pose, x, y, 0.1), abs=1e-10)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.3, 0.1), (0.45, 0.45), (0.8, 0.0)])
def test_patch_of_a_disc_and_a_box_spans_most_shared_samples(shift):
    box = Box((1.0, 0.8, 0.2))
    found = contacts(Cylinder(0.5, 0.4), at(*shift, 0.3, (2e-3, 1e-3, 0.4)), box, GROUND, 0.1, max_contacts=100)
    x, y = np.random.default_rng(2).uniform((-0.5, -0.4), (0.5, 0.4), size=(200_000, 2)).T
    shared = 0.8 * np.mean(np.hypot(x - shift[0], y - shift[1]) <= 0.5)
    assert 0.94 * shared < ConvexHull(found.point_b[:, :2]).volume < 1.01 * shared


ON_ITS_END, ON_ITS_SIDE = (0.0, 0.0, 0.0), (0.0, 0.5 * math.pi, 0.0)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("axes", "exponents", "taper", "turn"),
    [
        ((0.5, 0.4, 0.3), (0.05, 0.05), (0, 0), ON_ITS_END),
        ((0.5, 0.4, 0.3), (0.3, 0.1), (0, 0), ON_ITS_END),
        ((0.5, 0.4, 0.3), (1.0, 0.1), (0, 0), ON_ITS_END),
        ((0.5, 0.4, 0.3), (1.0, 0.4), (0, 0), ON_ITS_END),
        ((0.5, 0.4, 0.3), (0.5, 0.5), (0, 0), ON_ITS_END),
        ((1.3, 0.12, 1.3), (0.6, 0.04), (0, 0), ON_ITS_END),
        ((2.0, 0.1, 0.3), (1.0, 0.05), (0, 0), ON_ITS_END),
        ((0.05, 1.6, 0.2), (0.3, 0.1), (0, 0), ON_ITS_SIDE),
        ((2e-3, 7.0, 1.6), (0.4, 0.05), (0, -0.5), ON_ITS_SIDE),
    ],
)
def test_flat_of_a_superovoid_ends_as_its_sampled_normals_turn(axes, exponents, taper, turn):
    section, profile = exponents
    body = Superovoid(axes, section_exponent=section, profile_exponent=profile, taper=taper)
    turned = Rotation.from_rotvec((2e-3, -1e-3, 0.0)) * Rotation.from_rotvec(turn)
    pose = at(0, 0, float(body.support_value(-turned.as_matrix()[2])), turned.as_rotvec())
    found = contacts(body, pose, TABLE, GROUND, 0.1, max_contacts=9)
    eta, omega = np.meshgrid(np.linspace(-0.5, 0.5, 1601) * np.pi, np.linspace(-1, 1, 801) * np.pi)
    points = body.surface_point(eta, omega).reshape(-1, 3)
    points = points[(np.abs(points) > 1e-12).all(axis=1)]
    normals = body.gradient(points)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    facing = points[-(normals @ pose[:3, :3].T)[:, 2] >= math.cos(0.01)] @ pose[:3, :3].T
    sampled = ConvexHull(facing[:, :2]).volume
    assert 0.85 * sampled < ConvexHull(found.point_b[:, :2]).volume < 1.01 * sampled
    # No sample of the flat is lower than the first point, and none is higher than the highest corner.
    gaps = facing[:, 2] + pose[2, 3]
    inside = ConvexHull(found.point_b[:, :2]).equations
    within = (facing[:, :2] @ inside[:, :2].T + inside[:, 2] <= 0.0).all(axis=1)
    assert within.sum() > 1000
    assert gaps[within].min() >= found.gap[0] - 1e-9
    assert gaps[within].max() <= found.gap[-1] + 1e-9


# --- known answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-6, 1e-3])
def test_box_on_a_table_has_gaps_of_its_tilt(tilt):
    box = Box((0.4, 0.6, 0.2))
    lift = 0.3 * math.sin(tilt) + 0.1 * math.cos(tilt)
    found = contacts(box, at(1.0, 2.0, lift + 1e-3, (tilt, 0.0, 0.0)), TABLE, GROUND, 0.01)
    assert_same_points(found.point_b[:, :2] - (1, 2), [(x, y) for x in (0.2, -0.2) for y in (0.3, -0.3)], 1e-3)
    gaps = np.sort(found.gap)
    assert gaps == pytest.approx([1e-3] * 2 + [1e-3 + 0.6 * math.sin(tilt)] * 2, abs=1e-14)
    assert np.allclose(found.normal, (0, 0, -1), atol=0)


def test_box_tilted_by_more_than_the_angle_has_its_edge_alone():
    box = Box((0.4, 0.6, 0.2))
    lift = 0.3 * math.sin(0.02) + 0.1 * math.cos(0.02)
    pose = at(0, 0, lift, (0.02, 0, 0))
    assert len(contacts(box, pose, TABLE, GROUND, math.inf)) == 2
    assert len(contacts(box, pose, TABLE, GROUND, math.inf, angle=0.03)) == 4


def test_corners_beyond_the_largest_distance_are_left_out():
    box = Box((0.4, 0.6, 0.2))
    pose = at(0, 0, 0.3 * math.sin(5e-3) + 0.1 * math.cos(5e-3), (5e-3, 0, 0))
    assert len(contacts(box, pose, TABLE, GROUND, 1e-3)) == 2
    assert len(contacts(box, pose, TABLE, GROUND, 4e-3)) == 4


LYING = (0.5 * math.pi, 0.0, 0.0)


@pytest.mark.parametrize(
    ("shape", "pose", "count", "reach"),
    [
        (Sphere(0.1), at(0, 0, 0.1), 1, 0.0),
        (Ellipsoid((0.1, 0.2, 0.15)), at(0, 0, 0.15), 1, 0.0),
        (Capsule(0.1, 0.4), at(0, 0, 0.1, LYING), 2, 0.2),
        (Capsule(0.1, 0.4), at(0, 0, 0.3), 1, 0.0),
        (Cylinder(0.1, 0.4), at(0, 0, 0.2), 8, 0.1),
        (Cylinder(0.1, 0.4), at(0, 0, 0.1, LYING), 2, 0.2),
        (Cone(0.1, 0.4), at(0, 0, 0.2), 8, 0.1),
        (Cone(0.1, 0.4), at(0, 0, 0.2, (math.pi, 0, 0)), 1, 0.0),
        (Torus(0.3, 0.1), at(0, 0, 0.1), 8, 0.3),
        (Torus(0.3, 0.1), at(0, 0, 0.4, LYING), 1, 0.0),
        (HalfSpace(), at(0, 0, 0, (math.pi, 0, 0)), 1, 0.0),
    ],
)
def test_round_bodies_on_a_table_have_points_rulings_and_rims(shape, pose, count, reach):
    found = contacts(shape, pose, TABLE, GROUND, 1e-3)
    assert len(found) == count
    assert np.abs(found.gap).max() < 1e-15
    assert np.linalg.norm(found.point_b[:, :2], axis=1) == pytest.approx([reach] * count, abs=1e-12)


def test_cone_on_its_side_touches_along_a_ruling():
    cone, half_angle = Cone(0.3, 0.4), math.atan2(0.3, 0.4)
    turn = (0.0, 0.5 * math.pi + half_angle, 0.0)
    found = contacts(cone, at(0, 0, 0.2 * math.sin(half_angle), turn), TABLE, GROUND, 1e-9)
    assert len(found) == 2
    assert np.linalg.norm(np.ptp(found.point_b, axis=0)) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-4])
def test_a_flat_cone_faces_a_table_with_its_whole_side(tilt):
    cone = Cone(1.0, 1e-3)
    turn = (math.pi - tilt, 0.0, 0.0)
    lift = float(cone.support_value(-Rotation.from_rotvec(turn).as_matrix()[2]))
    found = contacts(cone, at(0, 0, lift, turn), TABLE, GROUND, 0.1, max_contacts=100)
    assert len(found) == 17
    assert found.gap[0] == pytest.approx(0.0, abs=1e-12)
    assert found.gap[1:].min() == pytest.approx(1e-3 - math.sin(tilt), abs=1e-6)
    assert found.gap[1:].max() == pytest.approx(1e-3 + math.sin(tilt), abs=1e-6)


def test_parallel_edges_overlap_in_a_segment_and_crossed_in_a_point():
    ridge = (0.25 * math.pi, 0.0, 0.0)
    lower, upper = Box((2.0, 0.4, 0.4)), Box((1.0, 0.4, 0.4))
    top = 0.4 * math.sqrt(0.5)
    found = contacts(upper, at(1.2, 0, 2 * top + 1e-4, ridge), lower, at(0, 0, 0, ridge), 1e-3)
    assert_same_points(found.point_a[:, :1], [[0.7], [1.0]], 1e-12)
    assert found.gap == pytest.approx([1e-4, 1e-4], abs=1e-12)
    pose = at(0.2, 0, 2 * top + 1e-4)
    pose[:3, :3] = Rotation.from_rotvec((0, 0, 1.0)).as_matrix() @ Rotation.from_rotvec(ridge).as_matrix()
    assert len(contacts(upper, pose, lower, at(0, 0, 0, ridge), 1e-3)) == 1


def test_edges_turned_within_the_angle_have_gaps_of_their_slopes():
    ridge = Rotation.from_rotvec((0.25 * math.pi, 0.0, 0.0)).as_matrix()
    box, top, turn = Box((1.0, 0.4, 0.4)), 0.4 * math.sqrt(0.5), 1e-3
    pose_a, pose_b = at(0, 0, 2 * top), np.eye(4)
    pose_a[:3, :3], pose_b[:3, :3] = Rotation.from_rotvec((0, 0, turn)).as_matrix() @ ridge, ridge
    found = contacts(box, pose_a, box, pose_b, 0.01)
    ends = np.abs(found.point_a[:, 0]) > 0.4
    assert ends.sum() == 4  # of both edges
    assert found.gap[ends] == pytest.approx([0.5 * turn] * 4, rel=1e-2)
    assert found.gap[0] == pytest.approx(0.0, abs=1e-9)


def test_an_edge_on_a_face_is_cut_at_its_border():
    pose = at(0.3, 0.1, 0.1 + 0.4 * math.sqrt(0.5), (0.25 * math.pi, 0.0, 0.0))
    found = contacts(Box((1.0, 0.4, 0.4)), pose, Box((1.0, 1.0, 0.2)), GROUND, 1e-3)
    assert_same_points(found.point_b, [(-0.2, 0.1, 0.1), (0.5, 0.1, 0.1)], 1e-9)


def test_corner_on_a_face_is_one_point():
    turn = Rotation.align_vectors([(0, 0, -1)], [(1, 1, 1)])[0].as_rotvec()
    found = contacts(Box((0.2, 0.2, 0.2)), at(0, 0, 0.1 * math.sqrt(3) - 1e-3, turn), TABLE, GROUND, 0.0)
    assert len(found) == 1
    assert found.gap == pytest.approx([-1e-3], abs=1e-12)


def test_a_small_box_deep_in_a_large_one_has_four_corners():
    found = contacts(Box((0.1, 0.2, 0.1)), at(0.1, 0.2, 0.7), Box((2.0, 2.0, 2.0)), GROUND, 0.0)
    assert found.result.distance == pytest.approx(-0.35, abs=1e-9)
    assert_same_points(found.point_a, [(x, y, 0.65) for x in (0.05, 0.15) for y in (0.1, 0.3)], 1e-9)
    assert found.point_b[:, 2] == pytest.approx([1.0] * 4, abs=1e-9)


def test_plate_on_its_thin_side_keeps_four_corners():
    found = contacts(Box((1e-5, 1.0, 0.5)), at(0, 0, 0.25), TABLE, GROUND, 0.0)
    assert len(found) == 4


# --- meshes ---------------------------------------------------------------------------------------------------------


def join_boxes(boxes):
    """Return a mesh of separate boxes (lengths, centre)."""
    vertices, faces = [], []
    for lengths, centre in boxes:
        points, triangles = Box(lengths).triangles()
        faces.append(triangles + sum(map(len, vertices)))
        vertices.append(points + centre)
    return np.vstack(vertices), np.vstack(faces)


LEGS = [((0.1, 0.1, 0.6), (x, y, 0.3)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]


@pytest.mark.parametrize("kind", [Mesh, Shell])
def test_table_stands_on_the_outer_corners_of_its_legs(kind):
    table = kind(*join_boxes([*LEGS, ((1.4, 1.0, 0.1), (0, 0, 0.7))]))
    found = contacts(table, at(0, 0, 1e-4), TABLE, GROUND, 1e-3, max_contacts=4)
    assert_same_points(found.point_b[:, :2], [(x, y) for x in (-0.55, 0.55) for y in (-0.35, 0.35)], 1e-9)
    assert found.gap == pytest.approx([1e-4] * 4, abs=1e-12)


def test_faces_behind_other_faces_of_a_mesh_are_no_contacts():
    shelves = Mesh(*join_boxes([((1.0, 1.0, 0.1), (0, 0, 0.5)), ((1.0, 1.0, 0.1), (0, 0, 0.0))]))
    found = contacts(Box((0.3, 0.3, 0.2)), at(0.1, 0, 0.65), shelves, GROUND, math.inf)
    assert len(found) == 4
    assert np.abs(found.gap).max() < 1e-9


def test_mesh_has_the_corners_of_a_box_lying_on_it():
    tray = Mesh(*join_boxes([((2.0, 2.0, 0.1), (0, 0, -0.05)), ((2.0, 0.1, 0.3), (0, 1.5, 0.1))]))
    found = contacts(Box((0.3, 0.4, 0.2)), at(0.1, 0.2, 0.1, (0, 0, 0.3)), tray, GROUND, 1e-3)
    expected = contacts(Box((0.3, 0.4, 0.2)), at(0.1, 0.2, 0.1, (0, 0, 0.3)), TABLE, GROUND, 1e-3)
    assert_same_points(found.point_a, expected.point_a, 1e-9)


def test_ridges_and_tips_of_a_mesh_touch_a_table():
    points = np.array([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1), (-1, 0, 0), (1, 0, 0), (0, 0, 2)], dtype=float)
    shifted = points + np.array((5, 0, 0))
    spike = np.array([(0, 0, 0), (1, 0, 1), (-1, 1, 1), (-1, -1, 1)], dtype=float) + np.array((2.5, 3, 0))
    vertices, faces = [], []
    for part in (points, shifted, spike):
        hull = ConvexMesh(part)
        faces.append(hull.faces + sum(map(len, vertices)))
        vertices.append(hull.vertices)
    mesh = Mesh(np.vstack(vertices), np.vstack(faces))
    found = contacts(mesh, GROUND, TABLE, GROUND, 1e-6)
    assert_same_points(found.point_b[:, :2], [(-1, 0), (6, 0), (2.5, 3)], 1e-9)


# --- symmetries -----------------------------------------------------------------------------------------------------


def pairs_of_all_kinds(seed, count):
    for number in range(count):
        yield number, flat_contacts.draw(seed, number)


def test_mirrored_meshes_swap_bit_by_bit():
    rng = np.random.default_rng(8)
    for _ in range(10):
        points = rng.normal(size=(8, 3))
        a, b = ConvexMesh(points), ConvexMesh(points * (-1.0, 1.0, 1.0))
        one, other = contacts(a, GROUND, b, GROUND, 0.1), contacts(b, GROUND, a, GROUND, 0.1)
        assert (one.result.normal == -other.result.normal).all()
        assert (one.point_a == other.point_b).all() and (one.point_b == other.point_a).all()


@pytest.mark.ci
def test_swapping_bodies_swaps_the_points_bit_by_bit():
    for number, (a, pose_a, b, pose_b) in pairs_of_all_kinds(11, 300):
        one, other = contacts(a, pose_a, b, pose_b, math.inf), contacts(b, pose_b, a, pose_a, math.inf)
        assert np.array_equal(one.point_a, other.point_b), number
        assert np.array_equal(one.point_b, other.point_a), number
        assert np.array_equal(one.gap, other.gap), number
        assert np.array_equal(one.normal, -other.normal), number


STACKS = {
    "boxes": (Box((1.0, 0.8, 0.6)), Box((0.7, 1.1, 0.5))),
    "cylinders": (Cylinder(0.5, 0.6), Cylinder(0.4, 0.5)),
    "cylinder and box": (Cylinder(0.5, 0.6), Box((0.8, 0.7, 0.5))),
    "superovoid and box": (
        Superovoid((0.5, 0.4, 0.3), section_exponent=0.1, profile_exponent=0.1),
        Box((0.8, 0.7, 0.5)),
    ),
    "hull and table": (ConvexMesh(Box((1.0, 0.8, 0.6)).triangles()[0]), TABLE),
    "torus and table": (Torus(0.5, 0.3), TABLE),
    "cylinder and table": (Cylinder(0.5, 0.6), TABLE),
    "mesh and box": (Mesh(*join_boxes(LEGS)), Box((3.0, 3.0, 1.0))),
}


def stack(name):
    """Return two bodies, the first on top of the second and tilted a little."""
    a, b = STACKS[name]
    top = 0.0 if b is TABLE else 0.5 * b.lengths[2] if isinstance(b, Box) else 0.5 * b.length
    turn = (3e-3, 1e-3, 0.2)
    lift = float(a.support_value(-Rotation.from_rotvec(turn).as_matrix()[2]))
    return a, at(0.13, 0.07, top + lift + 1e-3, turn), b, GROUND


@pytest.mark.parametrize("name", STACKS)
def test_moving_both_bodies_moves_the_points(name):
    a, pose_a, b, pose_b = stack(name)
    found = contacts(a, pose_a, b, pose_b, 0.1)
    assert len(found) >= 4
    rng = np.random.default_rng(3)
    for reach, tolerance in ((1.0, 1e-9), (1e3, 1e-6)):
        for _ in range(5):
            move = motion(rng, reach)
            moved = contacts(a, move @ pose_a, b, move @ pose_b, 0.1)
            assert_same_points((moved.point_a - move[:3, 3]) @ move[:3, :3], found.point_a, tolerance)
            assert moved.gap == pytest.approx(found.gap, abs=tolerance)


def resize(shape, factor):
    if isinstance(shape, HalfSpace):
        return shape
    if isinstance(shape, Superovoid):
        axes = np.array(shape.semi_axes) * factor
        return Superovoid(axes, section_exponent=shape.section_exponent, profile_exponent=shape.profile_exponent)
    if isinstance(shape, Box):
        return Box(np.array(shape.lengths) * factor)
    if isinstance(shape, ConvexMesh):
        return ConvexMesh(shape.vertices * factor)
    if isinstance(shape, Mesh):
        return Mesh(shape.vertices * factor, shape.faces)
    if isinstance(shape, Torus):
        return Torus(shape.major_radius * factor, shape.minor_radius * factor)
    return type(shape)(shape.radius * factor, shape.length * factor)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e6])
@pytest.mark.parametrize("name", STACKS)
def test_scaling_both_bodies_scales_the_points(name, factor):
    a, pose_a, b, pose_b = stack(name)
    found = contacts(a, pose_a, b, pose_b, 0.1)
    scaled_a, scaled_b = pose_a.copy(), pose_b.copy()
    scaled_a[:3, 3] *= factor
    scaled_b[:3, 3] *= factor
    scaled = contacts(resize(a, factor), scaled_a, resize(b, factor), scaled_b, 0.1 * factor)
    assert_same_points(scaled.point_a / factor, found.point_a, 1e-8)
    assert scaled.gap / factor == pytest.approx(found.gap, abs=1e-9)


# --- fewer points ---------------------------------------------------------------------------------------------------


def test_fewer_points_keep_the_deepest_and_span_most_of_the_patch():
    a, pose_a, b, pose_b = stack("cylinders")
    found = contacts(a, pose_a, b, pose_b, 0.1, max_contacts=50)
    assert len(found) > 12
    whole = ConvexHull(found.point_a[:, :2]).volume
    for most, least in ((8, 0.8), (6, 0.7), (4, 0.5), (3, 0.3)):
        fewer = contacts(a, pose_a, b, pose_b, 0.1, max_contacts=most)
        assert len(fewer) == most
        assert np.array_equal(fewer.point_a[0], found.point_a[0])
        assert ConvexHull(fewer.point_a[:, :2]).volume > least * whole
        rest = np.linalg.norm(fewer.point_a[:, None] - found.point_a[None], axis=2).min(axis=1)
        assert rest.max() == 0.0
    one = contacts(a, pose_a, b, pose_b, 0.1, max_contacts=1)
    assert np.array_equal(one.point_a[0], one.result.point_a)
    two = contacts(a, pose_a, b, pose_b, 0.1, max_contacts=2)
    assert np.linalg.norm(two.point_a[1] - two.point_a[0]) > 0.7


# --- limits and wrong input -----------------------------------------------------------------------------------------


def test_bodies_farther_apart_have_no_contacts_and_a_proof():
    found = contacts(Box((1, 1, 1)), at(0, 0, 1.0), TABLE, GROUND, 0.1)
    assert len(found) == 0
    assert found.point_a.shape == found.point_b.shape == (0, 3)
    assert found.result.certified
    assert found.result.lower > 0.1


def test_half_spaces_without_a_common_normal_have_no_contacts():
    found = contacts(HalfSpace(), at(0, 0, 0, (1.0, 0, 0)), TABLE, GROUND, math.inf)
    assert len(found) == 0
    assert found.result.status & Status.UNBOUNDED


@pytest.mark.parametrize("value", [-1e-9, math.nan, None, "1", True, 10**400])
def test_largest_distance_must_be_a_nonnegative_number(value):
    with pytest.raises(ValueError, match=r"max_distance = .*: must be a number"):
        contacts(Sphere(1.0), GROUND, TABLE, GROUND, value)


@pytest.mark.parametrize("value", [0, -1, 1.5, None, True])
def test_number_of_contacts_must_be_a_positive_integer(value):
    with pytest.raises(ValueError, match=r"max_contacts = .*: must be an integer of at least 1"):
        contacts(Sphere(1.0), GROUND, TABLE, GROUND, 0.1, max_contacts=value)


@pytest.mark.parametrize("value", [0.0, -0.01, 0.6, math.nan, math.inf, "a"])
def test_angle_must_be_small_and_positive(value):
    with pytest.raises(ValueError, match=r"angle = .*: must be"):
        contacts(Sphere(1.0), GROUND, TABLE, GROUND, 0.1, angle=value)


def test_poses_and_shapes_are_checked_as_for_distances():
    with pytest.raises(ValueError, match="pose_a"):
        contacts(Sphere(1.0), np.zeros((4, 4)), TABLE, GROUND, 0.1)
    with pytest.raises(TypeError, match="b: must be a shape"):
        contacts(Sphere(1.0), GROUND, "table", GROUND, 0.1)
    assert len(contacts(Box((1, 1, 1)), (np.eye(3), (0, 0, 0.5)), TABLE, GROUND, 0.1)) == 4


def test_a_line_leaves_a_superovoid_on_its_surface_to_rounding():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        body = mild_superovoid(rng, (0.3, 1.0))
        m, size = unit(rng), np.array(body.semi_axes)
        p = body.support(m) + 0.02 * size.min() * np.cross(m, unit(rng))
        x = p + leave(body._body, tuple(p.tolist()), tuple(m.tolist())) * m
        gradient = body.gradient(x)
        if gradient @ m > 0.1 * np.linalg.norm(gradient):  # others run along the surface; lines that miss it have nan
            found.append(abs(body.implicit(x)) / np.linalg.norm(gradient) / size.max())
    assert len(found) > 100
    assert max(found) < 3e-14

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hulls of points and meshes: thin bodies, knife edges and nearly equal corners, against sums of all points."""

import sys
import threading
import time
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, ConvexMesh, HalfSpace, Mesh, Sphere, distance
from superovoid.contact.superovoids.triangles import least_length as length_for_bounds
from superovoid.shapes import hull

EPS = float(np.finfo(np.float64).eps)


def ball(count: int, rng: np.random.Generator) -> np.ndarray:
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def lowest_height(points: np.ndarray, turn: np.ndarray) -> float:
    """Return the least height of turned points, with twenty digits for the sum."""
    return float((points.astype(np.longdouble) @ turn[2].astype(np.longdouble)).min())


def needle(rng):
    return ball(180, rng) * (1.0, 1e-13, 1e-13)


def sheet(rng):
    return ball(150, rng) * (1.0, 1.0, 1e-13)


def double_points(rng):
    points = ball(60, rng)
    return np.concatenate([points, points + 1e-13 * rng.normal(size=points.shape)])


def nearly_flat_faces(rng):
    points = rng.uniform(-1.0, 1.0, size=(120, 3))
    axis = rng.integers(0, 3, size=len(points))
    points[np.arange(len(points)), axis] = np.sign(points[np.arange(len(points)), axis])
    return points + 1e-15 * rng.normal(size=points.shape)


def knife(rng):
    angle = rng.uniform(0.0, 2.0 * np.pi, size=150)
    return np.column_stack([np.cos(angle), np.sin(angle), 1e-9 * rng.normal(size=angle.size)])


@pytest.mark.parametrize("points", [needle, sheet, double_points, nearly_flat_faces, knife])
def test_no_corner_of_a_hull_is_missed(points):
    """Qhull omits protruding points of thin bodies, and its facets need not be convex at such points."""
    rng = np.random.default_rng(5)
    given = points(rng)
    body = ConvexMesh(given)
    for k in range(150):
        turn = Rotation.random(random_state=rng).as_matrix()
        if k % 2:  # a facet to the plane, or nearly
            a, b, c = body.vertices[body.faces[rng.integers(len(body.faces))]]
            normal = np.cross(b - a, c - a) + 1e-30
            normal += np.linalg.norm(normal) * 10.0 ** rng.uniform(-16, -3) * rng.normal(size=3)
            turn, _ = Rotation.align_vectors([(0.0, 0.0, -1.0)], [normal / np.linalg.norm(normal)])
            turn = turn.as_matrix()
        pose = np.eye(4)
        pose[:3, :3] = turn
        found = distance(HalfSpace(), np.eye(4), body, pose)
        exact = lowest_height(given, turn)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-12


# Qhull omitted the first corner, in coordinates a hundred times the body's size.
PLATE = np.array(
    [
        (-56.111039793647095, -156.24350354434694, -136.48308289159723),
        (-57.34752976497513, -157.57106368042162, -136.48308289159905),
        (-55.89786260022685, -156.69414358047553, -136.48308289159868),
        (-56.57034730797545, -157.74288998622086, -136.4830828915972),
        (-59.398017294680976, -156.43106036207118, -136.48308289159903),
        (-56.50572658148144, -156.4314038186971, -136.48308289159695),
        (-58.067359140887554, -157.80326152946967, -136.48308289159783),
        (-57.84315504339255, -156.15079121858793, -136.48308289159877),
    ]
)


def test_a_plate_far_from_its_origin_keeps_all_its_corners():
    body = ConvexMesh(PLATE)
    for direction in product((-1.0, 0.0, 1.0), repeat=3):
        if any(direction):
            exact = (PLATE.astype(np.longdouble) @ np.array(direction, dtype=np.longdouble)).max()
            assert abs(float(body.support_value(direction) - exact)) <= 4.0 * EPS * 180.0


def test_ordinary_hulls_have_few_corners():
    """Points on the faces of a box are no corners, even if rounding puts some of them above a face."""
    grid = np.array([p for p in product(np.linspace(-1.0, 1.0, 7), repeat=3) if max(map(abs, p)) == 1.0])
    turn = Rotation.random(random_state=2).as_matrix()
    assert len(ConvexMesh(grid).vertices) == 8
    body = ConvexMesh(grid @ turn.T)
    assert len(body.vertices) < len(grid)
    assert distance(body, np.eye(4), Sphere(0.1), np.eye(4)).distance == pytest.approx(-1.1, abs=1e-12)


SLIVER = (  # rounding of its normal makes the length 10 % too large
    (0.1699027669916092, -0.1688649418788433, -0.9708849989431548),
    (-0.6379114951892847, -0.718960633745568, -0.27597922282219456),
    (-0.6379114951892849, -0.7189606337455678, -0.2759792228221945),
)


def test_least_length_over_needles_of_directions_is_not_too_large():
    """Bounds of depths divide by it: rounding of a sliver's normal can make them wrong."""
    rng = np.random.default_rng(0)
    with mpmath.workdps(50):
        assert length_for_bounds(*SLIVER) <= least_length(SLIVER) * (1 + 8 * EPS)
        for k in range(600):
            n1 = ball(1, rng)[0]
            n2 = n1 + 10.0 ** rng.uniform(-9, -0.5) * rng.normal(size=3)
            n2 /= np.linalg.norm(n2)
            thin = 10.0 ** rng.uniform(-16, 0) * np.linalg.norm(n2 - n1)
            at = (n1, n2, 0.5 * (n1 + n2), n1 + rng.random() * (n2 - n1))[k % 4]
            n3 = at + thin * rng.normal(size=3)
            n3 /= np.linalg.norm(n3)
            if np.linalg.norm(n1 - n2) > 1.4:
                continue
            found = length_for_bounds(tuple(n1), tuple(n2), tuple(n3))
            exact = least_length((n1, n2, n3))
            assert exact * (1 - 8 * EPS) <= found * 1.2
            assert found <= exact * (1 + 8 * EPS)


def least_length(corners) -> mpmath.mpf:
    """Return the distance of a triangle from the origin: corners, edges, and the plane if its foot is inside."""
    a, b, c = (mpmath.matrix([mpmath.mpf(float(x)) for x in corner]) for corner in corners)

    def product_of(x, y):
        return mpmath.fsum(p * q for p, q in zip(x, y, strict=True))

    def cross(x, y):
        return mpmath.matrix([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])

    best = min(mpmath.norm(x) for x in (a, b, c))
    normal = cross(b - a, c - a)
    square = product_of(normal, normal)
    inside = square > 0
    foot = normal * (product_of(a, normal) / square) if inside else a
    for p, q in ((a, b), (b, c), (c, a)):
        edge = q - p
        length = product_of(edge, edge)
        if length > 0:
            t = -product_of(p, edge) / length
            if 0 < t < 1:
                best = min(best, mpmath.norm(p + t * edge))
        inside = inside and product_of(cross(edge, foot - p), normal) >= 0
    return min(best, mpmath.norm(foot)) if inside else best


def cells(*boxes: tuple) -> Mesh:
    """Return boxes, each given by two opposite corners, as one mesh."""
    points, faces = [], []
    for box in boxes:
        faces += [(np.array(face) + len(points)) for face in BOX_FACES]
        points += list(product(*zip(*box, strict=True)))
    return Mesh(np.array(points, dtype=float), np.array(faces))


BOX_FACES = ((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
             (0, 6, 4), (1, 5, 7), (1, 7, 3))  # fmt: skip


def test_either_part_of_a_mesh_is_found_inside_another():
    """One vertex of each mesh is not enough: another part may be the one inside."""
    outside, inside = ((-4.0, 0.0, 0.0), (-3.0, 1.0, 1.0)), ((0.4, 0.4, 0.4), (0.6, 0.7, 0.8))
    shell = cells(((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), ((9.0, 0.0, 0.0), (10.0, 1.0, 1.0)))
    pose = np.eye(4)
    for parts in ((outside, inside), (inside, outside)):
        for first, second in ((cells(*parts), shell), (shell, cells(*parts))):
            found = distance(first, pose, second, pose)
            assert found.upper < 0.0
            assert found.lower <= -0.6
    assert distance(cells(outside, ((1.5, 0.0, 0.0), (2.0, 1.0, 1.0))), pose, shell, pose).distance == pytest.approx(
        0.5
    )


@pytest.mark.parametrize("seed", [184, 295, 337, 391])
def test_a_nearly_touching_mesh_has_an_interval_with_the_gap(seed):
    """The search treats surfaces within a share of the tolerance as touching; `upper` must still contain the gap."""
    bars = cells(((-0.5, 0.0, -2.0), (-0.2, 0.9, 2.0)), ((-0.1, 0.0, -2.0), (0.5, 0.9, -1.0)))
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.2, 3.0, 3)
    pose, world = np.eye(4), np.eye(4)
    least, most = np.array((-0.5, 0.0, -2.0)), np.array((0.5, 0.9, 2.0))
    pose[:3, 3] = rng.uniform(least - half, most + half)
    pose[1, 3] = 0.9 + half[1] + 1e-12
    exact = pose[1, 3] - half[1] - 0.9
    world[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    found = distance(bars, world, Box(2.0 * half), world @ pose)
    assert found.lower <= exact + 2e-15
    assert exact - 2e-15 <= found.upper <= 1e-9


# --- triangles of mesh files ---------------------------------------------------------------------------------------


def soup(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give each triangle corners of its own."""
    return points[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)


def notched_bar(size: float, notch: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a bar of square section with a wedge cut into its top, x along it."""
    outline = np.array([(-1, -1), (1, -1), (1, 1), (notch, 1), (0, 1 - notch), (-notch, 1), (-1, 1)], dtype=float)
    triangles = [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6)]
    count = len(outline)
    points = size * np.array([(x, y, z) for z in (-1.0, 1.0) for x, y in outline])
    faces = [(c, b, a) for a, b, c in triangles] + [(a + count, b + count, c + count) for a, b, c in triangles]
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, j, j + count), (i, j + count, i + count)]
    return points, np.array(faces)


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3, 1.0, 1e6])
def test_small_bodies_keep_their_corners(size):
    """Merging all corners within 1e-8 m would ignore the size of the body."""
    points, faces = notched_bar(size, 0.004)
    body = Mesh.from_triangles(*soup(points, faces))
    assert len(body.vertices) == len(points)
    assert body.volume() == pytest.approx(8.0 * size**3 * (1 - 0.004**2 / 4), rel=1e-12)
    at = np.eye(4)
    at[1, 3] = 2.0 * size
    assert distance(body, np.eye(4), Sphere(0.5 * size), at).distance == pytest.approx(0.5 * size, rel=1e-4)


def test_corners_split_by_single_precision_are_merged_to_close_the_surface():
    points, faces = notched_bar(0.1, 0.3)
    corners, triangles = soup(points, faces)
    rng = np.random.default_rng(1)
    noisy = corners + 1e-11 * rng.uniform(-1.0, 1.0, size=corners.shape)
    body = Mesh.from_triangles(noisy, triangles)
    assert len(body.vertices) == len(points)
    assert {tuple(v) for v in body.vertices} <= {tuple(v) for v in noisy}
    with pytest.raises(ValueError, match="not closed"):
        Mesh.from_triangles(corners + 1e-5 * rng.uniform(-1.0, 1.0, size=corners.shape), triangles)


def test_triangles_are_checked_by_name():
    points, faces = notched_bar(1.0, 0.3)
    with pytest.raises(ValueError, match=r"Mesh.vertices: must be finite"):
        Mesh.from_triangles(np.where(points == 1.0, np.nan, points), faces)
    with pytest.raises(ValueError, match=r"Mesh.faces: indices must be in \[0, 14\), found 0 to 14"):
        Mesh.from_triangles(points, np.concatenate([faces, [(0, 1, 14)]]))
    with pytest.raises(ValueError, match=r"Mesh.faces: must be integers of shape"):
        Mesh.from_triangles(points, faces.astype(float))


def test_other_threads_run_while_a_hull_of_many_points_is_checked(monkeypatch):
    check, spans, moments = hull._most_above, [], []

    def timed(*arguments):
        begin = time.perf_counter()
        most = check(*arguments)
        spans.append((begin, time.perf_counter()))
        return most

    monkeypatch.setattr(hull, "_most_above", timed)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)  # s: no thread passes on the interpreter's lock unless it waits or releases it
    try:
        thread = threading.Thread(target=ConvexMesh, args=(ball(30_000, np.random.default_rng(0)),))
        thread.start()
        while thread.is_alive():
            moments.append(time.perf_counter())
            time.sleep(0.0)
    finally:
        sys.setswitchinterval(interval)
    assert any(begin < moment < end for begin, end in spans for moment in moments)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sheets of triangles: they have no inside, and everything that crosses them overlaps."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from superovoid import distance, point_distances
from superovoid.shapes import Box, Capsule, ConvexMesh, HalfSpace, Mesh, Shell, Sphere, Superovoid, Torus
from superovoid.shapes.scaling import scale_shape
from superovoid.testing.contract import surface_distance
from superovoid.values.status import Status

WIDTH, HEIGHT = 0.2, 0.3  # of the open box: half of its sides, and their height


def at(x, y, z):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def open_box(width=WIDTH, height=HEIGHT):
    """Return four sides and a floor at z = 0."""
    corners = [(x, y, z) for x in (-width, width) for y in (-width, width) for z in (0.0, height)]
    vertices, faces = ConvexMesh(corners).triangles()
    return vertices, faces[(vertices[faces][:, :, 2] < height).any(axis=1)]


BOX = Shell(*open_box())
FLAT = Shell([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])


@pytest.mark.parametrize(
    ("body", "place", "expected"),
    [
        (Sphere(0.05), (0.0, 0.0, 0.1), 0.05),
        (Sphere(0.05), (0.05, 0.0, 0.2), 0.1),
        (Box((0.1, 0.1, 0.1)), (0.0, 0.0, 0.2), 0.15),
        (Capsule(0.05, 0.1), (0.0, 0.0, 0.15), 0.05),
        (Superovoid((0.05, 0.06, 0.07)), (0.0, 0.0, 0.2), 0.13),
        (Torus(0.1, 0.02), (0.0, 0.0, 0.1), 0.08),
        (Mesh(*Box((0.1, 0.1, 0.1)).triangles()), (0.0, 0.0, 0.2), 0.15),
        (Shell(*open_box(0.1, 0.1)), (0.0, 0.0, 0.05), 0.05),
        (Sphere(0.05), (0.0, 0.0, 0.5), math.hypot(0.2, 0.2) - 0.05),
        (Sphere(0.05), (0.0, 0.0, -0.1), 0.05),
        (Sphere(0.05), (0.3, 0.0, 0.1), 0.05),
    ],
)
def test_distance_is_that_to_the_nearest_triangle_from_either_side(body, place, expected):
    for first, pose_a, second, pose_b in ((BOX, np.eye(4), body, at(*place)), (body, at(*place), BOX, np.eye(4))):
        found = distance(first, pose_a, second, pose_b)
        assert found.distance == pytest.approx(expected, abs=1e-9)
        assert found.lower <= expected + 1e-12 and found.upper >= expected - 1e-12
        assert not found.status & Status.UNPROVEN


@pytest.mark.parametrize("z", [0.04, -0.04])
def test_a_ball_touching_from_either_side_has_a_proved_depth(z):
    found = distance(BOX, np.eye(4), Sphere(0.05), at(0.0, 0.0, z))
    assert found.distance == pytest.approx(-0.01, abs=1e-8)
    assert not found.status & Status.UNPROVEN


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (Box((0.02, 0.02, 1.0)), (WIDTH, 0.0, 0.1)),
        (Box((2.0, 2.0, 2.0)), (0.0, 0.0, 0.1)),  # contains it wholly
        (Mesh(*Box((2.0, 2.0, 2.0)).triangles()), (0.0, 0.0, 0.1)),
        (Superovoid((0.05, 0.06, 0.07)), (0.0, 0.0, 0.0)),
        (HalfSpace(), (0.0, 0.0, 0.1)),
        (Shell(*open_box()), (0.1, 0.1, 0.1)),
    ],
)
def test_bodies_that_cross_or_contain_it_overlap(body, place):
    found = distance(BOX, np.eye(4), body, at(*place))
    assert found.distance < 0.0 and found.lower < 0.0


@pytest.mark.parametrize("seed", range(4))
def test_distances_of_balls_agree_with_samples_of_the_triangles(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rng.uniform(-0.5, 0.5, (9, 3)), rng.integers(9, size=(6, 3))
    shell = Shell(vertices, faces)
    weights = rng.dirichlet([1.0, 1.0, 1.0], 40_000)
    samples = np.concatenate([weights @ shell.vertices[face] for face in shell.faces])
    samples = np.concatenate([samples, shell.vertices])
    for _ in range(20):
        centre = rng.uniform(-0.7, 0.7, 3)
        expected = np.linalg.norm(samples - centre, axis=1).min()
        found = distance(shell, np.eye(4), Sphere(1e-6), at(*centre))
        if expected > 0.03:
            assert expected - 2e-2 <= found.distance + 1e-6 <= expected + 1e-9


@pytest.mark.parametrize("turn", [0.0, 0.3])
@pytest.mark.parametrize("z", [0.1, -0.1, 0.0501])
def test_a_sheet_in_one_plane_has_two_sides(z, turn):
    turned = np.eye(4)
    turned[:3, :3] = [[1, 0, 0], [0, math.cos(turn), -math.sin(turn)], [0, math.sin(turn), math.cos(turn)]]
    flat = Shell(FLAT.vertices @ turned[:3, :3].T, FLAT.faces)
    found = distance(flat, np.eye(4), Sphere(0.05), turned @ at(0.5, 0.5, z))
    assert found.distance == pytest.approx(abs(z) - 0.05, abs=1e-9)
    assert not found.status & Status.UNPROVEN


def test_a_shell_has_no_volume_and_grows_about_its_mean_vertex():
    assert not BOX.contains([(0.0, 0.0, 0.1), (0.0, 0.0, 0.0)]).any()
    assert BOX.volume() == 0.0 and not BOX.is_convex() and not FLAT.is_convex()
    assert len(BOX.faces) == 10 and len(BOX.triangles()[1]) == 10
    grown = scale_shape(BOX, 2.0)
    assert isinstance(grown, Shell) and np.ptp(grown.vertices, axis=0) == pytest.approx([0.8, 0.8, 0.6])


def test_a_closed_surface_may_be_a_sheet():
    hollow = Shell(*Box((1.0, 1.0, 1.0)).triangles())
    assert distance(hollow, np.eye(4), Sphere(0.1), np.eye(4)).distance == pytest.approx(0.4, abs=1e-9)


def test_shells_pickle_compare_and_print():
    assert pickle.loads(pickle.dumps(BOX)) == BOX and hash(BOX) == hash(Shell(*open_box()))
    assert BOX != Mesh(*Box((1.0, 1.0, 1.0)).triangles()) and repr(BOX) == "Shell(8 vertices, 10 triangles)"
    assert Shell.from_triangles(*open_box()) == BOX


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)], "one line"),
        ([(0, 0, 0), (1, 0, 0)], [(0, 1, 1)], "n >= 3"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 3)], "indices must be in"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 1)], "a corner twice"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, math.nan)], [(0, 1, 2)], "finite"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], np.empty((0, 3), dtype=int), "m >= 1"),
    ],
)
def test_arguments_other_than_sheets_are_errors(vertices, faces, words):
    with pytest.raises(ValueError, match=words):
        Shell(vertices, faces)


def test_intervals_hold_for_points_next_to_edges():
    rng = np.random.default_rng(9)
    for _ in range(300):
        corners = rng.normal(size=(6, 3))
        sheet = Shell(corners, [(0, 1, 2), (3, 4, 5)])
        share = rng.uniform(size=(20, 1))
        points = share * corners[0] + (1.0 - share) * corners[1]
        points += rng.normal(size=(20, 3)) * 10.0 ** -rng.uniform(7.0, 10.0, (20, 1))
        found = point_distances(sheet, points)
        exact = np.array([surface_distance(sheet, point) for point in points])
        assert (found.lower - 1e-14 <= exact).all()
        assert (exact <= found.upper + 1e-14).all()

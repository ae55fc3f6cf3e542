# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies of small volume that contain a solid."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.fitting.cells import best_cut, clip, cut, hull_volume, points_of, whole_of
from superovoid.fitting.enclosing import enclose
from superovoid.fitting.targets import Target


def prism(outline, height):
    """Triangles of a prism over an outline that is a fan about its first corner."""
    n = len(outline)
    corners = np.array([(*point, z) for z in (0.0, height) for point in outline])
    faces = []
    for i in range(1, n - 1):
        faces += [(i + 1, i, 0), (n, n + i, n + i + 1)]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, j + n), (i, j + n, i + n)]
    return corners[np.array(faces)]


BRACKET = prism([(1, 1), (1, 4), (0, 4), (0, 0), (4, 0), (4, 1)], 1.0)
BOX = prism([(0, 0), (3, 0), (3, 2), (0, 2)], 1.0)


def area(triangles):
    edges = triangles[:, 1:] - triangles[:, :1]
    return 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()


def is_in_superovoid(shape, pose, points):
    """By the implicit function of Solina and Bajcsy (1990), with the tapers of the shape."""
    at = (points - pose[:3, 3]) @ pose[:3, :3] / shape.semi_axes
    x, y = np.abs(at[:, :2] / (1.0 + np.multiply.outer(at[:, 2], shape.taper))).T
    e_xy, e_z = shape.section_exponent, shape.profile_exponent
    section = (x ** (2.0 / e_xy) + y ** (2.0 / e_xy)) ** (e_xy / e_z)
    return section + np.abs(at[:, 2]) ** (2.0 / e_z) <= 1.0


def test_parts_of_a_plane_cut_have_the_area_of_the_whole():
    rng = np.random.default_rng(3)
    triangles = rng.normal(size=(200, 3, 3))
    for k in range(20):
        axis, end = k % 3, rng.normal()
        below, above = clip(triangles, axis, end, 1.0), clip(triangles, axis, end, -1.0)
        assert below[:, :, axis].max() <= end + 1e-12 and above[:, :, axis].min() >= end - 1e-12
        assert area(below) + area(above) == pytest.approx(area(triangles), rel=1e-12)


def test_points_of_a_cell_have_its_corner_inside_the_solid():
    cell = whole_of(BOX)
    middle = np.array([1.4, 1.1, 0.6])
    for axis in range(3):
        cell = cut(cell, axis, middle[axis])[0]
    assert np.abs(points_of(cell) - middle).max(axis=1).min() < 1e-12
    assert hull_volume(cell) == pytest.approx(middle.prod(), rel=1e-12)


def test_best_cut_of_a_bracket_leaves_two_boxes():
    assert sum(map(hull_volume, best_cut(whole_of(BRACKET)))) == pytest.approx(7.0, rel=0.03)


@pytest.mark.ci
def test_two_bodies_contain_a_bracket_in_half_the_volume_of_one():
    target = Target(BRACKET)
    one, two = enclose(target), enclose(target, bodies=2)
    assert len(one) == 1
    assert len(two) == 2
    assert sum(shape.volume() for shape, _ in two) < 0.5 * one[0][0].volume()
    rng = np.random.default_rng(0)
    arms = [rng.uniform((0, 0, 0), sides, (50_000, 3)) for sides in ((4, 1, 1), (1, 4, 1))]
    points = np.concatenate([*arms, BRACKET.reshape(-1, 3)])
    for bodies in (one, two):
        assert np.any([is_in_superovoid(*body, points) for body in bodies], axis=0).all()


@pytest.mark.ci
def test_a_turned_bracket_is_cut_across_its_own_axes():
    turn = Rotation.from_rotvec((0.4, -0.9, 0.6)).as_matrix()
    bodies = enclose(Target(BRACKET @ turn.T), bodies=2, kinds=("box",))
    assert sum(shape.volume() for shape, _ in bodies) < 10.0
    rng = np.random.default_rng(0)
    arms = [rng.uniform((0, 0, 0), sides, (20_000, 3)) for sides in ((4, 1, 1), (1, 4, 1))]
    points = np.concatenate([*arms, BRACKET.reshape(-1, 3)]) @ turn.T
    local = [np.abs((points - pose[:3, 3]) @ pose[:3, :3]) <= 0.5 * np.array(box.lengths) for box, pose in bodies]
    assert np.any([each.all(axis=1) for each in local], axis=0).all()


@pytest.mark.ci
def test_bodies_are_fewer_if_one_more_would_not_lower_the_volume():
    found = enclose(Target(BOX), bodies=3, kinds=("box",))
    assert len(found) == 1
    assert found[0][0].volume() == pytest.approx(6.0, rel=1e-3)


@pytest.mark.ci
def test_triangles_beside_the_solid_are_contained_too():
    beyond = np.array([[[3.0, 2.0, 1.0], [5.0, 2.0, 1.0], [3.0, 2.0, 1.2]]])
    [(shape, pose)] = enclose(Target(BOX), beyond)
    assert is_in_superovoid(shape, pose, beyond[0]).all()

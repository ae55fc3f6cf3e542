# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Mesh files, valid and broken: each is read as the body it describes, or rejected with the reason."""

import re

import numpy as np
import pytest
from damage import damage
from hypothesis import given, settings
from hypothesis import strategies as st
from mesh_files import FILES

from superovoid.robot.mesh_files import read_triangles
from superovoid.values.checks import is_refusal


def area_and_volume(vertices, faces):
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    doubled = np.cross(b - a, c - a)
    return 0.5 * np.linalg.norm(doubled, axis=1).sum(), np.einsum("ij,ij->", a, doubled) / 6.0


def as_set(points):
    return np.unique(np.round(points, 6) + 0.0, axis=0)


@pytest.mark.parametrize("name", FILES)
def test_mesh_file_is_read_or_rejected_with_the_reason(name):
    kind, data, expected = FILES[name]
    data = data.encode() if isinstance(data, str) else data
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)):
            read_triangles(data, kind)
        return
    vertices, faces = read_triangles(data, kind)
    np.testing.assert_allclose(as_set(vertices), as_set(expected.points), atol=1e-6)
    # A wrong triangulation has a larger area; one with reversed faces has a smaller volume.
    np.testing.assert_allclose(area_and_volume(vertices, faces), (expected.area, expected.volume), rtol=1e-6)


def obj_of(points, polygons):
    rows = [f"v {' '.join(map(repr, map(float, point)))}" for point in points]
    return "\n".join(rows + [f"f {' '.join(str(i + 1) for i in polygon)}" for polygon in polygons]).encode()


def turn_outline(outline, rng):
    """Return a plane outline with a random pose in space."""
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return outline @ basis[:2] + rng.normal(size=3)


def shoelace(outline):
    x, y = outline.T
    return 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def star(rng):
    """Return a star-shaped polygon; half of them have a corner on a straight edge."""
    angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, rng.integers(5, 40)))
    while np.diff(angles, append=angles[0] + 2.0 * np.pi).max() > 3.0:
        angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, len(angles)))
    outline = rng.uniform(0.1, 1.0, len(angles))[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    if rng.random() < 0.5:
        at = rng.integers(len(outline))
        outline = np.insert(outline, at, 0.5 * (outline[at] + outline[at - 1]), axis=0)
    return outline


def comb(rng):
    """Return a polygon with deep teeth."""
    teeth = rng.integers(2, 12)
    depth = rng.uniform(0.5, 5.0, teeth)
    outline = [(0.0, 0.0), (2.0 * teeth, 0.0)]
    for i in range(teeth)[::-1]:
        left = 2.0 * i
        outline += [(left + 2.0, depth[i]), (left + 1.5, 0.1), (left + 0.5, 0.1), (left, depth[i])]
    return np.array(outline)


def ring(rng):
    """Return a square with a square hole, as one polygon with a seam traversed twice."""
    hole = rng.uniform(0.2, 0.9) * np.array([(-1, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)], dtype=float)
    outer = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=float)
    return np.vstack([outer, hole])


@pytest.mark.parametrize("shape", [star, comb, ring])
def test_triangles_of_a_concave_polygon_cover_it_once(shape):
    rng = np.random.default_rng(11)
    concave = 0
    for _ in range(60):
        flat = np.roll(shape(rng), rng.integers(50), axis=0) if shape is not ring else shape(rng)
        flat = flat if rng.random() < 0.5 else flat[::-1]
        points = turn_outline(flat, rng)
        vertices, faces = read_triangles(obj_of(points, [range(len(points))]), "obj")
        concave += len(faces) > 3
        a, b, c = (vertices[faces[:, i]] for i in range(3))
        normals = np.cross(b - a, c - a)
        # All have the same orientation and in total the area of the polygon: they do not overlap.
        total = normals.sum(axis=0)
        assert (normals @ total > 0.0).all()
        np.testing.assert_allclose(0.5 * np.linalg.norm(normals, axis=1).sum(), shoelace(flat), rtol=1e-9)
        centres = (a + b + c) / 3.0
        assert all(count_around(points, centre, total) for centre in centres)
    assert concave > 50


def count_around(points, centre, normal):
    """Return the winding number of a polygon around a point of its plane, about its normal."""
    to = points - centre
    after = np.roll(to, -1, axis=0)
    sine = np.cross(to, after) @ (normal / np.linalg.norm(normal))
    return round(np.arctan2(sine, (to * after).sum(axis=1)).sum() / (2.0 * np.pi))


def test_degenerate_polygons_are_kept_and_repeated_corners_removed():
    points = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (0, 1, 0), (0, 0, 1)]
    vertices, faces = read_triangles(obj_of(points, [(0, 1, 2, 3), (0, 0, 3, 4), (0, 3, 3, 5)]), "obj")
    assert len(faces) == 4 and len(vertices) == 6
    assert area_and_volume(vertices, faces)[0] == pytest.approx(3.0)


@pytest.mark.parametrize("order", [(0, 2, 4, 1, 3), (0, 1, 3, 2, 4)])
def test_self_crossing_polygon_is_rejected(order):
    angles = 0.4 * np.pi * np.array(order)
    points = turn_outline(np.column_stack([np.cos(angles), np.sin(angles)]), np.random.default_rng(1))
    with pytest.raises(ValueError, match="crosses itself"):
        read_triangles(obj_of(points, [range(5)]), "obj")


def test_concave_polygon_with_too_many_corners_is_rejected():
    angles = np.linspace(0.0, 2.0 * np.pi, 601)[:-1]
    radius = np.where(np.arange(600) % 2, 1.0, 0.5)
    points = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(600)])
    with pytest.raises(ValueError, match="concave polygon of 600 corners, expected at most 500"):
        read_triangles(obj_of(points, [range(600)]), "obj")


GOOD = [
    (kind, data.encode() if isinstance(data, str) else data)
    for kind, data, expected in FILES.values()
    if not isinstance(expected, str)
]


@pytest.mark.ci
@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(GOOD))
def test_damaged_mesh_file_gives_triangles_or_a_clear_error(data, file):
    kind, good = file
    try:
        vertices, faces = read_triangles(data.draw(damage(good)), kind)
    except ValueError as error:
        assert is_refusal(error), error
        return
    assert np.isfinite(vertices).all()
    assert ((faces >= 0) & (faces < len(vertices))).all()

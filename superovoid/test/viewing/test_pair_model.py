# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model of two superovoids shows the results of the library; without a browser."""

import math

import numpy as np
import pytest

from superovoid import distance
from superovoid.viewing.meanings import Meaning
from superovoid.viewing.pair_model import PARAMETERS, SPANS, PairModel, hull_of, shape_of, values_of

from arm import at


def balls(apart):
    model = PairModel()
    for side, radius in enumerate((0.03, 0.02)):
        for number, value in enumerate((radius, radius, radius, 1.0, 1.0, 0.0, 0.0)):
            model.set_parameter(side, number, value)
    model.set_pose(1, at(apart, 0.0, 0.0))
    return model


def test_two_spheres_have_known_distance_and_curvatures():
    picture = balls(0.08).answer()
    rows = dict(picture.rows)
    assert picture.result.distance == pytest.approx(0.03) and picture.meaning is Meaning.APART
    assert rows["signed distance"] == "30.000000 mm" and rows["status"] == "certified"
    assert rows["curvature of A"] == "33.33 and 33.33 1/m" and rows["curvature of B"] == "50 and 50 1/m"
    assert rows["curvature of the gap"] == "83.33 and 83.33 1/m"
    # F = (r / a)^2 - 1 of a sphere at 60 mm from its centre is 3.
    assert rows["F of A at the point on B"] == "3" and rows["A"] == "convex"
    assert rows["normal, from A to B"] == "(1.0000, 0.0000, 0.0000)"


def test_touching_spheres_are_neither_apart_nor_overlapping():
    found = [balls(apart).answer().meaning for apart in (0.049, 0.05, 0.051)]
    assert found == [Meaning.OVERLAPPING, Meaning.UNKNOWN, Meaning.APART]


@pytest.mark.slow
def test_shown_values_equal_the_library_across_the_slider_ranges():
    generator = np.random.default_rng(3)
    low, high = np.array(SPANS).T
    concavities = 0
    for _ in range(60):
        model = PairModel()
        for side in range(2):
            for number, value in enumerate(generator.uniform(low, high)):
                model.set_parameter(side, number, value)
        model.set_pose(1, at(*generator.uniform(-0.15, 0.15, 3)))
        picture = model.answer()
        expected = distance(model.shapes[0], model.poses[0], model.shapes[1], model.poses[1])
        assert picture.result == expected
        assert (picture.meaning is Meaning.UNKNOWN) == (not (expected.lower > 0.0 or expected.upper < 0.0))
        for side in picture.sides:
            assert (side.concavity > 0.0) <= (not side.shape.convexity().convex)
            concavities += side.concavity > 0.0
        assert all(name and value and "nan" not in value for name, value in picture.rows), picture.rows
    assert concavities > 10


def test_slider_ends_are_valid_superovoids():
    for values in zip(*SPANS, strict=True):
        model = PairModel()
        for number, value in enumerate(values):
            model.set_parameter(0, number, value)
        assert values_of(model.shapes[0]) == pytest.approx(values)
        assert math.isfinite(model.answer().result.distance)


def test_a_nonconvex_body_lies_in_its_hull():
    shape = shape_of((0.03, 0.03, 0.04, 1.0, 1.9, 0.45, 0.45))
    assert shape.convexity().concavity > 1e-4
    vertices, faces = hull_of(shape)
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    outward = normals[lengths > 1e-12] / lengths[lengths > 1e-12, None]
    heights = outward @ shape.triangles(48)[0].T - np.einsum("ij,ij->i", outward, a[lengths > 1e-12])[:, None]
    assert heights.max() < 1e-9 and len(outward) > 100
    # The corners in the concavity lie below every face, by about the reported depth.
    assert -heights.max(axis=0).min() == pytest.approx(shape.convexity().concavity, rel=0.1)


def test_invalid_values_are_rejected_and_change_nothing():
    model = PairModel()
    before = list(model.shapes)
    for number, value in ((0, 0.0), (0, -1.0), (3, 2.0), (3, 0.0), (5, 0.6), (0, math.nan)):
        with pytest.raises(ValueError):
            model.set_parameter(0, number, value)
    with pytest.raises(ValueError, match="body B"):
        model.set_pose(1, np.zeros((4, 4)))
    assert model.shapes == before and len(PARAMETERS) == 7


def test_the_page_shows_sliders_and_table_of_the_model():
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    from superovoid.viewing.pair_page import PairPage
    from superovoid.viewing.serving import open_server

    page = PairPage(open_server("two"), balls(0.08))
    with page.viewer:
        assert page.viewer.refresher.wait(120.0)
        assert "30.000000 mm" in page._text.content and "apart" in page._text.content
        page.sliders[1][0].value = 30.0  # mm: an ellipsoid along x, 10 mm closer
        assert page.viewer.refresher.wait(120.0)
        assert "20.000000 mm" in page._text.content
        assert page._hulls == [None, None]
        page.sliders[0][4].value = 1.9
        page.sliders[0][5].value = 0.45
        assert page.viewer.refresher.wait(120.0)
        assert page._hulls[0] is not None and page._hulls[1] is None and "inside its hull" in page._text.content

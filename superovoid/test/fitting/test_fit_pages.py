# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Report pages: pictures show the nearest surface and the errors, and the file is self-contained."""

import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import trimesh
from PIL import Image

from superovoid import Box, Sphere
from superovoid.cli import main
from superovoid.fitting.drawing import Camera, draw, picture
from superovoid.fitting.link_pictures import PROTRUDING, UNCOVERED, link_pictures
from superovoid.fitting.targets import Target


def corners_of(shape, resolution=64):
    vertices, faces = shape.triangles(resolution)
    return vertices[faces]


def test_drawn_depth_of_a_ball_is_its_surface():
    corners = corners_of(Sphere(0.5), 256)
    camera = Camera.at(corners.reshape(-1, 3), (1.0, -0.7, 0.3), 80, 60)
    layer = draw(corners, camera)
    with np.errstate(all="raise"):  # empty pixels must not raise numpy warnings
        points = camera.points(layer.depth)
    assert np.isnan(points[layer.triangle < 0]).all()
    points = points[layer.triangle >= 0]
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 0.5, atol=2e-4)
    assert (points @ camera.axes[2] > -1e-3).all()
    # A disc with a diameter of 0.88 of the picture's height.
    assert (layer.triangle >= 0).sum() == pytest.approx(np.pi * (0.44 * 60) ** 2, rel=0.01)
    again = camera.pixels(points)
    rows, columns = np.nonzero(layer.triangle >= 0)
    np.testing.assert_allclose(again[:, :2], np.column_stack([columns, rows]) + 0.5, atol=1e-9)


def test_nearer_triangles_hide_farther_ones_in_any_order():
    near = corners_of(Box((0.2, 0.2, 0.2))) - np.array([0.0, 1.0, 0.0])
    far = corners_of(Box((0.6, 0.2, 0.6)))
    camera = Camera.at(np.concatenate([near, far]).reshape(-1, 3), (0.0, -1.0, 0.0), 60, 60)
    one = draw(np.concatenate([near, far]), camera)
    other = draw(np.concatenate([far, near]), camera)
    np.testing.assert_array_equal(one.depth, other.depth)
    np.testing.assert_array_equal(one.triangle[30, 30] < len(near), other.triangle[30, 30] >= len(far))
    assert one.triangle[30, 30] < len(near) <= one.triangle[5, 5]


def test_picture_has_the_colours_of_the_palette():
    colour = np.array([[-1, 0], [1, 1]])
    image = Image.open(io.BytesIO(picture(colour, np.ones((2, 2)), [(10, 20, 30), (200, 100, 0)]))).convert("RGB")
    assert [image.getpixel(place) for place in ((0, 0), (1, 0), (0, 1))] == [
        (255, 255, 255), (10, 20, 30), (200, 100, 0)
    ]  # fmt: skip


def is_of(ramp, pixels):
    """Return which pixels have the hue of one of the darker colours of a ramp."""
    names = np.array(ramp[3:], dtype=float)
    names /= np.linalg.norm(names, axis=1)[:, None]
    near = pixels / np.maximum(np.linalg.norm(pixels, axis=-1), 1e-9)[..., None]
    return (near @ names.T).max(axis=-1) > 0.999


def test_errors_are_coloured_and_worst_points_marked():
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    target = Target.from_triangles(box.vertices, box.faces)
    # The body ends 30 mm inside of the mesh at +x and protrudes by 20 mm at -x.
    pose = np.eye(4)
    pose[0, 3] = -0.025
    views = link_pictures([(Box((0.19, 0.2, 0.2)), pose)], target, 0.03, 120)
    assert len(views) == 2
    for view in views:
        marks = {mark.what: mark for mark in view.marks}
        assert marks["uncovered"].distance == pytest.approx(0.03, abs=1e-6)
        assert marks["protruding"].distance == pytest.approx(0.02, abs=1e-6)
        pixels = np.asarray(Image.open(io.BytesIO(view.png)).convert("RGB"), dtype=float)
        assert pixels.shape == (120, 120, 3)
        for what, ramp in (("uncovered", UNCOVERED), ("protruding", PROTRUDING)):
            x, y = marks[what].place
            assert 0 <= x < 120 and 0 <= y < 120
            if not marks[what].hidden:
                # A worst point lies on an edge of both; the adjacent face has the colour.
                assert is_of(ramp, pixels).any(), what
    assert not next(mark for mark in views[0].marks if mark.what == "uncovered").hidden


class Page(HTMLParser):
    """Parser that records open tags, addresses and text."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br", "image", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "br", "image", "circle"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot")
    (folder / "pkg").mkdir()
    trimesh.creation.box((0.1, 0.06, 0.3)).export(folder / "pkg" / "bar.stl")
    mesh = (
        '<collision><origin xyz="0 0 0.15"/><geometry><mesh filename="package://pkg/bar.stl"/></geometry></collision>'
    )
    names = ("base", "&lt;b&gt;arm", "tip")
    links = "".join(f'<link name="{name}">{mesh}</link>' for name in names)
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="{names[i]}"/><child link="{names[i + 1]}"/>'
        '<origin xyz="0 0 0.32"/><axis xyz="0 1 0"/><limit lower="-2.6" upper="2.6" effort="1" velocity="1"/></joint>'
        for i in range(2)
    )
    (folder / "bars.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    line = ["fit", str(folder / "bars.urdf"), "--package", f"pkg={folder / 'pkg'}", "--bodies", "1"]
    line += ["--kinds", "capsule", "--new-srdf", "--states", "200", "--study", "400", "--output", str(folder / "out")]
    assert main(line) == 0
    return folder / "out"


def test_report_page_is_self_contained(fitted):
    text = (fitted / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert not page.open and len(text) < 1_000_000
    assert page.addresses and all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert not re.search(r"https?://|@import|url\(", text)
    words = " ".join(page.text)
    for expected in (
        "<b>arm",
        "proved",
        "65,536 points for volumes",
        "Effect on a planner",
        "Pairs of links",
        "capsule",
    ):
        assert expected in words, expected
    assert "<b>arm" not in text.replace("&lt;b&gt;arm", "")


@pytest.mark.slow
def test_check_writes_a_page(folder, fitted):
    line = ["fit", str(fitted / "bars_superovoids.urdf"), "--check", "--package", f"pkg={folder / 'pkg'}"]
    assert main([*line, "--output", str(folder / "checked")]) == 0
    page = Page()
    page.feed((folder / "checked" / "check.html").read_text())
    assert not page.open and len(page.addresses) == 2 + 2 * 3


def test_study_counts_differences_between_capsules_and_bars(fitted):
    study = json.loads((fitted / "report.json").read_text())["study"]
    whole = study["whole"]
    assert study["states"] == 400 and study["pairs_checked"] == 1
    counts = [whole["false_positive"], whole["false_negative"]]
    assert sum(count for count, _, _ in counts) > 0 and all(low <= count / 400 <= high for count, low, high in counts)
    assert whole["colliding"] > 5 and {speed["per_second"] > 0 for speed in study["speeds"]} == {True}
    assert [pair["link_a"] for pair in study["pairs"]] == ["base"]

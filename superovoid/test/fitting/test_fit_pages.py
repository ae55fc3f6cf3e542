# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Report pages: pictures show the nearest surface and the errors, turn, and need no other file."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
import trimesh

from superovoid import Box, Sphere
from superovoid.cli import main
from superovoid.fitting.drawing import Camera, draw
from superovoid.fitting.painted_links import drawable, paint_link
from superovoid.fitting.targets import Target
from superovoid.fitting.turnable import Surfaces


def corners_of(shape, resolution=64):
    vertices, faces = shape.triangles(resolution)
    return vertices[faces]


def test_drawn_depth_of_a_ball_is_its_surface():
    corners = corners_of(Sphere(0.5), 256)
    camera = Camera.from_points(corners.reshape(-1, 3), (1.0, -0.7, 0.3), 80, 60)
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
    camera = Camera.from_points(np.concatenate([near, far]).reshape(-1, 3), (0.0, -1.0, 0.0), 60, 60)
    one = draw(np.concatenate([near, far]), camera)
    other = draw(np.concatenate([far, near]), camera)
    np.testing.assert_array_equal(one.depth, other.depth)
    np.testing.assert_array_equal(one.triangle[30, 30] < len(near), other.triangle[30, 30] >= len(far))
    assert one.triangle[30, 30] < len(near) <= one.triangle[5, 5]


@pytest.fixture(scope="module")
def painted_link():
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    target = Target.from_triangles(box.vertices, box.faces)
    # The body ends 30 mm inside of the mesh at +x and protrudes by 20 mm at -x.
    pose = np.eye(4)
    pose[0, 3] = -0.025
    return paint_link([(Box((0.19, 0.2, 0.2)), pose)], target)


def test_vertices_have_their_distance_from_the_other_side(painted_link):
    for surface, sign, farthest in ((painted_link.mesh, 1.0, 0.03), (painted_link.bodies, -1.0, 0.02)):
        assert surface.away[surface.worst_vertex] == pytest.approx(farthest, abs=1e-6)
        assert sign * surface.vertices[surface.worst_vertex, 0] == pytest.approx(0.1 if sign > 0.0 else 0.12)
        expected = np.maximum(sign * surface.vertices[:, 0] - (0.07 if sign > 0.0 else 0.1), 0.0)
        np.testing.assert_allclose(surface.away, expected, atol=1e-6)
    assert painted_link.scale == 0.03


@pytest.mark.ci
def test_large_meshes_keep_their_shape_with_few_triangles():
    ball = corners_of(Sphere(0.5), 400)
    vertices, faces = drawable(ball)
    assert len(ball) > 100_000 and 1000 < len(faces) < 6000
    # Vertices of the ball, and midpoints of long edges between these.
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.5, atol=0.015)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert mesh.volume == pytest.approx(np.pi / 6.0, rel=0.02)


def test_packed_surfaces_read_back(painted_link):
    surface = painted_link.mesh
    surfaces = Surfaces()
    assert surfaces.add(surface, painted_link.scale) == 0
    (packed,) = json.loads(re.search(r'id="surfaces">(.*?)</script>', surfaces.script(), re.S)[1])
    data = zlib.decompress(base64.b64decode(packed["data"]))
    n, m = packed["vertices"], packed["faces"]
    whole, levels = np.frombuffer(data, "<i2", 3 * (n + m)), np.frombuffer(data, "u1", n, 6 * (n + m))
    points = np.cumsum(whole[: 3 * n].reshape(3, n), axis=1).T * packed["step"] + packed["lower"]
    np.testing.assert_allclose(points, surface.vertices, atol=0.51 * 0.2 / 4095)
    np.testing.assert_allclose(levels * painted_link.scale / 255, surface.away, atol=0.51 * painted_link.scale / 255)
    first, second, third = whole[3 * n :].reshape(3, m)
    first = np.cumsum(first)
    faces = {tuple(sorted(face)) for face in np.column_stack([first, first + second, first + third]).tolist()}
    assert faces == {tuple(sorted(face)) for face in surface.faces.tolist()}


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
def fit_output(folder):
    line = ["fit", str(folder / "bars.urdf"), "--package", f"pkg={folder / 'pkg'}", "--bodies", "1"]
    line += ["--kinds", "capsule", "--new-srdf", "--states", "200", "--study", "400", "--output", str(folder / "out")]
    assert main(line) == 0
    return folder / "out"


def test_report_page_is_self_contained(fit_output):
    text = (fit_output / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert not page.open and not page.addresses and len(text) < 250_000
    assert text.count("<canvas") == 1 + 3
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
def test_check_writes_a_page(folder, fit_output):
    line = ["fit", str(fit_output / "bars_superovoids.urdf"), "--check", "--package", f"pkg={folder / 'pkg'}"]
    assert main([*line, "--output", str(folder / "checked")]) == 0
    page = Page()
    text = (folder / "checked" / "check.html").read_text()
    page.feed(text)
    assert not page.open and text.count("<canvas") == 1 + 3


def test_study_counts_differences_between_capsules_and_bars(fit_output):
    study = json.loads((fit_output / "report.json").read_text())["study"]
    whole = study["whole"]
    assert study["states"] == 400 and study["pairs_checked"] == 1
    counts = [whole["false_positive"], whole["false_negative"]]
    assert sum(count for count, _, _ in counts) > 0 and all(low <= count / 400 <= high for count, low, high in counts)
    assert whole["colliding"] > 5 and {speed["per_second"] > 0 for speed in study["speeds"]} == {True}
    assert [pair["link_a"] for pair in study["pairs"]] == ["base"]

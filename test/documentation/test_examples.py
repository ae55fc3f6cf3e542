# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The examples of the gallery: short, self-contained, in one palette. A build of the site runs them."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from superovoid_ros import pictures

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
COLOURS = {name: getattr(pictures, name) for name in dir(pictures) if name.isupper() and not name.startswith("_")}


def test_there_are_twenty_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_needs_no_other_file(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= 60
    title, line, *_ = ast.get_docstring(ast.parse(source)).splitlines()
    assert line == "=" * len(title)
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in imports for alias in node.names} | {getattr(node, "module", "") for node in imports}
    assert not names & {other.stem for other in EXAMPLES if other != path and other.stem != "derivatives"}
    assert "plt.show()" in source
    assert not re.search(r"[\"'](?:tab:|C\d|#[0-9a-fA-F]{6})", source), "colours come from superovoid_ros.pictures"


def seen_by(colours, matrix):
    """Return colours as seen without one kind of cone (Viénot, Brettel and Mollon 1999), in linear RGB."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ np.array(matrix).T


def test_bodies_of_the_palette_differ_for_colour_blind_readers():
    names = ("BLUE", "ORANGE", "RED", "GREY", "SKY")  # side by side in the examples
    colours = np.array([[int(COLOURS[name][k : k + 2], 16) / 255.0 for k in (1, 3, 5)] for name in names])
    protan = [[0.1124, 0.8876, 0.0], [0.1124, 0.8876, 0.0], [0.0040, -0.0040, 1.0]]
    deutan = [[0.2927, 0.7073, 0.0], [0.2927, 0.7073, 0.0], [-0.0223, 0.0223, 1.0]]
    for matrix in (np.eye(3), protan, deutan):
        seen = seen_by(colours, matrix)
        for a in range(len(names)):
            for b in range(a):
                assert np.abs(seen[a] - seen[b]).max() > 0.08, (names[a], names[b])


def test_a_picture_shows_coloured_bodies_and_points_of_the_answer():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from superovoid import Sphere, distance

    apart = np.eye(4)
    apart[:3, 3] = (3.0, 0.0, 0.0)
    ball = Sphere(1.0)
    result = distance(ball, np.eye(4), ball, apart)
    bodies = [(ball, np.eye(4), pictures.BLUE), (ball, apart, pictures.ORANGE)]
    axes = pictures.draw_bodies(bodies, result, towards=(0.0, -1.0, 0.0))
    image = axes.images[0].get_array()
    left, right = image[image.shape[0] // 2, image.shape[1] // 6], image[image.shape[0] // 2, -image.shape[1] // 6]
    assert left[2] > left[0] and right[0] > right[2]  # blue, orange
    assert np.ptp(axes.lines[0].get_xdata()) == pytest.approx(1.0)
    assert np.all(image[0, 0] == 1.0)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Segments drawn as one mesh."""

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing.page import add_grid
from superovoid.viewing.segments import Segments, rods
from superovoid.viewing.serving import open_server


@pytest.fixture
def server():
    server = open_server("segments")
    yield server
    server.stop()


@pytest.mark.parametrize("direction", [(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1, 1), (1e-9, 0, 0)])
def test_a_rod_surrounds_its_segment_with_outward_faces(direction):
    begin = np.array([0.1, 0.2, 0.3])
    ends = np.array([[begin, begin + direction]])
    vertices, faces = rods(ends, 0.02)
    around = vertices.reshape(2, 3, 3)
    assert around.mean(axis=1) == pytest.approx(ends[0], abs=1e-12)
    assert np.linalg.norm(around - ends[0][:, None], axis=2) == pytest.approx(np.full((2, 3), 0.01))
    assert np.einsum("ijk,k->ij", around - ends[0][:, None], np.array(direction)) == pytest.approx(0.0, abs=1e-9)
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    outwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), (a + b + c) / 3.0 - ends[0].mean(axis=0))
    assert (outwards > 0.0).all()


def test_unused_segments_have_no_extent(server):
    segments = Segments(server, "/some", 4, (0, 0, 0), 0.02)
    put = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]])
    segments.put(put)
    drawn = segments._node.vertices.reshape(4, 2, 3, 3)
    assert drawn[:2].mean(axis=2) == pytest.approx(put, abs=1e-6)
    assert np.ptp(drawn[2:], axis=2) == pytest.approx(0.0) and np.isfinite(drawn).all()
    assert np.array_equal(segments.ends, put) and not segments.visible
    segments.put(np.zeros((9, 2, 3)))
    assert segments.ends.shape == (4, 2, 3) and (segments._node.vertices == 0.0).all()


def test_a_grid_is_horizontal_with_upward_normals(server):
    add_grid(server, 0.1, 1, -0.5)
    for name, count in (("cells", 22), ("sections", 6)):
        node = server.scene.get_handle_by_name(f"/grid/{name}")
        corners = np.asarray(node.vertices, dtype=float)[np.asarray(node.faces)]
        assert node.wireframe and len(corners) == count
        assert corners[..., 2] == pytest.approx(-0.5)
        up = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert (up[:, 2] > 0.0).all() and up[:, :2] == pytest.approx(0.0)
        # The third corner is within a thousandth of a cell from the end of the line.
        assert np.linalg.norm(corners[:, 2] - corners[:, 1], axis=1).max() <= 1.01e-4

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Mesh files, valid and broken: each is read as the body it describes, or refused with the reason."""

import re

import numpy as np
import pytest
from helpers.mesh_files import FILES

from superovoid_ros.robot.mesh_files import read_triangles


def area_and_volume(vertices, faces):
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    doubled = np.cross(b - a, c - a)
    return 0.5 * np.linalg.norm(doubled, axis=1).sum(), np.einsum("ij,ij->", a, doubled) / 6.0


def as_set(points):
    return np.unique(np.round(points, 6) + 0.0, axis=0)


@pytest.mark.parametrize("name", FILES)
def test_a_mesh_file_is_read_as_its_body_or_refused_with_the_reason(name):
    kind, data, expected = FILES[name]
    data = data.encode() if isinstance(data, str) else data
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)):
            read_triangles(data, kind)
        return
    vertices, faces = read_triangles(data, kind)
    np.testing.assert_allclose(as_set(vertices), as_set(expected.points), atol=1e-6)
    # The area of a wrong triangulation is larger, the volume of one that is turned over is smaller.
    np.testing.assert_allclose(area_and_volume(vertices, faces), (expected.area, expected.volume), rtol=1e-6)

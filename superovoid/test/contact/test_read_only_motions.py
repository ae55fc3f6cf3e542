# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Immutable values: they copy their arrays, and the arrays they return are read-only."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from superovoid import Motion, Superovoid
from superovoid.shapes import Box, ConvexMesh


@pytest.mark.parametrize("copied", [lambda m: m, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_arrays_of_a_motion_are_read_only_copied_or_not(copied):
    motion = copied(Motion(np.eye(4), [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    for name in ("start", "linear", "angular", "about"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(motion, name)[...] = 7.0


def test_writing_to_the_arguments_of_a_motion_does_not_change_it():
    start, linear = np.eye(4), np.ones(3)
    motion = Motion(start, linear, np.zeros(3), linear)
    start[0, 3] = linear[0] = 9.0
    assert motion == Motion(np.eye(4), np.ones(3), np.zeros(3), np.ones(3))


@pytest.mark.parametrize("shape", [Box((2.0, 4.0, 6.0)), Superovoid((1.0, 1.0, 2.0), taper=(0.1, 0.0))])
def test_writing_to_bounds_of_a_shape_changes_no_later_bounds(shape):
    for bounds in (shape.obb, shape.bounding_sphere):
        expected = [np.copy(each) for each in bounds()]
        bounds().centre[...] = 99.0
        assert all(np.array_equal(x, y) for x, y in zip(bounds(), expected, strict=True))
    shape.obb().half_extents[...] = 0.0
    assert shape.obb().half_extents.max() > 1.0


@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_faces_and_vertices_of_a_convex_mesh_are_read_only(copied):
    mesh = copied(ConvexMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    for array in (mesh.vertices, mesh.faces):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0

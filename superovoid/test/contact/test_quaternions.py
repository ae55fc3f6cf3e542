# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quaternions of rotation matrices, against SciPy and against the engine's nearest rotation of a matrix."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.shapes.poses import as_poses
from superovoid.values.poses import check_rigid, quaternions_of, rotation_vectors_of

HALF_TURNS = Rotation.from_quat([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 1, -1, 0]])
RANDOM = Rotation.random(1000, random_state=7)
NEAR_HALF_TURNS = HALF_TURNS * Rotation.from_rotvec([1e-9, -2e-9, 3e-9])


def align_signs(quaternions, like):
    return quaternions * np.sign((quaternions * like).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("rotations", [HALF_TURNS, NEAR_HALF_TURNS, RANDOM], ids=["half turns", "nearly", "random"])
def test_quaternions_are_those_of_scipy_up_to_their_sign(rotations):
    expected = rotations.as_quat()
    found = quaternions_of(rotations.as_matrix())
    np.testing.assert_allclose(align_signs(found, expected), expected, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(quaternions_of(rotations.as_matrix()[0]), found[0], rtol=0.0, atol=0.0)


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-12, 0.0])
def test_rotation_vectors_have_the_angle_and_axis(scale):
    vectors = scale * RANDOM.as_rotvec()
    found = rotation_vectors_of(Rotation.from_rotvec(vectors).as_matrix())
    np.testing.assert_allclose(found, vectors, rtol=0.0, atol=2e-15)
    np.testing.assert_array_equal(rotation_vectors_of(Rotation.from_rotvec(vectors[0]).as_matrix()), found[0])


def test_rotation_vectors_of_half_turns_have_one_of_both_axes():
    for rotations in (HALF_TURNS, NEAR_HALF_TURNS):
        found = rotation_vectors_of(rotations.as_matrix())
        assert (np.linalg.norm(found, axis=1) <= np.pi).all()
        np.testing.assert_allclose(Rotation.from_rotvec(found).as_matrix(), rotations.as_matrix(), rtol=0.0, atol=4e-15)


def test_single_precision_rotations_have_the_quaternion_of_the_nearest_rotation():
    """Single precision is off by 1e-7; `as_poses` iterates to the nearest rotation."""
    rounded = np.tile(np.eye(4), (len(RANDOM), 1, 1))
    rounded[:, :3, :3] = RANDOM.as_matrix().astype(np.float32)
    nearest = as_poses("poses", rounded)[:, :3, :3]
    assert np.abs(nearest - rounded[:, :3, :3]).max() > 1e-9
    found = Rotation.from_quat(quaternions_of(rounded[:, :3, :3])).as_matrix()
    np.testing.assert_allclose(found, nearest, rtol=0.0, atol=2e-15)


def test_reflections_and_stretches_are_no_rigid_transforms():
    for diagonal, words in (
        ((1.0, 1.0, -1.0, 1.0), r"reflection \(determinant -1\)"),
        ((1.0, 1.0 + 2e-6, 1.0, 1.0), r"found R\^T R - I of norm 4e-06"),
        ((1.0, 1.0, 1.0, 2.0), "last row must be"),
        ((1.0, np.nan, 1.0, 1.0), "must be finite"),
    ):
        for check in (check_rigid, as_poses):
            with pytest.raises(ValueError, match=f"ball: .*{words}"):
                check("ball", np.diag(diagonal)[None])
    check_rigid("ball", np.empty((0, 4, 4)))

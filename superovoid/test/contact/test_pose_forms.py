# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid transforms of other libraries represent the same poses as 4 x 4 arrays."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import transform
from scipy.spatial.transform import Rotation

from superovoid import Body, Box, Motion, Scene, Superovoid, are_intersecting, distance, distances

RNG = np.random.default_rng(3)
TURN = Rotation.random(rng=RNG)
PLACE = np.array([1.5, -0.2, 0.3])
MATRIX = np.eye(4)
MATRIX[:3, :3], MATRIX[:3, 3] = TURN.as_matrix(), PLACE
OVOID = Superovoid((0.3, 0.2, 0.5), section_exponent=0.7, profile_exponent=0.9, taper=(0.1, 0.1))

FORMS = {
    "nested lists": MATRIX.tolist(),
    "tuple of matrix and vector": (TURN.as_matrix(), PLACE),
    "list of matrix and vector": [TURN.as_matrix().tolist(), PLACE.tolist()],
    "scipy rotation and vector": (TURN, tuple(PLACE)),
    "object with homogeneous": SimpleNamespace(homogeneous=MATRIX),
    "position and quaternion": (*PLACE, *TURN.as_quat()),
    "array of position and quaternion": np.array([*PLACE, *-TURN.as_quat()]),
    "row-major integers": None,
}
if hasattr(transform, "RigidTransform"):
    FORMS["scipy RigidTransform"] = transform.RigidTransform.from_matrix(MATRIX)
del FORMS["row-major integers"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_answer_of_the_matrix(form):
    expected = distance(OVOID, np.eye(4), Box((0.4, 0.4, 0.4)), MATRIX)
    found = distance(OVOID, np.eye(4), Box((0.4, 0.4, 0.4)), FORMS[form])
    assert found.distance == pytest.approx(expected.distance, abs=1e-14)
    scene = Scene([Body("a", "a", OVOID), Body("b", "b", OVOID, FORMS[form])])
    scene.set_link_poses({"a": FORMS[form], "b": np.eye(4)})
    scene.set_link_pose("a", FORMS[form])
    np.testing.assert_allclose(scene.poses, [MATRIX, MATRIX], atol=1e-14)
    np.testing.assert_allclose(Motion.at_rest(FORMS[form]).start, MATRIX, atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_many_poses_may_be_a_sequence_of_any_form(form):
    expected = distances(OVOID, np.eye(4), OVOID, np.array([MATRIX, np.eye(4), MATRIX]))
    mixed = distances(OVOID, np.eye(4), OVOID, [FORMS[form], np.eye(4), FORMS[form]])
    np.testing.assert_allclose(mixed.distance, expected.distance, atol=1e-13)
    two = distances(OVOID, np.eye(4), OVOID, [FORMS[form], FORMS[form]])
    np.testing.assert_allclose(two.distance, expected.distance[[0, 2]], atol=1e-13)
    objects = np.empty(2, dtype=object)
    objects[0] = objects[1] = FORMS[form]
    np.testing.assert_allclose(distances(OVOID, np.eye(4), OVOID, objects).distance, two.distance, atol=0.0)


def test_one_object_may_represent_many_poses():
    turns = Rotation.random(3, rng=RNG)
    expected = np.tile(np.eye(4), (3, 1, 1))
    expected[:, :3, :3], expected[:, :3, 3] = turns.as_matrix(), PLACE
    many = distances(OVOID, np.eye(4), OVOID, expected).distance
    np.testing.assert_array_equal(distances(OVOID, np.eye(4), OVOID, (turns, PLACE)).distance, many)
    np.testing.assert_array_equal(distances(OVOID, np.eye(4), OVOID, (turns.as_matrix(), PLACE)).distance, many)


@pytest.mark.parametrize(
    "wrong, words",
    (
        (TURN, "rotation alone"),
        ("here", "found 'here'"),
        (None, "found None"),
        (SimpleNamespace(position=1), "namespace"),
        (np.eye(3), "rotation alone, expected"),
        (TURN.as_matrix().tolist(), "rotation alone, expected"),
        (np.eye(4)[:3], r"found \(3, 4\); expected.*\(x, y, z\), \(x, y, z, qx, qy, qz, qw\)"),
        ((1.0, 2.0), r"found \(2,\); expected"),
        (np.zeros((2, 2, 3)), r"found \(2, 2, 3\); expected"),
        (np.diag([1.0, 1.0, 1.0, 2.0]), r"last row must be \(0, 0, 0, 1\), found \(0.0, 0.0, 0.0, 2.0\)"),
        (np.ma.masked_greater(np.eye(4), 0.5), "found masked ones"),
        (np.eye(4) > 0.0, "must be real, found bool"),
        ((1.0, 2.0, None), "must be finite"),
        ((1.0, 2.0, np.nan), "must be finite"),
        ((1.0, 2.0, np.inf), "must be finite"),
        ((0, 0, 0, 0, 0, 0, 0), r"quaternion \(qx, qy, qz, qw\) must have unit length, found \[0"),
        ((0, 0, 0, 0, 0, 0, np.nan), "must have unit length"),
        ((1e31, 0, 0, 0, 0, 0, 1), "must be within 1e\\+30 m"),
        ([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], r"must have shape \(4, 4\), found \(2, 4, 4\)"),
        ((TURN, (1.0, 2.0)), r"translation must be three numbers.*found shape \(2,\)"),
        ((TURN, "there"), "translation must be three numbers.*'there'"),
        ((np.ones((3, 3)), PLACE), "must be a rotation"),
        ((Rotation.random(2, rng=RNG), np.ones((3, 3))), "do not match"),
        ([], r"found \(0,\)"),
    ),
)
def test_arguments_other_than_rigid_transforms_are_refused(wrong, words):
    with pytest.raises(ValueError, match=f"pose_b: .*{words}"):
        distance(OVOID, np.eye(4), OVOID, wrong)


@pytest.mark.parametrize("convert", (np.array, list, lambda rows: [tuple(row) for row in rows.tolist()]))
def test_rows_of_three_or_seven_numbers_are_poses(convert):
    rng = np.random.default_rng(4)
    for count in (1, 2, 3, 4, 7):
        places, turns = rng.uniform(-1.0, 1.0, (count, 3)), Rotation.random(count, rng=rng)
        matrices = np.tile(np.eye(4), (count, 1, 1))
        matrices[:, :3, 3] = places
        expected = distances(OVOID, np.eye(4), OVOID, matrices)
        assert distances(OVOID, (0, 0, 0), OVOID, convert(places)) == expected
        assert distances(OVOID, (0, 0, 0, 0, 0, 0, 1), OVOID, convert(places)) == expected
        matrices[:, :3, :3] = turns.as_matrix()
        rows = convert(np.hstack([places, turns.as_quat()]))
        expected = distances(OVOID, np.eye(4), OVOID, matrices)
        np.testing.assert_allclose(distances(OVOID, np.eye(4), OVOID, rows).distance, expected.distance, atol=1e-13)
        scene = Scene([Body(str(i), str(i), OVOID) for i in range(count)])
        scene.set_link_poses(rows)
        np.testing.assert_allclose(scene.poses, matrices, atol=1e-14)


def test_the_second_pose_is_the_origin_by_default():
    assert distance(OVOID, MATRIX, Box((0.4, 0.4, 0.4))) == distance(OVOID, MATRIX, Box((0.4, 0.4, 0.4)), np.eye(4))
    many = [MATRIX, np.eye(4)]
    assert distances(OVOID, many, OVOID) == distances(OVOID, many, OVOID, np.eye(4))
    assert are_intersecting(OVOID, MATRIX, OVOID) == are_intersecting(OVOID, MATRIX, OVOID, np.eye(4))


def test_a_quaternion_of_many_that_has_no_unit_length_is_named():
    rows = np.zeros((3, 7))
    rows[:, 6] = 1.0, 1.0, 1.1
    with pytest.raises(ValueError, match=r"pose_b\[2\]: the quaternion .* found \[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.1\]"):
        distances(OVOID, np.eye(4), OVOID, rows)

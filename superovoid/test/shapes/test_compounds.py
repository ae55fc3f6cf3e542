# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The compound as a shape: its members, bounds, samples and errors."""

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Compound, ConvexMesh, HalfSpace, Shell, Sphere, Superovoid
from superovoid.shapes.scaling import scale_shape

EGG = Superovoid((0.05, 0.04, 0.06), section_exponent=0.8, profile_exponent=0.7, taper=(0.1, 0.2))
TETRAHEDRON = ConvexMesh([(0.1, 0.1, 0.1), (0.3, 0.1, 0.1), (0.1, 0.3, 0.1), (0.1, 0.1, 0.3)])
TURNED = (Rotation.from_euler("xyz", (0.3, 0.2, 0.1)).as_matrix(), (0.2, -0.1, 0.05))
PARTS = Compound([(EGG, (0.0, 0.0, 0.1)), (TETRAHEDRON, TURNED), (Capsule(0.02, 0.1), (-0.1, 0.0, 0.0))])


def in_frame(shape, pose, points):
    """Points of the frame of a compound in the frame of a member."""
    return (points - pose[:3, 3]) @ pose[:3, :3]


def test_members_of_a_compound_are_taken_one_by_one():
    nested = Compound([(PARTS, TURNED), (Sphere(0.1), (0.0, 0.0, 0.0))])
    assert [type(shape).__name__ for shape, _ in nested.members] == ["Superovoid", "ConvexMesh", "Capsule", "Sphere"]
    points = nested.sample_volume(100, 0)
    assert nested.contains(points).all()


def test_support_points_are_those_of_the_farthest_member():
    directions = np.random.default_rng(0).normal(size=(200, 3))
    known = [s.support_value(directions @ pose[:3, :3]) + directions @ pose[:3, 3] for s, pose in PARTS.members]
    np.testing.assert_allclose(PARTS.support_value(directions), np.max(known, axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        np.einsum("ij,ij->i", directions, PARTS.support(directions)), np.max(known, axis=0), rtol=1e-9
    )


def test_bounds_contain_the_samples_and_touch_the_body():
    points = PARTS.sample_volume(5000, 1)
    sphere, box, (low, high) = PARTS.bounding_sphere(), PARTS.obb(), PARTS.aabb()
    assert (np.linalg.norm(points - sphere.centre, axis=1) <= sphere.radius).all()
    assert (np.abs(points - box.centre) <= box.half_extents).all()
    np.testing.assert_allclose(np.stack([low, high]), [box.centre - box.half_extents, box.centre + box.half_extents])


def test_samples_of_overlapping_members_are_uniform_in_the_union():
    half = Compound([(Box((1.0, 1.0, 1.0)), (0.0, 0.0, 0.0)), (Box((1.0, 1.0, 1.0)), (0.5, 0.0, 0.0))])
    points = half.sample_volume(60_000, 2)
    shares = np.histogram(points[:, 0], bins=[-0.5, 0.0, 0.5, 1.0])[0] / len(points)
    np.testing.assert_allclose(shares, 1.0 / 3.0, atol=0.01)  # five standard deviations


def test_triangles_are_those_of_all_members():
    vertices, faces = PARTS.triangles(16)
    assert len(faces) == sum(len(shape.triangles(16)[1]) for shape, _ in PARTS.members)
    near = vertices * (1.0 - 1e-9) + 1e-9 * vertices.mean(axis=0)
    distance_to = [np.abs(in_frame(s, pose, near)).max() for s, pose in PARTS.members]
    assert max(distance_to) < 1.0
    assert faces.max() == len(vertices) - 1


def test_volume_area_and_inertia_of_a_union_are_refused():
    for compute in (PARTS.volume, PARTS.area, PARTS.mass_properties, lambda: PARTS.sample_surface(1)):
        with pytest.raises(ValueError, match="of a union is not computed; ask each of its `members`"):
            compute()


def test_scaling_multiplies_all_lengths_of_a_compound():
    directions = np.random.default_rng(3).normal(size=(50, 3))
    np.testing.assert_allclose(
        scale_shape(PARTS, 2.5).support_value(directions), 2.5 * PARTS.support_value(directions), rtol=1e-12
    )


def test_compounds_compare_by_value_and_pickle():
    same = Compound(PARTS.members)
    for other in (same, copy.deepcopy(PARTS), pickle.loads(pickle.dumps(PARTS))):
        assert other == PARTS
        assert hash(other) == hash(PARTS)
        assert not other.members[0][1].flags.writeable
    assert Compound(PARTS.members[:2]) != PARTS
    assert repr(PARTS) == "Compound(3 members)"
    assert "<td>Capsule(radius=0.02, length=0.1)</td>" in PARTS._repr_html_()


@pytest.mark.parametrize(
    ("members", "error", "words"),
    [
        ([], ValueError, "must have at least one member"),
        (EGG, TypeError, "must be a sequence of shapes with poses"),
        ([EGG], TypeError, r"members\[0\]: must be a shape of superovoid.shapes and a pose"),
        ([(EGG, (0.0, 0.0))], ValueError, r"members\[0\]: must have shape"),
        ([(EGG, (0.0, 0.0, 0.0)), (HalfSpace(), (0.0, 0.0, 0.0))], ValueError, r"members\[1\]: must not be a half-"),
    ],
)
def test_wrong_members_are_named(members, error, words):
    with pytest.raises(error, match=words):
        Compound(members)


def test_a_shell_in_a_compound_has_no_volume_to_sample():
    sheet = Shell([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(0, 1, 2)])
    with pytest.raises(ValueError, match="no finite volume"):
        Compound([(sheet, (0.0, 0.0, 0.0)), (EGG, (0.0, 0.0, 0.0))]).sample_volume(10)

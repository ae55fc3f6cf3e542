# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance engine against the reference batteries and closed forms, and the arguments it refuses."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from superovoid import Ellipsoid, Sphere, Status, Superellipsoid, Superovoid, distance, distances

BATTERIES = ("paper_separated", "paper_overlapping", "hard")


def pose(translation=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    if rotation is not None:
        matrix[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    return matrix


def battery_shapes(data, side):
    return [
        Superovoid.from_goncalves(*row)
        for row in zip(data[f"size_{side}"], data[f"epsilon_{side}"], data[f"taper_{side}"], strict=True)
    ]


def battery_poses(data, side):
    poses = np.tile(np.eye(4), (len(data["distance"]), 1, 1))
    poses[:, :3, :3] = data[f"rotation_{side}"]
    poses[:, :3, 3] = data[f"position_{side}"]
    return poses


@pytest.fixture(scope="module")
def answers_of_batteries(battery):
    """Return every battery with its answers: name -> (data, results)."""
    out = {}
    for name in BATTERIES:
        data = battery(name)
        a, b = battery_shapes(data, "a"), battery_shapes(data, "b")
        pa, pb = battery_poses(data, "a"), battery_poses(data, "b")
        out[name] = data, distances(a, pa, b, pb)
    return out


def body_size(data):
    """Return the unit of tolerances: the largest semi-axis of the smaller body."""
    return np.minimum(data["size_a"].max(axis=1), data["size_b"].max(axis=1))


def convex_pairs(name, data):
    if name == "hard":
        return np.ones(len(data["distance"]), dtype=bool)
    return ~(data["nonconvex_a"].astype(bool) | data["nonconvex_b"].astype(bool))


# -- batteries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BATTERIES)
def test_every_convex_pair_is_within_1e_9_of_the_reference(answers_of_batteries, name):
    data, result = answers_of_batteries[name]
    convex = convex_pairs(name, data)
    assert convex.sum() >= 5
    error = np.abs(result.distance - data["distance"]) / body_size(data)
    print(f"\n{name}: largest error of {convex.sum()} convex pairs {error[convex].max():.1e} of the smaller body")
    assert error[convex].max() < 1e-9


@pytest.mark.parametrize("name", ("paper_separated", "paper_overlapping"))
def test_every_certified_pair_with_a_concavity_agrees_with_the_reference(answers_of_batteries, name):
    data, result = answers_of_batteries[name]
    certified = data["certified"].astype(bool)
    error = np.abs(result.distance - data["distance"]) / body_size(data)
    print(
        f"\n{name}: largest error of {certified.sum()} pairs that the reference certifies {error[certified].max():.1e}"
    )
    # Overlapping: the reference is the hulls' depth; that of the bodies may differ by a tiny concavity (README there).
    assert error[certified].max() < (1e-9 if name == "paper_separated" else 1e-7)


@pytest.mark.parametrize("name", BATTERIES)
def test_bounds_hold_against_the_reference_bracket(answers_of_batteries, name):
    data, result = answers_of_batteries[name]
    certified = data["certified"].astype(bool)
    # Overlapping: the reference is the depth of the hulls. Certified pairs have this depth to 1e-7 (README there), and
    # no pair is less deep.
    overlapping = name == "paper_overlapping"
    of_bodies = convex_pairs(name, data) | (not overlapping)
    assert (result.lower - data["upper"])[of_bodies].max() < 1e-12
    assert (result.lower - data["upper"])[certified].max() < 1e-7
    assert (data["lower"] - result.upper)[certified | overlapping].max() < 1e-12
    assert (result.lower <= result.distance).all() and (result.distance <= result.upper).all()


@pytest.mark.parametrize("name", BATTERIES)
def test_only_closed_intervals_are_certified(answers_of_batteries, name):
    data, result = answers_of_batteries[name]
    unproven = (result.status & Status.UNPROVEN).astype(bool)
    width = (result.upper - result.lower) / body_size(data)
    assert width[~unproven].max() < 1.1e-9
    assert width[unproven].min(initial=np.inf) > 1e-9


def test_few_convex_answers_stay_unproven(answers_of_batteries):
    data, result = answers_of_batteries["hard"]
    assert (result.status & Status.UNPROVEN).astype(bool).mean() < 0.02
    for name in ("paper_separated", "paper_overlapping"):
        data, result = answers_of_batteries[name]
        assert not (result.status & Status.UNPROVEN)[convex_pairs(name, data)].any()


# -- closed forms ----------------------------------------------------------------------------------


def test_two_spheres():
    result = distance(Sphere(0.5), pose((1.0, 2.0, 3.0)), Sphere(0.25), pose((1.0, 2.0, 5.0)))
    assert result.distance == pytest.approx(1.25, abs=1e-14)
    assert result.point_a == pytest.approx([1.0, 2.0, 3.5], abs=1e-14)
    assert result.point_b == pytest.approx([1.0, 2.0, 4.75], abs=1e-14)
    assert result.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-14)
    assert result.status == Status.CERTIFIED
    assert result.lower <= 1.25 <= result.upper


@pytest.mark.parametrize("offset", [0.9, 0.5, 0.1, 1e-6, 0.0])
def test_spheres_one_inside_the_other(offset):
    result = distance(Sphere(1.0), pose(), Sphere(0.2), pose((offset, 0.0, 0.0)))
    assert result.distance == pytest.approx(offset - 1.2, abs=1e-12)
    assert result.lower <= offset - 1.2 <= result.upper
    assert np.isfinite(result.normal).all()


def test_aligned_ellipsoids_touch_at_the_ends_of_their_axes():
    result = distance(Ellipsoid((1.0, 2.0, 3.0)), pose(), Ellipsoid((3.0, 2.0, 1.0)), pose((4.0, 0.0, 0.0)))
    assert result.distance == pytest.approx(0.0, abs=1e-12)
    assert result.point_a == pytest.approx([1.0, 0.0, 0.0], abs=1e-7)


def test_depth_of_concentric_ellipsoids_is_twice_the_smallest_axis():
    shape = Ellipsoid((1.0, 0.7, 0.4))
    result = distance(shape, pose(), shape, pose())
    assert result.distance == pytest.approx(-0.8, abs=1e-9)
    assert abs(result.normal[2]) == pytest.approx(1.0, abs=1e-6)


def test_box_like_bodies_face_to_face_have_the_exact_gap():
    box = Superellipsoid((1.0, 1.0, 1.0), section_exponent=0.1, profile_exponent=0.1)
    result = distance(box, pose(), box, pose((2.5, 0.0, 0.0)))
    assert result.distance == pytest.approx(0.5, abs=1e-9)
    result = distance(box, pose(), box, pose((2.5, 0.3, 0.1)))
    assert result.lower <= result.distance <= result.upper
    assert 0.5 - 1e-12 < result.distance < 0.5001


# -- invariances -----------------------------------------------------------------------------------


vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
poses = st.builds(pose, vectors, vectors)


# -- the array form and its errors -----------------------------------------------------------------


def test_single_shapes_and_poses_are_broadcast():
    poses_b = np.array([pose((x, 0.0, 0.0)) for x in (3.0, 4.0, 5.0)])
    result = distances(Sphere(1.0), pose(), Sphere(1.0), poses_b)
    assert result.distance == pytest.approx([1.0, 2.0, 3.0], abs=1e-12)
    assert len(distances([], np.empty((0, 4, 4)), [], np.empty((0, 4, 4)))) == 0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.eye(4)[:3], r"pose_b: must have shape \(\.\.\., 4, 4\), found \(3, 4\)"),
        (np.full((4, 4), np.nan), "pose_b: must be finite"),
        (np.diag([2.0, 2.0, 2.0, 1.0]), "pose_b: upper left 3 x 3 must be a rotation"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), "reflection"),
        (np.diag([1.0, 1.0, 1.0, 2.0]), "last row"),
        (np.tile(np.eye(4), (2, 1, 1)), "distances"),
        ("x", "must be a 4 x 4 matrix of numbers"),
    ],
)
def test_bad_poses_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        distance(Sphere(1.0), pose(), Sphere(1.0), bad)


def test_nearly_rigid_poses_are_accepted_or_refused_by_name():
    rng = np.random.default_rng(5)
    found = set()
    for rotation in Rotation.random(2000, random_state=1).as_matrix():
        near = np.eye(4)
        near[:3, :3] = rotation * np.sqrt(1.0 + 2e-6 / np.sqrt(3.0) * (1.0 + 4e-12 * rng.integers(-40, 40)))
        try:
            found.add(distance(Sphere(1.0), near, Sphere(1.0), pose((3.0, 0.0, 0.0))).distance)
        except ValueError as error:
            found.add(str(error)[:40])
    assert found == {1.0, "pose_a: upper left 3 x 3 must be a rotat"}


def test_single_precision_rotations_become_the_nearest_rotation():
    exact = pose((2.0, 0.1, 0.2), (0.3, -0.2, 0.5))
    rough = exact.astype(np.float32).astype(np.float64)
    a, b = Superellipsoid((1.0, 0.5, 0.4), section_exponent=0.6, profile_exponent=0.7), Ellipsoid((0.5, 0.6, 0.7))
    one, other = distance(a, pose(), b, exact), distance(a, pose(), b, rough)
    assert other.distance == pytest.approx(one.distance, abs=1e-6)
    assert np.linalg.norm(other.point_b - other.point_a) == pytest.approx(other.distance, abs=1e-12)


def test_other_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"b: must be a shape of superovoid\.shapes, found str"):
        distance(Sphere(1.0), pose(), "sphere", pose())
    with pytest.raises(TypeError, match=r"a: must be a shape of superovoid\.shapes, found the class Sphere"):
        distance(Sphere, pose(), Sphere(1.0), pose())
    with pytest.raises(ValueError, match=r"a: 2, pose_b: 3"):
        distances([Sphere(1.0)] * 2, pose(), Sphere(1.0), np.tile(np.eye(4), (3, 1, 1)))
    for rtol in (np.float32(1e-12), np.float32(1e30)):  # as float64 beyond the limits
        assert distance(Sphere(1.0), pose(), Sphere(1.0), pose((3.0, 0.0, 0.0)), rtol=rtol).distance == 1.0
    for rtol in (0.0, 10**400, np.nan, True):
        with pytest.raises(ValueError, match=r"rtol = .*: must be a number of at least 1e-12"):
            distance(Sphere(1.0), pose(), Sphere(1.0), pose(), rtol=rtol)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance engine against the reference batteries, closed forms and invariances."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from superovoid import Ellipsoid, Sphere, Status, Superellipsoid, Superovoid, distance, distances
from superovoid.contact import columns
from superovoid.contact.superovoids import pair_solver

from draws import few_or_many

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
def solved(battery):
    """Every battery solved in both orders: name -> (data, results, results of the swapped pairs)."""
    out = {}
    for name in BATTERIES:
        data = battery(name)
        a, b = battery_shapes(data, "a"), battery_shapes(data, "b")
        pa, pb = battery_poses(data, "a"), battery_poses(data, "b")
        out[name] = data, distances(a, pa, b, pb), distances(b, pb, a, pa)
    return out


def body_size(data):
    """Unit of tolerances: the largest semi-axis of the smaller body."""
    return np.minimum(data["size_a"].max(axis=1), data["size_b"].max(axis=1))


def convex_pairs(name, data):
    if name == "hard":
        return np.ones(len(data["distance"]), dtype=bool)
    return ~(data["nonconvex_a"].astype(bool) | data["nonconvex_b"].astype(bool))


# -- batteries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BATTERIES)
def test_every_convex_pair_is_within_1e_9_of_the_reference(solved, name):
    data, result, _ = solved[name]
    convex = convex_pairs(name, data)
    assert convex.sum() >= 5
    error = np.abs(result.distance - data["distance"]) / body_size(data)
    print(f"\n{name}: largest error of {convex.sum()} convex pairs {error[convex].max():.1e} of the smaller body")
    assert error[convex].max() < 1e-9


@pytest.mark.parametrize("name", ("paper_separated", "paper_overlapping"))
def test_every_certified_pair_with_a_dent_agrees_with_the_reference(solved, name):
    data, result, _ = solved[name]
    certified = data["certified"].astype(bool)
    error = np.abs(result.distance - data["distance"]) / body_size(data)
    print(
        f"\n{name}: largest error of {certified.sum()} pairs that the reference certifies {error[certified].max():.1e}"
    )
    # Overlapping: the reference is the hulls' depth, the bodies' own may differ by a microscopic dent (README there).
    assert error[certified].max() < (1e-9 if name == "paper_separated" else 1e-7)


def test_separated_pairs_with_a_dent_are_no_farther_than_the_best_known(solved):
    data, result, _ = solved["paper_separated"]
    assert (result.distance - data["upper"]).max() < 1e-9


@pytest.mark.parametrize("name", BATTERIES)
def test_bounds_hold_against_the_reference_bracket(solved, name):
    data, result, _ = solved[name]
    certified = data["certified"].astype(bool)
    # Overlapping, the reference is that of the hulls: certified ones are as deep as the bodies to 1e-7 (README there),
    # all are as deep as these or deeper.
    overlapping = name == "paper_overlapping"
    of_bodies = convex_pairs(name, data) | (not overlapping)
    assert (result.lower - data["upper"])[of_bodies].max() < 1e-12
    assert (result.lower - data["upper"])[certified].max() < 1e-7
    assert (data["lower"] - result.upper)[certified | overlapping].max() < 1e-12
    assert (result.lower <= result.distance).all() and (result.distance <= result.upper).all()


@pytest.mark.parametrize("name", BATTERIES)
def test_no_answer_is_a_nan_or_a_sentinel(solved, name):
    _, result, _ = solved[name]
    for field in (result.distance, result.lower, result.upper, result.point_a, result.point_b, result.normal):
        assert np.isfinite(field).all()
        assert np.abs(field).max() < 100.0


@pytest.mark.parametrize("name", BATTERIES)
def test_swapping_bodies_swaps_points_and_turns_the_normal_bit_by_bit(solved, name):
    _, result, swapped = solved[name]
    assert np.array_equal(result.distance, swapped.distance)
    assert np.array_equal(result.lower, swapped.lower)
    assert np.array_equal(result.upper, swapped.upper)
    assert np.array_equal(result.point_a, swapped.point_b)
    assert np.array_equal(result.point_b, swapped.point_a)
    assert np.array_equal(result.normal, -swapped.normal)
    assert np.array_equal(result.status, swapped.status)


@pytest.mark.parametrize("name", BATTERIES)
def test_witness_points_lie_on_the_surfaces_and_span_the_distance_along_the_normal(solved, name):
    data, result, _ = solved[name]
    clear = result.status == Status.CERTIFIED
    assert clear.mean() > 0.75
    for side, points in (("a", result.point_a), ("b", result.point_b)):
        local = np.einsum("nji,nj->ni", data[f"rotation_{side}"], points - data[f"position_{side}"])
        value = np.array([s.implicit(x) for s, x in zip(battery_shapes(data, side), local, strict=True)])
        # F is steep where an exponent is near 0: 1e-10 of F is far below 1e-10 of a length.
        assert np.abs(value[clear]).max() < 1e-10
    span = ((result.point_b - result.point_a) * result.normal).sum(axis=1)
    assert np.abs(span - result.distance)[clear].max() < 1e-9
    assert np.abs(np.linalg.norm(result.normal, axis=1) - 1.0).max() < 1e-12


@pytest.mark.parametrize("name", BATTERIES)
def test_status_says_certified_exactly_where_the_interval_is_closed(solved, name):
    data, result, _ = solved[name]
    unproven = (result.status & Status.UNPROVEN).astype(bool)
    width = (result.upper - result.lower) / body_size(data)
    assert width[~unproven].max() < 1.1e-9
    assert width[unproven].min(initial=np.inf) > 1e-9


def test_few_convex_answers_stay_unproven(solved):
    data, result, _ = solved["hard"]
    assert (result.status & Status.UNPROVEN).astype(bool).mean() < 0.02
    for name in ("paper_separated", "paper_overlapping"):
        data, result, _ = solved[name]
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


def test_aligned_ellipsoids_touch_where_their_axes_say():
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


def test_deep_overlap_takes_the_shortest_way_out():
    # A long rod through the middle of a plate: sideways out of the plate's thickness is shortest.
    plate = Superellipsoid((2.0, 2.0, 0.1), section_exponent=0.2, profile_exponent=0.2)
    rod = Superellipsoid((0.1, 0.1, 3.0), section_exponent=0.9, profile_exponent=0.2)
    result = distance(plate, pose(), rod, pose((1.5, 0.0, 0.0)))
    assert result.distance == pytest.approx(-0.6, abs=2e-2)
    assert result.normal[0] == pytest.approx(1.0, abs=0.05)


# -- invariances -----------------------------------------------------------------------------------


@st.composite
def convex_bodies(draw):
    e2 = draw(st.floats(0.1, 1.9))
    limit = min(0.5, 0.98 * (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2))
    taper = draw(st.floats(-limit, limit))
    size = [math.exp(draw(st.floats(-1.5, 1.5))) for _ in range(3)]
    return Superovoid(size, section_exponent=draw(st.floats(0.1, 1.9)), profile_exponent=e2, taper=(taper, taper))


vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
poses = st.builds(pose, vectors, vectors)


@given(convex_bodies(), poses, convex_bodies(), poses)
@settings(max_examples=80, deadline=None)
def test_swap_gives_the_mirrored_answer(a, pose_a, b, pose_b):
    assume(not (a == b and np.array_equal(pose_a, pose_b)))  # one body twice has no order to swap
    one, other = distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)
    assert one.distance == other.distance
    assert np.array_equal(one.point_a, other.point_b) and np.array_equal(one.point_b, other.point_a)
    assert np.array_equal(one.normal, -other.normal)


@given(convex_bodies(), poses, convex_bodies(), poses, poses)
@settings(max_examples=80, deadline=None)
def test_rigid_motion_leaves_the_distance(a, pose_a, b, pose_b, motion):
    one = distance(a, pose_a, b, pose_b)
    other = distance(a, motion @ pose_a, b, motion @ pose_b)
    # Each answer lies in its own proved interval; where both are closed they agree that closely.
    assert other.lower <= one.upper + 1e-12 and one.lower <= other.upper + 1e-12


@given(convex_bodies(), poses, convex_bodies(), poses, st.sampled_from([1e-3, 1e-2, 10.0, 1e3]))
@settings(max_examples=80, deadline=None)
def test_scaling_scales_the_distance(a, pose_a, b, pose_b, factor):
    def scaled(shape, at):
        at = at.copy()
        at[:3, 3] *= factor
        return Superovoid(
            np.multiply(shape.semi_axes, factor),
            section_exponent=shape.section_exponent,
            profile_exponent=shape.profile_exponent,
            taper=shape.taper,
        ), at

    one = distance(a, pose_a, b, pose_b)
    other = distance(*scaled(a, pose_a), *scaled(b, pose_b))
    rounding = 1e-11 * factor
    assert other.lower <= factor * one.upper + rounding
    assert factor * one.lower <= other.upper + rounding


@given(convex_bodies(), poses, convex_bodies(), poses, st.integers(0, 2**31))
@settings(max_examples=80, deadline=None)
def test_no_direction_and_no_pair_of_points_contradicts_the_interval(a, pose_a, b, pose_b, seed):
    """g(n) <= upper for every n; |x_B - x_A| >= lower for every pair of points: two one-line oracles."""
    result = distance(a, pose_a, b, pose_b)
    n = np.random.default_rng(seed).normal(size=(400, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    support = a.support_value(n @ pose_a[:3, :3]) + b.support_value(-n @ pose_b[:3, :3])
    g = n @ (pose_b[:3, 3] - pose_a[:3, 3]) - support
    assert g.max() <= result.upper + 1e-12
    xa = a.support(n @ pose_a[:3, :3]) @ pose_a[:3, :3].T + pose_a[:3, 3]
    xb = b.support(-n @ pose_b[:3, :3]) @ pose_b[:3, :3].T + pose_b[:3, 3]
    assert np.linalg.norm(xb - xa, axis=1).min() >= result.lower - 1e-12


@given(convex_bodies(), poses, convex_bodies(), poses, vectors)
@settings(max_examples=60, deadline=None)
def test_warm_start_gives_the_cold_answer(a, pose_a, b, pose_b, turn):
    state, out, rotation = np.zeros(columns.STATE_LENGTH), np.empty(columns.RESULT_LENGTH), np.empty((3, 3))
    for step in range(4):
        moved = pose_b @ pose((0.01 * step, 0.0, 0.0), np.multiply(turn, 0.005 * step))
        pair_solver.solve_pair(a._packed, b._packed, pose_a, moved, 1e-9, 4000, state, rotation, out)
        cold = distance(a, pose_a, b, moved)
        assert out[columns.LOWER] <= cold.upper + 1e-12
        assert cold.lower <= out[columns.UPPER] + 1e-12


def test_upper_bound_of_a_touch_at_a_crease_allows_for_the_residual_of_newton():
    a = Superovoid(
        (0.15374074562638157, 0.18033458463903623, 1.9243928049037757),
        section_exponent=1.609225076950763,
        profile_exponent=1.9151658905351927,
    )
    b = Superovoid(
        (0.060167307952849004, 3.433392223186273, 9.320517182129853),
        section_exponent=1.3250612689295196,
        profile_exponent=1.7963393686357558,
        taper=(0.06303450391309552, 0.06303450391309552),
    )
    pose_b = np.array(
        [
            [-0.5777962514377346, -0.2802072591244129, -0.7665737953768615, -7.144836681789427],
            [-0.3429526688734672, 0.9356334721414803, -0.08350732136192482, -0.7783607479891823],
            [0.7406314594567721, 0.21464831176243135, -0.636703340277456, -7.858789314085877],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    n = np.array([-0.6460571137921934, -0.7305393082954217, -0.22118436824004464])
    g = n @ pose_b[:3, 3] - a.support_value(n) - b.support_value(-n @ pose_b[:3, :3])
    for tolerance in (1e-9, 1e-11, 1e-12):
        result = distance(a, pose(), b, pose_b, rtol=tolerance)
        assert g <= result.upper + 1e-14
        assert result.status != Status.CERTIFIED or result.upper - result.lower < 2.0 * tolerance * 0.2 + 1e-12


@pytest.mark.parametrize(
    ("a", "b", "pose_b", "hull_distance"),
    [
        (
            (
                (1.5738090584914588, 1.4253072203294255, 1.577607903602822),
                (1.3, 1.95),
                (-0.141650236659571, 0.2783210104108871),
            ),
            (
                (0.8617299659932167, 0.37402365121936226, 1.7055930955865157),
                (0.7849710098007534, 0.7661257385354961),
                (0.41375066649497383, -0.2684037229234977),
            ),
            [
                [0.8825853469149033, -0.3250040944499327, -0.33972848570863023, -0.5549442433672581],
                [-0.4188719655153219, -0.8717238804859375, -0.25425135731372056, -1.0246640801932754],
                [-0.21351670172712656, 0.36670126094863303, -0.9055058273154575, -1.5500286424713972],
                [0.0, 0.0, 0.0, 1.0],
            ],
            -0.672421,
        ),
        (
            (
                (0.791506463874778, 0.6798098444827928, 1.2852898153534846),
                (1.9168679531760622, 1.9483527819550326),
                (-0.023318503691494907, 0.277565270737993),
            ),
            (
                (0.7668220393404718, 0.657029090208297, 0.7908813447249994),
                (1.1874031508349627, 1.5465593701359839),
                (-0.40385861023335856, 0.034058139118715136),
            ),
            [
                [0.23812189285317598, 0.8469935706250388, 0.47528923348195884, 0.4676783740398859],
                [0.9318393190637889, -0.06127466446724372, -0.35766031222538663, 1.3546176733674455],
                [-0.273812796616146, 0.5280599462317457, -0.8038527511895266, -0.3793758804604391],
                [0.0, 0.0, 0.0, 1.0],
            ],
            0.158064246,
        ),
    ],
)
def test_bodies_with_a_dent_are_proved_where_they_are_apart_and_less_deep_than_their_hulls_where_not(
    a, b, pose_b, hull_distance
):
    result = distance(Superovoid.from_goncalves(*a), pose(), Superovoid.from_goncalves(*b), pose_b)
    # Hull distances from the independent method of the batteries.
    if hull_distance < 0.0:
        # Of the bodies themselves, of which less of a way is proved to part them.
        assert hull_distance + 0.04 < result.lower <= result.distance
        assert result.status == Status.CERTIFIED
        assert result.upper - result.lower < 1.5e-9
        return
    assert result.lower >= hull_distance - 1e-6
    assert result.distance == pytest.approx(np.linalg.norm(result.point_b - result.point_a), abs=1e-12)
    assert result.status & Status.UNPROVEN == 0
    assert result.upper - result.lower < 1e-8


@few_or_many(120, 400, "count")
def test_overlap_of_mildly_dented_bodies_is_not_deeper_than_their_hulls(count):
    rng = np.random.default_rng(3)
    shapes = [
        Superovoid(
            np.exp(rng.uniform(-0.7, 0.7, 3)),
            section_exponent=rng.uniform(0.2, 1.5),
            profile_exponent=rng.uniform(0.2, 0.95),
            taper=rng.uniform(-0.15, 0.15, 2),
        )
        for _ in range(2 * count)
    ]
    a, b = shapes[:count], shapes[count:]
    poses_b = np.tile(np.eye(4), (count, 1, 1))
    poses_b[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses_b[:, :3, 3] = 0.3 * rng.normal(size=(count, 3))
    result = distances(a, pose(), b, poses_b)
    n = rng.normal(size=(2000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    for i in range(count):
        g = n @ poses_b[i, :3, 3] - a[i].support_value(n) - b[i].support_value(-n @ poses_b[i, :3, :3])
        assert result.distance[i] >= g.max() - 1e-9


# -- the array form and its errors -----------------------------------------------------------------


def test_array_form_equals_the_single_form(battery):
    data = battery("hard")
    a, b = battery_shapes(data, "a")[:50], battery_shapes(data, "b")[:50]
    pa, pb = battery_poses(data, "a")[:50], battery_poses(data, "b")[:50]
    many = distances(a, pa, b, pb)
    assert len(many) == 50
    for i in range(50):
        one = distance(a[i], pa[i], b[i], pb[i])
        assert one.distance == many.distance[i]
        assert np.array_equal(one.point_a, many[i].point_a)
        assert one.status == many[i].status


def test_single_shapes_and_poses_stand_in_every_pair():
    poses_b = np.array([pose((x, 0.0, 0.0)) for x in (3.0, 4.0, 5.0)])
    result = distances(Sphere(1.0), pose(), Sphere(1.0), poses_b)
    assert result.distance == pytest.approx([1.0, 2.0, 3.0], abs=1e-12)
    assert len(distances([], np.empty((0, 4, 4)), [], np.empty((0, 4, 4)))) == 0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.eye(3), r"pose_b: must have shape \(\.\.\., 4, 4\), found \(3, 3\)"),
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


def test_rotations_of_single_precision_are_taken_as_the_nearest_rotation():
    exact = pose((2.0, 0.1, 0.2), (0.3, -0.2, 0.5))
    rough = exact.astype(np.float32).astype(np.float64)
    a, b = Superellipsoid((1.0, 0.5, 0.4), section_exponent=0.6, profile_exponent=0.7), Ellipsoid((0.5, 0.6, 0.7))
    one, other = distance(a, pose(), b, exact), distance(a, pose(), b, rough)
    assert other.distance == pytest.approx(one.distance, abs=1e-6)
    assert np.linalg.norm(other.point_b - other.point_a) == pytest.approx(other.distance, abs=1e-12)


def test_other_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"b: must be a shape of superovoid\.shapes, found str"):
        distance(Sphere(1.0), pose(), "sphere", pose())
    with pytest.raises(ValueError, match=r"shapes_a: 2, poses_b: 3"):
        distances([Sphere(1.0)] * 2, pose(), Sphere(1.0), np.tile(np.eye(4), (3, 1, 1)))
    with pytest.raises(ValueError, match="rtol"):
        distance(Sphere(1.0), pose(), Sphere(1.0), pose(), rtol=0.0)

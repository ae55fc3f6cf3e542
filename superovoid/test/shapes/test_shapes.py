# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shapes against finite differences, brute force and known answers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superovoid import (
    Box,
    Capsule,
    ConvexMesh,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Motion,
    Sphere,
    Superellipsoid,
    Superovoid,
    are_closer,
    distance,
    time_of_impact,
)
from superovoid.shapes.kernels import support_function, surface

from draws import few_or_many

SHAPES = [
    Sphere(0.7),
    Ellipsoid((1.0, 2.0, 0.5)),
    Superellipsoid((1.0, 0.8, 1.3), section_exponent=0.4, profile_exponent=1.6),
    Superellipsoid((0.2, 0.9, 0.4), section_exponent=1.7, profile_exponent=0.3),
    Superovoid((1.0, 0.8, 1.3), section_exponent=0.7, profile_exponent=0.9, taper=(0.2, 0.2)),
    Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.3, -0.2)),
    Superovoid((2.0, 1.0, 1.0), section_exponent=0.3, profile_exponent=0.5, taper=(0.5, -0.5)),
    Superovoid((1.0, 1.0, 1.0), section_exponent=1.2, profile_exponent=1.5, taper=(-0.4, 0.4)),
]


@st.composite
def superovoids(draw, epsilon=(0.1, 1.9)):
    size = [math.exp(draw(st.floats(-2.0, 2.0))) for _ in range(3)]
    return Superovoid.from_goncalves(
        size,
        [draw(st.floats(*epsilon)) for _ in range(2)],
        [draw(st.floats(-0.5, 0.5)) for _ in range(2)],
    )


def random_directions(count, seed=0):
    n = np.random.default_rng(seed).normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1)[:, None]


def generic_points(shape, count=50, seed=1):
    """Return points near the surface and away from the coordinate planes; all derivatives exist at them."""
    rng = np.random.default_rng(seed)
    eta = rng.uniform(0.3, 1.2, count) * rng.choice([-1, 1], count)
    omega = rng.uniform(0.3, 1.2, count) + rng.integers(0, 4, count) * 0.5 * math.pi
    return shape.surface_point(eta, omega) * rng.uniform(0.8, 1.1, (count, 1))


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_gradient_and_hessian_agree_with_central_differences(shape):
    points = generic_points(shape)
    step = 1e-5 * np.array(shape.semi_axes)
    gradient, hessian = np.empty((len(points), 3)), np.empty((len(points), 3, 3))
    for i in range(3):
        offset = np.zeros(3)
        offset[i] = step[i]
        gradient[:, i] = (shape.implicit(points + offset) - shape.implicit(points - offset)) / (2 * step[i])
        hessian[:, i] = (shape.gradient(points + offset) - shape.gradient(points - offset)) / (2 * step[i])
    # In units of the axes, so that one tolerance fits all; the error of a central difference is its step squared.
    scale = np.array(shape.semi_axes)
    exact = shape.gradient(points) * scale
    assert np.abs(gradient * scale - exact).max() < 1e-6 * np.abs(exact).max()
    exact = shape.hessian(points) * scale[:, None] * scale
    assert np.abs(hessian * scale[:, None] * scale - exact).max() < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_parametric_points_lie_on_the_implicit_surface(shape):
    rng = np.random.default_rng(2)
    points = shape.surface_point(rng.uniform(-1.5, 1.5, 500), rng.uniform(-3.1, 3.1, 500))
    assert np.abs(shape.implicit(points)).max() < 1e-11


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_kernels_agree_with_the_plain_formulas(shape):
    body = shape._packed_row
    for n in random_directions(40):
        f, _ = support_function.support(body, tuple(n))
        x = np.array(surface.position(body, f))
        ours = np.array(surface.gradient(body, f)) * body[surface.S_]
        plain = shape.gradient(x)
        assert np.linalg.norm(ours - plain) < 1e-6 * np.linalg.norm(plain)
        h = surface.hessian(body, f)
        ours = np.array([[h.xx, h.xy, h.xz], [h.xy, h.yy, h.yz], [h.xz, h.yz, h.zz]]) * body[surface.S_]
        plain = shape.hessian(x)
        if np.linalg.norm(plain) < 1e6 / min(shape.semi_axes) ** 2:  # beyond, the kernels clip on purpose
            assert np.linalg.norm(ours - plain) < 1e-5 * np.linalg.norm(plain)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_support_point_is_on_the_surface_and_beats_every_sample(shape):
    rng = np.random.default_rng(3)
    cloud = shape.surface_point(
        np.arcsin(np.sign(s := rng.uniform(-1, 1, 200_000)) * np.abs(s) ** (1 / shape.profile_exponent)),
        rng.uniform(-math.pi, math.pi, 200_000),
    )
    n = random_directions(60)
    point, value = shape.support(n), shape.support_value(n)
    size = max(shape.semi_axes)
    assert np.abs(shape.implicit(point)).max() < 1e-11
    assert np.abs((point * n).sum(axis=1) - value).max() < 1e-12 * size
    best = (cloud @ n.T).max(axis=0)
    assert (best - value).max() < 1e-12 * size
    assert (value - best).max() < 0.02 * size  # the samples come that close, so the value is a tight bound


@given(superovoids(), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_support_function_is_sublinear(shape, seed):
    a, b = random_directions(2, seed)
    assert shape.support_value(a + b) <= shape.support_value(a) + shape.support_value(b) + 1e-12 * max(shape.semi_axes)
    assert shape.support_value(3.0 * a) == pytest.approx(3.0 * shape.support_value(a), rel=1e-13)


@given(superovoids())
@settings(max_examples=60, deadline=None)
def test_bounding_volumes_contain_every_vertex_of_the_tessellation(shape):
    vertices = shape.tessellate(40).vertices
    size = max(shape.semi_axes)
    centre, radius = shape.bounding_sphere()
    assert np.linalg.norm(vertices - centre, axis=1).max() <= radius * (1 + 1e-12)
    box = shape.obb()
    assert (np.abs(vertices - box.centre) - box.half_extents).max() <= 1e-12 * size
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    lower, upper = shape.aabb(turn)
    turned = vertices @ turn.T
    assert (turned - upper).max() <= 1e-12 * size
    assert (lower - turned).max() <= 1e-12 * size


def test_bounding_spheres_contain_bodies_over_the_whole_range_and_are_tight():
    rng = np.random.default_rng(8)
    u = np.linspace(0.0, 1.0, 401)
    w = np.concatenate([np.sin(0.5 * math.pi * u), 1.0 - 10.0 ** np.linspace(-15.0, -1.0, 200)])
    w = np.concatenate([-w, w])[:, None]
    slack = []
    for _ in range(40):
        ends = np.where(rng.random(2) < 0.5, 1e-6, 2.0) + rng.choice([0.0, 1e-6, 1e-3]) * np.array([1.0, 1.0])
        epsilon = np.where(rng.random(2) < 0.3, ends, rng.uniform(0.02, 1.98, 2)).clip(1e-6, 1.999999)
        taper = rng.uniform(-0.5, 0.5, 2) * (rng.random() < 0.7)
        shape = Superovoid.from_goncalves(np.exp(rng.uniform(-1.0, 1.0, 3)), epsilon, taper)
        # Points of the section by the share of the x term, of the meridian by the height.
        share = np.concatenate([u, 0.5 * 10.0 ** np.linspace(-9.0, 0.0, 50)])[None]
        with np.errstate(divide="ignore"):
            r = (-np.expm1(2.0 / epsilon[1] * np.log(np.abs(w)))) ** (0.5 * epsilon[1])
        x = shape.semi_axes[0] * (1.0 + taper[0] * w) * r * share ** (0.5 * epsilon[0])
        y = shape.semi_axes[1] * (1.0 + taper[1] * w) * r * (1.0 - share) ** (0.5 * epsilon[0])
        centre, radius = shape.bounding_sphere()
        farthest = np.sqrt(x**2 + y**2 + (shape.semi_axes[2] * w - centre[2]) ** 2).max()
        assert centre[0] == centre[1] == 0.0
        assert farthest <= radius
        slack.append(radius / farthest - 1.0)
        assert np.sqrt(x**2 + y**2 + (shape.semi_axes[2] * w) ** 2).max() <= shape._packed_row[surface.RADIUS] * (
            1.0 + 1e-15
        )
    assert max(slack) < 2e-3


@pytest.mark.parametrize(
    ("parameters", "direction"),
    [
        (
            (
                (0.4388571423334827, 1.0634700140167317, 1.3867716206445315),
                (1.1964457451829642, 1.913313465022486),
                (0.02066106847161242, -0.4522990802107355),
            ),
            (0.17139345364199515, 0.8657165183186248, -0.4702756574169532),
        ),
        (
            (
                (1.5738090584914588, 1.4253072203294255, 1.577607903602822),
                (1.3, 1.95),
                (-0.141650236659571, 0.2783210104108871),
            ),
            (-0.2399223705121382, -0.7147156054216435, -0.6569770616198178),
        ),
    ],
)
def test_support_of_a_non_convex_body_finds_the_ridge_at_the_equator(parameters, direction):
    check_support_by_sections(Superovoid.from_goncalves(*parameters), np.array(direction))


def check_support_by_sections(shape, n):
    """Check the support value against its definition, sampled densely in the height of the section."""
    u = np.linspace(-1.0, 1.0, 20001)
    w = np.concatenate([u, u**5, np.sign(u) * (1.0 - (1.0 - np.abs(u)) ** 5)])
    e1, e2 = shape.section_exponent, shape.profile_exponent
    q = 2.0 / (2.0 - e1)
    x = np.abs(shape.semi_axes[0] * n[0] * (1.0 + shape.taper[0] * w))
    y = np.abs(shape.semi_axes[1] * n[1] * (1.0 + shape.taper[1] * w))
    r = (1.0 - np.abs(w) ** (2.0 / e2)).clip(0.0) ** (0.5 * e2)
    best = (shape.semi_axes[2] * n[2] * w + r * (x**q + y**q) ** (1.0 / q)).max()
    value = shape.support_value(n)
    assert best - 1e-12 <= value <= best + 1e-4 * max(shape.semi_axes)
    assert shape.support(n) @ n == pytest.approx(value, abs=1e-9 * max(shape.semi_axes))


@pytest.mark.ci
def test_support_of_any_body_is_that_of_its_highest_section():
    rng = np.random.default_rng(7)
    for _ in range(400):
        shape = Superovoid.from_goncalves(
            np.exp(rng.uniform(-1, 1, 3)), rng.uniform(0.1, 1.95, 2), rng.uniform(-0.5, 0.5, 2)
        )
        check_support_by_sections(shape, random_directions(1, int(rng.integers(2**31)))[0])


def test_bounding_volumes_of_known_bodies_are_tight():
    assert Sphere(0.3).bounding_sphere().radius == pytest.approx(0.3, rel=1e-9)
    assert Ellipsoid((1.0, 3.0, 2.0)).bounding_sphere().radius == pytest.approx(3.0, rel=2e-3)
    assert Ellipsoid((1.0, 3.0, 2.0)).obb().half_extents == pytest.approx((1.0, 3.0, 2.0), rel=1e-12)
    assert Superellipsoid(
        (1.0, 1.0, 1.0), section_exponent=0.02, profile_exponent=0.02
    ).bounding_sphere().radius == pytest.approx(math.sqrt(3.0), rel=0.05)


def test_known_values_of_the_support_function():
    assert Sphere(0.5).support_value((0.0, 3.0, 4.0)) == pytest.approx(2.5, rel=1e-15)
    n = np.array([1.0, -2.0, 0.5])
    assert Ellipsoid((1.0, 2.0, 3.0)).support_value(n) == pytest.approx(np.linalg.norm(n * (1, 2, 3)), rel=1e-14)
    # Without taper: h = ((|a1 n1|^q + |a2 n2|^q)^(Q/q) + |a3 n3|^Q)^(1/Q), the dual norm.
    e1, e2 = 0.4, 1.3
    q, big = 2 / (2 - e1), 2 / (2 - e2)
    expected = ((1.0 + abs(0.5 * n[1]) ** q) ** (big / q) + abs(2.0 * n[2]) ** big) ** (1 / big)
    assert Superellipsoid((1.0, 0.5, 2.0), section_exponent=e1, profile_exponent=e2).support_value(n) == pytest.approx(
        expected, rel=1e-14
    )


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_tessellation_is_closed_outward_and_converges_to_the_volume(shape):
    coarse, fine = shape.tessellate(), shape.tessellate(160)
    assert coarse.is_watertight and fine.is_watertight
    assert coarse.volume > 0.0
    assert 200 <= len(coarse.vertices) <= 300
    assert fine.volume == pytest.approx(shape.volume(), rel=5e-3)
    assert abs(fine.volume - shape.volume()) < abs(coarse.volume - shape.volume())
    assert np.abs(shape.implicit(coarse.vertices)).max() < 1e-9


def test_volume_of_the_ellipsoid_is_exact():
    assert Ellipsoid((1.0, 2.0, 3.0)).volume() == pytest.approx(8.0 * math.pi, rel=1e-14)


def test_equal_tapers_are_convex_exactly_up_to_the_derived_limit():
    for e2 in (0.2, 0.9, 1.0, 1.4, 1.6, 1.9):
        limit = (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2)
        below = min(0.5, 0.999 * limit)
        assert Superovoid((1, 1, 1), section_exponent=0.8, profile_exponent=e2, taper=(below, below)).convexity().convex
        if 1.01 * limit <= 0.5:
            report = Superovoid(
                (1, 1, 1), section_exponent=0.8, profile_exponent=e2, taper=(1.01 * limit,) * 2
            ).convexity()
            assert not report.convex
            assert report.concavity >= 0.0
    # The paper's range is |T| <= 0.5.
    assert not Superovoid((1, 1, 1), section_exponent=0.8, profile_exponent=1.6, taper=(0.5, 0.5)).convexity().convex


def test_unequal_tapers_with_flat_equators_are_never_convex():
    assert not Superovoid((1, 1, 1), section_exponent=0.8, profile_exponent=0.7, taper=(0.1, 0.1001)).convexity().convex


@pytest.mark.ci
@few_or_many(80, 300)
def test_concavities_agree_with_independent_ones(battery, draws):
    # Other grids gave the battery's concavities, to 5 % for concavities large enough to be resolved.
    data = battery("paper_separated")
    compared = 0
    for i in range(draws):
        report = Superovoid.from_goncalves(data["size_a"][i], data["epsilon_a"][i], data["taper_a"][i]).convexity()
        assert report.convex == (not data["nonconvex_a"][i])
        if data["dent_a"][i] > 1e-5:
            assert report.concavity == pytest.approx(data["dent_a"][i], rel=0.05)
            compared += 1
    assert compared > 0.1 * draws


def test_the_normal_at_a_support_point_is_its_direction():
    shape = SHAPES[4]
    n = random_directions(100)
    assert shape.normal(shape.support(n)) == pytest.approx(n, abs=1e-7)
    assert shape.normal([0.0, 0.0, shape.semi_axes[2]]) == pytest.approx([0.0, 0.0, 1.0])


def test_points_beyond_the_fold_of_the_taper_are_outside():
    assert (
        Superovoid((1, 1, 1), section_exponent=1, profile_exponent=1, taper=(0.5, 0.5)).implicit([0.0, 0.0, -2.5])
        == np.inf
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"semi_axes": (1, 0, 1)}, r"Superovoid.semi_axes\[1\] = 0.0: must be positive"),
        ({"semi_axes": (1, 1)}, r"Superovoid.semi_axes = \(1, 1\): must be 3 numbers"),
        ({"semi_axes": (1, float("nan"), 1)}, r"Superovoid.semi_axes\[1\] = nan: must be finite"),
        ({"semi_axes": "abc"}, r"Superovoid.semi_axes = 'abc': must be 3 numbers"),
        (
            {"semi_axes": (1, 1, 1), "profile_exponent": 2.3},
            r"Superovoid.profile_exponent = 2.3: must be in \[1e-06, 1.999999\]",
        ),
        ({"semi_axes": (1, 1, 1), "taper": (0.6, 0.0)}, r"Superovoid.taper\[0\] = 0.6: must be in \[-0.5, 0.5\]"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Superovoid(**arguments)


def test_bad_radius_and_bad_direction_are_named():
    with pytest.raises(ValueError, match=r"Sphere.radius = -1"):
        Sphere(-1)
    with pytest.raises(ValueError, match="direction: must be finite and not zero"):
        Sphere(1).support((0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"points: must have shape"):
        Sphere(1).implicit([1.0, 2.0])


@pytest.mark.parametrize("name", ["contains", "implicit", "gradient", "hessian", "normal"])
def test_nan_points_are_named(name):
    with pytest.raises(ValueError, match="points: must be numbers"):
        getattr(Sphere(1), name)("x")


def test_a_nan_point_has_no_normal_and_is_in_no_body():
    assert np.isnan(Sphere(1).normal((np.nan, 0.0, 0.0))).all()
    assert not HalfSpace().contains((np.nan, 0.0, -1.0))
    np.testing.assert_array_equal(Sphere(1).contains([(0.0, 0.0, np.nan), (0.0, 0.0, 0.0)]), [False, True])


def test_shapes_are_values():
    assert Superovoid((1, 2, 3)) == Superovoid((1.0, 2.0, 3.0))
    assert hash(Sphere(1.0)) == hash(Sphere(1.0))
    with pytest.raises(AttributeError):
        Sphere(1.0).semi_axes = (1, 1, 1)


NO_NUMBERS = (math.nan, math.inf, -math.inf, 10**400, "1", b"1", True, None, 1j, [[1.0], [2.0, 3.0]])


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda v: repr(v)[:12])
def test_arguments_other_than_numbers_are_refused_by_name(value):
    """None may overflow, give a pose of nan or count as 1."""
    ball, pose = Sphere(1.0), np.eye(4)
    cases = {
        "Sphere.radius": lambda: Sphere(value),
        "Capsule.length": lambda: Capsule(1.0, value),
        "Box.lengths": lambda: Box(value),
        "Superovoid.taper": lambda: Superovoid(
            (1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=1.0, taper=value
        ),
        "ConvexMesh.vertices": lambda: ConvexMesh(value),
        "Mesh.vertices": lambda: Mesh.from_triangles(value, [(0, 1, 2)] * 4),
        "direction": lambda: ball.support(value),
        "resolution": lambda: ball.tessellate(value),
        "pose_a": lambda: distance(ball, value, ball, pose),
        "threshold": lambda: are_closer(ball, pose, ball, pose, value),
        "rtol": lambda: distance(ball, pose, ball, pose, rtol=value),
        "max_evaluations": lambda: time_of_impact(ball, pose, ball, pose, max_evaluations=value),
        "duration": lambda: time_of_impact(ball, pose, ball, pose, duration=value),
        "time": lambda: Motion.at_rest(pose).pose(value),
        "Motion.angular": lambda: Motion(pose, np.zeros(3), value),
        "twist": lambda: Motion.screw(pose, value),
    }
    for name, call in cases.items():
        with pytest.raises(ValueError, match=name):
            call()


def test_exponents_are_keyword_arguments_only():
    for kind in (Superovoid, Superellipsoid):
        with pytest.raises(TypeError):
            kind((0.1, 0.2, 0.3), 1.2, 0.3)
        with pytest.raises(TypeError):
            kind((0.1, 0.2, 0.3), (1.2, 0.3))


def test_exponents_in_barrs_order_make_the_same_body():
    tall = Superovoid.from_barr((0.1, 0.2, 0.3), (0.3, 1.2), (0.1, 0.2))
    assert tall == Superovoid((0.1, 0.2, 0.3), section_exponent=1.2, profile_exponent=0.3, taper=(0.1, 0.2))
    assert Superellipsoid.from_barr((0.1, 0.2, 0.3), (0.3, 1.2)) == Superellipsoid(
        (0.1, 0.2, 0.3), section_exponent=1.2, profile_exponent=0.3
    )
    assert Superovoid.from_goncalves((0.1, 0.2, 0.3), (1.2, 0.3), (0.1, 0.2)) == tall
    # A tin: round sections, square meridians. Barr's first exponent is that along z.
    tin = Superellipsoid.from_barr((1.0, 1.0, 1.0), (0.05, 1.0))
    assert tin.contains((0.0, 0.95, 0.95)) and not tin.contains((0.8, 0.8, 0.0))
    with pytest.raises(ValueError, match=r"Superellipsoid.taper = \(0.1, 0.1\): must be"):
        Superellipsoid.from_barr((1.0, 1.0, 1.0), taper=(0.1, 0.1))
    with pytest.raises(TypeError, match="no exponents to choose"):
        Sphere.from_barr((1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match=r"profile_exponent = 2.5: must be"):
        Superovoid((1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=2.5)

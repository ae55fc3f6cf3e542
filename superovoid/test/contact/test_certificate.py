# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Foundations of the certificate: tangent balls, caps, and proofs carried from pose to pose."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Superovoid, distance
from superovoid.contact import columns
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import cap_lanes, pair_solver
from superovoid.contact.superovoids.answers import WARM_ITERATIONS, newton_from
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.caps import axes_at
from superovoid.contact.superovoids.newton import observe
from superovoid.shapes.kernels import support_function, surface


def random_shape(rng, epsilon=(0.15, 1.8)):
    e1, e2 = rng.uniform(*epsilon, 2)
    kind = rng.integers(3)
    taper = (0.0, 0.0)
    if kind == 1:
        limit = min(0.5, 0.98 * (1.0 - 0.5 * e2) * 2.0 ** (0.5 * e2))
        taper = (rng.uniform(-limit, limit),) * 2
    elif kind == 2:
        e2, taper = rng.uniform(1.0, 1.3), tuple(rng.uniform(-0.25, 0.25, 2))
    return Superovoid(np.exp(rng.uniform(-0.8, 0.8, 3)), section_exponent=e1, profile_exponent=e2, taper=taper)


def unit(rng, count=None):
    n = rng.normal(size=3 if count is None else (count, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


class CapRadii(NamedTuple):
    """Lower bound alpha e e^T + beta Z Z^T of the radius matrix over a cap, and how far e and Z stray."""

    alpha: float
    e: np.ndarray
    stray_e: float
    beta: float
    z: np.ndarray
    stray_z: float
    least: float


def radii_over_caps(body, f, n, angles):
    """Return the bounds of a body's radii over caps of some angles about the normal n at a surface point."""
    n, angles = tuple(float(x) for x in n), np.asarray(angles, float)
    axes, found = axes_at(body, f), []
    first, width = cap_lanes.RADII // cap_lanes.ROW, cap_lanes.WIDTH
    for some in np.split(angles, range(width, len(angles), width)):
        rows = np.zeros((cap_lanes.LENGTH // cap_lanes.ROW, cap_lanes.ROW))
        rows[cap_lanes.ANGLE // cap_lanes.ROW, :width] = some[-1]  # the kernel always computes this many
        rows[cap_lanes.ANGLE // cap_lanes.ROW, : len(some)] = some
        cap_lanes.radii_in_lanes(rows.ravel(), body, f, axes, n, width)
        for alpha, stray_e, beta, stray_z, least in rows[first : first + 5, : len(some)].T:
            found.append(CapRadii(alpha, np.array(axes.e), stray_e, beta, np.array(axes.z), stray_z, least))
    return found


def radii_over_cap(body, f, n, angle):
    """Return the bounds for one angle."""
    (radii,) = radii_over_caps(body, f, n, [angle])
    return radii


@pytest.mark.ci
def test_radii_over_a_cap_bound_those_of_its_directions():
    rng = np.random.default_rng(2)
    checked = told = 0
    for _ in range(300):
        shape = random_shape(rng)
        if not shape.convexity().convex:
            continue
        body, n, angle = shape._packed_row, unit(rng), math.exp(rng.uniform(-7.0, -1.0))
        f, _ = support_function.support(body, tuple(n))
        cap = radii_over_cap(body, f, n, angle)
        if cap.alpha + cap.beta == 0.0:
            continue
        for _ in range(8):
            side = np.cross(n, unit(rng))
            turn = angle * math.sqrt(rng.random())
            m = math.cos(turn) * n + math.sin(turn) * side / np.linalg.norm(side)
            here = radii_over_cap(body, support_function.support(body, tuple(m))[0], m, 1e-12)
            if here.alpha + here.beta == 0.0:
                continue
            checked += 1
            matrix = here.alpha * np.outer(here.e, here.e) + here.beta * np.outer(here.z, here.z)
            travel = np.cross(m, unit(rng, 20))
            travel /= np.linalg.norm(travel, axis=1)[:, None]
            radius = np.einsum("ij,jk,ik->i", travel, matrix, travel)
            sections = np.maximum(0.0, np.abs(travel @ cap.e) - cap.stray_e)
            meridians = np.maximum(0.0, np.abs(travel @ cap.z) - cap.stray_z)
            claimed = cap.alpha * sections**2 + cap.beta * meridians**2
            assert np.all(radius >= claimed * (1.0 - 1e-6) - 1e-9)
            assert radius.min() >= cap.least * (1.0 - 1e-6)
            told += claimed.min() > 0.5 * radius.min() or cap.least > 0.5 * radius.min()
    assert checked > 1000 and told > 300


def support_values(shape, n):
    """Return support values h(n) of a convex superovoid from its parametrisation alone, in any number of directions.

    With x = logit(|w|^s) the height w, the radius r and the slope of the meridian are exponentials of x, and the
    derivative of the function maximised over w changes its sign once.
    """
    (a1, a2, a3), (e1, e2), (taper_x, taper_y) = (
        shape.semi_axes,
        (shape.section_exponent, shape.profile_exponent),
        shape.taper,
    )
    q, s = 2.0 / (2.0 - e1), 2.0 / e2

    def at(side, x):
        w, r = side * np.exp(-np.logaddexp(0.0, -x) / s), np.exp(-np.logaddexp(0.0, x) / s)
        u, v = a1 * (1.0 + taper_x * w) * np.abs(n[..., 0]), a2 * (1.0 + taper_y * w) * np.abs(n[..., 1])
        g = (u**q + v**q) ** (1.0 / q)
        du, dv = a1 * taper_x * np.abs(n[..., 0]), a2 * taper_y * np.abs(n[..., 1])
        dg = g ** (1.0 - q) * (u ** (q - 1.0) * du + v ** (q - 1.0) * dv)
        slope = a3 * n[..., 2] + r * dg - side * np.exp((1.0 - 1.0 / s) * x) * g
        return a3 * n[..., 2] * w + r * g, side * slope

    side = np.where(at(1.0, -700.0)[1] > 0.0, 1.0, -1.0)
    lo, hi = np.full(n.shape[:-1], -700.0), np.full(n.shape[:-1], 700.0)
    for _ in range(38):
        middle = 0.5 * (lo + hi)
        rises = at(side, middle)[1] > 0.0
        lo, hi = np.where(rises, middle, lo), np.where(rises, hi, middle)
    return at(side, lo)[0]


def mean_radius(shape, m, travel, d):
    """Return mean radii along great circles through m, weighted by sin(d - |x|), from second differences of h."""
    values = [np.cos(x) * m + np.sin(x) * travel for x in (d, 0.0, -d)]
    ahead, here, behind = support_values(shape, np.stack(values))
    return (ahead + behind - 2.0 * np.cos(d[:, 0]) * here) / (4.0 * np.sin(0.5 * d[:, 0]) ** 2)


def test_radii_over_a_cap_bound_second_differences_of_support_values():
    """h(d) + h(-d) - 2 cos(d) h(0) along a great circle is the integral of sin(d - |x|) times the radius at x."""
    rng = np.random.default_rng(9)
    count = 32
    nodes, weights = np.polynomial.legendre.leggauss(8)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    checked = tight = 0
    for _ in range(50):
        shape = random_shape(rng)
        if not shape.convexity().convex:
            continue
        n, angle = unit(rng), math.exp(rng.uniform(-6.0, -1.5))
        f, _ = support_function.support(shape._packed_row, tuple(n))
        cap = radii_over_cap(shape._packed_row, f, n, angle)
        # Arcs of half length d about directions at most angle - d from n, half of them along the least curvature of M.
        d = angle * rng.choice((0.05, 0.3), (count, 1))
        side = np.cross(n, unit(rng, count))
        side /= np.linalg.norm(side, axis=1)[:, None]
        turn = (angle - d) * rng.choice((0.0, 0.999), (count, 1))
        m = np.cos(turn) * n + np.sin(turn) * side
        t1 = np.cross(m, unit(rng, count))
        t1 /= np.linalg.norm(t1, axis=1)[:, None]
        t2 = np.cross(m, t1)
        xx, yy, half = (mean_radius(shape, m, t, d) for t in (t1, t2, (t1 + t2) / math.sqrt(2.0)))
        turned = 0.5 * np.arctan2(2.0 * half - xx - yy, xx - yy) + 0.5 * math.pi
        turned[count // 2 :] = 0.0
        travel = np.cos(turned)[:, None] * t1 + np.sin(turned)[:, None] * t2
        radius = mean_radius(shape, m, travel, d)
        rounding = 2e-15 * max(shape.semi_axes) / d[:, 0] ** 2
        assert np.all(radius >= cap.least * (1.0 - 1e-6) - rounding)
        claimed = np.zeros(count)
        for x, weight in zip(nodes, weights, strict=True):
            for along in (x * d, -x * d):
                t = np.cos(along) * travel - np.sin(along) * m
                sections = np.maximum(0.0, np.abs(t @ cap.e) - cap.stray_e)
                meridians = np.maximum(0.0, np.abs(t @ cap.z) - cap.stray_z)
                share = weight * (d * np.sin((1.0 - x) * d) / (4.0 * np.sin(0.5 * d) ** 2))[:, 0]
                claimed += share * (cap.alpha * sections**2 + cap.beta * meridians**2)
        assert np.all(radius >= claimed * (1.0 - 1e-4) - rounding)
        told = np.maximum(claimed, cap.least)
        checked += np.count_nonzero(told > 10.0 * rounding)
        tight += np.count_nonzero(told > np.maximum(0.8 * radius, 10.0 * rounding))
    assert checked > 400 and tight > 100


def overlapping_pairs(count, seed):
    """Yield deeply overlapping convex pairs at Newton contacts; rotation and n in the frame of a."""
    rng = np.random.default_rng(seed)
    while count:
        a, b = random_shape(rng, (0.2, 1.5)), random_shape(rng, (0.2, 1.5))
        if not (a.convexity().convex and b.convexity().convex):
            continue
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
        pose[:3, 3] = unit(rng) * rng.uniform(0.2, 0.8)
        state, out = np.zeros(columns.STATE_LENGTH), np.empty(columns.RESULT_LENGTH)
        pair_solver.solve_pair(a._packed_row, b._packed_row, np.eye(4), pose, 1e-9, 4000, state, np.empty((3, 3)), out)
        if out[columns.DISTANCE] > -0.05:
            continue
        count -= 1
        n = out[columns.NORMAL : columns.NORMAL + 3]
        fa, fb = surface.SurfacePoint(*state[:8]), surface.SurfacePoint(*state[8:16])
        yield a, b, pose, np.ascontiguousarray(pose[:3, :3]), n, fa, fb, -out[columns.DISTANCE]


def test_underflowing_heights_at_a_sharp_equator_certify_no_depth():
    """w grows with the 75th power of the slope: some directions of a cap have heights below 1e-200."""
    a = Superovoid(
        (1.0832152015911136, 0.14722016166808374, 0.36705873047153154),
        section_exponent=1.5347796236021194,
        profile_exponent=1.9733290428238262,
        taper=(0.017642938671654788,) * 2,
    )
    b = Superovoid(
        (0.3501734913975468, 3.5909578340097177, 3.278541900622695),
        section_exponent=1.534019678570279,
        profile_exponent=0.7391509135524947,
        taper=(-0.05662212740671857,) * 2,
    )
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3] = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    cosine, sine = 0.891122173076826, 0.45376345451218886
    pose_b[:3, :3] = ((0.0, cosine, -sine), (0.0, sine, cosine), (1.0, 0.0, 0.0))
    pose_b[2, 3] = -0.1799496211513848
    result = distance(a, pose_a, b, pose_b)
    n = np.array((-0.00806837, -0.010895, -0.9999081))
    n /= np.linalg.norm(n)
    # Points of the bodies lie short of their supports, so this is at least g(n), and `upper` must be at least g(n).
    towards_a, towards_b = pose_a[:3, :3].T @ n, -pose_b[:3, :3].T @ n
    gap = n @ pose_b[:3, 3] - a.support(towards_a) @ towards_a - b.support(towards_b) @ towards_b
    assert gap == pytest.approx(-0.3174256846, abs=1e-10)
    assert result.lower <= result.distance <= result.upper and result.upper >= gap - 1e-12


@pytest.mark.ci
def test_radii_over_a_cap_across_a_dent_are_unknown():
    rng = np.random.default_rng(10)
    leaps = known = 0
    for taper in ((0.5, -0.4), (0.1, 0.5), (-0.3, 0.45), (0.4, -0.2), (-0.5, 0.1)):
        shape = Superovoid(np.exp(rng.uniform(-0.7, 0.7, 3)), section_exponent=0.6, profile_exponent=0.4, taper=taper)
        assert not shape.convexity().convex
        body = shape._packed_row
        for _ in range(100):
            n, angle = unit(rng), math.exp(rng.uniform(-3.0, -0.7))
            side = np.cross(n, unit(rng, 30))
            m = math.cos(angle) * n + math.sin(angle) * side / np.linalg.norm(side, axis=1)[:, None]
            heights = [support_function.support(body, tuple(one))[0].w for one in (n, *m)]
            cap = radii_over_cap(body, support_function.support(body, tuple(n))[0], n, angle)
            if min(heights) < body[surface.DENT_LO] and max(heights) > body[surface.DENT_HI]:
                leaps += 1
                assert cap.alpha == cap.beta == cap.least == 0.0
            else:
                known += cap.alpha + cap.beta > 0.0
    assert leaps > 40 and known > 40


def turn_directions(rng, n, turns):
    """Return directions at some angles from n, to random sides."""
    side = np.cross(n, unit(rng, len(turns)))
    side /= np.linalg.norm(side, axis=1)[:, None]
    return np.cos(turns)[:, None] * n + np.sin(turns)[:, None] * side


def depths(a, b, rotation, centre, m):
    """Return the lengths by which b has to move along some directions to leave a."""
    return a.support_value(m) + b.support_value(-m @ rotation) - m @ centre


def test_no_direction_inside_the_largest_cap_is_shallower():
    rng = np.random.default_rng(3)
    caps = []
    for a, b, pose, rotation, n, fa, fb, depth in overlapping_pairs(100, seed=3):
        centre = tuple(pose[:3, 3])
        angle, floor = largest_cap(Pair(a._packed_row, b._packed_row, rotation, centre), fa, fb)
        caps.append(angle)
        if angle == 0.0:
            continue
        m = turn_directions(rng, n, angle * np.sqrt(rng.random(300)))
        assert depths(a, b, rotation, pose[:3, 3], m).min() >= floor - 1e-13
        assert depth - 1e-9 < floor <= depth + 1e-13
    assert np.median(caps) > 0.01  # a cap of zero would be true and worthless


@pytest.mark.ci
def test_the_cap_of_a_contact_ends_before_a_shallower_one():
    """Contacts of a pair other than the least deep one: their caps exclude shallower contacts nearby."""
    rng = np.random.default_rng(6)
    caps = near = 0
    for _ in range(150):
        a, b = (
            Superovoid.from_goncalves(np.exp(rng.uniform(-0.6, 0.6, 3)), rng.uniform(0.15, 0.6, 2)) for _ in range(2)
        )
        rotation = np.ascontiguousarray(Rotation.random(rng=rng).as_matrix())
        centre = unit(rng) * rng.uniform(0.0, 0.3)
        pair = Pair(a._packed_row, b._packed_row, rotation, tuple(centre))
        found = []
        for start in unit(rng, 40):
            fa, _ = support_function.support(a._packed_row, tuple(start))
            fb, _ = support_function.support(b._packed_row, tuple(-start @ rotation))
            answer = newton_from(pair, fa, fb, 1e-9, WARM_ITERATIONS, 0)
            n = np.array(answer.n)
            is_known = any(n @ other > 1.0 - 1e-9 for other, _ in found)
            if answer.lower == -math.inf or answer.distance > -0.05 or is_known:
                continue
            found.append((n, -answer.distance))
            angle, floor = largest_cap(pair, answer.fa, answer.fb)
            if angle == 0.0:
                continue
            caps += 1
            m = turn_directions(rng, n, angle * rng.random(400) ** 0.25)  # most of them near the rim
            assert depths(a, b, rotation, centre, m).min() >= floor - 1e-13
        for n, depth in found:
            near += any(other @ n > math.cos(0.6) and less < depth for other, less in found)
    assert caps > 100 and near > 20


def test_the_floor_of_a_cap_covers_the_error_of_newton():
    """Near the normal of an inexact contact the depth has no minimum: neighbours are shallower."""
    rng = np.random.default_rng(5)
    caps = shallower = 0
    for a, b, pose, rotation, n, _, _, _ in overlapping_pairs(60, seed=5):
        pair = Pair(a._packed_row, b._packed_row, rotation, tuple(pose[:3, 3]))
        for turn in (1e-6, 1e-4, 1e-3):
            n_a, n_b = (n + turn * unit(rng) for _ in range(2))
            fa, _ = support_function.support(a._packed_row, tuple(n_a / np.linalg.norm(n_a)))
            fb, _ = support_function.support(b._packed_row, tuple(-(n_b / np.linalg.norm(n_b)) @ rotation))
            contact = observe(pair, fa, fb, 1.0)
            angle, floor = largest_cap(pair, fa, fb)
            if angle == 0.0:
                continue
            caps += 1
            m = turn_directions(rng, contact.n, angle * np.exp(rng.uniform(-12.0, 0.0, 1000)))
            least = depths(a, b, rotation, pose[:3, 3], m).min()
            assert least >= floor - 1e-13
            shallower += least < -np.dot(contact.u, contact.n) - 1e-12
    assert caps > 30 and shallower > 10


def test_carried_proofs_claim_nothing_that_a_cold_search_refutes():
    rng = np.random.default_rng(4)
    carried = 0
    for _ in range(60):
        bodies = [Body(name, name, random_shape(rng, (0.2, 1.4))) for name in ("a", "b")]
        if not all(body.shape.convexity().convex for body in bodies):
            continue
        scene = Scene(bodies)
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
        pose[:3, 3] = unit(rng) * rng.uniform(0.1, 0.8)
        step = np.eye(4)
        size = math.exp(rng.uniform(-9.0, -2.0))
        step[:3, :3] = Rotation.from_rotvec(size * unit(rng)).as_matrix()
        step[:3, 3] = size * unit(rng)
        for _ in range(12):
            pose = pose @ step
            scene.set_link_poses({"a": np.eye(4), "b": pose})
            warm = scene.query()
            cold = distance(bodies[0].shape, np.eye(4), bodies[1].shape, pose)
            assert warm.lower[0] <= cold.upper + 1e-12
            assert cold.lower <= warm.upper[0] + 1e-12
            carried += warm.status[0] == 0 and warm.distance[0] < 0.0
    assert carried > 100

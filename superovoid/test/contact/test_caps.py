# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Majorants of bodies on boxes, the ellipsoids they describe, and caps of directions about a contact."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Superovoid, distance
from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.pair import Limit, Pair
from superovoid.contact.superovoids import caps, majorants, pair_solver
from superovoid.contact.superovoids.answers import WARM_ITERATIONS, newton_from
from superovoid.contact.superovoids.caps import largest_cap
from superovoid.contact.superovoids.newton import observe
from superovoid.shapes.kernels import support_function, surface

from draws import any_superovoid, few_or_many, mild_superovoid, unit

LIMIT = Limit(1e-9, 4000, math.inf, -math.inf)


def signs_of(f):
    """Return the signs of the coordinates of a surface point, by which a majorant is mirrored."""
    return np.array([math.copysign(1.0, f.C), math.copysign(1.0, f.S), 1.0 if f.w >= 0.0 else -1.0])


def majorant_on(body, f, box):
    """Return the outline of a surface point, the linear parts of its coordinates, and its majorant on a box."""
    outline = majorants.outline_of(body, f)
    shear = majorants.shear_at(body, outline)
    return outline, shear, majorants.majorant_over(body, outline, shear, box)


def value_of(majorant, outline, shear, d):
    """Return a majorant at mirrored offsets d."""
    e, h, k = shear.ix * d[:, 0] + shear.ez * d[:, 2], shear.iy * d[:, 1] + shear.hz * d[:, 2], shear.iz * d[:, 2]
    square = majorant.c_x * e * e + majorant.c_y * h * h + majorant.c_w * k * k
    square -= 2.0 * majorant.skew_x * e * k + 2.0 * majorant.skew_y * h * k
    return d @ np.array([outline.gx, outline.gy, outline.gz]) + 0.5 * square


@few_or_many(200, 20_000)
def test_majorants_put_no_point_outside_the_body_into_it(draws):
    rng = np.random.default_rng(11)
    inside = concavities = 0
    for _ in range(draws):
        shape = any_superovoid(rng)
        body = shape._packed_row
        f = support_function.support_candidate(body, tuple(unit(rng)), 1e-13)
        sides = np.array([-1.0, 1.0] * 3) * 10.0 ** rng.uniform(-4.0, 0.0, 6) * min(shape.semi_axes)
        outline, shear, majorant = majorant_on(body, f, majorants.Box(*sides))
        if not outline.is_clear:
            continue
        x, signs = np.array(surface.position(body, f)), signs_of(f)
        gradient = np.array([outline.gx, outline.gy, outline.gz])
        d = rng.uniform(sides[::2], sides[1::2], (400, 3)) * 10.0 ** rng.uniform(-2.0, 0.0, (400, 1))
        concavities += body[surface.HAS_CONCAVITY] != 0.0
        if np.isfinite(majorant).all():
            # Along the segment to an offset inwards the majorant is negative if it is at the end.
            chosen = (value_of(majorant, outline, shear, d) < 0.0) & (d @ gradient < 0.0)
            inside += np.count_nonzero(chosen)
            assert np.all(shape.implicit(x + signs * d[chosen]) < 1e-9), (shape, f, sides)
    assert inside > 50 * draws
    assert concavities > draws // 20


def test_the_ellipsoid_on_a_point_has_the_curvatures_of_the_body():
    rng = np.random.default_rng(12)
    point = majorants.Box(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    checked = 0
    for _ in range(300):
        shape = mild_superovoid(rng)
        body = shape._packed_row
        f = support_function.support_candidate(body, tuple(unit(rng)), 1e-13)
        outline = majorants.outline_of(body, f)
        n, signs = np.array([outline.gx, outline.gy, outline.gz]) / outline.steep, signs_of(f)
        t1 = np.cross(n, unit(rng))
        t1 /= np.linalg.norm(t1)
        t2 = np.cross(n, t1)
        frame = caps._Frame(*(tuple(map(float, v)) for v in (n, t1, t2)))
        found = caps._ellipsoid_on(body, outline, frame, point, 1e6)
        bends = []
        for t in (t1, t2, (t1 + t2) / math.sqrt(2.0)):
            # The surface x + d with d = h t + drop n, the drop by the sign of F on a bracket.
            h, ends = 1e-4 * min(shape.semi_axes), []
            for side in (h, -h):
                lo, hi = -1e-2 * min(shape.semi_axes), 1e-2 * min(shape.semi_axes)
                for _ in range(60):
                    middle = 0.5 * (lo + hi)
                    d = signs * (side * t + middle * n)
                    lo, hi = (
                        (middle, hi) if shape.implicit(np.array(surface.position(body, f)) + d) < 0.0 else (lo, middle)
                    )
                ends.append(lo)
            bends.append(-sum(ends) / (h * h))
        xx, yy, half = bends
        operator = np.array([[xx, half - 0.5 * (xx + yy)], [half - 0.5 * (xx + yy), yy]])
        radii = np.array([[found.xx, found.xy], [found.xy, found.yy]])
        size = np.abs(np.linalg.eigvalsh(operator))
        if not 1e-2 < size.min() <= size.max() < 1e2:
            continue  # too flat or too sharp for differences
        checked += 1
        np.testing.assert_allclose(radii @ operator, np.eye(2), atol=0.02 * size.max() / size.min())
    assert checked > 100


def test_the_ellipsoid_in_an_ellipsoid_is_the_body():
    rng = np.random.default_rng(15)
    for _ in range(30):
        semi_axes, n = np.exp(rng.uniform(-1.0, 1.0, 3)), np.abs(unit(rng))
        body = Superovoid(semi_axes)._packed_row
        t1 = np.cross(n, unit(rng))
        t1 /= np.linalg.norm(t1)
        t2 = np.cross(n, t1)
        f, _ = support_function.support(body, tuple(n))
        frame = caps._Frame(*(tuple(map(float, v)) for v in (n, t1, t2)))
        box = majorants.Box(*np.array([-1.0, 1.0] * 3) * rng.uniform(0.0, 0.5))
        found = caps._ellipsoid_on(body, majorants.outline_of(body, f), frame, box, 1e8)
        mapped = np.array([n, t1, t2]) * semi_axes
        s = np.linalg.norm(mapped[0])
        z = mapped[1:] @ mapped[0] / s
        radii = (mapped[1:] @ mapped[1:].T - np.outer(z, z)) / s
        known = [radii[0, 0], radii[0, 1], radii[1, 1], s, *z]
        np.testing.assert_allclose(found[:6], known, rtol=1e-6, atol=1e-6 * semi_axes.max())


def test_support_points_of_an_ellipsoid_over_a_cap_lie_in_its_box():
    rng = np.random.default_rng(13)
    for _ in range(200):
        root = rng.normal(size=(2, 2)) * np.exp(rng.uniform(-2.0, 1.0, 2))
        radii, s, z = root @ root.T, math.exp(rng.uniform(-2.0, 2.0)), rng.normal(size=2) * rng.uniform(0.0, 2.0)
        e = caps._Ellipsoid(radii[0, 0], radii[0, 1], radii[1, 1], s, *z, np.linalg.eigvalsh(radii)[1])
        axes = Rotation.random(rng=rng).as_matrix()
        angle = caps._most_angle(e, math.exp(rng.uniform(-5.0, -0.7)))
        box = np.array(caps._box_of(e, caps._Frame(*map(tuple, axes)), angle))
        # Rows n, t1, t2 of the map to a unit ball.
        shape = np.zeros((3, 3))
        shape[0, 0], shape[1:, 0], shape[1:, 1:] = s, z, np.linalg.cholesky(s * radii)
        phi, turn = angle * np.sqrt(rng.random(500)), rng.uniform(0.0, 2.0 * np.pi, 500)
        m = np.stack([np.cos(phi), np.sin(phi) * np.cos(turn), np.sin(phi) * np.sin(turn)], axis=1)
        mapped = m @ shape
        length = np.linalg.norm(mapped, axis=1)
        points = (mapped / length[:, None] - np.array([1.0, 0.0, 0.0])) @ shape.T @ axes
        assert np.all(points >= box[::2] - 1e-13 * s) and np.all(points <= box[1::2] + 1e-13 * s)
        rise = length - mapped[:, 0]
        across = np.einsum("ni,ij,nj->n", m[:, 1:], radii, m[:, 1:])
        assert np.all(rise >= 0.5 * caps._flattening(e, angle) * across - 1e-14 * length)


def overlapping_pairs(count, seed):
    """Yield deeply overlapping convex pairs at Newton contacts; rotation and n in the frame of a."""
    rng = np.random.default_rng(seed)
    while count:
        a, b = mild_superovoid(rng, (0.2, 1.5)), mild_superovoid(rng, (0.2, 1.5))
        if not (a.convexity().convex and b.convexity().convex):
            continue
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
        pose[:3, 3] = unit(rng) * rng.uniform(0.2, 0.8)
        state, out = np.zeros(STATE_LENGTH), np.empty(RESULT_LENGTH)
        pair_solver.solve_pair(a._packed_row, b._packed_row, np.eye(4), pose, LIMIT, state, np.empty((3, 3)), out)
        if out[RESULT.distance] > -0.05:
            continue
        count -= 1
        n = out[RESULT.normal : RESULT.normal + 3]
        fa, fb = surface.SurfacePoint(*state[:8]), surface.SurfacePoint(*state[8:16])
        yield a, b, pose, np.ascontiguousarray(pose[:3, :3]), n, fa, fb, -out[RESULT.distance]


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


def contact_along(a, b, n, rotation):
    """Return the surface points of two bodies whose outward normals are n and -n, and the centre of b if they meet."""
    fa, _ = support_function.support(a._packed_row, tuple(n))
    fb, _ = support_function.support(b._packed_row, tuple(-n @ rotation))
    x, y = np.array(surface.position(a._packed_row, fa)), np.array(surface.position(b._packed_row, fb))
    return fa, fb, x - rotation @ y


def asymmetric_shape(rng):
    """Return a convex body with unequal tapers, some of them with a height that underflows at the equator."""
    while True:
        e1, e2 = rng.uniform(0.3, 1.5), rng.choice([rng.uniform(0.6, 1.5), 2.0 - 10.0 ** rng.uniform(-6.0, -1.0)])
        shape = Superovoid.from_goncalves(np.exp(rng.uniform(-0.8, 0.8, 3)), (e1, e2), rng.uniform(-0.4, 0.4, 2))
        if shape.convexity().convex:
            return shape


@few_or_many(60, 400)
def test_caps_of_the_deepest_contacts_contain_no_shallower_direction(draws):
    """The deeper a contact, the less is left of a proof: at the largest depth with a cap every term of it decides."""
    rng = np.random.default_rng(14)
    judged = 0
    for _ in range(draws):
        a, b = asymmetric_shape(rng), asymmetric_shape(rng)
        n, rotation = unit(rng), np.ascontiguousarray(Rotation.random(rng=rng).as_matrix())
        if rng.random() < 0.3:
            n[rng.integers(3)] = 0.0
            n, rotation = n / np.linalg.norm(n), np.eye(3)
        fa, fb, touch = contact_along(a, b, n, rotation)
        # Points across the normal and normals that differ, as Newton's method leaves them.
        stray = rng.choice([0.0, 1e-7, 1e-5])
        if stray:
            near = n + stray * unit(rng)
            fa, _ = support_function.support(a._packed_row, tuple(near / np.linalg.norm(near)))
            touch = touch + stray * np.cross(n, unit(rng))

        def cap_at(depth, a=a, b=b, n=n, rotation=rotation, fa=fa, fb=fb, touch=touch):
            centre = touch - depth * n
            return largest_cap(Pair(a._packed_row, b._packed_row, rotation, tuple(centre)), fa, fb), centre

        lo, hi = 0.0, 4.0 * max(a.semi_axes + b.semi_axes)
        for _ in range(25):
            middle = 0.5 * (lo + hi)
            lo, hi = (middle, hi) if cap_at(middle)[0].angle > 0.0 else (lo, middle)
        (angle, floor), centre = cap_at(lo)
        if angle <= 0.0:
            continue
        judged += 1
        turns = angle * np.concatenate([1.0 - 0.05 * rng.random(300) ** 2, np.exp(rng.uniform(-8.0, 0.0, 100))])
        shallowest = depths(a, b, rotation, centre, turn_directions(rng, n, turns)).min()
        assert shallowest >= floor - 1e-12 * max(a.semi_axes + b.semi_axes), (a, b, n, rotation, lo, stray)
    assert judged > 0.8 * draws


@pytest.mark.parametrize(("shift", "height"), [(1e-4, 1.5), (1e-3, 3.0)])
def test_a_height_that_underflows_keeps_the_side_of_its_normal(shift, height):
    """A saddle of the depth at the rim of a disc, where w is -0.0 and its dual -0.009."""
    a = Superovoid((1.0, 0.7, height), section_exponent=1.0, profile_exponent=1.0, taper=(0.0, 0.0))
    b = Superovoid((1.0, 1.0, 0.02), section_exponent=1.0, profile_exponent=1.99, taper=(-0.009, -0.009))
    x = 0.51 - shift
    phi = np.linspace(0.0, 0.2, 401)
    # The support of the disc is 1 along every direction of its plane.
    depth = np.sqrt(np.cos(phi) ** 2 + (0.7 * np.sin(phi)) ** 2) + 1.0 - x * np.cos(phi)
    fa = support_function.support_candidate(a._packed_row, (1.0, 0.0, 0.0), 1e-13)
    fb = support_function.support_candidate(b._packed_row, (-1.0, 0.0, 0.0), 1e-13)
    angle, floor = largest_cap(Pair(a._packed_row, b._packed_row, np.eye(3), (x, 0.0, 0.0)), fa, fb)
    assert depth[phi < angle].min(initial=math.inf) >= floor - 1e-13
    assert -distance(a, (0.0, 0.0, 0.0), b, (x, 0.0, 0.0)).upper <= depth.min() + 1e-13

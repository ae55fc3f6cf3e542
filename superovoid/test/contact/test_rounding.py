# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Intervals hold to the last bit: against forty digits, with inexact rotations, in every public function."""

import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    Mesh,
    Scene,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
    are_closer,
    distance,
    distances,
)
from superovoid.robot import Robot
from superovoid.shapes.poses import as_poses
from superovoid.states import state_distances

DIGITS = 40


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(DIGITS):
        yield


# --- the meaning of a pose: the nearest rotation (polar factor) of its matrix, and its translation -----------------


def exact_rotation(pose):
    """Return the polar factor of the upper left of a pose by Newton's quadratic iteration, as columns."""
    matrix = mpmath.matrix([[mpmath.mpf(float(x)) for x in row[:3]] for row in pose[:3]])
    for _ in range(5):
        matrix = (matrix * 3 - matrix * (matrix.T * matrix)) / 2
    return [[matrix[i, j] for i in range(3)] for j in range(3)]


def exact_vector(x):
    return [mpmath.mpf(float(v)) for v in x]


def halves(x):
    return [v / 2 for v in exact_vector(x)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def norm(a):
    return mpmath.sqrt(dot(a, a))


def subtract(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def relative_pose(pose_a, pose_b):
    """Return the centre of B from that of A, in the world, and the axes of both."""
    t = subtract(exact_vector(pose_b[:3, 3]), exact_vector(pose_a[:3, 3]))
    return t, exact_rotation(pose_a), exact_rotation(pose_b)


# --- closed forms ---------------------------------------------------------------------------------------------------


def clamp(x, bound):
    return max(-bound, min(bound, x))


def radial_length(p):
    return mpmath.sqrt(p[0] ** 2 + p[1] ** 2)


def from_segment(px, py, ax, ay, bx, by):
    dx, dy = bx - ax, by - ay
    t = max(0, min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)))
    return mpmath.hypot(px - ax - t * dx, py - ay - t * dy)


def point_distance(shape, p):
    """Return the signed distance of a point, in the frame of a shape, from that shape."""
    if isinstance(shape, Sphere):
        return norm(p) - mpmath.mpf(shape.radius)
    if isinstance(shape, HalfSpace):
        return p[2]
    if isinstance(shape, Capsule):
        half = mpmath.mpf(shape.length) / 2
        return norm([p[0], p[1], p[2] - clamp(p[2], half)]) - mpmath.mpf(shape.radius)
    if isinstance(shape, Box):
        gaps = [abs(x) - a for x, a in zip(p, halves(shape.lengths), strict=True)]
        return norm([max(gap, 0) for gap in gaps]) if max(gaps) > 0 else max(gaps)
    radius, half = mpmath.mpf(shape.radius), mpmath.mpf(shape.length) / 2
    if isinstance(shape, Cylinder):
        side, end = radial_length(p) - radius, abs(p[2]) - half
        if max(side, end) <= 0:
            return max(side, end)
        return mpmath.hypot(max(side, 0), max(end, 0))
    side = (2 * half * radial_length(p) + radius * (p[2] - half)) / mpmath.hypot(radius, 2 * half)
    if side <= 0 and p[2] >= -half:
        return max(side, -half - p[2])
    slant = from_segment(radial_length(p), p[2], 0, half, radius, -half)
    return min(slant, from_segment(radial_length(p), p[2], 0, -half, radius, -half))


def torus_distance(torus, radius, p):
    """Return the signed distance of a sphere from a torus; one that fills the hole leaves it along the axis."""
    major, reach = mpmath.mpf(torus.major_radius), mpmath.mpf(torus.minor_radius) + mpmath.mpf(radius)
    core = mpmath.hypot(radial_length(p) - major, p[2])
    if core < reach and radial_length(p) + (reach - core) * (radial_length(p) - major) / core < 0:
        return -mpmath.hypot(radial_length(p), mpmath.sqrt(reach**2 - major**2) - abs(p[2]))
    return core - reach


def reach_along(shape, n):
    """Return the support value of a shape along a unit vector of its frame."""
    if isinstance(shape, Sphere):
        return mpmath.mpf(shape.radius)
    if isinstance(shape, Box):
        return dot([abs(x) for x in n], halves(shape.lengths))
    if isinstance(shape, Torus):
        return mpmath.mpf(shape.major_radius) * radial_length(n) + mpmath.mpf(shape.minor_radius)
    if isinstance(shape, Superellipsoid):
        q, t = (2 / (2 - mpmath.mpf(e)) for e in (shape.section_exponent, shape.profile_exponent))
        a = exact_vector(shape.semi_axes)
        ring = (abs(a[0] * n[0]) ** q + abs(a[1] * n[1]) ** q) ** (t / q)
        return (ring + abs(a[2] * n[2]) ** t) ** (1 / t)
    radius, half = mpmath.mpf(shape.radius), mpmath.mpf(shape.length) / 2
    if isinstance(shape, Capsule):
        return radius + half * abs(n[2])
    if isinstance(shape, Cylinder):
        return radius * radial_length(n) + half * abs(n[2])
    return max(half * n[2], radius * radial_length(n) - half * n[2])


def turned_back(axes, x):
    return [dot(axis, x) for axis in axes]


def exact_distance(a, pose_a, b, pose_b):
    """Return the signed distance of a plane or a sphere from any body, in forty digits."""
    t, axes_a, axes_b = relative_pose(pose_a, pose_b)
    if isinstance(a, HalfSpace):
        return dot(axes_a[2], t) - reach_along(b, turned_back(axes_b, [-x for x in axes_a[2]]))
    p = turned_back(axes_b, [-x for x in t])
    if isinstance(b, Torus):
        return torus_distance(b, a.radius, p)
    return point_distance(b, p) - mpmath.mpf(a.radius)


def lies_in(exact, lower, upper):
    return mpmath.mpf(float(lower)) <= exact <= mpmath.mpf(float(upper))


# --- pairs ----------------------------------------------------------------------------------------------------------


def disturb_rotation(rng, rotation, amount):
    """Return a rotation off by an amount: scaled, stretched, sheared, or all of these."""
    u, v = rng.normal(size=(2, 3))
    u /= np.linalg.norm(u)
    v -= (u @ v) * u
    v /= np.linalg.norm(v)
    errors = (np.eye(3), np.outer(u, u), np.outer(u, v), rng.uniform(-0.4, 0.4, (3, 3)))
    return rotation @ (np.eye(3) + rng.choice((-amount, amount)) * errors[rng.integers(4)])


def random_pose(rng, amount, far):
    pose = np.eye(4)
    pose[:3, :3] = disturb_rotation(rng, Rotation.random(random_state=rng.integers(1 << 30)).as_matrix(), amount)
    pose[:3, 3] = far * rng.normal(size=3)
    return pose


def random_shape(rng, kind, scale, spread):
    def length():
        return float(scale * 10.0 ** rng.uniform(-spread, spread))

    if kind is HalfSpace:
        return HalfSpace()
    if kind is Sphere:
        return Sphere(length())
    if kind is Box:
        return Box((2.0 * length(), 2.0 * length(), 2.0 * length()))
    if kind is Torus:
        small, large = sorted((length(), length()))
        return Torus(large, min(small, 0.99 * large))
    if kind is Superellipsoid:
        return Superellipsoid.from_goncalves((length(), length(), length()), rng.uniform(0.2, 1.8, 2))
    return kind(length(), length())


def random_pair(rng, kind_a, kind_b, regime):
    """Return two shapes and poses: concentric to far apart, with equal rotations in one case of five."""
    scale, spread, amount, far = REGIMES[regime]
    a, b = random_shape(rng, kind_a, scale, spread), random_shape(rng, kind_b, scale, spread)
    pose_a, pose_b = random_pose(rng, amount, far * scale), random_pose(rng, amount, 0.0)
    if rng.random() < 0.2:
        pose_b[:3, :3] = pose_a[:3, :3]
    size = sum(0.0 if isinstance(shape, HalfSpace) else float(max(shape.obb().half_extents)) for shape in (a, b))
    apart = size * rng.choice((0.0, 0.3, 0.7, 1.0, 1.0 + 1e-9, 3.0, 1e6)) * rng.uniform(0.5, 1.5)
    direction = rng.normal(size=3)
    pose_b[:3, 3] = pose_a[:3, 3] + apart * direction / np.linalg.norm(direction)
    return a, pose_a, b, pose_b


REGIMES = {
    # scale, decades of sizes, error of the rotations, coordinates
    "plain": (1.0, 0.5, 0.0, 0.0),
    "off by rounding": (1.0, 0.5, 4.8e-14, 0.0),
    "off as single precision": (1.0, 0.5, 2e-7, 0.0),
    "far from the origin": (1.0, 0.5, 1e-15, 1e9),
    "unlike sizes": (1.0, 4.0, 3e-15, 0.0),
    "small": (1e-27, 1.0, 4.8e-14, 0.0),
    "large": (1e22, 1.0, 4.8e-14, 0.0),
}
CLOSED = [(HalfSpace, kind) for kind in (Sphere, Box, Capsule, Cylinder, Cone, Torus, Superellipsoid)]
CLOSED += [(Sphere, kind) for kind in (Sphere, Capsule, Box, Cylinder, Cone, Torus)]


@pytest.mark.ci
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kinds", CLOSED, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
def test_closed_forms_lie_in_their_intervals(kinds, regime):
    rng = np.random.default_rng(sum(map(ord, regime)))
    for _ in range(4):
        a, pose_a, b, pose_b = random_pair(rng, *kinds, regime)
        found = distance(a, pose_a, b, pose_b)
        assert lies_in(exact_distance(a, pose_a, b, pose_b), found.lower, found.upper), (a, pose_a, b, pose_b)


def test_a_sphere_that_just_fills_the_hole_of_a_torus():
    """The axial translation contains a square root of the radii's excess over the hole, which amplifies rounding."""
    rng = np.random.default_rng(12)
    for _ in range(60):
        major = 10.0 ** rng.uniform(-1.0, 1.0)
        minor = major * rng.uniform(0.1, 0.9)
        torus, ball = Torus(major, minor), Sphere((major - minor) * (1.0 + 10.0 ** rng.uniform(-16.0, -6.0)))
        pose, other = random_pose(rng, 0.0, 1.0), random_pose(rng, 0.0, 1.0)
        height = ball.radius * rng.choice((0.0, 10.0 ** rng.uniform(-17.0, -6.0)))
        other[:3, 3] = pose[:3, 3] + height * pose[:3, 2]
        found = distance(ball, other, torus, pose)
        assert lies_in(exact_distance(ball, other, torus, pose), found.lower, found.upper)


def test_the_nearest_facet_gives_the_depth_in_a_convex_mesh():
    """A library computes the planes of the facets; directions of needle-like facets are inaccurate."""
    rng = np.random.default_rng(13)
    for spread in (1.0, 1e-3, 1e-7):
        points = rng.normal(size=(30, 3))
        points /= np.linalg.norm(points, axis=1)[:, None]
        points = np.vstack([points, points[:10] * (1.0 - 1e-6) + spread * 1e-3 * rng.normal(size=(10, 3))])
        mesh, ball = ConvexMesh(points), Sphere(0.0625)
        corners = [exact_vector(x) for x in mesh.vertices]
        planes = []
        for face in mesh.faces:
            a, b, c = (corners[i] for i in face)
            u, v = subtract(b, a), subtract(c, a)
            n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
            planes.append(([x / norm(n) for x in n], a))
        for _ in range(4):
            pose, other = random_pose(rng, 0.0, 0.0), np.eye(4)
            pose[:3, 3] = 0.3 * rng.normal(size=3) / 3.0
            found = distance(ball, pose, mesh, other)
            p = exact_vector(pose[:3, 3])
            exact = max(dot(n, subtract(p, a)) for n, a in planes) - mpmath.mpf(ball.radius)
            assert exact < 0
            assert lies_in(exact, found.lower, found.upper)


def test_close_vertices_are_not_merged():
    """Moving a vertex by a hundred-millionth makes an answer to twelve digits wrong."""
    box = Box((1.0, 1.0, 1.0)).tessellate()
    scaled = Mesh(1e-9 * box.vertices, box.faces)  # all within the distance at which a library merges vertices
    assert len(scaled.vertices) == 8
    apart = np.eye(4)
    apart[0, 3] = 3e-9
    found = distance(scaled, np.eye(4), Sphere(1e-9), apart)
    assert found.lower <= 1.5e-9 <= found.upper
    assert found.upper - found.lower < 1e-17


def scaled_pairs(count, seed=0):
    """Return poses of pairs of spheres; a factor 1 +- 4.8e-14 scales the rotation of the first."""
    rng = np.random.default_rng(seed)
    pose_a = np.tile(np.eye(4), (count, 1, 1))
    pose_b = pose_a.copy()
    factor = 1.0 + rng.choice((-4.8e-14, 4.8e-14), (count, 1, 1))
    pose_a[:, :3, :3] = factor * Rotation.random(count, random_state=seed).as_matrix()
    pose_b[:, :3, 3] = rng.normal(size=(count, 3))
    return pose_a, pose_b


def exact_of_spheres(pose_a, pose_b, radii):
    return norm(subtract(exact_vector(pose_b[:3, 3]), exact_vector(pose_a[:3, 3]))) - mpmath.mpf(radii)


def test_scaled_rotations_do_not_change_distances_of_batches():
    pose_a, pose_b = scaled_pairs(600)
    ball = Sphere(0.125)
    found = distances(ball, pose_a, ball, pose_b)
    for row in range(len(found)):
        assert lies_in(exact_of_spheres(pose_a[row], pose_b[row], 0.25), found.lower[row], found.upper[row])


def test_scaled_rotations_do_not_change_verdicts():
    pose_a, pose_b = scaled_pairs(200)
    ball = Sphere(0.125)
    exact = [exact_of_spheres(a, b, 0.25) for a, b in zip(pose_a, pose_b, strict=True)]
    for ulps in (-400, 400):
        limits = np.array([float(x) for x in exact]) * (1.0 + ulps * np.finfo(float).eps)
        verdict = are_closer([ball] * len(limits), pose_a, ball, pose_b, limits)
        for row, limit in enumerate(limits):
            assert not (verdict.closer[row] and exact[row] >= mpmath.mpf(limit))
            assert not (verdict.farther[row] and exact[row] < mpmath.mpf(limit))
            assert lies_in(exact[row], verdict.lower[row], verdict.upper[row])


def compose(pose, offset):
    """Return the position of a body at a pose in its link, in forty digits."""
    axes = exact_rotation(pose)
    local = exact_vector(offset[:3, 3])
    return [mpmath.mpf(float(pose[i, 3])) + sum(axes[j][i] * local[j] for j in range(3)) for i in range(3)]


@pytest.mark.parametrize("far", [0.0, pytest.param(1e6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("error", [1e-15, 4.8e-14, 2e-7])
def test_a_scene_uses_the_exact_product_of_its_poses(far, error):
    rng = np.random.default_rng(3)
    radius = 2.0**-10
    count = 40
    bodies, poses = [], {}
    for i in range(count):
        bodies.append(Body(f"body{i}", f"link{i}", Sphere(radius), random_pose(rng, error, 0.5)))
        poses[f"link{i}"] = random_pose(rng, error, 0.1) + np.array([[0, 0, 0, far]] * 3 + [[0, 0, 0, 0]])
    given = [body.link_from_body for body in bodies]
    bodies_at = [compose(poses[f"link{i}"], given[i]) for i in range(count)]
    scene = Scene(bodies)
    scene.set_link_poses(poses)
    found = scene.query()
    assert len(found) == count * (count - 1) // 2
    for row in range(len(found)):
        a, b = found.body_a[row], found.body_b[row]
        exact = norm(subtract(bodies_at[b], bodies_at[a])) - 2 * mpmath.mpf(radius)
        assert lies_in(exact, found.lower[row], found.upper[row])
    # The same from a list of pairs, their closest, and those within max_distance.
    nearest = min(norm(subtract(bodies_at[b], bodies_at[a])) - 2 * mpmath.mpf(radius) for a, b in scene.pairs.tolist())
    first = scene.query(max_results=1)
    assert lies_in(nearest, first.lower[0], first.upper[0])
    assert len(scene.query(max_distance=float(nearest) + far * 1e-12 + 1e-12)) >= 1


def test_poses_of_a_long_chain_are_rotations():
    """Fifty joints in a row: the error of their product of rotations is more than a few roundings."""
    links = "".join(f'<link name="l{i}"/>' for i in range(50))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
        f'<origin xyz="0 0 {0.01 * (i % 3)}" rpy="{0.1 * i} {0.2 * i} 0.3"/><axis xyz="0.6 0 0.8"/></joint>'
        for i in range(49)
    )
    ball = '<contact_geometry><sphere radius="0.125"/></contact_geometry>'
    links = links.replace('<link name="l0"/>', f'<link name="l0">{ball}</link>')
    links = links.replace('<link name="l49"/>', f'<link name="l49">{ball}</link>')
    robot = Robot.from_urdf(f'<robot name="chain">{links}{joints}</robot>')
    scene = robot.scene()
    scene.set_pairs_allowed([[0, 1]], True)
    positions = np.random.default_rng(0).uniform(-3.0, 3.0, (100, 49))
    found = state_distances(robot, scene, positions)
    for row in range(100):
        poses = robot.forward_kinematics(dict(zip(robot.joint_names, positions[row], strict=True)))
        exact = norm(exact_vector(poses["l49"][:3, 3])) - mpmath.mpf("0.25")
        assert lies_in(exact, found.lower[row], found.upper[row])


def test_a_product_of_many_rotations_becomes_the_nearest_rotation():
    step = Rotation.from_rotvec([0.011, -0.023, 0.017]).as_matrix()
    pose = np.eye(4)
    for _ in range(20_000):
        pose[:3, :3] = pose[:3, :3] @ step
    assert np.abs(pose[:3, :3].T @ pose[:3, :3] - np.eye(3)).max() > 1e-13
    rng = np.random.default_rng(5)
    for _ in range(20):
        pose[:3, 3] = rng.normal(size=3)
        box, ball, other = Box((0.2, 0.4, 0.6)), Sphere(0.125), np.eye(4)
        found = distance(ball, other, box, pose)
        assert lies_in(exact_distance(ball, other, box, pose), found.lower, found.upper)


def test_normalising_a_normalised_pose_changes_nothing():
    rng = np.random.default_rng(6)
    poses = np.array([random_pose(rng, error, 1.0) for error in (0.0, 1e-15, 1e-13, 1e-9, 3e-7) for _ in range(400)])
    taken = as_poses("poses", poses)
    np.testing.assert_array_equal(as_poses("poses", taken), taken)
    one_by_one = np.array([as_poses("pose", pose) for pose in poses])
    np.testing.assert_array_equal(one_by_one, taken)
    square = np.swapaxes(taken[:, :3, :3], 1, 2) @ taken[:, :3, :3] - np.eye(3)
    assert np.linalg.norm(square, axis=(1, 2)).max() <= (16.0 + 4.5) * np.finfo(float).eps


def test_matrices_other_than_rotations_are_refused():
    pose = np.eye(4)
    for bad in (1.0 + 1e-6, -1.0, math.nan, math.inf):
        pose[0, 0] = bad
        with pytest.raises(ValueError, match="pose_a"):
            distance(Sphere(1.0), pose, Sphere(1.0), np.eye(4))


# --- range of lengths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [9e-31, 2e30, 0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: Superovoid((1.0, x, 1.0)), r"Superovoid\.semi_axes\[1\]"),
        (lambda x: Superellipsoid((1.0, 1.0, x)), r"Superellipsoid\.semi_axes\[2\]"),
        (lambda x: Sphere(x), "Sphere"),
        (lambda x: Capsule(x, 1.0), r"Capsule\.radius"),
        (lambda x: Box((x, 1.0, 1.0)), r"Box\.lengths\[0\]"),
        (lambda x: Cylinder(1.0, x), r"Cylinder\.length"),
        (lambda x: Cone(1.0, x), r"Cone\.length"),
        (lambda x: Torus(1.0, x), r"Torus\.minor_radius"),
        (lambda x: ConvexMesh(x * Box((2.0, 2.0, 2.0)).tessellate().vertices), r"ConvexMesh\.vertices"),
    ],
)
def test_lengths_out_of_range_are_refused_by_name(make, name, length):
    if name.startswith("ConvexMesh") and length in (-1.0, 9e-31):
        pytest.skip("inverted meshes, and those twice as wide as the least length, are valid")
    with pytest.raises(ValueError, match=name), np.errstate(invalid="ignore"):
        make(length)


def test_coordinates_out_of_range_are_refused_by_name():
    pose = np.eye(4)
    pose[1, 3] = -2e30
    with pytest.raises(ValueError, match=r"pose_b: coordinates must be within 1e\+30 m, found 2e\+30"):
        distance(Sphere(1.0), np.eye(4), Sphere(1.0), pose)


# --- certificates of superellipsoids ----------------------------------------------------------------------------------


@pytest.mark.parametrize("regime", ["plain", "off by rounding", "unlike sizes", "small", "large"])
def test_certificates_of_superellipsoids_hold_in_forty_digits(regime):
    """Support functions along the computed normal bound the distance from below, nearly exactly, in any arithmetic."""
    rng = np.random.default_rng(8)
    checked = 0
    for _ in range(40):
        a, pose_a, b, pose_b = random_pair(rng, Superellipsoid, Superellipsoid, regime)
        found = distance(a, pose_a, b, pose_b)
        t, axes_a, axes_b = relative_pose(pose_a, pose_b)
        n = exact_vector(found.normal)
        n = [x / norm(n) for x in n]
        bound = dot(n, t) - reach_along(a, turned_back(axes_a, n))
        bound -= reach_along(b, turned_back(axes_b, [-x for x in n]))
        assert bound <= mpmath.mpf(found.upper)
        if found.status == 0 and found.distance > 0.0:
            # The bound along the best normal falls short only by the square of the normal's error.
            checked += 1
            assert mpmath.mpf(found.lower) <= bound * (1 + mpmath.mpf("1e-17"))
    assert checked > 10

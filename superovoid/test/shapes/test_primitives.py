# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planes, capsules, boxes, cylinders, cones, tori, meshes: geometry, and distances of every pair of kinds.

References are independent of the engine: closed forms, least squares (Lawson, Hanson) and hulls of vertex differences
for polytopes, a simplex search over directions for other convex bodies, dense samples of surfaces as bounds.
"""

import itertools
import math

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Sphere,
    Status,
    Superellipsoid,
    Superovoid,
    Torus,
    distance,
    distances,
)
from superovoid.contact import one_pair
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.shapes import Shape
from superovoid.shapes.kernels.kinds import PackedBody
from superovoid.shapes.primitives import pack_shapes

RING = Torus(1.0, 0.3).tessellate(10)
# An L: two boxes of 2 x 1 x 1, the notch between x = 1, z = 1 and the arms.
NOTCH = trimesh.creation.extrude_triangulation(
    np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)]),
    np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]),
    height=1.0,
)


def pose(translation=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    matrix[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    return matrix


def random_pose(rng, reach):
    direction = rng.normal(size=3)
    return pose(reach * direction / np.linalg.norm(direction), Rotation.random(random_state=rng).as_rotvec())


def size(rng):
    return float(np.exp(rng.uniform(np.log(0.2), np.log(1.5))))


def _superovoid(rng):
    taper = rng.uniform(-0.25, 0.25)
    return Superovoid.from_goncalves((size(rng), size(rng), size(rng)), rng.uniform(0.3, 1.3, 2), (taper, taper))


def _torus(rng):
    major = size(rng)
    return Torus(major, major * rng.uniform(0.1, 0.7))


MAKERS = {
    "superovoid": _superovoid,
    "sphere": lambda rng: Sphere(size(rng)),
    "plane": lambda rng: HalfSpace(),
    "capsule": lambda rng: Capsule(size(rng), size(rng)),
    "box": lambda rng: Box([2.0 * size(rng) for _ in range(3)]),
    "cylinder": lambda rng: Cylinder(size(rng), size(rng)),
    "cone": lambda rng: Cone(size(rng), size(rng)),
    "torus": _torus,
    "convex mesh": lambda rng: ConvexMesh(size(rng) * rng.normal(size=(rng.integers(5, 90), 3))),
    "mesh": lambda rng: Mesh(size(rng) * RING.vertices, RING.faces),
}
BOUNDED = [kind for kind in MAKERS if kind != "plane"]
CONVEX = [kind for kind in BOUNDED if kind not in ("torus", "mesh")]


def reach_of(shape):
    return 0.0 if isinstance(shape, HalfSpace) else shape.bounding_sphere().radius


def pairs(kind_a, kind_b, count, seed=0):
    """Yield random pairs, from deep overlap to separate."""
    rng = np.random.default_rng([seed, *(list(MAKERS).index(kind) for kind in (kind_a, kind_b))])
    for _ in range(count):
        a, b = MAKERS[kind_a](rng), MAKERS[kind_b](rng)
        pose_a = random_pose(rng, 1.0)
        pose_b = random_pose(rng, rng.uniform(0.0, 1.4) * (reach_of(a) + reach_of(b)))
        pose_b[:3, 3] += pose_a[:3, 3]
        yield a, pose_a, b, pose_b


def unit_of(a, b):
    """Return the unit of tolerances: half the largest extent of the smaller body."""
    return min(max(s.obb().half_extents) for s in (a, b) if not isinstance(s, HalfSpace))


def holds(shape, pose_s, point, slack=1e-8):
    """Return whether a body contains a world point, moved a little towards its inside."""
    local = (point - pose_s[:3, 3]) @ pose_s[:3, :3]
    if isinstance(shape, Superovoid):
        return bool(shape.implicit((1.0 - slack) * local) <= shape.implicit(np.zeros(3)) + 1.0)
    inside = shape.vertices.mean(axis=0) if isinstance(shape, ConvexMesh) else np.zeros(3)
    return bool(shape.contains(inside + (1.0 - slack) * (local - inside)))


def off_torus(shape, pose_s, point):
    """Return the distance of a world point from the surface of a torus."""
    x, y, z = (point - pose_s[:3, 3]) @ pose_s[:3, :3]
    return abs(math.hypot(math.hypot(x, y) - shape.major_radius, z) - shape.minor_radius)


def surface_samples(shape, pose_s, count=3000):
    mesh = shape.tessellate(64)
    points = np.vstack([mesh.vertices, trimesh.sample.sample_surface(mesh, count, seed=1)[0]])
    if isinstance(shape, Torus):
        points = mesh.vertices  # its triangles protrude; those of convex bodies lie inside
    return points @ pose_s[:3, :3].T + pose_s[:3, 3]


# -- shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k for k in BOUNDED if k not in ("superovoid", "sphere")])
def test_bounds_volume_and_support_agree_with_a_fine_mesh(kind):
    shape = MAKERS[kind](np.random.default_rng(3))
    mesh = shape.tessellate(200)
    assert isinstance(shape, Shape)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(shape.volume(), rel=2e-3)
    n = np.random.default_rng(4).normal(size=(50, 3))
    sampled = (n @ mesh.vertices.T).max(axis=1)
    assert (shape.support_value(n) >= sampled - 1e-12).all()
    assert shape.support_value(n) == pytest.approx(sampled, rel=2e-3)
    assert np.einsum("ij,ij->i", n, shape.support(n)) == pytest.approx(shape.support_value(n), rel=1e-12)
    sphere, box = shape.bounding_sphere(), shape.obb()
    assert np.linalg.norm(mesh.vertices - sphere.centre, axis=1).max() <= sphere.radius * (1.0 + 1e-12)
    assert np.abs(mesh.vertices - box.centre).max(axis=0) == pytest.approx(box.half_extents, rel=1e-3)
    turn = Rotation.from_rotvec((0.3, -0.8, 0.5)).as_matrix()
    lower, upper = shape.aabb(turn)
    turned = mesh.vertices @ turn.T
    assert (turned >= lower - 1e-12).all() and (turned <= upper + 1e-12).all()


@pytest.mark.parametrize("kind", [k for k in BOUNDED if k not in ("superovoid", "sphere")])
def test_contains_agrees_with_the_winding_number_of_a_fine_mesh(kind):
    rng = np.random.default_rng(5)
    shape = MAKERS[kind](rng)
    mesh = Mesh.from_trimesh(shape.tessellate(64))
    points = rng.uniform(-1.0, 1.0, (300, 3)) * shape.obb().half_extents + shape.obb().centre
    near = cKDTree(trimesh.sample.sample_surface(shape.tessellate(64), 20000, seed=1)[0]).query(points)[0]
    clear = near > 0.05 * shape.bounding_sphere().radius
    assert clear.sum() > 20
    assert (shape.contains(points) == mesh.contains(points))[clear].all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Capsule(-1.0, 1.0), r"Capsule\.radius = -1.0: must be positive"),
        (lambda: Capsule(1.0, "2"), r"Capsule\.length = '2': must be a positive number"),
        (lambda: Box((2.0, 0.0, 2.0)), r"Box\.lengths\[1\] = 0.0: must be positive"),
        (lambda: Box((2.0, 4.0)), r"Box\.lengths = .*: must be 3 numbers"),
        (lambda: Cylinder(math.nan, 1.0), r"Cylinder\.radius = nan: must be positive"),
        (lambda: Cone(1.0, math.inf), r"Cone\.length = inf: must be positive and finite"),
        (lambda: Torus(1.0, 1.0), r"Torus\.minor_radius = 1.0: must be below the major radius 1.0"),
        (lambda: ConvexMesh([(0, 0, 0)] * 3), r"ConvexMesh\.vertices: must have shape \(n, 3\) with n >= 4"),
        (lambda: ConvexMesh(np.eye(4)[:, :3] * (1, 1, 0)), r"ConvexMesh\.vertices: must span a volume"),
        (lambda: ConvexMesh([(0, 0, math.inf)] * 4), r"ConvexMesh\.vertices: must be finite"),
        (lambda: Mesh(RING.vertices, RING.faces[1:]), r"Mesh\.faces: the surface must be closed"),
        (lambda: Mesh(RING.vertices, RING.faces[:, ::-1]), r"Mesh\.faces: triangles must be counter-clockwise"),
        (lambda: Mesh(RING.vertices, RING.faces + 5), r"Mesh\.faces: indices must be in \[0, \d+\)"),
        (lambda: Mesh(RING.vertices, RING.faces * 1.0), r"Mesh\.faces: must be integers"),
        (lambda: Box((2, 2, 2)).support((0, 0, 0)), r"direction: must be finite and not zero"),
        (lambda: HalfSpace().support((1.0, 0.0, 0.0)), r"direction: a half-space is unbounded"),
        (lambda: Cone(1.0, 1.0).tessellate(3), r"resolution = 3: must be an integer of at least 4"),
    ],
)
def test_bad_input_is_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_arguments_other_than_shapes_are_refused():
    with pytest.raises(TypeError, match=r"b: must be a shape of superovoid.shapes, found str"):
        distance(Sphere(1.0), np.eye(4), "box", np.eye(4))
    with pytest.raises(TypeError, match=r"b\[1\]: must be a shape"):
        distances([Sphere(1.0)] * 2, np.eye(4), [Box((2, 2, 2)), 3], np.eye(4))


# -- closed forms --------------------------------------------------------------------------------------------------

UNIT_BOX = Box((2.0, 2.0, 2.0))
TILTED = (0.0, math.pi / 4.0, 0.0)
CLOSED = {
    "sphere above a plane": (HalfSpace(), pose(), Sphere(0.5), pose((3, 4, 2)), 1.5),
    "ellipsoid into a plane": (HalfSpace(), pose(), Ellipsoid((1, 2, 3)), pose((0, 0, 2)), -1.0),
    "box on its edge over a plane": (HalfSpace(), pose(), UNIT_BOX, pose((0, 0, 2), TILTED), 2.0 - math.sqrt(2.0)),
    "torus over a plane": (HalfSpace(), pose(), Torus(1, 0.25), pose((0, 0, 2), (0, math.pi / 2, 0)), 0.75),
    "mesh over a plane": (HalfSpace(), pose(), Mesh.from_trimesh(NOTCH), pose((5, 5, 1)), 1.0),
    "facing planes": (HalfSpace(), pose(), HalfSpace(), pose((0, 7, 2), (math.pi, 0, 0)), 2.0),
    "facing planes that overlap": (HalfSpace(), pose(), HalfSpace(), pose((1, 0, -3), (math.pi, 0, 0)), -3.0),
    "sphere off a box corner": (Sphere(0.5), pose((2, 3, 3)), UNIT_BOX, pose(), 2.5),
    "sphere off a box edge": (Sphere(0.5), pose((4, 5, 0)), UNIT_BOX, pose(), 4.5),
    "sphere in a box": (Sphere(0.25), pose((0.5, 0, 0)), UNIT_BOX, pose(), -0.75),
    "sphere above a cylinder's rim": (Sphere(0.5), pose((4, 0, 5)), Cylinder(1, 2), pose(), 4.5),
    "sphere in a cylinder": (Sphere(0.5), pose((0.5, 0, 0)), Cylinder(1, 8), pose(), -1.0),
    "sphere above an apex": (Sphere(0.5), pose((0, 0, 3)), Cone(1, 2), pose(), 1.5),
    "sphere next to a cone": (Sphere(0.25), pose((2, 0, 1)), Cone(1, 2), pose(), 4 / math.sqrt(5) - 0.25),
    "sphere below a cone": (Sphere(0.5), pose((0.5, 0, -2)), Cone(1, 2), pose(), 0.5),
    "sphere in a capsule": (Sphere(0.5), pose((0.25, 0, 1)), Capsule(1, 4), pose(), -1.25),
    "sphere in a ring": (Sphere(0.5), pose(), Torus(2, 0.5), pose(), 1.0),
    "sphere in a tube": (Sphere(0.25), pose((2, 0, 0)), Torus(2, 0.5), pose(), -0.75),
    "sphere that fills a ring": (Sphere(2.0), pose(), Torus(2, 0.5), pose(), -1.5),
    "crossing capsules": (Capsule(0.5, 4), pose(), Capsule(0.25, 4), pose((0, 2, 0), (0, math.pi / 2, 0)), 1.25),
    "capsules in one line": (Capsule(0.5, 2), pose(), Capsule(0.5, 2), pose((0, 0, 5)), 2.0),
    "capsules that cross in the middle": (Capsule(0.5, 4), pose(), Capsule(0.25, 4), pose((0, 0, 0), (0, 1, 0)), -0.75),
    "corner to corner": (UNIT_BOX, pose(), UNIT_BOX, pose((4, 4, 3)), 3.0),
    "crossing edges": (
        UNIT_BOX,
        pose((0, 0, 0), (math.pi / 4, 0, 0)),
        UNIT_BOX,
        pose((0, 0, 4), TILTED),
        4.0 - 2.0 * math.sqrt(2.0),
    ),
    "faces": (UNIT_BOX, pose(), Box((1.0, 1.0, 1.0)), pose((0.3, 0.2, 1.25)), -0.25),
    "box in a box": (UNIT_BOX, pose(), Box((0.5, 0.5, 0.5)), pose((0.5, 0, 0)), -0.75),
    "cylinders side by side": (Cylinder(1, 4), pose(), Cylinder(0.5, 2), pose((4, 0, 0)), 2.5),
    "crossing cylinders": (Cylinder(1, 9), pose(), Cylinder(0.5, 9), pose((0, 4, 0), (0, math.pi / 2, 0)), 2.5),
    "cylinder on a box": (Cylinder(0.5, 2), pose((0, 0, 2.5)), UNIT_BOX, pose(), 0.5),
    "apex into a box": (Cone(0.5, 1), pose((0, 0, 1.25), (math.pi, 0, 0)), UNIT_BOX, pose(), -0.25),
    "apex to apex": (Cone(1, 2), pose(), Cone(1, 2), pose((0, 0, 3), (math.pi, 0, 0)), 1.0),
    "apex over a box corner": (Cone(1, 2), pose((1, 1, 3), (math.pi, 0, 0)), UNIT_BOX, pose(), 1.0),
    "ellipsoid on a box": (Ellipsoid((1, 2, 0.5)), pose((0.3, 0.1, 2)), UNIT_BOX, pose(), 0.5),
    "ellipsoid into a box": (Ellipsoid((1, 2, 0.5)), pose((0, 0, 1.25)), UNIT_BOX, pose(), -0.25),
    "ellipsoid and capsule": (Ellipsoid((1, 2, 0.5)), pose((0, 0, 4)), Capsule(0.5, 2), pose(), 2.0),
    "rings in a plane": (Torus(1, 0.25), pose(), Torus(2, 0.5), pose((5, 0, 0)), 1.25),
    "linked rings": (Torus(2, 0.25), pose(), Torus(1, 0.25), pose((2.2, 0, 0), (math.pi / 2, 0, 0)), 0.3),
    "rings on one axis": (Torus(2, 0.25), pose(), Torus(1, 0.25), pose((0, 0, 1)), math.sqrt(2.0) - 0.5),
    "cylinders in one another": (Cylinder(0.5, 9), pose(), Cylinder(1, 9), pose((0, 0, 0.25)), -1.5),
    "cones in one another": (Cone(0.5, 3), pose(), Cylinder(1, 20), pose((0, 0, 0), (math.pi, 0, 0)), -1.5),
    "capsule through a ring": (Torus(2, 0.25), pose(), Capsule(0.5, 9), pose(), 1.25),
    "box in a ring": (Torus(2, 0.25), pose(), Box((1.0, 0.5, 6)), pose(), 1.75 - math.hypot(0.5, 0.25)),
    "ball in the notch": (Mesh.from_trimesh(NOTCH), pose(), Sphere(0.25), pose((1.5, 1.75, 0.5)), 0.25),
    "box in the notch": (Mesh.from_trimesh(NOTCH), pose(), Box((0.5, 0.5, 0.5)), pose((1.75, 2.0, 0.5)), 0.5),
    "ball into the notch's floor": (Mesh.from_trimesh(NOTCH), pose(), Sphere(0.25), pose((1.6, 1.15, 0.5)), -0.1),
    "box into the notch's floor": (
        Mesh.from_trimesh(NOTCH),
        pose(),
        Box((0.5, 0.5, 0.5)),
        pose((1.5, 1.2, 0.5)),
        -0.05,
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_form(name):
    a, pose_a, b, pose_b, expected = CLOSED[name]
    result = distance(a, pose_a, b, pose_b)
    assert result.distance == pytest.approx(expected, abs=2e-9)
    assert result.lower - 1e-12 <= expected <= result.upper + 1e-12
    assert not result.status & Status.UNPROVEN
    gap = (result.point_b - result.point_a) @ result.normal
    assert gap == pytest.approx(result.distance, abs=2e-9)


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0)])
def test_inseparable_half_spaces_are_infinitely_deep_and_flagged(turn):
    result = distance(HalfSpace(), pose(), HalfSpace(), pose((0, 1, -2), turn))
    assert result.distance == result.lower == result.upper == -math.inf
    assert result.status & Status.UNBOUNDED
    assert np.isfinite(result.point_a).all() and (result.point_a == result.point_b).all()
    assert result.point_a[2] <= 1e-12  # in both
    assert (result.point_a - (0, 1, -2)) @ pose((0, 0, 0), turn)[:3, 2] <= 1e-12
    assert not distance(HalfSpace(), pose(), HalfSpace(), pose((0, 0, -2), (math.pi, 0, 0))).status & Status.UNBOUNDED


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize("round_kind", ["torus", "mesh"])
def test_proved_distances_of_bodies_with_holes_hold(kind, round_kind):
    for a, pose_a, b, pose_b in pairs(kind, round_kind, 2, seed=3):
        result = distance(a, pose_a, b, pose_b)
        sampled = cKDTree(surface_samples(b, pose_b)).query(surface_samples(a, pose_a))[0].min()
        if result.distance > 0.0:
            assert sampled >= result.lower - 1e-12
            assert sampled <= result.upper + 0.35  # a coarse upper limit of the sampling error
            assert not result.status & Status.UNPROVEN
            assert np.linalg.norm(result.point_b - result.point_a) == pytest.approx(result.distance, abs=1e-9)
        else:
            moved = pose_b.copy()
            moved[:3, 3] += (1e-9 - result.lower) * result.normal
            assert distance(a, pose_a, b, moved).upper >= 0.0  # the translation of length -lower separates them
            assert result.lower <= result.distance <= result.upper <= 1e-9


@pytest.mark.parametrize("other", [k for k in CONVEX if k not in ("superovoid", "sphere")])
def test_a_sphere_is_the_limit_of_superovoids(other):
    for a, pose_a, b, pose_b in pairs("sphere", other, 6, seed=4):
        almost = Superellipsoid((a.radius, a.radius, a.radius), section_exponent=1.0 + 1e-9, profile_exponent=1.0)
        expected = distance(a, pose_a, b, pose_b).distance
        assert distance(almost, pose_a, b, pose_b).distance == pytest.approx(expected, abs=1e-8)


def test_convexity_is_that_of_samples_of_the_body():
    non_convex = Superovoid((1.0, 1.0, 1.0), section_exponent=0.8, profile_exponent=1.9, taper=(0.5, 0.5))
    shapes = [kind(np.random.default_rng(3)) for name, kind in MAKERS.items() if name != "plane"]
    shapes += [non_convex, Mesh.from_trimesh(RING), Mesh.from_trimesh(trimesh.creation.box()), Mesh.from_trimesh(NOTCH)]
    for shape in shapes:
        points = shape.sample_surface(4000, 1)
        middles = 0.5 * (points[:2000] + points[2000:])
        # Middles of two points of one face are on it, up to rounding.
        assert shape.is_convex() == bool(
            shape.contains((1.0 - 1e-9) * (middles - points.mean(0)) + points.mean(0)).all()
        )
    assert [shape.is_convex() for shape in shapes].count(False) == 5
    assert not Compound([(Sphere(1.0), np.eye(4)), (Sphere(1.0), pose((3.0, 0.0, 0.0)))]).is_convex()


def test_triangles_of_a_convex_mesh_are_solved_as_a_convex_mesh():
    mesh = trimesh.creation.icosphere(2)
    as_mesh, hull = Mesh.from_trimesh(mesh), ConvexMesh(mesh.vertices)
    assert as_mesh.is_convex() and not Mesh.from_trimesh(RING).is_convex()
    for offset in (0.5, 1.5, 3.0):
        given = distance(as_mesh, pose(), UNIT_BOX, pose((offset, 0.1, 0.2), (0.3, 0.2, 0.1)))
        expected = distance(hull, pose(), UNIT_BOX, pose((offset, 0.1, 0.2), (0.3, 0.2, 0.1)))
        assert given.distance == pytest.approx(expected.distance, abs=1e-12)


def test_hollow_and_solid_meshes_have_different_insides():
    outer, inner = trimesh.creation.box((4, 4, 4)), trimesh.creation.box((3, 3, 3))
    inner.invert()
    hollow = Mesh.from_trimesh(trimesh.util.concatenate([outer, inner]))
    assert distance(hollow, pose(), Sphere(0.5), pose()).distance == pytest.approx(1.0, abs=1e-12)
    inside_solid = distance(Mesh.from_trimesh(RING), pose(), Sphere(0.01), pose((1.0, 0.0, 0.0)))
    assert inside_solid.upper < -0.01


# -- invariances -----------------------------------------------------------------------------------------------------


# -- nearly one axis -------------------------------------------------------------------------------------------------


def _spheroid(rng):
    radius, taper = size(rng), rng.uniform(-0.25, 0.25)
    return Superovoid(
        (radius, radius, size(rng)), section_exponent=1.0, profile_exponent=rng.uniform(0.3, 1.3), taper=(taper, taper)
    )


REVOLVED = {**{kind: MAKERS[kind] for kind in ("capsule", "cylinder", "cone")}, "spheroid": _spheroid}


def nearly_coaxial(kind_a, kind_b, off, count, seed):
    """Yield bodies with axes off by an angle and by a share of the smaller body, from deep overlap to separate."""
    rng = np.random.default_rng([seed, *(list(REVOLVED).index(kind) for kind in (kind_a, kind_b))])
    for k in range(count):
        a = REVOLVED[kind_a](rng)
        b = a if kind_a == kind_b and k % 4 == 3 else REVOLVED[kind_b](rng)
        tilt, shift = rng.normal(size=(2, 2))
        relative = pose((0.0, 0.0, 0.0), (*off * tilt, 0.0)) @ np.diag([1.0, *([rng.choice((-1.0, 1.0))] * 2), 1.0])
        relative[:2, 3] = off * unit_of(a, b) * shift
        relative[2, 3] = rng.uniform(-1.1, 1.1) * (a.obb().half_extents[2] + b.obb().half_extents[2])
        pose_a = random_pose(rng, 1.0)
        yield a, pose_a, b, pose_a @ relative


def least_reach(a, pose_a, b, pose_b):
    """Least support value of the Minkowski difference over directions, found by samples in ever smaller caps."""
    rng = np.random.default_rng(1)
    n, width, least = rng.normal(size=(2000, 3)), 0.1, math.inf
    for _ in range(8):
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        reach = a.support_value(n @ pose_a[:3, :3]) + b.support_value(-n @ pose_b[:3, :3])
        reach -= n @ (pose_b[:3, 3] - pose_a[:3, 3])
        best = np.argsort(reach)[:5]
        least = min(least, float(reach[best[0]]))
        n, width = np.repeat(n[best], 60, axis=0) + width * rng.normal(size=(300, 3)), 0.1 * width
    return least


@pytest.mark.ci
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize(("kind_a", "kind_b"), list(itertools.combinations_with_replacement(REVOLVED, 2))[:-1])
def test_nearly_coaxial_bodies_of_revolution_are_certified(kind_a, kind_b, off):
    for a, pose_a, b, pose_b in nearly_coaxial(kind_a, kind_b, off, 8, seed=15):
        result = distance(a, pose_a, b, pose_b)
        assert not result.status & Status.UNPROVEN
        assert result.upper - result.lower <= 1.1e-9 * unit_of(a, b)
        assert result.distance > 0.0 or result.upper >= -least_reach(a, pose_a, b, pose_b) - 1e-12 * unit_of(a, b)


@pytest.mark.parametrize("off", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize(("kind_a", "kind_b"), list(itertools.combinations_with_replacement(REVOLVED, 2))[:-1])
def test_bodies_of_revolution_on_parallel_axes_are_certified(kind_a, kind_b, off):
    for a, _, b, _ in nearly_coaxial(kind_a, kind_b, 0.0, 16, seed=16):
        depth = 0.2 * (a.obb().half_extents[2] + b.obb().half_extents[2])
        pose_b = pose((off * unit_of(a, b), 0.0, depth))
        result = distance(a, pose(), b, pose_b)
        assert not result.status & Status.UNPROVEN
        assert result.upper >= -least_reach(a, pose(), b, pose_b) - 1e-12 * unit_of(a, b)


# -- degenerate ----------------------------------------------------------------------------------------------------

UNIQUE, MANY = False, True


@pytest.mark.parametrize(
    ("a", "b", "pose_b", "expected", "many"),
    [
        (UNIT_BOX, UNIT_BOX, pose((3, 0.5, 0)), 1.0, MANY),
        (UNIT_BOX, UNIT_BOX, pose((3, 0.5, 0), (0, 0, math.pi / 4)), 2.0 - math.sqrt(2.0), MANY),
        (UNIT_BOX, UNIT_BOX, pose((3, 0, 0), (0.3, math.pi / 4, 0.2)), None, UNIQUE),
        (Capsule(0.5, 2), Capsule(0.5, 2), pose((2, 0, 0.5)), 1.0, MANY),
        (Capsule(0.5, 2), Capsule(0.5, 2), pose((2, 0, 0.5), (0.1, 0.2, 0)), None, UNIQUE),
        (HalfSpace(), Cylinder(1, 2), pose((0, 0, 1)), 0.0, MANY),
        (HalfSpace(), Cylinder(1, 2), pose((0, 0, 3), (math.pi / 2, 0, 0)), 2.0, MANY),
        (HalfSpace(), Cone(1, 2), pose((0, 0, 2), (math.pi, 0, 0)), 1.0, UNIQUE),
        (Cone(1, 2), UNIT_BOX, pose((0, 0, -2.5)), 0.5, MANY),
        (Cone(1, 2), UNIT_BOX, pose((0, 0, 3)), 1.0, UNIQUE),
        (Cylinder(1, 2), Cylinder(0.5, 2), pose((0, 0, 2)), 0.0, MANY),
        (Sphere(0.5), UNIT_BOX, pose(), -1.5, MANY),
        (Sphere(0.5), Cylinder(1, 4), pose(), -1.5, MANY),
        (Sphere(0.5), Capsule(1, 4), pose(), -1.5, MANY),
        (Sphere(0.5), Torus(2, 0.5), pose(), 1.0, MANY),
        (UNIT_BOX, UNIT_BOX, pose(), -2.0, MANY),
        (Capsule(1, 2), Capsule(1, 2), pose(), -2.0, MANY),
        (UNIT_BOX, UNIT_BOX, pose((2, 2, 2)), 0.0, None),
        (UNIT_BOX, Ellipsoid((1, 1, 2)), pose((2, 0, 0)), 0.0, UNIQUE),
        (ConvexMesh(UNIT_BOX.tessellate().vertices), UNIT_BOX, pose((2.5, 0, 0)), 0.5, MANY),
    ],
)
def test_degenerate_positions_are_right_and_flagged(a, b, pose_b, expected, many):
    result = distance(a, pose(), b, pose_b)
    if expected is not None:
        assert result.distance == pytest.approx(expected, abs=2e-9)
    assert not result.status & Status.UNPROVEN
    if many is not None:
        assert bool(result.status & Status.NON_UNIQUE) == many


@pytest.mark.parametrize(
    ("a", "b", "pose_b", "several"),
    [
        (Sphere(0.5), UNIT_BOX, pose(), True),
        (Sphere(0.5), UNIT_BOX, pose((0.25, 0, 0)), False),
        (Sphere(0.5), Cylinder(1, 8), pose(), True),
        (Sphere(0.5), Torus(2, 0.5), pose(), False),  # separate, with many nearest points
        (Sphere(0.5), Torus(2, 0.5), pose((2, 0, 0)), True),
        (Sphere(1.75), Torus(2, 0.5), pose(), True),  # fills the ring: it can leave on either side
        (Sphere(1.75), Torus(2, 0.5), pose((0, 0, 0.1)), False),
        (UNIT_BOX, UNIT_BOX, pose(), True),
        (UNIT_BOX, UNIT_BOX, pose((0.5, 0.1, 0.2)), False),
        (UNIT_BOX, UNIT_BOX, pose((0.5, 0.5, 0.2)), True),
        (UNIT_BOX, UNIT_BOX, pose((3, 0.5, 0)), False),
        (Capsule(0.5, 4), Capsule(0.25, 4), pose((0, 0, 0), (0, 1, 0)), True),
        (Cylinder(1, 9), Cylinder(0.5, 9), pose(), True),
        (Cylinder(1, 2), Cylinder(0.5, 2), pose((0, 0, 1)), False),
        (UNIT_BOX, Ellipsoid((0.5, 0.5, 0.9)), pose(), True),
        (UNIT_BOX, Ellipsoid((0.5, 0.5, 0.9)), pose((0.2, 0.1, 0.0)), False),
        (
            UNIT_BOX,
            Superellipsoid((0.5, 0.6, 0.9), section_exponent=0.3, profile_exponent=0.3),
            pose((0.1, 0, 0)),
            False,
        ),
    ],
)
def test_equally_short_separating_translations_are_flagged(a, b, pose_b, several):
    result = distance(a, pose(), b, pose_b)
    assert not result.status & Status.UNPROVEN
    assert bool(result.status & Status.ARBITRARY_NORMAL) == several


def test_points_of_a_sphere_and_a_torus_lie_on_their_surfaces():
    deep = 0
    for a, pose_a, b, pose_b in pairs("sphere", "torus", 40, seed=12):
        pose_b[:3, 3] = pose_a[:3, 3] + 0.5 * (pose_b[:3, 3] - pose_a[:3, 3])
        result = distance(a, pose_a, b, pose_b)
        assert abs(np.linalg.norm(result.point_a - pose_a[:3, 3]) - a.radius) <= 1e-12
        assert off_torus(b, pose_b, result.point_b) <= 1e-12
        gap = result.point_b - result.point_a
        assert np.linalg.norm(gap - result.distance * result.normal) <= 1e-12
        reach = a.radius + b.minor_radius
        deep += result.distance < 0.0 and b.major_radius < reach
    assert deep > 5


@pytest.mark.parametrize("kind", BOUNDED)
def test_points_of_an_overlap_with_a_torus_lie_in_both_bodies(kind):
    for a, pose_a, b, pose_b in pairs(kind, "torus", 6, seed=13):
        result = distance(a, pose_a, b, pose_b)
        assert off_torus(b, pose_b, result.point_b) <= 1e-9
        if kind == "torus":
            assert off_torus(a, pose_a, result.point_a) <= 1e-9
        elif kind != "mesh":
            assert holds(a, pose_a, result.point_a)


@pytest.mark.parametrize("kind", BOUNDED)
def test_points_of_an_overlap_with_a_mesh_lie_on_its_surface(kind):
    for a, pose_a, b, pose_b in pairs(kind, "mesh", 4, seed=14):
        result = distance(a, pose_a, b, pose_b)
        local = (result.point_b - pose_b[:3, 3]) @ pose_b[:3, :3]
        _, off, _ = trimesh.proximity.closest_point_naive(trimesh.Trimesh(b.vertices, b.faces), local[None])
        assert off[0] <= 1e-9


# -- entry point of C --------------------------------------------------------------------------------------------


def test_one_entry_answers_all_kinds_from_one_pool_and_warm_starts():
    rng = np.random.default_rng(9)
    shapes = [make(rng) for make in MAKERS.values()]
    rows, pool = pack_shapes(shapes)
    out = np.empty(RESULT_LENGTH)
    for i, j in itertools.combinations(range(len(shapes)), 2):
        pose_a, pose_b = random_pose(rng, 0.5), random_pose(rng, 3.0)
        bodies = PackedBody(rows[i], pool), PackedBody(rows[j], pool)
        question = one_pair.Question(pose_a, pose_b, np.zeros(one_pair.WORK_LENGTH), out)
        expected = distance(shapes[i], pose_a, shapes[j], pose_b)
        for _ in range(2):
            assert one_pair.answer_pair(*bodies, 1e-9, question) == 0
            assert out[RESULT.distance] == pytest.approx(expected.distance, abs=2e-9)
            assert int(out[RESULT.status]) & Status.UNPROVEN == expected.status & Status.UNPROVEN

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Depths of overlapping meshes and tori against exact or sampled depths that share no code with the engine.

The depth of unions of convex pieces is the distance of the origin from the region left free by the Minkowski
differences of the pieces: a point on one, two or three of their facet planes, outside all of them.
"""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shell,
    Sphere,
    Status,
    Superellipsoid,
    Superovoid,
    Torus,
    distance,
)
from superovoid.testing import contract

UNIT_BOX = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def pose(rng, reach):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    direction = rng.normal(size=3)
    matrix[:3, 3] = reach * direction / np.linalg.norm(direction)
    return matrix


def quarter_pose(rng, offset):
    matrix = np.eye(4)
    turns = Rotation.create_group("O").as_matrix().round()
    matrix[:3, :3] = turns[rng.integers(24)]
    matrix[:3, 3] = offset
    return matrix


def at(points, matrix):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def shift(z, x=0.0):
    matrix = np.eye(4)
    matrix[:3, 3] = x, 0.0, z
    return matrix


def ring_and_pieces(outer, inner, half):
    """Return a square ring as a mesh, and its four prisms."""
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    pieces = []
    for i in range(4):
        corners = np.array([outer * square[i], outer * square[i - 1], inner * square[i - 1], inner * square[i]])
        pieces.append(np.concatenate([np.column_stack([corners, np.full(4, z)]) for z in (-half, half)]))
    rings = [(outer, -half), (outer, half), (inner, half), (inner, -half)]
    vertices = np.concatenate([np.column_stack([r * square, np.full(4, z)]) for r, z in rings])
    faces = []
    for k in range(4):
        for i in range(4):
            p, q = 4 * k + i, 4 * k + (i + 1) % 4
            r, s = 4 * ((k + 1) % 4) + i, 4 * ((k + 1) % 4) + (i + 1) % 4
            faces += [(p, q, s), (p, s, r)]
    return Mesh(vertices, faces), pieces


def notch_and_pieces():
    """Return an L, and its two boxes."""
    outline = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)])
    triangles = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    mesh = Mesh.from_trimesh(trimesh.creation.extrude_triangulation(outline, triangles, height=1.0))
    boxes = [((0.0, 0.0, 0.0), (2.0, 1.0, 1.0)), ((0.0, 0.0, 0.0), (1.0, 2.0, 1.0))]
    return mesh, [0.5 * (np.add(*box) + UNIT_BOX * np.subtract(box[1], box[0])) for box in boxes]


def exact_depth(pieces_a, pieces_b):
    """Return the length of the shortest translation that separates two unions of convex pieces, given by vertices."""
    facets = []
    for a, b in itertools.product(pieces_a, pieces_b):
        equations = ConvexHull((a[:, None] - b[None]).reshape(-1, 3)).equations
        facets.append(np.unique(equations.round(12), axis=0))
    planes = np.concatenate(facets)
    if all((f[:, 3] > 0.0).any() for f in facets):
        return 0.0
    # The depth of the hulls is at least that of the bodies, so planes farther away do not matter.
    hull = np.concatenate(pieces_a)[:, None] - np.concatenate(pieces_b)[None]
    planes = planes[np.abs(planes[:, 3]) <= -ConvexHull(hull.reshape(-1, 3)).equations[:, 3].max() + 1e-9]
    n, offset = planes[:, :3], -planes[:, 3]
    candidates = [n * offset[:, None]]
    i, j = np.triu_indices(len(n), 1)
    gram = np.einsum("ij,ij->i", n[i], n[j])
    apart = 1.0 - gram**2 > 1e-12
    i, j, gram = i[apart], j[apart], gram[apart]
    p = (offset[i] - gram * offset[j]) / (1.0 - gram**2)
    q = (offset[j] - gram * offset[i]) / (1.0 - gram**2)
    candidates.append(p[:, None] * n[i] + q[:, None] * n[j])
    triples = np.array(list(itertools.combinations(range(len(n)), 3)), dtype=np.int64).reshape(-1, 3)
    matrices = n[triples]
    regular = np.abs(np.linalg.det(matrices)) > 1e-9
    candidates.append(np.linalg.solve(matrices[regular], offset[triples[regular]][..., None])[..., 0])
    t = np.concatenate(candidates)
    length = np.linalg.norm(t, axis=1)
    t = t[np.argsort(length)]
    free = np.ones(len(t), dtype=bool)
    for f in facets:
        free &= (t @ f[:, :3].T + f[:, 3]).max(axis=1) > -1e-10
    return float(np.linalg.norm(t[np.argmax(free)]))


@pytest.mark.parametrize("body", ["ring", "notch"])
@pytest.mark.parametrize("aligned", [False, True])
def test_depth_in_a_non_convex_mesh_lies_in_its_interval(body, aligned):
    rng = np.random.default_rng([2, aligned])
    overlapping = proved = 0
    for _ in range(20):
        mesh, pieces = ring_and_pieces(1.0, rng.uniform(0.2, 0.8), rng.uniform(0.2, 0.5))
        if body == "notch":
            mesh, pieces = notch_and_pieces()
        half = rng.uniform(0.1, 0.5, 3)
        offset = rng.uniform(-1.2, 1.2, 3) * (1.0, 1.0, 0.5)
        pose_a = quarter_pose(rng, offset) if aligned else pose(rng, 1.0)
        pose_b = np.eye(4) if aligned else pose(rng, 0.0)
        depth = exact_depth([at(UNIT_BOX * half, pose_a)], [at(piece, pose_b) for piece in pieces])
        result = distance(Box(2.0 * half), pose_a, mesh, pose_b)
        if depth == 0.0:
            assert result.upper >= 0.0
            continue
        overlapping += 1
        proved += not result.status & Status.UNPROVEN
        assert result.lower - 1e-9 <= -depth <= result.upper + 1e-9
        assert bool(result.status & Status.NON_CONVEX) == bool(result.status & Status.UNPROVEN)
    assert overlapping >= 3 and proved >= (3 if aligned else 1)


CAPPED = {
    "box": Box((0.4, 0.4, 0.4)),
    "cylinder": Cylinder(0.2, 0.4),
    "ellipsoid": Ellipsoid((0.2, 0.15, 0.2)),
    "hull": ConvexMesh(0.2 * UNIT_BOX),
    "mesh": Mesh.from_trimesh(trimesh.creation.box((0.4, 0.4, 0.4))),
    "superovoid": Superovoid((0.2, 0.2, 0.2), section_exponent=0.1, profile_exponent=0.1),
}


@pytest.mark.parametrize("kind", CAPPED)
def test_a_body_whose_top_barely_leaves_a_mesh_is_inside(kind):
    rng = np.random.default_rng(5)
    mesh, _ = notch_and_pieces()
    for rtol in (1e-9, 1e-6, 1e-2):
        for share in (1e-3, 1e-2, 1e-1) * 3:
            place = np.eye(4)
            place[:3, :3] = Rotation.from_rotvec(rng.choice([0.0, share * rtol]) * rng.normal(size=3)).as_matrix()
            place[:3, 3] = 0.5, 0.5, 0.8 + 0.2 * share * rtol
            result = distance(CAPPED[kind], place, mesh, rtol=rtol)
            # The ball of radius 0.15 about its centre, which is 0.2 below the top, must leave the mesh.
            assert result.lower <= 1e-3 - 0.35
            assert result.upper <= 0.0


@pytest.mark.parametrize("kind", ["box", "sphere"])
def test_no_translation_shorter_than_proved_separates_a_body_from_a_torus(kind):
    rng = np.random.default_rng([3, kind == "box"])
    angle = np.linspace(0.0, 2.0 * math.pi, 1440, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)])
    overlapping = 0
    for _ in range(10):
        torus = Torus(1.0, rng.uniform(0.1, 0.6))
        pose_t, pose_b = pose(rng, 0.0), pose(rng, rng.uniform(0.0, 1.3))
        half = rng.uniform(0.1, 0.7, 3)
        body = Box(2.0 * half) if kind == "box" else Sphere(half[0])

        def from_circle(move, pose_t=pose_t, pose_b=pose_b, half=half):
            """Return the distance of the moved body from points of the torus' circle."""
            local = (at(circle, pose_t) - move - pose_b[:3, 3]) @ pose_b[:3, :3]
            if kind == "sphere":
                return (np.linalg.norm(local, axis=1) - half[0]).min()
            gap = np.abs(local) - half
            return (np.linalg.norm(np.maximum(gap, 0.0), axis=1) + np.minimum(gap.max(axis=1), 0.0)).min()

        result = distance(torus, pose_t, body, pose_b)
        if result.distance >= 0.0:
            continue
        overlapping += 1
        # The returned translation separates them, to the tolerance: the points of the circle are exact.
        parted = from_circle(-result.distance * result.normal)
        assert parted >= torus.minor_radius - 1e-9
        shorter = rng.normal(size=(100, 3))
        shorter *= (-result.upper * rng.uniform(0.7, 1.0, 100) / np.linalg.norm(shorter, axis=1))[:, None]
        shorter = shorter[np.linalg.norm(shorter, axis=1) < -result.upper - 1e-4]
        assert max(map(from_circle, shorter)) < torus.minor_radius
    assert overlapping >= 3


TOUCHING_THE_CIRCLE = {
    "equal circle": (Torus(1.0, 0.2), shift(0.0)),
    "circle tangent from inside": (Torus(0.5, 0.2), shift(0.0, x=0.5)),
    "rim": (Cylinder(1.0, 0.5), shift(0.25)),
    "base of a cone": (Cone(1.0, 1.0), shift(0.5)),
    "capsule that crosses": (Capsule(0.1, 1.0), shift(0.0, x=1.0)),
}


@pytest.mark.parametrize("radius", [0.05, 0.25, 0.6])
def test_a_sphere_on_the_circle_of_a_torus_leaves_across_it(radius):
    torus = Torus(1.0, 0.3)
    for angle in np.linspace(0.0, 2.0 * math.pi, 50):
        across = np.array([math.cos(angle), math.sin(angle), 0.0])
        result = distance(torus, np.eye(4), Sphere(radius), (*across[:2], 0.0))
        assert result.distance == pytest.approx(-0.3 - radius, abs=1e-12)
        centre = across - result.distance * result.normal
        assert math.hypot(math.hypot(*centre[:2]) - 1.0, centre[2]) >= 0.3 + radius - 1e-9


@pytest.mark.parametrize("kind", TOUCHING_THE_CIRCLE)
def test_the_normal_separates_a_body_that_touches_the_circle_of_a_torus(kind):
    other, place = TOUCHING_THE_CIRCLE[kind]
    result = distance(Torus(1.0, 0.3), np.eye(4), other, place)
    assert result.distance < -0.29
    around, along = np.meshgrid(np.linspace(0.0, 2.0 * math.pi, 256), np.linspace(0.0, 2.0 * math.pi, 1000))
    radius = 1.0 + 0.3 * np.cos(around)
    tube = np.stack([radius * np.cos(along), radius * np.sin(along), 0.3 * np.sin(around)], axis=-1).reshape(-1, 3)
    moved = tube + (1.0 + 1e-8) * result.distance * result.normal  # instead of the other body, the other way
    assert not other.contains(at(moved, np.linalg.inv(place))).any()


@pytest.mark.parametrize("other", [Cylinder(1.4, 0.1), Box((2.6, 2.6, 0.1)), Torus(1.0, 0.2)])
def test_two_equal_translations_out_of_a_torus_are_reported(other):
    found = [distance(Torus(1.0, 0.3), np.eye(4), other, pose) for pose in (np.eye(4), shift(1e-4), shift(-1e-4))]
    assert found[0].status & Status.ARBITRARY_NORMAL and not found[0].status.differentiable
    # The slopes differ in sign: the distance has a kink.
    np.testing.assert_allclose([one.distance - found[0].distance for one in found[1:]], 1e-4, atol=1e-8)


def boxes_as_mesh(*boxes):
    return Mesh.from_trimesh(
        trimesh.util.concatenate([trimesh.creation.box(bounds=np.array(bounds, dtype=float)) for bounds in boxes])
    )


def boxes_as_compound(*boxes):
    members = []
    for low, high in np.array(boxes, dtype=float):
        middle = np.eye(4)
        middle[:3, 3] = 0.5 * (low + high)
        members.append((Box(high - low), middle))
    return Compound(members)


def test_flats_of_a_mesh_that_overlap_have_no_unique_contact():
    mesh = boxes_as_mesh(([-1, -1, -1], [1, 1, 0]), ([5, 5, 5], [6, 6, 6]))
    for other in (Box((0.5, 0.5, 0.5)), Cylinder(0.25, 0.5)):
        result = distance(mesh, np.eye(4), other, shift(0.24))
        assert result.distance == pytest.approx(-0.01, abs=1e-8) and result.certified
        assert result.status & Status.NON_UNIQUE
    assert not distance(mesh, np.eye(4), Sphere(0.25), shift(0.24)).status & Status.NON_UNIQUE


TOUCHING_AN_EDGE = [
    Ellipsoid((0.3, 0.2, 0.4)),
    Sphere(0.3),
    Box((0.6, 0.4, 0.8)),
    Capsule(0.2, 0.5),
    Cylinder(0.3, 0.6),
    Cone(0.3, 0.6),
    ConvexMesh(np.random.default_rng(4).normal(size=(12, 3)) * 0.3),
    Superellipsoid((0.3, 0.2, 0.4), section_exponent=0.6, profile_exponent=0.8),
]


@pytest.mark.parametrize("body", TOUCHING_AN_EDGE)
def test_a_convex_body_on_an_inner_edge_touches_along_the_normal(body):
    ring, _ = ring_and_pieces(2.0, 1.0, 0.5)
    rng = np.random.default_rng(5)
    proved = 0
    for gap in np.tile([1e-14, 0.0, -1e-12, -1e-10, -1e-9, -1e-8], 10):
        for frame in (ring, Shell(ring.vertices, ring.faces)):
            lean = rng.uniform(0.01, 0.25)
            up = np.array([-math.sin(lean), 0.0, math.cos(lean)])  # across the edge x = 1, z = 0.5
            place = pose(rng, 0.0)
            lowest = at(body.support(-up @ place[:3, :3])[None], place)[0]
            place[:3, 3] = gap * up - lowest + (1.0, rng.uniform(-0.9, 0.9), 0.5)
            result = distance(frame, np.eye(4), body, place)
            assert result.lower <= result.distance <= result.upper
            if result.status != Status.CERTIFIED:
                continue
            proved += 1
            tolerance = 1e-9 * contract.extent(body)
            inward = -result.normal
            height = (result.point_b - place[:3, 3]) @ inward
            assert contract.support_value(body, inward @ place[:3, :3]) - height <= 10.0 * tolerance
            if isinstance(body, (Ellipsoid, Sphere)):
                np.testing.assert_allclose(result.normal, up, atol=1e-5)
    assert proved > 30


def test_a_mesh_in_a_convex_body_is_proved_to_overlap():
    mesh = boxes_as_mesh(([-1, -1, -1], [0, 0, 0]), ([0.5, 0.5, 0.5], [1, 1, 1]))
    for body in (Box((4.0, 4.0, 4.0)), Sphere(3.0), Cylinder(3.0, 6.0), Superovoid((3.0, 3.0, 3.0), taper=(0.1, 0.1))):
        result = distance(body, np.eye(4), mesh, np.eye(4))
        assert result.lower <= result.distance <= result.upper < -0.01


def test_a_member_that_touches_does_not_hide_the_depth_of_another():
    mesh = boxes_as_mesh(([-1, -1, -1], [0, 0, 0]), ([0.5, 0.5, 0.5], [1, 1, 1]))
    touching = np.eye(4)
    touching[:3, 3] = 1.5, 0.75, 0.75
    members = [(Box((4.0, 4.0, 4.0)), np.eye(4)), (Sphere(0.5), touching)]
    for compound in (Compound(members), Compound(members[::-1])):
        result = distance(compound, np.eye(4), mesh, np.eye(4))
        assert result.distance == pytest.approx(-3.0, abs=1e-8) and result.lower <= result.distance <= result.upper


def test_distances_of_unions_that_touch_on_a_lattice_lie_in_their_intervals():
    rng = np.random.default_rng(3)
    touching = 0
    for scale in (1.0, 2e5):
        for _ in range(300):
            sides = []
            for _ in range(2):
                low = rng.integers(0, 3, (2, 3))
                sides.append(scale * np.stack([low, low + rng.integers(1, 3, (2, 3))], axis=1))
            gap = np.maximum(sides[0][:, None, 0] - sides[1][None, :, 1], sides[1][None, :, 0] - sides[0][:, None, 1])
            corners = {corner for box in sides[1] for corner in itertools.product(*box.T.tolist())}
            if gap.max(axis=2).min() != 0.0 or len(corners) < 16:
                continue
            touching += 1
            for a, b in ((boxes_as_compound, boxes_as_mesh), (boxes_as_compound, boxes_as_compound)):
                result = distance(a(*sides[0]), np.eye(4), b(*sides[1]), np.eye(4))
                assert result.lower <= result.distance <= result.upper and result.upper >= 0.0
    assert touching > 100


def test_points_off_the_normal_leave_the_depth_open():
    program = """
import numpy as np
from superovoid import Box, Superellipsoid, distance
from superovoid.contact.convex import cores
box, rounded = Box((1.0, 1.0, 1.0)), Superellipsoid(
    (0.5, 0.5, 0.5), section_exponent=0.01, profile_exponent=0.01)
pose = np.eye(4)
pose[:3, 3] = 0.9, 0.1, 0.2
assert distance(rounded, np.eye(4), box, pose).certified
aligned = cores.points_along
def off_the_normal(*arguments):
    end = aligned(*arguments)
    return end._replace(y=(end.y[0], end.y[1] + 1e-6, end.y[2]), off=1e-6)
cores.points_along = off_the_normal
found = distance(rounded, np.eye(4), box, pose)
assert not found.certified
assert found.upper - found.distance >= 1e-6 - 1e-15
"""
    environment = os.environ | {"SUPEROVOID_KERNELS": "python"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The lower bound for polyhedra: it always holds, is exact in known cases, and its counts follow from geometry.

References share no code with the method: boxes of lattice cells in closed form, and distances of all edges and of all
vertices and triangles by numpy.
"""

import dataclasses
import io
import itertools
import math
from importlib.util import find_spec

import numpy as np
import pytest
import trimesh
from rich.console import Console
from scipy.spatial.transform import Rotation

from superovoid import Status, cli
from superovoid_papers.benchmarks import peers
from superovoid_papers.experiments.lower_bound import cases, places
from superovoid_papers.experiments.lower_bound import tables as experiment
from superovoid_papers.experiments.lower_bound.cases import pegs, plate, subdivided_tetrahedron
from superovoid_papers.methods.lower_bound import Polyhedron, applicable_pairs, lower_bound
from superovoid_papers.methods.lower_bound.bound import bound_value

OPTIONS = [
    {"plane": plane, "pruning": pruning, "alpha_beta": alpha_beta, "coplanar": coplanar}
    for plane in ("origin", "farthest")
    for pruning in (False, True)
    for alpha_beta in (False, True)
    for coplanar in (0.0, math.inf)
]
AT_ORIGIN = np.eye(4)


def pose(x=0.0, y=0.0, z=0.0, rotvec=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(rotvec).as_matrix()
    matrix[:3, 3] = x, y, z
    return matrix


def random_pose(rng, spread):
    return pose(*rng.uniform(-spread, spread, 3), rotvec=Rotation.random(rng=rng).as_rotvec())


def box(x, y, z, *, at=(0.0, 0.0, 0.0)):
    return Polyhedron.from_trimesh(trimesh.creation.box((x, y, z), pose(*at)))


# -- references ------------------------------------------------------------------------------------------------------


def segment_distances(p, q, r, s):
    """Return distances of segments p q from segments r s, of arrays that broadcast, by the cases of their ends."""
    u, v, w = q - p, s - r, p - r
    uu, vv, uv = (u * u).sum(-1), (v * v).sum(-1), (u * v).sum(-1)
    uw, vw = (u * w).sum(-1), (v * w).sum(-1)
    det = uu * vv - uv * uv
    best = np.full(det.shape, np.inf)
    candidates = []
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (uv * vw - vv * uw) / det, (uu * vw - uv * uw) / det
    good = (det > 1e-14 * uu * vv) & (inner[0] >= 0) & (inner[0] <= 1) & (inner[1] >= 0) & (inner[1] <= 1)
    candidates.append((np.where(good, inner[0], 0.0), np.where(good, inner[1], 0.0)))
    for fixed in (0.0, 1.0):
        candidates.append((fixed + 0.0 * uv, np.clip((vw + fixed * uv) / vv, 0.0, 1.0)))
        candidates.append((np.clip((fixed * uv - uw) / uu, 0.0, 1.0), fixed + 0.0 * uv))
    for i, j in candidates:
        best = np.minimum(best, np.linalg.norm(w + i[..., None] * u - j[..., None] * v, axis=-1))
    return best


def surface_distance(a, b):
    """Return the distance of triangulated surfaces, 0 if crossing: vertices (n, 3), edges (e, 2), triangles (m, 3)."""
    (va, ea, ta), (vb, eb, tb) = a, b
    starts, ends = va[ea], vb[eb]
    best = segment_distances(starts[:, None, 0], starts[:, None, 1], ends[None, :, 0], ends[None, :, 1]).min()
    for vertices, edges, (others, triangles) in ((va, ea, (vb, tb)), (vb, eb, (va, ta))):
        at = others[triangles]
        normals = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        heights = (vertices @ normals.T) - np.einsum("ij,ij->i", at[:, 0], normals)

        def is_over(points, at=at, normals=normals):
            inside = np.ones(points.shape[:2], dtype=bool)
            for i in range(3):
                side = np.cross(normals, at[:, (i + 1) % 3] - at[:, i])
                inside &= np.einsum("ijk,jk->ij", points - at[:, i], side) >= 0.0
            return inside

        above = is_over(np.repeat(vertices[:, None], len(at), axis=1))
        best = min(best, np.abs(heights[above]).min(initial=np.inf))
        h0, h1 = heights[edges[:, 0]], heights[edges[:, 1]]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (h0 / (h0 - h1))[..., None]
            crossing = vertices[edges[:, 0]][:, None] * (1 - s) + vertices[edges[:, 1]][:, None] * s
        if ((h0 * h1 < 0.0) & is_over(crossing)).any():
            return 0.0
    return float(best)


def surface(body, at):
    triangles = body.triangles
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    return body.vertices @ at[:3, :3].T + at[:3, 3], edges, triangles


def is_inside(point, body, at):
    """Return the parity of the crossings of a ray in a generic direction."""
    vertices, _, triangles = surface(body, at)
    corners = vertices[triangles] - point
    ray = np.array([0.3128, 0.5471, 0.7764])
    sides = [np.einsum("ij,j->i", np.cross(corners[:, i], corners[:, (i + 1) % 3]), ray) for i in range(3)]
    same = (np.sign(sides[0]) == np.sign(sides[1])) & (np.sign(sides[1]) == np.sign(sides[2]))
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    ahead = np.einsum("ij,ij->i", normals, corners[:, 0]) * (normals @ ray) > 0.0
    return bool((same & ahead).sum() % 2)


def true_distance(a, pose_a, b, pose_b):
    """Return the distance, or a number <= 0 if the bodies overlap."""
    found = surface_distance(surface(a, pose_a), surface(b, pose_b))
    first_a, first_b = pose_a[:3, :3] @ a.vertices[0] + pose_a[:3, 3], pose_b[:3, :3] @ b.vertices[0] + pose_b[:3, 3]
    return -found if is_inside(first_a, b, pose_b) or is_inside(first_b, a, pose_a) else found


def compose_equations(a, pose_a, b, pose_b, unit=True):
    """Return eqs. (1) and (2) written out in plain Python, f_e through the origin; without `unit`, B as printed."""

    def xmin(values):
        return min(map(abs, values)) * (1 if sum(v > 0 for v in values) % 2 else -1)

    def values(p, at_p, q, at_q):
        vp, vq = p.vertices @ at_p[:3, :3].T + at_p[:3, 3], q.vertices @ at_q[:3, :3].T + at_q[:3, 3]
        for minus, plus in p.edges:
            e = vp[plus] - vp[minus]
            plane = np.cross(e, vp[minus])
            plane /= np.linalg.norm(plane)
            for face, normal in zip(q.faces, q.normals @ at_q[:3, :3].T, strict=True):
                ae = xmin([normal @ (vp[i] - vq[face[0][0]]) for i in (plus, minus)])
                cs = []
                for loop in face:
                    for start, end in zip(loop, loop[1:] + loop[:1], strict=True):
                        product = np.cross(e, vq[end] - vq[start])
                        length = np.linalg.norm(product)
                        value = product @ (vq[start] - vp[plus]) / ((length if unit else 1.0) or 1.0)
                        at = plane @ (vq[start] - vp[plus]), plane @ (vq[end] - vp[plus])
                        cs.append(min(xmin(at), xmin([at[0], value])))
                yield min(ae, xmin(cs))

    return -max(itertools.chain(values(a, pose_a, b, pose_b), values(b, pose_b, a, pose_a)))


# -- bodies ----------------------------------------------------------------------------------------------------------


def cells_body(cells):
    """Return a body of unit cells about points of a lattice; coplanar faces are merged."""
    number, triangles = {}, []
    for cell, axis, side in itertools.product(cells, range(3), (0, 1)):
        if tuple(cell[i] + (2 * side - 1) * (i == axis) for i in range(3)) in cells:
            continue
        quad = []
        for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
            corner = list(cell)
            corner[axis] += side
            corner[(axis + 1) % 3] += du
            corner[(axis + 2) % 3] += dv
            quad.append(number.setdefault(tuple(corner), len(number)))
        quad = quad if side else quad[::-1]
        triangles += [quad[:3], [quad[0], quad[2], quad[3]]]
    return Polyhedron.from_trimesh(trimesh.Trimesh(np.array(list(number)) - 0.5, triangles, process=False))


def polycube(rng, count):
    """Return a body of random cells, with the cells' centres; none touch only at an edge or a corner."""
    while True:
        cells = {(0, 0, 0)}
        while len(cells) < count:
            step = list(sorted(cells)[rng.integers(len(cells))])
            step[rng.integers(3)] += rng.choice([-1, 1])
            cells.add(tuple(int(x) for x in step))
        try:
            return cells_body(sorted(cells)), np.array(sorted(cells), dtype=float)
        except ValueError as error:
            assert "two faces" in str(error) or "once" in str(error)


def star(rng):
    """Return an icosahedron, or now and then a finer ball, with each corner moved inwards by a random share."""
    ball = trimesh.creation.icosphere(subdivisions=int(rng.random() < 0.05))
    return Polyhedron.from_trimesh(
        trimesh.Trimesh(ball.vertices * rng.uniform(0.3, 1.0, (len(ball.vertices), 1)), ball.faces, process=False)
    )


def frame():
    """Return a square ring: two faces with a hole."""
    return plate(1)


# -- the body class --------------------------------------------------------------------------------------------------

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SIDES = (((0, 2, 1),), ((0, 1, 3),), ((0, 3, 2),), ((1, 2, 3),))


def with_vertex(i, *at):
    vertices = box(1.0, 1.0, 1.0).vertices.copy()
    vertices[i] = at
    return vertices


@pytest.mark.parametrize(
    "vertices, faces, message",
    [
        (TETRAHEDRON, SIDES[:3], "must be at least four"),
        (TETRAHEDRON, (*SIDES[:3], ((1, 2),)), r"faces\[3\]\[0\]: must be a loop of at least three"),
        (TETRAHEDRON, (*SIDES[:3], ((1, 2, 4),)), r"must be in \[0, 4\), found 1 to 4"),
        (TETRAHEDRON, (*SIDES[:3], ((1, 2, 1),)), "name each vertex once, found 1 2 times"),
        (TETRAHEDRON, (*SIDES[:3], ()), r"faces\[3\]: must have at least one loop"),
        (TETRAHEDRON, (*SIDES[:3], ((1, 3, 2),)), "in opposite directions"),
        (TETRAHEDRON, tuple((loop[::-1],) for (loop,) in SIDES), "must be counter-clockwise seen from outside"),
        (np.vstack([TETRAHEDRON, [1.0, 1.0, 1.0]]), SIDES, r"vertices\[4\]: must belong to a face"),
        (np.full((4, 3), np.nan), SIDES, "must be finite"),
        (with_vertex(0, -0.6, -0.5, -0.5), box(1.0, 1.0, 1.0).faces, "must be flat"),
        (TETRAHEDRON * [1.0, 1.0, 0.0], SIDES, "must have an area"),
    ],
)
def test_a_surface_that_bounds_no_body_is_refused(vertices, faces, message):
    with pytest.raises(ValueError, match=message):
        Polyhedron(vertices, faces)


def test_open_surface_is_refused():
    body = box(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="must be closed, found"):
        Polyhedron(body.vertices, body.faces[:5])


def test_hole_oriented_like_the_outer_loop_is_refused():
    body = frame()
    i = next(i for i, face in enumerate(body.faces) if len(face) == 2)
    faces = list(body.faces)
    faces[i] = (faces[i][1], faces[i][0])
    with pytest.raises(ValueError, match="the outer loop must be counter-clockwise"):
        Polyhedron(body.vertices, faces)


def test_coplanar_triangles_become_one_face():
    mesh = trimesh.creation.box((1.0, 2.0, 3.0)).subdivide().subdivide()
    body = Polyhedron.from_trimesh(mesh)
    assert (len(body.vertices), len(body.edges), len(body.faces)) == (8, 12, 6)
    assert len(Polyhedron.from_trimesh(mesh, merge=False).faces) == len(mesh.faces)
    ring = Polyhedron.from_trimesh(trimesh.creation.annulus(0.5, 1.0, 1.0, sections=8))
    assert sorted(len(face) for face in ring.faces) == [1] * 16 + [2, 2]


@pytest.mark.parametrize("body", [pegs(3), plate(3), frame(), box(1.0, 2.0, 3.0)], ids=repr)
def test_triangles_of_faces_with_holes_bound_the_same_body(body):
    mesh = trimesh.Trimesh(body.vertices, body.triangles, process=False)
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(body.volume(), rel=1e-12)
    areas = [sum(mesh.area_faces[np.abs(mesh.face_normals @ n - 1.0) < 1e-9]) for n in np.eye(3)]
    assert areas == pytest.approx([sum(mesh.area_faces[np.abs(mesh.face_normals @ n + 1.0) < 1e-9]) for n in np.eye(3)])
    assert body.to_mesh().volume() == pytest.approx(body.volume(), rel=1e-12)


# -- the bound -------------------------------------------------------------------------------------------------------


def check(result, truth, size=1.0):
    """Check the interval; for separate bodies, also lower >= 0. Rounding is 64 ulp of the coordinates."""
    slack = 1e-12 * size
    if truth > 1e-9 * size:
        assert 0.0 <= result.lower <= truth + slack
        assert result.upper >= truth - slack
        assert np.linalg.norm(result.point_b - result.point_a) == pytest.approx(result.upper, abs=slack)
    else:
        assert result.lower <= max(truth, 0.0) + slack


@pytest.mark.ci
def test_value_equals_that_of_the_equations_written_out():
    rng = np.random.default_rng(3)
    for other in (star(rng), frame(), polycube(rng, 5)[0]):
        a, b = star(rng), other
        at = random_pose(rng, 1.0), random_pose(rng, 3.0)
        found = bound_value(a, at[0], b, at[1], pruning=False, alpha_beta=False)
        assert found == pytest.approx(compose_equations(a, at[0], b, at[1]), abs=1e-12)


def test_undivided_cross_product_is_no_bound():
    # Tetrahedra of 10 m with closest points on two edges: B as printed is the distance of their lines times both
    # lengths and the sine between them.
    rng = np.random.default_rng(1166)
    a, b = (Polyhedron.from_trimesh(trimesh.convex.convex_hull(10.0 * rng.normal(size=(4, 3)))) for _ in range(2))
    at = random_pose(rng, 0.0), pose(*20.0 * rng.normal(size=3))
    truth = true_distance(a, at[0], b, at[1])
    assert compose_equations(a, at[0], b, at[1], unit=False) > 10.0 * truth > 0.0
    assert 0.0 < bound_value(a, at[0], b, at[1]) <= truth * (1.0 + 1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("count", [600, pytest.param(30_000, marks=pytest.mark.slow)])
def test_bounds_hold_for_bodies_of_lattice_cells(count):
    """Every feature is parallel, coplanar or collinear with others, and most positions are degenerate."""
    rng = np.random.default_rng(5)
    bodies = [polycube(rng, int(n)) for n in rng.integers(1, 7, 40)]
    turns = np.round(Rotation.create_group("O").as_matrix())
    apart = 0
    for _ in range(count):
        (a, cells_a), (b, cells_b) = bodies[rng.integers(40)], bodies[rng.integers(40)]
        relative = pose(*(rng.integers(-8, 9, 3) / rng.choice([1.0, 2.0])))
        relative[:3, :3] = turns[rng.integers(24)]
        centres = cells_b @ relative[:3, :3].T + relative[:3, 3]
        offsets = np.abs(cells_a[:, None] - centres[None])
        truth = np.linalg.norm(np.maximum(offsets - 1.0, 0.0), axis=-1).min()
        overlap = (offsets < 1.0).all(axis=-1).any()
        at = random_pose(rng, 2.0) if rng.random() < 0.5 else AT_ORIGIN
        check(lower_bound(a, at, b, at @ relative, **OPTIONS[rng.integers(16)]), -1.0 if overlap else truth, 10.0)
        apart += truth > 0.0
    assert apart > 0.5 * count


@pytest.mark.ci
@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["stars", "star and frame", "star and cells"])
def test_bounds_hold_for_random_bodies(kind, count):
    rng = np.random.default_rng(len(kind))
    other = {"stars": star, "star and frame": lambda rng: frame(), "star and cells": lambda rng: polycube(rng, 4)[0]}
    apart = 0
    for _ in range(count):
        a, b = star(rng), other[kind](rng)
        at = random_pose(rng, 1.3), random_pose(rng, 1.3)
        truth = true_distance(a, at[0], b, at[1])
        apart += truth > 0.0
        values = {}
        for options in OPTIONS if truth > 0.0 else OPTIONS[:4]:
            result = lower_bound(a, at[0], b, at[1], **options)
            check(result, truth)
            values[tuple(options.values())] = result.distance
        for (plane, pruning, alpha_beta, coplanar), value in values.items():
            if truth > 0.0:
                assert value == values[plane, pruning, not alpha_beta, coplanar]
                assert value <= values[plane, True, alpha_beta, coplanar]
                assert value <= values[plane, pruning, alpha_beta, math.inf] + 1e-12
    assert apart > 0.2 * count


def test_bounds_hold_for_pegs_in_holes():
    a, b = pegs(2), plate(2)
    rng = np.random.default_rng(0)
    for _ in range(10):
        relative = pose(*rng.uniform(-0.05, 0.05, 2), rng.uniform(0.1, 0.6), 0.02 * rng.normal(size=3))
        truth = true_distance(a, AT_ORIGIN @ relative, b, AT_ORIGIN)
        assert 0.0 < truth
        for options in OPTIONS:
            check(lower_bound(a, relative, b, AT_ORIGIN, **options), truth, 2.0)


def test_poses_with_rounded_rotations_are_accepted():
    at = random_pose(np.random.default_rng(0), 1.0)
    at[:3, :3] *= 1.0 + 4e-14  # within the tolerance of `distance` for rotations
    check(lower_bound(box(1.0, 1.0, 1.0), at, box(1.0, 1.0, 1.0), at @ pose(0.0, 0.0, 3.0)), 2.0)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_parallel_faces_are_certified(options):
    result = lower_bound(box(1.0, 2.0, 3.0), pose(0.3, 0.1, 2.25), box(5.0, 5.0, 1.0), AT_ORIGIN, **options)
    check(result, 0.25)
    if options["plane"] == "farthest":
        assert result.lower == pytest.approx(0.25, abs=1e-12) and result.status == Status.CERTIFIED
        assert result.upper == pytest.approx(0.25, abs=1e-12)
        assert result.normal == pytest.approx([0.0, 0.0, -1.0])


def test_corner_over_a_face_is_certified():
    corner = pose(0.2, 0.1, 2.0, (1.0, 0.3, 0.2))
    body = box(1.0, 1.0, 1.0)
    height = (body.vertices @ corner[:3, :3].T + corner[:3, 3])[:, 2].min() - 0.5
    result = lower_bound(body, corner, box(8.0, 8.0, 1.0), AT_ORIGIN, plane="farthest")
    assert result.status == Status.CERTIFIED and result.lower == pytest.approx(height, abs=1e-12)


def test_swapped_bodies_swap_points():
    a, b = pegs(1), frame()
    at = pose(0.02, 0.03, 0.6, (0.01, 0.02, 0.03))
    one, other = lower_bound(a, at, b, AT_ORIGIN, pruning=False), lower_bound(b, AT_ORIGIN, a, at, pruning=False)
    assert one.distance == pytest.approx(other.distance, abs=1e-14)
    assert one.point_a == pytest.approx(other.point_b) and one.normal == pytest.approx(-other.normal)


def test_plane_through_the_edge_alone_does_not_depend_on_the_world():
    a, b = star(np.random.default_rng(1)), frame()
    at = pose(1.6, 0.3, 0.2), pose(0.0, 0.1, 0.0, (0.3, 0.2, 0.1))
    world = random_pose(np.random.default_rng(2), 5.0)
    first = bound_value(a, at[0], b, at[1], plane="farthest")
    assert bound_value(a, world @ at[0], b, world @ at[1], plane="farthest") == pytest.approx(first, rel=1e-9)


# -- the figures of the paper ----------------------------------------------------------------------------------------

TABLE = box(4.0, 4.0, 1.0, at=(0.0, 0.0, -0.5))  # its top is the plane z = 0
WEDGE = Polyhedron.from_trimesh(  # an edge of length 2 along x, from -1 to 1, below the body
    trimesh.convex.convex_hull(np.array([[x, y, z] for x in (-1, 1) for y, z in ((0, 0), (-0.4, 1), (0.4, 1))]))
)
TOUCHING = {
    "1: an end of the edge on the face": pose(0.0, 0.0, math.sin(0.3), (0.0, 0.3, 0.0)),
    "3: edges that cross in a point": pose(2.0, 0.0, 0.0, (0.0, 0.3, 0.0)),
    "4a: one end over the side of the face": pose(2.0 - math.cos(0.3), 0.2, math.sin(0.3), (0.0, 0.3, 0.0)),
    "4b1: the edge in the plane, across the side of the face": pose(2.3, 0.0, 0.0),
    "the edge in the plane, inside the face": pose(0.3, 0.2, 0.0),
}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("name", TOUCHING)
def test_contact_is_bounded_by_zero(name, options):
    # The paper's form of eq. (3) calls the last of these separate: the edge crosses no side of the face around it.
    result = lower_bound(WEDGE, TOUCHING[name], TABLE, AT_ORIGIN, **options)
    assert -1e-6 < result.lower <= 1e-13 and -1e-13 < result.upper


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("gap", [1.0, 1e-3])
def test_an_edge_in_the_plane_of_a_face_is_separate(options, gap):
    """Fig. 4 (b2), and further collinear edges, for which eq. (3) is 0 as well."""
    for y in (0.0, 0.3, 2.0):
        result = lower_bound(WEDGE, pose(3.0 + gap, y, 0.0), TABLE, AT_ORIGIN, **options)
        assert 0.0 < result.lower <= gap + 1e-12
        check(result, gap)


def test_plane_through_a_vertex_of_the_face_is_replaced():
    # Fig. 2: the edge and the origin span y = 0, a plane that contains a corner of the face as well.
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [1.0, 1.0, -1.0], [1.0, 0.5, -2.0]])
    spike = Polyhedron.from_trimesh(trimesh.convex.convex_hull(corners))
    at = pose(1.0, 0.0, 0.0)
    result = lower_bound(WEDGE, pose(0.0, 0.0, 0.5), spike, at, pruning=False)
    assert result.lower > 0.0
    check(result, true_distance(WEDGE, pose(0.0, 0.0, 0.5), spike, at))


# -- pruning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, pairs", [(3, 11160), (4, 31824), (5, 73944), (6, 149184)])
def test_numbers_of_pairs_follow_from_the_geometry(n, pairs):
    # Table 1 prints 31324 for n = 4: two digits are exchanged.
    a, b = pegs(n), plate(n)
    assert (len(a.edges), len(a.faces)) == (12 + 12 * n * n, 6 + 5 * n * n)
    assert (len(b.edges), len(b.faces)) == (12 + 12 * n * n, 6 + 4 * n * n)
    assert len(a.edges) * len(b.faces) + len(b.edges) * len(a.faces) == pairs


def test_applicable_contacts_of_boxes_are_those_of_their_difference():
    # The difference of two boxes in general position is a zonotope of 6 directions: 30 faces, 12 of vertex and face.
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = applicable_pairs(box(1.0, 2.0, 3.0), box(1.5, 0.4, 2.0), Rotation.random(rng=rng).as_matrix())
        assert (found.vertex_contacts, found.edge_contacts) == (12, 18)


def test_applicable_contacts_of_convex_bodies_are_those_of_their_difference():
    rng = np.random.default_rng(1)
    for _ in range(10):
        hulls = [trimesh.convex.convex_hull(rng.normal(size=(12, 3))) for _ in range(2)]
        turn = Rotation.random(rng=rng).as_matrix()
        sums = trimesh.convex.convex_hull((hulls[0].vertices[:, None] - hulls[1].vertices @ turn.T).reshape(-1, 3))
        difference = Polyhedron.from_trimesh(trimesh.Trimesh(sums.vertices, sums.faces))
        found = applicable_pairs(*map(Polyhedron.from_trimesh, hulls), turn)
        assert found.vertex_contacts + found.edge_contacts == len(difference.faces)


def test_pairs_of_one_orientation_are_valid_at_every_position():
    a, b, turn = pegs(2), plate(2), pose(rotvec=(0.01, 0.02, 0.03))
    pairs = applicable_pairs(a, b, turn[:3, :3].T)
    for z in (0.2, 0.4, 3.0):
        at = turn.copy()
        at[2, 3] = z
        result = lower_bound(a, at, b, AT_ORIGIN, pruning=pairs)
        assert result.statistics.tests == len(pairs) and result.distance == lower_bound(a, at, b, AT_ORIGIN).distance
    with pytest.raises(ValueError, match="must be for this orientation"):
        lower_bound(a, AT_ORIGIN, b, AT_ORIGIN, pruning=pairs)
    with pytest.raises(ValueError, match="must be for these bodies"):
        lower_bound(a, turn, plate(1), AT_ORIGIN, pruning=pairs)


def test_one_pair_for_each_contact_is_enough():
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(30):
        a, b = star(rng), star(rng)
        at = random_pose(rng, 1.5), random_pose(rng, 1.5)
        truth = true_distance(a, at[0], b, at[1])
        relative = at[0][:3, :3].T @ at[1][:3, :3]
        few, most = applicable_pairs(a, b, relative, both=False), applicable_pairs(a, b, relative, reflex=True)
        assert len(few) <= len(applicable_pairs(a, b, relative)) <= len(most)
        for pairs in (few, most):
            check(lower_bound(a, at[0], b, at[1], pruning=pairs), truth)
        apart += truth > 0.0
    assert apart > 10


CUBE, BAR, CORNER = [(0, 0, 0)], [(0, 0, -1), (0, 0, 0)], [(-1, 0, 0), (0, 0, 0), (0, 1, 0)]


@pytest.mark.parametrize(
    "a, b, angle, position",
    [
        (CUBE, CUBE, 0.8101823584786723, (-2.0, 0.5, 0.5)),
        (CUBE, BAR, 5.649626864398348, (2.5, 1.5, 2.5)),
        (CORNER, BAR, 0.4496655, (2.5, 0.0, -0.5)),
        (CORNER, CORNER, 1.1386920234934625, (1.0, 1.0, -2.0)),
    ],
)
def test_ties_are_not_pruned(a, b, angle, position):
    # The second body is turned about one axis: all contacts of features parallel to it are ties. Counting them for one
    # side only would lose them, and the bound would exceed the distance: by 0.02, 5, 11 and 356 %.
    a, b = cells_body(a), cells_body(b)
    at = AT_ORIGIN, pose(*position, (0.0, angle, 0.0))
    truth = true_distance(a, at[0], b, at[1])
    for options in OPTIONS:
        check(lower_bound(a, at[0], b, at[1], **options), truth)


# -- overlap ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pruning", [False, True])
def test_a_nested_body_has_no_distance(pruning):
    # No edge pierces a face, and eq. (2) is positive.
    small, large = box(0.2, 0.3, 0.4), box(3.0, 3.0, 3.0)
    for result in (
        lower_bound(small, pose(0.2, 0.1, 0.0), large, AT_ORIGIN, pruning=pruning),
        lower_bound(large, AT_ORIGIN, small, pose(0.2, 0.1, 0.0), pruning=pruning),
    ):
        assert result.lower == -math.inf and result.distance < 0.0
        assert -(1.5 - 0.2 + 0.1) <= result.upper < 0.0


@pytest.mark.parametrize("pruning", [False, True])
def test_a_bar_through_a_plate_has_no_distance(pruning):
    at = pose(0.1, 0.2, 0.3, (0.05, 0.1, 0.15))
    result = lower_bound(box(0.2, 0.2, 9.0), at, box(5.0, 5.0, 0.3), AT_ORIGIN, pruning=pruning)
    assert result.lower == -math.inf and result.upper <= 0.0 and result.status == Status.UNPROVEN


def test_the_pruned_value_alone_misses_overlaps():
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(20):
        a, b = star(rng), star(rng)
        at = random_pose(rng, 0.5), random_pose(rng, 0.5)
        if bound_value(a, at[0], b, at[1], pruning=False) < 0.0 < bound_value(a, at[0], b, at[1]):
            missed += 1
            assert lower_bound(a, at[0], b, at[1]).lower == -math.inf
    assert missed > 5


def test_depth_is_at_least_the_proved_one():
    rng = np.random.default_rng(6)
    a, b = box(1.0, 2.0, 1.5), box(2.0, 1.0, 0.7)
    proved = 0
    for _ in range(100):
        at = random_pose(rng, 0.7)
        result = lower_bound(a, at, b, AT_ORIGIN, pruning=bool(rng.integers(2)))
        # Separating directions of convex bodies: normals of faces and products of edges.
        ways = [*np.eye(3), *at[:3, :3].T, *np.cross(np.eye(3)[:, None], at[:3, :3].T).reshape(-1, 3)]
        ways = np.array([sign * way / np.linalg.norm(way) for way in ways for sign in (1, -1)])
        at_a, at_b = a.vertices @ at[:3, :3].T + at[:3, 3], b.vertices
        best = ((ways @ at_b.T).min(axis=1) - (ways @ at_a.T).max(axis=1)).max()
        if best < 0.0:
            assert best <= result.upper + 1e-12
            proved += result.upper < -1e-3
    assert proved > 20


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"plane": "best"}, ValueError, "plane = 'best': must be one of"),
        ({"coplanar": -1.0}, ValueError, "coplanar = -1.0: must be at least 0"),
        ({"b": trimesh.creation.box()}, TypeError, "b: must be a Polyhedron, found Trimesh"),
        ({"pruning": "yes"}, TypeError, "pruning: must be True, False or ApplicablePairs, found str"),
        ({"pose_a": np.eye(3)}, ValueError, "pose_a"),
    ],
)
def test_bad_input_is_named(change, error, message):
    given = {"a": TABLE, "pose_a": AT_ORIGIN, "b": WEDGE, "pose_b": pose(z=2.0)} | change
    with pytest.raises(error, match=message):
        lower_bound(**given)


def test_sphere_of_the_paper_has_256_triangles():
    body = subdivided_tetrahedron(3)
    assert len(body.faces) == 256 and np.allclose(np.linalg.norm(body.vertices, axis=1), 1.0)


# -- the experiment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, printed", [(3, 1406), (4, 3814)])
def test_counts_of_applicable_pairs_agree_with_table_1(n, printed):
    found = cases.counts(n)
    assert found.applicable == printed == 12 * n**4 + 44 * n**2 + 38
    assert found.one < found.fewest <= printed <= found.most < found.aligned < found.pairs
    assert found.applicable < found.reflex
    assert found.random_fewest <= found.random_most < found.most


def test_bounds_of_the_insertion_hold_and_pruning_tightens_them():
    case = next(cases.insertion_cases(0, None))
    truth = true_distance(case.bodies[0], case.poses[0], case.bodies[1], case.poses[1])
    found = cases.bounds(case, applicable_pairs(*case.bodies, case.rotation))
    assert 0.0 < found["all"] < found["pruned"] < found["farthest_pruned"] <= truth + 1e-12
    assert found["farthest_all"] < found["farthest_pruned"]
    assert truth == pytest.approx(0.039, abs=1e-3)


@pytest.mark.slow
def test_places_agree_with_table_2():
    for index, case in enumerate(cases.insertion_cases(0, None)):
        paper = places.printed_row(*divmod(index, len(cases.OFFSETS)))
        assert 0.0 < paper.bound < paper.distance == pytest.approx(case.certified_distance(), abs=5e-3)


def test_tolerance_queries_agree_with_the_distance():
    pytest.importorskip("coal", reason="pip install 'superovoid_papers[bench]'")
    case = next(cases.insertion_cases(0, None))
    found = places.tolerances(case, places.printed_row(0, 0), peers.Coal(peers.Geometry.EXACT), rounds=1)
    assert [row.question for row in found if row.closer] == ["distance", "tolerance 1.01 d"]
    assert len(found) == 2 + len(places.TOLERANCES)


def test_tables_have_dashes_without_fcl():
    numbers = {field.name: 1.0 for field in dataclasses.fields(cases.Row)}
    row = cases.Row(**numbers | {"bodies": "cube", "fcl": math.nan, "us_fcl": math.nan})
    console = Console(width=200, record=True, file=io.StringIO())
    for table in (experiment.insertion_table([row]), experiment.convex_table([row])):
        console.print(table)
    lines = [line for line in console.export_text().splitlines() if "cube" in line]
    assert len(lines) == 2 and all("–" in line for line in lines)


def test_command_passes_its_options_on(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(experiment, "main", lambda **options: given.update(options) or 0)
    assert cli.main(["experiment", "lower-bound", "--pairs", "2", "--output", str(tmp_path)]) == 0
    assert given == {"pairs": 2, "rounds": 5, "seed": 0, "output": tmp_path}


@pytest.mark.slow
def test_experiment_writes_its_measurements(tmp_path):
    assert experiment.main(pairs=1, rounds=1, seed=3, output=tmp_path) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    written = ["convex", "counts", "insertion", "origins", *(["tolerances"] if find_spec("coal") else [])]
    assert names == [
        *(f"lower_bound.{kind}" for kind in ("pdf", "png", "svg")),
        *(f"lower_bound_{name}.csv" for name in written),
    ]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What every answer promises of its points and its normal, checked by formulas that share no code with the engine."""

import dataclasses
import itertools

import numpy as np
import pytest
import trimesh
from drawn_pairs import FILE, drawn_pair, named_pairs
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Cone,
    Cylinder,
    HalfSpace,
    Mesh,
    Scene,
    Status,
    Superovoid,
    Torus,
    distance,
    distances,
)
from superovoid.testing import contract, flat_contacts

from draws import few_or_many


def pose(rotation, translation=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def test_points_of_parallel_flats_are_as_far_apart_as_the_bodies():
    a = Superovoid((0.568, 0.989, 0.411), section_exponent=0.05, profile_exponent=0.01, taper=(-0.075, -0.075))
    b = Superovoid((0.952, 0.893, 0.956), section_exponent=0.01, profile_exponent=0.01)
    pose_a = pose([[0, -1, 0], [0, 0, -1], [1, 0, 0]])
    pose_b = pose([[0, 0, 1], [1, 0, 0], [0, 1, 0]], (-0.041, 1.463, 0.121))
    result = distance(a, pose_a, b, pose_b)
    assert result.distance == pytest.approx(0.1, abs=1e-9)
    assert result.status == Status.NON_UNIQUE
    assert result.point_b - result.point_a == pytest.approx([0.0, 0.1, 0.0], abs=1e-9)
    assert not list(contract.breaches(a, pose_a, b, pose_b, result))


def test_the_normal_proves_the_interval_though_one_body_is_much_longer_than_the_other():
    # Along the mean of the two normals, the support of the beam is 7 m away from the point.
    a = Superovoid(
        (0.10159257654070714, 0.14410325906752025, 0.14535603643831338),
        section_exponent=0.43515278275983227,
        profile_exponent=0.08773230479207385,
        taper=(0.40655105960837956, 0.40655105960837956),
    )
    b = Superovoid(
        (0.36732133612514833, 9.889945124454089, 1.081893494981503),
        section_exponent=0.03582885226864731,
        profile_exponent=0.5075585447251092,
    )
    pose_a = pose([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    pose_b = pose([[0, 0, -1], [0, -1, 0], [-1, 0, 0]], (-0.38881076550509186, 1.67140978550403, 0.6653485053046274))
    result = distance(a, pose_a, b, pose_b)
    n = result.normal
    x, y = a.support(pose_a[:3, :3].T @ n), b.support(-pose_b[:3, :3].T @ n)
    g = n @ (pose_b[:3, 3] + pose_b[:3, :3] @ y - pose_a[:3, 3] - pose_a[:3, :3] @ x)
    assert result.status == Status.CERTIFIED and g >= result.lower - 1e-12


@pytest.mark.parametrize(("count", "seed"), [(440, 1), pytest.param(8000, 2, marks=pytest.mark.slow)])
def test_points_of_flats_of_all_kinds_keep_their_promises(count, seed):
    not_unique = 0
    for number in range(count):
        drawn = flat_contacts.draw(seed, number)
        result = distance(*drawn)
        not_unique += bool(result.status & Status.NON_UNIQUE)
        assert not list(contract.breaches(*drawn, result)), (number, result)
    assert not_unique > count // 5


def _random_pair(rng, kind_a, kind_b):
    """Two bodies of `flat_contacts`, or tori, at any poses from deep overlap to apart."""
    bodies = []
    for kind in (kind_a, kind_b):
        minor = rng.uniform(0.1, 0.6)
        bodies.append(Torus(1.0, minor) if kind == "torus" else flat_contacts.MAKERS[kind](rng)[0])
    reach = sum(1.0 if isinstance(body, HalfSpace) else 1.7 * contract.extent(body) for body in bodies)
    poses = [pose(Rotation.random(random_state=rng).as_matrix()) for _ in range(2)]
    direction = rng.normal(size=3)
    poses[1][:3, 3] = rng.uniform(0.0, 1.0) * reach * direction / np.linalg.norm(direction)
    return bodies[0], poses[0], bodies[1], poses[1]


KINDS = [*flat_contacts.MAKERS, "torus"]


@pytest.mark.parametrize(("kind_a", "kind_b"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_points_of_random_pairs_keep_their_promises(kind_a, kind_b):
    rng = np.random.default_rng([7, KINDS.index(kind_a), KINDS.index(kind_b)])
    for _ in range(6):
        drawn = _random_pair(rng, kind_a, kind_b)
        result = distance(*drawn)
        assert not list(contract.breaches(*drawn, result)), (drawn, result)


# -- with a flag ----------------------------------------------------------------------------------------------------


FLAGGED = [
    ("border", 193, Status.NON_UNIQUE),  # apart, and Newton finds no contact of the bodies' own
    ("border", 509, Status.NON_UNIQUE),
    ("border", 249, Status.NON_UNIQUE),  # as these, but proved, and the normal proves it too
    ("ends", 766, Status.NON_UNIQUE),
    ("ends", 1068, Status.NON_UNIQUE),  # flats of which the points are to be along the normal
    ("ends", 37, Status.UNPROVEN | Status.DENT),  # overlapping hulls
    ("dented", 1572, Status.UNPROVEN | Status.DENT),
    ("creased", 1156, Status.UNPROVEN | Status.NON_UNIQUE),  # a portal that does not close
    ("creased", 1810, Status.UNPROVEN | Status.NON_UNIQUE),
]


@pytest.mark.parametrize(("family", "number", "flags"), FLAGGED)
def test_flagged_points_lie_on_the_surfaces_and_miss_the_distance_by_the_interval_at_most(family, number, flags):
    drawn = drawn_pair(family, number)
    result = distance(*drawn)
    assert not list(contract.breaches(*drawn, result)), result
    assert result.status & flags == result.status & ~Status.PRECISION


@pytest.mark.slow
def test_the_pairs_in_the_file_are_those_that_are_drawn():
    rows, poses = named_pairs()
    with np.load(FILE) as kept:
        assert kept["rows"] == pytest.approx(rows, rel=1e-13, abs=1e-15)  # logarithms differ from machine to machine
        assert kept["poses"] == pytest.approx(poses, rel=1e-9, abs=1e-12)


def test_points_of_overlapping_rings_do_not_lie_in_their_holes():
    drawn = flat_contacts.draw(21, 1001)
    result = distance(*drawn)
    assert result.status == Status.UNPROVEN | Status.NON_CONVEX
    assert not list(contract.breaches(*drawn, result)), result


@pytest.mark.parametrize(("seed", "number"), [(22, 3435), (2526, 3130), (2526, 65778)])  # the last two with a mesh
def test_points_of_a_closed_interval_keep_their_promises(seed, number):
    drawn = flat_contacts.draw(seed, number)
    result = distance(*drawn)
    assert result.status == Status.CERTIFIED
    assert not list(contract.breaches(*drawn, result)), result


def test_points_of_a_slender_body_in_the_side_of_a_cone_six_hundred_times_as_long_are_along_the_normal():
    """No face of the difference is found on which the line along the normal leaves it: the bodies are moved apart."""
    a = Superovoid(
        (0.06701073880758698, 0.09144029814032613, 0.9377703513082029),
        section_exponent=0.71948347746246,
        profile_exponent=0.06549055316053,
    )
    b = Cone(590.3630641088299, 465.0223239638484)
    pose_a = pose(
        [
            [0.778654579003207, 0.6072526268316664, -0.15792812860089123],
            [0.5743235254686427, -0.5884147347799917, 0.5691402182125785],
            [0.2526846546401422, -0.5338654765948375, -0.806931297081455],
        ],
        (176.51305332907557, -339.52361127536403, 232.69418323950376),
    )
    pose_b = pose(
        [
            [0.5563045738610849, 0.740105199360643, 0.37784853444281086],
            [0.8208384447802696, -0.5602400297398483, -0.11115465193955193],
            [0.1294197383398134, 0.37198844465445063, -0.919170891821329],
        ],
        (0.0, 0.0, 0.0),
    )
    result = distance(a, pose_a, b, pose_b)
    assert result.status == Status.CERTIFIED and result.distance < -6e-7
    assert not list(contract.breaches(a, pose_a, b, pose_b, result)), result


@pytest.mark.parametrize(
    ("body", "torus", "height"),
    [
        (Cone(0.6394108042919515, 1.1128967973705188), Torus(0.6365234612141014, 0.2887352575920303), 0.54642195463903),
        (
            Capsule(1.2867297424837252, 1.8685624215488925),
            Torus(0.4473536826642614, 0.1713574586143236),
            0.84621786391396,
        ),
    ],
)
def test_a_torus_leaves_a_body_along_the_normal_though_no_ball_of_it_does(body, torus, height):
    """The deepest point of the circle has several ways out of the body, none of them across the circle."""
    pose_a, pose_b = np.eye(4), pose([[0, 1, 0], [0, 0, 1], [1, 0, 0]], (0.0, 0.0, height))
    result = distance(body, pose_a, torus, pose_b)
    assert not result.status & Status.UNPROVEN and result.distance < -0.6
    assert not list(contract.breaches(body, pose_a, torus, pose_b, result)), result
    # Both are symmetric about two planes, and the normal lies in one of them only: mirrored, it is another way out.
    assert result.status & Status.ARBITRARY_NORMAL
    for normal in (result.normal, result.normal * (1.0, -1.0, 1.0)):
        away = pose_b.copy()
        away[:3, 3] += (1e-7 - result.lower) * normal
        assert distance(body, pose_a, torus, away).lower > 0.0


@few_or_many(12, 40)
def test_a_body_with_a_dent_next_to_a_box_has_points_nearly_as_near_as_the_bodies(draws):
    dented = Superovoid((1.24, 2.23, 2.64), section_exponent=1.17, profile_exponent=0.32, taper=(-0.45, -0.13))
    box = Box((2.0, 2.0, 0.8))
    rng = np.random.default_rng(4)
    for _ in range(draws):
        pose_a = pose(Rotation.random(random_state=rng).as_matrix())
        pose_b = pose(
            Rotation.random(random_state=rng).as_matrix(), 4.5 * flat_contacts.QUARTER_TURNS[rng.integers(24), 0]
        )
        result = distance(dented, pose_a, box, pose_b)
        assert not list(contract.breaches(dented, pose_a, box, pose_b, result)), result
        assert result.distance < 0.0 or result.upper - result.lower < 1e-2


def test_batches_and_scenes_give_the_points_of_single_answers():
    drawn = [drawn_pair(family, number) for family, number, _ in FLAGGED]
    shapes_a, poses_a, shapes_b, poses_b = zip(*drawn, strict=True)
    single = [distance(*pair) for pair in drawn]
    many = distances(shapes_a, np.array(poses_a), shapes_b, np.array(poses_b))
    for row, pair in enumerate(drawn):
        assert many[row].status == single[row].status
        assert not list(contract.breaches(*pair, many[row]))
    for pair, one in zip(drawn, single, strict=True):
        scene = Scene([Body("a", "left", pair[0]), Body("b", "right", pair[2])])
        for _ in range(2):  # the second from the points of the first
            scene.set_link_poses({"left": pair[1], "right": pair[3]})
            found = scene.query()
            assert Status(int(found.status[0])) & Status.UNPROVEN == one.status & Status.UNPROVEN
            assert not list(contract.breaches(*pair, found[0]))
            near = pair[3].copy()
            near[:3, 3] += 1e-3
            scene.set_link_poses({"left": pair[1], "right": near})
            scene.query()


# -- would it notice? ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "change", "kind"),
    [
        ("point_b", (0.0, 1e-4, 0.0), "length"),
        ("point_a", (0.0, 0.0, 1e-8), "surface"),
        ("point_a", (0.0, 1e-7, 0.0), "along"),
        ("normal", (0.0, 1e-6, 0.0), "normal"),
        ("lower", 1e-7, "length"),
        ("upper", -1e-7, "length"),
    ],
)
def test_a_spoiled_answer_of_bodies_apart_is_noticed(column, change, kind):
    a, b = Box((2.0, 2.0, 1.0)), Cylinder(0.5, 2.0)
    pose_b = pose(np.eye(3), (0.2, 0.1, 1.6))
    result = distance(a, np.eye(4), b, pose_b)
    assert result.status == Status.NON_UNIQUE and result.distance == pytest.approx(0.1)
    assert not list(contract.breaches(a, np.eye(4), b, pose_b, result))
    spoiled = dataclasses.replace(result, **{column: getattr(result, column) + np.array(change)})
    assert kind in {breach.kind for breach in contract.breaches(a, np.eye(4), b, pose_b, spoiled)}


def test_a_spoiled_depth_is_noticed():
    a, b = Box((2.0, 2.0, 1.0)), Cylinder(0.5, 2.0)
    pose_b = pose(np.eye(3), (0.2, 0.1, 1.4))
    result = distance(a, np.eye(4), b, pose_b)
    assert result.distance == pytest.approx(-0.1)
    assert not list(contract.breaches(a, np.eye(4), b, pose_b, result))
    spoiled = dataclasses.replace(result, point_a=result.point_a + np.array((1e-3, 0.0, 0.0)))
    assert {breach.kind for breach in contract.breaches(a, np.eye(4), b, pose_b, spoiled)} == {"depth"}


@pytest.mark.parametrize(
    ("column", "change", "kind"),
    [("point_a", (0.0, 0.0, 1e-8), "surface"), ("upper", -0.1, "length"), ("normal", (0.3, 0.3, 0.0), "along")],
)
def test_a_spoiled_answer_that_is_not_proved_is_noticed(column, change, kind):
    drawn = drawn_pair("creased", 1156)  # apart
    result = distance(*drawn)
    spoiled = dataclasses.replace(
        result, status=Status.UNPROVEN, **{column: getattr(result, column) + np.array(change)}
    )
    assert kind in {breach.kind for breach in contract.breaches(*drawn, spoiled)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plane"])
def test_distance_from_a_surface_is_that_from_samples_of_a_fine_mesh(kind):
    rng = np.random.default_rng(3)
    body = Torus(1.0, 0.3) if kind == "torus" else flat_contacts.MAKERS[kind](rng)[0]
    mesh = body.tessellate(96)
    points = mesh.vertices[rng.integers(0, len(mesh.vertices), 20)]
    assert max(contract.surface_distance(body, p) for p in points) < 1e-9
    if not isinstance(body, Superovoid):  # its distance is of first order
        away = points + 0.3 * rng.normal(size=points.shape)
        expected = cKDTree(trimesh.sample.sample_surface(mesh, 100_000, seed=1)[0]).query(away)[0]
        assert [contract.surface_distance(body, p) for p in away] == pytest.approx(expected, abs=0.02)


# -- one choice of many ----------------------------------------------------------------------------------------------


def _lying(a, b, gap=0.01):
    """B above A along z, its z axis up."""
    height = contract.support_value(a, np.array([0.0, 0.0, 1.0])) + contract.support_value(
        b, np.array([0.0, 0.0, -1.0])
    )
    return distance(a, np.eye(4), b, pose(np.eye(3), (0.1, 0.05, height + gap)))


RING = flat_contacts.MAKERS["mesh"](np.random.default_rng(0))[0]
BOX_LIKE = Superovoid((0.5, 0.4, 0.3), section_exponent=0.05, profile_exponent=0.03)


@pytest.mark.parametrize("gap", [0.01, 1e-7])
@pytest.mark.parametrize(
    ("a", "b", "many"),
    [
        (Box((2.0, 2.0, 2.0)), BOX_LIKE, True),
        (Box((2.0, 2.0, 2.0)), Superovoid((0.5, 0.4, 0.3), section_exponent=0.9, profile_exponent=0.03), True),
        (Cylinder(1.0, 1.0), BOX_LIKE, True),
        (BOX_LIKE, BOX_LIKE, True),
        (Box((2.0, 2.0, 2.0)), Superovoid((0.5, 0.4, 0.3), section_exponent=0.5, profile_exponent=1.0), False),
        (Box((2.0, 2.0, 2.0)), Superovoid((0.5, 0.4, 0.3), section_exponent=1.0, profile_exponent=0.8), False),
        (RING, Box((4.0, 4.0, 1.0)), True),
        (RING, BOX_LIKE, True),
        (RING, Superovoid((0.5, 0.4, 0.3), section_exponent=1.0, profile_exponent=1.0), False),
    ],
)
def test_flats_are_named_and_round_contacts_are_not(a, b, many, gap):
    result = _lying(a, b, gap)
    assert result.distance == pytest.approx(gap, abs=1e-8 if many else 1.0)
    assert bool(result.status & Status.NON_UNIQUE) == many


def test_a_flat_of_a_mesh_is_named_whichever_of_its_triangles_is_found():
    # Some triangles reach the points of a flat contact with a corner only.
    rng = np.random.default_rng(2)
    cube = Box((2.0, 2.0, 2.0)).tessellate(2)
    below = cube.vertices - (0.0, 0.0, 5.0)
    cubes = Mesh(np.concatenate([cube.vertices, below]), np.concatenate([cube.faces, cube.faces + len(below)]))
    for _ in range(60):
        turned = pose(
            Rotation.from_rotvec((0.0, 0.0, rng.uniform(-3, 3))).as_matrix(), (*rng.uniform(-0.9, 0.9, 2), 2.3)
        )
        for b in (Box((2.0, 2.0, 2.0)), Mesh(cube.vertices, cube.faces)):
            for a, first, c, other in ((cubes, np.eye(4), b, turned), (b, turned, cubes, np.eye(4))):
                result = distance(a, first, c, other)
                assert result.status == Status.NON_UNIQUE
                assert result.distance == pytest.approx(0.3, abs=1e-9)


def test_a_mesh_on_its_tip_has_one_nearest_point():
    tip = Mesh([(0, 0, 0), (1, 0, 1), (-1, 1, 1), (-1, -1, 1)], [(0, 1, 3), (0, 2, 1), (0, 3, 2), (1, 2, 3)])
    plate = Box((16.0, 16.0, 2.0)).tessellate(2)
    for floor in (Box((16.0, 16.0, 2.0)), Mesh(plate.vertices, plate.faces)):
        result = distance(floor, np.eye(4), tip, pose(np.eye(3), (0.1, 0.2, 1.6)))
        assert result.status == Status.CERTIFIED
        assert result.point_b == pytest.approx((0.1, 0.2, 1.6), abs=1e-9)


def test_a_plane_under_a_flat_is_named():
    assert distance(HalfSpace(), np.eye(4), BOX_LIKE, pose(np.eye(3), (0.0, 0.0, 1.0))).status == Status.NON_UNIQUE
    egg = Superovoid((0.5, 0.4, 0.3), section_exponent=1.0, profile_exponent=1.0)
    assert distance(HalfSpace(), np.eye(4), egg, pose(np.eye(3), (0.0, 0.0, 1.0))).status == Status.CERTIFIED

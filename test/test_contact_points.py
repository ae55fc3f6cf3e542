"""What every answer promises of its points and its normal, checked by formulas that share no code with the engine."""

import dataclasses
import itertools

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from superovoid_ros import Box, Cylinder, Plane, Status, Superovoid, Torus, distance
from superovoid_ros.experiments import contract, flat_contacts


def pose(rotation, translation=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def test_points_of_parallel_flats_are_as_far_apart_as_the_bodies():
    a = Superovoid((0.568, 0.989, 0.411), (0.05, 0.01), (-0.075, -0.075))
    b = Superovoid((0.952, 0.893, 0.956), (0.01, 0.01))
    pose_a = pose([[0, -1, 0], [0, 0, -1], [1, 0, 0]])
    pose_b = pose([[0, 0, 1], [1, 0, 0], [0, 1, 0]], (-0.041, 1.463, 0.121))
    result = distance(a, pose_a, b, pose_b)
    assert result.distance == pytest.approx(0.1, abs=1e-9)
    assert result.status == Status.NON_UNIQUE
    assert result.point_b - result.point_a == pytest.approx([0.0, 0.1, 0.0], abs=1e-9)
    assert not list(contract.breaches(a, pose_a, b, pose_b, result))


def test_points_of_flats_of_all_kinds_keep_their_promises():
    found = flat_contacts.examine(10 * len(flat_contacts.KINDS_IN_TURN), seed=1)
    assert found.pairs == 440 and found.flags["NON_UNIQUE"] > 100
    assert not found.breaches, "\n".join(found.lines())


@pytest.mark.slow
def test_points_of_many_flats_of_all_kinds_keep_their_promises():
    found = flat_contacts.examine(8000, seed=2)
    assert not found.breaches, "\n".join(found.lines())


def _random_pair(rng, kind_a, kind_b):
    """Two bodies of `flat_contacts`, or tori, at any poses from deep overlap to apart."""
    bodies = []
    for kind in (kind_a, kind_b):
        minor = rng.uniform(0.1, 0.6)
        bodies.append(Torus(1.0, minor) if kind == "torus" else flat_contacts.MAKERS[kind](rng)[0])
    reach = sum(1.0 if isinstance(body, Plane) else 1.7 * contract.extent(body) for body in bodies)
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
    a, b = Box((1.0, 1.0, 0.5)), Cylinder(0.5, 2.0)
    pose_b = pose(np.eye(3), (0.2, 0.1, 1.6))
    result = distance(a, np.eye(4), b, pose_b)
    assert result.status == Status.NON_UNIQUE and result.distance == pytest.approx(0.1)
    assert not list(contract.breaches(a, np.eye(4), b, pose_b, result))
    spoiled = dataclasses.replace(result, **{column: getattr(result, column) + np.array(change)})
    assert kind in {breach.kind for breach in contract.breaches(a, np.eye(4), b, pose_b, spoiled)}


def test_a_spoiled_depth_is_noticed():
    a, b = Box((1.0, 1.0, 0.5)), Cylinder(0.5, 2.0)
    pose_b = pose(np.eye(3), (0.2, 0.1, 1.4))
    result = distance(a, np.eye(4), b, pose_b)
    assert result.distance == pytest.approx(-0.1)
    assert not list(contract.breaches(a, np.eye(4), b, pose_b, result))
    spoiled = dataclasses.replace(result, point_a=result.point_a + np.array((1e-3, 0.0, 0.0)))
    assert {breach.kind for breach in contract.breaches(a, np.eye(4), b, pose_b, spoiled)} == {"depth"}


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
BOX_LIKE = Superovoid((0.5, 0.4, 0.3), (0.05, 0.03))


@pytest.mark.parametrize("gap", [0.01, 1e-7])
@pytest.mark.parametrize(
    ("a", "b", "many"),
    [
        (Box((1.0, 1.0, 1.0)), BOX_LIKE, True),
        (Box((1.0, 1.0, 1.0)), Superovoid((0.5, 0.4, 0.3), (0.9, 0.03)), True),
        (Cylinder(1.0, 1.0), BOX_LIKE, True),
        (BOX_LIKE, BOX_LIKE, True),
        (Box((1.0, 1.0, 1.0)), Superovoid((0.5, 0.4, 0.3), (0.5, 1.0)), False),
        (Box((1.0, 1.0, 1.0)), Superovoid((0.5, 0.4, 0.3), (1.0, 0.8)), False),
        (RING, Box((2.0, 2.0, 0.5)), True),
        (RING, BOX_LIKE, True),
        (RING, Superovoid((0.5, 0.4, 0.3), (1.0, 1.0)), False),
    ],
)
def test_flats_are_named_and_round_contacts_are_not(a, b, many, gap):
    result = _lying(a, b, gap)
    assert result.distance == pytest.approx(gap, abs=1e-8 if many else 1.0)
    assert bool(result.status & Status.NON_UNIQUE) == many


def test_a_plane_under_a_flat_is_named():
    assert distance(Plane(), np.eye(4), BOX_LIKE, pose(np.eye(3), (0.0, 0.0, 1.0))).status == Status.NON_UNIQUE
    egg = Superovoid((0.5, 0.4, 0.3), (1.0, 1.0))
    assert distance(Plane(), np.eye(4), egg, pose(np.eye(3), (0.0, 0.0, 1.0))).status == Status.CERTIFIED

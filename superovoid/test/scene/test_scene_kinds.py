# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scenes of all kinds of bodies: culling, answers pair by pair, changes, memory."""

import ctypes
import math
import pickle

import numpy as np
import pytest
import trimesh
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
    Superovoid,
    Torus,
    distance,
)
from superovoid.contact import Status
from superovoid.scene import scene as scene_module

TIE = 1e-8  # a pair this near to max_distance may be reported or not
RING = Torus(1.0, 0.3).tessellate(8)
CORNERS = {"few": trimesh.creation.icosahedron().vertices, "many": trimesh.creation.icosphere(2).vertices}
MAKERS = {
    "superovoid": lambda x, y, z: Superovoid((x, y, z), section_exponent=0.6, profile_exponent=1.1, taper=(0.1, 0.1)),
    "sphere": lambda x, y, z: Sphere(x),
    "box": lambda x, y, z: Box((2.0 * x, 2.0 * y, 2.0 * z)),
    "capsule": lambda x, y, z: Capsule(x, y),
    "cylinder": lambda x, y, z: Cylinder(x, y),
    "cone": lambda x, y, z: Cone(x, y),
    "few corners": lambda x, y, z: ConvexMesh(CORNERS["few"] * (x, y, z) + (0.3, 0.0, 0.0)),
    "many corners": lambda x, y, z: ConvexMesh(CORNERS["many"] * (x, y, z)),
}
NOT_CONVEX = {
    "torus": lambda x, y, z: Torus(x + y, y),
    "mesh": lambda x, y, z: Mesh(RING.vertices * (x, x, z), RING.faces),
    "convex as a mesh": lambda x, y, z: Mesh.from_trimesh(trimesh.creation.box(extents=(x, y, z))),
}


@pytest.fixture(params=["list", "tree"])
def way(request, monkeypatch):
    """Select each way of culling, whatever the number of pairs."""
    monkeypatch.setattr(scene_module, "_LISTED_PAIRS", {"list": math.inf, "tree": -1}[request.param])
    return request.param


def at(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, 3] = (x, y, z)
    matrix[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    return matrix


def random_pose(rng, spread):
    return at(*rng.uniform(-spread, spread, 3), Rotation.random(random_state=rng).as_rotvec())


def mixed_scene(makers, seed, spread, each=2, planes=2):
    """Return bodies of every kind on their own links, off the links' origins, and tilted floors below."""
    rng = np.random.default_rng(seed)
    bodies = [
        Body(f"{kind}_{i}", f"link_{kind}_{i}", make(*rng.uniform(0.2, 0.6, 3)), random_pose(rng, 0.2))
        for i in range(each)
        for kind, make in makers.items()
    ]
    bodies += [Body(f"floor_{i}", f"world_{i}", HalfSpace(), at(turn=(0.1, 0.0, 0.0))) for i in range(planes)]
    order = rng.permutation(len(bodies))
    scene = Scene([bodies[i] for i in order])
    scene.set_link_poses(link_poses(scene, rng, spread))
    return scene, rng


def link_poses(scene, rng, spread):
    poses = {link: random_pose(rng, spread) for link in scene.links}
    for link in poses:
        if link.startswith("world"):
            poses[link] = at(*rng.uniform(-spread, spread, 2), -0.5 * spread, rng.normal(0.0, 0.2, 3))
    return poses


def one_by_one(scene):
    """Return the `distance` of every pair of the scene."""
    shapes, poses = [body.shape for body in scene.bodies], scene.poses
    return {(a, b): distance(shapes[a], poses[a], shapes[b], poses[b]) for a, b in scene.pairs.tolist()}


def assert_agrees(result, expected, max_distance=math.inf):
    """Check that the result has exactly the pairs within `max_distance`, each confirmed by `distance`."""
    reported = list(zip(result.body_a.tolist(), result.body_b.tolist(), strict=True))
    assert len(set(reported)) == len(reported)
    assert {pair for pair, one in expected.items() if one.distance <= max_distance - TIE} <= set(reported)
    for row, pair in enumerate(reported):
        got, one = result[row], expected[pair]
        assert got.distance <= max_distance
        if Status.NON_CONVEX in one.status | got.status:
            # Bounds of a depth: one start may prove what another does not.
            assert max(got.lower, one.lower) <= min(got.upper, one.upper) + TIE
            continue
        assert got.distance == pytest.approx(one.distance, abs=TIE)
        assert got.status & Status.UNPROVEN == one.status & Status.UNPROVEN
        if one.distance > TIE:  # closest points may be many, but all pairs of them are one distance apart
            assert got.point_b - got.point_a == pytest.approx(got.distance * got.normal, abs=1e-6)
            assert got.normal == pytest.approx(one.normal, abs=1e-4)
    values = result.distance[np.isfinite(result.distance)]
    assert (np.diff(values) >= 0.0).all()


# -- answers -----------------------------------------------------------------------------------------------------------


def test_every_pair_within_max_distance_has_its_single_answer(way):
    scene, _ = mixed_scene(MAKERS, seed=1, spread=1.6)
    expected = one_by_one(scene)
    assert len(expected) == 18 * 17 // 2
    everything = scene.query()
    assert len(everything) == everything.statistics.solved == len(expected)
    assert_agrees(everything, expected)
    for max_distance in (-0.1, 0.0, 0.05, 0.5):
        result = scene.fork().query(max_distance=max_distance)
        assert_agrees(result, expected, max_distance)
        counts = result.statistics
        assert counts.pairs >= counts.past_sphere >= counts.past_obb == counts.solved >= len(result)
        assert result.statistics.solved < len(expected)
    only = scene.query(overlapping_only=True)
    assert_agrees(only, expected, 0.0)
    assert len(only) == only.statistics.intersecting == sum(one.distance < 0.0 for one in expected.values())
    closest = scene.query(max_results=7)
    assert closest.distance == pytest.approx(everything.distance[:7], abs=TIE)


@pytest.mark.parametrize("spread", [0.9, 3.0])
def test_the_closest_pairs_of_all_kinds_lead_the_full_query(way, spread):
    rng = np.random.default_rng(9)
    for seed in range(3):
        scene, _ = mixed_scene({**MAKERS, **NOT_CONVEX}, seed=30 + seed, spread=spread, each=1)
        full = scene.fork().query()
        row_of = {pair: k for k, pair in enumerate(zip(full.body_a.tolist(), full.body_b.tolist(), strict=True))}
        for most in (1, 4, int(rng.integers(5, 60))):
            max_distance = float(rng.choice([math.inf, 0.2]))
            result = scene.fork().query(max_results=most, max_distance=max_distance)
            expected = full.distance[full.distance <= max_distance][:most]
            assert len(result) == len(expected)
            here = [row_of[pair] for pair in zip(result.body_a.tolist(), result.body_b.tolist(), strict=True)]
            assert len(set(here)) == len(here)
            np.testing.assert_allclose(result.distance, expected, atol=TIE)
            np.testing.assert_allclose(result.distance, full.distance[here], atol=TIE)


def test_warm_answers_agree_with_cold_ones_along_a_motion():
    scene, rng = mixed_scene(MAKERS, seed=2, spread=1.2, each=1)
    poses = link_poses(scene, rng, 1.2)
    step = {link: at(*rng.normal(0.0, 0.01, 3), rng.normal(0.0, 0.02, 3)) for link in poses}
    for _ in range(10):
        poses = {link: pose @ step[link] for link, pose in poses.items()}
        scene.set_link_poses(poses)
        warm = scene.query(max_distance=0.3)
        assert_agrees(warm, one_by_one(scene), 0.3)


def test_a_fork_and_a_pickled_scene_are_equal_and_independent():
    scene, rng = mixed_scene(MAKERS, seed=3, spread=1.5, each=1)
    before = scene.query(max_distance=0.4)
    others = [scene.fork(), pickle.loads(pickle.dumps(scene))]
    for other in others:
        assert np.array_equal(other.query(max_distance=0.4).body_a, before.body_a)
        assert other.query(max_distance=0.4).distance == pytest.approx(before.distance, abs=TIE)
        other.set_link_poses(link_poses(other, rng, 1.5))
        assert_agrees(other.query(), one_by_one(other))
    assert scene.query(max_distance=0.4).distance == pytest.approx(before.distance, abs=TIE)


# -- half-spaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.1), (math.pi, 0.0, 0.0), (0.0, math.pi / 2, 0.0)])
def test_half_spaces_cull_by_closed_forms_and_lose_nothing(way, turn):
    """Balls with known heights over a floor: those above max_distance do not even count as near."""
    rng = np.random.default_rng(4)
    radii, centres = rng.uniform(0.05, 0.5, 60), rng.uniform(-3.0, 3.0, (60, 3))
    floor = at(0.3, -0.2, 0.1, turn)
    heights = (centres - floor[:3, 3]) @ floor[:3, 2] - radii
    bodies = [Body(f"ball_{i}", "cloud", Sphere(radii[i]), at(*centres[i])) for i in range(60)]
    bodies.insert(20, Body("floor", "world", HalfSpace()))
    scene = Scene(bodies)
    scene.set_link_poses({"cloud": np.eye(4), "world": floor})
    for max_distance in (-0.2, 0.0, 0.3, math.inf):
        result = scene.query(max_distance=max_distance)
        assert result.distance == pytest.approx(np.sort(heights[heights <= max_distance]), abs=1e-12)
        assert result.statistics.pairs == 60
        assert result.statistics.solved == result.statistics.past_sphere == (heights <= max_distance).sum()


def test_a_flat_body_above_a_floor_is_culled_by_its_box(way):
    plate = Body("plate", "plate", Superovoid((1.0, 1.0, 0.01), section_exponent=0.2, profile_exponent=0.2))
    scene = Scene([Body("floor", "world", HalfSpace()), plate])
    turned = (0.0, 0.2, 0.0)
    lowest = math.sin(0.2) + 0.01 * math.cos(0.2)  # of the corner of the plate's box
    for height, solved in ((lowest + 0.11, 0), (lowest + 0.09, 1)):
        scene.set_link_poses({"world": at(), "plate": at(0.0, 0.0, height, turned)})
        result = scene.query(max_distance=0.1)
        assert (result.statistics.past_sphere, result.statistics.solved) == (1, solved)


def test_two_half_spaces_meet_or_face_each_other(way):
    scene = Scene(
        [Body(f"wall_{i}", f"world_{i}", HalfSpace()) for i in range(3)] + [Body("ball", "ball", Sphere(0.5))]
    )
    poses = {"world_0": at(), "world_1": at(0.0, 0.0, 2.0, (math.pi, 0.0, 0.0)), "ball": at(0.0, 0.0, 1.2)}
    scene.set_link_poses(poses | {"world_2": at(5.0, turn=(0.0, math.pi / 2, 0.0))})
    expected = {(0, 1): 2.0, (0, 2): -math.inf, (1, 2): -math.inf, (0, 3): 0.7, (1, 3): 0.3, (2, 3): -5.5}
    result = scene.query()
    found = dict(zip(zip(result.body_a.tolist(), result.body_b.tolist(), strict=True), result.distance, strict=True))
    assert found == pytest.approx(expected, abs=1e-12)
    near = scene.query(max_distance=0.5)
    assert near.distance == pytest.approx([-math.inf, -math.inf, -5.5, 0.3], abs=1e-12)


# -- changes -----------------------------------------------------------------------------------------------------------


def test_bodies_of_other_kinds_are_added_moved_and_removed():
    """The vertices of meshes lie in one pool: each mesh must find its own after every change."""
    rng = np.random.default_rng(5)
    shared = ConvexMesh(0.5 * CORNERS["many"])
    shapes = [
        Sphere(0.3),
        ConvexMesh(0.4 * CORNERS["few"]),
        shared,
        Superovoid((0.3, 0.2, 0.4), section_exponent=0.7, profile_exponent=0.9),
        shared,
    ]
    scene = Scene([Body(f"b{i}", f"l{i}", shape) for i, shape in enumerate(shapes)])
    scene.set_link_poses(link_poses(scene, rng, 0.9))
    assert_agrees(scene.query(), one_by_one(scene))
    fork = scene.fork()
    before = one_by_one(fork)
    scene.add(
        [Body("table", "world", Box((1.2, 1.2, 0.1))), Body("stone", "world", MAKERS["few corners"](0.2, 0.3, 0.4))]
    )
    scene.set_link_pose("world", at(0.0, 0.3, -0.2))
    assert_agrees(scene.query(), one_by_one(scene))
    scene.remove("b1")
    assert_agrees(scene.query(), one_by_one(scene))
    scene.attach("stone", "l3", at(0.1, 0.0, 0.3))
    scene.remove("b2")
    assert_agrees(scene.query(), one_by_one(scene))
    assert_agrees(fork.query(), before)


# -- memory ------------------------------------------------------------------------------------------------------------


class HeapStatistics(ctypes.Structure):
    """The result of glibc's `mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


def held_bytes():
    """Return the bytes allocated by `malloc` and not freed."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = HeapStatistics
    found = mallinfo2()
    return found.uordblks + found.hblkhd


def assert_queries_hold_no_memory(scene):
    scene.query()
    before = held_bytes()
    for _ in range(10):
        scene.forget()
        assert len(scene.query()) > 100
    # The scratch memory of one kernel takes some kilobytes, and each of these pairs calls several.
    assert held_bytes() - before < 100_000


def test_queries_leave_no_memory_behind():
    scene, _ = mixed_scene(MAKERS, seed=6, spread=1.0)
    assert_queries_hold_no_memory(scene)


# -- non-convex bodies -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tori_and_meshes_among_all_kinds(way):
    scene, rng = mixed_scene(MAKERS | NOT_CONVEX, seed=7, spread=1.8)
    expected = one_by_one(scene)
    assert_agrees(scene.query(), expected)
    for max_distance in (0.0, 0.2):
        assert_agrees(scene.fork().query(max_distance=max_distance), expected, max_distance)
    assert_queries_hold_no_memory(scene)
    for name in [body.name for body in scene.bodies][::3]:
        scene.remove(name)
    assert_agrees(scene.query(), one_by_one(scene))
    scene.set_link_poses(link_poses(scene, rng, 1.8))
    assert_agrees(pickle.loads(pickle.dumps(scene)).query(), one_by_one(scene))


def test_a_max_distance_changes_no_answer_within_it():
    rng = np.random.default_rng(2)
    shapes = [Box((0.4, 0.6, 0.2)), Cylinder(0.2, 0.5), Cone(0.3, 0.4), Capsule(0.1, 0.5), Sphere(0.2)]
    shapes += [ConvexMesh(0.3 * rng.normal(size=(20, 3))) for _ in range(3)]
    bodies = [Body(f"{i}", f"{i}", shapes[i % len(shapes)]) for i in range(24)]
    for _ in range(5):
        poses = np.tile(np.eye(4), (len(bodies), 1, 1))
        poses[:, :3, :3] = Rotation.random(len(bodies), rng=rng).as_matrix()
        poses[:, :3, 3] = rng.normal(size=(len(bodies), 3))
        whole, limited, overlapping = Scene(bodies), Scene(bodies), Scene(bodies)
        for scene in (whole, limited, overlapping):
            scene.set_link_poses(poses)
        every = whole.query()
        for found, near in (
            (limited.query(max_distance=0.2), every[every.distance <= 0.2]),
            (overlapping.query(overlapping_only=True), every[every.distance < 0.0]),
        ):
            assert found.body_a.tolist() == near.body_a.tolist() and found.body_b.tolist() == near.body_b.tolist()
            assert found.distance == pytest.approx(near.distance, abs=1e-9)
            assert not (found.status & Status.UNPROVEN).any()
            assert found.statistics.intersecting == (every.distance < 0.0).sum()

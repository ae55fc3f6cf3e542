# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of compounds, against unions of boxes, whose distance and depth have a closed form, and of balls."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Compound,
    Cone,
    HalfSpace,
    Mesh,
    Motion,
    Robot,
    Scene,
    Shell,
    Sphere,
    Status,
    Superovoid,
    Torus,
    are_closer,
    are_states_closer,
    cast_rays,
    contacts,
    distance,
    distances,
    point_distances,
    pose_gradients,
    state_distances,
    time_of_impact,
)

from draws import few_or_many

HAMMER = Compound([(Capsule(0.01, 0.2), (0.0, 0.0, 0.0)), (Box((0.1, 0.03, 0.03)), (0.0, 0.0, 0.1))])
EGG = Superovoid((0.05, 0.04, 0.06), section_exponent=0.8, profile_exponent=0.7, taper=(0.1, 0.2))

SIGNS = np.concatenate([np.eye(2), -np.eye(2)])  # of steps of two joints


def at(*place, seed=None):
    """Pose at a place, turned at random if a seed is given."""
    pose = np.eye(4)
    pose[:3, 3] = place
    if seed is not None:
        pose[:3, :3] = Rotation.random(random_state=seed).as_matrix()
    return pose


def boxes_apart(low, high):
    """Signed distance of the origin from a union of boxes, from all places where planes of boxes meet.

    The origin is a translation; the boxes are those of the translations at which two boxes overlap. The point of the
    complement nearest to the origin has each coordinate either 0 or on a side of a box.
    """
    if not ((low < 0.0) & (high > 0.0)).all(axis=1).any():
        return np.linalg.norm(np.maximum(np.maximum(low, -high), 0.0), axis=1).min()
    planes = [np.unique(np.concatenate([[0.0], low[:, i], high[:, i]])) for i in range(3)]
    places = np.stack(np.meshgrid(*planes, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    free = ~((places > low) & (places < high)).all(axis=2).any(axis=1)
    return -np.linalg.norm(places[free, 0], axis=1).min()


def unions_of_boxes(count, seed):
    """Two compounds of boxes along the axes of one random frame, their poses, and their signed distance."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        (k, m), offset = rng.integers(1, 5, 2), rng.normal(size=3) * rng.choice([0.2, 0.5, 1.0])
        centres, halves = rng.uniform(-0.5, 0.5, (k + m, 3)), rng.uniform(0.1, 0.5, (k + m, 3))
        reach = halves[:k, None] + halves[None, k:]
        between = centres[:k, None] - centres[None, k:] - offset
        low, high = (between - reach).reshape(-1, 3), (between + reach).reshape(-1, 3)
        members = [(Box(2.0 * half), centre) for half, centre in zip(halves, centres, strict=True)]
        pose = at(*rng.normal(size=3), seed=int(rng.integers(1000)))
        yield Compound(members[:k]), pose, Compound(members[k:]), pose @ at(*offset), boxes_apart(low, high)


@few_or_many(60, 2000)
def test_intervals_contain_the_distances_of_unions_of_boxes(draws):
    proved, found = 0, 0
    for a, pose_a, b, pose_b, known in unions_of_boxes(draws, 1):
        r = distance(a, pose_a, b, pose_b)
        assert r.lower - 1e-12 <= known <= r.upper + 1e-12
        np.testing.assert_allclose(r.point_b - r.point_a, r.distance * r.normal, atol=1e-8)
        if known >= 0.0:
            assert r.upper - r.lower < 1e-8
        elif r.status & Status.UNPROVEN:
            assert r.status & Status.NON_CONVEX
            found += 1
        else:
            proved += 1
    assert proved > 0.3 * (proved + found)


def test_the_translation_of_an_overlap_separates_all_members():
    for a, pose_a, b, pose_b, known in unions_of_boxes(40, 2):
        r = distance(a, pose_a, b, pose_b)
        if known < 0.0:
            moved = pose_b.copy()
            moved[:3, 3] += (1e-9 - r.lower) * r.normal
            for (one, place), (other, there) in itertools.product(a.members, b.members):
                assert distance(one, pose_a @ place, other, moved @ there).distance >= 0.0


RING = Mesh.from_trimesh(Torus(0.4, 0.1).tessellate(10))
KINDS = (Box((0.4, 0.3, 0.2)), Sphere(0.2), Capsule(0.1, 0.4), Torus(0.3, 0.08), RING, Cone(0.2, 0.4), EGG)


@few_or_many(60, 2000)
def test_members_of_all_kinds_are_apart_after_the_translation(draws):
    rng = np.random.default_rng(11)
    overlaps = 0
    for i in range(draws):
        a, b = (
            Compound(
                [(KINDS[k], at(*rng.normal(scale=0.3, size=3), seed=k + i)) for k in rng.integers(len(KINDS), size=3)]
            )
            for _ in range(2)
        )
        pose = at(*rng.normal(scale=0.5, size=3), seed=i)
        r = distance(a, np.eye(4), b, pose)
        pairs = [(one, x, other, y) for (one, x), (other, y) in itertools.product(a.members, b.members)]
        alone = [distance(one, x, other, pose @ y) for one, x, other, y in pairs]
        assert r.lower <= min(found.upper for found in alone) + 1e-12
        if r.distance >= 0.0:
            assert r.distance == pytest.approx(min(found.distance for found in alone), abs=1e-12)
            continue
        overlaps += 1
        moved = pose.copy()
        moved[:3, 3] += (1e-12 - r.lower) * r.normal
        assert all(distance(one, x, other, moved @ y).upper >= 0.0 for one, x, other, y in pairs)
    assert overlaps > 0.1 * draws


def test_swapping_a_compound_swaps_the_answer_bit_by_bit():
    for a, pose_a, b, pose_b, _ in unions_of_boxes(30, 3):
        r, s = distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)
        assert (r.distance, r.lower, r.upper, r.status) == (s.distance, s.lower, s.upper, s.status)
        np.testing.assert_array_equal(np.stack([r.point_a, r.point_b, r.normal]), [s.point_b, s.point_a, -s.normal])


@pytest.mark.parametrize(
    ("other", "pose"),
    [(EGG, at(0.15, 0.02, 0.1, seed=1)), (Torus(0.05, 0.01), at(0.0, 0.1, 0.2, seed=2)), (HAMMER, at(0.1, 0.1, 0.1))],
)
def test_the_distance_is_that_of_the_nearest_members(other, pose):
    parts = other.members if isinstance(other, Compound) else [(other, np.eye(4))]
    pairs = [distance(a, x, b, pose @ y) for (a, x), (b, y) in itertools.product(HAMMER.members, parts)]
    nearest = min(pairs, key=lambda pair: pair.distance)
    r = distance(HAMMER, np.eye(4), other, pose)
    assert r.distance == pytest.approx(nearest.distance, abs=1e-14)
    np.testing.assert_allclose(r.normal, nearest.normal, atol=1e-9)
    np.testing.assert_allclose(r.point_a, nearest.point_a, atol=1e-9)


@pytest.mark.parametrize(
    ("offset", "known"),
    [
        ((0.0, 0.0, 0.25), 0.085),  # above the head
        ((0.0, 0.0, 0.165), 0.0),  # touching it
        ((0.0, 0.0, 0.155), -0.01),  # in it
        ((0.04, 0.0, 0.03), -0.02),  # in the corner of head and handle: sideways
        ((0.0, 0.0, 0.1), -0.065),  # centred in it: sideways, so that both are free
    ],
)
def test_a_ball_at_a_hammer_has_its_known_distance(offset, known):
    r = distance(HAMMER, np.eye(4), Sphere(0.05), at(*offset))
    assert r.lower <= known + 1e-12
    assert r.upper >= known - 1e-12
    assert r.distance == pytest.approx(known, abs=1e-11)


def test_a_hole_between_members_is_free():
    frame = Compound([(Box((0.1, 1.0, 1.0)), (x, 0.0, 0.0)) for x in (-0.3, 0.3)])
    fits = distance(frame, np.eye(4), Box((0.5, 0.1, 0.1)), at(0.0, 0.0, 0.0))
    assert fits.distance == pytest.approx(0.0, abs=1e-12)
    wide = distance(frame, np.eye(4), Box((0.502, 0.1, 0.1)), at(0.0, 0.0, 0.0))
    assert wide.status & Status.NON_CONVEX
    assert wide.lower == pytest.approx(-0.55, abs=1e-8)  # out of the frame along y or z
    assert wide.upper == pytest.approx(-0.001, abs=1e-11)  # both walls are 1 mm deep


def test_nested_and_repeated_members_do_not_change_the_union():
    ball = Sphere(0.1)
    inside = Compound([(ball, (0.0, 0.0, 0.0)), (Box((0.02, 0.02, 0.02)), (0.0, 0.03, 0.0)), (ball, (0.0, 0.0, 0.0))])
    for x in (0.3, 0.2, 0.15, 0.05):
        r, s = distance(inside, np.eye(4), EGG, at(x)), distance(ball, np.eye(4), EGG, at(x))
        assert r.lower <= s.upper
        assert r.upper >= s.lower
        assert r.distance == pytest.approx(s.distance, abs=1e-8)


def test_a_half_space_meets_the_lowest_member():
    pose = at(0.0, 0.0, 0.05, seed=4)
    depths = [distance(shape, pose @ place, HalfSpace()).distance for shape, place in HAMMER.members]
    r = distance(HAMMER, pose, HalfSpace())
    assert r.distance == pytest.approx(min(depths), abs=1e-14)
    assert r.status == Status.CERTIFIED


def test_a_mesh_as_a_member_is_solved_as_the_mesh():
    ring = Mesh.from_trimesh(Torus(0.1, 0.03).tessellate(16))
    chain = Compound([(ring, (0.0, 0.0, 0.0)), (ring, at(0.13, 0.0, 0.0, seed=5)), (Sphere(0.02), (0.3, 0.0, 0.0))])
    poses = np.stack([at(*place, seed=i) for i, place in enumerate(np.random.default_rng(6).normal(size=(20, 3)))])
    together = distances(chain, np.eye(4), EGG, poses)
    alone = np.min([distances(shape, place, EGG, poses).distance for shape, place in chain.members], axis=0)
    np.testing.assert_allclose(together.distance, alone, atol=1e-12)


def test_rounding_of_composed_poses_is_in_the_interval():
    rng = np.random.default_rng(7)
    for scale in (1.0, 1e3, 1e6):
        places, origin, other = rng.uniform(-1.0, 1.0, (3, 3)), scale * rng.normal(size=3), scale * rng.normal(size=3)
        balls = Compound([(Sphere(0.1), place) for place in places])
        r = distance(balls, origin, Sphere(0.2), other)
        squares = [
            sum((Fraction(x) + Fraction(o) - Fraction(y)) ** 2 for x, o, y in zip(place, origin, other, strict=True))
            for place in places
        ]
        for bound, is_below in ((r.lower, True), (r.upper, False)):
            length = Fraction(bound) + Fraction(0.1) + Fraction(0.2)
            assert (length**2 <= min(squares)) if is_below else (length**2 >= min(squares))


def test_thresholds_of_compounds_are_decided_by_their_distance():
    poses = np.stack([at(x, 0.0, 0.1) for x in (0.3, 0.2, 0.12, 0.09, 0.0)])
    known = distances(HAMMER, np.eye(4), Sphere(0.05), poses)
    for threshold in (-0.02, 0.0, 0.05):
        verdicts = are_closer(HAMMER, np.eye(4), Sphere(0.05), poses, threshold)
        assert not (verdicts.closer & (known.lower >= threshold)).any()
        assert not (verdicts.farther & (known.upper < threshold)).any()
        assert (verdicts.closer | verdicts.farther).all()


def test_bounds_of_a_verdict_hold_for_members_that_were_not_asked():
    members = [(Sphere(0.5), at(0.0, 0.0, 0.0)), (Sphere(0.5), at(0.1, 0.0, 0.0))]
    for order in (members, members[::-1]):
        verdict = are_closer(Compound(order), np.eye(4), Sphere(0.5), at(1.2, 0.0, 0.0), 0.5)
        assert verdict.closer and verdict.lower <= 0.1 <= verdict.upper


def test_a_compound_overlaps_where_a_shell_in_it_does():
    mesh = Mesh(*Torus(0.4, 0.1).triangles(10))
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    shell = Shell(vertices, faces[:40])
    place = at(*np.add(vertices[faces[5]].mean(axis=0), (0.003, 0.001, 0.002)))
    for other in (Sphere(0.05), Box((0.1, 0.1, 0.1)), mesh):
        for one in (shell, Compound([(shell, (0.0, 0.0, 0.0)), (Sphere(0.01), (9.0, 0.0, 0.0))])):
            assert are_closer(one, np.eye(4), other, place, 0.0).closer


def test_points_and_rays_meet_the_union():
    rng = np.random.default_rng(8)
    points = rng.uniform(-0.15, 0.15, (500, 3))
    found = point_distances(HAMMER, points)
    alone = np.min([point_distances(shape, points, place).distance for shape, place in HAMMER.members], axis=0)
    outside = alone > 0.0
    np.testing.assert_allclose(found.distance[outside], alone[outside], atol=1e-12)
    assert (found.lower[~outside] <= alone[~outside] + 1e-12).all()
    np.testing.assert_array_equal(found.distance <= 0.0, HAMMER.contains(points))
    origins = rng.normal(size=(100, 3))
    hits = cast_rays(HAMMER, origins, -origins)
    shapes, places = zip(*HAMMER.members, strict=True)
    np.testing.assert_allclose(hits.distance, cast_rays(shapes, origins, -origins, places).distance, atol=1e-6)


def test_a_moving_compound_meets_a_body_at_its_member():
    moving, (shape, place) = Motion(at(0.5, 0.0, 0.1), (-1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), HAMMER.members[1]
    hit = time_of_impact(HAMMER, Motion.at_rest(np.eye(4)), EGG, moving)
    head = time_of_impact(shape, Motion.at_rest(place), EGG, moving)
    assert hit.time == pytest.approx(head.time, abs=1e-6)


def test_a_compound_is_one_body_of_a_scene():
    scene = Scene([Body("hammer", "hammer", HAMMER), Body("egg", "egg", EGG), Body("floor", "floor", HalfSpace())])
    poses = {"hammer": at(0.0, 0.0, 0.3, seed=9), "egg": at(0.2, 0.0, 0.3), "floor": np.eye(4)}
    scene.set_link_poses(poses)
    near = scene.query(max_distance=1.0)
    assert len(near) == 3
    for row in near:
        one, other = scene.bodies[row.body_a], scene.bodies[row.body_b]
        alone = distance(one.shape, poses[one.link], other.shape, poses[other.link])
        assert row.distance == pytest.approx(alone.distance, abs=1e-13)
    assert len(scene.query(max_results=1)) == 1


@few_or_many(150, 3000)
def test_scenes_omit_compounds_farther_apart_than_asked(draws):
    rng = np.random.default_rng(12)
    kinds = (Cone(0.2, 0.4), Box((0.4, 0.3, 0.2)), Capsule(0.1, 0.4), EGG)
    for i in range(draws):
        (one, other), pose = rng.choice(len(kinds), 2), at(*rng.normal(scale=0.6, size=3), seed=i)
        compound = Compound([(kinds[one], np.eye(4)), (Sphere(0.01), (0.0, 0.0, 0.0))])
        scene = Scene([Body("a", "a", compound), Body("b", "b", kinds[other])])
        scene.set_link_poses({"a": np.eye(4), "b": pose})
        known = distance(kinds[one], np.eye(4), kinds[other], pose).distance
        assert len(scene.query(max_distance=0.05)) == (known <= 0.05)


def test_a_compound_on_a_link_answers_states_as_its_members():
    urdf = """<robot name="r"><link name="base"/><link name="arm"/><joint name="j" type="revolute"><parent link="base"/>
      <child link="arm"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint></robot>"""
    robot, states = Robot.from_urdf(urdf), np.linspace(-3.0, 3.0, 40)[:, None]
    egg = Body("egg", "base", EGG, at(0.16, 0.02, 0.05))
    together = Scene([Body("hammer", "arm", HAMMER), egg])
    apart = Scene([*(Body(f"part {i}", "arm", *member) for i, member in enumerate(HAMMER.members)), egg])
    found, parts = (state_distances(robot, scene, states, gradients=True) for scene in (together, apart))
    free = parts.closest > 0.0
    assert free.any() and not free.all()
    np.testing.assert_allclose(found.closest[free], parts.closest[free], atol=1e-12)
    assert (found.lower[~free] <= parts.closest[~free] + 1e-12).all()
    nearest = [np.flatnonzero(parts.state == state)[0] for state in np.flatnonzero(free)]  # rows begin with the closest
    np.testing.assert_allclose(found.gradients[free], parts.gradients[nearest], atol=1e-9)
    verdicts = [are_states_closer(robot, scene, states, 0.02) for scene in (together, apart)]
    np.testing.assert_array_equal(verdicts[0].closer, verdicts[1].closer)


@pytest.mark.parametrize("egg", [EGG, Compound([(EGG, at(0.0, 0.0, 0.02, seed=13)), (Sphere(0.01), (0.0, 0.0, 0.0))])])
def test_hessians_of_compounds_agree_with_differences_of_gradients(egg):
    urdf = """<robot name="r"><link name="base"/><link name="hand"/><link name="arm"/>
      <joint name="j" type="revolute"><parent link="base"/><child link="hand"/><axis xyz="0 1 0"/>
        <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
      <joint name="k" type="revolute"><parent link="hand"/><child link="arm"/><origin xyz="0.05 0 0.1"/>
        <axis xyz="1 0 0"/>
        <limit lower="-3" upper="3" velocity="1" effort="1"/></joint></robot>"""
    robot, step = Robot.from_urdf(urdf), 1e-6
    scene = Scene([Body("hammer", "arm", HAMMER), Body("egg", "base", egg, at(0.26, 0.02, 0.05))])
    compared = 0
    for state in np.random.default_rng(14).uniform(-1.0, 1.0, (20, 2)):
        scene.set_link_poses(robot.forward_kinematics(state))
        found = robot.distance_hessians(scene, scene.query(), state)
        ends = [state_distances(robot, scene, [state + s * step], gradients=True).gradients[0] for s in SIGNS]
        differences = np.subtract(ends[:2], ends[2:]) / (2.0 * step)
        if found.differentiable[0]:
            np.testing.assert_allclose(found.by_joint[0], differences, atol=1e-5)
            compared += 1
    assert compared > 15


def test_gradients_of_a_compound_agree_with_differences():
    pose, step = at(0.15, 0.03, 0.12, seed=10), 1e-6
    r = distance(HAMMER, np.eye(4), EGG, pose)
    gradient = pose_gradients(r, np.eye(4), pose).by_pose_b[:3]
    ends = [distance(HAMMER, np.eye(4), EGG, at(*offset) @ pose).distance for offset in step * np.eye(3)]
    np.testing.assert_allclose((np.array(ends) - r.distance) / step, gradient, atol=1e-4)


def test_contact_points_of_a_compound_are_refused():
    with pytest.raises(TypeError, match="a: a Compound has no contact points"):
        contacts(HAMMER, np.eye(4), EGG, np.eye(4), 0.1)

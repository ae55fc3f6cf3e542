# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds and times of impact of bodies of every kind, against distances at fixed moments and closed forms."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    ImpactStatus,
    Mesh,
    Motion,
    Proof,
    Sphere,
    Superovoid,
    Torus,
    are_closer,
    are_intersecting,
    distance,
    time_of_impact,
)
from superovoid.contact.deciding import fill_inside
from superovoid.shapes.kernels.surface import A1, A3, HAS_CONCAVITY, INV_P, INV_S
from superovoid.testing import random_pairs

CORNERS = np.array(np.meshgrid([-0.3, 0.4], [-0.2, 0.3], [-0.25, 0.2])).reshape(3, -1).T
SHAPES = {
    "superovoid": Superovoid((0.3, 0.2, 0.4), section_exponent=0.6, profile_exponent=0.9, taper=(0.2, 0.1)),
    "plane": HalfSpace(),
    "capsule": Capsule(0.15, 0.5),
    "box": Box((0.4, 0.6, 0.8)),
    "cylinder": Cylinder(0.2, 0.6),
    "cone": Cone(0.3, 0.5),
    "torus": Torus(0.4, 0.1),
    "hull": ConvexMesh(CORNERS),
    "mesh": Mesh.from_triangles(Torus(0.4, 0.12).tessellate(12).vertices, Torus(0.4, 0.12).tessellate(12).faces),
}
PAIRS = [(a, b) for a in SHAPES for b in SHAPES if a <= b and (a, b) != ("plane", "plane")]
STILL = (0.0, 0.0, 0.0)


def at(*translation, turn=None):
    pose = np.eye(4)
    pose[:3, 3] = translation
    if turn is not None:
        pose[:3, :3] = turn.as_matrix()
    return pose


def random_pose(rng, spread):
    return at(*(spread * rng.normal(size=3)), turn=Rotation.random(rng=rng))


def test_bodies_far_apart_need_no_solver():
    far = are_closer(Box((2.0, 2.0, 2.0)), np.eye(4), SHAPES["mesh"], at(50.0, 0.0, 0.0), 1.0)
    assert far.farther and far.proof is Proof.SPHERES and far.statistics.solves == 0
    assert 47.0 < far.lower < 49.0
    off_centre = ConvexMesh(CORNERS + 100.0)
    assert are_closer(off_centre, np.eye(4), Sphere(0.1), at(100.0, 100.0, 100.0), 0.1)


def test_many_pairs_of_mixed_kinds_are_answered_row_by_row():
    rng = np.random.default_rng(2)
    shapes = list(SHAPES.values())
    a = [shapes[i] for i in rng.integers(len(shapes), size=60)]
    b = [shapes[i] if not isinstance(shapes[i], HalfSpace) else Sphere(0.2) for i in rng.integers(len(shapes), size=60)]
    poses_a = np.array([random_pose(rng, 0.5) for _ in a])
    poses_b = np.array([random_pose(rng, 0.5) for _ in b])
    limits = rng.uniform(-0.1, 0.3, 60)
    many = are_closer(a, poses_a, b, poses_b, limits)
    for i in range(60):
        assert many[i] == are_closer(a[i], poses_a[i], b[i], poses_b[i], limits[i])
    zero = are_intersecting(a, poses_a, b, poses_b)
    assert zero.closer.tolist() == [are_intersecting(*row).closer for row in zip(a, poses_a, b, poses_b, strict=True)]


def test_a_ball_in_the_hole_of_a_torus_does_not_intersect():
    assert not are_intersecting(Torus(1.0, 0.1), np.eye(4), Sphere(0.5), np.eye(4))
    assert are_closer(Torus(1.0, 0.1), np.eye(4), Sphere(0.5), np.eye(4), 0.41)
    assert are_intersecting(Torus(1.0, 0.1), np.eye(4), Sphere(0.95), np.eye(4))


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_nothing_touches_before_the_time_of_impact(kinds):
    a, b = (SHAPES[kind] for kind in kinds)
    rng = np.random.default_rng(len(kinds[0]) * 17 + len(kinds[1]))
    seen = set()
    for _ in range(8):
        towards = rng.normal(size=3)
        towards /= np.linalg.norm(towards)
        start = at(*(2.0 * towards), turn=Rotation.random(rng=rng))
        if kinds[0] == "plane" or kinds[1] == "plane":
            start[2, 3] = abs(start[2, 3]) + 0.6
        aim = -start[:3, 3] + 0.25 * rng.normal(size=3)
        motion_a = Motion(np.eye(4), STILL, rng.normal(size=3) if rng.random() < 0.5 else STILL)
        motion_b = Motion(start, aim, rng.normal(0.0, 2.0, 3) if rng.random() < 0.7 else STILL)
        if kinds[1] == "plane":
            motion_a, motion_b = motion_b, motion_a
        found = time_of_impact(a, motion_a, b, motion_b)
        seen.add(found.status)
        before = found.time if found.status != ImpactStatus.STARTS_IN_CONTACT else 0.0
        for t in np.linspace(0.0, before, 25)[:-1]:
            assert distance(a, motion_a.pose(t), b, motion_b.pose(t)).upper > 0.0
        if found.status is ImpactStatus.FREE:
            for t in np.linspace(0.0, 1.0, 40):
                assert distance(a, motion_a.pose(t), b, motion_b.pose(t)).upper > 0.0
        if found.status in (ImpactStatus.IMPACT, ImpactStatus.GRAZE):
            assert abs(distance(a, motion_a.pose(found.time), b, motion_b.pose(found.time)).distance) < 2e-6
        if found.status is ImpactStatus.IMPACT:
            there = distance(a, motion_a.pose(found.overlap_time), b, motion_b.pose(found.overlap_time))
            assert there.upper < 0.0 and found.overlap_time - found.time < 1e-3
    assert seen & {ImpactStatus.IMPACT, ImpactStatus.GRAZE}  # an overlap of meshes is not always proved at once


def test_times_of_impact_agree_with_closed_forms():
    ball = Motion(at(0.0, 0.0, 3.0), (0.0, 0.0, -2.0), STILL)
    for plane in (np.eye(4), Motion(np.eye(4), STILL, (0.0, 0.0, 1.0))):
        found = time_of_impact(HalfSpace(), plane, Sphere(0.5), ball, duration=2.0)
        assert found.status is ImpactStatus.IMPACT and found.time == pytest.approx(1.25, abs=1e-6)
    # A wall swings about its origin: the ball's height above it is 2 sin(0.5 - t), or 2 sin(0.5 + t).
    swinging = Motion(np.eye(4), STILL, (0.0, 1.0, 0.0))
    left, right = (at(x * math.cos(0.5), 0.0, 2.0 * math.sin(0.5)) for x in (-2.0, 2.0))
    found = time_of_impact(HalfSpace(), swinging, Sphere(0.5), left)
    assert found.time == pytest.approx(0.5 - math.asin(0.25), abs=1e-5)
    assert time_of_impact(HalfSpace(), swinging, Sphere(0.5), right).status is ImpactStatus.FREE


def test_a_ball_flies_through_a_torus_and_its_mesh():
    through = Motion(at(0.02, 0.0, 2.0), (0.0, 0.0, -4.0), STILL)
    ring = SHAPES["mesh"]
    for shape in (SHAPES["torus"], ring):
        assert time_of_impact(shape, np.eye(4), Sphere(0.2), through).status is ImpactStatus.FREE
        assert time_of_impact(shape, np.eye(4), Sphere(0.35), through).status is ImpactStatus.IMPACT


def test_a_bullet_does_not_tunnel_through_a_thin_wall():
    bullet = Motion(at(-5.0, 0.0, 0.0), (1e4, 0.0, 0.0), (0.0, 3e3, 0.0))
    found = time_of_impact(Box((0.0002, 2.0, 2.0)), np.eye(4), Cylinder(0.004, 0.02), bullet)
    assert found.status is ImpactStatus.IMPACT and found.time == pytest.approx(5e-4, rel=5e-3)


def test_half_spaces_with_one_turning_are_free_only_at_first():
    facing = at(0.0, 0.0, 1.0, turn=Rotation.from_rotvec([math.pi, 0.0, 0.0]))
    turning = time_of_impact(HalfSpace(), np.eye(4), HalfSpace(), Motion(facing, STILL, (0.1, 0.0, 0.0)))
    assert (turning.status, turning.time) == (ImpactStatus.UNPROVEN, 0.0)
    inside = at(0.0, 0.0, -1.0, turn=Rotation.from_rotvec([math.pi, 0.0, 0.0]))
    for start in (inside, np.eye(4)):
        found = time_of_impact(HalfSpace(), np.eye(4), HalfSpace(), Motion(start, STILL, (0.1, 0.0, 0.0)))
        assert found.status is ImpactStatus.STARTS_IN_CONTACT
    coming = time_of_impact(HalfSpace(), np.eye(4), HalfSpace(), Motion(facing, (0.0, 0.0, -2.0), STILL))
    assert coming.time == pytest.approx(0.5, abs=1e-9)
    assert time_of_impact(HalfSpace(), np.eye(4), HalfSpace(), facing).status is ImpactStatus.FREE


@pytest.mark.parametrize(("speed", "status"), [(0.0, "FREE"), (5.0, "FREE"), (-2.0, "IMPACT"), (-1.0, "IMPACT")])
def test_a_half_space_spinning_about_its_normal_does_not_turn(speed, status):
    facing = at(0.0, 0.0, 1.0, turn=Rotation.from_rotvec([math.pi, 0.0, 0.0]))
    spinning = Motion(facing, (0.3, 0.0, speed), (0.0, 0.0, 1.0), about=(0.5, 2.0, 0.0))
    found = time_of_impact(HalfSpace(), np.eye(4), HalfSpace(), spinning, duration=1.5)
    assert found.status.name == status
    if speed < 0.0:
        assert found.time == pytest.approx(-1.0 / speed, abs=1e-9)
        assert found.overlap_time >= found.time
    with_ball = time_of_impact(Sphere(0.25), np.eye(4), HalfSpace(), spinning, duration=1.5)
    assert with_ball.status.name == status


@pytest.mark.parametrize("motion", [lambda pose: pose, lambda pose: Motion.screw(pose, np.ones(6))])
def test_complex_poses_are_refused(motion):
    with pytest.raises(ValueError, match="must be real, found complex"):
        time_of_impact(Sphere(1.0), np.eye(4), Sphere(1.0), motion(np.eye(4) * (1.0 + 1.0j)))


@pytest.mark.parametrize(
    "shape",
    [Sphere(1.0), Box((2.0, 2.0, 2.0)), Superovoid((1.0, 0.8, 0.9), section_exponent=0.7, profile_exponent=0.8)],
)
@pytest.mark.parametrize(("speed", "duration"), [(1.0, 1e15), (1e15, 1.0)])
def test_separate_bodies_never_start_in_contact_on_any_path(shape, speed, duration):
    apart = np.eye(4)
    apart[0, 3] = 12.0
    moving = Motion(apart, (speed, 0.0, 0.0), (0.0, 0.0, 0.0))
    found = time_of_impact(shape, np.eye(4), shape, moving, duration=duration)
    assert found.status.name in ("UNPROVEN", "FREE"), found
    assert found.overlap_time == math.inf


@pytest.mark.parametrize(
    "shape",
    [Sphere(1.0), Box((2.0, 2.0, 2.0)), Superovoid((1.0, 0.8, 0.9), section_exponent=0.7, profile_exponent=0.8)],
)
def test_motions_beyond_double_precision_are_refused_by_name(shape):
    with pytest.raises(ValueError, match=r"Motion.angular .* no component may be larger than 1e\+100"):
        Motion(np.eye(4), (0.0, 0.0, 0.0), (0.0, 0.0, 2e154))
    with pytest.raises(ValueError, match=r"duration = 2e\+163: must be positive, and 1e\+50 at most"):
        time_of_impact(shape, np.eye(4), shape, np.eye(4), duration=2e163)
    assert (Motion(np.eye(4), (-1e-162, 0.0, 1e-20), (0.0, 0.0, 0.0)).linear == (0.0, 0.0, 1e-20)).all()


_NON_CONVEX = Superovoid((1.0, 1.0, 1.0), section_exponent=1.6, profile_exponent=0.2, taper=(0.4, -0.4))
_INSIDE = [
    Box((0.6, 0.6, 0.6)),
    Capsule(0.2, 0.3),
    Cylinder(0.2, 0.3),
    Cone(0.2, 0.3),
    Sphere(0.3),
    Torus(0.2, 0.05),
    Superovoid((0.3, 0.3, 0.3), section_exponent=1.6, profile_exponent=0.2, taper=(0.4, -0.4)),
]


@pytest.mark.parametrize("shape", _INSIDE, ids=[type(shape).__name__ for shape in _INSIDE])
def test_a_body_deep_in_a_non_convex_one_overlaps_it(shape):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec([0.3, 0.2, 0.1]).as_matrix()
    pose[:3, 3] = 0.1, 0.05, 0.0
    assert are_intersecting(_NON_CONVEX, np.eye(4), shape, pose).closer
    assert are_intersecting(shape, pose, _NON_CONVEX, np.eye(4)).closer
    assert are_closer([_NON_CONVEX, shape], np.eye(4), [shape, shape], pose, [0.0, -100.0]).closer.tolist() == [
        True,
        False,
    ]
    found = time_of_impact(_NON_CONVEX, np.eye(4), shape, pose)
    assert (found.status.name, found.time, found.overlap_time) == ("STARTS_IN_CONTACT", 0.0, 0.0)


def test_an_impact_counts_the_solves_of_its_verdict():
    pair = next(itertools.islice(random_pairs.draw("ends", 11, 1000), 47, None))
    verdict, found = are_intersecting(*pair), time_of_impact(*pair)
    assert verdict.closer and found.status is ImpactStatus.STARTS_IN_CONTACT
    assert found.statistics.solves == 1 + verdict.statistics.solves > 2


@pytest.mark.parametrize("shape", [Box((0.2, 0.2, 0.2)), Torus(0.15, 0.05), Sphere(0.1)])
def test_a_body_next_to_a_concavity_does_not_count_as_overlapping(shape):
    non_convex = Superovoid((1.0, 1.0, 1.0), section_exponent=1.9, profile_exponent=0.2, taper=(0.5, -0.5))
    pose = np.eye(4)
    pose[:3, 3] = 0.75, 0.75, 0.0
    assert not are_intersecting(non_convex, np.eye(4), shape, pose).closer
    assert time_of_impact(non_convex, np.eye(4), shape, pose).overlap_time == math.inf


def test_the_body_inside_a_non_convex_one_has_no_point_outside_it():
    rng = np.random.default_rng(5)
    asked = 0
    for _ in range(300):
        body = Superovoid.from_goncalves(
            10.0 ** rng.uniform(-1, 1, 3), rng.uniform(0.1, 1.9, 2), rng.uniform(-0.5, 0.5, 2)
        )
        row = np.zeros_like(body._row)
        fill_inside(body._row, row)
        if body._row[HAS_CONCAVITY] == 0.0:
            assert (row == body._row).all()
            continue
        asked += 1
        inside = Superovoid(row[A1 : A3 + 1], section_exponent=2.0 * row[INV_P], profile_exponent=2.0 * row[INV_S])
        points = inside.surface_point(rng.uniform(-0.5, 0.5, 200) * np.pi, rng.uniform(-1.0, 1.0, 200) * np.pi)
        assert np.nanmax(body.implicit(points)) < 1e-12
        assert inside.convexity().convex
    assert asked > 200

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sheets in one plane against half-spaces, in all queries; references use their vertices in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from superovoid import Body, Motion, Scene, are_closer, are_intersecting, distance, distances, time_of_impact
from superovoid.shapes import HalfSpace, Shell, Sphere

COUNT = 300
AXES = [np.eye(3)[[0, 1, 2]], np.eye(3)[[1, 2, 0]], np.eye(3)[[2, 0, 1]]]  # exact rotations


def flat_shell(rng):
    """Return triangles of points i u + j v with integers, times a power of two: exactly coplanar."""
    while True:
        u, v = rng.integers(-7, 8, (2, 3))
        if rng.random() < 0.3:
            u[2] = v[2] = 0
        steps = rng.integers(-30, 31, (int(rng.integers(3, 12)), 2))
        if np.any(np.cross(u, v)) and np.linalg.matrix_rank(steps[1:] - steps[0]) == 2:
            break
    scale = 2.0 ** rng.integers(-12, 4)
    faces = [(0, i, i + 1) for i in range(1, len(steps) - 1)]
    return Shell(scale * (steps @ [u, v]), faces)


def pose_of(rng, shell, index):
    """Return a pose with the lowest vertex near a chosen height over z = 0, and that height as a fraction."""
    pose = np.eye(4)
    pose[:3, :3] = AXES[index % 3]
    size = np.ptp(shell.vertices, axis=0).max()
    lowest = (shell.vertices @ pose[:3, :3].T)[:, 2].min()
    wanted = [size * rng.uniform(-1, 2), 5e-10 * size, -5e-10 * size, size * rng.uniform(1e-3, 1e-1)][index % 4]
    pose[:3, 3] = [*rng.uniform(-1.0, 1.0, 2), wanted - lowest]
    return pose, least_height(shell, pose)


def least_height(shell, pose):
    heights = [sum(Fraction(r) * Fraction(x) for r, x in zip(pose[2, :3], p, strict=True)) for p in shell.vertices]
    return min(heights) + Fraction(pose[2, 3])


def cases(seed=41):
    rng = np.random.default_rng(seed)
    shells = [flat_shell(rng) for _ in range(COUNT - 6)]
    half = 500.0
    square = [(-half, -half, 0.0), (half, -half, 0.0), (half, half, 0.0), (-half, half, 0.0)]
    shells += [Shell(square, [(0, 1, 2), (0, 2, 3)])] * 6
    return [(shell, *pose_of(rng, shell, i)) for i, shell in enumerate(shells)]


CASES = cases()


def holds(lower, upper, truth):
    return Fraction(float(lower)) <= truth <= Fraction(float(upper))


def test_intervals_against_planes_contain_the_exact_distance():
    shells, poses, _ = zip(*CASES, strict=True)
    many = distances(shells, np.array(poses), HalfSpace(), np.eye(4))
    for i, (shell, pose, truth) in enumerate(CASES):
        for found in (
            distance(shell, pose, HalfSpace(), np.eye(4)),
            distance(HalfSpace(), np.eye(4), shell, pose),
            many[i],
        ):
            assert holds(found.lower, found.upper, truth), (i, found, float(truth))
            assert found.upper - found.lower <= 1e-6 * np.ptp(shell.vertices, axis=0).max()


def test_verdicts_against_planes_agree_with_the_exact_distance():
    for shell, pose, truth in CASES:
        size = np.ptp(shell.vertices, axis=0).max()
        for offset in (-3e-10 * size, 0.0, 3e-10 * size):
            threshold = float(truth) + offset
            answer = are_closer(shell, pose, HalfSpace(), np.eye(4), threshold)
            assert holds(answer.lower, answer.upper, truth)
            assert not answer.closer or truth < Fraction(threshold)
            assert not answer.farther or truth > Fraction(threshold)
        met = are_intersecting(shell, pose, HalfSpace(), np.eye(4))
        assert not met.closer or truth <= 0
        assert not met.farther or truth > 0
    shells, poses, truths = zip(*CASES, strict=True)
    answers = are_closer(shells, np.array(poses), HalfSpace(), np.eye(4), 0.0)
    assert all(holds(*ends, truth) for *ends, truth in zip(answers.lower, answers.upper, truths, strict=True))


def test_scenes_with_planes_contain_the_exact_distance():
    for shell, pose, truth in CASES:
        scene = Scene([Body("sheet", "sheet", shell), Body("floor", "floor", HalfSpace())])
        scene.set_link_poses({"sheet": pose, "floor": np.eye(4)})
        found = scene.query()
        assert holds(found.lower[0], found.upper[0], truth)


def test_impacts_on_planes_have_the_exact_time():
    for shell, pose, truth in CASES[::5]:
        size = np.ptp(shell.vertices, axis=0).max()
        if truth <= Fraction(1e-3 * size):
            continue
        falling = Motion(pose, [0.0, 0.0, -1.0], [0.0, 0.0, 0.0])
        found = time_of_impact(shell, falling, HalfSpace(), np.eye(4), duration=4.0 * float(truth))
        assert Fraction(found.time) <= truth <= Fraction(found.time) + Fraction(1e-5 * size), (found, float(truth))
        assert truth <= found.overlap_time


def test_boxes_and_support_values_are_those_of_the_vertices():
    for shell, _, _ in CASES[:60]:
        lower, upper = shell.vertices.min(axis=0), shell.vertices.max(axis=0)
        for sign, most in ((1.0, upper), (-1.0, -lower)):
            assert np.array_equal(shell.support_value(sign * np.eye(3)), most)
        assert np.array_equal(shell.obb().half_extents, 0.5 * (upper - lower))


@pytest.mark.parametrize("height", [1e-3, 0.0501, 1.0])
def test_balls_over_a_sheet_keep_their_distance(height):
    sheet = Shell([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    pose = np.eye(4)
    pose[2, 3] = height
    found = distance(sheet, np.eye(4), Sphere(0.0005), pose)
    assert holds(found.lower, found.upper, Fraction(height) - Fraction(0.0005))

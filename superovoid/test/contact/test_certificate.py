# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proofs of poses in a motion, and of bodies whose numbers underflow."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Superovoid, distance

from draws import mild_superovoid, unit


def test_underflowing_heights_at_a_sharp_equator_certify_no_depth():
    """w grows with the 75th power of the slope: some directions of a cap have heights below 1e-200."""
    a = Superovoid(
        (1.0832152015911136, 0.14722016166808374, 0.36705873047153154),
        section_exponent=1.5347796236021194,
        profile_exponent=1.9733290428238262,
        taper=(0.017642938671654788,) * 2,
    )
    b = Superovoid(
        (0.3501734913975468, 3.5909578340097177, 3.278541900622695),
        section_exponent=1.534019678570279,
        profile_exponent=0.7391509135524947,
        taper=(-0.05662212740671857,) * 2,
    )
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3] = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    cosine, sine = 0.891122173076826, 0.45376345451218886
    pose_b[:3, :3] = ((0.0, cosine, -sine), (0.0, sine, cosine), (1.0, 0.0, 0.0))
    pose_b[2, 3] = -0.1799496211513848
    result = distance(a, pose_a, b, pose_b)
    n = np.array((-0.00806837, -0.010895, -0.9999081))
    n /= np.linalg.norm(n)
    # Points of the bodies lie short of their supports, so this is at least g(n), and `upper` must be at least g(n).
    towards_a, towards_b = pose_a[:3, :3].T @ n, -pose_b[:3, :3].T @ n
    gap = n @ pose_b[:3, 3] - a.support(towards_a) @ towards_a - b.support(towards_b) @ towards_b
    assert gap == pytest.approx(-0.3174256846, abs=1e-10)
    assert result.lower <= result.distance <= result.upper and result.upper >= gap - 1e-12


def test_carried_proofs_claim_nothing_that_a_cold_search_refutes():
    rng = np.random.default_rng(4)
    carried = 0
    for _ in range(60):
        bodies = [Body(name, name, mild_superovoid(rng, (0.2, 1.4))) for name in ("a", "b")]
        if not all(body.shape.convexity().convex for body in bodies):
            continue
        scene = Scene(bodies)
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
        pose[:3, 3] = unit(rng) * rng.uniform(0.1, 0.8)
        step = np.eye(4)
        size = math.exp(rng.uniform(-9.0, -2.0))
        step[:3, :3] = Rotation.from_rotvec(size * unit(rng)).as_matrix()
        step[:3, 3] = size * unit(rng)
        for _ in range(12):
            pose = pose @ step
            scene.set_link_poses({"a": np.eye(4), "b": pose})
            warm = scene.query()
            cold = distance(bodies[0].shape, np.eye(4), bodies[1].shape, pose)
            assert warm.lower[0] <= cold.upper + 1e-12
            assert cold.lower <= warm.upper[0] + 1e-12
            carried += warm.status[0] == 0 and warm.distance[0] < 0.0
    assert carried > 100

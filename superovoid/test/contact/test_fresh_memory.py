# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers do not depend on what the memory of their working arrays held before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PAIRS = """
import numpy as np
from scipy.spatial.transform import Rotation
from superovoid import Superovoid, distance, distances

rng = np.random.default_rng(5)
# Along one direction of the search, a height of the second body is 1 + 2e-16.
first = Superovoid((2.401072601890963, 1.898701371776522, 2.0804925416024034), section_exponent=0.01,
                   profile_exponent=0.2565288393305746, taper=(-0.5, 0.06490204533725175))
second = Superovoid((35.20088513946901, 37.58751496518957, 27.88595609447528), section_exponent=1e-6,
                    profile_exponent=0.01)
pose_a, pose_b = np.eye(4), np.eye(4)
pose_a[:3, :3] = ((0.4706994107174212, 0.4566790363293712, -0.7549081550278481),
                  (-0.72653348913485, 0.6860814604556997, -0.03796470445710315),
                  (0.5005908048654245, 0.5663360198647542, 0.6547307528197646))
pose_b[:3, :3] = ((0.8529522725527536, -0.47916001571479094, -0.20707027813593964),
                  (-0.05411056242307208, 0.31339335985244327, -0.9480805076757229),
                  (0.5191767211473882, 0.8198721127960137, 0.24138196054810876))
pose_b[:3, 3] = -5.666123898651773, -22.791550850841396, 6.994669477847104
pairs = [(first, pose_a, second, pose_b)]
for k in range(300):
    shapes = [Superovoid(rng.uniform(0.3, 1.0, 3), section_exponent=rng.uniform(0.01, 1.9),
                         profile_exponent=rng.uniform(0.01, 1.9), taper=rng.uniform(-0.5, 0.5, 2)) for _ in "ab"]
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    pose[:3, 3] = rng.normal(size=3) * (0.1, 0.5)[k % 2]
    pairs.append((shapes[0], np.eye(4), shapes[1], pose))
a, poses_a, b, poses_b = zip(*pairs)
for r in [*(distance(*pair) for pair in pairs), distances(a, np.array(poses_a), b, np.array(poses_b))]:
    print(np.hstack([r.distance, r.lower, r.upper, np.ravel(r.point_a), np.ravel(r.normal)]).tobytes().hex())
"""


@pytest.mark.ci
def test_answers_do_not_depend_on_what_memory_held_before():
    found = []
    for fill in (None, "63", "128"):  # the C library fills new memory with the complement of this byte
        environment = {**os.environ, **({} if fill is None else {"MALLOC_PERTURB_": fill})}
        done = subprocess.run(
            [sys.executable, "-c", PAIRS], env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert len(found[0]) == 302
    for other in found[1:]:
        assert [i for i, (one, two) in enumerate(zip(found[0], other, strict=True)) if one != two] == []

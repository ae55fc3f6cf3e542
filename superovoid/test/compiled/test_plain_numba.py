# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The engine compiled by numba's public means alone, as with a version of numba that was not tried: same answers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import arm

UNTRIED = "99.0.0"
# Answers of every method of the engine; arguments: where they go, a robot, the version that numba is taken for (empty:
# its own), and "strict" for arithmetic as it is written.
ANSWERS = """
import sys
import numba
if sys.argv[3]:
    numba.__version__ = sys.argv[3]
import numpy as np
from scipy.spatial.transform import Rotation
from superovoid.compiled import jit
assert (jit.FORMS is None) == bool(sys.argv[3])
if sys.argv[4:] == ["strict"]:
    jit.FAST_MATH = False
import superovoid as s
rng = np.random.default_rng(8)
ring = s.Mesh(*[np.array(rows) for rows in (
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 0.2], [0.5, 0.5, 1]],
    [[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4], [0, 1, 5], [1, 2, 5], [2, 3, 5], [3, 0, 5]],
)])
def shape(kind):
    r = rng.uniform
    if kind == 0:
        return s.Superovoid.from_goncalves(r(0.2, 1.0, 3), r(0.1, 1.9, 2), r(-0.4, 0.4, 2))
    if kind == 1:
        return s.Superovoid.from_goncalves(r(0.2, 1.0, 3), r(0.4, 1.2, 2), np.full(2, r(-0.2, 0.2)))
    return (s.Sphere(r(0.2, 1)), s.Box(2.0 * r(0.2, 1, 3)), s.Capsule(r(0.2, 0.6), r(0.2, 1)),
            s.Cylinder(r(0.2, 0.6), r(0.2, 1)), s.Cone(r(0.2, 0.6), r(0.2, 1)), s.Torus(r(0.5, 1), r(0.1, 0.4)),
            s.ConvexMesh(rng.normal(size=(12, 3))), ring, s.HalfSpace())[kind - 2]
def pose(far):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(rng=rng).as_matrix()
    matrix[:3, 3] = far * rng.normal(size=3)
    return matrix
rows = {}
def keep(name, answer):
    for field in ("distance", "lower", "upper", "point_a", "point_b", "normal", "status", "iterations"):
        value = getattr(answer.statistics if field == "iterations" else answer, field)
        rows.setdefault(f"{name} {field}", []).append(np.atleast_1d(np.asarray(value, dtype=float)))
for a in range(10):
    for b in range(a, 11):
        for far in (0.1, 0.5, 1.5):
            keep("distance", s.distance(shape(a), pose(far), shape(b), pose(far)))
for far in (0.05, 0.1):
    for _ in range(100):
        keep("deep", s.distance(shape(0), pose(far), shape(0), pose(far)))
left, right = ([shape(k % 2) for k in range(400)] for _ in range(2))
keep("batch", s.distances(left, np.array([pose(0.5) for _ in left]), right, np.array([pose(1.2) for _ in right])))
for kinds in ((0, 1), range(10)):
    scene = s.Scene([s.Body(f"body {i}", f"link {i}", shape(kinds[i % len(kinds)])) for i in range(30)])
    poses = np.array([pose(1.0) for _ in range(30)])
    for most in (None, 5):
        for _ in range(3):
            poses[:, :3, 3] += 0.01 * rng.normal(size=(30, 3))
            scene.set_link_poses(poses)
            keep("scene", scene.query(max_distance=0.2, max_results=most))
for kind in (0, 1, 3, 5):
    a, b, at, other = shape(kind), shape(1), pose(0.1), pose(1.0)
    verdict = s.are_closer(a, at, b, other, 0.3)
    rows.setdefault("closer", []).append(np.array([verdict.lower, verdict.upper, float(verdict.proof)]))
    motions = (s.Motion(place, *rng.normal(size=(2, 3))) for place in (at, other))
    found = s.time_of_impact(a, next(motions), b, next(motions))
    rows.setdefault("impact", []).append(np.array([found.time, found.overlap_time, float(found.status)]))
for far in (0.3, 2.0):
    a, b, at, other = shape(1), shape(1), pose(0.1), pose(far)
    found = s.derivatives(a, at, b, other, s.distance(a, at, b, other))
    for part in (found.by_pose_a, found.by_shape_b, found.relative_curvatures):
        rows.setdefault("derivatives", []).append(np.ravel(part))
robot = s.Robot.from_urdf(open(sys.argv[2]).read())
positions, bases = rng.uniform(0.0, 1.0, (50, 2)), {"ball": pose(1.0)}
states = s.state_distances(robot, robot.scene(), positions, base_poses=bases, gradients=True)
keep("states", states)
rows["states by joint"] = [np.ravel(states.gradients)]
np.savez(sys.argv[1], **{name: np.concatenate(parts) for name, parts in rows.items()})
"""


def answers(folder, version="", strict=False):
    """Answers by the numba that is there, or as if it were another version; strict: without what `fastmath` allows."""
    (folder / "arm.urdf").write_text(arm.URDF)
    command = [sys.executable, "-c", ANSWERS, str(folder / "answers.npz"), str(folder / "arm.urdf"), version]
    more = {"SUPEROVOID_CACHE_DIR": str(folder / "cache")} if version or strict else {}
    command += ["strict"] if strict else []
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "answers.npz") as found:
        return dict(found)


# Each compiles the whole engine the slow way, which takes minutes.


@pytest.mark.slow
def test_plain_numba_gives_the_same_answers_to_the_last_bit(tmp_path):
    """Where multiplications and additions are not fused: which are is up to what the optimiser sees at once."""
    for name in ("ours", "plain"):
        (tmp_path / name).mkdir()
    ours = answers(tmp_path / "ours", strict=True)
    plain = answers(tmp_path / "plain", UNTRIED, strict=True)
    assert ours.keys() == plain.keys()
    for name, column in ours.items():
        np.testing.assert_array_equal(plain[name], column, err_msg=name)


@pytest.mark.slow
def test_plain_numba_proves_intervals_that_meet_ours(tmp_path):
    for name in ("ours", "plain"):
        (tmp_path / name).mkdir()
    ours, plain = answers(tmp_path / "ours"), answers(tmp_path / "plain", UNTRIED)
    for what in ("distance", "deep", "batch", "scene", "states"):
        np.testing.assert_array_equal(plain[f"{what} status"], ours[f"{what} status"])
        for one, other in ((ours, plain), (plain, ours)):
            assert (one[f"{what} lower"] <= other[f"{what} upper"]).all()
            assert (one[f"{what} lower"] <= other[f"{what} distance"] + 1e-12).all()
        np.testing.assert_allclose(plain[f"{what} distance"], ours[f"{what} distance"], rtol=0, atol=1e-9)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Common normals of any two quadrics: those of ellipsoids, and all those of a search from random starts."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Cone, Ellipsoid
from superovoid_papers.methods.lopes2010 import Quadric
from superovoid_papers.methods.sohn2002 import common_normals

FAMILIES = {
    "ellipsoid": lambda rng: Quadric(rng.uniform(0.3, 2.0, 3)),
    "one sheet": lambda rng: Quadric(rng.uniform(0.3, 2.0, 3) * (1.0, 1.0, -1.0)),
    "two sheets": lambda rng: Quadric(rng.uniform(0.3, 2.0, 3) * (-1.0, 1.0, -1.0)),
    "round": lambda rng: Quadric((0.5, 0.5, -rng.uniform(0.3, 2.0))),
    "bowl": lambda rng: Quadric((*rng.uniform(0.3, 2.0, 2), 0.0), (0.0, 0.0, rng.choice((-1.0, 1.0)))),
    "saddle": lambda rng: Quadric((-rng.uniform(0.3, 2.0), 0.0, rng.uniform(0.3, 2.0)), (0.0, 1.0, 0.0)),
}


def pose(rng, reach=2.0):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(rng=rng).as_matrix()
    matrix[:3, 3] = reach * rng.normal(size=3)
    return matrix


def place(quadric, at):
    """Return a function for F and gradient of a quadric in the world, and its Hessian."""
    squares, linear, turn = np.array(quadric.coefficients), np.array(quadric.linear), at[:3, :3]
    bend = 2.0 * turn @ np.diag(squares) @ turn.T

    def evaluate(x):
        local = (x - at[:3, 3]) @ turn
        return (local**2) @ squares + local @ linear - 1.0, (2.0 * squares * local + linear) @ turn.T

    return evaluate, bend


def search(a, pose_a, b, pose_b, rng, starts=400):
    """Solve y - x = l grad F_A = m grad F_B, F_A = F_B = 0 by Newton from random starts; return feet, (n, 6)."""
    (f, bend_a), (g, bend_b) = place(a, pose_a), place(b, pose_b)
    z = np.concatenate([rng.normal(size=(starts, 6)) * rng.choice((1.0, 3.0, 9.0), (starts, 1)),
                        2.0 * rng.normal(size=(starts, 2))], axis=1)  # fmt: skip
    eye = np.eye(3)
    for _ in range(60):
        x, y, l_, m_ = z[:, :3], z[:, 3:6], z[:, 6:7], z[:, 7:]
        (value_a, n), (value_b, k) = f(x), g(y)
        right = np.concatenate([y - x - l_ * n, y - x - m_ * k, value_a[:, None], value_b[:, None]], axis=1)
        system = np.zeros((starts, 8, 8))
        system[:, :3, :3], system[:, :3, 3:6], system[:, :3, 6] = -eye - l_[:, :, None] * bend_a, eye, -n
        system[:, 3:6, :3], system[:, 3:6, 3:6], system[:, 3:6, 7] = -eye, eye - m_[:, :, None] * bend_b, -k
        system[:, 6, :3], system[:, 7, 3:6] = n, k
        step = np.linalg.solve(system + 1e-11 * rng.normal(size=system.shape), -right[:, :, None])[:, :, 0]
        z = z + step * np.minimum(1.0, 3.0 / (1e-300 + np.linalg.norm(step, axis=1, keepdims=True)))
    between = np.linalg.norm(z[:, :3] - z[:, 3:6], axis=1)  # 0 if the surfaces meet: all common points are solutions
    good = (np.abs(right).max(axis=1) < 1e-9) & (np.abs(z[:, :6]).max(axis=1) < 300.0) & (between > 1e-3)
    found = []
    for row in z[good, :6]:
        if not any(np.abs(row - other).max() < 1e-5 for other in found):
            found.append(row)
    return np.array(found).reshape(-1, 6)


@pytest.mark.ci
@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(FAMILIES, 2)), ids="-".join)
def test_all_common_normals_are_found_and_valid(kinds):
    rng = np.random.default_rng([list(FAMILIES).index(kind) for kind in kinds])
    a, b = (FAMILIES[kind](rng) for kind in kinds)
    pose_a, pose_b = pose(rng), pose(rng)
    found = common_normals(a, pose_a, b, pose_b)
    for x, y, n, m in zip(found.point_a, found.point_b, found.normal_a, found.normal_b, strict=True):
        size = 1.0 + np.abs(x).max() + np.abs(y).max()
        for (evaluate, _), point, normal in ((place(a, pose_a), x, n), (place(b, pose_b), y, m)):
            value, gradient = evaluate(point)
            length = np.linalg.norm(gradient)
            assert abs(value) < 1e-9 * length * size and normal == pytest.approx(gradient / length, abs=1e-6)
            assert np.linalg.norm(np.cross(y - x, gradient / length)) < 1e-6 * size
    rows = np.hstack([found.point_a, found.point_b])
    expected = search(a, pose_a, b, pose_b, rng)
    assert len(expected) > 0
    for pair in expected:
        assert np.abs(rows - pair).max(axis=1).min() < 1e-5 * (1.0 + np.abs(pair).max())


def test_quadric_ellipsoids_have_the_common_normals_of_ellipsoids():
    rng = np.random.default_rng(0)
    for _ in range(10):
        sizes, poses = rng.uniform(0.3, 2.0, (2, 3)), (pose(rng), pose(rng))
        ours = common_normals(Ellipsoid(sizes[0]), poses[0], Ellipsoid(sizes[1]), poses[1])
        theirs = common_normals(Quadric.ellipsoid(sizes[0]), poses[0], Ellipsoid(sizes[1]), poses[1])
        assert theirs.complete and len(theirs) == len(ours)
        assert np.sort(theirs.gap) == pytest.approx(np.sort(ours.gap), abs=1e-12)


def test_swapping_quadrics_swaps_the_feet():
    rng = np.random.default_rng(4)
    a, b, poses = FAMILIES["one sheet"](rng), FAMILIES["two sheets"](rng), (pose(rng), pose(rng))
    there, back = common_normals(a, poses[0], b, poses[1]), common_normals(b, poses[1], a, poses[0])
    pairs = [np.hstack(order) for order in ((there.point_a, there.point_b), (back.point_b, back.point_a))]
    assert len(pairs[0]) == len(pairs[1]) > 0
    for row in pairs[0]:
        assert np.abs(pairs[1] - row).max(axis=1).min() < 1e-9 * (1.0 + np.abs(row).max())


def test_normals_of_a_ball_below_a_paraboloid_pass_through_its_centre():
    at = np.eye(4)
    at[:3, 3] = (0.0, 0.0, -3.0)
    found = common_normals(
        Quadric.ellipsoid((1.0, 1.0, 1.0)), at, Quadric((1.0, 0.5, 0.0), (0.0, 0.0, -1.0)), np.eye(4)
    )
    # The paraboloid is z = x^2 + y^2 / 2 - 1, and its vertex the only foot below it.
    assert len(found) == 2 and sorted(np.abs(found.gap)) == pytest.approx([1.0, 3.0])


@pytest.mark.parametrize(
    "other, message",
    [
        (Quadric((1.0, 1.0, 0.0)), "b = .* found a cylinder"),
        (Quadric((-1.0, -1.0, -2.0)), "b = .* has no real points"),
        (Cone(1.0, 1.0), "b = .* must be a Quadric, or an ellipsoid with a Quadric"),
    ],
)
def test_arguments_other_than_regular_quadrics_are_named(other, message):
    with pytest.raises(ValueError, match=message):
        common_normals(Quadric((1.0, 1.0, -1.0)), np.eye(4), other, np.eye(4))

"""What every answer promises of its points and its normal, checked by formulas that share no code with the engine."""

import numpy as np
import pytest

from superovoid_ros import Status, Superovoid, distance
from superovoid_ros.experiments import contract


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

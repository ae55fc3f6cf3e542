# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pink: barriers are distances less a margin; inverse kinematics with one keeps clear of a ball."""

import numpy as np
import pytest

pinocchio = pytest.importorskip("pinocchio")
pytest.importorskip("coal")
pink = pytest.importorskip("pink")
from capsule_arm import arm  # noqa: E402

from superovoid.pink import DistanceBarrier  # noqa: E402
from superovoid.pinocchio import CollisionDistances  # noqa: E402


@pytest.mark.parametrize("free", [False, True])
def test_barriers_are_distances_less_the_margin(free):
    model, geometry = arm(free)
    barrier, ask = DistanceBarrier(model, geometry, margin=0.1, gain=3.0), CollisionDistances(model, geometry)
    rng, data = np.random.default_rng(1), (model.createData(), geometry.createData())
    for _ in range(3):
        q = pinocchio.integrate(model, pinocchio.neutral(model), 0.3 * rng.standard_normal(model.nv))
        configuration, (results, by_velocity) = pink.Configuration(model, data[0], q), ask(*data, q)
        assert np.array_equal(barrier.compute_barrier(configuration), results.lower - 0.1)
        assert np.array_equal(barrier.compute_jacobian(configuration), by_velocity)
        matrix, bounds = barrier.compute_qp_inequalities(configuration, 0.01)
        assert np.abs(matrix + by_velocity / 0.01).max() <= 1e-12 * np.abs(matrix).max()
        assert bounds == pytest.approx(3.0 * (results.lower - 0.1))


def test_inverse_kinematics_keeps_clear_of_the_ball():
    model, geometry = arm()
    ask, data = CollisionDistances(model, geometry), (model.createData(), geometry.createData())
    least = []
    for barriers in ([], [DistanceBarrier(model, geometry, margin=0.03, gain=20.0)]):
        configuration = pink.Configuration(model, model.createData(), np.array([-0.9, 1.1, 0.3]))
        task = pink.tasks.PostureTask(cost=1.0, gain=0.05)
        task.set_target(np.array([0.9, 1.1, 0.3]))
        found = []
        for _ in range(80):
            v = pink.solve_ik(configuration, [task], 0.01, solver="quadprog", barriers=barriers, safety_break=False)
            configuration.integrate_inplace(v, 0.01)
            found.append(ask(*data, configuration.q).results.distance.min())
        least.append(min(found))
    assert least[0] < 0.0 and least[1] > 0.029

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Crocoddyl: residuals are the distances; derivatives those of its differences; a trajectory keeps clear."""

import numpy as np
import pytest

pinocchio = pytest.importorskip("pinocchio")
pytest.importorskip("coal")
crocoddyl = pytest.importorskip("crocoddyl")
from capsule_arm import arm  # noqa: E402

from superovoid.crocoddyl import ResidualModelDistances  # noqa: E402
from superovoid.pinocchio import CollisionDistances  # noqa: E402


def clearance_cost(state, geometry, margin, activated=True):
    """Return a cost of distances below a margin."""
    residual = ResidualModelDistances(state, geometry)
    bounds = crocoddyl.ActivationBounds(np.full(residual.nr, margin), np.full(residual.nr, 1e3))
    barrier = crocoddyl.ActivationModelQuadraticBarrier(bounds)
    quadratic = crocoddyl.ActivationModelQuad(residual.nr)
    return crocoddyl.CostModelResidual(state, barrier if activated else quadratic, residual)


@pytest.mark.parametrize("free", [False, True])
def test_residuals_are_distances_and_derivatives_those_of_differences(free):
    pinocchio.seed(3)
    model, geometry = arm(free)
    state = crocoddyl.StateMultibody(model)
    costs = crocoddyl.CostModelSum(state)
    costs.addCost("distances", clearance_cost(state, geometry, 0.1, activated=False), 1.0)
    action = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, crocoddyl.ActuationModelFull(state), costs)
    numeric = crocoddyl.DifferentialActionModelNumDiff(action)
    q = pinocchio.integrate(model, pinocchio.neutral(model), 0.4 * np.random.default_rng(2).standard_normal(model.nv))
    x, u = np.concatenate([q, np.zeros(model.nv)]), np.zeros(model.nv)
    data, expected = action.createData(), numeric.createData()
    for each, of in ((action, data), (numeric, expected)):
        each.calc(of, x, u)
        each.calcDiff(of, x, u)
    found = CollisionDistances(model, geometry)(model.createData(), geometry.createData(), q)
    residual = data.costs.costs["distances"].residual
    assert np.array_equal(residual.r, found.results.distance)
    assert np.array_equal(residual.Rx, np.pad(found.by_velocity, ((0, 0), (0, model.nv))))
    assert np.abs(data.Lx).max() > 0.01 and np.abs(data.Lx - expected.Lx).max() < 1e-5
    assert np.abs(data.Lxx - residual.Rx.T @ residual.Rx).max() < 1e-12  # Gauss and Newton's


def test_a_trajectory_keeps_clear_of_the_ball():
    model, geometry = arm()
    model.gravity = pinocchio.Motion.Zero()
    state = crocoddyl.StateMultibody(model)
    start, end = np.array([-0.9, 1.1, 0.3, 0, 0, 0]), np.array([0.9, 1.1, 0.3, 0, 0, 0])
    least = []
    for weight in (0.0, 1e4):
        costs, last = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
        for each, goal in ((costs, 0.01), (last, 1e3)):
            reach = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, end, model.nv))
            each.addCost("reach", reach, goal)
            each.addCost("clear", clearance_cost(state, geometry, 0.03), weight)
        effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, model.nv))
        costs.addCost("effort", effort, 1e-3)
        full = crocoddyl.ActuationModelFull(state)
        actions = [crocoddyl.DifferentialActionModelFreeFwdDynamics(state, full, each) for each in (costs, last)]
        running, terminal = (
            crocoddyl.IntegratedActionModelEuler(each, step) for each, step in zip(actions, (0.05, 0.0), strict=True)
        )
        problem = crocoddyl.ShootingProblem(start, [running] * 20, terminal)
        solver = crocoddyl.SolverFDDP(problem)
        solver.solve([start] * 21, problem.quasiStatic([start] * 20), 60)
        ask, data, places = CollisionDistances(model, geometry), model.createData(), geometry.createData()
        least.append(min(ask(data, places, x[:3]).results.distance.min() for x in solver.xs))
        assert np.abs(solver.xs[-1][:3] - end[:3]).max() < 0.1
    assert least[0] < 0.0 < 0.01 < least[1]

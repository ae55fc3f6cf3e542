# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
An arm past a ball by crocoddyl
===============================

`superovoid.crocoddyl` makes a residual of the distances of all collision pairs of a node. With a barrier on it, the
differential dynamic programming of crocoddyl finds a motion that keeps about 3 cm from a ball.
"""

import coal
import crocoddyl
import matplotlib.pyplot as plt
import numpy as np
import pinocchio

from superovoid.crocoddyl import ResidualModelDistances
from superovoid.pinocchio import CollisionDistances
from superovoid_ros.pictures import BLUE, GREY, ORANGE

model, geometry, joint = pinocchio.Model(), pinocchio.GeometryModel(), 0
middle = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))
for i, kind in enumerate((pinocchio.JointModelRZ(), pinocchio.JointModelRY(), pinocchio.JointModelRY())):
    origin = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.4 * (i > 0)]))
    joint = model.addJoint(joint, kind, origin, f"joint {i}")
    model.appendBodyToJoint(joint, pinocchio.Inertia.FromCylinder(1.0, 0.05, 0.4), middle)
    geometry.addGeometryObject(pinocchio.GeometryObject(f"link {i}", joint, middle, coal.Capsule(0.05, 0.3)))
place = pinocchio.SE3(np.eye(3), np.array([0.45, 0.0, 0.7]))
geometry.addGeometryObject(pinocchio.GeometryObject("ball", 0, place, coal.Ellipsoid(0.15, 0.1, 0.12)))
for i in range(3):
    geometry.addCollisionPair(pinocchio.CollisionPair(i, 3))
model.gravity = pinocchio.Motion.Zero()
state, margin = crocoddyl.StateMultibody(model), 0.03
start, end = (np.array([turn, 1.1, 0.3, 0.0, 0.0, 0.0]) for turn in (-0.9, 0.9))
bounds = crocoddyl.ActivationBounds(np.full(3, margin), np.full(3, 1e3))
barrier = crocoddyl.ActivationModelQuadraticBarrier(bounds)
clear = crocoddyl.CostModelResidual(state, barrier, ResidualModelDistances(state, geometry))
reach = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, end, model.nv))
effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, model.nv))
ask, data, places = CollisionDistances(model, geometry), model.createData(), geometry.createData()
for weight, colour in ((0.0, GREY), (1e4, BLUE)):
    actions = []
    for goal, step in ((0.01, 0.05), (1e3, 0.0)):  # running, terminal
        costs = crocoddyl.CostModelSum(state)
        for name, cost, factor in (("reach", reach, goal), ("effort", effort, 1e-3), ("clear", clear, weight)):
            costs.addCost(name, cost, factor)
        dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, crocoddyl.ActuationModelFull(state), costs)
        actions.append(crocoddyl.IntegratedActionModelEuler(dynamics, step))
    problem = crocoddyl.ShootingProblem(start, [actions[0]] * 20, actions[1])
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([start] * 21, problem.quasiStatic([start] * 20), 60)
    least = [1e3 * ask(data, places, x[:3]).results.distance.min() for x in solver.xs]
    plt.plot(least, color=colour, marker="o", label=f"weight {weight:g}: {min(least):.1f} mm")
plt.axhline(1e3 * margin, color=ORANGE)
plt.gca().set(xlabel="node", ylabel="least distance [mm]")
plt.legend()
plt.show()

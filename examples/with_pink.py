# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse kinematics past a ball by Pink
======================================

`superovoid.pink` makes a barrier of the distances of all collision pairs of a pinocchio model. An arm follows a posture
on the other side of a ball, once without the barrier and once with it.
"""

import coal
import matplotlib.pyplot as plt
import numpy as np
import pink
import pinocchio

from superovoid.pink import DistanceBarrier
from superovoid.pinocchio import CollisionDistances
from superovoid_ros.pictures import BLUE, GREY, ORANGE

model, geometry, joint = pinocchio.Model(), pinocchio.GeometryModel(), 0
middle = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))
for i, kind in enumerate((pinocchio.JointModelRZ(), pinocchio.JointModelRY(), pinocchio.JointModelRY())):
    origin = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.4 * (i > 0)]))
    joint = model.addJoint(joint, kind, origin, f"joint {i}")
    geometry.addGeometryObject(pinocchio.GeometryObject(f"link {i}", joint, middle, coal.Capsule(0.05, 0.3)))
place = pinocchio.SE3(np.eye(3), np.array([0.45, 0.0, 0.7]))
geometry.addGeometryObject(pinocchio.GeometryObject("ball", 0, place, coal.Ellipsoid(0.15, 0.1, 0.12)))
for i in range(3):
    geometry.addCollisionPair(pinocchio.CollisionPair(i, 3))

margin, step = 0.03, 0.01  # m, s
ask, data = CollisionDistances(model, geometry), (model.createData(), geometry.createData())
barrier = DistanceBarrier(model, geometry, margin=margin, gain=20.0)
for barriers, colour in (([], GREY), ([barrier], BLUE)):
    configuration = pink.Configuration(model, data[0], np.array([-0.9, 1.1, 0.3]))
    task = pink.tasks.PostureTask(cost=1.0, gain=0.05)
    task.set_target(np.array([0.9, 1.1, 0.3]))
    least = []
    for _ in range(80):
        v = pink.solve_ik(configuration, [task], step, solver="quadprog", barriers=barriers, safety_break=False)
        configuration.integrate_inplace(v, step)
        least.append(1e3 * ask(*data, configuration.q).results.distance.min())
    plt.plot(least, color=colour, label=f"{'with' if barriers else 'without'} barrier: {min(least):.1f} mm")
plt.axhline(1e3 * margin, color=ORANGE)
plt.gca().set(xlabel="step", ylabel="least distance [mm]")
plt.legend()
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An arm of pinocchio next to a ball, for the tests of the bridges."""

import coal
import numpy as np
import pinocchio


def arm(free=False):
    """Return an arm of capsules next to a ball that is fixed in the world, on a free-flyer or not."""
    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    parent = 0
    if free:
        parent = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "base")
        model.appendBodyToJoint(parent, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    for i, joint in enumerate((pinocchio.JointModelRZ(), pinocchio.JointModelRY(), pinocchio.JointModelRY())):
        place = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.4 * (i > 0)]))
        parent = model.addJoint(parent, joint, place, f"j{i}")
        middle = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))
        model.appendBodyToJoint(parent, pinocchio.Inertia.FromCylinder(1.0, 0.05, 0.4), middle)
        geometry.addGeometryObject(pinocchio.GeometryObject(f"l{i}", parent, middle, coal.Capsule(0.05, 0.3)))
    ball = pinocchio.SE3(np.eye(3), np.array([0.45, 0.0, 0.7]))
    geometry.addGeometryObject(pinocchio.GeometryObject("ball", 0, ball, coal.Ellipsoid(0.15, 0.1, 0.12)))
    for i in range(3):
        geometry.addCollisionPair(pinocchio.CollisionPair(i, 3))
    geometry.addCollisionPair(pinocchio.CollisionPair(0, 2))
    return model, geometry

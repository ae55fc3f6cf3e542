# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Gradients in PyTorch
====================

`superovoid.torch` makes distances differentiable by poses and by shape parameters. Adam finds the largest egg with a
clearance of 2 mm between three bodies: its size, taper and place.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.spatial.transform import RigidTransform

from superovoid import Box, Capsule, Cylinder, Superovoid
from superovoid.bridging import Shapes
from superovoid.torch import distances
from superovoid_ros.pictures import GREY, ORANGE, draw_bodies

bodies = [Box((0.1, 0.1, 0.02)), Cylinder(0.02, 0.1), Capsule(0.015, 0.08)]
poses = np.tile(np.eye(4), (3, 1, 1))
poses[:, :3, 3] = (0.0, 0.0, -0.03), (-0.05, 0.0, 0.03), (0.03, 0.0, 0.06)
poses[2] = poses[2] @ RigidTransform.from_exp_coords([0.0, 0.9, 0.0, 0.0, 0.0, 0.0]).as_matrix()
margin = 0.002  # m

sizes = torch.full((3,), np.log(0.01), dtype=torch.float64, requires_grad=True)  # logarithms of the semi-axes
tapers = torch.zeros(2, dtype=torch.float64, requires_grad=True)
place = torch.zeros(3, dtype=torch.float64, requires_grad=True)
exponents = torch.tensor([1.0, 0.9], dtype=torch.float64)


def ask():
    """Return the parameters and the pose of the egg, and its distances."""
    parameters = torch.cat([sizes.exp(), exponents, tapers])
    pose = torch.eye(4, dtype=torch.float64)
    pose[:3, 3] = place
    return parameters, pose, distances(Shapes(Superovoid, parameters), pose, bodies, poses)


parts = [{"params": [sizes, tapers], "lr": 0.02}, {"params": [place], "lr": 0.0005}]
optimiser = torch.optim.Adam(parts)
for step in range(400):
    parameters, pose, found = ask()
    short = torch.relu(margin - found.distance)
    loss = -sizes.sum() + 1e3 * short.sum() + 1e6 * (short**2).sum() + 1e2 * torch.relu(tapers.abs() - 0.3).sum()
    loss = loss + 1e3 * torch.relu(sizes.exp() - 0.04).sum()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 100 == 0:
        print(f"step {step}: volume {1e6 * sizes.sum().exp().item():.2f} ml, least {1e3 * found.distance.min():.3f} mm")

values = parameters.detach().numpy()
egg = Superovoid.from_goncalves(values[:3], values[3:5], values[5:])
shown = [(body, pose, GREY) for body, pose in zip(bodies, poses, strict=True)]
draw_bodies([*shown, (egg, pose.detach().numpy(), ORANGE)], towards=(0.3, -1.0, 0.2))
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Gradients in JAX
================

`superovoid.jax` makes distances differentiable under `jit`, `vmap` and `grad`. Gradient descent lowers a lid onto a row
of eggs: many starts at once, by `vmap`.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from superovoid import Box, Superovoid
from superovoid.jax import distances
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

jax.config.update("jax_enable_x64", True)
eggs = [Superovoid((0.01, 0.01, a), profile_exponent=0.9, taper=(0.2, 0.2)) for a in (0.010, 0.013, 0.016)]
places = np.tile(np.eye(4), (3, 1, 1))
places[:, 0, 3] = (-0.03, 0.0, 0.03)
lid = Box((0.1, 0.04, 0.004))


def pose_of(state):
    """Return the pose of the lid at a height, m, and an angle about y, rad."""
    height, angle = state
    c, s, zero, one = jnp.cos(angle), jnp.sin(angle), 0.0 * angle, 1.0 + 0.0 * angle
    rows = [(c, zero, s, zero), (zero, one, zero, zero), (-s, zero, c, height), (zero, zero, zero, one)]
    return jnp.stack([jnp.stack(row) for row in rows])


def energy(state):
    """Return the height of the lid, and a penalty for gaps below 0.1 mm."""
    gaps = distances(eggs, places, lid, pose_of(state)).distance
    return state[0] + 1e4 * jnp.sum(jnp.maximum(1e-4 - gaps, 0.0) ** 2)


@jax.jit
def step(states):
    """Return many states after a step of descent."""
    slopes = jax.vmap(jax.grad(energy))(states)
    return states - jnp.array([2e-5, 2e-2]) * slopes / jnp.maximum(1.0, jnp.abs(slopes))


states = jnp.array([(0.04, angle) for angle in np.linspace(-0.4, 0.4, 5)])
for _ in range(1500):
    states = step(states)
best = min(states, key=energy)
found = distances(eggs, places, lid, pose_of(best))
print(f"height {1e3 * best[0]:.3f} mm, angle {np.degrees(best[1]):.3f} deg, gaps {1e3 * np.array(found.distance)} mm")

shown = [(egg, place, ORANGE) for egg, place in zip(eggs, places, strict=True)]
draw_bodies([*shown, (lid, np.array(pose_of(best)), BLUE)], towards=(0.3, -1.0, 0.2))
plt.show()

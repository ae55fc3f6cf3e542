# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A batch.

`distances` takes arrays of pairs. Large batches are solved several pairs at a time in the lanes of the processor.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Superovoid, distances

PAIRS = 5000
random = np.random.default_rng(0)


def shapes():
    """Random superovoids of about 1 m."""
    sizes, exponents = random.uniform(0.5, 1.5, (PAIRS, 3)), random.uniform(0.5, 1.2, (PAIRS, 2))
    tapers = random.uniform(-0.15, 0.15, (PAIRS, 2))
    return [Superovoid.from_goncalves(*one) for one in zip(sizes, exponents, tapers, strict=True)]


def poses():
    """Random poses in a cube."""
    made = np.tile(np.eye(4), (PAIRS, 1, 1))
    made[:, :3, :3] = Rotation.random(PAIRS, rng=random).as_matrix()
    made[:, :3, 3] = random.uniform(-3.0, 3.0, (PAIRS, 3))
    return made


results = distances(shapes(), poses(), shapes(), poses())
certified = (results.status & 1) == 0
print(f"{len(results)} pairs, {np.count_nonzero(results.distance < 0.0)} overlap")
widths = (results.upper - results.lower)[certified]
print(f"{np.count_nonzero(certified)} are certified; widest interval of these {widths.max():.1e} m")

plt.figure(figsize=(6, 3))
plt.hist(results.distance, bins=80)
plt.xlabel("signed distance [m]")
plt.ylabel("pairs")
plt.savefig("batch.png", dpi=100, bbox_inches="tight")

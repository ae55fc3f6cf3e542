# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A batch
=======

`distances` takes arrays of pairs. Large batches are solved several pairs at a time in the lanes of the processor.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Superovoid, distances
from superovoid_ros.pictures import BLUE, RED

PAIRS = 2000
random = np.random.default_rng(0)


def shapes():
    """Return random superovoids of about 1 m."""
    sizes, exponents = random.uniform(0.5, 1.5, (PAIRS, 3)), random.uniform(0.5, 1.2, (PAIRS, 2))
    tapers = random.uniform(-0.15, 0.15, (PAIRS, 2))
    return [Superovoid.from_goncalves(*one) for one in zip(sizes, exponents, tapers, strict=True)]


def poses():
    """Return random poses in a cube."""
    made = np.tile(np.eye(4), (PAIRS, 1, 1))
    made[:, :3, :3] = Rotation.random(PAIRS, rng=random).as_matrix()
    made[:, :3, 3] = random.uniform(-3.0, 3.0, (PAIRS, 3))
    return made


results = distances(shapes(), poses(), shapes(), poses())
overlap = results.distance < 0.0
widths = (results.upper - results.lower)[results.certified]
print(f"{len(results)} pairs, {np.count_nonzero(overlap)} overlap, {np.count_nonzero(results.certified)} are certified")
print(f"widest certified interval {widths.max():.1e} m")

plt.figure(figsize=(6, 3))
plt.hist([results.distance[overlap], results.distance[~overlap]], bins=60, stacked=True, color=[RED, BLUE])
plt.xlabel("signed distance [m]")
plt.ylabel("pairs")
plt.legend(["overlapping", "apart"])
plt.tight_layout()
plt.show()

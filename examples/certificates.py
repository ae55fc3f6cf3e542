# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Reading certificates
====================

Each answer has a proved interval and a status. This script shows pairs with different flags in the status, and a safe
decision for all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import HalfSpace, Sphere, Status, Superellipsoid, Superovoid, distance
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

SAFE = 0.01  # m


def translation(*position):
    """Return the pose with this position."""
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


egg = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.0, taper=(0.2, 0.2))
block = Superellipsoid((0.02, 0.02, 0.02), section_exponent=0.1, profile_exponent=0.1)
pin = Superovoid((0.02, 0.02, 0.03), section_exponent=1.6, profile_exponent=1.6, taper=(0.5, 0.5))
pairs = {
    "two eggs apart": (egg, translation(0, 0, 0), egg, translation(0.1, 0.02, 0.0)),
    "closer than wanted": (egg, translation(0, 0, 0), egg, translation(0.049, 0.0, 0.0)),
    "flat on flat": (block, translation(0, 0, 0), block, translation(0.055, 0.0, 0.0)),
    "two in one place": (egg, translation(0, 0, 0), egg, translation(0, 0, 0)),
    "a body with a concavity": (pin, translation(0, 0, 0), Sphere(0.004), translation(0.02, 0.0, -0.012)),
    "far from the origin": (egg, translation(1e6, 0, 0), egg, translation(1e6 + 0.1, 0.0, 0.0)),
    "half-spaces": (HalfSpace(), translation(0, 0, 0), HalfSpace(), translation(0, 0, 1)),
}
_, panels = plt.subplots(1, 5, figsize=(10, 2.6))
for number, (name, pair) in enumerate(pairs.items()):
    result = distance(*pair)
    width = result.upper - result.lower if np.isfinite(result.lower) else 0.0
    decision = "go" if result.lower > SAFE else "stop" if result.upper <= SAFE else "stop: not proved either way"
    flags = [flag.name for flag in Status if flag & result.status] or ["CERTIFIED"]
    print(f"{name:23} {result.distance * 1e3:9.3f} mm  interval {width:7.1e} m  {' '.join(flags):16} {decision}")
    if number < 5:
        draw_bodies([(*pair[:2], BLUE), (*pair[2:], ORANGE)], result, towards=(0, -1, 0.2), axes=panels[number])
        panels[number].set_title(name, fontsize=9)
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reading certificates.

Each answer has a proved interval and a status. This script shows pairs for which the status has something to say, and
how a decision is made that is safe with all of them.
"""

import numpy as np

from superovoid import HalfSpace, Sphere, Status, Superellipsoid, Superovoid, distance

SAFE = 0.01  # m


def at(*position):
    """Pose with this position."""
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


egg = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.0, taper=(0.2, 0.2))
block = Superellipsoid((0.02, 0.02, 0.02), section_exponent=0.1, profile_exponent=0.1)
pin = Superovoid((0.02, 0.02, 0.03), section_exponent=1.6, profile_exponent=1.6, taper=(0.5, 0.5))
print(f"the pin is convex: {pin.convexity().convex}")

pairs = {
    "two eggs apart": (egg, at(0, 0, 0), egg, at(0.1, 0.02, 0.0)),
    "closer than wanted": (egg, at(0, 0, 0), egg, at(0.049, 0.0, 0.0)),
    "flat on flat": (block, at(0, 0, 0), block, at(0.055, 0.0, 0.0)),
    "two in one place": (egg, at(0, 0, 0), egg, at(0, 0, 0)),
    "far from the origin": (egg, at(1e6, 0, 0), egg, at(1e6 + 0.1, 0.0, 0.0)),
    "a body with a dent": (pin, at(0, 0, 0), Sphere(0.004), at(0.02, 0.0, -0.012)),
    "half-spaces": (HalfSpace(), at(0, 0, 0), HalfSpace(), at(0, 0, 1)),
}
for name, pair in pairs.items():
    result = distance(*pair)
    width = result.upper - result.lower if np.isfinite(result.lower) else 0.0
    decision = "go" if result.lower > SAFE else "stop" if result.upper <= SAFE else "stop: not proved either way"
    flags = [flag.name for flag in Status if flag & result.status] or ["CERTIFIED"]
    print(f"{name:20} {result.distance * 1e3:9.3f} mm  interval {width:7.1e} m  {' '.join(flags):30} {decision}")

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Time of impact
==============

When do two moving bodies touch? The answer is a bracket: the bodies are proved free of contact up to its beginning, and
overlap at its end. A fast body cannot pass a thin one between two samples, since there are no samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Motion, Superellipsoid, Superovoid, distance, time_of_impact
from superovoid_ros.pictures import BLUE, GREY, draw_bodies

ball = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.0, taper=(0.2, 0.2))
plate = Superellipsoid((0.2, 0.2, 0.001), section_exponent=0.2, profile_exponent=0.2)
start = np.eye(4)
start[:3, 3] = (0.05, 0.0, 0.5)
throw = Motion(start, linear=(0.0, 0.0, -50.0), angular=(30.0, 0.0, 0.0))  # m/s, rad/s

impact = time_of_impact(ball, throw, plate, np.eye(4), duration=0.1)
print(f"{impact.status.name}: free of contact up to {impact.time * 1e3:.6f} ms")
print(
    f"overlap proved {(impact.overlap_time - impact.time) * 1e9:.3f} ns later, after {impact.statistics.solves} calls"
)
later = Motion(start, linear=(0.0, 50.0, 0.0), angular=(30.0, 0.0, 0.0))
print(f"thrown past the plate: {time_of_impact(ball, later, plate, np.eye(4), duration=0.1).status.name}")

bodies = [(plate, np.eye(4), GREY)]
bodies += [(ball, throw.pose(time), BLUE) for time in np.linspace(impact.time - 0.004, impact.time, 4)]
contact = distance(ball, throw.pose(impact.time), plate, np.eye(4))
draw_bodies(bodies, contact, towards=(1.0, -2.0, 0.5))
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Two bodies
==========

The signed distance of two superovoids, with its points, the normal and the proved interval.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Superovoid, distance
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

finger = Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))  # metres
thumb = Superovoid((0.007, 0.007, 0.013), section_exponent=0.96, profile_exponent=0.64, taper=(0.2, 0.2))
finger_pose, thumb_pose = np.eye(4), np.eye(4)  # body to world
thumb_pose[:3, 3] = (0.0, 0.016, 0.004)

result = distance(finger, finger_pose, thumb, thumb_pose)
print(f"distance {result.distance * 1e3:.6f} mm, certified: {result.certified}")
print(f"proved interval {result.upper - result.lower:.1e} m wide")
print(f"points {result.point_a * 1e3} and {result.point_b * 1e3} mm")
print(f"normal {result.normal}")

draw_bodies([(finger, finger_pose, BLUE), (thumb, thumb_pose, ORANGE)], result, towards=(1.0, 0.1, 0.2))
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The taper
=========

A taper widens the section linearly along z. With equal tapers below a limit that depends on the profile exponent, the
body is convex. Beyond it there is a concavity, and the library proves distances of the body piece by piece.
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Sphere, Superovoid, distance
from superovoid_ros.pictures import BLUE, ORANGE, draw_bodies

_, panels = plt.subplots(1, 4, figsize=(9, 3.4))
for panel, taper in zip(panels, (0.0, 0.15, 0.3, 0.5), strict=True):
    body = Superovoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=1.5, taper=(taper, taper))
    ball, ball_pose = Sphere(0.004), np.eye(4)
    ball_pose[:3, 3] = (0.021, 0.0, -0.015)
    result = distance(body, np.eye(4), ball, ball_pose)
    print(
        f"taper {taper}: convex {body.convexity().convex}, distance {1e3 * result.distance:.3f} mm, "
        f"certified: {result.certified}"
    )
    draw_bodies([(body, np.eye(4), BLUE), (ball, ball_pose, ORANGE)], result, towards=(0, -1, 0), axes=panel)
    panel.set_title(f"taper {taper}")
plt.show()

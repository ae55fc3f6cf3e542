# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The two exponents
=================

`section_exponent` shapes the section across z, `profile_exponent` the outline along z. `from_goncalves` takes a pair in
this order (Gonçalves et al. 2017), `from_barr` in the opposite one (Barr 1981; PCL, Open3D).
"""

import matplotlib.pyplot as plt
import numpy as np

from superovoid import Superellipsoid
from superovoid_ros.pictures import BLUE, draw_bodies

EXPONENTS = (0.1, 1.0, 1.9)

figure, panels = plt.subplots(3, 3, figsize=(7, 8))
for row, profile in enumerate(EXPONENTS):
    for column, section in enumerate(EXPONENTS):
        shape = Superellipsoid((1.0, 1.0, 1.4), section_exponent=section, profile_exponent=profile)
        assert shape == Superellipsoid.from_goncalves((1.0, 1.0, 1.4), (section, profile))
        assert shape == Superellipsoid.from_barr((1.0, 1.0, 1.4), (profile, section))
        draw_bodies([(shape, np.eye(4), BLUE)], axes=panels[row, column])
        panels[row, column].set_title(f"section {section}, profile {profile}", fontsize=9)
        print(f"section exponent {section}, profile exponent {profile}: volume {shape.volume():.3f} m^3")
plt.show()

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points and meshes in, superellipsoids and superovoids out."""

from superovoid_ros.fitting.fit import Fit, FitReport, fit_superellipsoid, fit_superovoid, maximum_taper, measure

__all__ = ["Fit", "FitReport", "fit_superellipsoid", "fit_superovoid", "maximum_taper", "measure"]

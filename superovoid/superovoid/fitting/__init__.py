# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit superellipsoids, superovoids and other bodies to points, meshes and robots."""

from superovoid.fitting.allowed_pairs import PairSearch
from superovoid.fitting.fit import fit_superellipsoid, fit_superovoid
from superovoid.fitting.mesh_fits import fit_mesh, fit_points
from superovoid.fitting.planner_study import study_planner
from superovoid.fitting.robot_checks import check_robot
from superovoid.fitting.robot_fits import fit_robot
from superovoid.fitting.robot_pairs import fitted_pairs
from superovoid.fitting.tessellated import tessellate

__all__ = [
    "PairSearch",
    "check_robot",
    "fit_mesh",
    "fit_points",
    "fit_robot",
    "fit_superellipsoid",
    "fit_superovoid",
    "fitted_pairs",
    "study_planner",
    "tessellate",
]

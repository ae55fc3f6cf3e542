# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points, meshes and robots in, superellipsoids, superovoids and other bodies out."""

from superovoid.fitting.allowed_pairs import NewCollision, PairReport, PairSearch, PairVerdict
from superovoid.fitting.fit import Fit, FitReport, fit_superellipsoid, fit_superovoid, maximum_taper, measure
from superovoid.fitting.mesh_fits import CloudFit, FittedBody, MeshFit, fit_mesh, fit_points
from superovoid.fitting.planner_study import PlannerStudy, study_planner
from superovoid.fitting.proofs import Interval
from superovoid.fitting.quality import Quality, measure_union
from superovoid.fitting.report_page import report_page
from superovoid.fitting.robot_checks import RobotCheck, check_robot
from superovoid.fitting.robot_fits import LinkFit, LinkOptions, RobotFit, fit_robot
from superovoid.fitting.robot_pairs import FittedPairs, fitted_pairs
from superovoid.fitting.targets import Target
from superovoid.fitting.tessellated import TessellatedRobot, write_tessellated

__all__ = [
    "CloudFit",
    "Fit",
    "FitReport",
    "FittedBody",
    "FittedPairs",
    "Interval",
    "LinkFit",
    "LinkOptions",
    "MeshFit",
    "NewCollision",
    "PairReport",
    "PairSearch",
    "PairVerdict",
    "PlannerStudy",
    "Quality",
    "RobotCheck",
    "RobotFit",
    "Target",
    "TessellatedRobot",
    "check_robot",
    "fit_mesh",
    "fit_points",
    "fit_robot",
    "fit_superellipsoid",
    "fit_superovoid",
    "fitted_pairs",
    "maximum_taper",
    "measure",
    "measure_union",
    "report_page",
    "study_planner",
    "write_tessellated",
]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points, meshes and robots in, superellipsoids, superovoids and other bodies out."""

from superovoid_ros.fitting.allowed_pairs import NewCollision, PairReport, PairSearch, PairVerdict
from superovoid_ros.fitting.fit import Fit, FitReport, fit_superellipsoid, fit_superovoid, maximum_taper, measure
from superovoid_ros.fitting.mesh_fits import CloudFit, FittedBody, MeshFit, fit_mesh, fit_points
from superovoid_ros.fitting.planner_study import PlannerStudy, study_planner
from superovoid_ros.fitting.proofs import Interval
from superovoid_ros.fitting.quality import Quality, measure_union
from superovoid_ros.fitting.report_page import report_page
from superovoid_ros.fitting.robot_checks import RobotCheck, check_robot
from superovoid_ros.fitting.robot_fits import LinkFit, LinkOptions, RobotFit, fit_robot
from superovoid_ros.fitting.robot_pairs import FittedPairs, fitted_pairs
from superovoid_ros.fitting.targets import Target
from superovoid_ros.fitting.tessellated import TessellatedRobot, write_tessellated

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

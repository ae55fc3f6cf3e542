# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The engine: signed distance of a pair of shapes at two poses. It does not depend on robots or ROS."""

from superovoid.contact.contact_sets import ContactSet, contacts
from superovoid.contact.deciding import Proof
from superovoid.contact.differentiation import (
    Derivatives,
    DerivativeStatus,
    PoseGradients,
    derivatives,
    pose_gradients,
)
from superovoid.contact.impact import Impact, Impacts, ImpactStatus, Motion, time_of_impact
from superovoid.contact.points import PointDistance, PointDistances, RayHit, RayHits, cast_rays, point_distances
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.contact.signed_distance import distance, distances
from superovoid.contact.thresholds import (
    UndecidedError,
    Verdict,
    Verdicts,
    are_closer,
    are_intersecting,
)
from superovoid.values.status import Status

__all__ = [
    "ContactSet",
    "DerivativeStatus",
    "Derivatives",
    "DistanceResult",
    "DistanceResults",
    "Impact",
    "ImpactStatus",
    "Impacts",
    "Motion",
    "PointDistance",
    "PointDistances",
    "PoseGradients",
    "Proof",
    "RayHit",
    "RayHits",
    "Status",
    "UndecidedError",
    "Verdict",
    "Verdicts",
    "are_closer",
    "are_intersecting",
    "cast_rays",
    "contacts",
    "derivatives",
    "distance",
    "distances",
    "point_distances",
    "pose_gradients",
    "time_of_impact",
]

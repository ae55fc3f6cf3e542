# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Certified signed distances between superovoids and other bodies: a Python library, and a ROS 2 service on top."""

from __future__ import annotations

from importlib import import_module

# Type checkers assume that a constant of this name is true. Importing `typing` would take longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from superovoid.contact import (
        ContactSet,
        Derivatives,
        DerivativeStatus,
        DistanceResult,
        DistanceResults,
        Impact,
        Impacts,
        ImpactStatus,
        Motion,
        PointDistance,
        PointDistances,
        PoseGradients,
        Proof,
        RayHit,
        RayHits,
        Status,
        UndecidedError,
        Verdict,
        Verdicts,
        are_closer,
        are_intersecting,
        cast_rays,
        contacts,
        derivatives,
        distance,
        distances,
        point_distances,
        pose_gradients,
        time_of_impact,
    )
    from superovoid.robot import DistanceGradients, Robot, RobotDescriptionError
    from superovoid.scene import Body, PairResult, Scene, SceneResult
    from superovoid.shapes import (
        Box,
        Capsule,
        Compound,
        Cone,
        ConvexMesh,
        Cylinder,
        Ellipsoid,
        HalfSpace,
        Mesh,
        Shape,
        ShapeArray,
        Shell,
        Sphere,
        Superellipsoid,
        Superovoid,
        Torus,
    )
    from superovoid.states import (
        StateDistances,
        StateQuery,
        StateVerdicts,
        ThresholdQuery,
        are_states_closer,
        state_distances,
    )

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "ContactSet",
    "ConvexMesh",
    "Cylinder",
    "DerivativeStatus",
    "Derivatives",
    "DistanceGradients",
    "DistanceResult",
    "DistanceResults",
    "Ellipsoid",
    "HalfSpace",
    "Impact",
    "ImpactStatus",
    "Impacts",
    "Mesh",
    "Motion",
    "PairResult",
    "PointDistance",
    "PointDistances",
    "PoseGradients",
    "Proof",
    "RayHit",
    "RayHits",
    "Robot",
    "RobotDescriptionError",
    "Scene",
    "SceneResult",
    "Shape",
    "ShapeArray",
    "Shell",
    "Sphere",
    "StateDistances",
    "StateQuery",
    "StateVerdicts",
    "Status",
    "Superellipsoid",
    "Superovoid",
    "ThresholdQuery",
    "Torus",
    "UndecidedError",
    "Verdict",
    "Verdicts",
    "are_closer",
    "are_intersecting",
    "are_states_closer",
    "cast_rays",
    "contacts",
    "derivatives",
    "distance",
    "distances",
    "point_distances",
    "pose_gradients",
    "state_distances",
    "time_of_impact",
]

# Modules that define the names above, the fastest import first. They are imported on first use, so that commands that
# need none of them, such as `superovoid --help`, start at once.
_MODULES = ("contact", "scene", "shapes", "states", "robot")
_OF_ROBOTS = (
    "DistanceGradients",
    "Robot",
    "RobotDescriptionError",
    "StateDistances",
    "StateQuery",
    "StateVerdicts",
    "ThresholdQuery",
    "are_states_closer",
    "state_distances",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Status":  # needs `values` only: the client of the service does not import the engine
        return import_module(f"{__name__}.values.status").Status
    # The modules of robots import XML and mesh readers, which other names do not need.
    wanted = _MODULES[3:] if name in _OF_ROBOTS else _MODULES[:3]
    for module in map(import_module, (f"{__name__}.{module}" for module in wanted)):
        globals().update((public, getattr(module, public)) for public in __all__ if hasattr(module, public))
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})

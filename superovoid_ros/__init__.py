"""Exact distances between superovoids and what stands around them: a plain library, and a ROS 2 service on top."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from superovoid_ros.contact import (
        Derivatives,
        DerivativeStatus,
        DistanceResult,
        DistanceResults,
        Impact,
        ImpactStatus,
        Motion,
        Proof,
        Status,
        Verdict,
        are_closer,
        derivatives,
        distance,
        distances,
        intersects,
        is_closer,
        pose_gradients,
        time_of_impact,
    )
    from superovoid_ros.scene import Body, Scene, SceneResult
    from superovoid_ros.shapes import (
        Box,
        Capsule,
        Cone,
        ConvexMesh,
        Cylinder,
        Ellipsoid,
        Mesh,
        Plane,
        Shape,
        Sphere,
        Superellipsoid,
        Superovoid,
        Torus,
    )

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Box",
    "Capsule",
    "Cone",
    "ConvexMesh",
    "Cylinder",
    "DerivativeStatus",
    "Derivatives",
    "DistanceResult",
    "DistanceResults",
    "Ellipsoid",
    "Impact",
    "ImpactStatus",
    "Mesh",
    "Motion",
    "Plane",
    "Proof",
    "Scene",
    "SceneResult",
    "Shape",
    "Sphere",
    "Status",
    "Superellipsoid",
    "Superovoid",
    "Torus",
    "Verdict",
    "are_closer",
    "derivatives",
    "distance",
    "distances",
    "intersects",
    "is_closer",
    "pose_gradients",
    "time_of_impact",
]

# In which modules the names above are. They are imported when the first name is asked for: they bring the compiler,
# which takes a second or two, and what only needs a module beside them, as `superovoid --help` does, need not wait.
_MODULES = ("contact", "scene", "shapes")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in map(import_module, (f"{__name__}.{module}" for module in _MODULES)):
        globals().update((public, getattr(module, public)) for public in __all__ if hasattr(module, public))
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How far a convex body sticks out of a convex solid, proved without taking either apart.

The distance from a convex set is a convex function, so over a polytope that holds the body it is largest at a vertex.

**That a solid is convex** is shown of its triangles: each lies within e of a plane that has all of them on one side,
and they close. Then no triangle is deeper than e below the surface of their convex hull P. What is deeper than that
in P is connected and meets no triangle, so the winding number is one integer all over it, and where that is not 0 at
one place the solid holds it. P shrunk about a point c by the factor 1 - e / d, where d is how deep c is, lies so deep.
So no point of P is farther from the solid than e / d times the largest distance of P's points from c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.outer_polytopes import polytope_around
from superovoid.fitting.targets import Target
from superovoid.shapes import Shape

FloatArray = NDArray[np.float64]

_RESOLUTIONS = (32, 64, 128)
_ROUNDED = 1e-12  # of the largest coordinate
_MOST_PRODUCTS = 50_000_000  # of planes and points
_DEEP = 1e-9  # of the radius: what is less deep in the hull counts as outside, whose distance is tiny then


def slack_of_convex(target: Target) -> float | None:
    """How far a point of the solid's convex hull is from the solid at most; None where that is not shown to be little.

    Parameters
    ----------
    target : Target

    Returns
    -------
    float or None
        Less than half of the hull's size; next to 0 for a convex solid.
    """
    hull = target.hull
    corners = hull.points[hull.vertices]
    if len(target.corners) * len(corners) > _MOST_PRODUCTS or len(target.rim):
        return None
    furthest = np.concatenate([(some @ corners.T).max(axis=1) for some in np.array_split(target.normals, 64)])
    below = np.einsum("ij,ikj->ik", target.normals, target.corners).min(axis=1)
    depth = float((furthest - below).max()) + _ROUNDED * float(np.abs(corners).max())
    centre = corners.mean(axis=0)
    middle = -float((hull.equations[:, :3] @ centre + hull.equations[:, 3]).max())
    if depth >= 0.5 * middle or target.tree.winding(centre[None], exact=True)[0] < 0.5:
        return None
    return depth / middle * float(np.linalg.norm(corners - centre, axis=1).max())


def protrusion_from_convex(shape: Shape, pose: FloatArray, target: Target, slack: float, enough: float) -> float:
    """Proved upper bound of how far a body sticks out of a convex solid.

    Parameters
    ----------
    shape : Shape
    pose : (4, 4) ndarray
        Of the body, in the frame of the solid.
    target : Target
    slack : float
        As `slack_of_convex` has it.
    enough : float
        No lower bound is looked for.

    Returns
    -------
    float
        Infinite where no polytope can be shown to hold the body.
    """
    found = np.inf
    planes = target.hull.equations
    for resolution in _RESOLUTIONS:
        around = polytope_around(shape, resolution)
        if around is None or len(around[0]) * len(planes) > _MOST_PRODUCTS:
            continue
        points = around[0] @ pose[:3, :3].T + pose[:3, 3]
        deepest = (points @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        outside = points[deepest > -_DEEP * target.radius]
        farthest = float(target.distance(outside).max()) if len(outside) else 0.0
        found = min(found, farthest + slack + _ROUNDED * float(np.abs(points).max() + target.radius))
        if found <= enough:
            break
    return found

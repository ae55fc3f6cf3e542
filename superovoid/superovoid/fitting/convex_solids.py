# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bound the protrusion of a convex body out of a convex solid, without subdividing either.

The distance from a convex set is a convex function, so over a polytope that contains the body it is largest at a
vertex.

**Convexity of the solid** is proved from its triangles: they form a closed surface, and each lies within e of a plane
that has all of them on one side. Then no triangle is deeper than e below the surface of their convex hull P. The part
of P deeper than e is connected and meets no triangle, so its winding number is one integer everywhere; if that is not
0 at one point, the solid contains this part. Let d be the depth of a point c. P shrunk about c by the factor 1 - e / d
is at least e deep. So no point of P is farther from the solid than e / d times the largest distance of P's points from
c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.outer_polytopes import polytope_around
from superovoid.fitting.targets import Target
from superovoid.shapes import Shape

FloatArray = NDArray[np.float64]

_RESOLUTIONS = (32, 64, 128)
_ROUNDED = 1e-12  # rounding errors, relative to the largest coordinate
_MOST_PRODUCTS = 50_000_000  # largest number of products of planes and points
_DEEP = 1e-9  # relative to the radius: points less deep in the hull count as outside, at a tiny distance


def slack_of_convex(target: Target) -> float | None:
    """Return a proved bound of the distance of points in the solid's convex hull from the solid.

    Parameters
    ----------
    target : Target

    Returns
    -------
    float or None
        Less than half of the hull's size, nearly 0 for a convex solid; None if no such bound is proved.
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
    """Return a proved upper bound of the protrusion of a body out of a convex solid.

    Parameters
    ----------
    shape : Shape
    pose : (4, 4) ndarray
        Pose of the body in the frame of the solid.
    target : Target
    slack : float
        Result of `slack_of_convex`.
    enough : float
        The bound is refined until it is at most this.

    Returns
    -------
    float
        Infinite if no polytope is proved to contain the body.
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

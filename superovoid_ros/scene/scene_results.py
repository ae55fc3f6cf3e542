"""What a query of a scene answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.contact.results import DistanceResults

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class SceneResult(DistanceResults):
    """The solved pairs no farther than the cut-off, closest (deepest) first, and what was culled."""

    body_a: IntArray
    """Index of the first body of each row in `Scene.bodies`."""
    body_b: IntArray
    pairs: int
    """Pairs that were to be checked."""
    past_sphere: int
    """Of these, pairs whose bounding spheres are within the cut-off. In a scene of many pairs those are not counted
    whose boxes along the axes of the world are not: they were never looked at one by one. A query for the closest pairs
    of such a scene has a cut-off of its own, no larger than the one asked for."""
    past_obb: int
    """Of these, pairs whose oriented boxes are within the cut-off."""
    solved: int
    """Pairs given to the engine: all that are past the boxes, with `max_results` only those that could be among the
    closest."""
    intersecting: int
    """Solved pairs with a negative distance: all pairs within the cut-off that overlap; with `max_results` there may be
    more, each less deep than those reported."""

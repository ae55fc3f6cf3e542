# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results of published methods: the engine's result, and whether the iteration converged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superovoid.contact import DistanceResult, Status
from superovoid.values.records import Statistics


@dataclass(frozen=True, eq=False, repr=False)
class MethodResult(DistanceResult):
    """Answer of a published method.

    `distance`, the points and the normal are those of the last iterate, converged or not. `lower` and `upper` are the
    bounds that the method proves: mostly (-inf, inf), with the status `Status.UNPROVEN`.
    """

    converged: bool
    """Whether the method met its own criterion. If not, the answer is its last iterate, and nan if its formulas have no
    value there."""


def unproven_result(
    distance: float,
    point_a: np.ndarray,
    point_b: np.ndarray,
    normal: np.ndarray,
    iterations: int,
    converged: bool,
) -> MethodResult:
    """Return the answer of a method without proofs.

    Parameters
    ----------
    distance : float
        Signed distance, m.
    point_a, point_b : (3,) ndarray
        Points on the bodies, world, m.
    normal : (3,) ndarray
        Unit normal from A to B, world.
    iterations : int
        Number of iterations of the method's own loop.
    converged : bool
        Whether that loop met its criterion.
    """
    return MethodResult(
        float(distance),
        -math.inf,
        math.inf,
        np.asarray(point_a, dtype=np.float64),
        np.asarray(point_b, dtype=np.float64),
        np.asarray(normal, dtype=np.float64),
        Status.UNPROVEN,
        Statistics(iterations=int(iterations)),
        bool(converged),
    )

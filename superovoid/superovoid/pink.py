# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances as barriers of Pink, inverse kinematics on pinocchio: ``from superovoid.pink import DistanceBarrier``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid.bridging import framework
from superovoid.pinocchio import CollisionDistances, PairDistances

if TYPE_CHECKING:
    from pink.barriers import Barrier
else:
    Barrier = framework("pink.barriers", "pink").Barrier

FloatArray = NDArray[np.float64]


class DistanceBarrier(Barrier):
    """A barrier that keeps all collision pairs of a geometry model farther apart than a margin.

    Its value is the proved lower bound of a distance, which is the distance itself unless its status is `UNPROVEN`.

    Parameters
    ----------
    model : pinocchio.Model
        That of the configuration.
    geometry_model : pinocchio.GeometryModel
    margin : float, optional
        m.
    gain : float, optional
        Largest rate at which a distance approaches the margin, relative to what is left, 1/s.
    meshes, threads
        As for `superovoid.pinocchio.CollisionDistances`.
    """

    def __init__(
        self,
        model: Any,
        geometry_model: Any,
        *,
        margin: float = 0.02,
        gain: float = 1.0,
        meshes: str = "triangles",
        threads: int | None = None,
    ) -> None:
        super().__init__(len(geometry_model.collisionPairs), gain=gain)
        self.margin = margin
        self._distances = CollisionDistances(model, geometry_model, meshes=meshes, threads=threads)
        self._data = model.createData(), geometry_model.createData()
        self._last: tuple[FloatArray, PairDistances] | None = None

    def compute_barrier(self, configuration: Any) -> FloatArray:
        """Return the proved lower bounds of the distances less the margin, in the order of the collision pairs."""
        return self._answer(configuration).results.lower - self.margin

    def compute_jacobian(self, configuration: Any) -> FloatArray:
        """Return the derivatives by the velocity, shape (pairs, nv)."""
        return self._answer(configuration).by_velocity

    def _answer(self, configuration: Any) -> PairDistances:
        """Return the answer for a configuration: Pink calls both methods above for each."""
        if self._last is None or not np.array_equal(self._last[0], configuration.q):
            self._last = configuration.q.copy(), self._distances(*self._data, configuration.q)
        return self._last[1]

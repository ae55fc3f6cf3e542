# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances as residuals of crocoddyl: ``from superovoid.crocoddyl import ResidualModelDistances``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from superovoid.bridging import framework
from superovoid.pinocchio import CollisionDistances

if TYPE_CHECKING:
    import crocoddyl
else:
    crocoddyl = framework("crocoddyl", "crocoddyl")


class ResidualModelDistances(crocoddyl.ResidualModelAbstract):
    """The signed distances of all collision pairs of a geometry model, in their order, as a residual.

    One call of ``calc`` computes all distances of a node and their derivatives. Crocoddyl makes the Gauss-Newton
    Hessian of a cost from them. With `crocoddyl.ActivationModelQuadraticBarrier` the cost is that of distances below a
    margin. If crocoddyl is built with threads, set ``problem.nthreads = 1``, as for every residual in Python.

    Parameters
    ----------
    state : crocoddyl.StateMultibody
    geometry_model : pinocchio.GeometryModel
        For the model of the state.
    nu : int, optional
        Dimension of the control; default: ``state.nv``.
    meshes, threads
        As for `superovoid.pinocchio.CollisionDistances`.

    Raises
    ------
    ValueError
        As for `superovoid.pinocchio.CollisionDistances`.
    """

    def __init__(
        self,
        state: Any,
        geometry_model: Any,
        nu: int | None = None,
        *,
        meshes: str = "triangles",
        threads: int | None = None,
    ) -> None:
        count = len(geometry_model.collisionPairs)
        super().__init__(state, count, state.nv if nu is None else nu, True, False, False)
        self._geometry_model = geometry_model
        self._distances = CollisionDistances(state.pinocchio, geometry_model, meshes=meshes, threads=threads)

    def createData(self, collector: Any) -> Any:  # a method of crocoddyl
        """Return the data of a node."""
        return _Data(self, collector)

    def calc(self, data: Any, x: np.ndarray, _: Any = None) -> None:
        """Compute the distances, ``data.r``."""
        q = x[: self.state.nq]
        data.results, data.by_velocity = self._distances(data.kinematics, data.geometry, q)
        data.r = data.results.distance

    def calcDiff(self, data: Any, x: np.ndarray, _: Any = None) -> None:
        """Set the derivatives ``data.Rx`` to those of the last ``calc``."""
        data.Rx = np.concatenate([data.by_velocity, np.zeros_like(data.by_velocity)], axis=1)


class _Data(crocoddyl.ResidualDataAbstract):
    """Data of a node: those of crocoddyl, the kinematics, and the last answer."""

    def __init__(self, model: ResidualModelDistances, collector: Any) -> None:
        super().__init__(model, collector)
        self.kinematics = model.state.pinocchio.createData()
        self.geometry = model._geometry_model.createData()

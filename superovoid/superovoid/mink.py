# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances as limits of mink, inverse kinematics on MuJoCo: ``from superovoid.mink import DistanceLimit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from superovoid.bridging import framework
from superovoid.mujoco import collision_pairs, shape_of
from superovoid.scene import Body, Scene
from superovoid.scene.scene import check_indices, table_of
from superovoid.values.checks import greatest_distance, number

if TYPE_CHECKING:
    import mink
    import mujoco
else:
    mink, mujoco = framework("mink", "mink"), framework("mujoco", "mink")


class DistanceLimit(mink.Limit):
    """A limit that keeps pairs of geoms farther apart than a margin.

    In one step the proved lower bound of a distance loses at most `gain` of its excess over the margin, to first order.

    Parameters
    ----------
    model : mujoco.MjModel
        That of the configuration. Its geoms are read here; changes later have no effect.
    pairs : (n, 2) array_like of int, optional
        Pairs of geoms; default: `superovoid.mujoco.collision_pairs`.
    margin, max_distance : float, optional
        m. Pairs farther apart than `max_distance` are left out.
    gain : float, optional
        In (0, 1].

    Raises
    ------
    ValueError
        If a geom has no shape of this library, or an argument is out of range.
    """

    def __init__(
        self,
        model: Any,
        pairs: ArrayLike | None = None,
        *,
        margin: float = 0.005,
        max_distance: float = 0.1,
        gain: float = 0.85,
    ) -> None:
        wanted = collision_pairs(model) if pairs is None else table_of(pairs)
        check_indices(wanted, model.ngeom)
        self._geoms, rows = np.unique(wanted, return_inverse=True)
        bodies = [Body(f"geom {geom}", f"geom {geom}", shape_of(model, geom)) for geom in self._geoms.tolist()]
        self._scene = Scene(bodies, rows.reshape(-1, 2))
        self.margin, self.max_distance = number("margin", margin, "metres"), greatest_distance(max_distance)
        self.gain = number("gain", gain)
        if not 0.0 < self.gain <= 1.0:
            raise ValueError(f"gain = {gain!r}: must be in (0, 1]")

    def compute_qp_inequalities(self, configuration: Any, dt: float) -> Any:
        """Return the constraint ``G @ displacement <= h``, a row for each near pair."""
        model, data = configuration.model, configuration.data
        poses = np.tile(np.eye(4), (len(self._geoms), 1, 1))
        poses[:, :3, :3] = data.geom_xmat[self._geoms].reshape(-1, 3, 3)
        poses[:, :3, 3] = data.geom_xpos[self._geoms]
        self._scene.set_link_poses(poses)
        found = self._scene.query(max_distance=self.max_distance)
        if not len(found):
            return mink.Constraint()
        bodies = model.geom_bodyid[self._geoms]
        slopes, of_point = np.zeros((len(found), model.nv)), np.empty((3, model.nv))
        for i, normal in enumerate(found.normal):
            for sign, point, body in ((-1.0, found.point_a, found.body_a), (1.0, found.point_b, found.body_b)):
                mujoco.mj_jac(model, data, of_point, None, point[i], bodies[body[i]])
                slopes[i] += sign * normal @ of_point
        return mink.Constraint(-slopes, self.gain * (found.lower - self.margin))

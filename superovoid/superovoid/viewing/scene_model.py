# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of a scene in its present state: bodies on links with poses, and pairs. Metres, in the world frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.scene import Scene
from superovoid.viewing.picture import NEAR, Picture, SceneQuery, box_of, checked_near, extent_of, round_length

FloatArray = NDArray[np.float64]


class SceneModel:
    """A copy of a scene in its present state; later changes to the scene have no effect. Not thread-safe.

    Parameters
    ----------
    scene : Scene
    near : float, optional
        Near distance: show pairs within it, m; default: about `NEAR` of the scene's extent.

    Raises
    ------
    ValueError
        If a link has no pose, or `near` is negative or not finite.
    """

    title = "scene"

    def __init__(self, scene: Scene, near: float | None = None) -> None:
        tables = scene.tables()
        if not tables.posed.all():
            missing = ", ".join(link for link, posed in zip(tables.links, tables.posed, strict=True) if not posed)
            raise ValueError(f"scene: no pose of links {missing}; call set_link_poses first")
        self._scene = scene.fork()
        self._poses: dict[str, FloatArray] = dict(zip(tables.links, tables.link_poses, strict=True))
        self.near = checked_near(round_length(NEAR * self.extent) if near is None else near)

    def set_near(self, near: float) -> None:
        """Show pairs within this distance, m."""
        self.near = checked_near(near)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return two corners of a box around link origins and all bodies except half-spaces, each of shape (3,), m."""
        return box_of(self._scene.bodies, self._poses)

    @property
    def extent(self) -> float:
        """Diagonal of `box`, m; 1 if the box is a point."""
        return extent_of(self.box())

    @property
    def _query(self) -> SceneQuery:
        return SceneQuery(self._scene, [body.link for body in self._scene.bodies], self.near)

    def blank_picture(self, reason: str = "not computed yet") -> Picture:
        """Return a picture without an answer: everything is unknown."""
        return self._query.blank_picture(self._poses, reason)

    def answer(self) -> Picture:
        """Compute the distances and return a picture."""
        return self._query.answer(self._poses)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is shown of a scene as it stands: bodies on links that have poses, and its pairs. Metres, the world's frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.scene import Scene
from superovoid.viewing.picture import NEAR, Asked, Picture, box_of, checked_near, extent_of, round_length

FloatArray = NDArray[np.float64]


class SceneModel:
    """A scene in its present state, which later changes of it do not change. Not for several threads at once.

    Parameters
    ----------
    scene : Scene
    near : float, optional
        Pairs at most this far apart are shown, m; default: about `NEAR` of the scene's extent.

    Raises
    ------
    ValueError
        If a link has no pose, or `near` is no distance.
    """

    title = "scene"

    def __init__(self, scene: Scene, near: float | None = None) -> None:
        tables = scene.tables()
        if not tables.posed.all():
            missing = ", ".join(link for link, posed in zip(tables.links, tables.posed, strict=True) if not posed)
            raise ValueError(f"scene: no pose of links {missing}: set_link_poses gives them one")
        self._scene = scene.fork()
        self._poses: dict[str, FloatArray] = dict(zip(tables.links, tables.link_poses, strict=True))
        self.near = checked_near(round_length(NEAR * self.extent) if near is None else near)

    def set_near(self, near: float) -> None:
        """Show pairs at most this far apart, m."""
        self.near = checked_near(near)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners of a box around all bodies but half-spaces, and the origins of links, each shape (3,), m."""
        return box_of(self._scene.bodies, self._poses)

    @property
    def extent(self) -> float:
        """Length of the diagonal of `box`, m; 1 where there is nothing but a point."""
        return extent_of(self.box())

    @property
    def _asked(self) -> Asked:
        return Asked(self._scene, [body.link for body in self._scene.bodies], self.near)

    def unanswered(self, reason: str = "not asked yet") -> Picture:
        """The picture before there is an answer, or where there is none: nothing is known."""
        return self._asked.unanswered(self._poses, reason)

    def answer(self) -> Picture:
        """Ask for the distances."""
        return self._asked.answer(self._poses)

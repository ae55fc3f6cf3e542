# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the first calls of a scene do once, done before it matters: for control loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_APART = 4.0  # times how far bodies reach from the origins of their links


def load_kernels(scene: Any, pairs: ArrayLike | None) -> None:
    """Compile or load what queries of a scene need, by asking a fork of it, of which nothing is kept.

    Its links stand in a row, so far apart that no answer takes long. `scene` is a `Scene`; its module imports this one.
    """
    trial = scene.fork()
    links = len(trial.links)
    poses = np.tile(np.eye(4), (links, 1, 1))
    trial.set_link_poses(poses)
    spheres = trial._world.spheres
    reach = np.linalg.norm(spheres[:, :3], axis=1) + spheres[:, 3]
    step = _APART * float(reach[np.isfinite(reach)].max(initial=0.1))
    poses[:, 0, 3] = step * np.arange(links)
    trial.set_link_poses(dict(zip(trial.links, poses, strict=True)))
    if links:
        trial.set_link_pose(trial.links[0], poses[0])
    for options in ({}, {"max_results": 1}, {"overlapping_only": True}):
        trial.query(cutoff=0.1 * step, **options)
    few = np.asarray([] if pairs is None else pairs)[:1]
    trial.query(pairs=few if len(few) else trial.candidates(2.0 * step)[:1])


def touch(arrays: Iterable[NDArray]) -> None:
    """Write to all of some memory what it holds, so that the system has given it by now."""
    for array in arrays:
        array[...] = array.copy()

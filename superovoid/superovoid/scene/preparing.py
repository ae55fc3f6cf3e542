# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the first calls of a scene do once, done before it matters: for control loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.scene.culling import Local
from superovoid.scene.first_try import LEAST

_APART = 4.0  # times how far bodies reach from the origins of their links
_NEIGHBOURS = 12  # in the row, so that few links have as many pairs as are answered in lanes


def load_kernels(trial: Any, local: Local, pairs: ArrayLike | None) -> None:
    """Compile or load what queries of a scene need, by asking a fork of it, of which nothing is kept.

    Its links stand in a row, so far apart that no answer takes long. `trial` is a `Scene` (its module imports this one)
    with the bodies `local`.
    """
    links = len(trial.links)
    offsets = local.link_from_body
    centres = np.einsum("nij,nj->ni", offsets[:, :3, :3], local.sphere_centres) + offsets[:, :3, 3]
    reach = np.linalg.norm(centres, axis=1) + local.radii
    step = _APART * float(reach[np.isfinite(reach)].max(initial=0.1))
    poses = np.tile(np.eye(4), (links, 1, 1))
    poses[:, 0, 3] = step * np.arange(links)
    trial.set_link_poses(dict(zip(trial.links, poses, strict=True)))
    if links:
        trial.set_link_pose(trial.links[0], poses[0])
    for options in ({}, {"max_results": 1}, {"overlapping_only": True}):
        trial.query(max_distance=0.1 * step, **options)
    few = np.asarray([] if pairs is None else pairs)[:1]
    near = trial.candidates(_NEIGHBOURS * step)
    for some in (few if len(few) else near[:1], near[:LEAST]):
        trial.query(pairs=some)


def touch(arrays: Iterable[NDArray | Iterable[NDArray]]) -> None:
    """Write to all of some memory what it holds, so that the system has given it by now."""
    for each in arrays:
        if isinstance(each, np.ndarray):
            each[...] = each.copy()
        else:
            touch(each)

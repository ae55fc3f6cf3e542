"""Many bodies: poses, allowed pairs, culling, warm starts and one query call. The state lives here and nowhere else.

========================  =================================================================================
a scene of three bodies   what a query does
========================  =================================================================================
far apart                 nothing: the bounding spheres of each pair are farther apart than the cut-off
two side by side          spheres within the cut-off, oriented boxes not: nothing
two touching              spheres and boxes pass: solved, from the points of the last query where there are any
========================  =================================================================================
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid_ros import _broad
from superovoid_ros.contact import _pair
from superovoid_ros.contact._api import SEARCH_BUDGET, TOLERANCE, DistanceResults, as_poses, check_tolerance
from superovoid_ros.shapes import Superovoid, _kernels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Body:
    """A shape fixed to a link."""

    name: str
    """Unique in its scene."""
    link: str
    """Link whose pose carries the body."""
    shape: Superovoid
    link_from_body: FloatArray = field(default_factory=lambda: np.eye(4))
    """Pose of the body in its link, shape (4, 4), m."""

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Superovoid):
            raise TypeError(f"Body {self.name!r}: shape must be one of superovoid_ros.shapes, found {self.shape!r}")
        pose = as_poses(f"Body {self.name!r}: link_from_body", self.link_from_body).copy()
        pose.flags.writeable = False
        object.__setattr__(self, "link_from_body", pose)


@dataclass(frozen=True)
class SceneResult(DistanceResults):
    """The solved pairs no farther than the cut-off, closest (deepest) first, and what was culled."""

    body_a: IntArray
    """Index of the first body of each row in `Scene.bodies`."""
    body_b: IntArray
    pairs: int
    """Pairs that were to be checked."""
    past_sphere: int
    """Of these, pairs whose bounding spheres are within the cut-off."""
    past_obb: int
    """Of these, pairs whose oriented boxes are within the cut-off."""
    solved: int
    """Pairs given to the engine."""
    intersecting: int
    """Solved pairs with a negative distance."""


def all_pairs_between_links(bodies: Sequence[Body]) -> IntArray:
    """Every pair of bodies on different links, shape (n, 2)."""
    links = np.array([body.link for body in bodies], dtype=object)
    i, j = np.triu_indices(len(bodies), k=1)
    keep = links[i] != links[j] if len(bodies) else slice(0)
    return np.column_stack([i[keep], j[keep]]).astype(np.int64)


class Scene:
    """Bodies on links, the pairs to be checked, and the poses of the links.

    Parameters
    ----------
    bodies : sequence of Body
        Names must be unique.
    pairs : (n, 2) array_like of int, optional
        Indices of the bodies to be checked against each other; default: all pairs on different links.
    tolerance : float, optional
        Relative width of a certified interval, as for `superovoid_ros.distance`.
    budget : int, optional
        Support points that the global search may spend on one pair before its answer is marked `Status.UNPROVEN`.

    Raises
    ------
    ValueError
        If a name occurs twice or a pair names a body that does not exist.

    Notes
    -----
    A scene is not thread safe: a query renews the warm starts. `fork` gives another thread, or a hypothetical state,
    a scene of its own that shares the bodies.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        pairs: ArrayLike | None = None,
        *,
        tolerance: float = TOLERANCE,
        budget: int = SEARCH_BUDGET,
    ) -> None:
        self._bodies = tuple(bodies)
        self._tolerance = check_tolerance(tolerance)
        self._budget = int(budget)
        for name, times in Counter(body.name for body in self._bodies).items():
            if times > 1:
                raise ValueError(f"bodies: the name {name!r} occurs {times} times, must be unique")
        self._links = tuple(dict.fromkeys(body.link for body in self._bodies))
        row = {link: i for i, link in enumerate(self._links)}
        count = len(self._bodies)
        self._link_of_body = np.array([row[body.link] for body in self._bodies], dtype=np.int64)
        self._link_from_body = _stack([body.link_from_body for body in self._bodies], (4, 4))
        self._packed = _stack([body.shape._packed for body in self._bodies], (_kernels.BODY_LENGTH,))
        spheres = [body.shape.bounding_sphere() for body in self._bodies]
        boxes = [body.shape.obb() for body in self._bodies]
        self._sphere_centres = _stack([s.centre for s in spheres], (3,))
        self._radii = np.array([s.radius for s in spheres], dtype=np.float64)
        self._box_centres = _stack([b.centre for b in boxes], (3,))
        self._box_halves = _stack([b.half_extents for b in boxes], (3,))
        table = all_pairs_between_links(self._bodies) if pairs is None else _checked_pairs(pairs, count)
        self._pairs = table
        self._pairs.flags.writeable = False
        self._all_rows = np.arange(len(table))
        keys = self._keys(table)
        self._key_order = np.argsort(keys, kind="stable")
        self._sorted_keys = keys[self._key_order]
        self._poses: FloatArray | None = None
        self._states = np.zeros((len(table), _pair.STATE_LENGTH))
        self._out = np.empty((len(table), _pair.RESULT_LENGTH))
        self._found = np.empty(len(table), dtype=np.int64)

    # -- what it is made of ---------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies; their order gives the indices used everywhere."""
        return self._bodies

    @property
    def links(self) -> tuple[str, ...]:
        """Links that carry a body."""
        return self._links

    @property
    def pairs(self) -> IntArray:
        """Pairs to be checked, shape (n, 2), body indices."""
        return self._pairs

    @property
    def poses(self) -> FloatArray | None:
        """World poses of the bodies, shape (n, 4, 4), m; None before the first `set_link_poses`."""
        return self._poses

    def fork(self) -> Scene:
        """A scene with the same bodies and pairs, and poses and warm starts of its own (a copy of these)."""
        other = copy.copy(self)
        other._poses = None if self._poses is None else self._poses.copy()
        other._states = self._states.copy()
        other._out = np.empty_like(self._out)
        other._found = np.empty_like(self._found)
        return other

    # -- its state -------------------------------------------------------------------------------------------------

    def set_link_poses(self, world_from_link: Mapping[str, ArrayLike]) -> None:
        """Set the poses of all links that carry bodies.

        Parameters
        ----------
        world_from_link : mapping of str to (4, 4) array_like
            Link to world, m. Other links may be present.

        Raises
        ------
        ValueError
            If the pose of a link is missing or not a rigid transform; the state is then left as it was.
        """
        missing = [link for link in self._links if link not in world_from_link]
        if missing:
            raise ValueError(f"world_from_link: no pose for {_some(missing)}; every link with a body needs one")
        if not self._bodies:
            return
        links = np.array([world_from_link[link] for link in self._links], dtype=np.float64)
        try:
            links = as_poses("world_from_link", links)
        except ValueError:
            for link in self._links:
                as_poses(f"world_from_link[{link!r}]", world_from_link[link])
            raise
        self._poses = np.ascontiguousarray(links[self._link_of_body] @ self._link_from_body)

    def forget(self) -> None:
        """Drop the warm starts, so that the next query is cold."""
        self._states[:] = 0.0

    # -- the one query -----------------------------------------------------------------------------------------------

    def query(
        self,
        *,
        cutoff: float = math.inf,
        pairs: ArrayLike | None = None,
        max_results: int | None = None,
        overlapping_only: bool = False,
    ) -> SceneResult:
        """Signed distances of the pairs that are no farther apart than a cut-off.

        Parameters
        ----------
        cutoff : float, optional
            Largest distance to report, m; pairs proved farther by their bounding volumes are not solved.
        pairs : (n, 2) array_like of int, optional
            Only these of the scene's pairs, in either order.
        max_results : int, optional
            At most so many, the closest ones.
        overlapping_only : bool, optional
            Only pairs with a negative distance.

        Returns
        -------
        SceneResult
            Sorted by ascending signed distance.

        Raises
        ------
        ValueError
            If an argument is out of range, a pair is not one of the scene's, or the poses have not been set.
        """
        if not isinstance(cutoff, int | float | np.floating) or math.isnan(cutoff):
            raise ValueError(f"cutoff = {cutoff!r}: must be a number of metres")
        if max_results is not None and max_results < 1:
            raise ValueError(f"max_results = {max_results}: must be at least 1")
        if self._poses is None:
            if self._bodies:
                raise ValueError("the scene has no poses yet: call set_link_poses() first")
            self._poses = np.empty((0, 4, 4))
        rows = self._all_rows if pairs is None else self._rows(pairs)
        counts = np.zeros(4, dtype=np.int64)
        limit = min(float(cutoff), 0.0) if overlapping_only else float(cutoff)
        found = _broad.query(
            self._packed,
            self._poses,
            self._sphere_centres,
            self._radii,
            self._box_centres,
            self._box_halves,
            self._pairs,
            rows,
            limit,
            self._tolerance,
            self._budget,
            self._states,
            self._out,
            self._found,
            counts,
        )
        values = self._out[:found, _pair.DISTANCE]
        order = np.argsort(values, kind="stable")
        if overlapping_only:
            order = order[values[order] < 0.0]
        order = order[:max_results]
        solved = self._out[order]
        which = self._pairs[self._found[order]]
        plain = DistanceResults.from_rows(solved)
        return SceneResult(
            **vars(plain),
            body_a=which[:, 0],
            body_b=which[:, 1],
            pairs=len(rows),
            past_sphere=int(counts[_broad.PAST_SPHERE]),
            past_obb=int(counts[_broad.PAST_OBB]),
            solved=int(counts[_broad.SOLVED]),
            intersecting=int(counts[_broad.INTERSECTING]),
        )

    def _keys(self, table: IntArray) -> IntArray:
        return table.min(axis=1, initial=np.iinfo(np.int64).max) * len(self._bodies) + table.max(axis=1, initial=0)

    def _rows(self, pairs: ArrayLike) -> IntArray:
        wanted = _checked_pairs(pairs, len(self._bodies))
        if not len(wanted):
            return np.empty(0, dtype=np.int64)
        keys = self._keys(wanted)
        at = np.searchsorted(self._sorted_keys, keys)
        known = at < len(self._sorted_keys)
        known[known] = self._sorted_keys[at[known]] == keys[known]
        if not known.all():
            a, b = wanted[~known][0]
            names = f"{self._bodies[a].name!r}, {self._bodies[b].name!r}"
            raise ValueError(f"pairs: ({a}, {b}) ({names}) is not one of the scene's pairs")
        return self._key_order[at]


def _stack(items: list[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    return np.ascontiguousarray(items, dtype=np.float64) if items else np.empty((0, *shape))


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _checked_pairs(pairs: ArrayLike, count: int) -> IntArray:
    table = np.array(pairs)
    if table.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"pairs: must be integers of shape (n, 2), found {table.dtype} of shape {table.shape}")
    if table.min() < 0 or table.max() >= count:
        raise ValueError(f"pairs: indices must be in [0, {count}), found {table.min()} to {table.max()}")
    if (table[:, 0] == table[:, 1]).any():
        raise ValueError("pairs: a body cannot be paired with itself")
    return np.ascontiguousarray(table, dtype=np.int64)

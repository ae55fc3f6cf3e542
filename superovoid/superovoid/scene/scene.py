# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many bodies: their poses, allowed pairs, culling, warm starts, and one query. A `Scene` holds all of this state.

========================  =================================================================================
a scene of three bodies   what a query does
========================  =================================================================================
far apart                 nothing: the bounding spheres of each pair are farther apart than `max_distance`
two side by side          spheres within `max_distance`, oriented boxes not: nothing
two touching              spheres and boxes overlap: solved, starting from the points of the last query if any
========================  =================================================================================

A scene with few pairs tests each of them. A scene with many finds the near ones by a tree of boxes. Data of a pair (an
exception from the rules, the points of its last answer) is stored only for pairs that need it, so memory and time grow
with the number of bodies and their neighbours, not with the number of pairs.
"""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.aabb_tree import node_count
from superovoid.contact import columns
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, as_poses, check_rtol
from superovoid.contact.results import DistanceResults
from superovoid.scene import (
    body_rows,
    box_tree,
    culling,
    first_try,
    pair_table,
    solving,
)
from superovoid.scene.bodies import Body
from superovoid.scene.members import Members, some_of
from superovoid.scene.results import SceneResult
from superovoid.shapes.kernels import kinds
from superovoid.shapes.primitives import Offsets, pack_shapes_behind
from superovoid.shapes.shape import EMPTY_POOL
from superovoid.values.checks import greatest_distance, whole
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.values.records import Statistics

if TYPE_CHECKING:
    from superovoid.viewing.serving import Viewer

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# With at most this many allowed pairs for each body, testing them all is faster than the tree
# (docs/explanation/search.md).
_LISTED_PAIRS = 70
# With more pairs than that, `prepare` allocates memory for this many near pairs for each body.
_NEAR_PAIRS = 16
# With more pairs than this the tree is used: listing them again whenever an object is added or removed takes longer. A
# robot among many objects has few pairs for each body, but many in all.
_MOST_LISTED = 20_000
# A query of the tree for the closest pairs starts at the largest distance of the last query plus this share of the
# usual first distance.
_REACH_AHEAD = 0.25
# In a scene of at least this many rows, a removed body leaves its row empty as long as at most this share of the rows
# is empty: closing a gap takes about 100 ns for each row behind it.
_GAPS_FROM, _MOST_GAPS = 1 << 11, 0.125
# At most this many gaps are closed in the tree; with more, it is rebuilt.
_CLOSED_IN_TREE = 4
# Numbers in the pool that may remain of removed bodies.
_SPARE_VERTICES = 1 << 16
# The link row of a gap.
_NOWHERE = -1
# The tree is rebuilt when its boxes have grown by this factor since it was built.
_TREE_GROWTH = 1.2
# The pickled attributes, besides bodies and poses, which `Scene.__getstate__` adds.
_PICKLED = ("_rtol", "_max_evaluations", "_row", "_rules", "_count", "_table")
# Least number of warm starts kept (fewer if there are fewer pairs), and largest; one takes about 300 bytes.
_WARM_STARTS, _MOST_WARM_STARTS = 1 << 14, 1 << 18


class SceneTables(NamedTuple):
    """The data of a scene that kernels read."""

    local: culling.Local
    """Rows of the bodies."""
    link: IntArray
    """Row of each body's link in `links`."""
    vertices: FloatArray
    """Vertices and trees of the meshes that the rows refer to."""
    pairs: IntArray
    links: tuple[str, ...]
    link_poses: FloatArray
    posed: NDArray[np.bool_]
    """Whether a link has a pose."""
    rtol: float
    max_evaluations: int


class Scene:
    """Bodies on links, the pairs to be checked, and the poses of the links.

    Parameters
    ----------
    bodies : sequence of Body
        Names must be unique.
    pairs : (n, 2) array_like of int, optional
        Indices of the pairs of bodies to check, and no other pairs of these bodies; default: all pairs on different
        links. Duplicates are ignored.
    rtol : float, optional
        Width of a certified interval, as a fraction of the smaller body's largest semi-axis, as for
        `superovoid.distance`.
    max_evaluations : int, optional
        Largest number of support evaluations of the global search for one pair; beyond it the answer has
        `Status.UNPROVEN`.

    Raises
    ------
    ValueError
        If a name occurs twice, an index of a pair is out of range, or a number is invalid.

    Notes
    -----
    Calls from several threads run one at a time. They share the poses: a query sees the poses set last by any thread.
    For another thread, or a hypothetical state, `fork` returns a scene with its own poses that shares the bodies.
    """

    _table: IntArray | None  # the checked pairs; None until they are listed
    _tree: box_tree.Tree | None
    _tree_fits: bool
    _pool: pair_table.WarmStarts
    _world: culling.World
    _local: culling.Local
    _room: body_rows.Arrays | None  # `_local`, the links in `_rules` and `_world` are its first rows
    _lanes: first_try.Lanes
    _on_link: IntArray  # number of bodies on each link
    _closed_on_link: IntArray
    _stale: NDArray[np.bool_]  # links moved since the tree was refitted

    def __init__(
        self,
        bodies: Sequence[Body],
        pairs: ArrayLike | None = None,
        *,
        rtol: float = TOLERANCE,
        max_evaluations: int = SEARCH_BUDGET,
    ) -> None:
        self._rtol = check_rtol(rtol)
        self._max_evaluations = whole("max_evaluations", max_evaluations, 0)
        self._use_memory()
        self._hold(Members())
        self._row: dict[str, int] = {}
        self._link_poses = np.empty((0, 4, 4))
        self._posed = np.empty(0, dtype=np.bool_)
        self._use_local(body_rows.rows_of([]), ())
        self._rules = pair_table.rules_for(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), 0)
        self._use_rules(self._rules)
        self._place_all()
        self._add(bodies, closed=pairs is not None)
        if pairs is not None:
            listed = _checked_pairs(pairs, len(self._members))
            added = self._except(listed, pair_table.ALLOWED_TURNED)
            if added == len(listed):
                self._table = listed

    # -- bodies and pairs -----------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies; their order gives the indices used everywhere."""
        with self._lock:
            return self._members.bodies

    @property
    def links(self) -> tuple[str, ...]:
        """Links that carry a body."""
        return tuple(self._row)

    @property
    def pair_count(self) -> int:
        """Number of pairs to check; `pairs` lists them."""
        return self._count

    @property
    def pairs(self) -> IntArray:
        """Pairs to check, shape (n, 2), body indices. The array is made on access and may be long."""
        with self._lock:
            self._close_gaps()
            table = self._listed().view()
        table.flags.writeable = False
        return table

    @property
    def poses(self) -> FloatArray | None:
        """World poses of the bodies, shape (n, 4, 4), m, a copy; None if a link has no pose yet."""
        with self._lock:
            self._close_gaps()
            return self._world.poses.copy() if self._all_posed else None

    def fork(self) -> Scene:
        """Return a scene that shares the bodies and pairs, with its own copy of poses and warm starts."""
        other = object.__new__(Scene)
        with self._lock:
            self._close_gaps()
            self._is_shared = True
            other.__dict__.update(self.__dict__)
            other._link_poses = self._link_poses.copy()
            other._posed = self._posed.copy()
            other._stale = self._stale.copy()
            other._world = culling.World(*(array.copy() for array in self._world))
            other._pool = pair_table.copy_of(self._pool)
            if self._tree is not None:
                other._tree = box_tree.Tree._make(array.copy() for array in self._tree)
        other._lock = threading.Lock()
        other._counts = np.zeros_like(self._counts)
        other._lanes = first_try.lanes_for(0)
        other._scratch = solving.scratch_for(len(self._scratch.out), columns.RESULT_LENGTH)
        other._wanted = np.empty_like(self._wanted)
        return other

    def __repr__(self) -> str:
        with self._lock:
            bodies, links, posed = len(self._members), len(self._row), int(self._posed.sum())
            return f"Scene({bodies} bodies on {links} links, {self._count} pairs, poses of {posed} of {links} links)"

    def __copy__(self) -> Scene:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        return self.fork()  # bodies never change

    def __getstate__(self) -> dict[str, Any]:
        """Return bodies, rules and poses. Rows of kernels and warm starts may differ between versions."""
        with self._lock:
            self._close_gaps()
            state = {name: self.__dict__[name] for name in _PICKLED}
            return {
                **state,
                "_bodies": self._members.bodies,
                "_link_poses": self._link_poses.copy(),
                "_posed": self._posed.copy(),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._use_memory()
        bodies = state.pop("_bodies")
        self.__dict__.update(state)
        self._hold(Members(bodies))
        self._use_local(body_rows.rows_of(bodies), bodies)
        table = self._table
        self._use_rules(self._rules)
        self._table = table
        self._place_all()

    def tables(self, pairs: ArrayLike | None = None) -> SceneTables:
        """Return the current data of the scene that kernels read, for loops over poses (`superovoid.states`).

        Parameters
        ----------
        pairs : (n, 2) array_like of int, optional
            Only these of the scene's pairs, in either order.

        Returns
        -------
        SceneTables
            A snapshot: later changes of the scene do not change it.

        Raises
        ------
        ValueError
            If a pair is not one of the scene's.
        """
        with self._lock:
            self._close_gaps()
            self._is_shared = True
            listed = self._listed() if pairs is None else self._taken(pairs)
            return SceneTables(
                self._local,
                self._rules.link,
                self._vertices,
                listed,
                self.links,
                self._link_poses.copy(),
                self._posed.copy(),
                self._rtol,
                self._max_evaluations,
            )

    # -- changes ----------------------------------------------------------------------------------------------------

    def add(self, bodies: Body | Sequence[Body]) -> None:
        """Append bodies, to be checked against all bodies on other links.

        Parameters
        ----------
        bodies : Body or sequence of Body
            A link without bodies so far needs a pose before the next query.

        Raises
        ------
        ValueError
            If a name is taken.
        """
        with self._lock:
            self._add((bodies,) if isinstance(bodies, Body) else bodies, closed=False)

    def remove(self, name: str) -> None:
        """Remove a body; the indices of later bodies decrease by one.

        Raises
        ------
        ValueError
            If there is no body of that name.
        """
        with self._lock:
            gone = self._members.row_of(name)
            self._own()
            row = int(self._rules.link[gone])
            self._leave_gap(name, gone)
            allowed = _MOST_GAPS * len(self._rules.link) if len(self._rules.link) >= _GAPS_FROM else 0
            spare = len(self._vertices) > 2 * self._packed_vertices + _SPARE_VERTICES
            if len(self._members.gaps) > allowed or spare or not self._on_link[row]:
                self._close_gaps()
                self._drop_link_without_bodies(row)

    def attach(self, name: str, link: str, link_from_body: ArrayLike) -> None:
        """Attach a body to another link, as when it is grasped or put down; see `exchange`."""
        with self._lock:
            self._close_gaps()
            shape = self._members[self._members.row_of(name)].shape
            self._exchange([Body(name, link, shape, link_from_body)])

    def exchange(self, bodies: Sequence[Body]) -> None:
        """Move bodies to other links or other poses in their links; names and shapes stay the same.

        The bodies keep their indices, warm starts and pair rules. One call takes one pass over the rows of the scene,
        whatever the number of bodies.

        Parameters
        ----------
        bodies : sequence of Body
            A link without bodies so far needs a pose before the next query.

        Raises
        ------
        ValueError
            If there is no body of a name, or it has another shape; then nothing has changed.
        """
        with self._lock:
            self._exchange(bodies)

    def _exchange(self, bodies: Sequence[Body]) -> None:
        self._close_gaps()
        rows = [self._members.row_of(body.name) for body in bodies]
        for row, body in zip(rows, bodies, strict=True):
            if self._members[row].shape is not body.shape and self._members[row].shape != body.shape:
                raise ValueError(f"body {body.name!r}: must keep its shape; to change it, remove and add the body")
        if not rows:
            return
        self._own()
        for row, body in zip(rows, bodies, strict=True):
            self._members.exchange(row, body)
        offsets, losses, links = self._local.link_from_body.copy(), self._local.losses.copy(), self._rules.link.copy()
        offsets[rows] = [body.link_from_body for body in bodies]
        losses[rows] = body_rows.losses_of(bodies, self._local.packed[rows])
        self._add_links([body.link for body in bodies])
        before, moved = links[rows], np.array([self._row[body.link] for body in bodies], dtype=np.int64)
        self._local, self._room = self._local._replace(link_from_body=offsets, losses=losses), None
        if (before != moved).any():
            links[rows] = moved
            self._set_rules(links, self._rules.closed, np.arange(len(links)))
        self._place_all()
        for left in sorted(set(before.tolist()) - set(moved.tolist()), reverse=True):
            self._drop_link_without_bodies(left)

    def set_pairs_allowed(self, pairs: ArrayLike, allowed: bool) -> None:
        """Set whether pairs are checked, in place of earlier rules for them.

        Parameters
        ----------
        pairs : (n, 2) array_like of int
            Indices of bodies, in either order.
        allowed : bool
            Whether queries check them.

        Raises
        ------
        ValueError
            If a pair names a body that does not exist.
        """
        with self._lock:
            self._close_gaps()
            table = _checked_pairs(pairs, len(self._members))
            self._except(table, pair_table.ALLOWED if allowed else pair_table.FORBIDDEN)

    # -- poses -----------------------------------------------------------------------------------------------------

    def set_link_poses(self, world_from_link: Mapping[str, PoseLike] | PosesLike) -> None:
        """Set the poses of all links that carry bodies.

        Parameters
        ----------
        world_from_link : mapping of str to (4, 4) array_like, or (n, 4, 4) array_like
            Link to world, m. Other links may be present in a mapping; rows of an array are in the order of `links`.

        Raises
        ------
        ValueError
            If the pose of a link is missing or not a rigid transform; the state is then left as it was.
        """
        with self._lock:
            if isinstance(world_from_link, Mapping):
                poses = self._from_mapping(world_from_link)
            else:
                poses = as_poses("world_from_link", world_from_link)
                if poses.shape != self._link_poses.shape:
                    raise ValueError(f"world_from_link: must have shape {self._link_poses.shape}, found {poses.shape}")
            # Bodies on links that have not moved keep their poses: a world may have a hundred thousand of them.
            moved = (self._link_poses != poses).any(axis=(1, 2)) | ~self._posed
            self._link_poses[:] = poses
            self._posed[:] = True
            rounding = self._place(moved)
            self._moved(rounding if moved.all() else max(self._rounding, rounding), moved)

    def set_link_pose(self, link: str, world_from_link: PoseLike) -> None:
        """Set the pose of one link.

        Parameters
        ----------
        link : str
            One of `links`.
        world_from_link : (4, 4) array_like
            Link to world, m.

        Raises
        ------
        ValueError
            If no body is on that link or the pose is not a rigid transform; the state is then left as it was.
        """
        pose = as_poses(f"world_from_link[{link!r}]", world_from_link)
        if pose.shape != (4, 4):
            raise ValueError(f"world_from_link: must have shape (4, 4), found {pose.shape}")
        with self._lock:
            if link not in self._row:
                raise ValueError(f"link = {link!r}: no body is on it; links with bodies: {some_of(tuple(self._row))}")
            row = self._row[link]
            self._link_poses[row] = pose
            self._posed[row] = True
            rounding = culling.place_link(self._local, self._rules.link, row, self._link_poses[row], self._world)
            self._moved(max(self._rounding, rounding), np.arange(len(self._row)) == row)

    def forget(self) -> None:
        """Drop the warm starts of earlier queries."""
        with self._lock:
            pair_table.forget(self._pool)
            self._last_reach = 0, 0.0

    def prepare(self, *, pairs: ArrayLike | None = None, freeze: bool = False) -> None:
        """Allocate the memory of later queries now, for control loops (docs/how_to/loops.md).

        It is enough even if bodies are near each other. Poses and answers do not change.

        Parameters
        ----------
        pairs : (n, 2) array_like of int, optional
            The `pairs` of later queries.
        freeze : bool, optional
            Whether to call `gc.collect` and `gc.freeze`, which exclude all present objects of the process from later
            garbage collections (`gc.unfreeze` reverts this).

        Raises
        ------
        ValueError
            If a pair is not one of the scene's.
        """
        with self._lock:
            self._close_gaps()
            wanted = 0 if pairs is None else self._take(pairs)
            listed = self._is_listed(self._count)
            near = self._count if listed else min(self._count, _NEAR_PAIRS * len(self._members))
            self._reserve(max(near, wanted))
            self._provide_slots(near)
            self._provide_lanes(max(near, wanted))
            if listed:
                self._listed()
            elif self._all_posed:
                self._fitted_tree()
            _touch((*self._scratch, *self._pool, *self._lanes, self._wanted))
        if freeze:
            gc.collect()
            gc.freeze()

    def show(self, *, near: float | None = None, **options: Any) -> Viewer:
        """Serve a web page with the current scene (docs/how_to/viewing.md).

        Parameters
        ----------
        near : float, optional
            Pairs at most this far apart are shown, m; default: about a fiftieth of the scene's extent.
        **options
            ``host``, by default this machine only, and ``port``, by default a free one.

        Returns
        -------
        Viewer
            `url` is the address of the page, `wait` blocks until it ends, `close` ends it.

        Raises
        ------
        ValueError
            If a link has no pose, or `near` is not a distance.
        ServingError
            If viser is not installed, or the address is in use; a subclass of RuntimeError.
        """
        from superovoid.viewing import show  # late: pages import scenes

        return show("scene_page", self, near=near, **options)

    # -- query --------------------------------------------------------------------------------------------------------

    def candidates(self, max_distance: float, *, by: Literal["list", "tree"] | None = None) -> IntArray:
        """Return the pairs whose bounding volumes are within `max_distance`: those that `query` solves.

        Parameters
        ----------
        max_distance : float
            Largest distance of the volumes, m.
        by : {"list", "tree"}, optional
            Whether to test all pairs, or those with near boxes in a tree; default: as `query` does, by the number of
            pairs. The tree excludes pairs whose axis-aligned boxes are farther apart.

        Returns
        -------
        (n, 2) ndarray of int
            Indices of bodies, in no particular order.

        Raises
        ------
        ValueError
            If an argument is invalid, or a pose has not been set.
        """
        max_distance = greatest_distance(max_distance)
        if by not in (None, "list", "tree"):
            raise ValueError(f"by = {by!r}: must be 'list' or 'tree'")
        with self._lock:
            if not self._all_posed:
                self._complain_about_poses()
            listed = self._is_listed(self._count) if by is None else by == "list"
            count = self._cull(max_distance, None, self._count, listed)
            return self._members.indices(self._scratch.candidates[:count])

    def query(
        self,
        *,
        max_distance: float = math.inf,
        pairs: ArrayLike | None = None,
        max_results: int | None = None,
        overlapping_only: bool = False,
    ) -> SceneResult:
        """Compute the signed distances of the pairs within `max_distance`.

        Parameters
        ----------
        max_distance : float, optional
            Largest distance to report, m. Pairs proved farther by their bounding volumes are not solved. By default
            (and without `max_results`) every pair is solved.
        pairs : (n, 2) array_like of int, optional
            Only these of the scene's pairs, in either order.
        max_results : int, optional
            Report only this many of the closest pairs: the first rows of the query without it, if all answers are
            certified. Pairs that their bounding volumes exclude are not solved. A scene with many pairs searches with
            growing distances until it has enough; the statistics are those of the last search.
        overlapping_only : bool, optional
            Report only pairs with a negative distance.

        Returns
        -------
        SceneResult
            Sorted by ascending signed distance.

        Raises
        ------
        ValueError
            If an argument is out of range, a pair is not one of the scene's, or a pose has not been set.
        """
        max_distance = greatest_distance(max_distance)
        if max_results is not None:
            max_results = whole("max_results", max_results, 1)
        limit = min(max_distance, 0.0) if overlapping_only else max_distance
        with self._lock:
            if not self._all_posed:
                self._complain_about_poses()
            count = self._count if pairs is None else self._take(pairs)
            enough = count if max_results is None else min(max_results, count)
            listed = pairs is not None or self._is_listed(count)
            reach = limit if max_results is None or listed else min(limit, self._first_reach(enough))
            while True:
                candidates = self._cull(reach, self._wanted if pairs is not None else None, count, listed)
                found = 0
                if candidates >= enough or reach == limit:
                    found = self._solve(candidates, enough, reach, bool(overlapping_only))
                if reach == limit or found >= enough:
                    break
                reach = min(limit, max(2.0 * reach, self._usual_reach()))
            order = self._scratch.keys.order[:found][:max_results]
            if not listed and 0 < enough <= found:
                self._last_reach = enough, float(self._scratch.keys.values[order[-1]])
            rows = self._scratch.out.take(order, axis=0)
            which = self._members.indices(self._scratch.keys.pairs.take(order, axis=0))
            past_sphere, past_obb, bounded, solved, intersecting = self._counts.tolist()
            bodies = self._members.bodies
        answer = vars(DistanceResults.from_rows(rows))
        answer["statistics"] = Statistics(
            **vars(answer["statistics"]),
            pairs=count,
            past_sphere=past_sphere,
            past_obb=past_obb,
            bounded=bounded,
            solved=solved,
            intersecting=intersecting,
        )
        return SceneResult(**answer, body_a=which[:, 0], body_b=which[:, 1], bodies=bodies)

    def _is_listed(self, count: int) -> bool:
        """Return whether each of `count` pairs is tested, without the tree."""
        return count <= min(_LISTED_PAIRS * len(self._members), _MOST_LISTED)

    def _cull(self, limit: float, table: IntArray | None, count: int, listed: bool) -> int:
        """Write the pairs whose volumes are within the limit to the scratch memory."""
        if listed:
            self._close_gaps()
            self._reserve(count)
            table = self._listed() if table is None else table
            args = self._local, self._world
            return culling.cull_list(*args, table, count, limit, self._rounding, self._scratch.candidates, self._counts)
        tree = self._fitted_tree()
        args = self._local, self._world
        while True:
            room = self._scratch.candidates
            found = box_tree.cull_tree(*args, self._rules, tree, limit, self._rounding, room, self._counts)
            if found <= len(room):
                return found
            self._reserve(min(found + found // 2, count))

    def _solve(self, candidates: int, most: int, limit: float, overlapping_only: bool) -> int:
        """Solve the pairs in the scratch memory that may be among the `most` closest within the limit.

        Returns the number of rows written, which include the wanted pairs.
        """
        self._provide_slots(candidates)
        wanted = solving.Wanted(most, limit, overlapping_only, self._rounding, self._rtol, self._max_evaluations)
        local, world, pool, scratch, counts = self._local, self._world, self._pool, self._scratch, self._counts
        found, left = 0, candidates
        if first_try.LEAST <= candidates <= most:
            self._provide_lanes(candidates)
            found, left = first_try.answer_first(local, world, candidates, wanted, pool, scratch, counts, self._lanes)
        return solving.solve(local, self._vertices, world, found, left, wanted, pool, scratch, counts)

    def _usual_reach(self) -> float:
        """Return a distance, m, within which few bodies of the tree are."""
        tree = self._fitted_tree()
        if tree.head[box_tree.NODES] == 0:
            return math.inf
        low, high = tree.nodes[0, :6].reshape(2, 3)
        return float(np.linalg.norm(high - low)) / (32.0 * len(self._members) ** (1.0 / 3.0)) or math.inf

    def _first_reach(self, enough: int) -> float:
        """Return the first distance, m, of a search for this many pairs: a little more than the last search needed."""
        usual = self._usual_reach()
        asked, last = self._last_reach
        return last + _REACH_AHEAD * usual if asked == enough and usual < math.inf else usual

    # -- memory: grows only if the number of near pairs does -----------------------------------------------------------

    def _use_memory(self) -> None:
        """Start without scratch memory."""
        self._lock = threading.Lock()
        self._counts = np.zeros(culling.COUNTS, dtype=np.int64)
        self._pool = pair_table.warm_starts(0)
        self._lanes = first_try.lanes_for(0)
        self._scratch = solving.scratch_for(0, columns.RESULT_LENGTH)
        self._wanted = np.empty((0, 2), dtype=np.int64)
        self._last_reach = 0, 0.0  # `max_results` of the last query, and the distance of its last pair, m
        self._tree = None

    def _reserve(self, count: int) -> None:
        if len(self._scratch.out) < count:
            self._scratch = solving.scratch_for(count, columns.RESULT_LENGTH)

    def _provide_lanes(self, candidates: int) -> None:
        if not len(self._lanes.block):
            self._lanes = first_try.lanes_for(candidates)

    def _provide_slots(self, candidates: int) -> None:
        capacity = len(self._pool.owner)
        if self._pool.head[pair_table.COUNT] + candidates <= capacity:
            return
        # Twice the present need, because near pairs change; for few pairs, a slot for each.
        wanted = min(_MOST_WARM_STARTS, self._count, max(2 * candidates, _WARM_STARTS))
        if capacity < wanted:
            pool = pair_table.warm_starts(min(_MOST_WARM_STARTS, self._count, max(wanted, 2 * capacity)))
            pair_table.move_warm_starts(self._pool, pool, np.arange(len(self._rules.link)))
            self._pool = pool

    def _fitted_tree(self) -> box_tree.Tree:
        if self._tree is None:
            self._tree = box_tree.tree_for(len(self._members))
            self._tree_cost = -math.inf
        if not self._tree_fits:
            box_tree.refit(self._tree, self._world.bounds, self._stale)
            if not self._tree.cost[0] <= _TREE_GROWTH * self._tree_cost:
                self._build_tree()
                box_tree.refit(self._tree, self._world.bounds, np.ones_like(self._stale))
                self._tree_cost = float(self._tree.cost[0])
            self._stale[:] = False
            self._tree_fits = True
        return self._tree

    def _build_tree(self) -> None:
        """Rebuild the tree, without the rows of gaps."""
        count = len(self._members)
        tree = self._tree
        if tree is None or len(tree.nodes) < node_count(count):  # it has too few nodes
            tree = box_tree.tree_for(count)
        elif len(tree.order) != count:
            tree = tree._replace(order=np.empty(count, dtype=np.int32))
        spheres, links = self._world.spheres, self._rules.link
        if len(self._members.gaps):
            rows = np.flatnonzero(links != _NOWHERE)
            box_tree.build(tree, spheres[rows], links[rows])
            tree.order[:] = rows[tree.order]
        else:
            box_tree.build(tree, spheres, links)
        self._tree = tree

    # -- bodies, links and rules ---------------------------------------------------------------------------------------

    def _hold(self, members: Members) -> None:
        """Use bodies that have no rows yet."""
        self._members = members
        self._is_shared = False  # with forks and tables, which must not change
        self._room = None

    def _own(self) -> None:
        """Copy the shared data before a change."""
        if self._is_shared:
            self._members = self._members.copy()
            self._rules = self._rules._replace(link=self._rules.link.copy())
            self._room = None
            self._on_link, self._closed_on_link = self._on_link.copy(), self._closed_on_link.copy()
            self._is_shared = False

    def _leave_gap(self, name: str, gone: int) -> None:
        """Remove a body, but keep its row.

        The row has no link, so it is not placed again, and its sphere is nan, so that no body is near it.
        """
        self._members.leave_gap(name)
        self._world.spheres[gone] = math.nan, math.nan, math.nan, 0.0
        self._tree = box_tree.without_loose(self._tree, gone)
        keys = self._rules.keys
        excepted = ((keys >> 32 == gone) | (keys & 0xFFFFFFFF == gone)) & (keys != pair_table.EMPTY)
        row, closed = int(self._rules.link[gone]), bool(self._rules.closed[gone])
        self._rules.link[gone] = _NOWHERE
        self._on_link[row] -= 1
        self._closed_on_link[row] -= closed
        if excepted.any():
            index = np.arange(len(self._rules.link))
            index[gone] = -1
            rules = self._rules
            rules = rules._replace(keys=np.full_like(rules.keys, pair_table.EMPTY), answers=rules.answers.copy())
            pair_table.move_rules(self._rules, rules, index)
            self._rules = rules
        self._count_pairs(has_other_exceptions=bool(excepted.any()))

    def _close_gaps(self) -> None:
        """Remove the rows without bodies."""
        gaps = self._members.gaps
        if not len(gaps):
            return
        self._own()
        tree = self._tree if len(gaps) <= _CLOSED_IN_TREE else None
        for gone in gaps[::-1].tolist() if tree is not None else ():
            tree = box_tree.without_body(tree, gone)
        index = self._members.close_gaps()
        keep = index >= 0
        self._use_local(culling.Local(*(array[keep] for array in self._local)), self._members.bodies)
        self._set_rules(self._rules.link[keep], self._rules.closed[keep], index)
        pool = pair_table.warm_starts(len(self._pool.owner))
        pair_table.move_warm_starts(self._pool, pool, index)
        self._pool = pool
        self._place_all()
        self._tree = tree

    def _add(self, bodies: Sequence[Body], closed: bool) -> None:
        bodies = self._members.checked(bodies)
        if not bodies:
            return
        local = body_rows.rows_of(bodies)
        self._own()
        count = self._members.row_count
        self._members.add(bodies)
        if (local.packed[:, kinds.VERTEX_COUNT] > 0.0).any():
            local = local._replace(packed=self._pack(bodies))
        self._add_links([body.link for body in bodies])
        links = np.array([self._row[body.link] for body in bodies], dtype=np.int64)
        rows = (*self._local, *self._world, self._rules.link, self._rules.closed)
        more = (*local, *culling.world_of(len(bodies)), links, np.full(len(bodies), closed))
        together, self._room = body_rows.joined(rows, more, self._room)
        of_world = len(local)
        self._local, self._world = culling.Local(*together[:of_world]), culling.World(*together[of_world:-2])
        link, is_closed = together[-2:]
        self._rules = self._rules._replace(link=link, closed=is_closed)
        self._on_link += np.bincount(links, minlength=len(self._row))
        if closed:
            self._closed_on_link += np.bincount(links, minlength=len(self._row))
        self._count_pairs()
        self._tree = box_tree.with_bodies(self._tree, count, len(bodies))
        behind = slice(count, None)
        rounding = culling.place_all(
            culling.Local(*(array[behind] for array in self._local)),
            link[behind],
            self._link_poses,
            self._posed,
            culling.World(*(array[behind] for array in self._world)),
        )
        self._moved(max(self._rounding, rounding), np.zeros(len(self._row), dtype=np.bool_))

    def _use_local(self, local: culling.Local, bodies: Sequence[Body]) -> None:
        """Use these rows of all bodies, and pack the meshes that they refer to."""
        self._vertices: FloatArray = EMPTY_POOL
        self._packed_vertices = 0
        self._offsets: Offsets = {}
        self._local, self._room = local, None
        if (local.packed[:, kinds.VERTEX_COUNT] > 0.0).any():
            self._local = local._replace(packed=self._pack(bodies))
            self._packed_vertices = len(self._vertices)

    def _pack(self, bodies: Sequence[Body]) -> FloatArray:
        """Return the rows of bodies, and append their meshes to the pool, once for each shape."""
        shapes = (body.shape for body in bodies)
        rows, vertices, self._offsets = pack_shapes_behind(shapes, len(self._vertices), self._offsets)
        self._vertices = np.concatenate([self._vertices, vertices])
        return rows

    def _add_links(self, links: Sequence[str]) -> None:
        new = [link for link in dict.fromkeys(links) if link not in self._row]
        if not new:
            return
        none = np.zeros(len(new), dtype=np.int64)
        self._row = {**self._row, **{link: len(self._row) + i for i, link in enumerate(new)}}
        self._link_poses = np.concatenate([self._link_poses, np.tile(np.eye(4), (len(new), 1, 1))])
        self._posed = np.concatenate([self._posed, none.astype(np.bool_)])
        self._stale = np.concatenate([self._stale, none.astype(np.bool_)])
        self._on_link = np.concatenate([self._on_link, none])
        self._closed_on_link = np.concatenate([self._closed_on_link, none])

    def _drop_link_without_bodies(self, row: int) -> None:
        """Drop a link without bodies; there must be no gaps."""
        if self._on_link[row]:
            return
        self._row = {link: i for i, link in enumerate(link for link, i in self._row.items() if i != row)}
        self._link_poses = np.delete(self._link_poses, row, axis=0)
        self._posed = np.delete(self._posed, row)
        links = self._rules.link
        self._use_rules(self._rules._replace(link=links - (links > row)))
        self._tree = None  # its nodes name rows of links
        self._moved(self._rounding)

    def _place_all(self) -> None:
        """Place all bodies again, and drop the tree."""
        self._world, self._room = culling.world_of(len(self._rules.link)), None
        self._tree = None
        self._moved(self._place(self._posed))

    def _place(self, links: NDArray[np.bool_]) -> float:
        """Place the bodies of links; return the largest rounding of their bounds, m."""
        # The link row of a gap is -1, the last entry.
        links = np.append(links, False) if len(self._members.gaps) else links
        return float(culling.place_all(self._local, self._rules.link, self._link_poses, links, self._world))

    def _moved(self, rounding: float, links: NDArray[np.bool_] | None = None) -> None:
        """Record that the bodies of links have moved; default: of all links."""
        self._rounding = rounding
        self._all_posed = bool(self._posed.all())
        self._tree_fits = False
        if links is None:
            self._stale = np.ones(len(self._row), dtype=np.bool_)
        else:
            self._stale |= links

    def _set_rules(self, link: IntArray, closed: NDArray[np.bool_], index: IntArray, more: int = 0) -> None:
        """Move the exceptions of the rules to other rows of bodies.

        The old tables do not change, since forks may read them.
        """
        old = self._rules
        rules = pair_table.rules_for(link, closed, int((old.keys != pair_table.EMPTY).sum()) + more)
        pair_table.move_rules(old, rules, index)
        self._use_rules(rules)

    def _except(self, pairs: IntArray, answer: int) -> int:
        self._set_rules(self._rules.link, self._rules.closed, np.arange(len(self._rules.link)), more=len(pairs))
        added = pair_table.set_rules(self._rules, pairs, answer)
        self._use_rules(self._rules)
        return int(added)

    def _use_rules(self, rules: pair_table.Rules) -> None:
        """Use these rules of bodies without gaps."""
        if rules.link is not self._rules.link:
            self._room = None
        self._rules = rules
        self._on_link = np.bincount(rules.link, minlength=len(self._row))
        self._closed_on_link = np.bincount(rules.link[rules.closed], minlength=len(self._row))
        self._count_pairs(has_other_exceptions=True)

    def _count_pairs(self, has_other_exceptions: bool = False) -> None:
        if has_other_exceptions:
            more, within = pair_table.exceptions_count(self._rules)
            self._more, self._rules = int(more), self._rules._replace(within_links=bool(within))
        self._count = _pairs_between(self._on_link) - _pairs_between(self._closed_on_link) + self._more
        self._table = None

    def _listed(self) -> IntArray:
        if self._table is None:
            table = np.empty((self._count, 2), dtype=np.int64)
            pair_table.list_allowed(self._rules, table)
            keys = table.min(axis=1) * len(self._members) + table.max(axis=1)
            self._table = table if (keys[:-1] < keys[1:]).all() else table[np.argsort(keys)]
        return self._table

    # -- input ---------------------------------------------------------------------------------------------------------

    def _from_mapping(self, world_from_link: Mapping[str, PoseLike]) -> FloatArray:
        missing = [link for link in self._row if link not in world_from_link]
        if missing:
            raise ValueError(f"world_from_link: no pose for {some_of(missing)}; every link with a body needs one")
        if not self._row:
            return np.empty((0, 4, 4))
        try:
            return as_poses("world_from_link", [world_from_link[link] for link in self._row])
        except ValueError:
            for link in self._row:
                as_poses(f"world_from_link[{link!r}]", world_from_link[link])
            raise

    def _complain_about_poses(self) -> None:
        if not self._posed.any():
            raise ValueError("the scene has no poses yet: call set_link_poses() first")
        without = [link for link, row in self._row.items() if not self._posed[row]]
        raise ValueError(f"no pose yet for {some_of(without)}: call set_link_pose() first")

    def _taken(self, pairs: ArrayLike) -> IntArray:
        count = self._take(pairs)
        return self._wanted[:count].copy()

    def _take(self, pairs: ArrayLike) -> int:
        """Copy the pairs of a query, in the order of bodies that the scene reports; return their number."""
        self._close_gaps()
        wanted = np.asarray(pairs)
        if wanted.size == 0:
            return 0
        if wanted.ndim != 2 or wanted.shape[1] != 2 or wanted.dtype.kind not in "iu":
            _checked_pairs(wanted, len(self._members))
        count = len(wanted)
        if len(self._wanted) < count:
            self._wanted = np.empty((count, 2), dtype=np.int64)
        self._wanted[:count] = wanted
        wrong = pair_table.orient(self._rules, count, self._wanted)
        if wrong >= 0:
            _checked_pairs(wanted, len(self._members))
            a, b = wanted[wrong]
            names = f"{self._members[a].name!r}, {self._members[b].name!r}"
            raise ValueError(f"pairs: ({a}, {b}) ({names}) is not one of the scene's pairs")
        return count


def _pairs_between(on_link: IntArray) -> int:
    """Return the number of pairs on different links, given the number of bodies on each."""
    return (int(on_link.sum()) ** 2 - int((on_link**2).sum())) // 2


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


def _touch(arrays: Iterable[NDArray | Iterable[NDArray]]) -> None:
    """Write to every page of memory, so that the system provides it now."""
    for each in arrays:
        if isinstance(each, np.ndarray):
            each[...] = each.copy()
        else:
            _touch(each)

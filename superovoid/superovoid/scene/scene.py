# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many bodies: their poses, allowed pairs, culling, warm starts, and one query. A `Scene` holds all of this state.

========================  =================================================================================
a scene of three bodies   what a query does
========================  =================================================================================
far apart                 nothing: the bounding spheres of each pair are farther apart than `max_distance`
two side by side          spheres within `max_distance`, oriented boxes not: nothing
two touching              spheres and boxes overlap: solved, starting from the points of the last query, if any
========================  =================================================================================

A scene with few pairs tests each of them. A scene with many finds the near ones by a tree of boxes. Data of a pair (an
exception from the rules, the points of its last answer) is stored only for pairs that need it, so memory and time grow
with the number of bodies and their neighbours, not with the number of pairs.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE, check_rtol
from superovoid.contact.lanes import many_pairs
from superovoid.contact.points import PointDistances, RayHits, cast_rays, point_distances
from superovoid.scene import box_tree, culling, pair_table, solving
from superovoid.scene.bodies import Body, losses_of, rows_of, some_of
from superovoid.scene.results import SceneResult, fields_of
from superovoid.shapes import ShapeArray
from superovoid.shapes.kernels import kinds
from superovoid.shapes.poses import as_pose, as_poses
from superovoid.shapes.primitives import Offsets, pack_shapes_behind
from superovoid.values import html
from superovoid.values.checks import floats, greatest_distance, whole_number
from superovoid.values.poses import PoseLike, PosesLike

if TYPE_CHECKING:
    from superovoid.viewing.serving import Viewer

FloatArray = NDArray[np.float64]
Arrays = TypeVar("Arrays", bound=tuple[NDArray[Any], ...])
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
# The tree is rebuilt when its boxes have grown by this factor since it was built.
_TREE_GROWTH = 1.2
# The pickled attributes, besides poses, which `Scene.__getstate__` adds.
_PICKLED = ("_rtol", "_max_evaluations", "_bodies", "_row", "_rules", "_table")
# Least number of warm starts kept (fewer if there are fewer pairs), and largest; one takes about 300 bytes.
_WARM_STARTS, _MOST_WARM_STARTS = 1 << 14, 1 << 18


class SceneTables(NamedTuple):
    """The data of a scene that kernels read."""

    local: culling.LocalBodies
    """Rows of the bodies; `local.link` has the row of each body's link in `links`."""
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
    bodies : sequence of Body, or ShapeArray
        Names must be unique. Each shape of an array becomes a body on a link of its own, and its index, such as
        ``"0"``, is the name of both.
    pairs : (n, 2) array_like of int, optional
        Indices of the pairs of bodies to check; other pairs of these bodies are not checked. Default: all pairs on
        different links. Duplicates are ignored.
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

    _named: dict[str, Body]  # the bodies by name
    _bodies: tuple[Body, ...]
    _local: culling.LocalBodies
    _offsets: Offsets  # offsets of the meshes in the vertices of `_local`
    _rules: pair_table.Rules
    _count: int  # number of checked pairs
    _table: IntArray | None  # the checked pairs; None until they are listed
    _tree: box_tree.Tree | None
    _tree_fits: bool
    _memory: solving.Memory
    _stale: NDArray[np.bool_]  # links moved since the tree was refitted

    def __init__(
        self,
        bodies: Sequence[Body] | ShapeArray[Any],
        pairs: ArrayLike | None = None,
        *,
        rtol: float = TOLERANCE,
        max_evaluations: int = SEARCH_BUDGET,
    ) -> None:
        self._rtol = check_rtol(rtol)
        self._max_evaluations = whole_number("max_evaluations", max_evaluations, 0)
        self._named = {}
        self._begin(self._check_bodies(bodies), {}, np.empty((0, 4, 4)), np.empty(0, dtype=np.bool_), pairs is not None)
        if pairs is not None:
            listed = table_of(pairs)
            check_indices(listed, len(self._bodies))
            added = self._set_exceptions(listed, pair_table.ALLOWED_TURNED)
            if added == len(listed):
                self._table = listed

    # -- bodies and pairs -----------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies; their order gives the indices used everywhere."""
        return self._bodies

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
            table = self._list_pairs().view()
        table.flags.writeable = False
        return table

    @property
    def poses(self) -> FloatArray | None:
        """World poses of the bodies, shape (n, 4, 4), m, a copy; None if a link has no pose yet."""
        with self._lock:
            return self._memory.world.poses.copy() if self._posed.all() else None

    def fork(self) -> Scene:
        """Return a scene that shares the bodies and pairs, with its own copy of poses and warm starts."""
        other = object.__new__(Scene)
        with self._lock:
            other.__dict__.update(self.__dict__)
            other._link_poses, other._posed = self._link_poses.copy(), self._posed.copy()
            other._stale = self._stale.copy()
            memory = self._memory
            own = solving.memory_for(1, 0, len(memory.scratch.out), 0, False)
            own = own._replace(world=_copy(memory.world), pool=_copy(memory.pool))
            other._lock, other._memory = threading.Lock(), own
            if self._tree is not None:
                other._tree = _copy(self._tree)
        return other

    def __repr__(self) -> str:
        with self._lock:
            bodies, links, posed = len(self._bodies), len(self._row), int(self._posed.sum())
            return f"Scene({bodies} bodies on {links} links, {self._count} pairs, poses of {posed} of {links} links)"

    def _repr_html_(self) -> str:
        """Return the first bodies as a table, for a notebook."""
        rows = [(body.name, body.link, repr(body.shape)) for body in self.bodies]
        return html.first_rows(repr(self), ("body", "link", "shape"), rows)

    def __copy__(self) -> Scene:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        return self.fork()  # bodies never change

    def __getstate__(self) -> dict[str, Any]:
        """Return bodies, rules and poses. Rows of kernels and warm starts may differ between versions."""
        with self._lock:
            state = {name: self.__dict__[name] for name in _PICKLED}
            return {**state, "_link_poses": self._link_poses.copy(), "_posed": self._posed.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rules, table = state.pop("_rules"), state.pop("_table")
        self.__dict__.update(state)
        self._begin(self._bodies, self._row, self._link_poses, self._posed, False)
        self._use_rules(rules)
        self._table = table

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
            listed = self._list_pairs() if pairs is None else self._orient_pairs(pairs)
            of_links = self.links, self._link_poses.copy(), self._posed.copy()
            return SceneTables(self._local, listed, *of_links, self._rtol, self._max_evaluations)

    # -- changes ----------------------------------------------------------------------------------------------------

    def add(self, bodies: Body | Sequence[Body] | ShapeArray[Any]) -> None:
        """Append bodies, to be checked against all bodies on other links.

        Parameters
        ----------
        bodies : Body, sequence of Body, or ShapeArray
            A link without bodies so far needs a pose before the next query.

        Raises
        ------
        ValueError
            If a name is taken.
        """
        with self._lock:
            new = self._check_bodies((bodies,) if isinstance(bodies, Body) else bodies)
            if not new:
                return
            links = self._rows_of_links(new)
            rows, self._offsets = rows_of(new, links, len(self._local.vertices), self._offsets)
            local = culling.LocalBodies._make(map(np.concatenate, zip(self._local, rows, strict=True)))
            closed = np.append(self._rules.closed, np.zeros(len(new), dtype=np.bool_))
            self._hold(self._named | {body.name: body for body in new}, local, closed, np.arange(len(self._bodies)))

    def remove(self, names: str | Sequence[str]) -> None:
        """Remove bodies; the indices of later bodies decrease.

        Parameters
        ----------
        names : str or sequence of str
            Names of bodies. Each call takes one pass over the rows of the scene, for one name or many.

        Raises
        ------
        ValueError
            If no body has one of the names; the scene is then unchanged.
        """
        with self._lock:
            rows = self._indices((names,) if isinstance(names, str) else names)
            if not rows:
                return
            keep = np.ones(len(self._bodies), dtype=np.bool_)
            keep[rows] = False
            index = np.where(keep, np.cumsum(keep) - 1, -1)
            vertices = self._local.vertices
            local = culling.LocalBodies._make(array if array is vertices else array[keep] for array in self._local)
            named = dict(itertools.compress(self._named.items(), keep))
            if (self._local.packed[~keep, kinds.VERTEX_COUNT] > 0.0).any():
                shapes = [body.shape for body in named.values()]
                packed, vertices, self._offsets = pack_shapes_behind(shapes, 0, {})
                local = local._replace(packed=packed, vertices=vertices)
            self._hold(named, local, self._rules.closed[keep], index)

    def attach(self, name: str, link: str, link_from_body: ArrayLike) -> None:
        """Attach a body to another link, as when it is grasped or put down; see `exchange`."""
        with self._lock:
            self._indices((name,))
            shape = self._named[name].shape
            self._exchange([Body(name, link, shape, link_from_body)])

    def exchange(self, bodies: Sequence[Body]) -> None:
        """Move bodies to other links or other poses in their links; names and shapes stay the same.

        The bodies keep their indices, warm starts and pair rules. One call takes one pass over the rows of the scene,
        whatever the number of bodies.

        Parameters
        ----------
        bodies : sequence of Body
            A link that had no bodies needs a pose before the next query.

        Raises
        ------
        ValueError
            If no body has one of the names, or a shape differs; the scene is then unchanged.
        """
        with self._lock:
            self._exchange(bodies)

    def _exchange(self, bodies: Sequence[Body]) -> None:
        rows = self._indices([body.name for body in bodies])
        for body in bodies:
            shape = self._named[body.name].shape
            if shape is not body.shape and shape != body.shape:
                raise ValueError(f"body {body.name!r}: must keep its shape; to change it, remove and add the body")
        if rows:
            offsets, losses = self._local.link_from_body.copy(), self._local.losses.copy()
            link = self._local.link.copy()
            offsets[rows] = [body.link_from_body for body in bodies]
            losses[rows] = losses_of(bodies, self._local.packed[rows])
            link[rows] = self._rows_of_links(bodies)
            local = self._local._replace(link_from_body=offsets, losses=losses, link=link)
            named = self._named | {body.name: body for body in bodies}
            self._hold(named, local, self._rules.closed, np.arange(len(named)))

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
            If a pair names a body that does not exist, or `allowed` is not a bool.
        """
        if not isinstance(allowed, bool | np.bool_):
            raise ValueError(f"allowed = {allowed!r}: must be True or False")
        with self._lock:
            table = table_of(pairs)
            check_indices(table, len(self._bodies))
            self._set_exceptions(table, pair_table.ALLOWED if allowed else pair_table.FORBIDDEN)

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
            # Bodies on links at rest keep their poses: a world may have a hundred thousand of them.
            moved = (self._link_poses != poses).any(axis=(1, 2)) | ~self._posed
            self._link_poses[:] = poses
            self._posed[:] = True
            self._place(moved)

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
        pose = as_pose(f"world_from_link[{link!r}]", world_from_link)
        with self._lock:
            if link not in self._row:
                raise ValueError(f"link = {link!r}: no body is on it; links with bodies: {some_of(tuple(self._row))}")
            row = self._row[link]
            self._link_poses[row] = pose
            self._posed[row] = True
            self._place(np.arange(len(self._row)) == row)

    def forget(self) -> None:
        """Drop the warm starts of earlier queries."""
        with self._lock:
            pair_table.forget(self._memory.pool)
            self._last_reach = 0, 0.0

    def prepare(self, *, pairs: ArrayLike | None = None) -> None:
        """Allocate the memory of later queries now, for control loops (docs/how_to/frameworks.md).

        It suffices even if bodies are near each other. Poses and answers do not change.

        Parameters
        ----------
        pairs : (n, 2) array_like of int, optional
            The `pairs` of later queries.

        Raises
        ------
        ValueError
            If a pair is not one of the scene's.
        """
        with self._lock:
            wanted = 0 if pairs is None else len(self._orient_pairs(pairs))
            listed = self._is_listed(self._count)
            near = self._count if listed else min(self._count, _NEAR_PAIRS * len(self._bodies))
            self._reserve(max(near, wanted))
            self._provide_slots(near)
            self._provide_lanes(max(near, wanted))
            if listed:
                self._list_pairs()
            elif self._posed.all():
                self._fitted_tree()
            memory = self._memory
            _touch((*memory.rows, *memory.scratch, *memory.pool, *memory.lanes))

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
        from superovoid.viewing import show  # here, because pages import scenes

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
            self._check_posed()
            listed = self._is_listed(self._count) if by is None else by == "list"
            count = self._cull(max_distance, self._list_pairs() if listed else None)
            return self._memory.rows.pairs[:count].copy()

    def query(
        self,
        *,
        max_distance: float = math.inf,
        margins: ArrayLike | None = None,
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
        margins : (bodies,) or (bodies, bodies) array_like, optional
            Distance to add to `max_distance` for each pair, m: the sum of the margins of both bodies, or the entry of
            the pair in a symmetric matrix. Pairs within the largest sum are solved.
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
            max_results = whole_number("max_results", max_results, 1)
        if margins is not None:
            margins = _check_margins(margins, len(self._bodies))
            reach = max_distance + _largest_margin(margins)
            near = self.query(max_distance=reach, pairs=pairs, overlapping_only=overlapping_only)
            limits = max_distance + _margins_between(margins, near.body_a, near.body_b)
            return near[near.distance <= limits][:max_results]
        limit = min(max_distance, 0.0) if overlapping_only else max_distance
        with self._lock:
            self._check_posed()
            table = self._orient_pairs(pairs) if pairs is not None else None
            if table is None and self._is_listed(self._count):
                table = self._list_pairs()
            count = self._count if table is None else len(table)
            enough = count if max_results is None else min(max_results, count)
            if table is None and max_results is not None:
                found = self._search(enough, limit, bool(overlapping_only))
            else:
                found = self._solve(self._cull(limit, table), enough, limit, bool(overlapping_only))
            answers, keys = self._memory.scratch.out, self._memory.scratch.keys
            order = keys.order[:found][:max_results]
            rows, which = answers.take(order, axis=0), keys.pairs.take(order, axis=0)
            counts, bodies = self._memory.counts[0].tolist(), self._bodies
        return SceneResult(**fields_of(rows, which, count, counts), bodies=bodies)

    def point_distances(self, points: ArrayLike, *, threads: int | None = None) -> PointDistances:
        """Compute the signed distances of points from the nearest body, as `superovoid.point_distances`.

        All bodies count, whatever pairs are allowed.

        Parameters
        ----------
        points : (n, 3) array_like
            World frame, m.
        threads : int, optional
            Number of threads; None: one per processor, or fewer if the call is short.

        Returns
        -------
        PointDistances
            One row per point; `body` is an index in `bodies`.

        Raises
        ------
        ValueError
            If a point is not finite, or a pose has not been set.
        """
        shapes, poses = [body.shape for body in self._bodies], self._known_poses()
        return point_distances(shapes, points, poses, rtol=self._rtol, threads=threads)

    def cast_rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_distance: float = math.inf,
        threads: int | None = None,
    ) -> RayHits:
        """Find the first body on each ray of a camera or laser, as `superovoid.cast_rays`.

        All bodies count, whatever pairs are allowed.

        Parameters
        ----------
        origins : (n, 3) or (3,) array_like
            Origins of the rays, world frame, m; one for each ray or one for all.
        directions : (n, 3) or (3,) array_like
            Directions of the rays, world frame, of any length but zero.
        max_distance : float, optional
            Length of the rays, m.
        threads : int, optional
            Number of threads; None: one per processor, or fewer if the call is short.

        Returns
        -------
        RayHits
            One row per ray; `body` is an index in `bodies`, or -1 for a ray that meets no body.

        Raises
        ------
        ValueError
            If a number is not finite, a direction is zero, lengths differ, or a pose has not been set.
        """
        shapes, poses = [body.shape for body in self._bodies], self._known_poses()
        return cast_rays(shapes, origins, directions, poses, max_distance=max_distance, threads=threads)

    def _known_poses(self) -> FloatArray:
        with self._lock:
            self._check_posed()
            return self._memory.world.poses.copy()

    def _is_listed(self, count: int) -> bool:
        """Return whether each of `count` pairs is tested, without the tree."""
        return count <= min(_LISTED_PAIRS * len(self._bodies), _MOST_LISTED)

    def _cull(self, limit: float, table: IntArray | None) -> int:
        """Write the pairs of a table (None: of the tree) whose volumes are within the limit to the scratch memory."""
        if table is not None:
            self._reserve(len(table))
            return int(solving.cull(self._local, table, solving.ONE_GROUP, limit, 0, self._memory))
        tree = self._fitted_tree()
        while True:
            memory, candidates = self._memory, self._memory.rows.pairs
            found = box_tree.cull_tree(
                self._local, self._rules, tree, limit, memory.world, candidates, memory.counts[0]
            )
            if found <= len(candidates):
                return found
            self._reserve(min(found + found // 2, self._count))

    def _solve(self, candidates: int, most: int, limit: float, overlapping_only: bool) -> int:
        """Solve the pairs in the scratch memory that may be among the `most` closest within the limit.

        Return the number of rows written, which include the wanted pairs.
        """
        self._provide_slots(candidates)
        self._provide_lanes(candidates)
        wanted = solving.QueryLimits(most, limit, overlapping_only, self._rtol, self._max_evaluations, True)
        return int(solving.solve(self._local, self._memory, candidates, wanted))

    def _search(self, enough: int, limit: float, overlapping_only: bool) -> int:
        """Solve pairs of the tree within growing distances, until enough are found or the limit is reached.

        Return the number of rows written, as `_solve`.
        """
        # Begin a little beyond the distance that the last search for this many pairs needed.
        usual = box_tree.spacing(self._fitted_tree()) / 48.0 or math.inf  # within it a body has few neighbours
        asked, last = self._last_reach
        reach = min(limit, last + _REACH_AHEAD * usual if asked == enough and usual < math.inf else usual)
        while True:
            candidates, found = self._cull(reach, None), 0
            if candidates >= enough or reach == limit:
                found = self._solve(candidates, enough, reach, overlapping_only)
            if found >= enough > 0:
                keys = self._memory.scratch.keys
                self._last_reach = enough, float(keys.values[keys.order[enough - 1]])
            if reach == limit or found >= enough:
                return found
            reach = min(limit, max(2.0 * reach, usual))

    # -- memory: grows only if the number of near pairs does -----------------------------------------------------------

    def _reserve(self, count: int) -> None:
        if len(self._memory.scratch.out) < count:
            rows, scratch = solving.candidates_for(count), solving.scratch_for(count)
            self._memory = self._memory._replace(rows=rows, scratch=scratch)

    def _provide_lanes(self, candidates: int) -> None:
        if candidates >= solving.LEAST and not len(self._memory.lanes.block):
            self._memory = self._memory._replace(lanes=many_pairs.lanes_for(True))

    def _provide_slots(self, candidates: int) -> None:
        pool = self._memory.pool
        capacity = len(pool.states) - 1
        if pool.taken[0] + candidates <= capacity:
            return
        # Twice the present need, because near pairs change; if there are few pairs, a slot for each.
        wanted = min(_MOST_WARM_STARTS, self._count, max(2 * candidates, _WARM_STARTS))
        if capacity < wanted:
            self._move_warm_starts(wanted, np.arange(len(self._bodies)))
        elif candidates <= capacity < self._count:
            pair_table.forget(pool)

    def _move_warm_starts(self, capacity: int, index: IntArray) -> None:
        pool = pair_table.warm_starts(capacity)
        pair_table.move_warm_starts(self._memory.pool, pool, index)
        self._memory = self._memory._replace(pool=pool)

    def _fitted_tree(self) -> box_tree.Tree:
        if self._tree is None:
            self._tree = box_tree.tree_for(len(self._bodies))
            self._tree_cost = -math.inf
        if not self._tree_fits:
            world = self._memory.world
            box_tree.refit(self._tree, world.bounds, self._stale)
            if not self._tree.cost[0] <= _TREE_GROWTH * self._tree_cost:
                box_tree.build(self._tree, world.spheres, self._rules.link)
                box_tree.refit(self._tree, world.bounds, np.ones_like(self._stale))
                self._tree_cost = float(self._tree.cost[0])
            self._stale[:] = False
            self._tree_fits = True
        return self._tree

    # -- bodies, links and rules: a change makes new arrays, so that forks and tables may share the old ones -----------

    def _begin(
        self, bodies: tuple[Body, ...], row: dict[str, int], poses: FloatArray, posed: NDArray[np.bool_], closed: bool
    ) -> None:
        """Begin with bodies and the poses of links."""
        self._lock, self._memory = threading.Lock(), solving.memory_for(1, 0, 0, 0, False)
        self._last_reach = 0, 0.0
        self._row, self._link_poses, self._posed = row, poses, posed
        none = np.empty(0, dtype=np.int64)
        self._rules = pair_table.rules_for(none, none.astype(np.bool_), 0)
        local, self._offsets = rows_of(bodies, self._rows_of_links(bodies), 0, {})
        self._hold({body.name: body for body in bodies}, local, np.full(len(bodies), closed), none)

    def _check_bodies(self, bodies: Sequence[Body] | ShapeArray[Any]) -> tuple[Body, ...]:
        """Check bodies to be added; return them as a tuple."""
        if isinstance(bodies, ShapeArray):
            first = len(self._named)
            return self._check_bodies([Body(str(i), str(i), shape) for i, shape in enumerate(bodies, first)])
        bodies = tuple(bodies)
        for body in bodies:
            if not isinstance(body, Body):
                raise TypeError(f"bodies: must be of type Body, found {body!r}")
        for name, times in Counter(body.name for body in bodies).items():
            total = times + (name in self._named)
            if total > 1:
                raise ValueError(f"bodies: the name {name!r} occurs {total} times, must be unique")
        return bodies

    def _rows_of_links(self, bodies: Sequence[Body]) -> IntArray:
        """Return the rows of the links of bodies; new links get rows without poses."""
        new = [link for link in dict.fromkeys(body.link for body in bodies) if link not in self._row]
        self._row = {**self._row, **{link: len(self._row) + i for i, link in enumerate(new)}}
        self._link_poses = np.concatenate([self._link_poses, np.tile(np.eye(4), (len(new), 1, 1))])
        self._posed = np.append(self._posed, np.zeros(len(new), dtype=np.bool_))
        return np.array([self._row[body.link] for body in bodies], dtype=np.int64)

    def _hold(
        self, named: dict[str, Body], local: culling.LocalBodies, closed: NDArray[np.bool_], index: IntArray
    ) -> None:
        """Replace the bodies and place them; `index` has the new index of each old body (ascending; -1: removed)."""
        used = np.bincount(local.link, minlength=len(self._row)) > 0
        if not used.all():
            self._row = {name: row for row, name in enumerate(itertools.compress(self._row, used))}
            self._link_poses, self._posed = self._link_poses[used], self._posed[used]
            local = local._replace(link=(np.cumsum(used) - 1)[local.link])
        self._named, self._bodies, self._local = named, tuple(named.values()), local
        self._use_rules(pair_table.moved_rules(self._rules, local.link, closed, index))
        if (index != np.arange(len(index))).any():
            self._move_warm_starts(len(self._memory.pool.states) - 1, index)
        self._memory = self._memory._replace(world=culling.world_for(1, len(named)))
        self._tree = None
        self._stale = np.zeros(len(self._row), dtype=np.bool_)
        self._place(self._posed)

    def _place(self, links: NDArray[np.bool_]) -> None:
        """Place the bodies of links."""
        culling.place_all(self._local, self._link_poses, links, self._memory.world)
        self._tree_fits = False
        self._stale |= links

    def _set_exceptions(self, pairs: IntArray, answer: int) -> int:
        """Set exceptions from the rules for pairs; return how many pairs had none."""
        old = self._rules
        rules = pair_table.moved_rules(old, old.link, old.closed, np.arange(len(old.link)), len(pairs))
        added = pair_table.set_rules(rules, pairs, answer)
        self._use_rules(rules)
        return int(added)

    def _use_rules(self, rules: pair_table.Rules) -> None:
        more, within = pair_table.exceptions_count(rules)
        self._rules, self._table = rules._replace(within_links=bool(within)), None
        self._count = _pairs_between(rules.link) - _pairs_between(rules.link[rules.closed]) + int(more)

    def _list_pairs(self) -> IntArray:
        if self._table is None:
            self._table = np.empty((self._count, 2), dtype=np.int64)
            pair_table.list_allowed(self._rules, self._table)
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

    def _check_posed(self) -> None:
        if self._posed.all():
            return
        if not self._posed.any():
            raise ValueError("the scene has no poses yet: call set_link_poses() first")
        without = [link for link, row in self._row.items() if not self._posed[row]]
        raise ValueError(f"no pose yet for {some_of(without)}: call set_link_pose() first")

    def _indices(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self._named:
                raise ValueError(f"name = {name!r}: no body has it; bodies: {some_of(tuple(self._named))}")
        index = {name: i for i, name in enumerate(self._named)}
        return [index[name] for name in names]

    def _orient_pairs(self, pairs: ArrayLike) -> IntArray:
        """Return the pairs of a query, in the order of bodies that the scene reports."""
        table = table_of(pairs)
        wrong = pair_table.orient(self._rules, table)
        if wrong >= 0:
            check_indices(table, len(self._bodies))
            a, b = table[wrong]
            names = f"{self._bodies[a].name!r}, {self._bodies[b].name!r}"
            raise ValueError(f"pairs: ({a}, {b}) ({names}) is not one of the scene's pairs")
        return table


def _pairs_between(link: IntArray) -> int:
    """Return the number of pairs of bodies on different links."""
    return (len(link) ** 2 - int((np.bincount(link) ** 2).sum())) // 2


def table_of(pairs: ArrayLike) -> IntArray:
    """Return a new table of pairs."""
    given = np.asarray(pairs)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(f"pairs: must be integers of shape (n, 2), found {given.dtype} of shape {given.shape}")
    return np.array(given, dtype=np.int64, order="C")


def check_indices(table: IntArray, count: int) -> None:
    """Raise `ValueError` unless all pairs are of two different ones of `count` bodies."""
    if table.size and (table.min() < 0 or table.max() >= count):
        raise ValueError(f"pairs: indices must be in [0, {count}), found {table.min()} to {table.max()}")
    if (table[:, 0] == table[:, 1]).any():
        raise ValueError("pairs: a body cannot be paired with itself")


def _check_margins(margins: ArrayLike, count: int) -> FloatArray:
    """Return margins of `count` bodies or of their pairs as an array; `ValueError` unless they are finite."""
    given = floats("margins", margins)
    if given.shape not in ((count,), (count, count)):
        raise ValueError(
            f"margins: must have shape ({count},) or ({count}, {count}) for {count} bodies, found {given.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError("margins: must be finite (metres), found nan or inf")
    if given.ndim == 2 and not np.array_equal(given, given.T):
        raise ValueError("margins: a matrix must be symmetric")
    return given


def _largest_margin(margins: FloatArray) -> float:
    """Return the largest margin of any pair, m."""
    if margins.ndim == 2:
        return float(margins.max()) if margins.size else 0.0
    return float(np.sort(margins)[-2:].sum())


def _margins_between(margins: FloatArray, body_a: IntArray, body_b: IntArray) -> FloatArray:
    """Return the margin of each pair of bodies, m."""
    return margins[body_a, body_b] if margins.ndim == 2 else margins[body_a] + margins[body_b]


def _copy(arrays: Arrays) -> Arrays:
    """Return a named tuple of copies of arrays."""
    return type(arrays)(*(array.copy() for array in arrays))


def _touch(arrays: Iterable[NDArray | Iterable[NDArray]]) -> None:
    """Write to every page of memory, so that the system provides it now."""
    for each in arrays:
        if isinstance(each, np.ndarray):
            each[...] = each.copy()
        else:
            _touch(each)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A picture of bodies in one state: their meanings, the closest pairs, the clearance. Plain values.

Pairs whose bounding volumes prove them farther apart than the near distance are not solved. All other checked pairs
are solved, and drawn as not decided if their interval decides nothing. Metres, radians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.scene import Body, Scene, SceneResult
from superovoid.viewing.meanings import WORDS, Meaning, interval_words, meanings, millimetres, status_words

FloatArray = NDArray[np.float64]

Between = tuple[frozenset[str], frozenset[str]]
"""Links and objects of the first side, and of the second."""

NEAR = 1.0 / 50.0
"""Default near distance, as a fraction of the extent."""
MOST_PAIRS = 40
"""Maximum number of drawn pairs, closest first."""


@dataclass(frozen=True, eq=False)
class DrawnBody:
    """A body on its link, and the meaning of its pairs."""

    body: Body | TriangleBody
    owner: str
    """Link or object that the body is part of."""
    meaning: Meaning


@dataclass(frozen=True, eq=False)
class DrawnPair:
    """A pair of bodies with its closest points and result."""

    name_a: str
    name_b: str
    owner_a: str
    owner_b: str
    distance: float
    lower: float
    upper: float
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray
    """Unit, outward at `point_a`, from A to B."""
    meaning: Meaning
    status: str
    """The status flags in words."""

    @property
    def title(self) -> str:
        """The distance and the names, on one line."""
        return f"{self.label}  {self.name_a} – {self.name_b}"

    @property
    def label(self) -> str:
        """The distance."""
        return millimetres(self.distance, 2)

    @property
    def state(self) -> str:
        """The meaning, the interval and the status, in words."""
        return f"{WORDS[self.meaning]}, in {interval_words(self.lower, self.upper)}; {self.status}"


@dataclass(frozen=True)
class Clearance:
    """The minimum distance over all checked pairs of the robot."""

    lower: float
    """Proved lower bound, m; NaN if there is no answer."""
    upper: float
    meaning: Meaning
    """Meaning of all pairs together; at best `UNKNOWN` if something is missing."""
    missing: str = ""
    """Why it does not cover everything; empty if it does."""

    @property
    def words(self) -> str:
        """The clearance on one line."""
        if math.isnan(self.lower):
            return f"unknown: {self.missing}"
        value = self.lower if not math.isfinite(self.upper) else 0.5 * (self.lower + self.upper)
        text = f"{millimetres(value)}, proved in {interval_words(self.lower, self.upper)}"
        return f"unknown: {self.missing}; known parts: {text}" if self.missing else text


@dataclass(frozen=True, eq=False)
class Picture:
    """Everything drawn of a robot in one state."""

    root_from_link: Mapping[str, FloatArray]
    """Pose of every link, shape (4, 4), m."""
    bodies: tuple[DrawnBody, ...]
    pairs: tuple[DrawnPair, ...]
    """The shown pairs, closest first."""
    pairs_near: int
    """Number of pairs to show; `pairs` contains at most `MOST_PAIRS`."""
    clearance: Clearance
    """Clearance of the whole robot, independent of the shown pairs."""
    least: Clearance
    """Minimum distance over the selected pairs; the same object as `clearance` if all are selected."""
    checked: int
    """Number of checked pairs of bodies."""
    outside: tuple[str, ...]
    """Joints beyond their limits."""
    moment: int = 0
    """Index in a recording."""


class SceneQuery:
    """A query about a scene, given poses of its links.

    Parameters
    ----------
    scene : Scene
    owners : sequence of str
        The link or object that each body is part of.
    near : float
        Near distance: pairs within it are shown, m.
    """

    def __init__(self, scene: Scene, owners: Sequence[str], near: float) -> None:
        self._scene, self._owners, self._near = scene, owners, near

    def blank_picture(
        self,
        poses: Mapping[str, FloatArray],
        reason: str,
        meaning: Meaning = Meaning.UNKNOWN,
        outside: Sequence[str] = (),
    ) -> Picture:
        """Return a picture without an answer, with the same meaning for all bodies."""
        bodies = tuple(
            DrawnBody(body, owner, meaning) for body, owner in zip(self._scene.bodies, self._owners, strict=True)
        )
        clearance = _unknown_clearance(reason)
        return Picture(poses, bodies, (), 0, clearance, clearance, self._scene.pair_count, tuple(outside))

    def answer(
        self,
        poses: Mapping[str, FloatArray],
        between: Between | None = None,
        missing: str = "",
        outside: Sequence[str] = (),
    ) -> Picture:
        """Compute the distances and return a picture.

        Parameters
        ----------
        poses : mapping of str to (4, 4) array
            Poses of at least the links that carry bodies.
        between : (owners, owners), optional
            Show only pairs between these.
        missing : str
            What is not part of the scene, in words.
        outside : sequence of str
            Joints beyond their limits.
        """
        scene = self._scene
        if not scene.pair_count:
            return self.blank_picture(poses, "no pair is checked", Meaning.UNCHECKED, outside)
        scene.set_link_poses(poses)
        solved, found, clearance = self._solve(missing=missing)
        least = clearance if between is None else self._least_between(between, missing)
        shown = self._select_shown(solved, found, between)
        return Picture(
            poses,
            self._bodies(solved, found),
            tuple(self._pair(solved, found, row) for row in shown[:MOST_PAIRS]),
            len(shown),
            clearance,
            least,
            scene.pair_count,
            tuple(outside),
        )

    def least_clearance(
        self, poses: Mapping[str, FloatArray], between: Between | None = None, missing: str = ""
    ) -> Clearance:
        """Return only the minimum distance over the selected pairs, as `answer` computes it."""
        if not self._scene.pair_count:
            return _unknown_clearance("no pair is checked")
        self._scene.set_link_poses(poses)
        return self._solve(missing=missing)[2] if between is None else self._least_between(between, missing)

    def _least_between(self, between: Between, missing: str) -> Clearance:
        pairs = self._scene.pairs
        pairs = pairs[self._looked_at(pairs[:, 0], pairs[:, 1], between)]
        return (
            self._solve(pairs, between, missing)[2]
            if len(pairs)
            else _unknown_clearance("no pair between these is checked")
        )

    def _solve(
        self, pairs: NDArray[np.int64] | None = None, between: Between | None = None, missing: str = ""
    ) -> tuple[SceneResult, NDArray[np.int64], Clearance]:
        """Solve the pairs that may be near or closest; return the results, their meanings and the minimum distance."""
        scene = self._scene
        # At least the distance of the closest pair, so that every unsolved pair is farther than that.
        reach = max(self._near, float(scene.query(pairs=pairs, max_results=1).distance[0]))
        candidates = scene.candidates(reach)
        if between is not None:
            candidates = candidates[self._looked_at(candidates[:, 0], candidates[:, 1], between)]
        # Solve all candidates, including those that turn out to be farther: undecided intervals must be shown.
        solved = scene.query(pairs=candidates)
        found = meanings(solved.lower, solved.upper, self._near)
        lower, upper = min(float(solved.lower.min()), reach), float(solved.upper.min())
        # Missing parts may be anywhere, so the meaning of the whole is unknown even if all other pairs are apart.
        meaning = max(int(found.max()), Meaning.UNKNOWN if missing else Meaning.UNCHECKED)
        return solved, found, Clearance(lower, upper, Meaning(meaning), missing)

    def _looked_at(
        self, first: NDArray[np.int64], second: NDArray[np.int64], between: Between | None
    ) -> NDArray[np.bool_]:
        """Return a mask of the pairs of bodies between two sides."""
        if between is None:
            return np.ones(len(first), dtype=bool)
        a, b = (np.array([owner in side for owner in self._owners]) for side in between)
        return (a[first] & b[second]) | (b[first] & a[second])

    def _select_shown(
        self, solved: SceneResult, found: NDArray[np.int64], between: Between | None
    ) -> NDArray[np.int64]:
        """Return the rows to show, among the selected ones: near, overlapping or undecided, and the closest."""
        rows = np.flatnonzero(self._looked_at(solved.body_a, solved.body_b, between))
        return rows[(found[rows] >= Meaning.NEAR) | (np.arange(len(rows)) == 0)]

    def _pair(self, solved: SceneResult, found: NDArray[np.int64], row: int) -> DrawnPair:
        one = solved[int(row)]
        return DrawnPair(
            one.name_a,
            one.name_b,
            self._owners[one.body_a],
            self._owners[one.body_b],
            one.distance,
            one.lower,
            one.upper,
            one.point_a,
            one.point_b,
            one.normal,
            Meaning(int(found[row])),
            status_words(one.status),
        )

    def _bodies(self, solved: SceneResult, found: NDArray[np.int64]) -> tuple[DrawnBody, ...]:
        scene = self._scene
        worst = np.full(len(scene.bodies), int(Meaning.UNCHECKED))
        worst[scene.pairs.ravel()] = Meaning.APART  # unsolved pairs are proved apart by their bounding volumes
        np.maximum.at(worst, solved.body_a, found)
        np.maximum.at(worst, solved.body_b, found)
        rows = zip(scene.bodies, self._owners, worst.tolist(), strict=True)
        return tuple(DrawnBody(body, owner, Meaning(meaning)) for body, owner, meaning in rows)


def _unknown_clearance(reason: str) -> Clearance:
    return Clearance(math.nan, math.nan, Meaning.UNKNOWN, reason)


def checked_near(near: float) -> float:
    """Check and return a near distance, m.

    Raises
    ------
    ValueError
        If it is negative or not finite.
    """
    if not (math.isfinite(near) and near >= 0.0):
        raise ValueError(f"near = {near}: must be at least 0 and finite (metres)")
    return float(near)


def box_of(bodies: Sequence[Body], poses: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return two corners of a box around link origins and all bodies except half-spaces, each of shape (3,), m."""
    corners = [pose[:3, 3] for pose in poses.values()]
    for body in bodies:
        corners += corners_of(body, poses)
    return np.min(corners, axis=0), np.max(corners, axis=0)


def extent_of(box: tuple[FloatArray, FloatArray]) -> float:
    """Return the diagonal of a box, m; 1 if the box is a point."""
    return float(np.linalg.norm(box[1] - box[0])) or 1.0


def corners_of(body: Body, poses: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Return two opposite corners of the box around the bounding sphere of a body; none for a half-space."""
    sphere = body.shape.bounding_sphere()
    if not np.isfinite(sphere.radius):
        return []
    centre = (poses[body.link] @ body.link_from_body @ np.append(sphere.centre, 1.0))[:3]
    return [centre - sphere.radius, centre + sphere.radius]


def round_length(metres: float) -> float:
    """Round a length to 1, 2 or 5 times a power of ten, m."""
    power = 10.0 ** math.floor(math.log10(metres))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit * power - metres))


@dataclass(frozen=True, eq=False)
class Triangles:
    """A shape given only by its surface."""

    vertices: FloatArray
    """Shape (n, 3), m."""
    faces: NDArray[np.int64]
    """Shape (m, 3), indices of vertices."""

    def triangles(self, resolution: int) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return vertices and faces; the resolution is ignored."""
        return self.vertices, self.faces


@dataclass(frozen=True, eq=False)
class TriangleBody:
    """A body whose triangles come from elsewhere, with the fields of a `Body`."""

    name: str
    link: str
    shape: Triangles
    link_from_body: FloatArray

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A picture of bodies in one state: what each means, the closest pairs, the clearance. Plain values.

A pair that is not solved is proved farther than what counts as near by its bounding volumes; every other checked pair
is solved, and what its interval leaves open is drawn as not decided. Metres, radians.
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
"""Links and objects of one side, and those of the other."""

NEAR = 1.0 / 50.0
"""Distance that is near where none is chosen, in extents of what is shown."""
MOST_PAIRS = 40
"""Pairs at most that are drawn, the closest."""


@dataclass(frozen=True, eq=False)
class DrawnBody:
    """A body on its link, and what is known about its pairs."""

    body: Body | TriangleBody
    owner: str
    """The link or object that it is a part of."""
    meaning: Meaning


@dataclass(frozen=True, eq=False)
class DrawnPair:
    """A pair of bodies: its closest points, and what is said about it."""

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
    """In words."""

    @property
    def title(self) -> str:
        """The names and the distance, on one line."""
        return f"{millimetres(self.distance, 2)}  {self.name_a} – {self.name_b}"

    @property
    def label(self) -> str:
        """The proved interval."""
        return interval_words(self.lower, self.upper)

    @property
    def state(self) -> str:
        """What is known beside the distance: the meaning, the interval and the status, in words."""
        return f"{WORDS[self.meaning]}, in {self.label}; {self.status}"


@dataclass(frozen=True)
class Clearance:
    """The least distance of all checked pairs of the whole robot."""

    lower: float
    """Proved to be no more than it, m; NaN where there is no answer."""
    upper: float
    meaning: Meaning
    """Of the whole: where something is missing, not decided at best."""
    missing: str = ""
    """Why it is not known for all that there is, in words; empty: it is."""

    @property
    def words(self) -> str:
        """In one line."""
        if math.isnan(self.lower):
            return f"unknown: {self.missing}"
        value = self.lower if not math.isfinite(self.upper) else 0.5 * (self.lower + self.upper)
        text = f"{millimetres(value)}, proved in {interval_words(self.lower, self.upper)}"
        return f"unknown: {self.missing}; of what there is: {text}" if self.missing else text


@dataclass(frozen=True, eq=False)
class Picture:
    """All that is drawn of a robot in one state."""

    root_from_link: Mapping[str, FloatArray]
    """Of every link, shape (4, 4), m."""
    bodies: tuple[DrawnBody, ...]
    pairs: tuple[DrawnPair, ...]
    """The shown ones, closest first."""
    pairs_near: int
    """How many there are of these; at most `MOST_PAIRS` are in `pairs`."""
    clearance: Clearance
    """Of the whole robot, whichever pairs are shown."""
    least: Clearance
    """Of the pairs that are looked at; `clearance`, where these are all."""
    checked: int
    """Pairs of bodies that are checked."""
    outside: tuple[str, ...]
    """Joints that are beyond their limits."""
    moment: int = 0
    """Of a recording."""


class Asked:
    """What is asked about a scene whose links have poses.

    Parameters
    ----------
    scene : Scene
    owners : sequence of str
        By body, the link or object that it is a part of.
    near : float
        Pairs at most this far apart are shown, m.
    """

    def __init__(self, scene: Scene, owners: Sequence[str], near: float) -> None:
        self._scene, self._owners, self._near = scene, owners, near

    def unanswered(
        self,
        poses: Mapping[str, FloatArray],
        reason: str,
        meaning: Meaning = Meaning.UNKNOWN,
        outside: Sequence[str] = (),
    ) -> Picture:
        """The picture where there is no answer: nothing is known, and bodies mean what is said."""
        bodies = tuple(
            DrawnBody(body, owner, meaning) for body, owner in zip(self._scene.bodies, self._owners, strict=True)
        )
        clearance = _unknown(reason)
        return Picture(poses, bodies, (), 0, clearance, clearance, self._scene.pair_count, tuple(outside))

    def answer(
        self,
        poses: Mapping[str, FloatArray],
        between: Between | None = None,
        missing: str = "",
        outside: Sequence[str] = (),
    ) -> Picture:
        """Ask for the distances.

        Parameters
        ----------
        poses : mapping of str to (4, 4) array
            Of the links that carry bodies, at least.
        between : (owners, owners), optional
            Only pairs between these are shown.
        missing : str
            What is not part of the scene, in words.
        outside : sequence of str
            Joints that are beyond their limits.
        """
        scene = self._scene
        if not scene.pair_count:
            return self.unanswered(poses, "no pair is checked", Meaning.UNCHECKED, outside)
        scene.set_link_poses(poses)
        solved, found, clearance = self._solve(missing=missing)
        least = clearance if between is None else self._least(between, missing)
        shown = self._shown(solved, found, between)
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

    def least(self, poses: Mapping[str, FloatArray], between: Between | None = None, missing: str = "") -> Clearance:
        """The least distance of the pairs that are looked at, as `answer` has it, and nothing else."""
        if not self._scene.pair_count:
            return _unknown("no pair is checked")
        self._scene.set_link_poses(poses)
        return self._solve(missing=missing)[2] if between is None else self._least(between, missing)

    def _least(self, between: Between, missing: str) -> Clearance:
        pairs = self._scene.pairs
        pairs = pairs[self._looked_at(pairs[:, 0], pairs[:, 1], between)]
        return self._solve(pairs, between, missing)[2] if len(pairs) else _unknown("no pair between these is checked")

    def _solve(
        self, pairs: NDArray[np.int64] | None = None, between: Between | None = None, missing: str = ""
    ) -> tuple[SceneResult, NDArray[np.int64], Clearance]:
        """All pairs that may be near or the closest, what they mean, and the least distance; of these pairs."""
        scene = self._scene
        # Farther than the closest pair, so that whatever is not solved is farther than that too.
        reach = max(self._near, float(scene.query(pairs=pairs, max_results=1).distance[0]))
        candidates = scene.candidates(reach)
        if between is not None:
            candidates = candidates[self._looked_at(candidates[:, 0], candidates[:, 1], between)]
        # All of these are solved, those too that turn out to be farther: what an interval leaves open is seen.
        solved = scene.query(pairs=candidates)
        found = meanings(solved.lower, solved.upper, self._near)
        lower, upper = min(float(solved.lower.min()), reach), float(solved.upper.min())
        # What is left out may be anywhere: that the rest is apart says nothing of the whole.
        meaning = max(int(found.max()), Meaning.UNKNOWN if missing else Meaning.UNCHECKED)
        return solved, found, Clearance(lower, upper, Meaning(meaning), missing)

    def _looked_at(
        self, first: NDArray[np.int64], second: NDArray[np.int64], between: Between | None
    ) -> NDArray[np.bool_]:
        """Which pairs of bodies are between two sides."""
        if between is None:
            return np.ones(len(first), dtype=bool)
        a, b = (np.array([owner in side for owner in self._owners]) for side in between)
        return (a[first] & b[second]) | (b[first] & a[second])

    def _shown(self, solved: SceneResult, found: NDArray[np.int64], between: Between | None) -> NDArray[np.int64]:
        """Rows that are shown: near, overlapping or not decided, and the closest; of those that are looked at."""
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
        worst[scene.pairs.ravel()] = Meaning.APART  # farther than the volumes that were looked at
        np.maximum.at(worst, solved.body_a, found)
        np.maximum.at(worst, solved.body_b, found)
        rows = zip(scene.bodies, self._owners, worst.tolist(), strict=True)
        return tuple(DrawnBody(body, owner, Meaning(meaning)) for body, owner, meaning in rows)


def _unknown(reason: str) -> Clearance:
    return Clearance(math.nan, math.nan, Meaning.UNKNOWN, reason)


def checked_near(near: float) -> float:
    """A distance that counts as near, m.

    Raises
    ------
    ValueError
        If it is negative or not finite.
    """
    if not (math.isfinite(near) and near >= 0.0):
        raise ValueError(f"near = {near}: must be at least 0 and finite (metres)")
    return float(near)


def box_of(bodies: Sequence[Body], poses: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Corners of a box around bodies but half-spaces and the origins of links, each shape (3,), m."""
    corners = [pose[:3, 3] for pose in poses.values()]
    for body in bodies:
        corners += corners_of(body, poses)
    return np.min(corners, axis=0), np.max(corners, axis=0)


def extent_of(box: tuple[FloatArray, FloatArray]) -> float:
    """Length of the diagonal of a box, m; 1 where it is a point."""
    return float(np.linalg.norm(box[1] - box[0])) or 1.0


def corners_of(body: Body, poses: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Two opposite corners of the box around the bounding sphere of a body; none of a half-space."""
    sphere = body.shape.bounding_sphere()
    if not np.isfinite(sphere.radius):
        return []
    centre = (poses[body.link] @ body.link_from_body @ np.append(sphere.centre, 1.0))[:3]
    return [centre - sphere.radius, centre + sphere.radius]


def round_length(metres: float) -> float:
    """A length near another, with one digit: 1, 2 or 5 times a power of ten, m."""
    power = 10.0 ** math.floor(math.log10(metres))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit * power - metres))


@dataclass(frozen=True, eq=False)
class Triangles:
    """A shape of which nothing is known but its surface."""

    vertices: FloatArray
    """Shape (n, 3), m."""
    faces: NDArray[np.int64]
    """Shape (m, 3), indices of vertices."""

    def triangles(self, resolution: int) -> tuple[FloatArray, NDArray[np.int64]]:
        """Vertices and faces, whatever the resolution."""
        return self.vertices, self.faces


@dataclass(frozen=True, eq=False)
class TriangleBody:
    """A body that somebody else has drawn, with the fields of a `Body`."""

    name: str
    link: str
    shape: Triangles
    link_from_body: FloatArray

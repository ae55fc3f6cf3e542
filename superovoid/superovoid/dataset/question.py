# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The query made in each state, and its results for a chunk of states as arrays."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid.dataset.errors import DatasetError
from superovoid.robot import Robot
from superovoid.states import StateDistances, StateQuery
from superovoid.states.blocks import BLOCK

FloatArray = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

EXTRAS = ("points", "normals", "gradients")
# Rows per call of `StateQuery`; its number of states is a multiple of the query's block size, so that bits do not
# depend on it.
_AT_ONCE_ROWS = 1 << 16


class Cancellation(Exception):
    """The computation of a chunk was cancelled."""


@dataclass(frozen=True)
class Column:
    """An array of a store."""

    name: str
    tail: tuple[int, ...]
    """Shape without the first axis (states or rows)."""
    kind: str
    """Name of the numpy data type."""
    fill: float = math.nan
    """Value that readers get for chunks not yet computed; it means that nothing is known."""
    per_pair: bool = True
    unit: str = ""


class Question:
    """Query about states of a robot.

    Parameters
    ----------
    robot : Robot
    between : (sequence of str, sequence of str), optional
        Links or groups: only pairs between these; default: all pairs that the robot's rules allow.
    extras : sequence of {"points", "normals", "gradients"}
        Results to store in addition to distance, interval and status.
    max_distance : float, optional
        m. If set, results are rows of the pairs at this distance or less; if None, of every pair.

    Raises
    ------
    DatasetError
        If no pair may be checked, or a name is unknown.
    """

    def __init__(
        self,
        robot: Robot,
        between: tuple[Sequence[str], Sequence[str]] | None,
        extras: Iterable[str],
        max_distance: float | None,
    ) -> None:
        extras = tuple(name for name in EXTRAS if name in set(extras))
        self.robot, self.extras, self.max_distance = robot, extras, max_distance
        scene = robot.scene()
        try:
            pairs = robot.body_pairs(*between) if between is not None else None
            self._ask = StateQuery(
                robot,
                scene,
                pairs=pairs,
                max_distance=math.inf if max_distance is None else max_distance,
                gradients="gradients" in extras,
            )
        except ValueError as error:
            raise DatasetError(f"pairs: {error}") from None
        tables = scene.tables(pairs)
        order = np.lexsort((tables.pairs.max(axis=1), tables.pairs.min(axis=1)))
        self.pairs = np.sort(tables.pairs, axis=1)[order]
        if not len(self.pairs):
            named = "" if between is None else f" between {' and '.join(', '.join(names) for names in between)}"
            raise DatasetError(f"pairs: '{robot.name}' has no pair{named} to check, so there is nothing to compute")
        self.bodies = tuple(body.name for body in scene.bodies)
        self._keys = self.pairs[:, 0] * len(self.bodies) + self.pairs[:, 1]
        self.fingerprint = _fingerprint(robot, tables, self.bodies)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The arrays of the results of every pair, with one row per state."""
        pairs, joints, bases = len(self.pairs), len(self.robot.joint_names), len(self.robot.base_links)
        found = [Column("positions", (joints,), "float64", per_pair=False, unit="rad or m")]
        if bases:
            found.append(Column("base_poses", (bases, 4, 4), "float64", per_pair=False, unit="m"))
        found += [
            Column("distance", (pairs,), "float64", unit="m"),
            Column("lower", (pairs,), "float64", -math.inf, unit="m"),
            Column("upper", (pairs,), "float64", math.inf, unit="m"),
            Column("status", (pairs,), "uint8", 1, unit="flags of superovoid.Status"),
        ]
        if "points" in self.extras:
            found += [Column(name, (pairs, 3), "float64", unit="m") for name in ("point_a", "point_b")]
        if "normals" in self.extras:
            found.append(Column("normal", (pairs, 3), "float64", unit="unit vector"))
        if "gradients" in self.extras:
            found.append(Column("gradient", (pairs, joints), "float64", unit="m/rad or m/m"))
        return tuple(found)

    def answer(self, joints: FloatArray, bases: FloatArray, stop: threading.Event | None = None) -> Arrays:
        """Compute the results for states in their order, in this thread only.

        Parameters
        ----------
        joints, bases : array
            (states, joints) and (states, bases, 4, 4). The first state is computed without warm start, so that the
            same states get the same bits regardless of earlier calls.
        stop : threading.Event, optional
            Once set, cancels the computation.

        Raises
        ------
        Cancellation
            If `stop` was set before the end.
        """
        states = len(joints)
        at_once = max(1, _AT_ONCE_ROWS // (BLOCK * len(self.pairs))) * BLOCK
        parts = []
        for start in range(0, states, at_once):
            part = slice(start, min(start + at_once, states))
            poses = {link: bases[part, i] for i, link in enumerate(self.robot.base_links)}
            found = self._ask(joints[part], base_poses=poses, threads=1, stop=stop)
            if found.done < part.stop - part.start:
                raise Cancellation
            parts.append(self._every_pair(found) if self.max_distance is None else self._rows(found, start))
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if self.max_distance is not None:
            return whole
        given = {"positions": np.ascontiguousarray(joints), "base_poses": np.ascontiguousarray(bases)}
        return {column.name: whole[column.name] if column.per_pair else given[column.name] for column in self.columns}

    def _values(self, found: StateDistances) -> Arrays:
        values: Arrays = {
            "distance": found.distance,
            "lower": found.lower,
            "upper": found.upper,
            "status": found.status,
        }
        swapped = found.body_a > found.body_b
        if "points" in self.extras:
            values["point_a"] = np.where(swapped[:, None], found.point_b, found.point_a)
            values["point_b"] = np.where(swapped[:, None], found.point_a, found.point_b)
        if "normals" in self.extras:
            values["normal"] = np.where(swapped[:, None], -found.normal, found.normal)
        if found.gradients is not None:
            values["gradient"] = found.gradients
        return values

    def _pair_of(self, found: StateDistances) -> NDArray[np.int64]:
        a, b = np.minimum(found.body_a, found.body_b), np.maximum(found.body_a, found.body_b)
        return np.searchsorted(self._keys, a * len(self.bodies) + b)

    def _every_pair(self, found: StateDistances) -> Arrays:
        states, pairs = found.states, len(self.pairs)
        if len(found.distance) != states * pairs:
            raise RuntimeError(f"found {len(found.distance)} results, expected {states} states of {pairs} pairs")
        row = found.state * pairs + self._pair_of(found)
        placed = {}
        for name, values in self._values(found).items():
            into = np.empty((states * pairs, *values.shape[1:]), values.dtype)
            into[row] = values
            placed[name] = into.reshape(states, pairs, *values.shape[1:])
        return placed

    def _rows(self, found: StateDistances, first: int) -> Arrays:
        """Return rows by state, then by distance; states are counted from the first state of the chunk."""
        return {"state": found.state + first, "pair": self._pair_of(found).astype(np.int32), **self._values(found)}


def _fingerprint(robot: Robot, tables: Any, bodies: tuple[str, ...]) -> str:
    """Return a digest of all numbers that kernels read from a robot, and of the names of its joints and bodies."""
    digest = hashlib.sha256()
    _feed(digest, (robot.joint_names, robot.base_links, bodies, tables, robot._kinematics.tree))
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}(\n".encode())
        for each in value:
            _feed(digest, each)
    elif isinstance(value, Mapping):
        _feed(digest, list(value.items()))
    elif value is None or isinstance(value, str | int | float | np.generic):
        digest.update(f"{value!r}\n".encode())
    else:  # a kernel: its code is part of the arithmetic
        digest.update(f"{type(value).__name__} {getattr(value, '__name__', '')}\n".encode())


def digests_of(arrays: Arrays) -> dict[str, str]:
    """Return a digest of the bits of each array."""
    found = {}
    for name, values in arrays.items():
        digest = hashlib.sha256(f"{values.dtype.str} {values.shape}\n".encode())
        digest.update(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
        found[name] = digest.hexdigest()
    return found

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""States of a robot by index: random, on a grid, or from a file.

A random state i depends on the seed and i only, so any chunk can be generated independently of the others and of the
chunk size. States are computed by sums, products, quotients and roots, each correctly rounded as IEEE 754 requires, so
they have the same bits on every machine.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.dataset.errors import DatasetError
from superovoid.robot import Robot
from superovoid.shapes.poses import as_pose

FloatArray = NDArray[np.float64]

LAWS = ("uniform", "path")
MOST_STATES = 1 << 48
_NUMBERS_OF_BASE = 6  # three for the position, three for the orientation


class States(Protocol):
    """Source of `count` states."""

    count: int

    def rows(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return joints (states, joints), in the robot's order, and base poses (states, bases, 4, 4)."""

    def manifest(self) -> dict[str, Any]:
        """Return plain values that define the states."""


# --- shared functions ---


def joint_ranges(robot: Robot, given: Mapping[str, Sequence[float]]) -> FloatArray:
    """Return the lower and upper end of each joint's range, rad or m, shape (joints, 2).

    Parameters
    ----------
    robot : Robot
    given : mapping of str to (float, float)
        Ranges that replace joint limits; two equal ends fix a joint.

    Raises
    ------
    DatasetError
        If a joint does not exist, an end is not finite, or the lower end exceeds the upper.
    """
    for name in given:
        if name not in robot.joint_names:
            raise DatasetError(
                f"range of joint {name!r}: '{robot.name}' has no such joint (joints: {', '.join(robot.joint_names)})"
            )
    ranges = np.empty((len(robot.joint_names), 2))
    for row, name in enumerate(robot.joint_names):
        low, high = (float(end) for end in given.get(name, robot.joint_limits[name]))
        if name not in given and robot.joints[name].kind == "continuous":
            low, high = -math.pi, math.pi
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise DatasetError(
                f"range of joint '{name}': [{low}, {high}]: must be finite, the lower end first; give another range"
            )
        ranges[row] = low, high
    return ranges


def base_boxes(robot: Robot, given: Mapping[str, ArrayLike]) -> tuple[FloatArray, FloatArray]:
    """Return poses of fixed bases, (bases, 4, 4), and boxes of moving ones, (bases, 3, 2), nan for fixed bases."""
    for link in given:
        if link not in robot.base_links:
            raise DatasetError(
                f"base {link!r}: must be the child of a floating joint of '{robot.name}' (such links: "
                f"{', '.join(robot.base_links) or 'none'})"
            )
    missing = [link for link in robot.base_links if link not in given]
    if missing:
        raise DatasetError(
            f"base '{missing[0]}': its joint is floating: give its pose (4, 4) (--base), or a box (3, 2) for its "
            "position (--base-within)"
        )
    poses = np.tile(np.eye(4), (len(robot.base_links), 1, 1))
    boxes = np.full((len(robot.base_links), 3, 2), math.nan)
    for row, link in enumerate(robot.base_links):
        if np.shape(given[link]) == (3, 2):
            boxes[row] = np.asarray(given[link], dtype=float)
            if not (np.isfinite(boxes[row]).all() and (boxes[row, :, 0] <= boxes[row, :, 1]).all()):
                raise DatasetError(f"base '{link}': box {boxes[row].tolist()}: must be finite, the lower ends first")
        else:
            poses[row] = as_pose(f"base '{link}'", given[link])
    return poses, boxes


def _check_count(count: int) -> int:
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= MOST_STATES:
        raise DatasetError(f"states = {count!r}: must be an integer from 1 to {MOST_STATES}")
    return int(count)


def _unit_numbers(seed: int, first: int, count: int, each: int) -> FloatArray:
    """Return uniform numbers in [0, 1), shape (count, each), by Philox 4x64 with the state index as counter."""
    blocks = -(-each // 4)
    generator = np.random.Philox(key=seed, counter=first * blocks)
    raw = generator.random_raw(count * blocks * 4).reshape(count, 4 * blocks)[:, :each]
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _sine_and_cosine(turns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sine and cosine of 2 pi turns, turns in [0, 1), by products and sums only, within a few ulp."""
    eighths = np.floor(8.0 * turns + 0.5)
    quarter = np.floor((eighths + 1.0) / 2.0)
    x = (turns - quarter / 4.0) * (2.0 * math.pi)  # within 3 pi / 8
    square = x * x
    sine, cosine = np.zeros_like(x), np.zeros_like(x)
    for term in range(13, -1, -1):  # Taylor series
        sign = -1.0 if term % 2 else 1.0
        sine = sine * square + sign / math.factorial(2 * term + 1)
        cosine = cosine * square + sign / math.factorial(2 * term)
    sine = sine * x
    turn = quarter.astype(np.int64) % 4
    return (
        np.choose(turn, (sine, cosine, -sine, -cosine)),
        np.choose(turn, (cosine, -sine, -cosine, sine)),
    )


def _quaternions(unit: FloatArray) -> FloatArray:
    """Return uniform random rotations from three numbers in [0, 1) each (Shoemake 1992, Uniform random rotations)."""
    inner, outer = np.sqrt(1.0 - unit[..., 0]), np.sqrt(unit[..., 0])
    sine_1, cosine_1 = _sine_and_cosine(unit[..., 1])
    sine_2, cosine_2 = _sine_and_cosine(unit[..., 2])
    return np.stack([inner * sine_1, inner * cosine_1, outer * sine_2, outer * cosine_2], axis=-1)


def _squared_norm(q: FloatArray) -> FloatArray:
    return q[..., 0] * q[..., 0] + q[..., 1] * q[..., 1] + q[..., 2] * q[..., 2] + q[..., 3] * q[..., 3]


def _matrices(at: FloatArray, q: FloatArray) -> FloatArray:
    """Return poses from positions and quaternions x y z w of any length."""
    x, y, z, w = (q[..., i] for i in range(4))
    s = 2.0 / _squared_norm(q)
    out = np.zeros((*at.shape[:-1], 4, 4))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)
    out[..., :3, 3] = at
    out[..., 3, 3] = 1.0
    return out


# --- laws ---


class RandomStates:
    """Random states.

    Parameters
    ----------
    robot : Robot
    count : int
    seed : int
    law : {"uniform", "path"}
        "uniform": independent states, uniform in the ranges. "path": steps on straight lines from one such state to
        the next, as on a robot's path; quaternions are interpolated linearly, nearly along great circles.
    steps : int
        Number of steps from one random state to the next, for "path".
    ranges : mapping of str to (float, float), optional
        Ranges of joints that replace their limits. A continuous joint has [-pi, pi] by default.
    bases : mapping of str to (4, 4) or (3, 2) array_like, optional
        For each base link its pose, m, or a box for its origin; in a box its orientation is random.

    Raises
    ------
    DatasetError
        As `joint_ranges` and `base_boxes`.
    """

    def __init__(
        self,
        robot: Robot,
        count: int,
        seed: int,
        law: str = "uniform",
        *,
        steps: int = 64,
        ranges: Mapping[str, Sequence[float]] | None = None,
        bases: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        if law not in LAWS:
            raise DatasetError(f"law = {law!r}: must be one of {', '.join(LAWS)}")
        if not 0 <= seed < 2**64:
            raise DatasetError(f"seed = {seed!r}: must be an integer from 0 to 2^64 - 1")
        if not 1 <= steps <= 1 << 20:
            raise DatasetError(f"steps = {steps!r}: must be an integer from 1 to {1 << 20}")
        self.count = _check_count(count)
        self._seed, self._law, self._steps = int(seed), law, int(steps) if law == "path" else 1
        self._ranges = joint_ranges(robot, ranges or {})
        self._poses, self._boxes = base_boxes(robot, bases or {})

    def manifest(self) -> dict[str, Any]:
        """As `States.manifest`."""
        return {
            "law": self._law,
            "seed": self._seed,
            "count": self.count,
            "steps": self._steps,
            "ranges": _to_hex(self._ranges),
            "base poses": _to_hex(self._poses),
            "base boxes": _to_hex(self._boxes),
        }

    def rows(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """As `States.rows`."""
        if self._law == "uniform":
            joints, at, turned = self._draw(start, stop - start)
            return joints, self._base_poses(at, turned)
        first, last = start // self._steps, (stop - 1) // self._steps
        joints, at, turned = self._draw(first, last - first + 2)
        index = np.arange(start, stop)
        leg, along = index // self._steps - first, (index % self._steps) / self._steps

        def interpolate(ends: FloatArray) -> FloatArray:
            t = along.reshape(-1, *(1,) * (ends.ndim - 1))
            return ends[leg] + t * (ends[leg + 1] - ends[leg])

        q, other = turned[leg], turned[leg + 1]
        product = q * other
        sign = np.where(product[..., 0] + product[..., 1] + product[..., 2] + product[..., 3] < 0.0, -1.0, 1.0)
        q = q + along[:, None, None] * (sign[..., None] * other - q)
        return interpolate(joints), self._base_poses(interpolate(at), q)

    def _draw(self, first: int, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return joints, base positions and base quaternions of `count` random states, starting with index `first`."""
        joints, bases = len(self._ranges), len(self._boxes)
        unit = _unit_numbers(self._seed, first, count, joints + _NUMBERS_OF_BASE * bases)
        low, high = self._ranges.T
        of_bases = unit[:, joints:].reshape(count, bases, _NUMBERS_OF_BASE)
        near, far = self._boxes[..., 0], self._boxes[..., 1]
        at = near + of_bases[..., :3] * (far - near)
        return low + unit[:, :joints] * (high - low), at, _quaternions(of_bases[..., 3:])

    def _base_poses(self, at: FloatArray, q: FloatArray) -> FloatArray:
        poses = np.broadcast_to(self._poses, (len(at), *self._poses.shape)).copy()
        moves = ~np.isnan(self._boxes[:, 0, 0])
        poses[:, moves] = _matrices(at[:, moves], q[:, moves])
        return poses


class GridStates:
    """All states of a grid; the last joint of the robot varies fastest.

    Parameters
    ----------
    robot : Robot
    points : int or mapping of str to int
        Number of points of each joint that can move, or of the named joints; other joints have one. A single point is
        the middle of the range.
    ranges, bases
        As for `RandomStates`; bases must be poses.
    """

    def __init__(
        self,
        robot: Robot,
        points: int | Mapping[str, int],
        *,
        ranges: Mapping[str, Sequence[float]] | None = None,
        bases: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self._ranges = joint_ranges(robot, ranges or {})
        self._poses, boxes = base_boxes(robot, bases or {})
        if not np.isnan(boxes).all():
            raise DatasetError("bases: a grid needs poses (4, 4), found a box (3, 2)")
        names = robot.joint_names
        if isinstance(points, Mapping):
            for name in points:
                if name not in names:
                    raise DatasetError(f"grid: '{robot.name}' has no joint {name!r} (joints: {', '.join(names)})")
            self._points = [int(points.get(name, 1)) for name in names]
        else:
            self._points = [int(points) if low < high else 1 for low, high in self._ranges]
        if min(self._points, default=1) < 1:
            raise DatasetError(f"grid = {points!r}: must be at least 1 point per joint")
        self.count = _check_count(math.prod(self._points))

    def manifest(self) -> dict[str, Any]:
        """As `States.manifest`."""
        return {
            "law": "grid",
            "count": self.count,
            "points": self._points,
            "ranges": _to_hex(self._ranges),
            "base poses": _to_hex(self._poses),
        }

    def rows(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """As `States.rows`."""
        left = np.arange(start, stop)
        joints = np.empty((stop - start, len(self._points)))
        for column in range(len(self._points) - 1, -1, -1):
            points, (low, high) = self._points[column], self._ranges[column]
            step = left % points
            left = left // points
            part = step / (points - 1) if points > 1 else np.full(len(step), 0.5)
            joints[:, column] = np.where(part == 1.0, high, low + part * (high - low))
        return joints, np.broadcast_to(self._poses, (stop - start, *self._poses.shape))


class FileStates:
    """States from a file.

    ``.npy`` (states, joints); ``.csv`` with joint names in its first line; ``.npz`` with ``positions``, optionally
    ``joint_names`` and base poses ``base_NAME``, (states, 4, 4) or (4, 4). Without names the columns are those of the
    robot's `joint_names`.

    Raises
    ------
    DatasetError
        If the file cannot be read in its format, lacks joints, or has a non-finite number.
    """

    def __init__(self, robot: Robot, path: Path | str, *, bases: Mapping[str, ArrayLike] | None = None) -> None:
        from superovoid.states.inputs import joint_rows, pose_rows

        self.path = Path(path).absolute()
        positions, names, of_file = _read_states(self.path)
        try:
            self._given = {link: as_pose(f"base {link!r}", pose) for link, pose in (bases or {}).items()}
            self._joints = joint_rows(robot, positions, names)
            self._poses = pose_rows(robot, {**of_file, **self._given}, len(self._joints))
        except ValueError as error:
            raise DatasetError(f"{self.path}: {error}") from None
        self.count = _check_count(len(self._joints))
        digest = hashlib.sha256(self._joints.tobytes())
        digest.update(np.ascontiguousarray(self._poses).tobytes())
        self._digest = digest.hexdigest()

    def manifest(self) -> dict[str, Any]:
        """As `States.manifest`."""
        given = {link: _to_hex(pose) for link, pose in self._given.items()}
        return {"law": "file", "count": self.count, "sha256": self._digest, "base poses": given}

    def rows(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """As `States.rows`."""
        one = len(self._poses) == 1
        poses = np.broadcast_to(self._poses, (self.count, *self._poses.shape[1:])) if one else self._poses
        return self._joints[start:stop], poses[start:stop]


def _read_states(path: Path) -> tuple[FloatArray, Sequence[str] | None, dict[str, FloatArray]]:
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False), None, {}
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                bases = {name[5:]: archive[name] for name in archive.files if name.startswith("base_")}
                names = [str(name) for name in archive["joint_names"]] if "joint_names" in archive.files else None
                return archive["positions"], names, bases
        if path.suffix == ".csv":
            with path.open(encoding="utf-8") as file:
                lines = [line for line in file if not line.startswith("#")]
            if len(lines) < 2:
                raise ValueError("must have a line of joint names, followed by lines of numbers")
            names = [name.strip() for name in lines[0].split(",")]
            return np.loadtxt(lines[1:], delimiter=",", ndmin=2).reshape(-1, len(names)), names, {}
    except OSError as error:
        raise DatasetError(f"states file {path}: {error.strerror or error}") from None
    except Exception as error:  # zipfile, numpy and codecs raise various types
        raise DatasetError(f"states file {path}: cannot be read as {path.suffix}: {error}") from None
    raise DatasetError(f"states file {path}: its name must end with .npy, .npz or .csv")


# --- conversion to and from a manifest ---


def _to_hex(values: FloatArray) -> list[Any]:
    """Return numbers as hexadecimal text, which preserves every bit."""
    return [_to_hex(value) if value.ndim else float(value).hex() for value in map(np.asarray, values)]


def _numbers(texts: list[Any], shape: tuple[int, ...]) -> FloatArray:
    flat = [float.fromhex(text) for text in _flatten(texts)]
    return np.array(flat, dtype=np.float64).reshape(shape)


def _flatten(texts: list[Any]) -> list[str]:
    return [text for each in texts for text in (_flatten(each) if isinstance(each, list) else [each])]


def states_of(manifest: Mapping[str, Any], robot: Robot, path: str | Path | None) -> States:
    """Return the states that a manifest defines; `path` is their file, if they come from one."""
    law, names, bases = manifest["law"], robot.joint_names, robot.base_links
    if law == "file":
        if path is None:
            raise DatasetError("states: this data set reads them from a file, but no path was given")
        given = {link: _numbers(pose, (4, 4)) for link, pose in manifest["base poses"].items()}
        return FileStates(robot, path, bases=given)
    ranges = dict(zip(names, _numbers(manifest["ranges"], (-1, 2)).tolist(), strict=True))
    poses = dict(zip(bases, _numbers(manifest["base poses"], (-1, 4, 4)), strict=True))
    if law == "grid":
        points = dict(zip(names, manifest["points"], strict=True))
        return GridStates(robot, points, ranges=ranges, bases=poses)
    boxes = dict(zip(bases, _numbers(manifest["base boxes"], (-1, 3, 2)), strict=True))
    given = {link: poses[link] if np.isnan(boxes[link]).any() else boxes[link] for link in bases}
    return RandomStates(
        robot, manifest["count"], manifest["seed"], law, steps=manifest["steps"], ranges=ranges, bases=given
    )

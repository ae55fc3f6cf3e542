# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Base classes of motions: frames counted from 0, and parameter files with checked values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from superovoid_ros.resources import read_yaml


class Frame:
    """One frame: joint states and transforms.

    ``base_poses`` are world_from_link of the floating links, shape (4, 4), m.
    """

    index: int
    positions: Mapping[str, float]
    base_poses: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class JointFrame(Frame):
    """One frame of a motion without floating links."""

    index: int
    positions: Mapping[str, float]
    base_poses: Mapping[str, np.ndarray] = field(default_factory=dict)


class Motion(ABC):
    """Base class of motions: dataclasses of parameters. ``len(motion)`` frames, ``motion.frame(i)``; iterable."""

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read a YAML file of the parameters, such as those in ``config/``.

        Raises
        ------
        ValueError
            If the file is not a mapping, or a parameter is missing, unknown or invalid.
        """
        values = read_yaml(path)
        if not isinstance(values, Mapping):
            raise ValueError(f"{path}: expected a mapping of parameters")
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def frame(self, index: int) -> Frame:
        """Return frame ``index``, counted from 0; raise IndexError if there is no such frame."""

    def __iter__(self) -> Iterator[Frame]:
        return (self.frame(index) for index in range(len(self)))

    def _check_index(self, index: int) -> None:
        if not 0 <= index < len(self):
            raise IndexError(f"frame {index}: the sweep has frames 0 to {len(self) - 1}")

    def _check_counts(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{type(self).__name__}.{name} = {value!r}: must be an integer of at least 1")

    def _check_numbers(self, *names: str) -> None:
        for name in names:
            self._check_number(name, getattr(self, name))

    def _check_number(self, name: str, value: object) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{type(self).__name__}.{name} = {value!r}: must be a finite number")

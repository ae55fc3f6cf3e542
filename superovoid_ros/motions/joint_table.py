# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motion of any robot from a CSV file with a column for each joint and a row for each frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from superovoid.viewing.recording_files import AXES, RecordingError, read_table
from superovoid_ros.motions.recorded import JointFrame, Motion

_UNITS = ("_rad", "_m")


@dataclass(frozen=True)
class JointTable(Motion):
    """Joint positions of each frame. ``len(table)`` frames, ``table.frame(i)``; iterable.

    Attributes
    ----------
    rows : tuple of mapping of str to float
        For each frame, the positions of joints, rad or m.
    """

    rows: tuple[Mapping[str, float], ...]

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read a CSV file with columns ``NAME_rad`` or ``NAME_m``; columns ``time_s`` and ``along_m`` are ignored.

        Raises
        ------
        RecordingError
            If the file cannot be read, another column exists, or a value is not a finite number.
        """
        table = read_table(Path(path))
        columns: dict[str, int] = {}
        for at, name in enumerate(table.names):
            if name in AXES:
                continue
            unit = next(filter(name.endswith, _UNITS), "")
            joint = name.removesuffix(unit)
            if not unit or not joint or joint in columns:
                raise RecordingError(f"{path}: column {name[:40]!r}: must be JOINT_rad or JOINT_m, once for each joint")
            columns[joint] = at
        if not columns:
            raise RecordingError(f"{path}: no column JOINT_rad or JOINT_m; {table.columns_text()}")
        return cls(
            tuple(
                {joint: table.number(row, table.names[at], line[at]) for joint, at in columns.items()}
                for row, line in table.rows
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self, index: int) -> JointFrame:
        """Return frame ``index``, counted from 0; raise IndexError if there is no such frame."""
        self._check_index(index)
        return JointFrame(index, self.rows[index])

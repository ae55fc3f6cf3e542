# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of a scene, and the rows that its arrays have for them.

The row of a body is its index plus the number of gaps before it. A gap is the row of a removed body. It remains until
`close_gaps`, so that removing a body copies no other row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.scene.bodies import Body

IntArray = NDArray[np.int64]


class Members:
    """Bodies by index and by name, and their rows.

    Parameters
    ----------
    bodies : sequence of Body
        Their names differ; each has the row of its index.
    """

    def __init__(self, bodies: Sequence[Body] = ()) -> None:
        self._bodies = list(bodies)
        self._as_tuple: tuple[Body, ...] | None = None  # made on access, after a change
        self._row = {body.name: row for row, body in enumerate(bodies)}
        self._gaps: IntArray = np.empty(0, dtype=np.int64)  # rows, ascending

    def __len__(self) -> int:
        return len(self._bodies)

    def __getitem__(self, index: int) -> Body:
        return self._bodies[index]

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies, by index."""
        if self._as_tuple is None:
            self._as_tuple = tuple(self._bodies)
        return self._as_tuple

    @property
    def gaps(self) -> IntArray:
        """Rows without a body, ascending."""
        return self._gaps

    @property
    def row_count(self) -> int:
        """Number of rows, including gaps."""
        return len(self._bodies) + len(self._gaps)

    def copy(self) -> Members:
        """Return an independent copy, with the same bodies in the same rows."""
        other = object.__new__(Members)
        other.__dict__.update(self.__dict__)
        other._bodies, other._row = self._bodies.copy(), self._row.copy()
        return other

    def row_of(self, name: str) -> int:
        """Return the row of a body: its index if there are no gaps.

        Raises
        ------
        ValueError
            If there is no body of that name.
        """
        if name not in self._row:
            raise ValueError(f"name = {name!r}: no body has it; bodies: {some_of(tuple(self._row))}")
        return self._row[name]

    def indices(self, rows: IntArray) -> IntArray:
        """Return the indices of bodies for their rows, as a copy."""
        return rows - np.searchsorted(self._gaps, rows) if len(self._gaps) else rows.copy()

    def checked(self, bodies: Sequence[Body]) -> tuple[Body, ...]:
        """Check bodies to be added; return them as a tuple.

        Raises
        ------
        TypeError, ValueError
            If one is not a `Body`, or a name occurs twice or is taken.
        """
        bodies = tuple(bodies)
        for body in bodies:
            if not isinstance(body, Body):
                raise TypeError(f"bodies: must be of type Body, found {body!r}")
        for name, times in Counter(body.name for body in bodies).items():
            total = times + (name in self._row)
            if total > 1:
                raise ValueError(f"bodies: the name {name!r} occurs {total} times, must be unique")
        return bodies

    def add(self, bodies: Sequence[Body]) -> None:
        """Append bodies that `checked` returned."""
        count = self.row_count
        self._bodies.extend(bodies)
        self._row.update((body.name, count + i) for i, body in enumerate(bodies))
        self._as_tuple = None

    def exchange(self, index: int, body: Body) -> None:
        """Replace a body by another one of the same name."""
        self._bodies[index], self._as_tuple = body, None

    def leave_gap(self, name: str) -> None:
        """Remove a body; its row becomes a gap."""
        row = self.row_of(name)
        place = int(np.searchsorted(self._gaps, row))
        del self._bodies[row - place], self._row[name]
        self._gaps = np.insert(self._gaps, place, row)
        self._as_tuple = None

    def close_gaps(self) -> IntArray:
        """Remove all gaps; return the new row for each old row, -1 for gaps."""
        kept = np.ones(self.row_count, dtype=np.bool_)
        kept[self._gaps] = False
        rows = np.cumsum(kept) - 1
        rows[self._gaps] = -1
        self._gaps = np.empty(0, dtype=np.int64)
        self._row = {body.name: row for row, body in enumerate(self._bodies)}
        return rows


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Return names for an error message: the first ones, and the number of others."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")

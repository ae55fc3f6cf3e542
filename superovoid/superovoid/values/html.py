# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tables in HTML, as notebooks display objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 5
"""Number of rows that a notebook shows of a longer table."""


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """Return a table.

    Parameters
    ----------
    title : str
    header : sequence of str
        Names of the columns; empty for a table of names and values.
    rows : iterable of sequence of str
    more : str, optional
        A line below.
    """
    lines = [f"<div><strong>{escape(title)}</strong>", "<table>"]
    if header:
        lines.append("<thead><tr>" + "".join(f"<th>{escape(name)}</th>" for name in header) + "</tr></thead>")
    lines.append("<tbody>")
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</tbody></table>", *([f"<div>{escape(more)}</div>"] if more else []), "</div>"])


def first_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of the first rows, with the number of the others below."""
    left = len(rows) - MOST_ROWS
    return table(title, header, rows[:MOST_ROWS], f"and {left} more" if left > 0 else "")

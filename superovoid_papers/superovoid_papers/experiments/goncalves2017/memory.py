# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory of a body by its representation: the column of words in table 3 of Gonçalves et al. 2017.

The experiment stores each representation of the same superovoids (section 5.1), and divides the newly allocated memory
by their number. tracemalloc counts Python's objects and numpy's arrays, glibc (mallinfo2) counts the memory of FCL and
Coal. Temporary memory of the construction of a mesh does not count.
"""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from superovoid.output import REPORT, CsvRow, OutputError, column, leave, machine, output_folder, print_table
from superovoid.shapes import Superovoid
from superovoid.viewing.palette import BLACK, CYCLE
from superovoid_papers.benchmarks import peers
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.goncalves2017 import superovoid_battery
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import polygonal

VERTICES = (18, 290, 786, 5002)
PARAMETERS = 7 + 6
"""Numbers of shape and pose, as in the paper."""
PACKAGES = ("numpy", "python-fcl", "coal")
_MANY = 2000  # least total of vertices, so that malloc's own memory per vertex is small


Maker = Callable[[Superovoid], Any]


class _Mallinfo2(ctypes.Structure):
    """Result of glibc's mallinfo2 (malloc.h)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def allocated_bytes() -> int:
    """Return the bytes currently allocated by malloc.

    Raises
    ------
    OSError
        If the C library does not report it: it needs glibc 2.33 or later.
    """
    try:
        count = ctypes.CDLL(None).mallinfo2
    except AttributeError as error:
        raise OSError(
            "memory is counted by mallinfo2, which this C library lacks (glibc has it from 2.33 on)"
        ) from error
    count.restype = _Mallinfo2
    found = count()
    return found.uordblks + found.hblkhd


@dataclass(frozen=True)
class Row(CsvRow):
    """One representation; bytes per body."""

    representation: str
    vertices: int
    """Vertices of a mesh; 0: exact."""
    bytes: float = column("body_bytes")


def traced_bytes() -> int:
    """Return the bytes of Python's objects and numpy's arrays."""
    return tracemalloc.get_traced_memory()[0]


def bytes_each(make: Maker, bodies: Sequence[Superovoid], count: Callable[[], int]) -> float:
    """Return the bytes, by `count`, that stay allocated per body after `make`."""
    make(bodies[0])  # Allocates modules and caches, once.
    kept: list[Any] = [None] * len(bodies)
    gc.collect()
    before = count()
    for i, body in enumerate(bodies):
        kept[i] = make(body)
    gc.collect()
    return (count() - before) / len(bodies)


def _octree(body: Superovoid) -> Any:
    identity = np.eye(4)[None]
    return goncalves2017.Pairs([body], identity, [body], identity, scheme="octImplicit").octrees.copy()


def _exact_makers() -> dict[str, Maker]:
    def copy(body: Superovoid) -> Superovoid:
        return Superovoid(
            body.semi_axes,
            section_exponent=body.section_exponent,
            profile_exponent=body.profile_exponent,
            taper=body.taper,
        )

    def pack(body: Superovoid) -> Superovoid:
        made = copy(body)
        made.support((1.0, 0.0, 0.0))  # needs the row of the kernels
        return made

    return {
        "numbers of shape and pose": lambda body: np.zeros(PARAMETERS),
        "Superovoid": copy,
        "Superovoid, ready for queries": pack,
        "octree of 4 levels": _octree,
    }


Meshes = dict[int, tuple[Any, Any]]
"""Vertices and triangles by the identity of the body."""


def _fcl_mesh(meshes: Meshes) -> Maker:
    """Return a maker of two models per body, as for a pair."""
    return lambda body: goncalves2017.MeshPair(*meshes[id(body)], *meshes[id(body)])


def _coal_meshes(meshes: Meshes) -> dict[str, Maker]:
    coal = peers.Coal(peers.Geometry.EXACT)
    return {
        "Coal, mesh with its boxes": lambda body: coal.surface(*meshes[id(body)]),
        "Coal, hull": lambda body: coal.convex(*peers.convex_hull(meshes[id(body)][0])),
    }


def run(count: int, seed: int) -> tuple[list[Row], dict[str, str]]:
    """Return the rows, and missing libraries."""
    pairs, _, _ = superovoid_battery.draw("separated", count, seed)
    bodies = [pair.a for pair in pairs]
    grids = {vertices: {id(body): polygonal.mesh(body, vertices) for body in bodies} for vertices in VERTICES}
    tracemalloc.start()
    try:
        rows = [Row(name, 0, bytes_each(make, bodies, traced_bytes)) for name, make in _exact_makers().items()]
        for vertices, meshes in grids.items():
            arrays = bytes_each(
                lambda body, meshes=meshes: [part.copy() for part in meshes[id(body)]], bodies, traced_bytes
            )
            rows.append(Row("vertices and triangles", vertices, arrays))
    finally:
        tracemalloc.stop()
    missing = {}
    for vertices, meshes in grids.items():
        many = bodies * max(1, _MANY // vertices)
        try:
            models = bytes_each(_fcl_mesh(meshes), many, allocated_bytes)
            rows.append(Row("FCL, mesh with its boxes", vertices, 0.5 * models))
        except ImportError as error:
            missing["FCL"] = str(error)
        try:
            made = _coal_meshes(meshes)
            rows += [Row(name, vertices, bytes_each(make, many, allocated_bytes)) for name, make in made.items()]
        except ImportError as error:
            missing["Coal"] = str(error)
    return rows, missing


def table(rows: Sequence[Row]) -> Table:
    """Return the table of all rows."""
    made = Table(title="Memory of a body", title_justify="left")
    made.add_column(Row.heading("representation"))
    for name in (Row.heading("vertices"), Row.heading("bytes"), "times the 13 numbers"):
        made.add_column(name, justify="right")
    for row in rows:
        share = row.bytes / (8.0 * PARAMETERS)
        made.add_row(row.representation, str(row.vertices or "exact"), f"{row.bytes:,.0f}", f"{share:,.1f}")
    return made


def plot(rows: Sequence[Row]) -> Figure:
    """Draw bytes against vertices, what is exact as lines across."""
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    panel = figure.subplots()
    for k, name in enumerate(dict.fromkeys(row.representation for row in rows)):
        some = [row for row in rows if row.representation == name]
        if some[0].vertices == 0:
            panel.axhline(some[0].bytes, color=CYCLE[k], linestyle="--", label=name)
        else:
            size = 8 if name.startswith("FCL") else 4  # Coal's boxes need the same memory.
            vertices, sizes = [row.vertices for row in some], [row.bytes for row in some]
            panel.plot(vertices, sizes, "o-", color=CYCLE[k], markersize=size, label=name)
    panel.axhline(8 * PARAMETERS, color=BLACK, linewidth=0.8, label="paper: 13 floating-point numbers")
    panel.set(xscale="log", yscale="log", xlabel="vertices of a mesh", ylabel="bytes of a body")
    panel.legend(fontsize=7)
    return figure


def main(pairs: int, seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and plot in a folder."""
    folder = output_folder(output)
    try:
        rows, missing = run(pairs, seed)
    except OSError as error:
        raise OutputError(str(error)) from error
    console = REPORT.console()
    print_table(console, table(rows))
    about = f"superovoid experiment memory --pairs {pairs} --seed {seed}", machine(PACKAGES)
    plots = {"memory": partial(plot, rows)}
    return leave(console, folder, {"memory": rows}, plots, about, explain_missing(missing))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of every two kinds: shares proved, widths of the intervals, time of one cold query.

Run ``python -m superovoid_papers.benchmarks.kind_shares [pairs] [seed]``; it prints the table of
docs/shapes.md.
"""

from __future__ import annotations

import itertools
import sys
import time
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.contact import Status, columns
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.kind_table import kernel_for
from superovoid.shapes import Box, Capsule, Cone, ConvexMesh, Cylinder, Mesh, Shape, Sphere, Superovoid, Torus

if TYPE_CHECKING:
    import trimesh

DENTED = "dented superovoid"
KINDS = ("superovoid", "sphere", "capsule", "box", "cylinder", "cone", "convex mesh", "torus", "mesh", DENTED)


@cache
def _ring() -> trimesh.Trimesh:
    return Torus(1.0, 0.3).tessellate(16)


def random_shape(kind: str, rng: np.random.Generator) -> Shape:
    """Body of a kind with lengths from 0.2 to 1.5, log-uniform."""
    x, y, z = np.exp(rng.uniform(np.log(0.2), np.log(1.5), 3))
    if kind == "superovoid":
        taper = rng.uniform(-0.25, 0.25)
        return Superovoid((x, y, z), rng.uniform(0.3, 1.3, 2), (taper, taper))
    if kind == DENTED:
        while True:
            body = Superovoid((x, y, z), rng.uniform(0.3, 1.7, 2), rng.uniform(-0.5, 0.5, 2))
            if not body.convexity().convex:
                return body
    if kind == "sphere":
        return Sphere(float(x))
    if kind == "box":
        return Box((x, y, z))
    if kind == "torus":
        return Torus(x, x * rng.uniform(0.1, 0.7))
    if kind == "convex mesh":
        return ConvexMesh(x * rng.normal(size=(rng.integers(5, 90), 3)))
    if kind == "mesh":
        return Mesh(x * _ring().vertices, _ring().faces)
    return {"capsule": Capsule, "cylinder": Cylinder, "cone": Cone}[kind](x, 2.0 * y)


def random_pose(rng: np.random.Generator, reach: float) -> NDArray[np.float64]:
    """Uniform rotation, and a translation of a length in a uniform direction."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    direction = rng.normal(size=3)
    pose[:3, 3] = reach * direction / np.linalg.norm(direction)
    return pose


def measure(kind_a: str, kind_b: str, pairs: int, rng: np.random.Generator) -> str:
    """One row of the table."""
    widths, times, apart, open_ = np.empty(pairs), np.empty(pairs), np.empty(pairs, bool), np.empty(pairs, bool)
    out = np.empty(columns.RESULT_LENGTH)
    for k in range(pairs):
        a, b = random_shape(kind_a, rng), random_shape(kind_b, rng)
        reach = a.bounding_sphere().radius + b.bounding_sphere().radius
        pose_a, pose_b = random_pose(rng, 0.0), random_pose(rng, rng.uniform(0.0, 1.3) * reach)
        arguments = a._row, b._row, a._pool, b._pool, pose_a, pose_b, TOLERANCE, SEARCH_BUDGET
        solve = kernel_for(*arguments[:2])
        if k == 0:
            solve(*arguments, np.zeros(columns.STATE_LENGTH), out)  # compiles
        state = np.zeros(columns.STATE_LENGTH)
        start = time.perf_counter()
        solve(*arguments, state, out)
        times[k] = 1e6 * (time.perf_counter() - start)
        size = min(max(a.obb().half_extents), max(b.obb().half_extents))
        widths[k] = (out[columns.UPPER] - out[columns.LOWER]) / size
        apart[k] = out[columns.DISTANCE] > 0.0
        open_[k] = int(out[columns.STATUS]) & Status.UNPROVEN
    row = f"| {kind_a}, {kind_b} |"
    for chosen in (apart, ~apart):
        row += f" {100.0 * (1.0 - open_[chosen].mean()):.1f} % | {np.median(widths[chosen]):.0e}, "
        row += f"{np.percentile(widths[chosen], 99):.0e} | {np.median(times[chosen]):.1f}, "
        row += f"{np.percentile(times[chosen], 99):.0f} |"
    return row


def main() -> None:
    """Print the table."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(
        "| pair | apart: proved | width p50, p99 | us p50, p99 | overlapping: proved | width p50, p99 | us p50, p99 |"
    )
    print("|---|---|---|---|---|---|---|")
    for number, (kind_a, kind_b) in enumerate(itertools.combinations_with_replacement(KINDS, 2)):
        if not {kind_a, kind_b} <= {"superovoid", "sphere", DENTED}:
            print(measure(kind_a, kind_b, pairs, np.random.default_rng([seed, number])), flush=True)


if __name__ == "__main__":
    main()

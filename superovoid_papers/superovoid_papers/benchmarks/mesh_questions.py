# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processor time to decide whether two meshes of a robot meet, and of the full answer, in one run.

    python -m superovoid_papers.benchmarks.mesh_questions g1_description/urdf/g1_29dof_rev_1_0.urdf

Pairs of the links' non-convex meshes, at random poses about each other, with robots of example-robot-data
(`pip install 'superovoid_papers[robots]'`). A closed mesh is a solid, any other one a sheet.
"""

from __future__ import annotations

import math
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.compounds import solve_within
from superovoid.contact.deciding import decide_within
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.pair import CLOSER, FARTHER, UNDECIDED, Limit, PlacedBody, verdict_of
from superovoid.robot import Robot
from superovoid.shapes import Mesh

_LARGEST = 12  # meshes of a robot, those with the most triangles
_PAIRS = 60


def _robots_folder() -> Path:
    for file in distribution("example-robot-data").files or ():
        folder = Path(str(file.locate()))
        while "robots" in folder.parts and folder.name != "robots":
            folder = folder.parent
        if folder.name == "robots":
            return folder
    raise ImportError("example-robot-data: its folder robots does not exist: pip install 'superovoid_papers[robots]'")


def _random_pair(rng: np.random.Generator, meshes: list[Mesh]) -> tuple[PlacedBody, PlacedBody]:
    """Draw two meshes, with centres of their boxes at most about half of their sizes apart."""
    a, b = (meshes[i] for i in rng.integers(len(meshes), size=2))
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    (low_a, high_a), (low_b, high_b) = ((mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)) for mesh in (a, b))
    size = 0.5 * ((high_a - low_a).max() + (high_b - low_b).max())
    pose[:3, 3] = 0.5 * (low_a + high_a) - pose[:3, :3] @ (0.5 * (low_b + high_b))
    pose[:3, 3] += 0.5 * size * rng.uniform(0.2, 1.0) * rng.normal(size=3)
    return PlacedBody(a._row, a._pool, np.eye(4)), PlacedBody(b._row, b._pool, pose)


def measure(urdf: str, threshold: float, seed: int = 0) -> str:
    """Return a line with verdicts, and milliseconds of the decision and of the full answer."""
    root = _robots_folder()
    robot = Robot.load(root / urdf, package_directories={"example-robot-data": root.parent}, meshes="shells")
    shapes = [body.shape for body in robot.bodies if isinstance(body.shape, Mesh) and not body.shape.is_convex()]
    if not shapes:
        return f"{urdf}: no non-convex mesh"
    meshes = sorted(shapes, key=lambda mesh: -len(mesh.faces))[:_LARGEST]
    rng = np.random.default_rng(seed)
    full = Limit(TOLERANCE, SEARCH_BUDGET, math.inf, -math.inf)
    limit = full._replace(beyond=threshold, below=threshold)
    scratch, row = np.empty((3, 3)), np.empty(RESULT_LENGTH)
    said, known, solved = (np.empty(_PAIRS, dtype=int) for _ in range(3))
    times = np.empty((2, _PAIRS))
    for k in range(-1, _PAIRS):  # the first one loads kernels
        a, b = _random_pair(rng, meshes)
        row[:] = np.nan
        begin = time.process_time()
        direction, state, verdict = np.zeros(3), np.zeros(STATE_LENGTH), np.empty(VERDICT_LENGTH)
        found = decide_within(a, b, limit, direction, state, (scratch, row), verdict)
        asked = time.process_time()
        was_solved = not np.isnan(row[RESULT.lower])
        middle = time.process_time()
        solve_within(a, b, full, np.zeros(STATE_LENGTH), scratch, row)
        times[:, k] = asked - begin, time.process_time() - middle
        said[k], known[k], solved[k] = found, verdict_of(row[RESULT.lower], row[RESULT.upper], limit), was_solved
    if not ((said == known) | (known == UNDECIDED)).all():
        raise AssertionError(f"{urdf}: the question contradicts the full answer")
    question, full = (f"{np.median(t):.3f} / {t.max():.3f}" for t in 1e3 * times)
    return (
        f"{urdf}, threshold {threshold:g} m, {len(meshes)} meshes of up to {len(meshes[0].faces)} triangles, "
        f"{_PAIRS} pairs: closer {(said == CLOSER).sum()}, farther {(said == FARTHER).sum()}, "
        f"open {(said == UNDECIDED).sum()} (full answer {(known == UNDECIDED).sum()}), depth solved {solved.sum()}; "
        f"ms, median / most: question {question}, full answer {full}"
    )


def main(arguments: list[str]) -> None:
    """Measure the named robots, with three thresholds each."""
    for urdf in arguments:
        for threshold in (0.0, 0.01, -0.005):
            print(measure(urdf, threshold), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

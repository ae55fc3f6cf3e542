# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The dental occlusion of Gonçalves et al. 2017, sections 5.3 and 6.4: time and distance of every frame of a bite.

The contenders use the same two crowns of eight superovoids each (`superovoid_ros.motions.dental_bite`):

* the paper's method: boxes along the axes of the world around every superovoid, with a tree of them for each crown;
  quadImplicit solves every pair whose boxes meet. Other pairs, and those without convergence, have no distance.
  Newton's method starts from the pair's previous answer (temporal coherence, section 4.4) or, if there is none or it
  fails, from the quadtree's guess;
* the same from the quadtree's guess in every frame;
* this package's scene, independent of boxes: the closest pair of surfaces, or all 64 pairs, proved;
* FCL's and Coal's minimum distance of two meshes of each crown, of 6,200 and 24,000 triangles as in the paper.

The paper's meshes are the union of the superovoids, polygonised by marching triangles. Ours are the same union by the
marching cubes of scikit-image. Like marching triangles it produces triangles of uniform size, so the counts are
comparable, and it is maintained (PyPI has no marching triangles). A boolean union of finer meshes (manifold3d) would
have sharper creases, but slivers along them, and different numbers and sizes of triangles.

Each frame of each contender is timed separately, in rounds in which the contenders play the whole bite in alternation.
The fastest round of a frame counts, since other programs only add to the others. Times exclude setting the poses, but
include updates of data that depends on them (the trees of boxes). Warm starts use the previous frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from superovoid.contact import Status
from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, progress
from superovoid.robot import Robot
from superovoid.scene import Body
from superovoid_papers.benchmarks import peers
from superovoid_papers.benchmarks.engine_comparison import no_garbage_collection, time_call
from superovoid_papers.contenders import explain_missing
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import newton_schemes, schemes
from superovoid_ros.motions.dental_bite import LOWER, UPPER, BiteFrame, DentalBite, read_bite

FloatArray = NDArray[np.float64]
Triangles = tuple[FloatArray, NDArray[np.int64]]

PITCHES = {6_200: 0.414e-3, 24_000: 0.2115e-3}
"""Approximate number of triangles of a mesh -> edge of a marching cube, m."""
CONTACT = (47, 111)
"""Approximate first and last frame with contact of the paper's teeth."""
BOXES = (28, 133)
"""First and last frame with overlapping boxes of the paper's superovoids."""
LIMIT = 1e-6
"""Least error of a wrong answer, m: the tolerance of the paper's iteration."""
SHALLOW = 0.5e-3
"""Largest depth of a shallow overlap, m."""
PAPER, ALONE = "boxes, then quadImplicit", "boxes, then quadImplicit, a new guess every frame"
"""The paper's method, and that without temporal coherence."""
REFERENCE = "this scene, all 64 pairs"
"""The contender with the reference distances, each with its proved interval."""
PACKAGES = ("numpy", "numba", "scikit-image", "python-fcl", "coal")


class Contender(Protocol):
    """A method that computes the distance of the crowns."""

    def begin(self) -> None:
        """Discard the state of earlier frames, before the first frame."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set world_from_link of both crowns."""

    def ask(self) -> float:
        """Return the least signed distance, m; infinite if none was computed."""


class QuadImplicit:
    """The paper's own method; if `coherent`, from the last frame's answers; `options` of `goncalves2017.Pairs`."""

    def __init__(self, robot: Robot, coherent: bool = True, **options: str) -> None:
        self._coherent = coherent
        self.sides = [[body for body in robot.bodies if body.link == link] for link in (LOWER, UPPER)]
        below, above = self.sides
        self._rows = np.array([[i, j] for i in range(len(below)) for j in range(len(above))])
        shapes = [[bodies[i].shape for i in column] for bodies, column in zip(self.sides, self._rows.T, strict=True)]
        identity = np.tile(np.eye(4), (len(self._rows), 1, 1))
        self.pairs = goncalves2017.Pairs(shapes[0], identity, shapes[1], identity, scheme="quadImplicit", **options)
        self._trees = [schemes.AabbHierarchy([body.shape for body in bodies]) for bodies in self.sides]
        self._poses: list[FloatArray] = []

    def row_of(self, body_a: NDArray[np.int64], body_b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of pairs of bodies of the robot; those of the lower crown come first."""
        first, second = np.minimum(body_a, body_b), np.maximum(body_a, body_b)
        return first * len(self.sides[1]) + second - len(self.sides[0])

    def begin(self) -> None:
        """Discard the last answers."""
        self.pairs.warm[:] = False

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set the poses of the bodies, and of the rows of pairs."""
        self._poses = [np.array([poses[body.link] @ body.link_from_body for body in side]) for side in self.sides]
        of_rows = self.pairs.poses_a, self.pairs.poses_b
        for rows, bodies, given in zip(of_rows, self._rows.T, self._poses, strict=True):
            rows[:] = given[bodies]

    def ask(self) -> float:
        """Update the trees of boxes, then run quadImplicit for pairs whose boxes meet."""
        for tree, poses in zip(self._trees, self._poses, strict=True):
            tree.update(poses)
        meeting = self._trees[0].overlaps(self._trees[1])
        near, pairs = self.pairs.near, self.pairs
        near[:] = False
        near[meeting[:, 0] * len(self.sides[1]) + meeting[:, 1]] = True
        if not self._coherent:
            self.begin()
        pairs.solve(0, len(pairs))
        answered = near & (pairs.out[:, newton_schemes.CONVERGED] != 0.0)
        return float(pairs.out[answered, newton_schemes.DISTANCE].min(initial=math.inf))


class EngineScene:
    """A scene of this package."""

    def __init__(self, robot: Robot, closest_only: bool) -> None:
        self._scene = robot.scene()
        self._limit = {"max_results": 1} if closest_only else {}

    def begin(self) -> None:
        """Keep the state of earlier frames: answers are proved, so it only saves time."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set the poses of the links."""
        self._scene.set_link_poses(poses)

    def ask(self) -> float:
        """Query the scene; the closest pair comes first."""
        self.result = self._scene.query(**self._limit)
        return float(self.result.distance[0])


class FclMeshes:
    """FCL's minimum distance of two meshes: 0 if they meet."""

    def __init__(self, meshes: Sequence[Triangles]) -> None:
        self._pair = goncalves2017.MeshPair(*meshes[0], *meshes[1])
        self._call = self._pair.distance_call()

    def begin(self) -> None:
        """Do nothing: there is no state."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set the poses of the meshes."""
        self._pair.place(poses[LOWER], poses[UPPER])

    def ask(self) -> float:
        """Call FCL, which returns -1 if the meshes meet."""
        return max(0.0, self._call())


class CoalMeshes:
    """Coal's minimum distance of two meshes: at most 0 if they meet."""

    def __init__(self, meshes: Sequence[Triangles]) -> None:
        self._coal = peers.Coal(peers.Geometry.EXACT)
        self._meshes = [self._coal.surface(*mesh) for mesh in meshes]

    def begin(self) -> None:
        """Do nothing: there is no state."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set the poses of the meshes."""
        self._query = self._coal.query(self._meshes[0], poses[LOWER], self._meshes[1], poses[UPPER])

    def ask(self) -> float:
        """Call Coal, which reports the depth of two triangles, not of the crowns."""
        return max(0.0, self._query())


def union_mesh(bodies: Sequence[Body], pitch: float) -> Triangles:
    """Compute a mesh of the union of superovoids on a link by marching cubes.

    The function is the least (F^(e2/2) - 1) min(a) of the bodies, with F of eq. (5) as printed, which is 1 on the
    surface. It is nearly as steep there as a distance, so linear interpolation along an edge finds the surface.

    Parameters
    ----------
    bodies : sequence of Body
        Superovoids of one link.
    pitch : float
        Edge of a cube, m.

    Returns
    -------
    vertices : (n, 3) ndarray
        Link frame, m.
    triangles : (m, 3) ndarray of int
        Counter-clockwise seen from outside.

    Raises
    ------
    ImportError
        If scikit-image is not installed.
    """
    from skimage.measure import marching_cubes

    boxes = []
    for body in bodies:
        boxes.append(np.array(body.shape.aabb(body.link_from_body[:3, :3])) + body.link_from_body[:3, 3])
    low, high = np.min(boxes, axis=0)[0], np.max(boxes, axis=0)[1]
    low = low - 1.5 * pitch
    counts = np.ceil((high + 1.5 * pitch - low) / pitch).astype(int) + 1
    points = low + pitch * np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1)
    field = np.full(counts, np.inf)
    for body in bodies:
        local = (points - body.link_from_body[:3, 3]) @ body.link_from_body[:3, :3]
        inside_out = body.shape.implicit(local) + 1.0
        np.minimum(
            field, (inside_out ** (0.5 * body.shape.profile_exponent) - 1.0) * min(body.shape.semi_axes), out=field
        )
    vertices, triangles, _, _ = marching_cubes(field, 0.0, spacing=(pitch,) * 3, gradient_direction="descent")
    return vertices + low, triangles.astype(np.int64)


@dataclass(frozen=True)
class FrameRow(CsvRow):
    """One contender in one frame."""

    frame: int
    contender: str
    microseconds: float = column("frame_us")
    distance: float = column("distance_m")
    """Least signed distance; inf: none was computed; 0 may mean an overlap."""
    answers: int
    """Number of solved pairs of surfaces; 1 for meshes."""


def contenders(robot: Robot) -> tuple[dict[str, Contender], list[str]]:
    """Return all available methods by name, and lines about meshes and missing methods."""
    found: dict[str, Contender] = {
        PAPER: QuadImplicit(robot),
        ALONE: QuadImplicit(robot, coherent=False),
        "this scene, closest pair": EngineScene(robot, closest_only=True),
        REFERENCE: EngineScene(robot, closest_only=False),
    }
    notes = []
    for count, pitch in PITCHES.items():
        try:
            meshes = [union_mesh([b for b in robot.bodies if b.link == link], pitch) for link in (LOWER, UPPER)]
        except ImportError as error:
            notes += explain_missing({"FCL and Coal, meshes": str(error)})
            break
        notes.append(f"about {count:,} triangles: " + " and ".join(f"{len(mesh[1]):,}" for mesh in meshes))
        for library, make in (("FCL", FclMeshes), ("Coal", CoalMeshes)):
            name = f"{library}, {count:,} triangles"
            try:
                found[name] = make(meshes)
            except ImportError as error:
                notes += explain_missing({name: str(error)})
    return found, notes


def measure(robot: Robot, bite: DentalBite, rivals: dict[str, Contender], rounds: int, console: Console | None) -> dict:
    """Play the bite and run every method in every frame.

    Returns
    -------
    dict of str to list of FrameRow
        One row per frame, by contender.
    """
    poses = [robot.forward_kinematics(frame.positions, frame.base_poses) for frame in bite]
    names = list(rivals)
    times = {name: np.full(len(poses), np.inf) for name in names}
    rows: dict[str, list[FrameRow]] = {}
    with progress() as bar, no_garbage_collection():
        task = bar.add_task("bite", total=(rounds + 1) * len(names))
        for turn in range(rounds + 1):  # The first round compiles and does not count.
            for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                rows[name] = []
                rivals[name].begin()
                for i, links in enumerate(poses):
                    rivals[name].place(links)
                    answer, microseconds, error = time_call(rivals[name].ask)
                    if error:
                        raise RuntimeError(f"{name}, frame {i}: {error}")
                    if turn:
                        times[name][i] = min(times[name][i], microseconds)
                    rows[name].append(FrameRow(i, name, times[name][i], answer, _answers(rivals[name])))
                bar.advance(task)
    return {name: rows[name] for name in names}


@dataclass(frozen=True)
class PairCounts:
    """Counts of outcomes of the pairs solved by quadImplicit, and of the frames."""

    solved: int = 0
    unconverged: int = 0
    wrong: int = 0
    """Converged to a distance farther than `LIMIT` from the certified one."""
    too_deep: int = 0
    """Wrong ones that are too deep."""
    apart: int = 0
    failed_apart: int = 0
    """For separate pairs: not converged or wrong."""
    shallow: int = 0
    failed_shallow: int = 0
    """The same for overlaps down to `SHALLOW`."""
    deep: int = 0
    failed_deep: int = 0
    other_pair: int = 0
    """Frames with overlapping boxes, but not of the closest pair."""
    closest_right: int = 0
    """Frames in contact with a right answer for the closest pair."""
    right_in_contact: int = 0
    """Those of them without too deep an answer for another pair, so that the frame's distance is right."""
    in_contact: int = 0

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


VARIANTS: dict[str, dict[str, Any]] = {
    "unit vectors": {},
    "vectors as printed": {"vectors": "printed"},
    "analytic Jacobian": {"jacobian": "analytic"},
    "a new guess every frame": {"coherent": False},
    "a new guess every frame, vectors as printed": {"coherent": False, "vectors": "printed"},
    "a new guess every frame, analytic Jacobian": {"coherent": False, "jacobian": "analytic"},
}
"""Options of `QuadImplicit` by name; the first are those of the contenders."""


def count_failures(robot: Robot, bite: Iterable[BiteFrame], **options: Any) -> PairCounts:
    """Compare each answer of quadImplicit (options of `QuadImplicit`) with the certified distance of its pair."""
    paper, scene = QuadImplicit(robot, **options), EngineScene(robot, closest_only=False)
    counts = PairCounts()
    for frame in bite:
        poses = robot.forward_kinematics(frame.positions, frame.base_poses)
        for rival in (paper, scene):
            rival.place(poses)
        least = paper.ask()
        scene.ask()
        rows = paper.row_of(scene.result.body_a, scene.result.body_b)
        truth = np.empty(len(paper.pairs))
        truth[rows] = scene.result.distance
        near = paper.pairs.near
        converged = paper.pairs.out[:, newton_schemes.CONVERGED] != 0.0
        errors = paper.pairs.out[:, newton_schemes.DISTANCE] - truth
        right = converged & (np.abs(errors) <= LIMIT)
        wrong = near & converged & ~right
        figures = [near, near & ~converged, wrong, wrong & (errors < 0.0)]
        for depths in (truth >= 0.0, (truth < 0.0) & (truth >= -SHALLOW), truth < -SHALLOW):
            figures += [near & depths, near & depths & ~right]
        closest = rows[0]
        touching = truth[closest] < 0.0
        figures += [near.any() and not near[closest], touching and near[closest] and right[closest]]
        figures += [touching and abs(least - truth[closest]) <= LIMIT, touching]
        counts += PairCounts(*(int(np.sum(mask)) for mask in figures))
    return counts


def certified_lines(robot: Robot, bite: Iterable[BiteFrame]) -> list[str]:
    """Return lines about the scene's answers, which judge the others, and about the bodies' concavities."""
    scene = EngineScene(robot, closest_only=False)
    answers = intersecting = in_concavities = unproved = 0
    widest = 0.0
    for frame in bite:
        scene.place(robot.forward_kinematics(frame.positions, frame.base_poses))
        scene.ask()
        found = scene.result
        answers += len(found)
        intersecting += found.statistics.intersecting
        in_concavity = (found.status & Status.NON_CONVEX) != 0
        in_concavities += int(in_concavity.sum())
        unproved += int((~in_concavity & ((found.status & Status.UNPROVEN) != 0)).sum())
        widest = max(widest, float((found.upper - found.lower)[in_concavity].max(initial=0.0)))
    depths = [depth for depth in (body.shape.convexity().concavity for body in robot.bodies) if depth > 0.0]
    return [
        f"certified answers: {answers}, of which {intersecting} intersecting; {in_concavities} at a concavity "
        f"(intervals of at most {widest:.1e} m), {unproved} others unproved",
        f"bodies with a concavity: {len(depths)} of {len(robot.bodies)}, "
        f"{', '.join(f'{depth:.0e}' for depth in depths)} m deep",
    ]


def failure_table(found: dict[str, PairCounts]) -> Table:
    """Return the table of outcomes of quadImplicit's answers, by variant."""
    result = Table(title=f"quadImplicit; wrong: by more than {LIMIT:g} m", title_justify="left")
    for name in (
        "variant", "not converged", "wrong", "too deep", "failed apart", f"of at most {1e3 * SHALLOW:g} mm", "deeper",
        "frames: closest pair right", "frames: distance right",
    ):  # fmt: skip
        result.add_column(name, justify="left" if name == "variant" else "right", no_wrap=name == "variant")
    for name, counts in found.items():
        shares = ((counts.failed_apart, counts.apart), (counts.failed_shallow, counts.shallow))
        shares += ((counts.failed_deep, counts.deep),)
        shares += tuple((right, counts.in_contact) for right in (counts.closest_right, counts.right_in_contact))
        cells = [str(value) for value in (counts.unconverged, counts.wrong, counts.too_deep)]
        result.add_row(name, *cells, *(f"{some} of {of}" for some, of in shares))
    return result


def _answers(rival: Contender) -> int:
    if isinstance(rival, QuadImplicit):
        return int(rival.pairs.near.sum())
    return int(rival.result.statistics.solved) if isinstance(rival, EngineScene) else 1


def table(rows: dict[str, list[FrameRow]]) -> Table:
    """Return the table of times of frames with and without contact, and of differences from certified distances."""
    truth = np.array([row.distance for row in rows[REFERENCE]])
    touching = truth < 0.0
    result = Table(title="Dental bite, 181 frames", title_justify="left")
    for name in (
        "contender", "apart: frame median, us", "frame max, us", "contact: frame median, us", "frame max, us",
        "no distance", "apart: distance error max, um", "contact: distance error max, um",
    ):  # fmt: skip
        result.add_column(name, justify="left" if name == "contender" else "right", no_wrap=name == "contender")
    for name, of_name in rows.items():
        times, answers = (np.array([getattr(row, field) for row in of_name]) for field in ("microseconds", "distance"))
        cells = [
            f"{f(times[where]):,.0f}" if where.any() else "-"
            for where in (~touching, touching)
            for f in (np.median, np.max)
        ]
        known = np.isfinite(answers)
        cells.append(str(int((~known).sum())))
        errors = 1e6 * np.abs(answers - truth, where=known, out=np.zeros(len(truth)))
        cells.append(f"{errors[known & ~touching].max(initial=0.0):.3g}")
        depth = (answers < 0.0)[touching].any()
        cells.append(f"{errors[known & touching].max(initial=0.0):.3g}" if depth else "no depth")
        result.add_row(name, *cells)
    return result


def main(rounds: int, output: Path) -> int:
    """Run the experiment: tables on the console, CSV, plot and a picture of the teeth in a folder."""
    from superovoid_papers.experiments.goncalves2017 import bite_plots

    console = REPORT.console()
    folder = output_folder(output)
    robot, bite = read_bite()
    rivals, notes = contenders(robot)
    rows = measure(robot, bite, rivals, rounds, console)
    about = f"superovoid experiment bite --rounds {rounds}; no random numbers", machine(PACKAGES)
    print_table(console, table(rows))
    found = {name: count_failures(robot, bite, **options) for name, options in VARIANTS.items()}
    print_table(console, failure_table(found))
    counts = next(iter(found.values()))
    asked = [row.frame for row in rows[PAPER] if row.answers]
    touching = [row.frame for row in rows[REFERENCE] if row.distance < 0.0]
    lines = (
        f"contact in frames {touching[0]} to {touching[-1]} (paper: about {CONTACT[0]} to {CONTACT[1]}); boxes meet in "
        f"{asked[0]} to {asked[-1]} (paper: {BOXES[0]} to {BOXES[1]})",
        f"pairs whose boxes meet: {counts.solved} of {len(rows[PAPER]) * len(rivals[PAPER].pairs)}; frames in which "
        f"boxes meet, but not the closest pair's: {counts.other_pair}",
        *certified_lines(robot, bite),
        *notes,
    )
    all_rows = [row for of_name in rows.values() for row in of_name]
    plots = {"bite": partial(bite_plots.plot, rows), "bite_teeth": partial(bite_plots.teeth, robot, bite)}
    return leave(console, folder, {"bite": all_rows}, plots, about, lines)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Suggestions of Gonçalves et al. 2017 for other methods, on the pairs of their batteries.

Section 7 suggests a comparison with solvers of the optimisation problem

    min |Q - P|^2   so that   F_i(P) <= 0,  F_j(Q) <= 0

by interior points, and with the search over contact directions of Wellmann et al. 2008. Section 6.1 suggests
Baumgarte's term, which shortens each of Newton's steps. The contenders are:

* quadImplicit, and with shares of the step (`gain`);
* IPOPT, through CasADi, which generates the derivatives, and scipy's trust-constr with our gradients and Hessians, both
  from the quadtree's guess, in the six coordinates of (16);
* `superovoid_papers.methods.wellmann2008.direction_search`, from the line of centres;
* this package's engine, which judges.

For overlapping bodies the least |Q - P| is 0: the problem has no depth, and its solvers do not take part.

The pairs are those of tables 1 and 2, and the same without tapers, as in Wellmann's paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table
from scipy.linalg import block_diag
from scipy.optimize import NonlinearConstraint, minimize

from superovoid import distance
from superovoid.output import (
    REPORT,
    CsvRow,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    progress,
    unitless,
)
from superovoid.shapes import Superellipsoid
from superovoid.viewing.palette import CYCLE
from superovoid_papers.benchmarks import engine_comparison, peers
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.goncalves2017 import superovoid_battery
from superovoid_papers.experiments.goncalves2017.superovoid_battery import PROVED, WRONG
from superovoid_papers.methods.goncalves2017 import newton_schemes, superovoid_surface
from superovoid_papers.methods.wellmann2008 import direction_search

FloatArray = NDArray[np.float64]

BATTERIES = ("separated", "overlapping")
BODIES = ("superovoids", "superellipsoids")
GAINS = (0.75, 0.5, 0.25)
ITERATIONS_OF_PARTS = 200
"""Largest number of Newton's steps with shortening."""
IPOPT_TOLERANCE, TRUST_TOLERANCE = 1e-9, 1e-12
"""The optimisers' own measures of optimality, for distances accurate to 1e-6 m, the paper's tolerance."""
SOLVER_ITERATIONS = 500
INTERIOR = ("IPOPT (CasADi)", "trust-constr (scipy)")
PACKAGES = ("numpy", "scipy", "numba", "casadi")


@dataclass(frozen=True)
class Row(CsvRow):
    """One contender on one kind of pairs; times of a query, including the first guess."""

    bodies: str
    battery: str
    contender: str
    pairs: int
    median_us: float
    p99_us: float
    iterations: float = unitless("iterations_mean")
    """over converged pairs"""
    judged: int
    not_converged: int
    wrong: int
    error_median: float = column("error_median_m")


class ReportedMethod(Protocol):
    """A method, with its report on its answers."""

    converged: NDArray[np.bool_]
    iterations: FloatArray

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return a call for each pair, which returns the signed distance."""


class Scheme:
    """A scheme of the paper, including its first guess."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return compiled loops of length one."""
        self._packed = superovoid_battery.packed_pairs(pairs, self._options)

        def query(i: int) -> float:
            self._packed.start(i, i + 1)
            self._packed.refine(i, i + 1)
            return self._packed.out[i, newton_schemes.DISTANCE]

        return [partial(query, i) for i in range(len(pairs))]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Return convergence by the length of the last step."""
        return self._packed.out[:, newton_schemes.CONVERGED] > 0.0

    @property
    def iterations(self) -> FloatArray:
        """Return the iterations of Newton's method."""
        return self._packed.out[:, newton_schemes.ITERATIONS]


class Directions:
    """Wellmann's search over contact directions."""

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return compiled loops of length one."""
        rows = direction_search.pack([pair.a for pair in pairs]), direction_search.pack([pair.b for pair in pairs])
        poses = np.array([pair.pose_a for pair in pairs]), np.array([pair.pose_b for pair in pairs])
        self._out = np.full((len(pairs), direction_search.RESULT_LENGTH), np.nan)
        limits = direction_search.TOLERANCE, direction_search.MAX_ITERATIONS

        def query(i: int) -> float:
            direction_search.solve_rows(i, i + 1, *rows, *poses, *limits, self._out)
            return self._out[i, direction_search.DISTANCE]

        return [partial(query, i) for i in range(len(pairs))]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Return convergence to a common normal."""
        return self._out[:, direction_search.CONVERGED] > 0.0

    @property
    def iterations(self) -> FloatArray:
        """Return the iterations of both kinds of steps."""
        return self._out[:, direction_search.ITERATIONS]

    @property
    def exclusion_iterations(self) -> FloatArray:
        """Return the iterations before a contact was excluded; nan: never."""
        return self._out[:, direction_search.EXCLUDED]


class _Solver:
    """A solver of the optimisation problem, from the quadtree's guess."""

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return the solver's own calls, including the guess."""
        self._guesses = superovoid_battery.packed_pairs(pairs, {})
        self.converged, self.iterations = np.zeros(len(pairs), dtype=bool), np.zeros(len(pairs))

        def query(i: int, pair: peers.Pair) -> float:
            self._guesses.start(i, i + 1)
            value, self.converged[i], self.iterations[i] = self._solve(pair, self._guesses.unknowns[i].copy())
            return value

        return [partial(query, i, pair) for i, pair in enumerate(pairs)]

    def _solve(self, pair: peers.Pair, q: FloatArray) -> tuple[float, bool, float]:
        """Return distance, the solver's report of convergence, and iterations."""
        raise NotImplementedError


class TrustConstr(_Solver):
    """scipy's trust region method with a barrier for inequalities."""

    def _solve(self, pair: peers.Pair, q: FloatArray) -> tuple[float, bool, float]:
        rotations = pair.pose_a[:3, :3], pair.pose_b[:3, :3]
        jacobian = np.hstack([-rotations[0], rotations[1]])  # of Q - P
        offset = pair.pose_b[:3, 3] - pair.pose_a[:3, 3]
        rows = [superovoid_row(body) for body, _ in pair.bodies]

        def gap(x: FloatArray) -> FloatArray:
            return jacobian @ x + offset

        def values(x: FloatArray) -> FloatArray:
            return np.array(
                [superovoid_surface.implicit(row, tuple(p))[0] for row, p in zip(rows, x.reshape(2, 3), strict=True)]
            )

        def slopes(x: FloatArray) -> FloatArray:
            of_p, of_q = (
                superovoid_surface.implicit(row, tuple(p))[1] for row, p in zip(rows, x.reshape(2, 3), strict=True)
            )
            return np.array([(*of_p, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, *of_q)])

        def bends(x: FloatArray, weights: FloatArray) -> FloatArray:
            each = zip(rows, x.reshape(2, 3), strict=True)
            hessians = [np.array(superovoid_surface.gradient_and_hessian(row, tuple(p))[1]) for row, p in each]
            return block_diag(*(weight * hessian for weight, hessian in zip(weights, hessians, strict=True)))

        found = minimize(
            lambda x: gap(x) @ gap(x),
            q,
            jac=lambda x: 2.0 * jacobian.T @ gap(x),
            hess=lambda x: 2.0 * jacobian.T @ jacobian,
            method="trust-constr",
            constraints=NonlinearConstraint(values, -np.inf, 0.0, jac=slopes, hess=bends),
            options={
                "gtol": TRUST_TOLERANCE,
                "xtol": TRUST_TOLERANCE,
                "barrier_tol": TRUST_TOLERANCE,
                "maxiter": SOLVER_ITERATIONS,
            },
        )
        return float(np.linalg.norm(gap(found.x))), bool(found.success), found.nit


def superovoid_row(body: Any) -> FloatArray:
    """Return the row for the formulas of the schemes."""
    row = np.zeros(superovoid_surface.ROW_LENGTH)
    row[: superovoid_surface.SPECIFIC] = *body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper
    return row


class Ipopt(_Solver):
    """IPOPT through CasADi, which generates all derivatives; one problem, with bodies and poses as parameters.

    Raises
    ------
    ImportError
        If CasADi is not installed.
    """

    def __init__(self) -> None:
        import casadi

        x, bodies, poses = casadi.SX.sym("x", 6), casadi.SX.sym("b", 14), casadi.SX.sym("t", 24)
        points, values = [], []
        for side in range(2):
            local, body = x[3 * side : 3 * side + 3], bodies[7 * side : 7 * side + 7]
            pose = casadi.reshape(poses[12 * side : 12 * side + 12], 3, 4)
            points.append(pose[:, :3] @ local + pose[:, 3])
            w = local[2] / body[2]
            u, v = (casadi.fabs(local[k] / (body[k] * (1.0 + body[5 + k] * w))) for k in range(2))
            ring = u ** (2.0 / body[3]) + v ** (2.0 / body[3])
            values.append(ring ** (body[3] / body[4]) + casadi.fabs(w) ** (2.0 / body[4]) - 1.0)
        problem = {
            "x": x,
            "p": casadi.vertcat(bodies, poses),
            "f": casadi.sumsqr(points[1] - points[0]),
            "g": casadi.vertcat(*values),
        }
        ipopt = {"print_level": 0, "sb": "yes", "tol": IPOPT_TOLERANCE, "max_iter": SOLVER_ITERATIONS}
        quiet = {"print_time": False, "show_eval_warnings": False, "error_on_fail": False}
        self._solver = casadi.nlpsol("distance", "ipopt", problem, {"ipopt": ipopt, **quiet})

    def _solve(self, pair: peers.Pair, q: FloatArray) -> tuple[float, bool, float]:
        bodies = [
            (*body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper) for body, _ in pair.bodies
        ]
        poses = [pose[:3].ravel(order="F") for pose in (pair.pose_a, pair.pose_b)]
        found = self._solver(x0=q, p=np.concatenate([*bodies, *poses]), lbg=-math.inf, ubg=0.0)
        stats = self._solver.stats()
        return math.sqrt(float(found["f"])), bool(stats["success"]), float(stats["iter_count"])


class Engine:
    """Our own distance, in compiled loops."""

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return loops of length one."""
        self.converged, self.iterations = np.ones(len(pairs), dtype=bool), np.full(len(pairs), math.nan)
        return peers.OursCompiled().queries(pairs)


def ways(battery: str) -> tuple[dict[str, ReportedMethod], dict[str, str]]:
    """Return contenders by name, and reasons for missing ones."""
    found: dict[str, ReportedMethod] = {"quadImplicit": Scheme()}
    for gain in GAINS:
        found[f"quadImplicit, Baumgarte {gain:g}"] = Scheme(gain=gain, max_iterations=ITERATIONS_OF_PARTS)
    missing = {}
    if battery == "separated":
        try:
            found[INTERIOR[0]] = Ipopt()
        except ImportError as error:
            missing[INTERIOR[0]] = str(error)
        found[INTERIOR[1]] = TrustConstr()
    found["Wellmann"] = Directions()
    found["engine"] = Engine()
    return found, missing


def draw(bodies: str, battery: str, count: int, seed: int) -> tuple[list[peers.Pair], FloatArray, NDArray[np.bool_]]:
    """Draw pairs; return them, the engine's distances, and whether their proofs are close enough to judge."""
    if bodies == "superovoids":
        return superovoid_battery.draw(battery, count, seed)
    pairs: list[peers.Pair] = []
    truths, proved, part = [], [], 0
    while len(pairs) < count:
        for pair in superovoid_battery.draw(battery, count, seed + 1000 * part)[0]:
            a, b = (
                Superellipsoid(
                    body.semi_axes, section_exponent=body.section_exponent, profile_exponent=body.profile_exponent
                )
                for body in (pair.a, pair.b)
            )
            found = distance(a, pair.pose_a, b, pair.pose_b)
            if (found.distance > 0.0) == (battery == "separated") and len(pairs) < count:
                pairs.append(peers.Pair(a, b, pair.pose_a, pair.pose_b))
                truths.append(found.distance)
                proved.append(found.distance - found.lower <= PROVED)
        part += 1
    return pairs, np.array(truths), np.array(proved)


def run(count: int, rounds: int, seed: int, step: Callable[[str], None]) -> tuple[list[Row], list[str], dict[str, str]]:
    """Return the rows, lines about excluded contacts, and missing libraries."""
    rows, lines, missing = [], [], {}
    for bodies in BODIES:
        for battery in BATTERIES:
            step(f"{bodies}, {battery}")
            pairs, truths, proved = draw(bodies, battery, count, seed)
            made, absent = ways(battery)
            missing |= absent
            records = engine_comparison.measure(made, set(), [SimpleNamespace(pair=pair) for pair in pairs], rounds)
            for name, way in made.items():
                record = records[name]
                failed = next((error for error in record.errors if error), None)
                if failed:
                    raise RuntimeError(f"{name}: {failed}")
                errors = np.abs(record.answers - truths)
                converged = way.converged
                kept = converged & proved
                rows.append(
                    Row(
                        bodies,
                        battery,
                        name,
                        len(pairs),
                        float(np.median(record.microseconds)),
                        float(np.quantile(record.microseconds, 0.99)),
                        float(np.mean(way.iterations[converged])) if converged.any() else math.nan,
                        int(proved.sum()),
                        int((proved & ~converged).sum()),
                        int((kept & ~(errors <= WRONG)).sum()),
                        float(np.median(errors[kept])) if kept.any() else math.nan,
                    )
                )
            if battery == "separated":
                excluded = made["Wellmann"].exclusion_iterations
                ruled = np.isfinite(excluded)
                lines.append(
                    f"{bodies}: Wellmann rules a contact out in {ruled.sum()} of {len(pairs)} pairs, in the mean after "
                    f"{excluded[ruled].mean():.2f} iterations"
                )
    return rows, lines, missing


def table(rows: Sequence[Row]) -> Table:
    """Return the table of all rows."""
    made = Table(title=f"{rows[0].pairs} pairs of each kind; first guess included", title_justify="left")
    words = "bodies", "battery", "contender"
    for name in (*words, "median_us", "p99_us", "iterations", "not_converged", "wrong", "error_median"):
        made.add_column(Row.heading(name), justify="left" if name in words else "right", no_wrap=True)
    for row in rows:
        shares = [f"{100.0 * value / row.judged:.1f} %" for value in (row.not_converged, row.wrong)]
        figures = [f"{row.median_us:,.1f}", f"{row.p99_us:,.1f}"]
        figures.append("–" if math.isnan(row.iterations) else f"{row.iterations:.1f}")
        judged = ["–", "–", "reference"] if row.contender == "engine" else [*shares, f"{row.error_median:.1e}"]
        made.add_row(row.bodies, row.battery, row.contender, *figures, *judged)
    return made


def plot(rows: Sequence[Row]) -> Figure:
    """Draw failures against time."""
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    names = list(dict.fromkeys(row.contender for row in rows))
    for line, bodies in zip(panels, BODIES, strict=True):
        for panel, battery in zip(line, BATTERIES, strict=True):
            for row in rows:
                if (row.bodies, row.battery) == (bodies, battery):
                    failed = 0.0 if row.contender == "engine" else (row.not_converged + row.wrong) / row.judged
                    mark = "*" if row.contender == "engine" else "o"
                    k = names.index(row.contender)
                    panel.plot(row.median_us, 100.0 * failed, mark, color=CYCLE[k], markersize=9, label=row.contender)
            panel.set_title(f"{bodies}, {battery}", fontsize="medium")
            panel.set_xscale("log")
            panel.grid(alpha=0.3)
    for panel in panels[1]:
        panel.set_xlabel("median µs a query")
    for panel in panels[:, 0]:
        panel.set_ylabel("% not converged or wrong")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure


def main(pairs: int, rounds: int, seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and plot in a folder."""
    console = REPORT.console()
    folder = output_folder(output)
    with progress() as bar:
        task = bar.add_task("suggestions", total=None)
        rows, lines, missing = run(pairs, rounds, seed, lambda text: bar.update(task, description=text))
    print_table(console, table(rows))
    about = f"superovoid experiment suggestions --pairs {pairs} --rounds {rounds} --seed {seed}", machine(PACKAGES)
    plots = {"suggestions": partial(plot, rows)}
    return leave(console, folder, {"suggestions": rows}, plots, about, (*lines, *explain_missing(missing)))

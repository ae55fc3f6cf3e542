# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit the links of the iCub's hand: reads ``config/icub_hand.yaml``, writes ``config/icub_hand_fits.yaml``.

Each link of the right hand is built from its spheres, cylinders and boxes; a superellipsoid and a convex superovoid are
fitted to its convex hull. The left hand is the mirror image of the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from superovoid.fitting.fit import Fit, fit_superellipsoid, fit_superovoid
from superovoid.fitting.hulls import hull_points
from superovoid.fitting.robot_files import roll_pitch_yaw
from superovoid_ros.icub.hand_models import FIGURES, FITS
from superovoid_ros.resources import read_yaml

_USUAL = {"samples": 2000, "volume_weight": 0.05}
_FITS = {"superellipsoid": fit_superellipsoid, "superovoid": fit_superovoid}
_HEADER = f"""\
# Written by superovoid_ros.icub.hand_fits from {FIGURES}; not edited by hand.
#
# Right hand. size: semi-axes, m; epsilon: e1, e2; taper: Tx, Ty; xyz (m) and rpy (rad): pose of the body in the link
# frame. residuals: distances of 4000 points of the link's hull to the body, mm, and the ratio of the volumes.

"""


def fit_link(
    parts: list[Mapping],
    options: Mapping[str, Mapping] | None = None,
    kinds: Sequence[str] = ("superellipsoid", "superovoid"),
) -> dict[str, Fit]:
    """Fit a superellipsoid and a superovoid to the hull of a link.

    Parameters
    ----------
    parts : list of mapping
        The link's parts (see `superovoid.fitting.hulls.hull_points`).
    options : mapping, optional
        For each kind, keyword arguments of its fit that override the defaults.
    kinds : sequence of str
        Kinds to fit, in order. The superovoid starts from the fitted superellipsoid, among others, so it cannot be
        worse.

    Returns
    -------
    dict of str to Fit
        Fit of each kind.
    """
    points = hull_points(parts)
    fits: dict[str, Fit] = {}
    for kind in kinds:
        start = [(fit.shape, fit.pose) for fit in fits.values()]
        fits[kind] = _FITS[kind](points, initial=start, **{**_USUAL, **(options or {}).get(kind, {})})
    return fits


def fit_hands(config: Path, report: Callable[[str], None] | None = None) -> Path:
    """Fit all links and write the file of fits.

    Parameters
    ----------
    config : Path
        Folder of ``icub_hand.yaml``.
    report : callable, optional
        Called with one line of text for each body, such as ``print``.

    Returns
    -------
    Path
        The written file.
    """
    figures = read_yaml(config / FIGURES)
    lines = [_HEADER + "links:"]
    for finger in figures["fingers"].values():
        for link in finger["links"]:
            lines.append(f"  {link['name']}:")
            for kind, fit in fit_link(link["parts"], link.get("fit")).items():
                lines += [f"    {kind}:", *(f"      {line}" for line in _fit_lines(fit))]
                if report:
                    report(_summary(link["name"], kind, fit))
    path = config / FITS
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _fit_lines(fit: Fit) -> list[str]:
    residuals = ", ".join(
        f"{name}: {value:.4f}" if name == "volume_ratio" else f"{name}: {1e3 * value:.4f}"
        for name, value in asdict(fit.report).items()
        if name != "samples"
    )
    return [
        f"size: {_numbers(fit.shape.semi_axes, 8)}",
        f"epsilon: {_numbers((fit.shape.section_exponent, fit.shape.profile_exponent), 6)}",
        f"taper: {_numbers(fit.shape.taper, 6)}",
        f"xyz: {_numbers(fit.pose[:3, 3], 8)}",
        f"rpy: {_numbers(roll_pitch_yaw(fit.pose[:3, :3]), 8)}",
        f"residuals: {{{residuals}}}",
    ]


def _numbers(values: np.ndarray, digits: int) -> str:
    return "[" + ", ".join(f"{value + 0.0:.{digits}f}" for value in np.round(values, digits)) + "]"


def _summary(link: str, kind: str, fit: Fit) -> str:
    report = fit.report
    return (
        f"{link:10s} {kind:14s} mean {1e3 * report.mean:.3f} mm  max {1e3 * report.maximum:.3f} mm  "
        f"volume {100.0 * (report.volume_ratio - 1.0):+.2f} %"
    )

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cover fitted bodies by spheres, for planners that know no other bodies.

Cubes cover a body, small ones at its surface. A sphere contains a cube if the farthest corner lies in it. No point of a
sphere is farther from a convex body than its centre's signed distance plus its radius. So the largest allowed sphere
about a point is known, and spheres that contain all cubes contain the body. The sphere with the most cubes that no
other contains is chosen next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.proofs import point_distances
from superovoid.fitting.robot_fits import RobotFit, exported_bodies
from superovoid.fitting.xml_edits import Edits, element
from superovoid.shapes import Shape

FloatArray = NDArray[np.float64]

_TIMES = 3.0  # overshoot, relative to the tolerance of the link: the limit of a coarse link
_OWN = 0.45  # largest circumradius of a cube, relative to the largest allowed sphere about its centre
_MOST_CUBES = 60_000  # for a body
_CENTRES = 400  # centres of cubes that are tried first
_ROUNDED = 1e-9  # rounding errors, relative to the size
_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def spheres_around(shape: Shape, atol: float) -> tuple[FloatArray, float]:
    """Return spheres that contain a convex body.

    Parameters
    ----------
    shape : Shape
        A convex body.
    atol : float
        Largest distance of points of the spheres from the body, m. It is doubled until 60,000 cubes suffice.

    Returns
    -------
    spheres : (n, 4) ndarray
        Centre and radius, in the frame of the body.
    overshoot : float
        Proved bound of the distance of points of the spheres from the body, m.
    """
    while (cubes := _cubes_of(shape, atol)) is None:
        atol *= 2.0
    centres, sides, allowed = cubes
    found: list[FloatArray] = []
    is_open = np.ones(len(centres), dtype=bool)
    while is_open.any():
        # In the second round each cube that is left has its own sphere, if no other contains it.
        tried = np.flatnonzero(is_open)
        tried = tried[np.unique(np.linspace(0, len(tried) - 1, min(_CENTRES, len(tried))).astype(int))]
        inside = np.empty((len(tried), len(centres)), dtype=bool)
        for row, number in enumerate(tried):
            apart = np.abs(centres - centres[number]) + 0.5 * sides[:, None]
            inside[row] = np.einsum("ij,ij->i", apart, apart) <= allowed[number] ** 2
        counts = (inside & is_open).sum(axis=1)
        while (best := int(np.argmax(counts))) >= 0 and counts[best]:
            found.append(np.append(centres[tried[best]], allowed[tried[best]] * (1.0 + _ROUNDED)))
            added = inside[best] & is_open
            is_open &= ~added
            counts -= inside[:, added].sum(axis=1)
    return np.array(found), atol


def _cubes_of(shape: Shape, atol: float) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return centres, sides and radii of the largest allowed spheres of cubes that cover a body; None if too many."""
    low, high = map(np.asarray, shape.aabb())
    rounding = 4.0 * _ROUNDED * float(np.abs([low, high]).max() + atol)
    cubes, side = np.array([0.5 * (low + high)]), float((high - low).max())
    parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    count = 0
    while len(cubes):
        reach = 0.5 * math.sqrt(3.0) * side * (1.0 + _ROUNDED)
        near, far = point_distances(shape, np.eye(4), cubes)
        meets = near <= reach
        cubes, allowed = cubes[meets], atol - rounding - far[meets]
        is_done = reach <= _OWN * allowed
        count += int(is_done.sum())
        if count + int((~is_done).sum()) > _MOST_CUBES:
            return None
        parts.append((cubes[is_done], np.full(int(is_done.sum()), side), allowed[is_done]))
        side *= 0.5
        cubes = (cubes[~is_done][:, None, :] + side * _CORNERS).reshape(-1, 3)
    centres, sides, radii = zip(*parts, strict=True)
    return np.concatenate(centres), np.concatenate(sides), np.concatenate(radii)


def write_spheres(fit: RobotFit, folder: Path, name: str) -> list[Path]:
    """Write spheres that contain the bodies of a fitted robot, in the formats of two families of planners.

    The spheres of a body protrude from it by at most three times the tolerance of its link (more for a tolerance so
    small that 60,000 cubes do not suffice).

    Parameters
    ----------
    fit : RobotFit
    folder : Path
    name : str
        Name of the robot's files.

    Returns
    -------
    list of Path
        ``name_spheres.yml`` with ``collision_spheres`` (cuRobo), and ``name_spheres.urdf``, whose collision elements
        are the spheres (foam, VAMP).
    """
    spheres: dict[str, list[FloatArray]] = {}
    most = 0.0
    for body, shape, atol in exported_bodies(fit, _TIMES):
        made, overshoot = spheres_around(shape, atol)
        most = max(most, overshoot)
        made[:, :3] = made[:, :3] @ body.link_from_body[:3, :3].T + body.link_from_body[:3, 3]
        spheres.setdefault(body.link, []).extend(made)
    paths = [folder / f"{name}_spheres.yml", folder / f"{name}_spheres.urdf"]
    for path, text in zip(paths, (_yaml(spheres, most), _urdf(fit.source, spheres)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def _yaml(spheres: Mapping[str, Sequence[FloatArray]], overshoot: float) -> str:
    lines = [f"# The spheres contain the bodies and protrude at most {overshoot!r} m from them.", "collision_spheres:"]
    for link, rows in spheres.items():
        lines.append(f'  "{link}":')
        for x, y, z, radius in np.array(rows).tolist():
            lines += [f"    - center: [{x!r}, {y!r}, {z!r}]", f"      radius: {radius!r}"]
    return "\n".join(lines) + "\n"


def _urdf(text: str, spheres: Mapping[str, Sequence[FloatArray]]) -> str:
    edits = Edits(text)
    for link in edits.root.children:
        rows = spheres.get(link.attributes.get("name", ""), ()) if link.tag == "link" else ()
        if len(rows):
            edits.remove([each for each in link.children if each.tag in ("collision", "contact_geometry")])
            edits.append(link, [_collision(row) for row in rows])
    return edits.text()


def _collision(row: FloatArray) -> str:
    *centre, radius = map(repr, row.tolist())
    origin = element("origin", {"xyz": " ".join(centre), "rpy": "0 0 0"})
    return element("collision", {}, [origin, element("geometry", {}, [element("sphere", {"radius": radius})])])

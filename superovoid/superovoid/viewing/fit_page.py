# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a fit or a check: the robot with its bodies, figures of each link, and its errors as colours."""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superovoid.fitting.painted_links import PROTRUDING, UNCOVERED, PaintedLink, paint_link
from superovoid.fitting.report_page import legend, targets_of
from superovoid.fitting.robot_checks import RobotCheck
from superovoid.fitting.robot_fits import LinkFit, RobotFit
from superovoid.fitting.stand_ins import robot_with, with_rules
from superovoid.fitting.targets import Target
from superovoid.robot.appearance import read_looks
from superovoid.robot.files import PackageFolders, read_document
from superovoid.viewing.page import small_text
from superovoid.viewing.picture import extent_of
from superovoid.viewing.robot_model import RobotModel
from superovoid.viewing.robot_page import ALL, RobotPage
from superovoid.viewing.serving import LOOPBACK, Viewer, open_server

if TYPE_CHECKING:
    import viser

_STYLE = (
    "<style>.fit table {border-collapse: collapse; font-variant-numeric: tabular-nums} .fit th, .fit td {padding: 0 "
    ".4em; text-align: right; border-bottom: 1px solid #ddd} .fit th:first-child, .fit td:first-child {text-align: "
    "left; overflow-wrap: anywhere} .fit .scale {display: grid; grid-template-columns: 7em repeat(6, 1fr)} .fit .cell "
    "{text-align: center}</style>"
)


def show(
    found: RobotFit | RobotCheck,
    *,
    package_directories: Mapping[str, str | Path] | None = None,
    srdf: str | os.PathLike[str] | None = None,
    near: float | None = None,
    host: str = LOOPBACK,
    port: int = 0,
) -> Viewer:
    """Serve a page that shows the robot with its fitted bodies, and their report.

    Parameters
    ----------
    found : RobotFit or RobotCheck
    package_directories : mapping of str to path, optional
        Package folders, in addition to those used for the fit: the pictures need the meshes again.
    srdf : str or path, optional
        SRDF whose disabled pairs are not checked: a path, an address or the document.
    near : float, optional
        Initially show pairs within this distance, m; default: about 1/50 of the robot's extent.
    host, port
        As for `open_server`.

    Raises
    ------
    RobotDescriptionError
        If the SRDF cannot be used.
    ValueError
        If `near` is negative or not finite.
    ServingError
        If the page cannot be served, as for `open_server`.
    """
    packages = PackageFolders({**found.package_directories, **(package_directories or {})})
    bodies = {link.link: [(body.shape, body.pose) for body in link.bodies] for link in found.links if link.bodies}
    rules = None if srdf is None else read_document("SRDF", srdf, packages)[0]
    model = RobotModel(with_rules(robot_with(found.source, bodies), rules), near)
    server = open_server(model.title, host, port)
    try:
        return FitPage(server, model, found, packages).viewer
    except BaseException:
        server.stop()
        raise


class FitPage(RobotPage):
    """Controls and picture of a robot, with the report of its bodies."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: RobotModel,
        found: RobotFit | RobotCheck,
        packages: Mapping[str, Path],
    ) -> None:
        self._found, self._packages = found, packages
        self._measured = {link.link: link for link in found.links if link.quality is not None}
        self._targets: dict[str, Target] | None = None
        self._painting = threading.Lock()
        self._painted: list[Any] = []  # nodes of the chosen link
        text = found.against if isinstance(found, RobotCheck) else found.source
        super().__init__(server, model, partial(read_looks, text, package_directories=packages))

    def _make_more(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Fit" if isinstance(self._found, RobotFit) else "Check"):
            self._chosen = gui.add_dropdown(
                "figures of", (ALL, *self._measured), hint="The camera goes to the link, and colours show its errors"
            )
            self._figures = gui.add_html(self._table())
            self._colours = gui.add_html("")
        self._chosen.on_update(self._choose)
        super()._make_more()

    def _table(self) -> str:
        """Return a table of all links with their measured and proved figures."""
        rows = [
            f"<tr><td>{html.escape(name)}</td><td>{len(link.bodies)}</td>{_cells(link)}</tr>"
            for name, link in self._measured.items()
        ]
        names = ("link", "bodies", "verdict", "IoU", "mean", "uncovered ✓", "protruding ✓")
        head = "".join(f"<th>{name}</th>" for name in names)
        words = "Lengths in mm. ✓ proved to lie in the interval. The rest is measured on samples."
        others = [
            f"{link.link}: {link.state}{': ' if link.words else ''}{'; '.join(link.words)}"
            for link in self._found.links
            if link.link not in self._measured and (link.words or link.state not in ("empty", "primitives", "own"))
        ]
        table = f"<table><tr>{head}</tr>{''.join(rows)}</table>" if rows else "No link has measured bodies."
        return _frame(table + small_text(words) + "".join(map(small_text, others)))

    def _choose(self, event: Any) -> None:
        name = self._chosen.value
        link = self._measured.get(name)
        self._figures.content = self._table() if link is None else _frame(_words(link))
        self._colours.content = "" if link is None else small_text("measuring the errors")
        if link is not None:
            self._look_at(event, link)
        with self._painting:
            if self._chosen.value != name:  # the user has chosen another link in the meantime
                return
            self._clear()
            if link is None:
                return
            try:
                self._colours.content = self._show_errors(link)
            except Exception as error:
                self._colours.content = small_text(f"no colours: {type(error).__name__}: {error}")
                raise

    def _look_at(self, event: Any, link: LinkFit) -> None:
        if event.client is None:
            return
        with self._lock:
            pose = self.model.answer().root_from_link[link.link]
        lows, highs = [], []
        for body in link.bodies:
            placed = pose @ body.pose
            low, high = body.shape.aabb(placed[:3, :3])
            lows.append(placed[:3, 3] + low)
            highs.append(placed[:3, 3] + high)
        box = np.min(lows, axis=0), np.max(highs, axis=0)
        self._fly(event.client, 0.5 * (box[0] + box[1]), 2.0 * extent_of(box))

    def _clear(self) -> None:
        """Show the bodies of all links, without the errors of one."""
        while self._painted:
            self._painted.pop().remove()
        self._show_layer("left_out", "")

    def _show_errors(self, link: LinkFit) -> str:
        """Show a link and its bodies in the colours of their errors; return the scale, or why there are no colours."""
        if self._targets is None:
            try:
                self._targets = targets_of(self._found, self._packages)
            except (OSError, ValueError) as error:
                return small_text(f"no colours: {error}")
        target = self._targets.get(link.link)
        if target is None:
            return small_text("no colours: cannot read the meshes of this link; package_directories sets their folders")
        painted = paint_link([(body.shape, body.pose) for body in link.bodies], target)
        self._paint(link.link, painted)
        self._show_layer("left_out", link.link)
        words = (
            "Blue: the link protrudes from its bodies. Orange: the bodies protrude from the link. U and P mark the "
            "farthest points. Lengths are in mm."
        )
        return _frame(legend(painted.scale)) + small_text(words)

    def _paint(self, link: str, painted: PaintedLink) -> None:
        scene, frame = self.server.scene, self._canvas.frame_of(link)
        with self.server.atomic():
            for letter, surface, colours in (("U", painted.mesh, UNCOVERED), ("P", painted.bodies, PROTRUDING)):
                away = surface.away[surface.faces].mean(axis=1)
                levels = (len(colours) * away / painted.scale).astype(int).clip(max=len(colours) - 1)
                for level, colour in enumerate(colours):
                    faces = surface.faces[levels == level]
                    if len(faces):
                        self._painted.append(
                            scene.add_mesh_simple(
                                f"{frame}/errors_{letter}_{level}", surface.vertices, faces, color=colour,
                                flat_shading=True, side="double", cast_shadow=False, receive_shadow=False,
                            )
                        )  # fmt: skip
                row = surface.worst_vertex
                if surface.away[row] > 0.0:
                    text = f"{letter} {1e3 * surface.away[row]:.2f}"
                    self._painted.append(
                        scene.add_label(f"{frame}/errors_{letter}", text, position=surface.vertices[row])
                    )


def _cells(link: LinkFit) -> str:
    quality = link.quality
    assert quality is not None
    values = [
        "–" if link.clearance is None else link.clearance.verdict,
        f"{quality.iou:.3f}",
        f"{1e3 * quality.mean:.2f}",
    ]
    values += ["–" if each is None else each.millimetres() for each in (link.uncovered, link.protruding)]
    return "".join(f"<td>{value}</td>" for value in values)


def _words(link: LinkFit) -> str:
    quality = link.quality
    assert quality is not None
    rows = [
        ("bodies", str(len(link.bodies))),
        ("IoU", f"{quality.iou:.4f} ± {quality.iou_error:.4f}"),
        ("coverage of the volume", f"{quality.coverage:.3f}"),
        ("bodies' volume outside", f"{quality.protrusion:.3f}"),
        ("two-sided mean, mm", f"{1e3 * quality.mean:.2f}"),
    ]
    if (found := link.clearance) is not None:
        rows.insert(0, ("verdict", found.verdict))
        for name in ("tolerance", "error", "target_error"):
            rows.append((f"{name.replace('_', ' ')}, mm", f"{1e3 * getattr(found, name):.2f}"))
    for name, interval in (("uncovered", link.uncovered), ("protruding", link.protruding)):
        if interval is not None:
            rows.append((f"{name}, mm ✓", interval.millimetres()))
    rows.append(("link inside a body ✓", "yes" if link.contained else "not proved"))
    table = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows)
    return f"<table>{table}</table>" + small_text("; ".join(link.words))


def _frame(text: str) -> str:
    return f'{_STYLE}<div class="fit" style="font-size: 0.8em; margin: 0.3em 1em; overflow-x: auto">{text}</div>'

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of two superovoids: sliders for their parameters, handles to move them, and the engine's results."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from superovoid.shapes import Superovoid
from superovoid.viewing.canvas import pose_of, wxyz_of
from superovoid.viewing.meanings import COLOURS, WORDS, Meaning
from superovoid.viewing.page import add_grid
from superovoid.viewing.pair_model import PARAMETERS, SPANS, PairModel, PairPicture, hull_of, values_of
from superovoid.viewing.segments import Segments
from superovoid.viewing.serving import LOOPBACK, Refresher, Viewer, open_server

if TYPE_CHECKING:
    import viser

_RESOLUTION = 64
_POINT, _NORMAL, _THICKNESS = 0.003, 0.015, 8e-4  # m
_BLACK, _GREEN, _HULL = (20, 20, 20), (0, 158, 115), (110, 110, 110)
_TEXTS = {"a": "semi-axis (mm)", "e": "exponent", "T": "taper"}


def show_pair(model: PairModel | None = None, *, host: str = LOOPBACK, port: int = 0) -> Viewer:
    """Serve a page with two superovoids; see `superovoid.viewing.robot_page.show_robot`."""
    server = open_server("two superovoids", host, port)
    try:
        return PairPage(server, PairModel() if model is None else model).viewer
    except BaseException:
        server.stop()
        raise


class PairPage:
    """Controls and picture of two superovoids. The model is accessed under the lock."""

    def __init__(self, server: viser.ViserServer, model: PairModel) -> None:
        self.server, self.model = server, model
        self._lock = threading.Lock()
        self._shapes: list[Superovoid | None] = [None, None]
        self._bodies: list[Any] = [None, None]
        self._hulls: list[Any] = [None, None]
        add_grid(server, 0.01, 4, -0.06)
        camera = server.initial_camera
        camera.position, camera.look_at = (0.12, -0.2, 0.1), (0.05, 0.0, 0.0)
        camera.near, camera.far = 1e-3, 10.0
        self._make_controls()
        self._points = server.scene.add_point_cloud(
            "/points", np.zeros((2, 3)), _BLACK, point_size=_POINT, point_shape="circle", precision="float32",
            point_shading="flat", visible=False,
        )  # fmt: skip
        self._segment = Segments(server, "/segment", 1, _BLACK, _THICKNESS)
        self._normals = Segments(server, "/normals", 2, _GREEN, _THICKNESS)
        self.viewer = Viewer(server, Refresher(self._refresh, self._show_error), "two superovoids")
        self.viewer.refresher.ask()

    def _make_controls(self) -> None:
        gui = self.server.gui
        self._text = gui.add_html("no result yet")
        self._trouble = gui.add_html("")
        self._hulls_shown = gui.add_checkbox("hulls of non-convex bodies", True)
        self._hulls_shown.on_update(lambda _: self.viewer.refresher.ask())
        self.sliders: list[list[Any]] = []
        for side, name in enumerate("AB"):
            with gui.add_folder(f"body {name}"):
                self.sliders.append([self._slider(side, number) for number in range(len(PARAMETERS))])
            gizmo = self.server.scene.add_transform_controls(
                f"/handle_{name}", scale=0.05, depth_test=False, wxyz=wxyz_of(self.model.poses[side]),
                position=self.model.poses[side][:3, 3],
            )  # fmt: skip
            gizmo.on_update(lambda event, side=side: self._change(
                lambda: self.model.set_pose(side, pose_of(event.target.wxyz, event.target.position))
            ))  # fmt: skip

    def _slider(self, side: int, number: int) -> Any:
        name, (low, high) = PARAMETERS[number], SPANS[number]
        factor = 1e3 if name.startswith("a") else 1.0
        value = factor * values_of(self.model.shapes[side])[number]
        slider = self.server.gui.add_slider(
            f"{'AB'[side]}: {name}, {_TEXTS[name[0]]}",
            factor * low,
            factor * high,
            factor * (high - low) / 190.0,
            value,
        )
        slider.on_update(lambda event: self._change(
            lambda: self.model.set_parameter(side, number, event.target.value / factor)
        ))  # fmt: skip
        return slider

    def _change(self, change: Callable[[], None]) -> None:
        try:
            with self._lock:
                change()
        except ValueError as error:
            self._trouble.content = html.escape(str(error))
            return
        self._trouble.content = ""
        self.viewer.refresher.ask()

    def _refresh(self) -> None:
        with self._lock:
            picture = self.model.answer()
        with self.server.atomic():
            self._draw_bodies(picture, picture.meaning)
            result = picture.result
            a, b, n = result.point_a, result.point_b, _NORMAL * result.normal
            seen = bool(np.isfinite([a, b, n]).all())
            for node in (self._points, self._segment, self._normals):
                node.visible = seen
            if seen:
                self._points.points = np.array([a, b])
                self._segment.put(np.array([[a, b]]))
                self._normals.put(np.array([[a, a + n], [b, b - n]]))
        self._text.content = text_of(picture)

    def _show_error(self, error: Exception) -> None:
        for node in (self._points, self._segment, self._normals):
            node.visible = False
        for body in filter(None, self._bodies):
            body.color = COLOURS[Meaning.UNKNOWN]
        self._text.content = f"<b>unknown: {html.escape(f'{type(error).__name__}: {error}')}</b>"

    def _draw_bodies(self, picture: PairPicture, meaning: Meaning) -> None:
        scene = self.server.scene
        for side, one in enumerate(picture.sides):
            if self._shapes[side] != one.shape:
                # viser replaces a mesh added under the same name.
                self._bodies[side] = scene.add_mesh_simple(
                    f"/body_{side}",
                    *one.shape.triangles(_RESOLUTION),
                    opacity=0.7,
                    cast_shadow=False,
                    receive_shadow=False,
                )
                if self._hulls[side] is not None:
                    self._hulls[side].remove()
                    self._hulls[side] = None
                if one.concavity > 0.0:
                    self._hulls[side] = scene.add_mesh_simple(
                        f"/hull_{side}", *hull_of(one.shape), wireframe=True, color=_HULL, opacity=0.25
                    )
                self._shapes[side] = one.shape
            for node in filter(None, (self._bodies[side], self._hulls[side])):
                node.wxyz, node.position = wxyz_of(one.world_from_body), one.world_from_body[:3, 3]
            self._bodies[side].color = COLOURS[meaning]
            if self._hulls[side] is not None:
                self._hulls[side].visible = self._hulls_shown.value


def text_of(picture: PairPicture) -> str:
    """Return all results as an HTML table."""
    colour = "rgb({}, {}, {})".format(*COLOURS[picture.meaning])
    rows = "".join(
        f'<tr><td style="padding-right: 0.8em; vertical-align: top">{html.escape(name)}</td>'
        f"<td>{html.escape(value)}</td></tr>"
        for name, value in picture.rows
    )
    return (
        f'<div style="border-left: 0.5em solid {colour}; padding: 0.2em 0.6em; margin: 0.4em 0.6em">'
        f'<b>{WORDS[picture.meaning]}</b><table style="font-size: 0.75em; line-height: 1.25">{rows}</table></div>'
    )

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Common parts of the pages of robots and scenes: picture, clearance, list of pairs, layers, camera flights."""

from __future__ import annotations

import html
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from superovoid.viewing.canvas import Canvas, Layers
from superovoid.viewing.meanings import COLOURS, WORDS, Meaning
from superovoid.viewing.picture import DrawnPair, Picture, extent_of, round_length
from superovoid.viewing.segments import add_level_lines
from superovoid.viewing.serving import Refresher, Viewer

if TYPE_CHECKING:
    import viser

FloatArray = NDArray[np.float64]

LISTED = 6
"""Number of pairs in the list of the closest."""
WORDS_PERIOD = 0.1
"""Minimum time between updates of changing numbers, s: text is slower to update than the picture, and changes too fast
to read. A new meaning is written at once, and the last numbers are always written."""
_CELLS, _SECTIONS = (225, 225, 225), (185, 185, 185)
_FIELD_OF_VIEW = math.radians(45.0)  # vertical
_FROM = np.array([0.63, -0.63, 0.454])  # unit vector from what is shown to the initial camera
_FLIGHT = 12, 0.025  # steps of a camera flight, and time between them, s


class PageModel(Protocol):
    """What a page shows, for example a `RobotModel` or a `SceneModel`."""

    near: float

    @property
    def title(self) -> str:
        """Name of the model."""
        ...

    def set_near(self, near: float) -> None:
        """Show pairs within this distance, m."""

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return two corners of a box around the model, m."""
        ...

    def blank_picture(self, reason: str = ...) -> Picture:
        """Return a picture without an answer."""
        ...

    def answer(self) -> Picture:
        """Return the current picture."""
        ...


class Page:
    """Picture and controls of a model. Callbacks come from any thread; the model is accessed under the lock."""

    def __init__(self, server: viser.ViserServer, model: PageModel, notes: Sequence[str] = ()) -> None:
        self.server, self.model, self._notes = server, model, notes
        self._lock, self._drawing = threading.Lock(), threading.Lock()
        self._layers = Layers()
        box = model.box()
        extent = self._extent = extent_of(box)
        self._canvas = Canvas(server, extent)
        self._listed: tuple[DrawnPair, ...] = ()
        self._frames: list[float] = []
        self._written_at = -math.inf  # time of the last text update
        self._written_meanings: tuple[object, ...] = ()  # meanings in that text
        look_at(server.initial_camera, box)
        add_ground(server, box)
        self._make_controls()
        self._draw(model.blank_picture())
        self.viewer = Viewer(server, Refresher(self._refresh, self._show_error), model.title)
        self.viewer.refresher.ask()

    # -- drawing --------------------------------------------------------------------------------------------------

    def _refresh(self) -> float:
        begin = time.perf_counter()
        with self._lock:
            picture = self.model.answer()
        asked = time.perf_counter() - begin
        held = self._draw(picture, patient=True)
        now = time.perf_counter()
        self._frames = [*[then for then in self._frames if now - then < 2.0], now]
        rate = (len(self._frames) - 1) / (now - self._frames[0]) if len(self._frames) > 2 else 0.0
        words = f"distances in {1e3 * asked:.1f} ms, page in {1e3 * (now - begin - asked):.1f} ms"
        if not held:
            self._speed.content = small_text(words + (f"; {rate:.0f} states/s" if rate else ""))
        return held

    def _show_error(self, error: Exception) -> None:
        with self._lock:
            picture = self.model.blank_picture(f"{type(error).__name__}: {error}")
        self._draw(picture)

    def _draw(self, picture: Picture, *, patient: bool = False) -> float:
        """Show a picture; return the seconds until its text is due, or 0. The text is delayed only if `patient`."""
        meanings = picture.clearance.meaning, picture.least.meaning, picture.clearance.missing
        due = self._written_at + WORDS_PERIOD - time.monotonic()
        held = due if patient and due > 0.0 and meanings == self._written_meanings else 0.0
        if not held:
            # Write the text before drawing bodies, so that it is current even if a body cannot be drawn.
            self._written_at, self._written_meanings = time.monotonic(), meanings
            with self.server.atomic():
                self._write(picture)
        with self._drawing:
            self._canvas.draw(picture.root_from_link, picture.bodies, picture.pairs, self._layers)
        return held

    def _write(self, picture: Picture) -> None:
        """Write the texts of a picture."""
        self._headline.content = headline(picture)
        self._list(picture)

    def _list(self, picture: Picture) -> None:
        self._listed = picture.pairs[:LISTED]
        for row, (button, line) in enumerate(zip(self._rows, self._lines, strict=True)):
            button.visible = line.visible = row < len(self._listed)
            if button.visible:
                pair = self._listed[row]
                button.label, button.color = f"{row + 1}: {pair.title}", COLOURS[pair.meaning]
                line.content = small_text(pair.state)
        more = picture.pairs_near - len(self._listed)
        words = f"and {more} more" if more > 0 else ""
        if not self._listed:
            words = "no pair to show"
        self._more.content = small_text(words)

    # -- controls -------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        gui = self.server.gui
        self._headline = gui.add_html("")
        self._trouble = gui.add_html("")
        self._make_list()
        self._make_more()
        with gui.add_folder("Show", expand_by_default=False):
            self._make_layers()
        self._speed = gui.add_html("")
        if self._notes:
            with gui.add_folder("Notes", expand_by_default=False):
                gui.add_html(small_text("<br>".join(map(html.escape, self._notes)), escaped=True))

    def _make_list(self) -> None:
        gui = self.server.gui
        self._rows: list[Any] = []
        self._lines: list[Any] = []  # details below each button, because viser's buttons have no hints
        near = gui.add_slider(
            "near (mm)", 0.0, max(1e3 * round_length(0.5 * self._extent), 2e3 * self.model.near),
            round_length(self._extent), 1e3 * self.model.near, hint="Pairs within this distance are near, and shown",
        )  # fmt: skip
        self._on_value(near, lambda value: self.model.set_near(1e-3 * value), scene=True)
        with gui.add_folder("Closest pairs"):
            for row in range(LISTED):
                button = gui.add_button("", visible=False)
                button.on_click(lambda event, row=row: self._fly_to(event, row))
                self._rows.append(button)
                self._lines.append(gui.add_html("", visible=False))
            self._more = gui.add_html("")

    def _make_more(self) -> None:
        """Add controls below the list; subclasses override this."""

    def _make_layers(self) -> None:
        for name in ("bodies", "segments", "normals", "labels"):
            self._add_layer(name, name)
        opacity = self.server.gui.add_slider("opacity of bodies", 0.1, 1.0, 0.05, self._layers.opacity)
        opacity.on_update(lambda _: self._show_layer("opacity", opacity.value))

    def _add_layer(self, name: str, text: str) -> None:
        box = self.server.gui.add_checkbox(text, getattr(self._layers, name))
        box.on_update(lambda event: self._show_layer(name, event.target.value))

    def _show_layer(self, name: str, value: bool | float) -> None:
        setattr(self._layers, name, value)
        self.viewer.refresher.ask()

    def _on_value(self, control: Any, take: Callable[[Any], None], *, scene: bool = False) -> None:
        control.on_update(lambda event: self._change(lambda: take(event.target.value), scene=scene))

    def _scene_changed(self) -> None:
        """React to a change of the scene or the query, other than the robot's motion; subclasses override this."""

    def _change(self, change: Callable[[], None], *, scene: bool = False) -> bool:
        """Change the model and return whether it accepted the change; if not, show its message on the page.

        `scene`: the change is more than a motion of the robot.
        """
        try:
            with self._lock:
                change()
        except ValueError as error:
            self._show_message(str(error))
            return False
        self._show_message("")
        self.viewer.refresher.ask()
        if scene:
            self._scene_changed()
        return True

    def _show_message(self, words: str) -> None:
        self._trouble.content = small_text(words)

    def _fly_to(self, event: Any, row: int) -> None:
        pairs = self._listed
        if event.client is None or row >= len(pairs):
            return
        pair = pairs[row]
        target = 0.5 * (pair.point_a + pair.point_b)
        if np.isfinite(target).all():
            reach = max(0.25 * self._extent, 3.0 * abs(pair.distance) if np.isfinite(pair.distance) else 0.0)
            self._fly(event.client, target, reach)

    def _fly(self, client: viser.ClientHandle, target: FloatArray, reach: float) -> None:
        """Fly a client's camera to look at a point from at most the distance `reach`, m."""
        camera = client.camera
        along = np.asarray(camera.position) - np.asarray(camera.look_at)
        length = float(np.linalg.norm(along)) or 1.0
        begin = np.asarray(camera.position), np.asarray(camera.look_at)
        end = target + min(reach, length) / length * along, target
        steps, pause = _FLIGHT
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            with client.atomic():
                camera.position = begin[0] + share * (end[0] - begin[0])
                camera.look_at = begin[1] + share * (end[1] - begin[1])
            time.sleep(pause)


def look_at(camera: Any, box: tuple[FloatArray, FloatArray]) -> None:
    """Set the camera of a client, or the initial one of new clients, to look at a box."""
    extent, centre = extent_of(box), 0.5 * (box[0] + box[1])
    # The sphere around the box fills the height of the window. A change of the position moves the target too.
    camera.position = centre + 0.5 * extent / math.sin(0.5 * _FIELD_OF_VIEW) * _FROM
    camera.look_at, camera.fov = centre, _FIELD_OF_VIEW
    camera.near, camera.far = 0.01 * extent, 100.0 * extent


def add_ground(server: viser.ViserServer, box: tuple[FloatArray, FloatArray]) -> None:
    """Draw a grid under a box."""
    cell = round_length(extent_of(box) / 8.0)
    add_grid(server, cell, math.ceil(0.75 * extent_of(box) / (5.0 * cell)), float(box[0][2]))


def add_grid(server: viser.ViserServer, cell: float, sections: int, height: float) -> None:
    """Draw a horizontal grid around the origin, 5 x 5 cells per section; viser's own grid fills its plane."""
    for name, step, colour in (("cells", cell, _CELLS), ("sections", 5.0 * cell, _SECTIONS)):
        reach = 5.0 * cell * sections
        places = np.linspace(-reach, reach, 2 * round(reach / step) + 1)
        lines = [[(x, -reach, height), (x, reach, height)] for x in places]
        lines += [[(-reach, y, height), (reach, y, height)] for y in places]
        add_level_lines(server, f"/grid/{name}", lines, colour)


def headline(picture: Picture) -> str:
    """Return the clearance, its scope and the legend, as HTML."""
    clearance = picture.clearance
    colour = "rgb({}, {}, {})".format(*COLOURS[clearance.meaning])
    pairs = "pair" if picture.checked == 1 else "pairs"
    parts = [
        f'<div style="border-left: 0.5em solid {colour}; padding: 0.2em 0.6em; margin: 0.4em 0.6em">'
        f"<b>Clearance: {'<br>'.join(map(html.escape, clearance.words.split(', ', 1)))}</b><br>"
        f"{html.escape(WORDS[clearance.meaning])}; minimum over {picture.checked} checked {pairs}</div>"
    ]
    if picture.least is not picture.clearance:
        words = f"Selected pairs: {picture.least.words}; {WORDS[picture.least.meaning]}"
        parts.append(f'<div style="margin: 0.3em 1em">{html.escape(words)}</div>')
    if picture.outside:
        parts.append(small_text(f"beyond their limits: {', '.join(picture.outside)}"))
    swatches = [
        f'<span style="white-space: nowrap"><span style="background: rgb{COLOURS[meaning]}; border: 1px solid #666; '
        f'padding: 0 0.5em; margin-right: 0.3em"></span>{WORDS[meaning]}</span>'
        for meaning in sorted(Meaning, reverse=True)
    ]
    return "".join(parts) + small_text(" &nbsp; ".join(swatches), escaped=True)


def small_text(words: str, *, escaped: bool = False) -> str:
    """Return text in small letters as HTML; escape it unless it is `escaped` already."""
    text = words if escaped else html.escape(words)
    return f'<div style="font-size: 0.8em; margin: 0.3em 1em">{text}</div>' if words else ""

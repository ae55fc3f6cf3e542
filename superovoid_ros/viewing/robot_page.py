# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a robot: controls that change a `RobotModel`, and its picture. No geometry is computed here."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.robot.appearance import ELEMENTS, Look
from superovoid_ros.robot.mesh_files import FORMATS, read_triangles
from superovoid_ros.shapes import Box, ConvexMesh, Shape, Sphere, Superovoid
from superovoid_ros.viewing.canvas import Canvas, Layers, pose_of, wxyz_of
from superovoid_ros.viewing.meanings import COLOURS, WORDS, Meaning
from superovoid_ros.viewing.robot_model import DrawnPair, Picture, RobotModel, round_length, slider_range
from superovoid_ros.viewing.serving import LOOPBACK, Refresher, Viewer, open_server

if TYPE_CHECKING:
    import viser

LISTED = 6
"""Pairs in the list of the closest."""
ALL = "(all)"
_FEW_JOINTS = 12  # so many sliders are seen at once
_FLIGHT = 12, 0.025  # steps of a flight of the camera, and time between them, s
Looks = Callable[[str], tuple[Sequence[Look], Sequence[str]]]
"""What `read_looks` answers for "visual" or "collision"."""


def show_robot(
    model: RobotModel, *, looks: Looks | None = None, host: str = LOOPBACK, port: int = 0, notes: Sequence[str] = ()
) -> Viewer:
    """Serve a page with a robot.

    Parameters
    ----------
    model : RobotModel
        The page's own from now on.
    looks : callable, optional
        Reads what links look like, when that is to be seen.
    host, port
        As for `open_server`.
    notes : sequence of str
        What readers of the page should know.

    Raises
    ------
    ServingError
        As `open_server` does.
    """
    server = open_server(model.robot.name, host, port)
    try:
        return RobotPage(server, model, looks, notes).viewer
    except BaseException:
        server.stop()
        raise


class RobotPage:
    """Controls and picture of a robot. Callbacks come from any thread; the model is touched under the lock."""

    def __init__(
        self, server: viser.ViserServer, model: RobotModel, looks: Looks | None, notes: Sequence[str] = ()
    ) -> None:
        self.server, self.model, self._looks, self._notes = server, model, looks, notes
        self._lock = threading.Lock()
        self._layers = Layers()
        self._gizmos: dict[str, Any] = {}
        low, high = model.box()
        extent = self._extent = model.extent
        self._canvas = Canvas(server, extent)
        self._listed: tuple[DrawnPair, ...] = ()
        self._frames: list[float] = []
        self._look_from(0.5 * (low + high))
        server.scene.add_grid(
            "/grid", width=1.5 * extent, height=1.5 * extent, cell_size=round_length(extent / 20.0),
            section_size=5.0 * round_length(extent / 20.0), position=(0.0, 0.0, float(low[2])),
        )  # fmt: skip
        self._make_controls()
        self._draw(model.unanswered())
        self.viewer = Viewer(server, Refresher(self._refresh, self._failed), model.robot.name)
        self.viewer.refresher.ask()

    # -- drawing --------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        begin = time.perf_counter()
        with self._lock:
            picture = self.model.answer()
        asked = time.perf_counter() - begin
        self._draw(picture)
        now = time.perf_counter()
        self._frames = [*[then for then in self._frames if now - then < 2.0], now]
        rate = (len(self._frames) - 1) / (now - self._frames[0]) if len(self._frames) > 2 else 0.0
        words = f"distances in {1e3 * asked:.1f} ms, page in {1e3 * (now - begin - asked):.1f} ms"
        self._speed.content = _small(words + (f"; {rate:.0f} states a second" if rate else ""))

    def _failed(self, error: Exception) -> None:
        with self._lock:
            picture = self.model.unanswered(f"{type(error).__name__}: {error}")
        self._draw(picture)

    def _draw(self, picture: Picture) -> None:
        self._canvas.draw(picture.root_from_link, picture.bodies, picture.pairs, self._layers)
        self._headline.content = headline(picture)
        self._list(picture)

    def _list(self, picture: Picture) -> None:
        self._listed = picture.pairs[:LISTED]
        for row, (button, line) in enumerate(zip(self._rows, self._lines, strict=True)):
            button.visible = line.visible = row < len(self._listed)
            if button.visible:
                pair = self._listed[row]
                button.label, button.color = f"{row + 1}: {pair.title}", COLOURS[pair.meaning]
                line.content = _small(pair.state)
        more = picture.pairs_near - len(self._listed)
        words = f"and {more} more" if more > 0 else ""
        if not self._listed:
            words = "no pair to show"
        self._more.content = _small(words)

    def _look_from(self, centre: NDArray[np.float64]) -> None:
        camera = self.server.initial_camera
        camera.look_at = centre
        camera.position = centre + self._extent * np.array([0.5, -0.5, 0.35])
        camera.near, camera.far = 0.01 * self._extent, 100.0 * self._extent

    # -- controls -------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        gui = self.server.gui
        self._headline = gui.add_html("")
        self._rows: list[Any] = []
        self._lines: list[Any] = []  # what a hint would say: viser shows none at buttons
        near = gui.add_slider(
            "near (mm)", 0.0, max(1e3 * round_length(0.5 * self._extent), 2e3 * self.model.near),
            round_length(self._extent), 1e3 * self.model.near, hint="Pairs at most this far apart are near, and shown",
        )  # fmt: skip
        self._on_value(near, lambda value: self.model.set_near(1e-3 * value))
        with gui.add_folder("Closest pairs"):
            for row in range(LISTED):
                button = gui.add_button("", visible=False)
                button.on_click(lambda event, row=row: self._fly_to(event, row))
                self._rows.append(button)
                self._lines.append(gui.add_html("", visible=False))
            self._more = gui.add_html("")
        self._make_joints()
        self._make_bases()
        self._make_pairs()
        self._make_objects()
        self._make_layers()
        self._speed = gui.add_html("")
        if self._notes:
            with gui.add_folder("Notes", expand_by_default=False):
                gui.add_html(_small("<br>".join(map(html.escape, self._notes)), escaped=True))

    def _make_joints(self) -> None:
        gui, robot = self.server.gui, self.model.robot
        if not robot.joint_names:
            return
        self._sliders: dict[str, Any] = {}
        with gui.add_folder("Joints", expand_by_default=len(robot.joint_names) <= _FEW_JOINTS):
            states = {f"{group}: {name}": state for group, named in robot.group_states.items()
                      for name, state in named.items()}  # fmt: skip
            if states:
                choice = gui.add_dropdown("state", ("", *states), hint="Named states of the SRDF")
                choice.on_update(lambda _: self._take_state(states.get(choice.value, {})))
            for name in robot.joint_names:
                kind = robot.joints[name].kind
                low, high = slider_range(kind, robot.joint_limits[name])
                unit = "m" if kind == "prismatic" else "rad"
                value = min(max(self.model.positions[name], low), high)
                slider = gui.add_slider(
                    f"{name} ({unit})", low, high, max((high - low) / 1000.0, 1e-6), value, disabled=low == high
                )
                self._sliders[name] = slider
                self._on_value(slider, lambda value, name=name: self.model.set_position(name, value))

    def _take_state(self, state: dict[str, float]) -> None:
        def take() -> None:
            self.model.set_positions({name: state[name] for name in self.model.positions if name in state})

        if state and self._change(take):
            for name in state.keys() & self._sliders.keys():
                slider = self._sliders[name]
                slider.value = min(max(state[name], slider.min), slider.max)

    def _make_bases(self) -> None:
        bases = self.model.base_poses
        for number, (link, pose) in enumerate(bases.items()):
            gizmo = self._gizmo(f"/gizmos/base_{number}", pose)
            gizmo.visible = False
            gizmo.on_update(lambda event, link=link: self._change(
                lambda: self.model.set_base(link, pose_of(event.target.wxyz, event.target.position))
            ))  # fmt: skip
            self._gizmos[f"base {link}"] = gizmo

    def _make_pairs(self) -> None:
        gui, robot = self.server.gui, self.model.robot
        with gui.add_folder("Which pairs", expand_by_default=False):
            names = (ALL, *robot.groups)
            if robot.groups:
                sides = [gui.add_dropdown(f"between, {side}", names) for side in ("first", "second")]
                for side in sides:
                    side.on_update(lambda _: self._change(lambda: self.model.show_between(
                        *(None if one.value == ALL else [one.value] for one in sides)
                    )))  # fmt: skip
            self._sides = [gui.add_dropdown(f"{side} link", self._named()) for side in ("first", "second")]
            self._reason = gui.add_html("")
            check, forget = gui.add_button("check them, or not"), gui.add_button("as the robot says")
            for side in self._sides:
                side.on_update(lambda _: self._say_why())
            check.on_click(lambda _: self._turn_check())
            forget.on_click(lambda _: (self._change(self.model.forget_checks), self._say_why()))
        self._say_why()

    def _named(self) -> tuple[str, ...]:
        return (*self.model.robot.links, *self.model.planning.objects)

    def _say_why(self) -> None:
        with self._lock:
            checked, words = self.model.why(*(side.value for side in self._sides))
        self._reason.content = _small(f"{'checked' if checked else 'not checked'}: {words}")

    def _turn_check(self) -> None:
        names = [side.value for side in self._sides]

        def turn() -> None:
            self.model.check(*names, not self.model.why(*names)[0])

        self._change(turn)
        self._say_why()

    def _make_objects(self) -> None:
        gui = self.server.gui
        size = round_length(0.1 * self._extent)
        with gui.add_folder("Objects", expand_by_default=False):
            kind = gui.add_dropdown("shape", ("superovoid", "box", "sphere"))
            half = gui.add_vector3(
                "half sizes (m)",
                (size, size, size),
                min=(1e-4,) * 3,
                step=1e-3,
                hint="Semi-axes; of a sphere the first",
            )
            epsilon = gui.add_vector2(
                "exponents", (0.8, 0.8), min=(0.05, 0.05), max=(1.95, 1.95), step=0.05, hint="Across z, then along z"
            )
            taper = gui.add_vector2("tapers", (0.0, 0.0), min=(-0.5, -0.5), max=(0.5, 0.5), step=0.05)
            add = gui.add_button("add")
            upload = gui.add_upload_button(
                "add a mesh", hint=f"Its convex hull, metres: {', '.join(FORMATS)}", mime_type="*/*"
            )
            self._objects = gui.add_dropdown("object", ("",))
            remove = gui.add_button("remove")
            self._trouble = gui.add_html("")
        add.on_click(lambda _: self._add_object(
            lambda: _shape_of(kind.value, half.value, epsilon.value, taper.value), kind.value
        ))  # fmt: skip
        upload.on_upload(lambda _: self._add_object(lambda: _hull_of(upload.value.name, upload.value.content), "mesh"))
        remove.on_click(lambda _: self._remove_object(self._objects.value))

    def _add_object(self, make: Callable[[], Shape], kind: str) -> None:
        added = []

        def add() -> None:
            shape = make()
            pose = self.model.place_beside(shape)
            taken = {*self.model.planning.objects, *self.model.robot.links, *self.model.robot.groups}
            name = next(name for name in (f"{kind}_{n}" for n in range(1, len(taken) + 2)) if name not in taken)
            self.model.add_object(name, shape, pose)
            added.append((name, pose))

        if self._change(add):
            ((name, pose),) = added
            gizmo = self._gizmo(f"/gizmos/object_{name}", pose)
            gizmo.on_update(lambda event: self._change(
                lambda: self.model.move_object(name, pose_of(event.target.wxyz, event.target.position))
            ))  # fmt: skip
            self._gizmos[f"object {name}"] = gizmo
            self._list_objects()

    def _remove_object(self, name: str) -> None:
        if name and self._change(lambda: self.model.remove_object(name)):
            self._gizmos.pop(f"object {name}").remove()
            self._list_objects()

    def _list_objects(self) -> None:
        self._objects.options = tuple(self.model.planning.objects) or ("",)
        for side in self._sides:
            side.options = self._named()

    def _make_layers(self) -> None:
        gui, layers = self.server.gui, self._layers
        with gui.add_folder("Show", expand_by_default=False):
            names = ("bodies", "segments", "normals", "labels", *(ELEMENTS if self._looks is not None else ()))
            for name in names:
                text = f"{name} meshes" if name in ELEMENTS else name
                box = gui.add_checkbox(text, getattr(layers, name))
                box.on_update(lambda event, name=name: self._show_layer(name, event.target.value))
            opacity = gui.add_slider("opacity of bodies", 0.1, 1.0, 0.05, layers.opacity)
            opacity.on_update(lambda _: self._show_layer("opacity", opacity.value))
            if self.model.base_poses:
                grips = gui.add_checkbox("handles of bases", False)
                grips.on_update(lambda _: self._show_gizmos("base ", grips.value))
            things = gui.add_checkbox("handles of objects", True)
            things.on_update(lambda _: self._show_gizmos("object ", things.value))

    def _show_layer(self, name: str, value: bool | float) -> None:
        setattr(self._layers, name, value)
        if name in ELEMENTS and value and not self._canvas.has_looks(name) and self._looks is not None:
            try:
                looks, warnings = self._looks(name)
            except (OSError, ValueError) as error:
                looks, warnings = (), (str(error),)
            self._canvas.add_looks(name, looks)
            self._say("; ".join(warnings[:3]))
        self.viewer.refresher.ask()

    def _show_gizmos(self, kind: str, shown: bool) -> None:
        for name, gizmo in self._gizmos.items():
            if name.startswith(kind):
                gizmo.visible = shown

    # -- what they have in common ----------------------------------------------------------------------------------

    def _gizmo(self, name: str, pose: NDArray[np.float64]) -> Any:
        return self.server.scene.add_transform_controls(
            name, scale=0.15 * self._extent, depth_test=False, wxyz=wxyz_of(pose), position=pose[:3, 3]
        )

    def _on_value(self, control: Any, take: Callable[[Any], None]) -> None:
        control.on_update(lambda event: self._change(lambda: take(event.target.value)))

    def _change(self, change: Callable[[], None]) -> bool:
        """Change the model; whether it let itself be changed. What it refuses is said on the page."""
        try:
            with self._lock:
                change()
        except ValueError as error:
            self._say(str(error))
            return False
        self._say("")
        self.viewer.refresher.ask()
        return True

    def _say(self, words: str) -> None:
        self._trouble.content = _small(words)

    def _fly_to(self, event: Any, row: int) -> None:
        pairs = self._listed
        if event.client is None or row >= len(pairs):
            return
        camera, pair = event.client.camera, pairs[row]
        target = 0.5 * (pair.point_a + pair.point_b)
        if not np.isfinite(target).all():
            return
        along = np.asarray(camera.position) - np.asarray(camera.look_at)
        length = float(np.linalg.norm(along)) or 1.0
        reach = max(0.25 * self._extent, 3.0 * abs(pair.distance) if np.isfinite(pair.distance) else 0.0)
        begin = np.asarray(camera.position), np.asarray(camera.look_at)
        end = target + min(reach, length) / length * along, target
        steps, pause = _FLIGHT
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            with event.client.atomic():
                camera.position = begin[0] + share * (end[0] - begin[0])
                camera.look_at = begin[1] + share * (end[1] - begin[1])
            time.sleep(pause)


def headline(picture: Picture) -> str:
    """The clearance, what it is of, and the legend, as HTML."""
    clearance = picture.clearance
    colour = "rgb({}, {}, {})".format(*COLOURS[clearance.meaning])
    parts = [
        f'<div style="border-left: 0.5em solid {colour}; padding: 0.2em 0.6em; margin: 0.4em 0.6em">'
        f"<b>Clearance: {'<br>'.join(map(html.escape, clearance.words.split(', ', 1)))}</b><br>"
        f"{html.escape(WORDS[clearance.meaning])}; the least of {picture.checked} checked pairs</div>"
    ]
    if picture.outside:
        parts.append(_small(f"beyond their limits: {', '.join(picture.outside)}"))
    swatches = [
        f'<span style="white-space: nowrap"><span style="background: rgb{COLOURS[meaning]}; border: 1px solid #666; '
        f'padding: 0 0.5em; margin-right: 0.3em"></span>{WORDS[meaning]}</span>'
        for meaning in sorted(Meaning, reverse=True)
    ]
    return "".join(parts) + _small(" &nbsp; ".join(swatches), escaped=True)


def _small(words: str, *, escaped: bool = False) -> str:
    text = words if escaped else html.escape(words)
    return f'<div style="font-size: 0.8em; margin: 0.3em 1em">{text}</div>' if words else ""


def _shape_of(kind: str, half: Sequence[float], epsilon: Sequence[float], taper: Sequence[float]) -> Shape:
    if kind == "box":
        return Box(tuple(half))
    if kind == "sphere":
        return Sphere(half[0])
    return Superovoid(tuple(half), tuple(epsilon), tuple(taper))


def _hull_of(name: str, content: bytes) -> Shape:
    kind = name.rpartition(".")[2].lower()
    if kind not in FORMATS:
        raise ValueError(f"'{name[:80]}': is no mesh by its name: expected one that ends with .{', .'.join(FORMATS)}")
    try:
        return ConvexMesh(read_triangles(content, kind)[0])
    except ValueError as error:
        raise ValueError(f"'{name[:80]}': {error}") from error

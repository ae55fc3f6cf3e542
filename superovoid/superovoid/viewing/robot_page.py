# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a robot: controls that change a `RobotModel`, and its picture. It computes no geometry."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot import Robot
from superovoid.robot.appearance import ELEMENTS, Look
from superovoid.robot.mesh_files import FORMATS, read_triangles
from superovoid.shapes import Box, ConvexMesh, Shape, Sphere, Superovoid
from superovoid.values.poses import PosesLike
from superovoid.viewing.canvas import pose_of, wxyz_of
from superovoid.viewing.page import Page, small_text
from superovoid.viewing.picture import round_length
from superovoid.viewing.robot_model import RobotModel, slider_range
from superovoid.viewing.serving import LOOPBACK, Viewer, open_server

if TYPE_CHECKING:
    import viser

ALL = "(all)"
_FEW_JOINTS = 12  # up to this number, the folder of joints is open initially
Looks = Callable[[str], tuple[Sequence[Look], Sequence[str]]]
"""Returns the appearances of links and warnings for "visual" or "collision", as `read_looks`."""


def show(
    robot: Robot,
    *,
    positions: Mapping[str, float] | ArrayLike | None = None,
    base_poses: Mapping[str, PosesLike] | None = None,
    near: float | None = None,
    **options: Any,
) -> Viewer:
    """Serve a page that shows a robot in a given state; see `Robot.show`."""
    model = RobotModel(robot, near)
    if positions is not None:
        model.set_positions(positions)
    for link, pose in (base_poses or {}).items():
        model.set_base(link, pose)
    return show_robot(model, **options)


def show_robot(
    model: RobotModel, *, looks: Looks | None = None, host: str = LOOPBACK, port: int = 0, notes: Sequence[str] = ()
) -> Viewer:
    """Serve a page with a robot.

    Parameters
    ----------
    model : RobotModel
        The model; the page takes ownership of it.
    looks : callable, optional
        Reads the appearances of links; called when the user shows them.
    host, port
        As for `open_server`.
    notes : sequence of str
        Notes for viewers.

    Raises
    ------
    ServingError
        If the page cannot be served, as for `open_server`.
    """
    server = open_server(model.robot.name, host, port)
    try:
        return RobotPage(server, model, looks, notes).viewer
    except BaseException:
        server.stop()
        raise


class RobotPage(Page):
    """Controls and picture of a robot."""

    model: RobotModel

    def __init__(
        self, server: viser.ViserServer, model: RobotModel, looks: Looks | None = None, notes: Sequence[str] = ()
    ) -> None:
        self._looks = looks
        self._gizmos: dict[str, Any] = {}
        self._things = threading.Lock()  # keeps objects, their handles and their names in the list consistent
        super().__init__(server, model, notes)

    def _make_more(self) -> None:
        self._make_joints()
        self._make_bases()
        self._make_pairs()
        self._make_objects()

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
                self._on_value(slider, partial(self.model.set_position, name))

    def _take_state(self, state: Mapping[str, float]) -> None:
        def take() -> None:
            self.model.set_positions({name: state[name] for name in self.model.positions if name in state})

        if state and self._change(take):
            for name in state.keys() & self._sliders.keys():
                slider = self._sliders[name]
                slider.value = min(max(state[name], slider.min), slider.max)
            self._change(take)  # again, because a slider clamped to its end has moved its joint there

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
                sides = [
                    gui.add_dropdown(f"between, {side}", names, initial_value=self._chosen_group(number))
                    for number, side in enumerate(("first", "second"))
                ]
                for side in sides:
                    side.on_update(lambda _: self._change(lambda: self.model.show_between(
                        *(None if one.value == ALL else [one.value] for one in sides)
                    ), scene=True))  # fmt: skip
            self._sides = [gui.add_dropdown(f"{side} link", self._names()) for side in ("first", "second")]
            self._reason = gui.add_html("")
            check, forget = gui.add_button("toggle the check"), gui.add_button("as in the robot's files")
            for side in self._sides:
                side.on_update(lambda _: self._show_reason())
            check.on_click(lambda _: self._turn_check())
            forget.on_click(lambda _: self._forget_checks())
        self._show_reason()

    def _chosen_group(self, side: int) -> str:
        """Return the group selected initially; `ALL` if the selection is not a single group."""
        between = self.model.between
        names = None if between is None else between[side]
        return names[0] if names is not None and len(names) == 1 and names[0] in self.model.robot.groups else ALL

    def _names(self) -> tuple[str, ...]:
        return (*self.model.robot.links, *self.model.planning.objects)

    def _show_reason(self) -> None:
        try:
            with self._lock:
                checked, words = self.model.pair_rule(*(side.value for side in self._sides))
        except ValueError:  # the object was removed
            self._reason.content = ""
            return
        self._reason.content = small_text(f"{'checked' if checked else 'not checked'}: {words}")

    def _forget_checks(self) -> None:
        self._change(self.model.forget_checks, scene=True)
        self._show_reason()

    def _turn_check(self) -> None:
        first, second = (side.value for side in self._sides)

        def turn() -> None:
            self.model.check(first, second, not self.model.pair_rule(first, second)[0])

        self._change(turn, scene=True)
        self._show_reason()

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
                hint="Semi-axes; for a sphere, only the first counts",
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

        with self._things:
            if not self._change(add, scene=True):
                return
            ((name, pose),) = added
            gizmo = self._gizmo(f"/gizmos/object_{name}", pose)
            gizmo.on_update(lambda event: self._change(
                lambda: self.model.move_object(name, pose_of(event.target.wxyz, event.target.position)), scene=True
            ))  # fmt: skip
            self._gizmos[f"object {name}"] = gizmo
            self._list_objects()

    def _remove_object(self, name: str) -> None:
        with self._things:
            if name and self._change(lambda: self.model.remove_object(name), scene=True):
                self._gizmos.pop(f"object {name}").remove()
                self._list_objects()

    def _list_objects(self) -> None:
        self._objects.options = tuple(self.model.planning.objects) or ("",)
        for side in self._sides:
            side.options = self._names()

    def _make_layers(self) -> None:
        super()._make_layers()
        gui = self.server.gui
        for element in ELEMENTS if self._looks is not None else ():
            self._add_layer(element, f"{element} meshes")
        if any(name.startswith("base ") for name in self._gizmos):
            grips = gui.add_checkbox("handles of bases", False)
            grips.on_update(lambda _: self._show_gizmos("base ", grips.value))
        things = gui.add_checkbox("handles of objects", True)
        things.on_update(lambda _: self._show_gizmos("object ", things.value))

    def _show_layer(self, name: str, value: bool | float) -> None:
        if name in ELEMENTS and value and not self._canvas.has_looks(name) and self._looks is not None:
            try:
                looks, warnings = self._looks(name)
            except (OSError, ValueError) as error:
                looks, warnings = (), (str(error),)
            with self._drawing:
                self._canvas.add_looks(name, looks)
            self._show_message("; ".join(warnings[:3]))
        super()._show_layer(name, value)

    def _show_gizmos(self, kind: str, shown: bool) -> None:
        for name, gizmo in list(self._gizmos.items()):
            if name.startswith(kind):
                gizmo.visible = shown

    def _gizmo(self, name: str, pose: NDArray[np.float64]) -> Any:
        return self.server.scene.add_transform_controls(
            name, scale=0.15 * self._extent, depth_test=False, wxyz=wxyz_of(pose), position=pose[:3, 3]
        )


def _shape_of(kind: str, half: Sequence[float], epsilon: Sequence[float], taper: Sequence[float]) -> Shape:
    if kind == "box":
        return Box([2.0 * each for each in half])
    if kind == "sphere":
        return Sphere(half[0])
    return Superovoid.from_goncalves(tuple(half), tuple(epsilon), tuple(taper))


def _hull_of(name: str, content: bytes) -> Shape:
    kind = name.rpartition(".")[2].lower()
    if kind not in FORMATS:
        raise ValueError(f"'{name[:80]}': not a known mesh format: expected a name ending with .{', .'.join(FORMATS)}")
    try:
        return ConvexMesh(read_triangles(content, kind)[0])
    except ValueError as error:
        raise ValueError(f"'{name[:80]}': {error}") from error

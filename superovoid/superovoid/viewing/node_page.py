# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a running node: what it publishes, and handles that move its world objects.

This module does not depend on ROS: superovoid_ros implements the communication with the node.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes import Superovoid
from superovoid.viewing.canvas import pose_of, wxyz_of
from superovoid.viewing.page import Page, PageModel, look_at, small_text
from superovoid.viewing.picture import Picture, round_length
from superovoid.viewing.serving import LOOPBACK, Refresher, Viewer, open_server

if TYPE_CHECKING:
    import viser

FloatArray = NDArray[np.float64]

_POLL_PERIOD = 0.5  # s, between checks whether the node still publishes
_HELD = 2.0  # s, time after a user moved a handle during which the node's pose does not reset it


class ShownNode(PageModel, Protocol):
    """The node behind a page. Its methods raise `ValueError` with the node's message if it rejects a request."""

    @property
    def objects(self) -> Mapping[str, FloatArray]:
        """Poses of the world objects by name: frame_from_object (4, 4), m."""
        ...

    def add_object(self, name: str, shape: Superovoid, pose: FloatArray) -> None:
        """Add a superovoid to the world."""
        ...

    def move_object(self, name: str, pose: FloatArray) -> None:
        """Move a world object."""
        ...

    def remove_object(self, name: str) -> None:
        """Remove a world object."""
        ...

    def pair_rule(self, name_a: str, name_b: str) -> tuple[bool, str]:
        """Return whether two links or objects are checked against each other, and the reason."""
        ...

    def on_news(self, tell: Any) -> None:
        """Register a function to call, from any thread, if there is something new to show."""
        ...


def show_node(model: ShownNode, *, host: str = LOOPBACK, port: int = 0, notes: Sequence[str] = ()) -> Viewer:
    """Serve a page that shows a running node; see `superovoid.viewing.robot_page.show_robot`."""
    server = open_server(model.title, host, port)
    try:
        return NodePage(server, model, notes).viewer
    except BaseException:
        server.stop()
        raise


class NodePage(Page):
    """Picture and controls of a running node."""

    model: ShownNode

    def __init__(self, server: viser.ViserServer, model: ShownNode, notes: Sequence[str] = ()) -> None:
        self._gizmos: dict[str, Any] = {}
        self._moves: dict[str, FloatArray] = {}
        self._held: dict[str, float] = {}
        self._things = threading.Lock()
        super().__init__(server, model, notes)
        # A busy node sends its bodies one after another. A client's camera shows those known when it connects.
        server.on_client_connect(lambda client: look_at(client.camera, model.box()))
        self._mover = Refresher(self._send_moves, lambda error: self._show_message(str(error)))
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._poll, name="watch", daemon=True)
        self._watch.start()
        self.viewer.on_close(self._end)
        model.on_news(self.viewer.refresher.ask)

    def _end(self) -> None:
        self._ended.set()
        self._watch.join()
        self._mover.close()

    def _poll(self) -> None:
        """Refresh the page even without messages from the node, to show that it has stopped publishing."""
        while not self._ended.wait(_POLL_PERIOD):
            self.viewer.refresher.ask()

    # -- controls -------------------------------------------------------------------------------------------------

    def _make_more(self) -> None:
        gui = self.server.gui
        size = round_length(0.1 * self._extent)
        with gui.add_folder("Objects", expand_by_default=False):
            half = gui.add_vector3(
                "half sizes (m)", (size, size, size), min=(1e-4,) * 3, step=1e-3, hint="Semi-axes of a superovoid"
            )
            epsilon = gui.add_vector2(
                "exponents", (0.8, 0.8), min=(0.05, 0.05), max=(1.95, 1.95), step=0.05, hint="Across z, then along z"
            )
            taper = gui.add_vector2("tapers", (0.0, 0.0), min=(-0.5, -0.5), max=(0.5, 0.5), step=0.05)
            add = gui.add_button("add to the node's world")
            self._listed_objects = gui.add_dropdown("object", ("",))
            remove = gui.add_button("remove from the node's world")
        with gui.add_folder("Why is a pair checked?", expand_by_default=False):
            self._sides = [gui.add_text(f"{side} link or object", "") for side in ("first", "second")]
            self._reason = gui.add_html("")
        add.on_click(lambda _: self._add_object(half.value, epsilon.value, taper.value))
        remove.on_click(lambda _: self._apply(lambda: self.model.remove_object(self._listed_objects.value)))
        for side in self._sides:
            side.on_update(lambda _: self._show_reason())

    def _apply(self, change: Any) -> None:
        """Send a change to the node, and show its message on the page if it rejects the change."""
        try:
            change()
        except ValueError as error:
            self._show_message(str(error))
        else:
            self._show_message("")

    def _add_object(self, half: Sequence[float], epsilon: Sequence[float], taper: Sequence[float]) -> None:
        def add() -> None:
            shape = Superovoid.from_goncalves(tuple(half), tuple(epsilon), tuple(taper))
            taken = self.model.objects
            name = next(name for name in (f"superovoid_{n}" for n in range(1, len(taken) + 2)) if name not in taken)
            low, high = self.model.box()
            pose = np.eye(4)
            pose[:3, 3] = 0.5 * (low + high)
            pose[0, 3] = low[0] - max(half) - 0.1 * self._extent  # outside the box of everything shown
            self.model.add_object(name, shape, pose)

        self._apply(add)

    def _show_reason(self) -> None:
        names = [side.value.strip() for side in self._sides]
        if not all(names):
            self._reason.content = ""
            return
        try:
            checked, words = self.model.pair_rule(*names)
        except ValueError as error:
            self._reason.content = small_text(str(error))
            return
        self._reason.content = small_text(f"{'checked' if checked else 'not checked'}: {words}")

    # -- handles --------------------------------------------------------------------------------------------------

    def _draw(self, picture: Picture, *, patient: bool = False) -> float:
        held = super()._draw(picture, patient=patient)
        self._place_handles()
        return held

    def _place_handles(self) -> None:
        """Place a handle at each world object of the node; leave the handles that a user is moving."""
        objects, now = dict(self.model.objects), time.monotonic()
        with self._things:
            for name in self._gizmos.keys() - objects.keys():
                self._gizmos.pop(name).remove()
            for name, pose in objects.items():
                gizmo = self._gizmos.get(name)
                if gizmo is None:
                    self._gizmos[name] = self._gizmo(name, pose)
                elif now > self._held.get(name, 0.0) + _HELD and name not in self._moves:
                    if not np.allclose(gizmo.position, pose[:3, 3], atol=1e-9):
                        gizmo.position = pose[:3, 3]
                    if abs(float(np.dot(gizmo.wxyz, wxyz_of(pose)))) < 1.0 - 1e-12:
                        gizmo.wxyz = wxyz_of(pose)
            names = tuple(objects) or ("",)
            if tuple(self._listed_objects.options) != names:
                self._listed_objects.options = names

    def _gizmo(self, name: str, pose: FloatArray) -> Any:
        gizmo = self.server.scene.add_transform_controls(
            f"/gizmos/object_{len(self._gizmos)}_{time.monotonic_ns()}", scale=0.15 * self._extent, depth_test=False,
            wxyz=wxyz_of(pose), position=pose[:3, 3],
        )  # fmt: skip

        def on_move(event: Any) -> None:
            if event.client is None:  # moved by the page itself, to the node's pose
                return
            self._held[name] = time.monotonic()
            self._moves[name] = pose_of(event.target.wxyz, event.target.position)
            self._mover.ask()

        gizmo.on_update(on_move)
        return gizmo

    def _send_moves(self) -> None:
        """Send the poses of moved handles to the node; intermediate poses of a fast drag are skipped."""
        for name in list(self._moves):
            pose = self._moves.pop(name)
            self._apply(lambda name=name, pose=pose: self.model.move_object(name, pose))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a scene in its present state."""

from __future__ import annotations

from superovoid.scene import Scene
from superovoid.viewing.page import Page
from superovoid.viewing.scene_model import SceneModel
from superovoid.viewing.serving import LOOPBACK, Viewer, open_server


def show(scene: Scene, *, near: float | None = None, host: str = LOOPBACK, port: int = 0) -> Viewer:
    """Serve a page that shows a scene; see `Scene.show`."""
    model = SceneModel(scene, near)
    server = open_server(model.title, host, port)
    try:
        return Page(server, model).viewer
    except BaseException:
        server.stop()
        raise

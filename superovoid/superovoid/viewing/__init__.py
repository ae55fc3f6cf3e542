# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages in a browser, and pictures of scenes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superovoid.viewing.serving import Viewer


def show(page: str, thing: Any, **options: Any) -> Viewer:
    """Serve a page with a robot, a scene or a fit.

    Robots, scenes and fits call this function in their methods `show`. It imports the page by name, because pages
    import robots, scenes and fits.

    Parameters
    ----------
    page : {"robot_page", "scene_page", "fit_page"}
    thing : Robot, Scene, RobotFit or RobotCheck
    **options
        As for `show` of that page.
    """
    return import_module(f"{__name__}.{page}").show(thing, **options)

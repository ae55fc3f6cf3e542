# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The method `show` of fits and of checks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superovoid.viewing.serving import Viewer


def show(
    self: Any,
    *,
    package_directories: Mapping[str, str | Path] | None = None,
    srdf: str | os.PathLike[str] | None = None,
    near: float | None = None,
    **options: Any,
) -> Viewer:
    """Serve a page that shows the robot with these bodies, their figures and pictures of their errors.

    Parameters
    ----------
    package_directories : mapping of str to path, optional
        Folders of ROS packages, in addition to those given when this object was made: meshes are read again for the
        pictures.
    srdf : str or path, optional
        SRDF whose disabled pairs are not shown: a path, an address or the document.
    near : float, optional
        Show pairs at most this far apart, m; default: about a fiftieth of the robot's extent.
    **options
        ``host``, by default this machine only, and ``port``, by default a free one.

    Returns
    -------
    Viewer
        `url` is the address of the page, `wait` blocks until it is closed, `close` stops serving it.

    Raises
    ------
    ValueError
        If `near` is not a valid distance.
    RobotDescriptionError
        If the SRDF is invalid.
    ServingError
        If viser is missing, or the address is unavailable; a RuntimeError.
    """
    from superovoid.viewing import show as show_page  # imported here because pages import fits

    return show_page("fit_page", self, package_directories=package_directories, srdf=srdf, near=near, **options)

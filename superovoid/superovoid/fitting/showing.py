# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`show` of fits and of checks."""

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
    """Serve a page with the robot as these bodies have it, their figures and pictures of their errors.

    Parameters
    ----------
    package_directories : mapping of str to path, optional
        Where packages are, beside those known when this was made: meshes are read again for the pictures.
    srdf : str or path, optional
        Pairs that it disables are left out; a path, an address or the document.
    near : float, optional
        Pairs at most this far apart are shown, m; default: about a fiftieth of the robot's extent.
    **options
        ``host``, by default this machine only, and ``port``, by default one that is free.

    Returns
    -------
    Viewer
        `url` is where the page is, `wait` waits, `close` ends it.

    Raises
    ------
    ValueError
        If `near` is no distance.
    RobotDescriptionError
        If the SRDF cannot be used.
    ServingError
        If viser is missing, or the address is not to be had; a RuntimeError.
    """
    from superovoid.viewing import show as show_page  # late: pages import fits

    return show_page("fit_page", self, package_directories=package_directories, srdf=srdf, near=near, **options)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Import trimesh when the first mesh is created; programs without meshes do not need it."""

from __future__ import annotations

from types import ModuleType


class MissingTrimeshError(ImportError, ValueError):
    """trimesh is not installed; the message names the command that installs it."""


def trimesh_for(what: str) -> ModuleType:
    """Return the module trimesh.

    Parameters
    ----------
    what : str
        Name of the feature that needs it, for the error message.

    Raises
    ------
    MissingTrimeshError
        If trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError as error:
        raise MissingTrimeshError(
            f"{what} needs trimesh, which is not installed ({error}): "
            "pip install 'superovoid[meshes]', or trimesh networkx pycollada"
        ) from error
    return trimesh

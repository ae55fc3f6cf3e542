# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Locations of packages, which are the folders from which a robot description may load meshes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ament_index_python.packages import get_packages_with_prefixes

from superovoid.robot.mesh_files import PackageWords
from superovoid_ros.nodes.common.mistakes import InputError


class PackageFolders(PackageWords, dict[str, Path]):
    """Folders of packages by name; errors about unknown ones name the node's parameter."""

    searched = "parameter package_directories, installed packages (AMENT_PREFIX_PATH)"
    option = "'{name}=/folder' in the parameter package_directories of the node"


def package_folders(entries: Sequence[str] = ()) -> PackageFolders:
    """Return the folders of packages by name: those in the ament index, overridden by those in a parameter.

    Parameters
    ----------
    entries
        Entries of the parameter, each ``name=/folder``; blank ones are ignored.

    Raises
    ------
    InputError
        If an entry is malformed, or its folder does not exist.
    """
    try:
        prefixes = get_packages_with_prefixes().items()
    except OSError:  # no workspace is sourced
        prefixes = ()
    found = PackageFolders((name, Path(prefix) / "share" / name) for name, prefix in prefixes)
    for entry in filter(str.strip, entries):
        name, _, folder = map(str.strip, entry.partition("="))
        if not name or not Path(folder).is_absolute() or not Path(folder).is_dir():
            raise InputError(
                f"package_directories: '{entry}': must be 'name=/folder', with an absolute path of a folder that exists"
            )
        found[name] = Path(folder)
    return found

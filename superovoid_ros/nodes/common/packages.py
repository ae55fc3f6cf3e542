# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where packages are, and so which folders a robot description may have meshes read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes

from superovoid_ros.nodes.common.mistakes import InputError


class Packages(Mapping[str, Path]):
    """Folders of packages by name: those that a parameter gives, then all that the ament index has.

    The index is looked up in each call, so that a package installed later is found.

    Parameters
    ----------
    entries
        ``name=/folder`` each; blank ones count for nothing.

    Raises
    ------
    InputError
        If an entry has another form, or its folder is none.
    """

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._given: dict[str, Path] = {}
        for entry in entries:
            if not entry.strip():
                continue
            name, _, folder = map(str.strip, entry.partition("="))
            if not name or not Path(folder).is_absolute() or not Path(folder).is_dir():
                raise InputError(
                    f"package_directories: '{entry}': must be 'name=/folder', with an absolute path of a folder "
                    "that exists"
                )
            self._given[name] = Path(folder)

    def __eq__(self, other: object) -> bool:
        """Whether the same folders were given; what is installed is the same for all."""
        return isinstance(other, Packages) and self._given == other._given

    __hash__ = None

    def __getitem__(self, name: str) -> Path:
        if name in self._given:
            return self._given[name]
        try:
            return Path(get_package_share_directory(name))
        except (LookupError, ValueError, OSError) as error:  # unknown, no name of a package, no index
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter({**self._given, **_installed()})

    def __len__(self) -> int:
        return len({*self._given, *_installed()})


def _installed() -> Mapping[str, str]:
    """Names of the installed packages, and their prefixes; none if no workspace is sourced."""
    try:
        return get_packages_with_prefixes()
    except OSError:
        return {}

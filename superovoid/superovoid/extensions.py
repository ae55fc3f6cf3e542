# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Load extensions that other installed distributions provide as entry points.

Groups: ``superovoid.commands`` (modules with ``add(commands)``), ``superovoid.recordings`` (functions that recognise a
table, see `viewing.recording_files`), and ``superovoid.nodes`` (viewers of a running node, see `viewing.node_page`).
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

COMMANDS, RECORDINGS, NODES = (f"superovoid.{group}" for group in ("commands", "recordings", "nodes"))


class CommandError(ValueError):
    """A command cannot do what is requested on this machine."""


def extensions(group: str) -> dict[str, Any]:
    """Load the entry points of a group.

    Returns
    -------
    dict of str to object
        Loaded object of each entry point, sorted by the name of the entry point.

    Raises
    ------
    ImportError
        If a module of an installed distribution cannot be imported.
    """
    found = {entry.name: entry for entry in entry_points(group=group)}
    return {name: found[name].load() for name in sorted(found)}

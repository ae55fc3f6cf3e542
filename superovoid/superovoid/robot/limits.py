# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Size limits of a planning scene. Counts are totals over all senders and messages."""

from __future__ import annotations

from dataclasses import dataclass

from superovoid.robot.errors import LimitError

MOST_PAIRS = 50_000_000
"""Largest number of pairs of bodies in one table (16 bytes each), independent of `Limits`."""
MAXIMUM_NAME = 255
"""Largest number of characters in the name of an object."""
MOST_NAMES = 1_000
"""Largest number of rows of an allowed collision matrix, which has one entry for each two rows."""


@dataclass(frozen=True)
class Limits:
    """Largest counts in a planning scene; docs/reference/planning_scene.md lists their cost."""

    bodies: int = 50_000
    """Bodies of the robot, of all objects and of the octomap together."""
    pairs: int = 5_000_000
    """Pairs of bodies checked against each other."""
    objects: int = 5_000
    attached: int = 500
    """Objects attached to links."""
    triangles: int = 1_000_000
    """Triangles of all meshes of objects together."""
    names: int = 10_000
    """Limit for each of: default entries of an allowed collision matrix, paddings by name."""
    rules: int = 100_000
    """Runtime collision rules."""
    octomap_bytes: int = 16_000_000

    def check(self, what: str, count: int, remedy: str = "") -> None:
        """Raise `LimitError` if a count exceeds its limit.

        Parameters
        ----------
        what : str
            Name of a limit.
        count : int
            Count to check.
        remedy : str
            Advice, for the message.
        """
        most = getattr(self, what)
        if count > most:
            words = what.replace("_", " ")
            raise LimitError(
                f"planning scene: {count} {words}, at most {most} are allowed" + (remedy and f": {remedy}")
            )

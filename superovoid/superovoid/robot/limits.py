# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How much a planning scene may hold. What is counted is all of it, whoever brought it and in however many messages."""

from __future__ import annotations

from dataclasses import dataclass

from superovoid.robot.errors import LimitError

MOST_PAIRS = 50_000_000
"""Pairs of bodies in one table (16 bytes each), whatever limits say."""
MAXIMUM_NAME = 255
"""Characters of the name of an object."""
MOST_NAMES = 1_000
"""Of rows in an allowed collision matrix, which has an entry for each two."""


@dataclass(frozen=True)
class Limits:
    """Largest numbers of a planning scene; docs/planning_scene.md has what they cost."""

    bodies: int = 50_000
    """Of the robot, of all objects and of the octomap together."""
    pairs: int = 5_000_000
    """Of bodies that are checked against each other."""
    objects: int = 5_000
    attached: int = 500
    """Of the objects, those on links."""
    triangles: int = 1_000_000
    """Of all meshes of objects together."""
    names: int = 10_000
    """Of default entries of an allowed collision matrix, of paddings by name and of colours each."""
    rules: int = 100_000
    """Of the run time."""
    octomap_bytes: int = 16_000_000

    def check(self, what: str, count: int, remedy: str = "") -> None:
        """Raise `LimitError` where there is more of something than there may be.

        Parameters
        ----------
        what : str
            The name of a limit.
        count : int
            How many there would be.
        remedy : str
            What can be done about it.
        """
        most = getattr(self, what)
        if count > most:
            words = what.replace("_", " ")
            raise LimitError(
                f"planning scene: {count} {words}, at most {most} are allowed" + (remedy and f": {remedy}")
            )

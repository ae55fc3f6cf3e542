# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which file of tests a process of `pytest -n` takes next: explicit, and not by the names of files and folders."""

from __future__ import annotations

from collections.abc import Sequence

WAITING = ("test/nodes/", "test/tools/", "test/launch/")
"""Where the tests are that start nodes, and mostly wait for them. All others compute."""

LONGEST = (
    "test/tools/test_load.py",
    "superovoid/test/compiled/test_kernel_cache.py",
    "test/tools/test_demo.py",
    "test/nodes/test_sweep_by_arms.py",
    "test/nodes/test_world.py",
    "superovoid_papers/test/experiments/test_never_wrong.py",
    "superovoid/test/contact/test_every_pair.py",
    "superovoid/test/planning/test_planning.py",
    "superovoid/test/shapes/test_dents.py",
    "superovoid/test/shapes/test_primitives.py",
    "superovoid/test/contact/test_derivatives.py",
)
"""Files that take longest, the longest first: the last files of a run are short ones, and processes end together."""


def waits(file: str) -> bool:
    """Whether the tests of a file wait for nodes."""
    return file.startswith(WAITING)


def next_file(left: Sequence[str], worker: int) -> str:
    """Return the file that a process takes next.

    Of two processes the first begins with files that wait, the second with files that compute, so that each core has
    something to do. Of further ones two in three wait. Who has no more of his own takes of the others'.

    Parameters
    ----------
    left
        Files that nobody has taken, as paths from the root of the repository; at least one.
    worker
        Number of the process.
    """
    own = [file for file in left if waits(file) == (worker % 3 != 1)] or list(left)
    return min(own, key=lambda file: LONGEST.index(file) if file in LONGEST else len(LONGEST))

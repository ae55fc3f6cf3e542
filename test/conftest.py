# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

# Set before importing numpy: its linear algebra gains nothing from threads on small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collecting import pytest_pycollect_makemodule  # noqa: F401


def pytest_sessionfinish(session):
    """Remove the shared memory of killed nodes, up to 16 MiB each: Fast DDS does not remove it, so it accumulates.

    A living process holds a lock on the second file of its segment.
    """
    if hasattr(session.config, "workerinput"):
        return
    for lock in Path("/dev/shm").glob("fastdds_????????????????_el"):
        with suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.with_name(lock.name.removesuffix("_el")).unlink(missing_ok=True)
            lock.unlink()

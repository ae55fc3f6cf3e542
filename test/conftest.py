# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collecting import pytest_pycollect_makemodule  # noqa: F401


def pytest_sessionfinish(session):
    """Remove the shared memory of killed nodes, up to 16 MiB each: Fast DDS does not, so that it fills the machine.

    A process holds a lock on the second file of its segment for as long as it lives.
    """
    if hasattr(session.config, "workerinput"):
        return
    for lock in Path("/dev/shm").glob("fastdds_????????????????_el"):
        with suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.with_name(lock.name.removesuffix("_el")).unlink(missing_ok=True)
            lock.unlink()

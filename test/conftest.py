# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os
from functools import cache
from pathlib import Path

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import schedule

DATA = Path(__file__).parent / "data"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Under `-n` (pytest-xdist) a file stays in one process: its tests share nodes and have an order."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _assign_work_unit(self, node):
            worker = int(node.gateway.id.removeprefix("gw"))
            self.workqueue.move_to_end(schedule.next_file(list(self.workqueue), worker), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False  # not by the number of tests
    return Scheduling(config, log)


@cache
def _load(name):
    with np.load(DATA / f"battery_{name}.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def battery():
    """Loader of the reference batteries; columns in test/data/README.md."""
    return _load

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

import schedule


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

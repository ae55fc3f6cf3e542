# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from batteries import battery  # noqa: F401
from collecting import pytest_pycollect_makemodule  # noqa: F401

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os

# Before the import of numpy: for matrices as small as a fit's, threads of its linear algebra only slow it down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from batteries import battery  # noqa: F401
from collecting import pytest_pycollect_makemodule  # noqa: F401

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os

# Set before importing numpy: its linear algebra gains nothing from threads on small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from batteries import battery  # noqa: F401
from collecting import pytest_pycollect_makemodule  # noqa: F401

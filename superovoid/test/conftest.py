# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os
from importlib.util import find_spec
from pathlib import Path

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from batteries import battery  # noqa: F401
from collecting import pytest_pycollect_makemodule  # noqa: F401

# What numba compiles for a test; `pip install superovoid` brings none.
_TESTS = Path(__file__).parent.rglob("test_*.py")
NEED_NUMBA = [str(path) for path in _TESTS if "superovoid.compiler" in path.read_text(encoding="utf-8")]
collect_ignore = [] if find_spec("numba") else NEED_NUMBA


def pytest_report_header() -> list[str]:
    """Say which tests are left out."""
    return [f"no numba: {len(collect_ignore)} files with tests are left out"] if collect_ignore else []

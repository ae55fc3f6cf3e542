# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures shared by all tests."""

import os
from importlib.util import find_spec
from pathlib import Path

# Set before importing numpy: its linear algebra gains nothing from threads on small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from batteries import battery  # noqa: F401
from collecting import pytest_pycollect_makemodule  # noqa: F401

# Tests compile kernels with numba, which `pip install superovoid` does not install.
_TESTS = Path(__file__).parent.rglob("test_*.py")
NEED_NUMBA = [str(path) for path in _TESTS if "superovoid.compiler" in path.read_text(encoding="utf-8")]
collect_ignore = [] if find_spec("numba") else NEED_NUMBA


def pytest_report_header() -> list[str]:
    """Report the deselected tests."""
    return [f"no numba: {len(collect_ignore)} files with tests are left out"] if collect_ignore else []

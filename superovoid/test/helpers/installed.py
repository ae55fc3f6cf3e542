# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Skip tests of missing packages without importing the packages: every test process imports every test file."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def skip_without(*packages: str, reason: str) -> None:
    """Skip a test file if one of some packages is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)}: {reason}", allow_module_level=True)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pytest hook for conftest.py: collects test files correctly if launch_testing is installed."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path, parent):
    """Collect a file as pytest does, unless it has a launch description.

    The plugin of launch_testing imports each file to look for a launch description. If one file skips itself during
    this import, pytest skips all files and reports success.
    """
    if "generate_test_description" in module_path.read_text(encoding="utf-8"):
        return None
    return pytest.Module.from_parent(parent, path=module_path)

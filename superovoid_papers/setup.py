# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""For colcon, which builds ament_python packages by their setup.py; all that it can read is in pyproject.toml."""

from setuptools import setup

setup(python_requires=">=3.11")

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of tests in a browser."""

from tabs import chromium, tab  # noqa: F401

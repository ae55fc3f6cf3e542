# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measurements of speed, counts and memory of the engine and other libraries."""

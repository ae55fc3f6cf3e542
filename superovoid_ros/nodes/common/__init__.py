# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared code of all nodes: conversions, parameters, endpoints, and the main function."""

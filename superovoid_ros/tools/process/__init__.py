# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as processes: start them, wait for them, on a network of their own."""

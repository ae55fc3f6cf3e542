# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of tests with nodes."""

from node_processes import client, loopback_domain, nodes, start_node

__all__ = ["client", "loopback_domain", "nodes", "start_node"]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of tests with nodes."""

from node_processes import client, loopback_domain, nodes, serve, service, start_node, state

__all__ = ["client", "loopback_domain", "nodes", "serve", "service", "start_node", "state"]

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of tests with nodes."""

from node_processes import ahead, client, loopback_domain, nodes, serve, service, start_node, state

__all__ = ["ahead", "client", "loopback_domain", "nodes", "serve", "service", "start_node", "state"]

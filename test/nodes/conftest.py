# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of tests with nodes."""

from holding import SERVICE

from node_processes import client, loopback_domain, nodes, serve, shared, start_node

__all__ = ["client", "loopback_domain", "nodes", "serve", "shared", "start_node"]


def pytest_collection_modifyitems(items):
    """Let modules that share a process come one after the other."""
    sharing = {item.module for item in items if "serve" in item.fixturenames}

    def key(item):
        if item.module not in sharing:
            return 2
        return int(getattr(item.module, "SERVICE", "") == SERVICE)

    items.sort(key=key)

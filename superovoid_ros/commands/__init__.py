# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Subcommands of `superovoid` that play to nodes, or are about the hands that come with this package."""

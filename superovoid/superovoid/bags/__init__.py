# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute the distances along recorded runs (ROS 2 bags, MCAP); ROS is not needed."""

from superovoid.bags.replaying import ReplayQuery, ReplaySummary, replay

__all__ = ["ReplayQuery", "ReplaySummary", "replay"]

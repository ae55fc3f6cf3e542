# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recorded runs (bags of ROS 2, MCAP) with their distances; ROS is not needed."""

from superovoid.bags.replaying import Asked, Replayed, replay

__all__ = ["Asked", "Replayed", "replay"]

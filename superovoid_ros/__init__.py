# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The library `superovoid` in ROS 2: a distance service, its client, and players of motions."""

__version__ = "0.1.0"

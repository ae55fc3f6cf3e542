# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 package of the library `superovoid`: a distance service, its client, and players of motions."""

__version__ = "0.1.0"

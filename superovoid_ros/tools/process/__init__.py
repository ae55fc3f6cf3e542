# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Start nodes as processes in a separate ROS network, and wait for them."""

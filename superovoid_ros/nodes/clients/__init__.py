# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tools need that takes part in ROS itself: clients of the nodes, senders, and a stand-in for a service."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 nodes: the package that imports rclpy or messages.

A callback converts a message to the library's types, asks the scene, and converts the answer back; geometry,
kinematics and file reading live in the other packages.
"""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 nodes. Apart from `client/`, only this package imports rclpy or messages.

A callback converts a message to the library's types, queries the scene and converts the result to a message. Geometry,
kinematics and file reading are in other packages.
"""

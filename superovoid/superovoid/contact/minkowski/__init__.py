# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Minkowski difference of two bodies, and the exit of a line from it."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot and its measured state: robot description, joint states, transforms."""

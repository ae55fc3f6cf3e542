# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions that players replay: the grasp sweep, the bite, the sweep by the arms."""

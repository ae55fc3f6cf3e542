# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions for the players: the grasp sweep, the bite, the arm sweep."""

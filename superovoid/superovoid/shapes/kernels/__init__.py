# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled functions of bodies: surface, support, concavities, kinds, rounding."""

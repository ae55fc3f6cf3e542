# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Experiments of the paper on a lower distance bound for polyhedra."""

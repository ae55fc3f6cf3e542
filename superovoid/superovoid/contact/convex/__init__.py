# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs with bodies other than superovoids: convex cores, bodies of revolution, tori, meshes."""

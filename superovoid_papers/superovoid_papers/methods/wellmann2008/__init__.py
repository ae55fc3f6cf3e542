# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contact of two convex bodies as a search over one direction (Wellmann, Lillie, Wriggers 2008)."""

from superovoid_papers.methods.wellmann2008.direction_search import distance

__all__ = ["distance"]

"""Contact of two convex bodies as a search over one direction (Wellmann, Lillie, Wriggers 2008)."""

from superovoid_ros.methods.wellmann2008.direction_search import distance

__all__ = ["distance"]

"""Pairs with bodies other than superovoids: convex cores, bodies of revolution, tori, meshes."""

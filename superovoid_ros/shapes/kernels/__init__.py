"""Compiled functions of bodies: surface, support, dents, kinds, rounding."""

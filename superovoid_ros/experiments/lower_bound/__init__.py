"""Experiments of the paper on a lower distance bound for polyhedra."""

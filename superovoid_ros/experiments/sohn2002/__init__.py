"""Experiments of Sohn et al. 2002."""

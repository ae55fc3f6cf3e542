"""Experiments of Lopes et al. 2010."""

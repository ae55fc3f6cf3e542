"""Experiments of Gonçalves et al. 2017."""

"""Experiments of the papers and benchmarks."""

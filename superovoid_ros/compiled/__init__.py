"""How kernels are compiled and kept, and what kernels of every package use: vectors, a heap, threads."""

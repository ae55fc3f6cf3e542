"""How the node is: diagnostics, counts, mismatched topics, kernels that are compiled."""

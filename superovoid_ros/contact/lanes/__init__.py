"""Many pairs at once, in SIMD lanes."""

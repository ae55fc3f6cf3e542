# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of bodies, and reference computations that share no code with the engine, for tests and benchmarks."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How kernels are compiled and kept, and what kernels of every package use: vectors, a heap, threads."""

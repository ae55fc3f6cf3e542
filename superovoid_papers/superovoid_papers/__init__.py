# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Methods and experiments of four papers, benchmarks against other engines, and long attacks on the engine."""

__version__ = "0.1.0"

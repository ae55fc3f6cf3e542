# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How fast, how many, how much: measurements of the engine and of what it is compared with."""

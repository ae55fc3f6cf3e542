# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How the node is: diagnostics, counts, mismatched topics."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plain values of numpy: status flags, records, rows of results, rigid transforms, checks. No kernels, no solver."""

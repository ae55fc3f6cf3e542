# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Value types on top of numpy: status flags, records, result tables, rigid transforms, argument checks. No kernels."""

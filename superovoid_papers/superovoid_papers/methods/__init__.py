# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Published methods, one module or folder per paper, in the paper's notation, on top of the shapes.

They serve for comparisons; the engine never uses them. Most do not prove their answers: as everywhere, only a status
without `Status.UNPROVEN` means a proof.
"""

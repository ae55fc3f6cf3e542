# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Published methods, one module or folder a paper, written as the paper writes them, on top of the shapes.

They are here to be compared with; the engine never uses them. None proves its answer but where it says so: a status
without `Status.UNPROVEN` means a proof here as everywhere.
"""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From kernels to machine code, by numba: needed to build the package and to develop it, not to use it.

    python -m superovoid.compiler

====================  ===========================================================================================
`jit`                 kernels compiled in this process, by numba's public interface
`front_end`           kernels as LLVM's code, by parts of numba that are not public
`c_functions`         C functions that call entry points
`build`               object files of what has changed, and the shared library
====================  ===========================================================================================
"""

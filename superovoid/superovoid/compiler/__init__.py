# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compile kernels to machine code with numba: needed to build or develop the package, not to use it.

    python -m superovoid.compiler

====================  ===========================================================================================
`jit`                 compiles kernels in this process, by numba's public interface
`front_end`           translates kernels to LLVM IR, by private parts of numba
`c_functions`         generates C functions that call entry points
`build`               compiles changed kernels to object files and links the shared library
====================  ===========================================================================================
"""

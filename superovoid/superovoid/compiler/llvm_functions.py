# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Functions for kernels, written in LLVM IR."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def out_of_line(typing_context: Any) -> Any:
    """Prevent LLVM from inlining the kernel that calls this function."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "alwaysinline" not in builder.function.attributes:  # set for loops over lanes, which need inlining
            builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What kernels call that is written as LLVM's instructions."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def out_of_line(typing_context: Any) -> Any:
    """Keep the kernel that calls it out of line in its callers."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "alwaysinline" not in builder.function.attributes:  # as in loops over lanes, which need it inlined
            builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Functions for kernels, written in LLVM IR."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from superovoid.compiled.vertex_scan import BLOCK, LANES

_DOUBLE, _INT, _PLACE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_HEIGHTS, _NUMBERS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_INT, LANES)
_FUSED = ("contract",)


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _PLACE(0))
    every = ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), every)


def _first_of_highest(builder: Any, value: Any, number: Any) -> Any:
    """Return the number with the largest value, the least of equal ones, by comparing halves of two vectors."""
    width = LANES
    while width > 1:
        width //= 2
        halves = []
        for begin in (0, width):
            mask = ir.Constant(ir.VectorType(_PLACE, width), [begin + i for i in range(width)])
            halves += [builder.shuffle_vector(each, each, mask) for each in (value, number)]
        v, i, w, j = halves
        is_tied, is_before = builder.fcmp_ordered("==", w, v), builder.icmp_signed("<", j, i)
        other = builder.or_(builder.fcmp_ordered(">", w, v), builder.and_(is_tied, is_before))
        value, number = builder.select(other, w, v), builder.select(other, j, i)
    return builder.extract_element(number, _PLACE(0))


@intrinsic
def highest_vertex(typing_context: Any, pool: Any, at: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """Return the index of the highest vertex along a direction: LLVM does not vectorise numba's loop for it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pool, at, count, *n = arguments
        first = builder.gep(context.make_array(signature.args[0])(context, builder, pool).data, [at])
        parts = [_splat(builder, each, _HEIGHTS) for each in n]
        lanes, none = ir.Constant(_NUMBERS, list(range(LANES))), ir.Constant(_HEIGHTS, [-math.inf] * LANES)
        before, body, end = builder.block, builder.append_basic_block("blocks"), builder.append_basic_block("scanned")
        builder.branch(body)
        builder.position_at_end(body)
        block, best, where = (builder.phi(kind) for kind in (_INT, _HEIGHTS, _NUMBERS))
        heights = None
        for axis, part in enumerate(parts):
            place = builder.add(builder.mul(block, _INT(BLOCK)), _INT(LANES * axis))
            pointer = builder.bitcast(builder.gep(first, [place]), _HEIGHTS.as_pointer())
            product = builder.fmul(builder.load(pointer, align=8), part, flags=_FUSED)
            heights = product if heights is None else builder.fadd(heights, product, flags=_FUSED)
        higher = builder.fcmp_ordered(">", heights, best)
        here = builder.add(_splat(builder, builder.mul(block, _INT(LANES)), _NUMBERS), lanes)
        value, number = builder.select(higher, heights, best), builder.select(higher, here, where)
        following = builder.add(block, _INT(1))
        for phi, start, after in ((block, _INT(0), following), (best, none, value), (where, lanes, number)):
            phi.add_incoming(start, before)
            phi.add_incoming(after, body)
        builder.cbranch(builder.icmp_signed("<", following, count), body, end)
        builder.position_at_end(end)
        return _first_of_highest(builder, value, number)

    return types.int64(pool, types.int64, types.int64, types.float64, types.float64, types.float64), codegen

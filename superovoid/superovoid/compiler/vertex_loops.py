# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectorised loops over blocks of vertices in LLVM IR: LLVM does not vectorise numba's loop for the highest vertex."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

LANES = 8
BLOCK = 3 * LANES  # numbers per block

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_FUSED = ("contract",)


def _splat(builder: Any, value: Any, element: Any) -> Any:
    vector = ir.VectorType(element, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), every)


class _Loop:
    """Builder of a loop over blocks of vertices."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        pool, at, self._count, *n = arguments
        array = context.make_array(signature.args[0])(context, builder, pool)
        self._vector = ir.VectorType(_DOUBLE, LANES)
        self._builder = builder
        first = builder.gep(array.data, [at])
        parts = [_splat(builder, component, _DOUBLE) for component in n[:3]]
        before = builder.block
        self._body = builder.append_basic_block("blocks")
        self._end = builder.append_basic_block("scanned")
        builder.branch(self._body)
        builder.position_at_end(self._body)
        self.number = builder.phi(_INT, "block")
        self.number.add_incoming(_INT(0), before)
        self.before = before
        start = builder.mul(self.number, _INT(BLOCK))
        self._phis: list[Any] = []
        self._loads = [(builder.gep(first, [builder.add(start, _INT(LANES * axis))]), parts[axis]) for axis in range(3)]

    def loop_variable(self, start: Any) -> Any:
        """Return a value that each iteration passes on to the next."""
        # Phi nodes must precede all other instructions of their block.
        with self._builder.goto_block(self._body):
            self._builder.position_before(self.number)
            phi = self._builder.phi(start.type)
        phi.add_incoming(start, self.before)
        return phi

    def heights(self) -> Any:
        """Return the heights along n of the vertices of this block."""
        builder = self._builder
        total = None
        for pointer, part in self._loads:
            loaded = builder.load(builder.bitcast(pointer, self._vector.as_pointer()), align=8)
            product = builder.fmul(loaded, part, flags=_FUSED)
            total = product if total is None else builder.fadd(total, product, flags=_FUSED)
        return total

    def close(self, *updates: tuple[Any, Any]) -> None:
        """End the loop; `updates` are phi nodes with their values for the next iteration."""
        builder = self._builder
        following = builder.add(self.number, _INT(1))
        for phi, value in ((self.number, following), *updates):
            phi.add_incoming(value, self._body)
        builder.cbranch(builder.icmp_signed("<", following, self._count), self._body, self._end)
        builder.position_at_end(self._end)


@intrinsic
def highest_vertex(typing_context: Any, pool: Any, at: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """Return the index of the highest vertex along a direction."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loop = _Loop(context, builder, signature, arguments)
        numbers = ir.VectorType(_INT, LANES)
        best = loop.loop_variable(ir.Constant(ir.VectorType(_DOUBLE, LANES), [-math.inf] * LANES))
        where = loop.loop_variable(ir.Constant(numbers, list(range(LANES))))
        heights = loop.heights()
        higher = builder.fcmp_ordered(">", heights, best)
        lane = ir.Constant(numbers, list(range(LANES)))
        here = builder.add(_splat(builder, builder.mul(loop.number, _INT(LANES)), _INT), lane)
        best_after = builder.select(higher, heights, best)
        where_after = builder.select(higher, here, where)
        loop.close((best, best_after), (where, where_after))
        # Compare halves; among equally high vertices the first wins.
        value, number, width = best_after, where_after, LANES
        while width > 1:
            width //= 2
            halves = []
            for begin in (0, width):
                mask = ir.Constant(ir.VectorType(ir.IntType(32), width), [begin + i for i in range(width)])
                halves += [builder.shuffle_vector(each, each, mask) for each in (value, number)]
            v, i, w, j = halves
            other = builder.or_(
                builder.fcmp_ordered(">", w, v),
                builder.and_(builder.fcmp_ordered("==", w, v), builder.icmp_signed("<", j, i)),
            )
            value, number = builder.select(other, w, v), builder.select(other, j, i)
        return builder.extract_element(number, ir.IntType(32)(0))

    return types.int64(pool, types.int64, types.int64, types.float64, types.float64, types.float64), codegen

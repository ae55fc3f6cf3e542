# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generate C functions that call entry points with the arguments that `superovoid.compiled.library` passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.np import numpy_support
from numba.np.arrayobj import populate_array

from superovoid.compiled.library import array_of, fields_of

_WORD, _STATUS = ir.IntType(64), ir.IntType(32)


def type_of(hint: Any) -> types.Type:
    """Return numba's type of a type hint."""
    fields, array = fields_of(hint), array_of(hint)
    if fields is not None:
        return types.BaseTuple.from_types(tuple(map(type_of, fields)), hint if hasattr(hint, "_fields") else tuple)
    if array is not None:
        return types.Array(numpy_support.from_dtype(array[0]), array[1], "C")
    return {float: types.float64, int: types.int64, bool: types.boolean}[hint]


class _Arguments:
    """Conversion of the arguments of a C function to the arguments of an entry point."""

    def __init__(self, context: CPUContext, builder: ir.IRBuilder) -> None:
        self._context, self._builder = context, builder

    def number(self, kind: types.Type, word: ir.Value) -> ir.Value:
        """Return a number from a 64-bit word, or unchanged if it is passed by value."""
        if kind is types.boolean:
            return self._builder.icmp_signed("!=", word, _WORD(0))
        if kind is types.float64 and word.type == _WORD:
            return self._builder.bitcast(word, ir.DoubleType())
        return word

    def array(self, kind: types.Array, words: Iterator[ir.Value]) -> ir.Value:
        """Return an array, from its address and its shape."""
        context, builder = self._context, self._builder
        number = context.get_data_type(kind.dtype)
        data = builder.inttoptr(next(words), number.as_pointer())
        shape = [next(words) for _ in range(kind.ndim)]
        item = _WORD(context.get_abi_sizeof(number))
        strides, step = [], item
        for size in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, size)
        made = context.make_array(kind)(context, builder)
        populate_array(made, data, shape, strides, item, None)
        return made._getvalue()

    def value(self, kind: types.Type, words: Iterator[ir.Value]) -> ir.Value:
        """Return an argument, or a field of one."""
        if isinstance(kind, types.BaseTuple):
            return self._context.make_tuple(self._builder, kind, [self.value(each, words) for each in kind.types])
        return self.array(kind, words) if isinstance(kind, types.Array) else self.number(kind, next(words))

    def words_at(self, pointer: ir.Value) -> Iterator[ir.Value]:
        """Yield consecutive 64-bit words from memory."""
        place = 0
        while True:
            yield self._builder.load(self._builder.gep(pointer, [_WORD(place)]))
            place += 1

    def words_of(self, kind: types.Type, value: ir.Value) -> list[ir.Value]:
        """Return a result as 64-bit words."""
        if isinstance(kind, types.BaseTuple):
            parts = [self._builder.extract_value(value, place) for place in range(len(kind.types))]
            return [word for each, part in zip(kind.types, parts, strict=True) for word in self.words_of(each, part)]
        if kind is types.float64:
            return [self._builder.bitcast(value, _WORD)]
        return [value if value.type == _WORD else self._builder.zext(value, _WORD)]


def c_function(context: CPUContext, name: str, compiled: CompileResult) -> ir.Module:
    """Return a module with a C function called `name` that calls a compiled kernel."""
    module = context.codegen().create_library(name).create_ir_module(name)
    kinds, result = compiled.signature.args, compiled.signature.return_type
    parameters: list[Any] = []
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            parameters.append(_WORD.as_pointer())
        elif isinstance(kind, types.Array):
            parameters += [_WORD] * (1 + kind.ndim)
        else:
            parameters.append(ir.DoubleType() if kind is types.float64 else _WORD)
    if result is not types.none:
        parameters.append(_WORD.as_pointer())
    function = ir.Function(module, ir.FunctionType(_STATUS, parameters), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    make = _Arguments(context, builder)
    given = iter(function.args)
    arguments = [
        make.value(kind, make.words_at(next(given)) if isinstance(kind, types.BaseTuple) else given) for kind in kinds
    ]
    kernel_type = context.call_conv.get_function_type(result, kinds)
    kernel = cgutils.get_or_insert_function(module, kernel_type, compiled.fndesc.llvm_func_name)
    status, value = context.call_conv.call_function(builder, kernel, result, kinds, arguments)
    if result is not types.none:
        out = next(given)
        for place, word in enumerate(make.words_of(result, value)):
            builder.store(word, builder.gep(out, [_WORD(place)]))
    builder.ret(builder.zext(status.is_error, _STATUS))
    return module

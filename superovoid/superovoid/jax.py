# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of JAX, under `jit`, `vmap`, `grad`, `jvp`: ``from superovoid.jax import distances``.

The engine runs on the processor in double precision, called by XLA's foreign function interface, or from another
device by `jax.pure_callback`. One call returns the distances and their Jacobians, from which JAX's own operations make
the derivatives of both modes. Second derivatives are those by the joint positions of a robot without floating bases, as
for `superovoid.casadi`; others raise an error. Without ``jax_enable_x64`` the results are rounded to single precision.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, count, pairwise
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from superovoid import bridging
from superovoid.bridging import NO_HESSIANS, Bodies, Distances, Function, PairFunction, Shapes, fields_of, framework
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.values.checks import shorten
from superovoid.values.status import differentiable_rows

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax = framework("jax", "jax")
    jnp = framework("jax.numpy", "jax")
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

Array = Any
"""An array of JAX or numpy."""


def distances(a: Bodies, pose_a: Array, b: Bodies, pose_b: Array, *, threads: int | None = None) -> Distances:
    """Compute the signed distances of a batch of pairs, differentiable by poses and shape parameters.

    Parameters
    ----------
    a, b : Shape, sequence of Shape, or Shapes
        Bodies: one for all pairs, a sequence along the last batch axis, or `superovoid.bridging.Shapes`, whose array of
        parameters may be traced.
    pose_a, pose_b : (..., 4, 4) array
        Poses, body to world, m; batch axes are broadcast. Gradients are tangent to the rigid transforms.
    threads : int, optional
        As for `superovoid.distances`.

    Returns
    -------
    Distances

    Raises
    ------
    ValueError
        If shapes do not match, a pose is not a rigid transform, or a parameter is out of range; under `jit`, JAX's
        error with this message.
    """
    parameters = [side.parameters for side in (a, b) if isinstance(side, Shapes)]
    # The function is part of what `jit` compiles: parameters are inputs, not part of it.
    kind_a, kind_b = (Shapes(side.kind, None) if isinstance(side, Shapes) else side for side in (a, b))
    return _evaluate(PairFunction(kind_a, kind_b, threads), pose_a, pose_b, *parameters)


def _array(name: str, values: Any) -> Array:
    """Return an array of JAX of the default type of real numbers."""
    try:
        array = jnp.asarray(values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: must be real numbers, found {shorten(values)}: {error}") from None
    if not jnp.issubdtype(array.dtype, jnp.integer) and not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(f"{name}: must be real numbers, found {array.dtype}")
    return array.astype(jnp.result_type(float))


class StateDistances(bridging.StateDistances):
    """`superovoid.bridging.StateDistances` of arrays of JAX, which may be traced."""

    _framework = bridging.Framework(_array, jnp.broadcast_arrays, jnp.stack)

    def __call__(self, positions: Array, base_poses: Mapping[str, Array] | None = None) -> Distances:
        """Call `forward`."""
        return self.forward(positions, base_poses)

    @staticmethod
    def _evaluate(function: Function, *inputs: Array) -> Distances:
        return _evaluate(function, *inputs)


def _evaluate(function: Function, *inputs: Array) -> Distances:
    """Call the engine with inputs of equally many batch axes, so that `vmap` may add an axis in front of each."""
    arrays = list(map(_array, function.names, inputs))
    most = len(function.batch([each.shape for each in arrays]))
    ranks = [each.ndim - last for each, last in zip(arrays, function.ranks, strict=True)]
    aligned = [each.reshape((1,) * (most - rank) + each.shape) for each, rank in zip(arrays, ranks, strict=True)]
    return Distances(*_values(function, *aligned))


@dataclass(frozen=True)
class _Engine:
    """The rows of a function (`superovoid.contact.jacobians`) as a function of arrays."""

    function: Function
    shapes: tuple[tuple[int, ...], ...]
    """Those of the derivatives after the result in a row."""
    kind: np.dtype[Any]
    """That of the rows."""

    @property
    def ends(self) -> list[int]:
        """Columns at which the derivatives begin and end."""
        return list(accumulate(map(math.prod, self.shapes), initial=RESULT_LENGTH))

    def fill(self, arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
        """Write the rows for some arrays."""
        rows = out if out.dtype == np.float64 else np.empty(out.shape)
        self.function.fill(arrays, rows)
        if rows is not out:
            out[...] = rows

    def __call__(self, *arrays: Array) -> np.ndarray:
        """Return the rows for some arrays."""
        batch = self.function.batch([each.shape for each in arrays])
        out = np.empty((*batch, self.ends[-1]), self.kind)
        self.fill(list(map(np.asarray, arrays)), out)
        return out


class _Call:
    """A call of an engine in a compiled program, which keeps it: the arrays and the rows of one shape each."""

    def __init__(self, engine: _Engine, arrays: Sequence[Any], rows: Any) -> None:
        self.number = next(_NUMBERS)
        self._engine, self._count = engine, len(arrays)
        self._layouts = [
            (each.shape, each.dtype, ctypes.c_char * (math.prod(each.shape) * each.dtype.itemsize))
            for each in (*arrays, rows)
        ]

    def __call__(self, arguments: int, results: int) -> None:
        """Write the rows, given the addresses of the lists of buffers."""
        buffers = [_word(arguments + 8 * i) for i in range(self._count)]
        *arrays, rows = (
            np.ndarray(shape, kind, memory.from_address(_word(buffer + _BUFFER_ADDRESS)))
            for (shape, kind, memory), buffer in zip(self._layouts, (*buffers, _word(results)), strict=True)
        )
        self._engine.fill(arrays, rows)


_NUMBERS = count()
_CALLS: WeakValueDictionary[int, _Call] = WeakValueDictionary()
_rows = Primitive("superovoid")
_rows.def_impl(lambda *arrays, engine: jnp.asarray(engine(*arrays)))


@_rows.def_abstract_eval
def _shape_of_rows(*arrays: Any, engine: _Engine) -> Any:
    batch = engine.function.batch([each.shape for each in arrays])
    return jax.core.ShapedArray((*batch, engine.ends[-1]), engine.kind)


def _map_rows(arrays: Sequence[Array], axes: Sequence[int | None], *, engine: _Engine) -> tuple[Array, int]:
    """Add an axis in front of the batch axes, for `vmap`."""
    both = zip(arrays, axes, strict=True)
    moved = (each[None] if axis is None else jnp.moveaxis(each, axis, 0) for each, axis in both)
    return _rows.bind(*moved, engine=engine), 0


def _by_callback(*arrays: Array, engine: _Engine) -> Array:
    batch = engine.function.batch([each.shape for each in arrays])
    return jax.pure_callback(engine, jax.ShapeDtypeStruct((*batch, engine.ends[-1]), engine.kind), *arrays)


_lower_to_callback = mlir.lower_fun(_by_callback, multiple_results=False)


def _lower_on_processor(context: Any, *operands: Any, engine: _Engine) -> Any:
    """Call `_handle` with the number of a call, which the compiled program keeps."""
    if not _is_handled():
        return _lower_to_callback(context, *operands, engine=engine)
    call = _Call(engine, context.avals_in, *context.avals_out)
    _CALLS[call.number] = call
    context.module_context.keepalives.append(call)
    return jax.ffi.ffi_lowering(_TARGET)(context, *operands, number=np.int64(call.number))


batching.primitive_batchers[_rows] = _map_rows
mlir.register_lowering(_rows, _lower_to_callback)
mlir.register_lowering(_rows, _lower_on_processor, platform="cpu")


def _call(function: Function, inputs: tuple[Array, ...], order: int) -> tuple[Array, ...]:
    """Return the fields of `Distances` and the derivatives up to an order."""
    first = [each.shape[each.ndim - rank :] for each, rank in zip(inputs, function.ranks, strict=True)]
    shapes = tuple([*first, *(each * 2 for each in first)][: len(first) * order])
    engine = _Engine(function, shapes, jnp.result_type(float))
    rows = _rows.bind(*inputs, engine=engine)
    parts = zip(pairwise(engine.ends), shapes, strict=True)
    derived = (rows[..., i:j].reshape(*rows.shape[:-1], *each) for (i, j), each in parts)
    *values, status = fields_of(rows)
    status = status.astype(np.uint8)
    return (*values, status, differentiable_rows(status), *derived)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _values(function: Function, *inputs: Array) -> tuple[Array, ...]:
    return _call(function, inputs, 0)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _with_jacobians(function: Function, *inputs: Array) -> tuple[Array, ...]:
    return _call(function, inputs, 1)


def _changes(values: tuple[Array, ...], jacobians: Sequence[Array], tangents: Sequence[Array]) -> list[Array]:
    """Return the tangents of the fields of `Distances`."""
    change = jnp.zeros_like(values[0])
    for jacobian, tangent in zip(jacobians, tangents, strict=True):
        change = change + (jacobian * tangent).sum(axis=tuple(range(values[0].ndim, jacobian.ndim)))
    none = [np.zeros(each.shape, jax.dtypes.float0) for each in values[4:6]]
    return [change, *map(jnp.zeros_like, values[1:4]), *none]


@_values.defjvp
def _push_forward(
    function: Function, inputs: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    found = _with_jacobians(function, *inputs)
    return found[:6], tuple(_changes(found, found[6:], tangents))


@_with_jacobians.defjvp
def _along_twice(
    function: Function, inputs: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    if not function.has_hessians:
        raise NotImplementedError(NO_HESSIANS)
    *found, hessian = _call(function, inputs, 2)
    turned = (hessian * tangents[0][..., None, :]).sum(axis=-1)
    return tuple(found), (*_changes(tuple(found), found[6:], tangents), turned)


# XLA calls C functions that take an XLA_FFI_CallFrame (xla/ffi/api/c_api.h in the folder of jax.ffi.include_dir()).

_TARGET = "superovoid"
_FRAME = Struct("NPPPiNPqPPNPqPPNPqPPP")
"""Size, extension, API, context, stage; of arguments, results and attributes: size, extension, number, kinds, values
(of attributes, names before values)."""
_EXTENSION = Struct("NiPP")  # size, kind, next, metadata
_BUFFER_ADDRESS = Struct("NPi4x").size  # after the size, the extension and the kind of numbers
_SCALAR_ADDRESS = Struct("i4x").size  # after the kind
_API = Struct("NPNPiiPP")  # size, extension; size, extension, major and minor version; internal; XLA_FFI_Error_Create
_ERROR = Struct("NPPi4x")  # size, extension, message, code
_INVALID_ARGUMENT = 3
_Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def _read(layout: Struct, address: int) -> tuple[int, ...]:
    return layout.unpack((ctypes.c_char * layout.size).from_address(address))


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@_Handler
def _handle(frame: int) -> int | None:
    """Write the rows of an engine; return an error of XLA, or None."""
    _, extension, api, _, _, _, _, _, _, arguments, _, _, _, _, results, *_, attributes = _read(_FRAME, frame)
    if extension:  # the first call, which wants to know the version of the interface
        _, _, _, _, major, minor, _, _ = _read(_API, api)
        version = _read(_EXTENSION, extension)[3] + 24
        (ctypes.c_int * 2).from_address(version)[:] = [major, minor]
        return None
    try:
        _CALLS[_word(_word(_word(attributes) + _SCALAR_ADDRESS))](arguments, results)
    except BaseException as error:
        message = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode())
        made = ctypes.create_string_buffer(_ERROR.pack(_ERROR.size, 0, ctypes.addressof(message), _INVALID_ARGUMENT))
        return _Handler(_read(_API, api)[7])(ctypes.addressof(made))
    return None


@cache
def _is_handled() -> bool:
    """Register the handler; return whether this version of XLA has the structures above."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    if "#define XLA_FFI_API_MAJOR 0\n" not in header.read_text():
        return False
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(ctypes.cast(_handle, ctypes.c_void_p).value), platform="cpu")
    return True

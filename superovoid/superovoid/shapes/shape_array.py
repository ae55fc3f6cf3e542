# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arrays of shapes of one kind, packed for the kernels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.kernels import kinds
from superovoid.shapes.kernels.bodies import VALID, pack_bodies
from superovoid.shapes.primitives import Box, Capsule, Cone, Cylinder, Torus
from superovoid.shapes.shape import EMPTY_POOL, Shape
from superovoid.shapes.superovoid import Ellipsoid, Sphere, Superellipsoid, Superovoid
from superovoid.values import html
from superovoid.values.checks import floats
from superovoid.values.records import selection, short_repr

FloatArray = NDArray[np.float64]
AnyShape = TypeVar("AnyShape", bound=Shape)

ARGUMENTS: dict[type[Shape], dict[str, int]] = {
    Superovoid: {"semi_axes": 3, "section_exponent": 1, "profile_exponent": 1, "taper": 2},
    Superellipsoid: {"semi_axes": 3, "section_exponent": 1, "profile_exponent": 1},
    Ellipsoid: {"semi_axes": 3},
    Sphere: {"radius": 1},
    Box: {"lengths": 3},
    Capsule: {"radius": 1, "length": 1},
    Cylinder: {"radius": 1, "length": 1},
    Cone: {"radius": 1, "length": 1},
    Torus: {"major_radius": 1, "minor_radius": 1},
}
"""Arguments of the constructor of each kind, and how many numbers each has."""

_FIELDS = {kind: ARGUMENTS[Superovoid if issubclass(kind, Superovoid) else kind] for kind in ARGUMENTS}

_PRINTED_SHAPES = 5


class ShapeArray(Sequence[AnyShape], Generic[AnyShape]):
    """Many shapes of one kind, as arrays of their parameters.

    Every function that takes a sequence of shapes also takes a `ShapeArray`. Functions of many pairs then make no copy,
    and no object per shape. An index, ``shapes[0]``, returns a shape; a slice, a mask or an array of indices returns a
    smaller `ShapeArray`.

    Parameters
    ----------
    kind : type
        `Superovoid`, `Superellipsoid`, `Ellipsoid`, `Sphere`, `Box`, `Capsule`, `Cylinder`, `Cone` or `Torus`.
    *arguments, **named : array_like
        Arguments of the constructor of `kind`. Each either has a leading axis with one entry per shape, or applies to
        all shapes; at least one has a leading axis.

    Raises
    ------
    TypeError
        If `kind` is none of these, or an argument is missing or unknown.
    ValueError
        If lengths differ, or the parameters of a shape are invalid; the error names its index.

    Notes
    -----
    The arguments are attributes too, read-only, with a leading axis: ``shapes.semi_axes``, shape (n, 3). Two arrays are
    equal if they have the same kind and the same numbers. Arrays have no hash.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import ShapeArray, Sphere, Superovoid, distances
    >>> eggs = ShapeArray(Superovoid, [(0.02, 0.02, 0.03), (0.02, 0.02, 0.04)], taper=(0.1, 0.1))
    >>> eggs[1]
    Superovoid(semi_axes=(0.02, 0.02, 0.04), section_exponent=1.0, profile_exponent=1.0, taper=(0.1, 0.1))
    >>> pose = np.eye(4)
    >>> pose[2, 3] = 0.1
    >>> distances(eggs, np.eye(4), ShapeArray(Sphere, radius=[0.01, 0.03]), pose).distance.round(9).tolist()
    [0.06, 0.03]
    """

    __hash__ = None  # type: ignore[assignment]

    kind: type[AnyShape]
    """The class of the shapes."""

    def __init__(self, kind: type[AnyShape], /, *arguments: ArrayLike, **named: ArrayLike) -> None:
        counts = _counts_of(kind)
        try:
            bound = inspect.signature(kind).bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"ShapeArray of {kind.__name__}: {error}") from None
        bound.apply_defaults()
        columns = {}
        for name, value in bound.arguments.items():
            count = counts[name]
            array = floats(f"{kind.__name__}.{name}", value)
            one = (count,) if count > 1 else ()
            if array.ndim not in (len(one), len(one) + 1) or array.shape[array.ndim - len(one) :] != one:
                many = f"(n, {count})" if count > 1 else "(n,)"
                raise ValueError(f"{kind.__name__}.{name}: must have shape {many} or {one}, found {array.shape}")
            columns[name] = array.reshape(*array.shape[: array.ndim - len(one)], count)
        lengths = {name: len(array) for name, array in columns.items() if array.ndim == 2}
        if len(set(lengths.values())) != 1:
            found = ", ".join(f"{name}: {length}" for name, length in lengths.items()) or "none"
            raise ValueError(
                f"ShapeArray of {kind.__name__}: arguments with one entry a shape must have one length, found {found}"
            )
        n = next(iter(lengths.values()))
        each = [np.broadcast_to(array, (n, array.shape[-1])) for array in columns.values()]
        self._pack(kind, np.ascontiguousarray(np.hstack(each)))

    @classmethod
    def from_columns(cls, kind: type[AnyShape], columns: ArrayLike) -> ShapeArray[AnyShape]:
        """Make shapes from an array with one row of parameters per shape.

        Parameters
        ----------
        kind : type
        columns : (n, k) array_like
            All arguments of the constructor as numbers, in order: for `Superovoid` three semi-axes, section
            and profile exponent, two tapers.

        Raises
        ------
        TypeError, ValueError
            As for the constructor.
        """
        counts = _counts_of(kind)
        array, width = np.array(floats(kind.__name__, columns), order="C"), sum(counts.values())
        if array.ndim != 2 or array.shape[1] != width:
            names = ", ".join(f"{name} ({count})" for name, count in counts.items())
            raise ValueError(f"{kind.__name__}: must have shape (n, {width}) for {names}, found {array.shape}")
        made = object.__new__(cls)
        made._pack(kind, array)
        return made

    def _pack(self, kind: type[AnyShape], columns: FloatArray) -> None:
        """Store the kind and the arguments as numbers, shape (n, k), which no other object may modify."""
        rows = np.zeros((len(columns), kinds.ROW_LENGTH))
        rows[:, kinds.BLOCKS] = -1.0
        found, i = pack_bodies(kind._kind, _parameters(kind, columns), rows)
        if found != VALID:
            try:
                shape = kind(**_values_by_name(ARGUMENTS[kind], columns[i]))
            except ValueError as error:
                raise ValueError(f"shape {i} of {len(columns)}: {error}") from None
            raise RuntimeError(f"shape {i} of {len(columns)}, {shape!r}: refused by the kernels, code {found}")
        self._hold(kind, columns, rows)

    def _hold(self, kind: type[AnyShape], columns: FloatArray, rows: FloatArray) -> None:
        columns.flags.writeable = rows.flags.writeable = False
        self.kind, self._columns, self._rows = kind, columns, rows

    def __getattr__(self, name: str) -> FloatArray:
        kind = self.__dict__.get("kind")  # not set yet during unpickling
        first = 0
        for argument, count in ARGUMENTS.get(kind, {}).items():  # type: ignore[arg-type]
            if argument == name:
                return self._columns[:, first] if count == 1 else self._columns[:, first : first + count]
            first += count
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> AnyShape: ...

    @overload
    def __getitem__(self, index: slice | NDArray[Any] | Sequence[int]) -> ShapeArray[AnyShape]: ...

    def __getitem__(self, index: Any) -> Any:
        which = selection("shapes", index, len(self))
        numbers = self._columns[which]
        if isinstance(which, int):
            shape = object.__new__(self.kind)  # the kernels have checked the numbers
            shape.__dict__.update(_values_by_name(_FIELDS[self.kind], _parameters(self.kind, numbers[None])[0]))
            shape.__dict__["_body"] = kinds.PackedBody(self._rows[which], EMPTY_POOL)
            return shape
        selected = object.__new__(ShapeArray)
        selected._hold(self.kind, np.ascontiguousarray(numbers), np.ascontiguousarray(self._rows[which]))
        return selected

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeArray):
            return NotImplemented
        return self.kind is other.kind and np.array_equal(self._columns, other._columns)

    def __repr__(self) -> str:
        return f"ShapeArray({self.kind.__name__}, {len(self)} shapes)"

    def _repr_html_(self) -> str:
        """Return the arguments of the first shapes as a table, for a notebook."""
        arguments = [_values_by_name(ARGUMENTS[self.kind], row) for row in self._columns[:_PRINTED_SHAPES]]
        rows = ([str(i), *map(short_repr, each.values())] for i, each in enumerate(arguments))
        left = len(self) - _PRINTED_SHAPES
        return html.table(repr(self), ["", *ARGUMENTS[self.kind]], rows, f"and {left} more" if left > 0 else "")

    def __reduce__(self) -> tuple[Any, ...]:
        # Kernel rows may differ between versions, so they are not pickled.
        return type(self).from_columns, (self.kind, self._columns)


def _parameters(kind: type[Shape], columns: FloatArray) -> FloatArray:
    """Convert constructor arguments to fields of the shapes, as `pack_body` takes them."""
    if not issubclass(kind, Superovoid):
        return columns
    parameters = np.empty((len(columns), 7))
    parameters[:, 3:] = 1.0, 1.0, 0.0, 0.0  # for kinds without exponents or tapers
    parameters[:, : max(3, columns.shape[1])] = columns  # a sphere has one number for all three
    return parameters


def _values_by_name(counts: Mapping[str, int], numbers: FloatArray) -> dict[str, Any]:
    """Return a row as a dictionary from names to numbers or tuples of numbers."""
    values, first = numbers.tolist(), 0
    named = {}
    for name, count in counts.items():
        named[name] = values[first] if count == 1 else tuple(values[first : first + count])
        first += count
    return named


def _counts_of(kind: type[Shape]) -> dict[str, int]:
    if kind not in ARGUMENTS:
        known = ", ".join(each.__name__ for each in ARGUMENTS)
        raise TypeError(f"kind: must be one of {known}, found {getattr(kind, '__name__', repr(kind))}")
    return ARGUMENTS[kind]

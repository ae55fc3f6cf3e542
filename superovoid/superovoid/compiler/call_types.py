# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Types of calls, found once: numba's inference asks for each at least twice wherever it stands.

Part of `front_end`, and like that for versions of numba that were tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import types
from numba.core.targetconfig import ConfigStack


@contextmanager
def _not_inlined_by_force() -> Iterator[None]:
    """Compile what is looked for, as numba's own `min`, as for a kernel that is not inlined by force.

    numba compiles it once a process, with the options of the kernel that needs it first: without this the machine code
    of all others, and with it the last bits of their answers, would depend on which that is.
    """
    stack = ConfigStack()
    flags = stack.top_or_none()
    if flags is None or not flags.forceinline:
        yield
        return
    plain = flags.copy()
    plain.forceinline = False
    with stack.enter(plain):
        yield


class Calls:
    """numba's typing context, for which the type of a call is found once, and not at each place that has it.

    numba asks at least twice for every place, and tries implementation after implementation each time.

    Parameters
    ----------
    context : numba.core.typing.Context
        numba's.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._signatures: dict[Any, Any] = {}
        self._attributes: dict[Any, types.Type] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """The type of a call, found once."""
        with _not_inlined_by_force():
            return self._function_type(function, arguments, named)

    def _function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        if isinstance(function, types.Function | types.Dispatcher):
            key = function, tuple(arguments), tuple(named.items()) if named else ()
        elif function == "static_getitem" and type(arguments[1]) is int:
            key = function, *arguments
        else:
            return self._context.resolve_function_type(function, arguments, named)
        found = self._signatures.get(key)
        if found is None:
            found = self._context.resolve_function_type(function, arguments, named)
            if found is not None:  # what fails may succeed later, once more is known
                self._signatures[key] = found
        return found

    def resolve_setitem(self, target: types.Type, index: types.Type, value: types.Type) -> Any:
        """The type of an assignment to an element, found once."""
        key = "setitem", target, index, value
        found = self._signatures.get(key)
        if found is None:
            found = self._context.resolve_setitem(target, index, value)
            if found is not None:
                self._signatures[key] = found
        return found

    def resolve_getattr(self, owner: types.Type, name: str) -> types.Type | None:
        """The type of an attribute of a tuple or an array, found once."""
        if not isinstance(owner, types.BaseTuple | types.Array):
            return self._context.resolve_getattr(owner, name)
        found = self._attributes.get((owner, name))
        if found is None:
            found = self._context.resolve_getattr(owner, name)
            if found is not None:
                self._attributes[owner, name] = found
        return found


@cache
def calls_of(context: Any) -> Calls:
    """Return the one `Calls` of a typing context."""
    return Calls(context)

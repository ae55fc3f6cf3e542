# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cache of the types of calls: numba's type inference resolves each call at least twice per call site.

Part of `front_end`; like it, restricted to the tested versions of numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import types
from numba.core.targetconfig import ConfigStack


@contextmanager
def _without_forced_inlining() -> Iterator[None]:
    """Compile called functions, such as numba's own `min`, without the option `forceinline` of the caller.

    numba compiles such a function once per process, with the options of the first caller. Without this context, the
    machine code of all other callers, and the last bits of their results, would depend on which caller comes first.
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
    """numba's typing context with a cache of resolved calls, assignments to elements, and attributes.

    numba resolves each call site at least twice, and tries one implementation after another each time.

    Parameters
    ----------
    context : numba.core.typing.Context
        Context that resolves what is not in the cache.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def _resolve(self, key: Any, resolve: Any, *arguments: Any) -> Any:
        found = self._known.get(key)
        if found is None:
            found = resolve(*arguments)
            if found is not None:  # a failure may succeed later, when more types are known
                self._known[key] = found
        return found

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a call."""
        resolve = self._context.resolve_function_type
        with _without_forced_inlining():
            if isinstance(function, types.Function | types.Dispatcher):
                key = function, tuple(arguments), tuple(named.items()) if named else ()
            elif function == "static_getitem" and type(arguments[1]) is int:
                key = function, *arguments
            else:
                return resolve(function, arguments, named)
            return self._resolve(key, resolve, function, arguments, named)

    def resolve_setitem(self, *given: types.Type) -> Any:
        """Return the signature of an assignment to an element."""
        return self._resolve(("setitem", *given), self._context.resolve_setitem, *given)

    def resolve_getattr(self, owner: types.Type, name: str) -> types.Type | None:
        """Return the type of an attribute; those of tuples and arrays are cached."""
        resolve = self._context.resolve_getattr
        if not isinstance(owner, types.BaseTuple | types.Array):
            return resolve(owner, name)
        return self._resolve((owner, name), resolve, owner, name)


@cache
def calls_of(context: Any) -> Calls:
    """Return the `Calls` of a typing context, one instance per context."""
    return Calls(context)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one way kernels are compiled: numba, kept on disk, never stale.

Where compiled code is kept says `kernel_cache`, how it is compiled in less than numba's usual time `forms`. That rests
on numba's internals; with another numba than those it was tried with (`TRIED`), a kernel is `numba.njit`'s.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import config, types
from numba.core.bytecode import FunctionIdentity
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic, overload

from superovoid.compiled import kernel_cache

_log = logging.getLogger("superovoid")

# Versions of numba that `forms` was tried with.
TRIED = ((0, 68),)

# Processor time, as measured (docs/dependencies.md).
_HOW_LONG = (
    "which takes 30 to 60 s of processor time for superovoids, 20 to 30 more for convex bodies, 5 to 20 more for tori "
    "and meshes"
)


class _Sorted(set[str]):
    """Names that are always written in one order: numba makes them part of the name of compiled code."""

    def __str__(self) -> str:
        return str(sorted(self))


# Reassociation stays off: the residuals and the certificate rely on the order of operations.
FAST_MATH = _Sorted({"contract", "nsz", "arcp"})


def _number_apart() -> None:
    """Let numba number what it compiles from another number on in every process.

    The number is part of the names of compiled functions. Of functions with one qualified name, as closures have it,
    only the number says which is which, and numba counts from 1: code of two processes, linked into one kernel, had
    two functions of one name, of which the linker takes either.
    """
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(6), "big") << 8)


if hasattr(FunctionIdentity, "_unique_ids"):
    _number_apart()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_number_apart)


def _versions() -> str:
    """All that compiled code depends on beside this package."""
    options = "OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES"
    return " ".join(
        [
            numba.__version__,
            llvmlite.__version__,
            sys.version,
            llvmlite.binding.get_host_cpu_name(),
            *(f"{name}={getattr(config, name, None)}" for name in options),
        ]
    )


def _folder() -> kernel_cache.Folder:
    if config.DISABLE_JIT:
        return kernel_cache.Folder(None, "nothing is compiled")
    if not hasattr(FunctionIdentity, "_unique_ids"):
        return kernel_cache.Folder(None, f"numba {numba.__version__} names functions in a way that is not known")
    return kernel_cache.prepare(_versions())


FOLDER = _folder()


class Stopped(BaseException):
    """Compiling was ended from outside, see `watched`."""


_watch = threading.local()


@contextmanager
def watched(begun: threading.Event, stop: threading.Event) -> Iterator[None]:
    """Watch what this thread compiles.

    Parameters
    ----------
    begun : threading.Event
        Set as soon as a kernel is compiled, or waited for since another process compiles it; not where kernels are
        only loaded.
    stop : threading.Event
        Once it is set, `Stopped` is raised before the next kernel is compiled. What is compiled by then stays.
    """
    _watch.events = begun, stop
    try:
        yield
    finally:
        del _watch.events


def _look() -> None:
    """Tell who watches that something is compiled, or waited for."""
    events = getattr(_watch, "events", None)
    if events is not None:
        begun, stop = events
        begun.set()
        # The main thread is not alive any more once the interpreter ends, and waits for this one.
        if stop.is_set() or not threading.main_thread().is_alive():
            raise Stopped


_announced = False


@contextmanager
def _told(function: Callable[..., Any]) -> Iterator[None]:
    """Say once a process that kernels are being compiled: the first call then takes much longer than the others."""
    global _announced
    _look()
    if not _announced and function.__module__.startswith("superovoid"):
        _announced = True
        _log.warning("compiling kernels for this machine, %s; %s", _HOW_LONG, FOLDER.where())
    yield


def _forms() -> Any:
    """Return the module `forms`; None where it is not to be used."""
    if config.DISABLE_JIT or tuple(map(int, numba.__version__.split(".")[:2])) not in TRIED:
        return None
    from superovoid.compiled import forms

    forms.use(FOLDER, kernel_cache.Locks(FOLDER, _look), _told)
    return forms


FORMS = _forms()


def _may_be_kept(function: Callable[..., Any]) -> bool:
    """Whether the folder's name changes with the function, and the function's name says which it is."""
    if "." not in function.__module__:  # a script
        return False
    sources = kernel_cache.covered(kernel_cache.package_of(function))
    covered = function.__code__.co_filename in map(str, sources)
    return covered and function.__closure__ is None and "<locals>" not in function.__qualname__


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function with the options every kernel of this package shares.

    Reference counting of arrays is off: it is atomic, and takes a third of the time of a query. A kernel that allocates
    must ask for it with ``_nrt=True`` (the compiler refuses it otherwise), and so must its callers where they would
    hand on what it allocated; arrays handed down from kernels without counting are not counted by it either.

    Parameters
    ----------
    function : callable
        The Python function to compile.
    **options
        Further numba options, for example ``nogil=True`` for the loops that threads run; ``cache=False`` for what is
        not to be kept on disk; ``separate=True`` for a large kernel that several others call: it is compiled to machine
        code once, to which the code of its callers refers, and not with each of them again.

    Returns
    -------
    callable
        The numba dispatcher, which Python and other kernels may call. Where no folder can be used to keep it, the
        kernel is compiled in every process. With ``NUMBA_DISABLE_JIT=1``: the function itself.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    if config.DISABLE_JIT:
        return function
    separate = options.pop("separate", False)
    kept = options.pop("cache", True) and _may_be_kept(function)
    # Without it numba takes `forceinline` over from the caller that a kernel is first compiled for: its code, and with
    # it the last bit of an answer, would depend on what was asked first.
    settings = {"fastmath": FAST_MATH, "error_model": "numpy", "forceinline": False, **options}
    if FORMS is None:
        settings.pop("_nrt", None)
        return _by_numba(function, settings, kept=kept)
    made = FORMS.SeparateKernel if separate else FORMS.Kernel
    return made(function, {"nopython": True, "_nrt": False, **settings}, kept=kept)


class _Forgiving:
    """numba's own cache of a function, of which no failure is one of the function.

    Parameters
    ----------
    cache : object
        numba's.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        if not FOLDER.is_of_these_sources(at_once=False):
            return None
        try:
            return self._cache.load_overload(*arguments)
        except Exception as error:
            FOLDER.tell_of_damage(repr(self._cache), f"{type(error).__name__}: {error}")
            return None

    def save_overload(self, *arguments: Any) -> None:
        if not FOLDER.is_of_these_sources():
            return
        try:
            self._cache.save_overload(*arguments)
        except Exception as error:
            FOLDER.tell_of_loss(f"{type(error).__name__}: {error}")


def _by_numba(function: Callable[..., Any], settings: dict[str, Any], *, kept: bool) -> Any:
    """Compile as numba does by itself, cached in our folder: slower, and without checksums."""
    if not kept or FOLDER.path is None or FOLDER.problem:
        return numba.njit(function, **settings)
    previous = config.CACHE_DIR
    config.CACHE_DIR = os.path.join(FOLDER.path, "numba")
    try:
        compiled = numba.njit(function, cache=True, **settings)
    except (OSError, RuntimeError) as error:  # numba finds no place for it
        FOLDER.tell_of_loss(str(error))
        return numba.njit(function, **settings)
    finally:
        config.CACHE_DIR = previous
    if hasattr(getattr(compiled, "_cache", None), "load_overload"):
        compiled._cache = _Forgiving(compiled._cache)
    return compiled


class _Choice:
    """A kernel that is chosen by the types of the arguments, see `choice`."""

    # What numba asks a dispatcher that a kernel calls.
    is_compiling = False
    nopython_signatures = ()

    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose
        self.__doc__ = choose.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._choose(*arguments)(*arguments)

    def get_call_template(self, arguments: tuple[types.Type, ...], named: dict[str, types.Type]) -> Any:
        return self._choose(*arguments).linked.get_call_template(arguments, named)

    def get_overload(self, arguments: tuple[types.Type, ...]) -> Any:
        return self._choose(*arguments).linked.get_overload(arguments)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self)


def choice(choose: Callable[..., Any]) -> Any:
    """Let kernels call one of several kernels, chosen when they are compiled.

    Unlike a kernel handed down as an argument, it leaves no trace in the types of the callers, by which is found what
    is kept; and what is not chosen is neither loaded nor compiled.

    Parameters
    ----------
    choose : callable
        Of the types of the arguments (without compilation: of the arguments), to the kernel that is to be called. It
        may use what types and values have in common, as the length of a tuple.

    Returns
    -------
    callable
        For kernels to call.
    """
    if FORMS is not None or config.DISABLE_JIT:
        return _Choice(choose)

    def chosen(*arguments: Any) -> Any:
        return choose(*arguments)(*arguments)

    @overload(chosen)
    def _chosen(*arguments):  # numba compares signatures, annotations and all
        taken = choose(*arguments)
        return lambda *arguments: taken(*arguments)

    return chosen


@intrinsic
def _kept_out_of_line(typing_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "alwaysinline" not in builder.function.attributes:  # as in loops over lanes, which need it inlined
            builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


def _nothing() -> None:
    pass


out_of_line = _nothing if config.DISABLE_JIT else _kept_out_of_line
"""Called in a kernel: keep that kernel out of line in its callers.

numba optimises every kernel together with all it calls: without such boundaries a large function that is called from
many places is copied into each of them, and compiling takes minutes instead of seconds.
"""


def called_by(*kernels: Any, without: Iterable[Any] = ()) -> list[Any]:
    """Return kernels and all that these call, as far as their names tell: what is compiled for them at most.

    Parameters
    ----------
    *kernels
        Of `kernel`. What a `choice` may choose is not looked for.
    without
        Kernels to leave out, with what only they call.
    """
    found: dict[int, Any] = {}
    left = [each for each in kernels if isinstance(each, Dispatcher)]
    excluded = {id(each) for each in without}
    while left:
        each = left.pop()
        if id(each) in found or id(each) in excluded:
            continue
        found[id(each)] = each
        function: FunctionType = each.py_func
        names = _names(function.__code__)
        values = [function.__globals__.get(name) for name in names]
        values += [getattr(value, name, None) for value in values if isinstance(value, ModuleType) for name in names]
        left += [value for value in values if isinstance(value, Dispatcher)]
    return list(found.values())


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def is_compiled(compiled: Any) -> bool:
    """Whether a kernel was compiled, or loaded, in some form, by now."""
    return bool(compiled.overloads) or bool(getattr(vars(compiled).get("linked"), "overloads", None))

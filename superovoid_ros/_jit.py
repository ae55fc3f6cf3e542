"""The one way kernels are compiled: numba, cached on disk, never stale.

numba's own disk cache keys an entry by the file that holds the function and does not notice an edit in a
module of kernels that the function calls. A stale kernel is a wrong answer, so the cache folder used here is
named after a digest of *every* module of this package that holds kernels, of numba's version and of the
processor: an edit anywhere starts a new folder.

A kernel is compiled in two forms, as Python and as other kernels call it (`_Kernel`), and by one process at a time:
nodes that start together with an empty cache share the work (`_SharedDispatcher`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from llvmlite import ir
from numba.core import config, event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

try:
    import fcntl
except ImportError:  # not a POSIX system: there every process compiles for itself
    fcntl = None

_PACKAGE = Path(__file__).parent
_KEPT_CACHES = 4

# Reassociation stays off: the residuals and the certificate rely on the order of operations.
FAST_MATH = {"contract", "nsz", "arcp"}


def _kernel_digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(_PACKAGE.rglob("*.py")):
        text = source.read_bytes()
        if b"_jit import" in text:
            digest.update(source.relative_to(_PACKAGE).as_posix().encode())
            digest.update(text)
    digest.update(Path(__file__).read_bytes())
    digest.update(f"{numba.__version__} {sys.version} {llvmlite.binding.get_host_cpu_name()}".encode())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    override = os.environ.get("SUPEROVOID_CACHE_DIR")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "superovoid_ros"


def _prune(root: Path, keep: Path) -> None:
    """Remove the caches of old kernels, oldest first; another process may be doing the same."""
    try:
        others = sorted((d for d in root.glob("kernels-*") if d != keep), key=lambda d: d.stat().st_mtime, reverse=True)
        # A folder touched within the last hour may belong to a process that is running now.
        for folder in others[_KEPT_CACHES:]:
            if folder.stat().st_mtime < time.time() - 3600.0:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass


def _prepare_cache() -> str | None:
    folder = _cache_root() / f"kernels-{_kernel_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return None
    except OSError:
        return None
    _prune(folder.parent, folder)
    return str(folder)


CACHE_FOLDER = _prepare_cache()


class _Announcement(event.Listener):
    """Says once a process that kernels are being compiled: the first call then takes much longer than the others."""

    def on_start(self, event: event.Event) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith(__package__):
            numba.core.event.unregister("numba:compile", self)
            kept = f"kept in {CACHE_FOLDER}" if CACHE_FOLDER else "not kept: no cache folder can be written"
            logging.getLogger(__package__).warning("compiling kernels for this machine, up to half a minute; %s", kept)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())


@cache
def _locks() -> int:
    """Return the descriptor of the file of which a process locks a byte for every kernel that it compiles."""
    # Open for as long as the process lives: closing it would give up every lock.
    return os.open(os.path.join(CACHE_FOLDER, "locks"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


@cache
def _tell_of_waiting() -> None:
    logging.getLogger(__package__).warning("waiting for kernels that another process is compiling")


def _lock(byte: int) -> bool:
    """Lock a byte, as soon as no other process does; False where that cannot be had, and each compiles for itself."""
    if fcntl is None or CACHE_FOLDER is None:
        return False
    try:
        locks = _locks()
        try:
            fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            _tell_of_waiting()
            fcntl.lockf(locks, fcntl.LOCK_EX, 1, byte)
    except OSError:  # no file or file system for it, or two processes that would wait for each other
        return False
    return True


class _SharedDispatcher(CPUDispatcher):
    """numba's dispatcher, for kernels that one process compiles while the others wait, to find them in the cache."""

    _compiling = False

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock:  # before a lock of our own: threads take them in one order
            if self._compiling:  # a kernel that is needed to compile itself
                return super().compile(sig)
            name = f"{type(self).__name__} {self.py_func.__module__}.{self.py_func.__qualname__}"
            byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
            self._compiling = True
            locked = _lock(byte)
            try:
                return super().compile(sig)
            finally:
                self._compiling = False
                if locked:
                    fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, byte)


class _LinkedLibrary(JITCodeLibrary):
    """Code for other kernels to link: neither optimised, which is done once in the callers, nor machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        module = self._final_module
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.external:
                function.linkage = "linkonce_odr"  # may be defined in many callers, and dropped where it was inlined
        self._shared_module = module  # what callers link
        # numba stores a pointer in a global variable of every function it compiles; they are all that is loaded.
        loaded = self._codegen._create_empty_module(module.name)
        for variable in module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                pointer = ir.IntType(8).as_pointer()
                environment = ir.GlobalVariable(loaded, pointer, variable.name)
                environment.linkage, environment.initializer = "common", ir.Constant(pointer, None)
        self._final_module = llvmlite.binding.parse_assembly(str(loaded))
        super()._finalize_final_module()


class _LinkedCompiler(Compiler):
    """numba's compiler, up to the code that other kernels link."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _Linked(_SharedDispatcher):
    """A kernel as other kernels call it."""


class _Kernel(_SharedDispatcher):
    """A kernel with two forms, each compiled when it is first needed.

    Python calls machine code with everything the kernel calls in it. Kernels call a form that is only good for being
    linked into theirs, neither optimised nor machine code, and without the wrapper by which Python calls: together
    these are half the work of compiling. Any kernel may be called both ways, and then has both forms.
    """

    cached = False

    def enable_caching(self) -> None:
        self.cached = True
        super().enable_caching()

    @cached_property
    def linked(self) -> CPUDispatcher:
        """What kernels call."""
        options = {**self.targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        form = _Linked(self.py_func, targetoptions=options, pipeline_class=_LinkedCompiler)
        if self.cached:
            with _cached_in("linked"):
                form.enable_caching()
        return form

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """The type that kernels see, by which they find what they call."""
        return types.Dispatcher(self.linked)


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    """Let what numba compiles be cached in a folder of the cache."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = os.path.join(CACHE_FOLDER, folder) if CACHE_FOLDER else previous
    try:
        yield
    finally:
        config.CACHE_DIR = previous


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
        Further numba options, for example ``nogil=True`` for the loops that threads run.

    Returns
    -------
    callable
        The numba dispatcher, which Python and other kernels may call. Where no cache folder can be written the kernel
        is compiled in every process.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    settings = {
        "nopython": True,
        "fastmath": FAST_MATH,
        "error_model": "numpy",
        "_nrt": False,
        "no_cfunc_wrapper": True,
    }
    if config.DISABLE_JIT:
        return function
    cache = options.pop("cache", CACHE_FOLDER is not None)
    compiled = _Kernel(function, targetoptions={**settings, **options})
    if cache:
        with _cached_in("called"):
            compiled.enable_caching()
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

    Unlike a kernel handed down as an argument, it leaves no trace in the types of the callers, by which numba finds
    what is cached; and what is not chosen is neither loaded nor compiled.

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
    return _Choice(choose)


@intrinsic
def out_of_line(typing_context: Any) -> Any:
    """Keep the kernel that calls this out of line in its callers.

    numba optimises every kernel together with all it calls: without such boundaries a large function that is called
    from many places is copied into each of them, and compiling takes minutes instead of seconds.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "alwaysinline" not in builder.function.attributes:  # as in loops over lanes, which need it inlined
            builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen

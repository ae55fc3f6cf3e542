# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How numba compiles the kernels of this package in two thirds of its usual time, and what of that is kept on disk.

A kernel has two forms, each compiled when it is first needed:

=========  =============================================================================================
called     machine code for Python to call, with everything the kernel calls in it
linked     for kernels to call: only good for being linked into theirs, neither optimised nor machine
           code (both happen once, in the callers), and without the wrapper by which Python calls
=========  =============================================================================================

A *separate* kernel has one form for both: machine code of its own, that the code of its callers refers to by name.

A kernel becomes the same machine code in every process, whatever was compiled before. numba alone does not see to that:
options go on from a caller to what it calls first, sets of strings decide about the order of values, and code read from
disk is optimised otherwise than the same code fresh.

All this rests on parts of numba that are not its public interface, so `jit` uses it only with versions of numba that
it was tried with.
"""

from __future__ import annotations

import gc
import importlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import CodeType
from typing import Any

import llvmlite.binding
from numba.core import event, ir, sigutils, types
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.typed_passes import DumpParforDiagnostics, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    TranslateByteCode,
    WithLifting,
)

from superovoid.compiled import kernel_cache
from superovoid.compiled.call_types import calls_of

# What no kernel needs: `with`, errors with arguments that are computed, functions to be inlined before they are typed,
# `literally` and `literal_unroll`, fused expressions of arrays. Kernels that need one of them do not compile.
_LEFT_OUT = {
    WithLifting,
    RewriteDynamicRaises,
    InlineInlinables,
    InlineOverloads,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
    NopythonRewrites,
    DumpParforDiagnostics,
}
# What only functions with functions inside need, as generator expressions are.
_FOR_CLOSURES = {InlineClosureLikes, MakeFunctionToJitFunction}

_ENVIRONMENT = "_ZN08NumbaEnv"  # what the names begin with of the variables by which code finds Python's objects

# Objects that numba makes while it compiles hardly ever become garbage before the end of it, and there are many. What
# was looked at once is not looked at again before the end.
_COLLECTED_AFTER, _NEVER = 200_000, 1_000_000


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Have Python look for garbage less often: a seventh of the time of compiling."""
    often, *others = gc.get_threshold()
    if 0 < often < _COLLECTED_AFTER:
        gc.set_threshold(_COLLECTED_AFTER, _NEVER, *others[1:])
    try:
        yield
    finally:
        gc.set_threshold(often, *others)


class _Flags(Flags):
    """Options of a compilation; numba compares them thousands of times for every kernel."""

    __slots__ = ()
    _hash: int | None = None

    def __hash__(self) -> int:
        if _Flags._hash is None:
            _Flags._hash = super().__hash__()  # numba's is the same for all flags
        return _Flags._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Flags):
            return super().__eq__(other)
        own, others = self._values, other._values
        # What is not set is as if it were set to its default.
        return own == others or all(
            own.get(name, self.options[name].default) == others.get(name, self.options[name].default)
            for name in own.keys() | others.keys()
        )


class _Options(_FunctionCompiler):
    """numba's step from a function to its compiler."""

    def _customize_flags(self, flags: Flags) -> Flags:
        return _Flags(flags)


@register_pass(mutates_CFG=False, analysis_only=False)
class _OrderValues(FunctionPass):
    """Hand values to the next block in the order of their names: numba takes that of a set of strings.

    That order is another one in every process, by which the same kernel would get other machine code, and round
    otherwise.
    """

    _name = "order_values"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            handed = [i for i, each in enumerate(block.body) if _is_handed_on(each)]
            each_in_order = sorted((block.body[i] for i in handed), key=lambda each: each.target.name)
            for i, each in zip(handed, each_in_order, strict=True):
                block.body[i] = each
        return True


def _is_handed_on(statement: Any) -> bool:
    return isinstance(statement, ir.Assign) and statement.target.name.startswith("$phi")


class _KernelCompiler(Compiler):
    """numba's compiler without the passes that kernels do not need."""

    def __init__(self, typing_context: Any, *others: Any) -> None:
        super().__init__(calls_of(typing_context), *others)

    def define_pipelines(self) -> list[PassManager]:
        pipelines = super().define_pipelines()
        code = self.state.func_id.code
        without = _LEFT_OUT
        if not any(isinstance(constant, CodeType) for constant in code.co_consts):
            without = without | _FOR_CLOSURES
        for pipeline in pipelines:
            pipeline.passes[:] = [(each, name) for each, name in pipeline.passes if each not in without]
            pipeline.add_pass_after(_OrderValues, TranslateByteCode)
            pipeline.finalize()
        return pipelines


class _WithoutEnvironment:
    """numba's code generator, for code that never looks for Python's objects."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, _name: str, _environment: Any) -> None:
        """Nothing: there is no variable for it."""


def _defined(library: Any) -> frozenset[str]:
    """Return the names of the functions that a library defines, found once."""
    names = vars(library).get("superovoid_defined")
    if names is None:
        module = library._get_module_for_linking()
        names = frozenset(function.name for function in module.functions if not function.is_declaration)
        library.superovoid_defined = names
    return names


def _least(libraries: list[Any]) -> list[Any]:
    """Return those of some libraries that define all that they all define, largest first."""
    chosen = []
    there: set[str] = set()
    for library in sorted(dict.fromkeys(libraries), key=lambda each: -len(_defined(each))):
        names = _defined(library)
        if not names or not names <= there:
            chosen.append(library)
            there |= names
    return chosen


def _apart(libraries: Iterable[Any], is_first: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Return those libraries of which something is so, and the others."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for each in dict.fromkeys(libraries):
        parts[0 if is_first(each) else 1].append(each)
    return parts


def _all_called(libraries: list[_LinkedLibrary]) -> list[_LinkedLibrary]:
    """Return libraries and all that these call, each after all of its callers."""
    done: dict[_LinkedLibrary, None] = {}
    begun: set[_LinkedLibrary] = set()

    def visit(library: _LinkedLibrary) -> None:
        if library not in begun:
            begun.add(library)
            for each in reversed(library.calls):
                visit(each)
            done[library] = None

    for each in reversed(libraries):
        visit(each)
    return list(reversed(done))


class _Library(JITCodeLibrary):
    """Code of a kernel."""

    def _optimize_functions(self, module: Any) -> None:
        # As numba does, but with one pass manager for all, and without those that are only declared.
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._linking_libraries = self._to_link()
        super().finalize()

    def _to_link(self) -> list[Any]:
        """Return what to link, callers before what they call: LLVM links a function that is asked for by then only."""
        own, others = _apart(self._linking_libraries, lambda each: isinstance(each, _LinkedLibrary))
        return [*_all_called(own), *_least(others)]


class _LinkedLibrary(_Library):
    """Code for other kernels to link: neither optimised, which is done once in the callers, nor machine code.

    It does not hold what it calls: that is linked beside it, once, where machine code is made.

    Attributes
    ----------
    calls : list of _LinkedLibrary
        What it calls.
    kept : tuple or None
        By what another process finds it, as `_is_there` has it. Code that is not kept is copied into its callers'.
    """

    kept: tuple[str, str, tuple[types.Type, ...], str] | None = None

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.calls: list[_LinkedLibrary] = []

    def _to_link(self) -> list[Any]:
        libraries = self._linking_libraries
        kept, copied = _apart(libraries, lambda each: isinstance(each, _LinkedLibrary) and each.kept is not None)
        for library in copied:
            if isinstance(library, _LinkedLibrary):
                kept += library.calls
        self.calls = list(dict.fromkeys(kept))
        # What is copied holds what it has copied itself: the largest come first, and hold most of what the others do.
        return _least(copied)

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def add_ir_module(self, ir_module: Any) -> None:
        self._raise_if_finalized()
        text = normalize_ir_text(str(ir_module))
        # Declared for every function; used by what raises errors with computed arguments, prints, or holds objects.
        if text.count(_ENVIRONMENT) > sum(name.startswith(_ENVIRONMENT) for name in ir_module.globals):
            raise NotImplementedError(f"{self.name}: a kernel that kernels call may not need Python's objects")
        module = llvmlite.binding.parse_assembly(text)
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.external:
                function.linkage = "linkonce_odr"  # may be defined in many callers, and dropped where it was inlined
        # As another process reads it: LLVM's optimisations depend on the order in which uses of a value are listed,
        # which bitcode does not keep. So callers get the same machine code whoever compiled what they call.
        self._read(self._final_module.as_bitcode())

    def _read(self, bitcode: bytes) -> None:
        self._bitcode = bitcode
        self._final_module = self._shared_module = llvmlite.binding.parse_bitcode(bitcode)
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        self._ensure_finalized()
        return self.name, "linked", self._bitcode


class _LoadedLibrary(_Library):
    """Machine code. Callers of a separate kernel refer to it by name and link nothing."""

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = llvmlite.binding.parse_assembly(str(self._codegen._create_empty_module(self.name)))
        return self._shared_module

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        self._ensure_finalized()
        names = [
            value.name
            for values in (self._final_module.functions, self._final_module.global_variables)
            for value in values
            if not value.is_declaration
        ]
        return self.name, "loaded", (self._get_compiled_object(), names)


def _library(codegen: Any, parts: tuple[str, str, Any]) -> JITCodeLibrary:
    """Return a library as it was serialized."""
    name, kind, data = parts
    if kind == "linked":
        library = _LinkedLibrary(codegen, name)
        library._read(data)
        library._finalize_dynamic_globals()
    else:
        code, names = data
        library = _LoadedLibrary(codegen, name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
    return library


class _Linked(_KernelCompiler):
    """The compiler of what kernels link."""

    library = _LinkedLibrary

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _Loaded(_Linked):
    """The compiler of what Python calls."""

    library = _LoadedLibrary


class _Dispatcher(CPUDispatcher):
    """numba's dispatcher, for kernels that are kept on disk, and that one process compiles while the others wait.

    Attributes
    ----------
    kept : bool
        Whether it is kept.
    """

    form = ""
    compiler = _Loaded

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, kept: bool) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=self.compiler)
        self._compiler = _Options(function, self.targetdescr, options, self.locals, self.compiler)
        self.kept = kept
        self._busy: set[tuple[types.Type, ...]] = set()

    def compile(self, sig: Any) -> Any:
        arguments, wanted = sigutils.normalize_signature(sig)
        arguments = tuple(arguments)
        with global_compiler_lock:
            known = self.overloads.get(arguments)
            if known is None:
                if not self._can_compile:
                    raise RuntimeError("compilation disabled")
                with self._compiling_counter:
                    if arguments in self._busy:  # a kernel that is needed to compile itself
                        return super().compile(sig)
                    self._busy.add(arguments)
                    try:
                        known = self._found_or_compiled(arguments, wanted)
                    finally:
                        self._busy.discard(arguments)
        return known.entry_point

    def _found_or_compiled(self, arguments: tuple[types.Type, ...], wanted: types.Type | None) -> CompileResult:
        name = f"{self.form} {self.py_func.__module__}.{self.py_func.__qualname__} {arguments}"
        found = self._load(name)
        if found is None:
            with _parts.locks.held(name) as waited:
                found = self._load(name) if waited else None
                if found is None:
                    with _parts.told(self.py_func), _rarely_collected():
                        return self._compiled(name, arguments, wanted)
        return found

    def _compiled(self, name: str, arguments: tuple[types.Type, ...], wanted: types.Type | None) -> CompileResult:
        details = {"dispatcher": self, "args": arguments, "return_type": wanted}
        with event.trigger_event("numba:compile", data=details):
            # Without what numba only shows to people, with which every step of a kernel would stay in memory.
            result = self._compiler.compile(arguments, wanted)._replace(type_annotation="", metadata=None)
            self.add_overload(result)
        if self.kept:
            self._save(name, result)
        return result

    # --- What is kept ---

    def _file(self, name: str) -> str:
        # The name of the file is that of the function, for people, and a digest of all.
        package = kernel_cache.package_of(self.py_func)
        own = "" if package == kernel_cache.PACKAGE else kernel_cache.digest(package)
        parts = (name, own, self.targetctx.codegen().magic_tuple())
        digest = kernel_cache.hashlib.sha256(repr(parts).encode()).hexdigest()
        return f"{self.form}-{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__name__}-{digest[:24]}"

    def _save(self, name: str, result: CompileResult) -> None:
        if result.library.has_dynamic_globals or result.lifted:
            return
        needed = [
            _separate[function.name]
            for function in result.library._final_module.functions
            if function.is_declaration and function.name in _separate
        ]
        linked = [each.kept for each in getattr(result.library, "calls", ())]
        result.fndesc.typemap = result.fndesc.calltypes = None  # as numba does: they cannot be pickled, nor are needed
        parts = (
            result.library.serialize_using_object_code(),
            result.fndesc,
            result.environment,
            result.signature,
            result.reload_init,
            [] if isinstance(result.library, _LinkedLibrary) else result._find_referenced_environments(),
        )
        _parts.folder.write(self._file(name), dumps((needed, linked, parts)))

    def _load(self, name: str) -> CompileResult | None:
        """Return what is kept; None where nothing is, or nothing that can be used."""
        if not self.kept:
            return None
        file = self._file(name)
        data = _parts.folder.read(file)
        if data is None:
            return None
        self.targetctx.refresh()
        try:
            needed, linked, parts = pickle.loads(data)
            # What this one refers to by name must be there, and bear that name, before its code is loaded.
            if not all(_is_there(*one) for one in [*needed, *linked]):
                return None
            result = self._restored(*parts)
            if linked:
                result.library.calls = [_find(*one[:2]).overloads[one[2]].library for one in linked]
        except Exception as error:
            _parts.folder.tell_of_damage(file, f"{type(error).__name__}: {error}")
            return None
        context = self.targetctx
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.add_overload(result)
        return result

    def _restored(
        self, library: tuple[str, str, Any], fndesc: Any, environment: Any, signature: Any, reload_init: Any, used: Any
    ) -> CompileResult:
        context = self.targetctx
        library = _library(context.codegen(), library)
        for act in reload_init:
            act()
        entry = context.get_executable(library, fndesc, environment)
        for each in used:
            library.codegen.set_env(each.env_name, each)
        return compile_result(
            target_context=context,
            typing_context=context.typing_context,
            library=library,
            environment=environment,
            entry_point=entry,
            fndesc=fndesc,
            type_annotation="",
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=reload_init,
            referenced_envs=used,
        )


class _LinkedForm(_Dispatcher):
    """A kernel as other kernels call it."""

    form = "linked"
    compiler = _Linked

    def add_overload(self, result: CompileResult) -> None:
        """Keep what was compiled, and say how callers find it in another process."""
        super().add_overload(result)
        module, name = self.py_func.__module__, self.py_func.__qualname__
        if self.kept and _find(module, name) is self:
            result.library.kept = module, name, result.signature.args, result.fndesc.llvm_func_name

    def get_call_template(self, arguments: tuple[types.Type, ...], named: dict[str, types.Type]) -> Any:
        # numba would compile it once more for every integer that it is called with.
        plain = tuple(map(types.unliteral, arguments))
        return super().get_call_template(plain, {name: types.unliteral(each) for name, each in named.items()})


class Kernel(_Dispatcher):
    """A kernel as Python calls it.

    Parameters
    ----------
    function : callable
        The Python function.
    options : dict
        numba's options.
    kept : bool
        Whether compiled code is kept on disk.
    """

    form = "called"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, kept: bool) -> None:
        super().__init__(function, {**options, "no_cfunc_wrapper": True}, kept=kept)

    @cached_property
    def linked(self) -> CPUDispatcher:
        """What kernels call."""
        return _LinkedForm(self.py_func, {**self.targetoptions, "no_cpython_wrapper": True}, kept=self.kept)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """The type that kernels see, by which they find what they call."""
        return types.Dispatcher(self.linked)


class SeparateKernel(Kernel):
    """A kernel with machine code of its own, which the code of its callers refers to by name."""

    form = "separate"

    @property
    def linked(self) -> CPUDispatcher:
        """Itself: it is compiled where it is linked."""
        return self

    def add_overload(self, result: CompileResult) -> None:
        """Keep what was compiled, and remember how to find it again by its symbol."""
        super().add_overload(result)
        where = self.py_func.__module__, self.py_func.__qualname__
        _separate[result.fndesc.llvm_func_name] = (*where, result.signature.args, result.fndesc.llvm_func_name)


# Names in machine code -> the separate kernel with its arguments, and again the name.
_separate: dict[str, tuple[str, str, tuple[types.Type, ...], str]] = {}


def _find(module: str, name: str) -> Any:
    """Return the kernel of that name as kernels call it; None where there is none."""
    return getattr(getattr(importlib.import_module(module), name, None), "linked", None)


def _is_there(module: str, name: str, arguments: tuple[types.Type, ...], symbol: str) -> bool:
    """Load or compile a kernel that kernels call; whether its code has that name."""
    kernel = _find(module, name)
    kernel.compile(arguments)
    return kernel.overloads[arguments].fndesc.llvm_func_name == symbol


class _Parts:
    """What `jit` has chosen: where kernels are kept, who compiles, and how that is told."""

    folder: kernel_cache.Folder
    locks: kernel_cache.Locks
    told: Callable[[Callable[..., Any]], Any]


_parts = _Parts()


def use(folder: kernel_cache.Folder, locks: kernel_cache.Locks, told: Callable[[Callable[..., Any]], Any]) -> None:
    """Say where kernels are kept, who compiles, and what is entered with a function while that is compiled."""
    _parts.folder, _parts.locks, _parts.told = folder, locks, told

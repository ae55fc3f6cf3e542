# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Translate kernels to LLVM IR with numba's compiler, in two thirds of its usual time.

numba optimises each kernel together with everything it calls, and compiles it to machine code, before it goes on to the
callers. Here a kernel becomes LLVM IR to link into its callers; optimisation and code generation run once per
object file (`build`). A *separate* kernel has its own object file, and its callers refer to it by name.

This module uses private parts of numba, and therefore accepts tested versions only (`TRIED`).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import CodeType
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_machinery import PassManager
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import AnnotateTypes, DumpParforDiagnostics, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    WithLifting,
)

from superovoid.compiler.call_types import calls_of
from superovoid.compiler.jit import SETTINGS, python_of, show

TRIED = ((0, 68),)
"""Tested versions of numba."""
IS_TRIED = tuple(map(int, numba.__version__.split(".")[:2])) in TRIED
"""Whether the installed numba is a tested version."""

# Passes that no kernel needs: for `with`, errors with computed arguments, functions inlined before type inference,
# `literally` and `literal_unroll`, arguments that are None, fused array expressions, annotated sources. A kernel that
# needs one of these does not compile.
_LEFT_OUT = {
    WithLifting,
    RewriteDynamicRaises,
    InlineInlinables,
    InlineOverloads,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
    RewriteSemanticConstants,
    DeadBranchPrune,
    NopythonRewrites,
    AnnotateTypes,
    DumpParforDiagnostics,
}
# Passes for functions with inner functions, such as generator expressions.
_FOR_CLOSURES = {InlineClosureLikes, MakeFunctionToJitFunction}


Find = Callable[[Any, tuple[types.Type, ...]], tuple[str, types.Type | None]]
Add = Callable[[str, CompileResult], None]


class _KernelCompiler(Compiler):
    """numba's compiler without the passes that kernels do not use."""

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
            pipeline.finalize()
        return pipelines


class Code(JITCodeLibrary):
    """LLVM IR of a kernel, or of a numba function that kernels call, with optimisation per function only.

    Attributes
    ----------
    symbol : str
        Name of a separate kernel in the shared library; empty for other kernels.
    """

    symbol = ""

    def _optimize_functions(self, module: Any) -> None:
        # Like numba, but with one pass manager for all functions, and without functions that are only declared.
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Finish the module without optimising it as a whole, linking or loading it."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"  # LLVM may drop it after inlining
        self._shared_module = self._final_module
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no code is loaded."""
        self._ensure_finalized()
        return 0

    def all_called(self) -> list[Any]:
        """Return the code to link into this code, callers before the functions they call."""
        done: dict[Any, None] = {}
        begun = {self}

        def visit(library: Any) -> None:
            for each in reversed(library._linking_libraries):
                if each not in begun and not getattr(each, "symbol", ""):
                    begun.add(each)
                    visit(each)
            done[library] = None

        visit(self)
        return list(reversed(done))[1:]

    def separate_called(self) -> list[str]:
        """Return the symbols of the separate kernels called by this code or by code linked into it."""
        linked = (each for library in (self, *self.all_called()) for each in library._linking_libraries)
        return sorted({each.symbol for each in linked if getattr(each, "symbol", "")})

    def bitcode(self) -> bytes:
        """Return this code, with all code linked into it, as bitcode."""
        self._ensure_finalized()
        module = self._final_module.clone()
        # Callers first: LLVM links a function only if the module already refers to it.
        for each in self.all_called():
            module.link_in(each._get_module_for_linking(), preserve=True)
        return bytes(module.as_bitcode())


class _Dispatcher(CPUDispatcher):
    """numba's dispatcher of a kernel."""

    def __init__(self, kernel: Any) -> None:
        options = {name: value for name, value in kernel.kernel_options.items() if name != "separate"}
        settings = {"nopython": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        options = {**settings, **SETTINGS, **options}
        super().__init__(python_of(kernel), targetoptions=options, pipeline_class=_KernelCompiler)

    def get_call_template(self, arguments: tuple[types.Type, ...], named: dict[str, types.Type]) -> Any:
        # Otherwise numba would compile the kernel again for each literal integer argument.
        plain = tuple(map(types.unliteral, arguments))
        return super().get_call_template(plain, {name: types.unliteral(each) for name, each in named.items()})


class _SeparateDispatcher(_Dispatcher):
    """numba's dispatcher of a separate kernel; compiles it unless its object file exists.

    Parameters
    ----------
    kernel : callable
    find, add : callable
        As for `FrontEnd`.
    """

    def __init__(self, kernel: Any, find: Find, add: Add) -> None:
        super().__init__(kernel)
        self._kernel, self._find, self._add = kernel, find, add

    def compile(self, arguments: tuple[types.Type, ...]) -> Any:
        """Compile the kernel for given argument types, unless callers can refer to an existing object file by name."""
        if arguments in self.overloads:
            return self.overloads[arguments].entry_point
        symbol, kind = self._find(self._kernel, arguments)
        if kind is None:
            made = super().compile(arguments)
            result = self.overloads[arguments]
            self._add(symbol, result)
        else:
            result = self._declare(symbol, arguments, kind)
            made = result.entry_point
        result.library.symbol = symbol
        return made

    def _declare(self, symbol: str, arguments: tuple[types.Type, ...], kind: types.Type) -> CompileResult:
        """Return a compile result that only declares the kernel, for its callers."""
        context, function = self.targetdescr.target_context, self.py_func
        described = PythonFunctionDescriptor(
            True,
            function.__module__,
            function.__qualname__,
            symbol,
            "",
            {},
            kind,
            {},
            [*signature(function).parameters],
            (),
            argtypes=arguments,
        )
        library = Code(context.codegen(), symbol)
        library.finalize()
        result = compile_result(
            typing_context=self.typingctx,
            target_context=context,
            entry_point=symbol,  # key by which numba finds the function
            signature=kind(*arguments),
            objectmode=False,
            fndesc=described,
            library=library,
        )
        context.insert_user_function(symbol, described, [library])
        self.overloads[arguments] = result
        self._add(symbol, result)
        return result


class FrontEnd:
    """numba's compiler, configured for kernels. At most one per process.

    Parameters
    ----------
    find : callable
        Takes a separate kernel and its argument types; returns its name in the shared library, and its result type, or
        None if the kernel must be compiled.
    add : callable
        Called with the name and the compile result of a separate kernel, before its callers are compiled.
    """

    def __init__(self, find: Find, add: Add) -> None:
        self._find, self._add = find, add
        self.context = cpu_target.target_context
        rtsys.initialize(self.context)  # before `Code` is set: this needs loaded code
        codegen = self.context.codegen()
        codegen._library_class = Code
        codegen.set_env = lambda *_: None  # kernels use no environment of Python objects
        event.broadcast = lambda _: None  # of compiler passes and locks: nobody listens

    def _dispatcher_of(self, kernel: Any) -> _Dispatcher:
        if kernel.kernel_options.get("separate"):
            return _SeparateDispatcher(kernel, self._find, self._add)
        return _Dispatcher(kernel)

    def compile(self, kernel: Any, arguments: tuple[types.Type, ...]) -> CompileResult:
        """Compile a kernel, and the functions it calls, for given argument types."""
        dispatcher = getattr(kernel, "dispatcher", None) or show(kernel, self._dispatcher_of)
        dispatcher.compile(arguments)
        return dispatcher.overloads[arguments]

    def link(self, name: str, module: Any, called: CompileResult) -> Code:
        """Return an LLVM module, which calls a kernel, as code linked to that kernel."""
        code = Code(self.context.codegen(), name)
        code.add_ir_module(module)
        code.add_linking_library(called.library)
        return code

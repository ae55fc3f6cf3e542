# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One object file of machine code, from LLVM IR."""

from __future__ import annotations

import os
from pathlib import Path

import llvmlite.binding as llvm


def write_object(bitcode: bytes, symbol: str, names: dict[str, str], level: str, path: Path) -> None:
    """Optimise LLVM IR and write it as an object file that defines one symbol."""
    target = llvm.Target.from_triple(llvm.get_process_triple())
    # LLVM avoids vectors of 512 bits on processors that run slower with them; loops over lanes take 0.8 of the time.
    features = "-prefer-256-bit" if level == "x86-64-v4" else ""
    machine = target.create_target_machine(cpu=level, features=features, opt=3, reloc="pic", codemodel="default")
    module = llvm.parse_bitcode(bitcode)
    for function in module.functions:
        function.name = names.get(function.name, function.name)
    made = module.get_function(symbol)
    made.linkage = "external"
    if symbol in names.values():
        made.visibility = "hidden"  # separate kernels are called by code of this library only
    for values in (module.functions, module.global_variables):
        for value in values:
            if not value.is_declaration and value.name != symbol:
                value.linkage = "internal"  # before optimisation, which then drops what is inlined everywhere
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    write(path, machine.emit_object(module))


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)

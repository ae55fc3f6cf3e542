# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the bits of an answer depend on beside the question: code, compiler, processor, mathematical functions.

Kernels are compiled for the processor they run on. Products and sums are contracted there (FAST_MATH in
`compiled/jit.py`), where it has an instruction for that. The sine of the C library has a form of its own for such
processors, too. So two processors may give other last bits, both within the certified interval. Chunks of one data set
are computed with one arithmetic.
"""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core import config as numba_config
from numba.core.codegen import get_host_cpu_features

from superovoid.compiled import kernel_cache
from superovoid.compiled.kernels import MODE

# What a C library chooses the form of its sine, logarithm or power by. (By others it chooses forms with the same bits.)
_CHOOSING = ("avx", "avx2", "fma", "fma4")
_OPTIONS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")  # numba's


@cache
def arithmetic() -> dict[str, Any]:
    """What decides about the last bits of this process's answers; plain values."""
    config: Any = numba_config  # its settings are made as it is imported
    has = llvmlite.binding.get_host_cpu_features()
    name = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    enabled = sorted(each for each in features.split(",") if each.startswith("+"))
    return {
        "kernels": _kernels(),
        "compiled": MODE,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "processor": name,
        "instructions": hashlib.sha256(",".join(enabled).encode()).hexdigest()[:16],
        "options": " ".join(f"{each}={getattr(config, each, None)}" for each in _OPTIONS),
        "vectors of functions": bool(getattr(config, "USING_SVML", False)),
        "C library": " ".join(platform.libc_ver()) or platform.system(),
        "C library chooses by": ",".join(each for each in _CHOOSING if has.get(each)),
        "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", ""),
    }


def _kernels() -> str:
    """A digest of all modules that kernels compile in."""
    digest = hashlib.sha256()
    for source, text in kernel_cache.covered().items():
        digest.update(f"{source.name} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()[:16]


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Words on what differs; empty where nothing does."""
    names = [name for name in dict.fromkeys([*ours, *theirs]) if ours.get(name) != theirs.get(name)]
    return "; ".join(f"{name} {theirs.get(name)!r} there, {ours.get(name)!r} here" for name in names)

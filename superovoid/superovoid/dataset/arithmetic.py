# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Describe the arithmetic that determines the last bits of results: machine code and mathematical functions.

Products and sums are contracted if the instruction set of the machine code has fused multiply-add; the sine of the C
library has a separate version for such processors, too. Results of two processors may therefore differ in the last
bits, both within the certified interval. All chunks of a data set are computed with the same arithmetic.
"""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from superovoid.compiled.kernels import MODE

# Processor features by which a C library selects its version of sine, logarithm or power. (Versions that it selects by
# other features have the same bits.)
_CHOOSING = ("avx", "avx2", "fma", "fma4")
_PACKAGE = Path(__file__).parents[1]


@cache
def arithmetic() -> dict[str, Any]:
    """Return everything that determines the last bits of this process's results, as plain values."""
    return {
        "kernels": _kernels(),
        "compiled": MODE,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()) or platform.system(),
        "C library chooses by": ",".join(each for each in _CHOOSING if each in _features()),
        "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", ""),
    }


def _kernels() -> str:
    """Return a digest of the machine code, or of the sources and the compiler that produce it in this process."""
    digest = hashlib.sha256()
    if MODE == "library":
        from superovoid.compiled import library

        digest.update(library.path().read_bytes())
    else:
        for source in sorted(_PACKAGE.rglob("*.py")):
            digest.update(source.read_bytes())
    if MODE == "jit":
        from superovoid.compiler import jit

        digest.update(jit.versions().encode())
    return digest.hexdigest()[:16]


def _features() -> set[str]:
    """Return the processor's feature flags as listed by Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Describe what differs; return an empty string if nothing does."""
    names = [name for name in dict.fromkeys([*ours, *theirs]) if ours.get(name) != theirs.get(name)]
    return "; ".join(f"{name} {theirs.get(name)!r} there, {ours.get(name)!r} here" for name in names)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the bits of an answer depend on beside the question: machine code and mathematical functions.

Products and sums are contracted where the level of instructions of the machine code has one for that. The sine of the C
library has a form of its own for such processors, too. So two processors may give other last bits, both within the
certified interval. Chunks of one data set are computed with one arithmetic.
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

# What a C library chooses the form of its sine, logarithm or power by. (By others it chooses forms with the same bits.)
_CHOOSING = ("avx", "avx2", "fma", "fma4")
_PACKAGE = Path(__file__).parents[1]


@cache
def arithmetic() -> dict[str, Any]:
    """What decides about the last bits of this process's answers; plain values."""
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
    """A digest of the machine code, or of the sources and the compiler that make it in this process."""
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
    """What Linux says that the processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Words on what differs; empty where nothing does."""
    names = [name for name in dict.fromkeys([*ours, *theirs]) if ours.get(name) != theirs.get(name)]
    return "; ".join(f"{name} {theirs.get(name)!r} there, {ours.get(name)!r} here" for name in names)

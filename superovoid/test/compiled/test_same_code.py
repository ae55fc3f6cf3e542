# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels are compiled to the same machine code whoever compiles them: in any order, in any process.

Else the last bits of an answer depend on what a machine was asked first, and two machines disagree about a data set.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from superovoid.compiled.jit import FORMS

pytestmark = pytest.mark.skipif(FORMS is None, reason="numba compiles by its public interface")

# `called` hands several values on at branches and calls numba's own `min`, as `forced` does, which is inlined by force.
SMALL = """
from superovoid.compiled.kernels import kernel

@kernel(cache=False)
def helper(x, y):
    total = 0.0
    for i in range(40):
        total += x * y if total < x else y - total * x
    return total + 0.5 * helper_of_helper(x, y)

@kernel(cache=False)
def helper_of_helper(x, y):
    return x * y + min(x, y)

@kernel(cache=False, forceinline=True)
def forced(x, y):
    return helper(x, y) + helper(y, x) * min(x, y)

@kernel(cache=False)
def of_forced(x, y):
    return forced(x, y)

@kernel(cache=False)
def called(x, y):
    a = (x if x > y else y) + (y if x > 0.5 else x) * ((x if y > 0.25 else 1.0) + (y if x < 0.75 else 2.0))
    b, c = (x, y) if a > 1.0 and (x or y) else (y, helper(x, y))
    return a + b * c + helper(a, min(b, c))

for each in {order}:
    each(0.25, 0.75)
code = called.overloads[called.signatures[0]].library.get_asm_str().splitlines()
print([line.split()[0] for line in code if line.startswith("\\t") and not line.startswith("\\t.")])
"""

# Writes what each kernel is compiled to: the sections of machine code in it.
WHOLE = """
import hashlib
from llvmlite.binding.object_file import ObjectFileRef
from numba.core.codegen import CPUCodeLibrary

seen = []
compiled, loaded = (CPUCodeLibrary.__dict__[name].__func__ for name in
                    ("_object_compiled_hook", "_object_getbuffer_hook"))

def keep(data):
    if data:
        seen.append(bytes(data))
    return data

CPUCodeLibrary._object_compiled_hook = classmethod(lambda cls, m, data: compiled(cls, m, keep(data)))
CPUCodeLibrary._object_getbuffer_hook = classmethod(lambda cls, m: keep(loaded(cls, m)))

import numpy as np
from superovoid import ConvexMesh, Cylinder, Superovoid, distance
solids = {{
    "superovoid": Superovoid.from_goncalves((0.1, 0.2, 0.3), (0.5, 0.7), (0.1, 0.2)),
    "cylinder": Cylinder(0.1, 0.4),
    "hull": ConvexMesh(np.random.default_rng(0).normal(size=(40, 3))),
}}
for a, b in {pairs}:
    distance(solids[a], np.eye(4), solids[b], (np.eye(3), (0.3, 0.2, 0.1)))
for data in seen:
    sections = ObjectFileRef.from_data(data).sections()
    for section in sections:
        if section.is_text():
            print(section.size(), hashlib.sha256(section.data()).hexdigest())
"""


def run(program, seed, cache):
    names = {**os.environ, "PYTHONHASHSEED": str(seed), "SUPEROVOID_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", program], env=names, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_code_depends_neither_on_the_kernel_that_is_called_first_nor_on_the_order_of_sets(tmp_path):
    orders = "(called, of_forced)", "(of_forced, called)"
    codes = [run(SMALL.format(order=order), seed, tmp_path) for seed, order in enumerate(orders)]

    assert len(codes[0]) > 500
    assert codes[0] == codes[1]


@pytest.mark.slow
def test_all_kernels_of_three_kinds_are_the_same_code_in_one_process_and_in_three(tmp_path):
    pairs = [("superovoid", "superovoid"), ("hull", "cylinder"), ("cylinder", "superovoid")]
    run(WHOLE.format(pairs=pairs), 1, tmp_path / "one")
    for seed, pair in enumerate(reversed(pairs)):
        run(WHOLE.format(pairs=[pair]), seed, tmp_path / "three")

    one, three = (Counter(run(WHOLE.format(pairs=pairs), 0, tmp_path / name).split("\n")) for name in ("one", "three"))

    assert one.total() > 10
    assert one == three

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of other packages: machine code on disk."""

import importlib
import sys

import pytest

OUTER = """
from superovoid.compiler.jit import kernel
from superovoid.compiled.vector import dot
from inner_of_test_jit import FACTOR, tripled

@kernel
def outer(x):
    return FACTOR * tripled(x) + dot((x, 0.0, 0.0), (1.0, 0.0, 0.0))
"""
INNER = """
from superovoid.compiler.jit import kernel
FACTOR = {factor}

@kernel
def tripled(x):
    return {triple} * x
"""


@pytest.fixture
def load_modules(tmp_path, monkeypatch):
    """Write a module of kernels, and one that calls them, and import both again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python compares only the seconds of a file's last change
    (tmp_path / "outer_of_test_jit.py").write_text(OUTER)

    def load(factor=2.0, triple=3.0):
        (tmp_path / "inner_of_test_jit.py").write_text(INNER.format(factor=factor, triple=triple))
        for name in ("inner_of_test_jit", "outer_of_test_jit"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("outer_of_test_jit").outer

    yield load
    for name in ("inner_of_test_jit", "outer_of_test_jit"):
        sys.modules.pop(name, None)


def test_stored_machine_code_is_reused_until_a_dependency_changes(load_modules):
    assert load_modules()(1.0) == 7.0
    again = load_modules()
    assert again(1.0) == 7.0 and sum(again.stats.cache_hits.values()) == 1
    for changed, expected in (({"factor": 5.0}, 16.0), ({"triple": 4.0}, 9.0)):
        outer = load_modules(**changed)
        assert outer(1.0) == expected and not outer.stats.cache_hits

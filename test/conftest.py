"""Fixtures shared by all tests."""

import os
from functools import cache
from pathlib import Path

# Before numpy is imported: on matrices as small as a fit's, the threads of its linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

DATA = Path(__file__).parent / "data"


@cache
def _load(name):
    with np.load(DATA / f"battery_{name}.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def battery():
    """Loader of the reference batteries; columns in test/data/README.md."""
    return _load

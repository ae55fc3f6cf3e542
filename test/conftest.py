"""Fixtures shared by all tests."""

from functools import cache
from pathlib import Path

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

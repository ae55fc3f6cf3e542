# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The fixture `battery`: pairs with reference distances."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[1] / "data"


@cache
def _load(name):
    with np.load(DATA / f"battery_{name}.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def battery():
    """Return the loader of the reference batteries; data/README.md describes their columns."""
    return _load

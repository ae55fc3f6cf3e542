# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Number of random draws of a test: few in every run, and many with `-m slow`."""

from __future__ import annotations

import pytest


def few_or_many(few: int, many: int, name: str = "draws") -> pytest.MarkDecorator:
    """Return a decorator that parametrizes a test by `name`, with `few` in every run and `many` in slow runs."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=pytest.mark.slow)])

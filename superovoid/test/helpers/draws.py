# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many random draws a test takes: a few whenever tests run, and many with `-m slow`."""

from __future__ import annotations

import pytest


def few_or_many(few: int, many: int, name: str = "draws") -> pytest.MarkDecorator:
    """Return what gives a test its argument `name`, once for the run of every day and once for the slow one."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=pytest.mark.slow)])

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Attributes of an object that are computed on first access."""

from __future__ import annotations

import functools
from typing import Any


class cached_property(functools.cached_property):  # a decorator, named as the one it replaces
    """`functools.cached_property` as in Python 3.12: without a lock shared by all objects of a class.

    A process forked while another thread holds this lock would wait for it forever. Two threads may both compute the
    value; both get the one stored first.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        values = instance.__dict__
        try:
            return values[self.attrname]
        except KeyError:
            return values.setdefault(self.attrname, self.func(instance))

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of an object that are computed when they are first asked for."""

from __future__ import annotations

import functools
from typing import Any


class cached_property(functools.cached_property):  # a decorator, as the one it stands for
    """`functools.cached_property` as it is from Python 3.12 on: without a lock that all objects of a class share.

    A process that is forked while another thread holds that lock would wait for it for ever. Two threads that ask at
    once both compute the value, and both get the one that is there first.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        values = instance.__dict__
        try:
            return values[self.attrname]
        except KeyError:
            return values.setdefault(self.attrname, self.func(instance))

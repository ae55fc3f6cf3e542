# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ROS network of one's own: what runs in it neither sees nor disturbs a robot that is running beside it."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = itertools.count()
_DOMAINS = range(1, 101)  # their ports are below those that the system gives to other programs
# Each makes nodes find each other beyond this machine, or decides it against what is set here.
_ELSEWHERE = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY")


@contextmanager
def own_network(name: str) -> Iterator[str]:
    """Let contexts and processes that are made in the block be in a DDS domain of their own, on this machine only.

    It changes environment variables for as long as the block runs; what was made in it stays where it is.

    Parameters
    ----------
    name
        What runs there: begins its namespace.

    Yields
    ------
    str
        A namespace that no other has: two may choose the same domain.
    """
    present = os.environ.get("ROS_DOMAIN_ID") or "0"
    domain = random.choice([number for number in _DOMAINS if str(number) != present])
    changed = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"} | dict.fromkeys(_ELSEWHERE)
    before = {variable: os.environ.get(variable) for variable in changed}
    try:
        _set(changed)
        yield f"/{name}_{os.getpid()}_{next(_NUMBERS)}"
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for variable, value in variables.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A separate ROS network: its nodes neither see nor disturb a running robot."""

from __future__ import annotations

import errno
import itertools
import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_NUMBERS = itertools.count()
_DOMAINS = range(1, 101)  # their ports are below those that the system gives to other programs
# Each makes nodes find each other beyond this machine, or decides it against what is set here.
_ELSEWHERE = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY")


class Domain(NamedTuple):
    """A DDS domain that no other program of this package has on this machine, as long as it is held."""

    number: int
    hold: socket.socket
    """closed at the end of the domain or of the process"""


def take_domain() -> Domain:
    """Choose a free domain at random, other than that of this process."""
    present = os.environ.get("ROS_DOMAIN_ID") or "0"
    numbers = [number for number in _DOMAINS if str(number) != present]
    random.shuffle(numbers)
    for number in numbers:
        hold = socket.socket(socket.AF_UNIX)
        try:
            # An abstract name, which ends with the process; on systems without them, nothing is held.
            hold.bind(f"\0superovoid_ros domain {number}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                hold.close()
                continue
        return Domain(number, hold)
    return Domain(numbers[0], socket.socket(socket.AF_UNIX))  # all are taken: shared with the other, as names differ


@contextmanager
def own_network(name: str) -> Iterator[str]:
    """Use a separate DDS domain, on this machine only, for contexts and processes made in the block.

    It changes environment variables during the block; contexts and processes keep their domain after it.

    Parameters
    ----------
    name
        What runs there: begins its namespace.

    Yields
    ------
    str
        A namespace that no other has.
    """
    domain = take_domain()
    changed = {"ROS_DOMAIN_ID": str(domain.number), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    changed |= dict.fromkeys(_ELSEWHERE)
    before = {variable: os.environ.get(variable) for variable in changed}
    try:
        _set(changed)
        yield f"/{name}_{os.getpid()}_{next(_NUMBERS)}"
    finally:
        _set(before)
        domain.hold.close()


def _set(variables: dict[str, str | None]) -> None:
    for variable, value in variables.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value

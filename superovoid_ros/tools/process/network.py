# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A separate ROS network, whose nodes neither see nor disturb a running robot."""

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
_DOMAINS = range(1, 101)  # their ports are below the system's ephemeral ports
# Each of these enables discovery beyond this machine, or overrides the settings made here.
_ELSEWHERE = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY")


class Domain(NamedTuple):
    """A DDS domain that no other program of this package uses on this machine until it is released."""

    number: int
    hold: socket.socket
    """Socket that reserves the domain until it is closed or the process ends."""


def take_domain() -> Domain:
    """Reserve a free domain, chosen at random, other than the domain of this process."""
    present = os.environ.get("ROS_DOMAIN_ID") or "0"
    numbers = [number for number in _DOMAINS if str(number) != present]
    random.shuffle(numbers)
    for number in numbers:
        hold = socket.socket(socket.AF_UNIX)
        try:
            # An abstract socket name disappears with the process. Systems without abstract names reserve nothing.
            hold.bind(f"\0superovoid_ros domain {number}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                hold.close()
                continue
        return Domain(number, hold)
    return Domain(numbers[0], socket.socket(socket.AF_UNIX))  # none is free: share one, since the namespaces differ


@contextmanager
def own_network(name: str) -> Iterator[str]:
    """Use a separate DDS domain, on this machine only, for contexts and processes created in the block.

    The block changes environment variables and restores them. Contexts and processes keep their domain afterwards.

    Parameters
    ----------
    name
        First part of the namespace; describes its use.

    Yields
    ------
    str
        A unique namespace.
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

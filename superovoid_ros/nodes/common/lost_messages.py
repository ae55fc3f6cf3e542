# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many messages of a topic were lost, by the numbers that each publisher gives to its messages.

A full queue drops its oldest message, and Fast DDS raises no event for it: the number of the next message does not
follow the previous number.

    numbers taken of a publisher    lost
    1 2 3                           0
    7 8                             0: the first six were published before this subscription was there
    1 2 5                           2
    7 8, from a queue that was full 1 at least: the first six may have been dropped
    7 8, if a publisher is forgotten 1 at least: this may be the forgotten one
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_MOST_PUBLISHERS = 1_000  # the one silent for longest is dropped


class LostMessages:
    """Count the lost messages of a topic.

    Parameters
    ----------
    depth
        How many messages the queue holds.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._newest: OrderedDict[bytes, int] = OrderedDict()  # number, by publisher
        self._taken = 0
        self._begins_late = False
        self._has_forgotten = False

    def before(self, info: Mapping[str, Any]) -> int:
        """Return how many messages were lost between a message and the one before it of the same publisher.

        Parameters
        ----------
        info
            rclpy's information about the message. With middleware that does not number messages, or does not name
            publishers, only a full queue shows a loss.
        """
        self._taken += 1
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        lost = 0
        if number is None or publisher is None:
            self._begins_late = True
        else:
            key = bytes(publisher["data"])
            before = self._newest.pop(key, None)
            if before is None:
                self._begins_late = self._begins_late or number > 1
                lost = int(number > 1 and self._has_forgotten)
            else:
                lost = max(0, number - before - 1)
            self._newest[key] = number if before is None else max(number, before)
            if len(self._newest) > _MOST_PUBLISHERS:
                self._newest.popitem(last=False)
                self._has_forgotten = True
        if self._begins_late and self._taken >= self._depth:
            self._begins_late = False
            lost += 1
        return lost

    def is_empty(self) -> None:
        """Note that the queue was found empty: until now nothing else was dropped."""
        self._taken, self._begins_late = 0, False

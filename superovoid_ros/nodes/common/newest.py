# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which of the measurements that arrive is the newest: messages come late, twice, and out of order."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 1.0
"""[s] For this time without newer measurements, older ones count as late; after it, the sender's time has restarted,
as with a recording played in a loop or a reset clock."""


class Newest:
    """Distinguishes new measurements from late ones by their stamps.

    Parameters
    ----------
    steady
        Returns the time in seconds; never set.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._late_since: dict[str, float] = {}

    def takes(self, name: str, stamp: int, known: int | None) -> bool:
        """Return whether a measurement of `name`, made at `stamp` [ns], is to replace that of the stamp `known`.

        One of the same stamp does: a sender that never changes its stamps is believed in the order of arrival, and a
        message that comes twice changes nothing.
        """
        if known is not None and stamp < known:
            now = self._steady()
            if now - self._late_since.setdefault(name, now) <= PATIENCE:
                return False
        self.forget(name)
        return True

    def forget(self, name: str) -> None:
        """Drop what is kept about `name`."""
        self._late_since.pop(name, None)

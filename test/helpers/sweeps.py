# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames of a recorded motion, and the answers that belong to them."""

from __future__ import annotations

import itertools

from superovoid_interfaces.srv import PlayFrame

_REPLAY_AFTER = 50  # answers about another frame: joint states and transforms are sent once, and may be lost


def play(client, index: int) -> object:
    """Play a frame and return its stamp."""
    played = client.call(PlayFrame, "/sweep_player/play_frame", frame=index)
    assert played.success, played.message
    return played.stamp


def answer_of_frame(client, index: int, kind: type, service: str, **request: object) -> object:
    """Play a frame and return a service's answer about it, recognised by its stamp."""
    count, stamp = itertools.count(1), play(client, index)

    def is_about_it(response: object) -> bool:
        nonlocal stamp
        if response.success and response.distances.header.stamp == stamp:
            return True
        if next(count) % _REPLAY_AFTER == 0:
            stamp = play(client, index)
        return False

    return client.call_until(is_about_it, kind, service, **request)

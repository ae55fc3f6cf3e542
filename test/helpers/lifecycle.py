# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a lifecycle manager does: ask a node's state and change it."""

from __future__ import annotations

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState


def change(client, name: str, transition: int) -> bool:
    """Ask for a transition and return whether it succeeded."""
    return client.call(ChangeState, f"{name}/change_state", 60.0, transition=Transition(id=transition)).success


def state(client, name: str) -> str:
    """Return the label of a node's state."""
    return client.call(GetState, f"{name}/get_state").current_state.label


_UPWARDS = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
_DOWNWARDS = (Transition.TRANSITION_CLEANUP, Transition.TRANSITION_DEACTIVATE)
_STATES = ("unconfigured", "inactive", "active")


def bring(client, name: str, label: str) -> None:
    """Take a node to a state, from whichever it is in."""
    now, wanted = _STATES.index(state(client, name)), _STATES.index(label)
    for transition in (*_UPWARDS[now:wanted], *reversed(_DOWNWARDS[wanted:now])):
        assert change(client, name, transition), label

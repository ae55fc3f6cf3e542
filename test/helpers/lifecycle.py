# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Lifecycle manager of a test: reads a node's state and changes it."""

from __future__ import annotations

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

_ENDS = {
    Transition.TRANSITION_CONFIGURE: "inactive",
    Transition.TRANSITION_ACTIVATE: "active",
    Transition.TRANSITION_DEACTIVATE: "inactive",
    Transition.TRANSITION_CLEANUP: "unconfigured",
}


def change(client, name: str, transition: int) -> bool:
    """Request a transition; return its success, from the node's state if the response is lost."""
    asking = client.client(ChangeState, f"{name}/change_state")
    assert client.wait(asking.service_is_ready), f"no service of {name}"
    future = asking.call_async(ChangeState.Request(transition=Transition(id=transition)))
    if client.wait(future.done, 20.0):
        return future.result().success
    client.wait(lambda: future.done() or state(client, name) == _ENDS[transition], 60.0)
    return future.result().success if future.done() else state(client, name) == _ENDS[transition]


def state(client, name: str) -> str:
    """Return the label of a node's state."""
    return client.call(GetState, f"{name}/get_state").current_state.label


_UPWARDS = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
_DOWNWARDS = (Transition.TRANSITION_CLEANUP, Transition.TRANSITION_DEACTIVATE)
_STATES = ("unconfigured", "inactive", "active")


def bring(client, name: str, label: str) -> None:
    """Bring a node from any state to the state `label`."""
    now, wanted = _STATES.index(state(client, name)), _STATES.index(label)
    for transition in (*_UPWARDS[now:wanted], *reversed(_DOWNWARDS[wanted:now])):
        assert change(client, name, transition), label

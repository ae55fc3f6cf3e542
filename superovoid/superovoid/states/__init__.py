# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances in many states of a robot at once, for planners and optimisers."""

from superovoid.states.query import StateQuery, state_distances
from superovoid.states.results import StateDistances
from superovoid.states.verdicts import StateVerdicts, ThresholdQuery, are_states_closer

__all__ = [
    "StateDistances",
    "StateQuery",
    "StateVerdicts",
    "ThresholdQuery",
    "are_states_closer",
    "state_distances",
]

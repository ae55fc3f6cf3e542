# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of errors in kinematics and planning services to move_group's codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moveit_msgs.msg import MoveItErrorCodes

from superovoid.planning import PlanningError
from superovoid.planning.first_path import NoPathError
from superovoid.planning.group_planner import GoalError, StartConditionError, StartError
from superovoid.planning.inverse import NoSolutionError, RangeError
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of, refusals

SOURCE = "distance_service"


class CodedError(InputError):
    """An error of a request, with a code of MoveIt."""

    def __init__(self, moveit_code: int, words: str) -> None:
        super().__init__(words)
        self.moveit_code = moveit_code


def success(*notes: str) -> MoveItErrorCodes:
    """Return the code of a response, with notes; empty notes are dropped."""
    return MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS, message="; ".join(filter(None, notes)), source=SOURCE)


OF_PLANNERS = (
    (StartConditionError, MoveItErrorCodes.START_STATE_VIOLATES_PATH_CONSTRAINTS),
    (StartError, MoveItErrorCodes.START_STATE_INVALID, MoveItErrorCodes.START_STATE_IN_COLLISION),
    (GoalError, MoveItErrorCodes.GOAL_STATE_INVALID, MoveItErrorCodes.GOAL_IN_COLLISION),
    (RangeError, MoveItErrorCodes.GOAL_VIOLATES_PATH_CONSTRAINTS),
    (NoSolutionError, MoveItErrorCodes.NO_IK_SOLUTION, MoveItErrorCodes.GOAL_IN_COLLISION),
    (NoPathError, MoveItErrorCodes.TIMED_OUT),
    (PlanningError, MoveItErrorCodes.PLANNING_FAILED),
    (ModuleNotFoundError, MoveItErrorCodes.FAILURE),
)
"""Errors of planners, each with its code, and that of a contact if it differs."""
_MOVEIT_CODES = {
    Code.UNKNOWN_FRAME: MoveItErrorCodes.FRAME_TRANSFORM_FAILURE,
    Code.UNKNOWN_LINK: MoveItErrorCodes.INVALID_LINK_NAME,
}


def moveit_code(error: InputError, other: int) -> int:
    """Return move_group's code for an error; `other` if it has none."""
    return error.moveit_code if isinstance(error, CodedError) else _MOVEIT_CODES.get(error.code, other)


@contextmanager
def coded(code: int, what: str = "") -> Iterator[None]:
    """Give errors about a request, including those of the library, a code of MoveIt unless they have one."""
    try:
        with refusals(what):
            yield
    except InputError as error:
        raise CodedError(moveit_code(error, code), str(error)) from error


def code_of(error: Exception) -> MoveItErrorCodes:
    """Return the code and message of an error; FAILURE for a bug of the node."""
    known = isinstance(error, InputError)
    value = moveit_code(error, MoveItErrorCodes.INVALID_ROBOT_STATE) if known else MoveItErrorCodes.FAILURE
    return MoveItErrorCodes(val=value, message=reason_of(error), source=SOURCE)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What keeps a service of kinematics or plans from an answer, as move_group's codes have it."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes

from superovoid.planning import PlanningError
from superovoid.planning.first_path import NoPathError
from superovoid.planning.group_planner import GoalError, StartError
from superovoid.planning.inverse import NoSolutionError
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of

SOURCE = "distance_service"


class CodedError(InputError):
    """A request that cannot be answered, with a code of MoveIt."""

    def __init__(self, moveit_code: int, words: str) -> None:
        super().__init__(words)
        self.moveit_code = moveit_code


def success(*notes: str) -> MoveItErrorCodes:
    """Return the code of an answer, with notes; empty notes are dropped."""
    return MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS, message="; ".join(filter(None, notes)), source=SOURCE)


def refused(error: Exception) -> InputError | Exception:
    """Return an error of a planner as one of the request, not of the node; any other error unchanged."""
    if isinstance(error, StartError):
        code = MoveItErrorCodes.START_STATE_IN_COLLISION if error.in_contact else MoveItErrorCodes.START_STATE_INVALID
    elif isinstance(error, GoalError):
        code = MoveItErrorCodes.GOAL_IN_COLLISION if error.in_contact else MoveItErrorCodes.GOAL_STATE_INVALID
    elif isinstance(error, NoSolutionError):
        code = MoveItErrorCodes.GOAL_IN_COLLISION if error.in_contact else MoveItErrorCodes.NO_IK_SOLUTION
    elif isinstance(error, NoPathError):
        code = MoveItErrorCodes.TIMED_OUT
    elif isinstance(error, PlanningError):
        code = MoveItErrorCodes.PLANNING_FAILED
    elif isinstance(error, ModuleNotFoundError):
        code = MoveItErrorCodes.FAILURE
    else:
        return error
    return CodedError(code, str(error))


_MOVEIT_CODES = {
    Code.UNKNOWN_FRAME: MoveItErrorCodes.FRAME_TRANSFORM_FAILURE,
    Code.UNKNOWN_LINK: MoveItErrorCodes.INVALID_LINK_NAME,
}


def moveit_code(error: InputError, other: int) -> int:
    """Return move_group's code of an error; `other` if it has none."""
    return error.moveit_code if isinstance(error, CodedError) else _MOVEIT_CODES.get(error.code, other)


def code_of(error: Exception) -> MoveItErrorCodes:
    """Return the code of an error; FAILURE for one without a code."""
    value = MoveItErrorCodes.FAILURE
    if isinstance(error, CodedError):
        value = error.moveit_code
    elif isinstance(error, InputError):
        value = MoveItErrorCodes.INVALID_ROBOT_STATE
    return MoveItErrorCodes(val=value, message=reason_of(error), source=SOURCE)

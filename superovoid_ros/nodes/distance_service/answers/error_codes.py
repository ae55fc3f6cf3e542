# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of errors in kinematics and planning services to move_group's codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes

from superovoid.planning import PlanningError
from superovoid.planning.first_path import NoPathError
from superovoid.planning.group_planner import GoalError, StartError
from superovoid.planning.inverse import NoSolutionError
from superovoid_ros.nodes.common.mistakes import Code, InputError, reason_of
from superovoid_ros.nodes.distance_service.part import Part

SOURCE = "distance_service"


class CodedError(InputError):
    """An error of a request, with a code of MoveIt."""

    def __init__(self, moveit_code: int, words: str) -> None:
        super().__init__(words)
        self.moveit_code = moveit_code


def success(*notes: str) -> MoveItErrorCodes:
    """Return the code of a response, with notes; empty notes are dropped."""
    return MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS, message="; ".join(filter(None, notes)), source=SOURCE)


def refused(error: Exception) -> InputError | Exception:
    """Return an error of a planner as one of the request, not of the node; any other error unchanged."""
    for kind, code, in_contact in _OF_PLANNERS:
        if isinstance(error, kind):
            return CodedError(in_contact if getattr(error, "in_contact", False) else code, str(error))
    return error


_OF_PLANNERS = (
    (StartError, MoveItErrorCodes.START_STATE_INVALID, MoveItErrorCodes.START_STATE_IN_COLLISION),
    (GoalError, MoveItErrorCodes.GOAL_STATE_INVALID, MoveItErrorCodes.GOAL_IN_COLLISION),
    (NoSolutionError, MoveItErrorCodes.NO_IK_SOLUTION, MoveItErrorCodes.GOAL_IN_COLLISION),
    (NoPathError, MoveItErrorCodes.TIMED_OUT, MoveItErrorCodes.TIMED_OUT),
    (PlanningError, MoveItErrorCodes.PLANNING_FAILED, MoveItErrorCodes.PLANNING_FAILED),
    (ModuleNotFoundError, MoveItErrorCodes.FAILURE, MoveItErrorCodes.FAILURE),
)
"""Errors, their codes, and those if something is in contact."""
_MOVEIT_CODES = {
    Code.UNKNOWN_FRAME: MoveItErrorCodes.FRAME_TRANSFORM_FAILURE,
    Code.UNKNOWN_LINK: MoveItErrorCodes.INVALID_LINK_NAME,
}


@contextmanager
def coded(
    part: Part, response: Any, log: str = "", codes: Mapping[int, int] = MappingProxyType({}), kind: str = ""
) -> Iterator[None]:
    """Fill a response with an `error_code`: an error in the block becomes its code. Count the call.

    The block fills the other fields at its end.

    Parameters
    ----------
    part
        Whose service it is.
    response
    log
        Name of the service and words before the reason, for a warning; empty: no warning.
    codes
        Codes to use in place of others.
    kind
        Type of the service for the statistics; default: that of the response.
    """
    kind = kind or type(response).__name__.removesuffix("_Response")
    try:
        yield
    except Exception as error:
        error = refused(error)
        part.statistics.call(kind, error)
        response.error_code = code_of(error)
        response.error_code.val = codes.get(response.error_code.val, response.error_code.val)
        if log:
            part.log.warning(log.partition(":")[0], f"{log}: {response.error_code.message}")
    else:
        part.statistics.call(kind)


def moveit_code(error: InputError, other: int) -> int:
    """Return move_group's code for an error; `other` if it has none."""
    return error.moveit_code if isinstance(error, CodedError) else _MOVEIT_CODES.get(error.code, other)


def code_of(error: Exception) -> MoveItErrorCodes:
    """Return the code of an error; FAILURE for one without a code."""
    value = MoveItErrorCodes.FAILURE
    if isinstance(error, CodedError):
        value = error.moveit_code
    elif isinstance(error, InputError):
        value = MoveItErrorCodes.INVALID_ROBOT_STATE
    return MoveItErrorCodes(val=value, message=reason_of(error), source=SOURCE)

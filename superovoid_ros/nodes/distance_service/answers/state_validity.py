# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services `check_state_validity` and `check_multi_state_validity`, as in move_group, but with proved distances.

A state is valid if the clearance of every checked pair is proved to be positive, and every constraint of the request
holds. As in move_group, joint limits are not checked. docs/explanation/moveit.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from moveit_msgs.msg import (
    ConstraintEvalResult,
    Constraints,
    ContactInformation,
    RobotState,
)
from moveit_msgs.srv import GetStateValidity
from sensor_msgs.msg import JointState

from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.scene import SceneResult
from superovoid_ros.nodes.common.conversions import to_point, to_vector
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals
from superovoid_ros.nodes.distance_service.answers.constraints import count_of, evaluate, frame_ids_of
from superovoid_ros.nodes.distance_service.answers.requested_states import (
    RequestedState,
    RequestedStates,
    positions_of,
)
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE
from superovoid_ros.nodes.distance_service.world.model import ClearanceQuery, Model

try:
    from moveit_msgs.srv import GetMultiStateValidity
except ImportError:  # moveit_msgs has it since 2025
    GetMultiStateValidity = None


class ValidityServices(RequestedStates):
    """Part that answers whether states of the robot are free of contacts and satisfy constraints."""

    def open(self) -> None:
        """Open the services."""
        self.serve(GetStateValidity, "check_state_validity", self._check)
        if GetMultiStateValidity is not None:
            self.serve(GetMultiStateValidity, "check_multi_state_validity", self._check_several)

    async def _check(self, request: GetStateValidity.Request, response: GetStateValidity.Response) -> None:
        await self._judge("check_state_validity", request, request.robot_state, response)

    async def _check_several(self, request: Any, response: Any) -> None:
        """Fill a response about the first invalid state, or about the last one."""
        for state in states_of(request.robot_state, request.joint_states):
            await self._judge("check_multi_state_validity", request, state, response)
            if not response.valid:
                return

    async def _judge(self, service: str, request: Any, state: RobotState, response: Any) -> None:
        """Fill a response about one state; it is invalid if a constraint cannot be evaluated."""
        request_state = await self.state_of(state, frame_ids_of(request.constraints), placed=False)
        model, planning = request_state.model, request_state.planning
        group = self._group(service, model, request.group_name)
        # Objects that the request attaches are in no model.
        query = (model if planning is model.planning else Model(planning)).clearance_query(group)
        self._measurements.require_world(planning, query.pairs if group else None, request_state.unplaced)
        if request_state.stale:
            raise InputError(f"{request_state.stale} (stale_timeout)", Code.NOT_MEASURED)
        cost = len(query.pairs) + _cost_of(planning, request.constraints)

        def work() -> tuple[list[ContactInformation], list[ConstraintEvalResult], list[InputError]]:
            contacts, doubts = contacts_of(request_state, query)
            results, problems = evaluate(request.constraints, request_state)
            return contacts, results, doubts + problems

        contacts, constraints, problems = await self.query(cost, work)
        stamp = self.node.get_clock().now().to_msg()
        if self._current.missing_content:
            self.log.warning("incomplete", f"{service}: answered nevertheless: {self._current.missing_content}")
        if problems:
            self.log.error(service, f"{service}: not valid: {'; '.join(map(str, problems[:3]))}")
        response.contacts, response.constraint_result = contacts, constraints
        response.valid = not contacts and not problems and all(result.result for result in constraints)
        for contact in contacts:
            contact.header.frame_id, contact.header.stamp = request_state.frame, stamp

    def _group(self, service: str, model: Model, name: str) -> str:
        """Return the group whose pairs are checked; empty: all pairs."""
        if name and name not in model.robot.groups:
            # In this case move_group checks everything.
            self.log.warning(
                "group_name",
                f"{service}: group_name '{name}' is not a group of '{model.robot.name}' (groups: "
                f"{listing(model.robot.groups)}): all pairs are checked",
            )
            return ""
        return name


def states_of(state: RobotState, joint_states: Sequence[JointState]) -> Iterator[RobotState]:
    """Yield a robot state for each of `joint_states`; joints that one does not name keep their previous positions.

    Raises
    ------
    InputError
        If there are no joint states, or one has different numbers of names and positions.
    """
    if not len(joint_states):
        raise InputError("joint_states: is empty, expected at least one state")
    given = dict(positions_of(state.joint_state, "robot_state"))
    for number, joints in enumerate(joint_states):
        given.update(positions_of(joints, f"joint_states[{number}]"))
        yield RobotState(
            joint_state=JointState(header=state.joint_state.header, name=list(given), position=list(given.values())),
            multi_dof_joint_state=state.multi_dof_joint_state,
            attached_collision_objects=state.attached_collision_objects,
            is_diff=state.is_diff,
        )


def _cost_of(planning: Planning, constraints: Constraints) -> int:
    """Return the cost of constraints as a number of pairs; a visibility cone is checked with every body of a robot."""
    # Building the body of a cone takes as long as many pairs.
    per_cone = AT_ONCE // 2 + len(planning.robot.bodies)
    return count_of(constraints) + len(constraints.visibility_constraints) * per_cone


def contacts_of(
    request_state: RequestedState, query: ClearanceQuery
) -> tuple[list[ContactInformation], list[InputError]]:
    """Return a contact for each pair of links and objects without clearance, deepest first.

    The second list is not empty if there is no contact, but not every clearance is proved to be positive.
    """
    planning = request_state.planning
    with refusals("robot_state"):
        result = query.near_pairs(request_state.positions, request_state.base_poses)
    if result is None:
        return [], []
    clear = planning.clearances(result)
    rows = np.flatnonzero(~(clear.lower > 0.0))  # also true for NaN
    rows = rows[np.argsort(clear.distance[rows], kind="stable")]
    contacts, seen = [], set()
    for row in rows.tolist():
        names = planning.owners[result.body_a[row]], planning.owners[result.body_b[row]]
        if frozenset(names) in seen:  # as in move_group: one contact for two links
            continue
        seen.add(frozenset(names))
        contacts.append(_contact(planning, names, result, row, max(0.0, -float(clear.distance[row]))))
    doubts = [] if contacts else [InputError("not every clearance is proved to be positive (rtol)")]
    return contacts, doubts


def _contact(
    planning: Planning, names: tuple[str, str], result: SceneResult, row: int, depth: float
) -> ContactInformation:
    """Return a contact as in move_group: midway between the two points, normal from body 1 to body 2."""
    types = [
        ContactInformation.WORLD_OBJECT
        if planning.in_world(name)
        else ContactInformation.ROBOT_ATTACHED
        if planning.is_attached(name)
        else ContactInformation.ROBOT_LINK
        for name in names
    ]
    return ContactInformation(
        position=to_point(0.5 * (result.point_a[row] + result.point_b[row])),
        normal=to_vector(result.normal[row]),
        depth=depth,
        contact_body_1=names[0],
        contact_body_2=names[1],
        body_type_1=types[0],
        body_type_2=types[1],
    )

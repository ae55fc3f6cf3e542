# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning with the distances of a `distance_service`, as an implementation of `superovoid.planning.Validity`.

with DistanceClient() as client:                            # a running service that has the robot and obstacles
    validity = ServiceValidity(problem, client)
    path = find_path(problem, validity, start, goal)

with planning_service(problem, urdf, srdf) as validity:     # or a service started for the problem
    path = find_path(problem, validity, start, goal)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.validity import Clearances, doubtful_pairs
from superovoid_ros.client import DistanceClient, ServiceUnavailableError
from superovoid_ros.nodes.common.conversions import superovoid_object
from superovoid_ros.nodes.common.mistakes import Code
from superovoid_ros.tools.process.child import NodeError, NodeProcess, remapping_rules, wait_for
from superovoid_ros.tools.process.network import own_network

FAILURES = NodeError, ServiceUnavailableError
"""Errors of the service or its process; for refused requests it raises `ValueError`."""
_ANSWER_TIMEOUT = 600.0  # s
_LOOK = 0.5  # s between two checks whether a starting node works


class ServiceValidity:
    """Distances of a planning problem, computed by a distance service.

    Parameters
    ----------
    problem : PlanningProblem
        The service must have the same robot, and objects with the names of the problem's obstacles.
    client : DistanceClient
        Client of the service.

    Raises
    ------
    PlanningError
        If the service has bodies that the problem lacks, or does not check one of the problem's pairs.
    """

    def __init__(self, problem: PlanningProblem, client: DistanceClient) -> None:
        self._problem, self._client = problem, client
        self._body = {body.name: number for number, body in enumerate(problem.bodies)}
        self._doubtful = doubtful_pairs(problem)
        # A pair that the service does not check would appear to be far away.
        answered = self.clearances(problem.lower[None], np.array([np.inf])).pair
        missing = np.setdiff1d(np.arange(len(problem.pairs)), answered)
        if len(missing):
            raise PlanningError(
                f"the service does not check {problem.name_of(int(missing[0]))} ({len(missing)} of "
                f"{len(problem.pairs)} pairs of the problem): call its get_pair_rules for the reason"
            )

    def clearances(self, states: FloatArray, max_distance: FloatArray, gradients: bool = False) -> Clearances:
        """Compute distances with one service call for all states; see `superovoid.planning.Validity`."""
        problem = self._problem
        farthest = np.inf if self._doubtful.any() else float(np.max(max_distance, initial=1e-9))
        found = self._client.distances(
            problem.joint_positions(states),
            joint_names=problem.robot.joint_names,
            base_poses=dict(problem.base_poses) or None,
            max_distance=farthest if np.isfinite(farthest) else None,
            gradients=gradients,
        )
        if found.done < len(states):
            raise PlanningError(f"the service answered {found.done} of {len(states)} states: {found.message}")
        strange = [name for name in found.bodies if name not in self._body]
        if strange:
            raise PlanningError(f"the service has a body '{strange[0]}' that the problem does not have")
        index = np.array([self._body[name] for name in found.bodies], dtype=np.int64)
        pair = problem.pair_of(index[found.body_a], index[found.body_b])
        gradient = None
        if gradients:
            gradient = found.gradients[:, [found.gradient_joints.index(joint) for joint in problem.joints]]
        answers = Clearances(found.state, pair, found.distance, found.lower, gradient)
        return answers.rows(pair >= 0).drop_far(max_distance, self._doubtful)  # the service may check more pairs


@contextmanager
def planning_service(problem: PlanningProblem, urdf: str, srdf: str = "") -> Iterator[ServiceValidity]:
    """Start a distance service as a child process, with the obstacles of a problem in its world.

    Parameters
    ----------
    problem : PlanningProblem
        Its obstacles must be superovoids.
    urdf, srdf : str
        Contents of the files that define the problem's robot.

    Yields
    ------
    ServiceValidity
        Valid inside the block; the process is stopped at its end.

    Raises
    ------
    ValueError
        If an obstacle is not a superovoid, or the node refuses one.
    NodeError, ServiceUnavailableError
        If the node ends or does not respond.
    PlanningError
        If the node does not check a pair of the problem.
    """
    objects = [superovoid_object(body) for body in problem.obstacles]
    parameters = {"rate": 0.0, "robot_description": urdf, "robot_description_semantic": srdf}
    with ExitStack() as stack:
        with own_network("plan") as namespace:
            node = NodeProcess("superovoid_ros.nodes.distance_service", parameters, remapping_rules(namespace))
            stack.callback(node.stop)
            service = f"{namespace}/distance_service"
            client = stack.enter_context(DistanceClient(service=service, timeout=_ANSWER_TIMEOUT))
        wait_until_there(node, client)
        if objects:
            client.apply_objects(objects)
        yield ServiceValidity(problem, client)


def wait_until_there(node: NodeProcess, client: DistanceClient) -> None:
    """Wait until a starting node answers, or gives its reason not to; `NodeError` if it ends or takes too long."""

    def is_there() -> bool:
        try:
            client.wait(_LOOK, ready=True)
        except ServiceUnavailableError as error:
            return error.code not in (Code.SUCCESS, Code.READING, Code.INACTIVE)  # otherwise a call reports the reason
        return True

    wait_for(node, is_there, f"services of {node.name} did not appear", pause=0.0)

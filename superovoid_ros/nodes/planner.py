"""Planning with the distances of a running `distance_service`: the second answer to `superovoid_ros.planning.Validity`.

with DistanceClient() as client:
validity = ServiceValidity(problem, client)
path = find_path(problem, validity, start, goal)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from superovoid_ros.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid_ros.planning.validity import Clearances, is_convex

if TYPE_CHECKING:
    from superovoid_ros.nodes.client import DistanceClient


class ServiceValidity:
    """The answers of a distance service.

    Parameters
    ----------
    problem : PlanningProblem
        Its robot is that of the service, its obstacles the objects in the service's world, by the same names.
    client : DistanceClient
        Of that service.

    Raises
    ------
    PlanningError
        If the service knows other bodies than the problem, or does not check one of its pairs.
    """

    def __init__(self, problem: PlanningProblem, client: DistanceClient) -> None:
        self._problem, self._client = problem, client
        self._body = {body.name: number for number, body in enumerate(problem.bodies)}
        count = len(problem.bodies)
        self._row = np.full((count, count), -1, dtype=np.int64)
        a, b = problem.pairs.T
        self._row[a, b] = self._row[b, a] = np.arange(len(a))
        # As in SceneValidity: pairs of a body with a dent are asked for however far they are.
        self._dented = not all(is_convex(body.shape) for body in problem.bodies)
        # A pair that the service does not check would look as if it were far away.
        answered = self.clearances(problem.lower[None], np.array([np.inf])).pair
        missing = np.setdiff1d(np.arange(len(a)), answered)
        if len(missing):
            raise PlanningError(
                f"the service does not check {problem.name_of(int(missing[0]))} ({len(missing)} of {len(a)} pairs of "
                "the problem): ask its get_pair_rules why"
            )

    def clearances(self, states: FloatArray, cutoff: FloatArray, gradients: bool = False) -> Clearances:
        """See `superovoid_ros.planning.Validity`: one service call for all states."""
        problem = self._problem
        names = problem.robot.joint_names
        at = [problem.positions_at(state) for state in states]
        farthest = float(np.max(cutoff, initial=0.0))
        found = self._client.distances(
            np.array([[positions[name] for name in names] for positions in at]),
            joint_names=names,
            base_poses=dict(problem.base_poses) or None,
            max_distance=None if self._dented or not np.isfinite(farthest) else max(farthest, 1e-9),
            gradients=gradients,
        )
        if found.done < len(states):
            raise PlanningError(f"the service answered {found.done} of {len(states)} states: {found.message}")
        strange = [name for name in found.bodies if name not in self._body]
        if strange:
            raise PlanningError(f"the service has a body '{strange[0]}' that the problem does not have")
        index = np.array([self._body[name] for name in found.bodies], dtype=np.int64)
        pair = np.full(len(found), -1)
        if len(found):
            pair = self._row[index[found.body_a], index[found.body_b]]
        asked = pair >= 0  # the service may check more
        by_joint = None
        if gradients:
            columns = [found.gradient_joints.index(joint) for joint in problem.joints]
            by_joint = found.gradients[asked][:, columns]
        return Clearances(found.state[asked], pair[asked], found.distance[asked], found.lower[asked], by_joint)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Python client of the node `distance_service`: NumPy arrays in, NumPy arrays out.

from superovoid_ros.client import DistanceClient

with DistanceClient() as client:                              # in a script; DistanceClient(node) inside a node
    now = client.distances(links_a=["left_hand"])             # the measured state
    found = client.distances(positions, joint_names=names, max_distance=0.02, gradients=True)
    found.closest                                             # least distance of each state
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Unpack

from numpy.typing import ArrayLike
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.exceptions import InvalidServiceNameException
from rclpy.node import Node
from rclpy.task import Future
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetDistances

from superovoid_ros.client.caller import Caller, ask
from superovoid_ros.client.requests import (
    DistanceOptions,
    Distances,
    check_names,
    distances_of,
    request_of,
)
from superovoid_ros.nodes.common.endpoints import SERVICE
from superovoid_ros.nodes.common.mistakes import LATER, Code

__all__ = [
    "DistanceClient",
    "Distances",
    "RequestRefusedError",
    "ServiceFailedError",
    "ServiceUnavailableError",
]

_PAUSE = 0.2  # s between two requests that check whether the node is ready
_LOOK = 0.05  # s between two checks for a service, since rclpy reports no event for it


class ServiceUnavailableError(RuntimeError):
    """The service is unavailable, did not respond in time, or is not ready.

    Attributes
    ----------
    code : Code
        The reason why the node is not ready; `Code.SUCCESS` if the node gave none.
    """

    def __init__(self, words: str, code: Code = Code.SUCCESS) -> None:
        super().__init__(words)
        self.code = code


class RequestRefusedError(ValueError):
    """The node refused a request; the message is the node's.

    Attributes
    ----------
    code : Code
        The reason: `superovoid_interfaces/msg/ErrorCode`.
    """

    def __init__(self, words: str, code: Code = Code.INVALID_REQUEST) -> None:
        super().__init__(words)
        self.code = code


class ServiceFailedError(RuntimeError):
    """The node failed because of a bug; the message is the node's."""


class DistanceClient:
    """Client of a distance service: calls `~/get_distances`, blocking or not, and `~/apply_objects`.

    Parameters
    ----------
    node : Node, optional
        The node to call from. Its executor must spin during a blocking call: in another thread or, if a callback makes
        the call, in other threads of a MultiThreadedExecutor. In callbacks of a single-threaded executor, use
        `distances_async`. By default, the client creates its own node, context and thread.
    service : str, optional
        Full name of the node that provides the services.
    timeout : float, optional
        Time limit for the discovery of the service, and for the response to one service call (in addition to its
        deadline), s.

    Notes
    -----
    Methods may be called from several threads. `close`, or the end of the ``with`` block, closes the node and thread.
    """

    def __init__(self, node: Node | None = None, service: str = "/distance_service", *, timeout: float = 10.0) -> None:
        if not 0.0 < timeout < math.inf:
            raise ValueError(f"timeout = {timeout!r}: must be a positive number of seconds")
        check_names("service", [service])
        self.timeout = float(timeout)
        self._is_closed = False
        self._heard: set[Client] = set()
        self._world_id: int | None = None  # the world of the node to which objects were applied
        with ExitStack() as undo:
            if node is None:
                own = Caller("distance_client")
                undo.callback(own.close)
                own.spin_aside()
                node = own.node
            self._node = node
            group = ReentrantCallbackGroup()
            clients = []
            for kind, name in ((GetDistances, "get_distances"), (ApplyObjects, "apply_objects")):
                full_name = f"{service.rstrip('/')}/{name}"
                try:
                    clients.append(node.create_client(kind, full_name, qos_profile=SERVICE, callback_group=group))
                except InvalidServiceNameException as error:
                    raise ValueError(f"service = {service!r}: must be the name of a node: {error}") from error
                undo.callback(node.destroy_client, clients[-1])
            self._client, self._apply = clients
            self._undo = undo.pop_all()

    def __reduce__(self) -> str:
        raise TypeError("a DistanceClient cannot be pickled or copied: its node is of this process; create one in each")

    def __enter__(self) -> DistanceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the node and its thread. Pending calls get no response, and every other method raises an error."""
        self._is_closed = True
        self._undo.close()

    def _require_open(self) -> None:
        if self._is_closed or not self._node.context.ok():
            raise ServiceUnavailableError(
                f"this client of '{self._client.srv_name}' is closed, or the ROS context of its node was shut down"
            )

    def wait(self, timeout: float | None = None, *, ready: bool = False) -> None:
        """Wait until the service is available.

        Parameters
        ----------
        timeout : float, optional
            Time limit, s; default: the timeout of the client.
        ready : bool, optional
            If true, also wait until the node has a robot and has read all messages about objects. It does not wait for
            measurements.

        Raises
        ------
        ServiceUnavailableError
            If the service is not available in time; with the available services of its type, or with the node's reason.
        """
        self._require_open()
        limit = self.timeout if timeout is None else timeout
        until = time.monotonic() + limit
        self._wait_for(self._client, limit)
        if not ready:
            return
        while refusal := self._temporary_refusal():
            if time.monotonic() >= until:
                words = f"'{self._client.srv_name}' cannot answer after {limit:.1f} s: {refusal}"
                raise ServiceUnavailableError(words, refusal.code)
            time.sleep(_PAUSE)
            self._require_open()

    def _temporary_refusal(self) -> RequestRefusedError | None:
        """Request one pair; return the node's refusal if the node may answer later."""
        try:
            _require_success(self._ask(request_of(max_results=1)))
        except RequestRefusedError as error:
            return error if error.code in LATER else None
        except ServiceFailedError:
            pass  # waiting does not help against a bug
        return None

    def _wait_for(self, client: Client, limit: float) -> None:
        until = time.monotonic() + limit
        while not client.service_is_ready():
            if time.monotonic() >= until:
                raise self._unavailable_error(client, limit)
            time.sleep(_LOOK)
            self._require_open()

    def _unavailable_error(self, client: Client, limit: float) -> ServiceUnavailableError:
        kind = client.srv_type.__name__
        there = self._node.get_service_names_and_types()
        others = {name for name, kinds in there if f"superovoid_interfaces/srv/{kind}" in kinds} - {client.srv_name}
        return ServiceUnavailableError(
            f"no service '{client.srv_name}' after {limit:.1f} s; other services of type {kind}: "
            f"{', '.join(sorted(others)) or 'none'}. Is the node running, with the same ROS_DOMAIN_ID?"
        )

    def distances(self, positions: ArrayLike | None = None, **options: Unpack[DistanceOptions]) -> Distances:
        """Compute the signed distances of pairs of bodies in one or many states.

        Parameters
        ----------
        positions
            Positions of `joint_names`, rad or m, shape (states, joints) or (joints,). Other joints keep their measured
            position.
        **options
            The fields of `DistanceOptions`: joint_names, base_poses, links_a, links_b, max_distance, gradients, ...

        Returns
        -------
        Distances

        Raises
        ------
        ValueError
            If an argument has an invalid shape or value.
        RequestRefusedError
            If the node refuses the request; with its reason.
        ServiceFailedError
            If the node fails because of a bug; with its message.
        ServiceUnavailableError
            If the service is unavailable or does not respond in time, or the client is closed; also if the node was
            restarted or cleaned up after this client's `apply_objects`, until that is called again: the node's world
            is empty.
        """
        request = request_of(positions, **options)  # validates the arguments before waiting
        self.wait()
        world_id = self._world_id
        return self._distances(self._ask(request), world_id)

    def distances_async(self, positions: ArrayLike | None = None, **options: Unpack[DistanceOptions]) -> Future:
        """Request `distances` without blocking; the service must be available already (see `wait`).

        Parameters
        ----------
        positions, **options
            As for `distances`; validated at once.

        Returns
        -------
        rclpy.task.Future
            Future of a `Distances`: await it in a coroutine that the executor runs, or add a callback by
            `add_done_callback`.

        Raises
        ------
        ValueError, ServiceUnavailableError
            As for `distances`; the future raises the other errors. It has no time limit.
        """
        request = request_of(positions, **options)
        self._require_open()
        if not self._client.service_is_ready():
            raise self._unavailable_error(self._client, 0.0)
        answer, world_id = Future(executor=self._node.executor), self._world_id

        def use(call: Future) -> None:
            try:
                answer.set_result(self._distances(call.result(), world_id))
            except Exception as error:
                answer.set_exception(error)

        self._client.call_async(request).add_done_callback(use)
        return answer

    def _ask(self, request: GetDistances.Request) -> GetDistances.Response:
        """Call `~/get_distances` and wait for the response."""

        def wait(arrived: threading.Event, seconds: float) -> None:
            until = time.monotonic() + seconds
            while not arrived.wait(_LOOK) and time.monotonic() < until:
                self._require_open()

        try:
            return ask(self._client, request, self.timeout + request.deadline, self._heard, wait)
        except TimeoutError:
            raise self._no_answer(self._client) from None

    def _distances(self, response: GetDistances.Response, world_id: int | None) -> Distances:
        """Return the answer in a response, unless it is about another world than that of the applied objects."""
        _require_success(response)
        if world_id not in (None, response.world_id):
            raise ServiceUnavailableError(
                f"'{self._client.srv_name}' was restarted or cleaned up after apply_objects, or another node has "
                "its name: the applied objects may be missing in its world and in the answer. Apply all objects again"
            )
        return distances_of(response)

    def apply_objects(self, objects: Sequence[SuperovoidObject]) -> str:
        """Add, move or remove superovoids in the node's world or on links: all or none, before this method returns.

        Parameters
        ----------
        objects : sequence of SuperovoidObject
            The changes, in order.

        Returns
        -------
        str
            Summary of the node's objects after the change.

        Raises
        ------
        RequestRefusedError, ServiceFailedError, ServiceUnavailableError
            As for `distances`.
        """
        self._require_open()
        self._wait_for(self._apply, self.timeout)
        try:
            response = self._apply.call(ApplyObjects.Request(objects=list(objects)), self.timeout)
        except TimeoutError:
            raise self._no_answer(self._apply) from None
        _require_success(response)
        self._world_id = response.world_id
        return response.message

    def _no_answer(self, client: Client) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"no answer from '{client.srv_name}' after {self.timeout:.1f} s: the node has ended, or is "
            "busy for longer (see timeout and deadline), or the executor of the client's node is not spinning "
            "(in callbacks of a single-threaded executor use distances_async)"
        )


def _require_success(response: GetDistances.Response | ApplyObjects.Response) -> None:
    if response.success:
        return
    code = Code(response.error_code.value)
    if code is Code.INTERNAL:
        raise ServiceFailedError(response.message)
    raise RequestRefusedError(response.message, code)

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
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple, Unpack

from numpy.typing import ArrayLike
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.exceptions import InvalidServiceNameException
from rclpy.node import Node
from rclpy.task import Future
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetDistances

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.endpoints import SERVICE
from superovoid_ros.nodes.common.mistakes import LATER, Code
from superovoid_ros.nodes.common.questions import (
    Distances,
    Question,
    QuestionOptions,
    check_names,
    join_responses,
)

__all__ = [
    "DistanceClient",
    "Distances",
    "RequestRefusedError",
    "ServiceFailedError",
    "ServiceUnavailableError",
]

_TRIES = 3  # calls within the timeout, if the service has not responded to this client before
_PAUSE = 0.2  # s between two requests that check whether the node is ready
_DISTANCES = "superovoid_interfaces/msg/DistanceArray"  # a topic of every configured node, whatever its name
_DISCOVERY = 1.0  # s, longest time from the discovery of a service to that of the topic
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
        self._is_heard = False  # whether the present servers have responded to this client
        self._world: _Servers | None = None
        with ExitStack() as undo:
            if node is None:
                own = Caller("distance_client", global_arguments=False)
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
            self.result(self._request(Question(max_results=1), lambda: None))
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
        node = client.srv_name.rpartition("/")[0]
        if self._node.count_services(f"{node}/get_state"):
            return ServiceUnavailableError(
                f"no service '{client.srv_name}' after {limit:.1f} s, although node '{node}' is running: it is not "
                "configured. If its parameter autostart is false, a lifecycle manager must configure it"
            )
        kind = client.srv_type.__name__
        there = self._node.get_service_names_and_types()
        others = {name for name, kinds in there if f"superovoid_interfaces/srv/{kind}" in kinds} - {client.srv_name}
        return ServiceUnavailableError(
            f"no service '{client.srv_name}' after {limit:.1f} s; other services of type {kind}: "
            f"{', '.join(sorted(others)) or 'none'}. Is the node running, with the same ROS_DOMAIN_ID?"
        )

    def distances(self, positions: ArrayLike | None = None, **options: Unpack[QuestionOptions]) -> Distances:
        """Compute the signed distances of pairs of bodies in one or many states.

        Parameters
        ----------
        positions, **options
            The fields of `Question`: joint_names, base_poses, links_a, links_b, max_distance, gradients, deadline, ...

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
        question = Question(positions=positions, **options)  # validates the arguments before waiting
        self.wait()
        return self.result(self._request(question, self._check_world))

    def distances_async(self, positions: ArrayLike | None = None, **options: Unpack[QuestionOptions]) -> Future:
        """Request `distances` without blocking; the service must be available already (see `wait`).

        Parameters
        ----------
        positions, **options
            As for `distances`; validated at once.

        Returns
        -------
        rclpy.task.Future
            Future of a `Distances`: await it in a coroutine that the executor runs, add a callback by
            `add_done_callback`, or wait for it by `result` in another thread.

        Raises
        ------
        ValueError, ServiceUnavailableError
            As for `distances`; the future raises the other errors.
        """
        return self._request(Question(positions=positions, **options), self._check_world)

    def _request(self, question: Question, check: Callable[[], None]) -> _Answer:
        """Send the first request; return the future of the complete answer."""
        requests = question.requests()
        self._require_open()
        if not self._client.service_is_ready():
            raise self._unavailable_error(self._client, 0.0)
        answer = _Answer(self._client, requests, question.deadline, self._node.executor, check)
        answer.send()
        return answer

    def result(self, future: Future) -> Distances:
        """Wait for a future returned by `distances_async`, and return its result.

        Raises
        ------
        TypeError
            If the future does not come from `distances_async`.
        RequestRefusedError
            If the node refuses the request; with its reason.
        ServiceFailedError
            If the node fails because of a bug; with its message.
        ServiceUnavailableError
            If a service call takes longer than the timeout (plus the deadline).

        Notes
        -----
        A call is repeated if the service has restarted, or has not yet responded to this client: the middleware loses
        responses of a service that has not discovered the client.
        """
        if not isinstance(future, _Answer):
            raise TypeError(f"future: must be one of distances_async(), found {type(future).__name__}")
        answered, servers = future.answered, self._count()
        limit, again = self.timeout + (future.deadline or 0.0), time.monotonic() + self.timeout / _TRIES
        until = time.monotonic() + limit
        while not future.done():
            # Every response sets the event; the period serves to discover a restarted service.
            future.changed.wait(_LOOK)
            future.changed.clear()
            now, before, servers = time.monotonic(), servers, self._count()
            if future.answered > answered:
                answered, until, self._is_heard = future.answered, now + limit, True
            if future.done():
                break
            try:
                self._require_open()
                if now >= until:
                    raise self._no_answer(self._client)
            except ServiceUnavailableError:
                future.drop()
                raise
            if servers > before:  # the previous server may have ended before its response
                self._is_heard = False
                future.send()
            elif now >= again:
                again += self.timeout / _TRIES
                if not self._is_heard:
                    future.send()
        self._is_heard = True
        return future.result()

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
        until = time.monotonic() + _DISCOVERY
        # Before the call, since another node may have taken the place of this one when the response has arrived.
        while not (world := self._servers()).ends and time.monotonic() < until:
            time.sleep(_LOOK)
        try:
            response = self._apply.call(ApplyObjects.Request(objects=list(objects)), self.timeout)
        except TimeoutError:
            raise self._no_answer(self._apply) from None
        _require_success(response)
        self._world = world
        return response.message

    def _count(self) -> int:
        """Return how many known nodes offer the service; a crashed one remains known for a while."""
        return self._node.count_services(self._client.srv_name)

    def _servers(self) -> _Servers:
        """Return which nodes serve this client at present, as far as they are discovered."""
        node, own = self._node, self._client.srv_name.rpartition("/")[0]
        topics = [topic for topic, kinds in node.get_topic_names_and_types() if _DISTANCES in kinds]
        publishers = (end for topic in topics for end in node.get_publishers_info_by_topic(topic))
        ends = (end for end in publishers if f"{end.node_namespace.rstrip('/')}/{end.node_name}" == own)
        return _Servers(frozenset(bytes(end.endpoint_gid) for end in ends), self._count())

    def _check_world(self) -> None:
        """Raise `ServiceUnavailableError` if the node's world may lack the objects that this client applied."""
        if self._world is None:
            return
        now = self._servers()
        if not now.continues(self._world):
            raise ServiceUnavailableError(
                f"'{self._client.srv_name}' was restarted or cleaned up after apply_objects, or another node has "
                "its name: the applied objects may be missing in its world and in the answer. Apply all objects again"
            )
        self._world = now

    def _no_answer(self, client: Client) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"no answer from '{client.srv_name}' after {self.timeout:.1f} s: the node has ended, or is "
            "busy for longer (see timeout, batch and deadline), or the executor of the client's node is not spinning "
            "(in callbacks of a single-threaded executor use distances_async)"
        )


def _require_success(response: GetDistances.Response | ApplyObjects.Response) -> None:
    if response.success:
        return
    code = Code(response.error_code.value)
    if code is Code.INTERNAL:
        raise ServiceFailedError(response.message)
    raise RequestRefusedError(response.message, code)


class _Servers(NamedTuple):
    """The nodes that serve a client."""

    ends: frozenset[bytes]
    """Their publishers of `_DISTANCES`, which differ between configurations of a node; empty: not discovered yet."""
    services: int
    """Their number of services, some of which are discovered before the publisher."""

    def continues(self, before: _Servers) -> bool:
        """Return True if no new node serves, and an earlier one still does."""
        known = not before.ends or bool(self.ends and self.ends <= before.ends)
        return known and self.services <= max(1, before.services)


class _Answer(Future):
    """Future of an answer that takes several service calls, one after another."""

    def __init__(
        self,
        client: Client,
        requests: list[GetDistances.Request],
        deadline: float | None,
        executor: object,
        check: Callable[[], None],
    ) -> None:
        super().__init__(executor=executor)
        self._check = check
        self.deadline = deadline
        self.answered = 0
        self.changed = threading.Event()
        self._client, self._requests = client, requests
        self._responses: list[GetDistances.Response] = []
        self._until = None if deadline is None else time.monotonic() + deadline
        self._calls: list[Future] = []  # calls for the next request; more than one if responses were lost
        self._lock = threading.RLock()  # a response may arrive while the request is sent again

    def send(self) -> None:
        """Send the next request, in addition to earlier calls without a response; the first response counts."""
        with self._lock:
            if self.done():
                return
            request = self._requests[self.answered]
            if self._until is not None:
                request.deadline = max(self._until - time.monotonic(), 1e-6)
            call = self._client.call_async(request)
            self._calls.append(call)
        call.add_done_callback(self._take)

    def drop(self) -> None:
        """Discard the pending calls: their responses are ignored."""
        with self._lock:
            while self._calls:
                self._client.remove_pending_request(self._calls.pop())

    def _take(self, call: Future) -> None:
        with self._lock:
            if call not in self._calls:
                return
            self._calls.remove(call)
            self.drop()
            try:
                response = call.result()
                _require_success(response)
                self._check()
                self._responses.append(response)
                self.answered += 1
                is_over = self._until is not None and time.monotonic() >= self._until
                if self.answered == len(self._requests) or response.message or is_over:
                    self.set_result(join_responses(self._responses, response.message or self._missing_part()))
                else:
                    self.send()
            except Exception as error:
                self.set_exception(error)
        self.changed.set()

    def _missing_part(self) -> str:
        if self.answered == len(self._requests):
            return ""
        return f"{self.answered} of {len(self._requests)} service calls: the deadline was reached"

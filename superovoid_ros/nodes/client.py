"""A client of the node `distance_service` for Python: numpy in, numpy out.

from superovoid_ros.client import DistanceClient

with DistanceClient() as client:                              # a script; DistanceClient(node) inside a node
    now = client.distances(links_a=["left_hand"])             # the measured state
    found = client.distances(positions, joint_names=names, max_distance=0.02, gradients=True)
    found.closest                                             # least distance of each state
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from scipy.spatial.transform import Rotation
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetDistances

from superovoid_ros.contact._api import as_poses
from superovoid_ros.nodes.conversions import to_nanoseconds
from superovoid_ros.nodes.logs import ensure_log_folder
from superovoid_ros.nodes.qos import SERVICE

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BATCH = 1000
"""States of one service call."""
_POLL = 0.05  # s, between two looks whether a service is there


class ServiceUnavailableError(RuntimeError):
    """A service that was waited for is not there, or did not answer in time."""


class RequestRefusedError(ValueError):
    """The node could not answer; the words are the node's."""


@dataclass(frozen=True)
class Distances:
    """Answers in many states, one row a pair; the rows of a state are sorted by ascending distance.

    The rows of state s are ``first[s]`` to ``first[s + 1] - 1``.
    """

    done: int
    """States that were answered, always the first ones; fewer than were asked about where the deadline came first."""
    first: IntArray
    """Shape (done + 1,)."""
    bodies: tuple[str, ...]
    """Names that `body_a` and `body_b` are indices of."""
    links: tuple[str, ...]
    """The link or object that each of `bodies` is on."""
    body_a: IntArray
    body_b: IntArray
    distance: FloatArray
    """Signed, m, shape (rows,)."""
    lower: FloatArray
    """Certified interval around the distance, m."""
    upper: FloatArray
    status: NDArray[np.uint8]
    """Flags of `superovoid_ros.Status`."""
    point_a: FloatArray
    """Shape (rows, 3), m, in `frame`."""
    point_b: FloatArray
    normal: FloatArray
    """Unit vectors from a to b, shape (rows, 3), in `frame`."""
    gradients: FloatArray | None
    """d(distance)/dq, shape (rows, len(gradient_joints)), m/rad or m/m; None where not asked for."""
    gradient_joints: tuple[str, ...]
    base_gradients: FloatArray | None
    """By the twist (linear; angular) of each of `gradient_bases`, shape (rows, bases, 6), axes of the root link."""
    gradient_bases: tuple[str, ...]
    frame: str
    stamp: int
    """When the measured part of the states was measured, nanoseconds; of the oldest measurement in it."""
    stale: bool
    """Whether a measurement in it is older than the node's parameter `stale_timeout`."""
    message: str
    """Why there are fewer states than were asked for; empty where there are not."""

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def state(self) -> IntArray:
        """The state that each row belongs to, shape (rows,)."""
        return np.repeat(np.arange(self.done), np.diff(self.first))

    @property
    def closest(self) -> FloatArray:
        """Least distance of each state, m, shape (done,); inf where no pair is within the limit."""
        least = np.full(self.done, math.inf)
        some = self.first[1:] > self.first[:-1]
        least[some] = self.distance[self.first[:-1][some]]
        return least


@dataclass(frozen=True, kw_only=True)
class Question:
    """What `DistanceClient` is asked.

    Raises
    ------
    ValueError
        If an argument has not the shape or range it must have.
    """

    positions: ArrayLike | None = None
    """Of `joint_names`, rad or m, shape (states, joints) or (joints,). Joints left out keep their measured position."""
    joint_names: Sequence[str] = ()
    """The columns of `positions`."""
    base_poses: Mapping[str, ArrayLike] = field(default_factory=dict)
    """Poses of links on floating joints, m, in `base_frame`, shape (4, 4) for all states or (states, 4, 4).
    Links left out keep their pose from TF."""
    base_frame: str = ""
    """Default: the robot's root link."""
    links_a: Sequence[str] = ()
    """Links, groups or objects on either side; default: any."""
    links_b: Sequence[str] = ()
    max_distance: float | None = None
    """Largest distance to report, m."""
    max_results: int | None = None
    """At most so many pairs a state, the closest ones."""
    gradients: bool = False
    """Whether derivatives by the joints are wanted."""
    base_gradients: bool = False
    """Whether derivatives by base poses are wanted."""
    deadline: float | None = None
    """Time after which no further state is begun, s."""
    batch: int = BATCH
    """States of one service call; more are split into several."""

    def __post_init__(self) -> None:
        if any(isinstance(names, str) for names in (self.joint_names, self.links_a, self.links_b)):
            raise ValueError("joint_names, links_a and links_b: must be sequences of names, found one name")
        if self.max_distance is not None and not self.max_distance > 0.0:
            raise ValueError(f"max_distance = {self.max_distance!r}: must be positive, or None for no limit")
        if self.max_results is not None and self.max_results < 1:
            raise ValueError(f"max_results = {self.max_results!r}: must be at least 1, or None for no limit")
        if self.deadline is not None and not 0.0 < self.deadline < math.inf:
            raise ValueError(f"deadline = {self.deadline!r}: must be a positive number of seconds, or None for none")
        if self.batch < 1:
            raise ValueError(f"batch = {self.batch!r}: must be at least 1")

    def requests(self) -> list[GetDistances.Request]:
        """The service calls, each of at most `batch` states."""
        rows, bases = self._rows(), _base_rows(self.base_poses or {})
        if len(rows) and len(bases) not in (0, 1, len(rows)):
            raise ValueError(f"base_poses: must be one pose for all states or {len(rows)}, found {len(bases)}")
        requests = []
        for start in range(0, max(len(rows), len(bases), 1), self.batch):
            part = slice(start, start + self.batch)
            requests.append(
                GetDistances.Request(
                    links_a=list(self.links_a),
                    links_b=list(self.links_b),
                    max_distance=float(self.max_distance or 0.0),
                    max_results=int(self.max_results or 0),
                    joint_names=list(self.joint_names),
                    joint_positions=array("d", rows[part].tobytes()),
                    base_links=list(self.base_poses or ()),
                    base_poses=array("d", (bases if len(bases) == 1 else bases[part]).tobytes()),
                    base_frame=self.base_frame,
                    gradients=bool(self.gradients),
                    base_gradients=bool(self.base_gradients),
                )
            )
        return requests

    def _rows(self) -> FloatArray:
        """Joint positions, shape (states, joints); no rows where none are given."""
        count = len(self.joint_names)
        rows = np.empty((0, count))
        if self.positions is not None:
            rows = np.atleast_2d(np.asarray(self.positions, dtype=np.float64))
        if (self.positions is None) != (not count) or rows.ndim != 2 or rows.shape[1] != count:
            raise ValueError(
                f"positions: must have shape (states, {count}), a column for each of joint_names, found "
                f"{None if self.positions is None else np.shape(self.positions)}"
            )
        return rows


class DistanceClient:
    """Calls `~/get_distances` of a distance service, blocking or not, and `~/apply_objects`.

    Parameters
    ----------
    node : Node, optional
        The node to call from. Its executor must be spinning while a call is blocking: in another thread, or, where the
        call is made in a callback, in other threads of a MultiThreadedExecutor; in callbacks of a single-threaded
        executor use `distances_async`. Without one the client has a node, a context and a thread of its own.
    service : str, optional
        Name of the node that answers, its namespace included.
    timeout : float, optional
        How long to wait for the service to be there, and for the answer of one service call (beyond a deadline), s.

    Notes
    -----
    Methods may be called from several threads. `close`, or leaving the ``with`` block, ends what the client began.
    """

    def __init__(self, node: Node | None = None, service: str = "/distance_service", *, timeout: float = 10.0) -> None:
        if not timeout > 0.0:
            raise ValueError(f"timeout = {timeout!r}: must be a positive number of seconds")
        self.timeout = float(timeout)
        self._context: Context | None = None
        if node is None:
            self._context = Context()
            ensure_log_folder()
            self._context.init()
            node = Node("distance_client", context=self._context, use_global_arguments=False)
            self._executor = SingleThreadedExecutor(context=self._context)
            self._executor.add_node(node)
            self._thread = threading.Thread(target=self._spin, name="distance_client", daemon=True)
            self._thread.start()
        self._node = node
        group = ReentrantCallbackGroup()
        self._client, self._apply = (
            node.create_client(kind, f"{service.rstrip('/')}/{name}", qos_profile=SERVICE, callback_group=group)
            for kind, name in ((GetDistances, "get_distances"), (ApplyObjects, "apply_objects"))
        )

    def __enter__(self) -> DistanceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the network; calls in flight are never answered."""
        if self._context is None:
            self._node.destroy_client(self._client)
            self._node.destroy_client(self._apply)
            return
        if self._context.ok():
            self._context.shutdown()
            self._executor.shutdown()
            self._thread.join()
            self._node.destroy_node()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the service is there.

        Parameters
        ----------
        timeout : float, optional
            s; default: that of the client.

        Raises
        ------
        ServiceUnavailableError
            If it is not; with the services of its type that are.
        """
        self._wait_for(self._client, self.timeout if timeout is None else timeout)

    def _wait_for(self, client: Client, limit: float) -> None:
        kind = client.srv_type.__name__
        until = time.monotonic() + limit
        while not client.service_is_ready():
            if time.monotonic() >= until:
                raise ServiceUnavailableError(
                    f"no service '{client.srv_name}' after {limit:.1f} s; services of type {kind}: "
                    f"{', '.join(self._services(kind)) or 'none'}. Is the node started, in the same ROS_DOMAIN_ID?"
                )
            time.sleep(_POLL)

    def distances(self, positions: ArrayLike | None = None, **options: object) -> Distances:
        """Signed distances of the pairs of bodies that are near, in many states.

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
            If an argument has not the shape or range it must have.
        RequestRefusedError
            If the node cannot answer; with its reason.
        ServiceUnavailableError
            If the service is not there or does not answer in time.
        """
        return self.result(self.distances_async(positions, **options))

    def distances_async(self, positions: ArrayLike | None = None, **options: object) -> Future:
        """`distances` without waiting for the answer.

        Parameters
        ----------
        positions, **options
            As for `distances`, and checked at once.

        Returns
        -------
        rclpy.task.Future
            Of a `Distances`: to be awaited in a coroutine that the executor runs, given a callback by
            `add_done_callback`, or waited for by `result` in another thread.

        Raises
        ------
        ValueError, ServiceUnavailableError
            As `distances`; the other error comes with the answer.
        """
        question = Question(positions=positions, **options)
        requests = question.requests()
        if not self._client.service_is_ready():
            self.wait()
        answer = _Answer(self._client, requests, question.deadline, self._node.executor)
        answer.send()
        return answer

    def result(self, future: Future) -> Distances:
        """Wait for a future of `distances_async`.

        Raises
        ------
        RequestRefusedError
            If the node cannot answer; with its reason.
        ServiceUnavailableError
            If one of its service calls takes longer than the timeout (and the deadline) of the call.
        """
        changed = future.changed
        while not future.done():
            before = future.answered
            changed.clear()
            if not future.done() and not changed.wait(self.timeout + (future.deadline or 0.0)):
                if future.done() or future.answered > before:
                    continue
                raise self._no_answer(self._client)
        return future.result()

    def apply_objects(self, objects: Sequence[SuperovoidObject]) -> str:
        """Add superovoids to the node's world or to links, move or remove them: all or none, before it returns.

        Parameters
        ----------
        objects : sequence of SuperovoidObject

        Returns
        -------
        str
            What there is then, in words.

        Raises
        ------
        RequestRefusedError, ServiceUnavailableError
            As `distances`.
        """
        self._wait_for(self._apply, self.timeout)
        done = threading.Event()
        call = self._apply.call_async(ApplyObjects.Request(objects=list(objects)))
        call.add_done_callback(lambda _: done.set())
        if not done.wait(self.timeout):
            raise self._no_answer(self._apply)
        response = call.result()
        if not response.success:
            raise RequestRefusedError(response.message)
        return response.message

    def _no_answer(self, client: Client) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"no answer from '{client.srv_name}' after {self.timeout:.1f} s: the node has ended or is "
            "busy for longer (see timeout, batch and deadline), or the executor of this node is not spinning "
            "(in callbacks of a single-threaded executor use distances_async)"
        )

    def _services(self, kind: str) -> list[str]:
        there = self._node.get_service_names_and_types()
        return sorted(name for name, kinds in there if f"superovoid_interfaces/srv/{kind}" in kinds)

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass


class _Answer(Future):
    """The answer to a question that takes several service calls, one after the other."""

    def __init__(
        self, client: object, requests: list[GetDistances.Request], deadline: float | None, executor: object
    ) -> None:
        super().__init__(executor=executor)
        self.deadline = deadline
        self.answered = 0
        self.changed = threading.Event()
        self._client, self._requests = client, requests
        self._responses: list[GetDistances.Response] = []
        self._until = None if deadline is None else time.monotonic() + deadline

    def send(self) -> None:
        """Send the next request."""
        request = self._requests[self.answered]
        if self._until is not None:
            request.deadline = max(self._until - time.monotonic(), 1e-6)
        self._client.call_async(request).add_done_callback(self._take)

    def _take(self, call: Future) -> None:
        try:
            response = call.result()
            if not response.success:
                raise RequestRefusedError(response.message)
            self._responses.append(response)
            self.answered += 1
            is_over = self._until is not None and time.monotonic() >= self._until
            if self.answered == len(self._requests) or response.message or is_over:
                self.set_result(_joined(self._responses, response.message or self._what_is_left()))
            else:
                self.send()
        except Exception as error:
            self.set_exception(error)
        self.changed.set()

    def _what_is_left(self) -> str:
        if self.answered == len(self._requests):
            return ""
        return f"{self.answered} of {len(self._requests)} service calls: the deadline was over"


def _base_rows(base_poses: Mapping[str, ArrayLike]) -> FloatArray:
    """Poses as rows of a request, shape (states or 1, 7 for each link)."""
    numbers = []
    for link, pose in base_poses.items():
        matrices = as_poses(f"base_poses[{link!r}]", pose)
        if matrices.ndim not in (2, 3) or not len(matrices):
            raise ValueError(f"base_poses[{link!r}]: must have shape (4, 4) or (states, 4, 4), found {matrices.shape}")
        matrices = matrices.reshape(-1, 4, 4)
        numbers.append(np.hstack([matrices[:, :3, 3], Rotation.from_matrix(matrices[:, :3, :3]).as_quat()]))
    if not numbers:
        return np.empty((0, 0))
    states = max(map(len, numbers))
    for link, rows in zip(base_poses, numbers, strict=True):
        if len(rows) not in (1, states):
            raise ValueError(
                f"base_poses[{link!r}]: {len(rows)} poses, others have {states}: must be equally many or 1"
            )
    return np.hstack([np.broadcast_to(rows, (states, 7)) for rows in numbers])


def _joined(responses: list[GetDistances.Response], message: str) -> Distances:
    """One answer from those of consecutive states."""
    last = responses[-1]
    place: dict[tuple[str, str], int] = {}
    for response in responses:
        for body in zip(response.bodies, response.body_links, strict=True):
            place.setdefault(body, len(place))

    def column(name: str, shape: tuple[int, ...] = ()) -> np.ndarray:
        return np.concatenate([np.asarray(getattr(response, name)) for response in responses]).reshape(-1, *shape)

    def bodies(name: str) -> IntArray:
        """Indices into the bodies of all."""
        parts = []
        for response in responses:
            table = [place[body] for body in zip(response.bodies, response.body_links, strict=True)]
            parts.append(np.array(table, dtype=np.int64)[np.asarray(getattr(response, name), dtype=np.int64)])
        return np.concatenate(parts)

    counts = np.concatenate([np.diff(np.asarray(response.first, dtype=np.int64)) for response in responses])
    joints, bases = tuple(last.gradient_joints), tuple(last.gradient_bases)
    return Distances(
        done=len(counts),
        first=np.concatenate([[0], np.cumsum(counts)]),
        bodies=tuple(name for name, _ in place),
        links=tuple(link for _, link in place),
        body_a=bodies("body_a"),
        body_b=bodies("body_b"),
        distance=column("distance"),
        lower=column("lower"),
        upper=column("upper"),
        status=column("status"),
        point_a=column("point_a", (3,)),
        point_b=column("point_b", (3,)),
        normal=column("normal", (3,)),
        gradients=column("gradients", (len(joints),)) if joints else None,
        gradient_joints=joints,
        base_gradients=column("base_gradients", (len(bases), 6)) if bases else None,
        gradient_bases=bases,
        frame=last.header.frame_id,
        stamp=min(to_nanoseconds(response.header.stamp) for response in responses),
        stale=any(response.stale for response in responses),
        message=message,
    )

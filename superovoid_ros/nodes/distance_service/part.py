"""A part of the node `distance_service`: one thing it does, in a module of its own.

The node holds a tuple of parts and tells all of them, in that order, what happens to it:

    configure -> activate -> deactivate -> clean_up     the node's life
    check -> apply                                      new values of parameters
    model_changed                                       another robot, or none

A new part is a class here and one line in `DistanceService`:

    class Greeter(Part):
        parameters = (text("greeting", "hello", "What is answered"),)

        def configure(self, node):
            serve(node, Trigger, "~/greet", self._greet)  # qos.py has listen and advertise, too

        def _greet(self, request, response):
            return self.answer(response, lambda: f"{self.node.value('greeting')}, {self.node.robot.model().robot.name}")

When every part is configured, `model_changed` tells of the robot, if there is one by then. What `configure` creates on
the node (services, subscriptions, publishers, timers, clients) is destroyed by the node when it is cleaned up;
what is created later (a timer in `activate`) belongs to the part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeVar

from superovoid_ros.nodes.common.mistakes import reason_of
from superovoid_ros.nodes.common.parameters import Declared

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService

Found = TypeVar("Found")


class Part:
    """What every part can be told; each does nothing unless a part says otherwise."""

    parameters: tuple[Declared, ...] = ()
    """What the part declares; there from the start of the process on, in every state of the node."""

    node: DistanceService
    """set before anything is called"""

    def configure(self, node: DistanceService) -> None:
        """Create services, subscriptions and publishers; `InputError` where the parameters do not allow it."""

    def activate(self) -> None:
        """Begin to publish."""

    def deactivate(self) -> None:
        """Publish nothing from now on."""

    def clean_up(self) -> None:
        """Forget everything that came after `configure`; called after failures too."""

    def check(self, new: Mapping[str, object]) -> None:
        """Raise `InputError` where new values cannot be used; nothing else may change.

        `new` holds the parameters to be set together and no other. What needs a robot is checked against
        `node.robot.candidate`, the robot that would be there after the change.
        """

    def apply(self, names: AbstractSet[str]) -> None:
        """Take over the new values of parameters, which `check` has accepted; not called while unconfigured."""

    def model_changed(self) -> None:
        """Drop what was made from the robot of before; `node.robot` has the new one."""

    def facts(self) -> Mapping[str, object]:
        """Return what the diagnostics of the robot are to tell about this part, like `{"objects": 3}`."""
        return {}

    def answer(self, response: object, fill: Callable[[], str]) -> object:
        """Fill a response that has `success` and `message`; for service callbacks.

        Parameters
        ----------
        response
            The response; returned.
        fill
            Sets all other fields and returns the message. Whatever it raises ends in the message, and `success` is
            false; so it sets fields last. Not called while the node is inactive, which is answered as such.
        """
        service = type(response).__name__.removesuffix("_Response")
        try:
            self.node.require_active()
            response.message = fill()
            response.success = True
        except Exception as error:
            response.success, response.message = False, reason_of(error)
            self.node.statistics.call(service, error)
        else:
            self.node.statistics.call(service)
        return response

    async def answer_long(
        self, response: object, prepare: Callable[[], tuple[int, Callable[[], Found]]], fill: Callable[[Found], str]
    ) -> object:
        """Fill a response by work that may take long; for callbacks of services with a `ReentrantCallbackGroup`.

        Parameters
        ----------
        response
            As for `answer`.
        prepare
            Returns what the work costs, in pairs of bodies, and the work. The work touches nothing of the node: it may
            be done by another thread (`workers.py`).
        fill
            As for `answer`, of what the work returned.
        """
        found = problem = None
        try:
            self.node.require_active()
            found = await self.node.workers.do(*prepare())
        except Exception as error:
            problem = error

        def finish() -> str:
            if problem is not None:
                raise problem
            return fill(found)

        return self.answer(response, finish)

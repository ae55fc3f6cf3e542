"""The client of the distance service: `DistanceClient`. Needs ROS 2, as nothing else outside `nodes` does."""

from superovoid_ros.nodes.client import (
    DistanceClient,
    Distances,
    Question,
    RequestRefusedError,
    ServiceFailedError,
    ServiceUnavailableError,
)

__all__ = [
    "DistanceClient",
    "Distances",
    "Question",
    "RequestRefusedError",
    "ServiceFailedError",
    "ServiceUnavailableError",
]

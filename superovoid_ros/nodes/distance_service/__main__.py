# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.distance_service`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from superovoid_ros.nodes.common.main import run

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService


def create() -> DistanceService:
    """Return the node."""
    # Here, so that Ctrl-C during these imports ends the process as it does later, and `run` can speed them up.
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService

    return DistanceService()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(create, args)


if __name__ == "__main__":
    raise SystemExit(main())

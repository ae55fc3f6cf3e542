# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Subcommands of `superovoid` that use ROS nodes or the hands in this package."""

from __future__ import annotations

from superovoid.extensions import CommandError


def needs_ros(error: ModuleNotFoundError) -> CommandError:
    """Return the error of a command that needs ROS 2, with installation commands."""
    return CommandError(
        f"needs ROS 2 and the interfaces of this package: no module {error.name!r}.\n"
        "Without ROS 2: pip install ./superovoid ./superovoid_interfaces '.[wheels]'\n"
        "With ROS 2: build these packages with colcon and source install/setup.bash"
    )

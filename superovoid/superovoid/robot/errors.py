# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The errors of what reads robots."""


class RobotDescriptionError(ValueError):
    """A URDF or SRDF that cannot be used. The message names the element, what was found and what is expected."""


class LimitError(ValueError):
    """There would be more of something than there may be; the message has both numbers."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Errors raised while reading robots and planning scenes."""


class RobotDescriptionError(ValueError):
    """An invalid URDF or SRDF. The message names the element, what was found and what is expected."""


class LimitError(ValueError):
    """A limit would be exceeded. The message contains the count and the limit."""

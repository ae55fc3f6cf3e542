# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one error of what reads robots, and how a refusal is told from a mistake of ours."""

import dis


class RobotDescriptionError(ValueError):
    """A URDF or SRDF that cannot be used. The message names the element, what was found and what is expected."""


class LimitError(ValueError):
    """There would be more of something than there may be; the message has both numbers."""


def is_refusal(error: BaseException) -> bool:
    """Whether a `raise` statement of this package, or of one that brings it to ROS, raised an error, and not numpy.

    What is refused is a `ValueError`, and so are mistakes of ours that numpy notices (arrays that do not fit). A
    function of C has no frame of its own: the innermost frame may then be ours, but stands at a call.
    """
    innermost = error.__traceback__
    if innermost is None:
        return False
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = innermost.tb_frame.f_globals.get("__name__", "")
    code = innermost.tb_frame.f_code.co_code
    return module.partition(".")[0].startswith("superovoid") and code[innermost.tb_lasti] == dis.opmap["RAISE_VARARGS"]

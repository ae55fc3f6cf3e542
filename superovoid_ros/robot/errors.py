"""The one error of this room."""


class RobotDescriptionError(ValueError):
    """A URDF or SRDF that cannot be used. The message names the element, what was found and what is expected."""

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of launch arguments: texts, given types here, with errors that name the argument. The nodes check values.

The launch files are in `launch/`; this module imports nothing of launch, so that a test needs no ROS 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
_TEXTS = ("representation", "meshes", "frame_prefix")
_NUMBERS = ("rate", "max_distance")
_SWITCHED = ("use_sim_time", "autostart", "require_scene")


def distance_service(values: Mapping[str, str]) -> dict[str, object]:
    """Return the parameters of the node that arguments of `distance_service.launch.py` set.

    Parameters
    ----------
    values
        The arguments as texts. Empty ones set nothing: the parameter file and the defaults of the node apply.

    Returns
    -------
    dict
        Values by the names of the node's parameters.

    Raises
    ------
    ValueError
        For a value of another type, or a file that cannot be read; it begins with the name of the argument.
    """
    given = {name for name, value in values.items() if value}
    parameters: dict[str, object] = {name: values[name] for name in _TEXTS if name in given}
    parameters |= {name: number(values, name) for name in _NUMBERS if name in given}
    parameters |= {name: switch(values, name) for name in _SWITCHED if name in given}
    for name, parameter in (("urdf", "robot_description"), ("srdf", "robot_description_semantic")):
        if name in given:
            parameters[parameter] = file_text(values, name)
    if "package_directories" in given:
        parameters["package_directories"] = [entry.strip() for entry in values["package_directories"].split(",")]
    return parameters


def number(values: Mapping[str, str], name: str) -> float:
    """Read a number."""
    try:
        return float(values[name])
    except ValueError:
        raise ValueError(f"{name}:={values[name]}: must be a number") from None


def switch(values: Mapping[str, str], name: str) -> bool:
    """Read true or false."""
    try:
        return _SWITCHES[values[name].lower()]
    except KeyError:
        raise ValueError(f"{name}:={values[name]}: must be true or false") from None


def file_text(values: Mapping[str, str], name: str) -> str:
    """Read the text of a file."""
    path = Path(values[name]).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}:={values[name]}: cannot be read (in {Path.cwd()}): {error}") from error

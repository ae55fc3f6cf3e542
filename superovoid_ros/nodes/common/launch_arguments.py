# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of launch arguments from strings, with errors that name the argument. The nodes check the values.

The launch files are in `launch/`; this module imports nothing of launch, so that its test needs no ROS 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
_TEXTS = ("representation", "meshes", "frame_prefix")
_NUMBERS = ("rate", "max_distance")
_SWITCHED = ("use_sim_time", "autostart", "require_scene")


def distance_service(values: Mapping[str, str]) -> dict[str, object]:
    """Return the node parameters that the arguments of `distance_service.launch.py` set.

    Parameters
    ----------
    values
        The arguments as strings. Empty ones set nothing: the parameter file and the node's defaults apply.

    Returns
    -------
    dict
        Parameter values by name.

    Raises
    ------
    ValueError
        If a value has the wrong type or a file cannot be read; the message begins with the name of the argument.
    """
    present = {name for name, value in values.items() if value}
    parameters: dict[str, object] = {name: values[name] for name in _TEXTS if name in present}
    parameters |= {name: number(values, name) for name in _NUMBERS if name in present}
    parameters |= {name: switch(values, name) for name in _SWITCHED if name in present}
    for name, parameter in (("urdf", "robot_description"), ("srdf", "robot_description_semantic")):
        if name in present:
            parameters[parameter] = file_text(values, name)
    if "package_directories" in present:
        parameters["package_directories"] = [entry.strip() for entry in values["package_directories"].split(",")]
    return parameters


def number(values: Mapping[str, str], name: str) -> float:
    """Return an argument as a number."""
    try:
        return float(values[name])
    except ValueError:
        raise ValueError(f"{name}:={values[name]}: must be a number") from None


def switch(values: Mapping[str, str], name: str) -> bool:
    """Return an argument as true or false."""
    try:
        return _SWITCHES[values[name].lower()]
    except KeyError:
        raise ValueError(f"{name}:={values[name]}: must be true or false") from None


def file_text(values: Mapping[str, str], name: str) -> str:
    """Return the text of the file that an argument names."""
    path = Path(values[name]).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}:={values[name]}: cannot be read (in {Path.cwd()}): {error}") from error

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values of launch arguments: texts, read and checked here, with errors that name the argument.

The launch files are in `launch/`; this module imports nothing of launch, so that a test needs no ROS 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

REPRESENTATIONS = ("mixed", "superovoids", "superellipsoids")
MESHES = ("hull", "triangles", "shells", "ignore")
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
_SWITCHES = {"true": True, "1": True, "false": False, "0": False}


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
        For a value without sense; it begins with the name of the argument.
    """
    readers = {
        "urdf": ("robot_description", file_text),
        "srdf": ("robot_description_semantic", file_text),
        "representation": ("representation", lambda of, name: one_of(of, name, REPRESENTATIONS)),
        "meshes": ("meshes", lambda of, name: one_of(of, name, MESHES)),
        "package_directories": ("package_directories", folders),
        "rate": ("rate", number),
        "max_distance": ("max_distance", number),
        "frame_prefix": ("frame_prefix", lambda of, name: of[name]),
        "use_sim_time": ("use_sim_time", switch),
        "autostart": ("autostart", switch),
        "require_scene": ("require_scene", switch),
    }
    return {
        parameter: read(values, argument) for argument, (parameter, read) in readers.items() if values.get(argument)
    }


def number(values: Mapping[str, str], name: str) -> float:
    """Read a finite number of at least 0."""
    try:
        value = float(values[name])
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name}:={values[name]}: must be a number that is not negative")
    return value


def switch(values: Mapping[str, str], name: str) -> bool:
    """Read true or false."""
    try:
        return _SWITCHES[values[name].lower()]
    except KeyError:
        raise ValueError(f"{name}:={values[name]}: must be true or false") from None


def one_of(values: Mapping[str, str], name: str, choices: Mapping[str, object] | tuple[str, ...]) -> str:
    """Read one of some words."""
    if values[name] not in choices:
        raise ValueError(f"{name}:={values[name]}: must be one of {', '.join(choices)}")
    return values[name]


def file(values: Mapping[str, str], name: str) -> Path:
    """Read the path of an existing file."""
    path = Path(values[name]).expanduser()
    if not path.is_file():
        raise ValueError(f"{name}:={values[name]}: no such file (in {Path.cwd()})")
    return path


def file_text(values: Mapping[str, str], name: str) -> str:
    """Read the text of a file."""
    path = file(values, name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}:={values[name]}: cannot be read: {error}") from error


def folders(values: Mapping[str, str], name: str) -> list[str]:
    """Read entries like name=/folder with commas between them, as the parameter `package_directories` has them."""
    entries = [entry.strip() for entry in values[name].split(",") if entry.strip()]
    for entry in entries:
        package, _, folder = entry.partition("=")
        if not package or not Path(folder).is_absolute() or not Path(folder).is_dir():
            raise ValueError(f"{name}:={values[name]}: '{entry}': must be name=/folder, with the path of a folder")
    return entries or [""]

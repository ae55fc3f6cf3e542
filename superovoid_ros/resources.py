# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Locations of this package's files (urdf/, config/, launch/), installed or in a source checkout; reading of YAML."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

PACKAGE = "superovoid_ros"


def share_directory() -> Path:
    """Return the folder that contains `urdf/`, `config/` and `launch/` of this package.

    The search order is: next to the imported Python package if it is a source checkout (so that edited files are used),
    every prefix in the ament index (`AMENT_PREFIX_PATH`, set by a sourced ROS 2 workspace), and `sys.prefix` (pip in a
    virtual environment).

    Returns
    -------
    Path
        An existing folder.

    Raises
    ------
    FileNotFoundError
        If none of these places has the files; the message lists them.
    """
    checkout = Path(__file__).resolve().parent.parent
    prefixes = [entry for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    installed = [Path(prefix) / "share" / PACKAGE for prefix in [*prefixes, sys.prefix]]
    candidates = [checkout, *installed]
    for candidate in candidates:
        if (candidate / "package.xml").is_file() and (candidate / "urdf").is_dir():
            return candidate
    places = ", ".join(str(candidate) for candidate in candidates)
    raise FileNotFoundError(
        f"share directory of {PACKAGE} not found; expected package.xml and urdf/ in one of: {places}"
    )


def robot_documents(name: str) -> tuple[str, str]:
    """Return URDF and SRDF of a robot in this package; the SRDF is empty if there is none."""
    share = share_directory()
    srdf = share / "config" / f"{name}.srdf"
    urdf = (share / "urdf" / f"{name}.urdf").read_text(encoding="utf-8")
    return urdf, srdf.read_text(encoding="utf-8") if srdf.is_file() else ""


def read_yaml(path: Path | str) -> Any:
    """Return the content of a YAML file as plain Python types.

    This uses libyaml if PyYAML was built with it, which takes a tenth of the time (otherwise 0.3 s for a hand's
    figures).

    Raises
    ------
    OSError, UnicodeDecodeError
        If the file cannot be read.
    yaml.YAMLError
        If the file is not valid YAML.
    """
    import yaml  # imported here, since most callers read no file

    return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))

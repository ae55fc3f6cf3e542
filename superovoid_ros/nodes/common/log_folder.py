# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The folder of ROS log files: another one if the usual folder is not writable, such as a read-only home."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _usual_folder() -> Path:
    """Return the folder that rcl takes: ROS_LOG_DIR, or log/ in ROS_HOME, or in ~/.ros."""
    named = os.environ.get("ROS_LOG_DIR")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("ROS_HOME")
    return (Path(home).expanduser() if home else Path(os.path.expanduser("~")) / ".ros") / "log"


def ensure_log_folder() -> None:
    """Make sure that there is a folder for log files, without which `rclpy.init` fails; to be called before it.

    Where the usual one cannot be written, ROS_LOG_DIR names a temporary one from now on, for processes started by this
    one too.
    """
    folder = _usual_folder()
    if _is_writable(folder):
        return
    os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="ros_log_")
    logging.getLogger(__name__).warning(
        "%s cannot be written: log files of ROS are in %s", folder, os.environ["ROS_LOG_DIR"]
    )

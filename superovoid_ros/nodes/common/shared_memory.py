# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Space in shared memory for the responses of a node, if the middleware is Fast DDS.

Fast DDS writes the data that a process sends to other processes on this machine into one segment, of 512 KiB by
default. Messages stay there until every reader has taken them, and every client of a service receives the responses to
all clients. A dozen responses of 40 KB fill the segment while clients wait for a processor. Presumably Fast DDS then
overwrites and re-sends messages, which fills it again. If a client is killed at that time, the others get no response
of that service for half a minute, until Fast DDS drops the client; with a larger segment this does not happen
(docs/reference/figures_service.md).

The same file makes participants announce themselves every 0.5 s, so that a client discovers a node that starts at the
same time without waiting for Fast DDS's default period of 3 s.
"""

from __future__ import annotations

import os
from pathlib import Path

from superovoid_ros.resources import share_directory

PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"
# If one of these is set, the user may have chosen transports.
_CHOSEN = (PROFILES, "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS", "RMW_FASTRTPS_USE_QOS_FROM_XML")
# Files that Fast DDS reads from the working directory.
_READ_THERE = ("DEFAULT_FASTDDS_PROFILES.xml", "DEFAULT_FASTRTPS_PROFILES.xml")
_SEGMENT = 16 * 2**20  # bytes, as in config/fastdds.xml
_SHARE = 4  # a node uses at most one part in this many of the free memory


def make_room(memory: Path = Path("/dev/shm")) -> bool:
    """Let Fast DDS use more shared memory in this process, unless the user configured it; call before `rclpy.init`.

    Parameters
    ----------
    memory
        Mount point of the system's shared memory.

    Returns
    -------
    bool
        True if the setting was made; False also if too little memory is free, as in a container.
    """
    if any(os.environ.get(name) for name in _CHOSEN) or any(Path(name).exists() for name in _READ_THERE):
        return False
    try:
        system = os.statvfs(memory)
        profiles = share_directory() / "config" / "fastdds.xml"
    except OSError:
        return False
    if system.f_bavail * system.f_frsize < _SHARE * _SEGMENT or not profiles.is_file():
        return False
    os.environ[PROFILES] = str(profiles)
    return True

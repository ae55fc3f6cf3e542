# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build MoveIt's interfaces with pip: `pip install ./superovoid_interfaces/compat/moveit`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "build_support"))

from interface_wheel import setup_interfaces  # noqa: E402

PACKAGES = ["control_msgs", "object_recognition_msgs", "octomap_msgs", "moveit_msgs"]  # each after those it needs
MESSAGES = [
    "action-msgs",
    "builtin-interfaces",
    "geometry-msgs",
    "sensor-msgs",
    "shape-msgs",
    "std-msgs",
    "trajectory-msgs",
]

setup_interfaces({name: HERE / name for name in PACKAGES}, MESSAGES)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bite of two molars in RViz: includes replay.launch.py."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource


def generate_launch_description() -> LaunchDescription:
    # A plain path: `--show-args` reads included files only if their names need no context.
    replay = PythonLaunchDescriptionSource(str(Path(__file__).parent / "replay.launch.py"))
    return LaunchDescription([IncludeLaunchDescription(replay, launch_arguments={"motion": "bite"}.items())])

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The grasp sweep of two hands in RViz: includes replay.launch.py.

With arms:=true the iCub's arms move the hands, by joint states alone; otherwise the hands float, moved by transforms.
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration


def generate_launch_description() -> LaunchDescription:
    # A plain path: `--show-args` reads included files only if their names need no context.
    replay = PythonLaunchDescriptionSource(str(Path(__file__).parent / "replay.launch.py"))
    given = {"motion": "hands", "arms": LaunchConfiguration("arms")}
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "arms",
                default_value="false",
                description="move the hands by torso and arms, with the URDF of the upper body",
            ),
            IncludeLaunchDescription(replay, launch_arguments=given.items()),
        ]
    )

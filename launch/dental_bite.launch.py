"""Two molars that bite, in RViz: replay.launch.py for the teeth."""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution, ThisLaunchFileDir


def generate_launch_description() -> LaunchDescription:
    replay = PythonLaunchDescriptionSource(PathJoinSubstitution([ThisLaunchFileDir(), "replay.launch.py"]))
    return LaunchDescription([IncludeLaunchDescription(replay, launch_arguments={"motion": "bite"}.items())])

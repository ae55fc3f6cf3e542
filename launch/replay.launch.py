# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Play a motion of this package: player, distance service, robot_state_publisher and RViz.

grasp_sweep.launch.py and dental_bite.launch.py include this file and select the motion; their other arguments are those
below.
"""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.nodes.common.launch_arguments import number, switch
from superovoid_ros.resources import share_directory

ARGUMENTS = {
    "rviz": ("true", "start RViz with the saved configuration"),
    "rate": ("30.0", "[Hz] frame rate"),
    "loop": ("true", "repeat the motion after the last frame"),
    "paused": ("false", "publish frames only on requests to ~/play_frame"),
    "representation": ("mixed", "contact geometry to use: mixed, superovoids or superellipsoids"),
    "use_sim_time": ("false", "let all nodes use the player's time, which it publishes on /clock"),
}


def is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def text_file(path: Path) -> ParameterValue:
    # Declared as a string; otherwise launch parses the text as YAML to guess its type.
    return ParameterValue(path.read_text(encoding="utf-8"), value_type=str)


def start(context: LaunchContext) -> list[Node | LogInfo]:
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    # Not declared here: the including files set these, and not all of them have them as arguments.
    for name, default in (("motion", "hands"), ("arms", "false")):
        value[name] = LaunchConfiguration(name, default=default).perform(context)
    if switch(value, "arms"):
        value["motion"] = "arms"
    true = {name: switch(value, name) for name in ("rviz", "loop", "paused", "use_sim_time")}
    share = share_directory()
    clock = {"use_sim_time": true["use_sim_time"]}
    replay = REPLAYS[value["motion"]]
    robot = replay.robot
    description = {"robot_description": text_file(share / "urdf" / f"{robot}.urdf")}
    srdf = share / "config" / f"{robot}.srdf"
    semantics = {"robot_description_semantic": text_file(srdf)} if srdf.is_file() else {}
    player = Node(
        package="superovoid_ros",
        executable="sweep_player",
        parameters=[
            {
                "motion": value["motion"],
                "rate": number(value, "rate"),
                "loop": true["loop"],
                "paused": true["paused"],
                "publish_clock": true["use_sim_time"],
            }
        ],
        output="screen",
    )
    # Only pairs across the two sides: fingers of one hand are always near each other.
    pairs = [f"{a} {b}" for a in replay.links[0] for b in replay.links[1]]
    service = Node(
        package="superovoid_ros",
        executable="distance_service",
        parameters=[description, semantics, clock, {"representation": value["representation"], "pairs": pairs}],
        output="screen",
    )
    actions: list[Node | LogInfo] = [player, service]
    # Distances need neither, so the motion can be played on a machine without them.
    if is_installed("robot_state_publisher"):
        actions.append(
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                parameters=[description, clock],
            )
        )
    else:
        actions.append(LogInfo(msg="robot_state_publisher is not installed: no transforms of the links"))
    if true["rviz"]:
        if is_installed("rviz2"):
            configuration = str(share / "config" / f"{replay.view}.rviz")
            actions.append(
                Node(package="rviz2", executable="rviz2", arguments=["-d", configuration], parameters=[clock])
            )
        else:
            actions.append(LogInfo(msg="rviz2 is not installed: continuing without it (rviz:=false)"))
    return actions


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])

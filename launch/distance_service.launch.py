# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Start the distance service for any robot.

The robot comes from the topics robot_description and robot_description_semantic, as robot_state_publisher and MoveIt
publish them, or from files: urdf:=/path/to/robot.urdf srdf:=/path/to/robot.srdf

An argument overrides params_file, which overrides the default of the node. Arguments that set parameters of the node
are empty by default; an empty argument overrides nothing.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue

from superovoid_ros.nodes.common.launch_arguments import distance_service, number, switch
from superovoid_ros.resources import share_directory

ARGUMENTS = {
    "urdf": ("", "URDF file of the robot; empty: from topic robot_description"),
    "srdf": ("", "SRDF file of the robot; empty: from topic robot_description_semantic"),
    "params_file": (
        str(share_directory() / "config" / "distance_service.yaml"),
        "YAML file with parameters of the node; arguments of this launch file override it",
    ),
    "representation": ("", "contact geometry to use: mixed (default), superovoids or superellipsoids"),
    "meshes": ("", "how to read a mesh of a collision element: hull (default), triangles, shells or ignore"),
    "package_directories": (
        "",
        "name=/folder,..: packages whose meshes may be read, in addition to the installed ones",
    ),
    "rate": ("", "[Hz] publishing rate of distances and markers (default 20)"),
    "max_distance": ("", "[m] largest distance of the pairs in ~/distances (default 0.05)"),
    "frame_prefix": ("", "prefix of the frames of the robot's links on TF"),
    "use_sim_time": ("", "use the time on /clock (default false)"),
    "autostart": ("", "configure and activate the node (default true); false: a lifecycle manager does this"),
    "namespace": ("", "namespace of the node"),
    "log_level": ("info", "least severity of log messages: debug, info, warn, error or fatal"),
    "respawn": ("false", "restart the node if its process ends"),
    "require_scene": (
        "",
        "refuse requests until a full planning scene has been received; empty: true if respawn is true, otherwise as "
        "in params_file",
    ),
    "respawn_delay": ("2.0", "[s] delay before a restart"),
}


def start(context: LaunchContext) -> list[LifecycleNode]:
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    if switch(value, "respawn") and not value["require_scene"]:
        value["require_scene"] = "true"  # a restarted node has lost its objects
    parameters = {
        # Declared as a string; otherwise launch parses the text as YAML to guess its type.
        name: ParameterValue(given, value_type=str) if isinstance(given, str) else given
        for name, given in distance_service(value).items()
    }
    return [
        # A lifecycle node, so that launch files that include this one can react to its transitions or request them.
        LifecycleNode(
            package="superovoid_ros",
            executable="distance_service",
            name="distance_service",
            namespace=value["namespace"],
            # If a parameter has two entries, the later one applies.
            parameters=[*([value["params_file"]] if value["params_file"] else []), parameters],
            ros_arguments=["--log-level", value["log_level"]],
            respawn=switch(value, "respawn"),
            respawn_delay=number(value, "respawn_delay"),
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])

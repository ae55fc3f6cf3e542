"""Start the distance service for any robot.

The robot comes from the topics robot_description and robot_description_semantic, as robot_state_publisher and
MoveIt publish them, or from files: urdf:=/path/to/robot.urdf srdf:=/path/to/robot.srdf
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from superovoid_ros.nodes.common.launch_arguments import file, file_text, folders, number, one_of, switch

ARGUMENTS = {
    "urdf": ("", "URDF file of the robot; empty: from topic robot_description"),
    "srdf": ("", "SRDF file of the robot; empty: from topic robot_description_semantic"),
    "params_file": ("", "YAML file with parameters of the node"),
    "representation": ("mixed", "contact geometry to use: mixed, superovoids or superellipsoids"),
    "meshes": ("hull", "what a mesh of a collision element is: hull, triangles or ignore"),
    "package_directories": ("", "name=/folder,..: packages whose meshes may be read beside the installed ones"),
    "rate": ("20.0", "[Hz] how often distances and markers are published"),
    "cutoff": ("0.05", "[m] pairs farther apart are left out of ~/distances"),
    "namespace": ("", "namespace of the node"),
    "frame_prefix": ("", "what the frames of the robot's links begin with on TF"),
    "use_sim_time": ("false", "take the time from /clock"),
    "autostart": ("true", "configure and activate the node; false: left to a lifecycle manager"),
}


def start(context: LaunchContext) -> list[Node]:
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    parameters = {
        "representation": one_of(value, "representation", ("mixed", "superovoids", "superellipsoids")),
        "meshes": one_of(value, "meshes", ("hull", "triangles", "ignore")),
        "package_directories": folders(value, "package_directories"),
        "rate": number(value, "rate"),
        "cutoff": number(value, "cutoff"),
        "frame_prefix": ParameterValue(value["frame_prefix"], value_type=str),
        "use_sim_time": switch(value, "use_sim_time"),
        "autostart": switch(value, "autostart"),
    }
    for argument, name in (("urdf", "robot_description"), ("srdf", "robot_description_semantic")):
        if value[argument]:
            # Named a string: else launch reads the text as YAML to guess its type.
            parameters[name] = ParameterValue(file_text(value, argument), value_type=str)
    files = [str(file(value, "params_file"))] if value["params_file"] else []
    return [
        Node(
            package="superovoid_ros",
            executable="distance_service",
            name="distance_service",
            namespace=value["namespace"],
            # The file comes last: what it sets holds against the arguments' defaults.
            parameters=[parameters, *files],
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])

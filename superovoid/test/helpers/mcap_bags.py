# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write ROS 2 bags (MCAP) for tests."""

import pytest

writer_module = pytest.importorskip("mcap_ros2.writer", reason="mcap is missing: pip install 'superovoid[view]'")

LINE = "=" * 80
HEADER = f"{LINE}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
TIME = f"{LINE}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
KINDS = {
    "sensor_msgs/msg/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
    f"float64[] effort\n{HEADER}{TIME}",
    "std_msgs/msg/String": "string data\n",
    "tf2_msgs/msg/TFMessage": f"geometry_msgs/TransformStamped[] transforms\n{LINE}\n"
    "MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\n"
    "geometry_msgs/Transform transform\n"
    f"{LINE}\nMSG: geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n"
    f"{LINE}\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
    f"{LINE}\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n{HEADER}{TIME}",
}
STAMP = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}


def write_bag(path, *messages, kinds=None):
    """Write a bag of (topic, kind, seconds, message); return its path. `kinds`: additional message definitions."""
    writer = writer_module.Writer(str(path))
    schemas = {kind: writer.register_msgdef(kind, text) for kind, text in {**KINDS, **(kinds or {})}.items()}
    for topic, kind, seconds, message in messages:
        (full,) = (name for name in schemas if name.endswith(f"/{kind}"))
        stamp = 1_700_000_000 * 10**9 + round(1e9 * seconds)
        writer.write_message(topic, schemas[full], message, log_time=stamp, publish_time=stamp)
    writer.finish()
    return path


def joints(seconds, topic="/joint_states", **positions):
    message = {"header": STAMP, "name": list(positions), "position": list(positions.values()), "velocity": [],
               "effort": []}  # fmt: skip
    return topic, "JointState", seconds, message


def ball(seconds, x, topic="/tf", parent="ground", w=1.0):
    transform = {"translation": {"x": x, "y": 0.0, "z": 0.0}, "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": w}}
    one = {"header": {**STAMP, "frame_id": parent}, "child_frame_id": "ball", "transform": transform}
    return topic, "TFMessage", seconds, {"transforms": [one]}

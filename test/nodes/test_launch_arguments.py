# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Launch arguments: errors name the argument, what was found and what is expected."""

import pytest

from superovoid_ros.nodes.common import launch_arguments


def test_only_given_arguments_set_parameters(tmp_path):
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("<robot/>")
    values = dict.fromkeys(("urdf", "srdf", "representation", "meshes", "rate", "max_distance", "use_sim_time"), "")
    assert launch_arguments.distance_service(values) == {}
    values |= {"urdf": str(urdf), "meshes": "ignore", "rate": "2.5", "autostart": "False", "namespace": "left"}
    assert launch_arguments.distance_service(values | {"package_directories": "a=/a, b=/b"}) == {
        "robot_description": "<robot/>",
        "meshes": "ignore",
        "rate": 2.5,
        "autostart": False,
        "package_directories": ["a=/a", "b=/b"],
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("max_distance", "far", "must be a number"),
        ("use_sim_time", "maybe", "must be true or false"),
        ("urdf", "nothere.urdf", "cannot be read"),
    ],
)
def test_a_value_of_another_type_and_a_missing_file_are_named(name, text, words):
    with pytest.raises(ValueError, match=f"{name}:={text}: {words}"):
        launch_arguments.distance_service({name: text})

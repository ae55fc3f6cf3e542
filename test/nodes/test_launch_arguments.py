# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Launch arguments: errors name the argument, what was found and what is expected."""

import pytest

from superovoid_ros.nodes.common import launch_arguments


@pytest.mark.parametrize("text", ["abc", "-1", "nan", "inf", ""])
def test_a_number_without_sense_is_named(text):
    with pytest.raises(ValueError, match=f"rate:={text}: must be a number"):
        launch_arguments.number({"rate": text}, "rate")


def test_values_are_read():
    values = {"rate": "2.5", "rviz": "True", "loop": "0", "meshes": "hull"}
    assert launch_arguments.number(values, "rate") == 2.5
    assert launch_arguments.switch(values, "rviz") is True
    assert launch_arguments.switch(values, "loop") is False
    assert launch_arguments.one_of(values, "meshes", ("hull", "ignore")) == "hull"


def test_a_switch_and_a_choice_without_sense_are_named():
    with pytest.raises(ValueError, match="rviz:=maybe: must be true or false"):
        launch_arguments.switch({"rviz": "maybe"}, "rviz")
    with pytest.raises(ValueError, match="meshes:=hulls: must be one of hull, ignore"):
        launch_arguments.one_of({"meshes": "hulls"}, "meshes", ("hull", "ignore"))


def test_a_missing_or_binary_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"urdf:=nothere.urdf: no such file \(in "):
        launch_arguments.file_text({"urdf": "nothere.urdf"}, "urdf")
    path = tmp_path / "robot.urdf"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=f"urdf:={path}: cannot be read"):
        launch_arguments.file_text({"urdf": str(path)}, "urdf")
    path.write_text("<robot/>")
    assert launch_arguments.file_text({"urdf": str(path)}, "urdf") == "<robot/>"


def test_package_directories_are_read_and_checked(tmp_path):
    entries = f"a={tmp_path}, b={tmp_path}"
    read = launch_arguments.folders({"package_directories": entries}, "package_directories")
    assert read == [f"a={tmp_path}", f"b={tmp_path}"]
    assert launch_arguments.folders({"package_directories": ""}, "package_directories") == [""]
    for entry in ("a", f"={tmp_path}", "a=relative", f"a={tmp_path}/nothing"):
        with pytest.raises(ValueError, match=r"package_directories:=.*must be name=/folder"):
            launch_arguments.folders({"package_directories": entry}, "package_directories")


def test_only_given_arguments_set_parameters(tmp_path):
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("<robot/>")
    values = dict.fromkeys(("urdf", "srdf", "representation", "meshes", "rate", "max_distance", "use_sim_time"), "")
    assert launch_arguments.distance_service(values) == {}
    values |= {"urdf": str(urdf), "meshes": "ignore", "rate": "0", "autostart": "false", "namespace": "left"}
    assert launch_arguments.distance_service(values) == {
        "robot_description": "<robot/>",
        "meshes": "ignore",
        "rate": 0.0,
        "autostart": False,
    }
    with pytest.raises(ValueError, match="max_distance:=far: must be a number"):
        launch_arguments.distance_service(values | {"max_distance": "far"})


def test_choices_are_those_of_the_robot():
    from superovoid.robot.mesh_files import MESHES
    from superovoid.robot.urdf import REPRESENTATIONS

    assert launch_arguments.REPRESENTATIONS == tuple(REPRESENTATIONS)
    assert launch_arguments.MESHES == tuple(MESHES)

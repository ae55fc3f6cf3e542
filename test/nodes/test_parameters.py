# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters: those of config/distance_service.yaml; set at run time all of a request's or none, and calls go on."""

import math

import numpy as np
import pytest
import yaml
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.nodes.distance_service import parameter_file
from superovoid_ros.resources import share_directory

import arm
from parameters import get_parameters, set_parameters
from world import MIN_DISTANCE, NAME

PARAMETERS = {"rate": 50.0, "max_distance": 0.0}
FILE = share_directory() / "config" / "distance_service.yaml"
DECLARED = {one.name: one for declared in parameter_file.SECTIONS.values() for one in declared}


def urdf_with_radius(radius):
    """Return the arm with another ball on its hand."""
    return arm.URDF.replace('radius="0.05"', f'radius="{radius}"')


@pytest.mark.ci
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"near_distance": -1.0}, "near_distance"),
        ({"rtol": math.nan}, "rtol"),
        ({"rtol": 0.0}, "rtol"),
        ({"max_distance": math.inf}, "max_distance"),
        ({"max_distance": "far"}, "type"),
        ({"stale_timeout": 1e-300}, "stale_timeout"),
        ({"diagnostics.period": 1e-12}, "diagnostics.period"),
        ({"diagnostics.period": 61.0}, "diagnostics.period"),
        ({"max_distance": -1.0}, "max_distance"),
        ({"threads": 2000}, "threads"),
        ({"octomap_cubes": 0}, "octomap_cubes"),
        ({"representation": "boxes"}, "mixed, superovoids, superellipsoids"),
        ({"pairs": ["hand thumb"]}, "a joint connects them"),
        ({"pairs": ["hand"]}, "two names"),
        ({"incomplete_world": "perhaps"}, "one of refuse, warn"),
        ({"unmeasured_joints": "guess"}, "unmeasured_joints"),
        ({"meshes": "boxes"}, "must be one of hull, triangles, shells, ignore"),
        ({"pairs": ["hand nothing"]}, "nothing"),
        ({"nothing_like_it": 1.0}, ""),
        ({"autostart": False}, "autostart"),
        ({"package_directories": ["etc=/etc"]}, "read-only"),
        ({"frame_prefix": Parameter("frame_prefix", Parameter.Type.NOT_SET)}, ""),
        ({"use_sim_time": Parameter("use_sim_time", Parameter.Type.NOT_SET)}, ""),
    ],
)
def test_one_bad_value_changes_nothing(ahead, bad, words):
    good = {"rate": 7.0, "near_distance": 0.3, "markers.opacity": 0.5}
    before = get_parameters(ahead, NAME, *good)
    for request in ({**good, **bad}, {**bad, **{name: good[name] for name in good.keys() - bad.keys()}}):
        verdict = set_parameters(ahead, NAME, request)
        assert not verdict.successful
        assert words in verdict.reason
    assert get_parameters(ahead, NAME, *good) == before
    assert ahead.gap("hand", "ball") == pytest.approx(1.35, abs=1e-12)


@pytest.mark.parametrize("kind", [10, 255])
def test_a_value_of_an_unknown_type_changes_nothing(ahead, kind):
    wrong = ParameterMessage(name="max_distance", value=ParameterValue(type=kind))
    assert not ahead.call(SetParameters, f"{NAME}/set_parameters", parameters=[wrong]).results
    answer = ahead.call(SetParametersAtomically, f"{NAME}/set_parameters_atomically", parameters=[wrong])
    assert not answer.result.successful
    assert get_parameters(ahead, NAME, "max_distance") == [0.0]


def test_good_values_take_effect_together(ahead):
    messages = ahead.collect(DistanceArray, f"{NAME}/distances")
    # The pair of the second robot does not exist on the first: only together do they make sense.
    renamed = arm.URDF.replace('"thumb"', '"digit"')
    assert not set_parameters(ahead, NAME, {"pairs": ["digit ball"]}).successful
    ahead.set_robot(robot_description=renamed, robot_description_semantic="", pairs=["digit ball"], rate=100.0)

    def shown():
        return [(pair.link_a, pair.link_b) for pair in messages[-1].pairs] if messages else None

    assert ahead.wait(lambda: shown() == [("digit", "ball")])
    ahead.set_robot(**arm.DESCRIPTIONS, pairs=[""], rate=50.0)


def test_each_answer_is_of_one_robot_while_it_is_replaced(ahead):
    deep = {"qos_profile": QoSProfile(depth=200)}  # more calls than a client keeps by itself
    call = ahead.node.create_client(GetMinDistance, MIN_DISTANCE, **deep)
    setter = ahead.node.create_client(SetParametersAtomically, f"{NAME}/set_parameters_atomically", **deep)
    assert ahead.wait(lambda: setter.service_is_ready() and call.service_is_ready())
    ahead.spin(0.2)
    radii, calls, changes, turn = [0.05, 0.1, 0.2, 0.3], [], [], 0

    def distances():
        answers = [future.result() for future in calls if future.done()]
        return {round(answer.distances.pairs[0].distance, 9) for answer in answers if answer.success}

    while turn < 24 or len(distances()) < 2:
        assert ahead.wait(lambda: sum(not future.done() for future in calls) < 150)
        calls.extend(call.call_async(GetMinDistance.Request(max_results=1)) for _ in range(5))
        text = Parameter("robot_description", value=urdf_with_radius(radii[turn % 4])).to_parameter_msg()
        changes.append(setter.call_async(SetParametersAtomically.Request(parameters=[text])))
        ahead.spin(0.01)
        turn += 1
    assert ahead.wait(lambda: all(future.done() for future in calls + changes))
    reasons = {change.result().result.reason for change in changes if not change.result().result.successful}
    assert all("the robot is being read" in reason for reason in reasons)  # on a slow machine
    assert ahead.until(lambda response: response.success)
    answers = [future.result() for future in calls]
    refused = {answer.message for answer in answers if not answer.success}
    assert refused <= {"no robot yet: its description is being read"}
    assert distances() <= {round(1.4 - radius, 9) for radius in radii}
    for answer in (answer for answer in answers if answer.success):
        pair = answer.distances.pairs[0]
        points = np.array([[point.x, point.y, point.z] for point in (pair.point_a, pair.point_b)])
        assert np.linalg.norm(points[1] - points[0]) == pytest.approx(pair.distance, abs=1e-9)
    ahead.set_robot(robot_description=arm.URDF)


# --- the parameter file ---


def test_the_file_is_what_the_node_declares():
    assert FILE.read_text(encoding="utf-8") == parameter_file.text(), (
        f"write it anew: python -m {parameter_file.__name__} config/distance_service.yaml"
    )


def test_a_running_node_has_and_describes_these_parameters_alone(service, client):
    names = set(client.call(ListParameters, f"{NAME}/list_parameters").result.names)
    names -= {"use_sim_time", "start_type_description_service"}  # rclpy's own
    assert {name for name in names if not name.startswith("qos_overrides.")} == set(DECLARED)
    described = client.call(DescribeParameters, f"{NAME}/describe_parameters", names=list(DECLARED)).descriptors
    assert all(one.description for one in described)
    ranged = {one.name for one in described if one.floating_point_range}
    assert {"rate", "max_distance", "near_distance", "rtol", "stale_timeout", "padding", "markers.opacity"} <= ranged


def test_every_parameter_is_where_ros_looks_for_it():
    def names(tree, prefix=""):
        for name, value in tree.items():
            yield from names(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]

    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert set(names(content["/**"]["ros__parameters"])) == set(DECLARED)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Descriptions that come by topic: what is missing until all is there, what makes no sense, and meshes."""

from __future__ import annotations

import math
import os

import pytest
import trimesh

import arm

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

INNER, SIDES = 0.2, 32  # radius, m


def urdf(filename: str) -> str:
    """A ball that is lifted from the middle of a ring (mesh, drawn in millimetres)."""
    return f"""<robot name="press">
      <link name="world"/>
      <link name="ring"><collision><geometry><mesh filename="{filename}" scale="0.001 0.001 0.001"/></geometry>
      </collision></link>
      <joint name="fixed" type="fixed"><parent link="world"/><child link="ring"/></joint>
      <joint name="lift" type="prismatic"><parent link="world"/><child link="ball"/><axis xyz="0 0 1"/>
        <limit lower="-4" upper="4" effort="1" velocity="1"/></joint>
      <link name="ball"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
    </robot>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A package `parts` with the mesh, and the ament index of a workspace with a package `indexed` of the same."""
    folder = tmp_path_factory.mktemp("ws")
    mesh = trimesh.creation.annulus(1e3 * INNER, 500.0, 200.0, sections=SIDES)
    for package in (folder / "parts", folder / "install" / "share" / "indexed"):
        package.mkdir(parents=True)
        mesh.export(package / "ring.stl")
    index = folder / "install" / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "indexed").touch()
    return folder


@pytest.fixture(scope="module")
def service(start_node, folder):
    """The service, whose robot comes later by topic, and whose ament index has the workspace."""
    index = filter(None, [str(folder / "install"), os.environ.get("AMENT_PREFIX_PATH")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(index))
        places = [f"parts={folder / 'parts'}"]
        return start_node("distance_service", rate=0.0, stale_timeout=0.0, package_directories=places)


def answer(client, words):
    """Return the first answer that contains `words`."""
    return client.until(lambda response: words in response.message)


SPY = "<!DOCTYPE robot [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><robot name='spy'><link name='&x;'/></robot>"
OUTSIDE = '<visual><geometry><mesh filename="package://arm/../../etc/passwd"/></geometry></visual>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("this is no robot", "well-formed"),
        (SPY, "entities"),
        (arm.URDF.replace('radius="0.1"', 'radius="-1"'), "radius"),
        (
            arm.URDF.replace('<link name="slider"/>', f'<link name="slider">{OUTSIDE}</link>'),
            "leads out of its package",
        ),
    ],
)
def test_a_first_description_without_sense_is_answered_with_the_reason(service, client, text, words):
    client.send_text("robot_description", text)
    assert answer(client, words).message.startswith("no robot")


def test_each_part_of_the_state_is_missing_until_it_comes(service, client):
    client.send_text("robot_description", arm.URDF)
    response = answer(client, "no position of joint")
    assert "slide, wrist" in response.message and "no message received yet" in response.message
    client.send_joints(["slide"], [0.0])
    assert "joint wrist" in answer(client, "(1 messages received)").message
    client.send_joints(["wrist"], [0.0])
    response = answer(client, "no transform")
    assert "'ball'" in response.message and "'ground'" in response.message
    client.send_transform("ground", "ball", arm.at(2.0, 0.0, 0.0))
    assert client.until().distances.pairs_considered == 4
    client.send_text("robot_description_semantic", arm.SRDF)
    client.until(lambda response: response.distances.pairs_considered == 2)


def gap(client, height):
    """Return the distance of ball and ring; None if they have no pair."""
    response = client.nearest(joint_names=["lift"], joint_positions=[height])
    assert response.success or "no allowed pair" in response.message, response.message
    return response.distances.pairs[0].distance if response.success else None


@pytest.fixture
def robot(service, client, folder):
    """The ring and the ball, sent over the topic."""
    describe(client, service, f"file://{folder / 'parts'}")
    return client


def describe(client, service, place):
    """Publish the robot with its mesh in a place, and wait until the node has read it."""
    before = len(service.output())
    client.send_text("robot_description", f"{urdf(f'{place}/ring.stl')}<!-- {before} -->")  # another text each time
    assert client.wait(lambda: "robot 'press'" in service.output()[before:])
    client.send_joints(["lift"], [1.0])
    client.until()


@pytest.mark.parametrize("place", ["package://parts", "package://indexed", "file"])
def test_a_mesh_is_found_in_its_package(service, client, folder, place):
    describe(client, service, f"file://{folder / 'parts'}" if place == "file" else place)
    assert gap(client, 0.5) == pytest.approx(0.5 - 0.1 - 0.05, abs=1e-7)


def test_the_parameter_meshes_chooses_hull_triangles_or_nothing(robot):
    inside = pytest.approx(INNER * math.cos(math.pi / SIDES) - 0.05, abs=1e-7)
    expectations = {"triangles": inside, "shells": inside, "ignore": None, "hull": pytest.approx(-0.15)}
    for choice, expected in expectations.items():  # the last is the default, for other tests
        robot.set_robot(meshes=choice)
        assert gap(robot, 0.0) == expected


def test_an_unreadable_mesh_is_reported_with_link_file_and_reason(robot, service):
    for filename, reason in (
        ("package://parts/missing.stl", "there is no file"),
        ("package://nowhere/x.stl", "as 'nowhere=/folder' in the parameter package_directories of the node"),
        ("file:///etc/passwd", "lies outside the known packages"),
    ):
        robot.send_text("robot_description", urdf(filename))
        response = robot.until(lambda r, reason=reason: not r.success and reason in r.message)
        assert "link 'ring' collision geometry mesh" in response.message and filename in response.message
        service.wait_for_output(filename)

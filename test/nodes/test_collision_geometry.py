# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service with a robot of ordinary collision geometry, box, cylinder and mesh, in every kind of answer."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
import trimesh
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from superovoid_interfaces.srv import GetMinDistance

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

MIN_DISTANCE = "/distance_service/get_min_distance"
NAMES = ["rod_lift", "rod_turn", "cap_lift"]
# A block with a slot, open upwards: its hull has none. Half a metre wide, its lowest face at z = 0.
OUTLINE = np.array([(-0.25, 0), (0.25, 0), (0.25, 0.4), (0.1, 0.4), (0.1, 0.1), (-0.1, 0.1), (-0.1, 0.4), (-0.25, 0.4)])


def slotted_mesh() -> trimesh.Trimesh:
    """The outline in x and z, half a metre deep."""
    n = len(OUTLINE)
    flat = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
    vertices = [(x, y, z) for y in (-0.25, 0.25) for x, z in OUTLINE]
    faces = [*flat, *((a + n, c + n, b + n) for a, b, c in flat)]
    for i in range(n):
        k = (i + 1) % n
        faces += [(i, i + n, k), (k, i + n, k + n)]
    return trimesh.Trimesh(vertices, faces)


def urdf(filename: str) -> str:
    """A floor (box), and over it a rod (cylinder) that turns, and a slotted block (mesh, drawn in millimetres)."""

    def joint(name: str, kind: str, parent: str, child: str, axis: str, origin: str = "0 0 0") -> str:
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{origin}"/><axis xyz="{axis}"/><limit lower="-4" upper="4" effort="1" velocity="1"/></joint>'
        )

    return f"""<robot name="press">
      <link name="world"/>
      <link name="floor"><collision><origin xyz="0 0 -0.1"/><geometry><box size="4 4 0.2"/></geometry>
      </collision></link>
      <link name="carriage"/>
      <link name="rod"><collision><geometry><cylinder radius="0.05" length="0.6"/></geometry></collision></link>
      <link name="cap"><collision><geometry><mesh filename="{filename}" scale="0.001 0.001 0.001"/></geometry>
      </collision></link>
      {joint("ground", "fixed", "world", "floor", "1 0 0")}
      {joint("rod_lift", "prismatic", "world", "carriage", "0 0 1")}
      {joint("rod_turn", "revolute", "carriage", "rod", "0 1 0")}
      {joint("cap_lift", "prismatic", "world", "cap", "0 0 1")}
    </robot>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A package `parts` with the mesh, and the ament index of a workspace with a package `indexed` of the same."""
    folder = tmp_path_factory.mktemp("ws")
    mesh = slotted_mesh()
    mesh.apply_scale(1000.0)
    for package in (folder / "parts", folder / "install" / "share" / "indexed"):
        package.mkdir(parents=True)
        mesh.export(package / "slotted.stl")
    index = folder / "install" / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "indexed").touch()
    return folder


@pytest.fixture(scope="module")
def service(start_node, folder):
    """The service, whose robot comes later by topic, and whose ament index has the workspace."""
    before = os.environ.get("AMENT_PREFIX_PATH")
    os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, [str(folder / "install"), before]))
    try:
        node = start_node(
            "distance_service",
            rate=20.0,
            max_distance=0.0,
            stale_timeout=0.0,
            package_directories=[f"parts={folder / 'parts'}"],
        )
    finally:
        os.environ.pop("AMENT_PREFIX_PATH")
        if before is not None:
            os.environ["AMENT_PREFIX_PATH"] = before
    return node


def ask(client, positions, **fields):
    """Ask about a state; the distances by the two links."""
    response = client.call(GetMinDistance, MIN_DISTANCE, joint_names=NAMES, joint_positions=positions, **fields)
    assert response.success, response.message
    return {frozenset((pair.link_a, pair.link_b)): pair.distance for pair in response.distances.pairs}


@pytest.fixture
def robot(service, client, folder):
    """The press, sent over the topic."""
    describe(client, f"file://{folder / 'parts'}")
    return client


def describe(client, place):
    """Publish the press with its mesh in a place, and wait until the node answers."""
    assert client.wait(client.client(GetMinDistance, MIN_DISTANCE).service_is_ready)
    client.send_text("robot_description", urdf(f"{place}/slotted.stl"))
    client.send_joints(NAMES, [1.0, 0.0, 3.0])
    client.call_until(lambda r: r.success, GetMinDistance, MIN_DISTANCE)


@pytest.mark.parametrize("place", ["package://parts", "package://indexed", "file"])
def test_distances_are_those_of_closed_forms(service, client, folder, place):
    describe(client, f"file://{folder / 'parts'}" if place == "file" else place)
    for turn in (0.0, 0.3, 0.6):  # the uppermost point of the rod stays below the block
        found = ask(client, [1.0, turn, 3.0])
        down = 0.3 * math.cos(turn) + 0.05 * math.sin(turn)
        assert found[frozenset(("floor", "rod"))] == pytest.approx(1.0 - down, abs=1e-9)
        assert found[frozenset(("floor", "cap"))] == pytest.approx(3.0, abs=1e-7)
        assert found[frozenset(("rod", "cap"))] == pytest.approx(2.0 - down, abs=1e-7)


def set_meshes(client, choice):
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=choice)
    request = [Parameter(name="meshes", value=value)]
    return client.call(SetParameters, "/distance_service/set_parameters", parameters=request).results[0]


def test_the_parameter_meshes_chooses_hull_triangles_or_nothing(robot):
    # The rod upright in the slot, its lower end 0.05 above the slot's floor; 0.05 from the walls.
    state = [1.45, 0.0, 1.0]
    pair = frozenset(("rod", "cap"))
    assert ask(robot, state)[pair] < -0.2
    try:
        assert set_meshes(robot, "triangles").successful
        assert ask(robot, state)[pair] == pytest.approx(0.05, abs=1e-7)
        assert set_meshes(robot, "shells").successful  # it is closed: as its triangles
        assert ask(robot, state)[pair] == pytest.approx(0.05, abs=1e-7)
        assert set_meshes(robot, "ignore").successful
        assert set(ask(robot, state)) == {frozenset(("floor", "rod"))}
        result = set_meshes(robot, "boxes")
        assert not result.successful
        assert "must be one of hull, triangles, shells, ignore" in result.reason
    finally:
        assert set_meshes(robot, "hull").successful


def test_an_unreadable_mesh_is_reported_with_link_file_and_reason(robot, service):
    for filename, reason in (
        ("package://parts/missing.stl", "there is no file"),
        ("package://nowhere/x.stl", "as 'nowhere=/folder' in the parameter package_directories of the node"),
        ("file:///etc/passwd", "lies outside the known packages"),
    ):
        robot.send_text("robot_description", urdf(filename))
        response = robot.call_until(
            lambda r, reason=reason: not r.success and reason in r.message, GetMinDistance, MIN_DISTANCE
        )
        assert "link 'cap' collision geometry mesh" in response.message
        assert filename in response.message
        service.wait_for_output(filename)

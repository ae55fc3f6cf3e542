# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every Python block of the documentation runs, from the top of its page to the bottom."""

import gc
import io
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from superovoid import Robot, Superellipsoid, Superovoid, distance

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts)
PAGES = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 0.3"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""
LINK = """<link name="{0}"><collision><geometry><box size="0.1 0.1 0.2"/></geometry></collision></link>"""
ARM = "".join(
    [
        '<robot name="robot">',
        *(LINK.format(name) for name in ("base", "upper", "tip")),
        *(JOINT.format("shoulder", "base", "upper"), JOINT.format("elbow", "upper", "tip")),
        "</robot>",
    ]
)
NEEDS = {
    "superovoid.checker": "flint",
    "moveit_configs_utils": "moveit_configs_utils",
    "superovoid import dataset": "zarr",
    "superovoid.mujoco": "mujoco",
    "superovoid.torch": "torch",
}
"""Imports or names in a block, and the package of the extra that it needs."""
ELSEWHERE = {
    "how_to/viewing": ("robot.show()", "run.mcap"),  # superovoid/test/viewing, superovoid/test/bags
    "tutorials/robot": ("DistanceClient",),  # test/nodes
}
"""Blocks that need a page in a browser, a recording or a running node, by their words. Other tests run these."""


def names_of_page(page, folder):
    """Return the names that the text around the blocks of a page defines."""
    finger = Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_b[:3, 3] = (0.0, 0.016, 0.004)
    pair = {"a": finger, "pose_a": pose_a, "b": finger, "pose_b": pose_b}
    if page == "explanation/certificates":
        robot, scene, positions = posed_robot()
        result = distance(*pair.values())
        return {**pair, "result": result, "robot": robot, "scene": scene, "positions": positions, "base_poses": None}
    if page == "how_to/many_states":
        robot = Robot.load(ROOT / "urdf" / "icub_hands.urdf", srdf=ROOT / "config" / "icub_hands.srdf")
        return {"robot": robot, "positions": np.zeros((8, len(robot.joint_names))), "poses": pose_b, "left": pose_a}
    if page == "how_to/planning":
        robot, _, positions = posed_robot()
        joints = robot.joint_names[:2]
        others = {name: value for name, value in positions.items() if name not in joints}
        egg = Superellipsoid((0.02, 0.02, 0.03), section_exponent=1.0, profile_exponent=0.9)
        far = np.eye(4)
        far[:3, 3] = (2.0, 0.0, 0.0)
        return {"robot": robot, "joints": joints, "positions": others, "egg": egg, "pose": far, "q0": np.zeros(2)} | {
            "q1": np.full(2, 0.01)
        }
    if page == "how_to/fitting_robots":
        pytest.importorskip("trimesh", reason="pip install 'superovoid[meshes]'")
        return {"mesh": finger.tessellate(16)}
    if page == "how_to/service":
        rows = {"point_a": np.zeros(6), "gradients": np.zeros(4), "gradient_joints": ["x", "y"], "first": [0, 2]}
        bases = {"base_gradients": np.zeros(0), "gradient_bases": [], "bodies": ["link"], "body_a": np.array([0, 0])}
        request = SimpleNamespace(Request=SimpleNamespace)
        answer = SimpleNamespace(**rows, **bases | {"base_gradients": np.zeros(12), "gradient_bases": ["base"]})
        return {
            "GetDistances": request,
            "names": ["x", "y"],
            "states": np.zeros((1, 2)),
            "np": np,
            "s": 0,
            "answer": answer,
        }
    if page == "how_to/verify":
        return {**pair, "file": io.StringIO()}
    if page == "how_to/urdf":
        return {"Robot": Robot}
    if page == "papers/sohn2002":
        pose_b[:3, 3] = (8.0, 1.0, 0.5)
        return {"pose_a": pose_a, "pose_b": pose_b}
    if page == "reference/shapes":
        return {"table_pose": np.eye(4), "finger_pose": pose_b}
    return {}


def posed_robot():
    """Return the iCub's upper body with its scene at state 0."""
    robot = Robot.load(ROOT / "urdf" / "icub_upper_body.urdf", srdf=ROOT / "config" / "icub_upper_body.srdf")
    scene, positions = robot.scene(), dict.fromkeys(robot.joint_names, 0.0)
    scene.set_link_poses(robot.forward_kinematics(positions))
    return robot, scene, positions


@pytest.mark.ci
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs").with_suffix("")))
def test_code_of_a_page_runs_from_top_to_bottom(path, monkeypatch, tmp_path):
    page = str(path.relative_to(ROOT / "docs").with_suffix(""))
    for folder in ("urdf", "config"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "robot.urdf").write_text(ARM)
    (tmp_path / "robot.srdf").write_text("<robot name='robot'/>")
    (tmp_path / "superovoid_fit").mkdir()
    for kind in ("urdf", "srdf"):
        shutil.copy(tmp_path / f"robot.{kind}", tmp_path / "superovoid_fit" / f"robot_superovoids.{kind}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "disable", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *arguments: None)
    names, ran, skipped = names_of_page(page, tmp_path), 0, []
    for code in BLOCK.findall(path.read_text(encoding="utf-8")):
        missing = [package for words, package in NEEDS.items() if words in code and not can_import(package)]
        if missing or any(words in code for words in ELSEWHERE.get(page, ())):
            skipped += missing
            continue
        exec(compile(code, str(path), "exec"), names)
        ran += 1
    for test in [name for name in names if name.startswith("test_")]:
        names[test]()
    if skipped and not ran:
        pytest.skip(f"{skipped} are not installed")


def can_import(package):
    """Return whether a package can be imported."""
    try:
        __import__(package)
    except ImportError:
        return False
    return True


def test_every_python_block_is_marked_as_python():
    for path in PAGES:
        assert not re.search(r"^```(?:py|Python)?$\n(?:from|import) ", path.read_text(encoding="utf-8"), re.M), path

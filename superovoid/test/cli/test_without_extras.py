# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The library with only numpy and scipy installed, and commands without their extras."""

import subprocess
import sys

import pytest

BARE = """
import sys
from importlib.metadata import packages_distributions

KEPT = {"numpy", "scipy", "numba", "llvmlite"}
INSTALLED = {name for name in packages_distributions() if name not in KEPT and not name.startswith("superovoid")}

class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in INSTALLED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
"""


def slide(parent, child):
    return (
        f'<link name="{child}"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
        f'<joint name="to_{child}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="1 0 0"/><limit lower="0" upper="2" effort="1" velocity="1"/></joint>'
    )


SLIDES = f'<robot name="r"><link name="a"/>{slide("a", "b")}{slide("b", "c")}{slide("c", "d")}</robot>'
LIBRARY = f"""
import numpy as np
import superovoid, superovoid.cli.command_line, superovoid.dataset, superovoid.fitting, superovoid.planning
from superovoid.robot import Robot

robot = Robot.load({SLIDES!r})
scene = robot.scene()
scene.set_link_poses(robot.forward_kinematics({{"to_b": 0.0, "to_c": 1.0, "to_d": 0.5}}))
print(scene.query().distance)
"""


@pytest.mark.ci
def test_the_library_needs_only_numpy_and_scipy():
    done = subprocess.run([sys.executable, "-c", BARE + LIBRARY], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[1.3]"), done.stderr


@pytest.mark.ci
@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("fit r.urdf", "fit"),
        ("view r.urdf", "view"),
        ("replay r.mcap", "view"),
        ("verify r.json", "verify"),
        ("plan r.urdf --srdf r.srdf --start to_c=1 --goal to_c=2", "plan"),
    ],
)
def test_a_command_without_its_extra_prints_how_to_install_it(tmp_path, line, extra):
    for name in ("r.urdf", "r.mcap", "r.json"):
        (tmp_path / name).write_text(SLIDES)
    (tmp_path / "r.srdf").write_text('<robot name="r"><group name="all"><joint name="to_c"/></group></robot>')
    program = f"{BARE}\nfrom superovoid.cli import main\nsys.exit(main({line.split()!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"superovoid {line.split()[0]}: ")
    assert ": no module '" in done.stderr
    assert done.stderr.endswith(f": pip install 'superovoid[{extra}]'\n")

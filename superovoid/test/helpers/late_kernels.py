# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Print the kernels that are compiled after those of a level were compiled ahead, by what a node is asked.

A kernel that is compiled by a question waits for whatever else is compiled in the process, and the node with it.
"""

import gc
import sys

import numpy as np
from numba.core.dispatcher import Dispatcher

from superovoid.planning import MotionValidator, PlanningProblem, SceneValidity
from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene, query_parts
from superovoid.scene import Body
from superovoid.shapes import Box, HalfSpace, Sphere, Torus
from superovoid.states import state_distances
from superovoid.states.ahead import compile_level

BODIES = (
    '<contact_geometry><superellipsoid size="0.1 0.05 0.05" epsilon="0.5 0.5"/></contact_geometry>',
    '<contact_geometry><sphere radius="0.1"/></contact_geometry>',
    '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>',
    '<collision><geometry><cylinder radius="0.1" length="0.2"/></geometry></collision>',
)
SHAPES = Sphere(0.1), HalfSpace(), Box((0.2, 0.2, 0.2)), Torus(0.2, 0.05)
TEXT = """<robot name="late"><link name="base">{0}</link><link name="arm">{0}</link><link name="hand">{0}</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/><origin xyz="1 0 0"/><axis xyz="1 0 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def compiled() -> set[tuple[str, str, str]]:
    """Return the kernels of this package with their signatures."""
    kernels = [one for one in gc.get_objects() if issubclass(type(one), Dispatcher)]  # not what is only referred to
    names = [(one, one.py_func.__module__, one.py_func.__qualname__) for one in kernels]
    return {(m, q, str(types)) for one, m, q in names if m.startswith("superovoid.") for types in one.overloads}


def ask(level: int) -> None:
    """Do what a node does with a robot and objects of a level."""
    shape, state = SHAPES[level], {"turn": 0.1, "slide": 0.2}
    robot = Robot.from_urdf(TEXT.format(BODIES[level]))
    place = np.eye(4)
    place[2, 3] = 3.0
    edit = PlanningScene(robot).edit()
    edit.add("stone", [shape], np.eye(4)[None], place)
    edit.add("held", [shape, shape], np.array([np.eye(4)] * 2), place)
    edit.add("many", [shape] * 200, np.array([np.eye(4)] * 200), place)
    edit = edit.commit().edit()
    edit.move("stone", place @ place)
    edit.attach("held", "hand", np.eye(4))
    edit.set_runtime("stone", "base", False)
    planning = edit.commit()
    pairs = planning.body_pairs()
    scene = planning.scene.fork()
    scene.set_link_poses(robot.forward_kinematics(state))
    for limits in ({}, {"max_distance": 0.1}, {"overlapping_only": True}, {"max_results": 2}):
        scene.query(**limits)
        scene.query(pairs=pairs, **limits)
        query_parts(scene, planning.parts(pairs), **limits)
    rows = np.array([[state[joint] for joint in robot.joint_names]] * 20)
    for options in (
        {},
        {"pairs": pairs},
        {"max_distance": 0.1},
        {"gradients": True, "pairs": pairs},
        {"max_results": 2},
    ):
        state_distances(robot, planning.scene, rows, **options)
    problem = PlanningProblem(robot, robot.joint_names, {}, obstacles=(Body("stone", "stone", shape, place),))
    MotionValidator(problem, SceneValidity(problem)).check(rows[0], rows[0] + 0.1)


if __name__ == "__main__":
    for level in range(int(sys.argv[1]) + 1):
        compile_level(level)
    before = compiled()
    ask(int(sys.argv[1]))
    for module, name, types in sorted(compiled() - before):
        print(f"{module}.{name}{types[:200]}")

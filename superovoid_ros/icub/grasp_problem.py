# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning problem of this package: both hands of the iCub move to a grasp around an egg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superovoid.planning import BaseJoint, PlanningProblem, with_base_joints
from superovoid.planning.problem import FloatArray
from superovoid.robot import Robot
from superovoid.robot.urdf import pose_matrix
from superovoid.scene import Body
from superovoid.shapes import Superovoid
from superovoid.viewing.palette import BLUE, GREEN, ORANGE
from superovoid.viewing.recording import Recording
from superovoid.viewing.recording_files import Table, path_of
from superovoid_ros.resources import read_yaml, robot_documents, share_directory

SIDES = "left", "right"
OBJECT = "object"
_FLIP = np.diag([1.0, -1.0, -1.0, 1.0])  # palm to palm
COLOURS = {"left": GREEN, "right": BLUE, OBJECT: ORANGE}


@dataclass(frozen=True)
class GraspExample:
    """A planning problem with its start, guess and robot description."""

    problem: PlanningProblem
    start: FloatArray
    guess: FloatArray
    """State at which the search for a grasp starts, shape (joints,)."""
    urdf: str
    """URDF of the problem's robot."""
    margin: float
    spacing: float


def hands_urdf() -> str:
    """Return the URDF of this package's hands, with the joints of the sweep and a slide for the left palm."""
    urdf, _ = robot_documents("icub_hands")
    slide = BaseJoint("left_distance", "prismatic", (0.0, 0.0, -1.0), 0.0, 0.3)
    sweep = (
        BaseJoint("right_lateral", "prismatic", (0.0, 1.0, 0.0), -0.3, 0.3),
        BaseJoint("right_distance", "prismatic", (0.0, 0.0, 1.0), 0.0, 0.3),
        BaseJoint("right_swing", "revolute", (0.0, -1.0, 0.0), -1.5, 1.5),
    )
    urdf = with_base_joints(urdf, "left_palm", [slide])
    return with_base_joints(urdf, "right_palm", sweep, last_from_base=_FLIP)


def read_example(path: Path | None = None) -> GraspExample:
    """Read the example.

    Parameters
    ----------
    path : Path, optional
        Parameter file; default: ``config/plan_grasp.yaml`` of this package.

    Returns
    -------
    GraspExample

    Raises
    ------
    ValueError
        If the file is not a mapping, or a parameter is missing or invalid.
    """
    path = share_directory() / "config" / "plan_grasp.yaml" if path is None else Path(path)
    figures = read_yaml(path)
    if not isinstance(figures, Mapping):
        raise ValueError(f"{path}: expected a mapping of parameters")
    try:
        thing = figures["object"]
        shape = Superovoid.from_goncalves(thing["size"], thing["epsilon"], thing["taper"])
        egg = Body(OBJECT, OBJECT, shape, pose_matrix(thing["xyz"], thing["rpy"]))
        of_joint = dict(figures["palms"])
        for side in SIDES:
            of_joint |= {f"{side}_{joint}": values for joint, values in figures["fingers"].items()}
        urdf = hands_urdf()
        _, srdf = robot_documents("icub_hands")
        robot = Robot.from_urdf(urdf, srdf=srdf)
        problem = PlanningProblem(
            robot,
            robot.joint_names,
            {},
            obstacles=(egg,),
            wanted=tuple((f"{side}_{link}", OBJECT) for side in SIDES for link in figures["touching"]),
            clearance=figures["clearance"],
            ranges={joint: tuple(values["range"]) for joint, values in of_joint.items()},
        )
        start, guess = (problem.state({j: v[name] for j, v in of_joint.items()}) for name in ("start", "guess"))
        return GraspExample(problem, start, guess, urdf, float(figures["margin"]), float(figures["spacing"]))
    except KeyError as error:
        raise ValueError(f"{path}: {error.args[0]!r} is missing") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def joint_columns(problem: PlanningProblem) -> list[str]:
    """Return the names of the columns of a path's states: joints with the unit of their positions."""
    kinds = {joint: problem.robot.joints[joint].kind for joint in problem.joints}
    return [f"{joint}_{'m' if kind == 'prismatic' else 'rad'}" for joint, kind in kinds.items()]


def recognise(table: Table) -> Recording | None:
    """Return the recording of a path of this package's problem; None if the columns differ."""
    example = read_example()
    if not set(joint_columns(example.problem)) <= set(table.names):
        return None
    (egg,) = example.problem.obstacles
    return path_of(table, example.problem.robot, {egg.name: (egg.shape, egg.link_from_body)})

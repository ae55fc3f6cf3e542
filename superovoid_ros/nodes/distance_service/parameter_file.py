# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generator of `config/distance_service.yaml`, the file with all parameters of the node `distance_service`.

`python -m superovoid_ros.nodes.distance_service.parameter_file config/distance_service.yaml`
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from superovoid_ros.nodes.common.parameters import Declaration
from superovoid_ros.nodes.distance_service.answers.distances import DistanceServices
from superovoid_ros.nodes.distance_service.answers.motion_plans import PlanningServices
from superovoid_ros.nodes.distance_service.answers.motions import MotionActions
from superovoid_ros.nodes.distance_service.answers.topics import Topics
from superovoid_ros.nodes.distance_service.distance_service import AUTOSTART, PLANNING
from superovoid_ros.nodes.distance_service.health.diagnostics import Diagnostics
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.description import OF_ROBOT, OF_SCENE
from superovoid_ros.nodes.distance_service.world.world import OF_WORLD

SECTIONS: Mapping[str, Sequence[Declaration]] = {
    "Lifecycle and start": (AUTOSTART, PLANNING),
    "Robot": OF_ROBOT,
    "State of the robot": Measurements.parameters,
    "Objects, limits, state validity": (*OF_SCENE, *OF_WORLD),
    "Many states in one call": DistanceServices.parameters,
    "Motions": (*PlanningServices.parameters, *MotionActions.parameters),
    "Topics": Topics.parameters,
    "Diagnostics": Diagnostics.parameters,
}
HEAD = """\
# Parameters of the node distance_service: all of them, with their defaults.
#
# Copy this file, keep the lines to change, and pass it to the launch file. Arguments on the command line override it.
#     ros2 launch superovoid_ros distance_service.launch.py params_file:=my.yaml max_distance:=0.1
# `/**` is any node in any namespace. docs/reference/ros.md explains each.
#
# Generated from the declared parameters; a test compares them:
#     python -m superovoid_ros.nodes.distance_service.parameter_file config/distance_service.yaml
/**:
  ros__parameters:
"""
WIDTH = 112


def text() -> str:
    """Return the contents of the file."""
    lines, opened = [], ""
    for section, declared in SECTIONS.items():
        lines += ["", f"    # --- {section} ---"]
        for one in declared:
            group, _, name = one.name.rpartition(".")
            if group not in ("", opened):
                lines += ["", f"    {group}:"]
            opened, indent = group, "      " if group else "    "
            words, fixed = one.descriptor, "cannot be changed while the node runs" * one.descriptor.read_only
            parts = filter(None, (words.description, words.additional_constraints, fixed))
            comment = "".join(f"{part[0].upper()}{part[1:]}. " for part in parts)
            lines += ["", *textwrap.wrap(comment, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")]
            value = yaml.safe_dump(one.default, default_flow_style=True).removesuffix("...\n").strip()
            lines.append(f"{indent}{name}: {value}")
    return HEAD + "\n".join(lines[1:]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")

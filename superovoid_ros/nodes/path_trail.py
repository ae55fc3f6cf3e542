# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Node that shows the trails of finger tips along a path written by `superovoid grasp`: `~/trail`, latched.

ros2 run superovoid_ros path_trail --ros-args -p path:=superovoid_grasp/plan_grasp.csv
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.planning import PlanningProblem
from superovoid.planning.trail import trail
from superovoid.viewing.palette import GREY, red_green_blue
from superovoid_ros.icub import grasp_problem
from superovoid_ros.nodes.common.conversions import to_point
from superovoid_ros.nodes.common.endpoints import LATCHED
from superovoid_ros.nodes.common.main import run
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.common.parameters import Parameters, text

WIDTH = 0.001
"""Width of a line, m."""


def trail_markers(points: Mapping[str, np.ndarray], frame: str) -> MarkerArray:
    """Return a line strip for each link in namespace `trail`, from its points in `frame`, shape (n, 3), m."""
    markers = []
    for number, (link, line) in enumerate(points.items()):
        marker = Marker(ns="trail", id=number, type=Marker.LINE_STRIP, points=[to_point(point) for point in line])
        marker.header.frame_id = frame
        marker.pose.orientation.w = 1.0
        marker.scale.x = WIDTH
        red, green, blue = np.array(red_green_blue(grasp_problem.COLOURS.get(link.split("_")[0], GREY))) / 255.0
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        markers.append(marker)
    return MarkerArray(markers=markers)


def read_path(path: Path, problem: PlanningProblem) -> np.ndarray:
    """Return the states, shape (k, joints), in a CSV file of `superovoid grasp`; `InputError` if it is invalid."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return problem.check_path([[float(row[name]) for name in grasp_problem.joint_columns(problem)] for row in rows])
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"path = '{path}': not a path of `superovoid grasp`: {error}") from error


class PathTrail(Node):
    """Node that publishes the trail once, latched for late subscribers."""

    def __init__(self) -> None:
        super().__init__("path_trail")
        parameters, words = Parameters(self), "CSV file of a path, as `superovoid grasp` writes it"
        parameters.declare([text("path", "superovoid_grasp/plan_grasp.csv", words)])
        path = parameters.value("path")
        problem = grasp_problem.read_example().problem
        tips = [a for a, _ in problem.wanted]
        markers = trail_markers(trail(problem, read_path(Path(path), problem), tips), problem.robot.root)
        self._publisher = self.create_publisher(MarkerArray, "~/trail", LATCHED)
        self._publisher.publish(markers)
        self.get_logger().info(f"{len(markers.markers)} trails of {path}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until Ctrl-C."""
    return run(PathTrail, args)


if __name__ == "__main__":
    raise SystemExit(main())

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid experiment`: the experiments of the papers."""

from __future__ import annotations

import argparse
from pathlib import Path

from superovoid_papers.commands.measurement import add_measurement

# As in `fits_and_spheres`, whose import takes seconds.
_ROBOTS = ("Panda", "UR5", "UR10", "Kinova", "Allegro hand", "Baxter", "Tiago", "PR2", "iCub", "G1", "Talos")
_GALLERY = (*_ROBOTS, "Double pendulum", "Finger", "Hector", "HyQ", "SO-101", "Solo12", "Z1")
EXPERIMENTS: dict[str, tuple[str, str, dict[str, object]]] = {
    "bite": (
        "goncalves2017.bite",
        "two molars that bite: time and distance of every frame (Gonçalves et al. 2017, sections 5.3 and 6.4)",
        {"rounds": 7, "output": Path("superovoid_experiments")},
    ),
    "hands": (
        "goncalves2017.hands",
        "the iCub's hands: the eight representations of table 4 (Gonçalves et al. 2017, sections 5.2 and 6.3)",
        {"rounds": 5, "output": Path("superovoid_experiments")},
    ),
    "lower-bound": (
        "lower_bound.tables",
        "a lower bound on the distance between polyhedra, without decomposing them",
        {"pairs": 20, "rounds": 5, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "line-geometry": (
        "sohn2002.line_geometry",
        "common normals by line geometry (Sohn et al. 2002): an ellipsoid that moves around other bodies",
        {"frames": 200, "rounds": 20, "pairs": 300, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-ellipsoids": (
        "lopes2010.ellipsoids",
        "common normals of ellipsoids along prescribed motions (Lopes et al. 2010, table 5)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-superellipsoids": (
        "lopes2010.superellipsoids",
        "common normals of superellipsoids along prescribed motions (Lopes et al. 2010, table 6)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-dynamics": (
        "lopes2010.free_bodies",
        "colliding free bodies: contact forces and equations of motion (Lopes et al. 2010, section 6)",
        {"steps": 200, "output": Path("superovoid_experiments")},
    ),
    "battery-separated": (
        "goncalves2017.battery_separated",
        "schemes of Gonçalves et al. 2017 on random separated superovoids (table 2)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "threads": 1, "output": Path("superovoid_experiments")},
    ),
    "battery-overlapping": (
        "goncalves2017.battery_overlapping",
        "schemes of Gonçalves et al. 2017 on random overlapping superovoids (table 1)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "threads": 1, "output": Path("superovoid_experiments")},
    ),
    "first-guesses": (
        "goncalves2017.first_guesses",
        "first guesses from quadtrees and octrees, by level (Gonçalves et al. 2017, section 4.4, figures 5 and 6)",
        {"pairs": 2000, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "memory": (
        "goncalves2017.memory",
        "bytes of a body: exact, as an octree and as meshes (Gonçalves et al. 2017, table 3)",
        {"pairs": 20, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "suggestions": (
        "goncalves2017.suggestions",
        "interior points, Wellmann's directions, Baumgarte's term (Gonçalves et al. 2017, sections 6.1 and 7)",
        {"pairs": 300, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "accuracy": (
        "goncalves2017.accuracy",
        "error and time of meshes of superovoids, compared with exact surfaces (Gonçalves et al. 2017, figs. 9 and 10)",
        {"pairs": 100, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "fits": (
        "fits_and_spheres",
        "fits of the links of eleven robots, compared with five spheres per body",
        {"bodies": 3, "robots": _ROBOTS, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "gallery": (
        "gallery",
        "a picture of each fitted robot of example-robot-data, in the colours of the verdicts",
        {"bodies": 3, "robots": _GALLERY, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "optimal-control": (
        "optimal_control",
        "a Panda moves past a wall by IPOPT: exact distances compared with those of spheres",
        {"states": 22, "output": Path("superovoid_experiments")},
    ),
    "studies": (
        "planner_studies",
        "how fits of eleven robots change a planner's checks, compared with meshes in pinocchio with Coal",
        {"bodies": 2, "robots": _ROBOTS, "states": 10_000, "seed": 0, "output": Path("superovoid_experiments")},
    ),
}

"""`superovoid experiment NAME`: module of `experiments`, description, options of its `main` with their defaults."""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "experiment",
        help="repeat the experiments of the papers, and compare with current libraries",
        description="Run an experiment of the papers again: a table, CSV files and a plot (PNG, SVG, PDF).",
        example="superovoid experiment bite --rounds 3",
    )
    subjects = command.add_subparsers(dest="experiment", required=True, metavar="NAME")
    for name, (module, text, defaults) in EXPERIMENTS.items():
        add_measurement(subjects, name, f"experiments.{module}", text, **defaults)

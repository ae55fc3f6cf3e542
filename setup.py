# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package superovoid_ros: built by colcon (ament_python) where ROS 2 is installed, by pip anywhere else."""

import sys
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "superovoid_ros"
HERE = Path(__file__).resolve().parent
SHARE = f"share/{PACKAGE}"
NODES = ("distance_service", "simulated_controllers", "sweep_player")


def tree(*folders: str) -> list[tuple[str, list[str]]]:
    """Return the data_files entries that install all files of `folders`, at any depth, under share/."""
    entries = []
    for top in folders:
        for folder in sorted([HERE / top, *(HERE / top).rglob("*")]):
            files = sorted(str(path.relative_to(HERE)) for path in folder.glob("*") if path.is_file())
            if files and folder.name != "__pycache__":
                entries.append((f"{SHARE}/{folder.relative_to(HERE)}", files))
    return entries


def node_executables() -> list[tuple[str, list[str]]]:
    """Return the data_files entry that puts the nodes where `ros2 run` and launch look: lib/superovoid_ros.

    colcon installs the console scripts there by itself (setup.cfg). pip installs them to bin/, so its wheel
    carries one-line scripts that call those.
    """
    if "bdist_wheel" not in sys.argv:
        return []
    folder = HERE / "build" / "node_executables"
    folder.mkdir(parents=True, exist_ok=True)
    for name in NODES:
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "$(dirname "$0")/../../bin/{name}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return [(f"lib/{PACKAGE}", [str((folder / name).relative_to(HERE)) for name in NODES])]


setup(
    name=PACKAGE,
    version="0.1.0",
    description="The library superovoid in ROS 2: a distance service of a robot, its client, and demos",
    long_description=(HERE / "README.md").read_text(encoding="utf-8") if (HERE / "README.md").is_file() else "",
    long_description_content_type="text/markdown",
    maintainer="superovoid_ros maintainers",
    maintainer_email="maintainers@superovoid.example",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    zip_safe=False,
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        # MoveItConfigsBuilder finds the robot by .setup_assistant.
        (SHARE, ["package.xml", ".setup_assistant"]),
        *tree("launch", "urdf", "config"),
        *node_executables(),
    ],
    # Reasons for each: docs/reference/dependencies.md. rosdep keys of the same: package.xml.
    install_requires=["matplotlib", "numpy", "pyyaml", "rich", "scipy", "superovoid[meshes]"],
    extras_require={
        # ROS 2 from PyPI, for machines without ROS 2. The interfaces of this repository are built next to it and
        # choose the distribution: pip install ./superovoid ./superovoid_interfaces '.[wheels]'
        "wheels": [
            "ros-ament-index-python",
            "ros-builtin-interfaces",
            "ros-diagnostic-msgs",
            "ros-geometry-msgs",
            "ros-lifecycle-msgs",
            "ros-rcl-interfaces",
            "ros-rclpy",
            "ros-rmw-fastrtps-cpp",
            "ros-rosgraph-msgs",
            "ros-sensor-msgs",
            "ros-std-msgs",
            "ros-std-srvs",
            "ros-visualization-msgs",
        ],
        # This site: sphinx-build -W docs build/site. With "wheels", since the nodes are asked what they declare.
        "docs": ["myst-parser", "ompl", "sphinx", "sphinx-gallery", "sphinx-rtd-theme"],
        "test": ["hypothesis", "mypy", "pytest", "pytest-xdist", "ruff", "superovoid[test]"],
    },
    entry_points={
        "console_scripts": [
            "distance_service = superovoid_ros.nodes.distance_service.distance_service:main",
            "simulated_controllers = superovoid_ros.nodes.simulated_controllers.simulated_controllers:main",
            "sweep_player = superovoid_ros.nodes.sweep_player:main",
        ],
        "superovoid.commands": [
            "demo = superovoid_ros.commands.demo",
            "fit-hands = superovoid_ros.commands.fit_hands",
            "grasp = superovoid_ros.commands.grasp",
            "load = superovoid_ros.commands.load",
            "node = superovoid_ros.commands.node",
        ],
        "superovoid.recordings": [
            "demo = superovoid_ros.motions.recordings:recognise",
            "plan = superovoid_ros.icub.grasp_problem:recognise",
        ],
        "superovoid.nodes": ["follow = superovoid_ros.client.shown_service:ShownService"],
    },
)

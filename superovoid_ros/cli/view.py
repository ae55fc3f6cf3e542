# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid view`: a robot and its closest points, or two superovoids, in a browser."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from superovoid_ros.cli import option_values

if TYPE_CHECKING:
    from superovoid_ros.viewing.serving import Viewer


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "view",
        help="a robot and its closest points in a browser, without ROS",
        description="Serve a page on this machine: the robot with its contact geometry, a slider for every joint, the "
        "closest pairs with their proved intervals, objects that can be added and moved. Ends by Ctrl-C.",
    )
    command.add_argument(
        "urdf", nargs="?", type=document, metavar="URDF", help="file, or package://NAME/... (default: the iCub's hands)"
    )
    command.add_argument(
        "--shapes", action="store_true", help="two superovoids with sliders for their parameters, instead of a robot"
    )
    command.add_argument(
        "--srdf", type=document, metavar="SRDF", help="file, or package://NAME/...: groups, states, disabled pairs"
    )
    option_values.add_packages(command)
    command.add_argument(
        "--meshes",
        choices=("hull", "triangles", "ignore"),
        default="hull",
        help="what a mesh of a collision element is (default: its convex hull)",
    )
    command.add_argument(
        "--near",
        type=option_values.number(above=False, most=1e4, unit="metres"),
        metavar="METRES",
        help="pairs at most this far apart are shown at first (default: about a fiftieth of the robot)",
    )
    command.add_argument(
        "--host", type=host, default="127.0.0.1", metavar="ADDRESS", help="to listen at (default: this machine only)"
    )
    command.add_argument(
        "--port", type=option_values.count(1, 65535), metavar="N", help="port to listen at (default: one that is free)"
    )
    command.set_defaults(run=run, check=check)


def document(text: str) -> str | Path:
    """Read a file that can be read, or an address in a package."""
    return text if text.startswith("package://") else option_values.file(text)


def host(text: str) -> str:
    """Read an address of the internet protocol."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{option_values.quoted(text)}: must be an address, as 127.0.0.1, or 0.0.0.0 for every one of this machine"
        ) from None


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `view` taken together; empty: nothing."""
    if arguments.shapes and (arguments.urdf or arguments.srdf or arguments.package or arguments.near is not None):
        return "argument --shapes: shows two superovoids and no robot; leave the robot's options out"
    if arguments.srdf is not None and arguments.urdf is None:
        return "argument --srdf: is about a URDF that is given too"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Serve a page until interrupted."""
    try:
        import viser  # noqa: F401 (before a robot is read)
    except ModuleNotFoundError as error:
        print(f"superovoid view: no module {error.name!r}: pip install '.[view]'", file=sys.stderr)
        return 1
    from superovoid_ros.robot import RobotDescriptionError
    from superovoid_ros.viewing.serving import ServingError

    try:
        with _opened(arguments) as viewer:
            print(f"{viewer.title}: {viewer.url}   (Ctrl-C ends it)", flush=True)
            viewer.wait()
    except (RobotDescriptionError, ServingError, ValueError) as error:
        if type(error) is ValueError and not _is_refusal(error):
            raise
        print(f"superovoid view: {error}", file=sys.stderr)
        return 1
    return 0


def _opened(arguments: argparse.Namespace) -> Viewer:
    """The page that is asked for."""
    place = {"host": arguments.host, "port": arguments.port or 0}
    if arguments.shapes:
        from superovoid_ros.viewing.pair_page import show_pair

        return show_pair(**place)
    from superovoid_ros.viewing.robot_page import show_robot

    model, looks = _robot(arguments)
    return show_robot(model, looks=looks, notes=model.robot.warnings, **place)


def _is_refusal(error: ValueError) -> bool:
    from superovoid_ros.robot.errors import is_refusal

    return is_refusal(error)


def _robot(arguments: argparse.Namespace):
    """The model of the robot that is asked for, and what reads how it looks."""
    from superovoid_ros.resources import share_directory
    from superovoid_ros.robot import Robot
    from superovoid_ros.robot.appearance import read_looks
    from superovoid_ros.robot.files import PackageFolders, read_document
    from superovoid_ros.viewing.robot_model import RobotModel

    urdf, srdf = arguments.urdf, arguments.srdf
    if urdf is None:
        share = share_directory()
        urdf, srdf = share / "urdf" / "icub_hands.urdf", share / "config" / "icub_hands.srdf"
    given = {name: Path(folder).absolute() for name, folder in arguments.package}
    text, around = read_document("URDF", urdf, PackageFolders(given))
    folders = PackageFolders({**around, **given})
    rules = None if srdf is None else read_document("SRDF", srdf, PackageFolders(given))[0]
    robot = Robot.from_urdf(text, srdf=rules, package_directories=folders, meshes=arguments.meshes)
    model = RobotModel(robot, arguments.near)
    return model, lambda element: read_looks(text, element, folders)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid view`: show a robot and its closest points, a recording, or two superovoids, in a browser."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superovoid.cli import option_values
from superovoid.extensions import NODES, CommandError, extensions
from superovoid.output import REPORT

if TYPE_CHECKING:
    from superovoid.robot import Robot
    from superovoid.viewing.recording import ReplayModel
    from superovoid.viewing.robot_page import Looks
    from superovoid.viewing.serving import Viewer

RECORDINGS = (".csv", ".mcap")
"""Suffixes of recordings; other files are URDFs."""
HANDS = "package://superovoid_ros/urdf/icub_hands.urdf", "package://superovoid_ros/config/icub_hands.srdf"
"""Default robot, if its package is installed."""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "view",
        help="show a robot and its closest points, or a recording, in a browser, without ROS",
        description="Serve a page on this machine. For a robot: its contact geometry, a slider for every joint, the "
        "closest pairs with their proved intervals, objects that can be added and moved. For a recording: the robot's "
        "motion, a timeline, and the minimum distance over time. Press Ctrl-C to end.",
        example="superovoid view robot.urdf --srdf robot.srdf",
    )
    command.add_argument(
        "files",
        nargs="*",
        type=document,
        metavar="FILE",
        help="a URDF, or package://NAME/... of one (default: the iCub's hands, of the package superovoid_ros); a "
        "recording (.csv) written by `superovoid demo` or `superovoid grasp`, or of the URDF's joints; a bag (.mcap) "
        "with joint states",
    )
    command.add_argument(
        "--shapes", action="store_true", help="two superovoids with sliders for their parameters, instead of a robot"
    )
    command.add_argument(
        "--srdf", type=document, metavar="SRDF", help="file, or package://NAME/...: groups, states, disabled pairs"
    )
    option_values.add_packages(command)
    option_values.add_meshes(command)
    command.add_argument(
        "--near",
        type=option_values.number(above=False, most=1e4, unit="metres"),
        metavar="METRES",
        help="initially show pairs within this distance (default: about 1/50 of the robot's size)",
    )
    command.add_argument(
        "--topic", metavar="NAME", help="topic of the joint states in a bag (default: the only joint_states)"
    )
    command.add_argument(
        "--rate",
        type=option_values.number(most=1000.0, unit="Hz"),
        metavar="HZ",
        help="states per second to show from a bag (default: 20)",
    )
    command.add_argument(
        "--node",
        type=node,
        nargs="?",
        const="/distance_service",
        metavar="NAME",
        help="show the state of a running distance service, instead of a robot's file (needs ROS 2; "
        "default: /distance_service)",
    )
    command.add_argument(
        "--html",
        type=option_values.output_file,
        metavar="FILE",
        help="write the recording, or the robot in its initial state, as one page that opens from disk; serve nothing",
    )
    command.add_argument(
        "--host", type=host, default="127.0.0.1", metavar="ADDRESS", help="listen address (default: this machine only)"
    )
    command.add_argument(
        "--port", type=option_values.count(1, 65535), metavar="N", help="listen port (default: a free one)"
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, check=check, extra="view")


def document(text: str) -> str | Path:
    """Read the path of a readable file, or a package:// address."""
    return text if text.startswith("package://") else option_values.file(text)


def node(text: str) -> str:
    """Read the name of a node, and add a leading slash if it has none."""
    parts = text.removeprefix("/").split("/")
    if not all(part.isascii() and part.isidentifier() for part in parts):
        raise argparse.ArgumentTypeError(f"{option_values.quote(text)}: must be a node name, as /distance_service")
    return "/" + "/".join(parts)


def host(text: str) -> str:
    """Read an IP address, or localhost."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{option_values.quote(text)}: must be an IP address: 127.0.0.1, or 0.0.0.0 for all of this machine"
        ) from None


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with the combination of options of `view`; empty if nothing is."""
    robots, recordings = _split_files(arguments.files)
    if len(robots) > 1 or len(recordings) > 1:
        many, what = (robots, "robots") if len(robots) > 1 else (recordings, "recordings")
        return f"argument FILE: two {what}, {many[0]} and {many[1]}: must be one at most"
    if arguments.shapes and (
        arguments.files or arguments.srdf or arguments.package or arguments.near is not None or arguments.html
    ):
        return "argument --shapes: shows two superovoids and no robot; omit the robot's options"
    if arguments.node and (arguments.files or arguments.srdf or arguments.package or arguments.shapes):
        return "argument --node: shows the robot of a running node; omit the robot's options"
    if arguments.node and arguments.html:
        return "argument --html: not allowed with --node, which is live"
    is_bag = bool(recordings) and recordings[0].suffix.lower() == ".mcap"
    if not is_bag and (arguments.topic is not None or arguments.rate is not None):
        return f"argument {'--rate' if arguments.topic is None else '--topic'}: needs a bag (.mcap)"
    if arguments.srdf is not None and not robots:
        return "argument --srdf: needs a URDF"
    return ""


def _split_files(files: list[str | Path]) -> tuple[list[str | Path], list[Path]]:
    """Split files into robots and recordings."""
    recordings = [file for file in files if isinstance(file, Path) and file.suffix.lower() in RECORDINGS]
    return [file for file in files if file not in recordings], recordings


def run(arguments: argparse.Namespace) -> int:
    """Serve a page until interrupted, or write a page to a file."""
    require_viser()
    if arguments.node:
        # This must come first: ROS 2 wheels may restart Python once to set the library path.
        try:
            follow = extensions(NODES).get("follow")
        except ModuleNotFoundError as error:
            raise CommandError(f"--node: needs ROS 2: no module {error.name!r}") from None
        if follow is None:
            raise CommandError("--node: needs the package superovoid_ros, which is not installed")
        return _serve_node(arguments, follow)
    if arguments.html is not None:
        return _write(_replay(arguments)[0], arguments.html)
    return serve(_open_viewer(arguments))


def require_viser() -> None:
    """Raise an error with the install command if viser is missing. Call this before any long work."""
    try:
        import viser  # noqa: F401
    except ModuleNotFoundError as error:
        raise CommandError(f"no module {error.name!r}: pip install 'superovoid[view]'") from None


def serve(viewer: Viewer) -> int:
    """Serve a page until interrupted."""
    with viewer:
        REPORT.line(f"{viewer.title}: {viewer.url}   (Ctrl-C ends it)")
        viewer.wait()
    return 0


def serve_recording(path: Path) -> int:
    """Serve a page with the recording that a command has written, until interrupted."""
    from superovoid.viewing.recording import ReplayModel
    from superovoid.viewing.recording_files import read_csv
    from superovoid.viewing.replay_page import show_replay

    return serve(show_replay(ReplayModel(read_csv(path))))


def _serve_node(arguments: argparse.Namespace, follow: Callable[..., Any]) -> int:
    """Serve a page that shows a running node, until interrupted."""
    from superovoid.cli.interruption import INTERRUPTS
    from superovoid.viewing.node_page import show_node

    def on_wait(words: str) -> None:
        print(f"superovoid view: waiting: {words}", file=sys.stderr, flush=True)

    with follow(arguments.node, arguments.near) as service:
        service.wait(on_wait, INTERRUPTS.check)
        return serve(show_node(service, host=arguments.host, port=arguments.port or 0))


def _write(model: ReplayModel, path: Path) -> int:
    """Write a page."""
    from superovoid.output import progress
    from superovoid.viewing.html_file import write_html

    count = len(model.recording.moments)
    with progress() as bar:
        task = bar.add_task(model.title, total=count)
        write_html(model, path, lambda index: bar.update(task, completed=index + 1))
    REPORT.verdict(f"{model.title}: {path}, {path.stat().st_size / 1e6:.2f} MB", files=[str(path)])
    return 0


def _open_viewer(arguments: argparse.Namespace) -> Viewer:
    """Open the page selected by the options."""
    place = {"host": arguments.host, "port": arguments.port or 0}
    if arguments.shapes:
        from superovoid.viewing.pair_page import show_pair

        return show_pair(**place)
    if _split_files(arguments.files)[1]:
        from superovoid.viewing.replay_page import show_replay

        replay, looks = _replay(arguments)
        return show_replay(replay, looks=looks, notes=replay.robot.warnings, **place)
    from superovoid.viewing.robot_model import RobotModel
    from superovoid.viewing.robot_page import show_robot

    robot, looks = _robot(arguments)
    return show_robot(RobotModel(robot, arguments.near), looks=looks, notes=robot.warnings, **place)


def _replay(arguments: argparse.Namespace) -> tuple[ReplayModel, Looks | None]:
    """Return the requested recording, or the robot in its initial state, and a function that reads link appearances."""
    from superovoid.viewing.recording import Moment, Recording, ReplayModel
    from superovoid.viewing.recording_files import read_csv
    from superovoid.viewing.robot_model import RobotModel

    robots, recordings = _split_files(arguments.files)
    is_bag = bool(recordings) and recordings[0].suffix.lower() == ".mcap"
    robot, looks = _robot(arguments) if robots or is_bag or not recordings else (None, None)
    if is_bag:
        from superovoid.viewing.recording import FRAMES_A_SECOND
        from superovoid.viewing.recording_bags import read_bag

        recording = read_bag(recordings[0], robot, topic=arguments.topic or "", rate=arguments.rate or FRAMES_A_SECOND)
    elif recordings:
        recording = read_csv(recordings[0], robot)
    else:
        stands = RobotModel(robot)
        notes = [f"The URDF does not give the pose of {', '.join(robot.base_links)}."] if robot.base_links else []
        recording = Recording(robot.name, robot, [Moment(0.0, stands.positions, stands.base_poses)], notes=notes)
    return ReplayModel(recording, arguments.near), looks


def _robot(arguments: argparse.Namespace) -> tuple[Robot, Looks]:
    """Return the requested robot, and a function that reads link appearances."""
    robots, recordings = _split_files(arguments.files)
    return robot_and_looks(next(iter(robots), None), next(iter(recordings), None), arguments)


def robot_and_looks(
    urdf: str | Path | None, recording: Path | None, arguments: argparse.Namespace
) -> tuple[Robot, Looks]:
    """Load a robot from a URDF, from the description in a recording, or the iCub's hands.

    Also return a function that reads link appearances. Uses the options `srdf`, `package` and `meshes`.
    """
    from superovoid.robot import Robot, RobotDescriptionError
    from superovoid.robot.appearance import read_looks
    from superovoid.robot.files import PackageFolders, read_document

    srdf = arguments.srdf
    if urdf is None and recording is not None:
        from superovoid.viewing.recording_bags import read_descriptions
        from superovoid.viewing.recording_files import RecordingError

        descriptions = read_descriptions(recording)
        if not descriptions.urdf.strip():
            raise RecordingError(f"{recording}: contains no robot_description; give a URDF too")
        urdf, srdf = descriptions.urdf, descriptions.srdf or None
    elif urdf is None:
        if "superovoid_ros" not in PackageFolders():
            raise RobotDescriptionError("no URDF is given, and superovoid_ros, which has the default robot, is missing")
        urdf, srdf = HANDS
    given = {name: Path(folder).absolute() for name, folder in arguments.package.items()}
    known = PackageFolders(given)
    text, around = read_document("URDF", urdf, known)
    folders = PackageFolders({**around, **given})
    folders.option = "--package {name}=FOLDER"
    rules = None if srdf is None else read_document("SRDF", srdf, known)[0]
    robot = Robot.from_urdf(text, srdf=rules, package_directories=folders, meshes=arguments.meshes)
    return robot, lambda element: read_looks(text, element, folders)

# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid fit robot.urdf`: bodies for the links of any robot."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from superovoid_ros.cli import option_values

if TYPE_CHECKING:
    from superovoid_ros.fitting import LinkFit, RobotFit

_KINDS = ("superovoid", "box", "cylinder", "capsule")
_MOST_BODIES, _USUAL, _USUAL_MOST = 16, 3, 8


def add(subjects: argparse._SubParsersAction) -> None:
    """Add the command to those of `superovoid fit`."""
    command = subjects.add_parser(
        "robot",
        help="of the links of any robot (the word may be left out: superovoid fit robot.urdf)",
        description="Fit superovoids to the links of a robot whose geometry is meshes, all bodies of a link together. "
        "Writes the URDF with contact geometry beside what it has, and a report (report.json), and prints a table: "
        "measured figures, and what is proved. A link that cannot be fitted stays as it is and says why. Started again "
        "with the same output folder, it fits only what has changed. Exit code 1 where a link could not be fitted.",
    )
    command.add_argument("urdf", metavar="URDF", help="the robot: a file, or package://name/urdf/robot.urdf")
    option_values.add_packages(command)
    command.add_argument(
        "--target",
        choices=("collision", "visual", "hull"),
        default="collision",
        help="what is aimed at: the meshes of the collision elements (default), those of the visual ones, or the "
        "convex hull of a link's collision elements",
    )
    bodies = option_values.count(1, _MOST_BODIES)
    command.add_argument(
        "--bodies",
        type=bodies,
        metavar="N",
        help=f"of a link (default: {_USUAL}); with --tolerance: at most (default: {_USUAL_MOST}); with --contain: one",
    )
    command.add_argument(
        "--tolerance",
        type=option_values.length,
        metavar="LENGTH",
        help="as few bodies a link as keep 95 %% of both surfaces this close to each other, for example 2mm",
    )
    command.add_argument("--contain", action="store_true", help="one body a link that is proved to hold the link")
    command.add_argument(
        "--link",
        type=option_values.named(bodies, "panda_link5=4"),
        action="append",
        default=[],
        metavar="NAME=N",
        help="another number of bodies for a link; may be repeated",
    )
    command.add_argument(
        "--kinds",
        type=option_values.some_of(_KINDS),
        default=("superovoid",),
        metavar="KIND,...",
        help=f"what the bodies may be: some of {', '.join(_KINDS)} (default: superovoid)",
    )
    command.add_argument("--seed", type=option_values.seed, default=0, metavar="N", help="of the search (default: 0)")
    option_values.add_output(command, "superovoid_fit", "folder for URDF, report and what is fitted by now")
    command.set_defaults(run=run, check=check)


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options taken together; empty: nothing."""
    if arguments.contain and arguments.tolerance is not None:
        return "argument --tolerance: --contain has none to keep"
    if arguments.contain and (arguments.bodies or 1) > 1:
        return f"argument --bodies: {arguments.bodies}: with --contain a link has one body"
    if arguments.contain and arguments.link:
        return "argument --link: with --contain a link has one body"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Fit the links of a robot."""
    from rich.console import Console

    from superovoid_ros.fitting import fit_robot
    from superovoid_ros.output import OutputError, output_folder, progress
    from superovoid_ros.robot.errors import RobotDescriptionError

    usual = 1 if arguments.contain else _USUAL if arguments.tolerance is None else _USUAL_MOST
    console = Console()
    try:
        folder = output_folder(arguments.output)
        with progress(console) as bar:
            task = bar.add_task("links", total=None)

            def tell(_link: LinkFit, count: int) -> None:
                bar.update(task, advance=1, total=count)

            fit = fit_robot(
                arguments.urdf,
                package_directories=dict(arguments.package),
                target=arguments.target,
                bodies=arguments.bodies or usual,
                tolerance=arguments.tolerance,
                contain=arguments.contain,
                kinds=arguments.kinds,
                links=dict(arguments.link),
                seed=arguments.seed,
                folder=folder / "links",
                progress=tell,
            )
        paths = _write(fit, arguments.urdf, folder)
    except (RobotDescriptionError, OutputError, ImportError) as error:
        return _failed(str(error))
    except ValueError as error:
        from superovoid_ros.robot.errors import is_refusal

        if not is_refusal(error):
            raise
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{error.filename or arguments.urdf}: {error.strerror or error}")
    _print(console, fit, paths)
    return int(any(link.state in ("failed", "unreadable") for link in fit.links))


def _failed(words: str) -> int:
    print(f"superovoid fit: {words}", file=sys.stderr)
    return 1


def _write(fit: RobotFit, urdf: str, folder: Path) -> list[Path]:
    import json

    name = Path(urdf.rsplit("/", 1)[-1]).stem or "robot"
    paths = [folder / f"{name}_superovoids.urdf", folder / "report.json"]
    paths[0].write_text(fit.urdf, encoding="utf-8")
    paths[1].write_text(json.dumps(fit.report(), indent=1) + "\n", encoding="utf-8")
    return paths


def _print(console: object, fit: RobotFit, paths: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    assert isinstance(console, Console)
    table = Table(title="n bodies; lengths in mm; * proved, else measured", title_justify="left")
    contain = fit.options.contain
    for heading in ("link", "n", "IoU", "volume", "mean", "p95", "uncovered*", "protruding*"):
        table.add_column(heading, justify="left" if heading == "link" else "right", overflow="fold")
    if contain:
        table.add_column("holds*")
    done = [link for link in fit.links if link.state == "fitted" and link.quality is not None]
    for link in done:
        q = link.quality
        assert q is not None and link.uncovered is not None and link.protruding is not None
        table.add_row(
            link.link,
            str(len(link.bodies)),
            f"{q.iou:.3f}",
            f"{q.volume_ratio:.3f}",
            f"{1e3 * q.mean:.2f}",
            f"{1e3 * max(q.to_bodies_p95, q.to_solid_p95):.2f}",
            f"{1e3 * link.uncovered.upper:.2f}",
            f"{1e3 * link.protruding.upper:.2f}",
            *(["yes" if link.contained else "no"] if contain else []),
        )
    console.print(table)
    if done:
        mean = [sum(getattr(link.quality, name) for link in done) / len(done) for name in ("iou", "mean")]
        console.print(f"mean of {len(done)} links: IoU {mean[0]:.3f}, two-sided mean distance {1e3 * mean[1]:.2f} mm")
    for link in fit.links:
        for words in link.words if link.state not in ("empty", "primitives") else ():
            console.print(f"link '{link.link}' ({link.state}): {words}", markup=False, highlight=False, soft_wrap=True)
    for state, words in (("empty", "without geometry"), ("primitives", "of primitives, which stay")):
        names = [link.link for link in fit.links if link.state == state]
        if names:
            console.print(f"{words}: {', '.join(names)}", markup=False, highlight=False, soft_wrap=True)
    if any(link.state == "unreadable" for link in fit.links):
        console.print("folders of packages are given by --package NAME=DIR", markup=False, highlight=False)
    for path in paths:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)
